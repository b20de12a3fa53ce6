//! What to set on a link that was measured: wave impedance, codec and mode, with reasons.
//!
//! Source: what an atlas has found of stiffness shown and of what sampled ends bear ([`crate::atlas`]; closed forms teleop
//! E3 and E12), budgets of teleop section 4; the order of the decisions is ours. [`plan`] says which points to
//! find for a link, [`Atlas`] reads what was found, here or long ago, [`propose`] decides. Pure: numbers in, a
//! [`Proposal`] out; [`measure`] has the numbers. Delays are round trips.
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | T | round trip with the tick in which it is answered | s |
//! | Z = 2 b / T | stiffness of the line | N/m |
//! | b T / 2 | inertia of the line in free motion | kg |

pub mod measure;

use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::Mode;
use serde::{Deserialize, Serialize};

use crate::atlas::{Chart, Point, plan as points};

/// Rendered-stiffness error that nobody should notice (teleop section 4).
pub(crate) const STIFFNESS_ERROR: f64 = 0.08;

/// Weber fraction of stiffness, limb (Jones and Hunter 1990 in teleop section 4).
pub(crate) const WEBER: f64 = 0.23;

/// A lump half again as stiff as what is around it, which the table of wave impedances asks about.
pub const LUMP: f64 = 1.5;

/// Inertia that the line may add to the hand \[kg\]: twice that of handle and hand together on the lightest
/// grip of RP-1 (ours).
pub(crate) const INERTIA_KG: f64 = 0.3;

/// Damping of handle and firm hand of RP-1 \[N s/m\], which a delayed loop lives on.
pub(crate) const DEVICE_NSPM: f64 = 4.5;

/// Jitter and loss that kinesthetic streams bear (Gokhale and Fesl 2018 in teleop section 3).
pub(crate) const JITTER_MS: f64 = 10.0;

/// See `JITTER_MS`.
pub const LOSS: f64 = 0.10;

/// Loss from which sending less is tried \[share\]: what a link loses at this rate it may not at a tenth.
const CROWDED: f64 = 0.01;

/// Wave impedances that are considered \[N s/m\].
const IMPEDANCES: [f64; 13] = [
    1.0, 1.5, 2.2, 3.3, 4.7, 6.8, 10.0, 15.0, 22.0, 33.0, 47.0, 68.0, 100.0,
];

/// A link as it was measured, or is thought to be.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Link {
    /// Median round trip \[ms\].
    pub rtt_ms_p50: f64,
    /// 99th percentile of it \[ms\].
    pub rtt_ms_p99: f64,
    /// One-way delay to the robot, median \[ms\], if the clocks tell, within [`Self::offset_bound_ms`]; with the way
    /// back it is the round trip.
    pub oneway_ms_fwd: Option<f64>,
    /// One-way delay to the hand, median \[ms\], alike.
    pub oneway_ms_back: Option<f64>,
    /// Standard deviation of the one-way delay \[ms\], if it is known.
    pub jitter_ms: Option<f64>,
    /// Share of frames lost, if it is known.
    pub loss: Option<f64>,
    /// How far the estimate of the clocks' offset, and so of either way, may be off \[ms\]; nothing if the ways
    /// were said or are not known. Between hosts whose clocks only frames compare it is half a round trip.
    pub offset_bound_ms: Option<f64>,
}

/// What is to be felt through it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Stiffness of the tissue \[N/m\].
    pub tissue_npm: f64,
    /// Stiffness of the robot's coupling \[N/m\].
    pub coupling_npm: f64,
    /// Whether there is a twin of the tissue.
    pub twin: bool,
}

/// What a wave line of one impedance does on the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Wave impedance b \[N s/m\].
    pub impedance_nspm: f64,
    /// Stiffness that a slow press shows \[N/m\].
    pub displayed_npm: f64,
    /// That against the tissue on the robot's coupling without a line, less one.
    pub stiffness_error: f64,
    /// Contrast that a lump half again as stiff shows; 0.5 is all of it.
    pub contrast: f64,
    /// Inertia added in free motion \[kg\].
    pub inertia_kg: f64,
    /// Line of the atlas's table that this follows from.
    pub atlas_line: usize,
    /// How that line was found: `run`, `two-port` or `formula`.
    pub way: String,
}

