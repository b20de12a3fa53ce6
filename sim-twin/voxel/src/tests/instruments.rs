//! Tests of instruments through the tissue interface: effects, energy balance and replay.

use super::press::{ball, slab};
use super::{TestRng, material};
use crate::edits::topology_hash;
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use crate::{VoxelModel, VoxelParams};
use palpate_twin::edits::{EditPhase, TopologyChange};
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, Tissue, Tool, Vec3};

/// Returns the difference between stored energy and the ledger \[J\].
pub(super) fn balance_error_j(tissue: &VoxelModel) -> f64 {
    let balance = tissue.ledger();
    balance.stored_j() - balance.tool_work_j - balance.edit_j + balance.dissipated_j
        - balance.residual_j
}

/// Returns a random tool near its previous position.
fn any_tool(rng: &mut TestRng, previous: &Tool) -> Tool {
    let mut tool = *previous;
    tool.position_m += Vec3::new(
        rng.symmetric(2e-3),
        rng.symmetric(2e-3),
        rng.symmetric(2e-3),
    );
    let far = 7e-3;
    tool.position_m = tool.position_m.map(|x| x.clamp(-far, far));
    if let Some(jaws) = &mut tool.jaws {
        jaws.opening_m = (jaws.opening_m + rng.symmetric(5e-4)).clamp(0.0, 4e-3);
        jaws.closed ^= rng.below(15) == 0;
    }
    if rng.below(12) == 0 {
        tool.instrument = match rng.below(6) {
            0 => Instrument::Blunt,
            1 => Instrument::Scalpel {
                edge_m: Vec3::new(
                    rng.symmetric(6e-3),
                    rng.symmetric(6e-3),
                    rng.symmetric(6e-3),
                ),
            },
            2 => Instrument::Curette,
            3 => Instrument::Glue {
                reach_m: 4e-3 * rng.unit(),
            },
            4 => Instrument::Tack,
            _ => Instrument::Untack,
        };
    }
    tool
}

fn two_tools() -> [Tool; 2] {
    let forceps = Tool {
        jaws: Some(Jaws {
            opening_m: 3e-3,
            opening_velocity_mps: 0.0,
            closed: false,
        }),
        ..ball(Vec3::new(2e-3, 0.0, 3e-3), 2e-3)
    };
    [forceps, ball(Vec3::new(-2e-3, 1e-3, 3e-3), 1.2e-3)]
}

/// Returns a small slab with friction and tearing.
fn rough_slab() -> VoxelModel {
    let tough = VoxelMaterial {
        toughness_jpm2: 20.0,
        ..material(BondLimits::LOOSE)
    };
    let nodes = slab([13, 12, 8], vec![tough], |_| 0).nodes().clone();
    let params = VoxelParams {
        friction: 0.4,
        tears: true,
        ..VoxelParams::default()
    };
    VoxelModel::new(nodes, params).expect("fit")
}

/// A second tissue that replays all changes equals the first; undo and redo return to the same topology hash.
#[test]
fn tp_11_instrument_changes_replay_and_undo() {
    let mut rng = TestRng::new(3);
    let mut tissue = rough_slab();
    let mut copy = tissue.clone();
    let mut tools = two_tools();
    let mut reactions = [Reaction::default(); 2];
    let (mut applied, mut undone) = (0, 0);
    for tick in 0..1500 {
        tools = tools.map(|tool| any_tool(&mut rng, &tool));
        tissue.step(&tools, 1e-3, &mut reactions);
        let changes: Vec<TopologyChange> = tissue.view().changes.to_vec();
        applied += changes.len();
        copy.edit(&Edit::Replay(&changes, EditPhase::Begin))
            .expect("can");
        assert_eq!(copy.view().changes, changes, "tick {tick}");
        assert_eq!(tissue.view().topology_hash, copy.view().topology_hash);
        if rng.below(20) == 0 {
            let before = tissue.view().topology_hash;
            for edit in [Edit::Undo, Edit::Redo, Edit::Undo]
                .iter()
                .take(2 + rng.below(2) as usize)
            {
                let report = tissue.edit(edit).expect("can");
                undone += report.elements;
                let changes: Vec<TopologyChange> = tissue.view().changes.to_vec();
                copy.edit(&Edit::Replay(&changes, EditPhase::Begin))
                    .expect("can");
                assert_eq!(tissue.view().topology_hash, copy.view().topology_hash);
                if matches!(edit, Edit::Redo) {
                    assert_eq!(tissue.view().topology_hash, before, "tick {tick}");
                }
            }
        }
        let residual_j = tissue.ledger().residual_j;
        assert!(
            residual_j.abs() < 1e-9,
            "tick {tick}: {:?}",
            tissue.ledger()
        );
        assert!(
            balance_error_j(&tissue).abs() < 1e-12,
            "tick {tick}: {:?}",
            tissue.ledger()
        );
        assert!(
            reactions.iter().all(|f| f.force_n.norm() < 100.0),
            "tick {tick}"
        );
    }
    assert_eq!(
        tissue.view().topology_hash,
        Some(topology_hash(tissue.nodes()))
    );
    assert_eq!(tissue.nodes().asymmetric_link(), None);
    assert!(applied > 1000 && undone > 100, "{applied} {undone}");
}

