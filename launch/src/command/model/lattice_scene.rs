//! `palpate model build` of springs: a scene from a `.fem` file and its faces.
//!
//! Source: seed-004 row S4-59. The scene has the lattice in SI units beside it, and states the tool, so that all can be
//! edited.

use palpate_analysis::{Failure, output};
use palpate_geometry::mesh::Units;
use palpate_scene::{Scene, SceneBody};
use palpate_session::lab;

use super::{bad_input, scene, write};
use crate::cli::BuildArgs;
use crate::command::CommandOutcome;

/// Files of the result.
const RESULTS: [&str; 3] = ["lattice.fem", "lattice.plg", "scene.toml"];

/// True if a model's name is that of a lattice file.
pub(super) fn is_lattice_file(name: &str) -> bool {
    palpate_scene::lattice_file_text(name).is_some()
}

/// Builds the scene, and writes it with its lattice.
///
/// # Errors
/// [`Failure::Usage`] names the file, field or flag, its value, and the valid values.
pub(super) fn build(file: &str, arguments: &BuildArgs) -> Result<CommandOutcome, Failure> {
    let name = arguments.units.map(|units| units.of_file(file));
    let scene = lab::load_scene(name.as_deref().unwrap_or(file), "MODEL")?;
    let SceneBody::Lattice { lattice, .. } = &scene.body else {
        // the text has a table [lattice]
        return Err(bad_input(file)("no lattice"));
    };
    let chosen = arguments.earlier.chosen(arguments.out.as_deref());
    let folder = output::folder(chosen, "model", &RESULTS)?;
    write(lattice, &folder.join(RESULTS[0]), Units::SI)?;
    let target = folder.join(RESULTS[2]);
    output::write(&target, scene_text(&scene))?;
    // what was written is read again, so that it can be felt
    let read = lab::load_scene(&target.display().to_string(), "MODEL")?;
    let words = format!("{}results  {}\n", scene::words(&read)?, folder.display());
    let quiet = arguments.quiet;
    Ok(CommandOutcome::unchecked(if quiet {
        String::new()
    } else {
        words
    }))
}

fn scene_text(scene: &Scene) -> String {
    format!(
        "# Springs from a .fem file, with node contact as the source has it; `contact = \"face\"` is smooth.\n\
         name = {}\n\n[lattice]\nfile = \"{}\"\nunit = \"m\"\n\n[model]\ncontact = \"node\"\n\n\
         [tool]\nradius_m = {:?}\nstiffness_npm = {:?}\n",
        toml::Value::String(scene.name.clone()),
        RESULTS[0],
        scene.tool_radius_m,
        scene.tool_stiffness_npm
    )
}
