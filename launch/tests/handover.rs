//! Hand-over of a robot between masters: asked for, declined, granted and forced, without keys and with them.

mod load_monitor;
mod ports;
mod sides;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_session::config::Config;
use palpate_session::keys;
use palpate_session::monitor::controller::{SessionController, SessionSides};
use palpate_session::monitor::order::StateCommand;
use palpate_session::monitor::{MonitorController as _, OperatorOrder};
use palpate_transport::trace::Side;

use load_monitor::wait_for;
use ports::Ports;
use sides::{LoadMonitors, Process, side, side_with_input, slave};

/// Master with its console's end of the link, as `palpate run` holds it.
struct Operator {
    process: Process,
    controller: Arc<SessionController>,
}

fn operator(out: &Path, ports: &Ports, more: &[&str]) -> Operator {
    let (near, far) = UnixStream::pair().expect("sockets");
    let words = [&["--until-stopped", "--console-on-stdin"], more].concat();
    let process = side_with_input("master", out, ports, &words, OwnedFd::from(far).into());
    let sides = SessionSides::RemoteElsewhere;
    let controller = SessionController::new(&Config::default(), sides, &Arc::default());
    controller.attach(Side::Master, near).expect("attached");
    Operator {
        process,
        controller,
    }
}

impl Operator {
    /// Name of the side that asks this one for the robot, once its page shows it.
    fn asked_by(&self) -> String {
        wait_for("a request on the owner's page", || {
            let facts = self.controller.latest_state().facts();
            facts["asks"].as_str().map(str::to_owned)
        })
    }

    fn reply(&self, grant: bool, to: &str) {
        let to = to.to_owned();
        let order = OperatorOrder::HandOver { grant, to };
        self.controller.execute(&order).expect("answered");
    }
}

/// Numbers of the last ticks in which the robot was enabled.
fn enabled_of_last(recording: &palpate_session::record::Recording, ticks: usize) -> usize {
    let newest = recording.slave.iter().rev().take(ticks);
    newest.filter(|record| record.state == 1).count()
}

/// A robot and its masters; `security` are the flags of each.
struct Flags {
    robot: Vec<String>,
    masters: [Vec<String>; 2],
}

