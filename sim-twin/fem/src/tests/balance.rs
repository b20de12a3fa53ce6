//! Displacements at which a solid is in balance, for the cases in closed form.

use super::truth::solve;
use crate::solid::{Solid, mask};
use crate::sparse::BlockMatrix;
use palpate_twin::Vec3;
use palpate_twin::conjugate::norm;

/// Displacements that balance nodal `loads` with what is fixed held at `u`; all without units.
pub(crate) fn equilibrium<const N: usize, const P: usize>(
    solid: &Solid<N, P>,
    mut u: Vec<Vec3>,
    loads: &[Vec3],
) -> Vec<Vec3> {
    let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
    for _ in 0..30 {
        let mut residual: Vec<Vec3> = loads.iter().map(|load| -load).collect();
        solid.add_forces(&u, &mut residual);
        let scale = norm(&residual).max(norm(loads));
        mask(&solid.fixed, &mut residual);
        if norm(&residual) < 1e-10 * scale {
            return u;
        }
        matrix.clear();
        solid.add_stiffness(&u, &mut matrix);
        matrix.fix(&solid.fixed);
        let (step, _) = solve(&matrix, &residual, 1e-8, 10_000);
        for (u, step) in u.iter_mut().zip(&step) {
            *u -= step;
        }
    }
    panic!("no equilibrium");
}

/// Displacements of a body at rest that small `loads` make, with what is fixed held at `u`.
pub(crate) fn small<const N: usize, const P: usize>(
    solid: &Solid<N, P>,
    mut u: Vec<Vec3>,
    loads: &[Vec3],
) -> Vec<Vec3> {
    let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
    let rest = vec![Vec3::zeros(); u.len()];
    solid.add_stiffness(&rest, &mut matrix);
    let mut pulls = rest;
    matrix.multiply(&u, &mut pulls);
    let mut missing: Vec<Vec3> = loads.iter().zip(&pulls).map(|(a, b)| a - b).collect();
    mask(&solid.fixed, &mut missing);
    matrix.fix(&solid.fixed);
    let (step, solved) = solve(&matrix, &missing, 1e-9, 20_000);
    assert!(solved.residual < 1e-8, "{solved:?}");
    for (u, step) in u.iter_mut().zip(&step) {
        *u += step;
    }
    u
}

/// Holds the border of a cube where `field` says; gives the displacements found and those of the field.
pub(crate) fn bordered<const N: usize, const P: usize>(
    solid: &mut Solid<N, P>,
    field: impl Fn(&Vec3) -> Vec3,
    balance: impl Fn(&Solid<N, P>, Vec<Vec3>, &[Vec3]) -> Vec<Vec3>,
) -> (Vec<Vec3>, Vec<Vec3>) {
    let exact: Vec<Vec3> = solid.nodes.iter().map(field).collect();
    let mut u = vec![Vec3::zeros(); exact.len()];
    for (node, x) in solid.nodes.iter().enumerate() {
        let border = x.iter().any(|x| !(1e-9..1.0 - 1e-9).contains(x));
        solid.fixed[node] = [border; 3];
        if border {
            u[node] = exact[node];
        }
    }
    let none = vec![Vec3::zeros(); u.len()];
    (balance(solid, u, &none), exact)
}
