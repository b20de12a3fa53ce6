//! Tests of forces: the stress of the law, and the gradient of the energy.

use super::super::cells::{Buffer, Field, ForcePass, ForceTarget, cell_forces};
use super::super::grid::Motion;
use super::super::laws::{NeoHookean, SimdLaw};
use super::super::skin::{DueForces, ToolRod};
use super::*;
use nalgebra::{Matrix3, Rotation3};
use palpate_twin::law;
use palpate_twin::law::ElasticLaw;

/// Returns displacements `x -> F x - x` of all nodes; those of hanging nodes follow their rims.
fn strained(model: &Model, f: &Matrix3<f64>) -> Vec<Motion> {
    let mut motions: Vec<Motion> = model.grids.iter().map(Motion::new).collect();
    for (grid, motion) in model.grids.iter().zip(&mut motions) {
        for node in 0..grid.count() {
            let x = Vec3::from(grid.rest_position(node));
            let u = f * x - x;
            for axis in 0..3 {
                motion.u[axis][node] = u[axis] as f32;
            }
        }
    }
    follow(model, &mut motions);
    motions
}

fn follow(model: &Model, motions: &mut [Motion]) {
    for (index, hanging) in model.hanging_nodes.iter().enumerate() {
        let (above, fine) = motions.split_at_mut(index + 1);
        hanging.interpolate(&above[index].u, &mut fine[0].u);
    }
}

fn gather(model: &Model, motions: &mut [Motion]) {
    for (index, hanging) in model.hanging_nodes.iter().enumerate().rev() {
        let (above, fine) = motions.split_at_mut(index + 1);
        hanging.gather_forces(&mut above[index], &mut fine[0]);
        fine[0].f.iter_mut().for_each(|f| hanging.clear(f));
    }
}

/// Computes the forces of all cells, each once, on all nodes; returns their energy.
fn forces(model: &Model, motions: &mut [Motion]) -> f64 {
    let mut buffer = Buffer::new();
    let mut energy = 0.0;
    for (grid, motion) in model.grids.iter().zip(&mut *motions) {
        let mut demands = vec![0.0; grid.mass.len()];
        motion.f.iter_mut().for_each(|f| f.fill(0.0));
        for slab in &grid.slabs {
            let pass = ForcePass {
                cells: &grid.cells,
                moduli: [&motion.moduli[0], &motion.moduli[1]],
                runs: &slab.runs,
                lanes: None,
                weight: 1.0,
                u: &motion.u,
            };
            let mut target = ForceTarget::whole(&mut motion.f);
            let found =
                NeoHookean.add_forces_with_energy(&pass, &mut target, &mut buffer, &mut demands);
            energy += found.energy;
        }
    }
    gather(model, motions);
    energy
}

#[test]
fn a_uniform_strain_passes_hanging_nodes_with_the_stress_of_the_law() {
    let tissue = tissue((8, 3), &ExplicitParams::default());
    let model = &tissue.model;
    #[rustfmt::skip]
    let f = Matrix3::new(
        1.10, 0.05, 0.02,
        -0.03, 0.92, 0.04,
        0.01, 0.03, 1.06,
    );
    let mut motions = strained(model, &f);
    forces(model, &mut motions);
    let moduli = Material::new(5e3, 0.45, 1e3).unwrap().moduli();
    let law = law::NeoHookean {
        mu: 1.0,
        lambda: moduli.lambda_pa / moduli.mu_pa,
    };
    let (mut inner, mut top, mut free) = (0.0_f32, Vec3::zeros(), 0);
    let edge = 1e-3;
    for (grid, motion) in model.grids.iter().zip(&motions) {
        for node in (0..grid.count()).filter(|&node| grid.mass[node] > 0.0) {
            let x = grid.rest_position(node);
            let force = [0, 1, 2].map(|axis| motion.f[axis][node]);
            if x.iter().all(|&x| x > edge && x < model.extent - edge) {
                inner = force.iter().fold(inner, |a, b| a.max(b.abs()));
                free += 1;
            }
            if x[2] > model.extent - edge {
                top -= Vec3::from(force.map(f64::from));
            }
        }
    }
    // coarse faces are 16 of the finest
    assert!(free > 600 && inner < 16.0 * 2e-5, "{free} {inner}");
    // opposite sides cancel, so the traction of the top remains
    let expected = law.stress(&f).column(2) * model.extent.powi(2);
    assert!(
        (top - expected).norm() < 1e-4 * expected.norm(),
        "{top} {expected}"
    );
}

