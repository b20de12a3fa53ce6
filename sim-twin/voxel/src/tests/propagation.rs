//! Tests of ChainMail propagation against the closed form and on every shape.

use super::{SHAPES, TestRng, block, random_target, volume};
use crate::chainmail::{Chainmail, NodeTarget, PropagationStats};
use crate::limits::BondLimits;
use crate::nodes::VoxelNodes;
use palpate_twin::edits::NeighbourDirection;

/// Row FU-01: no link exceeds its limits, on any shape, with 1 to 4 targets, homogeneous or with a stiff inclusion.
/// An infeasible motion is refused and moves nothing.
#[test]
fn fu_01_propagation_keeps_all_limits() {
    let inside = BondLimits::even(0.97, 1.03, 0.03);
    let outside = BondLimits::even(0.6, 1.4, 0.4);
    let (mut refused, mut accepted) = (0, 0);
    for (name, is_in) in SHAPES {
        for inclusion in [false, true] {
            let of = |[x, y, z]: [i32; 3]| {
                u8::from(inclusion && (3..8).contains(&x) && (2..7).contains(&y) && z < 5)
            };
            let mut nodes: VoxelNodes<f64> = volume([16, 12, 8], &[outside, inside], is_in, of);
            let mut chainmail = Chainmail::new(nodes.slots());
            let mut rng = TestRng::new(7 + u64::from(inclusion));
            for round in 0..834 {
                let count = 1 + round % 4;
                let targets: Vec<_> = (0..count)
                    .map(|_| random_target(&mut rng, &nodes, 2.0))
                    .collect();
                let before = nodes.clone();
                if chainmail.propagate(&mut nodes, &targets).is_ok() {
                    accepted += 1;
                    let worst = nodes.limit_excess_m();
                    assert!(worst <= 1e-9, "{name}, {count} controls: {worst}");
                } else {
                    refused += 1;
                    assert!(nodes == before, "{name}: a refusal moved something");
                }
            }
        }
    }
    assert!(accepted > 5000 && refused > 100, "{accepted} {refused}");
}

/// Row TP-09 and section 3.3.6(d): a press on pinned ground is feasible down to the sum of all limits.
#[test]
fn tp_09_press_on_pinned_ground_is_feasible_to_the_sum_of_limits() {
    for (depth, can) in [(1.80 - 1e-9, true), (1.85, false)] {
        let mut nodes: VoxelNodes<f64> = block([9, 9, 10], BondLimits::MEDIUM);
        for node in 0..nodes.slots() {
            nodes.set_pinned(node, nodes.site(node)[2] == 0);
        }
        let top = nodes.at_site([4, 4, 9]).expect("there");
        let target = NodeTarget {
            node: top,
            displacement_m: [0.0, 0.0, -depth],
        };
        let result = Chainmail::new(nodes.slots()).propagate(&mut nodes, &[target]);
        assert_eq!(result.is_ok(), can, "{result:?}");
        assert!(nodes.limit_excess_m() <= 1e-9);
        let ground = nodes.at_site([4, 4, 0]).expect("there");
        assert_eq!(nodes.displacement_m(ground), [0.0; 3]);
        if let Err(why) = result {
            assert!(nodes.pinned(why.node) && (why.by_m - 0.05).abs() < 1e-9);
        }
    }
}

/// Row LV-01: counts and symmetry of a block, before and after cuts.
#[test]
fn lv_01_links_are_symmetric() {
    for n in [2, 5, 9] {
        let mut nodes: VoxelNodes<f32> = block([n; 3], BondLimits::MEDIUM);
        let n = usize::try_from(n).expect("small");
        assert_eq!(nodes.count(), n * n * n);
        assert_eq!(nodes.link_count(), 3 * n * n * (n - 1));
        assert_eq!(nodes.asymmetric_link(), None);
        let mut rng = TestRng::new(3);
        for _ in 0..200 {
            let node = rng.below(nodes.slots());
            let to = NeighbourDirection::ALL[rng.below(6) as usize];
            match rng.below(3) {
                0 => drop(nodes.cut(node, to)),
                1 => drop(nodes.carve(node)),
                _ => {
                    nodes.join(node, to, rng.below(8));
                }
            }
            assert_eq!(nodes.asymmetric_link(), None);
        }
    }
}

