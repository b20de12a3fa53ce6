//! Tests of the continuum against closed forms: patches, beams, probes, waves, orders.
//!
//! Run with `--nocapture` for the numbers. Sources are given with each case.

use super::balance::{equilibrium, linear_equilibrium, with_fixed_border};
use super::static_reference::{Press, Settings};
use super::{cell_materials, evenly_spaced, let_slide, pressure_wave_mps};
use crate::Solid;
use crate::implicit::{ImplicitParams, ImplicitTissue};
use crate::solid::laws;
use crate::tests::NONLINEAR;
use nalgebra::{Matrix3, Rotation3};
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_twin::law::{LawFamily, Material, Moduli, Viscosity};
use palpate_twin::{Tissue, Vec3};
use std::f64::consts::PI;

fn moduli(mesh: &HexMesh, young_pa: f64, poisson: f64) -> Vec<Moduli> {
    let material = Material::new(young_pa, poisson, 1e3).expect("in range");
    vec![material.moduli(); mesh.cells.len()]
}

/// Returns a block of 0.1 m whose inner nodes are moved, in a fixed pattern, by up to `share` of a cell.
fn distorted(cells: u32, share: f64) -> HexMesh {
    let axis_m = evenly_spaced(0.1, cells);
    let mut mesh = HexMesh::block([&axis_m, &axis_m, &axis_m]).expect("valid");
    let cell_m = 0.1 / f64::from(cells);
    for (node, x_m) in mesh.nodes_m.iter_mut().enumerate() {
        if x_m.iter().all(|&x| x > 0.001 && x < 0.099) {
            for axis in 0..3 {
                x_m[axis] += share * cell_m * (12.9898 * (node * 3 + axis) as f64).sin();
            }
        }
    }
    mesh.check().expect("no cell is inside out");
    mesh
}

#[rustfmt::skip]
fn strain() -> Matrix3<f64> {
    Matrix3::new(
        1.10, 0.05, 0.02,
        -0.03, 0.92, 0.04,
        0.01, 0.03, 1.06,
    )
}

/// Returns a solid with change of volume averaged as [`crate::element::AveragedLaw::new`].
fn averaged(mesh: &HexMesh, family: LawFamily, moduli: &[Moduli], shared: f64) -> Solid {
    let mut solid = Solid::new(mesh, family, moduli);
    solid.laws = laws(family, moduli, shared).0;
    solid
}

/// Patch test (Irons 1966): a uniform strain on the border is uniform inside.
#[test]
fn the_patch_test_is_exact_in_the_static_solver() {
    let full = NONLINEAR.map(|family| (family, f64::INFINITY));
    let mean = NONLINEAR.map(|family| (family, 0.0));
    let linear = [(LawFamily::Linear, 0.0)];
    for (family, shared) in full.into_iter().chain(mean).chain(linear) {
        let mesh = distorted(3, 0.2);
        let mut solid = averaged(&mesh, family, &moduli(&mesh, 5e3, 0.45), shared);
        let expected: Vec<Vec3> = solid.nodes.iter().map(|x| strain() * x - x).collect();
        let mut u = vec![Vec3::zeros(); expected.len()];
        for (node, x) in solid.nodes.iter().enumerate() {
            let border = x.iter().any(|x| !(1e-9..1.0 - 1e-9).contains(x));
            solid.fixed[node] = [border; 3];
            if border {
                u[node] = expected[node];
            }
        }
        let none = vec![Vec3::zeros(); u.len()];
        let found = equilibrium(&solid, u, &none);
        let mut pairs = found.iter().zip(&expected);
        let near = pairs.all(|(a, b)| (a - b).amax() < 1e-9);
        assert!(near, "{family:?} {shared}");
    }
}

