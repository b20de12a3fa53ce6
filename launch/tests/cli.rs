//! Tests of the built binary at the command line: bad input, help, exit status.
//!
//! Source: ours; exit statuses 0 success, 1 a check failed, 2 bad usage or input, 3 refused.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

/// Stderr of a call that must end with status 2 and an empty stdout.
fn refused(arguments: &[&str]) -> String {
    let output = palpate(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?} wrote to stdout");
    stderr
}

fn check_refused(arguments: &[&str], parts: &[&str]) {
    let stderr = refused(arguments);
    for part in parts {
        assert!(
            stderr.contains(part),
            "{arguments:?}: no `{part}` in: {stderr}"
        );
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn bad_flags_are_reported_with_valid_values() {
    for (arguments, parts) in [
        (["--rtt-ms", "-5"], ["--rtt-ms", "-5", "0 to 120000"]),
        (
            ["--oneway-ms-back", "-1"],
            ["--oneway-ms-back", "-1", "0 to 60000"],
        ),
        (["--loss", "2"], ["--loss", "2", "0 to 1"]),
        (["--mode", "sideways"], ["--mode", "sideways", "wave"]),
        (["--method", "voxels"], ["--method", "voxels", "idms"]),
        (["--grip", "limp"], ["--grip", "limp", "firm"]),
        (
            ["--set", "coupling.mode"],
            ["--set", "coupling.mode", "path.to.field=value"],
        ),
        (
            ["--set", "coupling.mood=wave"],
            ["coupling.mood", "`mood`", "mode"],
        ),
        (
            ["--set", "coupling.mode=odd"],
            ["coupling.mode=odd", "odd", "wave"],
        ),
        (
            ["--set", "coupling.impedance_nspm=-1"],
            ["impedance_nspm", "-1", "0.1 to 1000"],
        ),
        (
            ["--tissue", "no-such-scene"],
            ["tissue", "no-such-scene", "sheet"],
        ),
        (
            ["--twin", "./no-such.toml"],
            ["twin", "no-such.toml", "No such file"],
        ),
        (
            ["--tissue", "wall:soft"],
            ["tissue", "wall:soft", "1000000"],
        ),
        (
            ["--duration", "forever"],
            ["--duration", "forever", "seconds"],
        ),
        (
            ["--seed", "18446744073709551615"],
            ["--seed", "18446744073709551615", "9223372036854775807"],
        ),
        (
            ["--set", "link.forward.outage.on_s=5"],
            ["link.forward.outage", "is not set", "off_s"],
        ),
        (["--walk", "1"], ["--walk", "--", "--help"]),
    ] {
        let call = ["lab", arguments[0], arguments[1]];
        check_refused(&call, &parts);
    }
}

#[test]
fn bad_files_are_reported_with_line_and_field() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    check_refused(
        &["lab", "--config", "no-such.toml"],
        &["no-such.toml", "No such file"],
    );
    for (content, parts) in [
        (
            "seed = 1\n[coupling]\nmodus = \"wave\"\n",
            ["line 3", "modus", "mode"],
        ),
        ("seed = \"one\"\n", ["line 1", "seed", "invalid type"]),
        ("[link.back]\noneway_ms = -3\n", ["link", "oneway_ms", "-3"]),
        ("duration_s = \n", ["line 1", "duration_s", "session.toml"]),
    ] {
        let file = folder.path().join("session.toml");
        std::fs::write(&file, content).expect("writable");
        let stderr = refused(&["lab", "--config", text(&file)]);
        for part in parts {
            assert!(stderr.contains(part), "no `{part}` in: {stderr}");
        }
    }
}

#[test]
fn issue_scene_files_were_detected_by_extension_only() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("writable");
        path
    };
    let empty = file("empty.toml", "");
    let parts = ["empty.toml", "no field", "[tool]"];
    check_refused(&["lab", "--tissue", text(&empty)], &parts);
    file("pad", COARSE);
    file("PAD.TOML", COARSE);
    for name in ["pad", "PAD.TOML"] {
        let output = Command::new(env!("CARGO_BIN_EXE_palpate"))
            .current_dir(folder.path())
            .args([
                "lab",
                "-q",
                "--duration",
                "0.1",
                "--no-recording",
                "--overwrite",
                "--out",
                "run",
            ])
            .args(["--tissue", name])
            .output()
            .expect("the binary starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(2), "{stderr}");
    }
}

