//! Estimates of mesh error and slope in a reaction, against reference values.

use super::*;
use palpate_scene::{Block, SceneBody, load};

/// Converged forces of the block test \[N\] by depth \[mm\] (tissue-engines 3.1).
const REFERENCE: [(u32, f64); 4] = [(1, 0.0185), (2, 0.0504), (5, 0.1805), (10, 0.4115)];

/// Block and tool of a built-in scene.
fn scene(name: &str) -> (Block, f64, f64) {
    let scene = load(name).expect("a scene");
    let SceneBody::Block(block) = scene.body else {
        panic!("{name} is no block");
    };
    (block, scene.tool_radius_m, scene.tool_stiffness_npm)
}

/// Block and tool with other cell sizes; finer cells under the contact only.
fn with_cells(name: &str, times: f64) -> (Block, f64, f64) {
    let (mut block, radius_m, stiffness_npm) = scene(name);
    block.zone.cell_m *= times;
    if times < 1.0 {
        block.zone.half_m = block.zone.half_m.map(|half_m| half_m.min(0.012));
        block.zone.levels += 1;
    }
    (block, radius_m, stiffness_npm)
}

/// Reactions of a press at a position at 20 um a tick, by tick.
fn press(
    (block, radius_m, stiffness_npm): &(Block, f64, f64),
    place_m: f64,
    ticks: u32,
) -> Vec<Reaction> {
    let mut tissue = block.explicit_solver().expect("it builds");
    let step = |step: u32| {
        let tool = Tool {
            stiffness_npm: *stiffness_npm,
            ..ball(
                [place_m, place_m, radius_m - 2e-5 * f64::from(step)],
                *radius_m,
            )
        };
        tick(&mut tissue, tool)
    };
    (0..=ticks).map(step).collect()
}

/// Relative error of the force, and its estimate, at the depths of the reference: means of a
/// ball over a node and over the middle of a face.
fn judged(block: &(Block, f64, f64), edge_m: f64) -> [(f64, f64); 4] {
    let all = [0.0, 0.5 * edge_m].map(|place_m| press(block, place_m, 500));
    REFERENCE.map(|(depth_mm, reference_n)| {
        let (mut error, mut estimate) = (0.0, 0.0);
        // at a depth of twice its radius, the ball falls between nodes that are farther apart than it is high
        if depth_mm == 10 && edge_m > 8e-3 {
            return (0.0, f64::INFINITY);
        }
        for press in &all {
            let reaction = &press[50 * depth_mm as usize];
            let force_n = reaction.force_n.norm();
            error += 0.5 * (1.0 - reference_n / force_n);
            estimate += 0.5 * reaction.mesh_error_n.expect("a touch") / force_n;
        }
        (error.abs(), estimate)
    })
}

#[test]
fn mesh_error_is_estimated_within_a_factor_and_falls_with_refinement() {
    let graded = scene("block");
    let even = |edges: u32| {
        let mut block = graded.clone();
        block.0.zone.cell_m = 0.1 / f64::from(edges);
        block.0.zone.levels = 1;
        judged(&block, 0.1 / f64::from(edges))
    };
    let rows = [8, 12, 20, 30].map(even);
    let finest = judged(&graded, 1.4e-3);
    for (mesh, row) in rows.iter().enumerate() {
        for (depth, (error, estimate)) in row.iter().enumerate() {
            if *error > 0.05 {
                let ratio = estimate / error;
                assert!(
                    (1.0 / 3.0..3.0).contains(&ratio),
                    "{mesh} {depth}: {error} {estimate}"
                );
            }
        }
    }
    for (mesh, pair) in rows.windows(2).enumerate() {
        // on the two coarsest meshes less than a face is in contact, and the estimate is less certain
        let less = if mesh == 0 { 1.01 } else { 0.8 };
        for depth in 0..4 {
            assert!(
                pair[1][depth].1 == f64::INFINITY || pair[1][depth].1 < less * pair[0][depth].1,
                "{depth}: {pair:?}"
            );
        }
    }
    for (error, estimate) in finest {
        assert!(error < 0.03 && estimate < 0.06, "{error} {estimate}");
    }
}