/// Dynamic patch test: a motion along z only, between frictionless walls, stays plane.
#[test]
fn a_plane_motion_stays_plane() {
    let (mesh, mut tissue) = column(4, 5e-3, 0.0);
    let rising: Vec<Vec3> = mesh.nodes_m.iter().map(|x| Vec3::z() * x.z).collect();
    tissue.set_velocities_mps(&rising);
    for _ in 0..50 {
        tissue.step(&[], 1e-3, &mut []);
        let moved: Vec<Vec3> = tissue.displacements_m().collect();
        for (x, u) in mesh.nodes_m.iter().zip(&moved) {
            let first = moved[mesh.nodes_m.iter().position(|y| y.z == x.z).expect("valid")];
            assert!(u.x.abs() < 1e-14 && u.y.abs() < 1e-14 && (u.z - first.z).abs() < 1e-14);
        }
    }
}

/// Returns a column of 0.1 m and its implicit tissue, fixed below, between frictionless walls.
fn column(cells: u32, width_m: f64, damping_per_s: f64) -> (HexMesh, ImplicitTissue) {
    let across_m = evenly_spaced(width_m, 2);
    let mesh = HexMesh::block([&across_m, &across_m, &evenly_spaced(0.1, cells)]).expect("valid");
    let (moduli, densities) = (moduli(&mesh, 5e3, 0.45), vec![1e3; mesh.cells.len()]);
    let cell_materials = cell_materials(&moduli, &densities, Viscosity::NONE);
    let params = ImplicitParams {
        tolerance: 1e-9,
        damping_per_s,
        ..ImplicitParams::default()
    };
    let mut tissue =
        ImplicitTissue::new(&mesh, LawFamily::NeoHookean, &cell_materials, &params).expect("valid");
    tissue.slide(
        &mesh,
        &[
            BlockSide::XMin,
            BlockSide::XMax,
            BlockSide::YMin,
            BlockSide::YMax,
        ],
    );
    (mesh, tissue)
}

/// Returns the time of the first half oscillation of the column's slowest pressure wave over the exact `2 L /
/// c`, and the remaining fraction of its energy.
fn half_period_ratio(cells: u32, steps: u32) -> (f64, f64) {
    let (mesh, mut tissue) = column(cells, 0.1 / f64::from(cells), 0.0);
    let material = Material::new(5e3, 0.45, 1e3).expect("in range");
    let speed_mps = pressure_wave_mps(&material);
    let half_s = 2.0 * 0.1 / speed_mps;
    let wave = |x: &Vec3| Vec3::z() * (1e-5 * (0.5 * PI * x.z / 0.1).sin());
    let start: Vec<Vec3> = mesh.nodes_m.iter().map(wave).collect();
    tissue.set_velocities_mps(&start);
    let start_j = tissue.view().energy.stored_j();
    let dt_s = half_s / f64::from(steps);
    let (mut last_m, mut time_s) = (0.0, 0.0);
    let top = mesh.nodes_m.len() - 1;
    loop {
        tissue.step(&[], dt_s, &mut []);
        let now_m = tissue.displacements_m().nth(top).expect("a top").z;
        if now_m <= 0.0 {
            // the instant between two steps
            time_s += dt_s * last_m / (last_m - now_m);
            return (time_s / half_s, tissue.view().energy.stored_j() / start_j);
        }
        (last_m, time_s) = (now_m, time_s + dt_s);
        assert!(time_s < 2.0 * half_s);
    }
}

/// Free vibration: the column oscillates as a pressure wave of a quarter of its length (Graff 1975, section
/// 2.4), with `c^2 = (lambda + 2 mu) / rho`.
#[test]
fn a_column_oscillates_with_the_pressure_wave() {
    let (time, _) = half_period_ratio(20, 400);
    println!("period over theory: {time:.5}");
    assert!((time - 1.0).abs() < 0.01, "{time}");
    // second order in space, at steps so short that their error is negligible
    let errors = [2, 4, 8].map(|cells| (half_period_ratio(cells, 3000).0 - 1.0).abs());
    let orders = [0, 1].map(|i| (errors[i] / errors[i + 1]).log2());
    println!("space: errors {errors:?}, orders {orders:?}");
    assert!(orders.iter().all(|order| (1.7..2.4).contains(order)));
    // first order in time: the dissipated fraction is proportional to the step
    let losses = [100, 200, 400].map(|steps| -half_period_ratio(8, steps).1.ln());
    let orders = [0, 1].map(|i| (losses[i] / losses[i + 1]).log2());
    println!("time: losses {losses:?}, orders {orders:?}");
    assert!(orders.iter().all(|order| (0.9..1.1).contains(order)));
}

