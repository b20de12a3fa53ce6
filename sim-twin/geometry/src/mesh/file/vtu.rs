//! VTK XML `.vtu`: unstructured grids with a region for every cell.
//!
//! Source: Kitware, "VTK XML formats" (docs.vtk.org, 2024). Arrays may be text, base64 or appended,
//! raw or in zlib blocks. A region is the cell array `region`, or what Gmsh, Medit and Salome call
//! theirs. Points and lines are passed over, voxels become hexahedra and quadrangles two triangles.

use super::vtu_array::{Arrays, Numbers};
use super::{MeshError, Place, missing, next_node, wrong};
use crate::mesh::parts::Parts;
use crate::mesh::tet::halves;
use palpate_twin::Vec3;
use roxmltree::{Document, Node};

/// Cell arrays that number regions, the first that is there is taken.
const REGIONS: [&str; 5] = [
    "region",
    "gmsh:physical",
    "medit:ref",
    "CellEntityIds",
    "MaterialIds",
];

/// Begin of the element whose content may be no XML.
const APPENDED: &[u8] = b"<AppendedData";

/// Read a `.vtu` file; lengths are those of the file.
///
/// # Errors
/// [`MeshError`] naming line, field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Parts, MeshError> {
    let (text, appended) = split(bytes)?;
    let document = Document::parse(&text).map_err(|error| {
        let row = usize::try_from(error.pos().row).unwrap_or(1);
        let message = error.to_string();
        wrong(
            Place::Line(row),
            "XML",
            message.as_bytes(),
            "well-formed XML",
        )
    })?;
    let root = document.root_element();
    let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
    let file = File {
        newlines: newlines.map(|(at, _)| at).collect(),
    };
    let kind = root.attribute("type");
    if root.tag_name().name() != "VTKFile" || kind != Some("UnstructuredGrid") {
        let found = kind.unwrap_or_else(|| root.tag_name().name());
        let expected = "`VTKFile` of type `UnstructuredGrid`";
        return Err(wrong(
            file.place(root),
            "root element",
            found.as_bytes(),
            expected,
        ));
    }
    let arrays = Arrays::of(root, appended, &file)?;
    let grid = file.child(root, "UnstructuredGrid")?;
    let mut parts = Parts::default();
    let pieces = grid.children().filter(|node| node.has_tag_name("Piece"));
    for piece in pieces {
        read_piece(&file, &arrays, piece, &mut parts)?;
    }
    Ok(parts)
}

/// The XML, with the content of appended data taken out, and that content.
fn split(bytes: &[u8]) -> Result<(String, &[u8]), MeshError> {
    let found = bytes
        .windows(APPENDED.len())
        .position(|window| window == APPENDED);
    let Some(start) = found else {
        return Ok((as_text(bytes)?, b""));
    };
    let tail = &bytes[start..];
    let line = Place::Line(1 + bytes[..start].iter().filter(|&&byte| byte == b'\n').count());
    let close = tail.iter().position(|&byte| byte == b'>');
    let close = close.ok_or_else(|| missing(line, "end of `AppendedData`", "`>`"))?;
    let mut text = as_text(&bytes[..start + close])?;
    if text.ends_with('/') {
        text.pop();
    }
    text.push_str("/></VTKFile>");
    let content = tail[close + 1..].trim_ascii_start();
    let content = content.strip_prefix(b"_");
    let content = content.ok_or_else(|| missing(line, "begin of the appended data", "`_`"))?;
    Ok((text, content))
}

fn as_text(bytes: &[u8]) -> Result<String, MeshError> {
    std::str::from_utf8(bytes)
        .map(str::to_owned)
        .map_err(|error| {
            let good = error.valid_up_to();
            let line = 1 + bytes[..good].iter().filter(|&&byte| byte == b'\n').count();
            let rest = &bytes[good..];
            wrong(
                Place::Line(line),
                "text",
                &rest[..rest.len().min(4)],
                "UTF-8",
            )
        })
}

/// The lines of the file, so that the line of an element is known at once.
pub(super) struct File {
    newlines: Vec<usize>,
}

impl File {
    /// Line of an element.
    pub(super) fn place(&self, node: Node<'_, '_>) -> Place {
        let start = node.range().start;
        Place::Line(1 + self.newlines.partition_point(|&at| at < start))
    }

    fn child<'b>(&self, node: Node<'b, 'b>, name: &'static str) -> Result<Node<'b, 'b>, MeshError> {
        let found = node.children().find(|child| child.has_tag_name(name));
        found.ok_or_else(|| missing(self.place(node), name, "an element of this name inside"))
    }

    fn count(&self, node: Node<'_, '_>, name: &'static str) -> Result<usize, MeshError> {
        let expected = "a whole number that is not negative";
        let text = node.attribute(name);
        let text = text.ok_or_else(|| missing(self.place(node), name, expected))?;
        let count = text.trim().parse();
        count.map_err(|_| wrong(self.place(node), name, text.as_bytes(), expected))
    }
}

/// An array of this name inside an element.
fn named<'b>(node: Node<'b, 'b>, name: &str) -> Option<Node<'b, 'b>> {
    let mut arrays = node
        .children()
        .filter(|child| child.has_tag_name("DataArray"));
    arrays.find(|array| array.attribute("Name") == Some(name))
}

