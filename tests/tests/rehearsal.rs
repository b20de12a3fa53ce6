//! Tests of rehearsals with a pointer: twin only, in virtual and in real time, with tasks and their records.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use palpate_analysis::rehearsal::task::Attempt;
use palpate_console::rehearsal::attempts;
use palpate_console::rehearsal::controller::RehearsalController;
use palpate_console::rehearsal::live::{self, LiveRehearsalOptions, LiveRehearsalResult};
use palpate_console::rehearsal::solo::{self, SoloSession};
use palpate_master::device::pointer::{PointerSource, PointerTarget};
use palpate_master::device::{HandleKind, params};
use palpate_session::config::Config;
use palpate_session::lab::VirtualSession;
use palpate_session::monitor::controller::{SessionController, SessionSides};
use palpate_session::monitor::request::{RehearsalRequest, TaskAnswer, TaskKind};
use palpate_session::monitor::{MonitorController as _, OperatorOrder, OrderReply};
use palpate_session::run::clocked::{ClockedSession as _, TickCommands};
use serde_json::Value;

/// Pointer that moves down over the middle, with a new target every 16 ticks.
struct Down {
    reads: u64,
}

impl PointerSource for Down {
    fn newest(&mut self) -> PointerTarget {
        self.reads += 1;
        let sequence = self.reads / 16 + 1;
        PointerTarget {
            sequence,
            position_m: [0.0, 0.0, (0.02 - 1e-4 * sequence as f64).max(0.0), 0.02],
            present: true,
            closed: false,
        }
    }
}

fn config(twin: &str, duration_s: f64) -> Config {
    let mut config = Config {
        duration_s,
        twin: twin.into(),
        ..Config::default()
    };
    config.operator.handle = HandleKind::Pointer;
    solo::make_solo(&mut config);
    config
}

#[test]
fn s4_27_a_cold_start_has_contact_within_ten_seconds() {
    for twin in ["flat-sheet", "sheet", "sheet-lump", "linked-nodule"] {
        let config = config(twin, 10.0);
        let handle = params::build_pointer(&config.operator, Down { reads: 0 });
        let mut session = SoloSession::with_handle(&config, Box::new(handle)).expect(twin);
        let contact = (0..session.ticks()).position(|_| session.step().port_force_n[2] < -0.3);
        assert!(contact.is_some(), "{twin}: no contact");
    }
}

#[test]
fn a_clocked_session_equals_the_session_in_virtual_time() {
    let config = Config {
        duration_s: 1.0,
        tissue: "sheet-lump".into(),
        twin: "sheet".into(),
        ..Config::default()
    };
    let [mut stepped, mut clocked] = [0, 1].map(|_| VirtualSession::new(&config).expect("valid"));
    for _ in 0..stepped.ticks() {
        let both = stepped.step();
        let (master, slave) = clocked.tick(&TickCommands::default());
        assert_eq!(master.snapshot.record, both.master);
        assert_eq!(slave.map(|it| it.snapshot.record), Some(both.slave));
    }
    assert_eq!(stepped.trace_hash(), clocked.trace_hash());
    // a halted side stands still
    let halt = TickCommands {
        halt: [true, true],
        ..TickCommands::default()
    };
    let [before, after] = [0, 1].map(|_| {
        let robot = (0..200).map(|_| clocked.tick(&halt).1).last().flatten();
        robot.expect("two sides").snapshot.record.position_m
    });
    assert!(
        (0..3).all(|axis| (after[axis] - before[axis]).abs() < 2e-5),
        "{before:?} {after:?}"
    );
}

