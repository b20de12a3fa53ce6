//! The atlas: how stiff, how far, how late, each found in up to three ways that know nothing of each other.
//!
//! [`closed`] has the field's formulas, [`two_port`] sweeps the linearised chain over frequency, and time has
//! the last word: [`wall`] bisects a sampled wall, [`session`] runs the real ticks on the reference plant. Three charts:
//!
//! | chart | question | closed | frequency | time |
//! |---|---|---|---|---|
//! | wall | stiffest wall that a handle's damping bears | E12 | real part of the sampled spring | bisection |
//! | line | stiffness that a wave line shows of a wall | E3 | the line's impedance | slow presses |
//! | direct | longest delay without any method | - | phase margin | bisection |
//!
//! Source: teleop sections 6 to 8 and goal 9.

pub mod closed;
pub mod session;
pub mod two_port;
pub mod wall;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use palpate_master::device::grip::Grip;
use palpate_master::device::mass;
use serde::Serialize;

use crate::config::ConfigError;
use two_port::{Body, Pulled};
use wall::Wall;

/// Which chart a point belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chart {
    /// Stiffest sampled wall \[N/m\].
    Wall,
    /// Stiffness shown by a wave line \[N/m\].
    Line,
    /// Longest one-way delay of direct coupling \[ms\].
    Direct,
}

impl Chart {
    /// Name as in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Line => "line",
            Self::Direct => "direct",
        }
    }

    /// Unit of what is found.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Wall | Self::Line => "N/m",
            Self::Direct => "ms",
        }
    }
}

/// A point of the atlas and what the three ways say of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Chart.
    pub chart: Chart,
    /// One-way delay \[ms\]; of a wall, half the loop's delay; of direct coupling, unknown.
    pub oneway_ms: Option<f64>,
    /// Wave impedance, or the handle's damping of a wall \[N s/m\].
    pub b_nspm: Option<f64>,
    /// Stiffness of the wall that is pressed \[N/m\].
    pub wall_npm: Option<f64>,
    /// Stiffness of the slave's controller \[N/m\].
    pub slave_npm: Option<f64>,
    /// Period of the loop \[ms\].
    pub period_ms: f64,
    /// How the handle is held.
    pub grip: &'static str,
    /// By formula.
    pub closed: Option<f64>,
    /// By a sweep over frequency.
    pub frequency: Option<f64>,
    /// By running it.
    pub time: Option<f64>,
}

impl Point {
    /// Largest difference between any two ways, as a share of what time says; unknown without time, or if
    /// no other way says anything.
    #[must_use]
    pub fn spread(&self) -> Option<f64> {
        let time = self.time?;
        let ways = [self.closed, self.frequency, self.time];
        let said = || ways.iter().flatten().copied();
        let spread = (said().fold(f64::MIN, f64::max) - said().fold(f64::MAX, f64::min)) / time;
        (said().count() > 1 && spread.is_finite()).then_some(spread)
    }

    /// How finely time can tell this point, as a share of it: a delay is found in whole ticks.
    #[must_use]
    pub fn resolution(&self) -> f64 {
        match (self.chart, self.time) {
            // the limit lies somewhere in a tick whose middle is said
            (Chart::Direct, Some(ms)) => 0.5 / ms,
            _ => 0.0,
        }
    }
}

/// How much of the atlas is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All points.
    Whole,
    /// A few, for a first look.
    Sketch,
}

/// Bars that the atlas states: largest difference of the ways, as a share (teleop goal 9).
pub const BARS: [(Chart, f64); 3] = [
    (Chart::Wall, 0.05),
    (Chart::Line, 0.03),
    (Chart::Direct, 0.1),
];

/// One-way delays of the line's chart \[ms\].
const LINE_MS: [f64; 7] = [1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0];

/// Largest difference of the ways in a chart, and whether it is within its bar; nothing if no point was found.
#[must_use]
pub fn agreement(points: &[Point], (chart, bar): (Chart, f64)) -> Option<(f64, bool)> {
    let of = points.iter().filter(|point| point.chart == chart);
    let mut worst = None;
    let mut held = true;
    for point in of {
        let Some(spread) = point.spread() else {
            continue;
        };
        worst = Some(worst.map_or(spread, |worst: f64| worst.max(spread)));
        held &= spread <= bar + point.resolution();
    }
    worst.map(|worst| (worst, held))
}

