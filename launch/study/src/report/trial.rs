//! Page of a trial: medians with their intervals, over the varied fields.
//!
//! Source: ours. The numeric field with the most values is the axis; another field, if there is one,
//! selects the lines; each combination of the remaining fields has a chart of its own.

use std::fmt::Write as _;

use palpate_analysis::report::plot::{Chart, Ink, Series, SeriesShape};
use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};

use super::{INKS, matrix, table};
use crate::messages::name;
use crate::trial::bootstrap::{Interval, IntervalEnds};
use crate::trial::check_table;
use crate::trial::field::{self, number as as_number};
use crate::trial::metric::Metric;
use crate::trial::person::Respondent;
use crate::trial::results::{ConditionResults, TrialResults};
use crate::trial::{Condition, Trial, TrialClock, TrialKind, TrialRow};

/// Most charts of one metric: further combinations are in the table.
const FACETS_MAX: usize = 6;

/// Most failed rows of a drawn trial with their commands: further ones are in the table of rows.
const FAILED_MAX: usize = 100;

/// Renders the page as HTML.
pub(crate) fn render(results: &TrialResults) -> String {
    let trial = &results.trial;
    let page = Page {
        trial,
        metrics: trial.metrics(),
        of: results.by_condition(),
    };
    let good = results.is_whole() && !results.any_check_failed();
    let class = if good { "good" } else { "bad" };
    let who = match trial.kind.has_answers() {
        true => trial.respondent.description(trial.handle()),
        false => "simulated operator".into(),
    };
    let command = format!("trial {}", name(&trial.kind));
    let mut html = head(&trial.name, &command, &who, class, &lead(results));
    for note in &results.notes {
        let _ = write!(html, "<p class=\"note\">{}</p>", escape(note));
    }
    html += "</header>\n";
    html += &matrix::render(results);
    match (trial.refused, trial.kind) {
        (Some(refused), _) => html += &checks(results, refused),
        (None, TrialKind::Transparency) => html += &page.tones(),
        // the levels of a matrix are names, unless a list has numbers
        (None, _) if trial.matrix.is_some() && page.axis().is_none() => {}
        (None, _) => html += &page.over_fields(),
    }
    if trial.matrix.is_some() {
        html += "<p class=\"caption\">All numbers of every row are in trials.csv.</p>\n";
    } else if trial.refused.is_none() {
        html += &section("numbers", "All numbers", &page.table());
    }
    let base = escape(&trial.base.to_toml());
    let _ = write!(
        html,
        "<section id=\"config\"><details><summary>Base of every condition</summary><pre>{base}</pre>\
         </details></section>\n<footer>Palpate {} \u{b7} trial {} \u{b7} {who}</footer>\n",
        env!("CARGO_PKG_VERSION"),
        escape(&results.hash)
    );
    html + "</main></body></html>\n"
}

/// Formats the checks of a drawn trial over all rows, and the commands that repeat failed rows.
fn checks(results: &TrialResults, refused: usize) -> String {
    let lines = check_table::lines(&results.rows);
    let rows = lines
        .iter()
        .map(|line| line.cells().map(|cell| escape(&cell)).to_vec());
    let mut body = table(&check_table::HEADINGS, 1.., rows);
    let rate = results.sessions_per_s.map_or(String::new(), |rate| {
        format!(" This run played {} sessions/s.", number(rate))
    });
    let _ = write!(
        body,
        "<p class=\"caption\">The worst value is the one with the least margin to the limit of its own row. {refused} \
         drawn sessions were refused and not run.{rate} Every row is in trials.csv.</p>"
    );
    let failed = results.rows.values().filter(|row| row.held == Some(false));
    for row in failed.take(FAILED_MAX) {
        let command = escape(&results.repeat_command(row));
        let _ = write!(
            body,
            "<h3>Failed row {}</h3><pre>{command}</pre>",
            row.index
        );
    }
    section("checks", "Checks", &body)
}

