//! Stanford `.ply`: surfaces as text or binary, of either byte order.
//!
//! Source: Turk 1994, "The PLY polygon file format". Of `vertex` the properties x, y and z are read,
//! of `face` the list `vertex_indices` or `vertex_index`; polygons become triangles from their first
//! corner. Other elements and properties are passed over by their declared types.

use super::scan::{Scan, fan, parse, whole};
use super::{MeshError, Place, missing, next_node, wrong};
use crate::mesh::parts::Parts;
use palpate_twin::Vec3;

/// Read a `.ply` file; lengths are those of the file.
///
/// # Errors
/// [`MeshError`] naming line or byte, field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Parts, MeshError> {
    let mut scan = Scan::new(bytes);
    let (order, elements) = header(&mut scan)?;
    let mut body = Body { scan, order };
    let mut parts = Parts::default();
    for element in &elements {
        let vertex = element.name == b"vertex";
        let corners_of = element.corners();
        if vertex {
            element.check_vertex()?;
        }
        if element.name == b"tristrips" && element.count > 0 {
            return Err(wrong(
                element.place,
                "element",
                element.name,
                "`face`: strips are not read",
            ));
        }
        // elements without properties take no bytes, however many are claimed
        let count = if element.properties.is_empty() {
            0
        } else {
            element.count
        };
        for _ in 0..count {
            let place = body.place();
            let mut at = Vec3::zeros();
            let mut corners = Vec::new();
            for (index, property) in element.properties.iter().enumerate() {
                match property.list {
                    None => {
                        let value = body.value(property.kind, "property")?;
                        if let Some(axis) = property.axis().filter(|_| vertex) {
                            at[axis] = body.finite(value, property)?;
                        }
                    }
                    Some(kind) => {
                        let wanted = corners_of == Some(index);
                        body.list(kind, property.kind, wanted.then_some(&mut corners))?;
                    }
                }
            }
            if vertex {
                next_node(&parts.nodes_m, place)?;
                parts.nodes_m.push(at);
            }
            fan(&corners).for_each(|triangle| parts.triangles.push(triangle, 0));
        }
    }
    check(&parts, body.place())?;
    Ok(parts)
}

fn check(parts: &Parts, end: Place) -> Result<(), MeshError> {
    let count = parts.nodes_m.len();
    for (triangle, nodes) in parts.triangles.nodes.iter().enumerate() {
        if let Some(node) = nodes.iter().find(|&&node| node as usize >= count) {
            let expected = format!("an index below {count} (triangle {triangle})");
            return Err(wrong(
                end,
                "vertex of a face",
                node.to_string().as_bytes(),
                &expected,
            ));
        }
    }
    Ok(())
}

/// How numbers stand in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Text,
    Little,
    Big,
}

/// Type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Kind {
    fn of(place: Place, word: &[u8]) -> Result<Self, MeshError> {
        Ok(match word {
            b"char" | b"int8" => Self::I8,
            b"uchar" | b"uint8" => Self::U8,
            b"short" | b"int16" => Self::I16,
            b"ushort" | b"uint16" => Self::U16,
            b"int" | b"int32" => Self::I32,
            b"uint" | b"uint32" => Self::U32,
            b"float" | b"float32" => Self::F32,
            b"double" | b"float64" => Self::F64,
            _ => {
                let expected = "char, uchar, short, ushort, int, uint, float or double";
                return Err(wrong(place, "type", word, expected));
            }
        })
    }
}

/// A property of an element; with `list`, of which type its length is.
struct Property<'a> {
    name: &'a [u8],
    kind: Kind,
    list: Option<Kind>,
}

impl Property<'_> {
    fn axis(&self) -> Option<usize> {
        [b"x", b"y", b"z"]
            .iter()
            .position(|name| *name == self.name)
    }
}

/// A kind of element and how many there are.
struct Element<'a> {
    place: Place,
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

    fn check_vertex(&self) -> Result<(), MeshError> {
        for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
            let has =
                |property: &Property<'_>| property.axis() == Some(axis) && property.list.is_none();
            if !self.properties.iter().any(has) {
                return Err(missing(
                    self.place,
                    field,
                    "properties x, y and z of `vertex`",
                ));
            }
        }
        Ok(())
    }
}

