//! Tests of trials, replays and tuning by the command line, and of the files that they write.

#[path = "trial/consent.rs"]
mod consent;
#[path = "trial/drawn.rs"]
mod drawn;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).expect(name)
}

/// Two conditions, three seeds, short sessions on springs.
const TRIAL: &str = "name = \"small\"\nseeds = 3\n[base]\nduration_s = 2.0\ntissue = \"wall:300\"\n\
                     twin = \"sheet\"\noperator.script = {kind = \"sine\"}\n[grid]\nmode = [\"wave\", \"mmt\"]\n";

#[test]
fn results_do_not_depend_on_jobs_shards_or_interruptions() {
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("small.toml");
    std::fs::write(&file, TRIAL).expect("writable");
    let folder = |name: &str| root.path().join(name);
    let run = |out: &str, more: &[&str]| {
        let out = folder(out);
        let arguments = [&["trial", text(&file), "-q", "--out", text(&out)], more].concat();
        let output = palpate(&arguments);
        assert_eq!(code(&output), Some(0), "{}", words(&output));
        out
    };
    let whole = run("whole", &["--jobs", "1"]);
    let table = read(&whole, "trials.csv");
    assert_eq!(table.matches("\r\n").count(), 7, "{table}");
    for name in ["report.html", "trials.parquet", "trial.toml"] {
        assert!(whole.join(name).exists(), "{name}");
    }
    assert_eq!(read(&run("jobs", &["--jobs", "3"]), "trials.csv"), table);
    // shards, of which one was killed in the middle of a row
    let first = run("first", &["--shard", "1/2"]);
    let second = run("second", &["--shard", "2/2"]);
    let rows = read(&second, "rows.jsonl");
    std::fs::write(second.join("rows.jsonl"), &rows[..rows.len() - 9]).expect("writable");
    let merged = folder("merged");
    let merge = || {
        palpate(&[
            "trial",
            "merge",
            text(&first),
            text(&second),
            "--out",
            text(&merged),
        ])
    };
    let output = merge();
    assert_eq!(code(&output), Some(1), "a row is missing");
    assert!(
        words(&output).contains("1 rows missing: "),
        "{}",
        words(&output)
    );
    run("second", &["--shard", "2/2"]);
    let output = merge();
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    assert_eq!(read(&merged, "trials.csv"), table);
    let output = palpate(&[
        "trial",
        "merge",
        text(&whole),
        text(&first),
        "--out",
        text(&merged),
    ]);
    assert!(
        words(&output).contains("3 rows in several folders: 0, 2, 4"),
        "{}",
        words(&output)
    );
}

#[test]
fn flags_override_the_file_and_are_stored_in_the_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let (file, out) = (root.path().join("small.toml"), root.path().join("out"));
    std::fs::write(&file, TRIAL).expect("writable");
    let flags = [
        "--rtt-ms",
        "40",
        "--set",
        "coupling.hold_s=0.03",
        "--seed",
        "5",
        "--json",
    ];
    let output = palpate(&[&["trial", text(&file), "--out", text(&out)], &flags[..]].concat());
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!((&summary["rows"], &summary["held"]), (&2.into(), &2.into()));
    let table = read(&out, "trials.csv");
    assert!(
        table.starts_with("row,condition,name,seed,repeat,coupling.hold_s,mode,rtt_ms,"),
        "{table}"
    );
    assert!(table.contains("\r\n0,0,,5,0,0.03,wave,40,"), "{table}");
    // the folder holds all that a merge needs
    let merged = root.path().join("merged");
    let output = palpate(&["trial", "merge", text(&out), "-q", "--out", text(&merged)]);
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    assert_eq!(read(&merged, "trials.csv"), table);
    for (flags, part) in [
        (&["--mode", "wave"][..], "[grid]"),
        (&["--set", "coupling.mode=wave"], "[grid]"),
        (
            &["--rtt-ms", "40", "--set", "link.back.oneway_ms=3"],
            "--rtt-ms 40.0 and --set link.back.oneway_ms=3",
        ),
        (&["--trace", "net.csv"], "--trace"),
    ] {
        let output = palpate(&[&["trial", text(&file)], flags].concat());
        assert_eq!(code(&output), Some(2), "{flags:?}");
        assert!(words(&output).contains(part), "{}", words(&output));
    }
}

