//! Sessions and sides as processes of a test: started, observed by their recordings, ended, and judged.
//!
//! A test waits for recorded data, as a user would have it, and never for a fixed time.

#![allow(dead_code, reason = "each binary of tests uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_session::record;
use palpate_session::record::Recording;
use palpate_transport::{Span, Time};
use serde_json::Value;

use crate::load_monitor::{LoadMonitor, LoadRecord, Needs, wait_for};
use crate::ports::Ports;

/// Default SCHED_FIFO priority of a servo.
const SERVO_PRIORITY: u8 = 80;

/// Load monitors for the requirements of a session.
pub(crate) struct LoadMonitors {
    servos: LoadMonitor,
    others: LoadMonitor,
}

impl LoadMonitors {
    /// Starts timers beside servos, and beside the threads that open and end a session.
    pub(crate) fn start() -> Self {
        Self {
            servos: LoadMonitor::start(SERVO_PRIORITY),
            others: LoadMonitor::start(0),
        }
    }

    /// Ends the timers and returns the load records.
    pub(crate) fn finish(self) -> SessionLoad {
        SessionLoad {
            servos: self.servos.finish(),
            others: self.others.finish(),
        }
    }
}

/// Machine load during a session.
pub(crate) struct SessionLoad {
    servos: LoadRecord,
    others: LoadRecord,
}

/// A check that depends on the machine, with its requirement.
struct Timed {
    name: &'static str,
    load_of: fn(&SessionLoad) -> &LoadRecord,
    needs: Needs,
}

/// All such checks. A servo must not lose more of its ticks than a timer without work. A robot whose controller
/// sleeps longer than its drive's timeout swings back to the held position. A side that stalls ten times a second
/// gives the other a step of force as often, which is a vibration at the hand. Ordinary threads pass the end of one
/// side to the other, which records alone until then.
const TIMED: [Timed; 4] = [
    Timed {
        name: "share of the ticks missed",
        load_of: |load| &load.servos,
        needs: Needs::Ticks(0.01),
    },
    Timed {
        name: "motion while not enabled",
        load_of: |load| &load.servos,
        needs: Needs::Promptness(Span(2_000_000)),
    },
    Timed {
        name: "limit cycles",
        load_of: |load| &load.servos,
        needs: Needs::Ticks(0.01),
    },
    Timed {
        name: "unpaired records, not judged",
        load_of: |load| &load.others,
        needs: Needs::Ticks(0.5),
    },
];

/// Longest wait for the end of a process: a session's length, and its judging on a busy machine.
const ENDING: Duration = Duration::from_secs(300);

/// A `palpate` process with a folder for its results; it is killed with the test.
pub(crate) struct Process {
    child: Option<Child>,
    out: PathBuf,
}

/// Starts `palpate` with these arguments, and `--out`.
pub(crate) fn palpate(words: &[&str], out: &Path) -> Process {
    palpate_with_input(words, out, Stdio::null())
}

fn palpate_with_input(words: &[&str], out: &Path, input: Stdio) -> Process {
    let child = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(words)
        .arg("--out")
        .arg(out)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    Process {
        child: Some(child),
        out: out.to_owned(),
    }
}

/// Starts a session of both sides on cheap tissues, with a page at any port.
pub(crate) fn session(out: &Path, ports: &Ports, more: &[&str]) -> Process {
    let words = ["run", "-q", "--console-port", "0", "--set", &ports.set()];
    palpate(&[&words, LIGHT, more].concat(), out)
}

/// Cheap tissues: live tests judge sessions, not models.
const LIGHT: &[&str] = &["--tissue", "sheet-lump", "--twin", "sheet"];

/// Starts one side alone on loopback, on cheap tissues unless `more` sets others.
pub(crate) fn side(side: &str, out: &Path, ports: &Ports, more: &[&str]) -> Process {
    side_with_input(side, out, ports, more, Stdio::null())
}

/// As [`side`], with a standard input.
pub(crate) fn side_with_input(
    side: &str,
    out: &Path,
    ports: &Ports,
    more: &[&str],
    input: Stdio,
) -> Process {
    let tissues = if more.contains(&"--tissue") {
        &[]
    } else {
        LIGHT
    };
    let words = [side, "-q", "--no-console", "--set", &ports.set()];
    palpate_with_input(&[&words, tissues, more].concat(), out, input)
}

/// Starts a slave that runs until it is stopped, and waits until it listens.
pub(crate) fn slave(out: &Path, ports: &Ports, more: &[&str]) -> Process {
    let mut slave = side("slave", out, ports, &[more, &["--until-stopped"]].concat());
    wait_for("slave that listens", || {
        slave.assert_runs();
        ports.is_listening().then_some(())
    });
    slave
}

