//! Block test: a cube of 0.1 m under a sphere of 5 mm, and a nodule in it.
//!
//! Finer meshes need only other arguments of `quarter`.

use super::static_reference::{Press, Settings};
use super::*;
use palpate_geometry::mesh::region::{Region, RegionFractions};
use palpate_twin::law::MixingRule;
use palpate_twin::shape::RegionShape;

/// Neo-Hookean forces of the block test \[N\] at depths \[m\] (tissue-engines 3.1, 0.6 mm mesh).
pub(super) const REFERENCE: [(f64, f64); 4] = [
    (1e-3, 0.0185),
    (2e-3, 0.0504),
    (5e-3, 0.1805),
    (1e-2, 0.4115),
];

/// Returns a quarter of the block with its corner under the probe: fine over `zone` and `deep` of its size,
/// with cells of `cell` of its size.
fn quarter(size_m: f64, (zone, deep): (f64, f64), cell: f64) -> HexMesh {
    let grade = |from: f64, to: f64| Grading {
        from_m: from * size_m,
        to_m: to * size_m,
        cell_m: cell * size_m,
        growth: 1.3,
    };
    let across_m = grade(0.0, zone).axis(0.5 * size_m).unwrap();
    let up_m = grade(1.0 - deep, 1.0).axis(size_m).unwrap();
    HexMesh::block([&across_m, &across_m, &up_m]).unwrap()
}

fn solid(mesh: &HexMesh, moduli: &[Moduli]) -> Solid {
    let mut solid = Solid::new(mesh, LawFamily::NeoHookean, moduli);
    let_slide(&mut solid, mesh, &[BlockSide::XMin, BlockSide::YMin]);
    solid
}

fn press(mesh: &HexMesh, moduli: &[Moduli]) -> Press {
    let radius_m = 0.05 * mesh.extent_m();
    let solid = solid(mesh, moduli);
    Press::new(solid, mesh, [0.0, 0.0], radius_m, Settings::default())
}

/// Returns the force of the whole block \[N\] at each depth \[m\].
fn forces_n(mesh: &HexMesh, moduli: &[Moduli], depths_m: &[f64]) -> Vec<f64> {
    let mut press = press(mesh, moduli);
    let touch = |depth_m: &f64| press.to(*depth_m).unwrap();
    depths_m
        .iter()
        .map(touch)
        .map(|touch| 4.0 * touch.force_n.z)
        .collect()
}

#[test]
fn a_shallow_press_of_the_block_matches_the_reference() {
    let mesh = quarter(0.1, (0.06, 0.04), 0.0125);
    let depths_m = [1e-3, 2e-3];
    let found_n = forces_n(&mesh, &moduli(&mesh, 5e3, 0.45), &depths_m);
    for (found_n, (depth_m, force_n)) in found_n.iter().zip(REFERENCE) {
        assert!(
            (found_n / force_n - 1.0).abs() < 0.04,
            "{depth_m} m: {found_n} N"
        );
    }
}

#[test]
fn action_equals_reaction_and_forces_scale_with_size() {
    let mut whole = Vec::new();
    for size_m in [1e-4, 0.1, 1e2] {
        let mesh = quarter(size_m, (0.06, 0.03), 0.03);
        let young_pa = 5e3 / size_m;
        let mut press = press(&mesh, &moduli(&mesh, young_pa, 0.45));
        let touch = press.to(0.02 * size_m).unwrap();
        let unit_n = young_pa * size_m * size_m;
        let sum = (touch.force_n + touch.support_n + touch.unbalanced_n) / unit_n;
        assert!(sum.amax() < 1e-15, "{sum}");
        assert!(touch.unbalanced_n.amax() < 1e-5 * touch.force_n.z);
        whole.push(touch.force_n.z / unit_n);
    }
    assert!(whole[0] > 1e-6);
    assert!(
        whole
            .iter()
            .all(|force| (force / whole[0] - 1.0).abs() < 1e-9)
    );
}

