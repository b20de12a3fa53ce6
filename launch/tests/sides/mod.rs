//! Sessions and sides as processes of a test: started, watched by what they record, ended, and judged.
//!
//! A test waits for what a process has recorded, which is what a user would have of it, and for no time.

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

use crate::ports::Ports;
use crate::witness::{Needs, Testimony, Witness, wait_for};

/// SCHED_FIFO priority that a servo asks for if nothing is said.
const SERVO_PRIORITY: u8 = 80;

/// Witnesses of what a session needs of the machine.
pub(crate) struct Witnesses {
    servos: Witness,
    others: Witness,
}

impl Witnesses {
    /// Timers beside servos, and beside the threads that open and end a session.
    pub(crate) fn start() -> Self {
        Self {
            servos: Witness::start(SERVO_PRIORITY),
            others: Witness::start(0),
        }
    }

    /// Ends the timers; gives what they saw.
    pub(crate) fn testify(self) -> Seen {
        Seen {
            servos: self.servos.testify(),
            others: self.others.testify(),
        }
    }
}

/// What was seen of the machine beside a session.
pub(crate) struct Seen {
    servos: Testimony,
    others: Testimony,
}

/// A check that a machine can break, and what it needs of it.
struct Timed {
    name: &'static str,
    seen: fn(&Seen) -> &Testimony,
    needs: Needs,
}

/// All of them. A servo must not lose more of its ticks than the timer of the main job may be late of its own. A robot
/// whose controller sleeps longer than its drive waits swings back to where it then held. The end of one side is
/// passed on to the other by ordinary threads, and until then that one records alone.
const TIMED: [Timed; 3] = [
    Timed {
        name: "share of the ticks missed",
        seen: |seen| &seen.servos,
        needs: Needs::Ticks(0.01),
    },
    Timed {
        name: "motion while not enabled",
        seen: |seen| &seen.servos,
        needs: Needs::Promptness(Span(2_000_000)),
    },
    Timed {
        name: "records of one side alone, not judged",
        seen: |seen| &seen.others,
        needs: Needs::Ticks(0.5),
    },
];

/// Longest wait for the end of a process: a session's length, and its judging on a busy machine.
const ENDING: Duration = Duration::from_secs(300);

/// A process of palpate with a folder for its results, which dies with the test.
pub(crate) struct Process {
    child: Option<Child>,
    out: PathBuf,
}

/// Starts `palpate` with these words, and `--out`.
pub(crate) fn palpate(words: &[&str], out: &Path) -> Process {
    let child = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(words)
        .arg("--out")
        .arg(out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    Process {
        child: Some(child),
        out: out.to_owned(),
    }
}

/// Starts a session of both sides on tissues that cost little, with a page at any port.
pub(crate) fn session(out: &Path, ports: &Ports, more: &[&str]) -> Process {
    let words = ["run", "-q", "--console-port", "0", "--set", &ports.set()];
    palpate(&[&words, LIGHT, more].concat(), out)
}

/// Tissues that cost little: live tests judge sessions, not models.
const LIGHT: &[&str] = &["--tissue", "sheet-lump", "--twin", "sheet"];

/// Starts one side alone on loopback, on tissues that cost little unless `more` says otherwise.
pub(crate) fn side(side: &str, out: &Path, ports: &Ports, more: &[&str]) -> Process {
    let tissues = if more.contains(&"--tissue") {
        &[]
    } else {
        LIGHT
    };
    let words = [side, "-q", "--no-console", "--set", &ports.set()];
    palpate(&[&words, tissues, more].concat(), out)
}

/// Starts a slave that runs until it is stopped, and waits until it can be dialled.
pub(crate) fn slave(out: &Path, ports: &Ports, more: &[&str]) -> Process {
    let mut slave = side("slave", out, ports, &[more, &["--until-stopped"]].concat());
    wait_for("slave that listens", || {
        slave.assert_runs();
        ports.listened().then_some(())
    });
    slave
}

/// Waits for the end of a session that says itself when, as long as [`ENDING`].
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
    /// Number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().expect("not ended yet").id()
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        kill(Pid::from_raw(self.id().cast_signed()), Signal::SIGINT).expect("it runs");
    }

    /// Asserts that it has not ended.
    fn assert_runs(&mut self) {
        let child = self.child.as_mut().expect("not ended yet");
        if child.try_wait().expect("a child").is_some() {
            let output = self.child.take().map(Child::wait_with_output);
            panic!("it ended before it was to: {output:?}");
        }
    }

    /// Waits until a session of both sides is under way: a second of it is recorded at either.
    pub(crate) fn wait_until_under_way(&mut self) {
        for side in ["master", "slave"] {
            let folder = self.out.join(format!(".sides-{}", self.id())).join(side);
            self.records_in(&folder, &format!("a second of the {side}"), |recording| {
                recording.master.len() + recording.slave.len() >= 1000
            });
        }
    }

    /// Waits until what it has recorded so far, as a side alone, is as wanted; gives it.
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
        let file = folder.join("recording.mcap");
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

    /// Processes whose parent it is, with their command lines.
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

