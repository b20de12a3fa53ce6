//! The page of a what-if: the same hand, two sessions, both curves.
//!
//! Source: ours.

use std::fmt::Write as _;

use palpate_analysis::metrics::Traces;
use palpate_analysis::metrics::press::{depth_m, push_n};
use palpate_analysis::report::plot::{COLUMNS, Chart, Ink, Series, Shape, thin};
use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};
use palpate_analysis::summary::Summary;
use palpate_transport::Span;
use palpate_transport::trace::TickRecord;

use crate::trial::metric;

/// What the first of the two sessions is: it was run anew, so it is not the recording.
const BASE: &str = "same hand, recorded settings";

/// One of the two sessions.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its numbers.
    pub summary: &'a Summary,
    /// Its records.
    pub traces: Traces<'a>,
}

/// All that the page is made of.
#[derive(Debug, Clone, Copy)]
pub struct WhatIf<'a> {
    /// Name of the recorded session.
    pub title: &'a str,
    /// What was changed, as `field=value`.
    pub changes: &'a [String],
    /// The same hand under the recorded settings, in virtual time.
    pub base: Side<'a>,
    /// With the changes.
    pub now: Side<'a>,
}

/// The page, as HTML.
#[must_use]
pub fn render(input: &WhatIf<'_>) -> String {
    let changes = escape(&input.changes.join(", "));
    let good = input.now.summary.all_held();
    let lead = format!(
        "The recorded hand twice more in virtual time, under the recorded settings and with <b>{changes}</b>. Both sessions \
         have the same hand on an ideal handle, so what differs is what was changed."
    );
    let class = if good { "good" } else { "bad" };
    let title = format!("{}: what if?", input.title);
    let mut html = head(&title, "replay", "recorded hand", class, &lead) + "</header>\n";
    let force = chart(input, "force on the hand [N]", &|side| {
        points(side.traces.master, push_n)
    });
    let depth = chart(input, "depth of the handle [mm]", &|side| {
        points(side.traces.master, |r| 1e3 * depth_m(r))
    });
    let probe = chart(input, "depth of the probe [mm]", &|side| {
        points(side.traces.slave, |r| 1e3 * depth_m(r))
    });
    html += &section("force", "Force", &force);
    html += &section("motion", "Motion", &(depth + &probe));
    html += &section("numbers", "All numbers", &table(input));
    let _ = writeln!(
        html,
        "<footer>Palpate {} \u{b7} traces {} and {}</footer>",
        env!("CARGO_PKG_VERSION"),
        escape(
            input
                .base
                .summary
                .trace_hash
                .as_deref()
                .unwrap_or("unknown")
        ),
        escape(input.now.summary.trace_hash.as_deref().unwrap_or("unknown"))
    );
    html + "</main></body></html>\n"
}

/// Both sessions of one quantity.
fn chart(input: &WhatIf<'_>, y: &str, of: &dyn Fn(&Side<'_>) -> Vec<(f64, f64)>) -> String {
    let chart = Chart {
        x: "time [s]".to_owned(),
        y: y.to_owned(),
        height: 620,
        series: vec![
            Series::line(BASE, Ink::Truth, of(&input.base)).shaped(Shape::Thin),
            Series::line(&input.changes.join(", "), Ink::Master, of(&input.now)),
        ],
        ..Chart::default()
    };
    chart.figure("")
}

fn points(records: &[TickRecord], of: impl Fn(&TickRecord) -> f64) -> Vec<(f64, f64)> {
    let start_ns = records.first().map_or(0, |record| record.now_ns);
    let point = |r: &TickRecord| (Span(r.now_ns - start_ns).s(), of(r));
    thin(&records.iter().map(point).collect::<Vec<_>>(), COLUMNS)
}

fn table(input: &WhatIf<'_>) -> String {
    let mut rows = String::new();
    let show = |value: Option<f64>| value.map_or("\u{2014}".to_owned(), number);
    for (words, unit, base, now) in both(input.base.summary, input.now.summary) {
        let difference = base.zip(now).map(|(base, now)| now - base);
        let _ = write!(
            rows,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
             <td>{unit}</td></tr>",
            escape(words),
            show(base),
            show(now),
            show(difference)
        );
    }
    format!(
        "<div class=\"wide\"><table><thead><tr><th></th><th class=\"n\">{BASE}</th><th class=\"n\">what \
         if</th><th class=\"n\">difference</th><th></th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

type Pair = (&'static str, &'static str, Option<f64>, Option<f64>);

/// What either session knows, metric by metric.
fn both(base: &Summary, now: &Summary) -> impl Iterator<Item = Pair> {
    let values = metric::of_session(base)
        .into_iter()
        .zip(metric::of_session(now));
    let named = metric::session_words().zip(values);
    named
        .map(|((words, unit), (base, now))| (words, unit, base, now))
        .filter(|(.., base, now)| base.is_some() || now.is_some())
}

/// The same for a terminal.
#[must_use]
pub fn lines(base: &Summary, now: &Summary) -> String {
    let mut text = format!("{BASE:>56}{:>14}\n", "what if");
    let show = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    for (words, unit, base, now) in both(base, now) {
        let _ = writeln!(
            text,
            "{words:<42}{:>14}{:>14} {unit}",
            show(base),
            show(now)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_both_curves_and_asks_nobody() {
        let record = |k: i64| TickRecord {
            now_ns: k * 1_000_000,
            port_force_n: [0.0, 0.0, -(k as f64), 0.0],
            ..TickRecord::default()
        };
        let records: Vec<TickRecord> = (0..10).map(record).collect();
        let mut summary = Summary::default();
        summary.contact.force_rmse_n = Some(0.25);
        let side = Side {
            summary: &summary,
            traces: Traces {
                master: &records,
                slave: &records,
            },
        };
        let html = render(&WhatIf {
            title: "a<b",
            changes: &["rtt-ms=400".to_owned()],
            base: side,
            now: side,
        });
        for word in ["http", "src=", "url(", "<script", "href=", "NaN"] {
            assert!(!html.contains(word), "{word}");
        }
        for word in ["a&lt;b", "rtt-ms=400", BASE, "force difference"] {
            assert!(html.contains(word), "{word}");
        }
        assert!(lines(&summary, &summary).contains("0.2500"));
    }
}
