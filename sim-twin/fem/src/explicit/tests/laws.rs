//! Tests of every law: static force of a press, and stability of a deep press.

use super::*;
use crate::Solid;
use crate::solid::laws;
use crate::tests::static_reference::{Press, Settings};
use crate::tests::{OGDEN, YEOH};

const RADIUS_M: f64 = 0.02;

const FAMILIES: [LawFamily; 7] = [
    LawFamily::Linear,
    LawFamily::StVenantKirchhoff,
    LawFamily::StableNeoHookean,
    LawFamily::MooneyRivlin { second: 0.3 },
    LawFamily::Fung { growth: 4.0 },
    YEOH,
    OGDEN,
];

fn grids() -> NestedGrid {
    nested(0.1, (8, 1), [0.0; 2])
}

fn of(law: LawFamily, poisson: f64) -> ExplicitTissue {
    let nested = grids();
    let cell_materials = Material::new(5e3, poisson, 1e3).unwrap().cell_material();
    let cell_materials = [vec![cell_materials; nested.levels[0].count()]];
    let params = ExplicitParams {
        law,
        damping_per_s: 60.0,
        // the static solution has multipliers; a stiff contact comes near them
        contact_stiffness: 120.0,
        ..ExplicitParams::default()
    };
    ExplicitTissue::new(&nested, &cell_materials, &params).unwrap()
}

/// Returns the static force of a press on the same cells.
fn reference_n(law: LawFamily, poisson: f64, depth_m: f64) -> f64 {
    let mesh = grids().levels[0].mesh().unwrap();
    let moduli = vec![Material::new(5e3, poisson, 1e3).unwrap().moduli(); mesh.cells.len()];
    let mut solid = Solid::new(&mesh, law, &moduli);
    // small strains have no averaged volume in the explicit solver
    if law == LawFamily::Linear {
        solid.laws = laws(law, &moduli, f64::INFINITY).0;
    }
    let mut press = Press::new(solid, &mesh, [0.0; 2], RADIUS_M, Settings::default());
    press.to(depth_m).unwrap().force_n.z
}

#[test]
fn held_force_matches_the_static_solution_of_the_same_law() {
    let depth_m = 5e-3;
    for law in FAMILIES {
        // with low bulk resistance, one point and eight points agree
        let poisson = if law == LawFamily::Linear { 0.3 } else { 0.45 };
        let mut tissue = of(law, poisson);
        let mut found_n = 0.0;
        for step in 0..800 {
            let depth_m = (2.5e-5 * f64::from(step)).min(depth_m);
            let reaction = tick(&mut tissue, ball([0.0, 0.0, RADIUS_M - depth_m], RADIUS_M));
            found_n = reaction.force_n.z;
        }
        let expected_n = reference_n(law, poisson, depth_m);
        let error = found_n / expected_n - 1.0;
        assert!(
            error.abs() < 0.05,
            "{law:?}: {found_n} {expected_n}, {error:+.3}"
        );
        let balance = tissue.view().energy;
        assert!(
            balance.residual_j.abs() < 0.01 * balance.tool_work_j,
            "{law:?}: {balance:?}"
        );
    }
}

#[test]
fn a_deep_press_and_slide_stay_stable() {
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
        // after release it comes to rest
        for _ in 0..600 {
            tissue.step(&[], 1e-3, &mut []);
        }
        let balance = tissue.view().energy;
        assert!(
            balance.stored_j() < 1e-3 * balance.tool_work_j.abs().max(1e-6),
            "{law:?}: {balance:?}"
        );
    }
}

/// Returns the tissue of [`grids`] whose cells have laws of their own, by number, and the block's law.
fn of_cells(block: LawFamily, own: impl Fn(usize) -> Option<LawFamily>) -> ExplicitTissue {
    let nested = grids();
    let cell = |number: usize| {
        let material = Material::new(5e3, 0.45, 1e3).unwrap();
        material.with_law(own(number)).unwrap().cell_material()
    };
    let cells = [(0..nested.levels[0].count()).map(cell).collect()];
    let params = ExplicitParams {
        law: block,
        ..ExplicitParams::default()
    };
    ExplicitTissue::new(&nested, &cells, &params).unwrap()
}

/// Returns the forces of a press and a slide.
fn slide_n(mut tissue: ExplicitTissue) -> Vec<Vec3> {
    let force = |step: u32| {
        let depth_m = (5e-5 * f64::from(step)).min(0.01);
        let x_m = 5e-5 * (f64::from(step) - 250.0).max(0.0);
        tick(&mut tissue, ball([x_m, 0.0, RADIUS_M - depth_m], RADIUS_M)).force_n
    };
    (0..400).map(force).collect()
}

#[test]
fn a_law_of_every_cell_has_the_bits_of_the_law_of_the_block() {
    let own = LawFamily::Fung { growth: 4.0 };
    let block = slide_n(of_cells(own, |_| None));
    assert!(block == slide_n(of_cells(LawFamily::Linear, |_| Some(own))));
    assert!(block != slide_n(of_cells(LawFamily::Linear, |_| None)));
}

#[test]
fn mixed_cells_of_two_laws_act_once_and_each_by_its_own() {
    let yeoh = |third: f64| LawFamily::Yeoh { second: 1.0, third };
    // one function in single precision, and two laws
    let (one, same, other) = (yeoh(1.0), yeoh(1.0 + 1e-12), yeoh(60.0));
    let whole = slide_n(of_cells(one, |_| None));
    let mixed = slide_n(of_cells(one, |cell| (cell % 3 == 1).then_some(same)));
    for (step, (mixed, whole)) in mixed.iter().zip(&whole).enumerate() {
        let apart_n = (mixed - whole).norm();
        assert!(
            apart_n < 1e-3 * (1e-3 + whole.norm()),
            "{step}: {mixed} {whole}"
        );
    }
    // stiffer cells lie between the two laws
    let last = |forces: &[Vec3]| forces[249].z;
    let stiff = last(&slide_n(of_cells(other, |_| None)));
    let partly = last(&slide_n(of_cells(one, |cell| {
        (cell % 3 == 1).then_some(other)
    })));
    let soft = last(&whole);
    assert!(
        soft * 1.02 < partly && partly < stiff * 0.98,
        "{soft} {partly} {stiff}"
    );
}
