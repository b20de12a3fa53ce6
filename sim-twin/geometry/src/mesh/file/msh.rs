//! Gmsh `.msh`, versions 2.2 and 4.1, ASCII: volumes and surfaces with physical groups.
//!
//! Source: Gmsh 4.13 reference manual, "MSH file format" and "MSH file format version 2". The first
//! physical group of a cell is its region, 0 if it has none. Points and lines are passed over,
//! quadrangles become two triangles; binary files, second order, prisms and pyramids are refused by
//! name.

mod blocks;
mod rows;

use super::scan::Scan;
use super::{MeshError, Place, missing, wrong};
use crate::mesh::parts::Parts;
use crate::mesh::tet::halves;

/// Read a `.msh` file; lengths are those of the file.
///
/// # Errors
/// [`MeshError`] naming line, field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Parts, MeshError> {
    let mut scan = Scan::new(bytes);
    let version = format(&mut scan)?;
    let mut mesh = Mesh::default();
    let mut groups = blocks::Groups::default();
    let mut elements = false;
    while let Some((place, word)) = scan.next_word() {
        let Some(name) = word.strip_prefix(b"$") else {
            return Err(wrong(place, "section", word, "`$` and a name"));
        };
        match (name, version) {
            (b"PhysicalNames", _) => names(&mut scan, &mut mesh.parts)?,
            (b"Entities", Version::Four) => groups = blocks::entities(&mut scan)?,
            (b"Nodes", Version::Two) => rows::nodes(&mut scan, &mut mesh)?,
            (b"Nodes", Version::Four) => blocks::nodes(&mut scan, &mut mesh)?,
            (b"Elements", Version::Two) => rows::elements(&mut scan, &mut mesh)?,
            (b"Elements", Version::Four) => blocks::elements(&mut scan, &mut mesh, &groups)?,
            _ => skip(&mut scan, name)?,
        }
        elements |= name == b"Elements";
        if [
            b"PhysicalNames",
            b"Entities".as_slice(),
            b"Nodes",
            b"Elements",
        ]
        .contains(&name)
        {
            end(&mut scan, name, version)?;
        }
    }
    if elements {
        return Ok(mesh.parts);
    }
    Err(missing(
        scan.line(),
        "section",
        "`$Nodes` and then `$Elements`",
    ))
}

/// Version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Four,
}

fn format(scan: &mut Scan<'_>) -> Result<Version, MeshError> {
    let (place, word) = scan.word("first line", "`$MeshFormat`")?;
    if word != b"$MeshFormat" {
        return Err(wrong(place, "first line", word, "`$MeshFormat`"));
    }
    let expected = "2.2 or 4.1: export with Mesh.MshFileVersion = 4.1";
    let (place, word) = scan.word("version", expected)?;
    let version = match word {
        b"2" | b"2.1" | b"2.2" => Version::Two,
        b"4.1" => Version::Four,
        _ => return Err(wrong(place, "version", word, expected)),
    };
    let expected = "0 (ASCII): export with Mesh.Binary = 0";
    let (place, word) = scan.word("file type", expected)?;
    if word != b"0" {
        return Err(wrong(place, "file type", word, expected));
    }
    scan.whole("data size")?;
    let (place, word) = scan.word("end of section", "`$EndMeshFormat`")?;
    if word != b"$EndMeshFormat" {
        return Err(wrong(place, "end of section", word, "`$EndMeshFormat`"));
    }
    Ok(version)
}

/// Pass over a section that means nothing here.
fn skip(scan: &mut Scan<'_>, name: &[u8]) -> Result<(), MeshError> {
    while let Some((_, row)) = scan.row() {
        if row.strip_prefix(b"$End") == Some(name) {
            return Ok(());
        }
    }
    let expected = format!(
        "`$End{}`",
        String::from_utf8_lossy(&name[..name.len().min(40)])
    );
    Err(missing(scan.line(), "end of section", &expected))
}

fn end(scan: &mut Scan<'_>, name: &[u8], version: Version) -> Result<(), MeshError> {
    // in version 2.2 this section is unknown, and was passed over with its end
    if name == b"Entities" && version == Version::Two {
        return Ok(());
    }
    let expected = format!(
        "`$End{}`: more or fewer records than stated",
        String::from_utf8_lossy(name)
    );
    let (place, word) = scan.word("end of section", &expected)?;
    if word.strip_prefix(b"$End") == Some(name) {
        return Ok(());
    }
    Err(wrong(place, "end of section", word, &expected))
}

