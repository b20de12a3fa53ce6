use super::element::{Deformed, Points};
use super::sparse::{BlockMatrix, norm};
use super::*;
use crate::Vec3;
use crate::law::{Elastic, Family, Law, Material, Moduli};
use crate::mesh::grade::{Grading, even};
use crate::mesh::hex::{HexMesh, Side};
use nalgebra::{Matrix3, Rotation3};
use proptest::prelude::*;

mod block;
mod touch;

const FAMILIES: [Family; 4] = [
    Family::StVenantKirchhoff,
    Family::NeoHookean,
    Family::StableNeoHookean,
    Family::MooneyRivlin { second: 0.3 },
];

fn law(family: Family, poisson: f64) -> Law<f64> {
    Law::new(family, Material::new(2.5, poisson, 1.0).unwrap().moduli())
}

/// A unit cube's corners with noise.
fn corners() -> impl Strategy<Value = [Vec3; 8]> {
    prop::array::uniform8(prop::array::uniform3(-0.12..0.12_f64)).prop_map(|noise| {
        let mut at = crate::mesh::hex::CORNERS.map(|c| Vec3::from(c) * 0.5);
        for (x, noise) in at.iter_mut().zip(noise) {
            *x += Vec3::from(noise);
        }
        at
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn element_forces_and_stiffness_are_slopes(
        at in corners(), to in corners(),
        family in prop::sample::select(FAMILIES.to_vec()), poisson in 0.2..0.49_f64,
        mean in any::<bool>(), node in 0..8_usize, axis in 0..3_usize,
    ) {
        let (points, law) = (Points::new(&at), law(family, poisson));
        let volumetric = if mean { Volumetric::Mean } else { Volumetric::Full };
        let mut u = at;
        for (u, to) in u.iter_mut().zip(&to) {
            *u = (to - *u) * 0.8;
        }
        let of = |u: &[Vec3; 8]| Deformed::new(&points, &law, volumetric, u);
        let energy = of(&u).energy();
        prop_assume!(energy.is_finite());
        let (forces, stiffness) = (of(&u).forces(), of(&u).stiffness());
        let h = 1e-6;
        let (mut up, mut down) = (u, u);
        up[node][axis] += h;
        down[node][axis] -= h;
        let slope = (of(&up).energy() - of(&down).energy()) / (2.0 * h);
        prop_assert!((slope - forces[node][axis]).abs() < 1e-6 * (1.0 + slope.abs()));
        let (above, below) = (of(&up).forces(), of(&down).forces());
        let size = stiffness.amax();
        for a in 0..8 {
            for i in 0..3 {
                let slope = (above[a][i] - below[a][i]) / (2.0 * h);
                let exact = stiffness[(3 * a + i, 3 * node + axis)];
                prop_assert!((slope - exact).abs() < 1e-6 * (1.0 + size), "{slope} {exact}");
            }
        }
        prop_assert!((stiffness - stiffness.transpose()).amax() < 1e-11 * (1.0 + size));
    }

    #[test]
    fn an_even_strain_is_exact_on_any_mesh_and_a_rigid_motion_is_free(
        at in corners(), turn in prop::array::uniform3(-2.0..2.0_f64),
        strain in prop::array::uniform9(-0.2..0.2_f64),
        family in prop::sample::select(FAMILIES.to_vec()), mean in any::<bool>(),
    ) {
        let (points, law) = (Points::new(&at), law(family, 0.45));
        let volumetric = if mean { Volumetric::Mean } else { Volumetric::Full };
        let turn = Rotation3::new(Vec3::from(turn));
        let moved = at.map(|x| turn * x + Vec3::new(3.0, -2.0, 1.0) - x);
        let forces = Deformed::new(&points, &law, volumetric, &moved).forces();
        prop_assert!(forces.iter().all(|force| force.amax() < 1e-12));
        let f = Matrix3::identity() + Matrix3::from_row_slice(&strain);
        let moved = at.map(|x| f * x - x);
        let deformed = Deformed::new(&points, &law, volumetric, &moved);
        let exact = points.volume() * law.energy(&f);
        prop_assert!((deformed.energy() - exact).abs() < 1e-11 * (1.0 + exact));
        let sum: Vec3 = deformed.forces().iter().sum();
        prop_assert!(sum.amax() < 1e-12);
    }
}

fn moduli(mesh: &HexMesh, young_pa: f64, poisson: f64) -> Vec<Moduli> {
    let material = Material::new(young_pa, poisson, 1000.0).unwrap();
    vec![material.moduli(); mesh.cells.len()]
}

/// Solves for the free displacements under nodal loads, from `u`; all without units.
fn equilibrium(solid: &Solid, mut u: Vec<Vec3>, loads: &[Vec3]) -> Vec<Vec3> {
    let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
    for _ in 0..30 {
        let mut residual: Vec<Vec3> = loads.iter().map(|load| -load).collect();
        solid.add_forces(&u, &mut residual);
        let scale = norm(&residual).max(norm(loads));
        solid.mask(&mut residual);
        if norm(&residual) < 1e-11 * scale {
            return u;
        }
        matrix.clear();
        solid.add_stiffness(&u, &mut matrix);
        matrix.fix(&solid.fixed);
        let (step, _) = matrix.solve(&residual, 1e-9, 5000);
        for (u, step) in u.iter_mut().zip(&step) {
            *u -= step;
        }
    }
    panic!("no equilibrium");
}

/// A mesh whose inner nodes are moved, in a fixed pattern, by up to `share` of a cell.
fn distorted(cells: u32, share: f64) -> HexMesh {
    let axis_m = even(0.1, cells);
    let mut mesh = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
    let cell_m = 0.1 / f64::from(cells);
    for (node, x_m) in mesh.nodes_m.iter_mut().enumerate() {
        let inside = x_m.iter().all(|&x| x > 0.001 && x < 0.099);
        if inside {
            for axis in 0..3 {
                let wave = (12.9898 * (node * 3 + axis) as f64).sin();
                x_m[axis] += share * cell_m * wave;
            }
        }
    }
    mesh.check().unwrap();
    mesh
}

#[test]
fn the_patch_test_is_exact_on_a_distorted_mesh() {
    for family in FAMILIES {
        for volumetric in [Volumetric::Full, Volumetric::Mean] {
            let mesh = distorted(3, 0.2);
            let law = (family, &moduli(&mesh, 5e3, 0.45)[..]);
            let supports = [Support::Fixed(Side::ZMin)];
            let mut solid = Solid::new(&mesh, law, &supports, volumetric).unwrap();
            #[rustfmt::skip]
            let f = Matrix3::new(
                1.10, 0.05, 0.02,
                -0.03, 0.92, 0.04,
                0.01, 0.03, 1.06,
            );
            let exact: Vec<Vec3> = solid.nodes.iter().map(|x| f * x - x).collect();
            let border = |x: &Vec3| x.iter().any(|&x| !(1e-9..1.0 - 1e-9).contains(&x));
            let mut u = vec![Vec3::zeros(); exact.len()];
            for (node, x) in solid.nodes.iter().enumerate() {
                solid.fixed[node] = [border(x); 3];
                if border(x) {
                    u[node] = exact[node];
                }
            }
            let none = vec![Vec3::zeros(); u.len()];
            let found = equilibrium(&solid, u, &none);
            let worst = found.iter().zip(&exact).map(|(a, b)| (a - b).amax());
            assert!(
                worst.fold(0.0, f64::max) < 1e-9,
                "{family:?} {volumetric:?}"
            );
        }
    }
}

/// Deflection of the end of a clamped bar, length 10 heights, over that of Timoshenko's beam.
fn bent(along: u32, across: u32) -> f64 {
    let (x_m, y_m, z_m) = (even(1.0, along), even(0.1, across), even(0.1, across));
    let mesh = HexMesh::block([&x_m, &y_m, &z_m]).unwrap();
    let law = (Family::Linear, &moduli(&mesh, 1e6, 0.0)[..]);
    let supports = [Support::Fixed(Side::XMin)];
    let solid = Solid::new(&mesh, law, &supports, Volumetric::Full).unwrap();
    let mut loads = vec![Vec3::zeros(); solid.nodes.len()];
    let end = mesh.side(Side::XMax);
    for &node in end.iter().flatten() {
        loads[node as usize].z += 1.0 / (4.0 * end.len() as f64);
    }
    let u = equilibrium(&solid, vec![Vec3::zeros(); loads.len()], &loads);
    let tip = mesh.side_nodes(Side::XMax);
    let mean = tip.iter().map(|&n| u[n as usize].z).sum::<f64>() / tip.len() as f64;
    // unit load; E = 2 mu = 2, I = h^4 / 12, A = h^2, shear factor 5/6
    let (height, young, shear) = (0.1_f64, 2.0, 1.0);
    let bending = 1.0 / (3.0 * young * height.powi(4) / 12.0);
    let sliding = 1.0 / (5.0 / 6.0 * shear * height * height);
    mean / (bending + sliding)
}

#[test]
fn a_bent_beam_converges_to_timoshenko_with_second_order() {
    let (coarse, fine) = (bent(20, 2), bent(40, 4));
    let order = ((1.0 - coarse) / (1.0 - fine)).log2();
    assert!((1.7..2.3).contains(&order), "{coarse} {fine} order {order}");
    // what second order leaves of both, extrapolated
    let limit = fine + (fine - coarse) / 3.0;
    assert!((limit - 1.0).abs() < 0.01, "{limit}");
}

#[test]
fn averaged_volume_does_not_lock() {
    // squeezed between plates that hold it, nearly without change of volume
    let force = |cells: u32, volumetric| {
        let axis_m = even(0.1, cells);
        let mesh = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
        let law = (Family::NeoHookean, &moduli(&mesh, 5e3, 0.495)[..]);
        let supports = [Support::Fixed(Side::ZMin), Support::Fixed(Side::ZMax)];
        let solid = Solid::new(&mesh, law, &supports, volumetric).unwrap();
        let mut u = vec![Vec3::zeros(); solid.nodes.len()];
        let top = mesh.side_nodes(Side::ZMax);
        for &node in &top {
            u[node as usize].z = -0.01;
        }
        let none = vec![Vec3::zeros(); u.len()];
        let u = equilibrium(&solid, u, &none);
        let mut forces = none;
        solid.add_forces(&u, &mut forces);
        -top.iter().map(|&node| forces[node as usize].z).sum::<f64>()
    };
    let (coarse, fine) = (force(3, Volumetric::Mean), force(6, Volumetric::Mean));
    assert!((coarse / fine - 1.0).abs() < 0.08, "{coarse} {fine}");
    assert!(force(3, Volumetric::Full) > 1.3 * fine);
}

#[test]
fn wrong_solids_are_refused() {
    let axis_m = even(0.1, 2);
    let mesh = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
    let good = moduli(&mesh, 5e3, 0.45);
    let fixed = [Support::Fixed(Side::ZMin)];
    let build = |moduli: &[Moduli], supports: &[Support]| {
        Solid::new(
            &mesh,
            (Family::NeoHookean, moduli),
            supports,
            Volumetric::Mean,
        )
        .map(|_| ())
    };
    assert_eq!(
        build(&good[1..], &fixed),
        Err(SolidError::Count { cells: 8, found: 7 })
    );
    assert_eq!(build(&good, &[]), Err(SolidError::Unsupported));
    let mut bad = good.clone();
    bad[3].mu_pa = 0.0;
    assert!(matches!(
        build(&bad, &fixed),
        Err(SolidError::Modulus { cell: 3, .. })
    ));
    assert_eq!(build(&good, &fixed), Ok(()));
}
