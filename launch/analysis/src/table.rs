//! Summary of a session in a few lines for a terminal: the most important numbers, and the checks.
//!
//! Source: ours. An unknown value reads `unknown`.

use std::collections::BTreeMap;

use super::conclusion::{self, Evidence};
use crate::rehearsal::ScriptOutcome;
use crate::report::words::trimmed;
use crate::report::{ModeComparison, quick_press_note};
use crate::summary::{Check, ContactSummary, PassivitySummary, ServoSummary, Summary};

/// Returns the most important numbers, one topic a line, then the checks.
#[must_use]
pub fn table(summary: &Summary, evidence: &Evidence<'_>) -> String {
    let Summary {
        link,
        passivity,
        contact,
        tracking,
        servo,
        ..
    } = summary;
    let ticks = summary.ticks.unwrap_or(0);
    let (mode, seed) = (evidence.config.requested_modes(), evidence.config.seed);
    let duration_s = shown(summary.duration_s, 1);
    let [p50, p99] = [link.rtt_ms_p50, link.rtt_ms_p99].map(|ms| shown(ms, 1));
    let loss = shown(link.loss.map(|loss| 100.0 * loss), 2);
    let rms_mm = shown(tracking.position_rmse_mm, 2);
    let drift_mm = shown(tracking.drift_mm_max, 2);
    let session = format!("{duration_s} s, {ticks} ticks, mode {mode}, seed {seed}");
    let network = format!("round trip {p50} ms (p50), {p99} ms (p99), loss {loss} %");
    let tracked = format!("{rms_mm} mm rms, drift at most {drift_mm} mm");
    let mut lines = vec![
        ("session", session),
        ("link", network),
        ("force", force(contact)),
        ("lump", lump(contact, evidence.comparison)),
        ("tracking", tracked),
        ("energy", energy(passivity) + no_passivity_note(evidence)),
    ];
    if evidence.facts.without_peer {
        // quantities between two sides do not exist
        lines.retain(|(name, _)| ["session", "force", "lump"].contains(name));
    }
    if let Some(outcome) = &summary.rehearsal {
        lines.retain(|(name, _)| !["force", "lump"].contains(name));
        lines.push(("script", script(summary, outcome)));
    }
    lines.extend(loops(servo).map(|words| ("servo", words)));
    let notes = [
        conclusion::topology_note(&summary.topology),
        conclusion::height_note(summary.twin.height_m),
    ];
    lines.extend(notes.into_iter().flatten().map(|words| ("tissue", words)));
    lines.extend(evidence.remarks.iter().map(|remark| ("", remark.clone())));
    let lines = lines
        .into_iter()
        .map(|(name, words)| format!("{name:<10} {words}\n"));
    lines.collect::<String>() + &checks(summary)
}

/// Result of a script of steps.
fn script(summary: &Summary, outcome: &ScriptOutcome) -> String {
    let out_mm3 = shown(outcome.removed_m3.map(|m3| m3 * 1e9), 0);
    format!(
        "`{}` of {} steps on `{}`: peak {} N, {out_mm3} mm^3 removed, {} pieces",
        outcome.script,
        outcome.steps.len(),
        outcome.scene,
        shown(summary.contact.peak_force_n, 2),
        count(outcome.pieces_count),
    )
}

