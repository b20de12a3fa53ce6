//! Tests of tools with jaws: they grasp tissue, rub on it and release it.

use super::*;
use palpate_twin::twin::Jaws;

const RADIUS_M: f64 = 3e-3;

fn jaws(z_m: f64, opening_m: f64) -> Tool {
    Tool {
        jaws: Some(Jaws {
            opening_m,
            opening_velocity_mps: 0.0,
            closed: false,
        }),
        ..ball([0.0, 0.0, z_m], RADIUS_M)
    }
}

/// Reactions of a pinch at its stages, and the work computed from forces and displacements.
struct Pinch {
    pressed: Reaction,
    closed: Reaction,
    lifted: Reaction,
    opened: Reaction,
    work_j: f64,
    sideways_n: f64,
}

/// Presses open jaws by 6 mm, closes them, lifts them by 2 mm, opens and withdraws them.
fn pinch(tissue: &mut ExplicitTissue) -> Pinch {
    let (mut z_m, mut opening_m) = (RADIUS_M, 8e-3);
    let (mut work_j, mut sideways_n) = (0.0, 0.0_f64);
    let mut stage = |ticks: u32, (to_m, wide_m): (f64, f64)| {
        let (from_m, before_m) = (z_m, opening_m);
        let mut last = Reaction::default();
        for step in 1..=ticks {
            let share = (f64::from(step) / (0.7 * f64::from(ticks))).min(1.0);
            let next_m = from_m + share * (to_m - from_m);
            let gap_m = before_m + share * (wide_m - before_m);
            last = tick(tissue, jaws(next_m, gap_m));
            work_j -= last.force_n.z * (next_m - z_m) + last.grip_force_n * (gap_m - opening_m);
            (z_m, opening_m) = (next_m, gap_m);
            sideways_n = sideways_n.max(last.force_n.xy().norm());
        }
        last
    };
    Pinch {
        pressed: stage(300, (RADIUS_M - 6e-3, 8e-3)),
        closed: stage(500, (RADIUS_M - 6e-3, 3e-3)),
        lifted: stage(400, (RADIUS_M - 4e-3, 3e-3)),
        opened: stage(600, (RADIUS_M + 20e-3, 10e-3)),
        work_j,
        sideways_n,
    }
}

fn with(jaw_friction: Option<f64>) -> ExplicitTissue {
    let params = ExplicitParams {
        jaw_friction,
        damping_per_s: 20.0,
        ..ExplicitParams::default()
    };
    tissue((8, 4), &params)
}

#[test]
fn jaws_grasp_the_tissue_between_them_and_release_it() {
    let mut tissue = with(Some(0.4));
    assert!(tissue.caps().jaws);
    let pinch = pinch(&mut tissue);
    // a press does not open them, the grasped tissue does
    assert!(pinch.pressed.grip_force_n.abs() < 0.02 * pinch.pressed.force_n.z);
    assert!(
        pinch.closed.grip_force_n > 0.05 * pinch.closed.force_n.z,
        "{:?}",
        pinch.closed
    );
    assert!(pinch.lifted.grip_force_n > 0.0 && pinch.lifted.force_n.z > 0.0);
    // both jaws are symmetric
    assert!(
        pinch.sideways_n < 0.02 * pinch.pressed.force_n.z,
        "{}",
        pinch.sideways_n
    );
    assert_eq!(pinch.opened, Reaction::default());
    let balance = tissue.view().energy;
    assert_eq!(balance.contact_j, 0.0);
    // the work of force and grip is that of the balance, except for the tick that places the jaws
    let error = (pinch.work_j / balance.tool_work_j - 1.0).abs();
    assert!(error < 1e-4, "{} {balance:?}", pinch.work_j);
    assert!(balance.tool_work_j > 0.0 && balance.dissipated_j > 0.0);
    assert!(
        balance.residual_j.abs() < 0.02 * balance.dissipated_j,
        "{balance:?}"
    );
}

#[test]
fn rough_jaws_need_more_work_than_smooth_ones() {
    let [smooth, rough] = [0.0, 0.4].map(|friction| pinch(&mut with(Some(friction))));
    assert!(
        rough.work_j > 1.2 * smooth.work_j,
        "{} {}",
        rough.work_j,
        smooth.work_j
    );
    assert!(rough.closed.grip_force_n > smooth.closed.grip_force_n);
}

#[test]
fn without_a_friction_coefficient_a_tool_with_jaws_is_a_sphere() {
    let (mut one, mut other) = (with(None), with(None));
    assert!(!one.caps().jaws);
    for step in 0..100 {
        let z_m = RADIUS_M - 2e-5 * f64::from(step);
        let plain = tick(&mut other, ball([0.0, 0.0, z_m], RADIUS_M));
        assert_eq!(tick(&mut one, jaws(z_m, 5e-3)), plain);
    }
}

#[test]
fn two_jaws_equal_two_spheres_in_force_grip_and_torque() {
    // two jaws are two spheres at their positions
    let mut pair = with(Some(0.5));
    let params = ExplicitParams {
        friction: 0.5,
        ..pair.model.params
    };
    let mut balls = tissue((8, 4), &params);
    for step in 0..200 {
        let z_m = RADIUS_M - 1e-5 * f64::from(step);
        let opening_m = 6e-3 - 1e-5 * f64::from(step);
        let out_m = 0.5 * opening_m + RADIUS_M;
        let mut both = [Reaction::default(); 2];
        let at = |x_m: f64| ball([x_m, 0.0, z_m], RADIUS_M);
        balls.step(&[at(out_m), at(-out_m)], 1e-3, &mut both);
        let pair_reaction = tick(&mut pair, jaws(z_m, opening_m));
        let [one, other] = both.map(|reaction| reaction.force_n);
        assert_eq!(pair_reaction.force_n, one + other);
        assert_eq!(pair_reaction.grip_force_n, 0.5 * (one - other).x);
        assert_eq!(
            pair_reaction.torque_nm.y,
            -out_m * (one - other).z + (both[0].torque_nm + both[1].torque_nm).y
        );
    }
}