#[test]
fn unwritable_folder_is_refused_before_running() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("a-file");
    std::fs::write(&file, "not a folder").expect("writable");
    let out = file.join("below");
    check_refused(
        &["lab", "--duration", "0.1", "--out", text(&out)],
        &["--out", "a-file"],
    );
}

#[test]
fn bad_models_are_reported() {
    check_refused(
        &["model", "inspect", "no-such.fem"],
        &["no-such.fem", "regular"],
    );
    check_refused(
        &["model", "drape", "regular", "dome.fem", "--radius", "-1"],
        &["radius", "-1"],
    );
}

#[test]
fn issue_negative_length_was_parsed_as_a_flag() {
    check_refused(
        &["identify", "no-such", "--seconds", "-3"],
        &["--seconds", "-3", "0.1 to 60 s"],
    );
    let output = palpate(&["identify", "--help"]);
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(!help.contains('\\'), "{help}");
}

#[test]
fn bad_studies_are_reported() {
    check_refused(
        &["model", "detect", "sheet"],
        &["sheet", "lattice", "block-nodule"],
    );
    check_refused(
        &["model", "detect", "no-such"],
        &["no-such", "block-nodule"],
    );
    let noise = ["model", "detect", "block-nodule", "--noise", "-1"];
    check_refused(&noise, &["--noise", "-1", "share"]);
    let press = ["model", "detect", "block-nodule", "--press-mm", "90"];
    check_refused(&press, &["--press-mm", "90", "100.0 mm"]);
    check_refused(&["bench", "--only", "lunch"], &["lunch", "tissue"]);
}

/// A block so coarse that a press is fast.
const COARSE: &str = "name = \"coarse\"\n[block]\nsize_m = [0.1, 0.1, 0.05]\ncell_m = 0.005\n\
    levels = 1\nfine_half_m = [0.01, 0.01]\nfine_depth_m = 0.01\n[[layer]]\nyoung_pa = 5000.0\n\
    [[inclusion]]\ncenter_m = [0.0, 0.0, -0.012]\nradius_m = 0.006\nyoung_pa = 50000.0\n\
    [tool]\nradius_m = 0.01\nstiffness_npm = 1e6\n";

#[test]
fn study_writes_a_table_and_a_page() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scene = folder.path().join("coarse.toml");
    std::fs::write(&scene, COARSE).expect("writable");
    let out = folder.path().join("study");
    let flags = [
        "model",
        "detect",
        text(&scene),
        "--press-mm",
        "3",
        "--depths-mm",
        "10,12",
        "--radii-mm",
        "5",
        "--contrasts",
        "10",
        "--json",
        "--out",
        text(&out),
    ];
    let output = palpate(&flags);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    // cells of 5 mm for a lump of 5 mm: the result is a range
    assert!(stderr.contains("mixing rule"), "{stderr}");
    let study: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert!(
        study["cases"][0]["found"]["force_change"].as_f64() > Some(0.0),
        "{study}"
    );
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("written");
    assert_eq!(read("detect.csv").lines().count(), 3);
    assert_eq!(read("mixing.csv").lines().count(), 13);
    assert!(read("report.html").contains("Lumps in coarse"));
}

#[test]
fn block_benchmark_runs_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("bench");
    let output = palpate(&["bench", "--only", "tissue", "--json", "--out", text(&out)]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    assert!(report["bus"].is_null() && report["timer"].is_null());
    let blocks = report["tissue"]["blocks"].as_array().expect("rows");
    assert_eq!(blocks.len(), 5, "a row for each mesh");
    let graded = blocks.iter().find(|row| row["name"] == "graded");
    let graded = graded.expect("the graded mesh");
    // single precision on the graded mesh, against the converged forces at 2, 5 and 10 mm
    for error in graded["force_error"].as_array().expect("three") {
        assert!(error.as_f64().is_some_and(|e| e.abs() < 0.03), "{graded}");
    }
    assert!(graded["memory_bytes"].as_u64() > Some(100_000), "{graded}");
}

