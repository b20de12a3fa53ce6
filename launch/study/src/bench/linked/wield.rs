//! What instruments cost: ticks of each on the block that is pressed, beside a plain press of the same run.
//!
//! Source: seed-001 rows TP-01, TP-02, TP-06, TP-09, TP-11, CL-01 and FU-10. A tick is the whole step: edits, pieces,
//! surface and the motion that follows are in it. Undo and redo are edits between ticks. Of a piece that comes apart
//! only the tick in which it does is timed, again and again from the state before it: it is one of some hundreds, and
//! no rank of all of them would show it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use palpate_session::stat::spans::Stats;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, Tissue as _, Tool, Vec3};
use palpate_voxel::Linked;
use palpate_voxel::links::Links as _;
use serde::{Deserialize, Serialize};

use super::press::{ball, block};
use crate::bench::goal::Goal;
use crate::bench::{BenchError, go_on};

/// Edge of the block: that of the smaller press.
const EDGE: i32 = 40;
/// Ticks of each.
const TICKS: u32 = 600;
/// Times that a piece comes apart, and that a stroke is taken back and done again.
const AGAIN: u32 = 40;
/// From one side of the block past the other \[m\].
const WAY_M: f64 = 44e-3;
/// What a tick may take \[us\].
const GOAL_US: f64 = 1000.0;

/// Ticks of one instrument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WieldRow {
    /// What is done.
    pub name: String,
    /// CPU time of a tick, or of an edit.
    pub cpu: Stats,
    /// Links that were cut or joined and elements that were taken, held or let go, in all.
    pub changes: usize,
}

/// All rows, the plain press first.
///
/// # Errors
/// [`BenchError`] if the block cannot be made, or `stop` is set.
pub(super) fn wields(stop: &AtomicBool) -> Result<Vec<WieldRow>, BenchError> {
    let whole = block(EDGE)?;
    let mut rows = Vec::new();
    for (name, tool) in TOOLS {
        go_on(stop)?;
        rows.push(ticks(&mut whole.clone(), name, tool));
    }
    let mut parted = whole.clone();
    let halves = Edit::Cut {
        point_m: Vec3::zeros(),
        normal: Vec3::y(),
    };
    // a plane parts any volume
    if parted.edit(&halves).is_ok() {
        rows.push(ticks(&mut parted, "glue", glue));
    }
    rows.push(back_and_again(&mut whole.clone(), stop)?);
    rows.extend(apart(&whole, stop)?);
    Ok(rows)
}

/// Where a tool is at a share of its time, 0 to 1.
type Way = fn(f64) -> Tool;

/// Tools by what they do.
const TOOLS: [(&str, Way); 6] = [
    ("press", press),
    ("scalpel", scalpel),
    ("curette", curette),
    ("forceps", forceps),
    ("tack", tack),
    ("untack", untack),
];

fn press(share: f64) -> Tool {
    ball(across_m(share) * 0.2, 1e-3)
}

fn across_m(share: f64) -> f64 {
    (share - 0.5) * WAY_M
}

/// A blade that is drawn through the middle, so deep.
fn blade(share: f64, depth_m: f64) -> Tool {
    let above_m = 2e-3;
    Tool {
        position_m: Vec3::new(across_m(share), 0.0, above_m),
        radius_m: 1e-3,
        instrument: Instrument::Scalpel {
            edge_m: Vec3::new(0.0, 0.0, -above_m - depth_m),
        },
        ..ball(0.0, 0.0)
    }
}

fn scalpel(share: f64) -> Tool {
    blade(share, 6e-3)
}

fn small(share: f64, depth_m: f64, instrument: Instrument) -> Tool {
    let radius_m = 2e-3;
    Tool {
        position_m: Vec3::new(across_m(share), 0.0, radius_m - depth_m),
        radius_m,
        instrument,
        ..ball(0.0, 0.0)
    }
}

fn curette(share: f64) -> Tool {
    small(share, 3e-3, Instrument::Curette)
}

