//! Page of a what-if: the same hand in two sessions, with both curves.
//!
//! Source: ours.

use std::fmt::Write as _;

use palpate_analysis::metrics::Traces;
use palpate_analysis::metrics::press::{depth_m, push_n};
use palpate_analysis::report::plot::{COLUMNS, Chart, Ink, Series, SeriesShape, thin};
use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};
use palpate_analysis::summary::Summary;
use palpate_transport::Span;
use palpate_transport::trace::TickRecord;

use super::table;
use crate::trial::metric::{self, Metric};

/// Label of the first of the two sessions: a new run, not the recording itself.
const BASE: &str = "same hand, recorded settings";

/// Session of a what-if.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WhatIfSide<'a> {
    /// Measured summary.
    pub(crate) summary: &'a Summary,
    /// Records.
    pub(crate) traces: Traces<'a>,
}

/// Renders the page of a recorded session of this title as HTML: the changes, as `field=value`, and the same hand
/// under the recorded settings, in virtual time, and with the changes.
pub(crate) fn render(title: &str, changes: &[String], sides: [WhatIfSide<'_>; 2]) -> String {
    let [base, now] = sides;
    let changes = changes.join(", ");
    let good = now.summary.all_passed();
    let lead = format!(
        "The recorded hand twice more in virtual time, under the recorded settings and with <b>{}</b>. Both sessions \
         have the same hand on an ideal handle, so what differs is what was changed.",
        escape(&changes)
    );
    let class = if good { "good" } else { "bad" };
    let title = format!("{title}: what if?");
    let mut html = head(&title, "replay", "recorded hand", class, &lead) + "</header>\n";
    let chart = |y: &str, of: &dyn Fn(&WhatIfSide<'_>) -> Vec<(f64, f64)>| {
        let chart = Chart {
            x: "time [s]".to_owned(),
            y: y.to_owned(),
            height: 620,
            series: vec![
                Series::line(BASE, Ink::Truth, of(&base)).shaped(SeriesShape::Thin),
                Series::line(&changes, Ink::Master, of(&now)),
            ],
            ..Chart::default()
        };
        chart.figure("")
    };
    let depth = |records: &[TickRecord]| points(records, |r| 1e3 * depth_m(r));
    let force = chart("force on the hand [N]", &|side| {
        points(side.traces.master, push_n)
    });
    let handle = chart("depth of the handle [mm]", &|side| {
        depth(side.traces.master)
    });
    let probe = chart("depth of the probe [mm]", &|side| depth(side.traces.slave));
    html += &section("force", "Force", &force);
    html += &section("motion", "Motion", &(handle + &probe));
    html += &section("numbers", "All numbers", &numbers(&base, &now));
    let [base, now] = [base, now].map(|side| side.summary.trace_hash.as_deref());
    let _ = writeln!(
        html,
        "<footer>Palpate {} \u{b7} traces {} and {}</footer>",
        env!("CARGO_PKG_VERSION"),
        escape(base.unwrap_or("unknown")),
        escape(now.unwrap_or("unknown"))
    );
    html + "</main></body></html>\n"
}

fn points(records: &[TickRecord], of: impl Fn(&TickRecord) -> f64) -> Vec<(f64, f64)> {
    let start_ns = records.first().map_or(0, |record| record.now_ns);
    let point = |r: &TickRecord| (Span(r.now_ns - start_ns).s(), of(r));
    thin(&records.iter().map(point).collect::<Vec<_>>(), COLUMNS)
}

/// Metrics that either session has.
fn known(
    base: &Summary,
    now: &Summary,
) -> impl Iterator<Item = (Metric, Option<f64>, Option<f64>)> {
    metric::metrics_of_both(base, now).filter(|(_, base, now)| base.is_some() || now.is_some())
}

fn numbers(base: &WhatIfSide<'_>, now: &WhatIfSide<'_>) -> String {
    let show = |value: Option<f64>| value.map_or("\u{2014}".to_owned(), number);
    let rows = known(base.summary, now.summary).map(|(metric, base, now)| {
        let difference = base.zip(now).map(|(base, now)| now - base);
        let [base, now, difference] = [base, now, difference].map(show);
        vec![
            escape(&metric.words),
            base,
            now,
            difference,
            metric.unit.to_owned(),
        ]
    });
    table(&["", BASE, "what if", "difference", ""], 1..4, rows)
}

/// Formats the comparison for a terminal.
pub(crate) fn lines(base: &Summary, now: &Summary) -> String {
    let mut text = format!("{BASE:>56}{:>14}\n", "what if");
    let show = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    for (Metric { words, unit, .. }, base, now) in known(base, now) {
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
    fn page_has_both_curves_and_is_self_contained() {
        let record = |k: i64| TickRecord {
            now_ns: k * 1_000_000,
            port_force_n: [0.0, 0.0, -(k as f64), 0.0],
            ..TickRecord::default()
        };
        let records: Vec<TickRecord> = (0..10).map(record).collect();
        let mut summary = Summary::default();
        summary.contact.force_rmse_n = Some(0.25);
        let side = WhatIfSide {
            summary: &summary,
            traces: Traces {
                master: &records,
                slave: &records,
            },
        };
        let html = render("a<b", &["rtt-ms=400".to_owned()], [side, side]);
        for word in ["http", "src=", "url(", "<script", "href=", "NaN"] {
            assert!(!html.contains(word), "{word}");
        }
        for word in ["a&lt;b", "rtt-ms=400", BASE, "force difference"] {
            assert!(html.contains(word), "{word}");
        }
        assert!(lines(&summary, &summary).contains("0.2500"));
    }
}
