//! The page of a bench of linked volumes.
//!
//! Source: ours.

use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};

use crate::bench::LinkedReport;
use crate::bench::goal::{Goal, Wanted};

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

/// Blocks that are pressed and poked.
fn presses(report: &LinkedReport) -> String {
    let rows = report.presses.iter().map(|row| {
        let numbers = [row.cpu.us_p50, row.cpu.us_p99, row.cpu.us_max].map(number);
        [
            vec![format!("{}\u{b3} pressed", row.edge)],
            numbers.to_vec(),
        ]
        .concat()
    });
    let columns = ["CPU time of a tick", "median us", "p99 us", "most us"];
    let pokes = report
        .pokes
        .iter()
        .map(|row| vec![format!("{}\u{b3} poked", row.edge), number(row.tick_us)]);
    format!(
        "<p>A tick finds what a ball touches, moves it, sweeps all elements once, keeps the books of energy and the \
         surface, and gives a force.</p>\n{}{}",
        table(&columns, rows),
        table(&["a small poke", "tick us"], pokes)
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