#[test]
fn bad_trials_and_foreign_folders_are_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let file = root.path().join("bad.toml");
    let refused = |trial: &str, parts: &[&str]| {
        std::fs::write(&file, trial).expect("writable");
        let out = root.path().join("out");
        let output = palpate(&["trial", text(&file), "--out", text(&out)]);
        assert_eq!(code(&output), Some(2), "{trial}");
        for part in parts {
            assert!(
                words(&output).contains(part),
                "{part} is not in: {}",
                words(&output)
            );
        }
    };
    refused(
        "[base]\ntisue = \"sheet\"\n",
        &["bad.toml", "line 2", "tisue", "tissue"],
    );
    refused(
        "[grid]\nrtt_ms = [-5]\n",
        &["bad.toml", "condition 0", "oneway_ms", "-2.5"],
    );
    refused(
        "[grid]\ntissue = [\"liverr\"]\n",
        &["bad.toml", "condition 0", "liverr", "sheet"],
    );
    refused("repeats = 0\n", &["bad.toml", "repeats is 0", "1 to"]);
    let output = palpate(&["trial", "nowhere.toml"]);
    assert_eq!(code(&output), Some(2));
    assert!(
        words(&output).contains("nowhere.toml"),
        "{}",
        words(&output)
    );
    let output = palpate(&["trial", "merge", text(&file), "--out", text(root.path())]);
    assert_eq!(code(&output), Some(2));
    assert!(
        words(&output).contains("is no folder"),
        "{}",
        words(&output)
    );
    // a folder with rows of another trial stays unchanged
    let out = root.path().join("other");
    std::fs::write(&file, TRIAL).expect("writable");
    let short = [
        "trial",
        text(&file),
        "-q",
        "--shard",
        "1/6",
        "--out",
        text(&out),
    ];
    assert_eq!(code(&palpate(&short)), Some(0));
    let rows = read(&out, "rows.jsonl");
    std::fs::write(&file, TRIAL.replace("seeds = 3", "seeds = 4")).expect("writable");
    let output = palpate(&short);
    assert_eq!(code(&output), Some(2));
    assert!(words(&output).contains("hash"), "{}", words(&output));
    assert_eq!(read(&out, "rows.jsonl"), rows);
}

#[test]
fn observer_and_transparency_trials_run() {
    let root = tempfile::tempdir().expect("a folder");
    for (kind, more, column) in [
        (
            "stiffness-2afc",
            "[psycho]\ntrials = 6\n[grid]\njitter_ms = [0, 10]\n",
            "threshold",
        ),
        (
            "transparency",
            "[transparency]\nhz = [0.5, 2.3]\n",
            "locked_nspm_0.5hz",
        ),
    ] {
        let file = root.path().join("kind.toml");
        let trial = format!(
            "kind = \"{kind}\"\n[base]\ntissue = \"wall:300\"\ncoupling.mode = \"wave\"\n{more}"
        );
        std::fs::write(&file, trial).expect("writable");
        let out = root.path().join(kind);
        let output = palpate(&["trial", text(&file), "--out", text(&out)]);
        assert_eq!(code(&output), Some(0), "{}", words(&output));
        let table = read(&out, "trials.csv");
        assert!(table.contains(column), "{table}");
        let lines: Vec<Vec<&str>> = table.lines().map(|l| l.split(',').collect()).collect();
        let place = |name: &str| lines[0].iter().position(|column| *column == name);
        // a press on a steady line is measured, on a wave line with jitter it mostly is not
        let of = |name: &str| place(name).map(|at| (lines[1][at], lines[2][at]));
        if kind == "transparency" {
            assert_eq!((lines.len(), place("unmeasured_share")), (2, None));
        } else {
            let unmeasured = of("unmeasured_share");
            let mostly = |share: &str| share.parse::<f64>().is_ok_and(|share| share > 0.5);
            assert!(
                unmeasured.is_some_and(|(steady, jitters)| steady == "0" && mostly(jitters)),
                "{table}"
            );
            let known =
                of("threshold").map(|(steady, jitters)| (!steady.is_empty(), !jitters.is_empty()));
            assert_eq!(known, Some((true, false)), "{table}");
            assert_eq!(of("observer"), Some(("simulated", "simulated")));
            let answers = read(&out, "answers.csv");
            // a header line, and six comparisons of either run
            assert_eq!(answers.lines().count(), 13, "{answers}");
            assert!(out.join("answers.parquet").exists());
        }
        let checks = place("checks_held").map(|at| lines[1][at]);
        assert_eq!(checks, Some(""), "nothing was checked: {table}");
        assert!(read(&out, "report.html").contains("simulated"));
    }
}

