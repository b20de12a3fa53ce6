//! VTK XML `.vtu`: unstructured grids with a region for every cell.
//!
//! Source: Kitware, "VTK XML formats" (docs.vtk.org, 2024). Arrays may be text, base64 or appended,
//! raw or in zlib blocks. A region is the cell array `region`, or the corresponding array of Gmsh, Medit or
//! Salome. Points and lines are skipped, voxels become hexahedra and quadrangles two triangles.

use super::push_cell;
use super::scan::FilePosition;
use super::vtu_array::{VtuArray, VtuFile};
use crate::Defect;
use crate::error::lossy;
use crate::mesh::MixedMesh;
use palpate_twin::Vec3;
use roxmltree::{Document, Node};

/// Names of cell arrays of regions; the first that exists is used.
const REGIONS: [&str; 5] = [
    "region",
    "gmsh:physical",
    "medit:ref",
    "CellEntityIds",
    "MaterialIds",
];

/// Start tag of the element whose content may be no XML.
const APPENDED: &[u8] = b"<AppendedData";

/// Reads a `.vtu` file; lengths are those of the file.
///
/// # Errors
/// [`Defect`] naming line, field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<MixedMesh, Defect> {
    let (text, appended) = split(bytes)?;
    let document = Document::parse(&text).map_err(|error| {
        let row = usize::try_from(error.pos().row).unwrap_or(1);
        FilePosition::Line(row).field_error("XML", error, "well-formed XML")
    })?;
    let root = document.root_element();
    let kind = root.attribute("type");
    if root.tag_name().name() != "VTKFile" || kind != Some("UnstructuredGrid") {
        let found = kind.unwrap_or_else(|| root.tag_name().name());
        let expected = "`VTKFile` of type `UnstructuredGrid`";
        let place = line_after(&text.as_bytes()[..root.range().start]);
        return Err(place.field_error("root element", found, expected));
    }
    let file = VtuFile::new(&text, appended, root)?;
    let grid = file.child(root, "UnstructuredGrid")?;
    let mut parts = MixedMesh::default();
    let pieces = grid.children().filter(|node| node.has_tag_name("Piece"));
    for piece in pieces {
        read_piece(&file, piece, &mut parts)?;
    }
    Ok(parts)
}

/// Splits a file into the XML without appended data, and the appended data.
fn split(bytes: &[u8]) -> Result<(String, &[u8]), Defect> {
    let found = bytes
        .windows(APPENDED.len())
        .position(|window| window == APPENDED);
    let Some(start) = found else {
        return Ok((as_text(bytes)?, b""));
    };
    let tail = &bytes[start..];
    let line = line_after(&bytes[..start]);
    let close = tail.iter().position(|&byte| byte == b'>');
    let close = close.ok_or_else(|| line.missing_error("end of `AppendedData`", "`>`"))?;
    let mut text = as_text(&bytes[..start + close])?;
    if text.ends_with('/') {
        text.pop();
    }
    text.push_str("/></VTKFile>");
    let content = tail[close + 1..].trim_ascii_start();
    let content = content.strip_prefix(b"_");
    let content = content.ok_or_else(|| line.missing_error("begin of the appended data", "`_`"))?;
    Ok((text, content))
}

fn as_text(bytes: &[u8]) -> Result<String, Defect> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (good, rest) = bytes.split_at(error.valid_up_to());
        line_after(good).field_error("text", lossy(&rest[..rest.len().min(4)]), "UTF-8")
    })?;
    Ok(text.to_owned())
}

/// Line in which these bytes end.
fn line_after(bytes: &[u8]) -> FilePosition {
    FilePosition::Line(1 + bytes.iter().filter(|&&byte| byte == b'\n').count())
}

/// Finds an array of this name inside an element.
fn named<'b>(node: Node<'b, 'b>, name: &str) -> Option<Node<'b, 'b>> {
    let mut arrays = node
        .children()
        .filter(|child| child.has_tag_name("DataArray"));
    arrays.find(|array| array.attribute("Name") == Some(name))
}

