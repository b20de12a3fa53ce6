use super::three_mass_chain::{ChainParameter, ThreeMassChain};
use super::*;
use nalgebra::{DMatrix, SymmetricEigen};
use palpate_twin::lattice::{Lattice, fixture};

/// Returns the eigenvalues of a lattice with equal links of unit stiffness, from a dense matrix.
fn modes(lattice: &Lattice) -> Vec<f64> {
    let free: Vec<usize> = (0..lattice.atoms.len())
        .filter(|&i| !lattice.atoms[i].fixed)
        .collect();
    let row = |atom: u32| free.iter().position(|&i| i == atom as usize);
    let mut k = DMatrix::<f64>::zeros(3 * free.len(), 3 * free.len());
    for link in &lattice.links {
        let [a, b] = link.atoms.map(|i| lattice.atoms[i as usize].position_m);
        let span = b - a;
        let block = if span.norm() > 0.0 {
            span * span.transpose() / span.norm_squared()
        } else {
            nalgebra::Matrix3::identity()
        };
        for (i, j, sign) in [(0, 0, 1.0), (1, 1, 1.0), (0, 1, -1.0), (1, 0, -1.0)] {
            if let (Some(i), Some(j)) = (row(link.atoms[i]), row(link.atoms[j])) {
                let mut view = k.fixed_view_mut::<3, 3>(3 * i, 3 * j);
                view += sign * block;
            }
        }
    }
    SymmetricEigen::new(k).eigenvalues.iter().copied().collect()
}

fn mesh_radius(stepper: StabilityScheme, damping_nspm: f64, dt_s: f64) -> f64 {
    let chain = ThreeMassChain {
        damping_nspm,
        dt_s,
        ..ThreeMassChain::nominal()
    };
    modes(&fixture::regular())
        .into_iter()
        .map(|mu| {
            let (kappa, beta) = chain.numbers(mu);
            mode_radius(stepper, kappa, beta)
        })
        .fold(0.0, f64::max)
}

#[test]
fn s4_14_explicit_poles_match_the_polynomials() {
    let chain = ThreeMassChain::nominal();
    let poles = chain.explicit_poles();
    let expected = [0.0413, 0.3602, 0.6804, 0.9628, 0.9648, 0.9655];
    for (pole, right) in poles.iter().zip(expected) {
        assert!(
            pole.im.abs() < 1e-9 && (pole.re - right).abs() < 1e-4,
            "{pole} {right}"
        );
    }
    for damping_nspm in [0.2, 0.45, 0.9] {
        let chain = ThreeMassChain {
            damping_nspm,
            ..chain
        };
        let full = chain.explicit_poles()[5].norm();
        assert!((full - chain.radius(StabilityScheme::Explicit)).abs() < 1e-12);
    }
}

#[test]
fn s4_15_n_stab_spectral_radii() {
    let nominal = ThreeMassChain::nominal();
    let explicit = [
        (ChainParameter::Stiffness, 15.0, 0.96547),
        (ChainParameter::Stiffness, 400.0, 0.97998),
        (ChainParameter::Stiffness, 449.0, 0.99960),
        (ChainParameter::Stiffness, 451.0, 1.00110),
        (ChainParameter::Damping, 0.1, 0.96571),
        (ChainParameter::Damping, 0.9, 0.98319),
        (ChainParameter::Mass, 0.001, 0.96609),
        (ChainParameter::Step, 0.002, 0.93093),
    ];
    for (swept, value, right) in explicit {
        let rho = nominal
            .with_parameter(swept, value)
            .radius(StabilityScheme::Explicit);
        assert!(
            (rho - right).abs() < 1e-4,
            "{swept:?} {value}: {rho} {right}"
        );
    }
    for (lambda, right, within) in [
        (1.0, 1.01361, 1e-4),
        (0.5, 1.0231, 1e-4),
        (0.2, 1.0276, 1e-4),
    ] {
        let rho = nominal.radius(StabilityScheme::Printed { lambda });
        assert!((rho - right).abs() < within, "{lambda}: {rho} {right}");
    }
    assert!((nominal.radius(StabilityScheme::SemiImplicit) - 0.96666).abs() < 1e-4);
}

