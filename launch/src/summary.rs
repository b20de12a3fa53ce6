//! `summary.json`: what a session was, in numbers, and whether its own checks held.
//!
//! Keys and units as the command-line contract gives them; the JSON schema is
//! `launch/schema/summary.schema.json`. A quantity that a run could not know is `null`, never 0.
//! Source: ours; limits from teleop E1 and section 4.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::audit::{Audit, TOLERANCE_J};

/// Version of the shape of [`Summary`]: major when a key changes, minor when one is added.
pub const SCHEMA: &str = "palpate-summary/1.0";

/// The JSON schema of [`Summary`], to be shipped with tools.
pub const JSON_SCHEMA: &str = include_str!("../schema/summary.schema.json");

/// All of `summary.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: String,
    /// Command that ran.
    pub command: String,
    /// Version of Palpate.
    pub version: String,
    /// Seed of everything random.
    pub seed: Option<u64>,
    /// Length of what was recorded \[s\].
    pub duration_s: Option<f64>,
    /// Ticks of the longer side.
    pub ticks: Option<u64>,
    /// Hash over all records, of bit-exact runs.
    pub trace_hash: Option<String>,
    /// The network.
    pub link: LinkSummary,
    /// The energies.
    pub passivity: PassivitySummary,
    /// What the operator felt.
    pub contact: ContactSummary,
    /// How the robot followed.
    pub tracking: TrackingSummary,
    /// The local model.
    pub twin: TwinSummary,
    /// The servo loops.
    pub servo: ServoSummary,
    /// Limits and faults.
    pub safety: SafetySummary,
    /// What the run states about itself.
    pub checks: Vec<Check>,
}

/// The network as both sides saw it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Median round trip \[ms\].
    pub rtt_ms_p50: Option<f64>,
    /// 99th percentile of the round trip \[ms\].
    pub rtt_ms_p99: Option<f64>,
    /// Standard deviation of the one-way delay of the frames used, worse direction \[ms\].
    pub jitter_ms: Option<f64>,
    /// Fraction of frames lost, both directions together.
    pub loss: Option<f64>,
    /// Fraction of delay estimates within their own stated bound of the truth.
    pub oneway_bound_ok_fraction: Option<f64>,
    /// Frames sent by the master \[1/s\].
    pub packets_per_s_fwd: Option<f64>,
    /// Frames sent by the slave \[1/s\].
    pub packets_per_s_back: Option<f64>,
    /// Bytes of both directions \[1/s\].
    pub bytes_per_s: Option<f64>,
}

/// The energies, as [`crate::audit`] finds them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PassivitySummary {
    /// Least energy in the channel, all axes together \[J\].
    pub min_channel_energy_j: Option<f64>,
    /// The same by axis: x, y, z, gripper opening \[J\].
    pub min_channel_energy_per_axis_j: Vec<f64>,
    /// Least energy inside the twin \[J\].
    pub twin_internal_energy_min_j: Option<f64>,
    /// Ticks at which the energy account lowered a demand or repaid a debt.
    pub interventions: Option<u64>,
    /// Who judged.
    pub auditor: String,
    /// Instants at which the channel gave more than it had been given.
    pub violations: Option<u64>,
}

/// What the operator felt, beside the truth.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ContactSummary {
    /// Largest force on the hand \[N\].
    pub peak_force_n: Option<f64>,
    /// Stiffness felt outside the lump, mean of the sites \[N/m\].
    pub displayed_stiffness_npm: Option<f64>,
    /// True stiffness there \[N/m\].
    pub true_stiffness_npm: Option<f64>,
    /// Displayed over true, minus one.
    pub stiffness_error: Option<f64>,
    /// Force on the hand against the remote contact force of the same moment of the motion \[N\].
    pub force_rmse_n: Option<f64>,
    /// Stiffness over the lump against outside it, minus one, as felt.
    pub contrast_displayed: Option<f64>,
    /// The same in truth.
    pub contrast_true: Option<f64>,
    /// How much of the contrast arrived: displayed over true.
    pub contrast_transmission: Option<f64>,
}

/// How the robot followed the hand.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrackingSummary {
    /// Robot against the handle of one delay before \[mm\].
    pub position_rmse_mm: Option<f64>,
    /// Largest lasting offset between the ports, mean of 100 ms \[mm\].
    pub drift_mm_max: Option<f64>,
    /// That offset at the end \[mm\].
    pub drift_mm_end: Option<f64>,
    /// Longest time from the end of an outage to within 2 mm again \[ms\].
    pub resync_ms_max: Option<f64>,
}