/// Whether the ways agree in every chart; no chart without a point does.
#[must_use]
pub fn held(points: &[Point]) -> bool {
    BARS.iter()
        .all(|&bar| agreement(points, bar).is_some_and(|(_, held)| held))
}

/// Points of the atlas, not yet found.
#[must_use]
pub fn plan(extent: Extent) -> Vec<Point> {
    let some = |index: usize| extent == Extent::Whole || index.is_multiple_of(3);
    let mut points = Vec::new();
    for (index, &late_ms) in [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
        .iter()
        .enumerate()
    {
        for (b_nspm, period_ms) in [(0.5, 1.0), (2.0, 1.0), (10.0, 1.0), (2.0, 0.5), (2.0, 2.0)] {
            if some(index) && late_ms % period_ms == 0.0 {
                points.push(Point {
                    b_nspm: Some(b_nspm),
                    oneway_ms: Some(0.5 * late_ms),
                    grip: "heavy",
                    ..empty(Chart::Wall, period_ms)
                });
            }
        }
    }
    for (index, &oneway_ms) in LINE_MS.iter().enumerate() {
        for wall_npm in [100.0, 300.0, 1000.0, 2000.0] {
            for b_nspm in [3.0, 10.0, 30.0] {
                if some(index) {
                    points.push(Point {
                        oneway_ms: Some(oneway_ms),
                        b_nspm: Some(b_nspm),
                        wall_npm: Some(wall_npm),
                        slave_npm: Some(session::SLAVE_NPM),
                        grip: "firm",
                        ..empty(Chart::Line, 1.0)
                    });
                }
            }
        }
    }
    for (index, slave_npm) in [100.0, 200.0, 500.0, 1000.0, 2000.0]
        .into_iter()
        .enumerate()
    {
        for grip in ["light", "firm"] {
            if some(index) {
                points.push(Point {
                    slave_npm: Some(slave_npm),
                    grip,
                    ..empty(Chart::Direct, 1.0)
                });
            }
        }
    }
    points
}

fn empty(chart: Chart, period_ms: f64) -> Point {
    Point {
        chart,
        oneway_ms: None,
        b_nspm: None,
        wall_npm: None,
        slave_npm: None,
        period_ms,
        grip: "",
        closed: None,
        frequency: None,
        time: None,
    }
}

/// Find all points on `jobs` threads, in their order; what `stop` has cut off stays unknown. `done` hears
/// how many are found.
///
/// # Errors
/// [`ConfigError`] if a session cannot be made.
pub fn find(
    mut points: Vec<Point>,
    jobs: usize,
    stop: &AtomicBool,
    done: &(dyn Fn(u64) + Sync),
) -> Result<Vec<Point>, ConfigError> {
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failed = Mutex::new(None);
    let asked = points.clone();
    let results: Vec<Mutex<Option<Point>>> = asked.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(point) = asked.get(index) else {
                        return;
                    };
                    match point.clone().found() {
                        Ok(point) => put(&results[index], point),
                        Err(error) => put(&failed, error),
                    }
                    done(found.fetch_add(1, Ordering::Relaxed) as u64 + 1);
                }
            });
        }
    });
    if let Some(error) = taken(failed) {
        return Err(error);
    }
    for (point, result) in points.iter_mut().zip(results) {
        if let Some(found) = taken(result) {
            *point = found;
        }
    }
    Ok(points)
}

/// Put a value where one thread writes and one reads later; a panic elsewhere takes nothing from it.
fn put<T>(place: &Mutex<Option<T>>, value: T) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
}

