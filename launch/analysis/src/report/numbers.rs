//! Table of every number of a summary with its meaning; unknown numbers are listed by name.
//!
//! A row has a name and a field of [`Summary`]. Its unit and its meaning are those of the field's comment, from which
//! the schema of `summary.json` is derived, too. Source: ours.

use serde_json::Value;

use super::escape;
use super::words::{UNKNOWN, code, stiffness_in_words, with_unit};
use crate::summary::{JSON_SCHEMA, Summary};

/// Rows under one heading, of one part of the summary: the name of each and its field.
struct Group {
    heading: &'static str,
    part: &'static str,
    rows: &'static [(&'static str, &'static str)],
}

/// Parts that describe the channel between two sides.
const CHANNEL_PARTS: [&str; 3] = ["tracking", "link", "passivity"];

const GROUPS: [Group; 7] = [
    Group {
        heading: "Contact",
        part: "contact",
        rows: &[
            ("Displayed stiffness", "displayed_stiffness_npm"),
            ("Length of a press", "press_s"),
            ("True stiffness", "true_stiffness_npm"),
            ("Stiffness error", "stiffness_error"),
            ("Displayed contrast", "contrast_displayed"),
            ("True contrast", "contrast_true"),
            ("Contrast transmission", "contrast_transmission"),
            ("Force difference", "force_rmse_n"),
            ("Largest force", "peak_force_n"),
        ],
    },
    Group {
        heading: "Tracking",
        part: "tracking",
        rows: &[
            ("Position error", "position_rmse_mm"),
            ("Largest drift", "drift_mm_max"),
            ("Residual drift at end", "drift_mm_end"),
            ("Longest resynchronisation", "resync_ms_max"),
        ],
    },
    Group {
        heading: "The network",
        part: "link",
        rows: &[
            ("Round trip", "rtt_ms_p50"),
            ("Round trip, 99 %", "rtt_ms_p99"),
            ("Jitter", "jitter_ms"),
            ("Loss", "loss"),
            ("Delay within its bound", "oneway_bound_ok_fraction"),
            ("Frames to the robot", "packets_per_s_fwd"),
            ("Frames to the hand", "packets_per_s_back"),
            ("Traffic", "bytes_per_s"),
            (
                "Velocity reconstruction at the robot",
                "reconstruction_inside_fwd",
            ),
            (
                "Force reconstruction at the hand",
                "reconstruction_inside_back",
            ),
        ],
    },
    Group {
        heading: "Energy",
        part: "passivity",
        rows: &[
            ("Least energy in the channel", "min_channel_energy_j"),
            ("Least energy put in by the hand", "hand_energy_min_j"),
            ("Energy put in by the hand", "hand_energy_end_j"),
            ("Least energy at the robot", "robot_port_min_j"),
            ("Its error by sensor noise", "robot_port_tolerance_j"),
            ("Not judged, of a side alone", "not_judged"),
            ("Violations", "violations"),
            ("Instants judged", "instants"),
            ("Gaps", "gaps"),
            ("Missing ticks", "missing_ticks"),
            ("Unpaired records", "left_out"),
            ("Interventions", "interventions"),
            ("Least energy in the twin", "twin_internal_energy_min_j"),
        ],
    },
    Group {
        heading: "The twin",
        part: "twin",
        rows: &[
            ("Method", "method"),
            ("Nodes", "nodes"),
            ("Elements", "elements"),
            ("Time of a step", "step_us_p50"),
            ("Time of a step, 99 %", "step_us_p99"),
            ("Confidence in contact", "confidence"),
            ("Share of the twin in the force", "twin_share"),
            ("Registered height of the surface", "height_m"),
            ("Mesh error of the force", "mesh_error_rms_n"),
            ("Relative mesh error", "mesh_error"),
            ("Error of the twin's stiffness", "stiffness_error"),
            ("Contrast in the twin", "contrast_transmission"),
            ("Updates", "updates"),
            ("Energy of updates", "update_energy_j"),
            ("Force step of updates", "force_step_max_fraction_per_100ms"),
        ],
    },
    Group {
        heading: "The servo loops",
        part: "servo",
        rows: &[
            ("Period", "period_us"),
            ("Late wake, median", "wake_us_p50"),
            ("Late wake, 99 %", "wake_us_p99"),
            ("Late wake, largest", "wake_us_max"),
            ("Bare timer, 99 %", "bare_timer_us_p99"),
            ("CPU time of a tick, 99.9 %", "compute_us_p999"),
            ("Late ticks", "late_ticks"),
            ("Missed ticks", "missed_ticks"),
            ("Fallback ticks", "fallback_ticks"),
            ("Records lost", "records_lost"),
            ("Allocations", "allocations"),
        ],
    },
    Group {
        heading: "Safety",
        part: "safety",
        rows: &[
            ("State at the end", "state"),
            ("Faults", "faults"),
            ("Tissues rebuilt", "tissue_rebuilds"),
            ("Limits", "limit_hits"),
            ("Limit cycles", "limit_cycles"),
            ("Watchdog", "watchdog_trips"),
            ("Uncommanded motion", "uncommanded_motion_mm_max"),
            ("Stopping distance", "stopping_distance_mm_max"),
            ("Yield", "yield_mm_max"),
            ("Motion beyond both", "motion_beyond_stop_mm_max"),
            ("Force on the tissue", "tissue_force_n_max"),
            ("Speed of the robot", "robot_speed_mps_max"),
            ("Outside of the workspace", "outside_workspace_mm_max"),
            ("Speed of approach, bound", "approach_mps_max"),
        ],
    },
];