fn read_piece(
    file: &VtuFile<'_>,
    piece: Node<'_, '_>,
    parts: &mut MixedMesh,
) -> Result<(), Defect> {
    let points = file.count(piece, "NumberOfPoints")?;
    let cells = file.count(piece, "NumberOfCells")?;
    let first = file.place(piece).next_node(&parts.nodes_m)?;
    read_points(file, piece, points, parts)?;
    file.place(piece).next_node(&parts.nodes_m)?;
    if cells == 0 {
        return Ok(());
    }
    let part = file.child(piece, "Cells")?;
    let column = |name: &str, field: &'static str| {
        let expected = "a `DataArray` of this name";
        let array =
            named(part, name).ok_or_else(|| file.place(part).missing_error(name, expected))?;
        file.read(array, field)
    };
    let types = column("types", "type of a cell")?;
    let ends = column("offsets", "offset")?;
    let nodes = column("connectivity", "node")?;
    types.demand("number of types", cells)?;
    ends.demand("number of offsets", cells)?;
    let regions = read_regions(file, piece, cells)?;
    let mut start = 0;
    for cell in 0..cells {
        let range = start..end(&ends, cell, start, nodes.numbers.len())?;
        start = range.end;
        let mut corners = [0; 8];
        for (corner, index) in corners.iter_mut().zip(range.clone()) {
            *corner = first + node(&nodes, index, points)?;
        }
        let kind = types.whole(cell)?;
        let region = regions.get(cell).copied().unwrap_or(0);
        let named = corners.get(..range.len()).unwrap_or_default();
        if !push_cell(parts, kind, named, region) {
            let found = format!("{kind} with {} nodes", range.len());
            let expected = "10 (tetrahedron, 4 nodes), 12 or 11 (8 nodes), 5 or 9 (faces), 1 to 4";
            return Err(types.place.field_error(types.field, found, expected));
        }
    }
    Ok(())
}

/// End of the nodes of a cell in the connectivity array.
fn end(ends: &VtuArray, cell: usize, start: usize, nodes: usize) -> Result<usize, Defect> {
    let end = usize::try_from(ends.whole(cell)?).ok();
    let end = end.filter(|end| (start..=nodes).contains(end));
    end.ok_or_else(|| {
        ends.number_error(cell, format!("{start} to {nodes}, ascending (cell {cell})"))
    })
}

/// Reads a node index of a piece with `points` points.
fn node(nodes: &VtuArray, index: usize, points: usize) -> Result<u32, Defect> {
    let node = u32::try_from(nodes.whole(index)?).ok();
    let node = node.filter(|&node| (node as usize) < points);
    node.ok_or_else(|| {
        let expected = format!("an index below {points} (number {index})");
        nodes.number_error(index, expected)
    })
}

fn read_points(
    file: &VtuFile<'_>,
    piece: Node<'_, '_>,
    points: usize,
    parts: &mut MixedMesh,
) -> Result<(), Defect> {
    if points == 0 {
        return Ok(());
    }
    let part = file.child(piece, "Points")?;
    let column = file.read(file.child(part, "DataArray")?, "coordinate")?;
    column.demand("number of coordinates", points.saturating_mul(3))?;
    for (point, xyz) in column.numbers.chunks_exact(3).enumerate() {
        let mut at = Vec3::zeros();
        for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
            at[axis] = xyz[axis].real();
            if !at[axis].is_finite() {
                let expected = format!("a finite number (point {point})");
                return Err(column.place.field_error(field, at[axis], expected));
            }
        }
        parts.nodes_m.push(at);
    }
    Ok(())
}

fn read_regions(file: &VtuFile<'_>, piece: Node<'_, '_>, cells: usize) -> Result<Vec<u32>, Defect> {
    let part = piece
        .children()
        .find(|child| child.has_tag_name("CellData"));
    let Some(array) = part.and_then(|part| REGIONS.iter().find_map(|name| named(part, name)))
    else {
        return Ok(Vec::new());
    };
    let column = file.read(array, "region")?;
    column.demand("number of regions", cells)?;
    let region = |cell| {
        let region = u32::try_from(column.whole(cell)?);
        region.map_err(|_| column.number_error(cell, format!("fewer than 2^32 (cell {cell})")))
    };
    (0..cells).map(region).collect()
}