/// Runs a live rehearsal while `page` sends requests; returns its result.
fn rehearse(
    folder: &Path,
    page: impl FnOnce(&dyn Fn(RehearsalRequest) -> OrderReply, &dyn Fn() -> Value, &dyn Fn()),
) -> LiveRehearsalResult {
    let config = config("flat-sheet", 60.0);
    let stop = Arc::new(AtomicBool::new(false));
    let side = SessionController::new(&config, SessionSides::OperatorOnly, &stop);
    let (controller, requests) = RehearsalController::new(Arc::clone(&side));
    let options = LiveRehearsalOptions {
        folder: folder.to_owned(),
        attempts: Some(folder.join("data").join(attempts::FILE)),
        stop: Arc::clone(&stop),
    };
    let latest_state = Arc::clone(side.latest_state());
    let rehearsal =
        std::thread::spawn(move || live::rehearse(&config, &options, &side, &requests, None));
    let request = |wish| controller.execute(&OperatorOrder::Rehearse { wish });
    // the first request is accepted when the first scene is loaded
    let press = || {
        // down to first contact, slowly, and some millimetres further
        for (number, tenth_mm) in (1..).zip((20..=200).rev()) {
            let aim = PointerTarget {
                sequence: number,
                position_m: [0.0, 0.0, f64::from(tenth_mm) * 1e-4, 0.02],
                present: true,
                closed: false,
            };
            controller.aim(aim, 0.0);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    page(
        &request,
        &|| latest_state.facts()["rehearsal"].clone(),
        &press,
    );
    stop.store(true, Ordering::Relaxed);
    rehearsal.join().expect("no panic").expect("no refusal")
}

#[test]
fn s4_22_a_task_is_begun_answered_and_stored_and_its_solution_shown_after() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let rehearsals = rehearse(folder, |request, facts, press| {
        let reply = request(RehearsalRequest::Scene("sheet-lump".into()));
        assert_eq!(reply.as_deref(), Ok("now on sheet-lump"));
        assert!(request(RehearsalRequest::Scene("no-such".into())).is_err());
        assert!(
            request(RehearsalRequest::Answer(TaskAnswer::default())).is_err(),
            "no task"
        );
        assert!(
            request(RehearsalRequest::Begin(TaskKind::Grasp)).is_err(),
            "not on this scene"
        );
        assert!(
            request(RehearsalRequest::Tool("scalpel".into())).is_err(),
            "it cannot be cut"
        );
        request(RehearsalRequest::Begin(TaskKind::FindLump)).expect("placed");
        let task = &facts()["task"];
        assert_eq!(task["name"], "find-lump");
        assert!(task["lumps"].is_null() && task["score"].is_null(), "{task}");
        assert!(
            request(RehearsalRequest::Answer(TaskAnswer::default())).is_err(),
            "no place"
        );
        let place_m = Some([0.0, 0.0]);
        let answer = TaskAnswer {
            place_m,
            ..TaskAnswer::default()
        };
        let untouched = request(RehearsalRequest::Answer(answer.clone()));
        assert!(untouched.is_err_and(|why| why.contains("nothing was pressed")));
        // repeated, since a machine that stalls the servo measures no contact
        let answered = (0..20).any(|_| {
            press();
            request(RehearsalRequest::Answer(answer.clone())).is_ok()
        });
        assert!(answered, "pressed twenty times");
        let task = &facts()["task"];
        let center_m = &task["lumps"][0]["center_m"];
        let [x_m, y_m] = [0, 1].map(|axis| center_m[axis].as_f64().expect("a place"));
        let off_m = x_m.hypot(y_m);
        let reported_m = task["score"]["parts"][0][1].as_f64().expect("off");
        assert!((off_m - reported_m).abs() < 1e-12, "{task}");
        request(RehearsalRequest::Leave).expect("free again");
        assert!(facts()["task"].is_null());
    });
    assert_eq!(rehearsals.new_attempts, 1);
    assert_eq!(rehearsals.scenes.len(), 4, "{:?}", rehearsals.scenes);
    for part in &rehearsals.scenes {
        assert_eq!(part.servo.records_lost, 0);
        assert!(part.folder.join("recording.mcap").exists());
        let text = std::fs::read_to_string(part.folder.join("config.toml")).expect("there");
        assert_eq!(
            Config::parse(&text, "config.toml").expect("whole"),
            part.config
        );
    }
    let history_file = attempts::read(&folder.join("data").join(attempts::FILE));
    assert_eq!(history_file.problem, None);
    let [stored, reported] =
        [&history_file, &rehearsals.history].map(|history| history.attempts.clone());
    assert_eq!((stored.len(), reported.len()), (1, 1));
    let of = |attempts: &[Attempt]| (attempts[0].task.clone(), attempts[0].scene.clone());
    assert_eq!(of(&stored), of(&reported));
    assert!((stored[0].score.score - reported[0].score.score).abs() < 1e-12);
    assert!((stored[0].score.time_s - reported[0].score.time_s).abs() < 1e-12);
}
