//! Tools on the sheet: contact, grasp, rest, and the energy they exchange.

use super::*;

#[test]
fn s4_16_reaction_and_node_forces_are_opposite() {
    for params in [seed(), face(0.0), face(1.5)] {
        let mut tissue = regular(&params);
        for n in 0..700 {
            let tool = tweezers(2.0, 1.5, 1.6 - 1e-3 * f64::from(n), 0.1, n > 600);
            let h = 1e-3;
            let reaction = tissue.apply_tool(0, &tool, h);
            let nodes: Vec3 = tissue.scratch.outer_n.iter().sum();
            let scale = reaction.force_n.norm();
            assert!(
                (nodes + reaction.force_n).norm() <= 1e-13 * scale,
                "{nodes}"
            );
            tissue.scratch.outer_n.fill(Vec3::zeros());
            tissue.state.tools[0] = state::ToolState {
                closed: true,
                ..tissue.state.tools[0]
            };
            touch(&mut tissue, tool);
        }
        assert!(tissue.ledger().contact_j > 0.0);
    }
}

#[test]
fn s4_18_single_atom_shows_series_stiffness() {
    let mut tissue = regular(&seed());
    let mut forces = [0.0; 2];
    let mut reported = 0.0;
    for (force, z) in forces.iter_mut().zip([1.495, 1.49]) {
        for _ in 0..3000 {
            let reaction = touch(&mut tissue, sphere(1.5, 1.732, z));
            *force = reaction.force_n.z;
            reported = reaction.stiffness_npm;
        }
    }
    let slope = (forces[1] - forces[0]) / 0.005;
    let series = 1.0 / (1.0 / 400.0 + 1.0 / tissue.node_stiffness_npm(10));
    assert!((slope - series).abs() < 0.01 * series, "{slope} {series}");
    assert!((reported - slope).abs() < 0.01 * slope);
}

#[test]
fn s4_p30_capsule_and_box_stiffness_grows_with_touched_atoms() {
    // a shaft that leans back from the atom, and a plate that rises from it, touch no other
    let shapes = [
        (Vec3::new(0.0, 0.0, 2.0), Vec3::zeros()),
        (Vec3::new(0.4, 0.0, 3.0), Vec3::zeros()),
        (Vec3::new(0.0, 0.0, 2.0), Vec3::new(0.0, 0.2, 0.0)),
    ];
    for (shaft_m, side_m) in shapes {
        let mut tissue = regular(&seed());
        assert!(tissue.caps().shafts && tissue.caps().plates);
        let mut forces = [0.0; 2];
        for (force, z) in forces.iter_mut().zip([1.495, 1.49]) {
            let tool = Tool {
                shaft_m,
                side_m,
                ..sphere(1.5, 1.732 - side_m.y, z)
            };
            for _ in 0..3000 {
                let reaction = touch(&mut tissue, tool);
                assert!(reaction.contacts <= 1);
                *force = reaction.force_n.z;
            }
        }
        let slope = (forces[1] - forces[0]) / 0.005;
        let series = 1.0 / (1.0 / 400.0 + 1.0 / tissue.node_stiffness_npm(10));
        assert!((slope - series).abs() < 0.01 * series, "{slope} {series}");
    }
    let lying = |shaft_m: Vec3, side_m: Vec3| {
        let mut tissue = regular(&seed());
        let tool = Tool {
            shaft_m,
            side_m,
            ..sphere(1.5, 1.732, 1.3)
        };
        let reactions: Vec<_> = (0..3000).map(|_| touch(&mut tissue, tool)).collect();
        reactions[2999]
    };
    let ball = lying(Vec3::zeros(), Vec3::zeros());
    let rod = lying(Vec3::x(), Vec3::zeros());
    let plate = lying(Vec3::x(), Vec3::y());
    assert!(ball.contacts < rod.contacts && rod.contacts < plate.contacts);
    assert!(1.2 * ball.force_n.z < rod.force_n.z && 1.1 * rod.force_n.z < plate.force_n.z);
    // the default contact supports balls only, and its capabilities show it
    assert!(!regular(&face(1.5)).caps().shafts && !regular(&face(1.5)).caps().plates);
}