/// Table of numbers with their meaning; without another side, the parts of the channel are left out.
pub(super) fn table(summary: &Summary, networked: bool) -> String {
    // keys are strings, and floats serialise without errors; the schema's own test parses it
    let values = serde_json::to_value(summary).unwrap_or_default();
    let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap_or_default();
    let mut html = String::from("<div class=\"wide\"><table><tbody>\n");
    let between = |group: &&Group| CHANNEL_PARTS.contains(&group.part);
    for group in GROUPS.iter().filter(|group| networked || !between(group)) {
        let heading = group.heading;
        html += &format!("<tr class=\"group\"><th colspan=\"3\">{heading}</th></tr>\n");
        let mut unknown = Vec::new();
        for &(name, field) in group.rows {
            let meaning = meaning(&schema, group.part, field);
            let text = match field {
                "displayed_stiffness_npm" => stiffness_in_words(&summary.contact),
                _ => shown(&values[group.part][field], unit(meaning)),
            };
            if text != UNKNOWN {
                html += &format!(
                    "<tr><td>{name}</td><td class=\"n\">{}</td><td class=\"why\">{}</td></tr>\n",
                    escape(&text),
                    code(&without_unit(meaning))
                );
            } else if !field.starts_with(CODEC_FIELD_PREFIX) {
                unknown.push(name);
            }
        }
        if !unknown.is_empty() {
            html += &format!(
                "<tr><td class=\"dim\">{UNKNOWN}</td><td></td><td class=\"why\">{}</td></tr>\n",
                unknown.join("; ")
            );
        }
    }
    html + "</tbody></table></div>\n"
}

/// Prefix of the fields that are not listed without a codec.
const CODEC_FIELD_PREFIX: &str = "reconstruction_inside";

/// Returns the description of a field in the schema.
fn meaning<'a>(schema: &'a Value, part: &str, field: &str) -> &'a str {
    let field = &schema["properties"][part]["properties"][field];
    field["description"].as_str().unwrap_or_default()
}

/// Returns the unit in brackets of a meaning.
fn unit(meaning: &str) -> &str {
    let bracketed = meaning
        .split_once(" [")
        .and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or("", |(unit, _)| unit)
}

fn without_unit(meaning: &str) -> String {
    meaning.replacen(&format!(" [{}]", unit(meaning)), "", 1)
}

/// Formats a value: a share as a percentage, others in a readable unit; a list by its entries, counts by their names
/// without those that are 0.
fn shown(value: &Value, unit: &str) -> String {
    let list = |words: Vec<String>| match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    };
    match value {
        Value::Null => UNKNOWN.to_owned(),
        Value::Number(number) if number.is_f64() => {
            let (scale, unit) = match unit {
                "" => (1e2, "%"),
                "J" => (1e3, "mJ"),
                "us" => (1.0, "\u{b5}s"),
                "1/s" => (1.0, "per s"),
                "byte/s" => (8e-6, "Mbit/s"),
                other => (1.0, other),
            };
            with_unit(number.as_f64().map(|value| value * scale), unit)
        }
        Value::String(text) => text.clone(),
        Value::Array(all) => list(all.iter().map(|value| shown(value, "")).collect()),
        Value::Object(counts) => {
            let nonzero = counts.iter().filter(|(_, count)| count.as_u64() != Some(0));
            list(
                nonzero
                    .map(|(name, count)| format!("{name} {count}"))
                    .collect(),
            )
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_field_of_the_summary_with_a_meaning() {
        let schema: Value = serde_json::from_str(JSON_SCHEMA).unwrap();
        for group in &GROUPS {
            for (name, field) in group.rows {
                let meaning = meaning(&schema, group.part, field);
                assert!(!meaning.is_empty(), "{name}: {field}");
            }
        }
    }

    #[test]
    fn units_come_from_the_meaning() {
        let meaning = "Median of it [us]; never late.";
        assert_eq!(shown(&20.0.into(), unit(meaning)), "20 \u{b5}s");
        assert_eq!(without_unit(meaning), "Median of it; never late.");
        assert_eq!(shown(&0.07.into(), ""), "7 %");
        assert_eq!(shown(&7.into(), ""), "7");
        assert_eq!(shown(&Value::Null, "N"), UNKNOWN);
        let hits = serde_json::json!({ "force": 0, "slew": 3 });
        assert_eq!(shown(&hits, ""), "slew 3");
        assert_eq!(shown(&serde_json::json!([]), ""), "none");
    }
}
