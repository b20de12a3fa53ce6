//! Tests that nothing is lost: results of an earlier run stay, a killed session is recovered, a full disk leaves
//! nothing half-named, and input without bound is refused.

mod load_monitor;
mod ports;
mod sides;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use palpate_session::record;
use serde_json::Value;

use ports::Ports;

fn palpate(words: &str, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
    command.args(words.split(' ')).arg("--out").arg(out);
    command.output().expect("the binary starts")
}

/// Asserts an exit status, and returns stderr.
fn ended(output: &Output, code: i32) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

/// A short session on cheap tissues.
const LAB: &str = "lab -q --duration 0.5 --tissue sheet --twin sheet --mode wave";

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("readable").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.into_string().expect("text"))
        .collect();
    names.sort();
    names
}

#[test]
fn results_of_an_earlier_run_are_replaced_only_on_request() {
    let root = tempfile::tempdir().expect("a folder");
    let out = root.path().join("run");
    let is_judged = |output: &Output| matches!(output.status.code(), Some(0 | 1));
    assert!(is_judged(&palpate(LAB, &out)));
    let read = || std::fs::read(out.join("config.toml")).expect("a configuration");
    let first = read();
    let other = format!("{LAB} --seed 9");
    let stderr = ended(&palpate(&other, &out), 2);
    assert!(
        stderr.contains("--overwrite") && stderr.contains("earlier run"),
        "{stderr}"
    );
    assert_eq!(read(), first);
    assert!(is_judged(&palpate(&format!("{other} --overwrite"), &out)));
    assert_ne!(read(), first);
    // a replay that may overwrite does not remove the recording
    let words = format!("replay {} -q --overwrite", out.display());
    ended(&palpate(&words, &out), 0);
    assert!(out.join("recording.mcap").exists());
}

#[test]
fn links_in_the_folder_of_results_are_not_followed() {
    let root = tempfile::tempdir().expect("a folder");
    let (out, mine) = (root.path().join("run"), root.path().join("mine.txt"));
    std::fs::create_dir(&out).expect("writable");
    std::fs::write(&mine, "mine").expect("writable");
    for name in [
        "config.toml",
        "summary.json",
        "recording.mcap.part",
        ".palpate-probe.part",
    ] {
        symlink(&mine, out.join(name)).expect("linked");
    }
    let link = root.path().join("link");
    symlink(&out, &link).expect("linked");
    let stderr = ended(&palpate(&format!("{LAB} --overwrite"), &link), 2);
    assert!(stderr.contains("symbolic link"), "{stderr}");
    ended(&palpate(LAB, &out), 2);
    let output = palpate(&format!("{LAB} --overwrite"), &out);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert_eq!(std::fs::read_to_string(&mine).expect("there"), "mine");
    assert!(!out.join("config.toml").is_symlink());
}

#[test]
fn full_disk_leaves_no_half_file_under_a_name() {
    let root = tempfile::tempdir().expect("a folder");
    let out = root.path().join("run");
    let words =
        format!("{LAB} --duration 5 --out {}", out.display()).replace("--duration 0.5 ", "");
    // 100 blocks of 512 bytes a file
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", limited, env!("CARGO_BIN_EXE_palpate")]);
    let output = shell.args(words.split(' ')).output().expect("a shell");
    let stderr = ended(&output, 3);
    assert!(
        stderr.contains("recording.mcap") && stderr.contains("disk full"),
        "{stderr}"
    );
    assert_eq!(files(&out), ["config.toml", "recording.mcap.part"]);
}