#[test]
fn a_rotated_block_has_no_forces() {
    let tissue = tissue((8, 3), &ExplicitParams::default());
    let turn = Rotation3::new(Vec3::new(0.7, -1.1, 0.4)).into_inner();
    let mut motions = strained(&tissue.model, &turn);
    forces(&tissue.model, &mut motions);
    let mut all = motions.iter().flat_map(|m| m.f.iter().flatten());
    let nonzero = all.find(|f| f.is_nan() || f.abs() >= 16.0 * 2e-5);
    assert_eq!(nonzero, None);
}

/// Returns a distorted block of two grids under a rod that lies across their border.
fn distorted() -> (ExplicitTissue, Vec<Motion>, ToolRod) {
    let params = ExplicitParams {
        classes: 1,
        ..ExplicitParams::default()
    };
    let tissue = tissue((4, 2), &params);
    let mut motions: Vec<Motion> = tissue.model.grids.iter().map(Motion::new).collect();
    let mut noise = Noise(3);
    for u in motions.iter_mut().flat_map(|m| &mut m.u) {
        u.iter_mut()
            .for_each(|u| *u = (0.4 * noise.next() - 0.2) as f32);
    }
    follow(&tissue.model, &mut motions);
    let rod = ToolRod {
        centre: [1.1, 3.9, 8.9],
        shaft: [3.0, 0.4, 0.3],
        radius: 1.5,
        boundary_compliance: 0.01,
        spread: 0.0,
    };
    (tissue, motions, rod)
}

