//! Points: held by the deforming top, felt without a jump, let go where they come out.

use super::super::point::Grip;
use super::*;
use palpate_twin::contact::triangle::closest;

fn point(place_m: [f64; 3]) -> Tool {
    ball(place_m, 0.0)
}

fn with(friction: f64, classes: usize) -> Explicit {
    let params = Params {
        friction,
        damping_hz: 60.0,
        classes,
        ..Params::default()
    };
    tissue((8, 3), &params)
}

/// Distance of a place from the surface that is shown \[m\].
fn off_m(tissue: &Explicit, place_m: &Vec3) -> f64 {
    let view = tissue.view();
    let faces = view.faces.iter().map(|face| {
        let [a, b, c] = face.map(|node| view.positions_m[node as usize]);
        (closest(place_m, &a, &b, &c).point_m - place_m).norm()
    });
    faces.fold(f64::MAX, f64::min)
}

#[test]
fn a_press_is_felt_from_the_surface_on_and_its_proxy_stays_there() {
    for friction in [0.0, 0.4] {
        let mut tissue = with(friction, 1);
        let mut last_n = 0.0;
        for step in 0..800 {
            let down_m = 1e-5 * (f64::from(step) - 50.0);
            let tool = point([1.3e-3, 0.7e-3, -down_m]);
            let felt = tick(&mut tissue, tool);
            let what = format!("mu {friction} at {down_m} m: {felt:?}");
            if down_m <= 0.0 {
                assert_eq!(felt, Reaction::default(), "{what}");
                continue;
            }
            assert!(felt.contacts == 1 && felt.force_n.z > 0.0, "{what}");
            assert_eq!(felt.torque_nm, Vec3::zeros());
            assert!(off_m(&tissue, &felt.proxy_m(&tool)) < 1e-8, "{what}");
            assert!(felt.penetration_m < 0.1 * down_m + 4e-6, "{what}");
            // no step when it comes to a border of a cell
            // but for what slips at once, deep down
            let slips = friction > 0.0 && down_m > 1e-3;
            let jump_n = if slips {
                0.0
            } else {
                (felt.force_n.z - last_n).abs()
            };
            assert!(jump_n < 1e-3 + 0.02 * last_n, "{what} after {last_n} N");
            last_n = felt.force_n.z;
        }
        assert!(last_n > 0.01, "{last_n}");
    }
}

/// Presses by `depth_m`, then strokes along x over many cells; tools and what they felt.
fn stroke(tissue: &mut Explicit, depth_m: f64, ticks: u32) -> Vec<(Tool, Reaction)> {
    let mut all = Vec::new();
    for step in 0..ticks {
        let down_m = (1e-5 * f64::from(step)).min(depth_m);
        let x_m = 2e-5 * (f64::from(step) - 400.0).max(0.0) - 0.012;
        let tool = point([x_m, 1.1e-3, -down_m]);
        all.push((tool, tick(tissue, tool)));
    }
    all
}

#[test]
fn a_slide_goes_over_cell_borders_without_a_jump() {
    for classes in [1, 3] {
        let mut tissue = with(0.0, classes);
        // into the fine zone and out of it
        let ticks = stroke(&mut tissue, 4e-4, 1600);
        let (mut jump_m, mut jump_n, mut aside) = (0.0_f64, 0.0_f64, 0.0_f64);
        for pair in ticks[400..].windows(2) {
            let [(before, old), (tool, felt)] = pair else {
                unreachable!()
            };
            assert!(felt.contacts == 1, "{tool:?} {felt:?}");
            let way_m = tool.position_m - before.position_m;
            let gone_m = felt.proxy_m(tool) - old.proxy_m(before) - way_m;
            jump_m = jump_m.max(gone_m.norm());
            jump_n = jump_n.max((felt.force_n - old.force_n).norm() / felt.force_n.norm());
            aside = aside.max(felt.force_n.xy().norm() / felt.force_n.z);
        }
        println!("{classes} classes: {jump_m} m, {jump_n}, aside {aside}");
        assert!(
            jump_m < 2e-5 && jump_n < 0.25,
            "{classes}: {jump_m} {jump_n}"
        );
        let books = tissue.view().ledger;
        assert!(
            books.residual_j.abs() < 0.05 * books.tool_work_j,
            "{classes}: {books:?}"
        );
    }
}

