//! Checks of the connectivity of cells and triangles: duplicates, shared faces, shared edges, rims.
//!
//! Source: ours.

use super::{Element, Kind, elements};
use crate::Defect;
use crate::mesh::MixedMesh;
use crate::mesh::hex::SIDES;
use crate::mesh::tet::FACES;

/// Node of a triangle's missing fourth corner.
const NONE: u32 = u32::MAX;

/// A face of a cell, or a triangle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CellFace {
    /// Its nodes, ascending; the same for the two cells on its sides.
    key: [u32; 4],
    /// True if its nodes ascend in cyclic order; opposite for the two cells on its sides.
    upward: bool,
    element: Element,
    /// Its nodes in cyclic order, with [`NONE`] as the fourth of a triangle.
    ring: [u32; 4],
}

/// Edge of an outer face: its nodes ascending, true if it ascends along the face, and the element of the face.
type Edge = ([u32; 2], bool, Element);

/// Reports every element with the nodes of an earlier one.
pub(super) fn repeats(parts: &MixedMesh, findings: &mut Vec<Defect>) {
    let mut keyed: Vec<([u32; 8], Element)> = Vec::new();
    for (element, nodes) in elements(parts) {
        let mut key = [NONE; 8];
        key[..nodes.len()].copy_from_slice(nodes);
        key.sort_unstable();
        keyed.push((key, element));
    }
    keyed.sort_unstable();
    for group in keyed.chunk_by(|a, b| a.0 == b.0) {
        let (_, first) = group[0];
        let again = |&(_, element): &([u32; 8], Element)| {
            Defect::from_text(format!("{element} has the nodes of {first} again"))
        };
        findings.extend(group[1..].iter().map(again));
    }
}

/// Reports faces with more than two cells and edges of the outside with more than two faces.
pub(super) fn joints(parts: &MixedMesh, findings: &mut Vec<Defect>) {
    let outside = outside(parts, findings);
    if !findings.is_empty() {
        return;
    }
    let edges = match parts.volume_cells() {
        0 => triangle_edges(parts),
        _ => edges(outside.iter().map(|side| (side.element, side.ring))),
    };
    for group in edges.chunk_by(|a, b| a.0 == b.0) {
        let ([from, to], upward, other) = group[0];
        if group.len() > 2 {
            // sorted by orientation first
            let element = group.iter().fold(other, |last, edge| last.max(edge.2));
            let faces = group.len();
            let found = format!("edge {from} - {to} of {element} belongs to {faces} outer faces");
            findings.push(Defect::new(found, "1 or 2"));
        } else if let Some(&(_, also, element)) = group.get(1)
            && also == upward
        {
            findings.push(Defect::from_text(format!(
                "{element} and {other} run the same way along edge {from} - {to}; one is turned over"
            )));
        }
    }
}

/// Returns cell faces without a neighbour; reports those with more than two cells.
fn outside(parts: &MixedMesh, findings: &mut Vec<Defect>) -> Vec<CellFace> {
    let mut sides: Vec<CellFace> = Vec::new();
    for (element, nodes) in elements(parts) {
        match element.kind {
            Kind::Tet => sides
                .extend(FACES.map(|[a, b, c]| side(element, [nodes[a], nodes[b], nodes[c], NONE]))),
            Kind::Hex => sides.extend(
                SIDES.map(|face| side(element, face.corners().map(|corner| nodes[corner]))),
            ),
            Kind::Triangle => {}
        }
    }
    sides.sort_unstable();
    let mut outside = Vec::new();
    for group in sides.chunk_by(|a, b| a.key == b.key) {
        let first = group[0];
        let [a, b, c, _] = first.key;
        let nodes = [a, b, c];
        match group {
            [one] => outside.push(*one),
            [_, also] if also.upward == first.upward => {
                let (element, other) = (also.element, first.element);
                findings.push(Defect::from_text(format!(
                    "{element} and {other} lie on the same side of the face with nodes {nodes:?}"
                )));
            }
            [_, _] => {}
            _ => {
                let last = |last: Element, side: &CellFace| last.max(side.element);
                let element = group.iter().fold(first.element, last);
                let cells = group.len();
                let found =
                    format!("the face of {element} with nodes {nodes:?} belongs to {cells} cells");
                findings.push(Defect::new(found, "1 or 2"));
            }
        }
    }
    outside
}

/// Edges of the triangles, ascending.
fn triangle_edges(parts: &MixedMesh) -> Vec<Edge> {
    let triangles = elements(parts).filter(|(element, _)| element.kind == Kind::Triangle);
    edges(triangles.map(|(element, nodes)| (element, [nodes[0], nodes[1], nodes[2], NONE])))
}

/// Warning about edges that belong to one triangle only.
pub(super) fn rim(parts: &MixedMesh) -> Option<String> {
    let edges = triangle_edges(parts);
    let groups = edges.chunk_by(|a, b| a.0 == b.0);
    let mut single = groups
        .filter(|group| group.len() == 1)
        .map(|group| group[0]);
    let ([from, to], _, element) = single.next()?;
    let edges = 1 + single.count();
    Some(format!(
        "the surface is open: {edges} edges have one triangle, the first is {from} - {to} of {element}"
    ))
}

/// Nodes of a ring without [`NONE`].
fn nodes(ring: &[u32; 4]) -> &[u32] {
    match ring {
        [three @ .., NONE] => three,
        four => four,
    }
}

/// Creates a face with its key.
fn side(element: Element, ring: [u32; 4]) -> CellFace {
    let mut key = ring;
    key.sort_unstable();
    let nodes = nodes(&ring);
    let least = (0..nodes.len())
        .min_by_key(|&corner| nodes[corner])
        .unwrap_or(0);
    let next = nodes[(least + 1) % nodes.len()];
    let before = nodes[(least + nodes.len() - 1) % nodes.len()];
    CellFace {
        key,
        upward: next < before,
        element,
        ring,
    }
}

/// Edges of rings, each with the element of its ring, ascending.
fn edges(rings: impl Iterator<Item = (Element, [u32; 4])>) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (element, ring) in rings {
        let nodes = nodes(&ring);
        for (corner, &from) in nodes.iter().enumerate() {
            let to = nodes[(corner + 1) % nodes.len()];
            edges.push(([from.min(to), from.max(to)], from < to, element));
        }
    }
    edges.sort_unstable();
    edges
}
