//! Linked volumes in the shapes of their source's tables and figures, beside the same work as it prints it.
//!
//! Source: seed-001 Table 1, Figs. 13 to 16 and rows CD-12, DF-13 to DF-18, FU-07, FU-08 and FU-10. What was meant
//! for machines of its time is compared by ratios and counts; `printed` is that source's own way, in the
//! same run on the same core.

mod collide;
mod grid;
mod press;
mod printed;
mod reference;
mod wield;

use std::sync::atomic::AtomicBool;

use palpate_session::stat::upper_median;
use palpate_transport::clock::thread_cpu_now;
use palpate_voxel::LinkedError;
use palpate_voxel::bench1d::{Bench, Sample};
use palpate_voxel::elements::ElementsError;
use palpate_voxel::relax::RelaxError;
use serde::{Deserialize, Serialize};

pub use collide::CollisionRow;
pub use grid::GridRow;
pub use press::{DragReport, PokeRow, PressRow};
pub use reference::{ReferenceError, ReferenceReport};
pub use wield::WieldRow;

use super::goal::{self, Goal};
use super::{BenchError, go_on};

/// Sweeps of a hold at which it is looked at.
const HELD: [usize; 15] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000,
];

/// Everything measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkedReport {
    /// Mean number of processes that wanted a core in the minute before; none where the system does not tell.
    pub load: Option<f64>,
    /// Table 1.
    pub collisions: Vec<CollisionRow>,
    /// Fig. 13.
    pub grid: Vec<GridRow>,
    /// Blocks under a ball.
    pub presses: Vec<PressRow>,
    /// Small pokes.
    pub pokes: Vec<PokeRow>,
    /// The drag.
    pub drag: DragReport,
    /// Instruments, a plain press first.
    #[serde(default)]
    pub wields: Vec<WieldRow>,
    /// Figs. 14 to 16.
    pub curves: Vec<Curve>,
    /// An indentation beside finite elements.
    pub reference: ReferenceReport,
    /// What is wanted.
    pub goals: Vec<Goal>,
}

