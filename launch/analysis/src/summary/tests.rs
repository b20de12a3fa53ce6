//! Tests of the format of a summary against its schema, and of the checks.

use palpate_transport::trace::Side;
use serde_json::Value;

use super::*;
use crate::metrics::{OnewayTruth, SessionFacts};

/// Collects the faults of `value` under `schema`, for the keywords that our schema uses.
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
    if value.is_null() {
        return;
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

/// Checks JSON against the schema file.
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
    summary.state_checks(&facts(None), &LIMITS);
    let json = summary.to_json();
    check_schema(&json);
    assert!(json.contains("\"rtt_ms_p50\": null"));
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
}

#[test]
fn keys_of_the_last_version_are_read() {
    let mut summary = judged();
    summary.servo.fallback_ticks = Some(3);
    summary.topology.edit_batches = Some(5);
    summary.topology.edit_batches_refused = Some(1);
    let json = summary.to_json();
    let old = json
        .replace("fallback_ticks", "masked_ticks")
        .replace("edit_batches", "strokes");
    assert_ne!(old, json);
    assert_eq!(serde_json::from_str::<Summary>(&old).unwrap(), summary);
}

/// Derives the schema from the structs, with subschemas inlined and comments as plain text.
fn derived() -> String {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<Summary>();
    plain(schema.as_object_mut().expect("a schema of fields"));
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

/// Removes the marks of comments, defaults and machine formats.
fn plain(schema: &mut serde_json::Map<String, Value>) {
    if schema.get("type").is_some() {
        for word in ["default", "format", "minimum", "maximum"] {
            schema.remove(word);
        }
    }
    for (key, value) in schema {
        match value {
            Value::String(text) if key == "description" => {
                *text = text.replace('\\', "").replace('\n', " ");
            }
            Value::Object(inner) => plain(inner),
            _ => {}
        }
    }
}

#[test]
fn the_schema_file_matches_the_structs() {
    let derived = derived();
    if std::env::var_os("PALPATE_SCHEMA").is_some_and(|value| value == "write") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/summary.schema.json");
        return std::fs::write(path, derived).unwrap();
    }
    let [derived, file] =
        [&*derived, JSON_SCHEMA].map(|text| serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(derived, file, "see JSON_SCHEMA");
}

const LIMITS: SessionLimits = SessionLimits {
    force_n: 6.0,
    uncommanded_motion_mm: 10.0,
    tissue_n: 8.0,
    robot_mps: 0.3,
    active_j: 0.0,
    passive: true,
    forged: false,
};

/// Facts of a live session of both sides, or of one alone.
fn facts(only: Option<Side>) -> SessionFacts {
    let mut facts = SessionFacts {
        only_side: only,
        oneway_truth: Some(OnewayTruth::default()),
        ..SessionFacts::default()
    };
    facts.live_parts = Some(facts.sides().map(|side| (side.name(), true)).collect());
    facts
}

/// Summary of a session that passes every check.
fn good() -> Summary {
    let mut summary = judged();
    summary.ticks_by_side = TicksBySide {
        master: 90,
        slave: 90,
    };
    summary.link.frames_used_fwd = Some(9);
    summary.link.frames_used_back = Some(9);
    summary.link.oneway_bound_ok_fraction = Some(1.0);
    summary.contact.peak_force_n = Some(5.0);
    summary.safety.motion_beyond_stop_mm_max = Some(1.0);
    summary.safety.tissue_force_n_max = Some(7.0);
    summary.safety.robot_speed_mps_max = Some(0.2);
    summary.safety.outside_workspace_mm_max = Some(0.0);
    summary.safety.limit_cycles = Some(0);
    summary.servo.allocations = Some(0);
    summary.servo.missed_ticks = Some(2);
    summary.servo.records_lost = Some(0);
    summary.passivity.missing_ticks = 2;
    summary.passivity.hand_energy_min_j = Some(0.0);
    summary.passivity.robot_port_min_j = Some(-1e-6);
    summary.passivity.robot_port_tolerance_j = Some(1e-6);
    summary
}

/// Returns the names of the checks that failed.
fn failed(mut summary: Summary, facts: &SessionFacts) -> Vec<String> {
    summary.state_checks(facts, &LIMITS);
    assert_eq!(summary.all_passed(), summary.checks.iter().all(|c| c.held));
    let failed = summary.checks.into_iter().filter(|check| !check.held);
    failed.map(|check| check.name).collect()
}

type Change = fn(&mut Summary, &mut SessionFacts);

#[test]
fn every_check_can_fail_and_none_passes_by_being_absent() {
    assert_eq!(failed(good(), &facts(None)), [""; 0]);
    let cases: [(&str, Change); 25] = [
        ("instants judged", |s, _| s.passivity.instants = 0),
        ("passivity violations", |s, _| s.passivity.violations = None),
        ("passivity violations", |s, _| {
            s.passivity.violations = Some(1)
        }),
        ("least channel energy, all axes together", |s, _| {
            s.passivity.min_channel_energy_j = Some(-1e-3);
        }),
        ("least channel energy, worst axis", |s, _| {
            s.passivity.min_channel_energy_per_axis_j[1] = f64::NAN;
        }),
        ("least energy put in by the hand", |s, _| {
            s.passivity.hand_energy_min_j = Some(-2e-9);
        }),
        ("least energy at the robot's measured port", |s, _| {
            s.passivity.robot_port_min_j = Some(-2e-6);
        }),
        ("least energy at the robot's measured port", |s, _| {
            s.passivity.robot_port_min_j = None;
        }),
        ("unpaired records, not judged", |s, _| {
            s.passivity.left_out = 9000
        }),
        ("ticks missing without a cause", |s, _| {
            s.passivity.missing_ticks = 3
        }),
        ("ticks of the slave", |s, _| s.ticks_by_side.slave = 0),
        ("frames used by the master", |s, _| {
            s.link.frames_used_back = Some(0)
        }),
        ("frames used by the slave", |s, _| {
            s.link.frames_used_fwd = None
        }),
        ("force on the hand", |s, _| {
            s.contact.peak_force_n = Some(f64::NAN)
        }),
        ("limit cycles", |s, _| s.safety.limit_cycles = Some(1)),
        ("motion while not enabled", |s, _| {
            s.safety.motion_beyond_stop_mm_max = None
        }),
        ("force of the tissue on the probe", |s, _| {
            s.safety.tissue_force_n_max = Some(8.1)
        }),
        ("speed of the robot", |s, _| {
            s.safety.robot_speed_mps_max = Some(f64::NAN)
        }),
        ("robot outside of its workspace", |s, _| {
            s.safety.outside_workspace_mm_max = Some(1.1)
        }),
        ("allocations on the servo threads", |s, _| {
            s.servo.allocations = None
        }),
        ("the slave ran to the end", |_, f| {
            f.live_parts = Some(vec![("slave", false)]);
        }),
        ("share of the ticks missed", |s, _| {
            s.servo.missed_ticks = Some(20);
            s.passivity.missing_ticks = 20;
        }),
        ("records lost", |s, _| {
            s.servo.records_lost = Some(2);
        }),
        ("one-way delays within their bound", |s, _| {
            s.link.oneway_bound_ok_fraction = Some(0.9989);
        }),
        ("one-way delays within their bound", |s, _| {
            s.link.oneway_bound_ok_fraction = None;
        }),
    ];
    for (name, change) in cases {
        let (mut summary, mut facts) = (good(), facts(None));
        change(&mut summary, &mut facts);
        assert_eq!(failed(summary, &facts), [name]);
    }
    let mut silent = good();
    silent.servo.records_lost = None;
    let both = ["records lost", "ticks missing without a cause"];
    assert_eq!(failed(silent, &facts(None)), both);
}

#[test]
fn one_side_alone_states_no_check_of_the_channel() {
    let mut summary = good();
    summary.passivity = PassivitySummary {
        robot_port_min_j: Some(0.0),
        ..PassivitySummary::of(&Audit::default())
    };
    summary.ticks_by_side.master = 0;
    assert_eq!(failed(summary, &facts(Some(Side::Slave))), [""; 0]);
}

#[test]
fn an_interrupted_session_is_good_until_a_check_fails() {
    let both = facts(None);
    let mut early = Summary {
        ending: Ending::Interrupted,
        ..Summary::default()
    };
    let mut found = early.clone();
    early.state_checks(&both, &LIMITS);
    assert!(!early.all_passed() && early.is_good());
    found.contact.peak_force_n = Some(7.0);
    found.state_checks(&both, &LIMITS);
    assert!(!found.is_good());
}

#[test]
fn an_audit_without_instants_has_no_values() {
    let passivity = PassivitySummary::of(&Audit::default());
    assert_eq!(passivity.violations, None);
    assert!(passivity.min_channel_energy_per_axis_j.is_empty());
}

#[test]
fn a_mode_that_claims_no_passivity_is_not_judged_by_it() {
    let stated = |passive| {
        let mut summary = judged();
        summary.state_checks(&facts(None), &SessionLimits { passive, ..LIMITS });
        let names = summary.checks.into_iter().map(|check| check.name);
        names.collect::<Vec<_>>()
    };
    let (claimed, unclaimed) = (stated(true), stated(false));
    assert_eq!(claimed.len(), unclaimed.len() + 6);
    assert!(claimed.iter().any(|name| name == "passivity violations"));
    assert!(
        !unclaimed
            .iter()
            .any(|name| name.contains("energy") || name.contains("passivity"))
    );
    assert!(unclaimed.iter().any(|name| name == "instants judged"));
}