/// Points of an atlas, and what their table is called.
#[derive(Debug, Clone, PartialEq)]
pub struct Atlas {
    /// Name of the table, for reasons.
    pub name: String,
    /// The points, as the lines of the table after its first.
    pub points: Vec<Point>,
}

/// Points to find for a link: what each wave impedance shows of the tissue, what ends of this coupling bear, and
/// how late direct coupling may be.
#[must_use]
pub fn plan(link: &Link, task: &Task) -> Vec<Point> {
    let oneway_ms = (0.5 * trip_ms(link)).round().max(1.0);
    let coupling_npm = task.coupling_npm;
    let line = |b| points::line(Mode::Wave, oneway_ms, b, task.tissue_npm, coupling_npm);
    let mut all: Vec<Point> = IMPEDANCES.map(line).into();
    for grip in ["light", "firm"] {
        all.push(points::end(oneway_ms, task.tissue_npm, coupling_npm, grip));
        all.push(Point {
            oneway_ms: None,
            mode: Mode::Direct.name(),
            chart: Chart::Direct,
            ..points::end(oneway_ms, task.tissue_npm, coupling_npm, grip)
        });
    }
    all
}

/// Round trip of the waves on a link \[ms\]: a frame waits for half a tick on either side.
fn trip_ms(link: &Link) -> f64 {
    link.rtt_ms_p50 + 1e3 * PERIOD.s()
}

/// What a point was found to be, by the way that is nearest to the truth, and how.
fn found(point: &Point) -> Option<(f64, &'static str)> {
    let ways = [
        (point.time, "run"),
        (point.root, "roots"),
        (point.frequency, "two-port"),
        (point.closed, "formula"),
    ];
    let mut known = ways
        .into_iter()
        .filter_map(|(value, way)| Some((value?, way)));
    known.find(|(value, _)| *value > 0.0)
}

/// How far apart two quantities are, as the size of the logarithm of their ratio.
fn apart(a: f64, b: f64) -> f64 {
    libm::log(a.max(1e-3) / b.max(1e-3)).abs()
}

impl Atlas {
    /// Line of the table on which a point stands.
    fn line(index: usize) -> usize {
        index + 2
    }

    /// Points of a chart, with the lines on which they stand.
    fn of(&self, chart: Chart) -> impl Iterator<Item = (usize, &Point)> {
        let all = self.points.iter().enumerate();
        all.filter(move |(_, point)| point.chart == chart)
            .map(|(index, point)| (Self::line(index), point))
    }

    /// What each wave impedance of the atlas does on a link, from the line that is nearest in delay and stiffness. From it
    /// comes how soft the line of waves is, which grows with the delay (E3) and is in series with any tissue.
    #[must_use]
    pub fn rows(&self, link: &Link, task: &Task) -> Vec<Row> {
        let mut rows: Vec<(f64, Row)> = Vec::new();
        for (line, point) in self.of(Chart::Line) {
            let known = point.b_nspm.zip(point.wall_npm).zip(point.slave_npm);
            let Some((((b, wall_npm), slave_npm), oneway_ms)) = known.zip(point.oneway_ms) else {
                continue;
            };
            let Some((shown_npm, way)) = found(point) else {
                continue;
            };
            let away = apart(2.0 * oneway_ms, trip_ms(link))
                + apart(wall_npm, task.tissue_npm)
                + apart(slave_npm, task.coupling_npm);
            let softness = 1.0 / shown_npm - 1.0 / wall_npm - 1.0 / slave_npm;
            // nothing of a delay is negative but what was found of it
            let softness = softness.max(0.0) * trip_ms(link) / (2.0 * oneway_ms);
            let row = Row {
                atlas_line: line,
                way: way.to_owned(),
                ..row(b, softness, link, task)
            };
            match rows.iter_mut().find(|(_, known)| known.impedance_nspm == b) {
                Some(known) if known.0 <= away => {}
                Some(known) => *known = (away, row),
                None => rows.push((away, row)),
            }
        }
        let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        rows.sort_by(|a, b| a.impedance_nspm.total_cmp(&b.impedance_nspm));
        rows
    }

