//! The page of a bench of linked volumes.
//!
//! Source: ours, after Table 1 and Figs. 13 to 16 of seed-001. What its curves were is not known but in
//! words; these are its experiments made anew.

use palpate_analysis::report::plot::{Chart, Ink, Series, Shape};
use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};

use crate::bench::LinkedReport;
use crate::bench::goal::{Goal, Wanted};
use crate::bench::linked::{Curve, GridRow};

const INKS: [Ink; 5] = [Ink::Master, Ink::Slave, Ink::Truth, Ink::Third, Ink::Fourth];

/// The page, as HTML.
#[must_use]
pub fn render(report: &LinkedReport) -> String {
    let missed = report.goals.iter().filter(|goal| !goal.held).count();
    let (class, verdict) = match missed {
        0 => ("good", "Every goal is held.".to_owned()),
        missed => (
            "bad",
            format!("{missed} of {} goals are missed.", report.goals.len()),
        ),
    };
    let load = report.load.map_or(String::new(), |load| {
        format!(
            " {} processes wanted a core in the minute before.",
            number(load)
        )
    });
    let lead = format!(
        "{verdict} Times are of this machine and this run; what stands beside them was measured in the same \
         run.{load}"
    );
    let mut body = head("Linked volumes", "bench", "this machine", class, &lead);
    body += "</header>\n";
    body += &section("goals", "Goals", &goals(&report.goals));
    body += &section("press", "A block under a ball", &presses(report));
    body += &section("wield", "Instruments", &wields(report));
    body += &section("loading", "Loading (Fig. 14)", &loading(&report.curves));
    body += &section(
        "loop",
        "Out and back (Fig. 15)",
        &hysteresis(&report.curves),
    );
    body += &section("hold", "Held (Fig. 16)", &holding(&report.curves));
    body += &section(
        "grid",
        "A sheet dragged round (Fig. 13)",
        &sheets(&report.grid),
    );
    body += &section(
        "map",
        "A cube through a ball (Table 1)",
        &collisions(report),
    );
    body += &section("reference", "Beside finite elements", &reference(report));
    body + "</main></body></html>\n"
}

