//! Rehearsals with a pointer: on the twin alone, in virtual time and by the clock, with tasks and their record.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use palpate_analysis::rehearsed::task::Attempt;
use palpate_console::rehearsal::attempts;
use palpate_console::rehearsal::desk::RehearsalDesk;
use palpate_console::rehearsal::live::{self, LiveOptions, Rehearsals};
use palpate_console::rehearsal::solo::{self, Solo};
use palpate_master::device::pointer::{Aim, Pointer};
use palpate_master::device::{HandleKind, params};
use palpate_session::config::Config;
use palpate_session::lab::Session;
use palpate_session::monitor::desk::{SessionDesk, Sides};
use palpate_session::monitor::request::{Said, TaskKind, Wish};
use palpate_session::monitor::{Answer, Desk as _, Order};
use palpate_session::run::paced::{Beat, Paced as _};
use serde_json::Value;

/// A pointer that goes down over the middle, a word every 16 ticks.
struct Down {
    asked: u64,
}

impl Pointer for Down {
    fn newest(&mut self) -> Aim {
        self.asked += 1;
        let word = self.asked / 16 + 1;
        Aim {
            number: word,
            position_m: [0.0, 0.0, (0.02 - 1e-4 * word as f64).max(0.0), 0.02],
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
    solo::alone(&mut config);
    config
}

#[test]
fn s4_27_a_session_from_cold_gives_contact_within_ten_seconds() {
    for twin in ["flat-sheet", "sheet", "sheet-lump", "linked-nodule"] {
        let config = config(twin, 10.0);
        let handle = params::pointer(&config.operator, Down { asked: 0 });
        let mut session = Solo::with_handle(&config, Box::new(handle)).expect(twin);
        let felt = (0..session.ticks()).position(|_| session.step().port_force_n[2] < -0.3);
        assert!(felt.is_some(), "{twin}: no contact");
    }
}

#[test]
fn a_session_by_beats_is_the_session_in_virtual_time() {
    let config = Config {
        duration_s: 1.0,
        tissue: "sheet-lump".into(),
        twin: "sheet".into(),
        ..Config::default()
    };
    let [mut stepped, mut beaten] = [0, 1].map(|_| Session::new(&config).expect("valid"));
    for _ in 0..stepped.ticks() {
        let both = stepped.step();
        let (master, slave) = beaten.beat(&Beat::default());
        assert_eq!(master.shown.record, both.master);
        assert_eq!(slave.map(|it| it.shown.record), Some(both.slave));
    }
    assert_eq!(stepped.trace_hash(), beaten.trace_hash());
    // and a side that is halted stands
    let halt = Beat {
        halt: [true, true],
        ..Beat::default()
    };
    let [before, after] = [0, 1].map(|_| {
        let robot = (0..200).map(|_| beaten.beat(&halt).1).last().flatten();
        robot.expect("two sides").shown.record.position_m
    });
    assert!(
        (0..3).all(|axis| (after[axis] - before[axis]).abs() < 2e-5),
        "{before:?} {after:?}"
    );
}

/// Rehearses by the clock while `page` wishes; what came of it.
fn rehearse(
    folder: &Path,
    page: impl FnOnce(&dyn Fn(Wish) -> Answer, &dyn Fn() -> Value, &dyn Fn()),
) -> Rehearsals {
    let config = config("flat-sheet", 60.0);
    let stop = Arc::new(AtomicBool::new(false));
    let side = SessionDesk::new(&config, Sides::OperatorOnly, &stop);
    let (desk, wished) = RehearsalDesk::new(Arc::clone(&side));
    let options = LiveOptions {
        folder: folder.to_owned(),
        attempts: Some(folder.join("data").join(attempts::FILE)),
        stop: Arc::clone(&stop),
    };
    let board = Arc::clone(side.board());
    let running =
        std::thread::spawn(move || live::rehearse(&config, &options, &side, &wished, None));
    let wish = |wish| desk.take(&Order::Rehearse { wish });
    // the first wish is granted when the first scene is there
    let press = || {
        // to where it touches, slowly, and some millimetres on
        for (number, tenth_mm) in (1..).zip((20..=200).rev()) {
            let aim = Aim {
                number,
                position_m: [0.0, 0.0, f64::from(tenth_mm) * 1e-4, 0.02],
                present: true,
                closed: false,
            };
            desk.aim(aim, 0.0);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    page(&wish, &|| board.facts()["rehearsal"].clone(), &press);
    stop.store(true, Ordering::Relaxed);
    running.join().expect("no panic").expect("no refusal")
}

#[test]
fn s4_22_a_task_is_begun_answered_and_kept_and_its_truth_is_told_after() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let rehearsals = rehearse(folder, |wish, facts, press| {
        let said = wish(Wish::Scene("sheet-lump".into()));
        assert_eq!(said.as_deref(), Ok("now on sheet-lump"));
        assert!(wish(Wish::Scene("no-such".into())).is_err());
        assert!(wish(Wish::Answer(Said::default())).is_err(), "no task");
        assert!(
            wish(Wish::Begin(TaskKind::Grasp)).is_err(),
            "not on this scene"
        );
        assert!(
            wish(Wish::Tool("scalpel".into())).is_err(),
            "it cannot be cut"
        );
        wish(Wish::Begin(TaskKind::FindLump)).expect("placed");
        let task = &facts()["task"];
        assert_eq!(task["name"], "find-lump");
        assert!(task["lumps"].is_null() && task["score"].is_null(), "{task}");
        assert!(wish(Wish::Answer(Said::default())).is_err(), "no place");
        let place_m = Some([0.0, 0.0]);
        let said = Said {
            place_m,
            order: Vec::new(),
            ..Said::default()
        };
        let untouched = wish(Wish::Answer(said.clone()));
        assert!(untouched.is_err_and(|why| why.contains("nothing was pressed")));
        // a machine that lets the servo sleep meanwhile feels nothing of it
        let answered = (0..20).any(|_| {
            press();
            wish(Wish::Answer(said.clone())).is_ok()
        });
        assert!(answered, "pressed twenty times");
        let task = &facts()["task"];
        let center_m = &task["lumps"][0]["center_m"];
        let off_m = center_m[0]
            .as_f64()
            .expect("x")
            .hypot(center_m[1].as_f64().expect("y"));
        let told_m = task["score"]["parts"][0][1].as_f64().expect("off");
        assert!((off_m - told_m).abs() < 1e-12, "{task}");
        wish(Wish::Leave).expect("free again");
        assert!(facts()["task"].is_null());
    });
    assert_eq!(rehearsals.made, 1);
    assert_eq!(rehearsals.parts.len(), 4, "{:?}", rehearsals.parts);
    for part in &rehearsals.parts {
        assert_eq!(part.servo.records_lost, 0);
        assert!(part.folder.join("recording.mcap").exists());
        let text = std::fs::read_to_string(part.folder.join("config.toml")).expect("there");
        assert_eq!(
            Config::parse(&text, "config.toml").expect("whole"),
            part.config
        );
    }
    let known = attempts::read(&folder.join("data").join(attempts::FILE));
    assert_eq!(known.problem, None);
    let [kept, made] = [&known, &rehearsals.known].map(|known| known.attempts.attempt.clone());
    assert_eq!((kept.len(), made.len()), (1, 1));
    let of = |attempts: &[Attempt]| (attempts[0].task.clone(), attempts[0].scene.clone());
    assert_eq!(of(&kept), of(&made));
    assert!((kept[0].score.score - made[0].score.score).abs() < 1e-12);
    assert!((kept[0].score.time_s - made[0].score.time_s).abs() < 1e-12);
}
