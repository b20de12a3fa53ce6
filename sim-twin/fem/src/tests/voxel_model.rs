//! Force of a ball on a voxel model compared with the static solution by finite elements.
//!
//! Source: seed-001 row FU-08 and section 3.4.2: links of `E / (2 (1 - nu^2))` are calibrated by a flat punch
//! on a half-space. Here a ball is pressed to finite depth on a block of finite height, and the lattice has
//! no lateral expansion; the test bounds the resulting error.

use super::static_reference::{Press, Settings};
use super::*;

/// Young's modulus \[Pa\] and Poisson's ratio.
const MATERIAL: (f64, f64) = (5e3, 0.45);
/// Edges of the block \[m\].
const SIZE_M: [f64; 3] = [0.08, 0.08, 0.04];
/// Distance of voxel nodes, and finest cells of the reference \[m\].
const SPACING_M: f64 = 1.6e-3;
/// Radius of the ball \[m\].
const RADIUS_M: f64 = 8e-3;
/// Depths \[m\].
const DEPTHS_M: [f64; 5] = [0.5e-3, 1e-3, 2e-3, 3e-3, 4e-3];
/// Tolerated root mean square of the difference over that of the reference; 0.044 was measured.
const BAND: f64 = 0.1;

/// Returns the forces on the ball by finite elements \[N\].
fn reference_n() -> [f64; 5] {
    let [width_m, _, height_m] = SIZE_M;
    let half_m = 9.6e-3;
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m: SPACING_M,
        growth: 1.4,
    };
    let across_m = grade(0.5 * width_m - half_m, 0.5 * width_m + half_m);
    let across_m = across_m.axis(width_m).unwrap();
    let up_m = grade(height_m - 8e-3, height_m).axis(height_m).unwrap();
    let mesh = HexMesh::block([&across_m, &across_m, &up_m]).unwrap();
    let material = Material::new(MATERIAL.0, MATERIAL.1, 1e3).unwrap();
    let moduli = vec![material.moduli(); mesh.cells.len()];
    let solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli);
    let over_m = [0.5 * width_m; 2];
    let mut press = Press::new(solid, &mesh, over_m, RADIUS_M, Settings::default());
    DEPTHS_M.map(|depth_m| press.to(depth_m).unwrap().force_n.z)
}

/// Returns the forces on the ball by links \[N\].
fn voxel_model_n() -> [f64; 5] {
    let (young_pa, poisson) = MATERIAL;
    let text = format!(
        "name = \"reference\"\n[linked]\nsize_m = {SIZE_M:?}\nspacing_m = {SPACING_M}\n\
         [[layer]]\nyoung_pa = {young_pa:?}\npoisson = {poisson}\n\
         shortest = 0.05\nlongest = 6.0\nshear = 6.0\n\
         [tool]\nradius_m = {RADIUS_M}\nstiffness_npm = 3000.0\n"
    );
    let scene = palpate_scene::load(&text).unwrap();
    DEPTHS_M.map(|depth_m| scene.press_stiffness(&[[0.0; 2]], depth_m).unwrap()[0].force_n)
}

/// Row FU-08: bound of the calibration error by an independent model.
#[test]
fn fu_08_an_indentation_of_the_voxel_model_is_near_finite_elements() {
    let (forces_n, reference_forces_n) = (voxel_model_n(), reference_n());
    for forces in [forces_n, reference_forces_n] {
        assert!(
            forces.windows(2).all(|pair| pair[1] > pair[0]),
            "{forces:?}"
        );
    }
    let square = |values: [f64; 5]| values.iter().map(|value| value * value).sum::<f64>();
    let off = [0, 1, 2, 3, 4].map(|depth| forces_n[depth] - reference_forces_n[depth]);
    let share = (square(off) / square(reference_forces_n)).sqrt();
    assert!(
        share > 0.0 && share < BAND,
        "{forces_n:?} {reference_forces_n:?}: {share}"
    );
}
