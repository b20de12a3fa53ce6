//! Results as one table, and its text as CSV.
//!
//! Source: RFC 4180 (lines end in CR LF; a field with a comma, a quote or an end of line is quoted, and
//! quotes in it are doubled). An unknown value is an empty field.

use serde_json::json;

use super::check_table::{self, CheckLine};
use super::field;
use super::file::Trial;
use super::plan::PlannedRow;
use super::psycho::forced_choice::{self, ForcedChoice};
use super::results::TrialResults;
use super::row::TrialRow;
use crate::messages::name;

/// Cell of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    /// A whole number.
    Whole(u64),
    /// A number, none if it is unknown.
    Number(Option<f64>),
    /// A text, or none.
    Text(Option<String>),
}

/// Column with its name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Name.
    pub name: String,
    /// One entry per row, all of one kind.
    pub entries: Vec<Entry>,
}

impl Column {
    /// Column with an entry for each item.
    fn of<T>(name: &str, all: &[T], entry: impl Fn(&T) -> Entry) -> Self {
        Self {
            name: name.to_owned(),
            entries: all.iter().map(entry).collect(),
        }
    }
}

fn text(text: &str) -> Entry {
    Entry::Text(Some(text.to_owned()))
}

/// Truth value as 0 or 1.
fn truth(value: Option<bool>) -> Entry {
    Entry::Number(value.map(|value| f64::from(u8::from(value))))
}

/// All columns of the finished rows, in order of their numbers.
pub(crate) fn columns(results: &TrialResults) -> Vec<Column> {
    let trial = &results.trial;
    let rows: Vec<&TrialRow> = results.rows.values().collect();
    let planned_rows: Vec<PlannedRow> = rows
        .iter()
        .map(|row| trial.planned_row(row.index))
        .collect();
    let mut columns = leading(trial, &planned_rows);
    columns.extend(trial.metrics().iter().enumerate().map(|(k, metric)| {
        Column::of(&metric.name, &rows, |row| {
            Entry::Number(row.values.get(k).copied().flatten())
        })
    }));
    let clock = name(&trial.clock);
    columns.extend([
        Column::of("clock", &rows, |_| text(&clock)),
        Column::of("checks_held", &rows, |row| truth(row.held)),
        Column::of("failed_check", &rows, |row| {
            Entry::Text(row.failed_check.clone())
        }),
        Column::of("trace_hash", &rows, |row| {
            Entry::Text(row.trace_hash.clone())
        }),
    ]);
    columns
}

/// Columns of every comparison of every finished run with an observer, run by run in the order of the questions.
pub(crate) fn answers(results: &TrialResults) -> Vec<Column> {
    let trial = &results.trial;
    let rows = results.rows.values();
    // each with the comparisons of its run up to it
    let each = rows.flat_map(|row| {
        (1..=row.asked.len()).map(move |k| (trial.planned_row(row.index), &row.asked[..k]))
    });
    let (planned_rows, asked): (Vec<PlannedRow>, Vec<&[ForcedChoice]>) = each.unzip();
    let last = |of: fn(&ForcedChoice) -> Option<f64>| {
        move |asked: &&[ForcedChoice]| Entry::Number(asked.last().and_then(of))
    };
    let (protocol, unit) = (name(&trial.psycho.protocol), trial.kind.stimulus_unit());
    let mut columns = leading(trial, &planned_rows);
    columns.extend([
        Column::of("protocol", &asked, |_| text(&protocol)),
        Column::of("comparison", &asked, |asked| {
            Entry::Whole(asked.len() as u64)
        }),
        Column::of("difference", &asked, last(|one| Some(one.difference))),
        Column::of(&format!("shown_less_{unit}"), &asked, last(|one| one.less)),
        Column::of(&format!("shown_more_{unit}"), &asked, last(|one| one.more)),
        Column::of("right", &asked, |asked| {
            truth(asked.last().and_then(|one| one.right))
        }),
        Column::of("threshold_so_far", &asked, |asked| {
            Entry::Number(forced_choice::estimate(&trial.psycho, asked))
        }),
    ]);
    columns
}

