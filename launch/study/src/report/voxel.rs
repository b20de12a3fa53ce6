//! Page of the bench of voxel models.
//!
//! Source: ours.

use palpate_analysis::report::words::number;
use palpate_analysis::report::{escape, head, section};

use crate::bench::VoxelBenchReport;
use crate::bench::goal::{BenchGoal, GoalSide};

/// Renders the page as HTML.
#[must_use]
pub fn render(report: &VoxelBenchReport) -> String {
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
    let mut body = head("Voxel models", "bench", "this machine", class, &lead);
    body += "</header>\n";
    body += &section("goals", "Goals", &goals(&report.goals));
    body += &section("press", "A block under a ball", &presses(report));
    body += &section("instruments", "Instruments", &instrument_table(report));
    body + "</main></body></html>\n"
}

/// Replaces powers and microseconds by their typographic forms.
fn set(text: &str) -> String {
    let words = text.split(' ').map(|word| match word {
        "us" => "\u{b5}s".to_owned(),
        _ => word.replace("^2", "\u{b2}").replace("^3", "\u{b3}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Formats a table whose first column is text.
fn table(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let columns: Vec<String> = columns.iter().map(|name| set(&escape(name))).collect();
    let rows = rows.map(|cells| cells.iter().map(|text| set(text)).collect());
    super::table(&columns, 1.., rows)
}

fn goals(goals: &[BenchGoal]) -> String {
    let row = |goal: &BenchGoal| {
        let sign = match goal.wanted {
            GoalSide::AtMost => "at most",
            GoalSide::AtLeast => "at least",
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

/// Formats the pressed and poked blocks.
fn presses(report: &VoxelBenchReport) -> String {
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
        "<p>A tick finds what a ball touches, moves it, relaxes all nodes in one Gauss-Seidel pass, updates the energy balance and the \
         surface, and returns a force.</p>\n{}{}",
        table(&columns, rows),
        table(&["a small poke", "tick us"], pokes)
    )
}

/// Formats the instruments on the smaller block.
fn instrument_table(report: &VoxelBenchReport) -> String {
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
        "<p>Each is drawn across the block at 73 mm/s. A tick includes all that follows a change: pieces, surface, runs of \
         nodes. Undo and redo are one edit each, of the whole cut.</p>\n{}",
        table(&columns, rows)
    )
}
