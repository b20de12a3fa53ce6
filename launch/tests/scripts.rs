//! Tests of scripts and rehearsals: on a small block with a nodule, with the whole operator's side.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use palpate_analysis::progress::NoProgress;
use palpate_analysis::rehearsal::{RehearsalResult, RehearsalWatch};
use palpate_analysis::virtual_run;
use palpate_console::rehearsal::run::{ScriptRun, play};
use palpate_console::rehearsal::solo::{SoloSession, make_solo};
use palpate_console::rehearsal::{RehearsalScript, script};
use palpate_session::config::Config;
use palpate_session::lab;

const SCENE: &str = r#"
name = "crumb"
[linked]
size_m = [0.03, 0.024, 0.012]
spacing_m = 0.002
[[layer]]
name = "skin"
thickness_m = 0.002
young_pa = 20000.0
[[layer]]
name = "fat"
young_pa = 5000.0
[[inclusion]]
name = "nodule"
center_m = [0.006, 0.0, -0.004]
radius_m = 0.003
young_pa = 30000.0
[[inclusion]]
name = "vessel"
center_m = [-0.012, 0.008, -0.008]
radius_m = 0.0025
young_pa = 30000.0
[tool]
radius_m = 0.003
stiffness_npm = 2000.0
"#;

/// Steps on that block; post-conditions follow.
const STEPS: &str = r#"
tool_radius_m = 0.003
[[step]]
name = "feel"
kind = "press"
site_m = [0.006, 0.0]
depth_m = 0.002
[[step]]
name = "open"
kind = "incise"
path_m = [[-0.004, 0.001, 0.0], [0.014, 0.001, 0.0]]
depth_m = 0.006
[[step]]
name = "carve"
kind = "carve"
path_m = [
    [0.003, -0.002, -0.002], [0.009, -0.002, -0.002], [0.009, 0.002, -0.002], [0.003, 0.002, -0.002],
    [0.003, 0.002, -0.006], [0.009, 0.002, -0.006], [0.009, -0.002, -0.006], [0.003, -0.002, -0.006],
]
[[step]]
name = "back"
kind = "undo"
[[step]]
name = "again"
kind = "redo"
"#;

fn scene_file(folder: &Path) -> PathBuf {
    let path = folder.join("crumb.toml");
    std::fs::write(&path, SCENE).expect("writable");
    path
}

/// Configuration of a rehearsal of a script on the small block, in a folder that holds the scene.
fn config(folder: &Path, script: &str) -> Config {
    let mut config = Config::default();
    let script = RehearsalScript::parse(script, "test.toml").expect("a script");
    script.apply(&mut config);
    config.twin = scene_file(folder).display().to_string();
    make_solo(&mut config);
    config
}

fn run(script: &str) -> ScriptRun {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path(), script);
    let scene = lab::load_scene(&config.twin, "twin").expect("a scene");
    let watch = RehearsalWatch::new(&config, &scene).expect("valid conditions");
    let session = SoloSession::new(&config).expect("a session");
    let stop = AtomicBool::new(false);
    play(session, watch, &NoProgress, &stop, |_| Ok(())).expect("nothing refuses")
}

fn rehearse(script: &str) -> RehearsalResult {
    run(script).rehearsal.expect("a script of steps")
}

fn after(conditions: &str) -> String {
    format!("{STEPS}\n{conditions}")
}

/// Names of the failed checks.
fn failed(done: &RehearsalResult) -> Vec<&str> {
    let failed = done.checks.iter().filter(|check| !check.held);
    failed.map(|check| check.name.as_str()).collect()
}

const HOLDING: &str = r#"
[[after]]
kind = "crossing"
step = "open"
cut = "open"
[[after]]
kind = "pieces"
step = "open"
count = 1
[[after]]
kind = "undone"
step = "back"
to = "open"
[[after]]
kind = "undone"
step = "again"
to = "carve"
[[after]]
kind = "left"
label = "nodule"
[[after]]
kind = "removed"
label = "nodule"
volume_m3 = 1.5e-7
tolerance = 0.2
[[after]]
kind = "margin"
label = "nodule"
least_m = 0.001
[[after]]
kind = "untouched"
label = "vessel"
[[after]]
kind = "force"
most_n = 2.0
[[after]]
kind = "energy-balance"
[[after]]
kind = "same-topology"
"#;

#[test]
fn tp_11_scripted_session_passes_all_postconditions() {
    let script = after(HOLDING);
    let one = run(&script);
    let done = one.rehearsal.as_ref().expect("steps");
    assert_eq!(failed(done), [""; 0], "{:#?}", done.checks);
    // the two of every rehearsal, and one for each post-condition
    assert_eq!(done.checks.len(), 2 + 11);
    let steps = &done.outcome.steps;
    assert!(steps[0].peak_force_n > 0.1, "no force: {:?}", steps[0]);
    assert!(steps[1].links_cut > 20 && steps[2].elements_removed > 10);
    assert_eq!(steps[3].elements_removed, -steps[2].elements_removed);
    assert_eq!(steps[4].elements_removed, steps[2].elements_removed);
    let nodule = done
        .outcome
        .amounts
        .iter()
        .find(|amount| amount.label == "nodule");
    assert_eq!(nodule.map(|amount| amount.elements), Some(0));
    assert!(!one.surface.triangles.is_empty());
    // the same script gives the same bits
    let again = run(&script);
    assert_eq!(again.trace_hash, one.trace_hash);
    assert_eq!(again.rehearsal, one.rehearsal);
}

