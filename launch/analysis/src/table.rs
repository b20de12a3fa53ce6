//! A session in a few lines for a terminal: the most important numbers, and the checks.
//!
//! Source: ours. What is not known is called so.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::conclude::{self, Evidence};
use crate::rehearsed::Outcome;
use crate::report::{Comparison, quick};
use crate::summary::{ContactSummary, PassivitySummary, ServoSummary, Summary};

/// The most important numbers, one idea a line, then the checks.
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
    let (mode, seed) = (evidence.config.modes_said(), evidence.config.seed);
    let duration_s = shown(summary.duration_s, 1);
    let [p50, p99] = [link.rtt_ms_p50, link.rtt_ms_p99].map(|ms| shown(ms, 1));
    let loss = shown(link.loss.map(|loss| 100.0 * loss), 2);
    let rms_mm = shown(tracking.position_rmse_mm, 2);
    let drift_mm = shown(tracking.drift_mm_max, 2);
    let mut lines = vec![
        (
            "session",
            format!("{duration_s} s, {ticks} ticks, mode {mode}, seed {seed}"),
        ),
        (
            "link",
            format!("round trip {p50} ms (p50), {p99} ms (p99), loss {loss} %"),
        ),
        ("force", force(contact)),
        ("lump", lump(contact, evidence.comparison)),
        (
            "tracking",
            format!("{rms_mm} mm rms, drift at most {drift_mm} mm"),
        ),
        ("energy", energy(passivity) + unclaimed(evidence)),
    ];
    if !evidence.facts.networked {
        // what is between two sides is not there
        lines.retain(|(name, _)| ["session", "force", "lump"].contains(name));
    }
    if let Some(done) = &summary.rehearsal {
        lines.retain(|(name, _)| !["force", "lump"].contains(name));
        lines.push(("script", script(summary, done)));
    }
    lines.extend(loops(servo).map(|words| ("servo", words)));
    lines.extend(conclude::opened(&summary.topology).map(|words| ("tissue", words)));
    lines.extend(evidence.remarks.iter().map(|remark| ("", remark.clone())));
    let mut text = String::new();
    for (name, words) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<10} {words}");
    }
    text + &checks(summary)
}

/// What a script of steps did.
fn script(summary: &Summary, done: &Outcome) -> String {
    let out_mm3 = shown(done.removed_m3.map(|m3| m3 * 1e9), 0);
    format!(
        "`{}` of {} steps on `{}`: peak {} N, {out_mm3} mm^3 taken out, pieces {}",
        done.script,
        done.steps.len(),
        done.scene,
        shown(summary.contact.peak_force_n, 2),
        count(done.pieces_count),
    )
}

/// What must be said of a coupling that is not judged by its energy.
fn unclaimed(evidence: &Evidence<'_>) -> &'static str {
    if evidence.config.coupling.mode.is_passive() {
        ""
    } else {
        " (this mode does not claim to be passive)"
    }
}

fn force(contact: &ContactSummary) -> String {
    let peak_n = shown(contact.peak_force_n, 2);
    let felt = shown(contact.displayed_stiffness_npm, 0);
    let real = shown(contact.true_stiffness_npm, 0);
    let why = match &contact.stiffness_unknown {
        Some(reason) => format!(" ({reason})"),
        None => quick(contact).map_or(String::new(), |words| format!(" ({words})")),
    };
    format!("peak {peak_n} N, stiffness felt {felt} N/m of {real} N/m{why}")
}

fn lump(contact: &ContactSummary, comparison: Option<&Comparison>) -> String {
    let felt = shown(contact.contrast_displayed, 2);
    let real = shown(contact.contrast_true, 2);
    let beside = comparison.map_or(String::new(), |other| {
        let contrast = other.contact.contrast_displayed;
        format!("; {}: {}", other.name, shown(contrast, 2))
    });
    format!("contrast felt {felt} of {real}{beside}")
}

fn energy(passivity: &PassivitySummary) -> String {
    let least = passivity
        .min_channel_energy_j
        .map_or("unknown".into(), |j| format!("{j:.1e}"));
    let violations = count(passivity.violations);
    format!("least in the channel {least} J, {violations} violations")
}

/// Nothing for virtual time, which has no loops.
fn loops(servo: &ServoSummary) -> Option<String> {
    let wake_us = shown(Some(servo.wake_us_p99?), 0);
    let bare_us = shown(servo.bare_timer_us_p99, 0);
    let (late, allocations) = (count(servo.late_ticks), count(servo.allocations));
    Some(format!(
        "wakes {wake_us} us late (p99; a bare timer {bare_us}), {late} late ticks, \
         {allocations} allocations"
    ))
}

/// The checks, one a line.
fn checks(summary: &Summary) -> String {
    let mut text = String::new();
    for check in &summary.checks {
        let verdict = if check.held { "held" } else { "BROKEN" };
        let value = check.value.map_or("unknown".into(), brief);
        let limit = brief(check.limit);
        let _ = writeln!(
            text,
            "{verdict:<10} {}: {value} {} ({})",
            check.name,
            check.unit,
            check.asked(&limit)
        );
    }
    text
}

/// What limits and guards did, and why ticks were late.
#[must_use]
pub fn guards(summary: &Summary) -> String {
    let Summary {
        safety,
        servo,
        passivity,
        ..
    } = summary;
    let faults = if safety.faults.is_empty() {
        "none".into()
    } else {
        safety.faults.join(", ")
    };
    format!(
        "limits     {}; trips of the watchdog {}; faults: {faults}\n\
         account    {} ticks with less than was asked, or with a debt repaid\n\
         late       {}\n",
        counts(&safety.limit_hits),
        count(safety.watchdog_trips),
        count(passivity.interventions),
        counts(&servo.late_causes),
    )
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let rows: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if rows.is_empty() {
        "nothing".into()
    } else {
        rows.join(", ")
    }
}

fn count(value: Option<u64>) -> String {
    value.map_or("unknown".into(), |count| count.to_string())
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or("unknown".into(), |value| format!("{value:.digits$}"))
}

/// Short in any magnitude.
fn brief(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-3..1e5).contains(&size) {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Check;

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
        let words = "felt 212 N/m of 187 N/m (quick pushes of 0.43 s";
        assert!(text.contains(words), "{text}");
        assert!(force(&contact(0.65)).ends_with("of 187 N/m"));
    }

    #[test]
    fn a_broken_check_stands_out() {
        let mut summary = Summary::default();
        summary
            .checks
            .push(Check::at_most("force on the hand", Some(7.0), 6.0, "N"));
        summary
            .checks
            .push(Check::at_most("violations", Some(0.0), 0.0, "ticks"));
        let text = checks(&summary);
        assert!(
            text.starts_with("BROKEN     force on the hand: 7 N (at most 6)\nheld "),
            "{text}"
        );
        assert!(guards(&summary).contains("limits     nothing"));
    }
}
