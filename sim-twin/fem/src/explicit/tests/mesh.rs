//! Tests of a held press: scaling with size, and the static solution on the same cells.

use super::*;
use crate::Solid;
use crate::tests::static_reference::{Press, Settings};
use palpate_twin::law::LawFamily;

/// Presses a cube by a twentieth of its size with a sphere of a fifth, in ticks of a scaled time. Returns the
/// force over stiffness and size squared.
fn pressed(grids: (u32, usize), (size_m, young_pa): (f64, f64), ticks: u32) -> f64 {
    let nested = nested(size_m, grids, [0.0; 2]);
    let time_s = size_m / 0.1 * (5e3 / young_pa).sqrt();
    let params = ExplicitParams {
        damping_per_s: 60.0 / time_s,
        // the static solution has multipliers; a stiff contact comes near them
        contact_stiffness: 120.0,
        // counted per millisecond, which is not scaled
        substeps_max: 1_000_000,
        ..ExplicitParams::default()
    };
    let mut tissue =
        ExplicitTissue::new(&nested, &uniform_materials(&nested, young_pa), &params).unwrap();
    let mut reaction = [Reaction::default()];
    for tick in 0..ticks {
        let depth = 0.05 * (f64::from(tick) / 200.0).min(1.0);
        let at_m = [0.0, 0.0, 0.2 - depth].map(|x| x * size_m);
        let mut tool = ball(at_m, 0.2 * size_m);
        tool.stiffness_npm *= young_pa * size_m;
        tissue.step(&[tool], 1e-3 * time_s, &mut reaction);
    }
    reaction[0].force_n.z / (young_pa * size_m * size_m)
}

#[test]
fn force_scales_with_size_and_stiffness() {
    let middle = pressed((6, 2), (0.1, 5e3), 200);
    assert!(middle > 1e-3, "{middle}");
    // time scales with the size, so that the largest and smallest ticks are within bounds
    for (size_m, young_pa) in [(1e-4, 5e3), (1e2, 5e9), (0.1, 5e6)] {
        let force = pressed((6, 2), (size_m, young_pa), 200);
        assert!(
            (force / middle - 1.0).abs() < 1e-4,
            "{size_m} m: {force} {middle}"
        );
    }
}

#[test]
fn held_force_matches_the_static_solution_on_the_same_mesh() {
    let mesh = nested(0.1, (12, 1), [0.0; 2]).levels[0].mesh().unwrap();
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); mesh.cells.len()];
    let solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli);
    let mut press = Press::new(solid, &mesh, [0.0; 2], 0.02, Settings::default());
    let expected_n = press.to(5e-3).unwrap().force_n.z;
    let found_n = pressed((12, 1), (0.1, 5e3), 900) * 5e3 * 0.01;
    assert!(
        (found_n / expected_n - 1.0).abs() < 0.03,
        "{found_n} {expected_n}"
    );
}
