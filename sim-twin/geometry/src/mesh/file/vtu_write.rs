//! Writer of `.vtu` files as text, which ParaView reads and a person can compare.
//!
//! Source: Kitware, "VTK XML formats" (docs.vtk.org, 2024).

use crate::mesh::{CellList, ColouredMesh};
use palpate_twin::Vec3;
use std::fmt::{Display, Write as _};

/// Writes a mesh with nodes at these positions. It has tetrahedra, hexahedra and triangles with the cell array `region`, and the
/// point arrays `colour` (red, green, blue) and `material` if it has any.
pub(super) fn write(coloured: &ColouredMesh, places: &[Vec3]) -> String {
    let parts = &coloured.mesh;
    let cells = parts.volume_cells() + parts.triangles.len();
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
         <UnstructuredGrid>\n<Piece NumberOfPoints=\"{}\" NumberOfCells=\"{cells}\">\n",
        places.len()
    );
    if !coloured.colours.is_empty() {
        text.push_str("<PointData Scalars=\"colour\">\n");
        let colours = coloured.colours.iter().map(row);
        array(&mut text, "UInt8", "colour", 3, colours);
        array(
            &mut text,
            "UInt32",
            "material",
            1,
            coloured.materials.iter(),
        );
        text.push_str("</PointData>\n");
    }
    text.push_str("<CellData Scalars=\"region\">\n");
    let regions = parts.tets.regions.iter().chain(&parts.hexes.regions);
    let regions = regions.chain(&parts.triangles.regions);
    array(&mut text, "UInt32", "region", 1, regions);
    text.push_str("</CellData>\n<Points>\n");
    let places = places.iter().map(|at| row(&[at.x, at.y, at.z]));
    array(&mut text, "Float64", "Points", 3, places);
    text.push_str("</Points>\n<Cells>\n");
    let rows = rows(&parts.tets)
        .chain(rows(&parts.hexes))
        .chain(rows(&parts.triangles));
    array(&mut text, "Int64", "connectivity", 1, rows);
    let tets = std::iter::repeat_n((4, 10), parts.tets.len());
    let hexes = std::iter::repeat_n((8, 12), parts.hexes.len());
    let triangles = std::iter::repeat_n((3, 5), parts.triangles.len());
    let widths = tets.chain(hexes).chain(triangles);
    let offsets = widths.clone().scan(0_usize, |end, (width, _)| {
        *end += width;
        Some(*end)
    });
    array(&mut text, "Int64", "offsets", 1, offsets);
    array(&mut text, "UInt8", "types", 1, widths.map(|(_, kind)| kind));
    text.push_str("</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
    text
}

/// Numbers with a blank between them.
fn row<const N: usize>(numbers: &[impl std::fmt::Debug; N]) -> String {
    numbers
        .each_ref()
        .map(|number| format!("{number:?}"))
        .join(" ")
}

fn rows<const N: usize>(cells: &CellList<N>) -> impl Iterator<Item = String> {
    cells.nodes.iter().map(row)
}

/// Writes one array, a row for each item of `width` numbers; separate items for a `width` of 1.
fn array(
    text: &mut String,
    kind: &str,
    name: &str,
    width: u8,
    items: impl Iterator<Item = impl Display>,
) {
    let width = match width {
        1 => String::new(),
        width => format!(" NumberOfComponents=\"{width}\""),
    };
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
