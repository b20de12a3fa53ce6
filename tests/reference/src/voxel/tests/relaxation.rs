//! Tests of relaxation as printed: golden numbers, and its defects.

use crate::voxel::relaxation::{NeighbourTarget, Relaxation, RelaxationParams, UpdateOrder};
use crate::voxel::response::ResponseLaw;
use crate::voxel::test_volumes::SourceLimits as _;
use crate::voxel::test_volumes::{TestRng, block, random_target};
use palpate_twin::edits::NeighbourDirection;
use palpate_voxel::chainmail::Chainmail;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::VoxelNodes;

fn jacobi(gain: f64) -> RelaxationParams {
    RelaxationParams {
        order: UpdateOrder::Jacobi,
        gain,
        limits: false,
        ..RelaxationParams::default()
    }
}

fn sequential(gain: f64) -> RelaxationParams {
    RelaxationParams {
        gain,
        limits: false,
        ..RelaxationParams::default()
    }
}

/// Returns the size of a volume along x.
fn edge(nodes: &VoxelNodes<f64>) -> f64 {
    let at = (0..nodes.slots()).map(|e| nodes.position_m(e).x);
    let (least, most) = at.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
    most - least
}

/// Returns a block scaled about its first node.
fn scaled(n: i32, by: f64) -> VoxelNodes<f64> {
    let mut nodes = block::<f64>([n; 3], BondLimits::LOOSE);
    for node in 0..nodes.slots() {
        let site = nodes.site(node);
        for (moved_m, at) in nodes.displacement_m.iter_mut().zip(site) {
            moved_m[node as usize] = (by - 1.0) * f64::from(at);
        }
    }
    nodes
}

/// Returns a row of `links` links with held ends.
fn row(links: i32) -> (VoxelNodes<f64>, [u32; 2]) {
    let nodes = block::<f64>([links + 1, 1, 1], BondLimits::LOOSE);
    let ends = [0, links].map(|x| nodes.at_site([x, 0, 0]).expect("there"));
    (nodes, ends)
}

fn at(nodes: &VoxelNodes<f64>, x: i32) -> f64 {
    nodes.displacement_m[0][nodes.at_site([x, 0, 0]).expect("there") as usize]
}

/// Row DF-06: a free block shrinks by Eq. 1.
#[test]
fn df_06_midpoint_rule_shrinks_a_free_block() {
    let mut nodes = block::<f64>([10; 3], BondLimits::LOOSE);
    let params = RelaxationParams {
        target: NeighbourTarget::Neighbour,
        ..jacobi(0.5)
    };
    let mut relax = Relaxation::new(params, &nodes).expect("fit");
    let mut done = 0;
    for (passes, golden) in [(0, 9.000), (1, 8.800), (10, 7.589), (100, 3.124)] {
        while done < passes {
            relax.pass(&mut nodes, &[]);
            done += 1;
        }
        let edge = edge(&nodes);
        assert!((edge - golden).abs() < 0.0006, "{passes}: {edge}");
    }
}

