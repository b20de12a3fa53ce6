//! Tests of the proxy: on the present surface, behind a tool with friction, and after withdrawal.

use super::super::skin::{DueForces, ToolRod};
use super::*;

const FRICTION: f64 = 0.4;
const RADIUS_M: f64 = 8e-3;

fn place(tissue: &ExplicitTissue, at_m: &Vec3) -> [f32; 3] {
    let model = &tissue.model;
    ((at_m - model.origin_m) / model.length_m)
        .map(|x| x as f32)
        .into()
}

/// Returns the depth of a sphere in the present surface \[m\].
fn depth_m(tissue: &ExplicitTissue, at_m: &Vec3) -> f64 {
    let model = &tissue.model;
    let rod = ToolRod {
        centre: place(tissue, at_m),
        shaft: [0.0; 3],
        radius: (RADIUS_M / model.length_m) as f32,
        boundary_compliance: 0.0,
        spread: 0.0,
    };
    let near: Vec<u32> = (0..model.skin.faces.len() as u32).collect();
    let (mut motions, mut touches) = (tissue.state.motions.clone(), Vec::new());
    let due_faces = DueForces::all(1.0, model.slowest);
    let contact = model
        .skin
        .press(&near, &rod, &due_faces, &mut motions, &mut touches);
    f64::from(contact.depth) * model.length_m
}

/// Presses, slides and withdraws; returns tool, reaction and depth of the proxy per tick.
fn press_and_slide(friction: f64) -> Vec<(Tool, Reaction, f64)> {
    let params = ExplicitParams {
        friction,
        damping_per_s: 40.0,
        ..ExplicitParams::default()
    };
    let mut tissue = tissue((8, 4), &params);
    let mut ticks = Vec::new();
    for step in 0..1200 {
        let t_s = 1e-3 * f64::from(step);
        let down_m = (0.02 * t_s).min(4e-3).min(0.02 * (1.1 - t_s)) - 2e-4;
        let x_m = 0.02 * (t_s - 0.25).clamp(0.0, 0.6) - 6e-3;
        let tool = ball([x_m, 1e-3, RADIUS_M - down_m], RADIUS_M);
        let reaction = tick(&mut tissue, tool);
        let left_m = depth_m(&tissue, &proxy_m(&reaction, &tool));
        ticks.push((tool, reaction, left_m));
    }
    ticks
}

/// Returns the position of the proxy of a tool.
fn proxy_m(reaction: &Reaction, tool: &Tool) -> Vec3 {
    tool.position_m + reaction.proxy_offset_m
}

#[test]
fn a_proxy_is_on_the_surface_and_moves_smoothly_over_cell_borders() {
    for friction in [0.0, FRICTION] {
        let ticks = press_and_slide(friction);
        let (mut below, mut jump_m, mut penetration_m) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut slid_m = 0.0_f64;
        for pair in ticks.windows(2) {
            let [(before, old, _), (tool, reaction, left_m)] = pair else {
                unreachable!()
            };
            let way_m = tool.position_m - before.position_m;
            let gone_m = proxy_m(reaction, tool) - proxy_m(old, before);
            let off_m = (gone_m - way_m).norm();
            jump_m = jump_m.max(off_m);
            if (-5.9e-3..5.9e-3).contains(&tool.position_m.x) {
                slid_m = slid_m.max(off_m);
            }
            if reaction.contacts > 0 {
                below = below.max(left_m / reaction.penetration_m);
                penetration_m = penetration_m.max(reaction.penetration_m);
                assert!(
                    reaction.proxy_offset_m.dot(&reaction.normal) > 0.0,
                    "{reaction:?}"
                );
            } else {
                assert_eq!(reaction.proxy_offset_m, Vec3::zeros());
            }
        }
        println!(
            "mu {friction}: below {below}, jump {jump_m} m, {slid_m} m as it slides, penetration {penetration_m} m"
        );
        assert!(below < 0.3, "{friction}: {below}");
        // never more than a tick's displacement, 20 um; far less over the borders of cells
        assert!(
            penetration_m > 2e-5 && jump_m < 2e-5,
            "{friction}: {jump_m} {penetration_m}"
        );
        assert!(slid_m < 5e-6, "{friction}: {slid_m}");
        assert_eq!(ticks[ticks.len() - 1].1, Reaction::default());
    }
}

#[test]
fn a_proxy_lags_a_tool_with_friction() {
    let (free, rough) = (press_and_slide(0.0), press_and_slide(FRICTION));
    // stick first, slip later
    for (step, slides) in [(260, false), (800, true)] {
        let (reaction, plain) = (&rough[step].1, &free[step].1);
        let ratio = -(reaction.force_n.x - plain.force_n.x) / reaction.force_n.z;
        let lag = -(reaction.proxy_offset_m.x - plain.proxy_offset_m.x) / reaction.penetration_m;
        println!("{step}: force {ratio}, lag {lag}");
        assert!(ratio > 0.0 && ratio < 1.1 * FRICTION, "{step}: {ratio}");
        assert!(slides == (ratio > 0.9 * FRICTION), "{step}: {ratio}");
        // the tangential spring has half the normal stiffness, and the largest depth is about four times the
        // mean
        assert!(
            lag > 0.4 * ratio && lag < 2.5 * ratio,
            "{step}: {ratio} {lag}"
        );
    }
}

#[test]
fn a_proxy_of_an_invalid_tool_is_finite() {
    let mut tissue = tissue((4, 1), &ExplicitParams::default());
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let tool = ball([0.0, bad, 0.0], RADIUS_M);
        let reaction = tick(&mut tissue, tool);
        assert_eq!(reaction, Reaction::default());
    }
}
