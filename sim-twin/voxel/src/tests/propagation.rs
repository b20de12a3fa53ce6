//! Exact propagation against the closed form, and its promise on every shape.

use super::{Draw, SHAPES, block, some_control, volume};
use crate::elements::Elements;
use crate::exact::{Control, Exact, Moved};
use crate::limits::Limits;
use palpate_twin::edits::Direction;

/// Row FU-01: no link is ever left overstretched, on any shape, with 1 to 4 controls, homogeneous or with
/// a stiff inclusion; what cannot be is refused, and then nothing has moved.
#[test]
fn fu_01_no_limit_is_ever_broken() {
    let inside = Limits::even(0.97, 1.03, 0.03);
    let outside = Limits::even(0.6, 1.4, 0.4);
    let (mut refused, mut accepted) = (0, 0);
    for (name, is_in) in SHAPES {
        for inclusion in [false, true] {
            let of = |[x, y, z]: [i32; 3]| {
                u8::from(inclusion && (3..8).contains(&x) && (2..7).contains(&y) && z < 5)
            };
            let mut elements: Elements<f64> = volume([16, 12, 8], &[outside, inside], is_in, of);
            let mut exact = Exact::new(elements.slots());
            let mut draw = Draw::new(7 + u64::from(inclusion));
            for round in 0..834 {
                let count = 1 + round % 4;
                let controls: Vec<_> = (0..count)
                    .map(|_| some_control(&mut draw, &elements, 2.0))
                    .collect();
                let before = elements.clone();
                if exact.propagate(&mut elements, &controls).is_ok() {
                    accepted += 1;
                    let worst = elements.worst_m();
                    assert!(worst <= 1e-9, "{name}, {count} controls: {worst}");
                } else {
                    refused += 1;
                    assert!(elements == before, "{name}: a refusal moved something");
                }
            }
        }
    }
    assert!(accepted > 5000 && refused > 100, "{accepted} {refused}");
}

/// Rows TP-09 and section 3.3.6(d): a press on a pinned ground goes as deep as all links give.
#[test]
fn tp_09_a_pinned_ground_gives_just_what_its_links_give() {
    for (depth, can) in [(1.80 - 1e-9, true), (1.85, false)] {
        let mut elements: Elements<f64> = block([9, 9, 10], Limits::MEDIUM);
        for element in 0..elements.slots() {
            elements.pin(element, elements.site(element)[2] == 0);
        }
        let top = elements.at_site([4, 4, 9]).expect("there");
        let control = Control {
            element: top,
            to_m: [0.0, 0.0, -depth],
        };
        let told = Exact::new(elements.slots()).propagate(&mut elements, &[control]);
        assert_eq!(told.is_ok(), can, "{told:?}");
        assert!(elements.worst_m() <= 1e-9);
        let ground = elements.at_site([4, 4, 0]).expect("there");
        assert_eq!(elements.moved_m(ground), [0.0; 3]);
        if let Err(why) = told {
            assert!(elements.pinned(why.element) && (why.by_m - 0.05).abs() < 1e-9);
        }
    }
}

/// Row LV-01: counts and symmetry of a block, and of what is left after cuts.
#[test]
fn lv_01_every_link_is_answered() {
    for n in [2, 5, 9] {
        let mut elements: Elements<f32> = block([n; 3], Limits::MEDIUM);
        let n = usize::try_from(n).expect("small");
        assert_eq!(elements.count(), n * n * n);
        assert_eq!(elements.link_count(), 3 * n * n * (n - 1));
        assert_eq!(elements.one_sided(), None);
        let mut draw = Draw::new(3);
        for _ in 0..200 {
            let element = draw.below(elements.slots());
            let to = Direction::ALL[draw.below(6) as usize];
            match draw.below(3) {
                0 => drop(elements.cut(element, to)),
                1 => drop(elements.carve(element)),
                _ => {
                    elements.join(element, to, draw.below(8));
                }
            }
            assert_eq!(elements.one_sided(), None);
        }
    }
}

