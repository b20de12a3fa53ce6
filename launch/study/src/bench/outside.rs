//! Reference presses: error of the twin against forces that an outside engine computed, beside its estimate and the
//! cost of a tick.
//!
//! Source: `tests/reference/truth`, with the script that computes the forces. A scene there has the tables of a scene
//! file, so that both solve the same problem.

use std::sync::atomic::AtomicBool;

use palpate_analysis::Failure;
use palpate_scene::{self as scene, BallPress, PressMotion, Scene};
use palpate_session::stat::spans::DurationStats;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::{
    Edit, EditError, EditReport, Reaction, Snapshot, SnapshotError, Tissue, TissueCaps, TissueView,
    Tool,
};
use serde::Serialize;
use toml::{Table, Value};

use super::goal::BenchGoal;
use crate::abort::{Abort, check_stop, refusal};

const CASES: &str = include_str!("../../../../tests/reference/truth/cases.toml");
const TRUTH: &str = include_str!("../../../../tests/reference/truth/truth.csv");
/// Stiffness of the ball of [`PressMotion::press`] \[N/m\].
const RIGID_NPM: f64 = 1e9;
/// Speed of the descent before a hold \[m/s\], as in the script.
const HOLD_SPEED_MPS: f64 = 0.02;
/// Largest error of a force, and of one at less than [`SHALLOW_M`] \[%\] (issue 21).
const ERROR_PERCENT: f64 = 3.0;
const SHALLOW_PERCENT: f64 = 5.0;
/// Depth below which the larger error is allowed \[m\].
const SHALLOW_M: f64 = 0.5e-3;
/// Largest error of a phase \[degrees\].
const PHASE_DEG: f64 = 1.0;
/// Largest error of the force after a hold \[%\].
const HOLD_PERCENT: f64 = 2.0;
/// Error over the force below which an estimate is right in any case \[%\].
const ESTIMATE_PERCENT: f64 = 1.0;

/// Reference press, with its result by an outside engine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReferenceCase {
    /// Scene, with the ball as its tool.
    scene: Scene,
    /// Place, radius and depth.
    press: BallPress,
    /// Motion of the ball.
    motion: PressMotion,
    /// Name of the quantity, with its unit: `force_n`, `phase_deg` or `stiffness_npm`.
    quantity: String,
    /// Its value on the finer mesh of the outside engine.
    truth: f64,
    /// Its value on the coarser mesh.
    coarse: f64,
}

/// Result of one reference press.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReferenceRow {
    /// Name of the scene.
    pub scene: String,
    /// Place \[m\].
    pub at_m: [f64; 2],
    /// Radius of the ball \[m\].
    pub radius_m: f64,
    /// Depth below first contact \[m\].
    pub depth_m: f64,
    /// Motion of the ball.
    pub motion: &'static str,
    /// Name of the quantity, with its unit.
    pub quantity: String,
    /// Value by the outside engine.
    pub truth: f64,
    /// Its value on a coarser mesh of that engine.
    pub truth_coarse: f64,
    /// Value of the twin.
    pub found: f64,
    /// Error over the truth \[%\]; of a phase the difference \[degrees\].
    pub error: f64,
    /// Error that the twin estimates, over the truth \[%\].
    pub estimate_percent: Option<f64>,
    /// CPU time of a tick of this press.
    pub cpu: DurationStats,
    /// True if the error is within its goal.
    pub held: bool,
}

/// Place at which the presses on `layered` are repeated: a quarter of a face from a node along x, an eighth along y \[m\].
const BETWEEN_M: [f64; 2] = [0.9e-3, 0.45e-3];