#[test]
fn face_contact_reports_its_force_slope() {
    for (x, y) in [(1.5, 1.732), (2.0, 1.732), (2.0, 2.02)] {
        let mut tissue = regular(&face(1.5));
        let mut forces = [0.0; 2];
        let mut reported = 0.0;
        for (force, z) in forces.iter_mut().zip([1.45, 1.44]) {
            for _ in 0..3000 {
                let reaction = touch(&mut tissue, sphere(x, y, z));
                *force = reaction.force_n.z;
                reported = reaction.stiffness_npm;
            }
        }
        let slope = (forces[1] - forces[0]) / 0.01;
        assert!(
            (reported - slope).abs() < 0.1 * slope,
            "({x}, {y}): {reported} {slope}"
        );
    }
}

#[test]
fn w19_face_contact_has_no_dead_zone() {
    for (x, y) in [(1.5, 1.732), (2.0, 1.732), (2.0, 2.02)] {
        let reaction = touch(&mut regular(&face(0.0)), sphere(x, y, 1.5 - 1e-6));
        assert!(reaction.force_n.z > 0.0 && reaction.contacts > 0);
        let above = touch(&mut regular(&face(0.0)), sphere(x, y, 1.5 + 1e-6));
        assert_eq!(above.force_n, Vec3::zeros());
    }
}

#[test]
fn s4_20_closed_press_dissipates_user_energy() {
    for params in [seed(), face(0.0), face(1.5)] {
        let mut tissue = regular(&params);
        for n in 0..3000 {
            let t = f64::from(n) * 1e-3;
            touch(
                &mut tissue,
                sphere(2.0, 1.6, 1.4 + 0.3 * libm::cos(std::f64::consts::TAU * t)),
            );
        }
        for _ in 0..1000 {
            touch(&mut tissue, sphere(2.0, 1.6, 2.0));
        }
        let energy = tissue.ledger();
        assert!(
            energy.tool_work_j > 0.0 && energy.stored_j() < 1e-12,
            "{energy:?}"
        );
        assert!(
            energy.residual_j.abs() < 0.5 * energy.tool_work_j,
            "{energy:?}"
        );
        assert!((energy.tool_work_j + energy.residual_j - energy.dissipated_j).abs() < 1e-9);
    }
}

#[test]
fn energy_residual_shrinks_with_the_step() {
    let residual = |dt_s: f64| {
        let mut tissue = regular(&face(1.5));
        let steps = (1.0 / dt_s).round() as u32;
        for n in 0..=steps {
            let t = f64::from(n) * dt_s;
            let z = 1.35 + 0.3 * libm::cos(std::f64::consts::TAU * t);
            tissue.step(&[sphere(2.0, 1.6, z)], dt_s, &mut []);
        }
        let energy = tissue.ledger();
        energy.residual_j.abs() / energy.tool_work_j
    };
    let (coarse, fine) = (residual(1e-3), residual(1e-4));
    assert!(fine < 0.2 * coarse && fine < 0.03, "{coarse} {fine}");
}

