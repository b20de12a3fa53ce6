//! Tools: rods, coarse places, wild ones; and states that are put back.

use super::super::skin::{DEEPEST, STRETCHED};
use super::*;

#[test]
fn a_place_outside_the_fine_zone_is_felt_as_on_its_own_grid() {
    // its faces push less often, so for more sub-steps
    let run = |levels: usize| {
        let nested = nested(0.1, (8, levels), [-0.3, -0.3]);
        let params = Params {
            friction: 0.3,
            classes: 3,
            ..Params::default()
        };
        let mut tissue = Explicit::new(&nested, &even(&nested, 5e3), &params).unwrap();
        let mut last = Reaction::default();
        for step in 0..700 {
            let depth_m = (2e-5 * f64::from(step)).min(5e-3);
            let x_m = 0.02 + 2e-5 * (f64::from(step) - 400.0).max(0.0);
            last = tick(&mut tissue, ball([x_m, 0.02, 0.02 - depth_m], 0.02));
        }
        (last, tissue)
    };
    let ((even, _), (nested, tissue)) = (run(1), run(3));
    assert_eq!(tissue.model.slowest, 2);
    let books = tissue.view().ledger;
    assert!(
        books.residual_j.abs() < 0.01 * books.tool_work_j,
        "{books:?}"
    );
    for axis in [0, 2] {
        let (found, exact) = (nested.force_n[axis], even.force_n[axis]);
        assert!(
            (found / exact - 1.0).abs() < 0.03,
            "{axis}: {found} {exact}"
        );
    }
}

#[test]
fn s4_p30_a_lying_rod_presses_with_its_length_and_turns_about_its_end() {
    let run = |long_m: f64, tilt: f64| {
        let mut tissue = tissue((10, 2), &Params::default());
        let mut last = Reaction::default();
        for step in 0..400 {
            let depth_m = (2e-5 * f64::from(step)).min(3e-3);
            let at_m = [-0.5 * long_m, 0.0, 5e-3 - depth_m];
            last = tick(&mut tissue, rod(at_m, 5e-3, [long_m, 0.0, tilt * long_m]));
        }
        last
    };
    let (point, short, long) = (run(0.0, 0.0), run(0.02, 0.0), run(0.04, 0.0));
    let gain = (long.force_n.z - short.force_n.z) / (short.force_n.z - point.force_n.z);
    assert!((0.6..1.2).contains(&gain), "{gain}");
    assert_eq!(point.torque_nm, Vec3::zeros());
    for (rod, long_m) in [(short, 0.02), (long, 0.04)] {
        // the middle of the rod is pushed up
        let expected_nm = -0.5 * long_m * rod.force_n.z;
        assert!(
            (rod.torque_nm.y / expected_nm - 1.0).abs() < 0.05,
            "{rod:?}"
        );
        assert!(rod.torque_nm.x.abs() < 0.01 * rod.torque_nm.y.abs());
    }
    // lifted at its far end it turns less about the near one
    let tilted = run(0.04, 0.2);
    let arm = |rod: &Reaction| -rod.torque_nm.y / rod.force_n.z;
    assert!(
        arm(&tilted) > 0.0 && arm(&tilted) < 0.7 * arm(&long),
        "{tilted:?}"
    );
}

#[test]
fn a_thawed_tissue_goes_on_bit_by_bit() {
    let params = Params {
        friction: 0.4,
        ..Params::default()
    };
    let mut tissue = tissue((6, 3), &params);
    let at_m = |step: u32| {
        let t_s = 1e-3 * f64::from(step);
        [0.05 * t_s, 0.02 * t_s, 0.005 - (0.05 * t_s).min(0.01)]
    };
    // deep enough that there is added mass
    for step in 0..200 {
        tick(&mut tissue, ball(at_m(step), 5e-3));
    }
    assert!(tissue.added_mass_kg() > 0.0);
    let mut at = Snapshot::default();
    tissue.freeze(&mut at);
    let mut copy = tissue.clone();
    let run = |tissue: &mut Explicit| {
        for step in 200..240 {
            tick(tissue, ball(at_m(step), 5e-3));
        }
        let mut end = Snapshot::default();
        tissue.freeze(&mut end);
        end
    };
    let first = run(&mut tissue);
    assert_eq!(run(&mut copy), first);
    // and from a state without added mass
    for _ in 0..200 {
        tick(&mut tissue, ball([0.0, 0.0, 0.1], 5e-3));
    }
    assert_eq!(tissue.added_mass_kg(), 0.0);
    tissue.thaw(&at).unwrap();
    assert_eq!(run(&mut tissue), first);
    at.numbers.pop();
    assert!(tissue.thaw(&at).is_err());
}

/// A tool without sense.
fn wild(noise: &mut Noise, last: &Tool) -> Tool {
    let mut tool = match (noise.next() * 8.0) as u32 {
        // 10 m/s
        0..=3 => {
            let way = Vec3::from_fn(|_, _| noise.next() - 0.5).normalize() * 0.01;
            let mut tool = *last;
            tool.position_m += way;
            tool
        }
        4..=5 => {
            let radius_m = [0.0, 0.002, 0.01, 0.03, 0.3][(noise.next() * 5.0) as usize];
            let x = [noise.next(), noise.next(), noise.next()];
            ball(
                [0.1 * x[0] - 0.05, 0.1 * x[1] - 0.05, 0.1 * x[2] - 0.06],
                radius_m,
            )
        }
        6 => {
            let mut tool = *last;
            tool.jaws = (noise.next() < 0.3).then(|| palpate_twin::twin::Jaws {
                opening_m: 0.05 * noise.next() - 0.01,
                opening_velocity_mps: 0.0,
                closed: false,
            });
            if tool.radius_m > 0.0 {
                tool.shaft_m = Vec3::from_fn(|_, _| 0.2 * noise.next() - 0.1);
            }
            tool.stiffness_npm = 10.0_f64.powf(12.0 * noise.next() - 3.0);
            tool
        }
        _ => {
            let mut tool = *last;
            let bad = [f64::NAN, f64::INFINITY, -1.0, 1e300, 1e5, 1e-30];
            let pick = bad[(noise.next() * 6.0) as usize];
            match (noise.next() * 3.0) as u32 {
                0 => tool.position_m.x = pick,
                1 => tool.radius_m = pick,
                _ => tool.shaft_m.y = pick,
            }
            tool
        }
    };
    if tool.position_m.norm().is_nan() || tool.position_m.norm() > 0.3 {
        tool = ball([0.0; 3], 0.01);
    }
    tool
}

