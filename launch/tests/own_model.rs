//! Tests of one's own springs by the command line: files that press, palpate and rehearse, with the scene's own tool.
//!
//! Source: seed-004 rows S4-54 to S4-59, and V-palp of its section 4B, whose table holds the published forces.

mod command_line;

use std::collections::BTreeMap;
use std::path::Path;

use command_line::{check_refused, stdout_of, text};
use palpate_session::record;
use palpate_transport::trace::TickRecord;
use serde_json::Value;

/// One inch of the data set \[m\].
const INCH_M: f64 = 0.0254;

/// V-palp over the middle of an edge: heights \[in\] of a ball of 1.5 in, and the vertical forces.
const V_PALP: [(f64, f64); 4] = [(1.4, 0.670), (1.3, 5.313), (1.2, 9.875), (1.1, 17.469)];

/// The data set as files of one's own, in inches, in a folder.
fn own_files(folder: &Path) -> String {
    let own = folder.join("own.fem");
    stdout_of(&["model", "convert", "regular", text(&own)]);
    text(&own).to_owned()
}

/// Published force of a height \[in\], between the entries of the table.
fn published_n(height: f64) -> f64 {
    let pair = V_PALP.windows(2).find(|pair| height >= pair[1].0);
    let [(high, low_n), (low, high_n)] = pair.expect("a height of the table")[..] else {
        unreachable!("a window of two")
    };
    low_n + (high - height) / (high - low) * (high_n - low_n)
}

/// Height \[m\] and upward force \[N\] of each press of a script while the hand rests: at the height of most ticks below the
/// first contact over an edge, the median force.
fn held(folder: &Path) -> Vec<(f64, f64)> {
    let recording = record::read(&folder.join(record::RECORDING)).expect("a recording");
    let mut phases: BTreeMap<u16, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    let touching = |one: &&TickRecord| one.position_m[2] < V_PALP[0].0 * INCH_M;
    for one in recording.master.iter().filter(touching) {
        let heights = phases.entry(one.phase).or_default();
        let forces_n = heights.entry(one.position_m[2].to_bits()).or_default();
        forces_n.push(-one.port_force_n[2]);
    }
    let resting = |heights: BTreeMap<u64, Vec<f64>>| {
        let longest = heights
            .into_iter()
            .max_by_key(|(_, forces_n)| forces_n.len());
        let (height, mut forces_n) = longest.expect("a touch");
        forces_n.sort_by(f64::total_cmp);
        (f64::from_bits(height), forces_n[forces_n.len() / 2])
    };
    phases.into_values().map(resting).collect()
}

/// A script that presses over the middle of an edge to two depths; it states no tool.
const SCRIPT: &str = "name = \"palpate\"\n\
    [[step]]\nname = \"light\"\nkind = \"press\"\nsite_m = [0.0, 0.0]\ndepth_m = 0.0153\nhold_s = 1.5\n\
    [[step]]\nname = \"firm\"\nkind = \"press\"\nsite_m = [0.0, 0.0]\ndepth_m = 0.0232\nhold_s = 1.5\n";

#[test]
fn s4_59_v_palp_comes_out_of_a_session_with_the_scenes_own_tool() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("press.toml"), SCRIPT).expect("writable");
    let own = own_files(folder.path());
    let script = at("press.toml");
    for (name, flags) in [
        ("scene", vec!["--twin", "seed-regular"]),
        ("own", vec!["--twin", &own, "--units", "inch"]),
    ] {
        let out = at(name);
        let rehearse = [
            "rehearse",
            "--no-console",
            "--script",
            text(&script),
            "-q",
            "--out",
        ];
        stdout_of(&[&rehearse[..], &[text(&out)], &flags].concat());
        let config = std::fs::read_to_string(out.join("config.toml")).expect("written");
        assert!(config.contains("tool_radius_m = 0.0381"), "{config}");
        let presses = held(&out);
        assert_eq!(presses.len(), 2, "{name}");
        for (height_m, force_n) in presses {
            let height = height_m / INCH_M;
            let expected_n = published_n(height);
            assert!(
                (force_n / expected_n - 1.0).abs() < 0.02,
                "{name}: {force_n} N at {height} in, published {expected_n} N"
            );
        }
    }
}

