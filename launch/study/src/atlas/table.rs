//! The atlas as a table for any program that reads CSV, and back from it.
//!
//! Source: ours. Columns are found by name; a limit that was not reached is `inf`, what is unknown is empty. [`json`] has
//! the same for programs that read that.

use std::fmt::Write as _;

use palpate_transport::coupling::Mode;

use super::{Chart, Point, agreement, held, plan};

/// Columns of numbers that may be unknown, with where they are in a point.
type Numbers<'a> = [(&'static str, &'a mut Option<f64>); 9];

fn numbers(point: &mut Point) -> Numbers<'_> {
    [
        ("oneway_ms", &mut point.oneway_ms),
        ("b_nspm", &mut point.b_nspm),
        ("wall_npm", &mut point.wall_npm),
        ("slave_npm", &mut point.slave_npm),
        ("closed", &mut point.closed),
        ("frequency", &mut point.frequency),
        ("root", &mut point.root),
        ("time", &mut point.time),
        ("absolute", &mut point.absolute),
    ]
}

/// The table, as text.
#[must_use]
pub fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "chart,mode,grip,jitter_ms,period_ms,oneway_ms,b_nspm,wall_npm,slave_npm,\
         closed,frequency,root,time,absolute,unit,ways,spread,agrees\n",
    );
    let shown = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for point in points {
        let mut copy = point.clone();
        let numbers = numbers(&mut copy).map(|(_, value)| shown(*value)).join(",");
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "{},{},{},{},{},{numbers},{},{},{},{}",
            point.chart.name(),
            point.mode,
            point.grip,
            point.jitter_ms,
            point.period_ms,
            point.chart.unit(),
            point.ways(),
            shown(point.spread()),
            point
                .agrees()
                .map_or("", |agrees| if agrees { "yes" } else { "no" }),
        );
    }
    text
}

/// A limit in JSON: a number, the text `unbounded` if none was found as far as was sought, null if it is unknown.
/// JSON itself has no infinity.
pub(super) fn limit<S: serde::Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(endless) if endless.is_infinite() => serializer.serialize_str(UNBOUNDED),
        Some(known) => serializer.serialize_f64(*known),
        None => serializer.serialize_none(),
    }
}

/// What JSON says of a limit that was not reached.
const UNBOUNDED: &str = "unbounded";

/// All points with what is derived of them, and how their ways agree chart by chart. Limits (closed, frequency, root,
/// time, absolute, spread) are numbers in the unit of their chart, `"unbounded"`, or null for unknown. `held` is null
/// if nothing is stated of what is drawn, see [`held`].
///
/// # Errors
/// Those of the serializer.
pub fn json(points: &[Point]) -> Result<serde_json::Value, serde_json::Error> {
    let mut all = Vec::new();
    for point in points {
        let mut one = serde_json::to_value(point)?;
        if let serde_json::Value::Object(fields) = &mut one {
            fields.insert("unit".into(), point.chart.unit().into());
            fields.insert("ways".into(), point.ways().into());
            fields.insert(
                "spread".into(),
                limit(&point.spread(), serde_json::value::Serializer)?,
            );
            fields.insert("agrees".into(), point.agrees().into());
        }
        all.push(one);
    }
    let charts = Chart::ALL.into_iter().map(|chart| {
        let found = agreement(points, chart);
        serde_json::json!({
            "chart": chart.name(), "unit": chart.unit(), "compared": found.map(|all| all.points),
            "in_three_ways": found.map(|all| all.three_ways), "beyond_their_bar": found.map(|all| all.broken),
        })
    });
    Ok(serde_json::json!({
        "schema": "palpate-atlas/1.0", "held": held(points), "charts": charts.collect::<Vec<_>>(), "points": all,
    }))
}

/// Grips that a table names.
const GRIPS: [&str; 3] = ["heavy", "light", "firm"];

