//! Tests of viscous cells: relaxation, resistance, energy, and no change of elastic tissue.

use super::super::cells::{Buffer, ForcePass, ForceTarget};
use super::super::grid::Motion;
use super::super::viscous;
use super::*;
use crate::implicit;
use crate::implicit::ImplicitTissue;
use crate::tests::cell_materials;
use palpate_twin::law::{LawFamily, RelaxingShare, Viscosity};

const SHARE: f64 = 0.4;
const TIME_S: f64 = 0.1;

/// Returns branches with their shares and times.
fn series(pairs: &[(f64, f64)]) -> Viscosity {
    let branches = pairs
        .iter()
        .map(|&(share, time_s)| RelaxingShare { share, time_s });
    Viscosity::of_branches(&branches.collect::<Vec<_>>()).unwrap()
}

pub(super) fn branch() -> Viscosity {
    series(&[(SHARE, TIME_S)])
}

pub(super) fn soft(
    grids: (u32, usize),
    viscosity: Viscosity,
    params: &ExplicitParams,
) -> ExplicitTissue {
    let nested = nested(0.1, grids, [0.0; 2]);
    let mut cell_materials = uniform_materials(&nested, 5e3);
    for cell_materials in cell_materials.iter_mut().flatten() {
        cell_materials.viscosity = viscosity;
    }
    ExplicitTissue::new(&nested, &cell_materials, params).unwrap()
}

/// Returns the impulse of viscous cells on a top corner of a single cell whose top is sheared along x, after
/// each of some steps of `dt` to `shears`.
fn sheared(tissue: &ExplicitTissue, shears: &[f64], dt: f32) -> Vec<(f64, viscous::Heat)> {
    let grid = &tissue.model.grids[0];
    let viscous = grid.viscous.as_ref().unwrap();
    let mut motion = Motion::new(grid);
    let mut buffer = Buffer::new();
    let mut found = Vec::new();
    for &shear in shears {
        for node in grid.plane..2 * grid.plane {
            motion.u[0][node] = (shear * grid.edge[2]) as f32;
        }
        motion.f.iter_mut().for_each(|f| f.fill(0.0));
        let pass = ForcePass {
            cells: &grid.cells,
            moduli: motion.moduli.each_ref(),
            runs: &grid.slabs[0].viscous,
            lanes: None,
            weight: 1.0,
            u: &motion.u,
        };
        let viscous_pass = viscous::ViscousPass { pass, viscous, dt };
        let mut target = ForceTarget::whole(&mut motion.f);
        let heat = viscous::add_viscous_forces(
            &viscous_pass,
            &mut motion.viscous_memory,
            &mut target,
            &mut buffer,
        );
        found.push((f64::from(motion.f[0][grid.plane]), heat));
    }
    found
}

#[test]
fn a_sheared_cell_relaxes_and_resists_as_its_law() {
    let tissue = soft((1, 1), branch(), &ExplicitParams::default());
    let model = &tissue.model;
    // a sudden shear, held for three time constants; a quarter of a face's force on every corner
    let (shear, dt) = (1e-2, TIME_S / model.time_s / 200.0);
    let mut shears = vec![shear; 600];
    shears.insert(0, 0.0);
    let found = sheared(&tissue, &shears, dt as f32);
    let mu = 1.0;
    let full = 0.25 * mu * shear * SHARE;
    for (step, (force, heat)) in found.iter().enumerate().skip(1) {
        let left = full * libm::exp(-(step as f64 - 0.5) / 200.0);
        assert!((-force / left - 1.0).abs() < 0.01, "{step}: {force} {left}");
        let held = 0.5 * SHARE * mu * (left / full * shear).powi(2);
        assert!(
            (heat.stored / held - 1.0).abs() < 0.02,
            "{step}: {heat:?} {held}"
        );
    }
    // the energy of the branch is dissipated
    let dissipated: f64 = found.iter().skip(2).map(|(_, heat)| heat.dissipated).sum();
    let lost = found[1].1.stored - found[600].1.stored;
    assert!(
        (dissipated / lost - 1.0).abs() < 0.01,
        "{dissipated} {lost}"
    );
    // a dashpot at a constant rate
    let shear_pas = 3.0;
    let tissue = soft(
        (1, 1),
        Viscosity {
            shear_pas,
            ..Viscosity::NONE
        },
        &ExplicitParams::default(),
    );
    let model = &tissue.model;
    let eta = shear_pas / (model.stress_pa * model.time_s);
    for (force, heat) in &sheared(&tissue, &[0.0, 1e-3, 2e-3, 3e-3], 0.1)[1..] {
        let rate = 1e-3 / 0.1;
        assert!((-force / (0.25 * eta * rate) - 1.0).abs() < 0.01, "{force}");
        assert!(
            (heat.dissipated / (eta * rate * 1e-3) - 1.0).abs() < 0.01,
            "{heat:?}"
        );
    }
}

