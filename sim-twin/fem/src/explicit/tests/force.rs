//! Forces: those of the law, and slopes of the energy.

use super::super::cells::{Buffer, Onto, Pulling, pull, pull_and_book};
use super::super::grid::Motion;
use super::super::skin::{Beat, Rod};
use super::*;
use nalgebra::{Matrix3, Rotation3};
use palpate_twin::law::{Elastic, NeoHookean};

/// Displacements `x -> F x - x` of all nodes, those that hang taken from their rims.
fn strained(model: &Model, f: &Matrix3<f64>) -> Vec<Motion> {
    let mut motions: Vec<Motion> = model.grids.iter().map(Motion::new).collect();
    for (grid, motion) in model.grids.iter().zip(&mut motions) {
        for node in 0..grid.count() {
            let x = Vec3::from(grid.rest(node));
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
    for (index, seam) in model.seams.iter().enumerate() {
        let (above, fine) = motions.split_at_mut(index + 1);
        seam.follow_rim(&above[index], &mut fine[0]);
    }
}

fn gather(model: &Model, motions: &mut [Motion]) {
    for (index, seam) in model.seams.iter().enumerate().rev() {
        let (above, fine) = motions.split_at_mut(index + 1);
        seam.gather_forces(&mut above[index], &mut fine[0]);
        fine[0].f.iter_mut().for_each(|f| seam.clear(f));
    }
}

/// Forces of all cells, each once, on the nodes that can move or are fixed; their energy.
fn forces(model: &Model, motions: &mut [Motion]) -> f64 {
    let mut buffer = Buffer::new();
    let mut energy = 0.0;
    for (grid, motion) in model.grids.iter().zip(&mut *motions) {
        let mut needs = vec![0.0; grid.mass.len()];
        motion.f.iter_mut().for_each(|f| f.fill(0.0));
        for slab in &grid.slabs {
            let pulling = Pulling {
                cells: &grid.cells,
                stiff: [&motion.stiff[0], &motion.stiff[1]],
                runs: &slab.runs,
                weight: 1.0,
                u: &motion.u,
            };
            let mut onto = Onto::whole(&mut motion.f);
            let law = super::super::laws::NeoHookean;
            energy += pull_and_book(law, &pulling, &mut onto, &mut buffer, &mut needs).energy;
        }
    }
    gather(model, motions);
    energy
}

#[test]
fn an_even_strain_passes_all_seams_with_the_law_s_stress() {
    let tissue = tissue((8, 3), &Params::default());
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
    let law = NeoHookean {
        mu: 1.0,
        lambda: moduli.lambda_pa / moduli.mu_pa,
    };
    let (mut inner, mut top, mut free) = (0.0_f32, Vec3::zeros(), 0);
    let edge = 1e-3;
    for (grid, motion) in model.grids.iter().zip(&motions) {
        for node in (0..grid.count()).filter(|&node| grid.mass[node] > 0.0) {
            let x = grid.rest(node);
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
    // opposite sides cancel, so what is left is the traction of the top
    let expected = law.stress(&f).column(2) * model.extent.powi(2);
    assert!(
        (top - expected).norm() < 1e-4 * expected.norm(),
        "{top} {expected}"
    );
}

#[test]
fn a_turned_block_feels_nothing() {
    let tissue = tissue((8, 3), &Params::default());
    let turn = Rotation3::new(Vec3::new(0.7, -1.1, 0.4)).into_inner();
    let mut motions = strained(&tissue.model, &turn);
    forces(&tissue.model, &mut motions);
    let mut all = motions.iter().flat_map(|m| m.f.iter().flatten());
    let strange = all.find(|f| f.is_nan() || f.abs() >= 16.0 * 2e-5);
    assert_eq!(strange, None);
}

/// A wrinkled block of two grids under a rod that lies across the seam.
fn wrinkled() -> (Explicit, Vec<Motion>, Rod) {
    let params = Params {
        classes: 1,
        ..Params::default()
    };
    let tissue = tissue((4, 2), &params);
    let mut motions: Vec<Motion> = tissue.model.grids.iter().map(Motion::new).collect();
    let mut noise = Noise(3);
    for u in motions.iter_mut().flat_map(|m| &mut m.u) {
        u.iter_mut()
            .for_each(|u| *u = (0.4 * noise.next() - 0.2) as f32);
    }
    follow(&tissue.model, &mut motions);
    let rod = Rod {
        centre: [1.1, 3.9, 8.9],
        shaft: [3.0, 0.4, 0.3],
        radius: 1.5,
        give: 0.01,
    };
    (tissue, motions, rod)
}

#[test]
fn forces_have_no_sum_and_are_slopes_of_the_energy() {
    let (tissue, mut motions, rod) = wrinkled();
    let model = &tissue.model;
    let near: Vec<u32> = (0..model.skin.faces.len() as u32).collect();
    let of = |motions: &mut [Motion], rod: &Rod| {
        let mut touches = Touches::new(&model.skin);
        follow(model, motions);
        let cells = forces(model, motions);
        let met = model
            .skin
            .press(&near, rod, &Beat::all(1.0, 0), motions, &mut touches);
        gather(model, motions);
        (cells + met.energy, met)
    };
    let (_, met) = of(&mut motions, &rod);
    assert!(met.contacts > 20 && met.force[2] > 0.1, "{met:?}");
    assert_eq!(met.push, met.force, "one class pushes for one sub-step");
    for axis in 0..3 {
        let all = motions.iter().flat_map(|m| &m.f[axis]);
        let sum: f64 = all.copied().map(f64::from).sum();
        assert!((sum + met.force[axis]).abs() < 1e-4, "{sum} {met:?}");
        // the tool's force too
        let (mut up, mut down) = (rod, rod);
        up.centre[axis] += 2e-3;
        down.centre[axis] -= 2e-3;
        let on = |rod: &Rod| of(&mut motions.clone(), rod).0;
        let slope =
            (on(&up) - on(&down)) / (f64::from(up.centre[axis]) - f64::from(down.centre[axis]));
        let force = met.force[axis];
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
fn what_a_tool_gets_is_what_the_nodes_got() {
    // faces of both grids, which push for different numbers of sub-steps
    let params = Params {
        classes: 2,
        ..Params::default()
    };
    let tissue = tissue((4, 2), &params);
    let model = &tissue.model;
    assert_eq!(model.slowest, 1);
    let (_, motions, rod) = wrinkled();
    let near: Vec<u32> = (0..model.skin.faces.len() as u32).collect();
    let mut touches = Touches::new(&model.skin);
    let mut pushes = [0.0; 2];
    for (due, push) in pushes.iter_mut().enumerate() {
        let mut motions = motions.clone();
        motions
            .iter_mut()
            .flat_map(|m| &mut m.f)
            .for_each(|f| f.fill(0.0));
        let beat = Beat {
            weight: 0.5,
            due,
            whole: true,
        };
        let skin = &model.skin;
        let mut met = skin.press(&near, &rod, &beat, &mut motions, &mut touches);
        skin.drag(&touches, &beat, [0.3, -0.2, 0.1], &mut motions, &mut met);
        for axis in 0..3 {
            let all = motions.iter().flat_map(|m| &m.f[axis]);
            let sum: f64 = all.copied().map(f64::from).sum();
            assert!(
                (sum + 0.5 * met.push[axis]).abs() < 1e-4,
                "{due}: {sum} {met:?}"
            );
        }
        *push = met.push[2];
    }
    assert!(pushes[1] > 1.2 * pushes[0] && pushes[0] > 0.1, "{pushes:?}");
}

#[test]
fn lanes_give_the_bits_of_a_single_cell() {
    let (tissue, motions, _) = wrinkled();
    for (grid, motion) in tissue.model.grids.iter().zip(&motions) {
        let mut buffer = Buffer::new();
        for slab in &grid.slabs {
            let mut f = motion.f.clone();
            let pulling = Pulling {
                cells: &grid.cells,
                stiff: [&motion.stiff[0], &motion.stiff[1]],
                runs: &slab.runs,
                weight: 0.5,
                u: &motion.u,
            };
            let law = super::super::laws::NeoHookean;
            pull(law, &pulling, &mut Onto::whole(&mut f), &mut buffer);
            let mut plain = motion.f.clone();
            super::super::cells::pull_plainly(law, &pulling, &mut plain);
            let bits = |f: &[Vec<f32>; 3]| -> Vec<u32> {
                f.iter().flatten().map(|x| x.to_bits()).collect()
            };
            assert!(bits(&f) == bits(&plain));
            assert!(f.iter().flatten().any(|&f| f != 0.0) || slab.runs.is_empty());
        }
    }
}