#[test]
fn replay_is_bit_identical_and_changed_replay_is_not() {
    let root = tempfile::tempdir().expect("a folder");
    let first = root.path().join("first");
    let set = [
        "--tissue",
        "sheet-lump",
        "--twin",
        "sheet",
        "--duration",
        "8",
    ];
    let base = [&["lab", "-q", "--out", text(&first)], &set[..]].concat();
    assert_eq!(code(&palpate(&base)), Some(0));
    let again = root.path().join("again");
    let output = palpate(&["replay", text(&first), "--json", "--out", text(&again)]);
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    let of = |folder: &Path| -> Value {
        serde_json::from_str(&read(folder, "summary.json")).expect("JSON")
    };
    assert_eq!(of(&again)["trace_hash"], of(&first)["trace_hash"]);
    assert_eq!(of(&again)["command"], "replay");
    assert!(read(&again, "report.html").contains("Bit-identical"));
    damaged_recordings(root.path(), &first);
    let other = root.path().join("other");
    let change = ["--what-if", "rtt-ms=400", "mode=wave"];
    let arguments = [
        &["replay", text(&first), "-q", "--out", text(&other)],
        &change[..],
    ]
    .concat();
    let output = palpate(&arguments);
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    let summary = of(&other);
    let trip = summary["what_if"]["differences"]["age_ms_p50"]["difference"].as_f64();
    assert!(trip.is_some_and(|ms| (ms - 150.0).abs() < 15.0), "{trip:?}");
    assert!(read(&other, "report.html").contains("rtt-ms=400, mode=wave"));
    for (what, part) in [
        ("rtt-ms=-4", "oneway_ms"),
        ("mode=sideways", "sideways"),
        ("rtt-ms", "="),
        ("duration=3", "recorded hand"),
        ("operator.script.hz=2", "recorded hand"),
    ] {
        let output = palpate(&["replay", text(&first), "--what-if", what]);
        assert_eq!(code(&output), Some(2), "{what}");
        assert!(words(&output).contains(part), "{}", words(&output));
    }
    let output = palpate(&["replay", text(&root.path().join("nowhere.mcap"))]);
    assert_eq!(code(&output), Some(2));
}

/// A difference or damage is reported on the page and on stderr.
fn damaged_recordings(root: &Path, whole: &Path) {
    let of = |folder: &Path| std::fs::read(folder.join("recording.mcap")).expect("a recording");
    let bytes = of(whole);
    let cut = root.join("cut.mcap");
    std::fs::write(&cut, &bytes[..bytes.len() * 6 / 10]).expect("writable");
    let out = root.join("cut-again");
    let output = palpate(&["replay", text(&cut), "--out", text(&out)]);
    let stderr = words(&output);
    let (page, summary) = (read(&out, "report.html"), read(&out, "summary.json"));
    assert!(stderr.contains("damaged at byte"), "{stderr}");
    assert!(page.contains("damaged at byte"));
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let unrun = summary["checks"].as_array().and_then(|checks| {
        let named = |c: &&Value| c["name"] == "recorded ticks that could not be run";
        checks.iter().find(named)?["value"].as_f64()
    });
    let complete = unrun == Some(0.0);
    assert_eq!(
        code(&output),
        Some(i32::from(!complete)),
        "{unrun:?}: {stderr}"
    );
    assert_eq!(stderr.contains("could not be run"), !complete, "{stderr}");
    assert!(page.contains("recorded ticks that could not be run"));
}

