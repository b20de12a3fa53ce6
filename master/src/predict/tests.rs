//! Tests of the predictor: samples that it learns from, and the order of undo and redo.

use super::evidence::{meets_nothing, press_sample};
use super::*;
use palpate_transport::{AXES, Time};

#[test]
fn unknown_force_yields_no_sample() {
    let expected = Reaction {
        contacts: 1,
        normal: Vec3::z(),
        ..Reaction::default()
    };
    let touch = ToolState {
        position_m: [0.0; AXES],
        velocity_mps: [0.0; AXES],
        closed: false,
        instrument: Instrument::Blunt,
    };
    let remote = RemoteReport {
        probe: touch,
        contact_force_n: None,
        sensor_lives: true,
        port_force_n: [0.0; AXES],
        engaged: true,
        sent: Time(0),
        edits: RemoteEdits::default(),
    };
    assert_eq!(
        press_sample(&PredictParams::default(), &expected, &remote),
        None
    );
    let shadow = Reaction {
        force_n: Vec3::new(0.0, 0.0, 1.0),
        ..expected
    };
    let measured = RemoteReport {
        contact_force_n: Some([0.0, 0.0, 2.0, 0.0]),
        ..remote
    };
    let sample = press_sample(&PredictParams::default(), &shadow, &measured);
    assert_eq!(sample, Some(place_fit::sample(1.0, 2.0)));
}

/// A robot that may not move, pushes, has a dead sensor or measures a force does not know that there is nothing.
#[test]
fn only_a_free_robot_with_a_live_sensor_meets_nothing() {
    let params = PredictParams::default();
    let expected = Reaction {
        contacts: 1,
        normal: Vec3::z(),
        force_n: Vec3::new(0.0, 0.0, 1.0),
        ..Reaction::default()
    };
    let free = RemoteReport {
        probe: handle(0.0, false),
        contact_force_n: Some([0.0, 0.0, 0.02, 0.0]),
        sensor_lives: true,
        port_force_n: [0.0, 0.0, -0.2, 0.0],
        engaged: true,
        sent: Time(0),
        edits: RemoteEdits::default(),
    };
    assert!(meets_nothing(&params, &expected, &free));
    let none = Reaction {
        force_n: Vec3::new(0.0, 0.0, 0.2),
        ..expected
    };
    assert!(!meets_nothing(&params, &none, &free));
    for known in [
        RemoteReport {
            engaged: false,
            ..free
        },
        RemoteReport {
            sensor_lives: false,
            ..free
        },
        RemoteReport {
            contact_force_n: None,
            ..free
        },
        RemoteReport {
            contact_force_n: Some([0.0, 0.0, 0.15, 0.0]),
            ..free
        },
        RemoteReport {
            port_force_n: [0.0, 0.0, -0.6, 0.0],
            ..free
        },
    ] {
        assert!(!meets_nothing(&params, &expected, &known), "{known:?}");
    }
}

/// Tool with a blade, or a blunt one, at a place.
fn handle(x_m: f64, cuts: bool) -> ToolState {
    let edge_m = Vec3::new(0.0, 0.0, -0.016);
    ToolState {
        position_m: [x_m, 0.0, 0.01, 0.02],
        velocity_mps: [0.0; AXES],
        closed: false,
        instrument: if cuts {
            Instrument::Scalpel { edge_m }
        } else {
            Instrument::Blunt
        },
    }
}

#[test]
fn issue_pending_undo_and_redo_lost_their_order() {
    let scene = palpate_scene::load("linked-nodule").expect("built in");
    let tissue = || scene.build().expect("a volume");
    let mut predictor = TwinPredictor::new(tissue(), tissue());
    let whole = predictor.topology();
    let mut requested = Revisions::default();
    let tick = |predictor: &mut TwinPredictor, touch: ToolState, topology, requested| {
        let remote = RemoteReport {
            probe: handle(0.0, false),
            contact_force_n: None,
            sensor_lives: true,
            port_force_n: [0.0; AXES],
            engaged: true,
            sent: Time(0),
            edits: RemoteEdits {
                finished_batches: 0,
                topology,
            },
        };
        let params = PredictParams::default();
        let prediction = predictor.step(&params, &touch, Some(&remote), 1e-3);
        predictor.revise(requested);
        prediction
    };
    for step in 0..30 {
        let blade = handle(-0.02 + 1e-3 * f64::from(step), true);
        tick(&mut predictor, blade, whole, requested);
    }
    let open = predictor.topology();
    assert_ne!(open, whole);
    requested.undo += 1;
    tick(&mut predictor, handle(0.0, false), whole, requested);
    assert_eq!(predictor.topology(), whole);
    // while nothing may be edited the operator requests the cut again, and then its undo
    for (undo, redo) in [(0, 1), (1, 0)] {
        requested.undo += undo;
        requested.redo += redo;
        tick(&mut predictor, handle(0.0, false), whole ^ 1, requested);
        assert_eq!(predictor.topology(), whole);
    }
    // applied in that order, and before a blade that comes later
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        let prediction = tick(&mut predictor, handle(0.01, true), whole, requested);
        outcomes.push((predictor.topology(), prediction.blunted));
    }
    // the first tick receives the permission
    assert_eq!(outcomes[..3], [(open, true), (whole, true), (whole, false)]);
}

/// Without tissue under the robot, a slide empties its whole way, also after the shadow has given way to the robot.
#[test]
fn issue_a_ghost_beside_an_empty_place_kept_its_force_while_the_shadow_gave_way() {
    let scene = palpate_scene::load("sheet").expect("built in");
    let tissue = || scene.build().expect("a tissue");
    let mut predictor = TwinPredictor::new(tissue(), tissue());
    let params = PredictParams::default();
    let mut last = TwinPrediction::default();
    // a slide alone keeps the force, so the hand presses deeper at its end
    for tick in 0..3000 {
        let time_s = 1e-3 * f64::from(tick);
        let depth_m = (0.02 * time_s).min(0.006) + (0.01 * (time_s - 2.3)).clamp(0.0, 0.003);
        let x_m = (0.03 * (time_s - 1.0)).clamp(0.0, 0.03);
        let tool = ToolState {
            position_m: [x_m - 0.015, 0.0, 0.008 - depth_m, 0.0],
            velocity_mps: [0.0; AXES],
            closed: false,
            instrument: Instrument::Blunt,
        };
        let noise_n = 0.005 * f64::from(tick % 3 - 1);
        let remote = RemoteReport {
            probe: tool,
            contact_force_n: Some([0.0, 0.0, noise_n, 0.0]),
            sensor_lives: true,
            port_force_n: [0.0; AXES],
            engaged: true,
            sent: Time(1_000_000 * i64::from(tick)),
            edits: RemoteEdits::default(),
        };
        last = predictor.step(&params, &tool, Some(&remote), 1e-3);
    }
    assert!(last.twin_force_n[2] > 1.0, "{}", last.twin_force_n[2]);
    assert!(last.force_n[2] < 0.05, "{}", last.force_n[2]);
}
