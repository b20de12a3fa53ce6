//! Tests of `palpate identify`, from a recording of the lab to a scene of a twin.
//!
//! Source: ours. The block is small and of few cells, so that the runs are short.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Two layers; a probe of 8 mm feels mostly the upper one.
const SCENE: &str = "\
name = \"pad\"
[block]
size_m = [0.05, 0.05, 0.024]
cell_m = 0.004
levels = 1
fine_half_m = [0.02, 0.02]
fine_depth_m = 0.012
damping_per_s = 20.0
[[layer]]
name = \"soft\"
young_pa = 5000.0
poisson = 0.45
thickness_m = 0.012
[[layer]]
tissue = \"muscle\"
[tool]
radius_m = 0.008
stiffness_npm = 3000.0
";

fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

#[test]
fn identify_finds_the_stiffness_of_the_tissue() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (twin_scene, tissue_scene) = (at("twin_scene.toml"), at("tissue_scene.toml"));
    std::fs::write(&twin_scene, SCENE).expect("writable");
    std::fs::write(&tissue_scene, SCENE.replace("5000.0", "7000.0")).expect("writable");
    let (run, out) = (at("run"), at("out"));
    let lab = palpate(&[
        "lab",
        "-q",
        "--duration",
        "3",
        "--tissue",
        text(&tissue_scene),
        "--twin",
        text(&twin_scene),
        "--out",
        text(&run),
    ]);
    assert!(lab.status.code().is_some_and(|code| code < 2), "{lab:?}");
    let arguments = [
        "identify",
        text(&run),
        "--seconds",
        "2",
        "--json",
        "--out",
        text(&out),
    ];
    let done = palpate(&arguments);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON alone on stdout");
    // without --twin, the scene is that of the session's twin
    assert_eq!(json["twin"], text(&twin_scene));
    let soft = &json["parameters"][0];
    let number = |value: &Value| value.as_f64().expect("a number");
    let (after, sd) = (number(&soft["after"]), number(&soft["sd"]));
    assert!((after / 7000.0 - 1.0).abs() < 0.1, "{soft}");
    assert!(
        // the cells are half as long as the tool is thick, and the deviation includes that
        (after / 7000.0).ln().abs() < 3.0 * sd && sd < 0.25,
        "{soft}"
    );
    assert!(
        number(&json["misfit_after_n"]) < 0.5 * number(&json["misfit_before_n"]),
        "{json}"
    );
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    assert!(
        page.contains("soft") && page.contains("<svg") && !page.contains("http"),
        "no page"
    );
    check_morph(
        &twin_scene,
        &tissue_scene,
        &out.join("tissue.toml"),
        folder.path(),
    );
}

