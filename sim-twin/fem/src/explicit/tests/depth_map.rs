//! Tests of the depth map: work, gradient and reach.

use super::*;
use palpate_twin::law::Viscosity;

/// Map of a ball of 8 mm over the mesh of [`tissue`], with another depth over nodes than over faces.
fn map(tissue: &ExplicitTissue) -> DepthMap {
    let knot = |depth_m: f64, stretch: [f64; PLACES]| DepthKnot {
        depth_m,
        model_m: stretch.map(|stretch| stretch * depth_m),
        slope: stretch,
        doubt: 0.02,
        contact_share: 0.2,
    };
    let [wide_m, long_m, _] = tissue.model.grids[0]
        .edge
        .map(|edge| edge * tissue.model.length_m);
    DepthMap {
        radius_m: 8e-3,
        stiffness_npm: 1e6,
        node_m: [0.0; 2],
        edge_m: [wide_m, long_m],
        half_m: [0.04; 2],
        knots: vec![
            knot(1e-3, [0.8, 0.85, 0.85, 0.9, 0.83]),
            knot(4e-3, [0.9, 0.95, 0.93, 1.0, 0.95]),
        ],
    }
}

/// Map that leaves the depth of the same ball.
fn identity(tissue: &ExplicitTissue) -> DepthMap {
    DepthMap {
        knots: Vec::new(),
        ..map(tissue)
    }
}

fn ball(position_m: Vec3) -> Tool {
    Tool {
        stiffness_npm: 1e6,
        ..rod(position_m.into(), 8e-3, [0.0; 3])
    }
}

/// Presses and slides about; returns the tissue, and the work of the reactions on it \[J\].
fn roam(mut tissue: ExplicitTissue) -> (ExplicitTissue, f64) {
    let (mut reaction, mut work_j) = ([Reaction::default()], 0.0);
    let mut before_m = Vec3::new(0.0, 0.0, 8.1e-3);
    for step in 0..400 {
        let turn = 0.02 * f64::from(step);
        let depth_m = 3e-3 * (1.0 - turn.cos());
        let at_m = Vec3::new(
            4e-3 * turn.sin(),
            3e-3 * (1.7 * turn).sin(),
            8.1e-3 - depth_m,
        );
        tissue.step(&[ball(at_m)], 1e-3, &mut reaction);
        work_j -= reaction[0].force_n.dot(&(at_m - before_m));
        before_m = at_m;
    }
    (tissue, work_j)
}

#[test]
fn work_of_the_reactions_is_that_of_the_energy_balance() {
    let plain = tissue((8, 1), &ExplicitParams::default());
    let map = Arc::new(map(&plain));
    let (tissue, work_j) = roam(plain.with_depth_map(map));
    let balance_j = tissue.view().energy.tool_work_j;
    assert!(work_j > 1e-5, "{work_j}");
    assert!(
        (work_j / balance_j - 1.0).abs() < 1e-9,
        "{work_j} {balance_j}"
    );
}

#[test]
fn map_moves_only_its_own_ball() {
    let plain = tissue((8, 1), &ExplicitParams::default());
    let mapped = plain.clone().with_depth_map(Arc::new(map(&plain)));
    let pressed = |tissue: &ExplicitTissue, tool: Tool| {
        let (mut tissue, mut reaction) = (tissue.clone(), [Reaction::default()]);
        for _ in 0..50 {
            tissue.step(&[tool], 1e-3, &mut reaction);
        }
        reaction[0]
    };
    let own = ball(Vec3::new(0.0, 0.0, 6e-3));
    let other = Tool {
        radius_m: 7e-3,
        ..own
    };
    let lying = Tool {
        shaft_m: Vec3::new(0.02, 0.0, 0.0),
        ..own
    };
    for tool in [other, lying] {
        assert_eq!(pressed(&plain, tool), pressed(&mapped, tool));
    }
    assert_ne!(pressed(&plain, own), pressed(&mapped, own));
}

#[test]
fn estimate_is_larger_between_the_places_of_the_map_at_small_depths_and_at_an_edge() {
    let plain = tissue((16, 1), &ExplicitParams::default());
    let map = Arc::new(map(&plain));
    let quarter_m = map.edge_m.map(|edge_m| 0.25 * edge_m);
    let along_m = [quarter_m[0], 0.0];
    let share = |[x_m, y_m]: [f64; 2], depth_m: f64| {
        let (mut tissue, mut reaction) = (plain.clone(), [Reaction::default()]);
        tissue = tissue.with_depth_map(Arc::clone(&map));
        for _ in 0..50 {
            let tool = ball(Vec3::new(x_m, y_m, 8e-3 - depth_m));
            tissue.step(&[tool], 1e-3, &mut reaction);
        }
        reaction[0].mesh_error_n.unwrap() / reaction[0].force_n.norm()
    };
    for (at_m, depth_m, expected) in [
        ([0.0; 2], 2e-3, 0.0052),
        (along_m, 2e-3, 0.0252),
        (quarter_m, 2e-3, 0.0052),
        ([0.0; 2], 1e-3, 0.0058),
        ([0.0375, 0.0], 1e-3, 0.0058 + 0.03 * 13.5 / 16.0),
    ] {
        let found = share(at_m, depth_m);
        assert!(
            (found - expected).abs() < 1e-9,
            "{at_m:?} {depth_m}: {found}"
        );
    }
}