fn read_piece(
    file: &File,
    arrays: &Arrays<'_>,
    piece: Node<'_, '_>,
    parts: &mut Parts,
) -> Result<(), MeshError> {
    let points = file.count(piece, "NumberOfPoints")?;
    let cells = file.count(piece, "NumberOfCells")?;
    let first = next_node(&parts.nodes_m, file.place(piece))?;
    read_points(file, arrays, piece, points, parts)?;
    next_node(&parts.nodes_m, file.place(piece))?;
    if cells == 0 {
        return Ok(());
    }
    let part = file.child(piece, "Cells")?;
    let column = |name: &'static str, field: &'static str| {
        let found = named(part, name);
        let expected = "a `DataArray` of this name";
        let array = found.ok_or_else(|| missing(file.place(part), name, expected))?;
        Ok::<_, MeshError>(Column {
            place: file.place(array),
            field,
            numbers: arrays.read(file, array)?,
        })
    };
    let types = column("types", "type of a cell")?;
    let ends = column("offsets", "offset")?;
    let nodes = column("connectivity", "node")?;
    types.demand("number of types", cells)?;
    ends.demand("number of offsets", cells)?;
    let regions = read_regions(file, arrays, piece, cells)?;
    let mut start = 0;
    for cell in 0..cells {
        let range = start..ends.end(cell, start, nodes.numbers.len())?;
        start = range.end;
        let mut corners = [0; 8];
        for (corner, index) in corners.iter_mut().zip(range.clone()) {
            *corner = first + nodes.node(index, points)?;
        }
        let kind = types.whole(cell)?;
        let region = regions.get(cell).copied().unwrap_or(0);
        let named = corners.get(..range.len()).unwrap_or_default();
        if !push(parts, kind, named, region) {
            let found = format!("{kind} with {} nodes", range.len());
            let expected = "10 (tetrahedron, 4 nodes), 12 or 11 (8 nodes), 5 or 9 (faces), 1 to 4";
            return Err(wrong(types.place, types.field, found.as_bytes(), expected));
        }
    }
    Ok(())
}

/// An array with its line and what its numbers are.
struct Column {
    place: Place,
    field: &'static str,
    numbers: Numbers,
}

impl Column {
    /// There must be as many numbers as this.
    fn demand(&self, field: &'static str, expected: usize) -> Result<(), MeshError> {
        if self.numbers.len() == expected {
            return Ok(());
        }
        let found = format!("{} numbers", self.numbers.len());
        Err(wrong(
            self.place,
            field,
            found.as_bytes(),
            &expected.to_string(),
        ))
    }

    /// A number that must be whole and not negative.
    fn whole(&self, index: usize) -> Result<u64, MeshError> {
        self.numbers.whole(index).ok_or_else(|| {
            let expected = format!("a whole number that is not negative (number {index})");
            wrong(
                self.place,
                self.field,
                self.numbers.text(index).as_bytes(),
                &expected,
            )
        })
    }

    /// Where the nodes of a cell end.
    fn end(&self, cell: usize, start: usize, nodes: usize) -> Result<usize, MeshError> {
        let end = usize::try_from(self.whole(cell)?).ok();
        end.filter(|end| (start..=nodes).contains(end))
            .ok_or_else(|| {
                let expected = format!("{start} to {nodes}, ascending (cell {cell})");
                wrong(
                    self.place,
                    self.field,
                    self.numbers.text(cell).as_bytes(),
                    &expected,
                )
            })
    }

    /// A node of a piece with so many points.
    fn node(&self, index: usize, points: usize) -> Result<u32, MeshError> {
        let node = self.whole(index)?;
        let known = u32::try_from(node).ok();
        known
            .filter(|&node| (node as usize) < points)
            .ok_or_else(|| {
                let expected = format!("an index below {points} (number {index})");
                wrong(
                    self.place,
                    self.field,
                    node.to_string().as_bytes(),
                    &expected,
                )
            })
    }
}

fn read_points(
    file: &File,
    arrays: &Arrays<'_>,
    piece: Node<'_, '_>,
    points: usize,
    parts: &mut Parts,
) -> Result<(), MeshError> {
    if points == 0 {
        return Ok(());
    }
    let part = file.child(piece, "Points")?;
    let array = file.child(part, "DataArray")?;
    let column = Column {
        place: file.place(array),
        field: "coordinate",
        numbers: arrays.read(file, array)?,
    };
    column.demand("number of coordinates", points.saturating_mul(3))?;
    for point in 0..points {
        let mut at = Vec3::zeros();
        for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
            let value = column.numbers.number(3 * point + axis);
            if !value.is_finite() {
                let expected = format!("a finite number (point {point})");
                return Err(wrong(
                    file.place(array),
                    field,
                    value.to_string().as_bytes(),
                    &expected,
                ));
            }
            at[axis] = value;
        }
        parts.nodes_m.push(at);
    }
    Ok(())
}

fn read_regions(
    file: &File,
    arrays: &Arrays<'_>,
    piece: Node<'_, '_>,
    cells: usize,
) -> Result<Vec<u32>, MeshError> {
    let part = piece
        .children()
        .find(|child| child.has_tag_name("CellData"));
    let Some(array) = part.and_then(|part| REGIONS.iter().find_map(|name| named(part, name)))
    else {
        return Ok(Vec::new());
    };
    let column = Column {
        place: file.place(array),
        field: "region",
        numbers: arrays.read(file, array)?,
    };
    column.demand("number of regions", cells)?;
    let region = |cell| {
        let value = column.whole(cell)?;
        let region = u32::try_from(value);
        region.map_err(|_| {
            let expected = format!("fewer than 2^32 (cell {cell})");
            wrong(
                column.place,
                column.field,
                value.to_string().as_bytes(),
                &expected,
            )
        })
    };
    (0..cells).map(region).collect()
}

/// One cell of VTK's type; whether the type is known and has so many nodes.
fn push(parts: &mut Parts, kind: u64, nodes: &[u32], region: u32) -> bool {
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
