//! Tests of `palpate model press`: its numbers, files and refusals.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A block so coarse that a press and its truth are fast.
const COARSE: &str = "name = \"coarse\"\n[block]\nsize_m = [0.1, 0.1, 0.03]\ncell_m = 0.005\n\
    levels = 1\nfine_half_m = [0.01, 0.01]\nfine_depth_m = 0.01\n[[layer]]\nyoung_pa = 5000.0\npoisson = 0.45\n\
    [tool]\nradius_m = 0.01\nstiffness_npm = 1e6\n";

fn palpate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palpate"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Presses a scene and returns the printed JSON.
fn pressed(scene: &str, flags: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("press");
    let always = ["model", "press", scene, "--json", "--out", text(&out)];
    let output = palpate(&[&always[..], flags].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{flags:?}: {stderr}");
    assert_eq!(
        std::fs::read(out.join("press.json")).expect("written"),
        output.stdout
    );
    let page = std::fs::read_to_string(out.join("report.html")).expect("written");
    assert!(
        page.contains("Force over depth") && page.contains("<svg"),
        "{page}"
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn presses(json: &Value) -> &[Value] {
    json["presses"].as_array().expect("a list")
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn press_reports_force_estimate_and_true_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scene = folder.path().join("coarse.toml");
    std::fs::write(&scene, COARSE).expect("writable");
    let found = pressed(text(&scene), &["--depths-mm", "4", "--against", "truth"]);
    let [press] = presses(&found) else {
        panic!("{found}");
    };
    assert_eq!(
        (&press["at_m"][0], &press["at_m"][1]),
        (&Value::from(0.0), &Value::from(0.0))
    );
    assert_eq!(number(&press["depth_m"]), 0.004);
    let (force_n, truth_n) = (number(&press["force_n"]), number(&press["truth_n"]));
    // Hertz's half-space bounds the truth of a block on a rigid ground from below, and 1.6 times it from above
    let hertz_n = 4.0 / 3.0 * 5000.0 / (1.0 - 0.45 * 0.45) * 0.01_f64.sqrt() * 0.004_f64.powf(1.5);
    assert!(
        truth_n > hertz_n && truth_n < 1.6 * hertz_n,
        "{truth_n} {hertz_n}"
    );
    assert!((force_n / truth_n - 1.0).abs() < 0.5, "{force_n} {truth_n}");
    assert!(number(&press["error_n"]) > 0.0 && number(&press["stiffness_npm"]) > 0.0);
}

#[test]
fn places_depths_and_motions_are_those_of_the_flags() {
    let flags = [
        "--at-mm",
        "10,-5",
        "--at-mm",
        "-20,0",
        "--depths-mm",
        "1,3",
        "--radius-mm",
        "6",
    ];
    let found = pressed("layered", &flags);
    assert_eq!(number(&found["radius_m"]), 0.006);
    let all = presses(&found);
    let places: Vec<f64> = all.iter().map(|press| number(&press["at_m"][0])).collect();
    assert_eq!(places, [0.01, 0.01, -0.02, -0.02]);
    assert!(number(&all[1]["force_n"]) > 2.0 * number(&all[0]["force_n"]));
    assert!(all[0]["truth_n"].is_null());
    let shaken = pressed("layered", &["--depths-mm", "4", "--sine", "5"]);
    // elastic tissue with little damping
    assert!(number(&presses(&shaken)[0]["phase_deg"]).abs() < 10.0);
    let dragged = pressed("layered", &["--depths-mm", "4", "--drag"]);
    let [drag] = presses(&dragged) else {
        panic!("{dragged}");
    };
    assert!(
        number(&drag["ripple_n"]) < 0.1 * number(&drag["force_n"]),
        "{drag}"
    );
    let held = pressed(
        "layered",
        &["--depths-mm", "4", "--hold", "0.5", "--rate-mmps", "40"],
    );
    let slow = pressed("layered", &["--depths-mm", "4"]);
    let ratio = number(&presses(&held)[0]["force_n"]) / number(&presses(&slow)[0]["force_n"]);
    assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
}

#[test]
fn bad_presses_are_refused() {
    let refused = |flags: &[&str], parts: &[&str]| {
        let output = palpate(&[&["model", "press"][..], flags].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{flags:?}: no `{part}` in: {stderr}");
        }
    };
    refused(&["no-such"], &["no-such", "layered"]);
    refused(
        &["layered", "--at-mm", "60,0"],
        &["--at-mm", "60,0", "-50 to 50"],
    );
    refused(&["layered", "--at-mm", "60"], &["--at-mm", "two numbers"]);
    refused(
        &["layered", "--depths-mm", "40"],
        &["--depths-mm", "40", "28.8 mm"],
    );
    refused(&["layered", "--drag", "--hold"], &["--drag", "--hold"]);
    refused(
        &["sheet", "--against", "truth"],
        &["--against", "idms", "[block]"],
    );
}
