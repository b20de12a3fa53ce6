//! Tests of procedures.

use palpate_twin::Instrument;

use super::step::{
    GlueStep, InciseStep, MoveStep, PathStep, PressStep, RetractStep, RevisionStep, WaitStep,
};
use super::*;

fn step(name: &str, action: StepAction) -> ProcedureStep {
    ProcedureStep {
        name: (!name.is_empty()).then(|| name.to_owned()),
        action,
    }
}

fn path(depth_m: f64) -> Vec<[f64; 3]> {
    vec![[-0.01, 0.0, depth_m], [0.01, 0.0, depth_m]]
}

/// Procedure with one step of every kind.
fn all() -> ProcedureParams {
    let along = || PathStep {
        path_m: path(-0.004),
        speed_mps: None,
    };
    let steps = vec![
        step(
            "go",
            StepAction::Move(MoveStep {
                to_m: [0.0, 0.0, 0.03],
                speed_mps: None,
                time_s: Some(0.5),
            }),
        ),
        step(
            "press",
            StepAction::Press(PressStep {
                site_m: [0.01, 0.0],
                depth_m: 0.003,
                hold_s: 0.2,
                speed_mps: None,
            }),
        ),
        step(
            "open",
            StepAction::Incise(InciseStep {
                path_m: path(0.0),
                depth_m: 0.006,
                edge_m: None,
                speed_mps: None,
            }),
        ),
        step(
            "",
            StepAction::Retract(RetractStep {
                at_m: [0.0, 0.0, 0.001],
                by_m: [0.0, 0.004, 0.004],
                hold_s: 0.1,
                speed_mps: None,
            }),
        ),
        step("scoop", StepAction::Carve(along())),
        step(
            "close",
            StepAction::Glue(GlueStep {
                path_m: path(0.005),
                reach_m: 0.004,
                speed_mps: None,
            }),
        ),
        step("pin", StepAction::Tack(along())),
        step("unpin", StepAction::Untack(along())),
        step("back", StepAction::Undo(RevisionStep { times: 2 })),
        step("again", StepAction::Redo(RevisionStep { times: 1 })),
        step("rest", StepAction::Wait(WaitStep { time_s: 0.3 })),
    ];
    ProcedureParams {
        name: "all".into(),
        step: steps,
        ..ProcedureParams::default()
    }
}

#[test]
fn steps_are_consecutive_and_return_to_start() {
    let params = all();
    assert_eq!(params.validate(), Ok(()));
    let spans = params.spans();
    assert_eq!(spans.len(), params.step.len());
    assert_eq!(spans[3].name, "retract-4");
    assert_eq!(params.index_of("scoop"), Some(4));
    for pair in spans.windows(2) {
        assert!(pair[0].end_s <= pair[1].start_s && pair[0].start_s < pair[0].end_s);
        assert_eq!(pair[0].phase + 1, pair[1].phase);
    }
    let procedure = params.to_path();
    for at_s in [0.0, params.duration_s(), 1e9, f64::INFINITY] {
        assert_eq!(procedure.intent(at_s).position_m, params.start_m());
    }
}

/// Positions are as smooth as their velocity demands, at every tick: a hand cannot jump.
#[test]
fn velocity_is_the_slope_of_position() {
    let params = all();
    let procedure = params.to_path();
    let mut at_s = 1e-3;
    while at_s < params.duration_s() {
        let [before, now, after] = [-1e-6, 0.0, 1e-6].map(|by_s| procedure.intent(at_s + by_s));
        for axis in 0..4 {
            let slope = (after.position_m[axis] - before.position_m[axis]) / 2e-6;
            assert!(
                (slope - now.velocity_mps[axis]).abs() < 1e-4,
                "{at_s} {axis}"
            );
        }
        at_s += 1e-3;
    }
}