/// Row DF-07: rest is a fixed point to the bit, the interior follows Eq. 1, and a compressed block recovers.
#[test]
fn df_07_rest_offset_rule_keeps_rest_and_recovers() {
    let mut still = block::<f64>([6; 3], BondLimits::MEDIUM);
    let before = still.clone();
    let mut relax = Relaxation::new(sequential(1.0), &still).expect("fit");
    assert_eq!(relax.pass(&mut still, &[]), 0.0);
    assert!(still == before);

    let mut squeezed = scaled(10, 0.8);
    let mut relax = Relaxation::new(sequential(1.0), &squeezed).expect("fit");
    for (passes, golden) in [(100, 8.970), (300, 9.000)] {
        for _ in 0..passes {
            relax.pass(&mut squeezed, &[]);
        }
        let edge = edge(&squeezed);
        assert!((edge - golden).abs() < 0.002, "{passes}: {edge}");
    }

    let mut rng = TestRng::new(2);
    let mut rough = block::<f64>([5; 3], BondLimits::LOOSE);
    for axis in &mut rough.displacement_m {
        axis.fill_with(|| rng.symmetric(0.3));
    }
    let mut pair = [NeighbourTarget::Neighbour, NeighbourTarget::Beside].map(|target| {
        let mut nodes = rough.clone();
        let params = RelaxationParams {
            target,
            ..jacobi(0.5)
        };
        let mut relax = Relaxation::new(params, &nodes).expect("fit");
        relax.pass(&mut nodes, &[]);
        nodes
    });
    let inside = |&e: &u32| {
        NeighbourDirection::ALL
            .iter()
            .all(|&to| rough.neighbour(e, to).is_some())
    };
    let [midpoint, rest] = &mut pair;
    let all: Vec<u32> = (0..rough.slots()).collect();
    assert_eq!(all.iter().filter(|e| inside(e)).count(), 27);
    for &node in &all {
        let [a, b] = [&*midpoint, &*rest].map(|v| v.displacement_m(node));
        let same = a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert_eq!(same, inside(&node));
    }
}

/// Row DF-08: inside the band nothing pulls, and the band's edge stays as strain beyond it. With flow more stays, and
/// below the least step nothing moves.
#[test]
fn df_08_dead_band_leaves_its_edge_as_strain() {
    let relaxed = |strain: f64, params: RelaxationParams| {
        let (mut nodes, _) = row(10);
        for node in 0..nodes.slots() {
            let x = nodes.site(node)[0];
            nodes.displacement_m[0][node as usize] = strain * f64::from(x);
        }
        let held = nodes.at_site([0, 0, 0]).expect("there");
        let mut relax = Relaxation::new(params, &nodes).expect("fit");
        for _ in 0..4000 {
            relax.pass(&mut nodes, &[held]);
        }
        at(&nodes, 10) / 10.0
    };
    let band = RelaxationParams {
        band: 0.1,
        ..sequential(1.0)
    };
    assert_eq!(relaxed(0.09, band.clone()), 0.09);
    assert!((relaxed(0.3, band.clone()) - 0.1).abs() < 1e-6);
    assert!((relaxed(-0.3, band.clone()) + 0.1).abs() < 1e-6);
    assert!(relaxed(0.3, sequential(1.0)).abs() < 1e-6);
    let flow = RelaxationParams { flow: 0.01, ..band };
    let left = relaxed(0.3, flow);
    assert!(left > 0.12 && left < 0.3, "{left}");
    let lazy = RelaxationParams {
        least_step: 0.05,
        ..sequential(1.0)
    };
    let left = relaxed(0.04, lazy);
    assert!((left - 0.04).abs() < 1e-12, "{left}");
}

/// Row DF-09 and section 3.4.3: the slowest mode of a row decays by its eigenvalue.
#[test]
fn df_09_slowest_mode_decays_by_its_eigenvalue() {
    for (links, gain) in [(50, 0.5), (50, 0.1), (12, 0.9)] {
        let (mut nodes, ends) = row(links);
        let angle = std::f64::consts::PI / f64::from(links);
        for node in 0..nodes.slots() {
            let x = nodes.site(node)[0];
            nodes.displacement_m[0][node as usize] = libm::sin(angle * f64::from(x));
        }
        let mut relax = Relaxation::new(jacobi(gain), &nodes).expect("fit");
        let before = at(&nodes, links / 2);
        relax.pass(&mut nodes, &ends);
        let factor = at(&nodes, links / 2) / before;
        let expected = 1.0 - gain * (1.0 - libm::cos(angle));
        assert!((factor - expected).abs() < 1e-6, "{factor} {expected}");
        if (links, gain) == (50, 0.5) {
            assert!((factor - 0.999_013).abs() < 1e-6);
        }
    }
}

