//! Long work that is ended before its time, by Ctrl-C or a kill: sessions in virtual time, and bench.

mod ports;
mod sides;
mod witness;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_session::record;
use serde_json::Value;
use witness::wait_for;

/// A session of a day, which takes an hour.
fn start(out: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["lab", "-q", "--duration", "86400", "--out"])
        .arg(out)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts")
}

/// Wait until a recording is well under way, and end its writer.
fn cut(lab: Child, out: &Path, signal: Signal) -> Output {
    let recording = out.join("recording.mcap");
    let length = || recording.metadata().map_or(0, |data| data.len());
    // some seconds of a session that takes as long as it lasts, on a machine with nothing else to do
    let mut reached = 0;
    while reached < 3_000_000 {
        let before = reached;
        wait_for("longer recording", || {
            Some(length()).filter(|now| *now > before)
        });
        reached = length();
    }
    kill(Pid::from_raw(lab.id().cast_signed()), signal).expect("it runs");
    lab.wait_with_output().expect("it ends")
}

#[test]
fn ctrl_c_ends_a_long_session_with_whole_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = cut(start(folder.path()), folder.path(), Signal::SIGINT);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let text = std::fs::read_to_string(folder.path().join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(summary["ending"], "interrupted");
    assert_eq!(summary["passivity"]["violations"], 0);
    let recording = record::read(&folder.path().join("recording.mcap")).expect("readable");
    assert_eq!(recording.damage, None);
    assert_eq!(
        Some(recording.master.len() as u64),
        summary["ticks"].as_u64()
    );
    assert_eq!(
        recording.summary.as_deref().map(str::trim),
        Some(text.trim())
    );
    assert!(folder.path().join("report.html").exists());
}

#[test]
fn a_killed_session_keeps_what_was_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = cut(start(folder.path()), folder.path(), Signal::SIGKILL);
    assert_eq!(output.status.code(), None);
    let recording = record::read(&folder.path().join("recording.mcap")).expect("readable");
    let damage = recording.damage.expect("it was cut");
    assert!(damage.kept > 2000, "{damage}");
    assert!(
        recording
            .master
            .iter()
            .enumerate()
            .all(|(k, record)| record.tick == k as u64)
    );
}

/// Whether a process that `parent` started is there and catches Ctrl-C.
fn echoes(parent: u32) -> bool {
    sides::children(parent).iter().any(|(child, _)| {
        let status = std::fs::read_to_string(format!("/proc/{child}/status"));
        let caught = status
            .as_deref()
            .unwrap_or_default()
            .lines()
            .find_map(|line| {
                let mask = line.strip_prefix("SigCgt:")?;
                u64::from_str_radix(mask.trim(), 16).ok()
            });
        caught.is_some_and(|mask| mask & 1 << (Signal::SIGINT as u32 - 1) != 0)
    })
}

/// The terminal sends Ctrl-C to the process that echoes, too.
#[test]
fn issue_ctrl_c_killed_bench() {
    use std::os::unix::process::CommandExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("bench");
    let bench = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(["bench", "--json", "--out"])
        .arg(&out)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // signals are caught before the folder is made, and by whoever echoes before it is ready
    wait_for("folder", || out.exists().then_some(()));
    wait_for("process that echoes", || echoes(bench.id()).then_some(()));
    let group = Pid::from_raw(-bench.id().cast_signed());
    kill(group, Signal::SIGINT).expect("it runs");
    let output = bench.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert!(report["tissue"].is_null(), "{report}");
    assert!(out.join("bench.json").exists());
}
