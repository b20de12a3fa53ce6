//! Scenes by name, built in or from files, with the files they refer to. Source: ours.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;

use palpate_scene as scene;
use palpate_scene::Scene;
use palpate_twin::{Tissue, ToolShape};

use crate::built_in::{BuiltInTexts, is_path};
use crate::config::{Config, ConfigError};
use crate::files;

/// The built-in scenes.
const SCENES: BuiltInTexts = BuiltInTexts {
    kind: "scene",
    texts: scene::BUILT_IN,
};

/// Checks that a tissue supports the shape of a session's tool.
///
/// # Errors
/// [`ConfigError`] if it does not.
pub(super) fn check_tool_shape(
    config: &Config,
    field: &str,
    name: &str,
    tissue: &dyn Tissue,
) -> Result<(), ConfigError> {
    let (shape, caps) = (&config.master.predict.tool_shape, tissue.caps());
    if config.operator.uses_instruments() && *shape != ToolShape::Ball {
        let message = format!(
            "master.predict.tool_shape is a {}; expected `ball` of a script with instruments, which work at the end of \
             a rod",
            shape.name()
        );
        return Err(ConfigError::Field(message));
    }
    if shape.is_supported(&caps) {
        return Ok(());
    }
    let message = format!(
        "master.predict.tool_shape is a {}; the method {} of {field} {name} does not support one: all methods \
         support `ball`, fem and linked support a capsule, linked a box, and springs with `contact = \"node\"` \
         in `[model]` both",
        shape.name(),
        caps.method
    );
    Err(ConfigError::Field(message))
}

/// Height of the tool at first contact with the tissue of a session \[m\], for a level surface.
#[must_use]
pub fn contact_m(config: &Config) -> f64 {
    let home_m = match config.tissue.starts_with("wall:") {
        true => palpate_slave::robot::environment::WALL_Z_M,
        false => config.master.predict.tool_radius_m,
    };
    home_m + config.tissue_height_m
}

/// Loads a scene as [`load_scene`] does, with the ball that touches it in a session.
///
/// # Errors
/// As [`load_scene`].
pub fn scene_with_tool(config: &Config, name: &str, field: &str) -> Result<Scene, ConfigError> {
    let tool = &config.master.predict;
    load_scene(name, field).map(|it| it.with_tool(tool.tool_radius_m, tool.tool_stiffness_npm))
}

/// Loads a built-in scene by name, or a scene file by path.
///
/// # Errors
/// [`ConfigError`] if neither exists or the scene is invalid.
pub fn load_scene(name: &str, field: &str) -> Result<Scene, ConfigError> {
    read_scene(name, field, &mut |_| ())
}

/// As [`load_scene`]; calls `on_bytes` with the bytes of the scene's text, then of each file that it refers to,
/// such as a mesh.
///
/// # Errors
/// As [`load_scene`].
pub fn read_scene(
    name: &str,
    field: &str,
    on_bytes: &mut dyn FnMut(&[u8]),
) -> Result<Scene, ConfigError> {
    let text = scene_text(name, field)?;
    on_bytes(text.as_bytes());
    let on_bytes = RefCell::new(on_bytes);
    // an owned text is not part of the program, and may name files
    let scene = if let Cow::Owned(_) = text {
        let folder = Path::new(name).parent();
        scene::load_with(&text, &|file| {
            // a path relative to the scene's folder; an absolute path stays unchanged
            let path = folder.map_or_else(|| file.into(), |folder| folder.join(file));
            let named = |error: std::io::Error| format!("{}: {error}", path.display());
            let bytes = if file.ends_with('/') {
                list_folder(&path).map_err(named)?.join("\n").into_bytes()
            } else {
                files::read(&path, files::MODEL_BYTES_MAX).map_err(named)?
            };
            (on_bytes.borrow_mut())(&bytes);
            Ok(bytes)
        })
    } else {
        scene::load(&text)
    };
    scene.map_err(|error| wrong_scene(field, name, &error))
}

/// Notes on deprecated keys of a scene's text; none for an unreadable scene, which is refused where it is
/// loaded.
#[must_use]
pub fn scene_notes(name: &str) -> Vec<String> {
    let text = scene_text(name, "scene").unwrap_or_default();
    scene::notes(&text).unwrap_or_default()
}

/// Sorted names of the files in a folder, without hidden ones and folders below.
///
/// # Errors
/// The error of reading the folder.
pub fn list_folder(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let shown = name.ok().filter(|name| !name.starts_with('.'));
        names.extend(shown.filter(|_| entry.path().is_file()));
    }
    names.sort();
    Ok(names)
}

/// TOML text of a built-in scene by its name, borrowed, or of a file by its path, owned. A file with
/// the name of a built-in scene needs its folder in front, as in `./layered`.
///
/// # Errors
/// [`ConfigError`] if neither exists, or the file is not the text of a scene.
pub fn scene_text(name: &str, field: &str) -> Result<Cow<'static, str>, ConfigError> {
    if let Some(text) = scene::lattice_file_text(name) {
        let text = text.map(Cow::Owned);
        return text.map_err(|error| wrong_scene(field, name, &error));
    }
    match SCENES.find(Path::new(name)) {
        Ok(Cow::Owned(text)) if !text.contains('=') => {
            let expected = "the file has no field; expected a scene with [tool] and [block], [linked], \
                            [mesh], [sheet] or [fixture]";
            Err(wrong_scene(field, name, &expected))
        }
        Err(error) if is_path(name) || Path::new(name).is_file() => {
            Err(wrong_scene(field, name, &error))
        }
        // anything but a path is an unknown name, or the text of a scene
        Err(_) => {
            let text = scene::scene_text(name).map_err(|error| wrong_scene(field, name, &error))?;
            Ok(Cow::Owned(text.to_owned()))
        }
        Ok(found) => Ok(found),
    }
}

pub(super) fn wrong_scene(field: &str, name: &str, error: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Field(format!("{field} is {name}: {error}"))
}