/// Waits for the end of a session, at most [`ENDING`].
fn wait_for_end(child: &mut Child) {
    let asked = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if asked.elapsed() > ENDING {
            let _ = child.kill();
            panic!("no end within {ENDING:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Process {
    /// Process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().expect("not ended yet").id()
    }

    /// True if it handles a signal.
    pub(crate) fn catches(&self, signal: Signal) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("it runs");
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(mask.expect("Linux").trim(), 16).expect("a mask");
        mask >> (signal as i32 - 1) & 1 == 1
    }

    /// Sends Ctrl-C.
    pub(crate) fn interrupt(&self) {
        kill(Pid::from_raw(self.id().cast_signed()), Signal::SIGINT).expect("it runs");
    }

    /// Asserts that it is running.
    fn assert_runs(&mut self) {
        let child = self.child.as_mut().expect("not ended yet");
        if child.try_wait().expect("a child").is_some() {
            let output = self.child.take().map(Child::wait_with_output);
            panic!("it ended early: {output:?}");
        }
    }

    /// Waits until a session of both sides is running: a second is recorded at each.
    pub(crate) fn wait_until_running(&mut self) {
        for side in ["master", "slave"] {
            let folder = self.out.join("sides").join(side);
            self.records_in(&folder, &format!("a second of the {side}"), |recording| {
                recording.master.len() + recording.slave.len() >= 1000
            });
        }
    }

    /// Waits until its recording, as a side alone, is as wanted; returns it.
    pub(crate) fn records_until(
        &mut self,
        what: &str,
        wanted: impl Fn(&Recording) -> bool,
    ) -> Recording {
        let folder = self.out.clone();
        self.records_in(&folder, what, wanted)
    }

    fn records_in(
        &mut self,
        folder: &Path,
        what: &str,
        wanted: impl Fn(&Recording) -> bool,
    ) -> Recording {
        let file = folder.join("recording.mcap.part");
        let mut looked_at = 0;
        wait_for(what, || {
            self.assert_runs();
            let length = file.metadata().map_or(0, |data| data.len());
            // a recording grows by half a second at a time
            if std::mem::replace(&mut looked_at, length) == length {
                return None;
            }
            record::read(&file).ok().filter(&wanted)
        })
    }

    /// Its child processes, with their command lines.
    pub(crate) fn children(&self) -> Vec<(i32, String)> {
        children(self.id())
    }

    /// Waits until it has ended.
    pub(crate) fn end(mut self) -> Ended {
        let mut child = self.child.take().expect("not ended yet");
        wait_for_end(&mut child);
        let output = child.wait_with_output().expect("it has ended");
        Ended {
            code: output.status.code(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            out: std::mem::take(&mut self.out),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // it may have ended by itself
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ends the master and then the slave by Ctrl-C, and asserts that the checks of both passed; `monitors` ran beside them.
pub(crate) fn end_sides(master: Process, slave: Process, monitors: LoadMonitors) -> [Ended; 2] {
    let ended = [master, slave].map(|side| {
        side.interrupt();
        side.end()
    });
    let load = monitors.finish();
    ended.iter().for_each(|ended| ended.assert_passed(&load));
    ended
}

/// Child processes of `parent`, with their command lines.
pub(crate) fn children(parent: u32) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // a process may end while it is read
        let read = |name| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        if read("status").contains(&format!("\nPPid:\t{parent}\n")) {
            found.push((pid, read("cmdline").replace('\0', " ")));
        }
    }
    found
}

/// An ended process.
pub(crate) struct Ended {
    /// Exit status; none if it was killed.
    pub(crate) code: Option<i32>,
    /// Its stderr.
    pub(crate) stderr: String,
    out: PathBuf,
}

impl Ended {
    /// Summary in its folder.
    pub(crate) fn summary(&self) -> Value {
        summary(&self.out)
    }

    /// Asserts that the session ended and its checks passed; `load` is the machine load during it.
    pub(crate) fn assert_passed(&self, load: &SessionLoad) {
        assert_passed(self.code, &self.out, load, &self.stderr);
    }

    /// Asserts that its folder holds the complete results of a session, and nothing else.
    pub(crate) fn assert_complete(&self) {
        assert_complete(&self.out);
    }
}

/// Summary in a folder.
pub(crate) fn summary(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

/// Recording in a folder, whole or cut.
pub(crate) fn records(folder: &Path) -> Recording {
    record::read(&record::left_in(folder)).expect("a recording")
}

/// Asserts that a session ended with status 0, or with 1 for time-dependent checks on a machine that was too
/// loaded to judge them.
pub(crate) fn assert_passed(code: Option<i32>, folder: &Path, load: &SessionLoad, stderr: &str) {
    assert!(matches!(code, Some(0 | 1)), "{code:?} {stderr}");
    let summary = summary(folder);
    let checks = summary["checks"].as_array().expect("checks");
    let failed = checks.iter().filter(|check| check["held"] != true);
    let failed: Vec<&Value> = failed.collect();
    assert!(!checks.is_empty(), "{stderr}");
    assert_eq!(code, Some(i32::from(!failed.is_empty())), "{stderr}");
    let timed = |check: &Value| TIMED.iter().find(|timed| check["name"] == timed.name);
    let untimed: Vec<_> = failed.iter().filter(|it| timed(it).is_none()).collect();
    assert!(untimed.is_empty(), "{untimed:?} {stderr}");
    if failed.is_empty() {
        return;
    }
    let recording = records(folder);
    let records = recording.master.iter().chain(&recording.slave);
    let moments: Vec<Time> = records.map(|record| Time(record.now_ns)).collect();
    let (first, last) = (moments.iter().min(), moments.iter().max());
    let (first, last) = (*first.expect("ticks"), *last.expect("ticks"));
    for check in failed {
        let Timed {
            name,
            load_of,
            needs,
        } = timed(check).expect("asserted above");
        let machine = load_of(load).between(first, last);
        let found = format!("{name} is {} of {}", check["value"], check["limit"]);
        machine.judge(&found, false, *needs);
    }
}

/// Asserts that a folder holds the complete results of a session, and nothing else.
pub(crate) fn assert_complete(folder: &Path) {
    for name in [
        "summary.json",
        "recording.mcap",
        "report.html",
        "config.toml",
        "metadata.yaml",
    ] {
        let length = std::fs::metadata(folder.join(name)).map(|file| file.len());
        assert!(length.is_ok_and(|length| length > 0), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 5);
}
