//! Hand-over of a robot between masters: asked for, declined, granted and forced, without keys and with them.

mod load_monitor;
mod ports;
mod sides;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
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
use sides::{Ended, LoadMonitors, Process, side, side_with_input, slave};

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

/// Flags of a robot's side and of its masters.
struct Flags {
    robot: Vec<String>,
    masters: [Vec<String>; 2],
}

fn words(flags: &[String]) -> Vec<&str> {
    flags.iter().map(String::as_str).collect()
}

/// One robot, and the ways to start a master of it.
struct Robot<'a> {
    slave: Process,
    root: &'a Path,
    ports: &'a Ports,
    /// Flags of a master that asks for the robot.
    ask: Vec<&'a str>,
}

impl Robot<'_> {
    fn asking_operator(&self, name: &str) -> Operator {
        operator(&self.root.join(name), self.ports, &self.ask)
    }

    /// A master without a page that asks.
    fn asking_side(&self, name: &str) -> Process {
        let flags = [&self.ask[..], &["--until-stopped"]].concat();
        side("master", &self.root.join(name), self.ports, &flags)
    }

    fn wait_for_motion(&mut self) {
        let newest = self
            .slave
            .records_until("records", |it| !it.slave.is_empty());
        let ticks = newest.slave.len();
        self.slave.records_until("motion", |it| {
            it.slave.len() > ticks + 600 && enabled_of_last(it, 500) > 400
        });
    }

    /// A request that the owner declines; the session goes on. Returns the name of the side that asked.
    fn decline(&mut self, owner: &Operator) -> String {
        let declined = self.asking_side("declined");
        let name = owner.asked_by();
        assert!(name.contains("process"), "{name}");
        // an answer to somebody else hands nothing over
        let to = "somebody else".to_owned();
        let order = OperatorOrder::HandOver { grant: true, to };
        let refused = owner.controller.execute(&order).expect_err("nobody asks");
        assert!(refused.contains("does not ask"), "{refused}");
        owner.reply(false, &name);
        let declined = declined.end();
        assert_eq!(declined.code, Some(3), "{}", declined.stderr);
        for part in ["waiting at most", "which has not answered", "declined"] {
            assert!(declined.stderr.contains(part), "{}", declined.stderr);
        }
        self.wait_for_motion();
        name
    }

    /// A request that the owner grants: it ends, the robot stands until its new owner resumes motion.
    fn grant(&mut self, owner: Operator, declined: &str) -> (Ended, Operator) {
        let next = self.asking_operator("next");
        let other = || Some(owner.asked_by()).filter(|name| name != declined);
        let name = wait_for("another request", other);
        owner.reply(true, &name);
        let ended = owner.process.end();
        let faults = ended.summary()["safety"]["faults"].to_string();
        let words = "robot handed over to";
        assert!(faults.contains(words), "{faults}");
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        let newest = self
            .slave
            .records_until("records", |it| !it.slave.is_empty());
        let ticks = newest.slave.len();
        let stood = self
            .slave
            .records_until("a standing robot", |it| it.slave.len() > ticks + 1500);
        assert_eq!(enabled_of_last(&stood, 1000), 0);
        let (side, word) = (None, StateCommand::Resume);
        let resumed = next
            .controller
            .execute(&OperatorOrder::State { side, word });
        assert!(resumed.is_ok(), "{resumed:?}");
        self.wait_for_motion();
        (ended, next)
    }

    /// A request that the robot's host forces; returns the new owner.
    fn force(&self, owner: Operator) -> Process {
        let next = self.asking_side("last");
        owner.asked_by();
        kill(
            Pid::from_raw(self.slave.id().cast_signed()),
            Signal::SIGUSR1,
        )
        .expect("it runs");
        let ended = owner.process.end();
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("without a grant"), "{}", ended.stderr);
        let summary = ended.summary();
        let mut checks = summary["checks"].as_array().expect("checks").iter();
        let kept = checks.find(|it| it["name"] == "the ownership of the robot ran to the end");
        assert_eq!(kept.expect("stated")["held"], false);
        next
    }
}

/// Runs through all ways of a hand-over.
fn hand_over(root: &Path, flags: &Flags, ports: &Ports) {
    let [one, other] = flags.masters.each_ref().map(|flags| words(flags));
    let machine = LoadMonitors::start();
    let mut robot = Robot {
        slave: slave(&root.join("slave"), ports, &words(&flags.robot)),
        root,
        ports,
        ask: [&other[..], &["--ask-handover", "90"]].concat(),
    };
    let first = operator(&root.join("first"), ports, &one);
    robot.wait_for_motion();
    let declined = robot.decline(&first);
    let (first, second) = robot.grant(first, &declined);
    let third = robot.force(second);
    third.interrupt();
    let third = third.end();
    robot.slave.interrupt();
    let ended = robot.slave.end();
    let load = machine.finish();
    first.assert_passed(&load);
    assert!(matches!(third.code, Some(0 | 1)), "{}", third.stderr);
    for part in ["asks for the robot", "kill -USR1"] {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    let report = std::fs::read_to_string(root.join("slave/side.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let changes = report["handovers"].as_array().expect("changes");
    let granted: Vec<_> = changes.iter().map(|it| it["granted"].as_bool()).collect();
    assert_eq!(granted, [Some(true), Some(false)], "{changes:?}");
    ended.assert_passed(&load);
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