/// A ball that was absent, in the middle of the top, counted as one that came from the origin.
#[test]
fn issue_inserted_ball_had_the_slope_of_a_long_way() {
    let plain = tissue((8, 1), &ExplicitParams::default());
    let mut tissue = plain.clone().with_depth_map(Arc::new(map(&plain)));
    let tool = ball(Vec3::new(0.0, 0.0, 7e-3));
    let mut reaction = [Reaction::default()];
    tissue.step(&[], 1e-3, &mut []);
    tissue.step(&[tool], 1e-3, &mut reaction);
    let mut plain = plain.clone().with_depth_map(Arc::new(identity(&plain)));
    let mut own = [Reaction::default()];
    plain.step(&[ball(tissue.state.tools[0].position_m)], 1e-3, &mut own);
    // the depth in the model is 0.8 times that in the tissue
    let ratio = reaction[0].force_n.z / own[0].force_n.z;
    assert!((ratio - 0.8).abs() < 0.02, "{ratio}");
}

#[test]
fn stiffness_and_proxy_are_those_of_the_mapped_ball() {
    let plain = tissue((8, 1), &ExplicitParams::default());
    let (bent, unbent, steady) = (map(&plain), identity(&plain), plain.clone());
    let held = |depth_m: f64, map: &DepthMap| {
        let mut reaction = [Reaction::default()];
        let mut tissue = steady.clone().with_depth_map(Arc::new(map.clone()));
        for _ in 0..400 {
            let tool = ball(Vec3::new(0.0, 0.0, 8e-3 - depth_m));
            tissue.step(&[tool], 1e-3, &mut reaction);
        }
        (reaction[0], tissue.state.tools[0].position_m.z)
    };
    let (here, model_z_m) = held(2e-3, &bent);
    let place_m = 8e-3 - model_z_m;
    let (alone, _) = held(place_m, &unbent);
    let proxy_m = |reaction: &Reaction, z_m: f64| z_m + reaction.proxy_offset_m.z;
    assert!((proxy_m(&here, 6e-3) - proxy_m(&alone, model_z_m)).abs() < 1e-6);
    // derivative of F(g(d)) g'(d)
    let model_m = |depth_m: f64| {
        let moved = bent.in_model(&ball(Vec3::new(0.0, 0.0, 8e-3 - depth_m)), 0.0);
        8e-3 - moved.position_m.z
    };
    let [low_m, middle_m, high_m] = [1.99e-3, 2e-3, 2.01e-3].map(model_m);
    let slope = (high_m - low_m) / 2e-5;
    let curvature_pm = (high_m - 2.0 * middle_m + low_m) / 1e-10;
    let expected = slope * slope * alone.stiffness_npm + curvature_pm * alone.force_n.z;
    let found = here.stiffness_npm;
    assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    assert!(
        curvature_pm * alone.force_n.z > 0.02 * found,
        "{found} {expected}"
    );
}

#[test]
fn model_depth_is_that_of_the_knot_at_each_place_of_a_face() {
    let map = map(&tissue((8, 1), &ExplicitParams::default()));
    let places = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5], [0.25, 0.25]];
    for ([x, y], expected_m) in places.into_iter().zip(map.knots[0].model_m) {
        let at_m = Vec3::new(x * map.edge_m[0], y * map.edge_m[1], 7e-3);
        let model_m = 8e-3 - map.in_model(&ball(at_m), 0.0).position_m.z;
        assert!((model_m - expected_m).abs() < 1e-9, "{x} {y}: {model_m}");
    }
}

#[test]
fn lag_of_a_viscous_contact_adds_work_and_balances() {
    let viscosity = Viscosity {
        shear_pas: 5.0,
        ..viscous::branch()
    };
    let work_j = |contact_share: f64| {
        let plain = viscous::soft((8, 1), viscosity, &ExplicitParams::default());
        let mut map = map(&plain);
        for knot in &mut map.knots {
            knot.contact_share = contact_share;
        }
        let (tissue, work_j) = roam(plain.with_depth_map(Arc::new(map)));
        let balance = tissue.view().energy;
        assert!((work_j / balance.tool_work_j - 1.0).abs() < 1e-9);
        assert!(balance.residual_j.abs() < 0.01 * work_j, "{balance:?}");
        work_j
    };
    let (with_j, without_j) = (work_j(0.2), work_j(0.0));
    assert!(with_j > 1.05 * without_j, "{with_j} {without_j}");
}
