//! Tuning: wave impedance, codec and mode for a measured link, with reasons.
//!
//! Source: displayed stiffness and limits of sampled ends from an atlas ([`crate::atlas`]; closed forms teleop
//! E3 and E12), budgets of teleop section 4; the order of the decisions is ours. [`points_to_find`] lists the points
//! for a link, [`Atlas`] holds found points, of now or of before, [`propose`] decides. The decision is pure: numbers
//! in, a [`Proposal`] out; [`measure`] provides the numbers. Delays are round trips.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | T | round trip with the tick in which the frame is answered | s |
//! | Z = 2 b / T | stiffness of the wave channel | N/m |
//! | b T / 2 | inertia of the wave channel in free motion | kg |

pub mod measure;

use palpate_analysis::Failure;
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::Mode;
use serde::{Deserialize, Serialize};

use crate::atlas::{AtlasChart, AtlasPoint, plan as points};

/// Rendered-stiffness error below which no difference is noticeable (teleop section 4).
const STIFFNESS_ERROR: f64 = 0.08;

/// Weber fraction of stiffness, limb (Jones and Hunter 1990 in teleop section 4).
const WEBER: f64 = 0.23;

/// Stiffness ratio of the lump in the table of wave impedances.
const LUMP_RATIO: f64 = 1.5;

/// Inertia that the wave channel may add to the hand \[kg\]: twice that of handle and hand together on the lightest
/// grip of RP-1 (ours).
const INERTIA_KG: f64 = 0.3;

/// Damping of handle and firm hand of RP-1 \[N s/m\], which stabilises a delayed loop.
const DEVICE_NSPM: f64 = 4.5;

/// Largest jitter of kinesthetic streams (Gokhale and Fesl 2018 in teleop section 3).
const JITTER_MS: f64 = 10.0;

/// Largest loss, see `JITTER_MS`.
const LOSS: f64 = 0.10;

/// Loss, as a fraction, above which the codec is proposed: a link that loses frames at 1 kHz may lose none at a tenth.
const CROWDED_LOSS: f64 = 0.01;

/// Candidate wave impedances \[N s/m\].
const IMPEDANCES: [f64; 13] = [
    1.0, 1.5, 2.2, 3.3, 4.7, 6.8, 10.0, 15.0, 22.0, 33.0, 47.0, 68.0, 100.0,
];

/// Link as measured or assumed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkEstimate {
    /// Median round trip \[ms\].
    pub rtt_ms_p50: f64,
    /// 99th percentile of the round trip \[ms\].
    pub rtt_ms_p99: f64,
    /// One-way delay to the robot, median \[ms\], if the clocks determine it, within [`Self::offset_bound_ms`]; with
    /// the other direction it sums to the round trip.
    pub oneway_ms_fwd: Option<f64>,
    /// One-way delay to the hand, median \[ms\], likewise.
    pub oneway_ms_back: Option<f64>,
    /// Standard deviation of the one-way delay \[ms\], if it is known.
    pub jitter_ms: Option<f64>,
    /// Fraction of frames lost, if it is known.
    pub loss: Option<f64>,
    /// Error bound of the clocks' offset, and so of either one-way delay \[ms\]; none if the delays
    /// were given or are unknown. Between hosts whose clocks only frames compare it is half a round trip.
    pub offset_bound_ms: Option<f64>,
}

/// Task: the tissue to be palpated through the link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TuneTask {
    /// Stiffness of the tissue \[N/m\].
    pub tissue_npm: f64,
    /// Stiffness of the robot's coupling \[N/m\].
    pub coupling_npm: f64,
    /// True if there is a twin of the tissue.
    pub twin: bool,
}

