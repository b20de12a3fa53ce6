//! Kernels of the explicit tissue, through its public step.
//!
//! `cargo bench -p palpate-scene --bench explicit`. A moving tissue without contact measures the cost of
//! cells and nodes; the same tissue under a press adds the cost of contact. Then every law on the same
//! cells.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use palpate_fem::explicit::ExplicitTissue;
use palpate_scene::{Block, SceneBody, load};
use palpate_twin::law::{LawFamily, Material, RelaxingShare, Viscosity};
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};

const TICK_S: f64 = 1e-3;
const RADIUS_M: f64 = 5e-3;
/// Ticks after a press in which the tissue still oscillates.
const FREE_TICKS: u32 = 20;

fn named(name: &str) -> Block {
    match load(name).expect("built in").body {
        SceneBody::Block(block) => block,
        SceneBody::Lattice { .. }
        | SceneBody::Flat(_)
        | SceneBody::VoxelBlock(_)
        | SceneBody::VoxelBody(_)
        | SceneBody::Mesh(_) => {
            panic!("the scene `{name}` is of layers")
        }
    }
}

fn block() -> Block {
    named("block")
}

/// Block of the test with a uniform mesh of `edges` cells along every edge.
fn even(edges: u32) -> Block {
    let mut block = block();
    block.zone.cell_m = block.size_m[0] / f64::from(edges);
    block.zone.levels = 1;
    block
}

/// Skin of 100 kPa on fat of 2 kPa on muscle of 20 kPa, all nearly incompressible, with a nodule
/// `times` as stiff as the fat around it.
fn layers(times: f64) -> Block {
    let mut block = named("layers-nodule");
    let young_pa = 2e3 * times;
    block.inclusions[0].material = Material::new(young_pa, 0.49, 1e3).expect("a material");
    block
}

/// Scene `block` with a viscous material.
fn viscous() -> Block {
    let mut block = block();
    let branch = RelaxingShare {
        share: 0.3,
        time_s: 0.2,
    };
    let viscosity = Viscosity {
        shear_pas: 1.0,
        bulk_pas: 0.0,
        ..Viscosity::of_branches(&[branch]).expect("a branch")
    };
    for layer in &mut block.layers {
        let material = layer.material.with_viscosity(viscosity);
        layer.material = material.expect("a viscosity");
    }
    block
}

fn build(block: &Block) -> ExplicitTissue {
    let (nested, stuff) = block.grids_and_materials().expect("a scene that loads");
    ExplicitTissue::new(&nested, &stuff, &block.params).expect("a scene that loads")
}

fn tool(depth_m: f64) -> Tool {
    Tool {
        position_m: Vec3::new(0.0, 0.0, RADIUS_M - depth_m),
        velocity_mps: Vec3::zeros(),
        radius_m: RADIUS_M,
        stiffness_npm: 1e9,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    }
}

/// Presses to 5 mm within a quarter of a second, at the speed of the block test.
fn pressed(mut tissue: ExplicitTissue) -> ExplicitTissue {
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
        // after the release, cells and nodes move for a while without contact
        group.throughput(Throughput::Elements(cells * u64::from(FREE_TICKS)));
        let name = format!("{FREE_TICKS} of cells and nodes alone");
        group.bench_function(BenchmarkId::new(name, cells), |bencher| {
            let free = |tissue: &mut ExplicitTissue| {
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
    for (name, block) in [
        ("scene block", block()),
        ("scene block, viscous", viscous()),
        ("scene layered", named("layered")),
        ("scene layered-lump", named("layered-lump")),
        ("layers with a nodule 10 times as stiff", layers(10.0)),
        ("layers with a nodule 50 times as stiff", layers(50.0)),
    ] {
        let mut graded = pressed(build(&block));
        group.throughput(Throughput::Elements(graded.caps().elements as u64));
        let mut reaction = [Reaction::default()];
        group.bench_function(format!("{name}, pressed 5 mm"), |bencher| {
            bencher.iter(|| graded.step(black_box(&[tool(5e-3)]), TICK_S, &mut reaction));
        });
    }
    group.finish();
}

fn laws(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("law");
    let families = [
        ("neo-hookean", LawFamily::NeoHookean),
        ("linear", LawFamily::Linear),
        ("st-venant-kirchhoff", LawFamily::StVenantKirchhoff),
        ("stable-neo-hookean", LawFamily::StableNeoHookean),
        ("mooney-rivlin", LawFamily::MooneyRivlin { second: 0.3 }),
        ("fung", LawFamily::Fung { growth: 4.0 }),
    ];
    for (name, law) in families {
        let mut block = even(12);
        block.params.law = law;
        let mut held = pressed(build(&block));
        let mut reaction = [Reaction::default()];
        group.throughput(Throughput::Elements(held.caps().elements as u64));
        group.bench_function(format!("{name}, pressed 5 mm"), |bencher| {
            bencher.iter(|| held.step(black_box(&[tool(5e-3)]), TICK_S, &mut reaction));
        });
    }
    group.finish();
}

criterion_group!(benches, ticks, laws);
criterion_main!(benches);
