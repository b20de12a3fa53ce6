//! Relaxation as printed: golden numbers, and what it does wrong.

use crate::voxel::bodies::Printed as _;
use crate::voxel::bodies::{Draw, block, some_control};
use crate::voxel::relax::{Order, Relax, RelaxParams, Wish};
use crate::voxel::response::Response;
use palpate_twin::edits::Direction;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::Exact;
use palpate_voxel::limits::Limits;

fn jacobi(gain: f64) -> RelaxParams {
    RelaxParams {
        order: Order::Jacobi,
        gain,
        limits: false,
        ..RelaxParams::default()
    }
}

fn sequential(gain: f64) -> RelaxParams {
    RelaxParams {
        gain,
        limits: false,
        ..RelaxParams::default()
    }
}

/// Size of a volume along x.
fn edge(elements: &Elements<f64>) -> f64 {
    let at = (0..elements.slots()).map(|e| elements.at_m(e).x);
    let (least, most) = at.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
    most - least
}

/// A block scaled about its first element.
fn scaled(n: i32, by: f64) -> Elements<f64> {
    let mut elements = block::<f64>([n; 3], Limits::LOOSE);
    for element in 0..elements.slots() {
        let site = elements.site(element);
        for (moved_m, at) in elements.moved_m.iter_mut().zip(site) {
            moved_m[element as usize] = (by - 1.0) * f64::from(at);
        }
    }
    elements
}

/// A row of `links` links, ends held.
fn row(links: i32) -> (Elements<f64>, [u32; 2]) {
    let elements = block::<f64>([links + 1, 1, 1], Limits::LOOSE);
    let ends = [0, links].map(|x| elements.at_site([x, 0, 0]).expect("there"));
    (elements, ends)
}

fn at(elements: &Elements<f64>, x: i32) -> f64 {
    elements.moved_m[0][elements.at_site([x, 0, 0]).expect("there") as usize]
}

/// Row DF-06: a free block shrinks by Eq. 1.
#[test]
fn df_06_the_midpoint_rule_shrinks_what_it_relaxes() {
    let mut elements = block::<f64>([10; 3], Limits::LOOSE);
    let params = RelaxParams {
        wish: Wish::Neighbour,
        ..jacobi(0.5)
    };
    let mut relax = Relax::new(params, &elements).expect("fit");
    let mut done = 0;
    for (sweeps, golden) in [(0, 9.000), (1, 8.800), (10, 7.589), (100, 3.124)] {
        while done < sweeps {
            relax.sweep(&mut elements, &[]);
            done += 1;
        }
        let edge = edge(&elements);
        assert!((edge - golden).abs() < 0.0006, "{sweeps}: {edge}");
    }
}

/// Row DF-07: rest stays to the bit, inside it is Eq. 1, and a squeezed block recovers.
#[test]
fn df_07_the_rest_offset_rule_keeps_rest_and_recovers() {
    let mut still = block::<f64>([6; 3], Limits::MEDIUM);
    let before = still.clone();
    let mut relax = Relax::new(sequential(1.0), &still).expect("fit");
    assert_eq!(relax.sweep(&mut still, &[]), 0.0);
    assert!(still == before);

    let mut squeezed = scaled(10, 0.8);
    let mut relax = Relax::new(sequential(1.0), &squeezed).expect("fit");
    for (sweeps, golden) in [(100, 8.970), (300, 9.000)] {
        for _ in 0..sweeps {
            relax.sweep(&mut squeezed, &[]);
        }
        let edge = edge(&squeezed);
        assert!((edge - golden).abs() < 0.002, "{sweeps}: {edge}");
    }

    let mut draw = Draw::new(2);
    let mut rough = block::<f64>([5; 3], Limits::LOOSE);
    for axis in &mut rough.moved_m {
        axis.fill_with(|| draw.around(0.3));
    }
    let mut pair = [Wish::Neighbour, Wish::Beside].map(|wish| {
        let mut elements = rough.clone();
        let params = RelaxParams {
            wish,
            ..jacobi(0.5)
        };
        let mut relax = Relax::new(params, &elements).expect("fit");
        relax.sweep(&mut elements, &[]);
        elements
    });
    let inside = |&e: &u32| {
        Direction::ALL
            .iter()
            .all(|&to| rough.neighbour(e, to).is_some())
    };
    let [midpoint, rest] = &mut pair;
    let all: Vec<u32> = (0..rough.slots()).collect();
    assert_eq!(all.iter().filter(|e| inside(e)).count(), 27);
    for &element in &all {
        let [a, b] = [&*midpoint, &*rest].map(|v| v.moved_m(element));
        let same = a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert_eq!(same, inside(&element));
    }
}

/// Row DF-08: inside the band nothing pulls; beyond it the band's edge stays as strain; with flow more
/// stays, and below the least step nothing moves.
#[test]
fn df_08_a_dead_band_leaves_its_edge_as_strain() {
    let relaxed = |strain: f64, params: RelaxParams| {
        let (mut elements, _) = row(10);
        for element in 0..elements.slots() {
            let x = elements.site(element)[0];
            elements.moved_m[0][element as usize] = strain * f64::from(x);
        }
        let held = elements.at_site([0, 0, 0]).expect("there");
        let mut relax = Relax::new(params, &elements).expect("fit");
        for _ in 0..4000 {
            relax.sweep(&mut elements, &[held]);
        }
        at(&elements, 10) / 10.0
    };
    let band = RelaxParams {
        band: 0.1,
        ..sequential(1.0)
    };
    assert_eq!(relaxed(0.09, band.clone()), 0.09);
    assert!((relaxed(0.3, band.clone()) - 0.1).abs() < 1e-6);
    assert!((relaxed(-0.3, band.clone()) + 0.1).abs() < 1e-6);
    assert!(relaxed(0.3, sequential(1.0)).abs() < 1e-6);
    let flow = RelaxParams { flow: 0.01, ..band };
    let left = relaxed(0.3, flow);
    assert!(left > 0.12 && left < 0.3, "{left}");
    let lazy = RelaxParams {
        least_step: 0.05,
        ..sequential(1.0)
    };
    let left = relaxed(0.04, lazy);
    assert!((left - 0.04).abs() < 1e-12, "{left}");
}

