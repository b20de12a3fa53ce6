//! Tests of procedures.

use palpate_twin::Instrument;

use super::step::{Along, Glue, Incise, Move, Press, Retract, Times, Wait};
use super::*;

fn step(name: &str, action: Action) -> Step {
    Step {
        name: (!name.is_empty()).then(|| name.to_owned()),
        action,
    }
}

fn path(depth_m: f64) -> Vec<[f64; 3]> {
    vec![[-0.01, 0.0, depth_m], [0.01, 0.0, depth_m]]
}

/// One step of every kind.
fn all() -> ProcedureParams {
    let along = || Along {
        path_m: path(-0.004),
        speed_mps: None,
    };
    let steps = vec![
        step(
            "go",
            Action::Move(Move {
                to_m: [0.0, 0.0, 0.03],
                speed_mps: None,
                time_s: Some(0.5),
            }),
        ),
        step(
            "press",
            Action::Press(Press {
                site_m: [0.01, 0.0],
                depth_m: 0.003,
                hold_s: 0.2,
                speed_mps: None,
            }),
        ),
        step(
            "open",
            Action::Incise(Incise {
                path_m: path(0.0),
                depth_m: 0.006,
                edge_m: None,
                speed_mps: None,
            }),
        ),
        step(
            "",
            Action::Retract(Retract {
                at_m: [0.0, 0.0, 0.001],
                by_m: [0.0, 0.004, 0.004],
                hold_s: 0.1,
                speed_mps: None,
            }),
        ),
        step("scoop", Action::Carve(along())),
        step(
            "close",
            Action::Glue(Glue {
                path_m: path(0.005),
                reach_m: 0.004,
                speed_mps: None,
            }),
        ),
        step("pin", Action::Tack(along())),
        step("unpin", Action::Untack(along())),
        step("back", Action::Undo(Times { times: 2 })),
        step("again", Action::Redo(Times { times: 1 })),
        step("rest", Action::Wait(Wait { time_s: 0.3 })),
    ];
    ProcedureParams {
        name: "all".into(),
        step: steps,
        ..ProcedureParams::default()
    }
}

#[test]
fn steps_follow_each_other_and_end_where_they_began() {
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
    let procedure = Procedure::new(&params);
    for at_s in [0.0, params.length_s(), 1e9, f64::INFINITY] {
        assert_eq!(procedure.intent(at_s).position_m, params.start_m());
    }
}

/// A hand cannot jump: positions are as smooth as their velocity says, at every tick.
#[test]
fn velocity_is_the_slope_of_position() {
    let params = all();
    let procedure = Procedure::new(&params);
    let mut at_s = 1e-3;
    while at_s < params.length_s() {
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

/// No instrument acts on its way to and from its path, and each acts along the whole of it.
#[test]
fn tp_08_an_instrument_acts_in_its_step_alone_and_is_clear_of_the_tissue_when_it_begins_and_ends() {
    let params = all();
    let (procedure, spans) = (Procedure::new(&params), params.spans());
    let mut before = Intent::default();
    let mut seen = [0; 6];
    for tick in 0..(params.length_s() * 1e3) as u32 {
        let intent = procedure.intent(f64::from(tick) * 1e-3);
        let index = match intent.instrument {
            Instrument::Blunt => 0,
            Instrument::Scalpel { .. } => 1,
            Instrument::Curette => 2,
            Instrument::Glue { .. } => 3,
            Instrument::Tack => 4,
            Instrument::Untack => 5,
        };
        seen[index] += 1;
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
    assert!(seen.iter().all(|&ticks| ticks > 100), "{seen:?}");
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
fn jaws_close_to_pull_and_revisions_are_counted() {
    let params = all();
    let (procedure, spans) = (Procedure::new(&params), params.spans());
    let mut closed = 0;
    for tick in 0..(params.length_s() * 1e3) as u32 {
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
fn a_wrong_field_is_refused_by_step_name_and_field() {
    let wrong = |index: usize, action: Action| {
        let mut params = all();
        params.step[index].action = action;
        params.validate().expect_err("out of range").to_string()
    };
    let text = wrong(
        2,
        Action::Incise(Incise {
            path_m: path(0.0),
            depth_m: 0.5,
            edge_m: None,
            speed_mps: None,
        }),
    );
    assert_eq!(text, "step 3 `open`: depth_m is 0.5; expected 0 to 0.1");
    let text = wrong(
        4,
        Action::Carve(Along {
            path_m: vec![],
            speed_mps: None,
        }),
    );
    assert!(
        text.contains("step 5 `scoop`: number of points of path_m is 0; expected 1"),
        "{text}"
    );
    let text = wrong(0, Action::Wait(Wait { time_s: f64::NAN }));
    assert!(text.contains("step 1 `go`: time_s is NaN"), "{text}");
    let mut twice = all();
    twice.step[1].name = Some("go".into());
    let text = twice.validate().expect_err("twice").to_string();
    assert!(
        text.contains("step 2 `go`") && text.contains("expected 1"),
        "{text}"
    );
    assert!(ProcedureParams::default().validate().is_err(), "no steps");
    // refused before it is laid out
    let mut often = all();
    often.step = (0..900)
        .map(|nth| step(&nth.to_string(), Action::Undo(Times { times: 1000 })))
        .collect();
    let text = often.validate().expect_err("often").to_string();
    assert!(text.contains("undo and redo steps is 900000"), "{text}");
}
