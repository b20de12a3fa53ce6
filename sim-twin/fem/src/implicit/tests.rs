use super::*;
use crate::tests::{cell_materials, evenly_spaced};
use palpate_geometry::mesh::hex::BlockSide;
use palpate_twin::law::{Material, Moduli, RelaxingShare, Viscosity};
use palpate_twin::twin::TissueEnergy;

impl ImplicitTissue {
    /// Returns the displacements of all nodes \[m\], in the order of the mesh.
    pub(crate) fn displacements_m(&self) -> impl Iterator<Item = Vec3> {
        self.state.u.iter().map(|u| u * self.model.length_m)
    }

    /// Lets sides slide.
    pub(crate) fn slide(&mut self, mesh: &HexMesh, sides: &[BlockSide]) {
        for &side in sides {
            for node in mesh.side_nodes(side) {
                self.model.fixed[node as usize][side as usize / 2] = true;
            }
        }
    }

    /// Sets the velocities \[m/s\] of all nodes, in the order of the mesh. The added energy counts as an
    /// edit.
    pub(crate) fn set_velocities_mps(&mut self, velocities_mps: &[Vec3]) {
        assert_eq!(velocities_mps.len(), self.state.v.len());
        let unit_j = self.model.energy_j();
        let unit_mps = self.model.length_m / self.model.time_s;
        for (v, velocity_mps) in self.state.v.iter_mut().zip(velocities_mps) {
            *v = velocity_mps / unit_mps;
        }
        crate::solid::zero_fixed(&self.model.fixed, &mut self.state.v);
        let kinetic_j = self.state.kinetic(&self.model.masses) * unit_j;
        let balance = &mut self.state.ledger;
        balance.edit_j += kinetic_j - balance.kinetic_j;
        balance.kinetic_j = kinetic_j;
    }
}

mod contract;
mod tets;
mod viscous;

const DT_S: f64 = 1e-3;

fn block(size_m: f64, cells: u32) -> HexMesh {
    let axis_m = evenly_spaced(size_m, cells);
    HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap()
}

/// Returns moduli and densities of a mesh of one material, 1000 kg/m^3.
fn moduli_and_densities(mesh: &HexMesh, young_pa: f64, poisson: f64) -> (Vec<Moduli>, Vec<f64>) {
    let material = Material::new(young_pa, poisson, 1e3).unwrap();
    let cells = mesh.cells.len();
    (vec![material.moduli(); cells], vec![1e3; cells])
}

fn tissue(mesh: &HexMesh, family: LawFamily, params: &ImplicitParams) -> ImplicitTissue {
    let (moduli, densities) = moduli_and_densities(mesh, 5e3, 0.45);
    let cell_materials = cell_materials(&moduli, &densities, Viscosity::NONE);
    ImplicitTissue::new(mesh, family, &cell_materials, params).unwrap()
}

