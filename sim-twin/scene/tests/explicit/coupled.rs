//! Stiff cells whose nodes are coupled: the truth at few sub-steps, where mass is far from it.

use super::*;
use palpate_fem::explicit::{Params, Stiff};
use palpate_scene::{Block, Body, load};
use palpate_twin::Snapshot;
use palpate_twin::law::{Material, Viscosity};

fn block(name: &str) -> Block {
    match load(name).expect("a scene").body {
        Body::Block(block) => block,
        _ => panic!("a block"),
    }
}

fn build(block: &Block, substeps_max: u32, stiff: Stiff) -> Explicit {
    let (nested, stuff) = block.grids().expect("it builds");
    let params = Params {
        substeps_max,
        stiff,
        ..block.params
    };
    Explicit::new(&nested, &stuff, &params).expect("it builds")
}

/// Sub-steps enough for the stiffest cell, and no mass that is not there.
fn true_to(block: &Block) -> Explicit {
    build(block, 1_000_000, Stiff::Mass)
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

/// Forces of a press at a speed \[m/s\], then held.
fn forces_n(tissue: &mut Explicit, speed_mps: f64, depth_m: f64, ticks: u32) -> Vec<f64> {
    let press = |step: u32| {
        let depth_m = (speed_mps * 1e-3 * f64::from(step)).min(depth_m);
        tick(tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3))
            .force_n
            .z
    };
    (0..ticks).map(press).collect()
}

#[test]
fn a_quick_press_of_stiff_skin_feels_no_weight_that_is_not_there() {
    let block = block("layers-nodule");
    let truth_n = forces_n(&mut true_to(&block), 0.3, 5e-3, 60);
    let most_n = truth_n.iter().fold(0.0_f64, |a, &b| a.max(b));
    let off = |stiff| {
        let found_n = forces_n(&mut build(&block, 8, stiff), 0.3, 5e-3, 60);
        let squares = found_n.iter().zip(&truth_n).map(|(a, b)| (a - b) * (a - b));
        (squares.sum::<f64>() / 60.0).sqrt() / most_n
    };
    let (coupled, heavy) = (off(Stiff::Coupled), off(Stiff::Mass));
    assert!(coupled < 0.1, "{coupled}");
    assert!(heavy > 4.0 * coupled, "{heavy} {coupled}");
}

