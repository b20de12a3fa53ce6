//! Mesh files of other programs: bytes in, [`Parts`] out, and back.
//!
//! Source: ours; each reader names its format's description. A reader never trusts a count: memory
//! is bounded by the bytes that are there, and every refusal names the line or byte, the field, the
//! value and what would be right. What a mesh cannot use (normals, colours, lines, points) is passed
//! over; what would be a part of it in another form (second order, prisms) is refused by name.

pub mod msh;
pub mod obj;
pub mod obj_write;
pub mod ply;
pub mod ply_write;
mod scan;
pub mod stl;
pub mod vtu;
mod vtu_array;
pub mod vtu_write;

use crate::mesh::parts::Parts;
use crate::mesh::units::{UnitError, Units};
use palpate_twin::Vec3;

/// A format of mesh files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
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

/// All formats.
pub const FORMATS: [Format; 5] = [
    Format::Msh,
    Format::Vtu,
    Format::Obj,
    Format::Stl,
    Format::Ply,
];

impl Format {
    /// Ending of its files' names, without the dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Msh => "msh",
            Self::Vtu => "vtu",
            Self::Obj => "obj",
            Self::Stl => "stl",
            Self::Ply => "ply",
        }
    }

    /// The format of files whose names end so, in any case of letters.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        let same = |format: &Format| format.extension().eq_ignore_ascii_case(extension);
        FORMATS.into_iter().find(same)
    }
}

/// Read a mesh whose lengths count in `units`; forces mean nothing here.
///
/// # Errors
/// [`MeshError`] naming line or byte, field, value and what would be right.
pub fn read(format: Format, bytes: &[u8], units: &Units) -> Result<Parts, MeshError> {
    units.check()?;
    let mut parts = match format {
        Format::Msh => msh::read(bytes),
        Format::Vtu => vtu::read(bytes),
        Format::Obj => obj::read(bytes),
        Format::Stl => stl::read(bytes),
        Format::Ply => ply::read(bytes),
    }?;
    parts
        .nodes_m
        .iter_mut()
        .for_each(|at_m| *at_m *= units.length_m);
    Ok(parts)
}

/// Where in a file something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Line of a text, counted from 1.
    Line(usize),
    /// Byte of a binary file, counted from 0.
    Byte(usize),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// Why a mesh file is refused, or why a mesh cannot be written as one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// A field is not what it should be.
    #[error("{place}: {field} is {value}; expected {expected}")]
    Field {
        /// Where.
        place: Place,
        /// Name of the field.
        field: &'static str,
        /// What was found: text in backquotes cut after 40 characters, or `missing`.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// A unit is unusable.
    #[error(transparent)]
    Units(#[from] UnitError),
    /// A mesh holds something that the format cannot carry.
    #[error("{element} cannot be written with {field} {value}; expected {expected}")]
    Unwritable {
        /// The element, with its index.
        element: String,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: String,
        /// What would be right.
        expected: String,
    },
}

/// The error for one field with this text.
fn wrong(place: Place, field: &'static str, text: &[u8], expected: &str) -> MeshError {
    let cut = &text[..text.len().min(160)];
    let text: String = String::from_utf8_lossy(cut).chars().take(40).collect();
    MeshError::Field {
        place,
        field,
        value: format!("`{}`", text.escape_default()),
        expected: expected.to_owned(),
    }
}

/// The error for one field that is not there.
fn missing(place: Place, field: &'static str, expected: &str) -> MeshError {
    MeshError::Field {
        place,
        field,
        value: "missing".to_owned(),
        expected: expected.to_owned(),
    }
}

/// The index of the node that comes next.
fn next_node(nodes_m: &[Vec3], place: Place) -> Result<u32, MeshError> {
    // the last index is kept free, as a mark for `none`
    let index = u32::try_from(nodes_m.len())
        .ok()
        .filter(|&index| index < u32::MAX);
    let found = nodes_m.len().to_string();
    index.ok_or_else(|| {
        wrong(
            place,
            "number of nodes",
            found.as_bytes(),
            "fewer than 2^32 - 1",
        )
    })
}

/// Places of the nodes in the units of a file, each proven to be writable.
fn file_places<'a>(
    parts: &'a Parts,
    units: &Units,
) -> impl Iterator<Item = Result<Vec3, MeshError>> + 'a {
    let length_m = units.length_m;
    let nodes = parts.nodes_m.iter().enumerate();
    nodes.map(move |(node, at_m)| {
        let value = at_m / length_m;
        if value.iter().all(|x| x.is_finite()) {
            return Ok(value);
        }
        Err(MeshError::Unwritable {
            element: format!("node {node}"),
            field: "coordinates",
            value: format!("{:?}", value.as_slice()),
            expected: "finite numbers".to_owned(),
        })
    })
}

/// Every cell names nodes that are there, or why not.
fn check_indices<const N: usize>(
    kind: &str,
    cells: &[[u32; N]],
    nodes: usize,
) -> Result<(), MeshError> {
    for (index, cell) in cells.iter().enumerate() {
        if let Some(node) = cell.iter().find(|&&node| node as usize >= nodes) {
            return Err(MeshError::Unwritable {
                element: format!("{kind} {index}"),
                field: "node",
                value: node.to_string(),
                expected: format!("an index below {nodes}"),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