fn words(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

/// Runs through all ways of a hand-over.
fn hand_over(root: &Path, flags: &Flags, ports: &Ports) {
    let out = |name: &str| -> PathBuf { root.join(name) };
    let [one, other] = flags.masters.each_ref().map(|flags| words(flags));
    let ask = [&other[..], &["--ask-handover", "90"]].concat();
    let machine = LoadMonitors::start();
    let mut slave = slave(&out("slave"), ports, &words(&flags.robot));
    let first = operator(&out("first"), ports, &one);
    slave.records_until("a running session", |it| enabled_of_last(it, 500) > 400);

    let declined = [&ask[..], &["--until-stopped"]].concat();
    let declined = side("master", &out("declined"), ports, &declined);
    let name = first.asked_by();
    assert!(name.contains("process"), "{name}");
    // an answer to somebody else hands nothing over
    let to = "somebody else".to_owned();
    let order = OperatorOrder::HandOver { grant: true, to };
    let refused = first.controller.execute(&order).expect_err("nobody asks");
    assert!(refused.contains("does not ask"), "{refused}");
    first.reply(false, &name);
    let declined = declined.end();
    assert_eq!(declined.code, Some(3), "{}", declined.stderr);
    for part in ["waiting at most", "which has not answered", "declined"] {
        assert!(declined.stderr.contains(part), "{}", declined.stderr);
    }
    let newest = slave.records_until("a session that goes on", |it| !it.slave.is_empty());
    let ticks = newest.slave.len();
    slave.records_until("more of it", |it| {
        it.slave.len() > ticks + 600 && enabled_of_last(it, 500) > 400
    });

    let second = operator(&out("second"), ports, &ask);
    let name = wait_for("another request", || {
        Some(first.asked_by()).filter(|new| *new != name)
    });
    first.reply(true, &name);
    let first = first.process.end();
    let summary = first.summary();
    let faults = summary["safety"]["faults"].to_string();
    assert!(faults.contains("robot handed over to"), "{faults}");
    assert!(
        first.stderr.contains("robot handed over to"),
        "{}",
        first.stderr
    );
    // the robot stands until its new owner resumes motion
    let ticks = slave.records_until("a record", |it| !it.slave.is_empty());
    let ticks = ticks.slave.len();
    let stood = slave.records_until("a standing robot", |it| it.slave.len() > ticks + 1500);
    assert_eq!(enabled_of_last(&stood, 1000), 0);
    let word = StateCommand::Resume;
    let resumed = second
        .controller
        .execute(&OperatorOrder::State { side: None, word });
    assert!(resumed.is_ok(), "{resumed:?}");
    slave.records_until("motion", |it| enabled_of_last(it, 500) > 400);

    let third = side(
        "master",
        &out("third"),
        ports,
        &[&ask[..], &["--until-stopped"]].concat(),
    );
    second.asked_by();
    kill(Pid::from_raw(slave.id().cast_signed()), Signal::SIGUSR1).expect("it runs");
    let second = second.process.end();
    let load = machine.finish();
    first.assert_passed(&load);
    assert_eq!(second.code, Some(1), "{}", second.stderr);
    assert!(
        second.stderr.contains("without a grant"),
        "{}",
        second.stderr
    );
    let summary = second.summary();
    let checks = summary["checks"].as_array().expect("checks");
    let kept = checks
        .iter()
        .find(|it| it["name"] == "the ownership of the robot ran to the end");
    assert_eq!(kept.expect("stated")["held"], false);

    third.interrupt();
    let third = third.end();
    slave.interrupt();
    let slave = slave.end();
    assert!(matches!(third.code, Some(0 | 1)), "{}", third.stderr);
    for part in ["asks for the robot", "kill -USR1"] {
        assert!(slave.stderr.contains(part), "{}", slave.stderr);
    }
    let report = std::fs::read_to_string(out("slave").join("side.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let changes = report["handovers"].as_array().expect("changes");
    let granted: Vec<_> = changes.iter().map(|it| it["granted"].as_bool()).collect();
    assert_eq!(granted, [Some(true), Some(false)], "{changes:?}");
    slave.assert_passed(&load);
}

#[test]
fn robot_changes_its_owner_by_grant_or_by_force() {
    let root = tempfile::tempdir().expect("a folder");
    let flags = Flags {
        robot: Vec::new(),
        masters: [Vec::new(), Vec::new()],
    };
    hand_over(root.path(), &flags, &Ports::free());
}

#[test]
fn with_keys_trusted_masters_alone_ask_for_the_robot() {
    let (root, ports) = (tempfile::tempdir().expect("a folder"), Ports::free());
    let folder = |name: &str| root.path().join("keys").join(name);
    let names = ["robot", "one", "other", "arm"];
    for name in names {
        keys::make(&folder(name), name).expect("made");
    }
    for name in &names[1..] {
        let only = (*name == "arm").then_some(Side::Slave);
        let certificate = |name: &str| keys::certificate_path(&folder(name));
        keys::trust(&folder("robot"), &certificate(name), only).expect("trusted");
        keys::trust(&folder(name), &certificate("robot"), None).expect("trusted");
    }
    let secure = |name: &str| vec!["--secure".to_owned(), folder(name).display().to_string()];
    let flags = Flags {
        robot: secure("robot"),
        masters: [secure("one"), secure("other")],
    };
    hand_over(root.path(), &flags, &ports);

    // a host that is trusted as a robot's side only
    let slave = slave(&root.path().join("again"), &ports, &words(&flags.robot));
    let arm = secure("arm");
    let arm = [&words(&arm)[..], &["--ask-handover", "5"]].concat();
    let arm = side("master", &root.path().join("arm"), &ports, &arm).end();
    assert_eq!(arm.code, Some(3), "{}", arm.stderr);
    assert!(
        arm.stderr.contains("may not be the master"),
        "{}",
        arm.stderr
    );
    drop(slave);
}
