//! Fig. 13: the middle of a sheet dragged round a square; which elements are looked at, and what that takes.
//!
//! Source: seed-001 section 4.2 (row DF-14). A hundred moves go once round a square of so many spacings, through
//! lists of candidates and through the exact propagation that sessions use.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use palpate_twin::Vec3;
use palpate_voxel::chain::Lists;
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::exact::Control;
use palpate_voxel::limits::Limits;
use palpate_voxel::links::Links as _;
use palpate_voxel::matter::Matter;
use palpate_voxel::propagation::{Propagation, Propagator};
use serde::{Deserialize, Serialize};

use super::printed::{Give, Volume};
use super::{LinkedBenchError, linear, median, timed};
use crate::bench::goal::Goal;
use crate::bench::{BenchError, go_on};

/// Elements along an edge of the sheet.
const EDGES: [usize; 5] = [10, 50, 100, 150, 200];
/// Sides of the squares in spacings: those that the source plots.
const SQUARES: [u32; 2] = [50, 100];
/// Materials: what people call them, and their limits.
const MATERIALS: [(&str, Limits); 3] = [
    ("rigid", Limits::RIGID),
    ("medium", Limits::MEDIUM),
    ("loose", Limits::LOOSE),
];
/// Moves of a trip.
const MOVES: u32 = 100;

/// One sheet, material and square.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GridRow {
    /// Elements of the sheet.
    pub elements: usize,
    /// Its material.
    pub material: String,
    /// Side of the square in spacings.
    pub square: u32,
    /// Elements that lists of candidates looked at in a move, mean of the trip.
    pub considered: f64,
    /// Time of a move by lists \[us\], mean of the trip.
    pub lists_us: f64,
    /// The same by exact propagation \[us\].
    pub exact_us: f64,
    /// By lists as printed \[us\].
    pub printed_us: f64,
}

/// All rows.
///
/// # Errors
/// [`BenchError`] if a sheet cannot be made, or `stop` is set.
pub(super) fn grid(stop: &AtomicBool) -> Result<Vec<GridRow>, BenchError> {
    let mut rows = Vec::new();
    for (name, limits) in MATERIALS {
        for edge in EDGES {
            for square in SQUARES {
                go_on(stop)?;
                rows.push(row((name, limits), edge, square)?);
            }
        }
    }
    Ok(rows)
}

/// Where the control is after so many moves, from where it rests, in spacings.
fn round(nth: u32, square: u32) -> [f32; 3] {
    let side = square as f32;
    let way = 4.0 * nth as f32 / MOVES as f32;
    let [x, y] = match way as u32 {
        0 => [way, 0.0],
        1 => [1.0, way - 1.0],
        2 => [3.0 - way, 1.0],
        _ => [0.0, 4.0 - way],
    };
    [side * x, side * y, 0.0]
}

fn row((name, limits): (&str, Limits), edge: usize, square: u32) -> Result<GridRow, BenchError> {
    let sheet = sheet(edge, limits)?;
    let middle = edge as i32 / 2;
    let element = sheet.at_site([middle, middle, 0]).unwrap_or(0);
    let mut considered = 0;
    let mut trip = |how: Propagation| {
        let mut sheet = sheet.clone();
        let mut propagator = Propagator::new(how, sheet.slots());
        considered = 0;
        let spent = (1..=MOVES).map(|nth| {
            let to_m = round(nth, square);
            let control = Control { element, to_m };
            let (us, moved) = timed(|| black_box(propagator.propagate(&mut sheet, &[control])));
            considered += moved.map_or(0, |moved| moved.considered);
            us
        });
        spent.sum::<f64>() / f64::from(MOVES)
    };
    let exact_us = trip(Propagation::Exact);
    let lists_us = trip(Propagation::Chain(Lists::Box));
    let give = Give(
        limits.shortest[0] as f32,
        limits.longest[0] as f32,
        limits.shear[0][1] as f32,
    );
    let mut printed = Volume::new([edge, edge, 1], give);
    let control = (edge / 2) * edge + edge / 2;
    let rest = printed.elements[control].at;
    let spent = (1..=MOVES).map(|nth| {
        let by = round(nth, square);
        let to = std::array::from_fn(|axis| rest[axis] + by[axis]);
        timed(|| black_box(printed.chain(control, to))).0
    });
    let printed_us = spent.sum::<f64>() / f64::from(MOVES);
    Ok(GridRow {
        elements: edge * edge,
        material: name.to_owned(),
        square,
        considered: considered as f64 / f64::from(MOVES),
        lists_us,
        exact_us,
        printed_us,
    })
}

/// A sheet of one layer, spacing 1.
fn sheet(edge: usize, limits: Limits) -> Result<Elements<f32>, BenchError> {
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let matter = Matter {
        limits,
        ..Matter::of_young("sheet", 1e4, 0.45)
    };
    let edge = 0..edge as i32;
    let sites = edge
        .clone()
        .flat_map(|y| edge.clone().map(move |x| [x, y, 0]));
    let seeds: Vec<Seed> = sites
        .map(|site| Seed {
            site,
            matter: 0,
            object: 0,
        })
        .collect();
    let sheet = Elements::new(frame, vec![matter], &seeds);
    Ok(sheet.map_err(LinkedBenchError::Elements)?)
}

/// What is wanted of the grid.
pub(super) fn goals(rows: &[GridRow]) -> Vec<Goal> {
    let of = |name: &'static str| rows.iter().filter(move |row| row.material == name);
    let points: Vec<(f64, f64)> = of("rigid")
        .map(|row| (row.elements as f64, row.lists_us))
        .collect();
    let missed = of("rigid")
        .map(|row| (row.considered - (row.elements as f64 - 1.0)).abs())
        .fold(0.0, f64::max);
    // from a quarter to all of the elements: sublinear if the cost grows by less
    let loose = |elements: usize| {
        let found = of("loose").find(|row| row.elements == elements && row.square == SQUARES[0]);
        found.map_or(f64::NAN, |row| row.considered)
    };
    let mut ratios: Vec<f64> = rows
        .iter()
        .map(|row| row.printed_us / row.lists_us)
        .collect();
    vec![
        Goal::at_least("rigid, cost by elements, R^2", linear(&points), 0.98, ""),
        Goal::at_most("rigid, considered but for N - 1", missed, 0.0, ""),
        Goal::at_most(
            "loose, considered at 200^2 over 100^2",
            loose(40_000) / loose(10_000),
            3.0,
            "times",
        ),
        Goal::at_least(
            "sheets by lists, as printed over ours, median",
            median(&mut ratios),
            10.0,
            "times",
        ),
    ]
}
