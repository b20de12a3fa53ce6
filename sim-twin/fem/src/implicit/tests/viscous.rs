//! Tests of materials that creep and relax.

use super::*;

/// Returns a branch with a fraction of the shear modulus.
pub(super) fn branch(share: f64, time_s: f64) -> Viscosity {
    series(&[(share, time_s)])
}

/// Returns branches with their shares and times.
fn series(pairs: &[(f64, f64)]) -> Viscosity {
    let branches = pairs
        .iter()
        .map(|&(share, time_s)| RelaxingShare { share, time_s });
    Viscosity::of_branches(&branches.collect::<Vec<_>>()).unwrap()
}

/// Returns a Neo-Hookean tissue of 5 kPa with a branch and a shear viscosity \[Pa s\].
pub(super) fn soft(mesh: &HexMesh, branch: Viscosity, shear_pas: f64) -> ImplicitTissue {
    let (moduli, densities) = moduli_and_densities(mesh, 5e3, 0.45);
    let viscosity = Viscosity {
        shear_pas,
        ..branch
    };
    let cell_materials = cell_materials(&moduli, &densities, viscosity);
    ImplicitTissue::new(
        mesh,
        LawFamily::NeoHookean,
        &cell_materials,
        &ImplicitParams::default(),
    )
    .unwrap()
}

#[test]
fn energy_balance_closes_with_viscous_materials() {
    for (branch, shear_pas) in [
        (Viscosity::NONE, 5.0),
        (branch(0.6, 0.3), 0.0),
        (series(&[(0.2, 0.02), (0.2, 0.05), (0.1, 1.0)]), 3.0),
    ] {
        let mut tissue = soft(&block(0.1, 5), branch, shear_pas);
        let reactions = press(&mut tissue, 0.1, 0.008, 60);
        let work_j = reactions[60].force_n.z * 0.004;
        let ledger = tissue.view().energy;
        assert!(work_j > 1e-4 && ledger.dissipated_j > 0.0);
        assert!(
            ledger.residual_j.abs() < 1e-6 * work_j,
            "{:e}",
            ledger.residual_j / work_j
        );
        assert!((imbalance_j(&ledger) - ledger.residual_j).abs() < 1e-12 * work_j);
    }
}

/// Returns a tissue of 5 kPa with low density, so that only its viscosity determines time.
fn light(
    mesh: &HexMesh,
    poisson: f64,
    viscosity: Viscosity,
    params: &ImplicitParams,
) -> ImplicitTissue {
    let moduli = moduli_and_densities(mesh, 5e3, poisson).0;
    let densities = vec![1.0; mesh.cells.len()];
    let cell_materials = cell_materials(&moduli, &densities, viscosity);
    ImplicitTissue::new(mesh, LawFamily::NeoHookean, &cell_materials, params).unwrap()
}

/// A nearly incompressible material relaxes under a rigid probe as its shear modulus: `G(t) = 1 - g + g
/// exp(-t / tau)`. Deviations are the compliance of the contact and large strain.
#[test]
fn a_held_press_relaxes_as_the_prony_series() {
    let series = series(&[(0.3, 0.2), (0.2, 0.05)]);
    let params = ImplicitParams {
        contact_stiffness: 3e4,
        ..ImplicitParams::default()
    };
    let mut tissue = light(&block(0.1, 5), 0.4999, series, &params);
    let mut reaction = [Reaction::default()];
    let mut held = |ticks: u32, depth_m: f64| {
        for _ in 0..ticks {
            let tool = ball([0.05, 0.05, 0.14 - depth_m], 0.04);
            tissue.step(&[tool], 1e-3, &mut reaction);
        }
        reaction[0].force_n.z
    };
    // down in 2 ms, sudden compared with 200 ms
    held(1, 2.5e-4);
    held(1, 5e-4);
    let lost = |own: &RelaxingShare, time_s: f64| own.share * (-time_s / own.time_s).exp_m1();
    let left = |time_s: f64| 1.0 + series.used().map(|own| lost(own, time_s)).sum::<f64>();
    let first_n = held(20, 5e-4) / left(21e-3);
    for k in 1..40 {
        let time_s = 21e-3 + 0.02 * f64::from(k);
        let ratio = held(20, 5e-4) / first_n / left(time_s);
        assert!((ratio - 1.0).abs() < 0.01, "{time_s} s: {ratio}");
    }
}

/// After release a press creeps back as a Kelvin-Voigt body: with equal ratios of bulk and shear viscosities
/// to moduli, every mode with `exp(-t mu / eta)`.
#[test]
fn a_released_press_creeps_back_as_kelvin_voigt() {
    let poisson = 0.2;
    let moduli = Material::new(5e3, poisson, 1e3).unwrap().moduli();
    let time_s = 0.2;
    let viscosity = Viscosity {
        shear_pas: time_s * moduli.mu_pa,
        bulk_pas: time_s * moduli.bulk_pa(),
        ..Viscosity::NONE
    };
    let mut tissue = light(
        &block(0.1, 4),
        poisson,
        viscosity,
        &ImplicitParams::default(),
    );
    let mut reaction = [Reaction::default()];
    let tool = ball([0.05, 0.05, 0.14 - 1e-3], 0.04);
    for _ in 0..1000 {
        tissue.step(&[tool], 1e-2, &mut reaction);
    }
    let size_m = |tissue: &ImplicitTissue| {
        let squares = tissue.displacements_m().map(|u| u.norm_squared());
        squares.sum::<f64>().sqrt()
    };
    let start_m = size_m(&tissue);
    assert!(reaction[0].force_n.z > 0.05);
    let mut worst = 0.0_f64;
    for k in 1..=400 {
        tissue.step(&[], 1e-3, &mut reaction);
        let left = (-1e-3 * f64::from(k) / time_s).exp();
        let found = size_m(&tissue) / start_m;
        worst = worst.max((found - left).abs());
    }
    assert!(worst < 0.01, "{worst}");
}