#[test]
fn s4_21_relaxation_before_freezing_leaves_no_dent() {
    let window = |at_once| {
        regular(&IdmsParams {
            window: Some(HapticWindow {
                radius_m: 1.9,
                at_once,
            }),
            sleeps: true,
            ..seed()
        })
    };
    let dent = |mut tissue: Idms| {
        for n in 0..1000 {
            touch(&mut tissue, sphere(2.0, 1.7, 1.6 - 1e-3 * f64::from(n)));
        }
        for n in 0..1000 {
            touch(&mut tissue, sphere(2.0, 1.7, 0.6 + 0.02 * f64::from(n)));
        }
        let view = tissue.view();
        assert!(view.positions_m.iter().all(|at| at.z.is_finite()));
        let low = view
            .positions_m
            .iter()
            .map(|position| -position.z)
            .fold(0.0, f64::max);
        (low, tissue.active_nodes())
    };
    let (printed, relaxed) = (dent(window(true)), dent(window(false)));
    assert!(printed.0 > 0.05, "{printed:?}");
    assert!(relaxed.0 < 1e-5 && relaxed.1 == 0, "{relaxed:?}");
}

#[test]
fn inactive_nodes_change_forces_negligibly() {
    let (mut with_sleep, mut full) = (
        regular(&IdmsParams {
            sleeps: true,
            ..face(0.0)
        }),
        regular(&face(0.0)),
    );
    for n in 0..4000 {
        let t = f64::from(n) * 1e-3;
        let tool = sphere(1.0 + 0.3 * t, 1.7, 1.45 + 0.2 * libm::cos(4.0 * t));
        let (a, b) = (touch(&mut with_sleep, tool), touch(&mut full, tool));
        assert!(
            (a.force_n - b.force_n).norm() < 1e-3,
            "{} {}",
            a.force_n,
            b.force_n
        );
    }
}

#[test]
fn nodes_that_rest_and_wake_between_two_rebuilds_need_no_memory() {
    let mut tissue = regular(&seed());
    let nodes = 0..tissue.state.awake.len();
    nodes.clone().for_each(|node| tissue.wake(node));
    tissue.rebuild();
    let capacity = tissue.scratch.active.capacity();
    nodes.clone().for_each(|node| tissue.sleep(node));
    nodes.for_each(|node| tissue.wake(node));
    tissue.rebuild();
    assert_eq!(tissue.scratch.active.capacity(), capacity);
}

#[test]
fn s4_24_fixed_grasp_starts_smoothly_and_releases_in_one_cycle() {
    let mut tissue = regular(&IdmsParams {
        grasp: GraspLaw::Fixed,
        ..face(0.0)
    });
    for n in 0..200 {
        touch(
            &mut tissue,
            tweezers(1.6, 1.7, 1.6 - 1e-3 * f64::from(n), 0.1, false),
        );
    }
    let mut open = regular(&tissue.model.params);
    open.restore(&snapshot_of(&tissue)).unwrap();
    let held = touch(&mut tissue, tweezers(1.6, 1.7, 1.4, 0.1, true)).force_n;
    let free = touch(&mut open, tweezers(1.6, 1.7, 1.4, 0.1, false)).force_n;
    assert!((held - free).norm() < 1e-9);
    assert_eq!(tissue.grasped(0), Some(10));
    let mut pulled = Reaction::default();
    for n in 0..1500 {
        let z = (1.4 + 1e-3 * f64::from(n)).min(2.4);
        pulled = touch(&mut tissue, tweezers(1.6, 1.7, z, 0.1, true));
    }
    assert!(pulled.force_n.z < -5.0, "{}", pulled.force_n);
    let released = touch(&mut tissue, tweezers(1.6, 1.7, 2.4, 0.1, false));
    assert_eq!(released.force_n, Vec3::zeros());
    assert_eq!(tissue.grasped(0), None);
    for _ in 0..300 {
        touch(&mut tissue, tweezers(1.6, 1.7, 2.4, 0.1, false));
    }
    assert!(tissue.ledger().stored_j() < 1e-4);
}

#[test]
fn s4_30_jaws_closed_before_contact_grasp_nothing() {
    let mut tissue = regular(&face(0.0));
    for n in 0..300 {
        touch(
            &mut tissue,
            tweezers(1.6, 1.7, 1.6 - 1e-3 * f64::from(n), 0.0, true),
        );
    }
    assert_eq!(tissue.grasped(0), None);
}

