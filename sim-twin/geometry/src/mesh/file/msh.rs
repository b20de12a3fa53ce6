//! Gmsh `.msh`, versions 2.2 and 4.1, ASCII: volumes and surfaces with physical groups.
//!
//! Source: Gmsh 4.13 reference manual, "MSH file format" and "MSH file format version 2". The first
//! physical group of a cell is its region, 0 if it has none. Points and lines are skipped,
//! quadrangles become two triangles; binary files, second order, prisms and pyramids are refused by
//! name.

mod version2;
mod version4;

use super::push_cell;
use super::scan::{ByteScanner, FilePosition};
use crate::Defect;
use crate::mesh::MixedMesh;

/// Reads a `.msh` file; lengths are those of the file.
///
/// # Errors
/// [`Defect`] naming line, field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<MixedMesh, Defect> {
    let mut scan = ByteScanner::new(bytes);
    let version = format(&mut scan)?;
    let mut mesh = Mesh::default();
    let mut groups = version4::Groups::default();
    let mut elements = false;
    while let Some((place, word)) = scan.next_word() {
        let Some(name) = word.strip_prefix(b"$") else {
            return Err(place.word_error("section", word, "`$` and a name"));
        };
        match (name, version) {
            (b"PhysicalNames", _) => names(&mut scan, &mut mesh.parts)?,
            (b"Entities", Version::Four) => groups = version4::entities(&mut scan)?,
            (b"Nodes", Version::Two) => version2::nodes(&mut scan, &mut mesh)?,
            (b"Nodes", Version::Four) => version4::nodes(&mut scan, &mut mesh)?,
            (b"Elements", Version::Two) => version2::elements(&mut scan, &mut mesh)?,
            (b"Elements", Version::Four) => version4::elements(&mut scan, &mut mesh, &groups)?,
            _ => {
                skip(&mut scan, name)?;
                continue;
            }
        }
        elements |= name == b"Elements";
        let name = String::from_utf8_lossy(name);
        let expected = format!("`$End{name}`: more or fewer records than stated");
        scan.keyword("end of section", &format!("$End{name}"), &expected)?;
    }
    if elements {
        return Ok(mesh.parts);
    }
    let expected = "`$Nodes` and then `$Elements`";
    Err(scan.line().missing_error("section", expected))
}

/// Version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Four,
}

fn format(scan: &mut ByteScanner<'_>) -> Result<Version, Defect> {
    scan.keyword("first line", "$MeshFormat", "`$MeshFormat`")?;
    let expected = "2.2 or 4.1: export with Mesh.MshFileVersion = 4.1";
    let (place, word) = scan.word("version", expected)?;
    let version = match word {
        b"2" | b"2.1" | b"2.2" => Version::Two,
        b"4.1" => Version::Four,
        _ => return Err(place.word_error("version", word, expected)),
    };
    let expected = "0 (ASCII): export with Mesh.Binary = 0";
    scan.keyword("file type", "0", expected)?;
    scan.whole("data size")?;
    scan.keyword("end of section", "$EndMeshFormat", "`$EndMeshFormat`")?;
    Ok(version)
}

/// Skips a section that has no effect here.
fn skip(scan: &mut ByteScanner<'_>, name: &[u8]) -> Result<(), Defect> {
    while let Some((_, row)) = scan.next_line() {
        if row.strip_prefix(b"$End") == Some(name) {
            return Ok(());
        }
    }
    let name = String::from_utf8_lossy(&name[..name.len().min(40)]);
    let expected = format!("`$End{name}`");
    Err(scan.line().missing_error("end of section", expected))
}

