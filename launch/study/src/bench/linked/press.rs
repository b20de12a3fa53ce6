//! A block that is pressed and poked, a tick at a time.
//!
//! Source: seed-001 section 3.4.6 and row FU-10. A tick finds the contact, moves what is touched, relaxes once, accounts
//! for the energy and brings the surface up to date.

use std::sync::atomic::AtomicBool;

use palpate_session::stat::spans::Stats;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::{Instrument, Reaction, Snapshot, Tissue as _, Tool, Vec3};
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::matter::Matter;
use palpate_voxel::{Linked, LinkedParams};
use serde::{Deserialize, Serialize};

use super::{LinkedBenchError, median, timed};
use crate::bench::goal::Goal;
use crate::bench::{BenchError, go_on};

/// Spacing \[m\].
const SPACING_M: f64 = 1e-3;
/// Ticks of a press; one is 1 ms.
const TICKS: u32 = 2000;
/// Edges of the blocks that are pressed, and what a tick may take \[us\].
const PRESSED: [(i32, f64); 2] = [(40, 1000.0), (50, 2000.0)];
/// Edges of the blocks that are poked.
const POKED: [i32; 3] = [20, 40, 64];
/// Pokes of each.
const POKES: u32 = 40;
/// Ticks of a poke: contact, and its first spread.
const POKE_TICKS: u32 = 3;
/// A block under a ball that goes up and down and to and fro.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PressRow {
    /// Elements along an edge.
    pub edge: i32,
    /// CPU time of a tick.
    pub cpu: Stats,
    /// Wall time of it.
    pub wall: Stats,
    /// What a tick may take \[us\].
    pub goal_us: f64,
}

/// A small poke into a block at rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PokeRow {
    /// Elements along an edge.
    pub edge: i32,
    /// A whole tick in which a ball comes into contact, median \[us\].
    pub tick_us: f64,
}

/// A cube of such an edge on a pinned ground, its top at z = 0.
pub(super) fn block(edge: i32) -> Result<Linked, BenchError> {
    let half_m = 0.5 * SPACING_M * f64::from(edge - 1);
    let frame = Frame {
        origin_m: Vec3::new(-half_m, -half_m, -2.0 * half_m),
        spacing_m: [SPACING_M; 3],
    };
    let matter = Matter::of_young("soft", 5e3, 0.45);
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
    let tissue = Linked::new(elements, LinkedParams::default());
    Ok(tissue.map_err(LinkedBenchError::Params)?)
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
    let row = |(edge, goal_us)| press(edge, goal_us, stop);
    PRESSED.into_iter().map(row).collect()
}

fn press(edge: i32, goal_us: f64, stop: &AtomicBool) -> Result<PressRow, BenchError> {
    let mut tissue = block(edge)?;
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
    Ok(PressRow {
        edge,
        cpu: Stats::of(&cpu).unwrap_or_default(),
        wall: Stats::of(&wall).unwrap_or_default(),
        goal_us,
    })
}

/// Pokes of all sizes.
///
/// # Errors
/// As [`presses`].
pub(super) fn pokes(stop: &AtomicBool) -> Result<Vec<PokeRow>, BenchError> {
    POKED.into_iter().map(|edge| poke(edge, stop)).collect()
}

fn poke(edge: i32, stop: &AtomicBool) -> Result<PokeRow, BenchError> {
    let mut tissue = block(edge)?;
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
        tick_us: median(&mut ticks),
    })
}

/// What is wanted of presses.
pub(super) fn press_goals(row: &PressRow) -> Vec<Goal> {
    let name = format!("{}^3, tick, p99", row.edge);
    vec![Goal::at_most(&name, row.cpu.us_p99, row.goal_us, "us")]
}

/// What is wanted of pokes: that they do not grow with the block.
pub(super) fn poke_goals(rows: &[PokeRow]) -> Vec<Goal> {
    let (Some(small), Some(large)) = (rows.get(1), rows.last()) else {
        return Vec::new();
    };
    let tick = large.tick_us / small.tick_us;
    let name = "tick of a poke, 64^3 over 40^3";
    vec![Goal::at_most(name, tick, 1.5, "times")]
}