/// The local model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TwinSummary {
    /// Tissue method.
    pub method: Option<String>,
    /// Nodes.
    pub nodes: Option<u64>,
    /// Elements or links.
    pub elements: Option<u64>,
    /// Median time of a step \[us\].
    pub step_us_p50: Option<f64>,
    /// 99th percentile \[us\].
    pub step_us_p99: Option<f64>,
    /// Longest \[us\].
    pub step_us_max: Option<f64>,
    /// Updates of the model from what the remote side measured.
    pub updates: Option<u64>,
    /// Energy that those put into it \[J\].
    pub update_energy_j: Option<f64>,
    /// Largest jump of the force at updates within 100 ms, as a fraction of the force.
    pub force_step_max_fraction_per_100ms: Option<f64>,
}

/// The servo loops of both sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServoSummary {
    /// Period \[us\].
    pub period_us: Option<f64>,
    /// Median lateness of waking \[us\].
    pub wake_us_p50: Option<f64>,
    /// 99th percentile \[us\].
    pub wake_us_p99: Option<f64>,
    /// Largest \[us\].
    pub wake_us_max: Option<f64>,
    /// Median CPU time of a tick \[us\].
    pub compute_us_p50: Option<f64>,
    /// 99.9th percentile \[us\].
    pub compute_us_p999: Option<f64>,
    /// Largest \[us\].
    pub compute_us_max: Option<f64>,
    /// Ticks that woke a whole period late or more.
    pub late_ticks: Option<u64>,
    /// What they were put down to.
    pub late_causes: BTreeMap<String, u64>,
    /// Allocations on the servo threads after warm-up.
    pub allocations: Option<u64>,
    /// 99th percentile of a bare timer's lateness in the same run \[us\].
    pub bare_timer_us_p99: Option<f64>,
}

/// Limits and faults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SafetySummary {
    /// Last operating state of the slave, as CRTK spells it.
    pub state: Option<String>,
    /// Faults that latched.
    pub faults: Vec<String>,
    /// Ticks at which each limit acted.
    pub limit_hits: BTreeMap<String, u64>,
    /// Times the data watchdog tripped.
    pub watchdog_trips: Option<u64>,
    /// Largest motion of the robot while it was not enabled \[mm\].
    pub uncommanded_motion_mm_max: Option<f64>,
}

/// One statement of a run about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What is stated.
    pub name: String,
    /// Whether it held.
    pub held: bool,
    /// The value found.
    pub value: f64,
    /// The limit it is held against.
    pub limit: f64,
    /// Unit of both.
    pub unit: String,
}

impl Check {
    /// States `value <= limit`; nothing is stated of an unknown value. NaN does not hold.
    #[must_use]
    pub fn at_most(name: &str, value: Option<f64>, limit: f64, unit: &str) -> Option<Self> {
        value.map(|value| Self::new(name, value <= limit, (value, limit), unit))
    }

    /// States `value >= limit`; nothing is stated of an unknown value. NaN does not hold.
    #[must_use]
    pub fn at_least(name: &str, value: Option<f64>, limit: f64, unit: &str) -> Option<Self> {
        value.map(|value| Self::new(name, value >= limit, (value, limit), unit))
    }

    fn new(name: &str, held: bool, (value, limit): (f64, f64), unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            held,
            value,
            limit,
            unit: unit.to_owned(),
        }
    }
}

/// Limits that [`Summary::state_checks`] holds a session against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Largest force on the hand \[N\]; infinite states nothing.
    pub force_n: f64,
    /// Largest motion of a robot that is not enabled \[mm\]; infinite states nothing.
    pub uncommanded_motion_mm: f64,
}

impl Default for Limits {
    /// States only what needs no configuration.
    fn default() -> Self {
        Self {
            force_n: f64::INFINITY,
            uncommanded_motion_mm: f64::INFINITY,
        }
    }
}

impl PassivitySummary {
    /// From the auditor's verdict; an audit of nothing knows nothing.
    #[must_use]
    pub fn of(audit: &Audit) -> Self {
        let judged = audit.instants > 0;
        Self {
            min_channel_energy_j: judged.then_some(audit.min_channel_energy_j),
            min_channel_energy_per_axis_j: if judged {
                audit.min_channel_energy_per_axis_j.to_vec()
            } else {
                Vec::new()
            },
            auditor: "independent".to_owned(),
            violations: judged.then_some(audit.violations),
            ..Self::default()
        }
    }
}

