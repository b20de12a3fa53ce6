//! Block of voxels that is pressed and poked, a tick at a time.
//!
//! Source: seed-001 section 3.4.6 and row FU-10. A tick finds the contact, moves the touched nodes, relaxes once,
//! updates the energy balance and the surface.

use std::sync::atomic::AtomicBool;

use palpate_analysis::Failure;
use palpate_session::stat::spans::DurationStats;
use palpate_session::stat::upper_median;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::{Reaction, Snapshot, Tissue as _, Vec3};
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use palpate_voxel::{VoxelModel, VoxelParams};
use serde::Serialize;

use crate::abort::{Abort, check_stop, refusal};
use crate::bench::goal::BenchGoal;
use crate::bench::{ball, now};

/// Spacing \[m\].
const SPACING_M: f64 = 1e-3;
/// Ticks of a press, of 1 ms each.
const TICKS: u32 = 2000;
/// Edges of the pressed blocks, and the limit of a tick \[us\].
const PRESSED: [(i32, f64); 2] = [(40, 1000.0), (50, 2000.0)];
/// Edges of the poked blocks.
const POKED: [i32; 3] = [20, 40, 64];
/// Pokes per block.
const POKES: u32 = 40;
/// Ticks of a poke: contact, and the first spread of its deformation.
const POKE_TICKS: u32 = 3;
/// Block under a ball that moves up and down and from side to side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PressRow {
    /// Nodes along an edge.
    pub edge: i32,
    /// CPU time of a tick.
    pub cpu: DurationStats,
    /// Wall time of that tick.
    pub wall: DurationStats,
    /// Limit of a tick \[us\].
    pub goal_us: f64,
}

/// Small poke into a block at rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PokeRow {
    /// Nodes along an edge.
    pub edge: i32,
    /// Median time of a whole tick in which a ball comes into contact \[us\].
    pub tick_us: f64,
}

/// Cube of a given edge on a pinned ground, its top at z = 0.
pub(super) fn block(edge: i32) -> Result<VoxelModel, Failure> {
    let half_m = 0.5 * SPACING_M * f64::from(edge - 1);
    let frame = LatticeFrame {
        origin_m: Vec3::new(-half_m, -half_m, -2.0 * half_m),
        spacing_m: [SPACING_M; 3],
    };
    let material = VoxelMaterial::of_young("soft", 5e3, 0.45);
    let sites =
        (0..edge).flat_map(|z| (0..edge).flat_map(move |y| (0..edge).map(move |x| [x, y, z])));
    let seeds: Vec<NodeSeed> = sites
        .map(|site| NodeSeed {
            site,
            material: 0,
            object: 0,
        })
        .collect();
    let nodes = VoxelNodes::<f32>::new(frame, vec![material], &seeds);
    let mut nodes = nodes.map_err(invalid)?;
    for node in 0..nodes.slots() {
        let ground = nodes.site(node)[2] == 0;
        nodes.set_pinned(node, ground);
    }
    let tissue = VoxelModel::new(nodes, VoxelParams::default());
    tissue.map_err(invalid)
}

fn invalid(error: impl std::fmt::Display) -> Failure {
    refusal(format!("the bench's volume: {error}"))
}

/// Presses of both sizes.
///
/// # Errors
/// If a block cannot be built, or `stop` is set.
pub(super) fn presses(stop: &AtomicBool) -> Result<Vec<PressRow>, Abort> {
    let row = |(edge, goal_us)| press(edge, goal_us, stop);
    PRESSED.into_iter().map(row).collect()
}

fn press(edge: i32, goal_us: f64, stop: &AtomicBool) -> Result<PressRow, Abort> {
    let mut tissue = block(edge)?;
    let mut reactions = [Reaction::default()];
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for tick in 0..TICKS {
        check_stop(stop)?;
        let turn = f64::from(tick) * 1e-3 * std::f64::consts::TAU;
        let tool = ball(4e-3 * libm::sin(0.7 * turn), 1e-3 * (1.0 - libm::cos(turn)));
        let started = (thread_cpu_now(), now());
        tissue.step(&[tool], 1e-3, &mut reactions);
        cpu.push(thread_cpu_now() - started.0);
        wall.push(now() - started.1);
    }
    Ok(PressRow {
        edge,
        cpu: DurationStats::of(&cpu).unwrap_or_default(),
        wall: DurationStats::of(&wall).unwrap_or_default(),
        goal_us,
    })
}

/// Pokes of all sizes.
///
/// # Errors
/// As [`presses`].
pub(super) fn pokes(stop: &AtomicBool) -> Result<Vec<PokeRow>, Abort> {
    POKED.into_iter().map(|edge| poke(edge, stop)).collect()
}

fn poke(edge: i32, stop: &AtomicBool) -> Result<PokeRow, Abort> {
    let mut tissue = block(edge)?;
    let rest = Snapshot::of(&tissue);
    let (mut ticks, mut reactions) = (Vec::new(), [Reaction::default()]);
    for _ in 0..POKES {
        check_stop(stop)?;
        // its own snapshot fits
        let _ = tissue.restore(&rest);
        for tick in 1..=POKE_TICKS {
            let tool = ball(0.0, 1e-4 * f64::from(tick));
            let started = thread_cpu_now();
            tissue.step(&[tool], 1e-3, &mut reactions);
            ticks.push((thread_cpu_now() - started).0 as f64 * 1e-3);
        }
    }
    Ok(PokeRow {
        edge,
        tick_us: upper_median(&mut ticks).unwrap_or(f64::NAN),
    })
}

/// Goal of a press.
pub(super) fn press_goal(row: &PressRow) -> BenchGoal {
    let name = format!("{}^3, tick, p99", row.edge);
    BenchGoal::at_most(&name, row.cpu.us_p99, row.goal_us, "us")
}

/// Goal of pokes: their cost must not grow with the block.
pub(super) fn poke_goal(rows: &[PokeRow]) -> Option<BenchGoal> {
    let tick = rows.last()?.tick_us / rows.get(1)?.tick_us;
    let name = "tick of a poke, 64^3 over 40^3";
    Some(BenchGoal::at_most(name, tick, 1.5, "times"))
}