/// Parses the reference presses.
///
/// # Errors
/// [`Failure::Refused`] names a row or a scene that cannot be used.
fn cases() -> Result<Vec<ReferenceCase>, Failure> {
    let file: Table = CASES.parse().map_err(refusal)?;
    let entries = file.get("scene").and_then(Value::as_array);
    let rows = TRUTH.lines().skip(1).map(|line| {
        let words: Vec<&str> = line.split(',').collect();
        let [
            name,
            x,
            y,
            radius,
            depth,
            motion,
            parameter,
            quantity,
            truth,
            coarse,
            ..,
        ] = words[..]
        else {
            return Err(refusal(format!("truth.csv: `{line}`; expected 12 columns")));
        };
        let number = |word: &str| {
            let value = word.parse::<f64>();
            value.map_err(|_| {
                refusal(format!(
                    "truth.csv: `{word}` in `{line}`; expected a number"
                ))
            })
        };
        let entry = entries.and_then(|all| all.iter().find(|entry| named(entry, name)));
        let entry = entry.and_then(Value::as_table);
        let entry =
            entry.ok_or_else(|| refusal(format!("truth.csv: no scene `{name}` in cases.toml")))?;
        let press = BallPress {
            at_m: [1e-3 * number(x)?, 1e-3 * number(y)?],
            radius_m: 1e-3 * number(radius)?,
            depth_m: 1e-3 * number(depth)?,
        };
        let scene = scene_of(entry, file.get("grid"), name)?.with_tool(press.radius_m, RIGID_NPM);
        let parameter = number(parameter)?;
        let motion = match motion {
            "sine" => PressMotion::Sine {
                frequency_hz: parameter,
            },
            "hold" => PressMotion::Hold {
                speed_mps: HOLD_SPEED_MPS,
                hold_s: parameter,
            },
            _ => PressMotion::Slow,
        };
        Ok(ReferenceCase {
            scene,
            press,
            motion,
            quantity: quantity.to_owned(),
            truth: number(truth)?,
            coarse: number(coarse)?,
        })
    });
    let all = rows.collect::<Result<Vec<ReferenceCase>, Failure>>()?;
    // layers are alike everywhere: the force must not depend on the place over the mesh
    let layered = all.iter().filter(|case| case.scene.name == "layered");
    let mut between: Vec<_> = layered.cloned().collect();
    for case in &mut between {
        case.press.at_m = BETWEEN_M;
    }
    Ok([all, between].concat())
}

fn named(entry: &Value, name: &str) -> bool {
    entry.get("name").and_then(Value::as_str) == Some(name)
}

/// Scene of an entry: a built-in one, or its tables with the missing keys of the grid.
fn scene_of(entry: &Table, grid: Option<&Value>, name: &str) -> Result<Scene, Failure> {
    if !entry.contains_key("layer") {
        return scene::load(name).map_err(refusal);
    }
    let mut block = grid.and_then(Value::as_table).cloned().unwrap_or_default();
    if let Some(own) = entry.get("block").and_then(Value::as_table) {
        block.extend(own.clone());
    }
    let mut text = entry.clone();
    text.remove("press");
    text.insert("block".to_owned(), Value::Table(block));
    let tool = [("radius_m", 0.008), ("stiffness_npm", 1e6)];
    let tool = tool.map(|(key, value)| (key.to_owned(), Value::Float(value)));
    text.insert("tool".to_owned(), Value::Table(tool.into_iter().collect()));
    let error = |error: scene::SceneError| refusal(format!("cases.toml, `{name}`: {error}"));
    scene::load(&text.to_string()).map_err(error)
}

/// Presses all reference cases.
///
/// # Errors
/// If a case is refused, or `stop` is set.
pub(crate) fn reference(stop: &AtomicBool) -> Result<Vec<ReferenceRow>, Abort> {
    measured(&cases()?, stop)
}

fn measured(cases: &[ReferenceCase], stop: &AtomicBool) -> Result<Vec<ReferenceRow>, Abort> {
    let row = |case: &ReferenceCase| {
        check_stop(stop)?;
        case.measure().map_err(Some)
    };
    calibrate(cases);
    cases.iter().map(row).collect()
}

/// Computes the depth maps of the scenes on two threads: it is most of the work, and not timed.
fn calibrate(cases: &[ReferenceCase]) {
    let half = cases.len().div_ceil(2).max(1);
    std::thread::scope(|scope| {
        for half in cases.chunks(half) {
            // a scene without a map says so when it is built
            scope.spawn(|| half.iter().for_each(|case| drop(case.scene.depth_map())));
        }
    });
}