#[test]
fn killed_lab_is_offered_and_recovered_with_its_cut() {
    let root = tempfile::tempdir().expect("a folder");
    let out = root.path().join("run");
    let words = format!("{LAB} --duration 4").replace("--duration 0.5 ", "");
    assert!(matches!(palpate(&words, &out).status.code(), Some(0 | 1)));
    let bytes = std::fs::read(out.join("recording.mcap")).expect("a recording");
    std::fs::remove_dir_all(&out).expect("removable");
    std::fs::create_dir(&out).expect("writable");
    // as a kill leaves it
    std::fs::write(
        out.join("recording.mcap.part"),
        &bytes[..bytes.len() * 2 / 3],
    )
    .expect("writable");
    let replay = format!("replay {} -q", out.display());
    let stderr = ended(&palpate(&replay, &root.path().join("again")), 2);
    let offer = format!("palpate recover {}", out.display());
    assert!(stderr.contains(&offer), "{stderr}");
    let recover = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
        command.arg("recover").arg(&out).arg("--json");
        command.output().expect("the binary starts")
    };
    let recovered = recover();
    assert!(
        matches!(recovered.status.code(), Some(0 | 1)),
        "{recovered:?}"
    );
    let summary: Value = serde_json::from_slice(&recovered.stdout).expect("JSON");
    assert_eq!(
        (&summary["command"], &summary["ending"]),
        (&"recover".into(), &"killed".into())
    );
    let recording = record::read(&out.join("recording.mcap")).expect("whole");
    assert_eq!(
        (recording.damage.is_some(), recording.cuts.len()),
        (false, 2)
    );
    assert!(recording.master.len() > 1000 && recording.master.len() < 4000);
    ended(&palpate(&replay, &root.path().join("again")), 0);
    let stderr = ended(&recover(), 2);
    assert!(stderr.contains("is whole"), "{stderr}");
}

#[test]
fn killed_run_leaves_both_sides_where_recover_finds_them() {
    let root = tempfile::tempdir().expect("a folder");
    let (out, ports) = (root.path().join("run"), Ports::free());
    let mut run = sides::session(&out, &ports, &["--duration", "60"]);
    run.wait_until_running();
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGKILL).expect("it runs");
    assert_eq!(run.end().code, None);
    // a private key does not outlive its session, killed or not
    let keys = out.join("sides").join("keys");
    for side in ["master", "slave"] {
        let of = |name: &str| keys.join(side).join(name).exists();
        assert_eq!((of("host.pem"), of("host.key")), (true, false), "{side}");
    }
    // as a session leaves them that is killed before its sides have read them
    std::fs::write(keys.join("master").join("host.key"), "a key").expect("writable");
    for side in ["master", "slave"] {
        assert!(
            out.join("sides")
                .join(side)
                .join("recording.mcap.part")
                .exists(),
            "{side}"
        );
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
    let recovered = command
        .arg("recover")
        .arg(&out)
        .output()
        .expect("it starts");
    assert!(
        matches!(recovered.status.code(), Some(0 | 1)),
        "{recovered:?}"
    );
    let stdout = String::from_utf8_lossy(&recovered.stdout);
    assert!(
        stdout.contains("The records of the slave end with tick"),
        "{stdout}"
    );
    assert!(!keys.exists());
    let recording = record::read(&out.join("recording.mcap")).expect("whole");
    assert_eq!(
        (recording.damage.is_some(), recording.cuts.len()),
        (false, 2)
    );
    assert!(recording.master.len() >= 1000 && recording.slave.len() >= 1000);
    // the last ticks of a side may lack a frame of the other
    let words = format!("replay {} --json", out.display());
    let replayed = palpate(&words, &root.path().join("again"));
    let summary: Value = serde_json::from_slice(&replayed.stdout).expect("a replay");
    let mut checks = summary["checks"].as_array().expect("checks").iter();
    let same = checks.find(|check| check["name"] == "ticks that are not bit-identical");
    assert_eq!(same.expect("a check")["held"], true, "{summary}");
}

#[test]
fn input_without_bound_is_refused_and_long_values_are_cut() {
    let root = tempfile::tempdir().expect("a folder");
    let out = root.path().join("run");
    let scene = root.path().join("scene.toml");
    let file = std::fs::File::create(&scene).expect("writable");
    file.set_len(1 << 30).expect("sparse");
    let scene = scene.display().to_string();
    let words = [
        format!("lab --tissue {scene}"),
        format!("lab --config {scene}"),
        format!("trial {scene}"),
        format!("rehearse --script {scene}"),
        "lab --config /dev/zero".to_owned(),
        "trial /dev/zero".to_owned(),
    ];
    for words in words {
        let stderr = ended(&palpate(&words, &out), 2);
        assert!(
            stderr.contains("expected at most 16777216"),
            "{words}: {stderr}"
        );
    }
    let long = "x".repeat(5000);
    for words in [
        format!("lab --tissue {long}"),
        format!("lab --set coupling.{long}=1"),
        format!("lab --seed {long}"),
        format!("lab --set name={long} --set seed=-1"),
        format!("trial {long}"),
    ] {
        let stderr = ended(&palpate(&words, &out), 2);
        assert!(stderr.len() < 3000, "{} bytes: {stderr}", stderr.len());
    }
}
