//! The tool of a session: that of its scene, where neither a file nor a flag states another.
//!
//! Source: ours. A session has one tool at both ends. It is that of the twin's scene, or that of the tissue if nobody
//! named the twin and the tissue is a scene.

use std::collections::BTreeMap;

use palpate_master::device::script::ScriptParams;
use palpate_scene::Scene;
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_twin::ToolShape;

use crate::truth::is_scene;

/// Paths of the tool's fields in a configuration.
pub const RADIUS: &str = "master.predict.tool_radius_m";
const STIFFNESS: &str = "master.predict.tool_stiffness_npm";
const SHAPE: &str = "master.predict.tool_shape";
const START: &str = "robot.start_m";
const SCRIPT_RADIUS: &str = "operator.script.tool_radius_m";
/// Stiffest tool of a session \[N/m\]; the rigid ball of a press may be stiffer.
const STIFFNESS_NPM_MAX: f64 = 1e5;

/// Tool that a scene states for sessions.
#[derive(Debug, Clone, Copy)]
struct StatedTool {
    radius_m: f64,
    stiffness_npm: f64,
    shape: ToolShape,
}

/// Tools of scenes, each loaded once.
#[derive(Debug, Default)]
pub struct SceneTools(BTreeMap<String, Option<StatedTool>>);

impl SceneTools {
    /// Gives a configuration the tool of its scene, except for fields whose path `is_given`. The radius by which a script
    /// finds the surface follows, and so does the height at which the robot starts. A scene that cannot be loaded changes
    /// nothing: the session refuses it.
    pub fn adopt(&mut self, config: &mut Config, is_given: &dyn Fn(&str) -> bool) {
        let Some(tool) = self.of(scene_name(config, is_given("twin"))) else {
            return;
        };
        let predict = &mut config.master.predict;
        if !is_given(STIFFNESS) {
            predict.tool_stiffness_npm = tool.stiffness_npm;
        }
        if !is_given(SHAPE) {
            predict.tool_shape = tool.shape;
        }
        if is_given(RADIUS) {
            return;
        }
        if !is_given(START) {
            // as far above the tissue as with the default tool
            config.robot.start_m[2] += tool.radius_m - predict.tool_radius_m;
        }
        predict.tool_radius_m = tool.radius_m;
        match &mut config.operator.script {
            _ if is_given(SCRIPT_RADIUS) => {}
            ScriptParams::Palpation(palpation) => palpation.tool_radius_m = tool.radius_m,
            ScriptParams::Procedure(procedure) => procedure.tool_radius_m = tool.radius_m,
            ScriptParams::Sine(_) => {}
        }
    }

    fn of(&mut self, name: &str) -> Option<StatedTool> {
        let load = || {
            let scene = lab::load_scene(name, "scene").ok()?;
            Some(StatedTool {
                radius_m: scene.tool_radius_m,
                stiffness_npm: stiffness_npm(&scene),
                shape: scene.tool_shape,
            })
        };
        *self.0.entry(name.to_owned()).or_insert_with(load)
    }
}

/// Gives configurations of a trial the tools of their scenes, except for fields that any table of its text states, and
/// except for scripts, which have their own tool.
pub fn adopt_in_trial<'a>(configs: impl Iterator<Item = &'a mut Config>, whole: &toml::Table) {
    let (given, mut tools) = (field_paths(whole), SceneTools::default());
    for config in configs {
        let scripted = matches!(config.operator.script, ScriptParams::Procedure(_));
        tools.adopt(config, &|path| {
            scripted && path != "twin" || given.iter().any(|given| states(given, path))
        });
    }
}

/// Stiffness of a scene's tool in a session \[N/m\].
#[must_use]
pub fn stiffness_npm(scene: &Scene) -> f64 {
    scene.session_stiffness_npm.min(STIFFNESS_NPM_MAX)
}

/// True if a stated path, which may begin in another table or end in a field of the wanted one, states a field.
#[must_use]
pub fn states(stated: &str, path: &str) -> bool {
    format!(".{stated}.").contains(&format!(".{path}.")) || path.starts_with(&format!("{stated}."))
}

/// Name of the scene whose tool a session has; `twin_given` if somebody named the twin.
fn scene_name(config: &Config, twin_given: bool) -> &str {
    let named = twin_given || config.twin != Config::default().twin;
    let by_twin = named || !is_scene(&config.tissue);
    if by_twin {
        &config.twin
    } else {
        &config.tissue
    }
}