/// Powers and microseconds as they are written, not as they are typed.
fn set(text: &str) -> String {
    let words = text.split(' ').map(|word| match word {
        "us" => "\u{b5}s".to_owned(),
        _ => word.replace("^2", "\u{b2}").replace("^3", "\u{b3}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A table of HTML: its head, numbers but for the first column, and its rows.
fn table(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let cell = |tag: &str, index: usize, text: &str| {
        let class = if index > 0 { " class=\"n\"" } else { "" };
        format!("<{tag}{class}>{text}</{tag}>")
    };
    let line = |tag: &str, texts: &[String]| -> String {
        let cells = texts.iter().enumerate();
        cells
            .map(|(index, text)| cell(tag, index, &set(text)))
            .collect()
    };
    let names: Vec<String> = columns.iter().map(|name| escape(name)).collect();
    let body: String = rows
        .map(|row| format!("<tr>{}</tr>", line("td", &row)))
        .collect();
    format!(
        "<div class=\"wide\"><table><thead><tr>{}</tr></thead><tbody>{body}</tbody></table></div>",
        line("th", &names)
    )
}

fn goals(goals: &[Goal]) -> String {
    let row = |goal: &Goal| {
        let sign = match goal.wanted {
            Wanted::AtMost => "at most",
            Wanted::AtLeast => "at least",
        };
        let verdict = if goal.held { "held" } else { "missed" };
        vec![
            escape(&goal.name),
            format!("{} {}", number(goal.value), escape(&goal.unit)),
            format!("{sign} {}", number(goal.goal)),
            verdict.to_owned(),
        ]
    };
    table(&["what", "found", "goal", ""], goals.iter().map(row))
}

/// Blocks that are pressed, poked and dragged.
fn presses(report: &LinkedReport) -> String {
    let rows = report.presses.iter().map(|row| {
        let mut cells = vec![format!("{}\u{b3} pressed", row.edge)];
        let ours = [row.cpu.us_p50, row.cpu.us_p99, row.cpu.us_max];
        cells.extend(ours.map(number));
        cells.extend([row.printed_us, row.printed_us / row.cpu.us_p50].map(number));
        cells.extend([row.sweep_us, row.printed_sweep_us].map(number));
        cells
    });
    let drag = &report.drag;
    let dragged = vec![
        format!("{} elements dragged by one of them", drag.elements),
        number(drag.exact.us_p50),
        number(drag.exact.us_p99),
        number(drag.exact.us_max),
        number(drag.printed_us),
        number(drag.printed_us / drag.exact.us_p50),
        String::new(),
        String::new(),
    ];
    let columns = [
        "CPU time of a tick",
        "median us",
        "p99 us",
        "most us",
        "as printed us",
        "times",
        "sweep us",
        "as printed us",
    ];
    let pokes = report.pokes.iter().map(|row| {
        let numbers = [row.chain_us, row.moved as f64, row.tick_us].map(number);
        [vec![format!("{}\u{b3} poked", row.edge)], numbers.to_vec()].concat()
    });
    let poked = table(&["a small poke", "chain us", "moves", "tick us"], pokes);
    format!(
        "<p>A tick finds what a ball touches, moves it, sweeps all elements once, keeps the books of energy and the \
         surface, and gives a force. As printed it moves one element by ChainMail, goes through all elements once and \
         looks at the surface: it searches for no contact, and gives no force.</p>\n{}{poked}",
        table(&columns, rows.chain(std::iter::once(dragged)))
    )
}

/// Instruments on the smaller block.
fn wields(report: &LinkedReport) -> String {
    let press_us = report.wields.first().map_or(f64::NAN, |row| row.cpu.us_p50);
    let rows = report.wields.iter().map(|row| {
        let times = row.cpu.us_p50 / press_us;
        let ours = [row.cpu.us_p50, row.cpu.us_p99, row.cpu.us_max, times];
        let mut cells = vec![escape(&row.name)];
        cells.extend(ours.map(number));
        cells.push(row.changes.to_string());
        cells
    });
    let columns = [
        "CPU time of a tick, 40\u{b3}",
        "median us",
        "p99 us",
        "most us",
        "median over that of a press",
        "changes in all",
    ];
    format!(
        "<p>Each is drawn across the block at 73 mm/s. A tick with all that follows a change: pieces, surface, runs of \
         rows. Undo and redo are one edit each, of all that one cut did.</p>\n{}",
        table(&columns, rows)
    )
}

/// Free space in Table 1 of the source, edge of the cube, whether its surface only, and time of a step \[ms\].
const SOURCE_MS: [(i32, bool, f64); 4] = [
    (31, false, 134.0),
    (15, false, 13.7),
    (31, true, 19.7),
    (15, true, 3.76),
];

/// One line of a curve's points: which column along x, and which force.
fn points(of: &[[f64; 3]], force: usize) -> Vec<(f64, f64)> {
    of.iter().map(|point| (point[0], point[force])).collect()
}

fn loading(curves: &[Curve]) -> String {
    let line = |(index, curve): (usize, &Curve)| {
        let out = &curve.out_and_back[..curve.out_and_back.len().div_ceil(2)];
        Series::numbered(&curve.name, &INKS, index, points(out, 1))
    };
    let chart = Chart {
        x: "mean length of a link".to_owned(),
        y: "total force".to_owned(),
        height: 620,
        series: curves.iter().enumerate().map(line).collect(),
        from_zero: true,
        ..Chart::default()
    };
    chart.figure(
        "A row of 50 links, one end drawn at a steady rate. Lengths in rest lengths of a link, forces in \
         its stiffness: the sum over links. In proportion that sum tells the length and nothing else, so the \
         two linear rows lie on one line.",
    )
}

/// The quadratic rows: the linear ones have no loop and no decay in their total.
fn quadratic(curves: &[Curve]) -> impl Iterator<Item = (usize, &Curve)> {
    let bent = curves
        .iter()
        .filter(|curve| curve.name.starts_with("quadratic"));
    bent.enumerate()
}

fn hysteresis(curves: &[Curve]) -> String {
    let line = |(index, curve): (usize, &Curve)| {
        Series::numbered(&curve.name, &INKS, index, points(&curve.out_and_back, 1))
    };
    let chart = Chart {
        x: "mean length of a link".to_owned(),
        y: "total force".to_owned(),
        height: 620,
        series: quadratic(curves).map(line).collect(),
        from_zero: true,
        ..Chart::default()
    };
    chart.figure("Drawn out and let back at the same rate: the way back lies below, and the loop is lost energy.")
}

fn holding(curves: &[Curve]) -> String {
    let line = |(index, curve): (usize, &Curve)| {
        let held = points(&curve.hold, 1);
        let held = held.into_iter().filter(|(sweeps, _)| *sweeps > 0.0);
        let held = held.map(|(sweeps, force)| (libm::log10(sweeps), force));
        Series::numbered(&curve.name, &INKS, index, held.collect())
    };
    let mut series: Vec<Series> = quadratic(curves).map(line).collect();
    if let Some((_, curve)) = quadratic(curves).next() {
        // the axis has powers of ten: from 1 sweep to 100 000
        let ends = [0.0, 5.0].map(|decade| (decade, curve.settled));
        let end = Series::line("where they end", Ink::Text, ends.to_vec());
        series.push(end.shaped(Shape::Thin));
    }
    let chart = Chart {
        x: "sweeps".to_owned(),
        y: "total force".to_owned(),
        height: 620,
        series,
        from_zero: true,
        x_decades: true,
        ..Chart::default()
    };
    chart.figure("Drawn to 1.25 of the length at rest and held: the force falls towards that of an even row.")
}

fn sheets(rows: &[GridRow]) -> String {
    let mut names: Vec<(&str, u32)> = rows.iter().map(|r| (&*r.material, r.square)).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    let line = |(index, (name, square)): (usize, (&str, u32))| {
        let there = rows
            .iter()
            .filter(|r| r.material == name && r.square == square);
        let found = there.map(|r| (r.elements as f64, r.lists_us)).collect();
        Series::numbered(&format!("{name}, square of {square}"), &INKS, index, found)
            .shaped(Shape::Marked)
    };
    let chart = Chart {
        x: "elements".to_owned(),
        y: "time of a move [\u{b5}s]".to_owned(),
        height: 620,
        series: names.into_iter().enumerate().map(line).collect(),
        from_zero: true,
        ..Chart::default()
    };
    let figure = chart.figure(
        "The middle of a sheet goes round a square in a hundred moves, through lists of candidates. A rigid \
         sheet is looked at whole in every move. Ours are slower than as printed, for they do more with the same \
         lists: a limit for every pair of materials, elements that are held and refuse, and a note of every \
         place before, so that a move can be taken back.",
    );
    let cells = |row: &GridRow| {
        vec![
            format!("{}, square of {}", escape(&row.material), row.square),
            row.elements.to_string(),
            number(row.considered),
            number(row.lists_us),
            number(row.exact_us),
            number(row.printed_us),
        ]
    };
    let columns = [
        "sheet",
        "elements",
        "considered",
        "lists us",
        "exact us",
        "as printed us",
    ];
    figure + &table(&columns, rows.iter().map(cells))
}

fn collisions(report: &LinkedReport) -> String {
    let row = |row: &crate::bench::linked::CollisionRow| {
        let what = if row.surface { "surface" } else { "full" };
        let map = if row.hashed { "by hash" } else { "of cells" };
        let mut cells = vec![format!("{}\u{b3} {what}, map {map}", row.edge)];
        cells.push(row.elements.to_string());
        cells.extend(row.step_us.map(number));
        cells.push(number(row.printed_us));
        let same =
            |&&(edge, surface, _): &&(i32, bool, f64)| (edge, surface) == (row.edge, row.surface);
        let source = SOURCE_MS.iter().find(same);
        cells.push(source.map_or(String::new(), |&(_, _, ms)| number(1e3 * ms)));
        cells
    };
    let columns = [
        "cube",
        "elements",
        "free us",
        "inside us",
        "prevent: free us",
        "impact us",
        "touching us",
        "as printed, free us",
        "the source, free us",
    ];
    let found = table(&columns, report.collisions.iter().map(row));
    format!(
        "<p>Wanted in free space, with a map of cells: 31\u{b3} within 200 us, its surface within 50. Ours notes all \
         elements of a cell, where the map as printed loses all but one. The source\u{2019}s numbers are those of its \
         own machine, an SGI Indigo2 of the nineties: not a comparison of methods.</p>\n{found}"
    )
}

fn reference(report: &LinkedReport) -> String {
    let found = &report.reference;
    let line = |name: &str, ink: Ink, column: usize| {
        let points = found.points.iter().map(|p| (1e3 * p[0], p[column]));
        Series::line(name, ink, points.collect()).shaped(Shape::Marked)
    };
    let chart = Chart {
        x: "depth [mm]".to_owned(),
        y: "force [N]".to_owned(),
        height: 620,
        series: vec![
            line("links", Ink::Master, 1),
            line("finite elements", Ink::Truth, 2),
            line("Hertz, a half-space", Ink::Third, 3),
        ],
        from_zero: true,
        ..Chart::default()
    };
    let [elements, nodes] = found.sizes;
    chart.figure(&format!(
        "A ball pressed into a block, {elements} elements beside {nodes} nodes of a static solution with large \
         strains; {} N root mean square apart. Links are {}.",
        number(found.rms_n),
        escape(&found.words)
    ))
}
