//! How cells and triangles hang together: equal ones, shared faces, shared edges, rims.
//!
//! Source: ours.

use super::{Element, Finding, Kind, Pieces, Warning};
use crate::mesh::hex::SIDES;
use crate::mesh::tet::FACES;

/// Node of a triangle's missing fourth corner.
const NONE: u32 = u32::MAX;

/// A face of a cell: its nodes ascending, whether it runs upward, and whose it is.
type Side = ([u32; 4], bool, Element, [u32; 4]);
/// An edge of an outer face: its nodes ascending, whether it runs upward, and whose it is.
type Edge = ([u32; 2], bool, Element);

impl Pieces<'_> {
    /// Names every element that has the nodes of an earlier one.
    pub(super) fn repeats(&self, findings: &mut Vec<Finding>) {
        let mut keyed: Vec<([u32; 8], Element)> = Vec::new();
        for (element, nodes) in self.elements() {
            let mut key = [NONE; 8];
            key[..nodes.len()].copy_from_slice(nodes);
            key.sort_unstable();
            keyed.push((key, element));
        }
        keyed.sort_unstable();
        let mut again = Vec::new();
        for group in keyed.chunk_by(|a, b| a.0 == b.0) {
            let first = group[0].1;
            let later = group[1..].iter().map(|&(_, element)| element);
            again.extend(later.map(|element| Finding::Duplicate { element, first }));
        }
        findings.extend(again);
    }

    /// Names faces with more than two cells and edges of the outside with more than two faces.
    pub(super) fn joints(&self, findings: &mut Vec<Finding>) {
        let outside = self.outside(findings);
        if !findings.is_empty() {
            return;
        }
        let mut edges: Vec<Edge> = Vec::new();
        if self.has_cells() {
            outside
                .iter()
                .for_each(|(_, _, element, ring)| edge_ring(*element, ring, &mut edges));
        } else {
            edges = self.triangle_edges();
        }
        edges.sort_unstable();
        for group in edges.chunk_by(|a, b| a.0 == b.0) {
            let (edge, upward, other) = group[0];
            if group.len() > 2 {
                // they are sorted by how they run first
                let element = group.iter().fold(other, |last, edge| last.max(edge.2));
                let faces = group.len();
                findings.push(Finding::NonManifoldEdge {
                    element,
                    edge,
                    faces,
                });
            } else if let Some(&(_, also, element)) = group.get(1)
                && also == upward
            {
                findings.push(Finding::Flipped {
                    element,
                    other,
                    edge,
                });
            }
        }
    }

    /// Faces of cells that have no neighbour; names those with too many.
    fn outside(&self, findings: &mut Vec<Finding>) -> Vec<Side> {
        let mut sides: Vec<Side> = Vec::new();
        for (index, tet) in self.tets.iter().enumerate() {
            let element = Element {
                kind: Kind::Tet,
                index,
            };
            for [a, b, c] in FACES {
                sides.push(side(element, [tet[a], tet[b], tet[c], NONE]));
            }
        }
        for (index, hex) in self.hexes.iter().enumerate() {
            let element = Element {
                kind: Kind::Hex,
                index,
            };
            for face in SIDES {
                sides.push(side(element, face.corners().map(|corner| hex[corner])));
            }
        }
        sides.sort_unstable();
        let mut outside = Vec::new();
        for group in sides.chunk_by(|a, b| a.0 == b.0) {
            let ([a, b, c, _], upward, other, _) = group[0];
            let nodes = [a, b, c];
            match group {
                [one] => outside.push(*one),
                [_, (_, also, element, _)] if *also == upward => {
                    let element = *element;
                    findings.push(Finding::Overlap {
                        element,
                        other,
                        nodes,
                    });
                }
                [_, _] => {}
                _ => {
                    let element = group.iter().fold(other, |last, side| last.max(side.2));
                    let cells = group.len();
                    findings.push(Finding::NonManifoldFace {
                        element,
                        nodes,
                        cells,
                    });
                }
            }
        }
        outside
    }

    fn triangle_edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for (index, &[a, b, c]) in self.triangles.iter().enumerate() {
            let element = Element {
                kind: Kind::Triangle,
                index,
            };
            edge_ring(element, &[a, b, c, NONE], &mut edges);
        }
        edges
    }

    /// The edges of the triangles that belong to one only.
    pub(super) fn rim(&self) -> Option<Warning> {
        let mut edges = self.triangle_edges();
        edges.sort_unstable();
        let groups = edges.chunk_by(|a, b| a.0 == b.0);
        let mut single = groups
            .filter(|group| group.len() == 1)
            .map(|group| group[0]);
        let (edge, _, element) = single.next()?;
        let (edges, triangle) = (1 + single.count(), element.index);
        Some(Warning::Open {
            edges,
            edge,
            triangle,
        })
    }
}

/// A face with its key; two cells on its two sides run opposite ways.
fn side(element: Element, ring: [u32; 4]) -> Side {
    let mut key = ring;
    key.sort_unstable();
    let nodes = if ring[3] == NONE {
        &ring[..3]
    } else {
        &ring[..]
    };
    let least = (0..nodes.len())
        .min_by_key(|&corner| nodes[corner])
        .unwrap_or(0);
    let next = nodes[(least + 1) % nodes.len()];
    let before = nodes[(least + nodes.len() - 1) % nodes.len()];
    (key, next < before, element, ring)
}

fn edge_ring(element: Element, ring: &[u32; 4], edges: &mut Vec<Edge>) {
    let nodes = if ring[3] == NONE {
        &ring[..3]
    } else {
        &ring[..]
    };
    for (corner, &from) in nodes.iter().enumerate() {
        let to = nodes[(corner + 1) % nodes.len()];
        edges.push(([from.min(to), from.max(to)], from < to, element));
    }
}