/// Note for a coupling that is not judged by its energy.
fn no_passivity_note(evidence: &Evidence<'_>) -> &'static str {
    if evidence.config.coupling.mode.is_passive() {
        ""
    } else {
        " (this mode does not claim to be passive)"
    }
}

fn force(contact: &ContactSummary) -> String {
    let peak_n = shown(contact.peak_force_n, 2);
    let displayed = shown(contact.displayed_stiffness_npm, 0);
    let truth = shown(contact.true_stiffness_npm, 0);
    let note = match &contact.stiffness_unknown {
        Some(reason) => format!(" ({reason})"),
        None => quick_press_note(contact).map_or(String::new(), |words| format!(" ({words})")),
    };
    format!("peak {peak_n} N, stiffness displayed {displayed} N/m of {truth} N/m{note}")
}

fn lump(contact: &ContactSummary, comparison: Option<&ModeComparison>) -> String {
    let displayed = shown(contact.contrast_displayed, 2);
    let truth = shown(contact.contrast_true, 2);
    let beside = comparison.map_or(String::new(), |other| {
        let contrast = other.contact.contrast_displayed;
        format!("; {}: {}", other.name, shown(contrast, 2))
    });
    format!("contrast displayed {displayed} of {truth}{beside}")
}

fn energy(passivity: &PassivitySummary) -> String {
    let least = |energy_j: Option<f64>| energy_j.map_or("unknown".into(), |j| format!("{j:.1e}"));
    let not_judged = match passivity.not_judged.join(", ") {
        none if none.is_empty() => none,
        energies => format!("; not judged without the other side: {energies}"),
    };
    format!(
        "least in the channel {} J, {} violations; put in by the hand {} J, at the robot {} J{not_judged}",
        least(passivity.min_channel_energy_j),
        count(passivity.violations),
        least(passivity.hand_energy_min_j),
        least(passivity.robot_port_min_j),
    )
}

/// Servo statistics; None for virtual time, which has no servo loops.
fn loops(servo: &ServoSummary) -> Option<String> {
    let wake_us = shown(Some(servo.wake_us_p99?), 0);
    let bare_us = shown(servo.bare_timer_us_p99, 0);
    let (late, allocations) = (count(servo.late_ticks), count(servo.allocations));
    Some(format!(
        "late wake {wake_us} us (p99; a bare timer {bare_us}), {late} late ticks, \
         {allocations} allocations"
    ))
}

/// Returns the checks, one a line, with value and limit.
fn checks(summary: &Summary) -> String {
    let line = |check: &Check| {
        let verdict = if check.held { "PASS" } else { "FAIL" };
        format!("{verdict:<10} {}\n", check_words(check))
    };
    summary.checks.iter().map(line).collect()
}

/// Formats a check with its value and its limit, such as `force on the hand: 7 N, limit at most 6`.
#[must_use]
pub fn check_words(check: &Check) -> String {
    let value = check.value.map_or("n/a".into(), brief);
    let (name, unit) = (&check.name, &check.unit);
    let limit = check.requirement(&brief(check.limit));
    match check.held {
        true => format!("{name}: {value} {unit} ({limit})"),
        false => format!("{name}: {value} {unit}, limit {limit}"),
    }
}

/// Returns the actions of limits and guards, and the causes of late ticks.
#[must_use]
pub fn guards(summary: &Summary) -> String {
    let Summary {
        safety,
        servo,
        passivity,
        ..
    } = summary;
    let faults = or(safety.faults.join(", "), "none");
    format!(
        "limits     {}; limit cycles {}; watchdog trips {}; faults: {faults}\n\
         energy     {} ticks with a demand lowered or a debt repaid\n\
         late       {}\n",
        counts(&safety.limit_hits),
        count(safety.limit_cycles),
        count(safety.watchdog_trips),
        count(passivity.interventions),
        counts(&servo.late_causes),
    )
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let rows = counts.iter().map(|(name, count)| format!("{name} {count}"));
    or(rows.collect::<Vec<_>>().join(", "), "nothing")
}

/// Returns a text, or another instead of an empty one.
fn or(text: String, empty: &str) -> String {
    match text.is_empty() {
        true => empty.to_owned(),
        false => text,
    }
}

fn count(value: Option<u64>) -> String {
    value.map_or("unknown".into(), |count| count.to_string())
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or("unknown".into(), |value| format!("{value:.digits$}"))
}

/// Formats a number briefly in any magnitude.
fn brief(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-3..1e5).contains(&size) {
        trimmed(&format!("{value:.3}")).to_owned()
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_in_any_magnitude() {
        for (value, expected) in [
            (0.0, "0"),
            (6.5, "6.5"),
            (-1e-9, "-1.00e-9"),
            (1234.0, "1234"),
            (2e9, "2.00e9"),
        ] {
            assert_eq!(brief(value), expected);
        }
        assert_eq!(shown(None, 2), "unknown");
    }

    #[test]
    fn issue_the_headline_did_not_say_that_presses_were_quick() {
        let contact = |press_s| ContactSummary {
            displayed_stiffness_npm: Some(212.0),
            true_stiffness_npm: Some(187.0),
            press_s: Some(press_s),
            ..ContactSummary::default()
        };
        let text = force(&contact(0.43));
        let words = "displayed 212 N/m of 187 N/m (presses of 0.43 s";
        assert!(text.contains(words), "{text}");
        assert!(force(&contact(0.65)).ends_with("of 187 N/m"));
    }

    #[test]
    fn a_failed_check_reads_fail_with_value_and_limit() {
        let mut summary = Summary::default();
        summary
            .checks
            .push(Check::at_most("force on the hand", Some(7.0), 6.0, "N"));
        summary
            .checks
            .push(Check::at_most("violations", Some(0.0), 0.0, "ticks"));
        let text = checks(&summary);
        assert!(
            text.starts_with("FAIL       force on the hand: 7 N, limit at most 6\nPASS "),
            "{text}"
        );
        assert!(guards(&summary).contains("limits     nothing"));
    }
}
