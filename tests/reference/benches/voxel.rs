//! Voxel model in the tables and figures of its source, beside the same work as printed there.
//!
//! `cargo bench -p palpate-reference --bench voxel`. Source: seed-001 Table 1, Figs. 11, 13 and 14 to 16, section
//! 3.4.6 (rows CD-12, DF-13 to DF-15, FU-07). The source's machines are replaced by ratios within one run. Ticks of
//! the product are in `palpate bench --only linked`.

#![allow(missing_docs, reason = "criterion makes items of its own")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use palpate_reference::voxel::collide::collision_course::CollisionCourse;
use palpate_reference::voxel::drag::DraggedVolume;
use palpate_reference::voxel::link_row_bench::LinkRowBench;
use palpate_reference::voxel::printed::{PrintedLimits, PrintedMap, PrintedVolume};
use palpate_reference::voxel::printed_chainmail::CandidateRule;
use palpate_reference::voxel::propagation::{PropagationMethod, Propagator};
use palpate_reference::voxel::test_volumes::{SourceLimits as _, block, pin_ground};
use palpate_twin::edits::NeighbourDirection;
use palpate_voxel::chainmail::NodeTarget;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::VoxelNodes;

/// Bodies of Table 1: edge of the cube, and true for its surface only.
const CUBES: [(i32, bool); 4] = [(31, false), (15, false), (31, true), (15, true)];
/// Propagation methods.
const METHODS: [(&str, PropagationMethod); 2] = [
    ("chainmail", PropagationMethod::Chainmail),
    (
        "candidate lists",
        PropagationMethod::Printed(CandidateRule::Box),
    ),
];
/// Moves of a path around a square, and its side in spacings.
const MOVES: u32 = 100;
const SQUARE: f32 = 50.0;

/// Table 1 (row CD-12): a step of a cube in free space, in a dense map, in a hashed map, and as printed.
fn table_1(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/table 1");
    for (edge, surface) in CUBES {
        for hashed in [false, true] {
            let mut course = CollisionCourse::new(edge, surface, hashed).expect("fixed");
            let mut steps = 0;
            let name = format!("{edge}^3 surface {surface} hashed {hashed}");
            group.bench_function(name, |bench| {
                bench.iter(|| {
                    if steps == 0 {
                        course.start(NeighbourDirection::Right);
                    }
                    steps = (steps + 1) % 4;
                    course.detect()
                });
            });
        }
        let mut map = PrintedMap::new(edge.unsigned_abs() as usize, surface);
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

/// Returns the target on the path around the square, in spacings.
fn square_target_m(nth: u32) -> [f32; 3] {
    let side = 4.0 * (nth % MOVES) as f32 / MOVES as f32;
    let [x, y] = match side as u32 {
        0 => [side, 0.0],
        1 => [1.0, side - 1.0],
        2 => [3.0 - side, 1.0],
        _ => [0.0, 4.0 - side],
    };
    [SQUARE * x, SQUARE * y, 0.0]
}

/// Fig. 13 (row DF-14): the centre of a sheet is dragged around a square, per move.
fn figure_13(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/figure 13");
    for (name, limits) in [("rigid", BondLimits::RIGID), ("medium", BondLimits::MEDIUM)] {
        for edge in [50, 200] {
            let rest: VoxelNodes<f32> = block([edge, edge, 1], limits);
            let node = rest.at_site([edge / 2, edge / 2, 0]).expect("there");
            for (label, method) in METHODS {
                let mut sheet = rest.clone();
                let mut propagator = Propagator::new(method, sheet.slots());
                let mut nth = 0;
                group.bench_function(format!("{name} {edge}^2 {label}"), |bench| {
                    bench.iter(|| {
                        nth += 1;
                        let to_m = square_target_m(nth);
                        propagator.propagate(
                            &mut sheet,
                            &[NodeTarget {
                                node,
                                displacement_m: to_m,
                            }],
                        )
                    });
                });
            }
            let [shortest, longest] = [limits.shortest[0], limits.longest[0]].map(|x| x as f32);
            let printed_limits = PrintedLimits(shortest, longest, limits.shear[0][1] as f32);
            let edge = edge.unsigned_abs() as usize;
            let mut printed = PrintedVolume::new([edge, edge, 1], printed_limits);
            let target = (edge / 2) * edge + edge / 2;
            let home = printed.nodes[target].at;
            let mut nth = 0;
            group.bench_function(format!("{name} {edge}^2 as printed"), |bench| {
                bench.iter(|| {
                    nth += 1;
                    let by = square_target_m(nth);
                    printed.move_node(target, std::array::from_fn(|axis| home[axis] + by[axis]))
                });
            });
        }
    }
    group.finish();
}

/// Fig. 11 (rows DF-13, FU-07): an update of a volume that is dragged by one node, and a pass over it as printed.
fn drag(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/drag");
    let about = |nth: u32| {
        let turn = f64::from(nth) / 60.0 * std::f64::consts::TAU;
        [5.0 * libm::cos(turn), 5.0 * libm::sin(turn), 3.0].map(|along| along as f32)
    };
    for edge in [40, 50] {
        for (label, method) in METHODS {
            let mut nodes: VoxelNodes<f32> = block([edge; 3], BondLimits::MEDIUM);
            pin_ground(&mut nodes);
            let top = nodes.at_site([edge / 2, edge / 2, edge - 1]);
            let node = top.expect("there");
            let mut drag = DraggedVolume::new(nodes, method).expect("fixed");
            let mut nth = 0;
            group.bench_function(BenchmarkId::new(label, edge), |bench| {
                bench.iter(|| {
                    nth += 1;
                    let to_m = about(nth);
                    black_box(drag.move_to(&[NodeTarget {
                        node,
                        displacement_m: to_m,
                    }]))
                    .is_ok()
                });
            });
        }
        let edge = edge.unsigned_abs() as usize;
        let mut volume = PrintedVolume::new([edge; 3], PrintedLimits(0.8, 1.2, 0.2));
        let target = ((edge - 1) * edge + edge / 2) * edge + edge / 2;
        let home = volume.nodes[target].at;
        let mut nth = 0;
        group.bench_function(BenchmarkId::new("as printed", edge), |bench| {
            bench.iter(|| {
                nth += 1;
                let by = about(nth);
                black_box(volume.move_node(target, std::array::from_fn(|a| home[a] + by[a])));
                volume.relax(Some(target), 0.5);
                black_box(volume.draw());
            });
        });
        group.bench_function(BenchmarkId::new("a pass as printed", edge), |bench| {
            bench.iter(|| volume.relax(Some(target), 0.5));
        });
    }
    group.finish();
}

/// Figs. 14 to 16 (row DF-15): a row of links is stretched and released, by law and gain.
fn figure_14_to_16(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("voxel/row of links");
    for (name, row) in LinkRowBench::figure_14() {
        group.bench_function(name, |bench| bench.iter(|| row.load_unload()));
    }
    group.finish();
}

criterion_group!(benches, table_1, figure_13, drag, figure_14_to_16);
criterion_main!(benches);
