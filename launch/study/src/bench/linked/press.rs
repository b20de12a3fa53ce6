//! A block that is pressed and dragged, a tick at a time, beside the same as printed.
//!
//! Source: seed-001 section 3.4.6 and rows DF-13, FU-07 and FU-10. A tick of ours finds the contact, moves what is
//! touched, relaxes once, accounts for the energy and brings the surface up to date; a tick as printed
//! moves one element by ChainMail, relaxes once and looks at the surface.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use palpate_session::stat::spans::Stats;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::{Instrument, Reaction, Snapshot, Tissue as _, Tool, Vec3};
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::exact::Control;
use palpate_voxel::limits::Limits;
use palpate_voxel::links::Links as _;
use palpate_voxel::matter::Matter;
use palpate_voxel::propagation::{Propagation, Propagator};
use palpate_voxel::{Linked, LinkedParams};
use serde::{Deserialize, Serialize};

use super::printed::{Give, Volume};
use super::{LinkedBenchError, median, timed};
use crate::bench::goal::Goal;
use crate::bench::{BenchError, go_on};

/// Spacing \[m\].
const SPACING_M: f64 = 1e-3;
/// Ticks of a press; one is 1 ms.
const TICKS: u32 = 2000;
/// Ticks as printed.
const PRINTED: u32 = 100;
/// Edges of the blocks that are pressed, and what a tick may take \[us\].
const PRESSED: [(i32, f64); 2] = [(40, 1000.0), (50, 2000.0)];
/// Edges of the blocks that are poked.
const POKED: [i32; 3] = [20, 40, 64];
/// Pokes of each.
const POKES: u32 = 40;
/// Ticks of a poke: contact, and its first spread.
const POKE_TICKS: u32 = 3;
/// Edge of the block that is dragged about: 125 000 elements.
const DRAGGED: i32 = 50;
/// Moves of the drag.
const DRAGS: u32 = 300;

/// A block under a ball that goes up and down and to and fro.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PressRow {
    /// Elements along an edge.
    pub edge: i32,
    /// CPU time of a tick.
    pub cpu: Stats,
    /// Wall time of it.
    pub wall: Stats,
    /// A tick as printed, median of its CPU time \[us\].
    pub printed_us: f64,
    /// A sweep over all elements, median \[us\].
    pub sweep_us: f64,
    /// A sweep as printed, median \[us\].
    pub printed_sweep_us: f64,
    /// What a tick may take \[us\].
    pub goal_us: f64,
}

/// A small poke into a block at rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PokeRow {
    /// Elements along an edge.
    pub edge: i32,
    /// Exact propagation from one element pushed in by one and a half spacings, median \[us\].
    pub chain_us: f64,
    /// Elements that this moved, by axis and sense.
    pub moved: usize,
    /// A whole tick in which a ball comes into contact, median \[us\].
    pub tick_us: f64,
}

/// 125 000 elements dragged about by one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DragReport {
    /// Elements.
    pub elements: usize,
    /// CPU time of a move: propagation, one sweep, the surface.
    pub exact: Stats,
    /// The same by lists of candidates.
    pub lists: Stats,
    /// The same as printed, median \[us\].
    pub printed_us: f64,
}

/// A cube of such an edge on a pinned ground, its top at z = 0.
pub(super) fn block(edge: i32, how: Propagation) -> Result<Linked, BenchError> {
    let half_m = 0.5 * SPACING_M * f64::from(edge - 1);
    let frame = Frame {
        origin_m: Vec3::new(-half_m, -half_m, -2.0 * half_m),
        spacing_m: [SPACING_M; 3],
    };
    let matter = Matter {
        limits: Limits::MEDIUM,
        ..Matter::of_young("soft", 5e3, 0.45)
    };
    let sites =
        (0..edge).flat_map(|z| (0..edge).flat_map(move |y| (0..edge).map(move |x| [x, y, z])));
    let seeds: Vec<Seed> = sites
        .map(|site| Seed {
            site,
            matter: 0,
            object: 0,
        })
        .collect();
    let elements = Elements::<f32>::new(frame, vec![matter], &seeds);
    let mut elements = elements.map_err(LinkedBenchError::Elements)?;
    for element in 0..elements.slots() {
        let ground = elements.site(element)[2] == 0;
        elements.pin(element, ground);
    }
    let params = LinkedParams {
        propagation: how,
        ..LinkedParams::default()
    };
    Ok(Linked::new(elements, params).map_err(LinkedBenchError::Params)?)
}