fn names(scan: &mut ByteScanner<'_>, parts: &mut MixedMesh) -> Result<(), Defect> {
    for _ in 0..scan.whole("number of names")? {
        let (place, dimension) = scan.word("dimension", "0 to 3")?;
        let dimension = match dimension {
            [digit @ b'0'..=b'3'] => digit - b'0',
            _ => return Err(place.word_error("dimension", dimension, "0 to 3")),
        };
        let number = region(scan.line(), scan.signed("physical group")?)?;
        let (place, name) = scan.next_line().unwrap_or((scan.line(), b""));
        let quoted = name
            .strip_prefix(b"\"")
            .and_then(|name| name.strip_suffix(b"\""));
        let expected = "a name in double quotes";
        let name = quoted.ok_or_else(|| place.word_error("name", name, expected))?;
        let name = String::from_utf8_lossy(name).into_owned();
        parts.names.insert((dimension, number), name);
    }
    Ok(())
}

/// Number of a physical group; a minus sign, which reverses the cells in Gmsh, is dropped.
fn region(place: FilePosition, group: i64) -> Result<u32, Defect> {
    let number = u32::try_from(group.unsigned_abs());
    number.map_err(|_| place.field_error("physical group", group, "fewer than 2^32"))
}

/// Content read so far.
#[derive(Debug, Default)]
struct Mesh {
    parts: MixedMesh,
    /// Number of a node in the file, and its index; sorted after the nodes section.
    tags: Vec<(u64, u32)>,
}

impl Mesh {
    /// Sorts the node numbers and refuses duplicates.
    fn close(&mut self, place: FilePosition) -> Result<(), Defect> {
        self.tags.sort_unstable();
        let twice = self.tags.windows(2).find(|pair| pair[0].0 == pair[1].0);
        twice.map_or(Ok(()), |pair| {
            let expected = "a number that no other node of this section has";
            Err(place.field_error("number of a node", pair[0].0, expected))
        })
    }

    /// Reads the nodes of an element.
    fn corners(&self, scan: &mut ByteScanner<'_>, corners: &mut [u32]) -> Result<(), Defect> {
        for corner in corners {
            let number = scan.whole("node")?;
            let found = self.tags.binary_search_by_key(&number, |&(tag, _)| tag);
            let index = found.map_err(|_| {
                let expected = "the number of a node in `$Nodes`, which comes first";
                scan.line().field_error("node", number, expected)
            })?;
            *corner = self.tags[index].1;
        }
        Ok(())
    }

    /// Reads the nodes of one element of a shape and adds the element.
    fn element(
        &mut self,
        scan: &mut ByteScanner<'_>,
        shape: Shape,
        region: u32,
    ) -> Result<(), Defect> {
        let mut nodes = [0; 8];
        let nodes = &mut nodes[..shape.nodes];
        self.corners(scan, nodes)?;
        if push_cell(&mut self.parts, shape.vtk, nodes, region) {
            return Ok(());
        }
        let found = format!("VTK {} with {} nodes", shape.vtk, nodes.len());
        let expected = "a cell type with its number of nodes";
        Err(scan.line().field_error("element type", found, expected))
    }
}

/// Shape of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Cell type of VTK, which numbers nodes in the same order.
    vtk: u64,
    nodes: usize,
}

impl Shape {
    /// Reads the Gmsh type number of a shape.
    fn read(scan: &mut ByteScanner<'_>) -> Result<Self, Defect> {
        let number = scan.whole("element type")?;
        let shape = |vtk, nodes| Ok(Self { vtk, nodes });
        let reason = match number {
            15 => return shape(1, 1), // point
            1 => return shape(3, 2),  // line
            2 => return shape(5, 3),  // triangle
            3 => return shape(9, 4),  // quadrangle
            4 => return shape(10, 4), // tetrahedron
            5 => return shape(12, 8), // hexahedron
            6 => "it is a prism",
            7 => "it is a pyramid",
            8..=14 | 16..=31 => {
                "it is of second or higher order: export with Mesh.ElementOrder = 1"
            }
            _ => "it is unknown",
        };
        let expected =
            format!("4 (tetrahedron), 5 (hexahedron), 2 or 3 (faces), 1 or 15; {reason}");
        Err(scan.line().field_error("element type", number, expected))
    }
}