/// Processes whose parent is `parent`, with their command lines.
pub(crate) fn children(parent: u32) -> Vec<(i32, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("Linux").flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // a process may end while it is looked at
        let read = |name| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        if read("status").contains(&format!("\nPPid:\t{parent}\n")) {
            found.push((pid, read("cmdline").replace('\0', " ")));
        }
    }
    found
}

/// How a process ended, and what it left.
pub(crate) struct Ended {
    /// Its exit status; none if it was killed.
    pub(crate) code: Option<i32>,
    /// What it said to people.
    pub(crate) stderr: String,
    out: PathBuf,
}

impl Ended {
    /// Its summary.
    pub(crate) fn summary(&self) -> Value {
        summary(&self.out)
    }

    /// Asserts that the session was done and its checks held; `seen` is what beside it was seen of the machine.
    pub(crate) fn assert_held(&self, seen: &Seen) {
        assert_held(self.code, &self.out, seen, &self.stderr);
    }

    /// Asserts that its folder holds the results of a session whole, and nothing else.
    pub(crate) fn assert_whole(&self) {
        assert_whole(&self.out);
    }
}

/// The summary in a folder.
pub(crate) fn summary(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

/// The recording in a folder.
pub(crate) fn records(folder: &Path) -> Recording {
    record::read(&folder.join("recording.mcap")).expect("a recording")
}

/// Asserts that a session ended with status 0, or with 1 for checks that the clock decides on a machine that did not
/// allow to judge them.
pub(crate) fn assert_held(code: Option<i32>, folder: &Path, seen: &Seen, stderr: &str) {
    assert!(matches!(code, Some(0 | 1)), "{code:?} {stderr}");
    let summary = summary(folder);
    let checks = summary["checks"].as_array().expect("checks");
    let broken = checks.iter().filter(|check| check["held"] != true);
    let broken: Vec<&Value> = broken.collect();
    assert!(!checks.is_empty(), "{stderr}");
    assert_eq!(code, Some(i32::from(!broken.is_empty())), "{stderr}");
    let timed = |check: &Value| TIMED.iter().find(|timed| check["name"] == timed.name);
    let ours: Vec<_> = broken.iter().filter(|it| timed(it).is_none()).collect();
    assert!(ours.is_empty(), "{ours:?} {stderr}");
    if broken.is_empty() {
        return;
    }
    let recording = records(folder);
    let records = recording.master.iter().chain(&recording.slave);
    let moments: Vec<Time> = records.map(|record| Time(record.now_ns)).collect();
    let (first, last) = (moments.iter().min(), moments.iter().max());
    let (first, last) = (*first.expect("ticks"), *last.expect("ticks"));
    for check in broken {
        let Timed {
            name,
            seen: of,
            needs,
        } = timed(check).expect("asserted above");
        let machine = of(seen).between(first, last);
        let found = format!("{name} is {} of {}", check["value"], check["limit"]);
        machine.judge(&found, false, *needs);
    }
}

/// Asserts that a folder holds the results of a session whole, and nothing else.
pub(crate) fn assert_whole(folder: &Path) {
    for name in [
        "summary.json",
        "recording.mcap",
        "report.html",
        "config.toml",
    ] {
        let length = std::fs::metadata(folder.join(name)).map(|file| file.len());
        assert!(length.is_ok_and(|length| length > 0), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 4);
}
