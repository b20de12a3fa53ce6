//! Kernels of the explicit tissue, through its public step.
//!
//! `cargo bench -p palpate-twin --bench explicit`. A tissue that moves and is not touched costs what
//! its cells and nodes cost; the same tissue pressed costs contact on top.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use palpate_twin::model::fem::explicit::Explicit;
use palpate_twin::scene::{self, Block, Body};
use palpate_twin::{Reaction, Tissue, Tool, Vec3};

const TICK_S: f64 = 1e-3;
const RADIUS_M: f64 = 5e-3;
/// Ticks after a press in which the tissue still swings.
const FREE_TICKS: u32 = 20;

fn block() -> Block {
    match scene::load("block").expect("built in").body {
        Body::Block(block) => block,
        Body::Lattice { .. } => panic!("the scene `block` is a continuum"),
    }
}

/// The block of the test on even cells, so many along every edge.
fn even(edges: u32) -> Block {
    let mut block = block();
    block.zone.cell_m = block.size_m[0] / f64::from(edges);
    block.zone.levels = 1;
    block
}

fn build(block: &Block) -> Explicit {
    let (nested, stuff) = block.grids().expect("a scene that loads");
    Explicit::new(&nested, &stuff, &block.params).expect("a scene that loads")
}

fn tool(depth_m: f64) -> Tool {
    Tool {
        position_m: Vec3::new(0.0, 0.0, RADIUS_M - depth_m),
        velocity_mps: Vec3::zeros(),
        radius_m: RADIUS_M,
        stiffness_npm: 1e9,
        shaft_m: Vec3::zeros(),
        jaws: None,
    }
}

/// Presses to 5 mm within a quarter of a second, at the pace of the block test.
fn pressed(mut tissue: Explicit) -> Explicit {
    let mut reaction = [Reaction::default()];
    for tick in 0..=250 {
        tissue.step(&[tool(2e-5 * f64::from(tick))], TICK_S, &mut reaction);
    }
    tissue
}

fn ticks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    for edges in [8, 12, 20, 30] {
        let block = even(edges);
        let whole = pressed(build(&block));
        let cells = whole.caps().elements as u64;
        let mut reaction = [Reaction::default()];
        // the press is let go: cells and nodes move for a while, and nothing is touched
        group.throughput(Throughput::Elements(cells * u64::from(FREE_TICKS)));
        let name = format!("{FREE_TICKS} of cells and nodes alone");
        group.bench_function(BenchmarkId::new(name, cells), |bencher| {
            let free = |tissue: &mut Explicit| {
                for _ in 0..FREE_TICKS {
                    tissue.step(black_box(&[]), TICK_S, &mut []);
                }
            };
            bencher.iter_batched_ref(|| whole.clone(), free, BatchSize::PerIteration);
        });
        group.throughput(Throughput::Elements(cells));
        let mut held = whole.clone();
        group.bench_function(BenchmarkId::new("pressed 5 mm", cells), |bencher| {
            bencher.iter(|| held.step(black_box(&[tool(5e-3)]), TICK_S, &mut reaction));
        });
    }
    let mut graded = pressed(build(&block()));
    group.throughput(Throughput::Elements(graded.caps().elements as u64));
    let mut reaction = [Reaction::default()];
    group.bench_function("scene block, pressed 5 mm", |bencher| {
        bencher.iter(|| graded.step(black_box(&[tool(5e-3)]), TICK_S, &mut reaction));
    });
    group.finish();
}

criterion_group!(benches, ticks);
criterion_main!(benches);
