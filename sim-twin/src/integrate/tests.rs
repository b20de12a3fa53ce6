use super::*;
use crate::lattice::Lattice;
use crate::lattice::fixture;
use chain::{Chain, Swept};
use nalgebra::{DMatrix, SymmetricEigen};

mod chain;

/// Eigenvalues of the unit stiffness of a lattice with equal links, from a dense matrix.
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

fn mesh_radius(stepper: Stepper, damping_nspm: f64, dt_s: f64) -> f64 {
    let chain = Chain {
        damping_nspm,
        dt_s,
        ..Chain::nominal()
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
    let chain = Chain::nominal();
    let poles = chain.explicit_poles();
    let expected = [0.0413, 0.3602, 0.6804, 0.9628, 0.9648, 0.9655];
    for (pole, right) in poles.iter().zip(expected) {
        assert!(
            pole.im.abs() < 1e-9 && (pole.re - right).abs() < 1e-4,
            "{pole} {right}"
        );
    }
    for damping_nspm in [0.2, 0.45, 0.9] {
        let chain = Chain {
            damping_nspm,
            ..chain
        };
        let full = chain.explicit_poles()[5].norm();
        assert!((full - chain.radius(Stepper::Explicit)).abs() < 1e-12);
    }
}

#[test]
fn s4_15_n_stab_spectral_radii() {
    let nominal = Chain::nominal();
    let explicit = [
        (Swept::Stiffness, 15.0, 0.96547),
        (Swept::Stiffness, 400.0, 0.97998),
        (Swept::Stiffness, 449.0, 0.99960),
        (Swept::Stiffness, 451.0, 1.00110),
        (Swept::Damping, 0.1, 0.96571),
        (Swept::Damping, 0.9, 0.98319),
        (Swept::Mass, 0.001, 0.96609),
        (Swept::Step, 0.002, 0.93093),
    ];
    for (swept, value, right) in explicit {
        let rho = nominal.with(swept, value).radius(Stepper::Explicit);
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
        let rho = nominal.radius(Stepper::Printed { lambda });
        assert!((rho - right).abs() < within, "{lambda}: {rho} {right}");
    }
    assert!((nominal.radius(Stepper::SemiImplicit) - 0.96666).abs() < 1e-4);
}

#[test]
fn s4_15_n_stab_limits() {
    let chain = Chain {
        damping_nspm: 0.2,
        ..Chain::nominal()
    };
    let limits = [
        (Stepper::Explicit, 200.0),
        (Stepper::Printed { lambda: 1.0 }, 111.7),
        (Stepper::Printed { lambda: 0.5 }, 55.7),
        (Stepper::Printed { lambda: 0.3 }, 32.4),
        (Stepper::SemiImplicit, 1412.3),
    ];
    for (stepper, right) in limits {
        let limit = chain.limit(stepper, Swept::Stiffness, 1.0, 4000.0).unwrap();
        assert!((limit - right).abs() < 0.06, "{stepper:?}: {limit} {right}");
    }
    let nominal = Chain::nominal();
    let at = |swept, inside, outside| {
        nominal
            .limit(Stepper::Explicit, swept, inside, outside)
            .unwrap()
    };
    assert!((at(Swept::Stiffness, 15.0, 1e3) - 450.0).abs() < 0.01);
    assert!((at(Swept::Damping, 0.45, 0.001) - 0.015).abs() < 1e-6);
    assert!((at(Swept::Damping, 0.45, 2.0) - 0.914).abs() < 1e-3);
    assert!((at(Swept::Mass, 0.002, 1e-4) - 0.000_977).abs() < 1e-6);
    assert!((at(Swept::Step, 0.001, 0.01) - 0.002_086).abs() < 1e-6);
    assert_eq!(
        nominal.limit(Stepper::Explicit, Swept::Step, 0.001, 0.002),
        None
    );
}

#[test]
fn s4_15_sweeps_of_the_source_stay_stable() {
    let ranges = [
        (Swept::Stiffness, (15.0, 400.0)),
        (Swept::Damping, (0.1, 0.9)),
        (Swept::Mass, (0.001, 0.002)),
        (Swept::Step, (0.001, 0.002)),
    ];
    for (swept, range) in ranges {
        let points = Chain::nominal().sweep(Stepper::Explicit, swept, range, 25);
        assert_eq!(
            points.filter(|&(_, rho)| rho < 1.0).count(),
            25,
            "{swept:?}"
        );
    }
}

#[test]
fn s4_15_n_mesh_spectral_radii() {
    let printed = Stepper::Printed { lambda: 1.0 };
    let rows = [
        (printed, 0.2, 0.001, 0.9871, 1e-4),
        (Stepper::SemiImplicit, 0.2, 0.001, 0.9864, 1e-4),
        (printed, 0.2, 1.0 / 700.0, 1.0596, 1e-4),
        (Stepper::SemiImplicit, 0.2, 1.0 / 700.0, 0.9805, 1e-4),
        (printed, 0.45, 0.001, 1.279, 1e-3),
        (Stepper::SemiImplicit, 0.45, 0.001, 0.9692, 1e-4),
        (Stepper::SemiImplicit, 0.45, 1.0 / 700.0, 1.320, 1e-3),
    ];
    for (stepper, b, dt_s, right, within) in rows {
        let rho = mesh_radius(stepper, b, dt_s);
        assert!(
            (rho - right).abs() < within,
            "{stepper:?} {b} {dt_s}: {rho} {right}"
        );
    }
}

#[test]
fn power_iteration_finds_the_dense_eigenvalue() {
    for (lattice, low, high) in [
        (fixture::regular(), 0.270, 7.028),
        (fixture::printed(), 0.186, 7.680),
    ] {
        let dense = modes(&lattice);
        let most = dense.iter().copied().fold(0.0, f64::max);
        let least = dense.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((most - high).abs() < 1e-3 && (least - low).abs() < 1e-3);
        let found = Assembly::new(&lattice).largest(1.0, 0.0);
        let unit = found * fixture::FILE_MASS / fixture::FILE_STIFFNESS;
        assert!((unit - most).abs() < 1e-4 * most, "{unit} {most}");
    }
}

#[test]
fn dt_s_max_is_where_the_gate_closes() {
    let mut assembly = Assembly::new(&fixture::regular());
    assembly.touch_surface(400.0, 0.0);
    let dt_s = assembly.dt_s_max(GATE);
    let reached = assembly.largest(dt_s * dt_s, 2.0 * dt_s);
    assert!((reached - GATE).abs() < 1e-4, "{dt_s}: {reached}");
}
