//! Materials that creep and relax.

use super::*;

/// A Neo-Hookean tissue of 5 kPa with branches `(share, time_s)` and a viscosity of shape \[Pa s\].
pub(super) fn soft(mesh: &HexMesh, branches: &[(f64, f64)], shear_pas: f64) -> Implicit {
    let (moduli, densities) = matter(mesh, 5e3, 0.45);
    let viscosity = Viscosity {
        kelvin_voigt: KelvinVoigt::new(shear_pas, 0.0).unwrap(),
        prony: Prony::new(branches).unwrap(),
    };
    let viscosities = vec![viscosity; mesh.cells.len()];
    let matter = elastic(Family::NeoHookean, &moduli, &densities);
    Implicit::new(
        mesh,
        &with(matter, &viscosities),
        &FLOOR,
        &Params::default(),
    )
    .unwrap()
}

#[test]
fn the_books_close_with_viscous_materials() {
    for (branches, shear_pas) in [
        (&[][..], 5.0),
        (&[(0.3, 0.02), (0.3, 0.3)][..], 0.0),
        (&[(0.4, 0.05)][..], 3.0),
    ] {
        let mut tissue = soft(&block(0.1, 5), branches, shear_pas);
        let reactions = press(&mut tissue, 0.1, 0.008, 60);
        let put_in_j = reactions[60].force_n.z * 0.004;
        let ledger = tissue.view().ledger;
        assert!(put_in_j > 1e-4 && ledger.dissipated_j > 0.0);
        assert!(
            ledger.residual_j.abs() < 1e-6 * put_in_j,
            "{:e} {:?}",
            ledger.residual_j / put_in_j,
            tissue.effort()
        );
        assert!((balance_j(&ledger) - ledger.residual_j).abs() < 1e-12 * put_in_j);
    }
}

/// A tissue of `young_pa` 5 kPa that is light, so that nothing but its viscosity takes time.
fn light(mesh: &HexMesh, poisson: f64, viscosity: Viscosity, params: &Params) -> Implicit {
    let moduli = matter(mesh, 5e3, poisson).0;
    let densities = vec![1.0; mesh.cells.len()];
    let viscosities = vec![viscosity; mesh.cells.len()];
    let matter = elastic(Family::NeoHookean, &moduli, &densities);
    Implicit::new(mesh, &with(matter, &viscosities), &FLOOR, params).unwrap()
}

/// A material that keeps its volume relaxes under a rigid probe as its shear modulus does:
/// `G(t) = 1 - g + g exp(-t / tau)`. What is left is the give of the contact and large strain.
#[test]
fn a_held_press_relaxes_as_the_series_says() {
    let series = Prony::new(&[(0.4, 0.2)]).unwrap();
    let viscosity = Viscosity {
        kelvin_voigt: KelvinVoigt::new(0.0, 0.0).unwrap(),
        prony: series,
    };
    let params = Params {
        contact_stiffness: 3e4,
        ..Params::default()
    };
    let mut tissue = light(&block(0.1, 5), 0.4999, viscosity, &params);
    let mut reaction = [Reaction::default()];
    let mut held = |ticks: u32, depth_m: f64| {
        for _ in 0..ticks {
            let tool = ball([0.05, 0.05, 0.14 - depth_m], 0.04);
            tissue.step(&[tool], 1e-3, &mut reaction);
        }
        reaction[0].force_n.z
    };
    // down in 2 ms, which is sudden against 200 ms
    held(1, 2.5e-4);
    held(1, 5e-4);
    let first_n = held(20, 5e-4) / series.relaxation(21e-3);
    for k in 1..40 {
        let time_s = 21e-3 + 0.02 * f64::from(k);
        let ratio = held(20, 5e-4) / first_n / series.relaxation(time_s);
        assert!((ratio - 1.0).abs() < 0.01, "{time_s} s: {ratio}");
    }
}

/// A press that is let go creeps back as a Kelvin-Voigt body: where the ratio of both viscosities is
/// that of both moduli, all of it with `exp(-t mu / eta)`.
#[test]
fn what_is_let_go_creeps_back_as_kelvin_and_voigt_say() {
    let poisson = 0.2;
    let moduli = Material::new(5e3, poisson, 1e3).unwrap().moduli();
    let time_s = 0.2;
    let viscosity = Viscosity {
        kelvin_voigt: KelvinVoigt::new(time_s * moduli.mu_pa, time_s * moduli.bulk_pa()).unwrap(),
        prony: Prony::new(&[]).unwrap(),
    };
    let mut tissue = light(&block(0.1, 4), poisson, viscosity, &Params::default());
    let mut reaction = [Reaction::default()];
    let tool = ball([0.05, 0.05, 0.14 - 1e-3], 0.04);
    for _ in 0..1000 {
        tissue.step(&[tool], 1e-2, &mut reaction);
    }
    let size_m = |tissue: &Implicit| {
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

#[test]
fn wrong_viscosities_are_refused() {
    let mesh = block(0.1, 2);
    let (moduli, densities) = matter(&mesh, 5e3, 0.45);
    let matter = elastic(Family::NeoHookean, &moduli, &densities);
    let viscosity = Viscosity {
        kelvin_voigt: KelvinVoigt::new(1.0, 0.0).unwrap(),
        prony: Prony::new(&[]).unwrap(),
    };
    let params = Params::default();
    let short = Implicit::new(&mesh, &with(matter, &[viscosity; 3]), &FLOOR, &params);
    assert_eq!(
        short.map(|_| ()),
        Err(ImplicitError::Count {
            what: "viscosities",
            cells: 8,
            found: 3
        })
    );
}
