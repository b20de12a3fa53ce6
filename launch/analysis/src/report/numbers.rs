//! Every number of a summary with its meaning, as one table; what the run could not know is only named.
//!
//! Source: ours.

use super::escape;
use super::words::{UNKNOWN, code, felt_in_words, percent, with_unit};
use crate::summary::Summary;

/// Table of numbers with their meaning; without another side, nothing of what is between the two.
pub(super) fn table(summary: &Summary, networked: bool) -> String {
    let mut html = String::from("<div class=\"wide\"><table><tbody>\n");
    const BETWEEN: [&str; 3] = ["How the robot followed", "The network", "Energy"];
    for (group, rows) in groups(summary) {
        if !networked && BETWEEN.contains(&group) {
            continue;
        }
        html += &format!("<tr class=\"group\"><th colspan=\"3\">{group}</th></tr>\n");
        let mut unknown = Vec::new();
        for (name, value, meaning) in rows {
            if value == UNKNOWN {
                unknown.push(name);
                continue;
            }
            html += &format!(
                "<tr><td>{name}</td><td class=\"n\">{}</td><td class=\"why\">{}</td></tr>\n",
                escape(&value),
                code(meaning)
            );
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

type Row = (&'static str, String, &'static str);

fn groups(s: &Summary) -> Vec<(&'static str, Vec<Row>)> {
    vec![
        ("What was felt", felt(s)),
        ("How the robot followed", followed(s)),
        ("The network", network(s)),
        ("Energy", energy(s)),
        ("The twin", twin(s)),
        ("The servo loops", servo(s)),
        ("Safety", safety(s)),
    ]
}

fn count(value: Option<u64>) -> String {
    value.map_or(UNKNOWN.to_owned(), |n| n.to_string())
}

fn felt(s: &Summary) -> Vec<Row> {
    let c = &s.contact;
    vec![
        (
            "Stiffness felt",
            felt_in_words(c),
            "Force over depth, damping and inertia apart; mean of the sites outside the lump.",
        ),
        (
            "Length of a press",
            with_unit(c.press_s, "s"),
            "Of the presses by which sites are judged, half were longer. Below 0.6 s they are quick \
             pushes, and what is felt is also mass and damping.",
        ),
        (
            "True stiffness",
            with_unit(c.true_stiffness_npm, "N/m"),
            "Of the remote tissue there: slope of a slow press with the same tool, as deep as this hand \
             presses the tissue itself, whatever the channel.",
        ),
        (
            "Error of stiffness",
            percent(c.stiffness_error),
            "People tell compliances apart from about 22 % on, elastic moduli from about 15 %.",
        ),
        (
            "Contrast felt",
            percent(c.contrast_displayed),
            "How much harder the lump felt than the rest.",
        ),
        (
            "True contrast",
            percent(c.contrast_true),
            "How much harder it is.",
        ),
        (
            "Contrast transmitted",
            percent(c.contrast_transmission),
            "The one over the other.",
        ),
        (
            "Force difference",
            with_unit(c.force_rmse_n, "N"),
            "Root mean square of force on the hand minus force on the probe, delay removed, in \
             contact.",
        ),
        (
            "Largest force",
            with_unit(c.peak_force_n, "N"),
            "On the hand.",
        ),
    ]
}

fn followed(s: &Summary) -> Vec<Row> {
    let t = &s.tracking;
    vec![
        (
            "Position difference",
            with_unit(t.position_rmse_mm, "mm"),
            "Root mean square of probe against handle, delay removed. In contact the two \
             differ, since force and not only position is exchanged.",
        ),
        (
            "Largest drift",
            with_unit(t.drift_mm_max, "mm"),
            "Lasting offset between the two ports, mean of 0.1 s.",
        ),
        (
            "Drift at the end",
            with_unit(t.drift_mm_end, "mm"),
            "What of it was left.",
        ),
        (
            "Longest resynchronisation",
            with_unit(t.resync_ms_max, "ms"),
            "From the end of an outage until within 2 mm again.",
        ),
    ]
}

fn network(s: &Summary) -> Vec<Row> {
    let l = &s.link;
    let mut rows = vec![
        (
            "Round trip",
            with_unit(l.rtt_ms_p50, "ms"),
            "Half of the frames took longer.",
        ),
        (
            "Round trip, 99 %",
            with_unit(l.rtt_ms_p99, "ms"),
            "One of a hundred took longer.",
        ),
        (
            "Jitter",
            with_unit(l.jitter_ms, "ms"),
            "Standard deviation of the one-way delay, worse direction.",
        ),
        ("Loss", percent(l.loss), "Frames that did not arrive."),
        (
            "Delay within its bound",
            percent(l.oneway_bound_ok_fraction),
            "Estimates that were as near to the truth as they promised, where the truth is known.",
        ),
        (
            "Frames to the robot",
            with_unit(l.packets_per_s_fwd, "per s"),
            "",
        ),
        (
            "Frames to the hand",
            with_unit(l.packets_per_s_back, "per s"),
            "",
        ),
        (
            "Traffic",
            with_unit(l.bytes_per_s.map(|b| b * 8e-6), "Mbit/s"),
            "Both directions.",
        ),
    ];
    if l.reconstruction_inside_fwd.is_some() {
        rows.push((
            "Velocity as shown to the robot",
            percent(l.reconstruction_inside_fwd),
            "Ticks at which what the codec shows is within its threshold of the truth.",
        ));
        rows.push((
            "Force as shown to the hand",
            percent(l.reconstruction_inside_back),
            "The same, the other way.",
        ));
    }
    rows
}

fn energy(s: &Summary) -> Vec<Row> {
    let p = &s.passivity;
    vec![
        (
            "Least energy in the channel",
            with_unit(p.min_channel_energy_j.map(|e| e * 1e3), "mJ"),
            "Recomputed from the logged ports by an auditor that shares no code with the \
             controllers.",
        ),
        (
            "Violations",
            count(p.violations),
            "Moments at which the channel gave more than it had.",
        ),
        (
            "Instants judged",
            p.instants.to_string(),
            "Moments at which the two ports were compared.",
        ),
        (
            "Left out",
            format!("{}, {}, {}", p.gaps, p.missing_ticks, p.left_out),
            "Gaps in the ticks of a side, ticks missing in them, and ticks of one side alone.",
        ),
        (
            "Interventions",
            count(p.interventions),
            "Ticks at which the account lowered a demand to what it could pay, or repaid a debt \
             by damping.",
        ),
        (
            "Least energy in the twin",
            with_unit(p.twin_internal_energy_min_j.map(|e| e * 1e3), "mJ"),
            "Inside the local model; single precision may round it below 0 by some 1e\u{2212}4 mJ.",
        ),
    ]
}

fn twin(s: &Summary) -> Vec<Row> {
    let t = &s.twin;
    let mut rows = vec![
        (
            "Method",
            t.method.clone().unwrap_or(UNKNOWN.to_owned()),
            "How the local tissue is computed.",
        ),
        (
            "Nodes, elements",
            format!("{}, {}", count(t.nodes), count(t.elements)),
            "",
        ),
        (
            "Time of a step",
            with_unit(t.step_us_p50, "\u{b5}s"),
            "Half of the steps took longer.",
        ),
        (
            "Time of a step, 99 %",
            with_unit(t.step_us_p99, "\u{b5}s"),
            "One of a hundred took longer.",
        ),
        (
            "How well the touched places were known",
            percent(t.confidence),
            "None as the twin was given, all where it was pressed before.",
        ),
        (
            "Share of the twin in what was felt",
            percent(t.twin_share),
            "The rest was relayed from the remote side; only `auto` blends the two.",
        ),
        (
            "What the mesh does to the twin's force",
            percent(t.mesh_error),
            "The tissue's own estimate of the cells' part in its force, where it was touched; within a \
             factor of three where it is more than a few percent.",
        ),
        (
            "The same in newtons",
            with_unit(t.mesh_error_rms_n, "N"),
            "Root mean square over the ticks in contact.",
        ),
        (
            "Error of the twin's stiffness",
            percent(t.stiffness_error),
            "Of the twin alone, in the same presses; what is felt has in it what the channel adds.",
        ),
        (
            "Contrast in the twin",
            percent(t.contrast_transmission),
            "Of the lump's.",
        ),
    ];
    rows.extend(updates(s));
    rows
}

/// What the twin was taught.
fn updates(s: &Summary) -> [Row; 3] {
    let t = &s.twin;
    [
        (
            "Updates",
            count(t.updates),
            "From what the remote side measured.",
        ),
        (
            "Energy of updates",
            with_unit(t.update_energy_j.map(|e| e * 1e3), "mJ"),
            "That they put into the model.",
        ),
        (
            "Force step of updates",
            percent(t.force_step_max_fraction_per_100ms),
            "Largest within 0.1 s, of the force then; below 7 % nobody should feel it.",
        ),
    ]
}

fn servo(s: &Summary) -> Vec<Row> {
    let v = &s.servo;
    vec![
        ("Period", with_unit(v.period_us, "\u{b5}s"), ""),
        (
            "Woke late, half",
            with_unit(v.wake_us_p50, "\u{b5}s"),
            "Half of the ticks woke later; virtual time is never late.",
        ),
        (
            "Woke late, 99 %",
            with_unit(v.wake_us_p99, "\u{b5}s"),
            "One of a hundred woke later.",
        ),
        (
            "Woke late, most",
            with_unit(v.wake_us_max, "\u{b5}s"),
            "The machine may take its CPU away at any time.",
        ),
        (
            "Bare timer, 99 %",
            with_unit(v.bare_timer_us_p99, "\u{b5}s"),
            "A timer that does nothing else, in the same run.",
        ),
        (
            "Computed, 99.9 %",
            with_unit(v.compute_us_p999, "\u{b5}s"),
            "One of a thousand took longer.",
        ),
        ("Late ticks", count(v.late_ticks), "A whole period or more."),
        (
            "Missed ticks",
            count(v.missed_ticks),
            "Deadlines that passed without a tick; never made up for.",
        ),
        (
            "Masked ticks",
            count(v.masked_ticks),
            "Too late for a step of the twin, which was asked what is felt now.",
        ),
        (
            "Records lost",
            count(v.records_lost),
            "That the recorders could not take in time.",
        ),
        (
            "Allocations",
            count(v.allocations),
            "On the servo threads after warm-up.",
        ),
    ]
}

fn safety(s: &Summary) -> Vec<Row> {
    let v = &s.safety;
    let hits: Vec<_> = v
        .limit_hits
        .iter()
        .filter(|(_, n)| **n > 0)
        .map(|(k, n)| format!("{k} {n}"))
        .collect();
    let list = |words: Vec<String>| {
        if words.is_empty() {
            "none".to_owned()
        } else {
            words.join(", ")
        }
    };
    vec![
        (
            "State at the end",
            v.state.clone().unwrap_or(UNKNOWN.to_owned()),
            "Of the robot.",
        ),
        ("Faults", list(v.faults.clone()), "That latched."),
        ("Limits", list(hits), "Ticks at which each acted."),
        (
            "Watchdog",
            count(v.watchdog_trips),
            "Times that nothing fresh came for too long.",
        ),
        (
            "Motion unasked",
            with_unit(v.uncommanded_motion_mm_max, "mm"),
            "Of the probe while the robot was not enabled, from where it was when that began.",
        ),
    ]
}
