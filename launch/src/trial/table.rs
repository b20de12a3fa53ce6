//! The results as one table: which columns, and as text for any program that reads CSV.
//!
//! Source: RFC 4180 (lines end in CR LF; a field with a comma, a quote or an end of line is quoted, and
//! quotes in it are doubled). What is unknown is an empty field.

use std::collections::BTreeMap;

use serde_json::json;

use super::field;
use super::file::Trial;
use super::row::Row;

/// Names of the columns that say which row it is, before the fields of the condition.
const LEADING: [&str; 5] = ["row", "condition", "name", "seed", "repeat"];

/// A cell of the table.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A whole number.
    Whole(u64),
    /// A number, or nothing if it is unknown.
    Number(Option<f64>),
    /// A text, or nothing.
    Text(Option<String>),
}

/// A column with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// One entry a row, all of one kind.
    pub entries: Vec<Entry>,
}

/// All columns of the finished rows, in the order of their numbers.
#[must_use]
pub fn columns(trial: &Trial, rows: &BTreeMap<usize, Row>) -> Vec<Column> {
    let cells: Vec<_> = rows.keys().map(|&index| trial.cell(index)).collect();
    let mut columns = Vec::new();
    let mut add = |name: &str, entries: Vec<Entry>| {
        let name = name.to_owned();
        columns.push(Column { name, entries });
    };
    let of = |whole: &dyn Fn(&super::Cell) -> u64| -> Vec<Entry> {
        cells.iter().map(|cell| Entry::Whole(whole(cell))).collect()
    };
    add(LEADING[0], of(&|cell| cell.index as u64));
    add(LEADING[1], of(&|cell| cell.condition as u64));
    let condition = |cell: &super::Cell| &trial.conditions[cell.condition];
    let named = cells
        .iter()
        .map(|cell| Entry::Text(condition(cell).name.clone()));
    add(LEADING[2], named.collect());
    add(LEADING[3], of(&super::Cell::session_seed));
    add(LEADING[4], of(&|cell| cell.repeat as u64));
    for name in &trial.fields {
        let values: Vec<_> = cells.iter().map(|c| condition(c).value(name)).collect();
        let number = |value: &toml::Value| match value {
            toml::Value::Integer(whole) => Some(*whole as f64),
            toml::Value::Float(number) => Some(*number),
            _ => None,
        };
        let numeric = values.iter().flatten().all(|value| number(value).is_some());
        let entry = |value: &Option<&toml::Value>| match numeric {
            true => Entry::Number(value.and_then(number)),
            false => Entry::Text(value.map(field::shown)),
        };
        add(name, values.iter().map(entry).collect());
    }
    for (k, metric) in trial.metrics().iter().enumerate() {
        let value = |row: &Row| Entry::Number(row.values.get(k).copied().flatten());
        add(&metric.name, rows.values().map(value).collect());
    }
    let held = rows.values();
    let held = held.map(|row| Entry::Number(row.held.map(|held| f64::from(u8::from(held)))));
    add("checks_held", held.collect());
    let hashes = rows.values().map(|row| Entry::Text(row.trace_hash.clone()));
    add("trace_hash", hashes.collect());
    columns
}

/// What many rows are shown by, condition by condition: medians with their intervals, or the worst, and how many rows there
/// are and held.
#[must_use]
pub fn json(trial: &Trial, rows: &BTreeMap<usize, Row>, hash: &str) -> serde_json::Value {
    let metrics = trial.metrics();
    let conditions = trial.conditions.iter().enumerate();
    let conditions = conditions.map(|(number, condition)| {
        let own = || {
            let own = rows.values();
            own.filter(move |row| trial.cell(row.index).condition == number)
        };
        let found = metrics.iter().enumerate().map(|(k, metric)| {
            let values: Vec<f64> = own().filter_map(|row| row.values.get(k).copied()?).collect();
            let shown = metric.interval(&values).map(|found| {
                json!({
                    "of": if metric.worst().is_some() { "worst" } else { "median" },
                    "value": found.center, "low": found.low, "high": found.high, "rows": values.len(),
                })
            });
            (metric.name.clone(), shown.unwrap_or(serde_json::Value::Null))
        });
        let (checked, held) = Row::checked(own());
        json!({
            "condition": condition.title(), "rows": own().count(), "checked": checked, "held": held,
            "metrics": found.collect::<serde_json::Map<_, _>>(),
        })
    });
    let (checked, held) = Row::checked(rows.values());
    json!({
        "schema": "palpate-trial/1.0", "name": trial.name, "kind": trial.kind.name(), "hash": hash,
        "rows": rows.len(), "rows_wanted": trial.rows(), "checked": checked, "held": held,
        "conditions": conditions.collect::<Vec<_>>(),
    })
}

/// The table as CSV.
#[must_use]
pub fn csv(columns: &[Column]) -> String {
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
        let row = |index: usize| Row {
            index,
            held: Some(index == 0),
            trace_hash: (index == 2).then(|| "0f".to_owned()),
            values: vec![Some(0.1), None],
        };
        let rows = [0, 2].map(|index| (index, row(index))).into();
        columns(&trial, &rows)
    }

    #[test]
    fn what_many_rows_are_shown_by_is_told_of_every_condition() {
        let trial = Trial::parse("seeds = 2\n[grid]\nloss = [0, 0.1]\n", "t.toml").expect("good");
        let row = |index: usize| Row {
            index,
            held: Some(index == 0),
            trace_hash: None,
            values: vec![Some(index as f64), None],
        };
        let json = json(
            &trial,
            &[0, 1].map(|index| (index, row(index))).into(),
            "00ff",
        );
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
    fn text_is_quoted_and_what_is_unknown_is_empty() {
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
            lines[1].ends_with(",1,") && lines[2].ends_with(",0,0f"),
            "{text}"
        );
    }
}
