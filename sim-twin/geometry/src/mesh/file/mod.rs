//! Mesh files of other programs: bytes in, [`MixedMesh`] out, and back.
//!
//! Source: ours; each reader cites its format's description. A reader never relies on a count. Memory
//! is bounded by the bytes of the file, and every refusal names the line or byte, the field, the
//! value and the valid form. Unused content (normals, colours, lines, points) is skipped;
//! unsupported cells (second order, prisms) are refused by name.

mod msh;
mod obj;
mod ply;
mod scan;
mod stl;
mod vtu;
mod vtu_array;
mod vtu_write;

use crate::Defect;
use crate::mesh::tet::halves;
use crate::mesh::{ColouredMesh, MixedMesh, Units};
use palpate_twin::Vec3;

/// A format of mesh files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshFormat {
    /// Gmsh, 2.2 or 4.1, ASCII.
    Msh,
    /// VTK XML, unstructured grid.
    Vtu,
    /// Wavefront.
    Obj,
    /// Stereolithography, ASCII or binary.
    Stl,
    /// Stanford polygons, ASCII or binary.
    Ply,
}

/// All formats, each with its file name extension, without the dot.
const FORMATS: [(&str, MeshFormat); 5] = [
    ("msh", MeshFormat::Msh),
    ("vtu", MeshFormat::Vtu),
    ("obj", MeshFormat::Obj),
    ("stl", MeshFormat::Stl),
    ("ply", MeshFormat::Ply),
];

impl MeshFormat {
    /// Format of a file name extension, in any case of letters.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        let same = |(known, _): &&(&str, Self)| known.eq_ignore_ascii_case(extension);
        FORMATS.iter().find(same).map(|&(_, format)| format)
    }

    /// All extensions, for messages.
    #[must_use]
    pub fn extensions() -> String {
        FORMATS.map(|(known, _)| format!(".{known}")).join(", ")
    }
}

/// Reads a mesh with lengths in `units`; the unit of force is unused.
///
/// # Errors
/// [`Defect`] naming line or byte, field, value and what would be right.
pub fn read(format: MeshFormat, bytes: &[u8], units: &Units) -> Result<MixedMesh, Defect> {
    units.check()?;
    let mut parts = match format {
        MeshFormat::Msh => msh::read(bytes),
        MeshFormat::Vtu => vtu::read(bytes),
        MeshFormat::Obj => obj::read(bytes),
        MeshFormat::Stl => stl::read(bytes),
        MeshFormat::Ply => ply::read(bytes),
    }?;
    parts
        .nodes_m
        .iter_mut()
        .for_each(|at_m| *at_m *= units.length_m);
    Ok(parts)
}

/// Writes a mesh with lengths in `units`: all of its cells as `.vtu`, or its boundary as `.ply` or `.obj`, with the
/// colours of a surface. None for a format without a writer.
///
/// Numbers of text have the fewest digits that read back as the same value. Node indices of cells must be valid, as
/// after reading.
///
/// # Errors
/// [`Defect`] naming a node whose coordinates are not finite.
pub fn write(
    format: MeshFormat,
    coloured: &ColouredMesh,
    units: &Units,
) -> Result<Option<Vec<u8>>, Defect> {
    units.check()?;
    let whole = &coloured.mesh;
    let surface = || {
        let outside = whole.boundary_mesh();
        let places = file_places(&outside, units)?;
        Ok::<_, Defect>((outside, places))
    };
    let written = match format {
        MeshFormat::Vtu => vtu_write::write(coloured, &file_places(whole, units)?).into_bytes(),
        MeshFormat::Ply => {
            let (outside, places) = surface()?;
            ply::write(coloured, &outside, &places)
        }
        MeshFormat::Obj => {
            let (outside, places) = surface()?;
            obj::write(coloured, &outside, &places).into_bytes()
        }
        MeshFormat::Msh | MeshFormat::Stl => return Ok(None),
    };
    Ok(Some(written))
}

/// Positions of the nodes in the units of a file, checked to be finite.
fn file_places(parts: &MixedMesh, units: &Units) -> Result<Vec<Vec3>, Defect> {
    let place = |(node, at_m): (usize, &Vec3)| {
        let at = at_m / units.length_m;
        if at.iter().all(|x| x.is_finite()) {
            return Ok(at);
        }
        let value = format_args!("coordinates {:?}", at.as_slice());
        let element = format_args!("node {node}");
        Err(Defect::unwritable(element, value, "finite numbers"))
    };
    parts.nodes_m.iter().enumerate().map(place).collect()
}

/// Adds one cell of a VTK type; false if the type is unknown or has another number of nodes.
#[must_use]
fn push_cell(parts: &mut MixedMesh, kind: u64, nodes: &[u32], region: u32) -> bool {
    match (kind, nodes) {
        (10, &[a, b, c, d]) => parts.tets.push([a, b, c, d], region),
        (12, &[a, b, c, d, e, f, g, h]) | (11, &[a, b, d, c, e, f, h, g]) => {
            parts.hexes.push([a, b, c, d, e, f, g, h], region);
        }
        (5, &[a, b, c]) => parts.triangles.push([a, b, c], region),
        (9, &[a, b, c, d]) => {
            for half in halves([a, b, c, d]) {
                parts.triangles.push(half, region);
            }
        }
        // points and lines, of any number of nodes
        (1..=4, _) => {}
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests;
