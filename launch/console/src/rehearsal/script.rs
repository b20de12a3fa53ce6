//! Scripts: built in by name, or files in TOML or JSON.
//!
//! Source: ours. A file is read in two steps, so that an error names the step: first what the whole is, then one
//! step or post-condition after the other.

use std::path::Path;

use palpate_master::device::procedure::{ProcedureParams, Step};
use palpate_master::device::script::ScriptParams;
use palpate_session::built_in::{BuiltIn, Found};
use palpate_session::config::after::{self, After};
use palpate_session::config::{Config, ConfigError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The built-in scripts.
pub const BUILT_IN: BuiltIn = BuiltIn {
    kind: "script",
    texts: palpate_scene::texts!("../../scripts": "biopsy"),
};

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// What it is for, in a sentence or two.
    pub about: String,
    /// The scene that it was written for: a built-in one, or a file by its path from the script's folder.
    pub scene: Option<String>,
    /// Its steps.
    pub procedure: ProcedureParams,
    /// What must hold after them.
    pub after: Vec<After>,
}

/// A script as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    name: Option<String>,
    #[serde(default)]
    about: String,
    scene: Option<String>,
    tool_radius_m: Option<f64>,
    clearance_m: Option<f64>,
    speed_mps: Option<f64>,
    work_mps: Option<f64>,
    #[serde(default)]
    step: Vec<Value>,
    #[serde(default)]
    after: Vec<Value>,
}

/// A built-in script by its name, or a file by its path.
///
/// # Errors
/// [`ConfigError`] names the file, the step and the field, its value, and what would be right.
pub fn load(name: &str) -> Result<Script, ConfigError> {
    let found = BUILT_IN
        .find(Path::new(name))
        .map_err(|error| ConfigError::Parse {
            source_name: format!("--script {name}"),
            message: format!(
                "{error}; expected a readable .toml or .json file, or one of the built-in scripts: {}",
                BUILT_IN.names().join(", ")
            ),
        })?;
    let mut script = Script::parse(found.text(), name)?;
    if let Found::BuiltIn(_) = found {
        return Ok(script);
    }
    // a scene file is named from the script's folder
    if let (Some(scene), Some(folder)) = (&mut script.scene, Path::new(name).parent())
        && scene.ends_with(".toml")
    {
        *scene = folder.join(&*scene).display().to_string();
    }
    Ok(script)
}

impl Script {
    /// From the text of a file; one whose name ends in `.json` is JSON, else it is TOML.
    ///
    /// # Errors
    /// As [`load`].
    pub fn parse(text: &str, source_name: &str) -> Result<Self, ConfigError> {
        let wrong = |message: String| ConfigError::Parse {
            source_name: source_name.to_owned(),
            message,
        };
        let is_json = source_name.ends_with(".json");
        let text: Text = if is_json {
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?
        } else {
            let read = toml::from_str(text);
            read.map_err(|error| wrong(error.to_string().trim_end().to_owned()))?
        };
        let plain = ProcedureParams::default();
        let procedure = ProcedureParams {
            name: text.name.unwrap_or_else(|| stem(source_name)),
            tool_radius_m: text.tool_radius_m.unwrap_or(plain.tool_radius_m),
            clearance_m: text.clearance_m.unwrap_or(plain.clearance_m),
            speed_mps: text.speed_mps.unwrap_or(plain.speed_mps),
            work_mps: text.work_mps.unwrap_or(plain.work_mps),
            step: entries::<Step>(text.step, "step").map_err(wrong)?,
        };
        let after = entries::<After>(text.after, "after").map_err(wrong)?;
        procedure
            .validate()
            .map_err(|error| wrong(error.to_string()))?;
        after::validate(&after, &procedure).map_err(wrong)?;
        Ok(Self {
            about: text.about,
            scene: text.scene,
            procedure,
            after,
        })
    }

    /// Has a session follow the script: its operator, its tool, its scene on both sides, and its length.
    pub fn apply(&self, config: &mut Config) {
        config.name.clone_from(&self.procedure.name);
        config.duration_s = (self.procedure.length_s() * 100.0).ceil() / 100.0;
        config.master.predict.tool_radius_m = self.procedure.tool_radius_m;
        config.operator.script = ScriptParams::Procedure(self.procedure.clone());
        config.after.clone_from(&self.after);
        if let Some(scene) = &self.scene {
            config.tissue.clone_from(scene);
            config.twin.clone_from(scene);
        }
    }
}

/// The name of a file without folder and ending.
fn stem(source_name: &str) -> String {
    let stem = Path::new(source_name).file_stem();
    stem.map_or_else(
        || "script".into(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// Reads one entry after the other; an error names the first that is wrong.
fn entries<T: DeserializeOwned>(values: Vec<Value>, table: &str) -> Result<Vec<T>, String> {
    let read = |(number, value): (usize, Value)| {
        let word = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let name = word("name").or_else(|| word("kind"));
        let name = name.map_or(String::new(), |name| format!(" `{name}`"));
        let given = value.clone();
        T::deserialize(given).map_err(|error| format!("{table} {number}{name}: {error}"))
    };
    (1..).zip(values).map(read).collect()
}