fn ball(position_m: [f64; 3], radius_m: f64) -> Tool {
    Tool {
        position_m: Vec3::from(position_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 1e6,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: palpate_twin::Instrument::Blunt,
        jaws: None,
    }
}

/// Returns the relative depth at tick `k` of a smooth press: `ticks` down, as many held, and as many up.
fn depth(k: u32, ticks: u32) -> f64 {
    let along = |k: u32| {
        let x = f64::from(k.min(ticks)) / f64::from(ticks);
        x * x * (3.0 - 2.0 * x)
    };
    if k < 2 * ticks {
        along(k)
    } else {
        1.0 - along(k - 2 * ticks)
    }
}

/// Presses the middle of the top of a block of `size_m` by `depth_m`; returns the reactions.
fn press(tissue: &mut ImplicitTissue, size_m: f64, depth_m: f64, ticks: u32) -> Vec<Reaction> {
    let radius_m = 0.1 * size_m;
    let mut reaction = [Reaction::default()];
    let one = |k: u32| {
        let z_m = size_m + radius_m - depth_m * depth(k, ticks);
        let tool = ball([0.5 * size_m, 0.5 * size_m, z_m], radius_m);
        tissue.step(&[tool], DT_S, &mut reaction);
        reaction[0]
    };
    (1..=3 * ticks).map(one).collect()
}

fn imbalance_j(ledger: &TissueEnergy) -> f64 {
    ledger.stored_j() - ledger.tool_work_j - ledger.edit_j + ledger.dissipated_j
}

#[test]
fn energy_balance_closes_over_press_hold_and_release() {
    let families = [
        LawFamily::NeoHookean,
        LawFamily::StableNeoHookean,
        LawFamily::MooneyRivlin { second: 0.3 },
        LawFamily::Fung { growth: 2.0 },
        crate::tests::YEOH,
    ];
    for family in families {
        let mut tissue = tissue(&block(0.1, 5), family, &ImplicitParams::default());
        let peak_n = press(&mut tissue, 0.1, 0.008, 60)[60].force_n.z;
        let work_j = 0.004 * peak_n;
        let ledger = tissue.view().energy;
        assert!(work_j > 1e-4, "{work_j}");
        let residual = ledger.residual_j / work_j;
        assert!(residual.abs() < 1e-6, "{family:?} {residual:e}");
        assert!((imbalance_j(&ledger) - ledger.residual_j).abs() < 1e-12 * work_j);
        // a closed path generates no energy
        assert!(ledger.tool_work_j > 0.0 && ledger.dissipated_j > 0.0);
    }
}

/// Without damping only the scheme dissipates: an oscillation of squared frequency `w2` keeps the fraction `1
/// / (1 + w2 dt^2)` of its energy per step, an independent prediction.
#[test]
fn numerical_dissipation_matches_backward_euler_theory() {
    let mesh = block(0.1, 4);
    let params = ImplicitParams {
        damping_per_s: 0.0,
        tolerance: 1e-10,
        ..ImplicitParams::default()
    };
    let mut tissue = tissue(&mesh, LawFamily::NeoHookean, &params);
    // inverse iteration converges to the slowest mode, small enough to be linear
    let sideways = |z_m: f64| Vec3::new(1e-6 * (15.7 * z_m).sin(), 0.0, 0.0);
    let mut shape: Vec<Vec3> = mesh.nodes_m.iter().map(|x| sideways(x.z)).collect();
    let mut frequency2 = 0.0;
    let rest = tissue.clone();
    for _ in 0..30 {
        tissue = rest.clone();
        tissue.set_velocities_mps(&shape);
        // u1 = dt (1 + dt^2 M^-1 K)^-1 v0
        tissue.step(&[], 0.2, &mut []);
        let moved: Vec<Vec3> = tissue.displacements_m().collect();
        let size = |list: &[Vec3]| list.iter().map(|v| v.norm_squared()).sum::<f64>().sqrt();
        let ratio = size(&moved) / size(&shape);
        frequency2 = (0.2 / ratio - 1.0) / 0.04;
        let scale = size(&shape) / size(&moved);
        shape = moved.iter().map(|u| u * scale).collect();
    }
    let (dt_s, steps) = (2e-3, 100);
    tissue = rest;
    tissue.set_velocities_mps(&shape);
    let start_j = tissue.view().energy.stored_j();
    for _ in 0..steps {
        tissue.step(&[], dt_s, &mut []);
    }
    let ledger = tissue.view().energy;
    let left = (1.0 + frequency2 * dt_s * dt_s).powi(-steps);
    let dissipated = ledger.dissipated_j / start_j;
    assert!((0.3..0.98).contains(&left), "{left}");
    assert!(
        (dissipated - (1.0 - left)).abs() < 1e-4,
        "{dissipated} {left}"
    );
    assert!((ledger.edit_j - start_j).abs() < 1e-12 * start_j);
}

/// Work computed from sampled forces at palpation speeds and faster.
#[test]
fn a_closed_path_generates_no_energy() {
    for speed_mps in [0.02, 0.1, 0.5] {
        let mut tissue = tissue(
            &block(0.1, 5),
            LawFamily::NeoHookean,
            &ImplicitParams::default(),
        );
        let mut reaction = [Reaction::default()];
        let (mut sampled_work_j, mut most_j) = (0.0, 0.0_f64);
        let (mut last_n, mut last_m) = (0.0, 0.12);
        let ticks = (0.01 / (speed_mps * DT_S)).ceil() as u32;
        for k in 0..=4 * ticks {
            // two presses
            let turn = f64::from(k % (2 * ticks)) / f64::from(ticks) - 1.0;
            let z_m = 0.12 - 0.01 * (1.0 - turn.abs());
            let way_m = z_m - last_m;
            last_m = z_m;
            tissue.step(&[ball([0.05, 0.05, z_m], 0.02)], DT_S, &mut reaction);
            let force_n = reaction[0].force_n.z;
            sampled_work_j -= 0.5 * (force_n + last_n) * way_m;
            most_j = most_j.max(sampled_work_j);
            last_n = force_n;
        }
        let ledger = tissue.view().energy;
        assert!(
            sampled_work_j > 0.0 && most_j > 1e-4,
            "{speed_mps}: {sampled_work_j}"
        );
        let balance_work_j = ledger.tool_work_j;
        assert!(
            (balance_work_j - sampled_work_j).abs() < 1e-9 * most_j,
            "{balance_work_j} {sampled_work_j}"
        );
        println!("{speed_mps} m/s: {sampled_work_j:e} J of {most_j:e} J stay");
    }
}

/// Uniform strain of a distorted mesh, also while it grows, has no force on inner nodes (Irons 1966), with
/// all viscous parts: the terms of a step depend on the gradients only.
#[test]
fn the_patch_test_is_exact_with_viscous_materials() {
    let mut mesh = block(0.1, 3);
    for (node, x_m) in mesh.nodes_m.iter_mut().enumerate() {
        if x_m.iter().all(|&x| x > 0.001 && x < 0.099) {
            x_m.x += 0.005 * (12.9 * node as f64).sin();
            x_m.z -= 0.005 * (7.3 * node as f64).cos();
        }
    }
    let tissue = viscous::soft(&mesh, viscous::branch(0.3, 0.02), 5.0);
    let model = &tissue.model;
    #[rustfmt::skip]
    let strain = nalgebra::Matrix3::new(
        0.10, 0.05, 0.02,
        -0.03, -0.08, 0.04,
        0.01, 0.03, 0.06,
    );
    let [before, after] = [0.5, 1.0].map(|share| {
        let even = |x: &Vec3| strain * x * share;
        model.rest.iter().map(even).collect::<Vec<Vec3>>()
    });
    let begin = cells::StepStart {
        dt: 1e-3,
        u: &before,
        materials: &model.materials,
        memories: &tissue.state.memories,
    };
    let mut forces = vec![Vec3::zeros(); after.len()];
    let mut sums = cells::CellEnergies::default();
    for cell in &model.hexes {
        assert!(cell.add_forces(&begin, &after, &mut forces, &mut sums));
    }
    assert!(sums.viscous > 1e-3);
    let size = forces.iter().map(|f| f.norm()).fold(0.0, f64::max);
    for (x, force) in model.rest.iter().zip(&forces) {
        if x.iter().all(|&x| x > 1e-3 && x < 1.0 - 1e-3) {
            assert!(force.norm() < 1e-13 * size, "{force}");
        }
    }
}

#[test]
fn invalid_parameters_are_refused() {
    let mesh = block(0.1, 2);
    let (moduli, densities) = moduli_and_densities(&mesh, 5e3, 0.45);
    let build = |params: &ImplicitParams| {
        let cell_materials = cell_materials(&moduli, &densities, Viscosity::NONE);
        ImplicitTissue::new(&mesh, LawFamily::NeoHookean, &cell_materials, params).map(|_| ())
    };
    let good = ImplicitParams::default();
    assert_eq!(build(&good), Ok(()));
    let params = ImplicitParams {
        tolerance: f64::NAN,
        ..good
    };
    assert!(matches!(
        build(&params),
        Err(ImplicitError::Param {
            field: "tolerance",
            ..
        })
    ));
}