/// Returns the error of the displacements of a block of `cells` over their size (root mean squares). The
/// border has the gradient of `exp(sqrt(2) x) cos(y) cos(z)`, which is harmonic. It changes no volume, so it
/// is in equilibrium at any Poisson's ratio (Papkovich and Neuber, scalar part).
fn harmonic((cells, share): (u32, f64), poisson: f64, shared: f64) -> f64 {
    let mesh = distorted(cells, share);
    let moduli = moduli(&mesh, 5e3, poisson);
    let mut solid = averaged(&mesh, LawFamily::NeoHookean, &moduli, shared);
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
fn a_smooth_field_converges_with_second_order_at_any_poisson_s_ratio() {
    for poisson in [0.3, 0.45, 0.49, 0.499] {
        let errors = [4, 8, 16].map(|cells| harmonic((cells, 0.0), poisson, 0.0));
        let orders = [0, 1].map(|i| (errors[i] / errors[i + 1]).log2());
        println!("nu {poisson}: errors {errors:?}, orders {orders:?}");
        let second = orders.iter().all(|order| (1.8..2.1).contains(order));
        assert!(second, "{poisson}: {orders:?}");
    }
    // and a distorted mesh has an error as small
    for poisson in [0.45, 0.49, 0.499] {
        let error = harmonic((8, 0.15), poisson, 0.0);
        let locked = harmonic((8, 0.15), poisson, f64::INFINITY);
        println!("distorted, nu {poisson}: {error:e}, without averaging {locked:e}");
        assert!(error < 0.002 && (poisson < 0.499 || locked > 2.0 * error));
    }
}

/// Compression between plates that fix the surface, nearly incompressible; the linear law too.
#[test]
fn averaged_volume_does_not_lock() {
    let force = |family, cells: u32, shared| {
        let axis_m = evenly_spaced(0.1, cells);
        let mesh = HexMesh::block([&axis_m, &axis_m, &axis_m]).expect("valid");
        let mut solid = averaged(&mesh, family, &moduli(&mesh, 5e3, 0.495), shared);
        let mut u = vec![Vec3::zeros(); solid.nodes.len()];
        let top = mesh.side_nodes(BlockSide::ZMax);
        for &node in &top {
            solid.fixed[node as usize] = [true; 3];
            u[node as usize].z = -0.01;
        }
        let none = vec![Vec3::zeros(); u.len()];
        let u = equilibrium(&solid, u, &none);
        let mut forces = none;
        solid.add_forces(&u, &mut forces);
        -top.iter().map(|&node| forces[node as usize].z).sum::<f64>()
    };
    for family in [LawFamily::NeoHookean, LawFamily::Linear] {
        let [coarse, fine] = [3, 6].map(|cells| force(family, cells, 0.0));
        let ratio = coarse / fine;
        assert!((ratio - 1.0).abs() < 0.08, "{family:?} {coarse} {fine}");
        assert!(force(family, 3, f64::INFINITY) > 1.3 * fine);
    }
}

/// Returns the deflection of the end of a bar of tenfold length over Timoshenko's, with Cowper's shear factor
/// `10 (1 + nu) / (12 + 11 nu)` (1966). Half of the bar, cut along its middle plane. The wall fixes its
/// sections along the bar and its middle line, so that they contract as in theory.
fn deflection_ratio((along, across, up): (u32, u32, u32), poisson: f64) -> f64 {
    let (x_m, y_m, z_m) = (
        evenly_spaced(1.0, along),
        evenly_spaced(0.05, across),
        evenly_spaced(0.1, up),
    );
    let mesh = HexMesh::block([&x_m, &y_m, &z_m]).expect("valid");
    let moduli = moduli(&mesh, 1e6, poisson);
    let mut solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli);
    for (node, x) in solid.nodes.iter().enumerate() {
        let wall = x.x < 1e-9;
        let line = wall && (x.z - 0.05).abs() < 1e-9;
        solid.fixed[node] = [wall, x.y < 1e-9, line];
    }
    let mut loads = vec![Vec3::zeros(); solid.nodes.len()];
    for (side, push) in [(BlockSide::XMax, 1.0), (BlockSide::XMin, -1.0)] {
        let faces = mesh.side(side);
        for &node in faces.iter().flatten() {
            loads[node as usize].z += push / (4.0 * faces.len() as f64);
        }
    }
    let u = linear_equilibrium(&solid, vec![Vec3::zeros(); loads.len()], &loads);
    let tip = mesh.side_nodes(BlockSide::XMax);
    let mean = tip.iter().map(|&n| u[n as usize].z).sum::<f64>() / tip.len() as f64;
    // unit shear modulus, half a section
    let (height, young) = (0.1_f64, 2.0 * (1.0 + poisson));
    let bending = 1.0 / (3.0 * young * 0.5 * height.powi(4) / 12.0);
    let factor = 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson);
    let sliding = 1.0 / (factor * 0.5 * height * height);
    mean / (bending + sliding)
}