/// Takes hold, draws out, and goes to and fro.
fn forceps(share: f64) -> Tool {
    let out_m = 4e-3 * libm::sin(share * 12.0 * std::f64::consts::PI).abs();
    let mut tool = small(0.5, 1.5e-3 - out_m, Instrument::Blunt);
    tool.jaws = Some(Jaws {
        opening_m: 3e-3,
        opening_velocity_mps: 0.0,
        closed: share > 0.02,
    });
    tool
}

fn tack(share: f64) -> Tool {
    small(share, 2e-3, Instrument::Tack)
}

/// Holds, and lets go again.
fn untack(share: f64) -> Tool {
    let along = (share * 12.0).fract();
    let way = if share * 6.0 % 1.0 < 0.5 {
        Instrument::Tack
    } else {
        Instrument::Untack
    };
    small(along, 2e-3, way)
}

fn glue(share: f64) -> Tool {
    small(share, 1e-3, Instrument::Glue { reach_m: 3e-3 })
}

/// A step, its CPU time, and how much it changed.
fn step(tissue: &mut Linked, tool: Tool) -> (Span, usize) {
    let mut felt = [Reaction::default()];
    let begun = thread_cpu_now();
    tissue.step(&[tool], 1e-3, &mut felt);
    let spent = thread_cpu_now() - begun;
    (spent, tissue.view().changes.len())
}

fn ticks(tissue: &mut Linked, name: &str, tool: Way) -> WieldRow {
    let (mut spent, mut changes) = (Vec::new(), 0);
    for tick in 0..TICKS {
        let (us, changed) = step(tissue, tool(f64::from(tick) / f64::from(TICKS)));
        spent.push(us);
        changes += changed;
    }
    row(name, &spent, changes)
}

fn row(name: &str, spent: &[Span], changes: usize) -> WieldRow {
    WieldRow {
        name: name.to_owned(),
        cpu: Stats::of(spent).unwrap_or_default(),
        changes,
    }
}

/// A cut across the whole block taken back and done again.
fn back_and_again(tissue: &mut Linked, stop: &AtomicBool) -> Result<WieldRow, BenchError> {
    ticks(tissue, "", scalpel);
    let (mut spent, mut changes) = (Vec::new(), 0);
    for _ in 0..AGAIN {
        go_on(stop)?;
        for edit in [Edit::Undo, Edit::Redo] {
            let begun = thread_cpu_now();
            let done = tissue.edit(&edit);
            spent.push(thread_cpu_now() - begun);
            changes += done.map_or(0, |done| done.elements);
        }
    }
    Ok(row("undo and redo of that cut", &spent, changes))
}

/// A blade that parts the block: the tick in which it comes apart; none if it never does.
fn apart(whole: &Linked, stop: &AtomicBool) -> Result<Option<WieldRow>, BenchError> {
    let through = |tick: u32| blade(f64::from(tick) / f64::from(TICKS), WAY_M);
    let pieces = |tissue: &Linked| {
        let elements = tissue.elements();
        let there = (0..elements.slots()).filter(|&e| elements.alive(e));
        there
            .map(|e| elements.object(e))
            .collect::<BTreeSet<u32>>()
            .len()
    };
    let mut tissue = whole.clone();
    let mut before = Snapshot::of(&tissue);
    for tick in 0..TICKS {
        go_on(stop)?;
        tissue.freeze(&mut before);
        let had = pieces(&tissue);
        step(&mut tissue, through(tick));
        if pieces(&tissue) == had {
            continue;
        }
        let (mut spent, mut changes) = (Vec::new(), 0);
        for _ in 0..AGAIN {
            go_on(stop)?;
            // its own snapshot fits; what did not thaw would time another tick
            if tissue.thaw(&before).is_err() || pieces(&tissue) != had {
                return Ok(None);
            }
            let (us, changed) = step(&mut tissue, through(tick));
            spent.push(us);
            changes += changed;
        }
        let name = "the tick in which it comes apart";
        return Ok(Some(row(name, &spent, changes)));
    }
    Ok(None)
}

/// What is wanted of all of them.
pub(super) fn goals(rows: &[WieldRow]) -> Vec<Goal> {
    let goal = |row: &WieldRow| {
        let name = format!("{EDGE}^3, {}, p99", row.name);
        Goal::at_most(&name, row.cpu.us_p99, GOAL_US, "us")
    };
    rows.iter().skip(1).map(goal).collect()
}
