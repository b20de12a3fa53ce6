//! The page of the atlas: five charts, each with all ways on it, and all numbers.
//!
//! Source: ours.

use std::fmt::Write as _;

use palpate_analysis::report::plot::{Chart as Plot, Ink, Series, Shape};
use palpate_analysis::report::words::{number, with_unit};
use palpate_analysis::report::{head, section};

use crate::atlas::session::SLAVE_NPM;
use crate::atlas::{Agreement, Chart, Point, agreement, held};

/// The page, as HTML.
#[must_use]
pub fn render(points: &[Point]) -> String {
    let all = Chart::ALL.map(|chart| agreement(points, chart));
    let sum = |of: fn(&Agreement) -> usize| all.iter().flatten().map(of).sum::<usize>();
    let worst = all.iter().flatten().map(|all| all.worst).reduce(f64::max);
    let lead = format!(
        "How stiff a wall may be, how stiff it feels through a chain, how late direct coupling may be, and how large a \
         wave impedance: each by formula, by a sweep over frequency, by the roots of the sampled loop or by running it. \
         {} of {} points were found in at least three ways, which differ by {} at most; {} are beyond their bar.",
        sum(|all| all.three_ways),
        points.len(),
        with_unit(worst.map(|worst| 1e2 * worst), "%"),
        sum(|all| all.broken)
    );
    let class = match held(points) {
        Some(true) => "good",
        Some(false) => "bad",
        None => "",
    };
    let mut body = head("Atlas", "atlas", "reference plant RP-1", class, &lead);
    body += "</header>\n";
    body += &section("line", "Stiffness felt through waves", &lines(points));
    body += &section("wall", "Stiffest sampled wall", &walls(points));
    body += &section("jitter", "Under jitter", &jitter(points));
    body += &section("direct", "Without a method", &table(points, Chart::Direct));
    body += &section(
        "ends",
        "Largest wave impedance",
        &table(points, Chart::Ends),
    );
    body += &section(
        "numbers",
        "All numbers",
        &(table(points, Chart::Line) + &table(points, Chart::Wall)),
    );
    body + "</main></body></html>\n"
}

/// Points of a chart that `key` chooses, as a way has them over the round trip.
fn over_delay(
    points: &[Point],
    chart: Chart,
    key: impl Fn(&Point) -> bool,
    way: fn(&Point) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let of = points.iter().filter(|p| p.chart == chart && key(p));
    let mut line: Vec<(f64, f64)> = of
        .filter_map(|p| Some((libm::log10(2.0 * p.oneway_ms? + held_ms(p)), way(p)?)))
        .collect();
    line.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    line
}

/// What a wall's own sampling adds to its loop \[ms\]: without it, no delay would have no place on the axis.
fn held_ms(point: &Point) -> f64 {
    match point.chart {
        Chart::Wall => point.period_ms,
        _ => 0.0,
    }
}

/// Colours of lines, in their order.
const INKS: [Ink; 5] = [Ink::Third, Ink::Master, Ink::Slave, Ink::Truth, Ink::Fourth];

/// Values that a chart's points have, each once, from small to large.
fn values(points: &[Point], chart: Chart, of: fn(&Point) -> Option<f64>) -> Vec<f64> {
    let own = points.iter().filter(|point| point.chart == chart);
    let mut all: Vec<f64> = own.filter_map(of).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// The value that is usually drawn, or the largest if that was not found.
fn usual(values: &[f64], usual: f64) -> Option<f64> {
    let known = values.iter().copied().find(|value| *value == usual);
    known.or(values.last().copied())
}

fn lines(points: &[Point]) -> String {
    let walls = values(points, Chart::Line, |p| p.wall_npm);
    let slaves = values(points, Chart::Line, |p| p.slave_npm);
    let (wall, slave) = (usual(&walls, 1000.0), usual(&slaves, SLAVE_NPM));
    let mut series = Vec::new();
    let impedances = values(points, Chart::Line, |p| p.b_nspm);
    for (index, b) in impedances.into_iter().enumerate() {
        let of = |way| {
            let chosen = |p: &Point| {
                let plain = p.slave_npm == slave && p.wall_npm == wall;
                plain && p.b_nspm == Some(b)
            };
            over_delay(points, Chart::Line, chosen, way)
        };
        let name = format!("b = {b} N s/m, run");
        series.push(Series::numbered(&name, &INKS, index, of(|p| p.time)).shaped(Shape::Marked));
        series.push(Series::line("", Ink::Text, of(|p| p.closed)).shaped(Shape::Thin));
    }
    let wall_npm = number(wall.unwrap_or(0.0));
    let plot = Plot {
        x: "round trip [ms]".to_owned(),
        y: format!("stiffness felt of {wall_npm} N/m [N/m]"),
        height: 720,
        series,
        from_zero: true,
        x_decades: true,
        ..Plot::default()
    };
    plot.figure(
        "Marks: the real ticks. Thin lines: the closed form E3. A wave line is a spring of 2 b over the round \
         trip before the tissue.",
    )
}

/// What the real ticks show under jitter, beside what they would if every delay were the mean one.
fn jitter(points: &[Point]) -> String {
    let wall = usual(&values(points, Chart::Jitter, |p| p.wall_npm), 300.0);
    let b = usual(&values(points, Chart::Jitter, |p| p.b_nspm), 10.0);
    let mut series = Vec::new();
    let delays = values(points, Chart::Jitter, |p| p.oneway_ms);
    for (index, oneway_ms) in delays.into_iter().enumerate() {
        let of = |way: fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
            let chosen = points.iter().filter(|p| {
                let here = p.oneway_ms == Some(oneway_ms) && p.wall_npm == wall && p.b_nspm == b;
                here && p.chart == Chart::Jitter
            });
            let mut line: Vec<(f64, f64)> = chosen
                .filter_map(|p| Some((p.jitter_ms, way(p)?)))
                .collect();
            line.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            line
        };
        let name = format!("{oneway_ms} ms one way, run");
        series.push(Series::numbered(&name, &INKS, index, of(|p| p.time)).shaped(Shape::Marked));
        series.push(Series::line("", Ink::Text, of(|p| p.closed)).shaped(Shape::Thin));
    }
    let plot = Plot {
        x: "a packet is later by up to [ms]".to_owned(),
        y: "stiffness felt [N/m]".to_owned(),
        height: 560,
        series,
        from_zero: true,
        ..Plot::default()
    };
    let shown = |value: Option<f64>| number(value.unwrap_or(0.0));
    let caption = format!(
        "Stiffness felt of {} N/m at b = {} N s/m. Marks: the real ticks. Thin lines: the closed form E3 at the mean age \
         of the newest frame. Formula and two-port know no account, which keeps what comes too late to be used: nothing is \
         stated of their difference.",
        shown(wall),
        shown(b)
    );
    plot.figure(&caption) + &table(points, Chart::Jitter)
}