/// A snapshot taken during any work restores all state, including undo.
#[test]
fn tp_11_restored_snapshot_continues_bit_for_bit() {
    let mut rng = TestRng::new(11);
    let mut tissue = rough_slab();
    let mut other = tissue.clone();
    let mut tools = two_tools();
    let mut reactions = [Reaction::default(); 2];
    let mut snapshot = Snapshot::default();
    for round in 0..60 {
        tissue.save(&mut snapshot);
        other.restore(&snapshot).expect("its own");
        assert_eq!(Snapshot::of(&other), snapshot, "round {round}");
        for tick in 0..25 {
            tools = tools.map(|tool| any_tool(&mut rng, &tool));
            let mut again = reactions;
            tissue.step(&tools, 1e-3, &mut reactions);
            other.step(&tools, 1e-3, &mut again);
            assert_eq!(reactions, again, "round {round}, tick {tick}");
            assert_eq!(tissue.view().changes, other.view().changes);
            if rng.below(25) == 0 {
                let edit = if rng.below(2) == 0 {
                    Edit::Undo
                } else {
                    Edit::Redo
                };
                assert_eq!(tissue.edit(&edit), other.edit(&edit), "round {round}");
            }
        }
        let (one, two) = (Snapshot::of(&tissue), Snapshot::of(&other));
        assert!(one == two, "round {round}");
    }
}

/// A tool that starts to press inside tissue, newly placed or no longer a curette, was not moved in by a hand. Its
/// contact energy is no work, and pays neither for glue nor for stiffening.
#[test]
fn issue_curette_turned_blunt_in_tissue_recorded_false_work() {
    let tough = VoxelMaterial {
        toughness_jpm2: 1e9,
        ..material(BondLimits::LOOSE)
    };
    for from in [None, Some(Instrument::Curette)] {
        let mut tissue = slab([13, 12, 8], vec![tough.clone()], |_| 0);
        let mut reactions = [Reaction::default(); 2];
        // another tool presses at the same time and does work
        let mut other = ball(Vec3::new(-4e-3, 0.0, 1.5e-3), 1.5e-3);
        let mut tool = ball(Vec3::new(3e-3, 0.0, 0.5e-3), 2e-3);
        if let Some(instrument) = from {
            tool.instrument = instrument;
            // too tough to remove: the proxy stays outside while its tool enters
            for tick in 0..=20 {
                tool.position_m.z = 3e-3 - 1.25e-4 * f64::from(tick);
                tissue.step(&[other, tool], 1e-3, &mut reactions);
                assert_eq!(tissue.nodes().count(), 13 * 12 * 8);
            }
            tool.instrument = Instrument::Blunt;
        } else {
            tissue.step(&[other], 1e-3, &mut reactions);
        }
        let (mut hand_work_j, before) = (0.0, tissue.ledger());
        let free_j = tissue.spendable_j();
        let held_j = tissue.instruments.active[1].map_or(0.0, |instrument| instrument.stored_j());
        assert_eq!(held_j > 0.0, from.is_some(), "{held_j}");
        for _ in 0..200 {
            other.position_m.z -= 5e-6;
            tissue.step(&[other, tool], 1e-3, &mut reactions);
            hand_work_j += reactions[0].force_n.z * 5e-6;
        }
        let after = tissue.ledger();
        assert!(
            reactions[1].force_n.z > 1e-3 && reactions[1].contacts > 3,
            "{reactions:?}"
        );
        assert!(after.edit_j > 1e-7, "{after:?}");
        let work_j = after.tool_work_j - before.tool_work_j;
        // contact that settles only later counts as its work
        let difference_j = (work_j - hand_work_j).abs();
        assert!(
            difference_j < 0.005 * after.edit_j,
            "{work_j} {hand_work_j} {after:?}"
        );
        assert!(
            balance_error_j(&tissue).abs() < 1e-12 && after.residual_j.abs() < 1e-10,
            "{after:?}"
        );
        // the spendable energy is at most the hands' work and the spring energy of the removed curette
        let freed_j = tissue.spendable_j() - free_j;
        assert!(
            freed_j <= hand_work_j + held_j,
            "{freed_j} {hand_work_j} {held_j}"
        );
    }
}

