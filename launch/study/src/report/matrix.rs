//! Tables of a trial's matrix: every cell with its result, and the commands that repeat what failed.
//!
//! Source: ours.

use std::fmt::Write as _;

use palpate_analysis::report::{escape, section};

use crate::trial::results::{CellResult, CellState, TrialResults};

/// Renders the tables of a trial and its failed rows; empty without a matrix.
pub(super) fn render(results: &TrialResults) -> String {
    let Some(matrix) = &results.trial.matrix else {
        return String::new();
    };
    let cells = results.cells();
    let [rows, columns] = matrix.axes();
    let corner = format!("{} \\ {}", rows.name, columns.name);
    let head: Vec<String> = std::iter::once(corner)
        .chain(columns.level_names())
        .map(|name| escape(&name))
        .collect();
    let mut body = format!(
        "<p>{} cells: {}. A cell shows how many of its sessions held all their checks, or the first check that failed, \
         with its value and its limit.</p>\n<div class=\"matrix\">",
        cells.len(),
        results.cell_counts()
    );
    for of in matrix.tables() {
        if !of.title.is_empty() {
            let _ = write!(body, "<h3>{}</h3>", escape(&of.title));
        }
        let lines = rows.level_names().zip(&of.cells);
        let lines = lines.map(|(name, numbers)| line(&name, numbers.iter().map(|&k| &cells[k])));
        let names: String = head.iter().map(|name| format!("<th>{name}</th>")).collect();
        let _ = write!(
            body,
            "<div class=\"wide\"><table><thead><tr>{names}</tr></thead><tbody>{}</tbody></table></div>",
            lines.collect::<String>()
        );
    }
    body += "</div>";
    section("matrix", "Matrix", &body) + &failures(results, &cells)
}

/// Formats a row of a table; a reason that several neighbours share stands once across all of them.
fn line<'a>(name: &str, cells: impl Iterator<Item = &'a CellResult>) -> String {
    let mut merged: Vec<(usize, &CellResult)> = Vec::new();
    for cell in cells {
        match merged.last_mut() {
            Some((count, before)) if cell.has_reason() && before.text == cell.text => *count += 1,
            _ => merged.push((1, cell)),
        }
    }
    let cells = merged.into_iter().map(|(count, of)| match count {
        1 => format!("<td>{}</td>", cell(of)),
        _ => format!("<td colspan=\"{count}\">{}</td>", cell(of)),
    });
    format!(
        "<tr><td>{}</td>{}</tr>",
        escape(name),
        cells.collect::<String>()
    )
}

/// Formats a cell.
fn cell(of: &CellResult) -> String {
    let class = match of.state {
        CellState::Held => "held",
        CellState::Failed => "failed",
        CellState::NotApplicable | CellState::Refused | CellState::Missing => "dim",
    };
    let rows: Vec<String> = of.failed_rows.iter().map(ToString::to_string).collect();
    let rows = match rows.is_empty() {
        true => String::new(),
        false => format!(" (row {})", rows.join(", ")),
    };
    format!("<span class=\"{class}\">{}{rows}</span>", escape(&of.text))
}

/// Lists the rows that failed, each with the command that repeats it.
fn failures(results: &TrialResults, cells: &[CellResult]) -> String {
    let mut body = String::new();
    for of in cells {
        for row in of
            .failed_rows
            .iter()
            .filter_map(|row| results.rows.get(row))
        {
            let check = row.failed_check.as_deref().unwrap_or("a check failed");
            let _ = writeln!(
                body,
                "<p>Row {} ({}): {}</p><pre>{}</pre>",
                row.index,
                escape(&of.title),
                escape(check),
                escape(&results.repeat_command(row))
            );
        }
    }
    match body.is_empty() {
        true => body,
        false => section("failed", "Failed rows, each with its command", &body),
    }
}
