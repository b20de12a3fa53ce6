//! Tests of the energy balance of presses.

use super::*;

/// Presses by 10 mm and releases with a sphere of 20 mm; returns the largest stored energy.
fn loops(tissue: &mut ExplicitTissue, speed_mps: f64) -> f64 {
    let (mut most_j, mut t_s) = (0.0_f64, 0.0_f64);
    while t_s < 0.02 / speed_mps + 0.05 {
        let depth_m = (speed_mps * t_s).min(0.02 - speed_mps * t_s).max(-0.005);
        tick(tissue, ball([0.0, 0.0, 0.02 - depth_m], 0.02));
        most_j = most_j.max(tissue.view().energy.stored_j());
        t_s += 1e-3;
    }
    most_j
}

#[test]
fn a_press_and_release_creates_no_energy() {
    for speed_mps in [0.02, 0.1, 0.5] {
        for (damping_per_s, friction) in [(0.0, 0.0), (10.0, 0.0), (10.0, 0.5)] {
            let params = ExplicitParams {
                damping_per_s,
                friction,
                ..ExplicitParams::default()
            };
            let mut tissue = tissue((6, 3), &params);
            let most_j = loops(&mut tissue, speed_mps);
            let balance = tissue.view().energy;
            assert!(most_j > 1e-5, "{balance:?}");
            assert!(balance.tool_work_j > -1e-3 * most_j, "{most_j} {balance:?}");
            assert!(balance.dissipated_j >= 0.0, "{balance:?}");
            let unexplained = balance.residual_j.abs() / most_j;
            // error of leapfrog, which grows with the square of its step over the time of the press
            let bound = if speed_mps > 0.2 { 0.02 } else { 5e-3 };
            assert!(
                unexplained < bound,
                "{speed_mps} {damping_per_s}: {most_j} {balance:?}"
            );
        }
    }
}

#[test]
fn a_held_press_dissipates_nothing() {
    // accumulated impulses of slow cells shake the adjacent nodes; damping of that was once counted as heat
    let mut tissue = tissue((6, 4), &ExplicitParams::default());
    for step in 0..1500 {
        let depth_m = (2e-5 * f64::from(step)).min(0.01);
        tick(&mut tissue, ball([0.0, 0.0, 0.01 - depth_m], 0.01));
    }
    let early = tissue.view().energy;
    for _ in 0..500 {
        tick(&mut tissue, ball([0.0, 0.0, 0.0], 0.01));
    }
    let late = tissue.view().energy;
    let scale_j = 1e-4 * early.tool_work_j;
    assert!(
        scale_j > 0.0 && early.residual_j.abs() < 50.0 * scale_j,
        "{early:?}"
    );
    assert!(
        (late.dissipated_j - early.dissipated_j).abs() < scale_j,
        "{early:?} {late:?}"
    );
    assert!(
        (late.residual_j - early.residual_j).abs() < scale_j,
        "{early:?} {late:?}"
    );
}

#[test]
fn squeezed_cells_gain_mass_and_lose_it_after_release() {
    for (speed_mps, bound) in [(0.02, 1e-3), (0.5, 0.01)] {
        let mut tissue = tissue((8, 4), &ExplicitParams::default());
        let steps = (0.01_f64 / speed_mps / 1e-3).ceil() as i32;
        let (mut most_kg, mut work_j) = (0.0_f64, 0.0);
        for step in 0..(2 * steps + 200) {
            let depth_m = (speed_mps * 1e-3 * f64::from(step)).min(0.01);
            let depth_m = depth_m.min(speed_mps * 1e-3 * f64::from(2 * steps - step));
            tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3));
            if step == steps / 20 {
                assert_eq!(
                    tissue.squeezed_added_mass_kg(),
                    0.0,
                    "a shallow press adds no mass"
                );
            }
            most_kg = most_kg.max(tissue.squeezed_added_mass_kg());
            if step == steps {
                work_j = tissue.view().energy.tool_work_j;
            }
        }
        let balance = tissue.view().energy;
        // the block weighs a kilogram
        assert!(most_kg > 1e-5 && most_kg < 0.05, "{most_kg}");
        assert_eq!(tissue.squeezed_added_mass_kg(), 0.0);
        assert!(
            work_j > 0.0 && balance.residual_j.abs() < bound * work_j,
            "{balance:?}"
        );
        assert_eq!(balance.edit_j, 0.0, "no edits");
        assert!(balance.mass_j.abs() < 0.02 * work_j, "{balance:?}");
    }
}