/// Every post-condition can fail.
#[test]
fn failed_postcondition_is_reported() {
    for (condition, name) in [
        ("kind = \"pieces\"\ncount = 2", "pieces"),
        (
            "kind = \"crossing\"\ncut = \"open\"\nlinks_min = 1\nstep = \"open\"",
            "links across the cut `open`",
        ),
        ("kind = \"removed\"\nelements = 2", "tissue removed"),
        (
            "kind = \"removed\"\nlabel = \"fat\"\nvolume_m3 = 1e-9\ntolerance = 0.5",
            "`fat` removed",
        ),
        (
            "kind = \"left\"\nlabel = \"fat\"\nelements_max = 3",
            "`fat` left",
        ),
        (
            "kind = \"margin\"\nlabel = \"nodule\"\nleast_m = 0.005",
            "margin around",
        ),
        (
            "kind = \"untouched\"\nlabel = \"skin\"",
            "touched nodes of `skin`",
        ),
        ("kind = \"force\"\nmost_n = 0.05", "most force"),
        (
            "kind = \"force\"\nmost_n = 0.05\nstep = \"feel\"",
            "most force on the hand in `feel`",
        ),
        (
            "kind = \"undone\"\nto = \"start\"",
            "topology equals that after `start`",
        ),
        (
            "kind = \"energy-balance\"\nshare_max = 0.0",
            "unexplained share",
        ),
    ] {
        let done = rehearse(&after(&format!("[[after]]\n{condition}")));
        let failed = failed(&done);
        assert!(
            failed.len() == 1 && failed[0].starts_with(name),
            "{condition}: {failed:?} {:#?}",
            done.checks
        );
    }
}

/// A second tissue gets the same edits; an omitted edit is detected.
#[test]
fn omitted_edit_fails_the_same_topology_check() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = after("[[after]]\nkind = \"same-topology\"");
    let config = config(folder.path(), &script);
    let scene = lab::load_scene(&config.twin, "twin").expect("a scene");
    let mut watch = RehearsalWatch::new(&config, &scene)
        .expect("able")
        .expect("steps");
    let mut session = SoloSession::new(&config).expect("a session");
    let mut omitted = false;
    for _ in 0..session.ticks() {
        let record = session.step();
        let twin = session.twin().expect("a twin");
        // the first edit of the blade is omitted
        if omitted || twin.view().changes.is_empty() {
            watch.tick(&record, twin);
        } else {
            omitted = true;
        }
    }
    let done = watch.finish(None);
    assert!(
        failed(&done).contains(&"remote topology equals the twin's"),
        "{:#?}",
        done.checks
    );
}

/// TP-08: cut, glue, tack, untack, carve and move in one session.
#[test]
fn tp_08_scripted_session_uses_every_tool_and_glue_joins_faces() {
    let script = r#"
tool_radius_m = 0.002
[[step]]
name = "cut"
kind = "incise"
path_m = [[-0.004, -0.016, 0.0], [-0.004, 0.016, 0.0]]
depth_m = 0.016
[[step]]
name = "glue"
kind = "glue"
path_m = [[-0.005, -0.010, 0.004], [-0.005, 0.010, 0.004]]
reach_m = 0.006
[[step]]
name = "pin"
kind = "tack"
path_m = [[0.006, 0.0, 0.0]]
[[step]]
name = "unpin"
kind = "untack"
path_m = [[0.006, 0.0, 0.0]]
[[step]]
name = "erase"
kind = "carve"
path_m = [[-0.012, -0.008, 0.0]]
[[step]]
kind = "move"
to_m = [0.0, 0.0, 0.01]
time_s = 0.3
[[step]]
kind = "wait"
time_s = 0.1
[[after]]
kind = "pieces"
step = "cut"
count = 2
[[after]]
kind = "pieces"
step = "glue"
count = 1
[[after]]
kind = "crossing"
step = "cut"
cut = "cut"
[[after]]
kind = "crossing"
step = "glue"
cut = "cut"
links_min = 20
[[after]]
kind = "undone"
step = "unpin"
to = "glue"
[[after]]
kind = "untouched"
label = "nodule"
"#;
    let done = rehearse(script);
    assert_eq!(failed(&done), [""; 0], "{:#?}", done.checks);
    let steps = &done.outcome.steps;
    assert_ne!(steps[2].topology, steps[1].topology, "nothing was fixed");
    assert!(steps[4].elements_removed > 0);
}

#[test]
fn scripts_are_equal_in_toml_json_and_configuration() {
    let text = format!("name = \"test\"\n{}", after(HOLDING));
    let one = RehearsalScript::parse(&text, "test.toml").expect("TOML");
    let value: serde_json::Value = toml::from_str(&text).expect("a table");
    let two = RehearsalScript::parse(&value.to_string(), "test.json").expect("JSON");
    assert_eq!(one, two);
    let mut config = Config::default();
    one.apply(&mut config);
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(Config::parse(&config.to_toml(), "again"), Ok(config));
}

