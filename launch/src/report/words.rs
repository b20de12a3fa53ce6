//! What a report says in words: its first paragraph, its key figures, its tables. Source: ours.

use super::{ReportInput, escape};
use crate::audit::TOLERANCE_J;
use crate::metrics::press::QUICK_S;
use crate::summary::{Check, ContactSummary, Summary};

/// A number for people: three significant digits, no exponent where it can be avoided.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    let size = value.abs();
    let text = match size {
        0.0 => return "0".to_owned(),
        s if s < 1e-4 => {
            return format!("{value:.1e}")
                .replace(".0e", "e")
                .replace('-', "\u{2212}");
        }
        s if s < 0.01 => format!("{value:.5}"),
        s if s < 0.1 => format!("{value:.4}"),
        s if s < 1.0 => format!("{value:.3}"),
        s if s < 10.0 => format!("{value:.2}"),
        s if s < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    text.replace('-', "\u{2212}")
}

/// The same with a unit, or that nobody knows.
pub(super) fn with_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or("not known".to_owned(), |v| {
        format!("{} {unit}", number(v)).trim().to_owned()
    })
}

/// The stiffness felt, or that it is unknown and why.
fn felt_in_words(contact: &ContactSummary) -> String {
    match (contact.displayed_stiffness_npm, &contact.stiffness_unknown) {
        (Some(npm), _) => format!("{} N/m", number(npm)),
        (None, Some(reason)) => format!("unknown: {reason}"),
        (None, None) => "not known".to_owned(),
    }
}

/// That the presses were quick and what that does to the numbers; nothing for slow ones.
pub(crate) fn quick(contact: &ContactSummary) -> Option<String> {
    let press_s = contact.press_s.filter(|&press_s| press_s < QUICK_S)?;
    Some(format!(
        "quick pushes of {press_s:.2} s, not slow presses of {QUICK_S} s or more: the difference is \
         theirs as much as the channel's"
    ))
}

/// The first paragraph: what happened, what was felt, whether all checks held.
pub(super) fn opening(input: &ReportInput<'_>) -> String {
    let s = input.summary;
    let mut text = format!(
        "A {} palpated for {}",
        escape(input.operator),
        with_unit(s.duration_s.map(|d| (d * 10.0).round() / 10.0), "s")
    );
    text += &match (s.link.rtt_ms_p50, s.link.loss) {
        (Some(rtt), Some(loss)) => format!(
            " through a network with a round trip of {} ms and {} % of the frames lost",
            number(rtt),
            number(loss * 100.0)
        ),
        (Some(rtt), None) => format!(" through a network with a round trip of {} ms", number(rtt)),
        _ => String::new(),
    };
    if !input.facts.mode.is_empty() {
        text += &format!(", coupled by <b>{}</b>", escape(&input.facts.mode));
    }
    text += ". ";
    let c = &s.contact;
    if let Some(reason) = &c.stiffness_unknown {
        text += &format!(
            "How stiff the tissue felt cannot be told: {}. ",
            escape(reason)
        );
    }
    if let (Some(felt), Some(truth)) = (c.displayed_stiffness_npm, c.true_stiffness_npm) {
        let error = c.stiffness_error.unwrap_or(felt / truth - 1.0) * 100.0;
        let than = if error < 0.0 { "softer" } else { "harder" };
        text += &format!(
            "The tissue felt like {} N/m where it is {} N/m, {} % {than}{}. ",
            number(felt),
            number(truth),
            number((error.abs() * 10.0).round() / 10.0),
            quick(c).map_or(String::new(), |words| format!(" <b>({words})</b>"))
        );
    }
    if let Some(share) = c.contrast_transmission {
        text += &format!(
            "Of the contrast of the hidden lump, {} % reached the hand. ",
            number((share * 100.0).round())
        );
    }
    text += &match s.passivity.violations {
        Some(0) => {
            "At no moment did the channel give out energy that it had not been given. ".into()
        }
        Some(n) => {
            format!("<b>At {n} moments the channel gave out energy it had not been given.</b> ")
        }
        None => String::new(),
    };
    text + &verdict(&s.checks)
}

fn verdict(checks: &[Check]) -> String {
    let failed: Vec<_> = checks
        .iter()
        .filter(|c| !c.held)
        .map(|c| escape(&c.name))
        .collect();
    match (checks.len(), failed.len()) {
        (0, _) => "Nothing was checked.".to_owned(),
        (n, 0) => format!("All {n} checks held."),
        (n, f) => format!(
            "<b>{f} of {n} checks did not hold: {}.</b>",
            failed.join(", ")
        ),
    }
}