/// A ball on that block, so deep in it \[m\].
pub(super) fn ball(x_m: f64, depth_m: f64) -> Tool {
    let radius_m = 5e-3;
    Tool {
        position_m: Vec3::new(x_m, 0.0, radius_m - depth_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 300.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    }
}

/// Presses of both sizes.
///
/// # Errors
/// [`BenchError`] if a block cannot be made, or `stop` is set.
pub(super) fn presses(stop: &AtomicBool) -> Result<Vec<PressRow>, BenchError> {
    let row = |(edge, goal_us)| press((edge, goal_us), stop);
    PRESSED.into_iter().map(row).collect()
}

fn press((edge, goal_us): (i32, f64), stop: &AtomicBool) -> Result<PressRow, BenchError> {
    let mut tissue = block(edge, Propagation::Exact)?;
    let mut felt = [Reaction::default()];
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for tick in 0..TICKS {
        go_on(stop)?;
        let turn = f64::from(tick) * 1e-3 * std::f64::consts::TAU;
        let tool = ball(4e-3 * libm::sin(0.7 * turn), 1e-3 * (1.0 - libm::cos(turn)));
        let begun = (thread_cpu_now(), super::super::now());
        tissue.step(&[tool], 1e-3, &mut felt);
        cpu.push(thread_cpu_now() - begun.0);
        wall.push(super::super::now() - begun.1);
    }
    // everything still moves after that press
    let mut sweeps = Vec::new();
    for _ in 0..PRINTED {
        sweeps.push(timed(|| black_box(tissue.drag(&[])).is_ok()).0);
    }
    let (printed_us, printed_sweep_us) = printed(edge, stop)?;
    Ok(PressRow {
        edge,
        cpu: Stats::of(&cpu).unwrap_or_default(),
        wall: Stats::of(&wall).unwrap_or_default(),
        printed_us,
        sweep_us: median(&mut sweeps),
        printed_sweep_us,
        goal_us,
    })
}

/// A cube as printed, and the element in the middle of its top.
fn printed_block(edge: i32) -> (Volume, usize) {
    let edge = edge.unsigned_abs() as usize;
    let volume = Volume::new([edge; 3], Give(0.8, 1.2, 0.2));
    (volume, ((edge - 1) * edge + edge / 2) * edge + edge / 2)
}

/// A tick and a sweep as printed, medians \[us\].
fn printed(edge: i32, stop: &AtomicBool) -> Result<(f64, f64), BenchError> {
    let (mut volume, control) = printed_block(edge);
    let rest = volume.elements[control].at;
    let (mut ticks, mut sweeps) = (Vec::new(), Vec::new());
    for tick in 0..PRINTED {
        go_on(stop)?;
        let turn = f64::from(tick) / f64::from(PRINTED) * std::f64::consts::TAU;
        let [aside, depth] = [4.0 * libm::sin(0.7 * turn), 1.0 - libm::cos(turn)];
        let to = [rest[0] + aside as f32, rest[1], rest[2] - depth as f32];
        let tick = timed(|| {
            black_box(volume.chain(control, to));
            volume.relax(Some(control), 0.5);
            black_box(volume.draw());
        });
        ticks.push(tick.0);
        sweeps.push(timed(|| volume.relax(Some(control), 0.5)).0);
    }
    Ok((median(&mut ticks), median(&mut sweeps)))
}

/// Pokes of all sizes.
///
/// # Errors
/// As [`presses`].
pub(super) fn pokes(stop: &AtomicBool) -> Result<Vec<PokeRow>, BenchError> {
    POKED.into_iter().map(|edge| poke(edge, stop)).collect()
}

fn poke(edge: i32, stop: &AtomicBool) -> Result<PokeRow, BenchError> {
    let mut tissue = block(edge, Propagation::Exact)?;
    let mut elements = tissue.elements().clone();
    let element = elements.at_site([edge / 2, edge / 2, edge - 1]);
    let mut propagator = Propagator::new(Propagation::Exact, elements.slots());
    let control = Control {
        element: element.unwrap_or(0),
        to_m: [0.0, 0.0, -1.5e-3],
    };
    let (mut chain, mut moved) = (Vec::new(), 0);
    for _ in 0..POKES {
        let (us, did) = timed(|| propagator.propagate(&mut elements, &[control]));
        chain.push(us);
        moved = did.map_or(0, |did| did.moved);
        propagator.restore(&mut elements);
    }
    let rest = Snapshot::of(&tissue);
    let (mut ticks, mut felt) = (Vec::new(), [Reaction::default()]);
    for _ in 0..POKES {
        go_on(stop)?;
        // its own snapshot fits
        let _ = tissue.thaw(&rest);
        for tick in 1..=POKE_TICKS {
            let tool = ball(0.0, 1e-4 * f64::from(tick));
            ticks.push(timed(|| tissue.step(&[tool], 1e-3, &mut felt)).0);
        }
    }
    Ok(PokeRow {
        edge,
        chain_us: median(&mut chain),
        moved,
        tick_us: median(&mut ticks),
    })
}

/// Where the dragged element is, in spacings from its rest.
fn about(nth: u32) -> [f32; 3] {
    let turn = f64::from(nth) / 60.0 * std::f64::consts::TAU;
    [5.0 * libm::cos(turn), 5.0 * libm::sin(turn), 3.0].map(|along| along as f32)
}

/// The drag.
///
/// # Errors
/// As [`presses`].
pub(super) fn drag(stop: &AtomicBool) -> Result<DragReport, BenchError> {
    let ours = |how: Propagation| {
        let mut tissue = block(DRAGGED, how)?;
        let top = [DRAGGED / 2, DRAGGED / 2, DRAGGED - 1];
        let element = tissue.elements().at_site(top).unwrap_or(0);
        let mut spent = Vec::new();
        for nth in 0..DRAGS {
            go_on(stop)?;
            let to_m = about(nth).map(|along| along * SPACING_M as f32);
            let begun = thread_cpu_now();
            let _ = black_box(tissue.drag(&[Control { element, to_m }]));
            spent.push(Span((thread_cpu_now() - begun).0));
        }
        Ok::<_, BenchError>((tissue.elements().slots(), Stats::of(&spent)))
    };
    let (elements, exact) = ours(Propagation::Exact)?;
    let (_, lists) = ours(Propagation::Chain(Default::default()))?;
    let (mut volume, control) = printed_block(DRAGGED);
    let rest = volume.elements[control].at;
    let mut spent = Vec::new();
    for nth in 0..PRINTED {
        go_on(stop)?;
        let by = about(nth);
        let to = std::array::from_fn(|axis| rest[axis] + by[axis]);
        let drag = timed(|| {
            black_box(volume.chain(control, to));
            volume.relax(Some(control), 0.5);
            black_box(volume.draw());
        });
        spent.push(drag.0);
    }
    Ok(DragReport {
        elements: elements as usize,
        exact: exact.unwrap_or_default(),
        lists: lists.unwrap_or_default(),
        printed_us: median(&mut spent),
    })
}

/// What is wanted of presses.
pub(super) fn press_goals(row: &PressRow) -> Vec<Goal> {
    let of = |what: &str| format!("{}^3, {what}", row.edge);
    vec![
        Goal::at_most(&of("tick, p99"), row.cpu.us_p99, row.goal_us, "us"),
        Goal::at_least(
            &of("tick as printed over ours"),
            row.printed_us / row.cpu.us_p50,
            10.0,
            "times",
        ),
        Goal::at_least(
            &of("sweep as printed over ours"),
            row.printed_sweep_us / row.sweep_us,
            3.0,
            "times",
        ),
    ]
}

/// What is wanted of pokes: that they do not grow with the block.
pub(super) fn poke_goals(rows: &[PokeRow]) -> Vec<Goal> {
    let (Some(small), Some(large)) = (rows.get(1), rows.last()) else {
        return Vec::new();
    };
    let (chain, tick) = (
        large.chain_us / small.chain_us,
        large.tick_us / small.tick_us,
    );
    vec![
        Goal::at_most("chain of a poke, 64^3 over 40^3", chain, 1.5, "times"),
        Goal::at_most("tick of a poke, 64^3 over 40^3", tick, 1.5, "times"),
    ]
}

/// What is wanted of the drag.
pub(super) fn drag_goals(drag: &DragReport) -> Vec<Goal> {
    vec![
        Goal::at_least(
            "125 000 elements dragged",
            1e6 / drag.exact.us_p50,
            30.0,
            "updates a second",
        ),
        Goal::at_least(
            "dragged, as printed over ours",
            drag.printed_us / drag.exact.us_p50,
            10.0,
            "times",
        ),
    ]
}