#[test]
fn hourglass_modes_of_a_dashpot_resist_as_their_stiffness() {
    let viscosity = Viscosity {
        shear_pas: 3.0,
        ..Viscosity::NONE
    };
    let tissue = soft((1, 1), viscosity, &ExplicitParams::default());
    let grid = &tissue.model.grids[0];
    let eta = 3.0 / (tissue.model.stress_pa * tissue.model.time_s);
    let mut motion = Motion::new(grid);
    let (mut buffer, dt) = (Buffer::new(), 0.1);
    let bent = 1e-3;
    let mut heat = viscous::Heat::default();
    for size in [0.0, bent] {
        // the mode xy: opposite corners of the top and the bottom move alike
        for (corner, sign) in grid
            .cells
            .corners
            .iter()
            .zip([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
        {
            motion.u[2][*corner] = (sign * size) as f32;
        }
        motion.f.iter_mut().for_each(|f| f.fill(0.0));
        let pass = ForcePass {
            cells: &grid.cells,
            moduli: motion.moduli.each_ref(),
            runs: &grid.slabs[0].viscous,
            lanes: None,
            weight: 1.0,
            u: &motion.u,
        };
        let viscous_pass = viscous::ViscousPass {
            pass,
            viscous: grid.viscous.as_ref().unwrap(),
            dt,
        };
        let mut target = ForceTarget::whole(&mut motion.f);
        heat = viscous::add_viscous_forces(
            &viscous_pass,
            &mut motion.viscous_memory,
            &mut target,
            &mut buffer,
        );
    }
    let rate = 8.0 * bent / f64::from(dt);
    let volume: f64 = grid.edge.iter().product();
    let force = eta * volume * f64::from(grid.cells.hourglass[0]) * rate;
    let found = f64::from(motion.f[2][grid.cells.corners[0]]);
    assert!((-found / force - 1.0).abs() < 1e-3, "{found} {force}");
    assert!(
        (heat.dissipated / (force * 8.0 * bent) - 1.0).abs() < 1e-3,
        "{heat:?}"
    );
}

#[test]
fn a_held_press_relaxes_as_in_the_implicit_solver() {
    let params = ExplicitParams {
        damping_per_s: 150.0,
        ..ExplicitParams::default()
    };
    let mut tissue = soft((6, 1), branch(), &params);
    let mesh = nested(0.1, (6, 1), [0.0; 2]).levels[0].mesh().unwrap();
    let cells = mesh.cells.len();
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); cells];
    let densities = vec![1e3; cells];
    let cell_materials = cell_materials(&moduli, &densities, branch());
    let implicit_params = implicit::ImplicitParams {
        damping_per_s: 150.0,
        contact_stiffness: 40.0,
        ..implicit::ImplicitParams::default()
    };
    let mut reference = ImplicitTissue::new(
        &mesh,
        LawFamily::NeoHookean,
        &cell_materials,
        &implicit_params,
    )
    .unwrap();
    let mut forces_n: Vec<[f64; 2]> = Vec::new();
    for step in 0..=90_u32 {
        let depth_m = 4e-3 * (f64::from(step) / 10.0).min(1.0);
        let tool = ball([0.0, 0.0, 0.03 - depth_m], 0.03);
        let mut reaction = [Reaction::default()];
        reference.step(&[tool], 5e-3, &mut reaction);
        let mut sum_n = 0.0;
        for _ in 0..5 {
            sum_n += 0.2 * tick(&mut tissue, tool).force_n.z;
        }
        forces_n.push([sum_n, reaction[0].force_n.z]);
    }
    for step in [30, 40, 60, 90] {
        let ratio = |solver: usize| forces_n[step][solver] / forces_n[20][solver];
        // hourglass modes, a large part of the force on such cells, do not relax
        assert!(
            (ratio(0) / ratio(1) - 1.0).abs() < 0.03,
            "{step}: {:?} {:?}",
            forces_n[step],
            forces_n[20]
        );
    }
    assert!(forces_n[90][0] < 0.85 * forces_n[20][0]);
}

#[test]
fn a_press_of_viscous_tissue_balances_energy_at_any_viscosity() {
    for (viscosity, softer) in [
        (branch(), true),
        (series(&[(0.2, 0.01), (0.2, 0.1), (0.1, 2.0)]), true),
        (
            Viscosity {
                shear_pas: 2.0,
                bulk_pas: 1.0,
                ..branch()
            },
            true,
        ),
        // so high that it limits the step
        (
            Viscosity {
                shear_pas: 40.0,
                ..Viscosity::NONE
            },
            false,
        ),
    ] {
        let mut tissue = soft((6, 3), viscosity, &ExplicitParams::default());
        let plain = super::tissue((6, 3), &ExplicitParams::default());
        if !softer {
            assert!(tissue.substep_s() < 0.7 * plain.substep_s());
        }
        let mut most_j = 0.0_f64;
        for step in 0..1000 {
            let down_m = 2e-5 * f64::from(step);
            let depth_m = down_m.min(0.016 - down_m).max(-5e-3);
            tick(&mut tissue, ball([0.0, 0.0, 0.02 - depth_m], 0.02));
            most_j = most_j.max(tissue.view().energy.stored_j());
        }
        let balance = tissue.view().energy;
        assert_eq!(tissue.collapses(), 0);
        assert!(balance.tool_work_j > 0.05 * most_j, "{most_j} {balance:?}");
        assert!(balance.dissipated_j > 0.05 * most_j, "{most_j} {balance:?}");
        assert!(
            balance.residual_j.abs() < 0.01 * most_j,
            "{most_j} {balance:?}"
        );
    }
}

#[test]
fn a_viscous_tissue_restores_bit_for_bit_and_zero_viscosity_is_elastic() {
    let press = |tissue: &mut ExplicitTissue, steps: std::ops::Range<u32>| {
        for step in steps {
            let depth_m = (4e-5 * f64::from(step)).min(5e-3);
            tick(tissue, ball([0.0, 0.0, 0.01 - depth_m], 0.01));
        }
        let mut end = Snapshot::default();
        tissue.save(&mut end);
        end
    };
    let mut tissue = soft((4, 2), branch(), &ExplicitParams::default());
    let middle = press(&mut tissue, 0..100);
    let end = press(&mut tissue, 100..150);
    tissue.restore(&middle).unwrap();
    assert_eq!(press(&mut tissue, 100..150), end);
    let mut none = soft((4, 2), Viscosity::NONE, &ExplicitParams::default());
    let mut plain = super::tissue((4, 2), &ExplicitParams::default());
    assert_eq!(press(&mut none, 0..100), press(&mut plain, 0..100));
}
