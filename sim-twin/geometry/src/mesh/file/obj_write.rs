//! Writing surfaces as `.obj`, as text, with colours behind the places as Blender, ParaView and MeshLab read them.
//!
//! Source: Alias Wavefront, as the reader; colours of vertices (`v x y z r g b`, 0 to 1) are a custom of many
//! programs and no part of the format. Numbers have the fewest digits that read back as the same value.

use std::fmt::Write as _;

use super::{MeshError, check_indices, file_places};
use crate::mesh::painted::Painted;
use crate::mesh::units::Units;

/// A surface as an `.obj` file that counts in `units`.
///
/// # Errors
/// [`MeshError::Unwritable`] if a coordinate is not finite or an index points at nothing.
pub fn write(painted: &Painted, units: &Units) -> Result<String, MeshError> {
    units.check()?;
    let parts = painted.surface.to_parts();
    check_indices("triangle", &parts.triangles.nodes, parts.nodes_m.len())?;
    let mut text = String::from("# written by palpate\n");
    for (node, at) in file_places(&parts, units).enumerate() {
        let at = at?;
        // writing to a string cannot fail
        let _ = write!(text, "v {:?} {:?} {:?}", at.x, at.y, at.z);
        for channel in painted.colour(node).into_iter().flatten() {
            let _ = write!(text, " {:.4}", f64::from(channel) / 255.0);
        }
        text.push('\n');
    }
    for face in &painted.surface.faces {
        let [a, b, c] = face.map(|node| u64::from(node) + 1);
        let _ = writeln!(text, "f {a} {b} {c}");
    }
    Ok(text)
}