#[test]
fn stated_link_gets_a_proposal_with_reasons() {
    let root = tempfile::tempdir().expect("a folder");
    let out = root.path().join("tune");
    let link_flags = ["--rtt-ms", "300", "--loss", "0.05"];
    let arguments = [&["tune", "--json", "--out", text(&out)], &link_flags[..]].concat();
    let output = palpate(&arguments);
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    let tune: Value = serde_json::from_str(&read(&out, "tune.json")).expect("JSON");
    assert_eq!(
        (&tune["mode"], &tune["codec"]),
        (&"mmt".into(), &"deadband".into())
    );
    assert!(
        tune["reasons"]
            .as_array()
            .is_some_and(|reasons| reasons.len() >= 4)
    );
    assert_eq!(tune["set"][2], "codec.kind=deadband");
    // the atlas found for it is stored, and can be chosen from again
    let line = tune["impedances"][0]["atlas_line"].as_u64();
    let line = line.and_then(|line| {
        read(&out, "atlas.csv")
            .lines()
            .nth(line as usize - 1)
            .map(str::to_owned)
    });
    assert!(line.is_some_and(|line| line.starts_with("displayed,wave,")));
    let again = root.path().join("again");
    let atlas = ["--atlas", text(&out), "-q", "--out", text(&again)];
    let output = palpate(&[&["tune"], &link_flags[..], &atlas[..]].concat());
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    let other: Value = serde_json::from_str(&read(&again, "tune.json")).expect("JSON");
    assert_eq!(other["impedance_nspm"], tune["impedance_nspm"]);
    for (flags, part) in [
        (&["--profile", "lan"][..], "--profile"),
        (&["--oneway-ms-fwd", "20"], "--oneway-ms-back"),
        (&["--loss", "0.1"], "--loss"),
        (&["--rtt-ms", "3", "--burst", "2"], "--burst"),
        (&["--rtt-ms", "3", "--atlas", "nowhere"], "nowhere"),
        (
            &["--rtt-ms", "3", "--connect", "udp/[::1]:7447"],
            "--connect",
        ),
    ] {
        let output = palpate(&[&["tune"], flags].concat());
        assert_eq!(code(&output), Some(2), "{flags:?}");
        assert!(words(&output).contains(part), "{}", words(&output));
    }
}

#[test]
fn every_shipped_trial_is_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("study/trials");
    let files = std::fs::read_dir(folder).expect("a folder of trials");
    let mut rows = 0;
    for file in files.flatten() {
        let text = std::fs::read_to_string(file.path()).expect("text");
        let name = file.file_name().to_string_lossy().into_owned();
        let trial = palpate_study::trial::file::Trial::parse(&text, &name);
        rows += trial.expect("a trial").conditions.len();
    }
    assert!(rows > 50, "{rows} conditions");
}

#[test]
fn atlas_covers_the_requested_axes_with_limits_in_json() {
    let root = tempfile::tempdir().expect("a folder");
    let out = root.path().join("atlas");
    let file = root.path().join("axes.toml");
    std::fs::write(
        &file,
        "charts = [\"line\"]\noneway_ms = [5, 20]\nwall_npm = [300]\n",
    )
    .expect("writable");
    let flags = [
        "--set",
        "charts=[\"line\", \"direct\"]",
        "--set",
        "slave_npm=500",
        "--set",
        "jitter_ms=0",
    ];
    let arguments = [
        &["atlas", "--config", text(&file), "--json", "--seed", "3"],
        &flags[..],
        &["--out", text(&out)],
    ];
    let output = palpate(&arguments.concat());
    assert_eq!(code(&output), Some(0), "{}", words(&output));
    let atlas: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert_eq!(atlas["schema"], "palpate-atlas/1.0");
    assert_eq!(atlas["held"], true);
    let points = atlas["points"].as_array().expect("points");
    assert!(points.len() > 6, "{atlas}");
    for point in points {
        assert_eq!(
            (point["wall_npm"].as_f64(), point["slave_npm"].as_f64()),
            (Some(300.0), Some(500.0))
        );
        let limit = &point["time"];
        assert!(limit.is_number() || limit == "unbounded", "{point}");
    }
    assert!(read(&out, "report.html").contains("stiffness felt of 300 N/m"));
    for (set, part) in [("rtt_ms=3", "oneway_ms"), ("b_nspm=-1", "0.1 to 1000")] {
        let output = palpate(&["atlas", "--set", set]);
        assert_eq!(code(&output), Some(2), "{set}");
        assert!(words(&output).contains(part), "{}", words(&output));
    }
}

/// A trial is refused before it runs if a page would reveal the condition, or if it asks no person.
#[test]
fn trial_that_a_page_would_reveal_is_refused() {
    let root = tempfile::tempdir().expect("a folder");
    let own = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/study/trials/person-stiffness.toml"
    );
    let own = std::fs::read_to_string(own).expect("ours");
    let grid = "rtt_ms = [0, 200]";
    let revealing = own.replace(grid, "mode = [\"wave\", \"mmt\"]");
    assert_ne!(revealing, own);
    for (trial, message) in [
        (revealing.as_str(), "surface is seen"),
        (TRIAL, "a person cannot answer"),
    ] {
        let (file, out) = (root.path().join("trial.toml"), root.path().join("out"));
        std::fs::write(&file, trial).expect("writable");
        let output = palpate(&["trial", text(&file), "--person", "P1", "--out", text(&out)]);
        assert_eq!(code(&output), Some(2), "{output:?}");
        assert!(words(&output).contains(message), "{output:?}");
        assert!(!out.join("answers.csv").exists());
    }
}

