//! What to set on a link that was measured: wave impedance, codec and mode, with reasons.
//!
//! Source: closed forms teleop E3 (what a wave line shows of a tissue) and E12 (what a delayed local loop
//! may render), budgets of teleop section 4; the order of the decisions is ours. That a session
//! shows the stiffness of E3 is what [`crate::atlas`] finds. Pure: numbers in, a
//! [`Proposal`] out. Delays are round trips.
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | T | round trip with the tick in which it is answered | s |
//! | Z = 2 b / T | stiffness of the line | N/m |
//! | b T / 2 | inertia of the line in free motion | kg |

use palpate_transport::coupling::Mode;
use serde::{Deserialize, Serialize};

use crate::lab::PERIOD;

/// Rendered-stiffness error that nobody should notice (teleop section 4).
pub const STIFFNESS_ERROR: f64 = 0.08;

/// Weber fraction of stiffness, limb (Jones and Hunter 1990 in teleop section 4).
pub const WEBER: f64 = 0.23;

/// A lump half again as stiff as what is around it, which the table of wave impedances asks about.
pub const LUMP: f64 = 1.5;

/// Inertia that the line may add to the hand \[kg\]: twice that of handle and hand together on the lightest
/// grip of RP-1 (ours).
pub const INERTIA_KG: f64 = 0.3;

/// Damping of handle and firm hand of RP-1 \[N s/m\], which a delayed loop lives on.
pub const DEVICE_NSPM: f64 = 4.5;

/// Jitter and loss that kinesthetic streams bear (Gokhale and Fesl 2018 in teleop section 3).
pub const JITTER_MS: f64 = 10.0;

/// See [`JITTER_MS`].
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
    /// Standard deviation of the one-way delay \[ms\], if it is known.
    pub jitter_ms: Option<f64>,
    /// Share of frames lost, if it is known.
    pub loss: Option<f64>,
    /// How far the estimate of the clocks' offset may be off \[ms\], if it is known.
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

/// What a wave line of impedance `b` does (E3).
#[must_use]
pub fn row(b: f64, rtt_ms: f64, task: &Task) -> Row {
    let trip_s = rtt_ms * 1e-3 + PERIOD.s();
    let line_npm = 2.0 * b / trip_s;
    let through = |tissue_npm: f64| series(&[tissue_npm, task.coupling_npm, line_npm]);
    let displayed_npm = through(task.tissue_npm);
    Row {
        impedance_nspm: b,
        displayed_npm,
        stiffness_error: displayed_npm / series(&[task.tissue_npm, task.coupling_npm]) - 1.0,
        contrast: through(LUMP * task.tissue_npm) / displayed_npm - 1.0,
        inertia_kg: 0.5 * b * trip_s,
    }
}

/// Proposes what to set.
#[must_use]
pub fn propose(link: &Link, task: &Task) -> Proposal {
    let rows = IMPEDANCES.map(|b| row(b, link.rtt_ms_p50, task));
    // the stiffest line that a hand can still move with
    let light = rows.iter().rev().find(|row| row.inertia_kg <= INERTIA_KG);
    let best = *light.unwrap_or(&rows[0]);
    let why = match light {
        Some(_) => format!("largest of those considered whose line adds at most {INERTIA_KG} kg"),
        None => {
            format!("smallest of those considered; even its line adds more than {INERTIA_KG} kg")
        }
    };
    let mut reasons = vec![format!(
        "b = {} N s/m is the {why} to the hand (E3: b T / 2 = {:.3} kg at {:.1} ms round trip).",
        best.impedance_nspm, best.inertia_kg, link.rtt_ms_p50
    )];
    reasons.push(format!(
        "Through waves {:.0} N/m would feel like {:.0} N/m ({:+.0} % of what the robot's coupling leaves), and a \
         lump {LUMP} times as stiff like {:.2} times (E3).",
        task.tissue_npm,
        best.displayed_npm,
        100.0 * best.stiffness_error,
        1.0 + best.contrast
    ));
    let mode = mode(&best, task, &mut reasons);
    let half_s = 0.5 * PERIOD.s();
    let direct_limit_npm = DEVICE_NSPM / (half_s + link.rtt_ms_p50 * 1e-3);
    let local_limit_npm = DEVICE_NSPM / half_s;
    reasons.push(format!(
        "Direct coupling keeps no account of energy and is never proposed; here it would bear {direct_limit_npm:.0} \
         N/m (E12, {DEVICE_NSPM} N s/m of handle and hand), a local twin {local_limit_npm:.0} N/m."
    ));
    let codec = codec(link, &mut reasons);
    Proposal {
        link: *link,
        task: *task,
        mode,
        impedance_nspm: best.impedance_nspm,
        codec: codec.to_owned(),
        reasons,
        impedances: rows.to_vec(),
        direct_limit_npm,
        local_limit_npm,
        set: vec![
            format!("coupling.mode={}", mode.name()),
            format!("coupling.impedance_nspm={}", best.impedance_nspm),
            format!("codec.kind={codec}"),
        ],
    }
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
            jitter_ms: Some(1.0),
            loss: Some(loss),
            offset_bound_ms: None,
        }
    }

    /// teleop section 8: K_disp by theory, and the round trip at which a lump is lost.
    #[test]
    fn rows_are_those_of_the_reference_table() {
        let tissue = |tissue_npm| Task {
            tissue_npm,
            ..task()
        };
        // the table's round trip has its own tick already
        for (rtt_ms, tissue_npm, b, expected) in [
            (10.0, 300.0, 10.0, 228.1),
            (100.0, 300.0, 10.0, 112.6),
            (500.0, 1000.0, 10.0, 37.7),
            (100.0, 1000.0, 30.0, 315.8),
        ] {
            let found = row(b, rtt_ms, &tissue(tissue_npm)).displayed_npm;
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{found} for {expected}"
            );
        }
        let contrast = |rtt_ms| row(10.0, rtt_ms, &task()).contrast;
        assert!(contrast(40.0) > WEBER && contrast(46.0) < WEBER);
    }

    #[test]
    fn waves_when_near_a_twin_when_far_and_no_direct_ever() {
        let near = propose(&link(0.3, 0.0), &task());
        assert_eq!((near.mode, near.codec.as_str()), (Mode::Wave, "off"));
        let far = propose(&link(300.0, 0.05), &task());
        assert_eq!((far.mode, far.codec.as_str()), (Mode::Mmt, "deadband"));
        assert!(far.impedance_nspm < near.impedance_nspm);
        let mut config = crate::config::Config::default();
        for set in &far.set {
            config.set(set).expect("--set takes it");
        }
        assert!(config.codec.is_on() && config.coupling.mode == Mode::Mmt);
        let endless = propose(&link(1e5, 0.0), &task());
        let why = &endless.reasons[0];
        assert!(
            why.contains("smallest") && !why.contains("at most"),
            "{why}"
        );
        let blind = Task {
            twin: false,
            ..task()
        };
        assert_eq!(propose(&link(300.0, 0.0), &blind).mode, Mode::Wave);
        for proposal in [&near, &far] {
            let row = row(proposal.impedance_nspm, proposal.link.rtt_ms_p50, &task());
            assert!(row.inertia_kg <= INERTIA_KG, "{proposal:?}");
            assert!(proposal.reasons.iter().any(|why| why.contains("E12")));
        }
    }
}
