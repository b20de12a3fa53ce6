//! `.stl`: surfaces as a soup of triangles, in text or binary.
//!
//! Source: 3D Systems, "StereoLithography Interface Specification" (1989). Corners at exactly the
//! same place become one node; normals and attributes are passed over. Binary files are known by
//! their length, since some begin with the word `solid` as texts do.

use super::scan::Scan;
use super::{MeshError, Place, missing, next_node, wrong};
use crate::mesh::parts::Parts;
use palpate_twin::Vec3;
use std::collections::BTreeMap;

/// Bytes of the header, and of a triangle, in a binary file.
const HEADER: usize = 80;
const TRIANGLE: usize = 50;

/// Read an `.stl` file; lengths are those of the file.
///
/// # Errors
/// [`MeshError`] naming line or byte, field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Parts, MeshError> {
    if bytes.is_empty() {
        return Err(missing(Place::Byte(0), "header", "`solid` or 80 bytes"));
    }
    let counted = bytes.get(HEADER..).and_then(|rest| rest.first_chunk::<4>());
    let stated = counted.map(|count| u64::from(u32::from_le_bytes(*count)));
    let follow = bytes.len().saturating_sub(HEADER + 4);
    let binary = stated.is_some_and(|count| u64::try_from(follow) == Ok(count * TRIANGLE as u64));
    if !binary && bytes.trim_ascii_start().starts_with(b"solid") {
        return text(bytes);
    }
    let place = Place::Byte(HEADER);
    match stated {
        Some(_) if binary => binary_triangles(bytes),
        Some(count) => {
            let expected = format!("that of the {follow} bytes that follow, 50 for each triangle");
            Err(wrong(
                place,
                "number of triangles",
                count.to_string().as_bytes(),
                &expected,
            ))
        }
        None => Err(missing(
            place,
            "number of triangles",
            "4 bytes after a header of 80",
        )),
    }
}

/// Nodes by their exact places.
#[derive(Default)]
struct Soup {
    parts: Parts,
    known: BTreeMap<[u64; 3], u32>,
}

impl Soup {
    fn node(&mut self, at: Vec3, place: Place) -> Result<u32, MeshError> {
        // adding zero makes minus zero plain zero
        let key = [0, 1, 2].map(|axis| (at[axis] + 0.0).to_bits());
        if let Some(&node) = self.known.get(&key) {
            return Ok(node);
        }
        let node = next_node(&self.parts.nodes_m, place)?;
        self.parts.nodes_m.push(at);
        self.known.insert(key, node);
        Ok(node)
    }
}

fn binary_triangles(bytes: &[u8]) -> Result<Parts, MeshError> {
    let mut soup = Soup::default();
    let mut scan = Scan::new(bytes);
    scan.take::<{ HEADER + 4 }>("header")?;
    while scan.left() >= TRIANGLE {
        scan.take::<12>("normal")?;
        let mut triangle = [0; 3];
        for corner in &mut triangle {
            let place = scan.byte();
            let mut at = Vec3::zeros();
            for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
                let place = scan.byte();
                let value = f32::from_le_bytes(scan.take(field)?);
                if !value.is_finite() {
                    let value = value.to_string();
                    return Err(wrong(place, field, value.as_bytes(), "a finite number"));
                }
                at[axis] = f64::from(value);
            }
            *corner = soup.node(at, place)?;
        }
        scan.take::<2>("attribute")?;
        soup.parts.triangles.push(triangle, 0);
    }
    Ok(soup.parts)
}

fn text(bytes: &[u8]) -> Result<Parts, MeshError> {
    let mut soup = Soup::default();
    let mut scan = Scan::new(bytes);
    while let Some((place, row)) = scan.row() {
        if row.is_empty() {
            continue;
        }
        if !row.starts_with(b"solid") {
            return Err(wrong(place, "begin of a solid", row, "`solid name`"));
        }
        solid(&mut scan, &mut soup)?;
    }
    Ok(soup.parts)
}

/// The triangles up to `endsolid` and the rest of its line.
fn solid(scan: &mut Scan<'_>, soup: &mut Soup) -> Result<(), MeshError> {
    loop {
        let expected = "`facet` or `endsolid`";
        let (place, word) = scan.word("begin of a triangle", expected)?;
        match word {
            b"endsolid" => {
                scan.row();
                return Ok(());
            }
            b"facet" => {}
            _ => return Err(wrong(place, "begin of a triangle", word, expected)),
        }
        keyword(scan, "normal")?;
        for _ in 0..3 {
            // some programs write `nan` as the normal of a sliver
            scan.word("normal", "three numbers")?;
        }
        keyword(scan, "outer")?;
        keyword(scan, "loop")?;
        let mut triangle = [0; 3];
        for corner in &mut triangle {
            keyword(scan, "vertex")?;
            let place = scan.line();
            *corner = soup.node(scan.place_of()?, place)?;
        }
        keyword(scan, "endloop")?;
        keyword(scan, "endfacet")?;
        soup.parts.triangles.push(triangle, 0);
    }
}

fn keyword(scan: &mut Scan<'_>, expected: &'static str) -> Result<(), MeshError> {
    let (place, word) = scan.word("keyword", expected)?;
    if word == expected.as_bytes() {
        return Ok(());
    }
    Err(wrong(place, "keyword", word, &format!("`{expected}`")))
}
