//! Stiff cells whose nodes are coupled: the truth at few sub-steps, where mass is far from it.

use super::super::coupled::Room;
use super::*;
use crate::law::{Mixing, Viscosity};
use crate::mesh::region::{Region, Shape, Shares};
use crate::scene::{self, Block, Body};
use crate::twin::Snapshot;

fn block(name: &str) -> Block {
    match scene::load(name).unwrap().body {
        Body::Block(block) => block,
        _ => panic!("a block"),
    }
}

fn build(block: &Block, substeps_max: u32, stiff: Stiff) -> Explicit {
    let (nested, stuff) = block.grids().unwrap();
    let params = Params {
        substeps_max,
        stiff,
        ..block.params
    };
    Explicit::new(&nested, &stuff, &params).unwrap()
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
        layer.material = Material::new(young_pa, 0.45, 1e3).unwrap();
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

/// Period \[s\] of the slowest swing along x of a cap of 2 MPa on 2 kPa, from its zero crossings.
fn period_s(substeps_max: u32, stiff: Stiff) -> f64 {
    let nested = nested(0.04, (8, 1), [0.0; 2]);
    let mut stuff = even(&nested, 2e3);
    let cells = nested.levels[0].cells;
    let top = nested.levels[0].count() - cells[0] * cells[1];
    stuff[0].moduli[top..].fill(Material::new(2e6, 0.45, 1e3).unwrap().moduli());
    let params = Params {
        substeps_max,
        stiff,
        damping_hz: 0.0,
        ..Params::default()
    };
    let mut tissue = Explicit::new(&nested, &stuff, &params).unwrap();
    let model = Arc::clone(&tissue.model);
    for (grid, motion) in model.grids.iter().zip(&mut tissue.state.motions) {
        for node in (0..grid.count()).filter(|&node| grid.mass[node] > 0.0) {
            motion.v[0][node] = 1e-4 * grid.rest(node)[2] as f32;
        }
    }
    // the books say that it moves
    tissue.state.still = false;
    tissue.weigh(&mut Alone);
    let (mut crossings_s, mut before_m) = (Vec::new(), 0.0);
    for step in 1..1500 {
        tissue.step(&[], 1e-3, &mut []);
        let view = tissue.view();
        let pairs = view.positions_m.iter().zip(view.rest_m);
        let now_m: f64 = pairs.map(|(at, rest)| at.x - rest.x).sum();
        if before_m * now_m < 0.0 {
            crossings_s.push(1e-3 * (f64::from(step) - now_m / (now_m - before_m)));
        }
        before_m = now_m;
    }
    let books = tissue.view().ledger;
    let start_j = books.stored_j() - books.residual_j;
    assert!(
        books.stored_j() > 0.0 && books.residual_j.abs() < 0.02 * start_j,
        "{books:?}"
    );
    let spans = crossings_s.len() - 1;
    2.0 * (crossings_s[spans] - crossings_s[0]) / spans as f64
}

#[test]
fn a_stiff_cap_swings_as_slowly_as_its_true_mass() {
    let truth_s = period_s(1_000_000, Stiff::Mass);
    assert!(truth_s > 0.1, "{truth_s}");
    // how far coupling may be off, and mass is at least
    for (substeps_max, coupled_most, heavy_least) in [(4, 0.08, 3.0), (8, 0.02, 1.0)] {
        let error = |stiff| period_s(substeps_max, stiff) / truth_s - 1.0;
        let (coupled, heavy) = (error(Stiff::Coupled), error(Stiff::Mass));
        assert!(coupled.abs() < coupled_most, "{substeps_max}: {coupled}");
        assert!(heavy > heavy_least, "{substeps_max}: {heavy}");
    }
}

#[test]
fn coupled_nodes_keep_momentum_and_share_no_energy_when_all_go_alike() {
    let tissue = build(&block("layers-nodule"), 8, Stiff::Coupled);
    let coupled = tissue.model.coupled.as_ref().unwrap();
    let (mut motions, mut room) = (tissue.state.motions.clone(), Room::new(Some(coupled)));
    let (mut noise, mut sizes) = (Noise(3), 0.0);
    let sums = |motions: &[super::super::grid::Motion]| {
        let all = |axis: usize| motions.iter().flat_map(move |m| &m.f[axis]);
        [0, 1, 2].map(|axis| all(axis).copied().map(f64::from).sum::<f64>())
    };
    for (grid, motion) in tissue.model.grids.iter().zip(&mut motions) {
        for node in (0..grid.count()).filter(|&node| grid.mass[node] > 0.0) {
            for axis in 0..3 {
                motion.f[axis][node] = (noise.next() - 0.5) as f32;
                motion.v[axis][node] = 0.25;
                sizes += f64::from(motion.f[axis][node].abs());
            }
        }
    }
    let (before, old) = (sums(&motions), motions[2].f[2].clone());
    coupled.spread(&mut motions, &mut room);
    assert!(motions[2].f[2] != old);
    for (before, after) in before.into_iter().zip(sums(&motions)) {
        assert!((after - before).abs() < 1e-6 * sizes, "{before} {after}");
    }
    let twice = |motions: &[_], room: &mut Room| {
        coupled.twice(motions, |m: &super::super::grid::Motion| &m.v, room)
    };
    // muscle is not coupled here, so nothing holds on to the ground
    assert_eq!(twice(&motions, &mut room), 0.0);
    motions[2].v[0]
        .iter_mut()
        .step_by(2)
        .for_each(|v| *v *= 2.0);
    assert!(twice(&motions, &mut room) > 0.0);
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
    let (nested, stuff) = block.grids().unwrap();
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
    let mut tissue = Explicit::with_viscosity(&nested, &stuff, &all, &block.params).unwrap();
    assert!(tissue.coupled().0 > 100 && !tissue.caps().points);
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
    other.thaw(&Snapshot::of(&tissue)).unwrap();
    let press = |tissue: &mut Explicit, step: u32| {
        let depth_m = 4e-3 + 1e-5 * f64::from(step);
        tick(tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3)).force_n
    };
    for step in 0..40 {
        assert_eq!(press(&mut tissue, step), press(&mut other, step), "{step}");
    }
}

