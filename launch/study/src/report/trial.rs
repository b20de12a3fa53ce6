//! The page of a trial: medians with their intervals, over what was varied.
//!
//! Source: ours. The numeric field with the most values is the axis; another field, if there is one,
//! gives the lines; what else was varied gives a chart of its own for each combination.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use palpate_analysis::report::plot::{Chart, Ink, Series, Shape};
use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};

use crate::trial::boot::{Ends, Interval};
use crate::trial::metric::Metric;
use crate::trial::person::Who;
use crate::trial::{Clock, Kind, Row, Trial, field};

/// Colours of lines, in their order.
const INKS: [Ink; 5] = [Ink::Master, Ink::Slave, Ink::Truth, Ink::Third, Ink::Fourth];

/// Most charts of one metric: more is read in the table.
const FACETS_MAX: usize = 6;

/// All that the page is made of.
#[derive(Debug, Clone, Copy)]
pub struct TrialInput<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Its finished rows.
    pub rows: &'a BTreeMap<usize, Row>,
    /// Its hash.
    pub hash: &'a str,
    /// Sentences that a reader must know: gaps, duplicates, an end before its time.
    pub notes: &'a [String],
}

/// The page, as HTML.
#[must_use]
pub fn render(input: &TrialInput<'_>) -> String {
    let trial = input.trial;
    let page = Page {
        trial,
        metrics: trial.metrics(),
        found: found(trial, input.rows),
    };
    let all = trial.rows();
    let good = input.rows.len() == all && !input.rows.values().any(Row::broke);
    let class = if good { "good" } else { "bad" };
    let who = match trial.kind.is_asked() {
        true => trial.who.words(trial.handle()),
        false => "simulated operator".into(),
    };
    let command = format!("trial {}", trial.kind.name());
    let mut html = head(&trial.name, &command, &who, class, &lead(input));
    for note in input.notes {
        let _ = write!(html, "<p class=\"note\">{}</p>", escape(note));
    }
    html += "</header>\n";
    match trial.kind {
        Kind::Transparency => html += &page.tones(),
        _ => html += &page.over_fields(),
    }
    html += &section("numbers", "All numbers", &page.table());
    let base = escape(&trial.base.to_toml());
    let _ = write!(
        html,
        "<section id=\"config\"><details><summary>Base of every condition</summary><pre>{base}</pre>\
         </details></section>\n<footer>Palpate {} \u{b7} trial {} \u{b7} {who}</footer>\n",
        env!("CARGO_PKG_VERSION"),
        escape(input.hash)
    );
    html + "</main></body></html>\n"
}

fn lead(input: &TrialInput<'_>) -> String {
    let (trial, rows) = (input.trial, input.rows);
    let (checked, held) = Row::checked(rows.values());
    let observer = if trial.who != Who::Simulated {
        let many = if trial.kind == Kind::Search {
            "Searches"
        } else {
            "Answers"
        };
        format!(
            " {many} are those of one observer ({}): nothing here is about people in general.",
            escape(&trial.who.words(trial.handle()))
        )
    } else if trial.kind.is_psycho() {
        let psycho = &trial.psycho;
        format!(
            " Answers are those of a simulated observer (Weber fraction {}&nbsp;%, lapses {}&nbsp;%), by {}: \
             nothing here is about people.",
            number(100.0 * psycho.weber),
            number(100.0 * psycho.lapse),
            psycho.protocol.name()
        )
    } else {
        String::new()
    };
    let clock = match trial.clock {
        Clock::Virtual => "in virtual time",
        Clock::Live => "live, one after another, over an emulated network",
    };
    format!(
        "{} of {} rows: {} conditions, {} seeds, {} repeats, {clock}. {checked} rows checked, \
         {held} held. Marks are medians, or the worst row where that is said; bands and brackets are 95&nbsp;% \
         bootstrap intervals, or the range of n rows where the worst is shown or n is below 6.{observer}",
        rows.len(),
        trial.rows(),
        trial.conditions.len(),
        trial.seeds.len(),
        trial.repeats
    )
}

/// Interval of every metric, for each condition.
type Medians = Vec<Vec<Option<Interval>>>;

