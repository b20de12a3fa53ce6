//! Tests of live rows with faults of processes: `palpate trial` kills, stops and restarts sides, and fills a disk.

mod ports;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use ports::Ports;

/// Runs a trial of the conditions in `text`, on cheap tissues and free ports.
fn trial(root: &Path, clock: &str, text: &str) -> Output {
    let (file, ports) = (root.join("faults.toml"), Ports::free());
    let base = format!(
        "clock = \"{clock}\"\n[base]\nduration_s = 7.0\ntissue = \"sheet-lump\"\ntwin = \"sheet\"\n\
         coupling.mode = \"wave\"\nnetwork.port = {}\n{text}",
        ports.datagrams()
    );
    std::fs::write(&file, base).expect("writable");
    let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
    command.arg("trial").arg(&file).arg("-q").arg("--out");
    command.arg(root.join("out")).output().expect("it starts")
}

/// Checks of all rows, by name: value, and true if it held.
fn checks(root: &Path) -> Vec<(String, Option<f64>, bool)> {
    let rows = std::fs::read_to_string(root.join("out/rows.jsonl")).expect("rows");
    let rows = rows.lines().skip(1).map(serde_json::from_str);
    let rows: Vec<Value> = rows.map(|row| row.expect("JSON")).collect();
    let all = rows
        .iter()
        .flat_map(|row| row["checks"].as_array().expect("checks"));
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
    all.map(|check| {
        let name = check["name"].as_str().expect("a name").to_owned();
        (name, number(&check["value"]), check["held"] == true)
    })
    .collect()
}

/// Checks that a machine without free cores breaks.
const TIMED: [&str; 3] = [
    "share of the ticks missed",
    "limit cycles",
    "motion while not enabled",
];

#[test]
fn live_rows_judge_a_restart_and_a_full_disk() {
    let root = tempfile::tempdir().expect("a folder");
    let text = "[[condition]]\nprocess.fault = \"restart\"\nprocess.side = \"slave\"\n\
                [[condition]]\nprocess.fault = \"disk-full\"\nprocess.side = \"master\"\n";
    let output = trial(root.path(), "live", text);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{stderr}");
    let checks = checks(root.path());
    let failed = checks.iter().filter(|check| {
        let is_timed = TIMED.iter().any(|name| check.0.ends_with(name));
        !check.2 && !is_timed
    });
    assert_eq!(failed.collect::<Vec<_>>(), Vec::<&_>::new(), "{stderr}");
    for name in [
        "time until the hand feels only damping",
        "slave-again: frames in the last 2 s",
        "slave-again: exit status",
        "master: full disk named in the summary",
        "master: records kept or counted as lost",
    ] {
        let found = checks.iter().find(|check| check.0 == name);
        assert!(
            found.is_some_and(|check| check.1.is_some()),
            "{name}: {checks:?}"
        );
    }
    let live = root.path().join("out/live");
    for file in [
        "row-000000/slave-again/recording.mcap",
        "row-000000/slave/recording.mcap.part",
        "row-000001/master/recording.mcap.part",
    ] {
        assert!(live.join(file).exists(), "{file}");
    }
}

#[test]
fn faults_of_processes_need_a_live_clock() {
    let root = tempfile::tempdir().expect("a folder");
    for (clock, fault, expected) in [
        ("virtual", "kill", "clock = \"live\""),
        ("live", "burn", "unknown variant `burn`"),
    ] {
        let text = format!("[[condition]]\nprocess.fault = \"{fault}\"\n");
        let output = trial(root.path(), clock, &text);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("process") && stderr.contains(expected),
            "{stderr}"
        );
    }
}