#[test]
fn a_bent_beam_is_timoshenko_s() {
    for poisson in [0.0, 0.3, 0.45] {
        let found =
            [(20, 1, 2), (40, 2, 4), (80, 4, 8)].map(|cells| deflection_ratio(cells, poisson));
        let order = ((found[1] - found[0]) / (found[2] - found[1])).log2();
        let limit = found[2] + (found[2] - found[1]) / 3.0;
        println!("nu {poisson}: {found:?} of theory, order {order:.2}, limit {limit:.4}");
        assert!((found[2] - 1.0).abs() < 0.01, "{poisson}: {found:?}");
        assert!((limit - 1.0).abs() < 0.002, "{poisson}: {limit}");
        // at other ratios the errors of theory and mesh mix
        assert!(poisson > 0.0 || (1.5..2.3).contains(&order), "{order}");
    }
}

/// Returns a quarter of a block of 1 m, its corner under the probe, with cells of `cell_m` at the contact.
fn quarter(cell_m: f64, zone_m: f64) -> HexMesh {
    let grade = |from_m: f64, to_m: f64| Grading {
        from_m,
        to_m,
        cell_m,
        growth: 1.6,
    };
    let across_m = grade(0.0, zone_m).axis(0.5).expect("valid");
    let up_m = grade(1.0 - zone_m, 1.0).axis(1.0).expect("valid");
    HexMesh::block([&across_m, &across_m, &up_m]).expect("valid")
}

/// Returns the factor of a bonded layer of `height_m` on Hertz's force (Dimitriadis et al. 2002, eq. 12).
fn layer(poisson: f64, root_m: f64, height_m: f64) -> f64 {
    let square = poisson * poisson;
    let a0 = -(1.2876 - 1.4678 * poisson + 1.3442 * square) / (1.0 - poisson);
    let b0 = (0.6387 - 1.0277 * poisson + 1.5164 * square) / (1.0 - poisson);
    let chi = root_m / height_m;
    let mut factor = 1.0 - 2.0 * a0 / PI * chi + 4.0 * a0 * a0 / (PI * PI) * chi * chi;
    factor -= 8.0 / PI.powi(3) * (a0.powi(3) + 4.0 * PI * PI / 15.0 * b0) * chi.powi(3);
    factor + 16.0 * a0 / PI.powi(4) * (a0.powi(3) + 3.0 * PI * PI / 5.0 * b0) * chi.powi(4)
}

/// Returns Sneddon's force (1965) of a rigid sphere on a half-space over `E / (1 - nu^2)` \[m^2\]; Hertz's is
/// its limit for a shallow contact.
fn sneddon_m2(depth_m: f64, radius_m: f64) -> f64 {
    let grown = |a_m: f64| ((radius_m + a_m) / (radius_m - a_m)).ln();
    let (mut low_m, mut high_m) = (0.0, radius_m);
    for _ in 0..60 {
        let middle_m = 0.5 * (low_m + high_m);
        let reached = 0.5 * middle_m * grown(middle_m) < depth_m;
        *(if reached { &mut low_m } else { &mut high_m }) = middle_m;
    }
    let square_m2 = low_m * low_m + radius_m * radius_m;
    0.5 * (square_m2 * grown(low_m) - 2.0 * low_m * radius_m)
}