#[test]
fn every_command_help_has_an_example() {
    for command in [
        vec![],
        vec!["run"],
        vec!["master"],
        vec!["slave"],
        vec!["lab"],
        vec!["bench"],
        vec!["doctor"],
        vec!["model"],
        vec!["model", "inspect"],
        vec!["model", "validate"],
        vec!["model", "convert"],
        vec!["model", "build"],
        vec!["model", "drape"],
        vec!["model", "detect"],
    ] {
        let output = palpate(&[command.clone(), vec!["--help"]].concat());
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert!(
            help.contains("Example") && help.contains("palpate"),
            "{command:?}: {help}"
        );
    }
}

/// Summary of a short lab session.
fn lab(seed: &str, out: &Path) -> Value {
    let arguments = [
        "lab",
        "--duration",
        "1",
        "--seed",
        seed,
        "--json",
        "--out",
        text(out),
    ];
    let output = palpate(&arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON and nothing else")
}

#[test]
fn seed_determines_the_trace_and_folder_is_complete() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = lab("7", &folder.path().join("first"));
    let again = lab("7", &folder.path().join("again"));
    let other = lab("8", &folder.path().join("other"));
    let hash = |summary: &Value| summary["trace_hash"].as_str().expect("a hash").to_owned();
    assert_eq!(hash(&first), hash(&again));
    assert_ne!(hash(&first), hash(&other));
    assert_eq!(first["passivity"]["violations"], 0);
    let recording = |run| std::fs::read(folder.path().join(run).join("recording.mcap")).ok();
    assert!(recording("first") == recording("again"), "bytes of a seed");
    for name in [
        "summary.json",
        "recording.mcap",
        "report.html",
        "config.toml",
        "metadata.yaml",
    ] {
        let path = folder.path().join("first").join(name);
        assert!(path.metadata().is_ok_and(|data| data.len() > 0), "{name}");
    }
    let written = std::fs::read(folder.path().join("first/summary.json")).expect("readable");
    let written: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(written["trace_hash"], first["trace_hash"]);
}

#[test]
fn written_configuration_repeats_the_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let first = lab("11", &one);
    let config = one.join("config.toml");
    let arguments = [
        "lab",
        "--config",
        text(&config),
        "--json",
        "--out",
        text(&two),
    ];
    let output = palpate(&arguments);
    let second: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(first["trace_hash"], second["trace_hash"]);
}

#[test]
fn models_are_converted_and_validated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("patch.fem");
    let arguments = ["model", "convert", "regular", text(&target)];
    assert_eq!(palpate(&arguments).status.code(), Some(0));
    assert!(target.with_extension("plg").exists());
    assert_eq!(
        palpate(&["model", "validate", text(&target)]).status.code(),
        Some(0)
    );
    // a flipped face is readable, and invalid
    let faces = target.with_extension("plg");
    let plg = std::fs::read_to_string(&faces).expect("readable");
    let last = plg.trim_end().lines().last().expect("a face");
    let [count, a, b, c] = last.split(' ').collect::<Vec<_>>()[..] else {
        panic!("not a face: {last}");
    };
    let turned = plg.replace(last, &format!("{count} {b} {a} {c}"));
    std::fs::write(&faces, turned).expect("writable");
    let output = palpate(&["model", "validate", text(&target)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("clockwise"));
}

/// One tetrahedron of a group with a name, in Gmsh's 2.2 format.
const MSH: &str = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 4 \"fat\"\n$EndPhysicalNames\n\
    $Nodes\n4\n1 0 0 0\n2 60 0 0\n3 0 60 0\n4 0 0 60\n$EndNodes\n\
    $Elements\n1\n1 4 2 4 1 1 2 3 4\n$EndElements\n";