fn found(trial: &Trial, rows: &BTreeMap<usize, Row>) -> Medians {
    let metrics = trial.metrics();
    let of = |condition: usize| {
        let own: Vec<&Row> = rows
            .iter()
            .filter(|(index, _)| trial.cell(**index).condition == condition)
            .map(|(_, row)| row)
            .collect();
        let one = |(k, metric): (usize, &Metric)| {
            let values = own.iter().filter_map(|row| row.values.get(k).copied()?);
            metric.interval(&values.collect::<Vec<_>>())
        };
        metrics.iter().enumerate().map(one).collect()
    };
    (0..trial.conditions.len()).map(of).collect()
}

struct Page<'a> {
    trial: &'a Trial,
    metrics: Vec<Metric>,
    found: Medians,
}

/// Name of a line, and its conditions by their value on the axis.
type Line = (String, Vec<(f64, usize)>);

/// What a chart shows of the conditions.
struct Facet {
    /// What its conditions share beside axis and lines; empty if nothing else was varied.
    name: String,
    /// Name of each line, and its conditions by their value on the axis.
    lines: Vec<Line>,
}

impl Page<'_> {
    /// Numeric field with the most values, if one has two.
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

    /// Field whose values are the lines: of the others, the one with the most values that colours allow.
    fn line_field(&self, axis: &str) -> Option<&str> {
        let values = |name: &str| {
            let mut seen: Vec<String> = Vec::new();
            for condition in &self.trial.conditions {
                let text = condition.value(name).map_or(String::new(), field::shown);
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
                .map(|(name, value)| format!("{name} {}", field::shown(value)))
                .collect();
            let name = name.join(", ");
            let place = facets.iter().position(|facet| facet.name == name);
            let facet = place.unwrap_or_else(|| {
                let lines = Vec::new();
                facets.push(Facet { name, lines });
                facets.len() - 1
            });
            let value = line.and_then(|line| condition.value(line));
            let label = value.map_or(String::new(), field::shown);
            let lines = &mut facets[facet].lines;
            match lines.iter_mut().find(|(known, _)| *known == label) {
                Some((_, points)) => points.push((at, index)),
                None => lines.push((label, vec![(at, index)])),
            }
        }
        facets
    }

    /// A chart of every metric that is known and not the same everywhere.
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
                .found
                .iter()
                .filter_map(|c| Some(c[k]?.center))
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
                .filter_map(|&(at, condition)| Some((at, self.found[condition][metric]?)))
                .collect();
            let upper = known.iter().map(|(at, found)| (*at, found.high));
            let lower = known.iter().rev().map(|(at, found)| (*at, found.low));
            bands.push(Series::line("", ink, upper.chain(lower).collect()).shaped(Shape::Area));
            let middle = known.iter().map(|(at, found)| (*at, found.center));
            lines.push(Series::line(label, ink, middle.collect()).shaped(Shape::Marked));
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

    /// The joint curve of correction cost and prediction error, if a twin ran.
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
                    let found = &self.found[condition];
                    Some((found[error]?.center, found[cost]?.center))
                };
                let mut points: Vec<(f64, f64)> = points.iter().filter_map(point).collect();
                points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                Series::line(label, ink, points).shaped(Shape::Marked)
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

    /// The same as numbers: how far ahead each condition predicted, how wrong that was, and what correcting it cost.
    fn corrections(&self, error: usize, cost: usize) -> String {
        let mut rows: Vec<(f64, String)> = Vec::new();
        for (condition, found) in self.trial.conditions.iter().zip(&self.found) {
            let Some((error, cost)) = found[error].zip(found[cost]) else {
                continue;
            };
            // the robot meets what the hand does one way later
            let horizon_ms = condition.config.link.forward.oneway_ms;
            let percent = |found: &Interval| {
                let [middle, low, high] =
                    [found.center, found.low, found.high].map(|v| number(100.0 * v));
                format!("<td class=\"n\">{middle} <span class=\"dim\">[{low}, {high}]</span></td>")
            };
            let cells = format!(
                "<tr><td>{}</td><td class=\"n\">{}</td>{}{}</tr>",
                escape(&condition.title()),
                number(horizon_ms),
                percent(&error),
                percent(&cost)
            );
            rows.push((horizon_ms, cells));
        }
        if rows.is_empty() {
            return String::new();
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rows: String = rows.into_iter().map(|(_, cells)| cells).collect();
        format!(
            "<div class=\"wide\"><table><thead><tr><th>condition</th><th class=\"n\">horizon [ms]</th>\
             <th class=\"n\">error of the twin\u{2019}s force [%]</th><th class=\"n\">correction in 100 ms [%]</th>\
             </tr></thead><tbody>{rows}</tbody></table></div>"
        )
    }

    /// Charts over frequency, one for each kind of impedance, a line for each condition.
    fn tones(&self) -> String {
        let hz = &self.trial.transparency.hz;
        let mut body = String::new();
        for (block, metrics) in self.metrics.chunks(hz.len()).enumerate() {
            let line = |((index, condition), ink): ((usize, &crate::trial::Condition), Ink)| {
                let point = |(k, hz): (usize, &f64)| {
                    let found = self.found[index][block * metrics.len() + k]?;
                    let value = if block < 2 {
                        20.0 * found.center.log10()
                    } else {
                        found.center
                    };
                    Some((hz.log10(), value))
                };
                let points = hz.iter().enumerate().filter_map(point).collect();
                Series::line(&condition.title(), ink, points).shaped(Shape::Marked)
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

    /// Median and interval of every metric for every condition.
    fn table(&self) -> String {
        let known = |k: &usize| self.found.iter().any(|condition| condition[*k].is_some());
        let shown: Vec<usize> = (0..self.metrics.len()).filter(known).collect();
        let mut rows = String::new();
        for (condition, found) in self.trial.conditions.iter().zip(&self.found) {
            let _ = write!(rows, "<tr><td>{}</td>", escape(&condition.title()));
            for &k in &shown {
                let text = found[k].map_or("\u{2014}".to_owned(), |found| {
                    let (low, high) = (number(found.low), number(found.high));
                    let middle = number(found.center);
                    let of = match found.ends {
                        Ends::Bootstrap => String::new(),
                        Ends::Range => format!(" range of {}", found.count),
                    };
                    match found.count {
                        1 => format!("{middle} <span class=\"dim\">n = 1</span>"),
                        _ => format!("{middle} <span class=\"dim\">[{low}, {high}]{of}</span>"),
                    }
                });
                let _ = write!(rows, "<td class=\"n\">{text}</td>");
            }
            rows += "</tr>";
        }
        let mut names = String::new();
        for &k in &shown {
            let _ = write!(
                names,
                "<th class=\"n\">{}</th>",
                escape(&self.metrics[k].heading())
            );
        }
        format!(
            "<div class=\"wide\"><table><thead><tr><th>condition</th>{names}</tr></thead><tbody>{rows}</tbody>\
             </table></div><p class=\"caption\">Every row of the trial is in trials.csv.</p>"
        )
    }
}

/// A field along x in words with its unit; its own name if it has no words here.
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

/// Most letters beside the axis of y: more would be cut off at its ends.
const LETTERS: usize = 28;

/// Words and unit beside an axis; the unit alone if there is no room, as the words stand above the chart too.
fn with_room(words: &str, unit: &str) -> String {
    let whole = match unit {
        "" => words.to_owned(),
        unit => format!("{words} [{unit}]"),
    };
    match (whole.chars().count() <= LETTERS, unit) {
        (true, _) => whole,
        (false, "") => "number or share".to_owned(),
        (false, unit) => format!("[{unit}]"),
    }
}

fn as_number(value: &toml::Value) -> Option<f64> {
    match value {
        toml::Value::Integer(whole) => Some(*whole as f64),
        toml::Value::Float(number) => Some(*number),
        _ => None,
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
        let row = |index: usize| Row {
            index,
            held: Some(true),
            trace_hash: None,
            values: (0..count)
                .map(|k| (k % 5 != 3).then_some(index as f64 + k as f64))
                .collect(),
            asked: Vec::new(),
        };
        let rows = (0..trial.rows()).map(|index| (index, row(index))).collect();
        render(&TrialInput {
            trial: &trial,
            rows: &rows,
            hash: "h<1>",
            notes: &["a & b".to_owned()],
        })
    }

    #[test]
    fn pages_are_whole_and_ask_nobody() {
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
            with_room("ticks at which the energy account acted", ""),
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
