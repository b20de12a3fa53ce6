//! Flags that every command has: what they mean where they mean something, and refusals where nothing would heed them.
//!
//! Source: ours.

use std::path::Path;
use std::process::{Command, Output};

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

/// Status and stderr.
fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = palpate(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

/// The JSON on stdout of a call that ends well; words are between spaces, which no folder here has.
fn json(line: &str) -> Value {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = palpate(&arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn issue_flags_of_a_page_were_ignored_where_there_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trial.toml");
    std::fs::write(
        &file,
        "name = \"t\"\nkind = \"session\"\n[grid]\nrtt_ms = [0]\n",
    )
    .expect("a file");
    let out = folder.path().join("out");
    for command in [
        vec!["rehearse", "--script", "biopsy", "--out", text(&out)],
        vec!["trial", text(&file), "--out", text(&out)],
    ] {
        for flags in [vec!["--console-port", "7799"], vec!["--foxglove"]] {
            let arguments = [command.clone(), flags.clone()].concat();
            let (status, stderr) = said(&arguments);
            assert_eq!(status, Some(2), "{arguments:?}: {stderr}");
            assert!(stderr.contains(flags[0]), "{arguments:?}: {stderr}");
            assert!(!out.exists(), "{arguments:?} wrote");
        }
    }
}

#[test]
fn a_replay_heeds_the_common_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let lab = folder.path().join("lab");
    let to = |name: &str| format!("--json --out {}", text(&folder.path().join(name)));
    let made = json(&format!(
        "lab --duration 3 --seed 4 --mode wave {}",
        to("lab")
    ));
    let replay = format!("replay {}", text(&lab));
    // the first second is the same as far as it goes
    let first = json(&format!("{replay} --duration 1 {}", to("first")));
    let ticks = |summary: &Value| summary["ticks"].as_u64().expect("a count");
    assert!(
        ticks(&first) * 2 < ticks(&made) && ticks(&first) > 0,
        "{first}"
    );
    let same = |check: &&Value| {
        check["name"] == "ticks that are not bit-identical" && check["held"] == true
    };
    let checks = first["checks"].as_array().expect("checks");
    assert_eq!(checks.iter().filter(same).count(), 1, "{checks:?}");
    // what is set is a change, and a configuration is as well
    let changes = |line: String| json(&line)["what_if"]["changes"].clone();
    let set = changes(format!(
        "{replay} --set coupling.impedance_nspm=20 --seed 9 {}",
        to("set")
    ));
    assert_eq!(
        set,
        serde_json::json!(["seed=9", "coupling.impedance_nspm=20"])
    );
    let config = lab.join("config.toml");
    let named = changes(format!(
        "{replay} --config {} {}",
        text(&config),
        to("named")
    ));
    assert_eq!(
        named,
        serde_json::json!([format!("config={}", config.display())])
    );
    let (status, stderr) = said(&["replay", text(&lab), "--console", "--seed", "9"]);
    assert!(status == Some(2) && stderr.contains("--seed"), "{stderr}");
}

#[test]
fn other_commands_take_the_common_flags_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("bench");
    for command in [
        vec!["bench", "--only", "ticks", "--out", text(&out)],
        vec!["identify", "nowhere.mcap"],
    ] {
        let arguments = [command, vec!["--set", "coupling.impedance_nspm=-3"]].concat();
        let (status, stderr) = said(&arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains("impedance"), "{arguments:?}: {stderr}");
    }
    let bench = [
        "bench",
        "--only",
        "ticks",
        "--set",
        "duration_s=2",
        "--set",
        "coupling.mode=wave",
        "--seed",
        "3",
        "-v",
        "--out",
    ];
    assert_eq!(said(&[&bench[..], &[text(&out)]].concat()).0, Some(0));
    assert_eq!(said(&["doctor", "-v"]).0, Some(0));
    assert_eq!(said(&["model", "inspect", "regular", "-v"]).0, Some(0));
    let (status, stderr) = said(&[
        "tune",
        "--connect",
        "udp/127.0.0.1:9,tcp/127.0.0.1:10",
        "--duration",
        "0.5",
    ]);
    assert!(
        status == Some(2) && stderr.contains("--duration"),
        "{stderr}"
    );
}
