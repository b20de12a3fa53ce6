//! Coupled nodes of stiff cells: accurate forces with few sub-steps, where added mass is inaccurate.

use super::*;
use palpate_fem::explicit::{ExplicitParams, StiffCellMethod};
use palpate_scene::{Block, SceneBody, load};
use palpate_twin::Snapshot;
use palpate_twin::law::{Material, RelaxingShare, Viscosity};

fn block(name: &str) -> Block {
    match load(name).expect("a scene").body {
        SceneBody::Block(block) => block,
        _ => panic!("a block"),
    }
}

fn build(block: &Block, substeps_max: u32, stiff: StiffCellMethod) -> ExplicitTissue {
    let (nested, stuff) = block.grids_and_materials().expect("it builds");
    let params = ExplicitParams {
        substeps_max,
        stiff_cells: stiff,
        ..block.params
    };
    ExplicitTissue::new(&nested, &stuff, &params).expect("it builds")
}

/// Enough sub-steps for the stiffest cell, without added mass.
fn true_to(block: &Block) -> ExplicitTissue {
    build(block, 1_000_000, StiffCellMethod::MassScaling)
}

/// The scene `layers-nodule` with a capsule of 1 MPa on 1 kPa instead of its layers.
fn capsule() -> Block {
    let mut block = block("layers-nodule");
    block.inclusions.clear();
    block.layers.truncate(2);
    for (layer, (young_pa, thickness_m)) in
        block.layers.iter_mut().zip([(1e6, 0.002), (1e3, 0.058)])
    {
        layer.material = Material::new(young_pa, 0.45, 1e3).expect("in range");
        layer.thickness_m = thickness_m;
    }
    block
}

/// Forces of a press at a speed [m/s], then of a hold.
fn forces_n(tissue: &mut ExplicitTissue, speed_mps: f64, depth_m: f64, ticks: u32) -> Vec<f64> {
    let press = |step: u32| {
        let depth_m = (speed_mps * 1e-3 * f64::from(step)).min(depth_m);
        tick(tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3))
            .force_n
            .z
    };
    (0..ticks).map(press).collect()
}

#[test]
fn quick_press_of_stiff_skin_has_no_added_mass() {
    let block = block("layers-nodule");
    let truth_n = forces_n(&mut true_to(&block), 0.3, 5e-3, 60);
    let most_n = truth_n.iter().fold(0.0_f64, |a, &b| a.max(b));
    let off = |stiff| {
        let found_n = forces_n(&mut build(&block, 8, stiff), 0.3, 5e-3, 60);
        let squares = found_n.iter().zip(&truth_n).map(|(a, b)| (a - b) * (a - b));
        (squares.sum::<f64>() / 60.0).sqrt() / most_n
    };
    let (coupled, heavy) = (
        off(StiffCellMethod::Coupled),
        off(StiffCellMethod::MassScaling),
    );
    assert!(coupled < 0.1, "{coupled}");
    assert!(heavy > 4.0 * coupled, "{heavy} {coupled}");
}

#[test]
fn stiff_layers_stay_stable_at_the_reference_force() {
    let nodule = block("layers-nodule");
    assert_eq!(
        build(&nodule, 8, StiffCellMethod::Coupled).stiff_added_mass_kg(),
        0.0
    );
    for (block, substeps_max) in [(nodule, 8), (capsule(), 8)] {
        let truth_n = forces_n(&mut true_to(&block), 0.02, 5e-3, 350)[349];
        let mut tissue = build(&block, substeps_max, StiffCellMethod::Coupled);
        assert!(tissue.coupling_size().0 > 100);
        assert!(tissue.substep_s() > 0.95e-3 / f64::from(substeps_max));
        let held_n = forces_n(&mut tissue, 0.02, 5e-3, 2000);
        assert!(held_n.iter().all(|f| (0.0..5.0).contains(f)));
        // the skin is more compliant, as its contact is no stiffer than its nodes allow
        let error = held_n[349] / truth_n - 1.0;
        assert!(error.abs() < 0.025, "{error}");
        let late = &held_n[1500..];
        let (low_n, high_n) = late
            .iter()
            .fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        assert!(high_n < 1.005 * low_n, "{low_n} {high_n}");
        assert_eq!(tissue.collapses(), 0);
        let balance = tissue.view().energy;
        assert!(
            balance.residual_j.abs() < 2e-3 * balance.tool_work_j,
            "{balance:?}"
        );
    }
}

