//! Tests of knife, curette and the pieces that they separate.

use super::{TestRng, block, random_target};
use crate::carve::RoundToolMotion;
use crate::chainmail::{Chainmail, NodeTarget, PropagationStats};
use crate::knife::{BladeEdge, BladeMotion, find_crossed_links};
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use crate::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use crate::topology_editor::TopologyEditor;
use palpate_twin::Vec3;
use palpate_twin::edits::{NeighbourDirection, TopologyChange};

/// Returns all links, from their lower ends.
fn links(nodes: &VoxelNodes<f64>) -> Vec<(u32, NeighbourDirection, u32)> {
    let ends = |e| {
        NeighbourDirection::POSITIVE
            .into_iter()
            .map(move |to| (e, to))
    };
    (0..nodes.slots())
        .flat_map(ends)
        .filter_map(|(e, to)| nodes.neighbour(e, to).map(|other| (e, to, other)))
        .collect()
}

/// Returns a block that was deformed at random within its limits.
fn bent(size: [i32; 3], seed: u64) -> VoxelNodes<f64> {
    let mut nodes = block(size, BondLimits::MEDIUM);
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut rng = TestRng::new(seed);
    for _ in 0..30 {
        let target = random_target(&mut rng, &nodes, 1.0);
        chainmail
            .propagate(&mut nodes, &[target])
            .expect("nothing is held");
    }
    nodes
}

/// Returns a blade along y at a place of the x-z plane.
fn blade(x: f64, z: f64) -> BladeEdge {
    BladeEdge([Vec3::new(x, -50.0, z), Vec3::new(x + 0.3, 50.0, z)])
}

/// Row TP-02: a curved cut through a deformed block. No remaining link crosses the swept surface, all others remain,
/// no node is removed, and a complete cut leaves two pieces.
#[test]
fn tp_02_blade_cuts_exactly_the_links_it_crosses() {
    for seed in 1..4 {
        let mut nodes = bent([12, 11, 10], seed);
        let mut editor = TopologyEditor::new(&mut nodes, 10_000);
        let before = links(&nodes);
        let place = |k: i32| {
            let z = 40.0 - 2.0 * f64::from(k);
            blade(5.37 + 1.5 * (z * 0.31).sin(), z)
        };
        let motions: Vec<BladeMotion> = (0..40)
            .map(|k| BladeMotion {
                before: place(k),
                after: place(k + 1),
            })
            .collect();
        let (mut cut, mut pieces) = (0, 0);
        for motion in &motions {
            let done = editor.cut(&mut nodes, motion, f64::INFINITY);
            (cut, pieces) = (cut + done.links, pieces + done.pieces);
            assert_eq!(done.nodes, 0);
        }
        let crossed = |nodes: &VoxelNodes<f64>, (a, _, b): (u32, NeighbourDirection, u32)| {
            let ends_m = [nodes.position_m(a), nodes.position_m(b)];
            motions
                .iter()
                .any(|motion| motion.crosses(ends_m).is_some())
        };
        let left = links(&nodes);
        assert!(left.iter().all(|&link| !crossed(&nodes, link)));
        let expected: Vec<_> = before
            .iter()
            .copied()
            .filter(|&link| !crossed(&nodes, link))
            .collect();
        assert_eq!(left, expected, "seed {seed}");
        assert_eq!(
            (cut, nodes.count()),
            (before.len() - left.len(), 12 * 11 * 10)
        );
        // the chains of the remaining links cross the sheet an even number of times
        assert_eq!(
            (pieces, editor.derived.pieces.sizes.len()),
            (1, 2),
            "seed {seed}"
        );
        assert_eq!(nodes.asymmetric_link(), None);
        for _ in &motions {
            editor.undo_or_redo(&mut nodes, true);
        }
        assert_eq!(links(&nodes), before);
        assert_eq!(editor.derived.pieces.sizes.len(), 1);
    }
}