/// Key figures at the top.
pub(super) fn cards(input: &ReportInput<'_>) -> String {
    let s = input.summary;
    let held = s.checks.iter().filter(|c| c.held).count();
    let mut html = String::from("<div class=\"cards\">");
    let mut card = |name: &str, value: String, unit: &str, under: String, class: &str| {
        html += &card_html(name, (value, unit), under, class);
    };
    let class = if s.all_held() { "good" } else { "bad" };
    card(
        "Checks",
        format!("{held}/{}", s.checks.len()),
        "held",
        String::new(),
        class,
    );
    if let Some(rtt) = s.link.rtt_ms_p50 {
        let p99 = s
            .link
            .rtt_ms_p99
            .map_or(String::new(), |p| format!("99 % below {} ms", number(p)));
        card("Round trip", number(rtt), "ms", p99, "");
    }
    contact_cards(input, &mut card);
    if let Some(least) = s.passivity.min_channel_energy_j {
        // what the judge forgives as rounding is no energy
        let least_mj = if least.abs() <= TOLERANCE_J {
            0.0
        } else {
            least * 1e3
        };
        card(
            "Least energy",
            number(least_mj),
            "mJ",
            "in the channel, ever".to_owned(),
            "",
        );
    }
    if let Some(p99) = s.servo.wake_us_p99 {
        card(
            "Servo wake-up",
            number(p99),
            "\u{b5}s late",
            "99 % of the ticks".to_owned(),
            "",
        );
    }
    html + "</div>\n"
}

/// Key figures of what was felt.
fn contact_cards(input: &ReportInput<'_>, card: &mut impl FnMut(&str, String, &str, String, &str)) {
    let s = input.summary;
    let mut truth = format!("true {}", with_unit(s.contact.true_stiffness_npm, "N/m"));
    if quick(&s.contact).is_some() {
        truth += "; quick pushes";
    }
    match s.contact.displayed_stiffness_npm {
        Some(felt) => card("Felt stiffness", number(felt), "N/m", truth, ""),
        None if s.contact.stiffness_unknown.is_some() => {
            card("Felt stiffness", "unknown".to_owned(), "", truth, "");
        }
        None => {}
    }
    if let Some(share) = s.contact.contrast_transmission {
        card(
            "Lump contrast",
            number((share * 100.0).round()),
            "%",
            format!(
                "felt {}, true {}",
                percent(s.contact.contrast_displayed),
                percent(s.contact.contrast_true)
            ),
            "",
        );
    }
    if let Some(peak) = s.contact.peak_force_n {
        card(
            "Largest force",
            number(peak),
            "N",
            "on the hand".to_owned(),
            "",
        );
    }
}

fn card_html(name: &str, (value, unit): (String, &str), under: String, class: &str) -> String {
    format!(
        "<div class=\"card {class}\"><div class=\"name\">{name}</div><div \
         class=\"value\">{value}\
         <small>{unit}</small></div><div class=\"under\">{under}</div></div>"
    )
}

/// Table of the checks.
pub(super) fn checks(checks: &[Check]) -> String {
    if checks.is_empty() {
        return "<p class=\"none\">This run stated nothing about itself.</p>\n".to_owned();
    }
    let rows: String = checks
        .iter()
        .map(|c| {
            let (class, word) = if c.held {
                ("good", "held")
            } else {
                ("bad", "did not hold")
            };
            format!(
                "<tr><td><span class=\"pill {class}\">{word}</span></td><td>{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                escape(&c.name),
                c.value.map_or("not known".to_owned(), number),
                number(c.limit),
                escape(&c.unit)
            )
        })
        .collect();
    format!(
        "<div class=\"wide\"><table><thead><tr><th></th><th>what</th><th class=\"n\">found</th>\
         <th \
          class=\"n\">limit</th><th>unit</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// Table of numbers with their meaning.
pub(super) fn numbers(summary: &Summary) -> String {
    let mut html = String::from("<div class=\"wide\"><table><tbody>\n");
    for (group, rows) in groups(summary) {
        html += &format!("<tr class=\"group\"><th colspan=\"3\">{group}</th></tr>\n");
        for (name, value, meaning) in rows {
            let class = if value == "not known" { "n dim" } else { "n" };
            html += &format!(
                "<tr><td>{name}</td><td class=\"{class}\">{}</td><td \
                 class=\"why\">{meaning}</td></tr>\n",
                escape(&value)
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

pub(super) fn percent(value: Option<f64>) -> String {
    with_unit(value.map(|v| v * 100.0), "%")
}

fn count(value: Option<u64>) -> String {
    value.map_or("not known".to_owned(), |n| n.to_string())
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
            "From the end of an outage until within 2 mm again; not known without an outage.",
        ),
    ]
}

fn network(s: &Summary) -> Vec<Row> {
    let l = &s.link;
    vec![
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
    ]
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
    vec![
        (
            "Method",
            t.method.clone().unwrap_or("not known".to_owned()),
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
            "Error of the twin's stiffness",
            percent(t.stiffness_error),
            "Of the twin alone, in the same presses; what is felt has in it what the channel adds.",
        ),
        (
            "Contrast in the twin",
            percent(t.contrast_transmission),
            "Of the lump's.",
        ),
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
            "Not known of virtual time, which is never late.",
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
            v.state.clone().unwrap_or("not known".to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(-1e-9), "\u{2212}1e\u{2212}9");
        assert_eq!(number(0.34615), "0.346");
        assert_eq!(number(-4.9612), "\u{2212}4.96");
        assert_eq!(number(20.0), "20");
        assert_eq!(number(17248.0), "17248");
        assert_eq!(number(f64::NAN), "not a number");
    }
}
