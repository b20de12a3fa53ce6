//! Tests of `palpate rehearse`: a built-in script, a failing one, an unreadable one.
//!
//! Source: ours; exit statuses as in the README.

use std::path::Path;
use std::process::{Command, Output};

use palpate_session::record;
use serde_json::Value;

fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

fn checks(summary: &Value) -> Vec<(String, bool)> {
    let checks = summary["checks"].as_array().expect("checks").iter();
    let passed = |check: &Value| check["held"].as_bool().expect("a word");
    checks
        .map(|check| {
            (
                check["name"].as_str().unwrap_or("").to_owned(),
                passed(check),
            )
        })
        .collect()
}

/// A user's first try: it removes the nodule, leaves complete files, and its configuration repeats it bit by bit.
#[test]
fn tp_11_built_in_biopsy_removes_the_nodule() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["one", "two"].map(|name| folder.path().join(name));
    let output = palpate(&[
        "rehearse",
        "--script",
        "biopsy",
        "--json",
        "--out",
        text(&first),
    ]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{stderr} {:?}",
        checks(&summary)
    );
    assert_eq!(summary["command"], "rehearse");
    assert!(
        summary["rehearsal"]["removed_m3"]
            .as_f64()
            .is_some_and(|m3| m3 > 1e-7)
    );
    for file in ["report.html", "surface.ply", "config.toml", "summary.json"] {
        assert!(
            first
                .join(file)
                .metadata()
                .is_ok_and(|data| data.len() > 100),
            "{file}"
        );
    }
    let recording = record::read(&first.join("recording.mcap")).expect("readable");
    assert_eq!(
        Some(recording.master.len() as u64),
        summary["ticks"].as_u64()
    );
    assert!(recording.slave.is_empty());
    // the recording holds the edit batches, and replays bit-identically
    assert_eq!(
        Some(recording.edit_batches.len() as u64),
        summary["topology"]["edit_batches"].as_u64()
    );
    assert!(recording.links().cut > 10, "{:?}", recording.links());
    let replayed = folder.path().join("replayed");
    let output = palpate(&["replay", text(&first), "--json", "--out", text(&replayed)]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let replayed: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(replayed["trace_hash"], summary["trace_hash"]);
    assert_eq!(
        replayed["topology"]["master"],
        summary["topology"]["master"]
    );
    let config = first.join("config.toml");
    let again = palpate(&[
        "rehearse",
        "--config",
        text(&config),
        "--json",
        "--out",
        text(&second),
    ]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("a summary");
    assert_eq!(again["trace_hash"], summary["trace_hash"]);
    assert_eq!(again["checks"], summary["checks"]);
}

#[test]
fn failed_postcondition_exits_1_and_bad_script_exits_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("press.json");
    let write = |depth_m: f64| {
        let text = format!(
            r#"{{"scene": "linked-nodule", "step": [{{"kind": "press", "site_m": [0, 0], "depth_m": {depth_m}}}],
                 "after": [{{"kind": "force", "most_n": 0.01}}]}}"#
        );
        std::fs::write(&script, text).expect("writable");
    };
    write(0.004);
    let out = folder.path().join("out");
    let call = [
        "rehearse",
        "--script",
        text(&script),
        "--json",
        "--out",
        text(&out),
    ];
    let output = palpate(&call);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(output.status.code(), Some(1), "{:?}", checks(&summary));
    let failed = checks(&summary).into_iter().filter(|(_, passed)| !passed);
    let failed: Vec<String> = failed.map(|(name, _)| name).collect();
    assert_eq!(failed, ["most force on the hand"]);
    write(4.0);
    for (arguments, parts) in [
        (
            &call[..],
            &["press.json", "step 1 `press-1`: depth_m is 4", "0 to 0.05"][..],
        ),
        (
            &["rehearse", "--script", "no-such"],
            &["--script no-such", "biopsy"],
        ),
        (
            &["rehearse", "--script", "biopsy", "--twin", "layered"],
            &["step 2 `open`", "layered", "cut"],
        ),
        (
            &["rehearse", "--script", "biopsy", "--duration", "1"],
            &["duration_s is 1", "length of the script"],
        ),
    ] {
        let output = palpate(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "no `{part}` in: {stderr}");
        }
    }
}

/// Without a script, the default palpation runs on any tissue.
#[test]
fn rehearsal_without_script_palpates_the_twin() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = palpate(&[
        "rehearse",
        "--twin",
        "sheet",
        "--duration",
        "8",
        "--json",
        "--no-recording",
        "--out",
        text(folder.path()),
    ]);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(output.status.code(), Some(0), "{:?}", checks(&summary));
    assert!(summary["rehearsal"].is_null());
    assert!(
        summary["contact"]["peak_force_n"]
            .as_f64()
            .is_some_and(|n| n > 0.5)
    );
    assert!(!folder.path().join("recording.mcap").exists());
}