/// Returns forces over those of a sphere of 1/40 of the height on a bonded layer, at depths over the radius,
/// with `cells` cells in half a radius; nu = 0.45.
fn probe_force_ratio(cells: f64, depths: &[f64]) -> Vec<f64> {
    let (radius_m, poisson) = (0.025, 0.45);
    let mesh = quarter(0.5 * radius_m / cells, 0.5 * radius_m);
    let mut solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli(&mesh, 5e3, poisson));
    let_slide(&mut solid, &mesh, &[BlockSide::XMin, BlockSide::YMin]);
    let settings = Settings {
        tolerance: 1e-4,
        ..Settings::default()
    };
    let mut press = Press::new(solid, &mesh, [0.0, 0.0], radius_m, settings);
    let contact_pa = Material::new(5e3, poisson, 1e3)
        .expect("in range")
        .moduli()
        .contact_pa();
    let ratio = |depth: &f64| {
        let depth_m = depth * radius_m;
        let touch = press.to(depth_m).expect("an equilibrium");
        let factor = layer(poisson, (radius_m * depth_m).sqrt(), 1.0);
        4.0 * touch.force_n.z / (contact_pa * sneddon_m2(depth_m, radius_m) * factor)
    };
    depths.iter().map(ratio).collect()
}

/// Sphere of Hertz and Sneddon on a bonded layer. The mesh limits the accuracy at the shallow end, where few
/// faces touch, and large strain at the deep one, since the theory is linear.
#[test]
fn a_shallow_probe_matches_a_sphere_on_a_layer() {
    let depths = [0.1, 0.2];
    let found = probe_force_ratio(4.0, &depths);
    println!("d/R {depths:?}: {found:?} of theory");
    assert!(
        found.iter().all(|ratio| (ratio - 1.0).abs() < 0.01),
        "{found:?}"
    );
}

#[test]
#[ignore = "two minutes"]
fn a_shallow_probe_of_a_fine_mesh_is_within_1_5_percent() {
    let depths = [0.05, 0.1, 0.2];
    let found = probe_force_ratio(8.0, &depths);
    println!("d/R {depths:?}: {found:?} of theory");
    assert!(
        found.iter().all(|ratio| (ratio - 1.0).abs() < 0.015),
        "{found:?}"
    );
    assert!(
        found[..2].iter().all(|ratio| (ratio - 1.0).abs() < 0.01),
        "{found:?}"
    );
}

#[test]
fn a_rigid_motion_has_no_force_and_forces_sum_to_zero() {
    for family in NONLINEAR {
        let mesh = distorted(3, 0.2);
        let solid = Solid::new(&mesh, family, &moduli(&mesh, 5e3, 0.49));
        let forces_at = |to: &dyn Fn(&Vec3) -> Vec3| {
            let u: Vec<Vec3> = solid.nodes.iter().map(|x| to(x) - x).collect();
            let mut forces = vec![Vec3::zeros(); u.len()];
            solid.add_forces(&u, &mut forces);
            let at: Vec<Vec3> = solid.nodes.iter().zip(&u).map(|(x, u)| x + u).collect();
            (at, forces)
        };
        let turn = Rotation3::new(Vec3::new(0.7, -1.1, 0.4));
        let (_, rigid) = forces_at(&|x| turn * x + Vec3::new(3.0, -2.0, 1.0));
        assert!(rigid.iter().all(|f| f.amax() < 1e-13), "{family:?}");
        // Newton's third law, for forces and for their moments, at any shape
        let bend = |x: &Vec3| strain() * x + Vec3::new(0.1 * x.z * x.z, 0.05 * x.x * x.y, 0.0);
        let (at, forces) = forces_at(&bend);
        let size: f64 = forces.iter().map(|f| f.norm()).sum();
        let sum: Vec3 = forces.iter().sum();
        let moment: Vec3 = at.iter().zip(&forces).map(|(x, f)| x.cross(f)).sum();
        assert!(
            sum.norm() < 1e-13 * size && moment.norm() < 1e-13 * size,
            "{sum} {moment}"
        );
        assert!(size > 0.1);
    }
}