#[test]
fn s4_25_distant_tools_act_independently() {
    let mut both = regular(&face(0.0));
    let mut one = regular(&face(0.0));
    let mut reactions = [Reaction::default(); 2];
    let small = |x: f64, z: f64| Tool {
        radius_m: 0.6,
        ..sphere(x, 1.7, z)
    };
    for _ in 0..500 {
        both.step(&[small(0.3, 0.55), small(3.7, 0.55)], 1e-3, &mut reactions);
        touch(&mut one, small(0.3, 0.55));
    }
    let alone = touch(&mut one, small(0.3, 0.55)).force_n;
    both.step(&[small(0.3, 0.55), small(3.7, 0.55)], 1e-3, &mut reactions);
    assert!((reactions[0].force_n - alone).norm() < 3e-2 * alone.norm());
    assert!(reactions[1].force_n.z > 0.5);
    let third = [small(0.3, 0.55), small(3.7, 0.55), small(2.0, 0.0)];
    let mut reactions = [Reaction::default(); 3];
    both.step(&third, 1e-3, &mut reactions);
    assert_eq!(reactions[2], Reaction::default());
}

#[test]
fn s4_26_two_tools_lift_hold_and_release_tissue() {
    let mut tissue = regular(&IdmsParams {
        grasp: GraspLaw::Fixed,
        ..face(0.0)
    });
    let tools = |z: f64, closed: bool| {
        [
            tweezers(1.5, 1.7, z, 0.1, closed),
            tweezers(2.5, 1.7, z, 0.1, closed),
        ]
    };
    let mut reactions = [Reaction::default(); 2];
    let mut run = |tissue: &mut Idms, z: f64, closed: bool| {
        tissue.step(&tools(z, closed), 1e-3, &mut reactions);
    };
    for n in 0..200 {
        run(&mut tissue, 1.6 - 1e-3 * f64::from(n), false);
    }
    for n in 0..1000 {
        run(&mut tissue, 1.4 + 1e-3 * f64::from(n), true);
    }
    let (Some(left), Some(right)) = (tissue.grasped(0), tissue.grasped(1)) else {
        panic!("both hold a node");
    };
    for _ in 0..2000 {
        run(&mut tissue, 2.4, true);
    }
    let place = |tissue: &Idms, node: u32| tissue.view().positions_m[node as usize];
    let held = [place(&tissue, left), place(&tissue, right)];
    for _ in 0..60_000 {
        run(&mut tissue, 2.4, true);
    }
    for (node, before) in [left, right].into_iter().zip(held) {
        assert!(before.z > 0.3 && (place(&tissue, node) - before).norm() < 1e-6);
    }
    run(&mut tissue, 2.4, false);
    run(&mut tissue, 2.4, false);
    assert_eq!(reactions[0].force_n + reactions[1].force_n, Vec3::zeros());
}

#[test]
fn pinch_is_a_spring_and_enters_the_energy_balance() {
    let mut tissue = regular(&face(0.0));
    let law = tissue.model.params.pinch;
    for n in 0..200 {
        touch(
            &mut tissue,
            tweezers(1.6, 1.7, 1.6 - 1e-3 * f64::from(n), 0.8, false),
        );
    }
    let mut opening = 0.8;
    let mut work = 0.0;
    let mut grip = 0.0;
    while opening > 0.2 {
        work += grip * 1e-3;
        opening -= 1e-3;
        grip = touch(&mut tissue, tweezers(1.6, 1.7, 1.401, opening, false)).grip_force_n;
    }
    let right = law.stiffness_npm * (law.width_m - opening);
    assert!((grip - right).abs() < 1e-9 * right);
    let stored = tissue.state.tools[0].energy_j[2];
    assert!((stored - 0.5 * grip * (law.width_m - opening)).abs() < 1e-9);
    assert!((stored - work).abs() < 0.02 * work, "{stored} {work}");
}