/// One fast motion cuts what a hundred small ones cut, and the side of the plane decides.
#[test]
fn fast_blade_cuts_the_same_links_as_slow_blade() {
    let original = bent([10, 9, 8], 7);
    let from = blade(4.41, 30.0);
    let to = blade(4.97, -30.0);
    let at = |share: f64| BladeEdge([0, 1].map(|end| from.0[end].lerp(&to.0[end], share)));
    let mut results = Vec::new();
    for steps in [1, 7, 400] {
        let mut nodes = original.clone();
        let mut editor = TopologyEditor::new(&mut nodes, 0);
        for k in 0..steps {
            let share = |k: i32| f64::from(k) / f64::from(steps);
            let motion = BladeMotion {
                before: at(share(k)),
                after: at(share(k + 1)),
            };
            editor.cut(&mut nodes, &motion, f64::INFINITY);
        }
        results.push(links(&nodes));
    }
    let [first_m, second_m] = from.0;
    let normal = (second_m - first_m).cross(&(to.0[0] - first_m));
    let side = |e: u32| normal.dot(&(original.position_m(e) - first_m)) >= 0.0;
    let expected: Vec<_> = links(&original)
        .into_iter()
        .filter(|&(a, _, b)| side(a) == side(b))
        .collect();
    for result in results {
        assert_eq!(result, expected);
    }
}

/// A blade that is not finite, or does not move, cuts nothing.
#[test]
fn non_finite_or_resting_blade_cuts_nothing() {
    let mut nodes = block([5, 5, 5], BondLimits::MEDIUM);
    let before: VoxelNodes<f64> = nodes.clone();
    let mut editor = TopologyEditor::new(&mut nodes, 10);
    let here = blade(2.5, 2.0);
    for after in [blade(f64::NAN, 2.0), blade(f64::INFINITY, 2.0), here] {
        let motion = BladeMotion {
            before: here,
            after,
        };
        assert_eq!(editor.cut(&mut nodes, &motion, f64::INFINITY).links, 0);
    }
    let nowhere = RoundToolMotion::ball(Vec3::repeat(f64::NAN), Vec3::zeros(), 1.0);
    assert_eq!(editor.carve(&mut nodes, &nowhere).nodes, 0);
    assert!(nodes == before);
}

/// Row CL-02: the energy to cut an inclusion grows with its toughness, and a blade with a smaller budget stops on its
/// path.
#[test]
fn cl_02_cutting_energy_grows_with_toughness() {
    let named = |toughness_jpm2| VoxelMaterial {
        toughness_jpm2,
        ..VoxelMaterial::of_young("test", 2e3, 0.0)
    };
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let sites = (0..8).flat_map(|z| (0..8).flat_map(move |y| (0..20).map(move |x| [x, y, z])));
    let seeds: Vec<NodeSeed> = sites
        .map(|site| NodeSeed {
            site,
            material: u8::from(site[0] >= 10),
            object: 0,
        })
        .collect();
    let mut nodes =
        VoxelNodes::<f64>::new(frame, vec![named(2.0), named(14.0)], &seeds).expect("fit");
    let motion = |x| BladeMotion {
        before: blade(x, 20.0),
        after: blade(x, -20.0),
    };
    let mut editor = TopologyEditor::new(&mut nodes, 10_000);
    let soft = editor.cut(&mut nodes, &motion(4.2), f64::INFINITY);
    let tough = editor.cut(&mut nodes, &motion(14.2), 300.0);
    assert!(
        tough.path_fraction > 0.2 && tough.path_fraction < 0.6 && tough.tough_j <= 300.0,
        "{tough:?}"
    );
    assert_eq!((tough.links, tough.pieces), (21, 0));
    editor.undo_or_redo(&mut nodes, true);
    let tough = editor.cut(&mut nodes, &motion(14.2), f64::INFINITY);
    assert_eq!((soft.links, tough.links, soft.path_fraction), (64, 64, 1.0));
    assert!((tough.tough_j / soft.tough_j - 7.0).abs() < 1e-12);
    assert!((soft.tough_j - 2.0 * 64.0).abs() < 1e-9);
    // between the two materials, the mean
    let mixed = editor.cut(&mut nodes, &motion(9.2), f64::INFINITY);
    assert!((mixed.tough_j - 8.0 * 64.0).abs() < 1e-9);
}