#[test]
fn bad_script_is_refused_by_file_step_field_and_value() {
    for (from, to, parts) in [
        (
            "depth_m = 0.006",
            "depht_m = 0.006",
            ["step 2 `open`", "`depht_m`", "depth_m"],
        ),
        (
            "depth_m = 0.006",
            "depth_m = 0.6",
            ["step 2 `open`: depth_m", "is 0.6", "0 to 0.1"],
        ),
        (
            "depth_m = 0.006",
            "depth_m = \"deep\"",
            ["step 2 `open`", "deep", "f64"],
        ),
        (
            "kind = \"carve\"",
            "kind = \"scoop\"",
            ["step 3 `carve`", "scoop", "incise"],
        ),
        (
            "name = \"feel\"",
            "name = \"open\"",
            ["step 2 `open`", "is 2", "expected 1"],
        ),
        (
            "to = \"carve\"",
            "to = \"carv\"",
            ["after 4", "to is carv", "feel, open, carve"],
        ),
        (
            "step = \"open\"",
            "step = \"opne\"",
            ["after 1", "step is opne", "feel, open"],
        ),
        (
            "cut = \"open\"",
            "cut = \"feel\"",
            ["after 1", "a step `press`", "incise"],
        ),
        (
            "least_m = 0.001",
            "least_m = -1.0",
            ["after 7", "least_m is -1", "0 or more"],
        ),
        (
            "volume_m3 = 1.5e-7",
            "",
            ["after 6", "elements", "volume_m3"],
        ),
        (
            "tool_radius_m = 0.003",
            "tool_radius = 0.003",
            ["line 2", "tool_radius", "tool_radius_m"],
        ),
    ] {
        let text = after(HOLDING);
        assert!(text.contains(from), "{from}");
        let error = RehearsalScript::parse(&text.replacen(from, to, 1), "cut.toml");
        let error = error.expect_err(to).to_string();
        for part in parts.into_iter().chain(["cut.toml"]) {
            assert!(error.contains(part), "{to}: no `{part}` in: {error}");
        }
    }
}

#[test]
fn script_unsupported_by_the_tissue_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path(), STEPS);
    let wrong = |config: &Config, name: &str| {
        let scene = lab::load_scene(name, "twin").expect("a scene");
        let refused = RehearsalWatch::new(config, &scene).err();
        refused.expect("refused").to_string()
    };
    let text = wrong(&config, "sheet");
    for part in ["step 2 `open`", "`sheet`", "idms", "cut"] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    let more = after("[[after]]\nkind = \"left\"\nlabel = \"tumour\"");
    config = self::config(folder.path(), &more);
    let text = wrong(&config, &config.twin);
    for part in ["label is tumour", "skin, fat, nodule"] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    config.duration_s = 1.0;
    let text = config.validate().expect_err("too short").to_string();
    assert!(text.contains("duration_s is 1; expected"), "{text}");
}

#[test]
fn built_in_scripts_are_valid() {
    for name in script::BUILT_IN.names() {
        let script = script::load(name).expect(name);
        assert_eq!(script.procedure.name, name);
        assert!(
            !script.after.is_empty() && !script.about.is_empty(),
            "{name}"
        );
    }
    let error = script::load("no-such").expect_err("none").to_string();
    assert!(
        error.contains("no-such") && error.contains("biopsy"),
        "{error}"
    );
}

/// TP-11 over a network: the same script in `palpate lab`; both tissues end with the same topology.
#[test]
fn tp_11_script_edits_both_tissues_over_a_network() {
    let folder = tempfile::tempdir().expect("a folder");
    scene_file(folder.path());
    let path = folder.path().join("script.toml");
    let text = format!("scene = \"crumb.toml\"\n{}", after(HOLDING));
    std::fs::write(&path, text).expect("writable");
    let mut config = Config::default();
    let loaded = script::load(path.to_str().expect("text")).expect("a script");
    loaded.apply(&mut config);
    for link in [&mut config.link.forward, &mut config.link.back] {
        (link.oneway_ms, link.loss) = (100.0, 0.05);
    }
    let scene = lab::load_scene(&config.twin, "twin").expect("a scene");
    let watch = RehearsalWatch::new(&config, &scene).expect("able");
    let session = lab::VirtualSession::new(&config).expect("a session");
    let stop = AtomicBool::new(false);
    let run = virtual_run::play(session, watch, &NoProgress, &stop, |_| Ok(()));
    let run = run.expect("nothing refuses");
    assert_eq!(run.audit.violations, 0);
    let done = run.rehearsal.expect("steps");
    assert_eq!(failed(&done), [""; 0], "{:#?}", done.checks);
    assert!(done.outcome.steps[2].elements_removed > 10);
    assert_eq!(
        run.master.last().map(|record| record.topology),
        run.slave.last().map(|record| record.topology)
    );
}