/// Columns that identify a row: its number, condition, seed and repeat, its respondent, and the
/// fields of its condition.
fn leading(trial: &Trial, planned_rows: &[PlannedRow]) -> Vec<Column> {
    let condition = |planned: &PlannedRow| &trial.conditions[planned.condition];
    let mut columns = vec![
        Column::of("row", planned_rows, |planned| {
            Entry::Whole(planned.index as u64)
        }),
        Column::of("condition", planned_rows, |planned| {
            Entry::Whole(planned.condition as u64)
        }),
        Column::of("name", planned_rows, |planned| {
            Entry::Text(condition(planned).name.clone())
        }),
        Column::of("seed", planned_rows, |planned| {
            Entry::Whole(planned.session_seed())
        }),
        Column::of("repeat", planned_rows, |planned| {
            Entry::Whole(planned.repeat as u64)
        }),
    ];
    if trial.kind.has_answers() {
        columns.push(Column::of("observer", planned_rows, |_| {
            text(trial.respondent.kind())
        }));
        if let Some(code) = trial.respondent.code() {
            columns.push(Column::of("participant", planned_rows, |_| text(code)));
            columns.push(Column::of("handle", planned_rows, |_| text(trial.handle())));
        }
    }
    columns.extend(trial.fields.iter().map(|name| {
        let values: Vec<_> = planned_rows
            .iter()
            .map(|c| condition(c).value(name))
            .collect();
        let mut known = values.iter().flatten();
        let numeric = known.all(|value| field::number(value).is_some());
        Column::of(name, &values, |value| match numeric {
            true => Entry::Number(value.and_then(field::number)),
            false => Entry::Text(value.map(field::formatted)),
        })
    }));
    columns
}

/// Summary of the conditions as JSON: medians with their intervals, or worst values, and the numbers of rows and of
/// passed checks.
pub(crate) fn json(results: &TrialResults) -> serde_json::Value {
    let TrialResults {
        trial, rows, hash, ..
    } = results;
    let metrics = trial.metrics();
    let conditions = results.by_condition().into_iter().map(|of| {
        let found = metrics.iter().zip(&of.intervals).map(|(metric, found)| {
            let shown = found.map(|found| {
                json!({
                    "of": if metric.worst().is_some() { "worst" } else { "median" },
                    "value": found.center, "low": found.low, "high": found.high, "rows": found.count,
                })
            });
            (metric.name.clone(), shown.unwrap_or(serde_json::Value::Null))
        });
        let (checked, held) = TrialRow::count_checked(of.rows.iter().copied());
        json!({
            "condition": of.condition.title(), "rows": of.rows.len(), "checked": checked, "held": held,
            "metrics": found.collect::<serde_json::Map<_, _>>(),
        })
    });
    let (checked, held) = TrialRow::count_checked(rows.values());
    let observer = trial.kind.has_answers().then(|| trial.respondent.kind());
    json!({
        "schema": "palpate-trial/1.1", "name": trial.name, "kind": trial.kind,
        "clock": trial.clock, "observer": observer,
        "participant": trial.respondent.code(), "handle": trial.respondent.code().map(|_| trial.handle()), "hash": hash,
        "rows": rows.len(), "rows_wanted": trial.row_count(), "checked": checked, "held": held,
        "refused": trial.refused, "checks": trial.refused.map(|_| checks(results)),
        "conditions": conditions.collect::<Vec<_>>(),
        "cells": results.cells().iter().map(|cell| json!({
            "cell": cell.title, "state": name(&cell.state), "text": cell.text,
        })).collect::<Vec<_>>(),
    })
}

/// Checks of a drawn trial over all of its rows as JSON.
fn checks(results: &TrialResults) -> Vec<serde_json::Value> {
    let line = |line: &CheckLine<'_>| {
        let CheckLine { worst, row, .. } = *line;
        json!({
            "name": worst.name, "judged": line.judged, "failures": line.failures, "worst_value": worst.value,
            "limit": worst.limit, "bound": worst.bound, "unit": worst.unit, "worst_row": row,
            "worst_seed": results.trial.planned_row(row).session_seed(),
            "repeat": results.rows.get(&row).map(|row| results.repeat_command(row)),
        })
    };
    check_table::lines(&results.rows).iter().map(line).collect()
}

