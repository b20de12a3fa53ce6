//! Every law: the rest of a press is that of the static solution, and a deep press does no harm.

use super::*;
use crate::tests::truth::{Press, Settings};
use crate::{Solid, Support, Volumetric};
use palpate_geometry::mesh::hex::Side;

const RADIUS_M: f64 = 0.02;

const FAMILIES: [Family; 5] = [
    Family::Linear,
    Family::StVenantKirchhoff,
    Family::StableNeoHookean,
    Family::MooneyRivlin { second: 0.3 },
    Family::Fung { growth: 4.0 },
];

fn grids() -> Nested {
    nested(0.1, (8, 1), [0.0; 2])
}

fn of(law: Family, poisson: f64) -> Explicit {
    let nested = grids();
    let moduli = Material::new(5e3, poisson, 1e3).unwrap().moduli();
    let stuff = [Stuff {
        moduli: vec![moduli; nested.levels[0].count()],
        densities_kgpm3: vec![1e3; nested.levels[0].count()],
    }];
    let params = Params {
        law,
        damping_hz: 60.0,
        // the static solution has multipliers; a stiff contact comes near them
        contact_stiffness: 120.0,
        ..Params::default()
    };
    Explicit::new(&nested, &stuff, &params).unwrap()
}

/// Static force of a press on the same cells.
fn truth_n(law: Family, poisson: f64, depth_m: f64) -> f64 {
    let mesh = grids().levels[0].mesh().unwrap();
    let moduli = vec![Material::new(5e3, poisson, 1e3).unwrap().moduli(); mesh.cells.len()];
    let floor = [Support::Fixed(Side::ZMin)];
    // small strains have no mean volume of their own
    let volumetric = match law {
        Family::Linear => Volumetric::Full,
        _ => Volumetric::Mean,
    };
    let solid = Solid::new(&mesh, (law, &moduli), &floor, volumetric).unwrap();
    let mut press = Press::new((solid, &mesh), [0.0; 2], RADIUS_M, Settings::default());
    press.to(depth_m).unwrap().force_n.z
}

#[test]
fn the_held_force_is_that_of_the_static_solution_of_the_same_law() {
    let depth_m = 5e-3;
    for law in FAMILIES {
        // where volume hardly resists, one point and eight see the same
        let poisson = if law == Family::Linear { 0.3 } else { 0.45 };
        let mut tissue = of(law, poisson);
        let mut found_n = 0.0;
        for step in 0..800 {
            let depth_m = (2.5e-5 * f64::from(step)).min(depth_m);
            let reaction = tick(&mut tissue, ball([0.0, 0.0, RADIUS_M - depth_m], RADIUS_M));
            found_n = reaction.force_n.z;
        }
        let exact_n = truth_n(law, poisson, depth_m);
        let error = found_n / exact_n - 1.0;
        assert!(
            error.abs() < 0.05,
            "{law:?}: {found_n} {exact_n}, {error:+.3}"
        );
        let books = tissue.view().ledger;
        assert!(
            books.residual_j.abs() < 0.01 * books.tool_work_j,
            "{law:?}: {books:?}"
        );
    }
}

#[test]
fn a_deep_press_and_a_stroke_do_no_harm() {
    for law in FAMILIES {
        let mut tissue = of(law, 0.45);
        let mut most_n = 0.0_f64;
        for step in 0..700 {
            let depth_m = (5e-5 * f64::from(step)).min(0.01);
            let x_m = 5e-5 * (f64::from(step) - 350.0).max(0.0);
            let force_n = tick(&mut tissue, ball([x_m, 0.0, RADIUS_M - depth_m], RADIUS_M)).force_n;
            assert!(force_n.iter().all(|f| f.is_finite()), "{law:?} {step}");
            most_n = most_n.max(force_n.norm());
        }
        assert_eq!(tissue.collapses(), 0, "{law:?}");
        assert!(most_n > 0.3 && most_n < 30.0, "{law:?}: {most_n}");
        // let go, it comes to rest
        for _ in 0..600 {
            tissue.step(&[], 1e-3, &mut []);
        }
        let books = tissue.view().ledger;
        assert!(
            books.stored_j() < 1e-3 * books.tool_work_j.abs().max(1e-6),
            "{law:?}: {books:?}"
        );
    }
}