/// Tissues and tools other than those of the fit; means of two places over the mesh, as one place can be right by chance.
#[test]
fn the_estimate_holds_in_layers_and_over_a_nodule() {
    for (name, times, fine) in [
        ("layered", 1.0, 0.5),
        ("layered", 1.6, 0.5),
        ("layered-lump", 1.0, 0.5),
        ("block-nodule", 1.6, 0.7),
    ] {
        let presses = |times: f64| {
            let scene = with_cells(name, times);
            [0.0, 0.002].map(|place_m| press(&scene, place_m, 100))
        };
        let (coarse, fine) = (presses(times), presses(fine));
        for tick in [50, 100] {
            let (mut error, mut estimate) = (0.0, 0.0);
            for (coarse, fine) in coarse.iter().zip(&fine) {
                let (force_n, truth_n) = (coarse[tick].force_n.norm(), fine[tick].force_n.norm());
                error += 0.5 * (1.0 - truth_n / force_n);
                estimate += 0.5 * coarse[tick].mesh_error_n.expect("a touch") / force_n;
            }
            if error > 0.05 {
                let ratio = estimate / error;
                assert!(
                    (1.0 / 3.0..3.0).contains(&ratio),
                    "{name} {tick}: {error} {estimate}"
                );
            }
        }
    }
}

#[test]
fn the_stiffness_is_the_slope_of_the_force() {
    for (name, depths_mm) in [
        ("block", [1, 2, 5, 10]),
        ("block-nodule", [1, 2, 5, 10]),
        ("layered", [1, 2, 5, 8]),
    ] {
        let reactions = press(&scene(name), 0.0, 520);
        for depth_mm in depths_mm {
            let tick = 50 * depth_mm;
            let rise_n = reactions[tick + 20].force_n.z - reactions[tick - 20].force_n.z;
            let slope_npm = rise_n / (40.0 * 2e-5);
            let ratio = reactions[tick].stiffness_npm / slope_npm;
            assert!(
                (0.7..1.3).contains(&ratio),
                "{name} {depth_mm} mm: {ratio} of {slope_npm}"
            );
        }
    }
}

#[test]
fn estimates_hold_while_the_tool_strokes() {
    let block = scene("block").0;
    let mut tissue = block.explicit_solver().expect("it builds");
    let mut reactions = Vec::new();
    for step in 0..=900_u32 {
        let depth_m = (2e-5 * f64::from(step)).min(5e-3);
        let x_m = (2e-5 * (f64::from(step) - 400.0)).max(0.0);
        reactions.push(tick(&mut tissue, ball([x_m, 0.0, 5e-3 - depth_m], 5e-3)));
    }
    let held = reactions[390];
    for reaction in &reactions[450..] {
        let slopes = reaction.stiffness_npm / held.stiffness_npm;
        let errors = reaction.mesh_error_n.expect("a touch") / held.mesh_error_n.expect("a touch");
        assert!((0.85..1.2).contains(&slopes), "{slopes}");
        assert!((0.5..2.0).contains(&errors), "{errors}");
    }
}

/// Reaction at 3 mm, and the rise of the force from 5 to 20 mm/s over that of the speed.
fn pressed_at_two_speeds(viscosity_pas: f64) -> (Reaction, f64) {
    let text = format!(
        "name = \"viscous\"\n[block]\nsize_m = [0.06, 0.06, 0.04]\ncell_m = 0.003\n\
         levels = 2\nfine_half_m = [0.006, 0.006]\nfine_depth_m = 0.006\n\
         [[layer]]\nyoung_pa = 5000.0\npoisson = 0.45\nshear_viscosity_pas = {viscosity_pas}\n\
         [tool]\nradius_m = 0.005\nstiffness_npm = 1e6\n"
    );
    let scene = load(&text).expect("a scene");
    let [slow, fast] = [600_u32, 150].map(|ticks| {
        let mut tissue = scene.build().expect("it builds");
        let mut reactions = [Reaction::default()];
        for tick in 0..=ticks {
            let depth_m = 3e-3 * f64::from(tick) / f64::from(ticks);
            let tool = scene.tool_at(Vec3::new(0.0, 0.0, 5e-3 - depth_m));
            tissue.step(&[tool], 1e-3, &mut reactions);
        }
        reactions[0]
    });
    (slow, (fast.force_n.z - slow.force_n.z) / 15e-3)
}

#[test]
fn viscous_tissue_estimates_its_damping() {
    let ((viscous, rise_nspm), (elastic, inertia_nspm)) =
        (pressed_at_two_speeds(8.0), pressed_at_two_speeds(0.0));
    assert_eq!(elastic.damping_nspm, 0.0);
    let slope_nspm = rise_nspm - inertia_nspm;
    let ratio = viscous.damping_nspm / slope_nspm;
    assert!(
        (1.0..1.8).contains(&ratio),
        "{ratio} of {slope_nspm}, {inertia_nspm}"
    );
}
