//! Scenes by name, built in or files, with what else they are made of. Source: ours.

use std::cell::RefCell;
use std::path::Path;

use palpate_master::predict::ToolShape;
use palpate_scene as scene;
use palpate_scene::Scene;
use palpate_twin::Tissue;

use crate::built_in::{BuiltIn, Found, is_path};
use crate::config::{Config, ConfigError};

/// The built-in scenes.
const SCENES: BuiltIn = BuiltIn {
    kind: "scene",
    texts: scene::BUILT_IN,
};

/// Whether a tissue feels the shape of a session's tool.
///
/// # Errors
/// [`ConfigError`] if it does not.
pub(super) fn felt(
    config: &Config,
    (field, name): (&str, &str),
    tissue: &dyn Tissue,
) -> Result<(), ConfigError> {
    let (shape, caps) = (&config.master.predict.tool_shape, tissue.caps());
    if config.operator.wields() && *shape != ToolShape::Ball {
        let message = format!(
            "master.predict.tool_shape is a {}; expected `ball` of a script with instruments, which work at the end of \
             a rod",
            shape.name()
        );
        return Err(ConfigError::Field { message });
    }
    if shape.is_felt(&caps) {
        return Ok(());
    }
    let message = format!(
        "master.predict.tool_shape is a {}; the method {} of {field} {name} does not feel one: `ball` is felt by all, a \
         capsule by fem and linked, a box by linked, and both by springs with the node contact of `seed-*`",
        shape.name(),
        caps.method
    );
    Err(ConfigError::Field { message })
}

/// Height of the tool at first contact with the tissue of a session \[m\], where it lies level.
#[must_use]
pub fn contact_m(config: &Config) -> f64 {
    match config.tissue.starts_with("wall:") {
        true => palpate_slave::robot::environment::WALL_Z_M,
        false => config.master.predict.tool_radius_m,
    }
}

/// A built-in scene by name, or a scene file by path.
///
/// # Errors
/// [`ConfigError`] if neither exists or the scene is wrong.
pub fn load_scene(name: &str, field: &str) -> Result<Scene, ConfigError> {
    read_scene(name, field, &mut |_| ())
}

/// As [`load_scene`]; `heard` is given the bytes of all that the scene is made of: its text, then each file
/// that it names, as a mesh.
///
/// # Errors
/// As [`load_scene`].
pub fn read_scene(
    name: &str,
    field: &str,
    heard: &mut dyn FnMut(&[u8]),
) -> Result<Scene, ConfigError> {
    let found = scene_source(name, field)?;
    let text = found.text();
    heard(text.as_bytes());
    let heard = RefCell::new(heard);
    let scene = if let Found::File(_) = found {
        let folder = Path::new(name).parent();
        scene::load_with(text, &|file| {
            // a path from the scene's folder; an absolute one stays what it is
            let path = folder.map_or_else(|| file.into(), |folder| folder.join(file));
            let named = |error: std::io::Error| format!("{}: {error}", path.display());
            let bytes = if file.ends_with('/') {
                list_folder(&path).map_err(named)?.join("\n").into_bytes()
            } else {
                std::fs::read(&path).map_err(named)?
            };
            (heard.borrow_mut())(&bytes);
            Ok(bytes)
        })
    } else {
        scene::load(text)
    };
    scene.map_err(|error| wrong_scene(field, name, &error))
}

/// Sorted names of the files in a folder, without hidden ones and folders below.
///
/// # Errors
/// If it cannot be read.
pub fn list_folder(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let shown = name.ok().filter(|name| !name.starts_with('.'));
        if let Some(name) = shown.filter(|_| entry.path().is_file()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The TOML text of a built-in scene by its name, or of a scene file by its path; a file that is
/// called like a built-in scene needs its folder before it, as in `./layered`.
///
/// # Errors
/// [`ConfigError`] if neither exists, or the file holds no text of a scene.
pub fn scene_text(name: &str, field: &str) -> Result<String, ConfigError> {
    Ok(scene_source(name, field)?.text().to_owned())
}

/// The text of a scene, built in or of a file.
fn scene_source(name: &str, field: &str) -> Result<Found, ConfigError> {
    match SCENES.find(Path::new(name)) {
        Ok(Found::File(text)) if !text.contains('=') => {
            let expected = "the file has no field; expected a scene with [tool] and [block], [linked], \
                            [mesh], [sheet] or [fixture]";
            Err(wrong_scene(field, name, &expected))
        }
        Err(error) if is_path(name) || Path::new(name).is_file() => {
            Err(wrong_scene(field, name, &error))
        }
        // what is no path is an unknown name, or a scene itself
        Err(_) => {
            let text = scene::text(name).map_err(|error| wrong_scene(field, name, &error))?;
            Ok(Found::File(text.to_owned()))
        }
        Ok(found) => Ok(found),
    }
}

pub(super) fn wrong_scene(field: &str, name: &str, error: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Field {
        message: format!("{field} is {name}: {error}"),
    }
}