/// Points of a table.
///
/// # Errors
/// A sentence naming line, column, value, and what would be right.
pub fn parse(text: &str) -> Result<Vec<Point>, String> {
    let mut lines = text.lines().enumerate();
    let (_, head) = lines
        .next()
        .ok_or("empty; expected the atlas.csv of `palpate atlas`")?;
    let names: Vec<&str> = head.split(',').collect();
    let column = |name: &str| {
        let index = names.iter().position(|known| *known == name);
        index.ok_or_else(|| {
            format!("line 1: no column {name}; expected the atlas.csv of `palpate atlas`")
        })
    };
    let mut points = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| -> Result<&str, String> {
            Ok(cells.get(column(name)?).copied().unwrap_or("").trim())
        };
        let wrong = |name: &str, value: &str, expected: &str| {
            format!("line {}: {name} is {value}; expected {expected}", index + 1)
        };
        let number = |name: &str| -> Result<Option<f64>, String> {
            let value = cell(name)?;
            if value.is_empty() {
                return Ok(None);
            }
            let found = value.parse().ok().filter(|number: &f64| !number.is_nan());
            found
                .map(Some)
                .ok_or_else(|| wrong(name, value, "a number"))
        };
        let known = |name: &str, all: &[&'static str]| -> Result<&'static str, String> {
            let value = cell(name)?;
            let found = all.iter().chain(&[""]).find(|known| **known == value);
            found
                .copied()
                .ok_or_else(|| wrong(name, value, &all.join(", ")))
        };
        let name = known("chart", &Chart::ALL.map(Chart::name))?;
        let chart = Chart::ALL.into_iter().find(|chart| chart.name() == name);
        let chart = chart.ok_or_else(|| wrong("chart", "empty", "a chart"))?;
        let period_ms = number("period_ms")?.unwrap_or(1.0);
        let mut point = Point {
            mode: known("mode", &Mode::ALL.map(Mode::name))?,
            grip: known("grip", &GRIPS)?,
            jitter_ms: number("jitter_ms")?.unwrap_or(0.0),
            ..plan::empty(chart, period_ms)
        };
        for (name, value) in numbers(&mut point) {
            *value = number(name)?;
        }
        points.push(point);
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::super::{Extent, plan};
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let mut points = plan(Extent::Whole);
        points[3].time = Some(0.1);
        points[60].root = Some(f64::INFINITY);
        assert_eq!(parse(&csv(&points)), Ok(points));
    }

    #[test]
    fn issue_no_limit_and_an_unknown_one_were_both_null() {
        let mut points = plan(Extent::Sketch);
        let last = points.len() - 1;
        points[last].root = Some(f64::INFINITY);
        points[last].time = Some(f64::INFINITY);
        points[0].time = Some(2.5);
        let json = json(&points).expect("JSON");
        let of = |index: usize| &json["points"][index];
        assert_eq!(of(last)["root"], "unbounded");
        assert_eq!(of(last)["closed"], serde_json::Value::Null);
        assert_eq!(
            (&of(last)["spread"], &of(last)["agrees"]),
            (&0.0.into(), &true.into())
        );
        assert_eq!(
            (&of(0)["time"], &of(0)["unit"]),
            (&2.5.into(), &"N/m".into())
        );
        assert_eq!(
            (&json["held"], &json["schema"]),
            (&false.into(), &"palpate-atlas/1.0".into())
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = csv(&plan(Extent::Sketch));
        for (text, parts) in [
            (String::new(), ["empty", "atlas.csv"]),
            (good.replacen("closed", "open", 1), ["closed", "line 1"]),
            (
                good.replacen("wall,,heavy", "wall,,sticky", 1),
                ["sticky", "line 2"],
            ),
            (
                good.replacen("heavy,0,", "heavy,none,", 1),
                ["jitter_ms is none", "line 2"],
            ),
        ] {
            let error = parse(&text).expect_err(&text);
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
