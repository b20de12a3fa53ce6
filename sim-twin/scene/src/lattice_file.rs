//! Springs from files: table `[lattice]` of a scene, and the scene of a bare `.fem` file.
//!
//! Source: seed-004 3.9 (rows S4-54, S4-55 and S4-59) for the files, 4B (V-palp) for the tool of a lattice that states none.
//! A `.fem` file has atoms and links, the `.plg` file beside it the faces. Neither states units, so the scene must.

use serde::Deserialize;

use super::mesh_body::Unit;
use super::text::{ToolText, field_error};
use super::{SceneError, SceneFileReader};
use palpate_geometry::mesh::{bounds_m, fem_file, lattice_check, plg_file};
use palpate_twin::Vec3;
use palpate_twin::lattice::Lattice;

/// Radius of the source's tool over the edge of its mesh, and its stiffness over that of a link (V-palp).
const TOOL_OF_EDGE: f64 = 1.5;
const TOOL_OF_LINK: f64 = 400.0 / 15.0;
/// Endings of the two files.
const ENDINGS: [&str; 2] = [".fem", ".plg"];

/// Table `[lattice]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LatticeFileText {
    /// Path of the `.fem` file from the scene's folder; the faces are beside it, with the ending `.plg`.
    file: String,
    unit: Unit,
}

impl LatticeFileText {
    /// Reads both files, in metres, with the middle of the surface on the z axis and its highest atom at z = 0.
    pub(super) fn lattice(&self, read: SceneFileReader<'_>) -> Result<Lattice, SceneError> {
        let refuse = |found: String, expected: &str| field_error("lattice.file", found, expected);
        let Some(stem) = self.file.strip_suffix(".fem") else {
            return Err(refuse(self.file.clone(), "a name that ends in .fem"));
        };
        let plg = format!("{stem}.plg");
        let bytes = |file: &str, expected: &str| {
            read(file).map_err(|message| refuse(format!("{file}: {message}"), expected))
        };
        let fem_bytes = bytes(&self.file, "a .fem file beside the scene")?;
        let units = self.unit.units();
        // the first error of a pair may be of either file, so the .fem file is read alone first
        let alone = fem_file::read(&fem_bytes, &units);
        alone.map_err(|source| SceneError::in_part(&self.file, source))?;
        let expected = format!(
            "the faces of {} in that file, which a tool touches",
            self.file
        );
        let plg_bytes = bytes(&plg, &expected)?;
        let pair = plg_file::read_pair(&fem_bytes, &plg_bytes, &units);
        let mut lattice = pair.map_err(|source| SceneError::in_part(&plg, source))?;
        if lattice.faces.is_empty() {
            return Err(refuse(format!("{plg} without faces"), "at least one face"));
        }
        centre(&mut lattice);
        Ok(lattice)
    }
}

/// Moves the middle of the surface onto the z axis, and its highest atom to z = 0.
pub(super) fn centre(lattice: &mut Lattice) {
    let surface = lattice.atoms.iter().filter(|atom| atom.surface);
    let [low_m, high_m] = bounds_m(surface.map(|atom| atom.position_m));
    let middle_m = 0.5 * (low_m + high_m);
    let origin_m = Vec3::new(middle_m.x, middle_m.y, high_m.z);
    let atoms = lattice.atoms.iter_mut();
    atoms.for_each(|atom| atom.position_m -= origin_m);
}

/// The source's tool, scaled by the longest edge and the stiffest link of a lattice.
pub(super) fn source_tool(lattice: &Lattice) -> ToolText {
    let links = lattice.links.iter();
    let stiffest_npm = links.map(|link| link.stiffness_npm).fold(0.0, f64::max);
    let radius_m = TOOL_OF_EDGE * lattice_check::longest_edge_m(lattice);
    // files are of few digits: nanometres and mN/m are below them
    let rounded = |value: f64, digits: f64| (value * digits).round() / digits;
    ToolText::ball(
        rounded(radius_m, 1e9),
        rounded(TOOL_OF_LINK * stiffest_npm, 1e3),
    )
}

/// Text of the scene of a bare lattice file, named `FILE.fem:UNIT`; none for any other name. It has node contact and
/// the source's tool, as the built-in `seed-regular`.
///
/// # Errors
/// [`SceneError::Field`] if the name states no unit or an unknown one.
#[must_use]
pub fn lattice_file_text(name: &str) -> Option<Result<String, SceneError>> {
    let ends = |name: &str| ENDINGS.iter().any(|ending| name.ends_with(ending));
    let (path, unit) = match name.rsplit_once(':') {
        Some((path, unit)) if ends(path) => (path, unit),
        _ => (name, ""),
    };
    if !ends(path) || path.contains('\n') {
        return None;
    }
    let unit = match unit {
        "si" => "m",
        "m" | "cm" | "mm" | "inch" => unit,
        _ => {
            let found = if unit.is_empty() { "missing" } else { unit };
            let expected = format!(
                "si, mm, cm or inch, as the files contain none: --units inch, or the name {path}:inch"
            );
            return Some(Err(field_error("unit", found, expected)));
        }
    };
    let stem = &path[..path.len() - ".fem".len()];
    let file = stem.rsplit_once('/').map_or(stem, |(_, file)| file);
    let quoted = |text: String| toml::Value::String(text).to_string();
    Some(Ok(format!(
        "name = {}\n\n[lattice]\nfile = {}\nunit = \"{unit}\"\n\n[model]\ncontact = \"node\"\n",
        quoted(file.to_owned()),
        quoted(format!("{file}.fem"))
    )))
}