/// Change of the force of a slow press of 5 mm by a ball of 5 mm, 10 mm deep and 10 times as stiff, at a
/// place \[m\] of a block of some height \[m\] on cells of about 2 mm.
fn change([x_m, y_m]: [f64; 2], height_m: f64, mixing: Mixing) -> f64 {
    let zone = Zone {
        cell_m: 2e-3,
        levels: 4,
        centre_m: [0.0; 2],
        half_m: [8e-3; 2],
        depth_m: 0.012,
    };
    let low_m = Vec3::new(-0.05, -0.05, -height_m);
    let nested = Nested::new(low_m, Vec3::new(0.05, 0.05, 0.0), &zone).unwrap();
    let region = |shape, young_pa| Region {
        shape,
        material: Material::new(young_pa, 0.45, 1e3).unwrap(),
    };
    let ball_there = Shape::Ball {
        centre_m: Vec3::new(x_m, y_m, -0.01),
        radius_m: 5e-3,
    };
    let regions = [region(Shape::All, 5e3), region(ball_there, 50e3)];
    let held_n = |regions: &[Region]| {
        let stuff = |level: &crate::mesh::nested::Level| {
            let shares = Shares::take(&level.mesh().unwrap(), regions, 6).unwrap();
            Stuff {
                moduli: shares.moduli(regions, mixing),
                densities_kgpm3: shares.densities_kgpm3(regions),
            }
        };
        let stuff: Vec<Stuff> = nested.levels.iter().map(stuff).collect();
        let params = Params {
            damping_hz: 60.0,
            ..Params::default()
        };
        let mut tissue = Explicit::new(&nested, &stuff, &params).unwrap();
        let mut sum_n = 0.0;
        for step in 1..=250 {
            let share = (f64::from(step) / 150.0).min(1.0);
            let eased = share * share * share * (10.0 + share * (6.0 * share - 15.0));
            let tool = ball([x_m, y_m, 5e-3 - 5e-3 * eased], 5e-3);
            let force_n = tick(&mut tissue, tool).force_n.z;
            sum_n += if step > 200 { force_n / 50.0 } else { 0.0 };
        }
        sum_n
    };
    held_n(&regions) / held_n(&regions[..1]) - 1.0
}

/// Places within a cell sideways and heights of the block, which move the planes of cells in depth.
fn alignments() -> impl Iterator<Item = ([f64; 2], f64)> {
    let mut noise = Noise(7);
    std::iter::repeat_with(move || {
        let height_m = 0.094 + 0.012 * noise.next();
        ([2e-3 * noise.next(), 2e-3 * noise.next()], height_m)
    })
}

#[test]
fn a_nodule_is_felt_alike_however_the_cells_lie() {
    for (place_m, height_m) in alignments().take(8) {
        let change = change(place_m, height_m, Mixing::default());
        // 20 %, converged on meshes fitted to the ball (example block, aligned)
        assert!(
            (change - 0.2).abs() < 0.03,
            "{place_m:?} {height_m}: {change}"
        );
    }
}

/// All rules: `cargo test --release -p palpate-twin -- --ignored every_mixing_rule`; the table is in
/// [`crate::law::mix`].
#[test]
#[ignore = "half a minute"]
fn every_mixing_rule_has_its_range_however_the_cells_lie() {
    let rules = [
        (Mixing::Voigt, 0.245, 0.28),
        (Mixing::Reuss, 0.165, 0.185),
        (Mixing::Hill, 0.21, 0.24),
        (Mixing::Geometric, 0.2, 0.22),
    ];
    for (place_m, height_m) in alignments().take(10) {
        for (mixing, low, high) in rules {
            let change = change(place_m, height_m, mixing);
            assert!((low..high).contains(&change), "{mixing:?}: {change}");
        }
    }
}
