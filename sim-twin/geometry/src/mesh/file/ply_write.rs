//! Writing surfaces as `.ply`, binary with the low byte first, which ParaView and Blender read.
//!
//! Source: Turk 1994, as the reader. Doubles keep every bit.

use super::{MeshError, check_indices, file_places};
use crate::mesh::painted::Painted;
use crate::mesh::parts::Parts;
use crate::mesh::units::Units;

/// The outside of a mesh as a `.ply` file that counts in `units`: its triangles, or the boundary of
/// its cells with the nodes that it uses.
///
/// # Errors
/// [`MeshError::Unwritable`] if a coordinate is not finite or an index points at nothing.
pub fn write(parts: &Parts, units: &Units) -> Result<Vec<u8>, MeshError> {
    units.check()?;
    let count = parts.nodes_m.len();
    check_indices("triangle", &parts.triangles.nodes, count)?;
    check_indices("tetrahedron", &parts.tets.nodes, count)?;
    check_indices("hexahedron", &parts.hexes.nodes, count)?;
    write_painted(&Painted::plain(parts), units)
}

/// A surface as a `.ply` file that counts in `units`, with the colours of its nodes if it has any.
///
/// # Errors
/// [`MeshError::Unwritable`] if a coordinate is not finite or an index points at nothing.
pub fn write_painted(painted: &Painted, units: &Units) -> Result<Vec<u8>, MeshError> {
    units.check()?;
    let surface = &painted.surface;
    check_indices("triangle", &surface.faces, surface.nodes_m.len())?;
    let colours = if painted.colours.is_empty() {
        ""
    } else {
        "property uchar red\nproperty uchar green\nproperty uchar blue\n"
    };
    let header = format!(
        "ply\nformat binary_little_endian 1.0\ncomment written by palpate\n\
         element vertex {}\nproperty double x\nproperty double y\nproperty double z\n{colours}\
         element face {}\nproperty list uchar uint vertex_indices\nend_header\n",
        surface.nodes_m.len(),
        surface.faces.len(),
    );
    let mut bytes = header.into_bytes();
    for (node, at) in file_places(&surface.to_parts(), units).enumerate() {
        at?.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend(painted.colour(node).into_iter().flatten());
    }
    for face in &surface.faces {
        bytes.push(3);
        face.iter()
            .for_each(|node| bytes.extend(node.to_le_bytes()));
    }
    Ok(bytes)
}