#[test]
fn meshes_are_inspected_validated_and_converted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mesh, grid) = (
        folder.path().join("liver.msh"),
        folder.path().join("liver.vtu"),
    );
    std::fs::write(&mesh, MSH).expect("writable");
    let model = |arguments: &[&str]| {
        let output = palpate(&[&["model"], arguments].concat());
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), stdout)
    };
    let (code, stdout) = model(&["inspect", text(&mesh), "--units", "mm"]);
    assert_eq!(code, Some(0));
    for part in [
        "1 tetrahedra",
        "60.0 x 60.0 x 60.0 mm",
        "region   4 \"fat\": 1 cells, 36.000 ml",
    ] {
        assert!(stdout.contains(part), "{stdout}");
    }
    assert!(!stdout.contains("warning"), "{stdout}");
    std::fs::write(&mesh, MSH.replace("3 0 60 0", "3 0 1e308 0")).expect("writable");
    let (_, stdout) = model(&["inspect", text(&mesh)]);
    assert!(stdout.lines().all(|line| line.len() < 200), "{stdout}");
    std::fs::write(&mesh, MSH).expect("writable");
    // in metres it has no plausible size
    let (code, stdout) = model(&["validate", text(&mesh)]);
    assert!(
        code == Some(0) && stdout.contains("mm rather than m"),
        "{stdout}"
    );
    let units = ["--units", "mm", "--to-units", "cm"];
    let convert = [&["convert", text(&mesh), text(&grid)], &units[..]].concat();
    assert_eq!(model(&convert).0, Some(0));
    let (_, stdout) = model(&["inspect", text(&grid), "--units", "cm"]);
    assert!(
        stdout.contains("60.0 x 60.0 x 60.0 mm") && stdout.contains("region   4:"),
        "{stdout}"
    );
    let skin = folder.path().join("skin.ply");
    assert_eq!(model(&["convert", text(&grid), text(&skin)]).0, Some(0));
    let (_, stdout) = model(&["inspect", text(&skin)]);
    assert!(
        stdout.contains("0 tetrahedra, 0 hexahedra, 4 triangles"),
        "{stdout}"
    );
    assert_eq!(model(&["convert", "regular", text(&skin)]).0, Some(0));
    assert_eq!(model(&["validate", text(&skin)]).0, Some(0));
    std::fs::write(&mesh, MSH.replace("1 1 2 3 4", "1 1 3 2 4")).expect("writable");
    let (code, stdout) = model(&["validate", text(&mesh)]);
    assert_eq!(code, Some(1));
    assert!(
        stdout.contains("tetrahedron 0 has -") && stdout.contains("inside out"),
        "{stdout}"
    );
}

#[test]
fn bad_meshes_are_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mesh = folder.path().join("liver.msh");
    std::fs::write(&mesh, MSH.replace("3 0 60 0", "3 0 sixty 0")).expect("writable");
    check_refused(
        &["model", "inspect", text(&mesh)],
        &["liver.msh", "line 12", "y is `sixty`", "a finite number"],
    );
    check_refused(
        &["model", "validate", "no-such.vtu"],
        &["no-such.vtu", "readable"],
    );
    check_refused(
        &["model", "inspect", "liver.vtk"],
        &["liver.vtk", "`vtk`", ".vtu", ".fem"],
    );
    check_refused(
        &["model", "inspect", "a.stl", "--units", "ell"],
        &["--units", "ell", "mm", "cm"],
    );
    std::fs::write(&mesh, MSH).expect("writable");
    let target = folder.path().join("liver.fem");
    check_refused(
        &["model", "convert", text(&mesh), text(&target)],
        &["liver.fem", ".vtu", ".ply"],
    );
    check_refused(
        &["model", "drape", text(&mesh), text(&target)],
        &["liver.msh", "`msh`", "lattice"],
    );
}

/// Runs a call in another folder, which must end with this status; returns stdout and stderr.
fn from(folder: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let call = Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .current_dir(folder)
        .output();
    let output = call.expect("the binary starts");
    let streams =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {streams:?}"
    );
    streams.into()
}