/// Row DF-09: in sequence it overshoots only with a gain beyond 1, and divergent gains are refused.
#[test]
fn df_09_overshoot_needs_a_gain_beyond_1_and_divergence_is_refused() {
    for (gain, over) in [(0.5, false), (1.0, false), (1.6, true), (1.9, true)] {
        let (mut nodes, ends) = row(20);
        let slot = nodes.at_site([10, 0, 0]).expect("there") as usize;
        nodes.displacement_m[0][slot] = 0.3;
        let mut relax = Relaxation::new(sequential(gain), &nodes).expect("fit");
        let mut least = 0.0_f64;
        for _ in 0..600 {
            relax.pass(&mut nodes, &ends);
            least = nodes.displacement_m[0]
                .iter()
                .copied()
                .fold(least, f64::min);
        }
        assert_eq!(least < -1e-6, over, "{gain}: {least}");
        assert!(
            nodes.displacement_m[0].iter().all(|u| u.abs() < 1e-2),
            "{gain}"
        );
    }
    let nodes = block::<f64>([2; 3], BondLimits::MEDIUM);
    for bad in [
        sequential(2.0),
        sequential(0.0),
        sequential(f64::NAN),
        jacobi(1.0),
        RelaxationParams {
            limits: true,
            ..jacobi(0.5)
        },
    ] {
        assert!(Relaxation::new(bad.clone(), &nodes).is_err(), "{bad:?}");
    }
}

/// Returns the number of violated limits, by link and axis.
fn broken(nodes: &VoxelNodes<f64>) -> usize {
    let mut count = 0;
    for node in 0..nodes.slots() {
        for to in NeighbourDirection::POSITIVE {
            let Some(other) = nodes.neighbour(node, to) else {
                continue;
            };
            for along in 0..3 {
                let (least, most) = nodes.bonds().range_m([0, 0], to, along);
                let moved_m = &nodes.displacement_m[along];
                let apart = moved_m[other as usize] - moved_m[node as usize];
                count += usize::from(apart < least - 1e-9 || apart > most + 1e-9);
            }
        }
    }
    count
}

/// Section 3.4.6: passes without limits violate them by the thousand, passes with limits never.
#[test]
fn df_07_limit_aware_passes_break_no_limit() {
    let count = |params: RelaxationParams| {
        let mut nodes = block::<f64>([12, 10, 8], BondLimits::MEDIUM);
        let mut chainmail = Chainmail::new(nodes.slots());
        let mut relax = Relaxation::new(params, &nodes).expect("fit");
        let mut rng = TestRng::new(9);
        let mut sum = 0;
        for _ in 0..300 {
            let target = random_target(&mut rng, &nodes, 2.0);
            chainmail.propagate(&mut nodes, &[target]).expect("free");
            for _ in 0..3 {
                relax.pass(&mut nodes, &[target.node]);
                sum += broken(&nodes);
            }
        }
        sum
    };
    let violations = count(RelaxationParams::default());
    let plain = count(sequential(1.0));
    let midpoint = count(RelaxationParams {
        target: NeighbourTarget::Neighbour,
        ..sequential(0.5)
    });
    assert_eq!(violations, 0);
    assert!((3_000..50_000).contains(&plain), "{plain}");
    assert!(midpoint > 100_000, "{midpoint}");
}

/// Row DF-10 of the step: a quadratic response converges more slowly the nearer it is.
#[test]
fn df_10_quadratic_response_slows_down_near_rest() {
    let after = |response: ResponseLaw, start: f64| {
        let (mut nodes, ends) = row(2);
        let slot = nodes.at_site([1, 0, 0]).expect("there") as usize;
        nodes.displacement_m[0][slot] = start;
        let params = RelaxationParams {
            response,
            ..jacobi(0.5)
        };
        let mut relax = Relaxation::new(params, &nodes).expect("fit");
        relax.pass(&mut nodes, &ends);
        nodes.displacement_m[0][slot] / start
    };
    for start in [0.4, 0.1, -0.1] {
        assert!((after(ResponseLaw::Linear, start) - 0.5).abs() < 1e-12);
        let expected = 1.0 - 0.5 * start.abs();
        assert!((after(ResponseLaw::Quadratic, start) - expected).abs() < 1e-12);
    }
}
