//! Wavefront `.obj`: surfaces as text.
//!
//! Source: Alias Wavefront, "Advanced Visualizer manual", appendix B1. Only `v` and `f` are read:
//! polygons become triangles from their first corner, negative indices count back from the newest
//! vertex. A group (`g`, `o`, `usemtl`) makes no region. Colours follow the coordinates (`v x y z r g b`, 0 to 1), an
//! extension that Blender, ParaView and MeshLab read.

use std::fmt::Write as _;

use super::scan::{ByteScanner, FilePosition, fan};
use crate::Defect;
use crate::mesh::{ColouredMesh, MixedMesh};
use crate::number::{parse, words};
use palpate_twin::Vec3;

/// Reads an `.obj` file; lengths are those of the file.
///
/// # Errors
/// [`Defect`] naming line, field, value and what would be right.
pub(super) fn read(bytes: &[u8]) -> Result<MixedMesh, Defect> {
    let mut scan = ByteScanner::new(bytes);
    let mut parts = MixedMesh::default();
    let mut faces: Vec<(FilePosition, Vec<u32>)> = Vec::new();
    while let Some((place, row)) = scan.next_line() {
        let row = row.split(|&byte| byte == b'#').next().unwrap_or_default();
        let mut words = words(row);
        match words.next() {
            Some(b"v") => {
                place.next_node(&parts.nodes_m)?;
                parts.nodes_m.push(vertex(place, words)?);
            }
            Some(b"f") => {
                let corners = face(place, words, parts.nodes_m.len())?;
                faces.push((place, corners));
            }
            _ => {}
        }
    }
    let count = parts.nodes_m.len();
    if count == 0 {
        return Err(scan.line().missing_error("vertex", "lines `v x y z`"));
    }
    for (place, corners) in faces {
        // an index may refer to a later vertex, so it is checked at the end
        if let Some(&node) = corners.iter().find(|&&node| node as usize >= count) {
            let expected = format!("1 to {count}");
            return Err(place.field_error("vertex of a face", u64::from(node) + 1, expected));
        }
        fan(&corners).for_each(|triangle| parts.triangles.push(triangle, 0));
    }
    Ok(parts)
}

fn vertex<'a>(
    place: FilePosition,
    mut words: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec3, Defect> {
    let mut at = Vec3::zeros();
    for (field, x) in ["x", "y", "z"].into_iter().zip(at.iter_mut()) {
        let word = words.next();
        let word = word.ok_or_else(|| place.missing_error(field, "three numbers `v x y z`"))?;
        *x = place.number(field, word)?;
    }
    Ok(at)
}

/// Corners `vertex/texture/normal` of a face; only the vertex is used.
fn face<'a>(
    place: FilePosition,
    words: impl Iterator<Item = &'a [u8]>,
    known: usize,
) -> Result<Vec<u32>, Defect> {
    let expected = "an index from 1, or from -1 back, of a vertex";
    let mut corners = Vec::new();
    for word in words {
        let first = word.split(|&byte| byte == b'/').next().unwrap_or_default();
        let index = match parse::<i64>(first) {
            Some(index) if index > 0 => usize::try_from(index - 1).ok(),
            Some(index) if index < 0 => {
                let back = usize::try_from(index.unsigned_abs()).ok();
                back.and_then(|back| known.checked_sub(back))
            }
            _ => None,
        };
        let index = index.and_then(|index| u32::try_from(index).ok());
        corners.push(index.ok_or_else(|| place.word_error("vertex of a face", word, expected))?);
    }
    if corners.len() < 3 {
        return Err(place.field_error("number of corners", corners.len(), "at least 3"));
    }
    Ok(corners)
}

/// Writes a surface with nodes at these positions, with the colours of `coloured`.
pub(super) fn write(coloured: &ColouredMesh, surface: &MixedMesh, places: &[Vec3]) -> String {
    let mut text = String::from("# written by palpate\n");
    for (node, at) in places.iter().enumerate() {
        // writing to a string cannot fail
        let _ = write!(text, "v {:?} {:?} {:?}", at.x, at.y, at.z);
        for &channel in coloured.colours.get(node).into_iter().flatten() {
            let _ = write!(text, " {:.4}", f64::from(channel) / 255.0);
        }
        text.push('\n');
    }
    for face in &surface.triangles.nodes {
        let [a, b, c] = face.map(|node| u64::from(node) + 1);
        let _ = writeln!(text, "f {a} {b} {c}");
    }
    text
}
