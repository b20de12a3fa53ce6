//! Page of the atlas: five charts with the estimates of all methods, and all numbers.
//!
//! Source: ours.

use palpate_analysis::report::plot::{Chart as Plot, Ink, Series, SeriesShape};
use palpate_analysis::report::words::{number, with_unit};
use palpate_analysis::report::{head, section};

use crate::atlas::plant_session::SLAVE_NPM;
use crate::atlas::{AtlasChart, AtlasPoint, ChartAgreement, agreement, all_agree};

/// Renders the page as HTML.
#[must_use]
pub fn render(points: &[AtlasPoint]) -> String {
    let all = AtlasChart::ALL.map(|chart| agreement(points, chart));
    let sum = |of: fn(&ChartAgreement) -> usize| all.iter().flatten().map(of).sum::<usize>();
    let worst = all.iter().flatten().map(|all| all.worst).reduce(f64::max);
    let lead = format!(
        "Stiffest wall, displayed stiffness of a wall, longest delay of direct coupling, and largest wave impedance: each \
         by formula, by a sweep over frequency, by the roots of the sampled loop or by simulation. {} of {} points have \
         estimates by at least three methods, which differ by {} at most; {} points are beyond their tolerance.",
        sum(|all| all.three_ways),
        points.len(),
        with_unit(worst.map(|worst| 1e2 * worst), "%"),
        sum(|all| all.broken)
    );
    let class = match all_agree(points) {
        Some(true) => "good",
        Some(false) => "bad",
        None => "",
    };
    let mut body = head("Atlas", "atlas", "reference plant RP-1", class, &lead);
    body += "</header>\n";
    let of = |chart| table(points, chart);
    let numbers = of(AtlasChart::Displayed) + &of(AtlasChart::Wall);
    body += &section(
        "displayed",
        "Stiffness displayed through waves",
        &lines(points),
    );
    body += &section("wall", "Stiffest sampled wall", &walls(points));
    body += &section("jitter", "Under jitter", &jitter(points));
    body += &section("direct", "Without a method", &of(AtlasChart::Direct));
    body += &section(
        "impedance",
        "Largest wave impedance",
        &of(AtlasChart::Impedance),
    );
    body += &section("numbers", "All numbers", &numbers);
    body + "</main></body></html>\n"
}

/// Quantity of a point, if it is known.
type Quantity = fn(&AtlasPoint) -> Option<f64>;

/// Estimates of one method over a quantity, for the points of a chart that `key` selects.
fn over(
    x: Quantity,
    points: &[AtlasPoint],
    chart: AtlasChart,
    key: impl Fn(&AtlasPoint) -> bool,
    way: Quantity,
) -> Vec<(f64, f64)> {
    let of = points.iter().filter(|p| p.chart == chart && key(p));
    let mut line: Vec<(f64, f64)> = of.filter_map(|p| Some((x(p)?, way(p)?))).collect();
    line.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    line
}

/// Logarithm of the round trip \[ms\]. A wall's own sampling adds to its loop; it gives zero delay a place on the
/// logarithmic axis.
fn log_delay(point: &AtlasPoint) -> Option<f64> {
    let held_ms = match point.chart {
        AtlasChart::Wall => point.period_ms,
        _ => 0.0,
    };
    Some(libm::log10(2.0 * point.oneway_ms? + held_ms))
}

/// Colours of lines, in order.
const INKS: [Ink; 5] = [Ink::Third, Ink::Master, Ink::Slave, Ink::Truth, Ink::Fourth];

/// Series of the simulated values, with marks, and of the closed form.
fn pair(name: &str, index: usize, run: Vec<(f64, f64)>, closed: Vec<(f64, f64)>) -> [Series; 2] {
    [
        Series::numbered(name, &INKS, index, run).shaped(SeriesShape::Marked),
        Series::line("", Ink::Text, closed).shaped(SeriesShape::Thin),
    ]
}