/// Ticks with wild tools on a small block, each held against the bound; then it must find its rest.
fn run_wild(grids: (u32, usize), ticks: u32) {
    let params = Params {
        friction: 0.5,
        jaw_friction: Some(0.3),
        ..Params::default()
    };
    let mut tissue = tissue(grids, &params);
    let mut noise = Noise(7);
    let mut tools = [ball([0.0; 3], 0.01); 4];
    let mut reactions = [Reaction::default(); 4];
    // the pressure times the area of the top, both where they end, and friction across it
    let moduli = Material::new(5e3, 0.45, 1e3).unwrap().moduli();
    let pressure_pa = DEEPEST * params.contact_stiffness * moduli.mu_pa;
    let bound_n = 1.001 * pressure_pa * STRETCHED * 0.1 * 0.1 * 1.0_f64.hypot(params.friction);
    let mut most = 0.0_f64;
    for _ in 0..ticks {
        for tool in &mut tools {
            *tool = wild(&mut noise, tool);
        }
        // two in one place
        tools[1] = tools[0];
        let count = (noise.next() * 5.0) as usize;
        tissue.step(&tools[..count], 2e-3 * noise.next(), &mut reactions);
        for (tool, reaction) in tools.iter().zip(&reactions) {
            let (bodies, opening_m) = tool.jaws.map_or((1.0, 0.0), |jaws| (2.0, jaws.opening_m));
            let share = reaction.force_n.norm() / (bodies * bound_n);
            assert!(share <= 1.0, "{tool:?} {reaction:?}");
            // what is touched is inside the tool
            let arm_m = 2.0 * tool.radius_m + tool.shaft_m.norm() + opening_m.abs();
            let within = reaction.torque_nm.norm() <= bodies * bound_n * arm_m;
            // of a tool that is no tool nothing is felt
            let nothing = *reaction == Reaction::default();
            assert!(within || nothing, "{tool:?} {reaction:?}");
            assert!(reaction.grip_n.abs() <= bound_n, "{tool:?} {reaction:?}");
            assert!(reaction.stiffness_npm.is_finite() && reaction.penetration_m.is_finite());
            most = most.max(share);
        }
    }
    // a bound that nothing comes near would say nothing
    assert!(most > 0.05, "{most} of {bound_n} N");
    for _ in 0..3000 {
        tissue.step(&[], 1e-3, &mut reactions);
    }
    let view = tissue.view();
    let off = view.positions_m.iter().zip(view.rest_m);
    let most_m = off.map(|(x, rest)| (x - rest).norm()).fold(0.0, f64::max);
    assert!(most_m < 1e-4, "{most_m} {:?}", view.ledger);
    assert_eq!(tissue.added_mass_kg(), 0.0);
}

#[test]
fn wild_tools_do_no_harm() {
    run_wild((3, 2), 100_000);
}

#[test]
#[ignore = "takes minutes"]
fn ten_million_wild_ticks_do_no_harm() {
    run_wild((2, 2), 10_000_000);
}

#[test]
fn a_time_without_sense_does_nothing() {
    let mut tissue = tissue((4, 1), &Params::default());
    let (mut before, mut after) = (Snapshot::default(), Snapshot::default());
    tissue.freeze(&mut before);
    let mut reaction = [Reaction::default()];
    for dt_s in [0.0, -1e-3, f64::NAN, f64::INFINITY, 0.02] {
        tissue.step(&[ball([0.0; 3], 0.01)], dt_s, &mut reaction);
        assert_eq!(reaction[0], Reaction::default());
    }
    tissue.freeze(&mut after);
    assert_eq!(before, after);
}

/// A rod across the top whose other end goes round.
#[test]
fn issue_a_rod_that_turned_was_set_down_anew_every_tick() {
    let mut tissue = tissue((8, 3), &Params::default());
    let rod = |angle: f64, depth_m: f64| Tool {
        shaft_m: 0.03 * Vec3::new(angle.cos(), angle.sin(), 0.0),
        ..ball([0.0, 0.0, 5e-3 - depth_m], 5e-3)
    };
    for step in 0..200 {
        tick(&mut tissue, rod(0.0, 1.5e-5 * f64::from(step)));
    }
    let before = tissue.view().ledger;
    for step in 0..400 {
        tick(&mut tissue, rod(2e-3 * f64::from(step), 3e-3));
    }
    let books = tissue.view().ledger;
    // what is set down anew brings its energy along, at no way
    let unexplained_j = (books.residual_j - before.residual_j).abs();
    let moved_j = books.stored_j().max(before.stored_j());
    assert!(unexplained_j < 0.02 * moved_j, "{books:?}");
    assert!(tissue.state.tools[0].goes_on_to(&rod(0.8, 3e-3)));
}