fn lead(results: &TrialResults) -> String {
    let (trial, rows) = (&results.trial, &results.rows);
    let (checked, held) = TrialRow::count_checked(rows.values());
    let observer = if trial.respondent != Respondent::Simulated {
        let many = if trial.kind == TrialKind::Search {
            "Searches"
        } else {
            "Answers"
        };
        format!(
            " {many} are those of one observer ({}): nothing here is about people in general.",
            escape(&trial.respondent.description(trial.handle()))
        )
    } else if trial.kind.is_psycho() {
        let psycho = &trial.psycho;
        format!(
            " Answers are those of a simulated observer (Weber fraction {}&nbsp;%, lapses {}&nbsp;%), by {}: \
             nothing here is about people.",
            number(100.0 * psycho.weber),
            number(100.0 * psycho.lapse),
            name(&psycho.protocol)
        )
    } else {
        String::new()
    };
    let clock = match trial.clock {
        TrialClock::Virtual => "in virtual time",
        TrialClock::Live => "live, one after another, over an emulated network",
    };
    // a table of checks and a matrix have no marks
    let marks = if trial.refused.is_some() || trial.matrix.is_some() {
        ""
    } else {
        " Marks are medians, or the worst row where that is said; bands and brackets are 95&nbsp;% bootstrap \
         intervals, or the range of n rows where the worst is shown or n is below 6."
    };
    format!(
        "{} of {} rows, {clock}; conditions: {}, seeds: {}, repeats: {}. {checked} rows checked, {held} held.{marks}\
         {observer}",
        rows.len(),
        trial.row_count(),
        trial.conditions.len(),
        trial.seeds.len(),
        trial.repeats
    )
}

struct Page<'a> {
    trial: &'a Trial,
    metrics: Vec<Metric>,
    of: Vec<ConditionResults<'a>>,
}

/// Name of a line, and its conditions by their value on the axis.
type Line = (String, Vec<(f64, usize)>);

/// Chart of some of the conditions.
struct Facet {
    /// Shared values of the fields other than axis and lines; empty if there are none.
    name: String,
    /// Name of each line, and its conditions by their value on the axis.
    lines: Vec<Line>,
}

