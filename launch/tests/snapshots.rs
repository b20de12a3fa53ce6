//! Snapshot tests: hashes, help, messages and keys that users, scripts or other programs meet must equal the files
//! in `snapshots/`.
//!
//! A difference is a decision: `PALPATE_SNAPSHOTS=write cargo test --release --workspace --test snapshots` writes the files anew,
//! and the commit gives the reason. Source: ours.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;

use palpate_session::config::Config;
use palpate_session::lab::VirtualSession;
use palpate_session::pool::run_jobs;
use palpate_transport::coupling::Mode;
use palpate_transport::msg::schema::ros2msg;
use palpate_transport::trace::Side;
use serde_json::Value;

fn snapshot(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(file)
}

/// Compares with the snapshot, line by line, and lists each line that differs.
fn check(file: &str, now: &str) {
    let path = snapshot(file);
    if std::env::var_os("PALPATE_SNAPSHOTS").is_some_and(|value| value == "write") {
        std::fs::write(&path, now).expect("writable");
        return;
    }
    let then = std::fs::read_to_string(&path).expect("a snapshot");
    let [before, after] = [then.as_str(), now].map(|text| text.lines().collect::<Vec<_>>());
    let gone = before.iter().filter(|line| !after.contains(line));
    let new = after.iter().filter(|line| !before.contains(line));
    let differences: Vec<String> = (gone.map(|line| format!("- {line}")))
        .chain(new.map(|line| format!("+ {line}")))
        .collect();
    assert_eq!(differences, Vec::<String>::new(), "{}", path.display());
    assert_eq!(then, now, "{}: the order of lines", path.display());
}

fn palpate(arguments: &[&str]) -> Output {
    // in the workspace's folder, which holds the scenes and files of the tests
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .current_dir(root)
        .env("COLUMNS", "100")
        .output()
        .expect("the binary starts")
}

/// Default flags of a session of [`SESSIONS`].
const LINK: [(&str, &str); 5] = [
    ("--duration", "1"),
    ("--seed", "7"),
    ("--rtt-ms", "60"),
    ("--jitter-ms", "8"),
    ("--loss", "0.03"),
];

/// Sessions of virtual time, each by a name and its flags beside [`LINK`].
const SESSIONS: [(&str, &str); 16] = [
    ("default", ""),
    ("wave", "--mode wave"),
    ("wave-tdpa", "--mode wave-tdpa"),
    ("mmt", "--mode mmt"),
    ("auto", "--mode auto"),
    ("springs", "--twin sheet --tissue sheet-lump"),
    ("springs-fine", "--twin sheet-fine --tissue sheet"),
    (
        "flat-sheet",
        "--twin flat-sheet --tissue flat-sheet --mode mmt",
    ),
    ("block", "--twin block --tissue block-nodule"),
    ("layers", "--twin layers-nodule --tissue rough"),
    (
        "voxels",
        "--twin linked-nodule --tissue linked-nodule --mode mmt",
    ),
    ("wall", "--tissue wall:800 --twin sheet --mode wave"),
    ("free", "--tissue free --twin sheet --mode wave-tdpa"),
    (
        "deadband-wave",
        "--codec deadband --mode wave --tissue wall:500",
    ),
    (
        "local",
        "--mode mmt --set master.predict.local=unsure --tissue wall:700 --twin sheet",
    ),
    (
        "instruments",
        "--mode wave-tdpa --config tests/scenes/opening.toml --duration 9 --twin tests/scenes/opened.toml \
         --tissue tests/scenes/opened.toml",
    ),
];

/// Sessions on two spring sheets, which cost a tenth of the default tissue; flags beside [`LINK`] and [`SHEETS`].
const SHEET_SESSIONS: [(&str, &str); 22] = [
    ("direct", "--mode direct"),
    ("tdpa", "--mode tdpa"),
    ("tank", "--mode tank"),
    ("pspm", "--mode pspm"),
    ("iss", "--mode iss"),
    ("auto-2ms", "--mode auto --rtt-ms 2 --jitter-ms 0.2"),
    // between the two bounds of its delay, so it keeps its first choice: the twin
    ("auto-5ms", "--mode auto --rtt-ms 5 --jitter-ms 0.5"),
    // near, and from 2.5 s on so far that the share of the twin is blended while the hand feels it
    (
        "auto-blends",
        "--mode auto --rtt-ms 2 --jitter-ms 0.2 --duration 4 \
         --set link.change=[{at_s=2.5,forward={oneway_ms=15},back={oneway_ms=15}}]",
    ),
    (
        "wave-filtered",
        "--mode wave --set coupling.wave_filter_hz=20",
    ),
    ("matched-slave", "--mode wave --set coupling.matching=slave"),
    ("matched-none", "--mode wave --set coupling.matching=none"),
    ("matched-both", "--mode wave --set coupling.matching=both"),
    ("deadband", "--codec deadband"),
    ("outage", "--mode wave --outage 0.4,0.3"),
    ("outage-mmt", "--mode mmt --outage 0.4,0.3"),
    (
        "reordered",
        "--mode wave-tdpa --dup 0.05 --reorder 0.1 --burst 4",
    ),
    (
        "retune",
        "--mode wave --set coupling.retune=[{at_s=0.4,impedance_nspm=25,over_s=0.1}]",
    ),
    (
        "switch",
        "--mode wave --set coupling.switch=[{at_s=0.3,mode=\"tdpa\"},{at_s=0.7,mode=\"mmt\"}]",
    ),
    (
        "mass",
        "--mode wave --set operator.handle=mass --set robot.kind=mass",
    ),
    (
        "regrip",
        "--mode wave --set operator.regrip=[{at_s=0.3,grip=\"none\"},{at_s=0.6,grip=\"firm\"}]",
    ),
    ("fallback", "--mode mmt --set realtime.fallback_share=0.1"),
    (
        "clocks",
        "--mode wave --set clock.offset_ms=250 --set clock.skew_ppm=80",
    ),
];