/// A cut removes the energy of its links, and an undo restores it.
#[test]
fn cut_removes_the_energy_of_its_links() {
    let mut nodes = bent([8, 8, 8], 5);
    let energy_j = |nodes: &VoxelNodes<f64>| -> f64 {
        let stored = |&(a, to, b): &(u32, NeighbourDirection, u32)| {
            crate::knife::link_energy_j(nodes, a, to, b)
        };
        links(nodes).iter().map(stored).sum()
    };
    let before_j = energy_j(&nodes);
    let mut editor = TopologyEditor::new(&mut nodes, 10_000);
    let motion = BladeMotion {
        before: blade(3.7, 20.0),
        after: blade(3.7, -20.0),
    };
    let done = editor.cut(&mut nodes, &motion, f64::INFINITY);
    assert!(done.stored_j < 0.0);
    assert!((energy_j(&nodes) - before_j - done.stored_j).abs() < 1e-9 * before_j);
}

/// True if a tool with a radius larger by `wider_m` sweeps over a place, by dense samples of its motion.
fn comes_over(motion: &RoundToolMotion, at_m: &Vec3, wider_m: f64) -> bool {
    let share = |k: i32, n: i32| f64::from(k) / f64::from(n);
    (0..=400).any(|k| {
        (0..=40).any(|j| {
            let (before, after) = (motion.axis.before.0, motion.axis.after.0);
            let from = before[0].lerp(&after[0], share(k, 400));
            let to = before[1].lerp(&after[1], share(k, 400));
            (from.lerp(&to, share(j, 40)) - at_m).norm() <= motion.radius_m + wider_m
        })
    })
}

/// Rows TP-01 and TP-10: exactly the nodes in the swept volume are removed, in three dimensions and in two, with
/// their links.
#[test]
fn tp_01_tp_10_curette_removes_exactly_the_swept_nodes() {
    for size in [[14, 13, 12], [20, 20, 1]] {
        let mut nodes = bent(size, 3);
        let mut editor = TopologyEditor::new(&mut nodes, 100_000);
        let mut rng = TestRng::new(8);
        for _ in 0..12 {
            let far = f64::from(size[0]);
            let mut at = || {
                Vec3::new(
                    rng.unit() * far,
                    rng.unit() * far,
                    rng.unit() * f64::from(size[2]),
                )
            };
            let (p, q, s) = (at(), at(), at() * 0.2);
            let ball = RoundToolMotion::ball(p, q, 1.3);
            let shape = RoundToolMotion {
                axis: BladeMotion {
                    before: BladeEdge([p, p + s]),
                    after: BladeEdge([q, q + s]),
                },
                radius_m: 0.9,
            };
            for motion in [ball, shape] {
                let before: Vec<u32> = (0..nodes.slots()).filter(|&e| nodes.alive(e)).collect();
                let taken = editor.carve(&mut nodes, &motion).nodes;
                let gone: Vec<u32> = before
                    .iter()
                    .copied()
                    .filter(|&e| !nodes.alive(e))
                    .collect();
                assert_eq!(gone.len(), taken);
                for &e in &before {
                    let at_m = nodes.position_m(e);
                    if gone.contains(&e) {
                        assert!(comes_over(&motion, &at_m, 0.03));
                        assert!(
                            NeighbourDirection::ALL
                                .iter()
                                .all(|&to| nodes.neighbour(e, to).is_none())
                        );
                    } else {
                        assert!(!comes_over(&motion, &at_m, -0.03));
                    }
                }
                assert_eq!(nodes.asymmetric_link(), None);
            }
        }
        assert!(nodes.count() < nodes.slots() as usize * 9 / 10);
    }
}