impl Page<'_> {
    /// Numeric field with the most values, at least two.
    fn axis(&self) -> Option<&str> {
        let values = |name: &str| -> Option<usize> {
            let conditions = self.trial.conditions.iter();
            let numbers: Option<Vec<f64>> = conditions
                .map(|condition| condition.value(name).and_then(as_number))
                .collect();
            let mut numbers = numbers?;
            numbers.sort_unstable_by(f64::total_cmp);
            numbers.dedup();
            (numbers.len() > 1).then_some(numbers.len())
        };
        let fields = self.trial.fields.iter();
        let known = fields.filter_map(|name| Some((values(name)?, name.as_str())));
        known.max_by_key(|(count, _)| *count).map(|(_, name)| name)
    }

    /// Field whose values are the lines: of the others, the one with the most values within the number of colours.
    fn line_field(&self, axis: &str) -> Option<&str> {
        let values = |name: &str| {
            let mut seen: Vec<String> = Vec::new();
            for condition in &self.trial.conditions {
                let text = condition
                    .value(name)
                    .map_or(String::new(), field::formatted);
                if !seen.contains(&text) {
                    seen.push(text);
                }
            }
            seen.len()
        };
        let others = self.trial.fields.iter().filter(|name| *name != axis);
        let fit = others
            .map(|name| (values(name), name.as_str()))
            .filter(|(count, _)| (2..=INKS.len()).contains(count));
        fit.max_by_key(|(count, _)| *count).map(|(_, name)| name)
    }

    fn facets(&self, axis: &str, line: Option<&str>) -> Vec<Facet> {
        let mut facets: Vec<Facet> = Vec::new();
        for (index, condition) in self.trial.conditions.iter().enumerate() {
            let Some(at) = condition.value(axis).and_then(as_number) else {
                continue;
            };
            let rest = condition.values.iter();
            let rest = rest.filter(|(name, _)| name != axis && Some(name.as_str()) != line);
            let name: Vec<String> = rest
                .map(|(name, value)| format!("{name} {}", field::formatted(value)))
                .collect();
            let name = name.join(", ");
            let place = facets.iter().position(|facet| facet.name == name);
            let facet = place.unwrap_or_else(|| {
                let lines = Vec::new();
                facets.push(Facet { name, lines });
                facets.len() - 1
            });
            let value = line.and_then(|line| condition.value(line));
            let label = value.map_or(String::new(), field::formatted);
            let lines = &mut facets[facet].lines;
            match lines.iter_mut().find(|(known, _)| *known == label) {
                Some((_, points)) => points.push((at, index)),
                None => lines.push((label, vec![(at, index)])),
            }
        }
        facets
    }

    /// Draws a chart of every metric that is known and not constant.
    fn over_fields(&self) -> String {
        let Some(axis) = self.axis() else {
            let text = "<p class=\"none\">No number was varied, so there is nothing to draw over; the \
                        table below has it all.</p>";
            return section("charts", "Medians", text);
        };
        let line = self.line_field(axis);
        let facets = self.facets(axis, line);
        let mut body = String::new();
        for (k, metric) in self.metrics.iter().enumerate() {
            let known: Vec<f64> = self
                .of
                .iter()
                .filter_map(|of| Some(of.intervals[k]?.center))
                .collect();
            if known.is_empty() || known.iter().all(|&value| value == known[0]) {
                continue;
            }
            let worst = metric.worst().map_or("", |_| ", worst row");
            let _ = write!(body, "<h3>{}{worst}</h3>", escape(&capital(&metric.words)));
            for facet in facets.iter().take(FACETS_MAX) {
                body += &self.chart(k, axis, facet);
            }
        }
        if facets.len() > FACETS_MAX {
            body += "<p class=\"caption\">Only the first combinations are drawn; the table has all.</p>";
        }
        let mut html = section(
            "charts",
            &format!("Over {}", escape(axis_words(axis))),
            &body,
        );
        html += &self.correction(axis, &facets);
        html
    }

    fn chart(&self, metric: usize, axis: &str, facet: &Facet) -> String {
        let Metric { words, unit, .. } = &self.metrics[metric];
        let (mut bands, mut lines) = (Vec::new(), Vec::new());
        for ((label, points), ink) in facet.lines.iter().zip(INKS.into_iter().cycle()) {
            let mut points = points.clone();
            points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            let known: Vec<(f64, Interval)> = points
                .iter()
                .filter_map(|&(at, condition)| Some((at, self.of[condition].intervals[metric]?)))
                .collect();
            let upper = known.iter().map(|(at, found)| (*at, found.high));
            let lower = known.iter().rev().map(|(at, found)| (*at, found.low));
            bands.push(
                Series::line("", ink, upper.chain(lower).collect()).shaped(SeriesShape::Area),
            );
            let middle = known.iter().map(|(at, found)| (*at, found.center));
            lines.push(Series::line(label, ink, middle.collect()).shaped(SeriesShape::Marked));
        }
        bands.extend(lines);
        let chart = Chart {
            x: axis_words(axis).to_owned(),
            y: with_room(words, unit),
            height: 560,
            series: bands,
            ..Chart::default()
        };
        chart.figure(&escape(&facet.name))
    }

    /// Draws the joint curve of correction cost and prediction error, if a twin ran.
    fn correction(&self, axis: &str, facets: &[Facet]) -> String {
        let place = |name: &str| self.metrics.iter().position(|metric| metric.name == name);
        let both = place("prediction_error").zip(place("correction_per_100ms"));
        let Some((error, cost)) = both else {
            return String::new();
        };
        let mut body = String::new();
        for facet in facets.iter().take(FACETS_MAX) {
            let line = |((label, points), ink): (&Line, Ink)| {
                let point = |&(_, condition): &(f64, usize)| {
                    let found = &self.of[condition].intervals;
                    Some((found[error]?.center, found[cost]?.center))
                };
                let mut points: Vec<(f64, f64)> = points.iter().filter_map(point).collect();
                points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                Series::line(label, ink, points).shaped(SeriesShape::Marked)
            };
            let series: Vec<Series> = facet.lines.iter().zip(INKS).map(line).collect();
            if series.iter().all(|series| series.points.len() < 2) {
                continue;
            }
            let chart = Chart {
                x: "error of the twin's force".to_owned(),
                y: "correction in 100 ms".to_owned(),
                height: 560,
                series,
                from_zero: true,
                ..Chart::default()
            };
            let words = format!(
                "Each point is a condition, by {}. {}",
                escape(axis),
                escape(&facet.name)
            );
            body += &chart.figure(&words);
        }
        body += &self.corrections(error, cost);
        if body.is_empty() {
            return body;
        }
        body += "<p class=\"caption\">What a correction costs the hand against how wrong the prediction was; \
                 over the delay, which is its horizon, both are above. 0.07 is the share that nobody \
                 should feel.</p>";
        section("correction", "Cost of corrections", &body)
    }

    /// Formats the same as numbers: prediction horizon, prediction error and correction cost of each condition.
    fn corrections(&self, error: usize, cost: usize) -> String {
        let percent = |found: Interval| {
            let [middle, low, high] =
                [found.center, found.low, found.high].map(|v| number(100.0 * v));
            format!("{middle} <span class=\"dim\">[{low}, {high}]</span>")
        };
        let row = |of: &ConditionResults<'_>| {
            // the robot follows the hand one way later
            let horizon_ms = of.condition.config.link.forward.oneway_ms;
            let cells = vec![
                escape(&of.condition.title()),
                number(horizon_ms),
                percent(of.intervals[error]?),
                percent(of.intervals[cost]?),
            ];
            Some((horizon_ms, cells))
        };
        let mut rows: Vec<(f64, Vec<String>)> = self.of.iter().filter_map(row).collect();
        if rows.is_empty() {
            return String::new();
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let head = [
            "condition",
            "horizon [ms]",
            "error of the twin\u{2019}s force [%]",
            "correction in 100 ms [%]",
        ];
        table(&head, 1.., rows.into_iter().map(|(_, cells)| cells))
    }

    /// Draws charts over frequency, one for each kind of impedance, with a line for each condition.
    fn tones(&self) -> String {
        let hz = &self.trial.transparency.hz;
        let mut body = String::new();
        for (block, metrics) in self.metrics.chunks(hz.len()).enumerate() {
            let line = |((index, condition), ink): ((usize, &Condition), Ink)| {
                let point = |(k, hz): (usize, &f64)| {
                    let found = self.of[index].intervals[block * metrics.len() + k]?;
                    let value = if block < 2 {
                        20.0 * found.center.log10()
                    } else {
                        found.center
                    };
                    Some((hz.log10(), value))
                };
                let points = hz.iter().enumerate().filter_map(point).collect();
                Series::line(&condition.title(), ink, points).shaped(SeriesShape::Marked)
            };
            let conditions = self.trial.conditions.iter().enumerate();
            let words = metrics[0].words.split(',').next().unwrap_or_default();
            let unit = if block < 2 {
                "dB re 1 N s/m"
            } else {
                metrics[0].unit
            };
            let chart = Chart {
                x: "frequency [Hz]".to_owned(),
                y: with_room(words, unit),
                height: 620,
                series: conditions.zip(INKS).map(line).collect(),
                x_decades: true,
                ..Chart::default()
            };
            let _ = write!(
                body,
                "<h3>{}</h3>{}",
                escape(&capital(words)),
                chart.figure("")
            );
        }
        if self.trial.conditions.len() > INKS.len() {
            body +=
                "<p class=\"caption\">Only the first conditions are drawn; the table has all.</p>";
        }
        section("charts", "Impedance at the handle", &body)
    }

    /// Formats median and interval of every metric for every condition.
    fn table(&self) -> String {
        let known = |k: &usize| self.of.iter().any(|of| of.intervals[*k].is_some());
        let shown: Vec<usize> = (0..self.metrics.len()).filter(known).collect();
        let cell = |found: Option<Interval>| {
            found.map_or("\u{2014}".to_owned(), |found| {
                let (low, high) = (number(found.low), number(found.high));
                let middle = number(found.center);
                let of = match found.ends {
                    IntervalEnds::Bootstrap => String::new(),
                    IntervalEnds::Range => format!(" range of {}", found.count),
                };
                match found.count {
                    1 => format!("{middle} <span class=\"dim\">n = 1</span>"),
                    _ => format!("{middle} <span class=\"dim\">[{low}, {high}]{of}</span>"),
                }
            })
        };
        let rows = self.of.iter().map(|of| {
            let title = std::iter::once(escape(&of.condition.title()));
            title
                .chain(shown.iter().map(|&k| cell(of.intervals[k])))
                .collect()
        });
        let names = shown.iter().map(|&k| escape(&self.metrics[k].heading()));
        let head: Vec<String> = std::iter::once("condition".to_owned())
            .chain(names)
            .collect();
        table(&head, 1.., rows)
            + "<p class=\"caption\">Every row of the trial is in trials.csv.</p>"
    }
}

