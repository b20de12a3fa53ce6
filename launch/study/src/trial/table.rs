//! The results as one table: which columns, and as text for any program that reads CSV.
//!
//! Source: RFC 4180 (lines end in CR LF; a field with a comma, a quote or an end of line is quoted, and
//! quotes in it are doubled). What is unknown is an empty field.

use std::collections::BTreeMap;

use serde_json::json;

use super::file::Trial;
use super::plan::Cell;
use super::row::Row;
use super::{field, psycho};

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
    let cells: Vec<Cell> = rows.keys().map(|&index| trial.cell(index)).collect();
    let mut columns = leading(trial, &cells);
    let mut add = |name: &str, entries: Vec<Entry>| {
        let name = name.to_owned();
        columns.push(Column { name, entries });
    };
    for (k, metric) in trial.metrics().iter().enumerate() {
        let value = |row: &Row| Entry::Number(row.values.get(k).copied().flatten());
        add(&metric.name, rows.values().map(value).collect());
    }
    let clock = || Entry::Text(Some(trial.clock.name().to_owned()));
    add("clock", rows.values().map(|_| clock()).collect());
    let held = rows.values();
    let held = held.map(|row| Entry::Number(row.held.map(|held| f64::from(u8::from(held)))));
    add("checks_held", held.collect());
    let hashes = rows.values().map(|row| Entry::Text(row.trace_hash.clone()));
    add("trace_hash", hashes.collect());
    columns
}

/// Every comparison of every finished run of an observer, run by run in the order in which they were asked.
#[must_use]
pub fn answers(trial: &Trial, rows: &BTreeMap<usize, Row>) -> Vec<Column> {
    let all = rows
        .values()
        .flat_map(|row| (0..row.asked.len()).map(move |k| (row, k)));
    let all: Vec<(&Row, usize)> = all.collect();
    let cells: Vec<Cell> = all.iter().map(|(row, _)| trial.cell(row.index)).collect();
    let mut columns = leading(trial, &cells);
    let mut add = |name: &str, of: &dyn Fn(&Row, usize) -> Entry| {
        let entries = all.iter().map(|(row, k)| of(row, *k)).collect();
        let name = name.to_owned();
        columns.push(Column { name, entries });
    };
    let whole = |whole: u64| Entry::Number(Some(whole as f64));
    let protocol = trial.psycho.protocol.name();
    add("protocol", &|_, _| Entry::Text(Some(protocol.to_owned())));
    add("comparison", &|_, k| Entry::Whole(k as u64 + 1));
    add("difference", &|row, k| {
        Entry::Number(Some(row.asked[k].difference))
    });
    let unit = trial.kind.shown_unit();
    add(&format!("shown_less_{unit}"), &|row, k| {
        Entry::Number(row.asked[k].less)
    });
    add(&format!("shown_more_{unit}"), &|row, k| {
        Entry::Number(row.asked[k].more)
    });
    add("right", &|row, k| {
        row.asked[k]
            .right
            .map_or(Entry::Number(None), |right| whole(u64::from(right)))
    });
    add("threshold_so_far", &|row, k| {
        Entry::Number(psycho::asked::estimate(&trial.psycho, &row.asked, k))
    });
    columns
}

/// What says which row something is of: its number, condition, seed and repeat, whose answers they are, and the
/// fields of its condition.
fn leading(trial: &Trial, cells: &[Cell]) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut add = |name: &str, entries: Vec<Entry>| {
        let name = name.to_owned();
        columns.push(Column { name, entries });
    };
    let of = |whole: &dyn Fn(&Cell) -> u64| -> Vec<Entry> {
        cells.iter().map(|cell| Entry::Whole(whole(cell))).collect()
    };
    add(LEADING[0], of(&|cell| cell.index as u64));
    add(LEADING[1], of(&|cell| cell.condition as u64));
    let condition = |cell: &Cell| &trial.conditions[cell.condition];
    let named = cells
        .iter()
        .map(|cell| Entry::Text(condition(cell).name.clone()));
    add(LEADING[2], named.collect());
    add(LEADING[3], of(&Cell::session_seed));
    add(LEADING[4], of(&|cell| cell.repeat as u64));
    if trial.kind.is_asked() {
        let every = |text: Option<&str>| {
            let entry = || Entry::Text(text.map(str::to_owned));
            cells.iter().map(|_| entry()).collect()
        };
        add("observer", every(Some(trial.who.kind())));
        if let Some(code) = trial.who.code() {
            add("participant", every(Some(code)));
            add("handle", every(Some(trial.handle())));
        }
    }
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
    columns
}

/// What many rows are shown by, condition by condition: medians with their intervals, or the worst, and how many rows
/// there are and held.
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
    let observer = trial.kind.is_asked().then(|| trial.who.kind());
    json!({
        "schema": "palpate-trial/1.1", "name": trial.name, "kind": trial.kind.name(),
        "clock": trial.clock.name(), "observer": observer,
        "participant": trial.who.code(), "handle": trial.who.code().map(|_| trial.handle()), "hash": hash,
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
            asked: Vec::new(),
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
            asked: Vec::new(),
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
    fn every_answer_stands_in_a_table_and_is_said_to_be_simulated() {
        use crate::trial::psycho::{Asked, Told};

        let text = "kind = \"stiffness-2afc\"\nseeds = 2\n[psycho]\ntrials = 4\n[grid]\nrtt_ms = [5, 50]\n";
        let trial = Trial::parse(text, "t.toml").expect("good");
        let asked = |right: Option<bool>| {
            let told = Told {
                less: Some(100.0),
                more: right.map(|_| 120.5),
                right,
            };
            Asked::new(0.25, told)
        };
        let row = Row {
            index: 2,
            held: None,
            trace_hash: None,
            values: Vec::new(),
            asked: vec![asked(None), asked(Some(true)), asked(Some(false))],
        };
        let rows = [(2, row)].into();
        let text = csv(&answers(&trial, &rows));
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
        assert!(csv(&columns(&trial, &rows)).contains("2,1,,1,0,simulated,50,"));
        let json = json(&trial, &rows, "0");
        assert_eq!(json["observer"], "simulated");
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
            lines[1].ends_with(",virtual,1,") && lines[2].ends_with(",virtual,0,0f"),
            "{text}"
        );
    }
}
