//! Tests of the undo log, the topology hash and node properties.

use proptest::prelude::*;

use super::{TestRng, block, material, volume};
use crate::chainmail::{Chainmail, NodeTarget};
use crate::edits::{UndoLog, topology_hash};
use crate::limits::BondLimits;
use crate::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::edits::TopologyChange;

const SIZE: [i32; 3] = [4, 3, 3];

/// Iterates over the sites of a box.
fn sites(size: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    (0..size[2])
        .flat_map(move |z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
}

/// An edit by site.
#[derive(Debug, Clone, Copy)]
enum Op {
    Cut([i32; 3], NeighbourDirection),
    Join([i32; 3], NeighbourDirection),
    Carve([i32; 3]),
    Revive([i32; 3]),
    Pin([i32; 3], bool),
}

fn op() -> impl Strategy<Value = Op> {
    let site = (0..SIZE[0], 0..SIZE[1], 0..SIZE[2]).prop_map(|(x, y, z)| [x, y, z]);
    let to = (0..6_usize).prop_map(|d| NeighbourDirection::ALL[d]);
    (0..7_u8, site, to, any::<bool>()).prop_map(|(kind, site, to, held)| match kind {
        0 | 1 => Op::Cut(site, to),
        2 | 3 => Op::Join(site, to),
        4 => Op::Carve(site),
        5 => Op::Revive(site),
        _ => Op::Pin(site, held),
    })
}

proptest! {
    /// Undoing everything gives the initial topology, redoing everything the final one, and a replay on a fresh model
    /// too. The hash matches the links at every step.
    #[test]
    fn undo_redo_and_replay_agree(ops in prop::collection::vec(op(), 1..60)) {
        let first: VoxelNodes<f32> = block(SIZE, BondLimits::MEDIUM);
        let slot = |site| first.at_site(site).expect("inside");
        let mut nodes = first.clone();
        let mut log = UndoLog::new(&nodes, 4096);
        for op in ops {
            log.begin_batch();
            match op {
                Op::Cut(site, to) => if let Some(other) = nodes.neighbour(slot(site), to) {
                    log.apply_and_record(&mut nodes, TopologyChange::Cut { node: slot(site), direction: to, neighbour: other });
                },
                Op::Join(site, to) => if let Some(other) = first.neighbour(slot(site), to) {
                    log.apply_and_record(&mut nodes, TopologyChange::Join { node: slot(site), direction: to, neighbour: other });
                },
                Op::Carve(site) => { log.carve(&mut nodes, slot(site)); }
                Op::Revive(site) => { log.apply_and_record(&mut nodes, TopologyChange::Restore { node: slot(site) }); }
                Op::Pin(site, true) => { log.apply_and_record(&mut nodes, TopologyChange::Pin { node: slot(site) }); }
                Op::Pin(site, false) => { log.apply_and_record(&mut nodes, TopologyChange::Unpin { node: slot(site) }); }
            }
            prop_assert_eq!(log.hash, topology_hash(&nodes));
        }
        let last = nodes.clone();
        let mut replayed = first.clone();
        let mut other_side = UndoLog::new(&replayed, 0);
        for change in log.changes() {
            prop_assert!(other_side.apply_and_record(&mut replayed, change));
        }
        prop_assert_eq!(&replayed, &last);
        prop_assert_eq!(other_side.hash, log.hash);
        while log.can_undo_redo().0 {
            log.undo_or_redo(true, &mut nodes, |_, _| {});
        }
        prop_assert_eq!(&nodes, &first);
        prop_assert_eq!(log.hash, topology_hash(&first));
        while log.can_undo_redo().1 {
            log.undo_or_redo(false, &mut nodes, |_, _| {});
        }
        prop_assert_eq!(&nodes, &last);
    }
}

/// A full log drops whole batches, oldest first; a batch longer than the log cannot be undone in part.
#[test]
fn full_log_drops_its_oldest_batches() {
    let first: VoxelNodes<f64> = block([6, 6, 6], BondLimits::MEDIUM);
    let mut nodes = first.clone();
    let mut log = UndoLog::new(&nodes, 10);
    let mut after = vec![nodes.clone()];
    for x in 0..4 {
        log.begin_batch();
        // six links and the node
        let node = nodes.at_site([1 + x, 2, 2 + x % 2]).expect("there");
        log.carve(&mut nodes, node);
        after.push(nodes.clone());
    }
    assert!(log.undo_or_redo(true, &mut nodes, |_, _| {}) > 1);
    assert!(
        nodes == after[3] && log.can_undo_redo() == (false, true),
        "{:?}",
        log.can_undo_redo()
    );
    log.undo_or_redo(false, &mut nodes, |_, _| {});
    assert!(nodes == after[4]);
    log.begin_batch();
    for node in 0..20 {
        log.carve(&mut nodes, node);
    }
    assert_eq!(log.can_undo_redo(), (false, false));
    assert_eq!(log.undo_or_redo(true, &mut nodes, |_, _| {}), 0);
    assert_eq!(log.hash, topology_hash(&nodes));
}

/// The hash depends on the topology and not on its history; one link, node or pin changes it.
#[test]
fn topology_hash_is_independent_of_history() {
    let first: VoxelNodes<f32> = block([5, 5, 5], BondLimits::MEDIUM);
    let mut rng = TestRng::new(11);
    let cuts: Vec<(u32, NeighbourDirection)> = (0..40)
        .map(|_| {
            (
                rng.below(125),
                NeighbourDirection::ALL[rng.below(6) as usize],
            )
        })
        .collect();
    let (mut forth, mut back) = (first.clone(), first.clone());
    for &(node, to) in &cuts {
        forth.cut(node, to);
    }
    back.carve(77);
    back.revive(77);
    for to in NeighbourDirection::ALL {
        if let Some(other) = first.neighbour(77, to) {
            assert!(back.join(77, to, other));
        }
    }
    for &(node, to) in cuts.iter().rev() {
        back.cut(node, to);
    }
    assert_eq!(topology_hash(&forth), topology_hash(&back));
    let mut all = vec![topology_hash(&first)];
    for node in 0..125 {
        let mut changed = first.clone();
        changed.carve(node);
        all.push(topology_hash(&changed));
        let mut changed = first.clone();
        changed.set_pinned(node, true);
        all.push(topology_hash(&changed));
        for to in NeighbourDirection::POSITIVE {
            let mut changed = first.clone();
            if changed.cut(node, to) {
                all.push(topology_hash(&changed));
            }
        }
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

/// Row LV-04: a volume of labels becomes one object per label with one node per sample, and no link crosses objects.
#[test]
fn lv_04_labels_become_separate_objects() {
    let label =
        |[x, y, z]: [i32; 3]| u32::try_from((x * x / 9 + y / 3 + z / 2) % 4).expect("small");
    let seeds: Vec<NodeSeed> = sites([12, 9, 8])
        .map(|site| NodeSeed {
            site,
            material: 0,
            object: label(site),
        })
        .collect();
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let nodes =
        VoxelNodes::<f32>::new(frame, vec![material(BondLimits::MEDIUM)], &seeds).expect("fit");
    for k in 0..4 {
        let samples = sites([12, 9, 8]).filter(|&site| label(site) == k).count();
        let members = (0..nodes.slots()).filter(|&e| nodes.object(e) == k).count();
        assert!(samples > 0 && members == samples);
    }
    let mut inside = 0;
    for node in 0..nodes.slots() {
        for to in NeighbourDirection::ALL {
            let beside = nodes.at_site(to.neighbour_site(nodes.site(node)));
            let same = beside.filter(|&e| nodes.object(e) == nodes.object(node));
            assert_eq!(nodes.neighbour(node, to), same);
            inside += usize::from(same.is_some());
        }
    }
    assert_eq!(nodes.link_count(), inside / 2);
}

/// Row LV-05: a node keeps its material through motion, cut and join.
#[test]
fn lv_05_node_keeps_its_material() {
    let of = |[x, _, _]: [i32; 3]| u8::from(x >= 4);
    let mut nodes: VoxelNodes<f64> = volume(
        [8, 4, 4],
        &[BondLimits::MEDIUM, BondLimits::LOOSE],
        |_| true,
        of,
    );
    for node in 0..nodes.slots() {
        nodes.object[node as usize] = 3;
    }
    let target = NodeTarget {
        node: 0,
        displacement_m: [-2.0, 1.0, 0.5],
    };
    let mut chainmail = Chainmail::new(nodes.slots());
    chainmail
        .propagate(&mut nodes, &[target])
        .expect("nothing is held");
    let beside = nodes
        .neighbour(5, NeighbourDirection::Right)
        .expect("linked");
    assert!(nodes.cut(5, NeighbourDirection::Right));
    assert!(
        nodes.join(5, NeighbourDirection::Right, beside),
        "as they were"
    );
    nodes.carve(9);
    nodes.revive(9);
    // propagation reads it: of two nodes pulled alike, the one with wider limits moves its neighbour less
    let mut pulled = nodes.clone();
    let ends: Vec<NodeTarget<f64>> = [[0, 0, 0], [7, 0, 0]]
        .map(|site| nodes.at_site(site).expect("there"))
        .map(|node| NodeTarget {
            node,
            displacement_m: nodes.displacement_m(node).map(|x| x + 1.0),
        })
        .to_vec();
    chainmail
        .propagate(&mut pulled, &ends)
        .expect("nobody is held");
    let apart = |from: [i32; 3], to: [i32; 3]| {
        let [a, b] = [from, to].map(|site| pulled.at_site(site).expect("there"));
        (pulled.displacement_m(a)[1] - pulled.displacement_m(b)[1]).abs()
    };
    let [medium, irregular] = [apart([0, 0, 0], [1, 0, 0]), apart([7, 0, 0], [6, 0, 0])];
    assert!(
        medium < 0.2 + 1e-9 && irregular > 0.3 && irregular < 0.5 + 1e-9,
        "{medium} {irregular}"
    );
    for node in 0..nodes.slots() {
        assert_eq!(nodes.colour(node), material(BondLimits::MEDIUM).colour);
        assert_eq!(nodes.material(node), of(nodes.site(node)));
        assert_eq!(nodes.object(node), 3);
    }
}
