//! Tests of stiffness edits under the tool and of their energy.

use super::*;
use palpate_twin::shape::RegionShape;

fn hold(tissue: &mut ExplicitTissue, ticks: u32) -> f64 {
    let mut force_n = 0.0;
    for _ in 0..ticks {
        force_n = tick(tissue, ball([0.0, 0.0, 5e-3], 1e-2)).force_n.z;
    }
    force_n
}

fn pressed(params: &ExplicitParams) -> ExplicitTissue {
    let mut tissue = tissue((8, 3), params);
    for step in 0..200 {
        let depth_m = 2.5e-5 * f64::from(step);
        tick(&mut tissue, ball([0.0, 0.0, 1e-2 - depth_m], 1e-2));
    }
    tissue
}

fn stiffen(factor: f64, passive: bool) -> Edit<'static> {
    Edit::Scale {
        shape: RegionShape::Ball {
            centre_m: Vec3::zeros(),
            radius_m: 0.03,
        },
        factor,
        passive,
    }
}

#[test]
fn a_passive_edit_uses_at_most_the_dissipated_energy() {
    // without damping nothing was dissipated, so no energy is available
    let free = ExplicitParams {
        damping_per_s: 0.0,
        ..ExplicitParams::default()
    };
    let mut tissue = pressed(&free);
    let report = tissue.edit(&stiffen(1.5, true)).unwrap();
    // the sums are in single precision
    let stored_j = tissue.view().energy.stored_j();
    assert!(
        report.elements > 10 && report.applied_fraction == 0.0,
        "{report:?}"
    );
    assert!(report.energy_j.abs() < 1e-5 * stored_j, "{report:?}");
    let open = tissue.edit(&stiffen(1.5, false)).unwrap();
    assert!(
        open.applied_fraction == 1.0 && open.energy_j > 1e-6,
        "{open:?}"
    );

    let mut tissue = pressed(&ExplicitParams::default());
    hold(&mut tissue, 200);
    let (mut granted_j, mut shares) = (0.0, 0.0);
    for _ in 0..200 {
        let report = tissue.edit(&stiffen(1.02, true)).unwrap();
        granted_j += report.energy_j;
        shares += report.applied_fraction;
        hold(&mut tissue, 2);
        let balance = tissue.view().energy;
        assert!(
            granted_j <= balance.dissipated_j * (1.0 + 1e-9) + 1e-15,
            "{granted_j} {balance:?}"
        );
    }
    assert!(granted_j > 0.0 && shares < 200.0, "{granted_j} {shares}");
}

#[test]
fn small_edits_change_the_force_by_less_than_one_percent() {
    let mut tissue = pressed(&ExplicitParams {
        damping_per_s: 60.0,
        ..ExplicitParams::default()
    });
    let mut last_n = hold(&mut tissue, 400);
    let first_n = last_n;
    for _ in 0..20 {
        tissue.edit(&stiffen(1.007, false)).unwrap();
        for _ in 0..20 {
            let force_n = hold(&mut tissue, 1);
            assert!((force_n / last_n - 1.0).abs() < 0.01, "{force_n} {last_n}");
            last_n = force_n;
        }
    }
    assert!(last_n > 1.05 * first_n, "{last_n} {first_n}");
    let balance = tissue.view().energy;
    assert!(
        balance.residual_j.abs() < 0.01 * balance.tool_work_j,
        "{balance:?}"
    );
}

fn scale(shape: RegionShape, factor: f64) -> Edit<'static> {
    Edit::Scale {
        shape,
        factor,
        passive: false,
    }
}

#[test]
fn doubled_stiffness_doubles_the_force() {
    let soft = pressed(&ExplicitParams::default());
    let layers = |split_m: f64| {
        let whole = [f64::MIN, f64::MAX];
        [[whole[0], split_m], [split_m, whole[1]]]
            .map(|[from_m, to_m]| RegionShape::Layer { from_m, to_m })
    };
    let mut unedited = soft.clone();
    let first_n = hold(&mut unedited, 600);
    let rested_n = hold(&mut unedited, 2000);
    // also in two parts whose border cuts cells: fractions of a cell add up
    for shapes in [&[RegionShape::All][..], &layers(-0.0123), &layers(0.0)] {
        let mut tissue = soft.clone();
        for &shape in shapes {
            let report = tissue.edit(&scale(shape, 2.0)).unwrap();
            assert!(report.applied_fraction == 1.0, "{report:?}");
        }
        let force_n = hold(&mut tissue, 600);
        // the boundary of the tool has the same compliance as before
        assert!((force_n / first_n - 2.0).abs() < 0.1, "{force_n} {first_n}");
        for &shape in shapes {
            tissue.edit(&scale(shape, 0.5)).unwrap();
        }
        // it oscillates for a while
        hold(&mut tissue, 1400);
        let again_n = hold(&mut tissue, 600);
        assert!(
            (again_n / rested_n - 1.0).abs() < 0.005,
            "{again_n} {rested_n}"
        );
    }
}