/// Moves all nodes that must follow by a fixed-point iteration over all links: a slow reference.
fn by_all_links(nodes: &mut VoxelNodes<f64>, targets: &[NodeTarget<f64>]) {
    for axis in 0..3 {
        for up in [true, false] {
            let ahead = |to: f64, now: f64| if up { to > now } else { to < now };
            for target in targets {
                let at = &mut nodes.displacement_m[axis][target.node as usize];
                if ahead(target.displacement_m[axis], *at) {
                    *at = target.displacement_m[axis];
                }
            }
            let mut changed = true;
            while changed {
                changed = false;
                for node in 0..nodes.slots() {
                    for to in NeighbourDirection::ALL {
                        let Some(other) = nodes.neighbour(node, to) else {
                            continue;
                        };
                        let pair = [nodes.material(node), nodes.material(other)];
                        let (least, most) = nodes.bonds().range_m(pair, to, axis);
                        let from = nodes.displacement_m[axis][node as usize];
                        let to = if up { from + least } else { from + most };
                        let at = &mut nodes.displacement_m[axis][other as usize];
                        if ahead(to, *at) && (to - *at).abs() > 1e-13 {
                            (*at, changed) = (to, true);
                        }
                    }
                }
            }
        }
    }
}

/// Row FU-01: it is the least motion, on any shape and mixture and with several targets. The work is that of the
/// moved nodes, few of them visited twice.
#[test]
fn fu_01_propagation_is_the_least_motion_with_little_work() {
    let stiffer = [
        BondLimits::even(0.97, 1.03, 0.03),
        BondLimits::RIGID,
        BondLimits::even(0.999, 2.5, 0.9),
    ];
    for (nth, inside) in stiffer.into_iter().enumerate() {
        for (name, is_in) in SHAPES {
            let of =
                |[x, y, z]: [i32; 3]| u8::from((3..8).contains(&x) && (2..7).contains(&y) && z < 5);
            let materials = [BondLimits::even(0.6, 1.4, 0.4), inside];
            let mut nodes: VoxelNodes<f64> = volume([16, 12, 8], &materials, is_in, of);
            let mut chainmail = Chainmail::new(nodes.slots());
            let mut rng = TestRng::new(31 + nth as u64);
            let mut work = PropagationStats::default();
            for round in 0..24 {
                let targets: Vec<_> = (0..1 + round % 3)
                    .map(|_| random_target(&mut rng, &nodes, 2.0))
                    .collect();
                let mut reference = nodes.clone();
                let Ok(moved) = chainmail.propagate(&mut nodes, &targets) else {
                    continue;
                };
                work.moved += moved.moved + targets.len();
                work.considered += moved.considered;
                by_all_links(&mut reference, &targets);
                for axis in 0..3 {
                    let pairs = nodes.displacement_m[axis]
                        .iter()
                        .zip(&reference.displacement_m[axis]);
                    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(worst < 1e-11, "{name} {inside:?}: {worst}");
                }
                nodes = reference;
            }
            // six links per node at most
            let links_per_node = work.considered as f64 / work.moved as f64;
            assert!(links_per_node < 7.0, "{name} {inside:?}: {links_per_node}");
        }
    }
}

/// Nearly rigid links and very distant targets do not break the queue.
#[test]
fn fu_01_stiff_links_and_distant_targets_propagate() {
    for limits in [
        BondLimits::even(1.0, 1.0, 1e-300),
        BondLimits::even(1.0, 1.0, 1e-12),
        BondLimits::even(0.5, 1e6, 1e-3),
    ] {
        let mut nodes: VoxelNodes<f64> = block([6, 5, 4], limits);
        // two pieces, one of them very far away
        for node in 0..nodes.slots() {
            if nodes.site(node)[0] == 2 {
                nodes.cut(node, NeighbourDirection::Right);
            }
        }
        let ends = [[0, 0, 0], [5, 4, 3]].map(|site| nodes.at_site(site).expect("there"));
        let mut chainmail = Chainmail::new(nodes.slots());
        for far in [1e-9, 1.0, 1e12] {
            let targets = [
                NodeTarget {
                    node: ends[0],
                    displacement_m: [0.25, 0.5, -0.5],
                },
                NodeTarget {
                    node: ends[1],
                    displacement_m: [far, -far, far],
                },
            ];
            chainmail.propagate(&mut nodes, &targets).expect("apart");
            assert!(nodes.limit_excess_m() <= 1e-15 * far.max(1.0) * 64.0);
        }
    }
}
