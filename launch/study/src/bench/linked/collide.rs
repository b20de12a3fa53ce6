//! Table 1: a cube goes through a ball by steps of five cells, in a map of cells and in one by hash.
//!
//! Source: seed-001 section 4.1 (row CD-12).

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use palpate_twin::edits::Direction;
use palpate_voxel::collide::table::{Course, STEPS, Stage};
use serde::{Deserialize, Serialize};

use super::printed::Map;
use super::{linear, median, timed};
use crate::bench::goal::Goal;
use crate::bench::{BenchError, go_on};

/// Bodies of the table: edge of the cube, whether its surface only.
const CUBES: [(i32, bool); 4] = [(31, false), (15, false), (31, true), (15, true)];
/// Its columns: whether hits are prevented, and what was met.
const COLUMNS: [(bool, Stage); 5] = [
    (false, Stage::Free),
    (false, Stage::Inside),
    (true, Stage::Free),
    (true, Stage::Impact),
    (true, Stage::Touching),
];
/// Trips from each side.
const ROUNDS: usize = 6;
/// Steps of the cube as printed.
const PRINTED: usize = 101;

/// One row: a cube in one kind of map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollisionRow {
    /// Edge of the cube in cells.
    pub edge: i32,
    /// Whether its surface only.
    pub surface: bool,
    /// Whether the map is by hash.
    pub hashed: bool,
    /// Elements of it.
    pub elements: usize,
    /// Time of a step \[us\]: detecting, free and inside; preventing, free, at the impact and touching.
    /// Median of each way of approach, then the mean of the six.
    pub step_us: [f64; 5],
    /// The same as printed, detecting and free \[us\].
    pub printed_us: f64,
}

/// All rows.
///
/// # Errors
/// [`BenchError`] if `stop` is set.
pub(super) fn table(stop: &AtomicBool) -> Result<Vec<CollisionRow>, BenchError> {
    let mut rows = Vec::new();
    for (edge, surface) in CUBES {
        let mut printed = Map::new(edge.unsigned_abs() as usize, surface);
        let mut spent = Vec::with_capacity(PRINTED);
        for nth in 0..PRINTED {
            let by = if nth % 20 < 10 { 5.0 } else { -5.0 };
            spent.push(timed(|| black_box(printed.step(by))).0);
        }
        let printed_us = median(&mut spent);
        for hashed in [false, true] {
            go_on(stop)?;
            // the numbers are fixed, and fit
            let Ok(mut course) = Course::new(edge, surface, hashed) else {
                continue;
            };
            let [_, elements] = course.elements();
            rows.push(CollisionRow {
                edge,
                surface,
                hashed,
                elements,
                step_us: steps_us(&mut course),
                printed_us,
            });
        }
    }
    Ok(rows)
}

/// Time of a step by column \[us\].
fn steps_us(course: &mut Course) -> [f64; 5] {
    let mut sum = [(0.0, 0_u32); 5];
    for way in Direction::ALL {
        let mut spent: [Vec<f64>; 5] = Default::default();
        for round in 0..ROUNDS {
            let prevent = round % 2 == 1;
            course.start(way);
            for _ in 0..STEPS {
                let (us, stage) = timed(|| match prevent {
                    true => course.prevent(),
                    false => course.detect(),
                });
                let column = COLUMNS.iter().position(|&c| c == (prevent, stage));
                if let Some(spent) = column.and_then(|column| spent.get_mut(column)) {
                    spent.push(us);
                }
            }
        }
        for (spent, (sum, count)) in spent.iter_mut().zip(&mut sum) {
            if !spent.is_empty() {
                *sum += median(spent);
                *count += 1;
            }
        }
    }
    sum.map(|(time, count)| time / f64::from(count.max(1)))
}

/// What is wanted of the table.
pub(super) fn goals(rows: &[CollisionRow]) -> Vec<Goal> {
    let dense = |edge: i32, surface: bool| {
        let found = |row: &&CollisionRow| row.edge == edge && row.surface == surface && !row.hashed;
        rows.iter().find(found)
    };
    let free = |edge, surface| dense(edge, surface).map_or(f64::NAN, |row| row.step_us[0]);
    let ratio = dense(31, true).map_or(f64::NAN, |row| row.printed_us / row.step_us[0]);
    let points = rows.iter().filter(|row| !row.hashed);
    let points: Vec<(f64, f64)> = points
        .map(|row| (row.elements as f64, row.step_us[0]))
        .collect();
    vec![
        Goal::at_most("31^3 in free space", free(31, false), 200.0, "us"),
        Goal::at_most("31^3 surface in free space", free(31, true), 50.0, "us"),
        Goal::at_least(
            "31^3 over its surface",
            free(31, false) / free(31, true),
            3.0,
            "times",
        ),
        Goal::at_least("cost by elements, R^2", linear(&points), 0.95, ""),
        Goal::at_least("as printed over ours, 31^3 surface", ratio, 10.0, "times"),
    ]
}
