//! Tests of glue and tearing.

use super::{TestRng, block, random_target};
use crate::chainmail::{Chainmail, NodeTarget};
use crate::join::{GlueSearch, may_join};
use crate::knife::{BladeEdge, BladeMotion};
use crate::limits::BondLimits;
use crate::nodes::VoxelNodes;
use crate::tear::TearSearch;
use crate::topology_editor::TopologyEditor;
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::edits::TopologyChange;

const N: i32 = 8;

/// Returns a block cut in two at x = 3.5, with the right half translated.
fn halves(limits: BondLimits, by_m: [f64; 3]) -> (VoxelNodes<f64>, TopologyEditor) {
    let mut nodes: VoxelNodes<f64> = block([N, N, N], limits);
    let mut editor = TopologyEditor::new(&mut nodes, 100_000);
    let edge = |z| BladeEdge([Vec3::new(3.5, -9.0, z), Vec3::new(3.5, 20.0, z)]);
    let sweep = BladeMotion {
        before: edge(20.0),
        after: edge(-9.0),
    };
    let done = editor.cut(&mut nodes, &sweep, f64::INFINITY);
    assert_eq!((done.links, done.pieces), (64, 1));
    for node in 0..nodes.slots() {
        if nodes.site(node)[0] > 3 {
            nodes.set_displacement_m(node, by_m);
        }
    }
    (nodes, editor)
}

/// Approximate centre of the block \[m\]; all nodes are within 40 m.
const MIDDLE_M: Vec3 = Vec3::new(4.0, 4.0, 4.0);

/// Row TP-06: facing cut faces within limits are joined, every pair, deterministically. Then dragging one half moves
/// the other. Beyond the limits nothing is joined.
#[test]
fn tp_06_facing_cut_faces_are_joined() {
    for (by_m, can) in [
        ([0.15, -0.1, 0.19], true),
        ([-0.19, 0.0, 0.0], true),
        ([0.21, 0.0, 0.0], false),
        ([0.0, 0.21, 0.0], false),
        ([-0.21, 0.0, 0.0], false),
    ] {
        let (mut nodes, mut editor) = halves(BondLimits::MEDIUM, by_m);
        let (mut again, mut surgery_again) = (nodes.clone(), editor.clone());
        let done = editor.join(&mut nodes, MIDDLE_M, 40.0);
        surgery_again.join(&mut again, MIDDLE_M, 40.0);
        assert!(nodes == again);
        assert_eq!(done.links, if can { 64 } else { 0 }, "{by_m:?}");
        assert_eq!(editor.derived.pieces.sizes.len(), if can { 1 } else { 2 });
        assert!(nodes.limit_excess_m() <= 1e-9);
        assert_eq!(nodes.asymmetric_link(), None);
        let corner = nodes.at_site([0, 0, 0]).expect("there");
        let far = nodes.at_site([7, 7, 7]).expect("there");
        let was = nodes.displacement_m(far)[0];
        let target = NodeTarget {
            node: corner,
            displacement_m: [-9.0, 0.0, 0.0],
        };
        let mut chainmail = Chainmail::new(nodes.slots());
        chainmail
            .propagate(&mut nodes, &[target])
            .expect("nothing is held");
        assert_eq!(nodes.displacement_m(far)[0] < was - 1.0, can);
    }
}

/// Row TP-06: only nodes within the tool are joined.
#[test]
fn tp_06_glue_joins_only_within_the_tool() {
    let (mut nodes, mut editor) = halves(BondLimits::MEDIUM, [0.1, 0.0, 0.0]);
    let done = editor.join(&mut nodes, Vec3::new(3.0, 2.0, 2.0), 1.1);
    // the ball contains (3, 2, 2) and its four neighbours across
    assert_eq!(done.links, 5);
    assert_eq!(editor.derived.pieces.sizes.len(), 1);
    // a node whose partner is beyond the ball
    let (mut nodes, mut editor) = halves(BondLimits::MEDIUM, [0.1, 0.0, 0.0]);
    let done = editor.join(&mut nodes, Vec3::new(3.0, 2.0, 2.0), 0.4);
    assert_eq!(done.links, 1);
}