#[test]
fn a_rough_point_sticks_then_slips_within_the_cone() {
    let (friction, mut rough) = (0.5, with(0.5, 1));
    let ticks = stroke(&mut rough, 4e-4, 1400);
    let grown = |step: usize| ticks[step].1.force_n.x - ticks[400].1.force_n.x;
    let ratio = grown(406) / grown(403);
    assert!(grown(403) < 0.0 && (ratio - 2.0).abs() < 0.8, "{ratio}");
    let free = stroke(&mut with(0.0, 1), 4e-4, 1400);
    let mean = |ticks: &[(Tool, Reaction)]| {
        let forces = ticks[900..].iter().map(|(_, felt)| felt.force_n);
        let sum = forces.sum::<Vec3>();
        -sum.x / sum.z
    };
    let (dragged, plain) = (mean(&ticks), mean(&free));
    println!("mu {friction}: mean {dragged}, without {plain}");
    assert!(
        (0.5..1.6).contains(&((dragged - plain) / friction)),
        "{dragged} {plain}"
    );
    let books = rough.view().ledger;
    assert!(books.dissipated_j > 0.0, "{books:?}");
    assert!(
        books.residual_j.abs() < 0.02 * books.tool_work_j,
        "{books:?}"
    );
}

#[test]
fn one_that_leaves_joins_its_proxy_and_one_set_down_inside_is_not_held() {
    let mut tissue = with(0.3, 1);
    let inside = |depth_m: f64| point([2e-3, 1e-3, -depth_m]);
    // set down in the tissue it feels nothing, comes out freely, and is felt from above
    for step in 0..100 {
        let felt = tick(&mut tissue, inside(3e-3 - 4e-5 * f64::from(step)));
        assert_eq!(felt, Reaction::default(), "{step}");
    }
    let mut last = Reaction::default();
    for step in 0..800 {
        let depth_m = (1e-5 * f64::from(step)).min(1e-5 * (700.0 - f64::from(step))) - 1e-3;
        last = tick(&mut tissue, inside(depth_m));
        if (110..=400).contains(&step) {
            assert!(last.contacts == 1, "{step}: {last:?}");
        }
        let joined = last.to_proxy_m.norm();
        assert!(last.contacts > 0 || joined == 0.0, "{step}: {last:?}");
    }
    assert_eq!(last, Reaction::default());
    assert_eq!(tissue.state.tools[0].grip, Grip::default());
    let books = tissue.view().ledger;
    assert!(
        books.contact_j == 0.0 && books.tool_work_j > 0.0,
        "{books:?}"
    );
}

#[test]
fn a_deep_press_at_any_speed_is_not_lost() {
    // over ten cells, where the walls of the pit hang over
    for speed_mps in [0.05, 0.3, 1.0] {
        let mut tissue = tissue((12, 3), &Params::default());
        for step in 0..(0.02 / speed_mps / 1e-3) as u32 + 300 {
            let down_m = (1e-3 * speed_mps * f64::from(step)).min(0.02) - 1e-3;
            let felt = tick(&mut tissue, point([1.3e-4, 2e-4, -down_m]));
            if down_m > 2e-3 {
                let held = tissue.state.tools[0].grip.triangle.is_some();
                assert!(held, "{speed_mps} m/s: lost at {down_m} m: {felt:?}");
            }
        }
        assert_eq!(tissue.collapses(), 0, "{speed_mps} m/s");
    }
}

#[test]
fn one_that_is_dragged_over_the_rim_is_let_go() {
    let mut tissue = with(0.0, 1);
    let mut last = Reaction::default();
    for step in 0..1500 {
        let down_m = (1e-5 * f64::from(step)).min(2e-3);
        let x_m = 0.04 + 2e-5 * (f64::from(step) - 300.0).max(0.0);
        last = tick(&mut tissue, point([x_m, 1e-3, -down_m]));
        assert!(last.force_n.norm() < 1.0, "{last:?}");
    }
    assert_eq!(last, Reaction::default());
}

#[test]
fn a_thawed_point_goes_on_bit_by_bit() {
    let mut tissue = with(0.4, 3);
    let tool = |step: u32| {
        let t_s = 1e-3 * f64::from(step);
        point([0.03 * t_s, 0.02 * t_s, -(0.02 * t_s).min(3e-3)])
    };
    for step in 0..300 {
        tick(&mut tissue, tool(step));
    }
    assert!(tissue.state.tools[0].grip.triangle.is_some());
    let at = Snapshot::of(&tissue);
    let run = |tissue: &mut Explicit| {
        let felt: Vec<Reaction> = (300..350).map(|step| tick(tissue, tool(step))).collect();
        (felt, Snapshot::of(tissue))
    };
    let first = run(&mut tissue);
    let mut copy = with(0.4, 3);
    copy.thaw(&at).unwrap();
    assert_eq!(run(&mut copy), first);
    // while no time passes it is felt where it was
    let now = tool(349);
    let mut felt = [Reaction::default()];
    tissue.step(&[now], 0.0, &mut felt);
    assert_eq!(felt[0], first.0[49]);
}