fn header<'a>(scan: &mut Scan<'a>) -> Result<(Order, Vec<Element<'a>>), MeshError> {
    match scan.row() {
        Some((_, b"ply")) => {}
        Some((place, row)) => return Err(wrong(place, "first line", row, "`ply`")),
        None => return Err(missing(scan.line(), "first line", "`ply`")),
    }
    let mut order = None;
    let mut elements: Vec<Element<'a>> = Vec::new();
    while let Some((place, row)) = scan.row() {
        let words: Vec<&[u8]> = row
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        match words[..] {
            [] | [b"comment" | b"obj_info", ..] => {}
            [b"format", kind, _] => order = Some(format(place, kind)?),
            [b"element", name, count] => elements.push(Element {
                place,
                name,
                count: whole(place, "number of elements", count)?,
                properties: Vec::new(),
            }),
            [b"property", ref rest @ ..] => {
                let property = property(place, row, rest)?;
                let expected = "`element` before `property`";
                let element = elements.last_mut();
                element
                    .ok_or_else(|| wrong(place, "header", row, expected))?
                    .properties
                    .push(property);
            }
            [b"end_header"] => {
                let order = order.ok_or_else(|| missing(place, "format", "`format ascii 1.0`"))?;
                return Ok((order, elements));
            }
            _ => {
                let expected = "comment, format, element, property or end_header";
                return Err(wrong(place, "header", row, expected));
            }
        }
    }
    Err(missing(scan.line(), "header", "`end_header`"))
}

fn format(place: Place, word: &[u8]) -> Result<Order, MeshError> {
    match word {
        b"ascii" => Ok(Order::Text),
        b"binary_little_endian" => Ok(Order::Little),
        b"binary_big_endian" => Ok(Order::Big),
        _ => {
            let expected = "ascii, binary_little_endian or binary_big_endian";
            Err(wrong(place, "format", word, expected))
        }
    }
}

fn property<'a>(place: Place, row: &[u8], words: &[&'a [u8]]) -> Result<Property<'a>, MeshError> {
    match *words {
        [b"list", length, kind, name] => Ok(Property {
            name,
            kind: Kind::of(place, kind)?,
            list: Some(Kind::of(place, length)?),
        }),
        [kind, name] => Ok(Property {
            name,
            kind: Kind::of(place, kind)?,
            list: None,
        }),
        _ => {
            let expected = "`property type name` or `property list type type name`";
            Err(wrong(place, "header", row, expected))
        }
    }
}

/// What follows the header.
struct Body<'a> {
    scan: Scan<'a>,
    order: Order,
}

impl Body<'_> {
    fn place(&self) -> Place {
        match self.order {
            Order::Text => self.scan.line(),
            Order::Little | Order::Big => self.scan.byte(),
        }
    }

    /// The next number; all kinds but the largest doubles are exact.
    fn value(&mut self, kind: Kind, field: &'static str) -> Result<f64, MeshError> {
        if self.order == Order::Text {
            let (place, word) = self.scan.word(field, "a number")?;
            return parse(word).ok_or_else(|| wrong(place, field, word, "a number"));
        }
        let little = self.order == Order::Little;
        macro_rules! number {
            ($kind:ty) => {{
                let bytes = self.scan.take(field)?;
                let value = if little {
                    <$kind>::from_le_bytes(bytes)
                } else {
                    <$kind>::from_be_bytes(bytes)
                };
                f64::from(value)
            }};
        }
        Ok(match kind {
            Kind::I8 => number!(i8),
            Kind::U8 => number!(u8),
            Kind::I16 => number!(i16),
            Kind::U16 => number!(u16),
            Kind::I32 => number!(i32),
            Kind::U32 => number!(u32),
            Kind::F32 => number!(f32),
            Kind::F64 => number!(f64),
        })
    }

    fn finite(&self, value: f64, property: &Property<'_>) -> Result<f64, MeshError> {
        if value.is_finite() {
            return Ok(value);
        }
        let field = ["x", "y", "z"][property.axis().unwrap_or(0)];
        Err(wrong(
            self.place(),
            field,
            value.to_string().as_bytes(),
            "a finite number",
        ))
    }

    /// A list; its items go to `corners` if it is the one that is wanted.
    fn list(
        &mut self,
        length: Kind,
        item: Kind,
        mut corners: Option<&mut Vec<u32>>,
    ) -> Result<(), MeshError> {
        let place = self.place();
        let length = self.value(length, "length of a list")?;
        let count = index(length).ok_or_else(|| {
            let expected = "a whole number that is not negative";
            wrong(
                place,
                "length of a list",
                length.to_string().as_bytes(),
                expected,
            )
        })?;
        if corners.is_some() && count < 3 {
            return Err(wrong(
                place,
                "number of corners",
                count.to_string().as_bytes(),
                "at least 3",
            ));
        }
        for _ in 0..count {
            let place = self.place();
            let value = self.value(item, "item of a list")?;
            if let Some(corners) = &mut corners {
                let corner = index(value).ok_or_else(|| {
                    wrong(
                        place,
                        "vertex of a face",
                        value.to_string().as_bytes(),
                        "an index from 0",
                    )
                })?;
                corners.push(corner);
            }
        }
        Ok(())
    }
}

/// A number as an index, if it is one.
fn index(value: f64) -> Option<u32> {
    let whole = value >= 0.0 && value < f64::from(u32::MAX) && value.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "just checked"
    )]
    let index = value as u32;
    whole.then_some(index)
}