/// Moves whoever must follow, by looking at all links until nothing changes: slow, and plain enough to
/// judge others.
fn by_all_links(elements: &mut Elements<f64>, controls: &[Control<f64>]) {
    for axis in 0..3 {
        for up in [true, false] {
            let ahead = |to: f64, now: f64| if up { to > now } else { to < now };
            for control in controls {
                let at = &mut elements.moved_m[axis][control.element as usize];
                if ahead(control.to_m[axis], *at) {
                    *at = control.to_m[axis];
                }
            }
            let mut changed = true;
            while changed {
                changed = false;
                for element in 0..elements.slots() {
                    for to in Direction::ALL {
                        let Some(other) = elements.neighbour(element, to) else {
                            continue;
                        };
                        let pair = [elements.matter(element), elements.matter(other)];
                        let (least, most) = elements.bonds().range_m(pair, to, axis);
                        let from = elements.moved_m[axis][element as usize];
                        let to = if up { from + least } else { from + most };
                        let at = &mut elements.moved_m[axis][other as usize];
                        if ahead(to, *at) && (to - *at).abs() > 1e-13 {
                            (*at, changed) = (to, true);
                        }
                    }
                }
            }
        }
    }
}

/// Row FU-01: it is the least motion, on any shape and mixture and with several controls; and the work is
/// that of the elements that move, few of them twice.
#[test]
fn fu_01_exact_is_the_least_motion_and_little_work() {
    let stiffer = [
        Limits::even(0.97, 1.03, 0.03),
        Limits::RIGID,
        Limits::even(0.999, 2.5, 0.9),
    ];
    for (nth, inside) in stiffer.into_iter().enumerate() {
        for (name, is_in) in SHAPES {
            let of =
                |[x, y, z]: [i32; 3]| u8::from((3..8).contains(&x) && (2..7).contains(&y) && z < 5);
            let matters = [Limits::even(0.6, 1.4, 0.4), inside];
            let mut elements: Elements<f64> = volume([16, 12, 8], &matters, is_in, of);
            let mut exact = Exact::new(elements.slots());
            let mut draw = Draw::new(31 + nth as u64);
            let mut work = Moved::default();
            for round in 0..24 {
                let controls: Vec<_> = (0..1 + round % 3)
                    .map(|_| some_control(&mut draw, &elements, 2.0))
                    .collect();
                let mut judge = elements.clone();
                let Ok(moved) = exact.propagate(&mut elements, &controls) else {
                    continue;
                };
                work.moved += moved.moved + controls.len();
                work.considered += moved.considered;
                by_all_links(&mut judge, &controls);
                for axis in 0..3 {
                    let pairs = elements.moved_m[axis].iter().zip(&judge.moved_m[axis]);
                    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(worst < 1e-11, "{name} {inside:?}: {worst}");
                }
                elements = judge;
            }
            // six links an element at most
            let looks = work.considered as f64 / work.moved as f64;
            assert!(looks < 7.0, "{name} {inside:?}: {looks}");
        }
    }
}

/// Limits that hardly give, and controls very far apart, are no trouble to the queue.
#[test]
fn fu_01_tiny_gives_and_far_controls_end_well() {
    for limits in [
        Limits::even(1.0, 1.0, 1e-300),
        Limits::even(1.0, 1.0, 1e-12),
        Limits::even(0.5, 1e6, 1e-3),
    ] {
        let mut elements: Elements<f64> = block([6, 5, 4], limits);
        // two pieces, one of them very far away
        for element in 0..elements.slots() {
            if elements.site(element)[0] == 2 {
                elements.cut(element, Direction::Right);
            }
        }
        let ends = [[0, 0, 0], [5, 4, 3]].map(|site| elements.at_site(site).expect("there"));
        let mut exact = Exact::new(elements.slots());
        for far in [1e-9, 1.0, 1e12] {
            let controls = [
                Control {
                    element: ends[0],
                    to_m: [0.25, 0.5, -0.5],
                },
                Control {
                    element: ends[1],
                    to_m: [far, -far, far],
                },
            ];
            exact.propagate(&mut elements, &controls).expect("apart");
            assert!(elements.worst_m() <= 1e-15 * far.max(1.0) * 64.0);
        }
    }
}