#[test]
fn forces_sum_to_zero_and_are_the_energy_gradient() {
    let (tissue, mut motions, rod) = distorted();
    let model = &tissue.model;
    let near: Vec<u32> = (0..model.skin.faces.len() as u32).collect();
    let of = |motions: &mut [Motion], rod: &ToolRod| {
        let mut touches = Vec::new();
        follow(model, motions);
        let cells = forces(model, motions);
        let contact = model
            .skin
            .press(&near, rod, &DueForces::all(1.0, 0), motions, &mut touches);
        gather(model, motions);
        (cells + contact.energy, contact)
    };
    let (_, contact) = of(&mut motions, &rod);
    assert!(
        contact.contacts > 20 && contact.force[2] > 0.1,
        "{contact:?}"
    );
    assert_eq!(
        contact.impulse, contact.force,
        "one class pushes for one sub-step"
    );
    for axis in 0..3 {
        let all = motions.iter().flat_map(|m| &m.f[axis]);
        let sum: f64 = all.copied().map(f64::from).sum();
        assert!(
            (sum + contact.force[axis]).abs() < 1e-4,
            "{sum} {contact:?}"
        );
        // the tool's force too
        let (mut up, mut down) = (rod, rod);
        up.centre[axis] += 2e-3;
        down.centre[axis] -= 2e-3;
        let on = |rod: &ToolRod| of(&mut motions.clone(), rod).0;
        let slope =
            (on(&up) - on(&down)) / (f64::from(up.centre[axis]) - f64::from(down.centre[axis]));
        let force = contact.force[axis];
        assert!(
            (slope + force).abs() < 0.03 * (1.0 + force.abs()),
            "{slope} {force}"
        );
    }
    let mut tried = 0;
    for (index, grid) in model.grids.iter().enumerate() {
        for node in (0..grid.count()).filter(|&node| grid.mass[node] > 0.0) {
            for axis in 0..3 {
                let moved = |way: f32| {
                    let mut motions = motions.clone();
                    motions[index].u[axis][node] += way;
                    of(&mut motions, &rod).0
                };
                let slope = (moved(2e-3) - moved(-2e-3)) / 4e-3;
                let force = f64::from(motions[index].f[axis][node]);
                let close = (slope + force).abs() < 0.03 * (1.0 + force.abs());
                assert!(
                    close,
                    "grid {index} node {node} axis {axis}: {slope} {force}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn impulse_on_a_tool_equals_that_on_the_nodes() {
    // faces of both grids, which act for different numbers of sub-steps
    let params = ExplicitParams {
        classes: 2,
        ..ExplicitParams::default()
    };
    let tissue = tissue((4, 2), &params);
    let model = &tissue.model;
    assert_eq!(model.slowest, 1);
    let (_, motions, rod) = distorted();
    let near: Vec<u32> = (0..model.skin.faces.len() as u32).collect();
    let mut touches = Vec::new();
    let mut pushes = [0.0; 2];
    for (due, push) in pushes.iter_mut().enumerate() {
        let mut motions = motions.clone();
        motions
            .iter_mut()
            .flat_map(|m| &mut m.f)
            .for_each(|f| f.fill(0.0));
        let due_faces = DueForces::all(0.5, due);
        let skin = &model.skin;
        let mut contact = skin.press(&near, &rod, &due_faces, &mut motions, &mut touches);
        skin.apply_friction(
            &touches,
            &due_faces,
            [0.3, -0.2, 0.1],
            &mut motions,
            &mut contact,
        );
        for axis in 0..3 {
            let all = motions.iter().flat_map(|m| &m.f[axis]);
            let sum: f64 = all.copied().map(f64::from).sum();
            assert!(
                (sum + 0.5 * contact.impulse[axis]).abs() < 1e-4,
                "{due}: {sum} {contact:?}"
            );
        }
        *push = contact.impulse[2];
    }
    assert!(pushes[1] > 1.2 * pushes[0] && pushes[0] > 0.1, "{pushes:?}");
}

/// Computes forces as [`SimdLaw::add_forces`], one cell after the other.
fn add_forces_per_cell(pass: &ForcePass, f: &mut [Field; 3]) {
    let ForcePass {
        cells,
        moduli,
        weight,
        u,
        ..
    } = *pass;
    for &(start, length) in pass.runs {
        // by component, corner and cell
        let mut out = vec![[[0.0; 8]; 3]; length];
        for (own, at) in out.iter_mut().zip(start..) {
            let x = std::array::from_fn(|i| cells.corners.map(|corner| u[i][at + corner]));
            let (mu, lambda) = (moduli[0][at] * weight, moduli[1][at] * weight);
            *own = cell_forces::<false, _>(&NeoHookean, x, mu, lambda, cells).0;
        }
        for (i, f) in f.iter_mut().enumerate() {
            for a in [0, 2, 4, 6] {
                for place in 0..=length {
                    let near = out.get(place).map_or(0.0, |own| own[i][a]);
                    let far = place
                        .checked_sub(1)
                        .map_or(0.0, |before| out[before][i][a + 1]);
                    f[start + place + cells.corners[a]] -= near + far;
                }
            }
        }
    }
}

#[test]
fn simd_forces_have_the_bits_of_single_cells() {
    let (tissue, motions, _) = distorted();
    for (grid, motion) in tissue.model.grids.iter().zip(&motions) {
        let mut buffer = Buffer::new();
        for slab in &grid.slabs {
            let mut f = motion.f.clone();
            let pass = ForcePass {
                cells: &grid.cells,
                moduli: [&motion.moduli[0], &motion.moduli[1]],
                runs: &slab.runs,
                lanes: None,
                weight: 0.5,
                u: &motion.u,
            };
            NeoHookean.add_forces(&pass, &mut ForceTarget::whole(&mut f), &mut buffer);
            let mut scalar = motion.f.clone();
            add_forces_per_cell(&pass, &mut scalar);
            let bits = |f: &[Vec<f32>; 3]| -> Vec<u32> {
                f.iter().flatten().map(|x| x.to_bits()).collect()
            };
            assert!(bits(&f) == bits(&scalar));
            assert!(f.iter().flatten().any(|&f| f != 0.0) || slab.runs.is_empty());
        }
    }
}
