//! Tests of tetrahedra with ten nodes against closed forms and hexahedra.
//!
//! Run with `--nocapture` for the numbers. The cases and their sources are those of `continuum.rs`.

use super::balance::{equilibrium, linear_equilibrium, with_fixed_border};
use super::{cell_materials, evenly_spaced, uncut};
use crate::Solid;
use crate::element::BULK_OVER_SHEAR_LOCAL;
use crate::implicit::{ImplicitParams, ImplicitTissue};
use crate::solid::laws;
use crate::tests::NONLINEAR;
use nalgebra::{Matrix3, Rotation3};
use palpate_geometry::mesh::hex::HexMesh;
use palpate_geometry::mesh::quadratic::QuadraticTetMesh;
use palpate_twin::law::{LawFamily, Material, Moduli, Viscosity};
use palpate_twin::{Tissue, Vec3};
use std::f64::consts::PI;

fn moduli(cells: usize, young_pa: f64, poisson: f64) -> Vec<Moduli> {
    let material = Material::new(young_pa, poisson, 1e3).expect("in range");
    vec![material.moduli(); cells]
}

/// Returns hexahedra cut into tetrahedra.
fn cut(mesh: &HexMesh) -> QuadraticTetMesh {
    QuadraticTetMesh::new(&uncut(mesh).tetrahedra())
}

fn block(size_m: [f64; 3], cells: [u32; 3]) -> HexMesh {
    let axes_m = [0, 1, 2].map(|axis| evenly_spaced(size_m[axis], cells[axis]));
    HexMesh::block([&axes_m[0], &axes_m[1], &axes_m[2]]).expect("valid")
}

/// Returns a cube of 0.1 m whose inner nodes are moved, in a fixed pattern, by up to `share` of a cell.
fn distorted(cells: u32, share: f64) -> HexMesh {
    let mut mesh = block([0.1; 3], [cells; 3]);
    let cell_m = 0.1 / f64::from(cells);
    for (node, x_m) in mesh.nodes_m.iter_mut().enumerate() {
        if x_m.iter().all(|&x| x > 0.001 && x < 0.099) {
            for axis in 0..3 {
                x_m[axis] += share * cell_m * (12.9898 * (node * 3 + axis) as f64).sin();
            }
        }
    }
    mesh
}

/// Returns a solid with its lowest nodes fixed, and change of volume averaged as
/// [`crate::element::AveragedLaw::new`].
fn solid(
    mesh: &QuadraticTetMesh,
    (family, poisson): (LawFamily, f64),
    shared: f64,
) -> Solid<10, 4> {
    let held: Vec<bool> = mesh.nodes_m.iter().map(|x| x.z < 1e-9).collect();
    let moduli = moduli(mesh.cells.len(), 5e3, poisson);
    let mut solid = Solid::of_tets(mesh, family, &moduli, &held);
    solid.laws = laws(family, &moduli, shared).0;
    solid
}

#[rustfmt::skip]
fn strain() -> Matrix3<f64> {
    Matrix3::new(
        1.10, 0.05, 0.02,
        -0.03, 0.92, 0.04,
        0.01, 0.03, 1.06,
    )
}

#[test]
fn the_patch_test_is_exact() {
    let full = NONLINEAR.map(|family| (family, f64::INFINITY));
    let shared = NONLINEAR.map(|family| (family, BULK_OVER_SHEAR_LOCAL));
    let linear = [(LawFamily::Linear, BULK_OVER_SHEAR_LOCAL)];
    for (family, shared) in full.into_iter().chain(shared).chain(linear) {
        let mut solid = solid(&cut(&distorted(2, 0.2)), (family, 0.45), shared);
        let (found, expected) = with_fixed_border(&mut solid, |x| strain() * x - x, equilibrium);
        let near = found
            .iter()
            .zip(&expected)
            .all(|(a, b)| (a - b).amax() < 1e-9);
        assert!(near, "{family:?} {shared}");
    }
}

