//! What a report says in words: its first paragraph, its key figures, its tables. Source: ours.

use palpate_session::audit::TOLERANCE_J;
use palpate_transport::coupling::Mode;

use super::{ReportInput, escape};
use crate::metrics::press::QUICK_S;
use crate::summary::{Check, ContactSummary};

/// What is said of a number that the run could not know.
pub const UNKNOWN: &str = "not known";

/// A number for people: three significant digits, no exponent where it can be avoided.
pub fn number(value: f64) -> String {
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
pub fn with_unit(value: Option<f64>, unit: &str) -> String {
    value.map_or(UNKNOWN.to_owned(), |v| {
        format!("{} {unit}", number(v)).trim().to_owned()
    })
}

/// The stiffness felt, or that it is unknown and why.
pub(crate) fn felt_in_words(contact: &ContactSummary) -> String {
    match (contact.displayed_stiffness_npm, &contact.stiffness_unknown) {
        (Some(npm), _) => format!("{} N/m", number(npm)),
        (None, Some(reason)) => format!("unknown: {reason}"),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// That the presses were quick and what that does to the numbers; nothing for slow ones.
pub fn quick(contact: &ContactSummary) -> Option<String> {
    let press_s = contact.press_s.filter(|&press_s| press_s < QUICK_S)?;
    Some(format!(
        "quick pushes of {press_s:.2} s, not slow presses of {QUICK_S} s or more: the difference is \
         theirs as much as the channel's"
    ))
}

/// The first paragraph: what happened, what was felt, whether all checks held.
pub fn opening(input: &ReportInput<'_>) -> String {
    let s = input.summary;
    if let Some(done) = &input.facts.rehearsal
        && !input.facts.networked
    {
        return super::rehearsal::opening(input, done) + &verdict(&s.checks);
    }
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
        text += &format!(", coupled by <b>{}</b>", escape(input.mode));
        if !claims_passivity(&input.facts.mode) {
            text += ", which does not claim to be passive";
        }
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

/// Whether a coupling of this name claims passivity.
fn claims_passivity(mode: &str) -> bool {
    Mode::named(mode).is_none_or(Mode::is_passive)
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
pub(crate) fn cards(input: &ReportInput<'_>) -> String {
    let s = input.summary;
    let held = s.checks.iter().filter(|c| c.held).count();
    let mut html = String::from("<div class=\"cards\">");
    let mut card = |name: &str, value: String, unit: &str, under: String, class: &str| {
        html += &card_html(name, value, unit, under, class);
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
    if let Some(done) = &s.rehearsal {
        let mm3 = done.removed_m3.map(|m3| number((m3 * 1e9).round()));
        if let Some((mm3, pieces)) = mm3.zip(done.pieces_count) {
            card("Taken out", mm3, "mm\u{b3}", "of tissue".to_owned(), "");
            card(
                "Pieces",
                pieces.to_string(),
                "",
                "at the end".to_owned(),
                "",
            );
        }
    }
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

fn card_html(name: &str, value: String, unit: &str, under: String, class: &str) -> String {
    format!(
        "<div class=\"card {class}\"><div class=\"name\">{name}</div><div \
         class=\"value\">{value}\
         <small>{unit}</small></div><div class=\"under\">{under}</div></div>"
    )
}

/// A text as it stands, but for what is between backticks: that is code.
pub fn code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut html = String::new();
    for (index, part) in parts.iter().enumerate() {
        // one without another is no code
        let (begin, end) = match (index % 2 == 1, index + 1 < parts.len()) {
            (true, true) => ("<code>", "</code>"),
            (true, false) => ("`", ""),
            _ => ("", ""),
        };
        html += &format!("{begin}{}{end}", escape(part));
    }
    html
}

/// Table of the checks.
pub fn checks(checks: &[Check]) -> String {
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
                code(&c.name),
                c.value.map_or(UNKNOWN.to_owned(), number),
                c.asked(&number(c.limit)),
                escape(&c.unit).replace("^3", "\u{b3}")
            )
        })
        .collect();
    format!(
        "<div class=\"wide\"><table><thead><tr><th></th><th>what</th><th class=\"n\">found</th>\
         <th \
          class=\"n\">limit</th><th>unit</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// A share as a percentage with its sign, or that nobody knows.
pub fn percent(value: Option<f64>) -> String {
    with_unit(value.map(|v| v * 100.0), "%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_code_and_the_rest_as_it_stands() {
        assert_eq!(
            code("the cut `a<b` holds"),
            "the cut <code>a&lt;b</code> holds"
        );
        assert_eq!(code("`x` and `y`"), "<code>x</code> and <code>y</code>");
        assert_eq!(code("one ` alone"), "one ` alone");
    }

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
