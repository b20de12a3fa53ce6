//! Tests of coupled inertia: periods, conserved quantities, and a nodule among soft cells.

use super::super::coupled_inertia::CoupledScratch;
use super::layers::layered;
use super::*;
use palpate_geometry::mesh::region::{Region, RegionFractions};
use palpate_twin::law::MixingRule;
use palpate_twin::shape::RegionShape;

/// Returns the period \[s\] of the slowest oscillation along x of a cap of 2 MPa on 2 kPa, from its zero
/// crossings.
fn period_s(substeps_max: u32, stiff: StiffCellMethod) -> f64 {
    let nested = nested(0.04, (8, 1), [0.0; 2]);
    let mut cell_materials = uniform_materials(&nested, 2e3);
    let cells = nested.levels[0].cells;
    let top = nested.levels[0].count() - cells[0] * cells[1];
    cell_materials[0][top..].fill(Material::new(2e6, 0.45, 1e3).unwrap().cell_material());
    let params = ExplicitParams {
        substeps_max,
        stiff_cells: stiff,
        damping_per_s: 0.0,
        ..ExplicitParams::default()
    };
    let mut tissue = ExplicitTissue::new(&nested, &cell_materials, &params).unwrap();
    let model = Arc::clone(&tissue.model);
    for (grid, motion) in model.grids.iter().zip(&mut tissue.state.motions) {
        for node in (0..grid.count()).filter(|&node| grid.mass[node] > 0.0) {
            motion.v[0][node] = 1e-4 * grid.rest_position(node)[2] as f32;
        }
    }
    // include the kinetic energy in the balance
    tissue.state.settled = false;
    tissue.update_masses(super::super::mass_scaling::MassTime::End);
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
    let balance = tissue.view().energy;
    let start_j = balance.stored_j() - balance.residual_j;
    assert!(
        balance.stored_j() > 0.0 && balance.residual_j.abs() < 0.02 * start_j,
        "{balance:?}"
    );
    let spans = crossings_s.len() - 1;
    2.0 * (crossings_s[spans] - crossings_s[0]) / spans as f64
}

#[test]
fn a_stiff_cap_oscillates_with_its_true_mass() {
    let reference_s = period_s(1_000_000, StiffCellMethod::MassScaling);
    assert!(reference_s > 0.1, "{reference_s}");
    // largest relative error of coupling, and smallest of mass scaling
    for (substeps_max, coupled_most, heavy_least) in [(4, 0.08, 3.0), (8, 0.02, 1.0)] {
        let error = |stiff| period_s(substeps_max, stiff) / reference_s - 1.0;
        let (coupled, heavy) = (
            error(StiffCellMethod::Coupled),
            error(StiffCellMethod::MassScaling),
        );
        assert!(coupled.abs() < coupled_most, "{substeps_max}: {coupled}");
        assert!(heavy > heavy_least, "{substeps_max}: {heavy}");
    }
}

#[test]
fn coupled_nodes_conserve_momentum_and_add_no_energy_in_translation() {
    let params = ExplicitParams {
        substeps_max: 8,
        stiff_cells: StiffCellMethod::Coupled,
        ..ExplicitParams::default()
    };
    // as the scene `layers-nodule`
    let tissue = layered(0.49, &params);
    let coupled = tissue.model.coupled_inertia.as_ref().unwrap();
    let (mut motions, mut scratch) = (
        tissue.state.motions.clone(),
        CoupledScratch::new(Some(coupled)),
    );
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
    coupled.apply(&mut motions, &mut scratch);
    assert!(motions[2].f[2] != old);
    for (before, after) in before.into_iter().zip(sums(&motions)) {
        assert!((after - before).abs() < 1e-6 * sizes, "{before} {after}");
    }
    let twice = |motions: &[_], scratch: &mut CoupledScratch| {
        coupled.twice_kinetic_energy(motions, |m: &super::super::grid::Motion| &m.v, scratch)
    };
    // muscle is not coupled here, so nothing is coupled to fixed nodes
    assert_eq!(twice(&motions, &mut scratch), 0.0);
    motions[2].v[0]
        .iter_mut()
        .step_by(2)
        .for_each(|v| *v *= 2.0);
    assert!(twice(&motions, &mut scratch) > 0.0);
}

/// Returns the relative change of the force of a slow press of 5 mm by a nodule with radius 5 mm, 10 mm deep
/// and 10 times as stiff. The nodule and press are at a position \[m\] of a block of some height \[m\] on
/// cells of about 2 mm.
fn change([x_m, y_m]: [f64; 2], height_m: f64, mixing: MixingRule) -> f64 {
    let zone = RefinementZone {
        cell_m: 2e-3,
        levels: 4,
        centre_m: [0.0; 2],
        half_m: [8e-3; 2],
        depth_m: 0.012,
    };
    let low_m = Vec3::new(-0.05, -0.05, -height_m);
    let nested = NestedGrid::new(low_m, Vec3::new(0.05, 0.05, 0.0), &zone).unwrap();
    let region = |shape, young_pa| Region {
        shape,
        material: Material::new(young_pa, 0.45, 1e3).unwrap(),
    };
    let ball_there = RegionShape::Ball {
        centre_m: Vec3::new(x_m, y_m, -0.01),
        radius_m: 5e-3,
    };
    let regions = [region(RegionShape::All, 5e3), region(ball_there, 50e3)];
    let held_n = |regions: &[Region]| {
        let cell_materials = |level: &palpate_geometry::mesh::nested_grid::GridLevel| {
            let shares = RegionFractions::sample(&level.mesh().unwrap(), regions, 6).unwrap();
            shares.cell_materials(regions, mixing)
        };
        let cell_materials: Vec<Vec<CellMaterial>> =
            nested.levels.iter().map(cell_materials).collect();
        let params = ExplicitParams {
            damping_per_s: 60.0,
            ..ExplicitParams::default()
        };
        let mut tissue = ExplicitTissue::new(&nested, &cell_materials, &params).unwrap();
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

/// Returns lateral positions within a cell and heights of the block, which shift the planes of cells in
/// depth.
fn alignments() -> impl Iterator<Item = ([f64; 2], f64)> {
    let mut noise = Noise(7);
    std::iter::repeat_with(move || {
        let height_m = 0.094 + 0.012 * noise.next();
        ([2e-3 * noise.next(), 2e-3 * noise.next()], height_m)
    })
}

#[test]
fn nodule_contrast_is_independent_of_cell_alignment() {
    for (place_m, height_m) in alignments().take(8) {
        let change = change(place_m, height_m, MixingRule::default());
        // 20 %, converged on meshes fitted to the ball (example block, aligned)
        assert!(
            (change - 0.2).abs() < 0.03,
            "{place_m:?} {height_m}: {change}"
        );
    }
}

/// All rules: `cargo test --release -p palpate-fem -- --ignored every_mixing_rule`; the table is in
/// [`palpate_twin::law::mix`].
#[test]
#[ignore = "half a minute"]
fn every_mixing_rule_has_its_range_for_any_cell_alignment() {
    let rules = [
        (MixingRule::Voigt, 0.245, 0.28),
        (MixingRule::Reuss, 0.165, 0.185),
        (MixingRule::Hill, 0.21, 0.24),
        (MixingRule::Geometric, 0.2, 0.22),
    ];
    for (place_m, height_m) in alignments().take(10) {
        for (mixing, low, high) in rules {
            let change = change(place_m, height_m, mixing);
            assert!((low..high).contains(&change), "{mixing:?}: {change}");
        }
    }
}
