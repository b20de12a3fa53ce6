//! The page of the atlas: five charts, each with all ways on it, and all numbers.
//!
//! Source: ours.

use std::fmt::Write as _;

use super::plot::{Chart as Plot, Ink, Series, Shape};
use super::words::{number, with_unit};
use super::{head, section};
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
    let class = if held(points) { "good" } else { "bad" };
    let mut body = head(("Atlas", "atlas", "reference plant RP-1"), class, &lead);
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

fn lines(points: &[Point]) -> String {
    let mut series = Vec::new();
    for (b, ink) in [(3.0, Ink::Third), (10.0, Ink::Master), (30.0, Ink::Slave)] {
        let of = |way| {
            let chosen = |p: &Point| {
                let plain = p.slave_npm == Some(SLAVE_NPM);
                plain && p.b_nspm == Some(b) && p.wall_npm == Some(1000.0)
            };
            over_delay(points, Chart::Line, chosen, way)
        };
        series.push(Series::line(
            &format!("b = {b} N s/m, run"),
            ink,
            of(|p| p.time),
        ));
        series.push(Series::line("", Ink::Text, of(|p| p.closed)).shaped(Shape::Thin));
    }
    let plot = Plot {
        x: "log10 of the round trip [ms]".to_owned(),
        y: "stiffness felt of 1000 N/m [N/m]".to_owned(),
        height: 720,
        series,
        from_zero: true,
        ..Plot::default()
    };
    plot.figure("Thin lines: the closed form E3. A wave line is a spring of 2 b over the round trip before the tissue.")
}

/// What the real ticks show under jitter, beside what they would if every delay were the mean one.
fn jitter(points: &[Point]) -> String {
    let mut series = Vec::new();
    for (oneway_ms, ink) in [(10.0, Ink::Master), (50.0, Ink::Slave)] {
        let of = |way: fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
            let chosen = points.iter().filter(|p| {
                let here = p.oneway_ms == Some(oneway_ms) && p.wall_npm == Some(300.0);
                here && p.chart == Chart::Jitter
            });
            chosen
                .filter_map(|p| Some((p.jitter_ms, way(p)?)))
                .collect()
        };
        let name = format!("{oneway_ms} ms one way, run");
        series.push(Series::line(&name, ink, of(|p| p.time)));
        series.push(Series::line("", Ink::Text, of(|p| p.closed)).shaped(Shape::Thin));
    }
    let plot = Plot {
        x: "a packet is later by up to [ms]".to_owned(),
        y: "stiffness felt of 300 N/m, b = 10 N s/m [N/m]".to_owned(),
        height: 560,
        series,
        from_zero: true,
        ..Plot::default()
    };
    plot.figure("Thin lines: the closed form E3 at the mean age of the newest frame.")
        + &table(points, Chart::Jitter)
}

fn walls(points: &[Point]) -> String {
    let log = |value: Option<f64>| value.map(libm::log10);
    let mut series = Vec::new();
    for (b, ink) in [(0.5, Ink::Third), (2.0, Ink::Master), (10.0, Ink::Slave)] {
        let of = |way| {
            let chosen = |p: &Point| p.b_nspm == Some(b) && p.period_ms == 1.0;
            over_delay(points, Chart::Wall, chosen, way)
        };
        let logs = |line: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            line.into_iter()
                .filter_map(|(x, y)| Some((x, log(Some(y))?)))
                .collect()
        };
        series.push(Series::line(
            &format!("damping {b} N s/m, run"),
            ink,
            logs(of(|p| p.time)),
        ));
        series.push(Series::line("", Ink::Text, logs(of(|p| p.closed))).shaped(Shape::Thin));
    }
    let plot = Plot {
        x: "log10 of loop delay and period [ms]".to_owned(),
        y: "log10 of the stiffest wall [N/m]".to_owned(),
        height: 720,
        series,
        ..Plot::default()
    };
    plot.figure(
        "Thin lines: the closed form E12, b over half a period and the loop\u{2019}s delay.",
    )
}

fn table(points: &[Point], chart: Chart) -> String {
    let mut rows = String::new();
    for point in points.iter().filter(|point| point.chart == chart) {
        let plain = |value: Option<f64>| value.map_or(String::new(), number);
        let found = |value: Option<f64>| match value {
            Some(endless) if endless.is_infinite() => "no limit found".to_owned(),
            _ => with_unit(value, chart.unit()),
        };
        let cells = [
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
            with_unit(point.spread().map(|spread| 1e2 * spread), "%"),
        ];
        let cells = cells
            .iter()
            .map(|cell| format!("<td class=\"n\">{cell}</td>"));
        // writing to a string cannot fail
        let _ = write!(rows, "<tr>{}</tr>", cells.collect::<String>());
    }
    let names = [
        "mode",
        "one way [ms]",
        "jitter [ms]",
        "b [N s/m]",
        "wall [N/m]",
        "slave [N/m]",
        "period [ms]",
        "grip",
        "formula",
        "frequency",
        "root",
        "run",
        "any hand",
        "differ by",
    ];
    let head = names
        .map(|name| format!("<th class=\"n\">{name}</th>"))
        .concat();
    format!(
        "<div class=\"wide\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}
