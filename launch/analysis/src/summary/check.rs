//! Checks that a session states. Source: ours; limits from teleop E1, section 4 and goal 8.
//!
//! A check cannot pass by being absent: a check without its required value fails. A check is left out only where
//! nobody could know its value. True delays are not known of sides on two hosts, nor of live sessions with a codec or
//! lost records; then "one-way delays within their bound" is not stated.

use palpate_session::audit::TOLERANCE_J;
use palpate_transport::trace::Side;
use serde::{Deserialize, Serialize};

use super::Summary;
use crate::metrics::SessionFacts;

/// One check of a session, with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// Name of the check.
    pub name: String,
    /// True if the check passed.
    pub held: bool,
    /// Value found; null if unknown, and then the check fails.
    pub value: Option<f64>,
    /// Limit of the value; null in JSON if there is none.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub limit: f64,
    /// Relation of the value to the limit.
    pub bound: CheckBound,
    /// Relative tolerance of [`CheckBound::About`]; null for other bounds.
    pub tolerance: Option<f64>,
    /// Unit of value and limit.
    pub unit: String,
}

/// Relation that a value must have to its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckBound {
    /// At most the limit.
    AtMost,
    /// At least the limit.
    AtLeast,
    /// Equal to the limit.
    Exactly,
    /// Equal to the limit within a relative tolerance.
    About,
}

/// Checks for sufficient evidence.
const EVIDENCE_CHECKS: [&str; 5] = [
    "instants judged",
    "ticks of the master",
    "ticks of the slave",
    "frames used by the slave",
    "frames used by the master",
];

/// Most records of one side after the end of the other \[ticks\]: a side needs some seconds to end, in which the other
/// may still record.
const UNMATCHED_TICKS_MAX: f64 = 5000.0;

impl Check {
    /// States `value <= limit`. An unknown value or NaN fails.
    #[must_use]
    pub fn at_most(name: &str, value: Option<f64>, limit: f64, unit: &str) -> Self {
        Self::new(name, value, CheckBound::AtMost, limit, unit)
    }

    /// States `value >= limit`. An unknown value or NaN fails.
    #[must_use]
    pub fn at_least(name: &str, value: Option<f64>, limit: f64, unit: &str) -> Self {
        Self::new(name, value, CheckBound::AtLeast, limit, unit)
    }

    /// States that a condition is true. An unknown condition fails.
    #[must_use]
    pub fn is_true(name: &str, value: Option<bool>) -> Self {
        let value = value.map(|yes| f64::from(u8::from(yes)));
        Self::at_least(name, value, 1.0, "of 1")
    }

    /// States that there is at least one. An unknown count fails.
    fn at_least_one(name: &str, value: Option<u64>, unit: &str) -> Self {
        Self::at_least(name, count(value), 1.0, unit)
    }

    /// States that there is none. An unknown count fails.
    pub(crate) fn is_zero(name: &str, value: Option<u64>, unit: &str) -> Self {
        Self::at_most(name, count(value), 0.0, unit)
    }

    /// States that a value equals the limit within a relative tolerance. An unknown value or NaN fails.
    #[must_use]
    pub fn within(name: &str, value: Option<f64>, limit: f64, share: f64, unit: &str) -> Self {
        let (bound, tolerance) = match share == 0.0 {
            true => (CheckBound::Exactly, None),
            false => (CheckBound::About, Some(share)),
        };
        Self {
            held: value.is_some_and(|value| (value - limit).abs() <= share * limit),
            tolerance,
            ..Self::new(name, value, bound, limit, unit)
        }
    }

    /// Returns the requirement in words, such as `at most 3` or `about 600 ± 40 %`, with the limit as formatted.
    #[must_use]
    pub(crate) fn requirement(&self, limit: &str) -> String {
        let tolerance = self
            .tolerance
            .map(|share| format!(" \u{b1} {:.0} %", 100.0 * share));
        let bound = match self.bound {
            CheckBound::AtMost => "at most",
            CheckBound::AtLeast => "at least",
            CheckBound::Exactly => "exactly",
            CheckBound::About => "about",
        };
        format!("{bound} {limit}{}", tolerance.unwrap_or_default())
    }

    /// Returns a check without a tolerance.
    fn new(name: &str, value: Option<f64>, bound: CheckBound, limit: f64, unit: &str) -> Self {
        let passes = |value: f64| match bound {
            CheckBound::AtMost => value <= limit,
            CheckBound::AtLeast => value >= limit,
            CheckBound::Exactly | CheckBound::About => value == limit,
        };
        Self {
            name: name.to_owned(),
            held: value.is_some_and(passes),
            value,
            limit,
            bound,
            tolerance: None,
            unit: unit.to_owned(),
        }
    }

