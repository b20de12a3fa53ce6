//! Instruments through the interface of a tissue: what they do, what is booked, and that it can be done again.

use super::press::{ball, slab};
use super::{Draw, matter};
use crate::edits::topology;
use crate::limits::Limits;
use crate::matter::Matter;
use crate::{Linked, LinkedParams};
use palpate_twin::edits::{Change, Part};
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, Tissue, Tool, Vec3};

/// What stored energy lacks to be what the books say \[J\].
pub(super) fn out_j(tissue: &Linked) -> f64 {
    let books = tissue.ledger();
    books.stored_j() - books.tool_work_j - books.edit_j + books.dissipated_j - books.residual_j
}

/// A tool that does something, somewhere near where it was.
fn any_tool(draw: &mut Draw, was: &Tool) -> Tool {
    let mut tool = *was;
    tool.position_m += Vec3::new(draw.around(2e-3), draw.around(2e-3), draw.around(2e-3));
    let far = 7e-3;
    tool.position_m = tool.position_m.map(|x| x.clamp(-far, far));
    if let Some(jaws) = &mut tool.jaws {
        jaws.opening_m = (jaws.opening_m + draw.around(5e-4)).clamp(0.0, 4e-3);
        jaws.closed ^= draw.below(15) == 0;
    }
    if draw.below(12) == 0 {
        tool.instrument = match draw.below(6) {
            0 => Instrument::Blunt,
            1 => Instrument::Scalpel {
                edge_m: Vec3::new(draw.around(6e-3), draw.around(6e-3), draw.around(6e-3)),
            },
            2 => Instrument::Curette,
            3 => Instrument::Glue {
                reach_m: 4e-3 * draw.share(),
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

/// A small slab that rubs and tears.
fn rough_slab() -> Linked {
    let tough = Matter {
        toughness_jpm2: 20.0,
        ..matter(Limits::LOOSE)
    };
    let elements = slab([13, 12, 8], vec![tough], |_| 0).elements().clone();
    let params = LinkedParams {
        friction: 0.4,
        tears: true,
        ..LinkedParams::default()
    };
    Linked::new(elements, params).expect("fit")
}

/// What a tissue does, another one does after it by its changes alone; undo and redo give the same number
/// of all links back.
#[test]
fn tp_11_whatever_instruments_do_can_be_done_elsewhere_and_taken_back() {
    let mut draw = Draw::new(3);
    let mut tissue = rough_slab();
    let mut copy = tissue.clone();
    let mut tools = two_tools();
    let mut felt = [Reaction::default(); 2];
    let (mut made, mut undone) = (0, 0);
    for tick in 0..1500 {
        tools = tools.map(|tool| any_tool(&mut draw, &tool));
        tissue.step(&tools, 1e-3, &mut felt);
        let changes: Vec<Change> = tissue.view().changes.to_vec();
        made += changes.len();
        copy.edit(&Edit::Replay(&changes, Part::Begins))
            .expect("can");
        assert_eq!(copy.view().changes, changes, "tick {tick}");
        assert_eq!(tissue.view().topology, copy.view().topology);
        if draw.below(20) == 0 {
            let before = tissue.view().topology;
            for edit in [Edit::Undo, Edit::Redo, Edit::Undo]
                .iter()
                .take(2 + draw.below(2) as usize)
            {
                let report = tissue.edit(edit).expect("can");
                undone += report.elements;
                let changes: Vec<Change> = tissue.view().changes.to_vec();
                copy.edit(&Edit::Replay(&changes, Part::Begins))
                    .expect("can");
                assert_eq!(tissue.view().topology, copy.view().topology);
                if matches!(edit, Edit::Redo) {
                    assert_eq!(tissue.view().topology, before, "tick {tick}");
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
            out_j(&tissue).abs() < 1e-12,
            "tick {tick}: {:?}",
            tissue.ledger()
        );
        assert!(felt.iter().all(|f| f.force_n.norm() < 100.0), "tick {tick}");
    }
    assert_eq!(tissue.view().topology, Some(topology(tissue.elements())));
    assert_eq!(tissue.elements().one_sided(), None);
    assert!(made > 1000 && undone > 100, "{made} {undone}");
}

/// A snapshot in the middle of any work holds all that goes on, undo included.
#[test]
fn tp_11_a_thawed_operation_goes_on_bit_for_bit() {
    let mut draw = Draw::new(11);
    let mut tissue = rough_slab();
    let mut other = tissue.clone();
    let mut tools = two_tools();
    let mut felt = [Reaction::default(); 2];
    let mut snapshot = Snapshot::default();
    for round in 0..60 {
        tissue.freeze(&mut snapshot);
        other.thaw(&snapshot).expect("its own");
        assert_eq!(Snapshot::of(&other), snapshot, "round {round}");
        for tick in 0..25 {
            tools = tools.map(|tool| any_tool(&mut draw, &tool));
            let mut again = felt;
            tissue.step(&tools, 1e-3, &mut felt);
            other.step(&tools, 1e-3, &mut again);
            assert_eq!(felt, again, "round {round}, tick {tick}");
            assert_eq!(tissue.view().changes, other.view().changes);
            if draw.below(25) == 0 {
                let edit = if draw.below(2) == 0 {
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

/// A tool that begins to press where tissue is, laid there or no curette any more, was moved into it by nobody: what it
/// stores is none of its work, and nothing that glue or a stiffening could be paid with.
#[test]
fn issue_a_curette_that_turned_blunt_in_tissue_booked_work_that_nobody_did() {
    let tough = Matter {
        toughness_jpm2: 1e9,
        ..matter(Limits::LOOSE)
    };
    for from in [None, Some(Instrument::Curette)] {
        let mut tissue = slab([13, 12, 8], vec![tough.clone()], |_| 0);
        let mut felt = [Reaction::default(); 2];
        // another that presses meanwhile does work of its own
        let mut other = ball(Vec3::new(-4e-3, 0.0, 1.5e-3), 1.5e-3);
        let mut tool = ball(Vec3::new(3e-3, 0.0, 0.5e-3), 2e-3);
        if let Some(instrument) = from {
            tool.instrument = instrument;
            // too tough to be taken: it is held outside, and its tool goes in
            for tick in 0..=20 {
                tool.position_m.z = 3e-3 - 1.25e-4 * f64::from(tick);
                tissue.step(&[other, tool], 1e-3, &mut felt);
                assert_eq!(tissue.elements().count(), 13 * 12 * 8);
            }
            tool.instrument = Instrument::Blunt;
        } else {
            tissue.step(&[other], 1e-3, &mut felt);
        }
        let (mut paid_j, before) = (0.0, tissue.ledger());
        let free_j = tissue.free_j();
        let held_j = tissue.wield.acts[1].map_or(0.0, |act| act.stored_j());
        assert_eq!(held_j > 0.0, from.is_some(), "{held_j}");
        for _ in 0..200 {
            other.position_m.z -= 5e-6;
            tissue.step(&[other, tool], 1e-3, &mut felt);
            paid_j += felt[0].force_n.z * 5e-6;
        }
        let after = tissue.ledger();
        assert!(felt[1].force_n.z > 1e-3 && felt[1].contacts > 3, "{felt:?}");
        assert!(after.edit_j > 1e-7, "{after:?}");
        let work_j = after.tool_work_j - before.tool_work_j;
        // what comes to rest under a tool only later is counted as its work
        let off_j = (work_j - paid_j).abs();
        assert!(off_j < 0.005 * after.edit_j, "{work_j} {paid_j} {after:?}");
        assert!(
            out_j(&tissue).abs() < 1e-12 && after.residual_j.abs() < 1e-10,
            "{after:?}"
        );
        // what is free is at most what hands have put in, with what held the curette that was laid down
        let freed_j = tissue.free_j() - free_j;
        assert!(freed_j <= paid_j + held_j, "{freed_j} {paid_j} {held_j}");
    }
}

/// A volume that is told what was done to another, in strokes of a tick and of a part of one, takes back and makes
/// again what that one would: whole edits, as they were made.
#[test]
fn issue_a_history_that_was_told_was_taken_back_by_fragments() {
    let blade = Instrument::Scalpel {
        edge_m: Vec3::new(0.0, 0.0, -4e-3),
    };
    let (mut tissue, mut copy) = (rough_slab(), rough_slab());
    let (mut last, mut told) = (None, 0);
    let mut tell = |tissue: &Linked, copy: &mut Linked, taken: Option<Part>| {
        let view = tissue.view();
        for part in view.changes.chunks(3) {
            let goes_on = last == Some(view.edit);
            let how = taken.unwrap_or(if goes_on { Part::GoesOn } else { Part::Begins });
            last = taken.is_none().then_some(view.edit);
            copy.edit(&Edit::Replay(part, how)).expect("can");
            assert_eq!(copy.view().changes, part);
            told += 1;
        }
        assert_eq!(tissue.view().topology, copy.view().topology);
    };
    let mut seen = vec![tissue.view().topology];
    for y in [-3e-3, 0.0, 3e-3] {
        let mut felt = [Reaction::default()];
        for tick in 0..100 {
            let mut tool = ball(Vec3::new(-8e-3 + 1.6e-4 * f64::from(tick), y, 2e-3), 1e-3);
            tool.instrument = blade;
            tissue.step(&[tool], 1e-3, &mut felt);
            tell(&tissue, &mut copy, None);
        }
        tissue.step(&[], 1e-3, &mut felt);
        seen.push(tissue.view().topology);
        // in the midst of them one is taken back, made again and taken back
        if y == 0.0 {
            for (edit, part) in [
                (Edit::Undo, Part::Undone),
                (Edit::Redo, Part::Redone),
                (Edit::Undo, Part::Undone),
            ] {
                tissue.edit(&edit).expect("can");
                tell(&tissue, &mut copy, Some(part));
            }
            seen.pop();
        }
    }
    assert!(told > 60 && seen.len() == 3, "{told} {seen:?}");
    seen.dedup();
    assert_eq!(seen.len(), 3);
    // one edit a time, and the same by both
    while let Some(was) = seen.pop() {
        assert_eq!([&tissue, &copy].map(|one| one.view().topology), [was; 2]);
        for one in [&mut tissue, &mut copy] {
            one.edit(&Edit::Undo).expect("can");
        }
    }
    for _ in 0..2 {
        for one in [&mut tissue, &mut copy] {
            one.edit(&Edit::Redo).expect("can");
        }
        assert_eq!(tissue.view().topology, copy.view().topology);
    }
}
