//! Text of a report: its first paragraph, its key figures, its table of checks. Source: ours.

use palpate_session::audit::TOLERANCE_J;
use palpate_transport::coupling::Mode;

use super::{escape, table};
use crate::conclusion::{Evidence, operator_name};
use crate::metrics::press::QUICK_S;
use crate::summary::{Check, ContactSummary, Summary};

/// Text of an unknown number.
pub(crate) const UNKNOWN: &str = "not known";

/// Formats a number: three significant digits, no exponent where it can be avoided.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "not a number".to_owned();
    }
    let size = value.abs();
    if size > 0.0 && size < 1e-4 {
        let text = format!("{value:.1e}").replace(".0e", "e");
        return text.replace('-', "\u{2212}");
    }
    let digits = match size {
        0.0 => 0,
        s if s < 0.01 => 5,
        s if s < 0.1 => 4,
        s if s < 1.0 => 3,
        s if s < 10.0 => 2,
        s if s < 100.0 => 1,
        _ => 0,
    };
    trimmed(&format!("{:.digits$}", value + 0.0)).replace('-', "\u{2212}")
}

/// Removes zeros at the end of a decimal number.
pub(crate) fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// Formats a number with a unit, or as unknown.
pub fn with_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or(UNKNOWN.to_owned(), |v| {
        format!("{} {unit}", number(v)).trim().to_owned()
    })
}

