//! Tests of the common flags: their effect, and refusals where they have none.
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
fn status_and_stderr(arguments: &[&str]) -> (Option<i32>, String) {
    let output = palpate(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

/// JSON on stdout of a call that must succeed; arguments are separated by spaces, which no folder here has.
fn json(line: &str) -> Value {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let output = palpate(&arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn issue_page_flags_were_ignored_without_a_page() {
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
            let (status, stderr) = status_and_stderr(&arguments);
            assert_eq!(status, Some(2), "{arguments:?}: {stderr}");
            assert!(stderr.contains(flags[0]), "{arguments:?}: {stderr}");
            assert!(!out.exists(), "{arguments:?} wrote");
        }
    }
}

#[test]
fn replay_applies_the_common_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let lab = folder.path().join("lab");
    let to = |name: &str| format!("--json --out {}", text(&folder.path().join(name)));
    let recorded = json(&format!(
        "lab --duration 3 --seed 4 --mode wave {}",
        to("lab")
    ));
    let replay = format!("replay {}", text(&lab));
    // the first second is the same as far as it goes
    let first = json(&format!("{replay} --duration 1 {}", to("first")));
    let ticks = |summary: &Value| summary["ticks"].as_u64().expect("a count");
    assert!(
        ticks(&first) * 2 < ticks(&recorded) && ticks(&first) > 0,
        "{first}"
    );
    let same = |check: &&Value| {
        check["name"] == "ticks that are not bit-identical" && check["held"] == true
    };
    let checks = first["checks"].as_array().expect("checks");
    assert_eq!(checks.iter().filter(same).count(), 1, "{checks:?}");
    // both --set and --config are changes
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
    let (status, stderr) = status_and_stderr(&["replay", text(&lab), "--console", "--seed", "9"]);
    assert!(status == Some(2) && stderr.contains("--seed"), "{stderr}");
}

#[test]
fn other_commands_accept_the_common_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("bench");
    for command in [
        vec!["bench", "--only", "ticks", "--out", text(&out)],
        vec!["identify", "nowhere.mcap"],
    ] {
        let arguments = [command, vec!["--set", "coupling.impedance_nspm=-3"]].concat();
        let (status, stderr) = status_and_stderr(&arguments);
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
    assert_eq!(
        status_and_stderr(&[&bench[..], &[text(&out)]].concat()).0,
        Some(0)
    );
    assert_eq!(status_and_stderr(&["doctor", "-v"]).0, Some(0));
    assert_eq!(
        status_and_stderr(&["model", "inspect", "regular", "-v"]).0,
        Some(0)
    );
    let (status, stderr) = status_and_stderr(&[
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

#[test]
fn renamed_configuration_keys_work_and_warn() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.toml");
    let base = "duration_s = 0.3\ntissue = \"free\"\ntwin = \"sheet\"\n";
    let run = |name: &str, keys: &str, flags: &[&str]| -> (String, Vec<String>) {
        std::fs::write(&file, format!("{base}{keys}")).expect("a file");
        let out = folder.path().join(name);
        let arguments = ["lab", "-q", "--config", text(&file), "--out", text(&out)];
        let (_, stderr) = status_and_stderr(&[&arguments[..], flags].concat());
        let config = std::fs::read_to_string(out.join("config.toml")).expect(&stderr);
        let notes = stderr.lines().filter(|line| line.contains("is now"));
        (config, notes.map(str::to_owned).collect())
    };
    let old = run(
        "old",
        "[coupling]\nrecover_hz = 7.5\n[master.predict]\nupdate_hz = 5.0\n",
        &["--set", "coupling.follow_hz=20"],
    );
    let new = run(
        "new",
        "[coupling]\nrecovery_per_s = 7.5\n[master.predict]\nupdate_per_s = 5.0\n",
        &["--set", "coupling.follow_per_s=20"],
    );
    assert_eq!(old.0, new.0);
    assert!(new.0.contains("recovery_per_s = 7.5") && new.0.contains("follow_per_s = 20"));
    assert_eq!(new.1, [""; 0]);
    for (note, (was, now)) in old.1.iter().zip([
        ("coupling.recover_hz", "recovery_per_s"),
        ("master.predict.update_hz", "update_per_s"),
        ("coupling.follow_hz", "follow_per_s"),
    ]) {
        assert!(note.contains(was) && note.contains(now), "{note}");
    }
    assert_eq!(old.1.len(), 3, "{:?}", old.1);
    let trial = folder.path().join("trial.toml");
    let grid = "[base]\nduration_s = 0.3\ntissue = \"free\"\ntwin = \"sheet\"\n[grid]\n\"coupling.share_hz\" = [4]\n";
    std::fs::write(&trial, grid).expect("a file");
    let out = folder.path().join("trial");
    let (_, stderr) = status_and_stderr(&["trial", text(&trial), "-q", "--out", text(&out)]);
    assert!(
        stderr.contains("`grid.coupling.share_hz` is now `surplus_per_s`"),
        "{stderr}"
    );
    let table = std::fs::read_to_string(out.join("trials.csv")).expect(&stderr);
    assert!(
        table.contains("coupling.surplus_per_s") && !table.contains("share_hz"),
        "{table}"
    );
}

#[test]
fn renamed_scene_keys_work_and_warn() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("old.toml");
    let own = include_str!("../../sim-twin/scene/scenes/layered.toml");
    std::fs::write(&file, own.replace("damping_per_s", "damping_hz")).expect("a file");
    let out = folder.path().join("out");
    let flags = [
        "--duration",
        "0.2",
        "--tissue",
        "free",
        "--twin",
        text(&file),
    ];
    let (_, stderr) =
        status_and_stderr(&[&["lab", "-q", "--out", text(&out)], &flags[..]].concat());
    assert!(
        stderr.contains("`block.damping_hz` is now `damping_per_s`"),
        "{stderr}"
    );
    assert!(out.join("summary.json").exists(), "{stderr}");
}

#[test]
fn renamed_charts_and_postconditions_are_read_and_warn() {
    let (status, stderr) =
        status_and_stderr(&["atlas", "--set", "charts=line", "--set", "wall_npm=0"]);
    assert_eq!(status, Some(2), "{stderr}");
    assert!(
        stderr.contains("the chart `line` is now `displayed`") && stderr.contains("0 points"),
        "{stderr}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let step =
        "[[step]]\nname = \"feel\"\nkind = \"press\"\nsite_m = [0.0, 0.0]\ndepth_m = 0.002\n";
    let json = r#"{"step": [{"name": "feel", "kind": "press", "site_m": [0.0, 0.0], "depth_m": 0.002}],
        "after": [{"kind": "ledger"}]}"#;
    let note = "the post-condition `ledger` is now `energy-balance`";
    for (name, script, is_noted) in [
        (
            "former.toml",
            format!("{step}[[after]]\nkind = \"ledger\"\n"),
            true,
        ),
        ("former.json", json.to_owned(), true),
        (
            "now.toml",
            format!("{step}[[after]]\nkind = \"energy-balance\"\n"),
            false,
        ),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, script).expect("a file");
        let (status, stderr) = status_and_stderr(&[
            "rehearse",
            "--script",
            text(&file),
            "--twin",
            "no-such-scene",
        ]);
        assert_eq!(status, Some(2), "{stderr}");
        // the script is accepted: only its scene does not exist
        assert!(stderr.contains("no scene is called"), "{stderr}");
        assert_eq!(stderr.contains(note), is_noted, "{stderr}");
    }
}
