//! Equilibria of a solid, for the cases in closed form.

use super::static_reference::solve;
use crate::solid::{Solid, zero_fixed};
use crate::sparse::BlockMatrix;
use palpate_twin::Vec3;
use palpate_twin::conjugate_gradient::norm;

/// Returns the displacements in equilibrium with nodal `loads`, with fixed nodes at `u`; all without units.
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
        zero_fixed(&solid.fixed, &mut residual);
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

/// Returns the linear displacements of a body at rest under `loads`, with fixed nodes at `u`.
pub(crate) fn linear_equilibrium<const N: usize, const P: usize>(
    solid: &Solid<N, P>,
    mut u: Vec<Vec3>,
    loads: &[Vec3],
) -> Vec<Vec3> {
    let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
    let rest = vec![Vec3::zeros(); u.len()];
    solid.add_stiffness(&rest, &mut matrix);
    let mut forces = rest;
    matrix.multiply(&u, &mut forces);
    let mut residual_load: Vec<Vec3> = loads.iter().zip(&forces).map(|(a, b)| a - b).collect();
    zero_fixed(&solid.fixed, &mut residual_load);
    matrix.fix(&solid.fixed);
    let (step, report) = solve(&matrix, &residual_load, 1e-9, 20_000);
    assert!(report.residual < 1e-8, "{report:?}");
    for (u, step) in u.iter_mut().zip(&step) {
        *u += step;
    }
    u
}

/// Fixes the border of a cube to `field`; returns the computed displacements and those of the field.
pub(crate) fn with_fixed_border<const N: usize, const P: usize>(
    solid: &mut Solid<N, P>,
    field: impl Fn(&Vec3) -> Vec3,
    balance: impl Fn(&Solid<N, P>, Vec<Vec3>, &[Vec3]) -> Vec<Vec3>,
) -> (Vec<Vec3>, Vec<Vec3>) {
    let expected: Vec<Vec3> = solid.nodes.iter().map(field).collect();
    let mut u = vec![Vec3::zeros(); expected.len()];
    for (node, x) in solid.nodes.iter().enumerate() {
        let border = x.iter().any(|x| !(1e-9..1.0 - 1e-9).contains(x));
        solid.fixed[node] = [border; 3];
        if border {
            u[node] = expected[node];
        }
    }
    let none = vec![Vec3::zeros(); u.len()];
    (balance(solid, u, &none), expected)
}