#[test]
fn a_rigid_motion_has_no_force_and_forces_sum_to_zero() {
    for family in NONLINEAR {
        let solid = solid(
            &cut(&distorted(2, 0.2)),
            (family, 0.49),
            BULK_OVER_SHEAR_LOCAL,
        );
        let forces_at = |to: &dyn Fn(&Vec3) -> Vec3| {
            let at: Vec<Vec3> = solid.nodes.iter().map(to).collect();
            let u: Vec<Vec3> = at.iter().zip(&solid.nodes).map(|(at, x)| at - x).collect();
            let mut forces = vec![Vec3::zeros(); u.len()];
            solid.add_forces(&u, &mut forces);
            (at, forces)
        };
        let turn = Rotation3::new(Vec3::new(0.7, -1.1, 0.4));
        let (_, rigid) = forces_at(&|x| turn * x + Vec3::new(3.0, -2.0, 1.0));
        assert!(rigid.iter().all(|f| f.amax() < 1e-13), "{family:?}");
        let (at, forces) =
            forces_at(&|x| strain() * x + Vec3::new(0.1 * x.z * x.z, 0.05 * x.x * x.y, 0.0));
        let size: f64 = forces.iter().map(|f| f.norm()).sum();
        let sum: Vec3 = forces.iter().sum();
        let moment: Vec3 = at.iter().zip(&forces).map(|(x, f)| x.cross(f)).sum();
        assert!(
            sum.norm() < 1e-13 * size && moment.norm() < 1e-13 * size,
            "{family:?}"
        );
        assert!(size > 0.1);
    }
}

/// Returns the relative error of a field without change of volume, from its values on the border.
fn harmonic<const N: usize, const P: usize>(mut solid: Solid<N, P>) -> f64 {
    let field = |x: &Vec3| {
        let (root, grown) = (2.0_f64.sqrt(), (2.0_f64.sqrt() * x.x).exp());
        let (cy, cz) = (x.y.cos(), x.z.cos());
        Vec3::new(root * cy * cz, -x.y.sin() * cz, -cy * x.z.sin()) * grown
    };
    let (found, expected) = with_fixed_border(&mut solid, field, linear_equilibrium);
    let square = |list: &mut dyn Iterator<Item = Vec3>| list.map(|x| x.norm_squared()).sum::<f64>();
    let error = square(&mut found.iter().zip(&expected).map(|(a, b)| a - b));
    (error / square(&mut expected.iter().copied())).sqrt()
}

#[test]
fn a_smooth_field_converges_at_any_poisson_s_ratio() {
    for poisson in [0.3, 0.45, 0.49, 0.499] {
        let law = (LawFamily::NeoHookean, poisson);
        let of = |cells: u32| {
            harmonic(solid(
                &cut(&distorted(cells, 0.1)),
                law,
                BULK_OVER_SHEAR_LOCAL,
            ))
        };
        let errors = [2, 4, 8].map(of);
        let orders = [0, 1].map(|i| (errors[i] / errors[i + 1]).log2());
        println!("nu {poisson}: errors {errors:?}, orders {orders:?}");
        assert!(orders[1] > 1.8, "{poisson}: {orders:?}");
        // hexahedra with as many nodes are off by 1.3e-4, 1.8e-4, 3.2e-4 and 5.1e-4
        assert!(errors[2] < 1e-4, "{poisson}: {errors:?}");
    }
}

/// Compression between plates that fix the surface, nearly incompressible.
#[test]
fn averaged_volume_does_not_lock() {
    let force = |family, cells: u32, shared| {
        let mesh = cut(&block([0.1; 3], [cells; 3]));
        let mut solid = solid(&mesh, (family, 0.495), shared);
        let top = |x: &Vec3| x.z > 1.0 - 1e-9;
        let mut u = vec![Vec3::zeros(); solid.nodes.len()];
        for (node, x) in solid.nodes.iter().enumerate() {
            u[node].z = -0.02 * x.z;
            if top(x) {
                solid.fixed[node] = [true; 3];
            }
        }
        let none = vec![Vec3::zeros(); u.len()];
        let u = equilibrium(&solid, u, &none);
        let mut forces = none;
        solid.add_forces(&u, &mut forces);
        let pushed = forces.iter().zip(&solid.nodes).filter(|(_, x)| top(x));
        -pushed.map(|(force, _)| force.z).sum::<f64>()
    };
    for family in [LawFamily::NeoHookean, LawFamily::Linear] {
        let [coarse, fine] = [2, 4].map(|cells| force(family, cells, BULK_OVER_SHEAR_LOCAL));
        let locked = force(family, 2, f64::INFINITY);
        println!("{family:?}: {coarse} and {fine}, without averaging {locked}");
        assert!(
            (coarse / fine - 1.0).abs() < 0.08,
            "{family:?} {coarse} {fine}"
        );
        assert!(locked > coarse, "{family:?} {locked} {coarse}");
    }
}

