//! Cost of voxel models: a block that is pressed, poked and edited by instruments.
//!
//! Source: seed-001 section 3.4.6 and rows TP-11 and FU-10. `cargo bench -p palpate-reference` compares with the
//! figures of the source.

mod instruments;
mod press;

use std::sync::atomic::AtomicBool;

use serde::Serialize;

use instruments::InstrumentRow;
use press::{PokeRow, PressRow};

use super::goal::{self, BenchGoal};
use crate::abort::Abort;

/// Results for voxel models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VoxelBenchReport {
    /// Load average of the minute before; none if the system does not report it.
    pub load: Option<f64>,
    /// Blocks under a ball.
    pub presses: Vec<PressRow>,
    /// Small pokes.
    pub pokes: Vec<PokeRow>,
    /// Instruments, with a plain press first.
    pub wields: Vec<InstrumentRow>,
    /// Goals of the results.
    pub goals: Vec<BenchGoal>,
}

/// Measures all parts.
///
/// # Errors
/// If a model cannot be built, or `stop` is set.
pub(crate) fn measure_voxel(stop: &AtomicBool) -> Result<VoxelBenchReport, Abort> {
    let load = load();
    let presses = press::presses(stop)?;
    let pokes = press::pokes(stop)?;
    let instruments = instruments::instrument_rows(stop)?;
    let mut goals: Vec<BenchGoal> = presses.iter().map(press::press_goal).collect();
    goals.extend(press::poke_goal(&pokes));
    goals.extend(instruments::goals(&instruments));
    Ok(VoxelBenchReport {
        load,
        presses,
        pokes,
        wields: instruments,
        goals,
    })
}

fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

impl VoxelBenchReport {
    /// Formats the results as a table.
    pub(crate) fn table(&self) -> String {
        let load = self
            .load
            .map_or("unknown".to_owned(), |l| format!("{l:.1}"));
        let mut text = format!("voxel models, load of the machine before: {load}\n");
        for row in &self.presses {
            text += &format!(
                "  {0}^3 pressed, one Gauss-Seidel pass a tick: cpu p50 {1:.0} p99 {2:.0}, wall p99 {3:.0} us\n",
                row.edge, row.cpu.us_p50, row.cpu.us_p99, row.wall.us_p99
            );
        }
        for row in &self.pokes {
            text += &format!("  {}^3 poked: a tick {:.0} us\n", row.edge, row.tick_us);
        }
        for row in &self.wields {
            text += &format!(
                "  40^3, {}: p50 {:.0} p99 {:.0} max {:.0} us, {} changes\n",
                row.name, row.cpu.us_p50, row.cpu.us_p99, row.cpu.us_max, row.changes
            );
        }
        text + &goal::lines("linked", &self.goals)
    }
}