/// Row TP-07: the partner is the nearest of all allowed nodes, by exhaustive search; none is joined beyond its
/// limits.
#[test]
fn tp_07_partner_is_the_nearest_allowed_node() {
    let wide = BondLimits::even(0.3, 2.6, 1.4);
    let mut rng = TestRng::new(3);
    let (mut pairs, mut none) = (0, 0);
    for _ in 0..30 {
        let by_m = [rng.symmetric(0.8), rng.symmetric(1.2), rng.symmetric(1.2)];
        let (mut nodes, _) = halves(wide, by_m);
        let mut chainmail = Chainmail::new(nodes.slots());
        for _ in 0..10 {
            let target = random_target(&mut rng, &nodes, 1.5);
            chainmail
                .propagate(&mut nodes, &[target])
                .expect("nothing is held");
        }
        let mut glue = GlueSearch::new(&nodes);
        glue.list_open_nodes(&nodes, 0..nodes.slots());
        for node in 0..nodes.slots() {
            for to in NeighbourDirection::ALL {
                let from = (node, to);
                let found = glue.partner(&nodes, node, to);
                let mut expected_m = nodes.position_m(node);
                expected_m[to.axis()] += if to.is_positive() { 1.0 } else { -1.0 };
                let far2 = |other: u32| (nodes.position_m(other) - expected_m).norm_squared();
                let eligible = (0..nodes.slots()).filter(|&o| may_join(&nodes, node, to, o));
                let nearest = if nodes.neighbour(node, to).is_some() {
                    None
                } else {
                    eligible.min_by(|&a, &b| far2(a).total_cmp(&far2(b)).then(a.cmp(&b)))
                };
                assert_eq!(found, nearest, "{from:?}");
                pairs += usize::from(found.is_some());
                none += usize::from(found.is_none());
            }
        }
    }
    assert!(pairs > 1000 && none > 1000, "{pairs} {none}");
}

/// Row TP-07: the search reaches exactly to the corners of the limits.
#[test]
fn tp_07_search_reaches_exactly_to_the_limits() {
    let wide = BondLimits::even(0.3, 8.6, 2.4);
    for (by_m, can) in [
        ([7.59, 2.39, -2.39], true),
        ([-0.69, -2.39, 2.39], true),
        ([7.61, 0.0, 0.0], false),
        ([0.0, 0.0, 2.41], false),
    ] {
        let mut pair: VoxelNodes<f64> = block([2, 1, 1], wide);
        pair.cut(0, NeighbourDirection::Right);
        let right = pair.at_site([1, 0, 0]).expect("there");
        pair.set_displacement_m(right, by_m);
        let mut glue = GlueSearch::new(&pair);
        glue.list_open_nodes(&pair, 0..pair.slots());
        for from in [
            (1 - right, NeighbourDirection::Right),
            (right, NeighbourDirection::Left),
        ] {
            let found = glue.partner(&pair, from.0, from.1);
            assert_eq!(found, can.then_some(1 - from.0), "{by_m:?}");
        }
    }
}