/// Without other corrections: a session whose twin is fixed, and one whose twin is morphed to the
/// identified scene. Both pass all checks of a session, such as energy and force steps.
fn check_morph(twin_scene: &Path, tissue_scene: &Path, found: &Path, folder: &Path) {
    let session = |name: &str, more: &[&str]| {
        let out = folder.join(name);
        let mut arguments = vec!["lab", "-q", "--duration", "6", "--no-recording"];
        arguments.extend(["--tissue", text(tissue_scene), "--twin", text(twin_scene)]);
        arguments.extend(["--set", "master.predict.update=false", "--out", text(&out)]);
        // no tissue here is stiffer, so that the robot follows quick presses
        arguments.extend(["--set", "slave.wall_npm_max=500"]);
        arguments.extend(more);
        let lab = palpate(&arguments);
        assert!(lab.status.code().is_some_and(|code| code < 2), "{lab:?}");
        let summary = std::fs::read(out.join("summary.json")).expect("a summary");
        let summary: Value = serde_json::from_slice(&summary).expect("JSON");
        assert_eq!(summary["passivity"]["violations"], 0);
        // the fixed twin has none, the other is bounded; it moves away from the tissue if possible
        let step = &summary["twin"]["force_step_max_fraction_per_100ms"];
        assert!(step.as_f64().is_none_or(|step| step < 0.07), "{step}");
        assert!(
            summary["twin"]["update_energy_j"]
                .as_f64()
                .is_some_and(f64::is_finite)
        );
        let error = summary["twin"]["stiffness_error"].as_f64();
        (
            error.expect("measured"),
            summary["twin"]["updates"].as_u64(),
        )
    };
    let (before, none) = session("stays", &[]);
    let (after, updates) = session("goes", &["--morph-to", text(found)]);
    println!("stiffness error {before:.3}, going over {after:.3} by {updates:?} updates");
    assert!(none == Some(0) && updates > none, "{updates:?}");
    assert!(after.abs() < 0.6 * before.abs(), "{before} {after}");
    let refused = palpate(&["lab", "--twin", text(twin_scene), "--morph-to", "layered"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        stderr.contains("morph_to") && stderr.contains("sizes differ"),
        "{stderr}"
    );
}

#[test]
fn bad_recordings_and_scenes_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |arguments: &[&str], parts: &[&str]| {
        let output = palpate(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty());
        for part in parts {
            assert!(
                stderr.contains(part),
                "{arguments:?}: no `{part}` in: {stderr}"
            );
        }
    };
    refused(&["identify"], &["REC"]);
    refused(&["identify", "none.mcap"], &["none.mcap"]);
    refused(&["identify", text(folder.path())], &["recording.mcap"]);
    let file = folder.path().join("text.mcap");
    std::fs::write(&file, "no recording").expect("writable");
    refused(&["identify", text(&file)], &["text.mcap"]);
    refused(
        &["identify", text(&file), "--seconds", "0"],
        &["--seconds", "0.1 to 60 s"],
    );
    let run = folder.path().join("run");
    let lab = palpate(&[
        "lab",
        "-q",
        "--duration",
        "1.5",
        "--twin",
        "sheet",
        "--tissue",
        "wall:300",
        "--out",
        text(&run),
    ]);
    assert!(lab.status.code().is_some_and(|code| code < 2), "{lab:?}");
    let out = folder.path().join("out");
    refused(
        &["identify", text(&run), "--out", text(&out)],
        &["recording.mcap", "sheet", "[block]"],
    );
    refused(
        &["identify", text(&run), "--twin", "no-such"],
        &["--twin", "no-such", "layered"],
    );
}

/// A session at 200 ms on tissue that differs from the twin, before and after `identify`: takes minutes, so run it
/// by `cargo test --release --workspace --test identify -- --ignored --nocapture`.
#[test]
#[ignore = "minutes"]
fn identify_reduces_the_stiffness_error_at_200_ms() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let session = |twin: &str, name: &str| {
        let out = at(name);
        let lab = palpate(&[
            "lab",
            "-q",
            "--rtt-ms",
            "200",
            "--twin",
            twin,
            "--out",
            text(&out),
        ]);
        assert!(lab.status.code().is_some_and(|code| code < 2), "{lab:?}");
        let summary = std::fs::read(out.join("summary.json")).expect("a summary");
        let summary: Value = serde_json::from_slice(&summary).expect("JSON");
        let of = |name: &str| summary["contact"][name].as_f64().expect("measured");
        let [stiffness, contrast] = [of("stiffness_error").abs(), of("contrast_transmission")];
        println!("{name}: stiffness off by {stiffness:.3}, contrast transmission {contrast:.2}");
        (stiffness, contrast)
    };
    let before = session("layered", "before");
    let (run, known) = (at("before"), at("known"));
    let done = palpate(&["identify", text(&run), "--out", text(&known)]);
    // the tissue has another shape than the twin can have, and the exit status reports that
    assert!(done.status.code().is_some_and(|code| code < 2), "{done:?}");
    let after = session(text(&known.join("tissue.toml")), "after");
    assert!(after.0 <= before.0 + 0.02, "{before:?} {after:?}");
    assert!(
        (after.1 - 1.0).abs() <= (before.1 - 1.0).abs() + 0.05,
        "{before:?} {after:?}"
    );
}
