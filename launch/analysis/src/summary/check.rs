//! What a session states about itself. Source: ours; limits from teleop E1, section 4 and goal 8.
//!
//! A check cannot pass by being absent: what a session of its kind must show and does not is a
//! check without a value, and that does not hold. One is left out where nobody could know it: true delays
//! are not known of sides on two hosts, nor of live sessions with a codec or lost records, and then nothing is
//! stated of "one-way delays within their bound" ([`Expected::delays_known`]).

use std::fmt;

use palpate_session::audit::TOLERANCE_J;
use palpate_transport::trace::Side;
use serde::{Deserialize, Serialize};

use super::Summary;

/// One statement of a run about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Check {
    /// What is stated.
    pub name: String,
    /// Whether it held.
    pub held: bool,
    /// The value found; nothing if the run could not know it, and then the check did not hold.
    pub value: Option<f64>,
    /// The limit it is held against; null in JSON if there is none.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub limit: f64,
    /// How it is held against it.
    pub bound: Bound,
    /// Share of the limit by which the value may be off; of [`Bound::About`] only.
    pub tolerance: Option<f64>,
    /// Unit of both.
    pub unit: String,
}

/// How a value is held against a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It may not be more.
    AtMost,
    /// It may not be less.
    AtLeast,
    /// It must be the same.
    Exactly,
    /// It may be off by a share of it.
    About,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtMost => "at most",
            Self::AtLeast => "at least",
            Self::Exactly => "exactly",
            Self::About => "about",
        })
    }
}

/// Checks that only say whether there was enough to judge.
const EVIDENCE: [&str; 5] = [
    "instants judged",
    "ticks of the master",
    "ticks of the slave",
    "frames that the slave took",
    "frames that the master took",
];

/// Most records of one side beyond the end of the other \[ticks\]: a side that ends takes some seconds
/// for it, in which the other may still record.
const LEFT_OUT_MAX: f64 = 5000.0;

impl Check {
    /// States `value <= limit`. A value that is unknown or NaN does not hold.
    #[must_use]
    pub fn at_most(name: &str, value: Option<f64>, limit: f64, unit: &str) -> Self {
        Self::new(name, value, Bound::AtMost, limit, unit)
    }

    /// States `value >= limit`. A value that is unknown or NaN does not hold.
    #[must_use]
    pub fn at_least(name: &str, value: Option<f64>, limit: f64, unit: &str) -> Self {
        Self::new(name, value, Bound::AtLeast, limit, unit)
    }

    /// States that a value is a limit, but for a share of it. A value that is unknown or NaN does not hold.
    #[must_use]
    pub fn within(name: &str, value: Option<f64>, limit: f64, share: f64, unit: &str) -> Self {
        let exact = share == 0.0;
        let bound = if exact { Bound::Exactly } else { Bound::About };
        Self {
            held: value.is_some_and(|value| (value - limit).abs() <= share * limit),
            tolerance: (!exact).then_some(share),
            ..Self::new(name, value, bound, limit, unit)
        }
    }

    /// What was asked for in words, such as `at most 3` or `about 600 ± 40 %`; the limit as it is written there.
    #[must_use]
    pub fn asked(&self, limit: &str) -> String {
        let off = self
            .tolerance
            .map(|share| format!(" \u{b1} {:.0} %", 100.0 * share));
        format!("{} {limit}{}", self.bound, off.unwrap_or_default())
    }

    /// A check without a tolerance.
    fn new(name: &str, value: Option<f64>, bound: Bound, limit: f64, unit: &str) -> Self {
        let holds = |value: f64| match bound {
            Bound::AtMost => value <= limit,
            Bound::AtLeast => value >= limit,
            Bound::Exactly | Bound::About => value == limit,
        };
        Self {
            name: name.to_owned(),
            held: value.is_some_and(holds),
            value,
            limit,
            bound,
            tolerance: None,
            unit: unit.to_owned(),
        }
    }

    /// Whether it did not hold only because there was nothing, or not enough, to judge.
    #[must_use]
    pub(crate) fn lacks_evidence(&self) -> bool {
        !self.held && (self.value.is_none() || EVIDENCE.contains(&&*self.name))
    }
}

/// Share of ticks beyond which a session did not run at its rate: an occasional loss of the processor
/// is counted, a machine that is too slow is not called 1 kHz.
const MISSED_SHARE_MAX: f64 = 0.05;

/// What is expected of a session of a kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    /// Sides that were to record.
    pub sides: Vec<Side>,
    /// Largest force on the hand \[N\].
    pub force_n: f64,
    /// Farthest motion of a robot that is not enabled \[mm\].
    pub uncommanded_motion_mm: f64,
    /// Parts that a supervisor watched, and whether each ran until it was told to end.
    pub ran_to_end: Vec<(&'static str, bool)>,
    /// Whether servo loops ran in real time.
    pub live: bool,
    /// Whether the coupling claims passivity; of one that does not, none is demanded.
    pub passive: bool,
    /// Whether the true delay of every frame is known: in virtual time, and live where both sides share a
    /// clock and send a frame in every tick. Elsewhere nothing can be said of estimates of it, and their
    /// check is left out.
    pub delays_known: bool,
    /// Whether there is another side at all.
    pub networked: bool,
}

/// Least part of the estimates of a one-way delay that must be within their own bound (teleop goal 8).
const BOUND_HELD_MIN: f64 = 0.999;