#[test]
fn stiff_layers_stay_calm_and_hold_the_true_force() {
    let nodule = block("layers-nodule");
    assert_eq!(build(&nodule, 8, Stiff::Coupled).stiff_mass_kg(), 0.0);
    for (block, substeps_max) in [(nodule, 8), (capsule(), 8)] {
        let truth_n = forces_n(&mut true_to(&block), 0.02, 5e-3, 350)[349];
        let mut tissue = build(&block, substeps_max, Stiff::Coupled);
        assert!(tissue.coupled().0 > 100);
        assert!(tissue.substep_s() > 0.95e-3 / f64::from(substeps_max));
        let held_n = forces_n(&mut tissue, 0.02, 5e-3, 2000);
        assert!(held_n.iter().all(|f| (0.0..5.0).contains(f)));
        // what a touch of the skin gives way more, as it is no stiffer than its nodes bear
        let error = held_n[349] / truth_n - 1.0;
        assert!(error.abs() < 0.025, "{error}");
        let late = &held_n[1500..];
        let (low_n, high_n) = late
            .iter()
            .fold((f64::MAX, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        assert!(high_n < 1.005 * low_n, "{low_n} {high_n}");
        assert_eq!(tissue.collapses(), 0);
        let books = tissue.view().ledger;
        assert!(
            books.residual_j.abs() < 2e-3 * books.tool_work_j,
            "{books:?}"
        );
    }
}

#[test]
fn what_costs_less_than_to_couple_gets_its_sub_steps() {
    // thick muscle that is a little too stiff: thousands of numbers for half as many sub-steps
    let block = block("layered");
    let tissue = build(&block, 6, Stiff::Coupled);
    assert_eq!((tissue.coupled(), tissue.stiff_mass_kg()), ((0, 0), 0.0));
    assert_eq!(tissue.substep_s(), true_to(&block).substep_s());
    assert!(build(&block, 6, Stiff::Mass).stiff_mass_kg() > 0.1);
}

#[test]
fn presses_deeper_than_the_tool_and_strokes_leave_stiff_layers_sound() {
    for block in [block("layers-nodule"), capsule()] {
        for substeps_max in [4, 8] {
            let mut tissue = build(&block, substeps_max, Stiff::Coupled);
            for step in 0..500 {
                let depth_m = (8e-5 * f64::from(step)).min(0.012);
                let x_m = (1e-4 * (f64::from(step) - 200.0)).clamp(0.0, 0.01);
                let force_n = tick(&mut tissue, ball([x_m, 0.0, 5e-3 - depth_m], 5e-3)).force_n;
                assert!(force_n.norm() < 20.0, "{step}: {force_n}");
            }
            assert_eq!(tissue.collapses(), 0, "{substeps_max}");
            // let go, it comes to rest
            for _ in 0..1500 {
                tissue.step(&[], 1e-3, &mut []);
            }
            let books = tissue.view().ledger;
            assert!(
                books.stored_j() < 1e-3 * books.tool_work_j.abs(),
                "{books:?}"
            );
        }
    }
}

#[test]
fn stiff_layers_that_are_viscous_too_stay_calm() {
    let block = block("layers-nodule");
    let (nested, stuff) = block.grids().expect("it builds");
    let viscosity = Viscosity {
        shear_pas: 0.5,
        bulk_pas: 0.5,
        share: 0.3,
        time_s: 0.1,
    };
    let all: Vec<_> = stuff
        .iter()
        .map(|s| vec![viscosity; s.moduli.len()])
        .collect();
    let mut tissue =
        Explicit::with_viscosity(&nested, &stuff, &all, &block.params).expect("it builds");
    assert!(tissue.coupled().0 > 100);
    let held_n = forces_n(&mut tissue, 0.1, 6e-3, 400);
    assert!(held_n.iter().all(|f| (0.0..10.0).contains(f)));
    assert!((held_n[399] / held_n[389] - 1.0).abs() < 0.01);
    assert_eq!(tissue.collapses(), 0);
}

#[test]
fn a_press_and_release_of_stiff_layers_creates_no_energy() {
    for speed_mps in [0.02, 0.3] {
        let mut block = block("layers-nodule");
        block.params.damping_hz = 0.0;
        let mut tissue = build(&block, 8, Stiff::Coupled);
        let (mut most_j, mut t_s) = (0.0_f64, 0.0_f64);
        while t_s < 0.01 / speed_mps + 0.05 {
            let depth_m = (speed_mps * t_s).min(0.01 - speed_mps * t_s).max(-0.005);
            tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3));
            most_j = most_j.max(tissue.view().ledger.stored_j());
            t_s += 1e-3;
        }
        let books = tissue.view().ledger;
        assert!(
            most_j > 1e-4 && books.tool_work_j > -1e-3 * most_j,
            "{most_j} {books:?}"
        );
        assert!(books.residual_j.abs() < 0.01 * most_j, "{most_j} {books:?}");
    }
}

#[test]
fn a_thawed_copy_of_coupled_layers_goes_on_alike() {
    let mut tissue = build(&block("layers-nodule"), 8, Stiff::Coupled);
    forces_n(&mut tissue, 0.1, 5e-3, 40);
    let mut other = build(&block("layers-nodule"), 8, Stiff::Coupled);
    other.thaw(&Snapshot::of(&tissue)).expect("its own");
    let press = |tissue: &mut Explicit, step: u32| {
        let depth_m = 4e-3 + 1e-5 * f64::from(step);
        tick(tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3)).force_n
    };
    for step in 0..40 {
        assert_eq!(press(&mut tissue, step), press(&mut other, step), "{step}");
    }
}
