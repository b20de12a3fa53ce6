//! Wavefront `.obj`: surfaces as text.
//!
//! Source: Alias Wavefront, "Advanced Visualizer manual", appendix B1. Only `v` and `f` are read:
//! polygons become triangles from their first corner, negative indices count back from the newest
//! vertex. A group (`g`, `o`, `usemtl`) makes no region.

use super::scan::{Scan, fan, number, parse};
use super::{MeshError, Place, missing, next_node, wrong};
use crate::mesh::parts::Parts;
use palpate_twin::Vec3;

/// Read an `.obj` file; lengths are those of the file.
///
/// # Errors
/// [`MeshError`] naming line, field, value and what would be right.
pub fn read(bytes: &[u8]) -> Result<Parts, MeshError> {
    let mut scan = Scan::new(bytes);
    let mut parts = Parts::default();
    let mut faces: Vec<(Place, Vec<u32>)> = Vec::new();
    while let Some((place, row)) = scan.row() {
        let mut words = words(row);
        match words.next() {
            Some(b"v") => {
                next_node(&parts.nodes_m, place)?;
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
        return Err(missing(scan.line(), "vertex", "lines `v x y z`"));
    }
    for (place, corners) in faces {
        // an index may look ahead, so it is judged when all vertices are known
        if let Some(&node) = corners.iter().find(|&&node| node as usize >= count) {
            let (index, expected) = (u64::from(node) + 1, format!("1 to {count}"));
            return Err(wrong(
                place,
                "vertex of a face",
                index.to_string().as_bytes(),
                &expected,
            ));
        }
        fan(&corners).for_each(|triangle| parts.triangles.push(triangle, 0));
    }
    Ok(parts)
}

fn words(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    let row = row.split(|&byte| byte == b'#').next().unwrap_or_default();
    row.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

fn vertex<'a>(place: Place, mut words: impl Iterator<Item = &'a [u8]>) -> Result<Vec3, MeshError> {
    let mut coordinate = |field| {
        let word = words.next();
        let word = word.ok_or_else(|| missing(place, field, "three numbers `v x y z`"))?;
        number(place, field, word)
    };
    Ok(Vec3::new(
        coordinate("x")?,
        coordinate("y")?,
        coordinate("z")?,
    ))
}

/// Corners `vertex/texture/normal` of a face; only the vertex is used.
fn face<'a>(
    place: Place,
    words: impl Iterator<Item = &'a [u8]>,
    known: usize,
) -> Result<Vec<u32>, MeshError> {
    let field = "vertex of a face";
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
        corners.push(index.ok_or_else(|| wrong(place, field, word, expected))?);
    }
    if corners.len() < 3 {
        let found = corners.len().to_string();
        return Err(wrong(
            place,
            "number of corners",
            found.as_bytes(),
            "at least 3",
        ));
    }
    Ok(corners)
}
