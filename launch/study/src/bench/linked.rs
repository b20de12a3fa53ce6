//! What linked volumes cost: a block that is pressed, poked and operated.
//!
//! Source: seed-001 section 3.4.6 and rows TP-11 and FU-10. What stands beside them as the source prints it is in
//! `cargo bench -p palpate-reference`.

mod press;
mod wield;

use std::sync::atomic::AtomicBool;

use palpate_session::stat::upper_median;
use palpate_transport::clock::thread_cpu_now;
use palpate_voxel::LinkedError;
use palpate_voxel::elements::ElementsError;
use serde::{Deserialize, Serialize};

pub use press::{PokeRow, PressRow};
pub use wield::WieldRow;

use super::BenchError;
use super::goal::{self, Goal};

/// Everything measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkedReport {
    /// Mean number of processes that wanted a core in the minute before; none where the system does not tell.
    pub load: Option<f64>,
    /// Blocks under a ball.
    pub presses: Vec<PressRow>,
    /// Small pokes.
    pub pokes: Vec<PokeRow>,
    /// Instruments, a plain press first.
    #[serde(default)]
    pub wields: Vec<WieldRow>,
    /// What is wanted.
    pub goals: Vec<Goal>,
}

/// Why linked volumes cannot be measured.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkedBenchError {
    /// A volume cannot be made.
    #[error("the bench's volume: {0}")]
    Elements(#[from] ElementsError),
    /// The model refuses a parameter.
    #[error("the bench's volume: {0}")]
    Params(#[from] LinkedError),
}

/// Measures all of it.
///
/// # Errors
/// [`BenchError`] if a volume cannot be made, or `stop` is set.
pub fn linked(stop: &AtomicBool) -> Result<LinkedReport, BenchError> {
    let load = load();
    let presses = press::presses(stop)?;
    let pokes = press::pokes(stop)?;
    let wields = wield::wields(stop)?;
    let mut goals: Vec<Goal> = presses.iter().flat_map(press::press_goals).collect();
    goals.extend(press::poke_goals(&pokes));
    goals.extend(wield::goals(&wields));
    Ok(LinkedReport {
        load,
        presses,
        pokes,
        wields,
        goals,
    })
}

fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Own CPU time of some work \[us\], which a busy machine lengthens less than the wall's, and what it gave.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begun = thread_cpu_now();
    let gave = work();
    ((thread_cpu_now() - begun).0 as f64 * 1e-3, gave)
}

/// Median; not a number if there are none.
fn median(values: &mut [f64]) -> f64 {
    upper_median(values).unwrap_or(f64::NAN)
}

impl LinkedReport {
    /// As a table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let load = self
            .load
            .map_or("unknown".to_owned(), |l| format!("{l:.1}"));
        let mut text = format!("linked volumes, load of the machine before: {load}\n");
        for row in &self.presses {
            text += &format!(
                "  {0}^3 pressed, a sweep a tick: cpu p50 {1:.0} p99 {2:.0}, wall p99 {3:.0} us\n",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_a_middle_and_of_none_no_number() {
        assert!(median(&mut []).is_nan());
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }
}