#[test]
fn scenes_are_found_by_name_former_path_and_own_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let hash = |tissue: &str, out: &str| {
        let own = ["lab", "--tissue", tissue, "--twin", "sheet", "--out", out];
        let more = ["--duration", "1", "--json", "-q", "--no-recording"];
        let (stdout, _) = from(folder.path(), &[own.as_slice(), &more].concat(), 0);
        let summary: Value = serde_json::from_str(&stdout).expect("JSON");
        summary["trace_hash"].as_str().expect("a hash").to_owned()
    };
    let by_name = hash("sheet-lump", "name");
    let former = "scenes/sheet-lump.toml";
    assert_eq!(hash(former, "former"), by_name);
    let text = palpate_scene::scene_text("sheet-lump").expect("built in");
    std::fs::write(folder.path().join("own.toml"), text).expect("writable");
    assert_eq!(hash("own.toml", "own"), by_name);
    // a path means the file that is there
    std::fs::create_dir(folder.path().join("scenes")).expect("writable");
    let softer = palpate_scene::scene_text("sheet").expect("built in");
    std::fs::write(folder.path().join(former), softer).expect("writable");
    assert_ne!(hash(former, "wins"), by_name);
    assert_eq!(hash("sheet-lump", "still"), by_name);
    let (_, stderr) = from(folder.path(), &["lab", "--tissue", "scenes/none.toml"], 2);
    assert!(stderr.contains("scenes/none.toml"), "{stderr}");
}

#[test]
fn scripts_are_found_by_name_former_path_and_own_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let built_in = concat!(env!("CARGO_MANIFEST_DIR"), "/console/scripts/biopsy.toml");
    std::fs::copy(built_in, folder.path().join("own.toml")).expect("copied");
    // a duration too short for the script is refused by its steps, so the script was read
    for name in ["biopsy", "scripts/biopsy.toml", "own.toml"] {
        let call = ["rehearse", "--script", name, "--duration", "1"];
        let (_, stderr) = from(folder.path(), &call, 2);
        assert!(stderr.contains("duration_s is 1; expected"), "{stderr}");
    }
    let (_, stderr) = from(folder.path(), &["rehearse", "--script", "excision"], 2);
    assert!(stderr.contains("biopsy"), "{stderr}");
}

#[test]
fn trials_are_found_by_name_former_path_and_own_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let built_in = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/study/trials/delay-and-mode.toml"
    );
    std::fs::copy(built_in, folder.path().join("own.toml")).expect("copied");
    let table = |name: &str| {
        let call = [
            "trial",
            name,
            "--duration",
            "1",
            "--shard",
            "1/24",
            "--out",
            "out",
            "-q",
        ];
        from(folder.path(), &call, 0);
        std::fs::read_to_string(folder.path().join("out/trials.csv")).expect("a table")
    };
    let by_name = table("delay-and-mode");
    assert_eq!(by_name.matches("\r\n").count(), 2, "{by_name}");
    // rows of another trial would be refused
    for name in ["trials/delay-and-mode.toml", "own.toml"] {
        assert_eq!(table(name), by_name, "{name}");
    }
    let (_, stderr) = from(folder.path(), &["trial", "delays"], 2);
    let (help, _) = from(folder.path(), &["trial", "--help"], 0);
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for known in palpate_study::trial::BUILT_IN.names() {
        assert!(stderr.contains(known), "{known}: {stderr}");
        assert!(help.contains(known), "{known}: {help}");
    }
    assert!(
        stderr.contains("`delays`") && stderr.contains("path"),
        "{stderr}"
    );
    let (_, stderr) = from(folder.path(), &["trial", "trials/none.toml"], 2);
    assert!(
        stderr.contains("trials/none.toml: No such file"),
        "{stderr}"
    );
}

#[test]
fn every_built_in_trial_is_valid() {
    for (name, text) in palpate_study::trial::BUILT_IN.texts {
        let trial = palpate_study::trial::Trial::parse(text, name).expect(name);
        assert_eq!(trial.name, *name);
    }
}