/// No instrument acts on the way to or from its path, and each acts along the whole of it.
#[test]
fn tp_08_instrument_acts_only_in_its_step_and_switches_clear_of_tissue() {
    let params = all();
    let (procedure, spans) = (params.to_path(), params.spans());
    let mut before = Intent::default();
    let mut ticks_of = [0; 6];
    for tick in 0..(params.duration_s() * 1e3) as u32 {
        let intent = procedure.intent(f64::from(tick) * 1e-3);
        let index = match intent.instrument {
            Instrument::Blunt => 0,
            Instrument::Scalpel { .. } => 1,
            Instrument::Curette => 2,
            Instrument::Glue { .. } => 3,
            Instrument::Tack => 4,
            Instrument::Untack => 5,
        };
        ticks_of[index] += 1;
        if intent.instrument != before.instrument {
            let edge_m = match (intent.instrument, before.instrument) {
                (Instrument::Scalpel { edge_m }, _) | (_, Instrument::Scalpel { edge_m }) => {
                    edge_m.z
                }
                _ => 0.0,
            };
            let lowest_m = intent.position_m[2] + edge_m.min(-params.tool_radius_m);
            assert!(lowest_m > 0.5 * params.clearance_m, "{tick}: {lowest_m}");
        }
        before = intent;
    }
    assert!(ticks_of.iter().all(|&ticks| ticks > 100), "{ticks_of:?}");
    let open = &spans[2];
    let middle = procedure.intent(0.5 * (open.start_s + open.end_s));
    let Instrument::Scalpel { edge_m } = middle.instrument else {
        panic!("no blade in the middle of a cut");
    };
    // tip at its depth, ball above the surface
    assert!((middle.position_m[2] + edge_m.z + 0.006).abs() < 1e-9);
    assert!(middle.position_m[2] > params.tool_radius_m);
}

#[test]
fn jaws_close_during_retract_and_revisions_count_up() {
    let params = all();
    let (procedure, spans) = (params.to_path(), params.spans());
    let mut closed = 0;
    for tick in 0..(params.duration_s() * 1e3) as u32 {
        let intent = procedure.intent(f64::from(tick) * 1e-3);
        closed += u32::from(intent.closed);
        assert!(!intent.closed || intent.phase == spans[3].phase);
    }
    assert!(closed > 300);
    let end = |index: usize| procedure.intent(spans[index].end_s - 1e-4).revisions;
    assert_eq!((end(7).undo, end(8).undo, end(8).redo), (0, 2, 0));
    assert_eq!((end(10).undo, end(10).redo), (2, 1));
}

#[test]
fn invalid_step_error_names_step_and_field() {
    let wrong = |index: usize, action: StepAction| {
        let mut params = all();
        params.step[index].action = action;
        params.validate().expect_err("out of range").to_string()
    };
    let text = wrong(
        2,
        StepAction::Incise(InciseStep {
            path_m: path(0.0),
            depth_m: 0.5,
            edge_m: None,
            speed_mps: None,
        }),
    );
    assert_eq!(text, "step 3 `open`: depth_m is 0.5; expected 0 to 0.1");
    let text = wrong(
        4,
        StepAction::Carve(PathStep {
            path_m: vec![],
            speed_mps: None,
        }),
    );
    assert!(
        text.contains("step 5 `scoop`: number of points of path_m is 0; expected 1"),
        "{text}"
    );
    let text = wrong(0, StepAction::Wait(WaitStep { time_s: f64::NAN }));
    assert!(text.contains("step 1 `go`: time_s is NaN"), "{text}");
    let mut twice = all();
    twice.step[1].name = Some("go".into());
    let text = twice.validate().expect_err("twice").to_string();
    assert!(
        text.contains("step 2 `go`") && text.contains("expected 1"),
        "{text}"
    );
    assert!(ProcedureParams::default().validate().is_err(), "no steps");
    // refused before the segments are computed
    let mut repeated = all();
    repeated.step = (0..900)
        .map(|nth| {
            step(
                &nth.to_string(),
                StepAction::Undo(RevisionStep { times: 1000 }),
            )
        })
        .collect();
    let text = repeated.validate().expect_err("often").to_string();
    assert!(text.contains("undo and redo steps is 900000"), "{text}");
}