/// Section 3.3.6(e): a piece that was moved by three sites gets its rest place there when it is glued. All limits are
/// kept, the rest of the face fits too, and an undo reverts it.
#[test]
fn moved_piece_rests_where_it_is_glued() {
    let (mut nodes, mut editor) = halves(BondLimits::MEDIUM, [0.1, 3.05, -1.95]);
    let before = nodes.clone();
    let done = editor.join(&mut nodes, MIDDLE_M, 40.0);
    assert_eq!(done.links, 5 * 6);
    assert_eq!(editor.derived.pieces.sizes.len(), 1);
    assert!(nodes.limit_excess_m() <= 1e-9, "{}", nodes.limit_excess_m());
    for node in 0..nodes.slots() {
        assert!((nodes.position_m(node) - before.position_m(node)).norm() < 1e-9);
        for to in NeighbourDirection::ALL {
            if let Some(other) = nodes.neighbour(node, to) {
                assert_eq!(nodes.site(other), to.neighbour_site(nodes.site(node)));
            }
        }
    }
    // propagation still keeps all limits on the common rest lattice
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut rng = TestRng::new(2);
    for _ in 0..100 {
        let target = random_target(&mut rng, &nodes, 2.0);
        chainmail
            .propagate(&mut nodes, &[target])
            .expect("nothing is held");
        assert!(nodes.limit_excess_m() <= 1e-9);
    }
    editor.undo_or_redo(&mut nodes, true);
    for node in 0..nodes.slots() {
        assert_eq!(nodes.site(node), before.site(node));
    }
    assert_eq!(nodes.link_count(), before.link_count());
    assert_eq!(editor.derived.pieces.sizes.len(), 2);
    editor.undo_or_redo(&mut nodes, false);
    assert_eq!(nodes.link_count(), before.link_count() + 30);
}

/// Section 3.3.6(e): a strip that is bent until its ends meet is not joined to a ring, since no rest lattice has one.
#[test]
fn bent_strip_is_not_joined_to_a_ring() {
    let mut nodes: VoxelNodes<f64> = block([9, 1, 1], BondLimits::LOOSE);
    // the last node at the place of the second node's right neighbour
    let last = nodes.at_site([8, 0, 0]).expect("there");
    let first = nodes.at_site([0, 0, 0]).expect("there");
    nodes.set_displacement_m(last, [-9.0, 0.0, 0.0]);
    let mut editor = TopologyEditor::new(&mut nodes, 100);
    let before = nodes.clone();
    // only the common piece forbids it
    assert!(!may_join(&nodes, first, NeighbourDirection::Left, last));
    let mut apart = nodes.clone();
    apart.object[last as usize] = nodes.object(last) + 1;
    assert!(may_join(&apart, first, NeighbourDirection::Left, last));
    let done = editor.join(&mut nodes, MIDDLE_M, 40.0);
    assert_eq!(done.links, 0);
    assert!(nodes == before);
}

/// Targets of the golden case: opposite corners of 16 x 12 x 8 at this distance along x.
fn grips(nodes: &VoxelNodes<f64>, apart: f64) -> [NodeTarget<f64>; 2] {
    let corner = |site| nodes.at_site(site).expect("there");
    [
        NodeTarget {
            node: corner([0, 0, 0]),
            displacement_m: [0.0; 3],
        },
        NodeTarget {
            node: corner([15, 11, 7]),
            displacement_m: [apart - 15.0, 0.0, 0.0],
        },
    ]
}

/// Row TP-05: by theory the limit is 15 x 1.2 + (11 + 7) x 0.2 = 21.6. Every smaller distance is feasible, and the
/// first greater one tears stretched or sheared links next to the moving target.
#[test]
fn tp_05_tears_at_the_first_step_beyond_the_limits() {
    let mut nodes: VoxelNodes<f64> = block([16, 12, 8], BondLimits::MEDIUM);
    let mut editor = TopologyEditor::new(&mut nodes, 10_000);
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut tearing = TearSearch::new(nodes.slots());
    let mut torn_at = None;
    for step in 0..=68 {
        let apart = 15.0 + 0.1 * f64::from(step);
        let targets = grips(&nodes, apart);
        let done = editor.pull_and_tear(&mut nodes, &mut tearing, &mut chainmail, &targets);
        for target in &targets {
            assert_eq!(
                nodes.displacement_m(target.node),
                target.displacement_m,
                "{apart}"
            );
        }
        assert!(nodes.limit_excess_m() <= 1e-9);
        if done.links > 0 && torn_at.is_none() {
            torn_at = Some(apart);
            assert_eq!(tearing.link_chain.first(), Some(&targets[0].node));
            assert_eq!(tearing.link_chain.last(), Some(&targets[1].node));
            assert!(tearing.link_chain.len() >= 15);
        }
    }
    let torn_at = torn_at.expect("it tears");
    assert!((torn_at - 21.7).abs() < 1e-6, "{torn_at}");
    let original: VoxelNodes<f64> = block([16, 12, 8], BondLimits::MEDIUM);
    for (apart, can) in [(21.5, true), (21.7, false)] {
        let mut fresh = original.clone();
        let targets = grips(&fresh, apart);
        assert_eq!(chainmail.propagate(&mut fresh, &targets).is_ok(), can);
    }
    // torn links are near the moving corner, and an undo restores them
    assert!(nodes.link_count() < original.link_count());
    while editor.log.can_undo_redo().0 {
        editor.undo_or_redo(&mut nodes, true);
    }
    assert_eq!(nodes.link_count(), original.link_count());
}