/// Label of a field along x with its unit; the field's name if it has no label.
fn axis_words(field: &str) -> &str {
    match field {
        "rtt_ms" | "rtt-ms" => "round trip [ms]",
        "oneway_ms_fwd" => "delay to the robot [ms]",
        "oneway_ms_back" => "delay to the hand [ms]",
        "jitter_ms" => "jitter, half width [ms]",
        "loss" => "share of packets lost",
        "rate_kbps" => "rate limit [kbit/s]",
        "impedance" | "coupling.impedance_nspm" => "wave impedance [N s/m]",
        "codec.weber" => "Weber fraction of the codec",
        other => other,
    }
}

/// Most characters beside the y axis: more would be cut off.
const LABEL_CHARS_MAX: usize = 28;

/// Label with the unit beside an axis; the unit alone if there is no room, as the label stands above the chart too.
fn with_room(words: &str, unit: &str) -> String {
    let whole = match unit {
        "" => words.to_owned(),
        unit => format!("{words} [{unit}]"),
    };
    match (whole.chars().count() <= LABEL_CHARS_MAX, unit) {
        (true, _) => whole,
        (false, "") => "number or share".to_owned(),
        (false, unit) => format!("[{unit}]"),
    }
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> String {
        let trial = Trial::parse(text, "t.toml").expect("good");
        let count = trial.metrics().len();
        let row = |index: usize| TrialRow {
            index,
            held: Some(true),
            values: (0..count)
                .map(|k| (k % 5 != 3).then_some(index as f64 + k as f64))
                .collect(),
            ..TrialRow::default()
        };
        let rows = (0..trial.row_count())
            .map(|index| (index, row(index)))
            .collect();
        render(&TrialResults {
            trial,
            rows,
            hash: "h<1>".to_owned(),
            notes: vec!["a & b".to_owned()],
            sessions_per_s: None,
        })
    }

    #[test]
    fn pages_are_complete_and_self_contained() {
        for text in [
            "name = \"a<b\"\nseeds = 3\n[grid]\nmode = [\"wave\", \"mmt\"]\nrtt_ms = [0, 10, 20]\n",
            "name = \"a<b\"\n[[condition]]\nname = \"one\"\n",
            "name = \"a<b\"\nkind = \"transparency\"\n[grid]\nrtt_ms = [0, 10]\n",
            "name = \"a<b\"\nkind = \"lump-2afc\"\nseeds = 2\n[grid]\nrtt_ms = [0, 10]\n",
        ] {
            let html = page(text);
            for word in ["http", "src=", "url(", "<script", "@import", "href=", "NaN"] {
                assert!(!html.contains(word), "{word} in {text}");
            }
            for word in ["a&lt;b", "h&lt;1&gt;", "a &amp; b", "condition"] {
                assert!(html.contains(word), "{word} not in {text}");
            }
            for tag in ["figure", "svg", "section", "table", "div", "tr", "h3", "p"] {
                let opened = html.matches(&format!("<{tag}>")).count();
                let opened = opened + html.matches(&format!("<{tag} ")).count();
                assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
            }
        }
        let grid = page("seeds = 3\n[grid]\nmode = [\"wave\", \"mmt\"]\nrtt_ms = [0, 10, 20]\n");
        assert!(grid.contains("Over round trip [ms]") && grid.contains("<span class=\"dim\">["));
        assert!(grid.contains("horizon [ms]") && grid.contains("Cost of corrections"));
        assert!(grid.contains("] range of 3<") && grid.contains(">violations, worst<"));
        assert_eq!(with_room("drift", "mm"), "drift [mm]");
        assert_eq!(
            with_room("ticks at which the energy tank acted", ""),
            "number or share"
        );
        let six = page("seeds = 6\n");
        assert!(six.contains("]</span>") && six.contains("range of 6<"));
        let lump = page("kind = \"lump-2afc\"\n");
        assert!(
            lump.contains("simulated observer") && lump.contains("nothing here is about people")
        );
    }
}