fn taken<T>(place: Mutex<Option<T>>) -> Option<T> {
    place.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl Point {
    /// Ask all three ways.
    fn found(mut self) -> Result<Self, ConfigError> {
        let oneway_ms = self.oneway_ms.unwrap_or(0.0);
        let b_nspm = self.b_nspm.unwrap_or(0.0);
        match self.chart {
            Chart::Wall => {
                let period_s = 1e-3 * self.period_ms;
                let wall = Wall {
                    damping_nspm: b_nspm,
                    period_s,
                    late_periods: (2.0 * oneway_ms / self.period_ms).round() as usize,
                };
                let loop_s = wall.loop_s();
                self.closed = Some(closed::wall_npm_max(b_nspm, period_s, loop_s));
                self.frequency = Some(two_port::wall_npm_max(b_nspm, period_s, loop_s));
                self.time = Some(wall.npm_max());
            }
            Chart::Line => {
                let (wall_npm, slave_npm) = (self.wall_npm.unwrap_or(0.0), session::SLAVE_NPM);
                let rtt_s = session::round_trip_s(oneway_ms);
                let w = std::f64::consts::TAU * session::slow_hz(oneway_ms);
                let load = pulled(slave_npm, wall_npm).impedance(w);
                let shown = two_port::through_line(load, b_nspm, rtt_s, w);
                self.closed = Some(closed::displayed_npm(wall_npm, slave_npm, b_nspm, rtt_s));
                self.frequency = Some(two_port::stiffness_npm(shown, w));
                self.time = session::displayed_npm(wall_npm, b_nspm, oneway_ms)?;
            }
            Chart::Direct => {
                let slave_npm = self.slave_npm.unwrap_or(0.0);
                let grip = if self.grip == "light" {
                    Grip::Light
                } else {
                    Grip::Firm
                };
                let slave = pulled(slave_npm, 0.0);
                let limit_s = two_port::direct_oneway_s_max(&hand(grip), &slave, HELD_S);
                self.frequency = limit_s.map(|s| 1e3 * s);
                let controller = (slave_npm, slave.damping_nspm);
                let most_ms = session::direct_oneway_ms_max(grip, controller, DIRECT_MS_MAX)?;
                // the last tick that is still and the first that swings, halved
                self.time = most_ms.map(|ms| f64::from(ms) + 0.5);
            }
        }
        Ok(self)
    }
}

/// What the holds of both sides add to a round trip \[s\]: half a tick each.
const HELD_S: f64 = 1e-3;

/// Longest delay that is tried without a method \[ms\].
const DIRECT_MS_MAX: u32 = 40;

/// Mass and damping of RP-1's robot \[kg\], \[N s/m\], and damping of its wall \[N s/m\].
const ROBOT: (f64, f64, f64) = (0.5, 3.0, 2.0);

/// RP-1's robot behind its controller, at a wall or in the air (0 N/m).
fn pulled(slave_npm: f64, wall_npm: f64) -> Pulled {
    let (mass_kg, damping_nspm, wall_nspm) = ROBOT;
    let touching = if wall_npm > 0.0 { wall_nspm } else { 0.0 };
    Pulled {
        stiffness_npm: slave_npm,
        damping_nspm: session::SLAVE_NSPM * slave_npm / session::SLAVE_NPM,
        body: Body {
            mass_kg,
            damping_nspm: damping_nspm + touching,
            stiffness_npm: wall_npm,
        },
    }
}

/// RP-1's handle with a hand on it.
fn hand(grip: Grip) -> Body {
    let hand = grip.hand();
    Body {
        mass_kg: mass::MASS_KG + hand.mass_kg,
        damping_nspm: mass::DAMPING_NSPM + hand.damping_nspm,
        stiffness_npm: hand.stiffness_npm,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_agrees_in_three_ways() {
        let stop = AtomicBool::new(false);
        let points = find(plan(Extent::Sketch), 2, &stop, &|_| ()).expect("valid");
        for (chart, bar) in BARS {
            let of = points.iter().filter(|point| point.chart == chart);
            let spreads: Vec<(f64, &Point)> = of
                .filter_map(|point| Some((point.spread()?, point)))
                .collect();
            let asked = points.iter().filter(|point| point.chart == chart).count();
            // without a method a firm hand bears any delay on a soft slave
            let unsaid = usize::from(chart == Chart::Direct);
            assert_eq!(spreads.len() + unsaid, asked, "{chart:?}");
            for (spread, point) in spreads {
                println!("{spread:.4} {point:?}");
                assert!(spread < bar + point.resolution(), "{spread}: {point:?}");
            }
        }
    }

    #[test]
    fn the_whole_plan_has_enough_lines() {
        let points = plan(Extent::Whole);
        assert!(
            points
                .iter()
                .filter(|point| point.chart == Chart::Line)
                .count()
                >= 50
        );
        let stop = AtomicBool::new(true);
        let cut = find(points.clone(), 2, &stop, &|_| ()).expect("nothing was run");
        assert_eq!(cut, points);
    }
}
