//! Benchmark of the condensed predictor: construction of its table, decoding, and queries.
//!
//! `cargo bench -p palpate-fem --bench predictor`. Cells of 1 mm under a sphere of 5 mm. The patch is smaller
//! than in a session, so that it is condensed in a second; a query costs as much on any patch, except for
//! cache misses. Percentiles and larger meshes: example `block`, `predict`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use palpate_fem::{ComplianceTable, ContactSolver, ContactSphere, Patch, Solid};
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::HexMesh;
use palpate_twin::Vec3;
use palpate_twin::law::{LawFamily, Material};

const RADIUS_M: f64 = 5e-3;
const HALF_M: f64 = 6e-3;

fn block() -> (Solid, HexMesh) {
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m: 1e-3,
        growth: 1.7,
    };
    let across_m = grade(0.05 - HALF_M, 0.05 + HALF_M).axis(0.1);
    let across_m = across_m.expect("a grading");
    let up_m = grade(0.097, 0.1).axis(0.1).expect("a grading");
    let mesh = HexMesh::block([&across_m, &across_m, &up_m]).expect("a block");
    let material = Material::new(5e3, 0.45, 1e3).expect("a material");
    let moduli = vec![material.moduli(); mesh.cells.len()];
    (Solid::new(&mesh, LawFamily::NeoHookean, &moduli), mesh)
}

fn ball(x_m: f64, y_m: f64, depth_m: f64) -> ContactSphere {
    ContactSphere {
        centre_m: Vec3::new(0.05 + x_m, 0.05 + y_m, 0.1 + RADIUS_M - depth_m),
        radius_m: RADIUS_M,
        stiffness_npm: f64::INFINITY,
    }
}

fn predictor(criterion: &mut Criterion) {
    let (solid, mesh) = block();
    let patch = Patch {
        centre_m: [0.05; 2],
        half_m: [HALF_M; 2],
    };
    let make = || ComplianceTable::new(&solid, &mesh, patch).expect("a patch");
    let mut group = criterion.benchmark_group("predictor");
    group.sample_size(10);
    let nodes = mesh.nodes_m.len();
    group.bench_function(BenchmarkId::new("condense", nodes), |bencher| {
        bencher.iter(make);
    });
    let table = make();
    let stored = table.to_bytes();
    group.bench_function(BenchmarkId::new("read", stored.len()), |bencher| {
        bencher.iter(|| ComplianceTable::from_bytes(black_box(&stored)).expect("a table"));
    });
    group.sample_size(100);
    let mut contacts = ContactSolver::default();
    for depth_m in [0.5e-3, 1e-3, 2e-3, 1e-2] {
        let name = BenchmarkId::new("answer", format!("{} mm deep", depth_m * 1e3));
        group.bench_function(name, |bencher| {
            let mut step = 0_u32;
            bencher.iter(|| {
                // never twice at one position: 61 and 97 have no common factor with 1000
                step = (step + 1) % 1000;
                let at = |prime: u32| 2e-6 * (f64::from(step * prime % 1000) - 500.0);
                contacts.press(black_box(&table), &ball(at(61), at(97), depth_m))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, predictor);
criterion_main!(benches);
