//! Stanford `.ply`: surfaces as text or binary, of either byte order.
//!
//! Source: Turk 1994, "The PLY polygon file format". Of `vertex` the properties x, y and z are read,
//! of `face` the list `vertex_indices` or `vertex_index`; polygons become triangles from their first
//! corner. Other elements and properties are skipped by their declared types. The writer uses binary, little
//! endian, which ParaView and Blender read; doubles keep every bit.

use super::scan::{ByteScanner, FilePosition, WHOLE, fan};
use crate::Defect;
use crate::mesh::{ColouredMesh, MixedMesh};
use crate::number::{Number, NumberFormat, parse, words};
use palpate_twin::Vec3;

/// Names of the types of numbers.
const TYPES: [(&str, NumberFormat); 16] = [
    ("char", NumberFormat::I8),
    ("int8", NumberFormat::I8),
    ("uchar", NumberFormat::U8),
    ("uint8", NumberFormat::U8),
    ("short", NumberFormat::I16),
    ("int16", NumberFormat::I16),
    ("ushort", NumberFormat::U16),
    ("uint16", NumberFormat::U16),
    ("int", NumberFormat::I32),
    ("int32", NumberFormat::I32),
    ("uint", NumberFormat::U32),
    ("uint32", NumberFormat::U32),
    ("float", NumberFormat::F32),
    ("float32", NumberFormat::F32),
    ("double", NumberFormat::F64),
    ("float64", NumberFormat::F64),
];

/// Names of coordinates.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Reads a `.ply` file; lengths are those of the file.
///
/// # Errors
/// [`Defect`] naming line or byte, field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<MixedMesh, Defect> {
    let mut scan = ByteScanner::new(bytes);
    let (order, elements) = header(&mut scan)?;
    let mut body = Body { scan, order };
    let mut parts = MixedMesh::default();
    for element in &elements {
        let vertex = element.name == b"vertex";
        let corners_of = element.corners();
        if vertex {
            element.check_vertex()?;
        }
        if element.name == b"tristrips" && element.count > 0 {
            let expected = "`face`: strips are not read";
            return Err(element.place.word_error("element", element.name, expected));
        }
        // elements without properties have no bytes, whatever their count
        let count = match element.properties.len() {
            0 => 0,
            _ => element.count,
        };
        for _ in 0..count {
            let place = body.place();
            let mut at = Vec3::zeros();
            let mut corners = Vec::new();
            for (index, property) in element.properties.iter().enumerate() {
                match property.list {
                    None => {
                        let value = body.value(property.stored, "property")?;
                        if let Some(axis) = property.axis().filter(|_| vertex) {
                            at[axis] = body.place().finite(AXES[axis], value)?;
                        }
                    }
                    Some(length) => {
                        let wanted = corners_of == Some(index);
                        let items = body.list(length, property.stored, wanted)?;
                        corners.extend(items);
                    }
                }
            }
            if vertex {
                place.next_node(&parts.nodes_m)?;
                parts.nodes_m.push(at);
            }
            fan(&corners).for_each(|triangle| parts.triangles.push(triangle, 0));
        }
    }
    check(&parts, body.place())?;
    Ok(parts)
}

fn check(parts: &MixedMesh, end: FilePosition) -> Result<(), Defect> {
    let count = parts.nodes_m.len();
    for (triangle, nodes) in parts.triangles.nodes.iter().enumerate() {
        if let Some(node) = nodes.iter().find(|&&node| node as usize >= count) {
            let expected = format!("an index below {count} (triangle {triangle})");
            return Err(end.field_error("vertex of a face", node, expected));
        }
    }
    Ok(())
}

/// Encoding of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Text,
    Little,
    Big,
}

/// Property of an element; for a list, `list` is the type of its length.
struct Property<'a> {
    name: &'a [u8],
    stored: NumberFormat,
    list: Option<NumberFormat>,
}

impl Property<'_> {
    fn axis(&self) -> Option<usize> {
        AXES.iter().position(|name| name.as_bytes() == self.name)
    }
}

/// Kind of element and the number of its elements.
struct Element<'a> {
    place: FilePosition,
    name: &'a [u8],
    count: u64,
    properties: Vec<Property<'a>>,
}

impl Element<'_> {
    /// Index of the property that lists the corners of a face.
    fn corners(&self) -> Option<usize> {
        let names = [b"vertex_indices".as_slice(), b"vertex_index"];
        let corners =
            |property: &Property<'_>| names.contains(&property.name) && property.list.is_some();
        let found = self.properties.iter().position(corners);
        found.filter(|_| self.name == b"face")
    }

    fn check_vertex(&self) -> Result<(), Defect> {
        for (axis, field) in AXES.into_iter().enumerate() {
            let has =
                |property: &Property<'_>| property.axis() == Some(axis) && property.list.is_none();
            if !self.properties.iter().any(has) {
                let expected = "properties x, y and z of `vertex`";
                return Err(self.place.missing_error(field, expected));
            }
        }
        Ok(())
    }
}