#[test]
fn sub_steps_are_chosen_if_cheaper_than_coupling() {
    // thick muscle slightly too stiff: thousands of coupling terms for half as many sub-steps
    let block = block("layered");
    let tissue = build(&block, 6, StiffCellMethod::Coupled);
    assert_eq!(
        (tissue.coupling_size(), tissue.stiff_added_mass_kg()),
        ((0, 0), 0.0)
    );
    assert_eq!(tissue.substep_s(), true_to(&block).substep_s());
    assert!(build(&block, 6, StiffCellMethod::MassScaling).stiff_added_mass_kg() > 0.1);
}

#[test]
fn deep_presses_and_strokes_leave_stiff_layers_intact() {
    for block in [block("layers-nodule"), capsule()] {
        for substeps_max in [4, 8] {
            let mut tissue = build(&block, substeps_max, StiffCellMethod::Coupled);
            for step in 0..500 {
                let depth_m = (8e-5 * f64::from(step)).min(0.012);
                let x_m = (1e-4 * (f64::from(step) - 200.0)).clamp(0.0, 0.01);
                let force_n = tick(&mut tissue, ball([x_m, 0.0, 5e-3 - depth_m], 5e-3)).force_n;
                assert!(force_n.norm() < 20.0, "{step}: {force_n}");
            }
            assert_eq!(tissue.collapses(), 0, "{substeps_max}");
            // after the release, it comes to rest
            for _ in 0..1500 {
                tissue.step(&[], 1e-3, &mut []);
            }
            let balance = tissue.view().energy;
            assert!(
                balance.stored_j() < 1e-3 * balance.tool_work_j.abs(),
                "{balance:?}"
            );
        }
    }
}

#[test]
fn viscous_stiff_layers_stay_stable() {
    let block = block("layers-nodule");
    let (nested, mut stuff) = block.grids_and_materials().expect("it builds");
    let branch = RelaxingShare {
        share: 0.3,
        time_s: 0.1,
    };
    let viscosity = Viscosity {
        shear_pas: 0.5,
        bulk_pas: 0.5,
        ..Viscosity::of_branches(&[branch]).expect("a branch")
    };
    for stuff in stuff.iter_mut().flatten() {
        stuff.viscosity = viscosity;
    }
    let mut tissue = ExplicitTissue::new(&nested, &stuff, &block.params).expect("it builds");
    assert!(tissue.coupling_size().0 > 100);
    let held_n = forces_n(&mut tissue, 0.1, 6e-3, 400);
    assert!(held_n.iter().all(|f| (0.0..10.0).contains(f)));
    assert!((held_n[399] / held_n[389] - 1.0).abs() < 0.01);
    assert_eq!(tissue.collapses(), 0);
}

#[test]
fn a_press_and_release_of_stiff_layers_creates_no_energy() {
    for speed_mps in [0.02, 0.3] {
        let mut block = block("layers-nodule");
        block.params.damping_per_s = 0.0;
        let mut tissue = build(&block, 8, StiffCellMethod::Coupled);
        let (mut most_j, mut t_s) = (0.0_f64, 0.0_f64);
        while t_s < 0.01 / speed_mps + 0.05 {
            let depth_m = (speed_mps * t_s).min(0.01 - speed_mps * t_s).max(-0.005);
            tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3));
            most_j = most_j.max(tissue.view().energy.stored_j());
            t_s += 1e-3;
        }
        let balance = tissue.view().energy;
        assert!(
            most_j > 1e-4 && balance.tool_work_j > -1e-3 * most_j,
            "{most_j} {balance:?}"
        );
        assert!(
            balance.residual_j.abs() < 0.01 * most_j,
            "{most_j} {balance:?}"
        );
    }
}

#[test]
fn restored_coupled_layers_continue_identically() {
    let mut tissue = build(&block("layers-nodule"), 8, StiffCellMethod::Coupled);
    forces_n(&mut tissue, 0.1, 5e-3, 40);
    let mut other = build(&block("layers-nodule"), 8, StiffCellMethod::Coupled);
    other.restore(&Snapshot::of(&tissue)).expect("its own");
    let press = |tissue: &mut ExplicitTissue, step: u32| {
        let depth_m = 4e-3 + 1e-5 * f64::from(step);
        tick(tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3)).force_n
    };
    for step in 0..40 {
        assert_eq!(press(&mut tissue, step), press(&mut other, step), "{step}");
    }
}