/// Effect of one wave impedance on the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImpedanceRow {
    /// Wave impedance b \[N s/m\].
    pub impedance_nspm: f64,
    /// Stiffness displayed in a slow press \[N/m\].
    pub displayed_npm: f64,
    /// Displayed stiffness relative to that of tissue and robot's coupling alone, minus one.
    pub stiffness_error: f64,
    /// Displayed contrast of a lump that is half again as stiff; 0.5 is all of it.
    pub contrast: f64,
    /// Inertia added in free motion \[kg\].
    pub inertia_kg: f64,
    /// Line of the atlas's table from which this follows.
    pub atlas_line: usize,
    /// Method of the estimate in that line: `run`, `roots`, `two-port` or `formula`.
    #[serde(alias = "way")]
    pub method: String,
}

/// Points of an atlas, and the name of their table.
#[derive(Debug, Clone, PartialEq)]
pub struct Atlas {
    /// Name of the table, for reasons.
    pub name: String,
    /// The points, as the lines of the table after its first.
    pub points: Vec<AtlasPoint>,
}

/// Points to find for a link: the displayed stiffness for each wave impedance, the limit of the ends with this
/// coupling, and the longest delay of direct coupling.
#[must_use]
pub fn points_to_find(link: &LinkEstimate, task: &TuneTask) -> Vec<AtlasPoint> {
    let oneway_ms = (0.5 * trip_ms(link)).round().max(1.0);
    let coupling_npm = task.coupling_npm;
    let displayed = |b| points::displayed(Mode::Wave, oneway_ms, b, task.tissue_npm, coupling_npm);
    let mut all: Vec<AtlasPoint> = IMPEDANCES.map(displayed).into();
    for grip in ["light", "firm"] {
        all.push(points::end(oneway_ms, task.tissue_npm, coupling_npm, grip));
        all.push(AtlasPoint {
            oneway_ms: None,
            mode: Mode::Direct.name(),
            chart: AtlasChart::Direct,
            ..points::end(oneway_ms, task.tissue_npm, coupling_npm, grip)
        });
    }
    all
}

/// Round trip of the waves on a link \[ms\]: a frame waits for half a tick on either side.
fn trip_ms(link: &LinkEstimate) -> f64 {
    link.rtt_ms_p50 + 1e3 * PERIOD.s()
}

/// Most reliable estimate of a point, and its method.
fn best_estimate(point: &AtlasPoint) -> Option<(f64, &'static str)> {
    let methods = [
        (point.time, "run"),
        (point.root, "roots"),
        (point.frequency, "two-port"),
        (point.closed, "formula"),
    ];
    let mut known = methods
        .into_iter()
        .filter_map(|(value, method)| Some((value?, method)));
    known.find(|(value, _)| *value > 0.0)
}

/// Distance of two quantities: the magnitude of the logarithm of their ratio.
fn log_distance(a: f64, b: f64) -> f64 {
    libm::log(a.max(1e-3) / b.max(1e-3)).abs()
}

impl Atlas {
    /// Points of a chart, with their lines in the table.
    fn of(&self, chart: AtlasChart) -> impl Iterator<Item = (usize, &AtlasPoint)> {
        let all = self.points.iter().enumerate();
        all.filter(move |(_, point)| point.chart == chart)
            .map(|(index, point)| (index + 2, point))
    }