fn header<'a>(scan: &mut ByteScanner<'a>) -> Result<(Order, Vec<Element<'a>>), Defect> {
    match scan.next_line() {
        Some((_, b"ply")) => {}
        Some((place, row)) => return Err(place.word_error("first line", row, "`ply`")),
        None => return Err(scan.line().missing_error("first line", "`ply`")),
    }
    let mut order = None;
    let mut elements: Vec<Element<'a>> = Vec::new();
    while let Some((place, row)) = scan.next_line() {
        let words: Vec<&[u8]> = words(row).collect();
        match words[..] {
            [] | [b"comment" | b"obj_info", ..] => {}
            [b"format", kind, _] => order = Some(format(place, kind)?),
            [b"element", name, count] => elements.push(Element {
                place,
                name,
                count: place.whole("number of elements", count)?,
                properties: Vec::new(),
            }),
            [b"property", ref rest @ ..] => {
                let property = property(place, row, rest)?;
                let expected = "`element` before `property`";
                let element = elements.last_mut();
                element
                    .ok_or_else(|| place.word_error("header", row, expected))?
                    .properties
                    .push(property);
            }
            [b"end_header"] => {
                let order =
                    order.ok_or_else(|| place.missing_error("format", "`format ascii 1.0`"))?;
                return Ok((order, elements));
            }
            _ => {
                let expected = "comment, format, element, property or end_header";
                return Err(place.word_error("header", row, expected));
            }
        }
    }
    Err(scan.line().missing_error("header", "`end_header`"))
}

fn format(place: FilePosition, word: &[u8]) -> Result<Order, Defect> {
    match word {
        b"ascii" => Ok(Order::Text),
        b"binary_little_endian" => Ok(Order::Little),
        b"binary_big_endian" => Ok(Order::Big),
        _ => {
            let expected = "ascii, binary_little_endian or binary_big_endian";
            Err(place.word_error("format", word, expected))
        }
    }
}

fn property<'a>(
    place: FilePosition,
    row: &[u8],
    words: &[&'a [u8]],
) -> Result<Property<'a>, Defect> {
    let stored = |word: &[u8]| {
        let known = TYPES.iter().find(|(name, _)| name.as_bytes() == word);
        let expected = "char, uchar, short, ushort, int, uint, float or double";
        let known = known.ok_or_else(|| place.word_error("type", word, expected));
        known.map(|&(_, stored)| stored)
    };
    let (name, kind, length) = match *words {
        [b"list", length, kind, name] => (name, kind, Some(length)),
        [kind, name] => (name, kind, None),
        _ => {
            let expected = "`property type name` or `property list type type name`";
            return Err(place.word_error("header", row, expected));
        }
    };
    Ok(Property {
        name,
        stored: stored(kind)?,
        list: length.map(stored).transpose()?,
    })
}

/// Body of the file, after the header.
struct Body<'a> {
    scan: ByteScanner<'a>,
    order: Order,
}

impl Body<'_> {
    fn place(&self) -> FilePosition {
        match self.order {
            Order::Text => self.scan.line(),
            Order::Little | Order::Big => self.scan.byte(),
        }
    }

    /// Reads the next number; all types are exact except the largest integers.
    fn value(&mut self, stored: NumberFormat, field: &str) -> Result<f64, Defect> {
        if self.order == Order::Text {
            let (place, word) = self.scan.word(field, "a number")?;
            return parse(word).ok_or_else(|| place.word_error(field, word, "a number"));
        }
        let bytes = self.scan.take(stored.width, field)?;
        Ok(stored.number(bytes, self.order == Order::Big).real())
    }

    /// Reads a list; returns its items if they are the corners of a face.
    fn list(
        &mut self,
        length: NumberFormat,
        item: NumberFormat,
        wanted: bool,
    ) -> Result<Vec<u32>, Defect> {
        let place = self.place();
        let field = "length of a list";
        let length = self.value(length, field)?;
        let count = index(length).ok_or_else(|| place.field_error(field, length, WHOLE))?;
        if wanted && count < 3 {
            return Err(place.field_error("number of corners", count, "at least 3"));
        }
        let mut corners = Vec::new();
        for _ in 0..count {
            let place = self.place();
            let value = self.value(item, "item of a list")?;
            if wanted {
                let (field, expected) = ("vertex of a face", "an index from 0");
                corners
                    .push(index(value).ok_or_else(|| place.field_error(field, value, expected))?);
            }
        }
        Ok(corners)
    }
}

/// A number as an index, if it is one.
fn index(value: f64) -> Option<u32> {
    let index = u32::try_from(Number::Real(value).whole()?).ok();
    index.filter(|&index| index < u32::MAX)
}

/// Writes a surface with nodes at these positions, with the colours of `coloured` if it has any.
pub(super) fn write(coloured: &ColouredMesh, surface: &MixedMesh, places: &[Vec3]) -> Vec<u8> {
    let colours = if coloured.colours.is_empty() {
        ""
    } else {
        "property uchar red\nproperty uchar green\nproperty uchar blue\n"
    };
    let header = format!(
        "ply\nformat binary_little_endian 1.0\ncomment written by palpate\n\
         element vertex {}\nproperty double x\nproperty double y\nproperty double z\n{colours}\
         element face {}\nproperty list uchar uint vertex_indices\nend_header\n",
        places.len(),
        surface.triangles.len(),
    );
    let mut bytes = header.into_bytes();
    for (node, at) in places.iter().enumerate() {
        at.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend(coloured.colours.get(node).into_iter().flatten());
    }
    for face in &surface.triangles.nodes {
        bytes.push(3);
        face.iter()
            .for_each(|node| bytes.extend(node.to_le_bytes()));
    }
    bytes
}