/// Displayed stiffness, or the reason for which it is unknown.
pub(crate) fn stiffness_in_words(contact: &ContactSummary) -> String {
    match (contact.displayed_stiffness_npm, &contact.stiffness_unknown) {
        (Some(npm), _) => format!("{} N/m", number(npm)),
        (None, Some(reason)) => format!("unknown: {reason}"),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// Note on the effect of quick presses on the numbers; None for slow ones.
pub(crate) fn quick_press_note(contact: &ContactSummary) -> Option<String> {
    let press_s = contact.press_s.filter(|&press_s| press_s < QUICK_S)?;
    Some(format!(
        "presses of {press_s:.2} s, not of {QUICK_S} s or more: part of the difference comes from the quick \
         presses, not from the channel"
    ))
}

/// First paragraph: conditions, displayed stiffness, result of the checks.
pub(super) fn opening(evidence: &Evidence<'_>, s: &Summary) -> String {
    let (config, facts) = (evidence.config, evidence.facts);
    if let Some(result) = &facts.rehearsal
        && facts.without_peer
    {
        return super::rehearsal::opening(&result.outcome, s.duration_s) + &verdict(&s.checks);
    }
    let mut text = format!(
        "A {} palpated for {}",
        escape(operator_name(config)),
        with_unit(s.duration_s.map(|d| (d * 10.0).round() / 10.0), "s")
    );
    if let Some(rtt) = s.link.rtt_ms_p50 {
        text += &format!(" through a network with a round trip of {} ms", number(rtt));
        if let Some(loss) = s.link.loss {
            text += &format!(" and {} % of the frames lost", number(loss * 100.0));
        }
    }
    if !facts.mode.is_empty() {
        text += &format!(", coupled by <b>{}</b>", escape(&config.requested_modes()));
        if !claims_passivity(&facts.mode) {
            text += ", which does not claim to be passive";
        }
    }
    text += ". ";
    let c = &s.contact;
    if let Some(reason) = &c.stiffness_unknown {
        let reason = escape(reason);
        text += &format!("The displayed stiffness of the tissue is unknown: {reason}. ");
    }
    if let (Some(displayed), Some(truth)) = (c.displayed_stiffness_npm, c.true_stiffness_npm) {
        let error = c.stiffness_error.unwrap_or(displayed / truth - 1.0) * 100.0;
        let than = if error < 0.0 { "softer" } else { "harder" };
        text += &format!(
            "The displayed stiffness of the tissue was {} N/m, the true one {} N/m, {} % {than}{}. ",
            number(displayed),
            number(truth),
            number((error.abs() * 10.0).round() / 10.0),
            quick_press_note(c).map_or(String::new(), |words| format!(" <b>({words})</b>"))
        );
    }
    if let Some(share) = c.contrast_transmission {
        text += &format!(
            "Of the contrast of the hidden lump, {} % was displayed to the hand. ",
            number((share * 100.0).round())
        );
    }
    text += &match s.passivity.violations {
        Some(0) => "At no instant did the channel emit more energy than it had received. ".into(),
        Some(n) => {
            format!("<b>At {n} instants the channel emitted more energy than it had received.</b> ")
        }
        None => String::new(),
    };
    text + &verdict(&s.checks)
}

/// Returns true if a coupling of this name claims passivity.
fn claims_passivity(mode: &str) -> bool {
    Mode::from_name(mode).is_none_or(Mode::is_passive)
}

fn verdict(checks: &[Check]) -> String {
    let failed = checks.iter().filter(|c| !c.held);
    let failed: Vec<_> = failed.map(|c| escape(&c.name)).collect();
    match (checks.len(), failed.len()) {
        (0, _) => "There were no checks.".to_owned(),
        (n, 0) => format!("All {n} checks passed."),
        (n, f) => format!("<b>{f} of {n} checks failed: {}.</b>", failed.join(", ")),
    }
}

/// Key figures at the top.
pub(super) fn cards(s: &Summary) -> String {
    let passed = s.checks.iter().filter(|c| c.held);
    let passed = format!("{}/{}", passed.count(), s.checks.len());
    let class = if s.all_passed() { "good" } else { "bad" };
    let mut cards = vec![card(class, "Checks", &passed, "", "passed")];
    let mut show = |name: &str, value: &str, unit: &str, under: &str| {
        cards.push(card("", name, value, unit, under));
    };
    if let Some(rtt) = s.link.rtt_ms_p50 {
        let p99 = s
            .link
            .rtt_ms_p99
            .map(|p| format!("99 % below {} ms", number(p)));
        show("Round trip", &number(rtt), "ms", &p99.unwrap_or_default());
    }
    contact_cards(&s.contact, &mut show);
    if let Some(outcome) = &s.rehearsal
        && let Some((m3, pieces)) = outcome.removed_m3.zip(outcome.pieces_count)
    {
        show(
            "Removed",
            &number((m3 * 1e9).round()),
            "mm\u{b3}",
            "of tissue",
        );
        show("Pieces", &pieces.to_string(), "", "at the end");
    }
    if let Some(least) = s.passivity.min_channel_energy_j {
        // an energy within the auditor's tolerance is rounding
        let least_mj = if least.abs() <= TOLERANCE_J {
            0.0
        } else {
            least * 1e3
        };
        show("Least energy", &number(least_mj), "mJ", "in the channel");
    }
    if let Some(p99) = s.servo.wake_us_p99 {
        show(
            "Late wake",
            &number(p99),
            "\u{b5}s",
            "99 % of the ticks are below",
        );
    }
    format!("<div class=\"cards\">{}</div>\n", cards.concat())
}

/// Key figures of the displayed contact.
fn contact_cards(c: &ContactSummary, show: &mut impl FnMut(&str, &str, &str, &str)) {
    let mut truth = format!("true {}", with_unit(c.true_stiffness_npm, "N/m"));
    if quick_press_note(c).is_some() {
        truth += "; quick presses";
    }
    match c.displayed_stiffness_npm {
        Some(displayed) => show("Displayed stiffness", &number(displayed), "N/m", &truth),
        None if c.stiffness_unknown.is_some() => show("Displayed stiffness", "unknown", "", &truth),
        None => {}
    }
    if let Some(share) = c.contrast_transmission {
        let [displayed, truth] = [c.contrast_displayed, c.contrast_true].map(percent);
        let under = format!("displayed {displayed}, true {truth}");
        show(
            "Lump contrast",
            &number((share * 100.0).round()),
            "%",
            &under,
        );
    }
    if let Some(peak) = c.peak_force_n {
        show("Largest force", &number(peak), "N", "on the hand");
    }
}

fn card(class: &str, name: &str, value: &str, unit: &str, under: &str) -> String {
    format!(
        "<div class=\"card {class}\"><div class=\"name\">{name}</div><div class=\"value\">{value}\
         <small>{unit}</small></div><div class=\"under\">{under}</div></div>"
    )
}

/// Escapes a text for HTML, with the parts between backticks as code.
pub fn code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut html = String::new();
    for (index, part) in parts.iter().enumerate() {
        // an unpaired backtick starts no code
        let (begin, end) = match (index % 2 == 1, index + 1 < parts.len()) {
            (true, true) => ("<code>", "</code>"),
            (true, false) => ("`", ""),
            _ => ("", ""),
        };
        html += &format!("{begin}{}{end}", escape(part));
    }
    html
}

/// Table of the checks, with PASS or FAIL, value and limit.
pub(super) fn checks(checks: &[Check]) -> String {
    if checks.is_empty() {
        return "<p class=\"none\">This run has no checks.</p>\n".to_owned();
    }
    let row = |c: &Check| {
        let (class, word) = match c.held {
            true => ("good", "PASS"),
            false => ("bad", "FAIL"),
        };
        vec![
            format!("<span class=\"pill {class}\">{word}</span>"),
            code(&c.name),
            c.value.map_or(UNKNOWN.to_owned(), number),
            c.requirement(&number(c.limit)),
            escape(&c.unit).replace("^3", "\u{b3}"),
        ]
    };
    let head = ["", "check", "#value", "#limit", "unit"];
    table(&head, checks.iter().map(row))
}

/// Formats a share as a percentage, or as unknown.
pub(crate) fn percent(value: Option<f64>) -> String {
    with_unit(value.map(|v| v * 100.0), "%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_backticks_becomes_code() {
        assert_eq!(
            code("the cut `a<b` holds"),
            "the cut <code>a&lt;b</code> holds"
        );
        assert_eq!(code("`x` and `y`"), "<code>x</code> and <code>y</code>");
        assert_eq!(code("one ` alone"), "one ` alone");
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        assert_eq!(number(0.0), "0");
        assert_eq!(number(-1e-9), "\u{2212}1e\u{2212}9");
        assert_eq!(number(0.34615), "0.346");
        assert_eq!(number(-4.9612), "\u{2212}4.96");
        assert_eq!(number(20.0), "20");
        assert_eq!(number(17248.0), "17248");
        assert_eq!(number(f64::NAN), "not a number");
    }
}