#[test]
fn s4_15_n_stab_limits() {
    let chain = ThreeMassChain {
        damping_nspm: 0.2,
        ..ThreeMassChain::nominal()
    };
    let limits = [
        (StabilityScheme::Explicit, 200.0),
        (StabilityScheme::Printed { lambda: 1.0 }, 111.7),
        (StabilityScheme::Printed { lambda: 0.5 }, 55.7),
        (StabilityScheme::Printed { lambda: 0.3 }, 32.4),
        (StabilityScheme::SemiImplicit, 1412.3),
    ];
    for (stepper, right) in limits {
        let limit = chain
            .limit(stepper, ChainParameter::Stiffness, 1.0, 4000.0)
            .unwrap();
        assert!((limit - right).abs() < 0.06, "{stepper:?}: {limit} {right}");
    }
    let nominal = ThreeMassChain::nominal();
    let at = |swept, inside, outside| {
        nominal
            .limit(StabilityScheme::Explicit, swept, inside, outside)
            .unwrap()
    };
    assert!((at(ChainParameter::Stiffness, 15.0, 1e3) - 450.0).abs() < 0.01);
    assert!((at(ChainParameter::Damping, 0.45, 0.001) - 0.015).abs() < 1e-6);
    assert!((at(ChainParameter::Damping, 0.45, 2.0) - 0.914).abs() < 1e-3);
    assert!((at(ChainParameter::Mass, 0.002, 1e-4) - 0.000_977).abs() < 1e-6);
    assert!((at(ChainParameter::Step, 0.001, 0.01) - 0.002_086).abs() < 1e-6);
    assert_eq!(
        nominal.limit(
            StabilityScheme::Explicit,
            ChainParameter::Step,
            0.001,
            0.002
        ),
        None
    );
}

#[test]
fn s4_15_root_loci_of_the_source_stay_stable() {
    let ranges = [
        (ChainParameter::Stiffness, (15.0, 400.0)),
        (ChainParameter::Damping, (0.1, 0.9)),
        (ChainParameter::Mass, (0.001, 0.002)),
        (ChainParameter::Step, (0.001, 0.002)),
    ];
    for (swept, range) in ranges {
        let points =
            ThreeMassChain::nominal().root_locus(StabilityScheme::Explicit, swept, range, 25);
        assert_eq!(
            points.filter(|&(_, rho)| rho < 1.0).count(),
            25,
            "{swept:?}"
        );
    }
}

#[test]
fn s4_15_n_mesh_spectral_radii() {
    let printed = StabilityScheme::Printed { lambda: 1.0 };
    let rows = [
        (printed, 0.2, 0.001, 0.9871, 1e-4),
        (StabilityScheme::SemiImplicit, 0.2, 0.001, 0.9864, 1e-4),
        (printed, 0.2, 1.0 / 700.0, 1.0596, 1e-4),
        (
            StabilityScheme::SemiImplicit,
            0.2,
            1.0 / 700.0,
            0.9805,
            1e-4,
        ),
        (printed, 0.45, 0.001, 1.279, 1e-3),
        (StabilityScheme::SemiImplicit, 0.45, 0.001, 0.9692, 1e-4),
        (
            StabilityScheme::SemiImplicit,
            0.45,
            1.0 / 700.0,
            1.320,
            1e-3,
        ),
    ];
    for (stepper, b, dt_s, right, within) in rows {
        let rho = mesh_radius(stepper, b, dt_s);
        assert!(
            (rho - right).abs() < within,
            "{stepper:?} {b} {dt_s}: {rho} {right}"
        );
    }
}
