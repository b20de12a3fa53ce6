//! Writing meshes as `.vtu`, as text, which ParaView reads and a person can compare.
//!
//! Source: Kitware, "VTK XML formats" (docs.vtk.org, 2024). Numbers have the fewest digits that read
//! back as the same value.

use super::{MeshError, check_indices, file_places};
use crate::mesh::painted::Painted;
use crate::mesh::parts::{Cells, Parts};
use crate::mesh::units::Units;
use palpate_twin::Vec3;
use std::fmt::{Display, Write as _};

/// A mesh as a `.vtu` file that counts in `units`: tetrahedra, hexahedra and triangles with the cell
/// array `region`.
///
/// # Errors
/// [`MeshError::Unwritable`] if a number is not finite or an index points at nothing.
pub fn write(parts: &Parts, units: &Units) -> Result<String, MeshError> {
    write_with(parts, units, "")
}

/// A surface as a `.vtu` file that counts in `units`: triangles, with the point arrays `colour` (red, green, blue)
/// and `material` if it has any.
///
/// # Errors
/// As [`write()`].
pub fn write_painted(painted: &Painted, units: &Units) -> Result<String, MeshError> {
    let mut points = String::new();
    if !painted.colours.is_empty() {
        points.push_str("<PointData Scalars=\"colour\">\n");
        let rows = painted
            .colours
            .iter()
            .map(|[r, g, b]| format!("{r} {g} {b}"));
        array(&mut points, "colour", "UInt8", Some(3), rows);
        array(
            &mut points,
            "material",
            "UInt32",
            None,
            painted.materials.iter(),
        );
        points.push_str("</PointData>\n");
    }
    write_with(&painted.surface.to_parts(), units, &points)
}

fn write_with(parts: &Parts, units: &Units, points: &str) -> Result<String, MeshError> {
    units.check()?;
    let count = parts.nodes_m.len();
    check_indices("tetrahedron", &parts.tets.nodes, count)?;
    check_indices("hexahedron", &parts.hexes.nodes, count)?;
    check_indices("triangle", &parts.triangles.nodes, count)?;
    let cells = parts.volume_cells() + parts.triangles.len();
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
         <UnstructuredGrid>\n<Piece NumberOfPoints=\"{count}\" NumberOfCells=\"{cells}\">\n"
    );
    text.push_str(points);
    text.push_str("<CellData Scalars=\"region\">\n");
    let regions = parts.tets.regions.iter().chain(&parts.hexes.regions);
    array(
        &mut text,
        "region",
        "UInt32",
        None,
        regions.chain(&parts.triangles.regions),
    );
    text.push_str("</CellData>\n<Points>\n");
    let places = file_places(parts, units).map(|at| at.map(|at| row(&at)));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    array(&mut text, "Points", "Float64", Some(3), places.into_iter());
    text.push_str("</Points>\n<Cells>\n");
    let rows = rows(&parts.tets)
        .chain(rows(&parts.hexes))
        .chain(rows(&parts.triangles));
    array(&mut text, "connectivity", "Int64", None, rows);
    let widths = || {
        let tets = std::iter::repeat_n((4, 10), parts.tets.len());
        let hexes = std::iter::repeat_n((8, 12), parts.hexes.len());
        let triangles = std::iter::repeat_n((3, 5), parts.triangles.len());
        tets.chain(hexes).chain(triangles)
    };
    let offsets = widths().scan(0_usize, |end, (width, _)| {
        *end += width;
        Some(*end)
    });
    array(&mut text, "offsets", "Int64", None, offsets);
    array(
        &mut text,
        "types",
        "UInt8",
        None,
        widths().map(|(_, kind)| kind),
    );
    text.push_str("</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
    Ok(text)
}

fn row(at: &Vec3) -> String {
    format!("{:?} {:?} {:?}", at.x, at.y, at.z)
}

fn rows<const N: usize>(cells: &Cells<N>) -> impl Iterator<Item = String> {
    cells
        .nodes
        .iter()
        .map(|nodes| nodes.map(|node| node.to_string()).join(" "))
}

/// One array, a row for each item.
fn array(
    text: &mut String,
    name: &str,
    kind: &str,
    width: Option<u8>,
    items: impl Iterator<Item = impl Display>,
) {
    let width = width.map_or(String::new(), |width| {
        format!(" NumberOfComponents=\"{width}\"")
    });
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<DataArray type=\"{kind}\" Name=\"{name}\"{width} format=\"ascii\">"
    );
    for item in items {
        let _ = writeln!(text, "{item}");
    }
    text.push_str("</DataArray>\n");
}