    /// Least of what the ends of the nearest coupling bear, over grips \[N s/m\], with its line; nothing if no line
    /// tells a limit.
    fn ends(&self, task: &Task) -> Option<(f64, usize)> {
        let least = |of: &dyn Fn(&Point) -> bool| {
            let known = self.of(Chart::Ends).filter(|(_, point)| of(point));
            let limits = known.filter_map(|(line, point)| Some((found(point)?.0, line)));
            limits.min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let away = |point: &Point| apart(point.slave_npm.unwrap_or(0.0), task.coupling_npm);
        let nearest = self
            .of(Chart::Ends)
            .map(|(_, point)| away(point))
            .reduce(f64::min)?;
        least(&|point| away(point) <= nearest).filter(|(limit, _)| limit.is_finite())
    }

    /// Shortest of what hands bear without a method at the nearest coupling and tissue \[ms one way\], with its line.
    fn direct(&self, task: &Task) -> Option<(f64, usize)> {
        let plain = || {
            self.of(Chart::Direct)
                .filter(|(_, point)| point.jitter_ms == 0.0 && point.absolute.is_some())
        };
        let away = |point: &Point| {
            apart(point.slave_npm.unwrap_or(0.0), task.coupling_npm)
                + apart(point.wall_npm.unwrap_or(0.0), task.tissue_npm)
        };
        let nearest = plain().map(|(_, point)| away(point)).reduce(f64::min)?;
        let near = plain().filter(|(_, point)| away(point) <= nearest);
        // a hand that bears none stands in the table without a number
        near.map(|(line, point)| (found(point).map_or(0.0, |limit| limit.0), line))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// What is proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The link.
    pub link: Link,
    /// The task.
    pub task: Task,
    /// Coupling mode.
    pub mode: Mode,
    /// Wave impedance \[N s/m\].
    pub impedance_nspm: f64,
    /// Codec: `off`, or `deadband`.
    pub codec: String,
    /// Why, one sentence each.
    pub reasons: Vec<String>,
    /// Name of the atlas that was read.
    pub atlas: String,
    /// What each wave impedance would do.
    pub impedances: Vec<Row>,
    /// Stiffness that a delayed loop without an account would bear \[N/m\] (E12).
    pub direct_limit_npm: f64,
    /// Stiffness that a local twin may render on the same device \[N/m\] (E12 without delay).
    pub local_limit_npm: f64,
    /// What `--set` takes to have it.
    pub set: Vec<String>,
}

/// Springs in series \[N/m\].
fn series(springs_npm: &[f64]) -> f64 {
    1.0 / springs_npm.iter().map(|npm| 1.0 / npm).sum::<f64>()
}

/// What a wave line of impedance `b` and compliance `softness` \[m/N\] does; where it was read is for the caller to say.
fn row(b: f64, softness: f64, link: &Link, task: &Task) -> Row {
    let stiff = series(&[task.tissue_npm, task.coupling_npm]);
    let through = |tissue_npm: f64| 1.0 / (1.0 / tissue_npm + 1.0 / task.coupling_npm + softness);
    let displayed_npm = through(task.tissue_npm);
    Row {
        impedance_nspm: b,
        displayed_npm,
        stiffness_error: displayed_npm / stiff - 1.0,
        contrast: through(LUMP * task.tissue_npm) / displayed_npm - 1.0,
        inertia_kg: 0.5e-3 * b * trip_ms(link),
        atlas_line: 0,
        way: String::new(),
    }
}

/// An atlas that says nothing of waves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name}: no line of chart line with a wave impedance and a stiffness; expected the atlas.csv of `palpate atlas`"
)]
pub struct NoLines {
    /// Name of the table.
    pub name: String,
}

/// Share of what sampled ends bear that is used: half, as a gain margin of two has it.
const BORNE: f64 = 0.5;

