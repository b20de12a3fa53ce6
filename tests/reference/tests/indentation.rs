//! A ball pressed into a linked block, beside the static solution by finite elements.
//!
//! Source: seed-001 row FU-08 and section 3.4.2: links of `E / (2 (1 - nu^2))` are calibrated by a flat punch on a
//! half-space. A ball at finite depth on a block of finite height is neither, and the lattice has no lateral
//! expansion; so this says how far off that leaves it.

use palpate_calib::source::{Source, Validation};
use palpate_fem::truth::{Press, Settings};
use palpate_fem::{Solid, Support, Volumetric};
use palpate_geometry::mesh::grade::Grading;
use palpate_geometry::mesh::hex::{HexMesh, Side};
use palpate_scene as scene;
use palpate_twin::law::{Family, Material};

/// Young's modulus \[Pa\] and Poisson's ratio.
const MATERIAL: (f64, f64) = (5e3, 0.45);
/// Edges of the block \[m\].
const SIZE_M: [f64; 3] = [0.08, 0.08, 0.04];
/// Distance of elements, and finest cells of the reference \[m\].
const SPACING_M: f64 = 1.6e-3;
/// Radius of the ball \[m\].
const RADIUS_M: f64 = 8e-3;
/// Depths \[m\].
const DEPTHS_M: [f64; 5] = [0.5e-3, 1e-3, 2e-3, 3e-3, 4e-3];
/// Root mean square of the difference over that of the reference that is tolerated; 0.044 was found.
const BAND: f64 = 0.1;

/// What the modulus of links was tuned by, and what judges it.
const PUNCH: &str = "a flat punch on an elastic half-space, in closed form";
const ELEMENTS: &str = "finite elements under a ball, large strains";

/// Forces on the ball by finite elements \[N\].
fn truth() -> Vec<f64> {
    let [width_m, _, height_m] = SIZE_M;
    let half_m = 9.6e-3;
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m: SPACING_M,
        growth: 1.4,
    };
    let across_m = grade(0.5 * width_m - half_m, 0.5 * width_m + half_m).axis(width_m);
    let up_m = grade(height_m - 8e-3, height_m).axis(height_m);
    let (across_m, up_m) = (across_m.expect("graded"), up_m.expect("graded"));
    let mesh = HexMesh::block([&across_m, &across_m, &up_m]).expect("a block");
    let (young_pa, poisson) = MATERIAL;
    let moduli =
        vec![Material::new(young_pa, poisson, 1e3).expect("fit").moduli(); mesh.cells.len()];
    let held = [Support::Fixed(Side::ZMin)];
    let law = (Family::NeoHookean, &moduli[..]);
    let solid = Solid::new(&mesh, law, &held, Volumetric::Mean).expect("fit");
    let over_m = [0.5 * width_m; 2];
    let mut press = Press::new((solid, &mesh), over_m, RADIUS_M, Settings::default());
    let force_n = |depth_m| press.to(depth_m).expect("solved").force_n.z;
    DEPTHS_M.into_iter().map(force_n).collect()
}

/// Forces on the ball by links \[N\].
fn felt() -> Vec<f64> {
    let (young_pa, poisson) = MATERIAL;
    let text = format!(
        "name = \"reference\"\n[linked]\nsize_m = {SIZE_M:?}\nspacing_m = {SPACING_M}\n\
         [[layer]]\nyoung_pa = {young_pa:?}\npoisson = {poisson}\n\
         shortest = 0.05\nlongest = 6.0\nshear = 6.0\n\
         [tool]\nradius_m = {RADIUS_M}\nstiffness_npm = 3000.0\n"
    );
    let scene = scene::load(&text).expect("a scene");
    let places = DEPTHS_M.map(|depth_m| ([0.0; 2], depth_m));
    let presses = scene.presses_to(&places).expect("reached");
    presses.iter().map(|press| press.force_n).collect()
}

/// Row FU-08: an independent model says how far off the calibration is.
#[test]
fn fu_08_an_indentation_is_within_its_band_of_finite_elements() {
    let (felt, truth) = (felt(), truth());
    let forces: Vec<(f64, f64)> = felt.into_iter().zip(truth).collect();
    assert_eq!(forces.len(), DEPTHS_M.len());
    for pair in forces.windows(2) {
        assert!(pair[1].0 > pair[0].0 && pair[1].1 > pair[0].1, "{pair:?}");
    }
    let sources = [PUNCH, ELEMENTS].map(|name| Source::Model(name.to_owned()));
    let found = Validation::new(sources, &forces, BAND).expect("two sources");
    assert!(found.rms_share < BAND && found.rms_share > 0.0, "{found}");
}
