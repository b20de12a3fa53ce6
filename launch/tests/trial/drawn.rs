//! Tests of a trial that draws its sessions.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::{code, palpate, read, text, words};

/// Runs twenty drawn sessions. Walls are stiffer than `slave.wall_npm_max`, so that some sessions fail on purpose.
fn drawn(seed: &str, out: &Path, more: &[&str]) -> Output {
    let flags = ["trial", "adversary", "--sessions", "20", "--seed", seed];
    let more_flags = ["--set", "slave.wall_npm_max=300", "--out", text(out)];
    palpate(&[&flags[..], &more_flags, more].concat())
}

/// Last column of a row, the hash of its traces.
fn trace_hash<'a>(table: &'a str, row: &str) -> Option<&'a str> {
    let start = format!("{row},");
    let line = table.lines().find(|line| line.starts_with(&start))?;
    line.rsplit(',').next()
}

#[test]
fn drawn_sessions_repeat_with_their_seed_and_failed_ones_by_their_command() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = |name: &str| root.path().join(name);
    let first = drawn("7", &folder("first"), &[]);
    let words_out = String::from_utf8_lossy(&first.stdout).into_owned();
    assert_eq!(code(&first), Some(1), "{}", words(&first));
    let table = read(&folder("first"), "trials.csv");
    let again = drawn("7", &folder("again"), &["--json", "--jobs", "1"]);
    assert_eq!(read(&folder("again"), "trials.csv"), table);
    let json: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    let (rows, refused) = (json["rows"].as_u64(), json["refused"].as_u64());
    assert_eq!(
        rows.zip(refused).map(|(rows, refused)| rows + refused),
        Some(20)
    );
    assert!(refused > Some(0), "{json}");
    assert!(words_out.contains("drawn sessions, not run"), "{words_out}");
    // the table of checks
    let checks = json["checks"].as_array().expect("checks");
    let named = |name: &str| {
        checks
            .iter()
            .find(|check| check["name"] == name)
            .expect("a check")
    };
    let hand = named("least energy put in by the hand");
    assert_eq!(
        (&hand["failures"], &hand["judged"]),
        (&0.into(), &rows.into())
    );
    let tissue = named("force of the tissue on the probe");
    assert!(tissue["failures"].as_u64() > Some(0), "{tissue}");
    assert!(
        tissue["worst_value"].as_f64() > tissue["limit"].as_f64(),
        "{tissue}"
    );
    for page in [words_out.as_str(), &read(&folder("first"), "report.html")] {
        assert!(page.contains("force of the tissue on the probe"), "{page}");
        assert!(page.contains("sessions/s"), "{page}");
    }
    // a failed row alone, by the command that is printed
    let failed = words_out
        .lines()
        .find_map(|line| line.strip_prefix("failed     row "));
    let row = failed
        .and_then(|line| line.split(',').next())
        .expect("a row");
    let command = failed
        .and_then(|line| line.find("palpate lab").map(|at| &line[at..]))
        .expect("a command");
    let alone = folder("alone");
    let command = format!("{command} -q --out {}", text(&alone));
    let command = command.replacen("palpate", env!("CARGO_BIN_EXE_palpate"), 1);
    let output = Command::new("sh")
        .args(["-c", &command])
        .output()
        .expect("a shell");
    assert_eq!(code(&output), Some(1), "{command}: {}", words(&output));
    let summary: Value = serde_json::from_str(&read(&alone, "summary.json")).expect("JSON");
    assert_eq!(summary["trace_hash"].as_str(), trace_hash(&table, row));
    let other = drawn("8", &folder("other"), &["-q"]);
    assert!(
        code(&other).is_some_and(|code| code < 2),
        "{}",
        words(&other)
    );
    assert_ne!(read(&folder("other"), "trials.csv"), table);
}