impl Summary {
    /// Adds the checks that every session states: passivity, force limit, no allocation.
    pub fn state_checks(&mut self, limits: &Limits) {
        let least_axis_j = self
            .passivity
            .min_channel_energy_per_axis_j
            .iter()
            .copied()
            .reduce(f64::min);
        let count = |n: Option<u64>| n.map(|n| n as f64);
        let finite = |limit: f64, value: Option<f64>| value.filter(|_| limit.is_finite());
        let stated = [
            Check::at_most(
                "passivity violations",
                count(self.passivity.violations),
                0.0,
                "ticks",
            ),
            Check::at_least(
                "least channel energy, all axes together",
                self.passivity.min_channel_energy_j,
                -TOLERANCE_J,
                "J",
            ),
            Check::at_least(
                "least channel energy, worst axis",
                least_axis_j,
                -TOLERANCE_J,
                "J",
            ),
            Check::at_most(
                "force on the hand",
                finite(limits.force_n, self.contact.peak_force_n),
                limits.force_n,
                "N",
            ),
            Check::at_most(
                "motion while not enabled",
                finite(
                    limits.uncommanded_motion_mm,
                    self.safety.uncommanded_motion_mm_max,
                ),
                limits.uncommanded_motion_mm,
                "mm",
            ),
            Check::at_most(
                "allocations on the servo threads",
                count(self.servo.allocations),
                0.0,
                "allocations",
            ),
        ];
        self.checks.extend(stated.into_iter().flatten());
    }

    /// Whether every check held; the exit status is 0 if so, else 1.
    #[must_use]
    pub fn all_held(&self) -> bool {
        self.checks.iter().all(|check| check.held)
    }

    /// As indented JSON. A number that JSON cannot write (infinite, not a number) becomes `null`.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Keys are strings and floats never fail, so serialisation has no way to fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::Value;

    /// What is wrong with `value` under `schema`, for the words that our schema uses.
    fn faults(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        if let Some(types) = schema.get("type") {
            let names: Vec<&str> = match types {
                Value::String(one) => vec![one],
                Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            let is = |name: &&str| match *name {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "integer" => value.is_u64() || value.is_i64(),
                "number" => value.is_number(),
                "null" => value.is_null(),
                _ => false,
            };
            if !names.iter().any(is) {
                found.push(format!("{at}: {value} is not {names:?}"));
            }
        }
        for key in schema["required"].as_array().into_iter().flatten() {
            if value.get(key.as_str().unwrap()).is_none() {
                found.push(format!("{at}: no key {key}"));
            }
        }
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(child) = value.get(key) {
                faults(inner, child, &format!("{at}.{key}"), found);
            }
        }
        for child in value.as_array().into_iter().flatten() {
            if schema.get("items").is_some() {
                faults(&schema["items"], child, &format!("{at}[]"), found);
            }
        }
    }

    /// Judges JSON by the schema file.
    pub(crate) fn check_schema(json: &str) {
        let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
        let value: Value = serde_json::from_str(json).unwrap();
        let mut found = Vec::new();
        faults(&schema, &value, "summary", &mut found);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(schema["properties"]["schema"]["const"], SCHEMA);
    }

    fn judged() -> Summary {
        let audit = Audit {
            instants: 9,
            ..Audit::default()
        };
        Summary {
            schema: SCHEMA.to_owned(),
            passivity: PassivitySummary::of(&audit),
            ..Summary::default()
        }
    }

    #[test]
    fn a_summary_obeys_the_schema() {
        let mut summary = judged();
        summary.state_checks(&Limits::default());
        let json = summary.to_json();
        check_schema(&json);
        assert!(json.contains("\"rtt_ms_p50\": null"));
        assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
    }

    /// The schema file names exactly the keys that serde writes.
    #[test]
    fn the_schema_knows_every_key() {
        let value: Value = serde_json::to_value(judged()).unwrap();
        let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
        let keys = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&value), keys(&schema["properties"]));
        for (name, part) in schema["properties"].as_object().unwrap() {
            if let (true, Some(inner)) = (value[name].is_object(), part.get("properties")) {
                assert_eq!(keys(&value[name]), keys(inner), "{name}");
                assert_eq!(
                    inner.as_object().unwrap().len(),
                    part["required"].as_array().unwrap().len()
                );
            }
        }
    }

    #[test]
    fn checks_state_only_what_is_known() {
        let mut summary = judged();
        summary.state_checks(&Limits {
            force_n: 6.0,
            ..Limits::default()
        });
        assert_eq!(summary.checks.len(), 3);
        assert!(summary.all_held());
        let mut summary = judged();
        summary.passivity.violations = Some(1);
        summary.contact.peak_force_n = Some(f64::NAN);
        summary.state_checks(&Limits {
            force_n: 6.0,
            ..Limits::default()
        });
        let failed: Vec<_> = summary
            .checks
            .iter()
            .filter(|c| !c.held)
            .map(|c| &*c.name)
            .collect();
        assert_eq!(failed, ["passivity violations", "force on the hand"]);
        assert!(!summary.all_held());
    }

    #[test]
    fn an_audit_of_nothing_knows_nothing() {
        let passivity = PassivitySummary::of(&Audit::default());
        assert_eq!(passivity.violations, None);
        assert!(passivity.min_channel_energy_per_axis_j.is_empty());
    }
}