fn walls(points: &[Point]) -> String {
    let mut series = Vec::new();
    for (b, ink) in [(0.5, Ink::Third), (2.0, Ink::Master), (10.0, Ink::Slave)] {
        let of = |way| {
            let chosen = |p: &Point| p.b_nspm == Some(b) && p.period_ms == 1.0;
            over_delay(points, Chart::Wall, chosen, way)
        };
        let logs = |line: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            line.into_iter().map(|(x, y)| (x, libm::log10(y))).collect()
        };
        let name = format!("damping {b} N s/m, run");
        series.push(Series::line(&name, ink, logs(of(|p| p.time))).shaped(Shape::Marked));
        series.push(Series::line("", Ink::Text, logs(of(|p| p.closed))).shaped(Shape::Thin));
    }
    let plot = Plot {
        x: "loop delay and period [ms]".to_owned(),
        y: "stiffest wall [N/m]".to_owned(),
        height: 720,
        series,
        x_decades: true,
        y_decades: true,
        ..Plot::default()
    };
    plot.figure(
        "Marks: bisection in time. Thin lines: the closed form E12, b over half a period and the loop\u{2019}s delay.",
    )
}

/// Numbers of a chart, a row a point; a column in which nothing stands is left out.
fn table(points: &[Point], chart: Chart) -> String {
    let mut rows: Vec<[String; 14]> = Vec::new();
    for point in points.iter().filter(|point| point.chart == chart) {
        let plain = |value: Option<f64>| value.map_or(String::new(), number);
        let found = |value: Option<f64>| match value {
            Some(endless) if endless.is_infinite() => "no limit".to_owned(),
            known => plain(known),
        };
        rows.push([
            point.mode.to_owned(),
            plain(point.oneway_ms),
            number(point.jitter_ms),
            plain(point.b_nspm),
            plain(point.wall_npm),
            plain(point.slave_npm),
            number(point.period_ms),
            point.grip.to_owned(),
            found(point.closed),
            found(point.frequency),
            found(point.root),
            found(point.time),
            found(point.absolute),
            found(point.spread().map(|spread| 1e2 * spread)),
        ]);
    }
    let ways = ["formula", "frequency", "root", "run", "any hand"];
    let ways = ways.map(|way| format!("{way} [{}]", chart.unit()));
    let names = [
        "mode",
        "one way [ms]",
        "jitter [ms]",
        "b [N s/m]",
        "wall [N/m]",
        "slave [N/m]",
        "period [ms]",
        "grip",
        &ways[0],
        &ways[1],
        &ways[2],
        &ways[3],
        &ways[4],
        "differ by [%]",
    ];
    let filled = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let columns: Vec<usize> = (0..names.len()).filter(filled).collect();
    let head = columns
        .iter()
        .map(|&column| format!("<th class=\"n\">{}</th>", names[column]));
    let head: String = head.collect();
    let mut body = String::new();
    for row in &rows {
        body += "<tr>";
        for &column in &columns {
            // writing to a string cannot fail
            let _ = write!(body, "<td class=\"n\">{}</td>", row[column]);
        }
        body += "</tr>";
    }
    format!(
        "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\
         <p class=\"caption\">{}. An empty cell is unknown.</p>",
        chart.words()
    )
}
