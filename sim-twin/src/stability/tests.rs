use super::*;
use crate::lattice::Lattice;
use crate::lattice::fixture;
use nalgebra::{DMatrix, SymmetricEigen};

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
        let found = LinearizedLattice::new(&lattice).largest_eigenvalue(1.0, 0.0);
        let unit = found * fixture::FILE_MASS / fixture::FILE_STIFFNESS;
        assert!((unit - most).abs() < 1e-4 * most, "{unit} {most}");
    }
}

#[test]
fn dt_s_max_meets_the_stability_limit() {
    let mut assembly = LinearizedLattice::new(&fixture::regular());
    assembly.add_surface_contact(400.0, 0.0);
    let dt_s = assembly.dt_s_max(STABILITY_LIMIT);
    let reached = assembly.largest_eigenvalue(dt_s * dt_s, 2.0 * dt_s);
    assert!(
        (reached - STABILITY_LIMIT).abs() < 1e-4,
        "{dt_s}: {reached}"
    );
}
