//! The held press: the same at every size, and that of the static solution on the same cells.

use super::*;
use crate::tests::truth::{Press, Settings};
use crate::{Solid, Support, Volumetric};
use palpate_geometry::mesh::hex::Side;
use palpate_twin::law::Family;

/// Presses a cube by a twentieth of its size with a ball of a fifth, in ticks of a scaled time; the
/// force over stiffness and size.
fn pressed(grids: (u32, usize), (size_m, young_pa): (f64, f64), ticks: u32) -> f64 {
    let nested = nested(size_m, grids, [0.0; 2]);
    let time_s = size_m / 0.1 * (5e3 / young_pa).sqrt();
    let params = Params {
        damping_hz: 60.0 / time_s,
        // the static solution has multipliers; a stiff contact comes near them
        contact_stiffness: 120.0,
        // counted by the millisecond, which is not scaled
        substeps_max: 1_000_000,
        ..Params::default()
    };
    let mut tissue = Explicit::new(&nested, &even(&nested, young_pa), &params).unwrap();
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
fn size_and_stiffness_do_not_matter() {
    let middle = pressed((6, 2), (0.1, 5e3), 200);
    assert!(middle > 1e-3, "{middle}");
    // time goes with the size, so that the largest and smallest ticks are within bounds
    for (size_m, young_pa) in [(1e-4, 5e3), (1e2, 5e9), (0.1, 5e6)] {
        let force = pressed((6, 2), (size_m, young_pa), 200);
        assert!(
            (force / middle - 1.0).abs() < 1e-4,
            "{size_m} m: {force} {middle}"
        );
    }
}

#[test]
fn the_held_force_is_that_of_the_static_solution_on_the_same_mesh() {
    let mesh = nested(0.1, (12, 1), [0.0; 2]).levels[0].mesh().unwrap();
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); mesh.cells.len()];
    let law = (Family::NeoHookean, &moduli[..]);
    let floor = [Support::Fixed(Side::ZMin)];
    let solid = Solid::new(&mesh, law, &floor, Volumetric::Mean).unwrap();
    let mut press = Press::new((solid, &mesh), [0.0; 2], 0.02, Settings::default());
    let exact_n = press.to(5e-3).unwrap().force_n.z;
    let found_n = pressed((12, 1), (0.1, 5e3), 900) * 5e3 * 0.01;
    assert!(
        (found_n / exact_n - 1.0).abs() < 0.03,
        "{found_n} {exact_n}"
    );
}