    /// Returns true if the check failed only for lack of evidence.
    pub(crate) fn lacks_evidence(&self) -> bool {
        !self.held && (self.value.is_none() || EVIDENCE_CHECKS.contains(&&*self.name))
    }
}

/// Largest distance of the probe outside of its workspace \[mm\]: a servo that stops at its edge may pass it so far.
const OUTSIDE_MM_MAX: f64 = 1.0;

/// Largest share of missed ticks: an occasional suspension of the processor is accepted, a machine that is too slow
/// for 1 kHz is not.
const MISSED_SHARE_MAX: f64 = 0.05;

/// Limits that a session of a configuration must keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SessionLimits {
    /// Largest force on the hand \[N\].
    pub force_n: f64,
    /// Largest motion of a robot that is not enabled, beyond its stopping distance \[mm\].
    pub uncommanded_motion_mm: f64,
    /// Largest force of the tissue on the probe \[N\].
    pub tissue_n: f64,
    /// Largest speed of the robot \[m/s\].
    pub robot_mps: f64,
    /// Energy that the hand may gain from a remote side that is declared as active \[J\].
    pub active_j: f64,
    /// True if the coupling claims passivity; otherwise passivity is not checked.
    pub passive: bool,
    /// True if frames were forged. Then only hand, robot and limits are checked: the channel has a third end, delays are
    /// lies, and a forged force vibrates until the guard fades it.
    pub forged: bool,
}

/// Least part of the estimates of a one-way delay that must be within their own bound (teleop goal 8).
const BOUND_HELD_MIN: f64 = 0.999;

impl Summary {
    /// Adds the checks of a session. The check of delays is left out unless the true delay of every frame is known: in
    /// virtual time, and live where both sides share a clock and send a frame in every tick.
    pub(crate) fn state_checks(&mut self, facts: &SessionFacts, limits: &SessionLimits) {
        let has = |side| facts.only_side.is_none_or(|only| only == side);
        let mut checks = Vec::new();
        for &(part, ran) in facts.live_parts.iter().flatten() {
            let name = format!("the {part} ran to the end");
            checks.push(Check::is_true(&name, Some(ran)));
        }
        if facts.demands_seal {
            checks.push(Check::is_true("link is secured", self.link.secured));
        }
        if facts.only_side.is_none() {
            self.state_judgement(&mut checks);
            if limits.passive && !limits.forged {
                self.state_passivity(&mut checks);
            }
        }
        if limits.passive && !facts.without_peer {
            self.state_side_balances(facts, limits, &mut checks);
        }
        self.state_records(facts, &mut checks);
        if facts.oneway_truth.is_some() && !limits.forged {
            let within = self.link.oneway_bound_ok_fraction;
            let name = "one-way delays within their bound";
            checks.push(Check::at_least(name, within, BOUND_HELD_MIN, "of 1"));
        }
        if has(Side::Master) {
            let (name, peak_n) = ("force on the hand", self.contact.peak_force_n);
            checks.push(Check::at_most(name, peak_n, limits.force_n, "N"));
            if limits.passive && !limits.forged {
                let (name, value) = ("limit cycles", self.safety.limit_cycles);
                checks.push(Check::is_zero(name, value, "limit cycles"));
            }
            self.state_edit_batches(has(Side::Slave), &mut checks);
        }
        if has(Side::Slave) {
            let (name, most_mm) = ("motion while not enabled", limits.uncommanded_motion_mm);
            let safety = &self.safety;
            let moved_mm = safety.motion_beyond_stop_mm_max;
            checks.push(Check::at_most(name, moved_mm, most_mm, "mm"));
            let (name, force_n) = (
                "force of the tissue on the probe",
                safety.tissue_force_n_max,
            );
            checks.push(Check::at_most(name, force_n, limits.tissue_n, "N"));
            let (name, mps) = ("speed of the robot", safety.robot_speed_mps_max);
            checks.push(Check::at_most(name, mps, limits.robot_mps, "m/s"));
            let (name, mm) = (
                "robot outside of its workspace",
                safety.outside_workspace_mm_max,
            );
            checks.push(Check::at_most(name, mm, OUTSIDE_MM_MAX, "mm"));
        }
        if facts.live_parts.is_some() {
            let ticks = self.ticks_by_side.master + self.ticks_by_side.slave;
            let missed = self.servo.missed_ticks;
            let share = missed.map(|missed| missed as f64 / (ticks + missed).max(1) as f64);
            let name = "share of the ticks missed";
            checks.push(Check::at_most(name, share, MISSED_SHARE_MAX, "of 1"));
            let (name, value) = ("allocations on the servo threads", self.servo.allocations);
            checks.push(Check::is_zero(name, value, "allocations"));
        }
        self.checks.extend(checks);
    }