impl ReferenceCase {
    fn measure(&self) -> Result<ReferenceRow, Failure> {
        let mut tissue = TimedTissue {
            tissue: self.scene.build().map_err(refusal)?,
            cpu: Vec::new(),
        };
        let run = self.motion.press(&mut tissue, &self.press);
        let found = match self.quantity.as_str() {
            "phase_deg" => run.phase_deg,
            "stiffness_npm" => run.stiffness_npm,
            _ => Some(run.force_n),
        };
        let found = found.unwrap_or(f64::NAN);
        let is_phase = self.quantity == "phase_deg";
        let error = match is_phase {
            true => found - self.truth,
            false => 100.0 * (found / self.truth - 1.0),
        };
        let allowed = match self.motion {
            PressMotion::Hold { .. } => HOLD_PERCENT,
            _ if is_phase => PHASE_DEG,
            _ if self.press.depth_m < SHALLOW_M => SHALLOW_PERCENT,
            _ => ERROR_PERCENT,
        };
        let estimate = run.error_n.filter(|_| self.quantity == "force_n");
        Ok(ReferenceRow {
            scene: self.scene.name.clone(),
            at_m: self.press.at_m,
            radius_m: self.press.radius_m,
            depth_m: self.press.depth_m,
            motion: self.motion.name(),
            quantity: self.quantity.clone(),
            truth: self.truth,
            truth_coarse: self.coarse,
            found,
            error,
            estimate_percent: estimate.map(|error_n| 100.0 * error_n / self.truth),
            cpu: DurationStats::of(&tissue.cpu).unwrap_or_default(),
            held: error.abs() <= allowed,
        })
    }
}

impl ReferenceRow {
    /// True if the estimate is within a factor of two of the error, or within a percent of the force.
    fn estimate_is_right(&self) -> Option<bool> {
        let (estimate, error) = (self.estimate_percent?, self.error.abs());
        let near = (estimate - error).abs() <= ESTIMATE_PERCENT;
        Some(near || (0.5 * error..=2.0 * error).contains(&estimate))
    }

    fn line(&self) -> String {
        let place = format!("{:.1},{:.1}", 1e3 * self.at_m[0], 1e3 * self.at_m[1]);
        let estimate = self
            .estimate_percent
            .map_or("-".to_owned(), |e| format!("{e:.1}"));
        format!(
            "{:<22}{place:>8}{:>6.0}{:>7.1}{:>7} {:<14}{:>11.5}{:>11.5}{:>+9.1}{estimate:>10}{:>8.0}{:>8.0}{}\n",
            self.scene,
            1e3 * self.radius_m,
            1e3 * self.depth_m,
            self.motion,
            self.quantity,
            self.truth,
            self.found,
            self.error,
            self.cpu.us_p50,
            self.cpu.us_p99,
            if self.held { "" } else { "  MISS" },
        )
    }
}

/// Formats the presses as a table; errors in percent, of a phase in degrees.
pub(super) fn table(rows: &[ReferenceRow]) -> String {
    let head = "reference presses        at mm  r mm   d mm motion quantity \
        \x20        outside       twin    error estimated cpu p50     p99\n";
    head.to_owned() + &rows.iter().map(ReferenceRow::line).collect::<String>()
}

/// Goals of the presses together.
pub(super) fn goals(rows: &[ReferenceRow]) -> Vec<BenchGoal> {
    let missed = rows.iter().filter(|row| !row.held).count();
    let wrong = rows
        .iter()
        .filter(|row| row.estimate_is_right() == Some(false))
        .count();
    let name = format!("presses of {} with a larger error than allowed", rows.len());
    vec![
        BenchGoal::at_most(&name, missed as f64, 0.0, ""),
        BenchGoal::at_most(
            "presses with a wrong estimate of their error",
            wrong as f64,
            0.0,
            "",
        ),
    ]
}

/// Tissue whose steps are timed.
struct TimedTissue {
    tissue: Box<dyn Tissue>,
    cpu: Vec<Span>,
}

impl Tissue for TimedTissue {
    fn caps(&self) -> TissueCaps {
        self.tissue.caps()
    }

    fn step(&mut self, tools: &[Tool], dt_s: f64, reactions: &mut [Reaction]) {
        let begun = thread_cpu_now();
        self.tissue.step(tools, dt_s, reactions);
        self.cpu.push(thread_cpu_now() - begun);
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.tissue.edit(edit)
    }

    fn view(&self) -> TissueView<'_> {
        self.tissue.view()
    }

    fn save(&self, snapshot: &mut Snapshot) {
        self.tissue.save(snapshot);
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.tissue.restore(snapshot)
    }
}

#[cfg(test)]
mod tests;