/// Table as CSV.
pub(crate) fn csv(columns: &[Column]) -> String {
    let mut text = String::new();
    let mut line = |fields: Vec<String>| {
        text += &fields.join(",");
        text += "\r\n";
    };
    line(columns.iter().map(|column| quoted(&column.name)).collect());
    let rows = columns.first().map_or(0, |column| column.entries.len());
    for row in 0..rows {
        let shown = |column: &Column| match &column.entries[row] {
            Entry::Whole(whole) => whole.to_string(),
            Entry::Number(number) => number.map_or(String::new(), |number| number.to_string()),
            Entry::Text(text) => text.as_deref().map_or(String::new(), quoted),
        };
        line(columns.iter().map(shown).collect());
    }
    text
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn example() -> Vec<Column> {
        let text = "seeds = 2\n[[condition]]\nname = \"a, \\\"b\\\"\"\nmode = \"wave\"\n\
                    [[condition]]\nrtt_ms = 10\n";
        let trial = Trial::parse(text, "t.toml").expect("good");
        let row = |index: usize| TrialRow {
            index,
            held: Some(index == 0),
            trace_hash: (index == 2).then(|| "0f".to_owned()),
            values: vec![Some(0.1), None],
            ..TrialRow::default()
        };
        columns(&results(trial, [0, 2].map(row)))
    }

    fn results<const N: usize>(trial: Trial, rows: [TrialRow; N]) -> TrialResults {
        TrialResults {
            trial,
            hash: "00ff".to_owned(),
            rows: rows.map(|row| (row.index, row)).into(),
            notes: Vec::new(),
            sessions_per_s: None,
        }
    }

    #[test]
    fn json_summarises_every_condition() {
        let trial = Trial::parse("seeds = 2\n[grid]\nloss = [0, 0.1]\n", "t.toml").expect("good");
        let row = |index: usize| TrialRow {
            index,
            held: Some(index == 0),
            values: vec![Some(index as f64), None],
            ..TrialRow::default()
        };
        let json = json(&results(trial, [0, 1].map(row)));
        assert_eq!(json["hash"], "00ff");
        assert_eq!(
            (json["rows"].as_u64(), json["held"].as_u64()),
            (Some(2), Some(1))
        );
        let [first, second] = [&json["conditions"][0], &json["conditions"][1]];
        assert_eq!(first["metrics"]["min_channel_energy_j"]["value"], 0.0);
        assert_eq!(first["metrics"]["violations"], serde_json::Value::Null);
        assert_eq!(second["rows"], 0);
    }

    #[test]
    fn answer_table_lists_every_answer_of_simulated_observer() {
        let text = "kind = \"stiffness-2afc\"\nseeds = 2\n[psycho]\ntrials = 4\n[grid]\nrtt_ms = [5, 50]\n";
        let trial = Trial::parse(text, "t.toml").expect("good");
        let asked = |right: Option<bool>| ForcedChoice {
            difference: 0.25,
            less: Some(100.0),
            more: right.map(|_| 120.5),
            right,
        };
        let row = TrialRow {
            index: 2,
            asked: vec![asked(None), asked(Some(true)), asked(Some(false))],
            ..TrialRow::default()
        };
        let results = results(trial, [row]);
        let text = csv(&answers(&results));
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(
            lines[0],
            "row,condition,name,seed,repeat,observer,rtt_ms,protocol,comparison,difference,shown_less_npm,\
             shown_more_npm,right,threshold_so_far"
        );
        assert_eq!(lines[1], "2,1,,1,0,simulated,50,quest,1,0.25,100,,,");
        let start = "2,1,,1,0,simulated,50,quest,2,0.25,100,120.5,1,0.";
        assert!(lines[2].starts_with(start), "{text}");
        assert!(lines[3].contains(",3,0.25,100,120.5,0,0."), "{text}");
        assert_eq!(lines.len(), 5);
        assert!(csv(&columns(&results)).contains("2,1,,1,0,simulated,50,"));
        let json = json(&results);
        assert_eq!(json["observer"], "simulated");
    }

    #[test]
    fn csv_quotes_text_and_leaves_unknown_fields_empty() {
        let text = csv(&example());
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].starts_with("row,condition,name,seed,repeat,mode,rtt_ms,min_channel"));
        assert!(
            lines[1].starts_with("0,0,\"a, \"\"b\"\"\",1,0,wave,,0.1,,"),
            "{text}"
        );
        assert!(lines[2].starts_with("2,1,,1,0,,10,0.1,,"), "{text}");
        assert!(
            lines[1].ends_with(",virtual,1,,") && lines[2].ends_with(",virtual,0,,0f"),
            "{text}"
        );
    }
}
