//! `.stl`: surfaces as a soup of triangles, in text or binary.
//!
//! Source: 3D Systems, "StereoLithography Interface Specification" (1989). Corners at exactly the
//! same position become one node; normals and attributes are skipped. Binary files are recognised by
//! their length, since some begin with the word `solid` as texts do.

use super::scan::{ByteScanner, FilePosition};
use crate::Defect;
use crate::mesh::MixedMesh;
use crate::number::NumberFormat;
use palpate_twin::Vec3;
use std::collections::BTreeMap;

/// Bytes of the header, and of a triangle, in a binary file.
const HEADER: usize = 80;
const TRIANGLE: usize = 50;

/// Reads an `.stl` file; lengths are those of the file.
///
/// # Errors
/// [`Defect`] naming line or byte, field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<MixedMesh, Defect> {
    if bytes.is_empty() {
        let expected = "`solid` or 80 bytes";
        return Err(FilePosition::Byte(0).missing_error("header", expected));
    }
    let counted = bytes.get(HEADER..).and_then(|rest| rest.first_chunk::<4>());
    let stated = counted.map(|count| u64::from(u32::from_le_bytes(*count)));
    let follow = bytes.len().saturating_sub(HEADER + 4);
    let binary = stated.is_some_and(|count| u64::try_from(follow) == Ok(count * TRIANGLE as u64));
    if !binary && bytes.trim_ascii_start().starts_with(b"solid") {
        return text(bytes);
    }
    let place = FilePosition::Byte(HEADER);
    match stated {
        Some(_) if binary => binary_triangles(bytes),
        Some(count) => {
            let expected = format!("that of the {follow} bytes that follow, 50 for each triangle");
            Err(place.field_error("number of triangles", count, expected))
        }
        None => Err(place.missing_error("number of triangles", "4 bytes after a header of 80")),
    }
}

/// Nodes by their exact positions.
#[derive(Default)]
struct Soup {
    parts: MixedMesh,
    node_by_position: BTreeMap<[u64; 3], u32>,
}

impl Soup {
    fn node(&mut self, at: Vec3, place: FilePosition) -> Result<u32, Defect> {
        // adding zero makes minus zero plain zero
        let key = [0, 1, 2].map(|axis| (at[axis] + 0.0).to_bits());
        if let Some(&node) = self.node_by_position.get(&key) {
            return Ok(node);
        }
        let node = place.next_node(&self.parts.nodes_m)?;
        self.parts.nodes_m.push(at);
        self.node_by_position.insert(key, node);
        Ok(node)
    }
}

fn binary_triangles(bytes: &[u8]) -> Result<MixedMesh, Defect> {
    let mut soup = Soup::default();
    let mut scan = ByteScanner::new(bytes);
    scan.take(HEADER + 4, "header")?;
    while scan.remaining() >= TRIANGLE {
        scan.take(12, "normal")?;
        let mut triangle = [0; 3];
        for corner in &mut triangle {
            let place = scan.byte();
            let mut at = Vec3::zeros();
            for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
                let place = scan.byte();
                let bytes = scan.take(4, field)?;
                let value = NumberFormat::F32.number(bytes, false).real();
                at[axis] = place.finite(field, value)?;
            }
            *corner = soup.node(at, place)?;
        }
        scan.take(2, "attribute")?;
        soup.parts.triangles.push(triangle, 0);
    }
    Ok(soup.parts)
}

fn text(bytes: &[u8]) -> Result<MixedMesh, Defect> {
    let mut soup = Soup::default();
    let mut scan = ByteScanner::new(bytes);
    while let Some((place, row)) = scan.next_line() {
        if row.is_empty() {
            continue;
        }
        if !row.starts_with(b"solid") {
            return Err(place.word_error("begin of a solid", row, "`solid name`"));
        }
        solid(&mut scan, &mut soup)?;
    }
    Ok(soup.parts)
}

/// Reads the triangles up to `endsolid` and the rest of its line.
fn solid(scan: &mut ByteScanner<'_>, soup: &mut Soup) -> Result<(), Defect> {
    loop {
        let expected = "`facet` or `endsolid`";
        let (place, word) = scan.word("begin of a triangle", expected)?;
        match word {
            b"endsolid" => {
                scan.next_line();
                return Ok(());
            }
            b"facet" => {}
            _ => return Err(place.word_error("begin of a triangle", word, expected)),
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
            *corner = soup.node(scan.point()?, place)?;
        }
        keyword(scan, "endloop")?;
        keyword(scan, "endfacet")?;
        soup.parts.triangles.push(triangle, 0);
    }
}

fn keyword(scan: &mut ByteScanner<'_>, expected: &'static str) -> Result<(), Defect> {
    let (place, word) = scan.word("keyword", expected)?;
    if word == expected.as_bytes() {
        return Ok(());
    }
    Err(place.word_error("keyword", word, format_args!("`{expected}`")))
}