    /// Effects of each wave impedance of the atlas on a link, from the line of nearest delay and stiffness. That line
    /// yields the compliance of the waves, which grows with the delay (E3) and is in series with any tissue.
    #[must_use]
    pub(crate) fn rows(&self, link: &LinkEstimate, task: &TuneTask) -> Vec<ImpedanceRow> {
        let mut rows: Vec<(f64, ImpedanceRow)> = Vec::new();
        for (line, point) in self.of(AtlasChart::Displayed) {
            let known = point.b_nspm.zip(point.wall_npm).zip(point.slave_npm);
            let Some((((b, wall_npm), slave_npm), oneway_ms)) = known.zip(point.oneway_ms) else {
                continue;
            };
            let Some((shown_npm, method)) = best_estimate(point) else {
                continue;
            };
            let distance = log_distance(2.0 * oneway_ms, trip_ms(link))
                + log_distance(wall_npm, task.tissue_npm)
                + log_distance(slave_npm, task.coupling_npm);
            let softness = 1.0 / shown_npm - 1.0 / wall_npm - 1.0 / slave_npm;
            // a compliance is not negative, except by errors of the estimate
            let softness = softness.max(0.0) * trip_ms(link) / (2.0 * oneway_ms);
            let row = ImpedanceRow {
                atlas_line: line,
                method: method.to_owned(),
                ..row(b, softness, link, task)
            };
            match rows.iter_mut().find(|(_, known)| known.impedance_nspm == b) {
                Some(known) if known.0 <= distance => {}
                Some(known) => *known = (distance, row),
                None => rows.push((distance, row)),
            }
        }
        let mut rows: Vec<ImpedanceRow> = rows.into_iter().map(|(_, row)| row).collect();
        rows.sort_by(|a, b| a.impedance_nspm.total_cmp(&b.impedance_nspm));
        rows
    }

    /// Least limit among the points of a chart with the smallest `distance`, with its line in the table.
    fn least(
        &self,
        chart: AtlasChart,
        limit_of: impl Fn(&AtlasPoint) -> Option<f64>,
        distance: impl Fn(&AtlasPoint) -> f64,
    ) -> Option<(f64, usize)> {
        let known = || {
            self.of(chart)
                .filter_map(|(line, point)| Some((distance(point), limit_of(point)?, line)))
        };
        let nearest = known().map(|(distance, ..)| distance).reduce(f64::min)?;
        let near = known().filter(|(distance, ..)| *distance <= nearest);
        near.map(|(_, limit, line)| (limit, line))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Least limit of the ends of the nearest coupling, over grips \[N s/m\], with its line; none if no line
    /// has a limit.
    fn ends(&self, task: &TuneTask) -> Option<(f64, usize)> {
        let distance =
            |point: &AtlasPoint| log_distance(point.slave_npm.unwrap_or(0.0), task.coupling_npm);
        // a nearer coupling without a limit takes precedence over the limits of others
        let limit_of =
            |point: &AtlasPoint| Some(best_estimate(point).map_or(f64::INFINITY, |found| found.0));
        let least = self.least(AtlasChart::Impedance, limit_of, distance);
        least.filter(|(limit, _)| limit.is_finite())
    }

    /// Shortest delay limit over hands without a method at the nearest coupling and tissue \[ms one way\], with its
    /// line.
    fn direct(&self, task: &TuneTask) -> Option<(f64, usize)> {
        let distance = |point: &AtlasPoint| {
            log_distance(point.slave_npm.unwrap_or(0.0), task.coupling_npm)
                + log_distance(point.wall_npm.unwrap_or(0.0), task.tissue_npm)
        };
        // a hand that is unstable at any delay has no number in the table
        let limit_of = |point: &AtlasPoint| {
            let plain = point.jitter_ms == 0.0 && point.absolute.is_some();
            plain.then(|| best_estimate(point).map_or(0.0, |found| found.0))
        };
        self.least(AtlasChart::Direct, limit_of, distance)
    }
}

/// Proposed settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The link.
    pub link: LinkEstimate,
    /// The task.
    pub task: TuneTask,
    /// Coupling mode.
    pub mode: Mode,
    /// Wave impedance \[N s/m\].
    pub impedance_nspm: f64,
    /// Codec: `off`, or `deadband`.
    pub codec: String,
    /// Reasons, one sentence each.
    pub reasons: Vec<String>,
    /// Name of the atlas.
    pub atlas: String,
    /// Effects of each wave impedance.
    pub impedances: Vec<ImpedanceRow>,
    /// Stiffness limit of a delayed loop without an energy tank \[N/m\] (E12).
    pub direct_limit_npm: f64,
    /// Stiffness limit of a local twin on the same device \[N/m\] (E12 without delay).
    pub local_limit_npm: f64,
    /// Arguments of `--set` that apply the proposal.
    pub set: Vec<String>,
}