#[test]
fn an_invalid_depth_or_radius_is_refused() {
    let mesh = quarter(0.1, (0.06, 0.03), 0.05);
    let moduli = moduli(&mesh, 5e3, 0.45);
    for depth_m in [f64::NAN, f64::INFINITY] {
        assert!(press(&mesh, &moduli).to(depth_m).is_err());
    }
    for radius_m in [f64::NAN, 0.0, -1e-3, f64::INFINITY] {
        let solid = solid(&mesh, &moduli);
        let mut press = Press::new(solid, &mesh, [0.0; 2], radius_m, Settings::default());
        assert!(press.to(1e-3).is_err(), "{radius_m}");
    }
}

/// Returns the relative change of the force at 5 mm by a ball 10 times stiffer, 10 mm deep.
fn nodule(cell: f64, mixing: MixingRule) -> f64 {
    let mesh = quarter(0.1, (0.07, 0.16), cell);
    let material = |young_pa| Material::new(young_pa, 0.45, 1e3).unwrap();
    let ball = RegionShape::Ball {
        centre_m: Vec3::new(0.0, 0.0, 0.09),
        radius_m: 0.005,
    };
    let regions = [(RegionShape::All, 5e3), (ball, 50e3)];
    let regions = regions.map(|(shape, young_pa)| Region {
        shape,
        material: material(young_pa),
    });
    let shares = RegionFractions::sample(&mesh, &regions, 10).unwrap();
    let plain_n = forces_n(&mesh, &moduli(&mesh, 5e3, 0.45), &[5e-3]);
    let found_n = forces_n(&mesh, &shares.moduli(&regions, mixing), &[5e-3]);
    found_n[0] / plain_n[0] - 1.0
}

#[test]
fn a_nodule_raises_the_force_on_a_coarse_mesh() {
    // 20 %, converged on meshes fitted to the ball (example block, aligned)
    let change = nodule(0.025, MixingRule::default());
    assert!((change - 0.2).abs() < 0.03, "{change}");
}

#[test]
fn nearly_incompressible_layers_of_fiftyfold_contrast_converge() {
    let mesh = quarter(0.1, (0.06, 0.03), 0.02);
    let layers = [(0.0, 0.06, 20e3), (0.06, 0.097, 2e3), (0.097, 0.11, 100e3)];
    let regions = layers.map(|(from_m, to_m, young_pa)| Region {
        shape: RegionShape::Layer { from_m, to_m },
        material: Material::new(young_pa, 0.49, 1e3).unwrap(),
    });
    let shares = RegionFractions::sample(&mesh, &regions, 10).unwrap();
    let layered_n = forces_n(
        &mesh,
        &shares.moduli(&regions, MixingRule::default()),
        &[2e-3, 4e-3],
    );
    let fat_n = forces_n(&mesh, &moduli(&mesh, 2e3, 0.49), &[3e-3]);
    let skin_n = forces_n(&mesh, &moduli(&mesh, 100e3, 0.49), &[3e-3]);
    assert!(layered_n[0] > 0.0 && layered_n[1] > 2.0 * layered_n[0]);
    assert!(2.0 * fat_n[0] < layered_n[1] && layered_n[1] < 0.5 * skin_n[0]);
}

/// A minute or two: `cargo test --release -p palpate-fem -- --ignored block_forces_match`.
#[test]
#[ignore = "a minute or two"]
fn block_forces_match_the_reference_within_three_percent() {
    let mesh = quarter(0.1, (0.07, 0.07), 0.008);
    let depths_m = REFERENCE.map(|(depth_m, _)| depth_m);
    let found_n = forces_n(&mesh, &moduli(&mesh, 5e3, 0.45), &depths_m);
    for (found_n, (depth_m, force_n)) in found_n.iter().zip(REFERENCE) {
        assert!(
            (found_n / force_n - 1.0).abs() < 0.03,
            "{depth_m} m: {found_n} N"
        );
    }
}

/// Minutes: `cargo test --release -p palpate-fem -- --ignored nodule_contrast_has`.
#[test]
#[ignore = "minutes"]
fn nodule_contrast_has_its_converged_value_on_any_mesh() {
    for cell in [0.025, 0.021, 0.017, 0.015, 0.01] {
        let change = nodule(cell, MixingRule::default());
        assert!((change - 0.2).abs() < 0.03, "{cell}: {change}");
    }
}