/// Distinct values of a chart's points, in ascending order.
fn values(points: &[AtlasPoint], chart: AtlasChart, of: Quantity) -> Vec<f64> {
    let own = points.iter().filter(|point| point.chart == chart);
    let mut all: Vec<f64> = own.filter_map(of).collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// The usual value, or the largest if that is not among them.
fn usual(values: &[f64], usual: f64) -> Option<f64> {
    let known = values.iter().copied().find(|value| *value == usual);
    known.or(values.last().copied())
}

fn lines(points: &[AtlasPoint]) -> String {
    let walls = values(points, AtlasChart::Displayed, |p| p.wall_npm);
    let slaves = values(points, AtlasChart::Displayed, |p| p.slave_npm);
    let (wall, slave) = (usual(&walls, 1000.0), usual(&slaves, SLAVE_NPM));
    let mut series = Vec::new();
    let impedances = values(points, AtlasChart::Displayed, |p| p.b_nspm);
    for (index, b) in impedances.into_iter().enumerate() {
        let of = |way| {
            let chosen = |p: &AtlasPoint| {
                let plain = p.slave_npm == slave && p.wall_npm == wall;
                plain && p.b_nspm == Some(b)
            };
            over(log_delay, points, AtlasChart::Displayed, chosen, way)
        };
        let name = format!("b = {b} N s/m, run");
        series.extend(pair(&name, index, of(|p| p.time), of(|p| p.closed)));
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

/// Draws the displayed stiffness under jitter, beside that at the mean delay.
fn jitter(points: &[AtlasPoint]) -> String {
    let wall = usual(&values(points, AtlasChart::Jitter, |p| p.wall_npm), 300.0);
    let b = usual(&values(points, AtlasChart::Jitter, |p| p.b_nspm), 10.0);
    let mut series = Vec::new();
    let delays = values(points, AtlasChart::Jitter, |p| p.oneway_ms);
    for (index, oneway_ms) in delays.into_iter().enumerate() {
        let of = |way| {
            let chosen = |p: &AtlasPoint| {
                p.oneway_ms == Some(oneway_ms) && p.wall_npm == wall && p.b_nspm == b
            };
            let jitter_ms = |p: &AtlasPoint| Some(p.jitter_ms);
            over(jitter_ms, points, AtlasChart::Jitter, chosen, way)
        };
        let name = format!("{oneway_ms} ms one way, run");
        series.extend(pair(&name, index, of(|p| p.time), of(|p| p.closed)));
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
         of the newest frame. Formula and two-port have no energy tank, which keeps the energy of late frames: nothing is \
         stated of their difference.",
        shown(wall),
        shown(b)
    );
    plot.figure(&caption) + &table(points, AtlasChart::Jitter)
}

fn walls(points: &[AtlasPoint]) -> String {
    let mut series = Vec::new();
    for (index, b) in [0.5, 2.0, 10.0].into_iter().enumerate() {
        let of = |way| {
            let chosen = |p: &AtlasPoint| p.b_nspm == Some(b) && p.period_ms == 1.0;
            over(log_delay, points, AtlasChart::Wall, chosen, way)
        };
        let logs = |line: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            line.into_iter().map(|(x, y)| (x, libm::log10(y))).collect()
        };
        let name = format!("damping {b} N s/m, run");
        let [time, closed] = [logs(of(|p| p.time)), logs(of(|p| p.closed))];
        series.extend(pair(&name, index, time, closed));
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

/// Formats the numbers of a chart, one row per point; empty columns are omitted.
fn table(points: &[AtlasPoint], chart: AtlasChart) -> String {
    let plain = |value: Option<f64>| value.map_or(String::new(), number);
    let found = |value: Option<f64>| match value {
        Some(limit) if limit.is_infinite() => "no limit".to_owned(),
        known => plain(known),
    };
    let way = |name: &str| format!("{name} [{}]", chart.unit());
    type Cell<'a> = &'a dyn Fn(&AtlasPoint) -> String;
    let columns: [(String, Cell<'_>); 14] = [
        ("mode".to_owned(), &|p| p.mode.to_owned()),
        ("one way [ms]".to_owned(), &|p| plain(p.oneway_ms)),
        ("jitter [ms]".to_owned(), &|p| number(p.jitter_ms)),
        ("b [N s/m]".to_owned(), &|p| plain(p.b_nspm)),
        ("wall [N/m]".to_owned(), &|p| plain(p.wall_npm)),
        ("slave [N/m]".to_owned(), &|p| plain(p.slave_npm)),
        ("period [ms]".to_owned(), &|p| number(p.period_ms)),
        ("grip".to_owned(), &|p| p.grip.to_owned()),
        (way("formula"), &|p| found(p.closed)),
        (way("frequency"), &|p| found(p.frequency)),
        (way("root"), &|p| found(p.root)),
        (way("run"), &|p| found(p.time)),
        (way("any hand"), &|p| found(p.absolute)),
        ("differ by [%]".to_owned(), &|p| {
            found(p.spread().map(|spread| 1e2 * spread))
        }),
    ];
    let own = || points.iter().filter(|point| point.chart == chart);
    let filled =
        |(_, of): &&(String, &dyn Fn(&AtlasPoint) -> String)| own().any(|p| !of(p).is_empty());
    let columns: Vec<_> = columns.iter().filter(filled).collect();
    let head: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let rows = own().map(|point| columns.iter().map(|(_, of)| of(point)).collect());
    format!(
        "{}<p class=\"caption\">{}. An empty cell is unknown.</p>",
        super::table(&head, .., rows),
        chart.title()
    )
}