/// Effect of a wave channel of impedance `b` and compliance `softness` \[m/N\]; the caller sets the atlas line.
fn row(b: f64, softness: f64, link: &LinkEstimate, task: &TuneTask) -> ImpedanceRow {
    // springs in series
    let through = |tissue_npm: f64, softness: f64| {
        1.0 / (1.0 / tissue_npm + 1.0 / task.coupling_npm + softness)
    };
    let displayed_npm = through(task.tissue_npm, softness);
    ImpedanceRow {
        impedance_nspm: b,
        displayed_npm,
        stiffness_error: displayed_npm / through(task.tissue_npm, 0.0) - 1.0,
        contrast: through(LUMP_RATIO * task.tissue_npm, softness) / displayed_npm - 1.0,
        inertia_kg: 0.5e-3 * b * trip_ms(link),
        atlas_line: 0,
        method: String::new(),
    }
}

/// Used fraction of the limit of sampled ends: half, for a gain margin of two.
const ENDS_MARGIN: f64 = 0.5;

/// Proposes settings.
///
/// # Errors
/// [`Failure::Usage`] for an atlas without waves.
pub fn propose(link: &LinkEstimate, task: &TuneTask, atlas: &Atlas) -> Result<Proposal, Failure> {
    let rows = atlas.rows(link, task);
    let ends_limit = atlas.ends(task);
    let most = ends_limit.map_or(f64::INFINITY, |(limit, _)| ENDS_MARGIN * limit);
    // the stiffest wave channel with which a hand can still move and the ends are stable
    let fits = |row: &&ImpedanceRow| row.inertia_kg <= INERTIA_KG && row.impedance_nspm <= most;
    let light_enough = rows.iter().rev().find(fits);
    let Some(best) = light_enough.or(rows.first()).cloned() else {
        return Err(Failure::Usage(format!(
            "{}: the chart `displayed` has no wave impedance with a stiffness; expected the atlas.csv of `palpate atlas`",
            atlas.name
        )));
    };
    let mut reasons = vec![impedance_reason(&best, light_enough.is_some(), link)];
    reasons.extend(direction_reason(link));
    reasons.extend(ends_limit.map(|(limit, line)| {
        format!(
            "The sampled ends are stable up to {limit:.0} N s/m with the least stable grip ({} line {line}); at most half of it is used.",
            atlas.name
        )
    }));
    reasons.push(format!(
        "Through waves {:.0} N/m would feel like {:.0} N/m ({:+.0} % of what the robot's coupling leaves), and a \
         lump {LUMP_RATIO} times as stiff like {:.2} times ({} line {}, by {}).",
        task.tissue_npm,
        best.displayed_npm,
        100.0 * best.stiffness_error,
        1.0 + best.contrast,
        atlas.name,
        best.atlas_line,
        best.method
    ));
    let mode = mode(&best, task, &mut reasons);
    let half_s = 0.5 * PERIOD.s();
    let direct_limit_npm = DEVICE_NSPM / (half_s + link.rtt_ms_p50 * 1e-3);
    let local_limit_npm = DEVICE_NSPM / half_s;
    reasons.push(format!(
        "Direct coupling has no energy tank and is never proposed{}; a loop of this delay is stable up to \
         {direct_limit_npm:.0} N/m (E12, {DEVICE_NSPM} N s/m of handle and hand), a local twin up to {local_limit_npm:.0} N/m.",
        atlas.direct(task).map_or(String::new(), |(ms, line)| format!(
            ", and oscillates here from {ms:.1} ms one way on ({} line {line})",
            atlas.name
        ))
    ));
    let codec = codec(link, &mut reasons);
    Ok(Proposal {
        link: *link,
        task: *task,
        mode,
        impedance_nspm: best.impedance_nspm,
        codec: codec.to_owned(),
        reasons,
        atlas: atlas.name.clone(),
        impedances: rows,
        direct_limit_npm,
        local_limit_npm,
        set: vec![
            format!("coupling.mode={}", mode.name()),
            format!("coupling.impedance_nspm={}", best.impedance_nspm),
            format!("codec.kind={codec}"),
        ],
    })
}