/// Tissue and twin of [`SHEET_SESSIONS`].
const SHEETS: &str = "--twin sheet --tissue sheet-lump";

/// Scripts of rehearsals; a rehearsal's hand has two tools, a session's has one.
const SCRIPTS: [(&str, &str); 2] = [
    ("biopsy", "--script biopsy"),
    (
        "alone",
        "--script biopsy --seed 7 --set operator.grip=light",
    ),
];

#[test]
fn session_hashes_match_the_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut calls = Vec::new();
    let on_sheets = SHEET_SESSIONS.map(|(name, flags)| (name, format!("{SHEETS} {flags}")));
    let sessions = SESSIONS.map(|(name, flags)| (name, flags.to_owned()));
    for (name, mut flags) in sessions.into_iter().chain(on_sheets) {
        for (flag, value) in LINK {
            if !flags.contains(flag) {
                write!(flags, " {flag} {value}").expect("a text");
            }
        }
        calls.push(("lab", name, flags));
    }
    calls.extend(SCRIPTS.map(|(name, flags)| ("rehearse", name, flags.to_owned())));
    // each call computes on one core
    let line = |number: usize| {
        let (command, name, flags) = &calls[number];
        let hash = hash_of(command, name, flags, folder.path());
        let prefix = if *command == "lab" { "" } else { "rehearse-" };
        Ok::<_, Infallible>(format!("{prefix}{name} {hash}\n"))
    };
    let mut lines = vec![String::new(); calls.len()];
    let never = AtomicBool::new(false);
    let Ok(()) = run_jobs(calls.len(), 2, &never, &line, |number, line| {
        lines[number] = line;
        Ok(())
    });
    let mut text = lines.concat();
    for side in [Side::Master, Side::Slave] {
        writeln!(text, "restart-{} {}", side.name(), restarted(side)).expect("a text");
    }
    check("hashes.txt", &text);
}