/// Returns the deflection of a bar's end over Timoshenko's, as in `continuum.rs`.
fn deflection_ratio(cells: [u32; 3], poisson: f64) -> f64 {
    let mesh = cut(&block([1.0, 0.05, 0.1], cells));
    let mut solid = solid(
        &mesh,
        (LawFamily::NeoHookean, poisson),
        BULK_OVER_SHEAR_LOCAL,
    );
    for (node, x) in solid.nodes.iter().enumerate() {
        let wall = x.x < 1e-9;
        let line = wall && (x.z - 0.05).abs() < 1e-9;
        solid.fixed[node] = [wall, x.y < 1e-9, line];
    }
    let mut loads = vec![Vec3::zeros(); solid.nodes.len()];
    for (end, push) in [(1.0, 1.0), (0.0, -1.0)] {
        let at_end = |face: &&[u32; 6]| {
            face.iter()
                .all(|&node| (solid.nodes[node as usize].x - end).abs() < 1e-9)
        };
        let faces: Vec<&[u32; 6]> = mesh.faces.iter().filter(at_end).collect();
        // a uniform traction loads the edge nodes only, and all faces have the same area
        for node in faces.iter().flat_map(|face| &face[3..]) {
            loads[*node as usize].z += push / (3.0 * faces.len() as f64);
        }
    }
    let u = linear_equilibrium(&solid, vec![Vec3::zeros(); loads.len()], &loads);
    let tip = u.iter().zip(&solid.nodes).filter(|(_, x)| x.x > 1.0 - 1e-9);
    let (count, sum) = tip.fold((0.0, 0.0), |(count, sum), (u, _)| (count + 1.0, sum + u.z));
    let (height, young) = (0.1_f64, 2.0 * (1.0 + poisson));
    let bending = 1.0 / (3.0 * young * 0.5 * height.powi(4) / 12.0);
    let factor = 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson);
    sum / count / (bending + 1.0 / (factor * 0.5 * height * height))
}

#[test]
fn a_bent_beam_is_timoshenko_s() {
    for poisson in [0.0, 0.3, 0.45, 0.49] {
        let found =
            [[5, 1, 1], [10, 1, 1], [20, 1, 2]].map(|cells| deflection_ratio(cells, poisson));
        println!("nu {poisson}: {found:?} of theory");
        assert!((found[2] - 1.0).abs() < 0.015, "{poisson}: {found:?}");
    }
}

/// Returns the time of the first half oscillation of a column's slowest pressure wave over the exact one. At
/// Poisson's ratio 0 the width is constant, and the wave speed is `sqrt(E / rho)`.
fn half_period_ratio(cells: u32, steps: u32) -> f64 {
    let width_m = 0.1 / f64::from(cells);
    let mesh = cut(&block([width_m, width_m, 0.1], [1, 1, cells]));
    let held: Vec<bool> = mesh.nodes_m.iter().map(|x| x.z < 1e-9).collect();
    let (moduli, densities) = (
        moduli(mesh.cells.len(), 5e3, 0.0),
        vec![1e3; mesh.cells.len()],
    );
    let params = ImplicitParams {
        tolerance: 1e-9,
        damping_per_s: 0.0,
        ..ImplicitParams::default()
    };
    let cell_materials = cell_materials(&moduli, &densities, Viscosity::NONE);
    let law = LawFamily::NeoHookean;
    let mut tissue =
        ImplicitTissue::of_tets(&mesh, &held, law, &cell_materials, &params).expect("valid");
    let half_s = 2.0 * 0.1 / 5.0_f64.sqrt();
    let wave = |x: &Vec3| Vec3::z() * (1e-5 * (0.5 * PI * x.z / 0.1).sin());
    let start: Vec<Vec3> = mesh.nodes_m.iter().map(wave).collect();
    tissue.set_velocities_mps(&start);
    let dt_s = half_s / f64::from(steps);
    let top = mesh
        .nodes_m
        .iter()
        .position(|x| x.z > 0.1 - 1e-9)
        .expect("a top");
    let (mut last_m, mut time_s) = (0.0, 0.0);
    loop {
        tissue.step(&[], dt_s, &mut []);
        let now_m = tissue.displacements_m().nth(top).expect("a top").z;
        if now_m <= 0.0 {
            return (time_s + dt_s * last_m / (last_m - now_m)) / half_s;
        }
        (last_m, time_s) = (now_m, time_s + dt_s);
        assert!(time_s < 2.0 * half_s);
    }
}

#[test]
fn a_column_oscillates_with_the_pressure_wave() {
    let errors = [2, 4, 8].map(|cells| (half_period_ratio(cells, 600) - 1.0).abs());
    println!("column: errors {errors:?}");
    assert!(
        errors[2] < 0.01 && errors[1] / errors[2] > 2.0,
        "{errors:?}"
    );
}
