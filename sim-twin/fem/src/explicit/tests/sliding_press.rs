//! Test of the slide of the block test against the static solution at positions along it.

use super::*;
use crate::Solid;
use crate::tests::let_slide;
use crate::tests::static_reference::{Press, Settings};
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_twin::law::LawFamily;

const RADIUS_M: f64 = 5e-3;
const DEPTH_M: f64 = 5e-3;

/// Returns the static force of a press at `x_m` from the middle of the block, on cells of `cell_m` around it.
fn reference_n(x_m: f64, cell_m: f64) -> f64 {
    let grade = |from_m: f64, to_m: f64| {
        let grading = Grading {
            from_m,
            to_m,
            cell_m,
            growth: 1.5,
        };
        grading.axis(0.1).expect("in range")
    };
    // half of the block: the press is in the plane of symmetry
    let along_m = grade(0.043 + x_m, 0.057 + x_m);
    let grading = Grading {
        from_m: 0.0,
        to_m: 7e-3,
        cell_m,
        growth: 1.5,
    };
    let across_m = grading.axis(0.05).expect("in range");
    let mesh = HexMesh::block([&along_m, &across_m, &grade(0.093, 0.1)]).expect("in range");
    let moduli = vec![Material::new(5e3, 0.45, 1e3).expect("in range").moduli(); mesh.cells.len()];
    let mut solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli);
    let_slide(&mut solid, &mesh, &[BlockSide::YMin]);
    let at_m = [0.05 + x_m, 0.0];
    let mut press = Press::new(solid, &mesh, at_m, RADIUS_M, Settings::default());
    let mut force_n = 0.0;
    for part in 1..=3 {
        force_n = press
            .to(DEPTH_M * f64::from(part) / 3.0)
            .expect("in range")
            .force_n
            .z;
    }
    2.0 * force_n
}

/// Returns the scene `block` in numbers: its cells, fine along the slide.
fn block() -> ExplicitTissue {
    let zone = RefinementZone {
        cell_m: 0.0014,
        levels: 4,
        centre_m: [0.01, 0.0],
        half_m: [0.018, 0.008],
        depth_m: 0.0055,
    };
    let half = Vec3::new(0.05, 0.05, 0.0);
    let nested = NestedGrid::new(-half - Vec3::z() * 0.1, half, &zone).expect("in range");
    let params = ExplicitParams {
        classes: CLASSES,
        ..ExplicitParams::default()
    };
    ExplicitTissue::new(&nested, &uniform_materials(&nested, 5e3), &params).expect("it builds")
}

/// Presses the block and slides 20 mm at 20 mm/s; returns the largest error at positions along it.
fn error_along(places_m: &[f64], cell_m: f64) -> f64 {
    let mut tissue = block();
    let mut worst = 0.0_f64;
    let mut next = places_m.iter().peekable();
    for step in 0..=1400 {
        let depth_m = (2e-5 * f64::from(step)).min(DEPTH_M);
        let x_m = 2e-5 * (f64::from(step) - 400.0).max(0.0);
        let found_n = tick(&mut tissue, ball([x_m, 0.0, RADIUS_M - depth_m], RADIUS_M))
            .force_n
            .z;
        if step >= 400 && next.peek().is_some_and(|&&place_m| x_m > place_m - 1e-5) {
            let expected_n = reference_n(*next.next().expect("a place"), cell_m);
            worst = worst.max((found_n / expected_n - 1.0).abs());
        }
    }
    assert!(next.next().is_none());
    worst
}

#[test]
fn a_slide_has_the_forces_of_the_static_solution() {
    let worst = error_along(&[0.0, 0.01, 0.02], 1.8e-3);
    assert!(worst < 0.05, "{worst}");
}

#[test]
#[ignore = "takes minutes: finer cells, more places"]
fn a_slide_has_the_forces_of_a_fine_static_solution() {
    let places_m = [0.0, 2.5e-3, 5e-3, 7.5e-3, 0.01, 0.0125, 0.015, 0.0175, 0.02];
    let worst = error_along(&places_m, 0.9e-3);
    assert!(worst < 0.05, "{worst}");
}