/// Hash of one call, which must run; failed checks do not matter here.
fn hash_of(command: &str, name: &str, flags: &str, folder: &Path) -> String {
    let out = folder.join(name).display().to_string();
    let mut arguments = vec![command, "--json", "-q", "--out", &out];
    if command == "lab" {
        arguments.push("--no-recording");
    }
    arguments.extend(flags.split_whitespace());
    let output = palpate(&arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{name}: {code:?} {stderr}");
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    summary["trace_hash"].as_str().expect("a hash").to_owned()
}

/// Hash of a session in which a side restarts in the middle.
fn restarted(side: Side) -> String {
    let mut config = Config {
        duration_s: 1.0,
        tissue: "wall:800".into(),
        twin: "sheet".into(),
        ..Config::default()
    };
    config.coupling.mode = Mode::WaveTdpa;
    let mut session = VirtualSession::new(&config).expect("valid");
    for tick in 0..session.ticks() {
        if tick == 500 {
            session.restart(side).expect("the scene is still there");
        }
        session.step();
    }
    session.trace_hash()
}

/// Every command and subcommand.
const COMMANDS: [&str; 23] = [
    "",
    "run",
    "master",
    "slave",
    "lab",
    "rehearse",
    "trial",
    "trial merge",
    "atlas",
    "tune",
    "replay",
    "identify",
    "bench",
    "doctor",
    "model",
    "model inspect",
    "model validate",
    "model build",
    "model condense",
    "model detect",
    "model press",
    "model drape",
    "model convert",
];

#[test]
fn help_matches_the_snapshot() {
    let mut text = String::new();
    for command in COMMANDS {
        let mut arguments: Vec<&str> = command.split_whitespace().collect();
        arguments.push("--help");
        let output = palpate(&arguments);
        assert!(output.status.success(), "{command}: {output:?}");
        writeln!(text, "== palpate {command}").expect("a text");
        text += &String::from_utf8_lossy(&output.stdout);
    }
    check("help.txt", &text);
}

/// Paths of all fields below a value; those of list elements have `[]`.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                found.insert(path.clone());
                fields(value, &path, found);
            }
        }
        Value::Array(values) => {
            for value in values {
                fields(value, &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn summary_keys_checks_and_topics_match_the_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut keys = String::new();
    let mut checks = String::new();
    let mut topics = String::new();
    for (command, flags) in [
        ("lab", "--duration 1"),
        ("lab", "--duration 1 --mode wave --codec deadband"),
        (
            "lab",
            "--duration 9 --config tests/scenes/opening.toml --twin tests/scenes/opened.toml --tissue tests/scenes/opened.toml",
        ),
        ("rehearse", "--script biopsy"),
    ] {
        let out = folder.path().join(format!("{command}{}", flags.len()));
        let place = out.display().to_string();
        let mut arguments = vec![command, "--json", "-q", "--out", &place];
        arguments.extend(flags.split_whitespace());
        let output = palpate(&arguments);
        let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut found = BTreeSet::new();
        fields(&summary, "", &mut found);
        for field in found {
            writeln!(keys, "{command} {flags}: {field}").expect("a text");
        }
        for check in summary["checks"].as_array().expect("checks") {
            let (name, unit) = (&check["name"], &check["unit"]);
            writeln!(checks, "{command} {flags}: {name} [{unit}]").expect("a text");
        }
        for (topic, schema) in channels(&out.join("recording.mcap")) {
            writeln!(topics, "{command} {flags}: {topic} {schema}").expect("a text");
        }
    }
    check("summary_keys.txt", &keys);
    check("checks.txt", &checks);
    check("topics.txt", &topics);
}

/// Topics of a recording, each with its schema's name and the length and checksum of its text.
fn channels(recording: &Path) -> BTreeMap<String, String> {
    let bytes = std::fs::read(recording).expect("a recording");
    let summary = mcap::Summary::read(&bytes)
        .expect("MCAP")
        .expect("a summary");
    summary
        .channels
        .values()
        .map(|channel| {
            let schema = channel.schema.as_ref().map_or_else(String::new, |schema| {
                let sum = crc32fast::hash(&schema.data);
                format!("{} {} bytes crc {sum:08x}", schema.name, schema.data.len())
            });
            (channel.topic.clone(), schema)
        })
        .collect()
}

#[test]
fn message_schemas_match_the_snapshot() {
    use palpate_transport::msg::crtk;
    use palpate_transport::msg::{JointState, Message as _, OperatingStateReport, PoseStamped};
    use palpate_transport::msg::{StringStamped, TwistStamped, WrenchStamped};
    use palpate_transport::{HapticFrame, trace::TickRecord};
    let mut text = String::new();
    for description in [
        HapticFrame::DESCRIPTION,
        TickRecord::DESCRIPTION,
        PoseStamped::DESCRIPTION,
        TwistStamped::DESCRIPTION,
        WrenchStamped::DESCRIPTION,
        OperatingStateReport::DESCRIPTION,
        StringStamped::DESCRIPTION,
        JointState::DESCRIPTION,
    ] {
        writeln!(text, "== {}\n{}", description.name, ros2msg(description)).expect("a text");
    }
    for (side, name) in ["master", "slave"].into_iter().flat_map(|side| {
        [crtk::MEASURED_CP, crtk::MEASURED_CV, crtk::MEASURED_CF].map(|name| (side, name))
    }) {
        writeln!(text, "{}", crtk::topic(side, name)).expect("a text");
    }
    check("messages.txt", &text);
}

/// Calls that are refused, with their exit status.
const REFUSED: [&str; 26] = [
    "lab --rtt-ms -5",
    "lab --loss 2",
    "lab --mode sideways",
    "lab --set coupling.mode",
    "lab --set coupling.mood=wave",
    "lab --set coupling.impedance_nspm=-1",
    "lab --tissue no-such-scene",
    "lab --tissue wall:soft",
    "lab --duration forever",
    "lab --config no-such.toml",
    "lab --walk 1",
    "run --console-port 99999",
    "run --config no-such.toml",
    "rehearse --script no-such",
    "replay no-such",
    "identify no-such",
    "identify no-such --seconds -3",
    "trial no-such.toml",
    "trial merge no-such",
    "atlas --walk",
    "tune --walk",
    "model inspect no-such.fem",
    "model detect no-such",
    "model build no-such",
    "model drape regular dome.fem --radius -1",
    "walk",
];

#[test]
fn refusals_match_the_snapshot() {
    let mut text = String::new();
    for call in REFUSED {
        let output = palpate(&call.split_whitespace().collect::<Vec<_>>());
        assert!(output.stdout.is_empty(), "{call}: {output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        writeln!(text, "== {call}: {:?}\n{stderr}", output.status.code()).expect("a text");
    }
    check("refused.txt", &text);
}
