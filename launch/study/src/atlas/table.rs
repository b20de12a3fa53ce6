//! The atlas as a CSV table, written and read.
//!
//! Source: ours. Columns are found by name; an unreached limit is `inf`, an unknown value is empty. [`json`] writes
//! the same as JSON.

use std::fmt::Write as _;

use palpate_analysis::Failure;
use palpate_transport::coupling::Mode;

use super::{AtlasChart, AtlasPoint, agreement, all_agree, plan};
use crate::messages::{self, name};

/// Columns of optional numbers, with their fields in a point.
type Numbers<'a> = [(&'static str, &'a mut Option<f64>); 9];

fn numbers(point: &mut AtlasPoint) -> Numbers<'_> {
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

/// Formats the table as CSV.
#[must_use]
pub fn csv(points: &[AtlasPoint]) -> String {
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
            name(&point.chart),
            point.mode,
            point.grip,
            point.jitter_ms,
            point.period_ms,
            point.chart.unit(),
            point.estimate_count(),
            shown(point.spread()),
            point
                .agrees()
                .map_or("", |agrees| if agrees { "yes" } else { "no" }),
        );
    }
    text
}

/// Serialises a limit: a number, the text `unbounded` if none was found in the search range, null if it is unknown.
/// JSON itself has no infinity.
pub(super) fn limit<S: serde::Serializer>(
    value: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(limit) if limit.is_infinite() => serializer.serialize_str(UNBOUNDED),
        Some(known) => serializer.serialize_f64(*known),
        None => serializer.serialize_none(),
    }
}

/// JSON value of an unreached limit.
const UNBOUNDED: &str = "unbounded";

/// Formats all points with derived values, and the agreement of their estimates chart by chart. Limits (closed,
/// frequency, root, time, absolute, spread) are numbers in the unit of their chart, `"unbounded"`, or null for
/// unknown.
/// `held` is null if no selected chart has a tolerance, see [`all_agree`].
///
/// # Errors
/// [`Failure::Refused`] if it cannot be serialised.
pub fn json(points: &[AtlasPoint]) -> Result<String, Failure> {
    let refused = |error| Failure::Refused(format!("atlas: {error}"));
    let mut all = Vec::new();
    for point in points {
        let mut one = serde_json::to_value(point).map_err(refused)?;
        one["unit"] = point.chart.unit().into();
        one["ways"] = point.estimate_count().into();
        let spread = limit(&point.spread(), serde_json::value::Serializer);
        one["spread"] = spread.map_err(refused)?;
        one["agrees"] = point.agrees().into();
        all.push(one);
    }
    let charts = AtlasChart::ALL.map(|chart| {
        let found = agreement(points, chart);
        serde_json::json!({
            "chart": chart, "unit": chart.unit(), "compared": found.map(|all| all.points),
            "in_three_ways": found.map(|all| all.three_ways), "beyond_their_bar": found.map(|all| all.broken),
        })
    });
    let all = serde_json::json!({
        "schema": "palpate-atlas/1.0", "held": all_agree(points), "charts": charts, "points": all,
    });
    messages::json(&all, "atlas")
}

/// Grips of a table.
const GRIPS: [&str; 3] = ["heavy", "light", "firm"];

/// Parses the points of a table.
///
/// # Errors
/// Message with line, column, value, and the expected value.
pub fn parse(text: &str) -> Result<Vec<AtlasPoint>, String> {
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
        let value = cell("chart")?;
        let names = AtlasChart::ALL.map(|chart| name(&chart));
        let renamed = AtlasChart::RENAMED
            .iter()
            .find(|(former, _)| *former == value);
        let value = renamed.map_or(value, |(_, now)| *now);
        let at = names.iter().position(|known| known == value);
        let chart = at.map(|at| AtlasChart::ALL[at]);
        let chart = chart.ok_or_else(|| match value {
            "" => wrong("chart", "empty", "a chart"),
            unknown => wrong("chart", unknown, &names.join(", ")),
        })?;
        let period_ms = number("period_ms")?.unwrap_or(1.0);
        let mut point = AtlasPoint {
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
    use super::super::plan;
    use super::*;

    #[test]
    fn table_round_trips_and_former_names_of_charts_are_read() {
        let mut points = plan();
        points[3].time = Some(0.1);
        points[60].root = Some(f64::INFINITY);
        let text = csv(&points);
        let former = text
            .replace("\ndisplayed,", "\nline,")
            .replace("\nimpedance,", "\nends,");
        assert_ne!(text, former);
        assert_eq!(
            [&text, &former].map(|text| parse(text)),
            [Ok(points.clone()), Ok(points)]
        );
    }

    #[test]
    fn issue_unbounded_and_unknown_limits_were_both_null() {
        let mut points = plan();
        let last = points.len() - 1;
        points[last].root = Some(f64::INFINITY);
        points[last].time = Some(f64::INFINITY);
        points[0].time = Some(2.5);
        let json: serde_json::Value =
            serde_json::from_str(&json(&points).expect("text")).expect("JSON");
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
    fn errors_name_line_and_column() {
        let good = csv(&plan());
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