/// A matrix of five faults in two modes: one cell fails, one is left out, one row is refused.
const MATRIX: &str = r#"
name = "matrix"
[base]
duration_s = 2.0
tissue = "sheet-lump"
twin = "sheet"
operator.script = { kind = "sine" }
[grid]
mode = ["wave", "mmt"]
[[factor]]
name = "fault"
[[factor.level]]
name = "none"
[[factor.level]]
name = "silent"
loss = 1.0
[[factor.level]]
name = "stiff servo"
slave.stiffness_npm = [90000.0, 90000.0, 90000.0, 90000.0]
[[factor.level]]
name = "noise"
operator.phantom.encoder_noise_m = 3e-5
robot.palpator.encoder_noise_m = 1e-5
[[factor.level]]
name = "clock step"
clock.step_ms = 1000.0
[[except]]
fault = "silent"
mode = "mmt"
reason = "a twin needs no link"
[table]
rows = "fault"
columns = "mode"
"#;

#[test]
fn matrix_has_no_empty_cell_and_names_what_failed() {
    let root = tempfile::tempdir().expect("a folder");
    let (file, out) = (root.path().join("matrix.toml"), root.path().join("out"));
    std::fs::write(&file, MATRIX).expect("writable");
    let output = palpate(&["trial", text(&file), "--json", "--out", text(&out)]);
    assert_eq!(code(&output), Some(1), "{}", words(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    let cells = summary["cells"].as_array().expect("cells").iter();
    let cells: Vec<[&str; 3]> = cells
        .map(|cell| ["cell", "state", "text"].map(|key| cell[key].as_str().expect(key)))
        .collect();
    let failed = "0 of 1 held; frames used by the master: 0 frames, limit at least 1";
    assert_eq!(cells[0], ["fault none, mode wave", "held", "1 of 1 held"]);
    assert_eq!(cells[1], ["fault none, mode mmt", "held", "1 of 1 held"]);
    assert_eq!(cells[2], ["fault silent, mode wave", "failed", failed]);
    assert_eq!(
        cells[3][1..],
        ["not-applicable", "n/a: a twin needs no link"]
    );
    // passive in spite of the noise, and within the bound of delays after the step
    for cell in &cells[6..] {
        assert_eq!(cell[1..], ["held", "1 of 1 held"], "{cell:?}");
    }
    for cell in &cells[4..6] {
        assert_eq!(cell[1], "refused");
        assert!(cell[2].contains("slave.stiffness_npm is 90000"), "{cell:?}");
    }
    assert_eq!(cells.len(), 10);
    let page = read(&out, "report.html");
    assert!(!page.contains("<td></td>"), "an empty cell");
    for part in [
        "n/a: a twin needs no link",
        "refused: slave.stiffness_npm",
        failed,
        "palpate lab",
    ] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    // the command that is printed repeats the session, bit for bit
    let output = palpate(&["trial", text(&file), "--out", text(&out)]);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        stdout.contains("10: 6 held, 1 failed, 2 refused, 1 not applicable"),
        "{stdout}"
    );
    let line = stdout
        .lines()
        .find(|line| line.starts_with("failed"))
        .expect("a failed row");
    assert!(
        line.contains("(fault silent, mode wave), frames used by the master"),
        "{line}"
    );
    let command = line.split_once("palpate lab").expect("a command").1;
    let script = format!("exec {} lab{command} --json", env!("CARGO_BIN_EXE_palpate"));
    let again = Command::new("sh")
        .args(["-c", &script])
        .current_dir(root.path())
        .output()
        .expect("it starts");
    assert_eq!(code(&again), Some(1), "{}", words(&again));
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    let hash = again["trace_hash"].as_str().expect("a hash");
    assert!(read(&out, "trials.csv").contains(hash), "{script}");
    part_of_the_rows(root.path(), &file);
}

/// A part of the rows leaves cells that say so.
fn part_of_the_rows(root: &Path, file: &Path) {
    let part = root.join("part");
    let shard = ["--shard", "2/7", "--json", "--out", text(&part)];
    let output = palpate(&[&["trial", text(file)], &shard[..]].concat());
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["cells"][0]["text"], "0 of 1 held, the rest not run");
}
