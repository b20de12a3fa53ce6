//! What is viscous: relaxes and resists as its law says, pays for it, and costs others nothing.

use super::super::cells::{Buffer, Onto};
use super::super::grid::Motion;
use super::super::viscous;
use super::*;
use crate::Support;
use crate::implicit;
use crate::implicit::Implicit;
use crate::tests::{elastic, with};
use palpate_geometry::mesh::hex::Side;
use palpate_twin::law::Family;
use palpate_twin::law::viscous::{KelvinVoigt, Prony};

const SHARE: f64 = 0.4;
const TIME_S: f64 = 0.1;
const BRANCH: Viscosity = Viscosity {
    share: SHARE,
    time_s: TIME_S,
    ..Viscosity::NONE
};

fn soft(grids: (u32, usize), viscosity: Viscosity, params: &Params) -> Explicit {
    let nested = nested(0.1, grids, [0.0; 2]);
    let all: Vec<Vec<Viscosity>> = nested
        .levels
        .iter()
        .map(|level| vec![viscosity; level.count()])
        .collect();
    Explicit::with_viscosity(&nested, &even(&nested, 5e3), &all, params).unwrap()
}

/// Impulse of viscous cells on the top corner of a single cell whose top is sheared along x, after
/// each of some steps of `dt` to shares of the last strain.
fn sheared(tissue: &Explicit, shears: &[f64], dt: f32) -> Vec<(f64, viscous::Heat)> {
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
        let lagging = viscous::Lagging {
            cells: &grid.cells,
            viscous,
            runs: &grid.slabs[0].viscous,
            weight: 1.0,
            dt,
            u: &motion.u,
        };
        let mut past = viscous::past(&mut motion.past);
        let mut onto = Onto::whole(&mut motion.f);
        let heat = viscous::pull(&lagging, &mut past, &mut onto, &mut buffer);
        found.push((f64::from(motion.f[0][grid.plane]), heat));
    }
    found
}

#[test]
fn a_sheared_cell_relaxes_and_resists_as_the_laws_say() {
    let tissue = soft((1, 1), BRANCH, &Params::default());
    let model = &tissue.model;
    // sudden, then held for three times; a quarter of a face's force on every corner
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
            (heat.held / held - 1.0).abs() < 0.02,
            "{step}: {heat:?} {held}"
        );
    }
    // what the branch held went to heat
    let taken: f64 = found.iter().skip(2).map(|(_, heat)| heat.taken).sum();
    let lost = found[1].1.held - found[600].1.held;
    assert!((taken / lost - 1.0).abs() < 0.01, "{taken} {lost}");
    // a dashpot at an even rate
    let shear_pas = 3.0;
    let tissue = soft(
        (1, 1),
        Viscosity {
            shear_pas,
            ..Viscosity::NONE
        },
        &Params::default(),
    );
    let model = &tissue.model;
    let eta = shear_pas / (model.stress_pa * model.time_s);
    for (force, heat) in &sheared(&tissue, &[0.0, 1e-3, 2e-3, 3e-3], 0.1)[1..] {
        let rate = 1e-3 / 0.1;
        assert!((-force / (0.25 * eta * rate) - 1.0).abs() < 0.01, "{force}");
        assert!(
            (heat.taken / (eta * rate * 1e-3) - 1.0).abs() < 0.01,
            "{heat:?}"
        );
    }
}