/// A replica that receives batches in parts, per tick and within a tick, undoes and redoes whole edits as the
/// original does.
#[test]
fn issue_replica_undid_fragments_of_edits() {
    let blade = Instrument::Scalpel {
        edge_m: Vec3::new(0.0, 0.0, -4e-3),
    };
    let (mut tissue, mut copy) = (rough_slab(), rough_slab());
    let (mut last, mut parts_sent) = (None, 0);
    let mut send = |tissue: &VoxelModel, copy: &mut VoxelModel, phase: Option<EditPhase>| {
        let view = tissue.view();
        for part in view.changes.chunks(3) {
            let continues = last == Some(view.edit_number);
            let edit_phase = phase.unwrap_or(if continues {
                EditPhase::Continue
            } else {
                EditPhase::Begin
            });
            last = phase.is_none().then_some(view.edit_number);
            copy.edit(&Edit::Replay(part, edit_phase)).expect("can");
            assert_eq!(copy.view().changes, part);
            parts_sent += 1;
        }
        assert_eq!(tissue.view().topology_hash, copy.view().topology_hash);
    };
    let mut hashes = vec![tissue.view().topology_hash];
    for y in [-3e-3, 0.0, 3e-3] {
        let mut reactions = [Reaction::default()];
        for tick in 0..100 {
            let mut tool = ball(Vec3::new(-8e-3 + 1.6e-4 * f64::from(tick), y, 2e-3), 1e-3);
            tool.instrument = blade;
            tissue.step(&[tool], 1e-3, &mut reactions);
            send(&tissue, &mut copy, None);
        }
        tissue.step(&[], 1e-3, &mut reactions);
        hashes.push(tissue.view().topology_hash);
        // in the middle, one is undone, redone and undone
        if y == 0.0 {
            for (edit, part) in [
                (Edit::Undo, EditPhase::Undo),
                (Edit::Redo, EditPhase::Redo),
                (Edit::Undo, EditPhase::Undo),
            ] {
                tissue.edit(&edit).expect("can");
                send(&tissue, &mut copy, Some(part));
            }
            hashes.pop();
        }
    }
    assert!(
        parts_sent > 60 && hashes.len() == 3,
        "{parts_sent} {hashes:?}"
    );
    hashes.dedup();
    assert_eq!(hashes.len(), 3);
    // one edit at a time, and the same on both
    while let Some(previous) = hashes.pop() {
        assert_eq!(
            [&tissue, &copy].map(|one| one.view().topology_hash),
            [previous; 2]
        );
        for one in [&mut tissue, &mut copy] {
            one.edit(&Edit::Undo).expect("can");
        }
    }
    for _ in 0..2 {
        for one in [&mut tissue, &mut copy] {
            one.edit(&Edit::Redo).expect("can");
        }
        assert_eq!(tissue.view().topology_hash, copy.view().topology_hash);
    }
}
