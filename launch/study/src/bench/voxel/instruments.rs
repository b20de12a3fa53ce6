//! Cost of instruments: ticks of each on the pressed block, compared with a plain press of the same run.
//!
//! Source: seed-001 rows TP-01, TP-02, TP-06, TP-09, TP-11, CL-01 and FU-10. A tick is the whole step: edits, pieces,
//! surface and the motion that follows are in it. Undo and redo are edits between ticks. For the separation of a
//! piece only the tick of the separation is timed, repeatedly from the state before it: it is one of some hundreds,
//! and no percentile of all of them would show it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use palpate_session::stat::spans::DurationStats;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Snapshot, Tissue as _, Tool, Vec3};
use palpate_voxel::VoxelModel;
use serde::Serialize;

use super::press::block;
use crate::abort::{Abort, check_stop};
use crate::bench::ball;
use crate::bench::goal::BenchGoal;

/// Edge of the block: that of the smaller press.
const EDGE: i32 = 40;
/// Ticks of each instrument.
const TICKS: u32 = 600;
/// Repetitions of the separation of a piece, and of undo and redo of an edit batch.
const REPETITIONS: u32 = 40;
/// Path length, from one side of the block past the other \[m\].
const PATH_M: f64 = 44e-3;
/// Limit of a tick \[us\].
const GOAL_US: f64 = 1000.0;

/// Result of one instrument.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InstrumentRow {
    /// Name of the operation.
    pub name: String,
    /// CPU time of a tick, or of an edit.
    pub cpu: DurationStats,
    /// Total of links that were cut or joined and nodes that were removed, fixed or released.
    pub changes: usize,
}

/// Measures all instruments, the plain press first.
///
/// # Errors
/// If the block cannot be built, or `stop` is set.
pub(super) fn instrument_rows(stop: &AtomicBool) -> Result<Vec<InstrumentRow>, Abort> {
    let whole = block(EDGE)?;
    let mut rows = Vec::new();
    for (name, tool) in TOOLS {
        check_stop(stop)?;
        rows.push(ticks(&mut whole.clone(), name, tool));
    }
    let mut parted = whole.clone();
    let halves = Edit::Cut {
        point_m: Vec3::zeros(),
        normal: Vec3::y(),
    };
    // a plane parts any block
    if parted.edit(&halves).is_ok() {
        rows.push(ticks(&mut parted, "glue", |share| {
            small(share, 1e-3, Instrument::Glue { reach_m: 3e-3 })
        }));
    }
    rows.push(undo_and_redo(&mut whole.clone(), stop)?);
    rows.extend(separation(&whole, stop)?);
    Ok(rows)
}

/// Tool at a share of the time, 0 to 1.
type InstrumentPath = fn(f64) -> Tool;

/// Tools by name.
const TOOLS: [(&str, InstrumentPath); 6] = [
    ("press", |share| ball(across_m(share) * 0.2, 1e-3)),
    ("scalpel", scalpel),
    ("curette", |share| small(share, 3e-3, Instrument::Curette)),
    ("forceps", forceps),
    ("tack", |share| small(share, 2e-3, Instrument::Tack)),
    ("untack", untack),
];

fn across_m(share: f64) -> f64 {
    (share - 0.5) * PATH_M
}

/// Blade that moves through the middle at a depth.
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

/// Forceps that grasp, pull out, and move back and forth.
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

/// Tool that fixes tissue and releases it again.
fn untack(share: f64) -> Tool {
    let along = (share * 12.0).fract();
    let instrument = if share * 6.0 % 1.0 < 0.5 {
        Instrument::Tack
    } else {
        Instrument::Untack
    };
    small(along, 2e-3, instrument)
}

/// Steps once; returns its CPU time, and the number of changes.
fn step(tissue: &mut VoxelModel, tool: Tool) -> (Span, usize) {
    let mut reactions = [Reaction::default()];
    let started = thread_cpu_now();
    tissue.step(&[tool], 1e-3, &mut reactions);
    let cpu_time = thread_cpu_now() - started;
    (cpu_time, tissue.view().changes.len())
}

fn ticks(tissue: &mut VoxelModel, name: &str, tool: InstrumentPath) -> InstrumentRow {
    let (mut cpu_time, mut changes) = (Vec::new(), 0);
    for tick in 0..TICKS {
        let (us, changed) = step(tissue, tool(f64::from(tick) / f64::from(TICKS)));
        cpu_time.push(us);
        changes += changed;
    }
    row(name, &cpu_time, changes)
}

fn row(name: &str, cpu_time: &[Span], changes: usize) -> InstrumentRow {
    InstrumentRow {
        name: name.to_owned(),
        cpu: DurationStats::of(cpu_time).unwrap_or_default(),
        changes,
    }
}

/// Times undo and redo of a cut across the whole block.
fn undo_and_redo(tissue: &mut VoxelModel, stop: &AtomicBool) -> Result<InstrumentRow, Abort> {
    ticks(tissue, "", scalpel);
    let (mut cpu_time, mut changes) = (Vec::new(), 0);
    for _ in 0..REPETITIONS {
        check_stop(stop)?;
        for edit in [Edit::Undo, Edit::Redo] {
            let started = thread_cpu_now();
            let done = tissue.edit(&edit);
            cpu_time.push(thread_cpu_now() - started);
            changes += done.map_or(0, |done| done.elements);
        }
    }
    Ok(row("undo and redo of that cut", &cpu_time, changes))
}

/// Times the tick in which a blade parts the block; none if it never does.
fn separation(whole: &VoxelModel, stop: &AtomicBool) -> Result<Option<InstrumentRow>, Abort> {
    let through = |tick: u32| blade(f64::from(tick) / f64::from(TICKS), PATH_M);
    let pieces = |tissue: &VoxelModel| {
        let nodes = tissue.nodes();
        let alive = (0..nodes.slots()).filter(|&node| nodes.alive(node));
        alive
            .map(|node| nodes.object(node))
            .collect::<BTreeSet<u32>>()
            .len()
    };
    let mut tissue = whole.clone();
    let mut before = Snapshot::of(&tissue);
    for tick in 0..TICKS {
        check_stop(stop)?;
        tissue.save(&mut before);
        let piece_count = pieces(&tissue);
        step(&mut tissue, through(tick));
        if pieces(&tissue) == piece_count {
            continue;
        }
        let (mut cpu_time, mut changes) = (Vec::new(), 0);
        for _ in 0..REPETITIONS {
            check_stop(stop)?;
            // its own snapshot fits; a state that was not restored would time another tick
            if tissue.restore(&before).is_err() || pieces(&tissue) != piece_count {
                return Ok(None);
            }
            let (us, changed) = step(&mut tissue, through(tick));
            cpu_time.push(us);
            changes += changed;
        }
        let name = "tick of the separation";
        return Ok(Some(row(name, &cpu_time, changes)));
    }
    Ok(None)
}

/// Goals of all instruments.
pub(super) fn goals(rows: &[InstrumentRow]) -> Vec<BenchGoal> {
    let goal = |row: &InstrumentRow| {
        let name = format!("{EDGE}^3, {}, p99", row.name);
        BenchGoal::at_most(&name, row.cpu.us_p99, GOAL_US, "us")
    };
    rows.iter().skip(1).map(goal).collect()
}