/// An excess below the margin is refused and tears nothing, and so is any compression.
#[test]
fn small_excess_and_compression_tear_nothing() {
    let original: VoxelNodes<f64> = block([16, 12, 8], BondLimits::MEDIUM);
    let mut cuts = 0;
    let mut cut = |nodes: &mut VoxelNodes<f64>, change| {
        if let TopologyChange::Cut {
            node,
            direction: to,
            ..
        } = change
        {
            cuts += usize::from(nodes.cut(node, to));
        }
    };
    let mut nodes = original.clone();
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut tearing = TearSearch::new(nodes.slots());
    let targets = grips(&nodes, 21.61);
    let result = tearing.propagate_or_tear(&mut nodes, &mut chainmail, &targets, &mut cut);
    assert!(result.is_err() && nodes == original);
    let targets = grips(&nodes, 22.0);
    assert!(
        tearing
            .propagate_or_tear(&mut nodes, &mut chainmail, &targets, &mut cut)
            .is_ok()
    );
    // a column on pinned ground cannot be compressed further, and does not break
    let mut column: VoxelNodes<f64> = block([1, 1, 10], BondLimits::MEDIUM);
    let ground = column.at_site([0, 0, 0]).expect("there");
    column.set_pinned(ground, true);
    let mut tearing = TearSearch::new(column.slots());
    let press = NodeTarget {
        node: column.at_site([0, 0, 9]).expect("there"),
        displacement_m: [0.0, 0.0, -3.0],
    };
    let before = column.clone();
    let result = tearing.propagate_or_tear(&mut column, &mut chainmail, &[press], &mut cut);
    assert!(result.is_err() && column == before);
    assert!(cuts > 0);
}

/// The weakest link of the chain breaks, not the nearest, and at most eight per call.
#[test]
fn weakest_link_of_the_chain_breaks() {
    use crate::material::VoxelMaterial;
    use crate::nodes::{LatticeFrame, NodeSeed};
    let named = |toughness_jpm2| VoxelMaterial {
        toughness_jpm2,
        ..VoxelMaterial::of_young("test", 2e3, 0.0)
    };
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let seeds: Vec<NodeSeed> = (0..20)
        .map(|x| NodeSeed {
            site: [x, 0, 0],
            material: u8::from((7..9).contains(&x)),
            object: 0,
        })
        .collect();
    let mut nodes =
        VoxelNodes::<f64>::new(frame, vec![named(5.0), named(1.0)], &seeds).expect("fit");
    let held = nodes.at_site([0, 0, 0]).expect("there");
    nodes.set_pinned(held, true);
    let mut editor = TopologyEditor::new(&mut nodes, 100);
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut tearing = TearSearch::new(nodes.slots());
    let target = NodeTarget {
        node: nodes.at_site([19, 0, 0]).expect("there"),
        displacement_m: [8.0, 0.0, 0.0],
    };
    let done = editor.pull_and_tear(&mut nodes, &mut tearing, &mut chainmail, &[target]);
    assert_eq!(nodes.displacement_m(target.node), target.displacement_m);
    assert_eq!((done.links, editor.derived.pieces.sizes.len()), (1, 2));
    let seven = nodes.at_site([7, 0, 0]).expect("there");
    assert_eq!(nodes.neighbour(seven, NeighbourDirection::Right), None);
}