/// A row of links on the test bench, drawn and let back, and drawn and held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Its law and gain.
    pub name: String,
    /// Mean length of a link, total force and force of the last link, out and back.
    pub out_and_back: Vec<[f64; 3]>,
    /// Sweeps, total force and force of the last link of a hold.
    pub hold: Vec<[f64; 3]>,
    /// Where the total force of the hold ends.
    pub settled: f64,
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
    /// The bench of one row of links refuses a parameter.
    #[error("the row of links: {0}")]
    Row(#[from] RelaxError),
    /// The reference has no solution.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

/// Measures all of it.
///
/// # Errors
/// [`BenchError`] if a volume or the reference cannot be made, or `stop` is set.
pub fn linked(stop: &AtomicBool) -> Result<LinkedReport, BenchError> {
    let load = load();
    let presses = press::presses(stop)?;
    let pokes = press::pokes(stop)?;
    let drag = press::drag(stop)?;
    let wields = wield::wields(stop)?;
    let collisions = collide::table(stop)?;
    let grid = grid::grid(stop)?;
    let curves = curves(stop)?;
    let reference = reference::reference(stop)?;
    let mut goals: Vec<Goal> = presses.iter().flat_map(press::press_goals).collect();
    goals.extend(press::poke_goals(&pokes));
    goals.extend(press::drag_goals(&drag));
    goals.extend(wield::goals(&wields));
    goals.extend(collide::goals(&collisions));
    goals.extend(grid::goals(&grid));
    goals.push(reference.goal());
    Ok(LinkedReport {
        load,
        collisions,
        grid,
        presses,
        pokes,
        drag,
        wields,
        curves,
        reference,
        goals,
    })
}

fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Figs. 14 to 16: two linear and three quadratic rows.
fn curves(stop: &AtomicBool) -> Result<Vec<Curve>, BenchError> {
    let point = |sample: &Sample, along: f64| [along, sample.total, sample.end];
    let mut curves = Vec::new();
    for (name, bench) in Bench::figure_14() {
        go_on(stop)?;
        let out = bench.load_unload().map_err(LinkedBenchError::Row)?;
        let held = bench.hold(&HELD).map_err(LinkedBenchError::Row)?;
        curves.push(Curve {
            name: name.to_owned(),
            out_and_back: out.iter().map(|s| point(s, s.mean_length)).collect(),
            hold: held.iter().map(|s| point(s, s.time as f64)).collect(),
            settled: bench.settled(),
        });
    }
    Ok(curves)
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

/// Share of the spread of y that a line through these points explains; not a number below three points.
fn linear(points: &[(f64, f64)]) -> f64 {
    if points.len() < 3 {
        return f64::NAN;
    }
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for point in points {
        let (dx, dy) = (point.0 - x, point.1 - y);
        (xx, xy, yy) = (xx + dx * dx, xy + dx * dy, yy + dy * dy);
    }
    xy * xy / (xx * yy)
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
                "  {0}^3 pressed, a sweep a tick: cpu p50 {1:.0} p99 {2:.0}, wall p99 {3:.0} us; as printed \
                 {4:.0} us; a sweep {5:.0}, as printed {6:.0} us\n",
                row.edge,
                row.cpu.us_p50,
                row.cpu.us_p99,
                row.wall.us_p99,
                row.printed_us,
                row.sweep_us,
                row.printed_sweep_us
            );
        }
        for row in &self.pokes {
            text += &format!(
                "  {}^3 poked: chain {:.1} us for {} moves, a tick {:.0} us\n",
                row.edge, row.chain_us, row.moved, row.tick_us
            );
        }
        text += &format!(
            "  {} elements dragged: p50 {:.0} us, by lists {:.0}, as printed {:.0}\n",
            self.drag.elements,
            self.drag.exact.us_p50,
            self.drag.lists.us_p50,
            self.drag.printed_us
        );
        for row in &self.wields {
            text += &format!(
                "  40^3, {}: p50 {:.0} p99 {:.0} max {:.0} us, {} changes\n",
                row.name, row.cpu.us_p50, row.cpu.us_p99, row.cpu.us_max, row.changes
            );
        }
        text += &self.collision_table();
        text += &self.grid_table();
        text += &self.reference.line();
        text + &goal::lines("linked", &self.goals)
    }

    fn collision_table(&self) -> String {
        let mut text = String::from(
            "  Table 1, us a step: detect free, inside; prevent free, impact, touching; as printed, free\n",
        );
        for row in &self.collisions {
            let [free, inside, prevent, impact, touching] = row.step_us;
            text += &format!(
                "  {:>2}^3 {:<7} {:<6} {:>6}{free:>9.1}{inside:>9.1}{prevent:>9.1}{impact:>9.1}{touching:>9.1}{:>9.1}\n",
                row.edge,
                if row.surface { "surface" } else { "full" },
                if row.hashed { "hashed" } else { "dense" },
                row.elements,
                row.printed_us
            );
        }
        text
    }

    fn grid_table(&self) -> String {
        let mut text = String::from(
            "  Fig. 13, a move: elements, square, considered, us by lists, exact, as printed\n",
        );
        for row in &self.grid {
            text += &format!(
                "  {:<7}{:>7}{:>5}{:>10.0}{:>9.1}{:>9.1}{:>9.1}\n",
                row.material,
                row.elements,
                row.square,
                row.considered,
                row.lists_us,
                row.exact_us,
                row.printed_us
            );
        }
        text
    }

    /// The curves as a file: what, along (mean length or sweeps), total force, force of the last link.
    #[must_use]
    pub fn curves_csv(&self) -> String {
        let mut text = String::from("row,part,along,total_force,end_force\n");
        for curve in &self.curves {
            for (part, points) in [("loop", &curve.out_and_back), ("hold", &curve.hold)] {
                for [along, total, end] in points {
                    text += &format!("\"{}\",{part},{along},{total},{end}\n", curve.name);
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_explained_and_a_cloud_is_not() {
        let line: Vec<(f64, f64)> = (0..5).map(|x| (f64::from(x), 3.0 - f64::from(x))).collect();
        assert!((linear(&line) - 1.0).abs() < 1e-12);
        assert!(linear(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]) < 1e-12);
        assert!(linear(&line[..2]).is_nan() && median(&mut []).is_nan());
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }

    #[test]
    fn df_15_curves_are_written_for_every_row_of_the_bench() {
        let curves = curves(&AtomicBool::new(false)).expect("fixed");
        assert_eq!(curves.len(), 5);
        for curve in &curves {
            assert_eq!((curve.out_and_back.len(), curve.hold.len()), (501, 16));
            let last = curve.hold.last().expect("16");
            assert!(last[1] >= curve.settled - 1e-9, "{}", curve.name);
        }
        assert!(matches!(
            super::curves(&AtomicBool::new(true)),
            Err(BenchError::Stopped)
        ));
    }
}
