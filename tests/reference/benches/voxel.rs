//! Linked volumes in the shapes of their source's tables and figures, beside the same work as it prints it.
//!
//! `cargo bench -p palpate-reference --bench voxel`. Source: seed-001 Table 1, Figs. 11, 13 and 14 to 16, section 3.4.6
//! (rows CD-12, DF-13 to DF-15, FU-07). What was meant for machines of its time is compared by ratios in one run. Ticks
//! of the product are in `palpate bench --only linked`.

#![allow(missing_docs, reason = "criterion makes items of its own")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use palpate_reference::voxel::bench1d::Bench;
use palpate_reference::voxel::bodies::{Printed as _, block, ground};
use palpate_reference::voxel::chain::Lists;
use palpate_reference::voxel::collide::table::Course;
use palpate_reference::voxel::drag::Drag;
use palpate_reference::voxel::printed::{Give, Map, Volume};
use palpate_reference::voxel::propagation::{Propagation, Propagator};
use palpate_twin::edits::Direction;
use palpate_voxel::elements::Elements;
use palpate_voxel::exact::Control;
use palpate_voxel::limits::Limits;

/// Bodies of Table 1: edge of the cube, whether its surface only.
const CUBES: [(i32, bool); 4] = [(31, false), (15, false), (31, true), (15, true)];
/// What moves a volume.
const WAYS: [(&str, Propagation); 2] = [
    ("exact", Propagation::Exact),
    ("lists", Propagation::Chain(Lists::Box)),
];
/// Moves of a trip round a square, and its side in spacings.
const MOVES: u32 = 100;
const SQUARE: f32 = 50.0;

/// Table 1 (row CD-12): a step of a cube in free space, in a map of cells, in one by hash, and as printed.
fn table_1(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/table 1");
    for (edge, surface) in CUBES {
        for hashed in [false, true] {
            let mut course = Course::new(edge, surface, hashed).expect("fixed");
            let mut steps = 0;
            let name = format!("{edge}^3 surface {surface} hashed {hashed}");
            group.bench_function(name, |bench| {
                bench.iter(|| {
                    if steps == 0 {
                        course.start(Direction::Right);
                    }
                    steps = (steps + 1) % 4;
                    course.detect()
                });
            });
        }
        let mut map = Map::new(edge.unsigned_abs() as usize, surface);
        let mut nth = 0;
        group.bench_function(format!("{edge}^3 surface {surface} as printed"), |bench| {
            bench.iter(|| {
                nth += 1;
                map.step(if nth % 20 < 10 { 5.0 } else { -5.0 })
            });
        });
    }
    group.finish();
}

/// Where a control is on its way round the square, in spacings.
fn round(nth: u32) -> [f32; 3] {
    let way = 4.0 * (nth % MOVES) as f32 / MOVES as f32;
    let [x, y] = match way as u32 {
        0 => [way, 0.0],
        1 => [1.0, way - 1.0],
        2 => [3.0 - way, 1.0],
        _ => [0.0, 4.0 - way],
    };
    [SQUARE * x, SQUARE * y, 0.0]
}

/// Fig. 13 (row DF-14): the middle of a sheet dragged round a square, a move.
fn figure_13(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/figure 13");
    for (name, limits) in [("rigid", Limits::RIGID), ("medium", Limits::MEDIUM)] {
        for edge in [50, 200] {
            let rest: Elements<f32> = block([edge, edge, 1], limits);
            let element = rest.at_site([edge / 2, edge / 2, 0]).expect("there");
            for (way, how) in WAYS {
                let mut sheet = rest.clone();
                let mut propagator = Propagator::new(how, sheet.slots());
                let mut nth = 0;
                group.bench_function(format!("{name} {edge}^2 {way}"), |bench| {
                    bench.iter(|| {
                        nth += 1;
                        let to_m = round(nth);
                        propagator.propagate(&mut sheet, &[Control { element, to_m }])
                    });
                });
            }
            let [shortest, longest] = [limits.shortest[0], limits.longest[0]].map(|x| x as f32);
            let give = Give(shortest, longest, limits.shear[0][1] as f32);
            let edge = edge.unsigned_abs() as usize;
            let mut printed = Volume::new([edge, edge, 1], give);
            let control = (edge / 2) * edge + edge / 2;
            let home = printed.elements[control].at;
            let mut nth = 0;
            group.bench_function(format!("{name} {edge}^2 as printed"), |bench| {
                bench.iter(|| {
                    nth += 1;
                    let by = round(nth);
                    printed.chain(control, std::array::from_fn(|axis| home[axis] + by[axis]))
                });
            });
        }
    }
    group.finish();
}

/// Fig. 11 (rows DF-13, FU-07): an update of a volume that is dragged by one element, and a sweep of it as printed.
fn drag(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/drag");
    let about = |nth: u32| {
        let turn = f64::from(nth) / 60.0 * std::f64::consts::TAU;
        [5.0 * libm::cos(turn), 5.0 * libm::sin(turn), 3.0].map(|along| along as f32)
    };
    for edge in [40, 50] {
        for (way, how) in WAYS {
            let mut elements: Elements<f32> = block([edge; 3], Limits::MEDIUM);
            ground(&mut elements);
            let top = elements.at_site([edge / 2, edge / 2, edge - 1]);
            let element = top.expect("there");
            let mut drag = Drag::new(elements, how).expect("fixed");
            let mut nth = 0;
            group.bench_function(BenchmarkId::new(way, edge), |bench| {
                bench.iter(|| {
                    nth += 1;
                    let to_m = about(nth);
                    black_box(drag.to(&[Control { element, to_m }])).is_ok()
                });
            });
        }
        let edge = edge.unsigned_abs() as usize;
        let mut volume = Volume::new([edge; 3], Give(0.8, 1.2, 0.2));
        let control = ((edge - 1) * edge + edge / 2) * edge + edge / 2;
        let home = volume.elements[control].at;
        let mut nth = 0;
        group.bench_function(BenchmarkId::new("as printed", edge), |bench| {
            bench.iter(|| {
                nth += 1;
                let by = about(nth);
                black_box(volume.chain(control, std::array::from_fn(|a| home[a] + by[a])));
                volume.relax(Some(control), 0.5);
                black_box(volume.draw());
            });
        });
        group.bench_function(BenchmarkId::new("a sweep as printed", edge), |bench| {
            bench.iter(|| volume.relax(Some(control), 0.5));
        });
    }
    group.finish();
}

/// Figs. 14 to 16 (row DF-15): a row of links drawn out and let back, by law and gain.
fn row(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/row of links");
    for (name, row) in Bench::figure_14() {
        group.bench_function(name, |bench| bench.iter(|| row.load_unload()));
    }
    group.finish();
}

criterion_group!(benches, table_1, figure_13, drag, row);
criterion_main!(benches);