#[test]
fn a_held_press_relaxes_as_in_the_implicit_solver() {
    let params = Params {
        damping_hz: 150.0,
        ..Params::default()
    };
    let mut tissue = soft((6, 1), BRANCH, &params);
    let mesh = nested(0.1, (6, 1), [0.0; 2]).levels[0].mesh().unwrap();
    let cells = mesh.cells.len();
    let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); cells];
    let viscosity = implicit::Viscosity {
        kelvin_voigt: KelvinVoigt::new(0.0, 0.0).unwrap(),
        prony: Prony::new(&[(SHARE, TIME_S)]).unwrap(),
    };
    let densities = vec![1e3; cells];
    let matter = elastic(Family::NeoHookean, &moduli, &densities);
    let ours = implicit::Params {
        damping_hz: 150.0,
        contact_stiffness: 40.0,
        ..implicit::Params::default()
    };
    let floor = [Support::Fixed(Side::ZMin)];
    let mut judge =
        Implicit::new(&mesh, &with(matter, &vec![viscosity; cells]), &floor, &ours).unwrap();
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for step in 0..=90_u32 {
        let depth_m = 4e-3 * (f64::from(step) / 10.0).min(1.0);
        let tool = ball([0.0, 0.0, 0.03 - depth_m], 0.03);
        let mut reaction = [Reaction::default()];
        judge.step(&[tool], 5e-3, &mut reaction);
        let mut sum_n = 0.0;
        for _ in 0..5 {
            sum_n += 0.2 * tick(&mut tissue, tool).force_n.z;
        }
        kept.push([sum_n, reaction[0].force_n.z]);
    }
    for step in [30, 40, 60, 90] {
        let ratio = |solver: usize| kept[step][solver] / kept[20][solver];
        // hourglass modes, a good part of the force on such cells, do not relax
        assert!(
            (ratio(0) / ratio(1) - 1.0).abs() < 0.03,
            "{step}: {:?} {:?}",
            kept[step],
            kept[20]
        );
    }
    assert!(kept[90][0] < 0.85 * kept[20][0]);
}

#[test]
fn a_press_of_viscous_tissue_is_paid_for_at_any_viscosity() {
    for (viscosity, softer) in [
        (BRANCH, true),
        (
            Viscosity {
                shear_pas: 2.0,
                bulk_pas: 1.0,
                ..BRANCH
            },
            true,
        ),
        // so much that the step has to know
        (
            Viscosity {
                shear_pas: 40.0,
                ..Viscosity::NONE
            },
            false,
        ),
    ] {
        let mut tissue = soft((6, 3), viscosity, &Params::default());
        let plain = super::tissue((6, 3), &Params::default());
        if !softer {
            assert!(tissue.substep_s() < 0.7 * plain.substep_s());
        }
        let mut most_j = 0.0_f64;
        for step in 0..1000 {
            let down_m = 2e-5 * f64::from(step);
            let depth_m = down_m.min(0.016 - down_m).max(-5e-3);
            tick(&mut tissue, ball([0.0, 0.0, 0.02 - depth_m], 0.02));
            most_j = most_j.max(tissue.view().ledger.stored_j());
        }
        let books = tissue.view().ledger;
        assert_eq!(tissue.collapses(), 0);
        assert!(books.tool_work_j > 0.05 * most_j, "{most_j} {books:?}");
        assert!(books.dissipated_j > 0.05 * most_j, "{most_j} {books:?}");
        assert!(books.residual_j.abs() < 0.01 * most_j, "{most_j} {books:?}");
    }
}

#[test]
fn a_viscous_tissue_thaws_bit_by_bit_and_none_is_elastic() {
    let press = |tissue: &mut Explicit, steps: std::ops::Range<u32>| {
        for step in steps {
            let depth_m = (4e-5 * f64::from(step)).min(5e-3);
            tick(tissue, ball([0.0, 0.0, 0.01 - depth_m], 0.01));
        }
        let mut end = Snapshot::default();
        tissue.freeze(&mut end);
        end
    };
    let mut tissue = soft((4, 2), BRANCH, &Params::default());
    let middle = press(&mut tissue, 0..100);
    let end = press(&mut tissue, 100..150);
    tissue.thaw(&middle).unwrap();
    assert_eq!(press(&mut tissue, 100..150), end);
    let mut none = soft((4, 2), Viscosity::NONE, &Params::default());
    let mut plain = super::tissue((4, 2), &Params::default());
    assert_eq!(press(&mut none, 0..100), press(&mut plain, 0..100));
}

#[test]
fn wrong_viscosities_are_named() {
    let nested = nested(0.1, (2, 1), [0.0; 2]);
    let stuff = even(&nested, 5e3);
    let build = |all: &[Vec<Viscosity>]| {
        Explicit::with_viscosity(&nested, &stuff, all, &Params::default()).err()
    };
    let mut all = vec![vec![BRANCH; 8]];
    all[0][5].share = 1.0;
    let wrong = build(&all);
    assert!(
        matches!(
            wrong,
            Some(ExplicitError::Viscosity {
                level: 0,
                cell: 5,
                ..
            })
        ),
        "{wrong:?}"
    );
    all[0].pop();
    let expected = ExplicitError::Cells {
        level: 0,
        cells: 8,
        found: 7,
    };
    assert_eq!(build(&all), Some(expected));
}