/// Proposes what to set.
///
/// # Errors
/// [`NoLines`] for an atlas that says nothing of waves.
pub fn propose(link: &Link, task: &Task, atlas: &Atlas) -> Result<Proposal, NoLines> {
    let rows = atlas.rows(link, task);
    let borne = atlas.ends(task);
    let most = borne.map_or(f64::INFINITY, |(limit, _)| BORNE * limit);
    // the stiffest line that a hand can still move with and that ends bear
    let fits = |row: &&Row| row.inertia_kg <= INERTIA_KG && row.impedance_nspm <= most;
    let light = rows.iter().rev().find(fits);
    let Some(best) = light.or(rows.first()).cloned() else {
        let name = atlas.name.clone();
        return Err(NoLines { name });
    };
    let mut reasons = vec![impedance_reason(&best, light.is_some(), link)];
    reasons.extend(ways_reason(link));
    reasons.extend(borne.map(|(limit, line)| {
        format!(
            "Sampled ends bear up to {limit:.0} N s/m in the hand that bears least ({} line {line}); half of it is used at most.",
            atlas.name
        )
    }));
    reasons.push(format!(
        "Through waves {:.0} N/m would feel like {:.0} N/m ({:+.0} % of what the robot's coupling leaves), and a \
         lump {LUMP} times as stiff like {:.2} times ({} line {}, by {}).",
        task.tissue_npm,
        best.displayed_npm,
        100.0 * best.stiffness_error,
        1.0 + best.contrast,
        atlas.name,
        best.atlas_line,
        best.way
    ));
    let mode = mode(&best, task, &mut reasons);
    let half_s = 0.5 * PERIOD.s();
    let direct_limit_npm = DEVICE_NSPM / (half_s + link.rtt_ms_p50 * 1e-3);
    let local_limit_npm = DEVICE_NSPM / half_s;
    reasons.push(format!(
        "Direct coupling keeps no account of energy and is never proposed{}; a loop of this delay would bear \
         {direct_limit_npm:.0} N/m (E12, {DEVICE_NSPM} N s/m of handle and hand), a local twin {local_limit_npm:.0} N/m.",
        atlas.direct(task).map_or(String::new(), |(ms, line)| format!(
            ", and swings here from {ms:.1} ms one way on ({} line {line})",
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

fn impedance_reason(best: &Row, fits: bool, link: &Link) -> String {
    let why = match fits {
        true => format!("largest of those considered whose line adds at most {INERTIA_KG} kg"),
        false => {
            format!("smallest of those considered; even its line adds more than {INERTIA_KG} kg")
        }
    };
    format!(
        "b = {} N s/m is the {why} to the hand (E3: b T / 2 = {:.3} kg at {:.1} ms round trip).",
        best.impedance_nspm, best.inertia_kg, link.rtt_ms_p50
    )
}

/// What each way of the link means, if both are known: lines of the atlas are as long one way as the other. Nothing
/// of ways that differ by less than the clocks can tell: what one is too long, the other is too short.
fn ways_reason(link: &Link) -> Option<String> {
    let (fwd_ms, back_ms) = link.oneway_ms_fwd.zip(link.oneway_ms_back)?;
    if link
        .offset_bound_ms
        .is_some_and(|bound_ms| (fwd_ms - back_ms).abs() <= 2.0 * bound_ms)
    {
        return None;
    }
    Some(format!(
        "The way there takes {fwd_ms:.1} ms and the way back {back_ms:.1} ms: a line of waves is as soft as their sum, \
         a twin is {fwd_ms:.1} ms ahead of the robot, and what it got wrong is known after both."
    ))
}

fn mode(best: &Row, task: &Task, reasons: &mut Vec<String>) -> Mode {
    if best.stiffness_error.abs() <= STIFFNESS_ERROR {
        reasons.push(format!(
            "That is within {:.0} %, so waves are enough, and they need no model.",
            100.0 * STIFFNESS_ERROR
        ));
        Mode::Wave
    } else if task.twin {
        reasons.push(format!(
            "That is more than {:.0} % off, so the hand is given the twin's force at once (mmt); waves remain \
             what the account is paid by.",
            100.0 * STIFFNESS_ERROR
        ));
        Mode::Mmt
    } else {
        let told = if best.contrast >= WEBER {
            "still"
        } else {
            "no longer"
        };
        reasons.push(format!(
            "That is more than {:.0} % off, but there is no twin: waves, in which such a lump is {told} above \
             the {:.0} % that people tell.",
            100.0 * STIFFNESS_ERROR,
            100.0 * WEBER
        ));
        Mode::Wave
    }
}

fn codec(link: &Link, reasons: &mut Vec<String>) -> &'static str {
    let jitter = link.jitter_ms.filter(|&ms| ms > JITTER_MS);
    reasons.extend(jitter.map(|ms| {
        format!(
            "Jitter of {ms:.1} ms is beyond the {JITTER_MS:.0} ms that kinesthetic streams bear."
        )
    }));
    match link.loss {
        Some(loss) if loss > CROWDED => {
            let beyond = if loss > LOSS {
                ", which is beyond"
            } else {
                "; at most"
            };
            reasons.push(format!(
                "{:.1} % of the frames are lost{beyond} {:.0} % is borne. If the link is crowded, a deadband \
                 sends a tenth of them; every frame has sums, so none is missed.",
                100.0 * loss,
                100.0 * LOSS
            ));
            "deadband"
        }
        Some(loss) => {
            reasons.push(format!(
                "{:.1} % of the frames are lost, so the link bears every tick's frame, and a codec would only add \
                 error.",
                100.0 * loss
            ));
            "off"
        }
        None => {
            reasons.push(
                "Loss is not known; without a reason to send less, every tick is sent.".into(),
            );
            "off"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> Task {
        Task {
            tissue_npm: 300.0,
            coupling_npm: 2000.0,
            twin: true,
        }
    }

    fn link(rtt_ms: f64, loss: f64) -> Link {
        Link {
            rtt_ms_p50: rtt_ms,
            rtt_ms_p99: 1.2 * rtt_ms,
            oneway_ms_fwd: None,
            oneway_ms_back: None,
            jitter_ms: Some(1.0),
            loss: Some(loss),
            offset_bound_ms: None,
        }
    }

    /// An atlas by formula alone, as nothing is run here.
    fn atlas(link: &Link, task: &Task) -> Atlas {
        let formula = |point: Point| match point.chart {
            Chart::Line => point.line_by_formula(),
            _ => point,
        };
        Atlas {
            name: "atlas.csv".into(),
            points: plan(link, task).into_iter().map(formula).collect(),
        }
    }

    fn proposed(link: &Link, task: &Task) -> Proposal {
        propose(link, task, &atlas(link, task)).expect("lines")
    }

    /// teleop section 8: K_disp by theory, and the round trip at which a lump is lost.
    #[test]
    fn rows_are_those_of_the_reference_table() {
        let tissue = |tissue_npm| Task {
            tissue_npm,
            ..task()
        };
        let row = |b: f64, rtt_ms: f64, task: &Task| {
            let link = link(rtt_ms, 0.0);
            let rows = atlas(&link, task).rows(&link, task);
            let found = rows.into_iter().find(|row| row.impedance_nspm == b);
            found.expect("considered")
        };
        // the table's round trip has its own tick already
        for (rtt_ms, tissue_npm, b, expected) in [
            (10.0, 300.0, 10.0, 228.1),
            (100.0, 300.0, 10.0, 112.6),
            (500.0, 1000.0, 10.0, 37.7),
            (100.0, 1000.0, 100.0, 500.0),
        ] {
            let found = row(b, rtt_ms, &tissue(tissue_npm)).displayed_npm;
            assert!(
                (found / expected - 1.0).abs() < 0.015,
                "{found} for {expected}"
            );
        }
        let contrast = |rtt_ms| row(10.0, rtt_ms, &task()).contrast;
        assert!(contrast(40.0) > WEBER && contrast(46.0) < WEBER);
    }

    #[test]
    fn waves_when_near_a_twin_when_far_and_no_direct_ever() {
        let near = proposed(&link(0.3, 0.0), &task());
        assert_eq!((near.mode, near.codec.as_str()), (Mode::Wave, "off"));
        let far = proposed(&link(300.0, 0.05), &task());
        assert_eq!((far.mode, far.codec.as_str()), (Mode::Mmt, "deadband"));
        assert!(far.impedance_nspm < near.impedance_nspm);
        let mut config = palpate_session::config::Config::default();
        for set in &far.set {
            config.set(set).expect("--set takes it");
        }
        assert!(config.codec.is_on() && config.coupling.mode == Mode::Mmt);
        let endless = proposed(&link(1e5, 0.0), &task());
        let why = &endless.reasons[0];
        assert!(
            why.contains("smallest") && !why.contains("at most"),
            "{why}"
        );
        let blind = Task {
            twin: false,
            ..task()
        };
        assert_eq!(proposed(&link(300.0, 0.0), &blind).mode, Mode::Wave);
        for proposal in [&near, &far] {
            let best = proposal.impedances.iter();
            let mut best = best.filter(|row| row.impedance_nspm == proposal.impedance_nspm);
            assert!(best.all(|row| row.inertia_kg <= INERTIA_KG), "{proposal:?}");
            assert!(proposal.reasons.iter().any(|why| why.contains("E12")));
        }
    }

    #[test]
    fn an_uneven_link_is_proposed_for_by_its_sum_and_both_ways_are_told() {
        let even = link(100.0, 0.0);
        let uneven = Link {
            oneway_ms_fwd: Some(80.0),
            oneway_ms_back: Some(20.0),
            ..even
        };
        let [even, uneven] = [even, uneven].map(|link| proposed(&link, &task()));
        assert_eq!(even.impedances, uneven.impedances);
        assert_eq!(even.set, uneven.set);
        let said = uneven.reasons.join(" ");
        assert!(
            said.contains("80.0 ms") && said.contains("20.0 ms"),
            "{said}"
        );
        assert!(!even.reasons.join(" ").contains("way there"));
    }

    #[test]
    fn issue_ways_that_the_clocks_cannot_tell_apart_were_advised_upon() {
        let ways = |fwd_ms: f64, bound_ms: f64| Link {
            oneway_ms_fwd: Some(fwd_ms),
            oneway_ms_back: Some(100.0 - fwd_ms),
            offset_bound_ms: Some(bound_ms),
            ..link(100.0, 0.0)
        };
        // half a round trip is all that frames tell of an offset
        for fwd_ms in [50.0, 80.0, 100.0] {
            assert_eq!(ways_reason(&ways(fwd_ms, 50.0)), None);
        }
        assert!(ways_reason(&ways(80.0, 1.0)).is_some());
    }

    /// The atlas decides: what was run goes before a formula, ends that bear little lower b, and the lines are named.
    #[test]
    fn reasons_name_the_lines_of_the_atlas() {
        let (link, task) = (link(20.0, 0.0), task());
        let mut atlas = atlas(&link, &task);
        let plain = propose(&link, &task, &atlas).expect("lines");
        assert!(plain.impedance_nspm > 10.0);
        let at = |atlas: &Atlas, of: &dyn Fn(&Point) -> bool| {
            atlas.points.iter().position(of).expect("planned")
        };
        let end = at(&atlas, &|point| {
            point.chart == Chart::Ends && point.grip == "light"
        });
        atlas.points[end].root = Some(9.0);
        let line = at(&atlas, &|point| point.b_nspm == Some(3.3));
        atlas.points[line].time = Some(50.0);
        let direct = at(&atlas, &|point| {
            point.chart == Chart::Direct && point.grip == "firm"
        });
        (atlas.points[direct].time, atlas.points[direct].absolute) = (Some(4.5), Some(0.0));
        let bound = propose(&link, &task, &atlas).expect("lines");
        assert_eq!(bound.impedance_nspm, 3.3);
        let row = bound
            .impedances
            .iter()
            .find(|row| row.impedance_nspm == 3.3);
        let row = row.expect("considered");
        assert_eq!((row.way.as_str(), row.atlas_line), ("run", line + 2));
        assert!((45.0..55.0).contains(&row.displayed_npm), "{row:?}");
        let said = bound.reasons.join(" ");
        for part in [
            format!(
                "9 N s/m in the hand that bears least (atlas.csv line {})",
                end + 2
            ),
            format!("(atlas.csv line {}, by run)", line + 2),
            format!("from 4.5 ms one way on (atlas.csv line {})", direct + 2),
        ] {
            assert!(said.contains(&part), "{part} is not in: {said}");
        }
        atlas.points.retain(|point| point.chart != Chart::Line);
        let error = propose(&link, &task, &atlas)
            .expect_err("no lines")
            .to_string();
        assert!(error.contains("atlas.csv"), "{error}");
    }
}