#[test]
fn own_springs_are_pressed_palpated_and_built_into_a_scene() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let own = own_files(folder.path());
    let press = |scene: &str, flags: &[&str]| -> f64 {
        let out = at("press");
        let base = [
            "model",
            "press",
            scene,
            "--depths-mm",
            "5",
            "--json",
            "--overwrite",
            "--out",
        ];
        let json = stdout_of(&[&base[..], &[text(&out)], flags].concat());
        let study: Value = serde_json::from_str(&json).expect("JSON");
        study["presses"][0]["force_n"].as_f64().expect("a force")
    };
    let expected_n = press("seed-regular", &[]);
    let built = at("built");
    stdout_of(&[
        "model",
        "build",
        &own,
        "--units",
        "inch",
        "--out",
        text(&built),
    ]);
    let scene = built.join("scene.toml");
    let inspected = stdout_of(&["model", "inspect", text(&scene)]);
    assert!(inspected.contains("36 nodes, 141 links"), "{inspected}");
    for (name, flags) in [
        (own.as_str(), vec!["--units", "inch"]),
        (text(&scene), Vec::new()),
    ] {
        let force_n = press(name, &flags);
        assert!(
            (force_n / expected_n - 1.0).abs() < 1e-3,
            "{name}: {force_n} {expected_n}"
        );
    }
    // both ends of a session have the tool, and the name with its units is in the configuration
    let out = at("lab");
    let lab = [
        "lab",
        "--duration",
        "2",
        "--units",
        "inch",
        "-q",
        "--twin",
        &own,
        "--tissue",
        &own,
    ];
    stdout_of(&[&lab[..], &["--out", text(&out)]].concat());
    let config = std::fs::read_to_string(out.join("config.toml")).expect("written");
    for part in [
        "own.fem:inch\"",
        "tool_radius_m = 0.0381",
        "tool_stiffness_npm = 15748",
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }
}

#[test]
fn s4_57_draped_result_is_felt() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    // the same shape in other units: millimetres
    let [flat, dome, inches] = ["flat.fem", "dome.fem", "inches.fem"].map(at);
    let converted = [
        "model",
        "convert",
        "regular",
        text(&flat),
        "--units",
        "inch",
        "--to-units",
        "mm",
    ];
    stdout_of(&converted);
    let radius = (6.0 * 25.4).to_string();
    stdout_of(&[
        "model",
        "drape",
        text(&flat),
        text(&dome),
        "--units",
        "mm",
        "--radius",
        &radius,
    ]);
    stdout_of(&["model", "drape", "regular", text(&inches), "--radius", "6"]);
    let press = |scene: &Path, units: &str| -> f64 {
        let out = at("press");
        let json = stdout_of(&[
            "model",
            "press",
            text(scene),
            "--units",
            units,
            "--depths-mm",
            "6",
            "--json",
            "--overwrite",
            "--out",
            text(&out),
        ]);
        let study: Value = serde_json::from_str(&json).expect("JSON");
        study["presses"][0]["force_n"].as_f64().expect("a force")
    };
    let [mm_n, inch_n] = [press(&dome, "mm"), press(&inches, "inch")];
    assert!(
        mm_n > 0.5 && (mm_n / inch_n - 1.0).abs() < 0.02,
        "{mm_n} {inch_n}"
    );
    let rehearsed = at("felt");
    stdout_of(&[
        "rehearse",
        "--no-console",
        "--twin",
        text(&dome),
        "--units",
        "mm",
        "--duration",
        "8",
        "-q",
        "--out",
        text(&rehearsed),
    ]);
    let recording = record::read(&rehearsed.join(record::RECORDING)).expect("a recording");
    let forces_n = recording.master.iter().map(|one| one.port_force_n[2]);
    assert!(forces_n.fold(0.0, f64::min) < -0.5);
}

#[test]
fn springs_that_cannot_be_felt_are_refused_with_what_would_be_right() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let own = own_files(folder.path());
    check_refused(
        &["lab", "--twin", &own],
        &["twin is", "unit", "missing", "--units inch"],
    );
    check_refused(
        &["lab", "--twin", &format!("{own}:yard")],
        &["unit", "yard", "si, mm, cm or inch"],
    );
    check_refused(&["lab", "--units", "mm"], &["--units mm", ".fem"]);
    // a ball that falls between the nodes that it touches
    let small = [
        "lab",
        "--twin",
        "seed-regular",
        "--set",
        "master.predict.tool_radius_m=0.008",
    ];
    check_refused(
        &small,
        &[
            "twin is seed-regular",
            "radius 0.008",
            "slip between nodes",
            "more than 0.0146",
        ],
    );
    let empty = at("empty.fem");
    std::fs::copy(&own, &empty).expect("copied");
    let plg = std::fs::read_to_string(at("own.plg")).expect("faces");
    let no_faces: Vec<&str> = plg.lines().filter(|line| !line.starts_with("3 ")).collect();
    let no_faces = no_faces.join("\n").replacen(" 28", " 0", 1);
    std::fs::write(at("empty.plg"), no_faces).expect("writable");
    check_refused(
        &["lab", "--twin", text(&empty), "--units", "inch"],
        &["empty.plg", "at least one face"],
    );
    std::fs::remove_file(at("own.plg")).expect("there");
    for command in [
        vec![
            "rehearse",
            "--no-console",
            "--units",
            "inch",
            "--twin",
            &own,
        ],
        vec!["model", "build", &own, "--units", "inch"],
        vec!["model", "drape", &own, text(&at("dome.fem"))],
    ] {
        check_refused(&command, &["own.plg", "expected"]);
    }
}