/// Row TP-01: the cost of carving a pit does not depend on the size of the model.
#[test]
fn tp_01_carving_cost_is_independent_of_model_size() {
    let cost = |x: i32, n: i32| {
        let mut nodes: VoxelNodes<f32> = block([x, n, n], BondLimits::MEDIUM);
        let mut editor = TopologyEditor::new(&mut nodes, 10_000);
        let top = f64::from(n - 1);
        let before = (
            editor.derived.pieces.node_runs.links_visited,
            editor.derived.surface.nodes_visited,
        );
        let down = Vec3::new(8.0, 8.0, top);
        let motion = RoundToolMotion::ball(down + Vec3::z() * 4.0, down, 3.0);
        let taken = editor.carve(&mut nodes, &motion).nodes;
        assert!(taken > 40);
        let after = (
            editor.derived.pieces.node_runs.links_visited,
            editor.derived.surface.nodes_visited,
        );
        (taken, after.0 - before.0, after.1 - before.1)
    };
    // the node runs around the pit are equal
    let (small, large) = (cost(96, 20), cost(128, 48));
    assert_eq!(small, large);
}

/// Rows CL-01 and LV-06: a piece that is cut off is an object with a unique id, and moves alone. Its cost does not
/// grow with earlier cuts.
#[test]
fn cl_01_separated_piece_becomes_an_object() {
    let mut nodes: VoxelNodes<f64> = block([20, 8, 8], BondLimits::MEDIUM);
    let mut editor = TopologyEditor::new(&mut nodes, 10_000);
    let slice = |x| BladeMotion {
        before: blade(x, 20.0),
        after: blade(x, -20.0),
    };
    let mut costs = Vec::new();
    for x in [2.2, 9.2, 15.2] {
        let before = editor.derived.pieces.node_runs.links_visited;
        assert_eq!(editor.cut(&mut nodes, &slice(x), f64::INFINITY).pieces, 1);
        costs.push(editor.derived.pieces.node_runs.links_visited - before);
    }
    // every row is cut: its own run of 20 nodes and the adjacent ones are refreshed, six links per node
    assert!(costs[0] < 64 * 2 * 6 * 20 + 1200, "{costs:?}");
    assert!(costs[1..].iter().all(|&cost| cost <= costs[0]), "{costs:?}");
    let live = editor.derived.pieces.sizes.to_vec();
    assert_eq!(
        live.iter()
            .map(|&(_, count)| count)
            .collect::<Vec<_>>()
            .iter()
            .sum::<u32>(),
        1280
    );
    let mut counts: Vec<u32> = live.iter().map(|&(_, count)| count).collect();
    counts.sort_unstable();
    assert_eq!(counts, [192, 256, 384, 448]);
    let ids: std::collections::BTreeSet<u32> =
        (0..nodes.slots()).map(|e| nodes.object(e)).collect();
    assert_eq!(
        ids.into_iter().collect::<Vec<_>>(),
        live.iter().map(|l| l.0).collect::<Vec<_>>()
    );
    // dragging one piece moves none of the others
    let corner = nodes.at_site([0, 0, 0]).expect("there");
    let target = NodeTarget {
        node: corner,
        displacement_m: [-30.0, 0.0, 0.0],
    };
    let mut chainmail = Chainmail::new(nodes.slots());
    chainmail
        .propagate(&mut nodes, &[target])
        .expect("nothing is held");
    for node in 0..nodes.slots() {
        let moved = nodes.displacement_m(node)[0] < -20.0;
        assert_eq!(moved, nodes.object(node) == nodes.object(corner));
    }
    // undone, it is one piece again
    for _ in 0..3 {
        editor.undo_or_redo(&mut nodes, true);
    }
    assert_eq!(editor.derived.pieces.sizes.len(), 1);
    assert_eq!(editor.derived.pieces.sizes[0].1, 1280);
}