/// Row DF-09 and section 3.4.3: the slowest mode of a row decays as the eigenvalue says.
#[test]
fn df_09_the_slowest_mode_decays_by_its_eigenvalue() {
    for (links, gain) in [(50, 0.5), (50, 0.1), (12, 0.9)] {
        let (mut elements, ends) = row(links);
        let angle = std::f64::consts::PI / f64::from(links);
        for element in 0..elements.slots() {
            let x = elements.site(element)[0];
            elements.moved_m[0][element as usize] = libm::sin(angle * f64::from(x));
        }
        let mut relax = Relax::new(jacobi(gain), &elements).expect("fit");
        let before = at(&elements, links / 2);
        relax.sweep(&mut elements, &ends);
        let factor = at(&elements, links / 2) / before;
        let expected = 1.0 - gain * (1.0 - libm::cos(angle));
        assert!((factor - expected).abs() < 1e-6, "{factor} {expected}");
        if (links, gain) == (50, 0.5) {
            assert!((factor - 0.999_013).abs() < 1e-6);
        }
    }
}

/// Row DF-09: in sequence it overshoots beyond 1 only, and gains that never settle are refused.
#[test]
fn df_09_overshoot_needs_a_gain_beyond_1_and_divergence_is_refused() {
    for (gain, over) in [(0.5, false), (1.0, false), (1.6, true), (1.9, true)] {
        let (mut elements, ends) = row(20);
        let slot = elements.at_site([10, 0, 0]).expect("there") as usize;
        elements.moved_m[0][slot] = 0.3;
        let mut relax = Relax::new(sequential(gain), &elements).expect("fit");
        let mut least = 0.0_f64;
        for _ in 0..600 {
            relax.sweep(&mut elements, &ends);
            least = elements.moved_m[0].iter().copied().fold(least, f64::min);
        }
        assert_eq!(least < -1e-6, over, "{gain}: {least}");
        assert!(elements.moved_m[0].iter().all(|u| u.abs() < 1e-2), "{gain}");
    }
    let elements = block::<f64>([2; 3], Limits::MEDIUM);
    for bad in [
        sequential(2.0),
        sequential(0.0),
        sequential(f64::NAN),
        jacobi(1.0),
        RelaxParams {
            limits: true,
            ..jacobi(0.5)
        },
    ] {
        assert!(Relax::new(bad.clone(), &elements).is_err(), "{bad:?}");
    }
}

/// Links times axes that are overstretched.
fn broken(elements: &Elements<f64>) -> usize {
    let mut count = 0;
    for element in 0..elements.slots() {
        for to in Direction::UP {
            let Some(other) = elements.neighbour(element, to) else {
                continue;
            };
            for along in 0..3 {
                let (least, most) = elements.bonds().range_m([0, 0], to, along);
                let moved_m = &elements.moved_m[along];
                let apart = moved_m[other as usize] - moved_m[element as usize];
                count += usize::from(apart < least - 1e-9 || apart > most + 1e-9);
            }
        }
    }
    count
}

/// Section 3.4.6: plain sweeps break limits by the thousand, those that look at limits none.
#[test]
fn df_07_sweeps_that_look_at_limits_break_none() {
    let count = |params: RelaxParams| {
        let mut elements = block::<f64>([12, 10, 8], Limits::MEDIUM);
        let mut exact = Exact::new(elements.slots());
        let mut relax = Relax::new(params, &elements).expect("fit");
        let mut draw = Draw::new(9);
        let mut sum = 0;
        for _ in 0..300 {
            let control = some_control(&mut draw, &elements, 2.0);
            exact.propagate(&mut elements, &[control]).expect("free");
            for _ in 0..3 {
                relax.sweep(&mut elements, &[control.element]);
                sum += broken(&elements);
            }
        }
        sum
    };
    let kept = count(RelaxParams::default());
    let plain = count(sequential(1.0));
    let midpoint = count(RelaxParams {
        wish: Wish::Neighbour,
        ..sequential(0.5)
    });
    assert_eq!(kept, 0);
    assert!((3_000..50_000).contains(&plain), "{plain}");
    assert!(midpoint > 100_000, "{midpoint}");
}

/// Row DF-10 of the step: a quadratic response settles later the nearer it is.
#[test]
fn df_10_a_quadratic_step_is_shorter_the_nearer_it_is() {
    let after = |response: Response, start: f64| {
        let (mut elements, ends) = row(2);
        let slot = elements.at_site([1, 0, 0]).expect("there") as usize;
        elements.moved_m[0][slot] = start;
        let params = RelaxParams {
            response,
            ..jacobi(0.5)
        };
        let mut relax = Relax::new(params, &elements).expect("fit");
        relax.sweep(&mut elements, &ends);
        elements.moved_m[0][slot] / start
    };
    for start in [0.4, 0.1, -0.1] {
        assert!((after(Response::Linear, start) - 0.5).abs() < 1e-12);
        let expected = 1.0 - 0.5 * start.abs();
        assert!((after(Response::Quadratic, start) - expected).abs() < 1e-12);
    }
}