fn names(scan: &mut Scan<'_>, parts: &mut Parts) -> Result<(), MeshError> {
    for _ in 0..scan.whole("number of names")? {
        let (place, dimension) = scan.word("dimension", "0 to 3")?;
        let dimension = match dimension {
            [digit @ b'0'..=b'3'] => digit - b'0',
            _ => return Err(wrong(place, "dimension", dimension, "0 to 3")),
        };
        let number = region(scan.line(), scan.signed("physical group")?)?;
        let (place, name) = scan.row().unwrap_or((scan.line(), b""));
        let quoted = name
            .strip_prefix(b"\"")
            .and_then(|name| name.strip_suffix(b"\""));
        let name = quoted.ok_or_else(|| wrong(place, "name", name, "a name in double quotes"))?;
        let name = String::from_utf8_lossy(name).into_owned();
        parts.names.insert((dimension, number), name);
    }
    Ok(())
}

/// Number of a physical group; a minus sign turns the cells over in Gmsh, and is dropped.
fn region(place: Place, group: i64) -> Result<u32, MeshError> {
    let number = u32::try_from(group.unsigned_abs());
    number.map_err(|_| {
        wrong(
            place,
            "physical group",
            group.to_string().as_bytes(),
            "fewer than 2^32",
        )
    })
}

/// What is read so far.
#[derive(Debug, Default)]
struct Mesh {
    parts: Parts,
    /// Number of a node in the file, and its index; ascending once all are known.
    tags: Vec<(u64, u32)>,
}

impl Mesh {
    /// Sort the numbers of the nodes, each of which must stand once.
    fn close(&mut self, place: Place) -> Result<(), MeshError> {
        self.tags.sort_unstable();
        let twice = self.tags.windows(2).find(|pair| pair[0].0 == pair[1].0);
        match twice {
            None => Ok(()),
            Some(pair) => {
                let number = pair[0].0.to_string();
                let expected = "a number that no other node of this section has";
                Err(wrong(
                    place,
                    "number of a node",
                    number.as_bytes(),
                    expected,
                ))
            }
        }
    }

    /// The nodes of an element, as many as its type has.
    fn corners(&self, scan: &mut Scan<'_>, corners: &mut [u32]) -> Result<(), MeshError> {
        for corner in corners {
            let number = scan.whole("node")?;
            let found = self.tags.binary_search_by_key(&number, |&(tag, _)| tag);
            let place = scan.line();
            let index = found.map_err(|_| {
                let expected = "the number of a node in `$Nodes`, which comes first";
                wrong(place, "node", number.to_string().as_bytes(), expected)
            })?;
            *corner = self.tags[index].1;
        }
        Ok(())
    }

    /// One element whose nodes come next.
    fn element(&mut self, scan: &mut Scan<'_>, shape: Shape, region: u32) -> Result<(), MeshError> {
        let mut nodes = [0; 8];
        let nodes = &mut nodes[..shape.nodes()];
        self.corners(scan, nodes)?;
        let parts = &mut self.parts;
        match (shape, &*nodes) {
            (Shape::Triangle, &[a, b, c]) => parts.triangles.push([a, b, c], region),
            (Shape::Quadrangle, &[a, b, c, d]) => {
                for half in halves([a, b, c, d]) {
                    parts.triangles.push(half, region);
                }
            }
            (Shape::Tet, &[a, b, c, d]) => parts.tets.push([a, b, c, d], region),
            (Shape::Hex, &[a, b, c, d, e, f, g, h]) => {
                parts.hexes.push([a, b, c, d, e, f, g, h], region);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Shape of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Point,
    Line,
    Triangle,
    Quadrangle,
    Tet,
    Hex,
}

impl Shape {
    fn nodes(self) -> usize {
        match self {
            Self::Point => 1,
            Self::Line => 2,
            Self::Triangle => 3,
            Self::Quadrangle | Self::Tet => 4,
            Self::Hex => 8,
        }
    }

    /// The shape of Gmsh's number for it.
    fn of(place: Place, number: u64) -> Result<Self, MeshError> {
        let reason = match number {
            15 => return Ok(Self::Point),
            1 => return Ok(Self::Line),
            2 => return Ok(Self::Triangle),
            3 => return Ok(Self::Quadrangle),
            4 => return Ok(Self::Tet),
            5 => return Ok(Self::Hex),
            6 => "it is a prism",
            7 => "it is a pyramid",
            8..=14 | 16..=31 => {
                "it is of second or higher order: export with Mesh.ElementOrder = 1"
            }
            _ => "it is unknown",
        };
        let expected =
            format!("4 (tetrahedron), 5 (hexahedron), 2 or 3 (faces), 1 or 15; {reason}");
        Err(wrong(
            place,
            "element type",
            number.to_string().as_bytes(),
            &expected,
        ))
    }
}
