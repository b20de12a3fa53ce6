//! Fast tools on the built-in scenes: no tool passes through a surface, and no press yields energy.
//!
//! Tools move at the speed of a strike; the hand feels the force of each
//! step, and its work is computed outside the tissue, not taken from its energy balance.

use palpate_scene::{Scene, load};
use palpate_twin::{Reaction, Tissue, Tool, Vec3};

const TICK_S: f64 = 1e-3;

fn step(tissue: &mut dyn Tissue, tool: Tool) -> Reaction {
    let mut reaction = [Reaction::default()];
    tissue.step(&[tool], TICK_S, &mut reaction);
    reaction[0]
}

/// The scene's tool, or a thinner one, with its lowest point at a depth \[m\].
fn at(scene: &Scene, radius_m: f64, x_m: f64, depth_m: f64) -> Tool {
    let mut tool = scene.tool_at(Vec3::new(x_m, 0.0, radius_m - depth_m));
    tool.radius_m = radius_m;
    tool
}

/// Force of a press to a depth at a speed, after a hold until the tissue is at rest \[N\].
fn held_n(scene: &Scene, radius_m: f64, depth_m: f64, speed_mps: f64) -> f64 {
    let mut tissue = scene.build().expect("built in");
    let mut last = Reaction::default();
    // it starts 20 mm above
    for tick in 0..1500 {
        let down_m = (speed_mps * TICK_S * f64::from(tick) - 0.02).min(depth_m);
        last = step(tissue.as_mut(), at(scene, radius_m, 1e-4, down_m));
        // tissue may continue to move when the tool stops
        if (1e-3..depth_m).contains(&down_m) {
            let case = format!("{} {radius_m} m at {speed_mps} m/s", scene.name);
            assert!(last.contacts > 0, "{case}: lost at {down_m} m, tick {tick}");
        }
    }
    last.force_n.z
}

#[test]
fn a_strike_of_1_mps_ends_where_a_slow_press_does() {
    for (name, radius_m, depth_m) in [
        ("block", 5e-3, 0.01),
        ("layered", 8e-3, 0.008),
        // thin tips into skin on fat, the most compliant case
        ("layered", 4e-3, 0.006),
        ("layered", 3e-3, 0.006),
    ] {
        let scene = load(name).expect("built in");
        let slow_n = held_n(&scene, radius_m, depth_m, 0.05);
        let fast_n = held_n(&scene, radius_m, depth_m, 1.0);
        println!("{name} {radius_m} m: slow {slow_n} N, fast {fast_n} N");
        assert!(
            slow_n > 0.01 && (fast_n / slow_n - 1.0).abs() < 0.05,
            "{name} {radius_m} m: {slow_n} N and {fast_n} N"
        );
    }
}

/// Work returned to the hand beyond its input, and its input \[J\], in a press and release.
fn energy_returned_j(scene: &Scene, depth_m: f64, speed_mps: f64) -> (f64, f64) {
    let mut tissue = scene.build().expect("built in");
    let radius_m = scene.tool_radius_m;
    let (mut given_j, mut put_j) = (0.0, 0.0_f64);
    let ticks = (2.0 * (depth_m + 0.002) / speed_mps / TICK_S) as i32 + 100;
    let mut last_m = -0.002;
    for tick in 0..ticks {
        let travel_m = speed_mps * TICK_S * f64::from(tick);
        let depth_m = (travel_m - 0.002)
            .min(2.0 * depth_m + 0.002 - travel_m)
            .max(-0.002);
        let reaction = step(tissue.as_mut(), at(scene, radius_m, 1e-4, depth_m));
        given_j -= reaction.force_n.z * (depth_m - last_m);
        put_j = put_j.max(-given_j);
        last_m = depth_m;
    }
    (given_j, put_j)
}

#[test]
fn press_and_release_return_no_energy_at_any_speed() {
    for (name, depth_m) in [("block", 0.01), ("layered", 0.006)] {
        let scene = load(name).expect("built in");
        for speed_mps in [0.05, 0.2, 0.5] {
            let (given_j, put_j) = energy_returned_j(&scene, depth_m, speed_mps);
            println!("{name} {speed_mps} m/s: {given_j} of {put_j} J");
            assert!(
                put_j > 1e-4 && given_j <= 0.0,
                "{name} {speed_mps} m/s: {given_j} of {put_j} J"
            );
        }
    }
}