/// A separated piece is found by node runs: fewer links are followed than there are nodes.
#[test]
fn cl_01_piece_search_visits_fewer_links_than_nodes() {
    let mut nodes: VoxelNodes<f32> = block([40, 20, 20], BondLimits::MEDIUM);
    let mut editor = TopologyEditor::new(&mut nodes, 10_000);
    let before = editor.derived.pieces.node_runs.links_visited;
    let middle = (Vec3::new(0.0, 9.5, 0.0), Vec3::y());
    let done = editor.cut_plane(&mut nodes, &middle.0, &middle.1);
    let looked = editor.derived.pieces.node_runs.links_visited - before;
    assert_eq!(done.links, 800);
    assert_eq!(editor.derived.pieces.sizes, [(0, 8000), (1, 8000)]);
    assert!(looked < u64::from(nodes.slots()), "{looked}");
}

/// A cut that separates nothing costs no search through the model.
#[test]
fn cut_without_separation_is_cheap() {
    let cost = |x: i32, n: i32| {
        let mut nodes: VoxelNodes<f64> = block([x, n, n], BondLimits::MEDIUM);
        let mut editor = TopologyEditor::new(&mut nodes, 10_000);
        let before = editor.derived.pieces.node_runs.links_visited;
        let top = f64::from(n - 1);
        let edge = |z| BladeEdge([Vec3::new(7.4, 4.0, z), Vec3::new(7.4, 10.0, z)]);
        let motion = BladeMotion {
            before: edge(top + 2.0),
            after: edge(top - 3.0),
        };
        let done = editor.cut(&mut nodes, &motion, f64::INFINITY);
        assert_eq!((done.links, done.pieces), (28, 0));
        editor.derived.pieces.node_runs.links_visited - before
    };
    let small = cost(96, 16);
    assert_eq!(small, cost(128, 40));
    assert!(small < 20_000, "{small}");
}

/// The links that a blade crosses in a randomly deformed model equal those found link by link, in the order of its
/// path.
#[test]
fn crossed_links_are_complete_and_in_path_order() {
    let mut nodes = bent([9, 8, 7], 2);
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut rng = TestRng::new(6);
    let mut crossings = Vec::new();
    for round in 0..200 {
        let target = random_target(&mut rng, &nodes, 1.5);
        chainmail
            .propagate(&mut nodes, &[target])
            .expect("nothing is held");
        if round % 9 == 0 {
            let node = rng.below(nodes.slots());
            nodes.carve(node);
            let displacement_m = target.displacement_m;
            let dead = NodeTarget {
                node,
                displacement_m,
            };
            let moved = chainmail.propagate(&mut nodes, &[dead]);
            assert_eq!(moved, Ok(PropagationStats::default()));
        }
        let mut at = || {
            Vec3::new(
                rng.symmetric(12.0),
                rng.symmetric(12.0),
                rng.symmetric(12.0),
            )
        };
        let mut edge = || BladeEdge([at(), at()]);
        let motion = BladeMotion {
            before: edge(),
            after: edge(),
        };
        let expected: Vec<_> = links(&nodes)
            .into_iter()
            .filter(|&(e, _, o)| {
                motion
                    .crosses([nodes.position_m(e), nodes.position_m(o)])
                    .is_some()
            })
            .collect();
        let reach_m = crate::knife::link_length_max_m(&nodes);
        find_crossed_links(&nodes, 0..nodes.slots(), &motion, reach_m, &mut crossings);
        let mut cut: Vec<_> = crossings
            .iter()
            .filter_map(|crossing| match crossing.change {
                TopologyChange::Cut {
                    node,
                    direction: to,
                    neighbour: other,
                } => Some((node, to, other)),
                _ => None,
            })
            .collect();
        assert!(
            crossings
                .windows(2)
                .all(|pair| pair[0].path_fraction <= pair[1].path_fraction)
        );
        cut.sort_unstable_by_key(|c| (c.0, c.1.index()));
        assert_eq!(cut, expected);
    }
}
