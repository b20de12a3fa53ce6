//! Where a proxy is: on the surface as it is, behind a tool that rubs, and with one that has left.

use super::super::skin::{Beat, Rod};
use super::*;

const FRICTION: f64 = 0.4;
const RADIUS_M: f64 = 8e-3;

fn place(tissue: &Explicit, at_m: &Vec3) -> [f32; 3] {
    let model = &tissue.model;
    ((at_m - model.origin_m) / model.length_m)
        .map(|x| x as f32)
        .into()
}

/// Depth of a ball in the surface as it is \[m\].
fn depth_m(tissue: &Explicit, at_m: &Vec3) -> f64 {
    let model = &tissue.model;
    let rod = Rod {
        centre: place(tissue, at_m),
        shaft: [0.0; 3],
        radius: (RADIUS_M / model.length_m) as f32,
        give: 0.0,
    };
    let near: Vec<u32> = (0..model.skin.faces.len() as u32).collect();
    let (mut motions, mut touches) = (tissue.state.motions.clone(), Touches::new(&model.skin));
    let beat = Beat::all(1.0, model.slowest);
    let met = model
        .skin
        .press(&near, &rod, &beat, &mut motions, &mut touches);
    f64::from(met.depth) * model.length_m
}

/// Comes down, strokes, and goes away; the way of the tool and what it felt.
fn stroke(friction: f64) -> Vec<(Tool, Reaction, f64)> {
    let params = Params {
        friction,
        damping_hz: 40.0,
        ..Params::default()
    };
    let mut tissue = tissue((8, 4), &params);
    let mut ticks = Vec::new();
    for step in 0..1200 {
        let t_s = 1e-3 * f64::from(step);
        let down_m = (0.02 * t_s).min(4e-3).min(0.02 * (1.1 - t_s)) - 2e-4;
        let x_m = 0.02 * (t_s - 0.25).clamp(0.0, 0.6) - 6e-3;
        let tool = ball([x_m, 1e-3, RADIUS_M - down_m], RADIUS_M);
        let felt = tick(&mut tissue, tool);
        let left_m = depth_m(&tissue, &felt.proxy_m(&tool));
        ticks.push((tool, felt, left_m));
    }
    ticks
}

#[test]
fn a_proxy_is_on_the_surface_and_goes_evenly_over_cell_borders() {
    for friction in [0.0, FRICTION] {
        let ticks = stroke(friction);
        let (mut below, mut jump_m, mut sunk_m) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut slid_m = 0.0_f64;
        for pair in ticks.windows(2) {
            let [(before, old, _), (tool, felt, left_m)] = pair else {
                unreachable!()
            };
            let way_m = tool.position_m - before.position_m;
            let gone_m = felt.proxy_m(tool) - old.proxy_m(before);
            let off_m = (gone_m - way_m).norm();
            jump_m = jump_m.max(off_m);
            if (-5.9e-3..5.9e-3).contains(&tool.position_m.x) {
                slid_m = slid_m.max(off_m);
            }
            if felt.contacts > 0 {
                below = below.max(left_m / felt.penetration_m);
                sunk_m = sunk_m.max(felt.penetration_m);
                assert!(felt.to_proxy_m.dot(&felt.normal) > 0.0, "{felt:?}");
            } else {
                assert_eq!(felt.to_proxy_m, Vec3::zeros());
            }
        }
        println!(
            "mu {friction}: below {below}, jump {jump_m} m, {slid_m} m as it slides, sunk {sunk_m} m"
        );
        assert!(below < 0.3, "{friction}: {below}");
        // never more than a tick's way, of 20 um; over the borders of cells far less
        assert!(
            sunk_m > 2e-5 && jump_m < 2e-5,
            "{friction}: {jump_m} {sunk_m}"
        );
        assert!(slid_m < 5e-6, "{friction}: {slid_m}");
        let (tool, felt, _) = ticks[ticks.len() - 1];
        assert_eq!(
            (felt, felt.proxy_m(&tool)),
            (Reaction::default(), tool.position_m)
        );
    }
}

#[test]
fn a_proxy_lags_a_tool_that_rubs() {
    let (free, rough) = (stroke(0.0), stroke(FRICTION));
    // sticks first, slides later
    for (step, slides) in [(260, false), (800, true)] {
        let (felt, plain) = (&rough[step].1, &free[step].1);
        let ratio = -(felt.force_n.x - plain.force_n.x) / felt.force_n.z;
        let lag = -(felt.to_proxy_m.x - plain.to_proxy_m.x) / felt.penetration_m;
        println!("{step}: force {ratio}, lag {lag}");
        assert!(ratio > 0.0 && ratio < 1.1 * FRICTION, "{step}: {ratio}");
        assert!(slides == (ratio > 0.9 * FRICTION), "{step}: {ratio}");
        // the spring is half as stiff across as along, and the greatest depth some four times the mean
        assert!(
            lag > 0.4 * ratio && lag < 2.5 * ratio,
            "{step}: {ratio} {lag}"
        );
    }
}

#[test]
fn a_proxy_of_what_is_no_tool_is_finite() {
    let mut tissue = tissue((4, 1), &Params::default());
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let tool = ball([0.0, bad, 0.0], RADIUS_M);
        let felt = tick(&mut tissue, tool);
        assert_eq!(felt, Reaction::default());
        assert!(felt.proxy_m(&tool).iter().all(|x| x.is_finite()));
    }
}