    /// States that both topologies are equal at the end and that all edit batches are recorded, if instruments edited
    /// a tissue. Equality is unknown while edit batches are on the way.
    fn state_edit_batches(&self, both: bool, checks: &mut Vec<Check>) {
        let topology = &self.topology;
        let Some(batches) = topology.edit_batches.filter(|&batches| batches > 0) else {
            return;
        };
        if both {
            let arrived = topology.edit_batches_done == Some(batches);
            let equal = topology.equal.filter(|_| arrived);
            checks.push(Check::is_true("topologies equal at the end", equal));
            let name = "edit batches refused by the remote tissue";
            checks.push(Check::is_zero(
                name,
                topology.edit_batches_refused,
                "batches",
            ));
        }
        if let Some(recorded) = topology.edit_batches_recorded {
            let lost = Some(batches.saturating_sub(recorded));
            let name = "edit batches missing in the recording";
            checks.push(Check::is_zero(name, lost, "batches"));
        }
    }

    /// States that the auditor had both sides to judge.
    fn state_judgement(&self, checks: &mut Vec<Check>) {
        let (name, instants) = ("instants judged", Some(self.passivity.instants));
        checks.push(Check::at_least_one(name, instants, "instants"));
        let name = "unpaired records, not judged";
        let left_out = count(Some(self.passivity.left_out));
        checks.push(Check::at_most(name, left_out, UNMATCHED_TICKS_MAX, "ticks"));
    }

    /// States the passivity of the channel by the auditor's verdict.
    fn state_passivity(&self, checks: &mut Vec<Check>) {
        let passivity = &self.passivity;
        let axes = passivity.min_channel_energy_per_axis_j.iter().copied();
        // written so that a NaN energy is kept
        let least_axis_j = axes.reduce(|a, b| if a < b || a.is_nan() { a } else { b });
        let name = "passivity violations";
        checks.push(Check::is_zero(name, passivity.violations, "instants"));
        for (of, least_j) in [
            ("all axes together", passivity.min_channel_energy_j),
            ("worst axis", least_axis_j),
        ] {
            let name = format!("least channel energy, {of}");
            checks.push(Check::at_least(&name, least_j, -TOLERANCE_J, "J"));
        }
    }

    /// States the energies of the hand and of the robot's measured port, each from the record of its own side.
    fn state_side_balances(
        &self,
        facts: &SessionFacts,
        limits: &SessionLimits,
        checks: &mut Vec<Check>,
    ) {
        let passivity = &self.passivity;
        let noise_j = passivity.robot_port_tolerance_j.unwrap_or(0.0);
        for side in facts.sides() {
            let (name, least_j, granted_j) = match side {
                Side::Master => (
                    "least energy put in by the hand",
                    passivity.hand_energy_min_j,
                    limits.active_j,
                ),
                Side::Slave => (
                    "least energy at the robot's measured port",
                    passivity.robot_port_min_j,
                    noise_j,
                ),
            };
            checks.push(Check::at_least(
                name,
                least_j,
                -TOLERANCE_J - granted_j,
                "J",
            ));
        }
    }

    /// States that the records are complete.
    fn state_records(&self, facts: &SessionFacts, checks: &mut Vec<Check>) {
        let lost = self.servo.records_lost;
        let known = self.servo.missed_ticks.zip(lost);
        let missing = self.passivity.missing_ticks;
        let unexplained = known.map(|(missed, lost)| missing.saturating_sub(missed + lost));
        checks.push(Check::is_zero("records lost", lost, "records"));
        let name = "ticks missing without a cause";
        checks.push(Check::is_zero(name, unexplained, "ticks"));
        for side in facts.sides() {
            let (ticks, used) = match side {
                Side::Master => (self.ticks_by_side.master, self.link.frames_used_back),
                Side::Slave => (self.ticks_by_side.slave, self.link.frames_used_fwd),
            };
            let of = format!("ticks of the {}", side.name());
            checks.push(Check::at_least_one(&of, Some(ticks), "ticks"));
            if !facts.without_peer {
                let used_by = format!("frames used by the {}", side.name());
                checks.push(Check::at_least_one(&used_by, used, "frames"));
            }
        }
    }
}

fn count(number: Option<u64>) -> Option<f64> {
    number.map(|number| number as f64)
}
