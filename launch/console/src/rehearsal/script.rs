//! Rehearsal scripts: built in by name, or files in TOML or JSON.
//!
//! Source: ours. A file is read in two steps, so that an error names the step: first the whole, then one step or
//! post-condition after the other.

use std::borrow::Cow;
use std::path::Path;

use palpate_master::device::procedure::{ProcedureParams, ProcedureStep};
use palpate_master::device::script::ScriptParams;
use palpate_scene::lattice_file_text;
use palpate_session::built_in::BuiltInTexts;
use palpate_session::config::postcondition::{self, Postcondition};
use palpate_session::config::{Config, ConfigError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The built-in scripts.
pub const BUILT_IN: BuiltInTexts = BuiltInTexts {
    kind: "script",
    texts: palpate_scene::texts!("../../scripts": "biopsy"),
};

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct RehearsalScript {
    /// Purpose of the script, in a sentence or two.
    pub about: String,
    /// Scene of the script: a built-in one, or a file by its path from the script's folder.
    pub scene: Option<String>,
    /// True if it states the radius of its tool; otherwise a session has the tool of the scene.
    pub states_tool: bool,
    /// Its steps.
    pub procedure: ProcedureParams,
    /// Post-conditions.
    pub after: Vec<Postcondition>,
}

/// Format of a script file.
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

/// Loads a built-in script by its name, or a file by its path.
///
/// # Errors
/// [`ConfigError`] names the file, the step and the field, its value, and what would be right.
pub fn load(name: &str) -> Result<RehearsalScript, ConfigError> {
    let text = BUILT_IN
        .find(Path::new(name))
        .map_err(|error| ConfigError::Parse {
            source_name: format!("--script {name}"),
            message: format!(
                "{error}; expected a readable .toml or .json file, or one of the built-in scripts: {}",
                BUILT_IN.names().join(", ")
            ),
        })?;
    let mut script = RehearsalScript::parse(&text, name)?;
    if let Cow::Borrowed(_) = text {
        return Ok(script);
    }
    // a scene file is named from the script's folder
    if let (Some(scene), Some(folder)) = (&mut script.scene, Path::new(name).parent())
        && (scene.ends_with(".toml") || lattice_file_text(scene).is_some())
    {
        *scene = folder.join(&*scene).display().to_string();
    }
    Ok(script)
}

impl RehearsalScript {
    /// Parses the text of a file: JSON if its name ends in `.json`, else TOML.
    ///
    /// # Errors
    /// Errors of [`load`].
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
        let defaults = ProcedureParams::default();
        let procedure = ProcedureParams {
            name: text.name.unwrap_or_else(|| stem(source_name)),
            tool_radius_m: text.tool_radius_m.unwrap_or(defaults.tool_radius_m),
            clearance_m: text.clearance_m.unwrap_or(defaults.clearance_m),
            speed_mps: text.speed_mps.unwrap_or(defaults.speed_mps),
            work_mps: text.work_mps.unwrap_or(defaults.work_mps),
            step: entries::<ProcedureStep>(text.step, "step").map_err(wrong)?,
        };
        let after = entries::<Postcondition>(text.after, "after").map_err(wrong)?;
        procedure
            .validate()
            .map_err(|error| wrong(error.to_string()))?;
        postcondition::validate(&after, &procedure).map_err(wrong)?;
        Ok(Self {
            about: text.about,
            states_tool: text.tool_radius_m.is_some(),
            scene: text.scene,
            procedure,
            after,
        })
    }

    /// Configures a session for the script: its operator, its tool, its scene on both sides, and its length.
    pub fn apply(&self, config: &mut Config) {
        config.name.clone_from(&self.procedure.name);
        config.duration_s = (self.procedure.duration_s() * 100.0).ceil() / 100.0;
        config.master.predict.tool_radius_m = self.procedure.tool_radius_m;
        config.operator.script = ScriptParams::Procedure(self.procedure.clone());
        config.after.clone_from(&self.after);
        if let Some(scene) = &self.scene {
            config.tissue.clone_from(scene);
            config.twin.clone_from(scene);
        }
    }
}

/// Returns the name of a file without folder and extension.
fn stem(source_name: &str) -> String {
    let stem = Path::new(source_name).file_stem();
    stem.map_or_else(
        || "script".into(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

/// Reads one entry after the other; an error names the first invalid one.
fn entries<T: DeserializeOwned>(values: Vec<Value>, table: &str) -> Result<Vec<T>, String> {
    let read = |(number, value): (usize, Value)| {
        let word = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let name = word("name").or_else(|| word("kind"));
        let name = name.map_or(String::new(), |name| format!(" `{name}`"));
        let entry = value.clone();
        T::deserialize(entry).map_err(|error| format!("{table} {number}{name}: {error}"))
    };
    (1..).zip(values).map(read).collect()
}