/// Dotted paths of all fields of a TOML table; those in a list are fields of the list.
#[must_use]
pub fn field_paths(table: &toml::Table) -> Vec<String> {
    fn walk(path: &str, value: &toml::Value, found: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, inner) in table {
                    walk(&format!("{path}.{key}"), inner, found);
                }
            }
            toml::Value::Array(list) if list.iter().any(toml::Value::is_table) => {
                list.iter().for_each(|inner| walk(path, inner, found));
            }
            _ => found.push(path.trim_start_matches('.').to_owned()),
        }
    }
    let mut found = Vec::new();
    walk("", &toml::Value::Table(table.clone()), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adopted(assignments: &[&str], given: &[&str]) -> Config {
        let mut config = Config::default();
        for assignment in assignments {
            config.set(assignment).expect("a field");
        }
        SceneTools::default().adopt(&mut config, &|path| given.contains(&path));
        config
    }

    fn tool(config: &Config) -> (f64, f64) {
        let predict = &config.master.predict;
        (predict.tool_radius_m, predict.tool_stiffness_npm)
    }

    #[test]
    fn a_session_has_the_tool_of_its_scene_unless_it_is_given() {
        assert_eq!(adopted(&[], &[]), Config::default());
        // the twin decides; without one, the tissue
        for (scenes, expected) in [
            (["twin=seed-regular", "tissue=wall:500"], (0.0381, 15748.0)),
            (["twin=tweezers", "tissue=seed-regular"], (0.003, 3000.0)),
            (["twin=layered", "tissue=seed-regular"], (0.0381, 15748.0)),
            (["twin=layered", "tissue=free"], (0.008, 3000.0)),
            (["twin=none", "tissue=seed-regular"], (0.008, 3000.0)),
        ] {
            assert_eq!(tool(&adopted(&scenes, &[])), expected, "{scenes:?}");
        }
        // whoever names the default twin has its tool
        let named = adopted(&["tissue=seed-regular"], &["twin"]);
        assert_eq!(tool(&named), (0.008, 3000.0));
        let seed = ["twin=seed-regular"];
        assert_eq!(tool(&adopted(&seed, &[RADIUS])), (0.008, 15748.0));
        assert_eq!(tool(&adopted(&seed, &[STIFFNESS])), (0.0381, 3000.0));
        let script_m = |given: &[&str]| match adopted(&seed, given).operator.script {
            ScriptParams::Palpation(palpation) => palpation.tool_radius_m,
            _ => 0.0,
        };
        assert_eq!(script_m(&[]), 0.0381);
        let start_m = |given: &[&str]| adopted(&seed, given).robot.start_m[2];
        assert!((start_m(&[]) - 0.0581).abs() < 1e-12);
        assert_eq!(start_m(&[START]), Config::default().robot.start_m[2]);
        assert_eq!(start_m(&[RADIUS]), start_m(&[START]));
        assert_eq!(script_m(&[SCRIPT_RADIUS]), 0.008);
        assert_eq!(script_m(&[RADIUS]), 0.008);
    }

    #[test]
    fn a_scene_states_shape_and_stiffness_of_its_tool_in_sessions() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rod.toml");
        let rod = palpate_scene::scene_text("block")
            .expect("built in")
            .replace(
                "session_stiffness_npm = 3000.0",
                "shape = { capsule = { along_m = [0.02, 0.0, 0.0] } }",
            );
        std::fs::write(&path, rod).expect("writable");
        let config = adopted(&[&format!("twin={:?}", path.display().to_string())], &[]);
        let along_m = [0.02, 0.0, 0.0];
        assert_eq!(
            config.master.predict.tool_shape,
            ToolShape::Capsule { along_m }
        );
        // 1e6 N/m is the rigid ball of a press
        assert_eq!(tool(&config), (0.005, STIFFNESS_NPM_MAX));
        assert_eq!(config.validate(), Ok(()));
    }

    /// A shape is a table: each path of a recorded configuration states a part of it, and a trial has it in another table.
    #[test]
    fn a_part_of_the_shape_states_it() {
        let mut config = Config::default();
        let rod = "master.predict.tool_shape={capsule={along_m=[0.02,0.0,0.0]}}";
        config.set(rod).expect("a field");
        let table: toml::Table = toml::from_str(&config.to_toml()).expect("a table");
        let stated = field_paths(&table);
        assert!(stated.iter().any(|stated| states(stated, SHAPE)));
        for (stated, expected) in [
            ("base.master.predict.tool_shape.capsule.along_m", true),
            ("master.predict", true),
            ("master.predict.tool_radius_m", false),
            ("master.predict.tool_shape_of", false),
        ] {
            assert_eq!(states(stated, SHAPE), expected, "{stated}");
        }
    }

    #[test]
    fn a_trial_that_states_the_radius_has_it_in_all_conditions() {
        let radius_m = |text: &str| {
            let mut config = adopted(&[], &[]);
            config.set("twin=tweezers").expect("a field");
            let whole = toml::from_str(text).expect("a table");
            adopt_in_trial([&mut config].into_iter(), &whole);
            config.master.predict.tool_radius_m
        };
        assert_eq!(radius_m("[grid]\nloss = [0.0]"), 0.003);
        let stated = "[[factor]]\n[[factor.level]]\nmaster.predict.tool_radius_m = 0.004";
        assert_eq!(radius_m(stated), 0.008);
        assert_eq!(
            radius_m("[base.master.predict]\ntool_radius_m = 0.008"),
            0.008
        );
    }

    #[test]
    fn paths_of_nested_tables_and_lists_are_dotted() {
        let text = "a = 1\n[b.c]\nd = [1]\n[[b.e]]\nf = 2\n[[b.e]]\ng = 3";
        let table = toml::from_str(text).expect("a table");
        assert_eq!(field_paths(&table), ["a", "b.c.d", "b.e.f", "b.e.g"]);
    }
}