#[test]
fn a_stiffened_ball_raises_the_force_above_it_only() {
    let soft = pressed(&ExplicitParams::default());
    let ball = |x_m: f64| RegionShape::Ball {
        centre_m: Vec3::new(x_m, 0.0, -0.012),
        radius_m: 0.006,
    };
    let first_n = hold(&mut soft.clone(), 600);
    let with_n = |shape: RegionShape| {
        let mut tissue = soft.clone();
        tissue.edit(&scale(shape, 10.0)).unwrap();
        hold(&mut tissue, 600)
    };
    let (over_n, aside_n) = (with_n(ball(0.0)), with_n(ball(0.035)));
    assert!(over_n > 1.03 * first_n, "{over_n} {first_n}");
    assert!(
        (aside_n / first_n - 1.0).abs() < 0.01,
        "{aside_n} {first_n}"
    );
}

#[test]
fn an_edit_is_restored_with_the_state() {
    let mut tissue = pressed(&ExplicitParams::default());
    hold(&mut tissue, 300);
    let mut before = Snapshot::default();
    tissue.save(&mut before);
    let plain_n = hold(&mut tissue, 50);
    tissue.restore(&before).unwrap();
    tissue.edit(&stiffen(2.0, false)).unwrap();
    let stiff_n = hold(&mut tissue, 50);
    assert!(stiff_n > 1.2 * plain_n, "{stiff_n} {plain_n}");
    tissue.restore(&before).unwrap();
    assert_eq!(hold(&mut tissue, 50), plain_n);
}

#[test]
fn an_invalid_edit_is_refused_and_changes_nothing() {
    let mut tissue = pressed(&ExplicitParams::default());
    let mut before = Snapshot::default();
    tissue.save(&mut before);
    let cut = Edit::Cut {
        point_m: Vec3::zeros(),
        normal: Vec3::x(),
    };
    let hollow = RegionShape::Ball {
        centre_m: Vec3::zeros(),
        radius_m: f64::NAN,
    };
    let bad = [scale(hollow, 2.0), scale(RegionShape::All, -1.0)];
    for edit in [cut, stiffen(0.0, true), stiffen(f64::NAN, true)]
        .into_iter()
        .chain(bad)
    {
        assert!(tissue.edit(&edit).is_err(), "{edit:?}");
    }
    let mut after = Snapshot::default();
    tissue.save(&mut after);
    assert_eq!(before, after);
}

#[test]
fn issue_an_edit_without_energy_softened_cells_at_the_bound() {
    let free = ExplicitParams {
        damping_per_s: 0.0,
        ..ExplicitParams::default()
    };
    let mut tissue = pressed(&free);
    let cells = |tissue: &ExplicitTissue| -> Vec<Vec<f32>> {
        let motions = tissue.state.motions.iter();
        motions
            .map(|motion| motion.stiffness_ratio.clone())
            .collect()
    };
    // beyond the bound of 50
    tissue.edit(&stiffen(40.0, false)).unwrap();
    let before = cells(&tissue);
    let report = tissue.edit(&stiffen(2.0, true)).unwrap();
    assert_eq!(report.applied_fraction, 0.0);
    assert_eq!(cells(&tissue), before);
}

#[test]
fn issue_a_large_stiffening_ran_a_tick_with_the_old_masses() {
    let mut tissue = pressed(&ExplicitParams::default());
    let before_n = hold(&mut tissue, 400);
    tissue.edit(&stiffen(20.0, false)).unwrap();
    let first_n = tick(&mut tissue, ball([0.0, 0.0, 5e-3], 1e-2)).force_n.z;
    let after_n = hold(&mut tissue, 1500);
    assert_eq!(tissue.collapses(), 0);
    assert!(first_n < 25.0 * before_n, "{before_n} {first_n}");
    assert!(
        after_n > 3.0 * before_n && after_n < 20.0 * before_n,
        "{before_n} {after_n}"
    );
}
