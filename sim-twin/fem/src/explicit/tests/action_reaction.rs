//! Tests of action and reaction in every tick: reaction forces equal the change of momentum.
//!
//! The tissue is fixed at its bottom, whose reaction is not visible. Until the first wave has arrived there,
//! the momentum of all nodes changes only by the forces of tools.

use super::*;
use palpate_twin::twin::Jaws;

/// Ticks before the precursor of the first wave, at 4.4 m/s, arrives 0.3 m below.
const TICKS: u32 = 44;

/// Returns a block of 0.3 m without damping.
fn block(classes: usize, friction: f64) -> ExplicitTissue {
    let nested = nested(0.3, (16, 3), [0.0; 2]);
    let params = ExplicitParams {
        damping_per_s: 0.0,
        jaw_friction: (friction > 0.0).then_some(friction),
        friction,
        classes,
        ..ExplicitParams::default()
    };
    ExplicitTissue::new(&nested, &uniform_materials(&nested, 5e3), &params).unwrap()
}

/// Returns momentum and its moment about a position \[N s\], \[N m s\], with the masses of the last tick.
fn momentum(tissue: &ExplicitTissue, masses: &[Vec<f32>], about_m: &Vec3) -> [Vec3; 2] {
    let model = &tissue.model;
    let (mut sum, mut turn) = (Vec3::zeros(), Vec3::zeros());
    let about = (about_m - model.origin_m) / model.length_m;
    for ((grid, motion), masses) in model.grids.iter().zip(&tissue.state.motions).zip(masses) {
        for node in 0..grid.count() {
            let of = |field: &[Vec<f32>; 3]| Vec3::from_fn(|axis, _| f64::from(field[axis][node]));
            let push = of(&motion.v) * f64::from(masses[node]);
            sum += push;
            turn += (Vec3::from(grid.rest_position(node)) + of(&motion.u) - about).cross(&push);
        }
    }
    let unit = model.mass_kg() * model.length_m / model.time_s;
    [sum * unit, turn * (unit * model.length_m)]
}

fn masses(tissue: &ExplicitTissue) -> Vec<Vec<f32>> {
    let motions = tissue.state.motions.iter();
    motions.map(|motion| motion.mass.clone()).collect()
}

/// Runs tools. Returns the largest error per tick of the impulse over the largest impulse, of the moment over
/// that impulse times 10 mm, and of the impulse over the tick's own impulse where that is not small.
fn largest_errors(mut tissue: ExplicitTissue, tools: impl Fn(f64) -> Vec<Tool>) -> [f64; 3] {
    let dt_s = 1e-3;
    let mut ticks = Vec::new();
    for tick in 1..=TICKS {
        let now = tools(f64::from(tick) * dt_s);
        let middle_m = now.iter().map(|tool| tool.position_m).sum::<Vec3>() / now.len() as f64;
        let masses = masses(&tissue);
        let [before, turn] = momentum(&tissue, &masses, &middle_m);
        let mut reactions = vec![Reaction::default(); now.len()];
        tissue.step(&now, dt_s, &mut reactions);
        let [after, moment_after] = momentum(&tissue, &masses, &middle_m);
        let (mut push, mut angular_impulse) = (Vec3::zeros(), Vec3::zeros());
        for (tool, reaction) in now.iter().zip(&reactions) {
            push += reaction.force_n * dt_s;
            let arm_m = tool.position_m - middle_m;
            angular_impulse += (reaction.torque_nm + arm_m.cross(&reaction.force_n)) * dt_s;
        }
        let off = (after - before + push).norm();
        ticks.push((
            off,
            (moment_after - turn + angular_impulse).norm(),
            push.norm(),
        ));
    }
    let most = ticks.iter().map(|tick| tick.2).fold(0.0, f64::max);
    assert!(most > 1e-6, "{most} N s");
    let greatest = |of: &dyn Fn(&(f64, f64, f64)) -> f64| ticks.iter().map(of).fold(0.0, f64::max);
    [
        greatest(&|tick| tick.0 / most),
        greatest(&|tick| tick.1 / (0.01 * most)),
        greatest(&|tick| tick.0 / tick.2.max(0.02 * most)),
    ]
}

/// Vertical path: down at 1 m/s, held, and up again.
fn strike_m(t_s: f64) -> f64 {
    t_s.min(0.014).min(0.038 - t_s)
}

/// Lateral path: oscillation at up to 0.6 m/s.
fn sway_m(t_s: f64) -> f64 {
    0.006 * (100.0 * t_s).sin()
}

fn jaws(place_m: [f64; 3], opening_m: f64) -> Tool {
    Tool {
        jaws: Some(Jaws {
            opening_m,
            opening_velocity_mps: 0.0,
            closed: false,
        }),
        ..ball(place_m, 0.008)
    }
}

#[test]
fn reaction_impulse_equals_tissue_momentum_in_every_tick() {
    type Tools = fn(f64) -> Vec<Tool>;
    let cases: [(&str, f64, Tools); 5] = [
        ("strike", 0.0, |t_s| {
            vec![ball([1e-3, 0.0, 0.02 - strike_m(t_s)], 0.02)]
        }),
        ("stroke", 0.4, |t_s| {
            vec![ball([sway_m(t_s), 0.0, 0.02 - 0.4 * strike_m(t_s)], 0.02)]
        }),
        ("rod", 0.3, |t_s| {
            let shaft_m = [0.04, 2.0 * sway_m(t_s), 0.2 * sway_m(t_s)];
            vec![rod([-0.02, 0.0, 0.01 - 0.3 * strike_m(t_s)], 0.01, shaft_m)]
        }),
        ("jaws", 0.4, |t_s| {
            let opening_m = 0.01 - 0.2 * t_s;
            vec![jaws(
                [0.0, sway_m(t_s), 0.008 - 0.4 * strike_m(t_s)],
                opening_m,
            )]
        }),
        ("two", 0.2, |t_s| {
            // the second one is placed late and withdrawn
            let mut tools = vec![ball([0.0, sway_m(t_s), 0.02 - 0.3 * strike_m(t_s)], 0.02)];
            if (0.0105..0.0305).contains(&t_s) {
                tools.push(ball([0.01, 0.0, 0.009 + 0.1 * strike_m(t_s)], 0.01));
            }
            tools
        }),
    ];
    for classes in [1, 3] {
        for (name, friction, tools) in cases {
            let found = largest_errors(block(classes, friction), tools);
            println!("{name}, {classes} classes: {found:?}");
            let [push, angular_impulse, own] = found;
            assert!(push < 2e-5 && own < 1e-3, "{name}, {classes}: {found:?}");
            assert!(angular_impulse < 0.05, "{name}, {classes}: {found:?}");
        }
    }
}
