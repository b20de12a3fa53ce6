//! Linked volumes, in the shapes of the source's tables.
//!
//! `cargo bench -p palpate-twin --bench linked`. Table 1 of seed-001 (row CD-12): a cube that goes through a ball, its
//! steps by what they meet; microseconds a step, mean over six ways of approach of the median of each, and the same as the source prints
//! it (one element a cell, an array of whole elements) in the same run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use palpate_twin::model::linked::collide::table::{Course, STEPS, Stage};
use palpate_twin::model::linked::direction::Direction;

/// Bodies of Table 1: edge of the cube, whether its surface only.
const CUBES: [(i32, bool); 4] = [(31, false), (15, false), (31, true), (15, true)];
/// Columns of Table 1.
const COLUMNS: [(bool, Stage); 5] = [
    (false, Stage::Free),
    (false, Stage::Inside),
    (true, Stage::Free),
    (true, Stage::Impact),
    (true, Stage::Touching),
];

/// Time of a step \[us\] of each column: the median of each way of approach, then the mean of the ways.
fn row(course: &mut Course) -> [f64; 5] {
    let mut sum = [(0.0, 0_u32); 5];
    for way in Direction::ALL {
        let mut spent: [Vec<Duration>; 5] = Default::default();
        for round in 0..6 {
            let prevent = round % 2 == 1;
            course.start(way);
            for _ in 0..STEPS {
                let begun = Instant::now();
                let stage = black_box(if prevent {
                    course.prevent()
                } else {
                    course.detect()
                });
                let took = begun.elapsed();
                if let Some(column) = COLUMNS.iter().position(|&c| c == (prevent, stage)) {
                    spent[column].push(took);
                }
            }
        }
        for (spent, (sum, count)) in spent.iter_mut().zip(&mut sum) {
            spent.sort_unstable();
            if let Some(median) = spent.get(spent.len() / 2) {
                *sum += 1e6 * median.as_secs_f64();
                *count += 1;
            }
        }
    }
    sum.map(|(time, count)| time / f64::from(count.max(1)))
}

/// The map as the source prints it, Fig. 6: whole elements, one a cell.
struct Printed {
    cells: Vec<Option<(u32, u32)>>,
    elements: Vec<Element>,
}

/// More than 40 bytes, as in its Fig. 4.
struct Element {
    _colour: [u8; 4],
    object: u32,
    at: [f32; 3],
    _neighbours: [Option<Box<u32>>; 6],
}

const SIDE: i32 = 200;

fn cell(at: [f32; 3]) -> usize {
    let along = |k: usize| at[k].floor() as i32 + SIDE / 2;
    ((along(2) * SIDE + along(1)) * SIDE + along(0)) as usize
}

impl Printed {
    fn new(edge: i32, surface: bool) -> Self {
        let half = edge / 2;
        let mut elements = Vec::new();
        for z in -half..=half {
            for y in -half..=half {
                for x in -half..=half {
                    if !surface || [x, y, z].iter().any(|along| along.abs() == half) {
                        elements.push(Element {
                            _colour: [0; 4],
                            object: 1,
                            at: [x as f32, y as f32, z as f32 - 60.0],
                            _neighbours: Default::default(),
                        });
                    }
                }
            }
        }
        let mut cells = vec![None; (SIDE * SIDE * SIDE) as usize];
        for (nth, element) in (0..).zip(&elements) {
            cells[cell(element.at)] = Some((1, nth));
        }
        Self { cells, elements }
    }

    fn step(&mut self, by: f32) -> usize {
        let mut hits = 0;
        for element in &self.elements {
            let to = [element.at[0], element.at[1] + by, element.at[2]];
            hits += usize::from(self.cells[cell(to)].is_some_and(|(o, _)| o != element.object));
        }
        for (nth, element) in (0..).zip(&self.elements) {
            let own = &mut self.cells[cell(element.at)];
            if *own == Some((element.object, nth)) {
                *own = None;
            }
        }
        for (nth, element) in (0..).zip(&mut self.elements) {
            element.at[1] += by;
            self.cells[cell(element.at)] = Some((element.object, nth));
        }
        hits
    }
}

/// Table 1, printed; its numbers are not criterion's.
fn table(_: &mut Criterion) {
    println!(
        "Table 1, us a step: detect free, inside; prevent free, impact, touching; as printed, detect free"
    );
    for (edge, surface) in CUBES {
        let mut printed = Printed::new(edge, surface);
        let mut spent: Vec<Duration> = (0..101)
            .map(|nth| {
                let begun = Instant::now();
                black_box(printed.step(if nth % 20 < 10 { 5.0 } else { -5.0 }));
                begun.elapsed()
            })
            .collect();
        spent.sort_unstable();
        let baseline = 1e6 * spent[50].as_secs_f64();
        for hashed in [false, true] {
            let mut course = Course::new(edge, surface, hashed).expect("fixed");
            let times = row(&mut course);
            let [_, count] = course.elements();
            let kind = if hashed { "hashed" } else { "dense" };
            println!(
                "{edge:2}^3 surface {surface:5} ({count:5}) {kind:6}: {times:8.1?}; {baseline:8.1}"
            );
        }
    }
}

/// The step that a session would do: a surface in free space.
fn free(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linked/occupancy");
    for (edge, surface) in CUBES {
        let mut course = Course::new(edge, surface, false).expect("fixed");
        let mut steps = 0;
        group.bench_function(format!("{edge}^3 surface {surface}"), |bench| {
            bench.iter(|| {
                if steps == 0 {
                    course.start(Direction::Right);
                }
                steps = (steps + 1) % 4;
                course.detect()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, table, free);
criterion_main!(benches);