fn impedance_reason(best: &ImpedanceRow, fits: bool, link: &LinkEstimate) -> String {
    let reason = match fits {
        true => {
            format!("largest of those considered whose wave channel adds at most {INERTIA_KG} kg")
        }
        false => {
            format!(
                "smallest of those considered; even its wave channel adds more than {INERTIA_KG} kg"
            )
        }
    };
    format!(
        "b = {} N s/m is the {reason} to the hand (E3: b T / 2 = {:.3} kg at {:.1} ms round trip).",
        best.impedance_nspm, best.inertia_kg, link.rtt_ms_p50
    )
}

/// Reason about the two one-way delays, if both are known; the atlas assumes equal ones. None for delays that differ by
/// less than the error of the clocks' offset, which makes one too long and the other too short.
fn direction_reason(link: &LinkEstimate) -> Option<String> {
    let (fwd_ms, back_ms) = link.oneway_ms_fwd.zip(link.oneway_ms_back)?;
    if link
        .offset_bound_ms
        .is_some_and(|bound_ms| (fwd_ms - back_ms).abs() <= 2.0 * bound_ms)
    {
        return None;
    }
    Some(format!(
        "One-way delays: {fwd_ms:.1} ms to the robot, {back_ms:.1} ms back. Waves feel as soft as the sum demands. \
         A twin is {fwd_ms:.1} ms ahead of the robot; its errors are known after the sum."
    ))
}

fn mode(best: &ImpedanceRow, task: &TuneTask, reasons: &mut Vec<String>) -> Mode {
    if best.stiffness_error.abs() <= STIFFNESS_ERROR {
        reasons.push(format!(
            "That is within {:.0} %, so waves are enough, and they need no model.",
            100.0 * STIFFNESS_ERROR
        ));
        Mode::Wave
    } else if task.twin {
        reasons.push(format!(
            "That is more than {:.0} % off, so the hand feels the twin's force at once (mmt); waves still \
             fill the energy tank.",
            100.0 * STIFFNESS_ERROR
        ));
        Mode::Mmt
    } else {
        let still_noticeable = if best.contrast >= WEBER {
            "still"
        } else {
            "no longer"
        };
        reasons.push(format!(
            "That is more than {:.0} % off, but there is no twin, so waves are proposed. Such a lump is \
             {still_noticeable} above the {:.0} % that people notice.",
            100.0 * STIFFNESS_ERROR,
            100.0 * WEBER
        ));
        Mode::Wave
    }
}

fn codec(link: &LinkEstimate, reasons: &mut Vec<String>) -> &'static str {
    let jitter = link.jitter_ms.filter(|&ms| ms > JITTER_MS);
    reasons.extend(jitter.map(|ms| {
        format!(
            "Jitter of {ms:.1} ms is beyond the {JITTER_MS:.0} ms that kinesthetic streams tolerate."
        )
    }));
    match link.loss {
        Some(loss) if loss > CROWDED_LOSS => {
            let beyond = if loss > LOSS { "more" } else { "less" };
            reasons.push(format!(
                "{:.1} % of the frames are lost, {beyond} than the {:.0} % that a kinesthetic stream tolerates. If \
                 the link is crowded, a deadband sends a tenth of them; every frame has sums, so none is missed.",
                100.0 * loss,
                100.0 * LOSS
            ));
            "deadband"
        }
        Some(loss) => {
            reasons.push(format!(
                "{:.1} % of the frames are lost, so a frame is sent in every tick; a codec would only add \
                 error.",
                100.0 * loss
            ));
            "off"
        }
        None => {
            reasons.push("Loss is not known, so there is no reason for a codec.".into());
            "off"
        }
    }
}

#[cfg(test)]
mod tests;