impl Summary {
    /// Adds the checks that a session must state.
    pub(crate) fn state_checks(&mut self, expected: &Expected) {
        let has = |side| expected.sides.contains(&side);
        let mut checks = Vec::new();
        for &(part, ran) in &expected.ran_to_end {
            let name = format!("the {part} ran to the end");
            let value = Some(f64::from(u8::from(ran)));
            checks.push(Check::at_least(&name, value, 1.0, "of 1"));
        }
        if has(Side::Master) && has(Side::Slave) {
            self.state_judgement(&mut checks);
            if expected.passive {
                self.state_passivity(&mut checks);
            }
        }
        self.state_records(expected, &mut checks);
        if expected.delays_known {
            let held = self.link.oneway_bound_ok_fraction;
            let name = "one-way delays within their bound";
            checks.push(Check::at_least(name, held, BOUND_HELD_MIN, "of 1"));
        }
        if has(Side::Master) {
            let (value, limit) = (self.contact.peak_force_n, expected.force_n);
            checks.push(Check::at_most("force on the hand", value, limit, "N"));
        }
        if has(Side::Master) {
            self.state_strokes(has(Side::Slave), &mut checks);
        }
        if has(Side::Slave) {
            let value = self.safety.uncommanded_motion_mm_max;
            let limit = expected.uncommanded_motion_mm;
            checks.push(Check::at_most(
                "motion while not enabled",
                value,
                limit,
                "mm",
            ));
        }
        if expected.live {
            let ticks = self.ticks_by_side.master + self.ticks_by_side.slave;
            let missed = self.servo.missed_ticks;
            let share = missed.map(|missed| missed as f64 / (ticks + missed).max(1) as f64);
            let name = "share of the ticks missed";
            checks.push(Check::at_most(name, share, MISSED_SHARE_MAX, "of 1"));
            let name = "allocations on the servo threads";
            let value = count(self.servo.allocations);
            checks.push(Check::at_most(name, value, 0.0, "allocations"));
        }
        self.checks.extend(checks);
    }

    /// Whether both tissues ended alike, of a session whose instruments changed one, and all that was done to them is
    /// known; not known while strokes are on their way.
    fn state_strokes(&self, both: bool, checks: &mut Vec<Check>) {
        let topology = &self.topology;
        let Some(strokes) = topology.strokes.filter(|&strokes| strokes > 0) else {
            return;
        };
        if both {
            let arrived = topology.strokes_done == Some(strokes);
            let equal = topology.equal.filter(|_| arrived);
            let value = equal.map(|equal| f64::from(u8::from(equal)));
            let name = "topologies equal at the end";
            checks.push(Check::at_least(name, value, 1.0, "of 1"));
            let refused = count(topology.strokes_refused);
            let name = "strokes that the remote tissue refused";
            checks.push(Check::at_most(name, refused, 0.0, "strokes"));
        }
        if let Some(recorded) = topology.strokes_recorded {
            let lost = count(Some(strokes.saturating_sub(recorded)));
            let name = "strokes that are not in the recording";
            checks.push(Check::at_most(name, lost, 0.0, "strokes"));
        }
    }

    /// Whether the auditor had both sides to judge.
    fn state_judgement(&self, checks: &mut Vec<Check>) {
        let instants = count(Some(self.passivity.instants));
        let left_out = count(Some(self.passivity.left_out));
        checks.extend([
            Check::at_least("instants judged", instants, 1.0, "instants"),
            Check::at_most(
                "records of one side alone, not judged",
                left_out,
                LEFT_OUT_MAX,
                "ticks",
            ),
        ]);
    }

    /// What the auditor found of the channel.
    fn state_passivity(&self, checks: &mut Vec<Check>) {
        let passivity = &self.passivity;
        let axes = passivity.min_channel_energy_per_axis_j.iter().copied();
        // written so that an energy that is not a number stays
        let least_axis_j = axes.reduce(|a, b| if a < b || a.is_nan() { a } else { b });
        let least_j = passivity.min_channel_energy_j;
        checks.extend([
            Check::at_most(
                "passivity violations",
                count(passivity.violations),
                0.0,
                "instants",
            ),
            Check::at_least(
                "least channel energy, all axes together",
                least_j,
                -TOLERANCE_J,
                "J",
            ),
            Check::at_least(
                "least channel energy, worst axis",
                least_axis_j,
                -TOLERANCE_J,
                "J",
            ),
        ]);
    }

    /// Whether what was judged is all that happened.
    fn state_records(&self, expected: &Expected, checks: &mut Vec<Check>) {
        let lost = self.servo.records_lost;
        let known = self.servo.missed_ticks.zip(lost);
        let unexplained = known.map(|(missed, lost)| {
            self.passivity.missing_ticks.saturating_sub(missed + lost) as f64
        });
        checks.push(Check::at_most("records lost", count(lost), 0.0, "records"));
        checks.push(Check::at_most(
            "ticks missing without a reason",
            unexplained,
            0.0,
            "ticks",
        ));
        for &side in &expected.sides {
            let (ticks, used) = match side {
                Side::Master => (self.ticks_by_side.master, self.link.frames_used_back),
                Side::Slave => (self.ticks_by_side.slave, self.link.frames_used_fwd),
            };
            let of = format!("ticks of the {}", side.name());
            let took = format!("frames that the {} took", side.name());
            checks.push(Check::at_least(&of, count(Some(ticks)), 1.0, "ticks"));
            if expected.networked {
                checks.push(Check::at_least(&took, count(used), 1.0, "frames"));
            }
        }
    }
}

fn count(number: Option<u64>) -> Option<f64> {
    number.map(|number| number as f64)
}
