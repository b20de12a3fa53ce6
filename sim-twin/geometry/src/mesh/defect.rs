//! What can be wrong or odd about cells and triangles, said of the element that has it.
//!
//! Source: ours. Findings make a mesh unfit to simulate or to touch; warnings make it suspicious.
//! Numbers and indices are looked at first, then cells, then the faces and edges between them: an
//! error of an earlier kind would only repeat itself in the later ones.

mod join;

use crate::mesh::check::volume_m3;
use crate::mesh::hex::{FLAT, corner_ratio};
use crate::mesh::parts::{Parts, size_m};
use crate::mesh::surface::Surface;
use crate::mesh::twins::twins;
use palpate_twin::Vec3;

/// Least and largest extent of tissue that is not worth a warning \[m\]: some cells, ten metres.
const EXTENT_M: [f64; 2] = [1e-5, 10.0];

/// Extents that a person would expect of tissue \[m\], to guess a unit by.
const USUAL_M: [f64; 2] = [2e-3, 2.0];

/// Kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A tetrahedron.
    Tet,
    /// A hexahedron.
    Hex,
    /// A triangle.
    Triangle,
}

/// An element: its kind and its index among those of its kind, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Element {
    /// Its kind.
    pub kind: Kind,
    /// Its index.
    pub index: usize,
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Tet => "tetrahedron",
            Kind::Hex => "hexahedron",
            Kind::Triangle => "triangle",
        };
        write!(f, "{kind} {}", self.index)
    }
}

/// Why a mesh is unfit to simulate or to touch.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Finding {
    /// There is nothing to simulate or touch.
    #[error("no cells and no triangles; expected at least one")]
    Empty,
    /// A coordinate is not a number.
    #[error("node {node} is at {:?} m; expected finite numbers", at_m.as_slice())]
    NonFinite {
        /// The node.
        node: usize,
        /// Its place \[m\].
        at_m: Vec3,
    },
    /// An element names a node that is not there.
    #[error("{element} names node {node}; expected an index below {limit}")]
    Dangling {
        /// The element.
        element: Element,
        /// The node that it names.
        node: u32,
        /// Number of nodes.
        limit: usize,
    },
    /// An element names a node twice.
    #[error("{element} names node {node} twice; expected different nodes")]
    Repeated {
        /// The element.
        element: Element,
        /// The node.
        node: u32,
    },
    /// Two nodes are at the same place.
    #[error("node {node} is where node {first} is")]
    DuplicateNode {
        /// The later node.
        node: usize,
        /// The earlier node.
        first: usize,
    },
    /// A cell is inside out or flat.
    #[error("{element} has {ratio} of the volume of its box; expected more than 0 ({})",
        if *ratio < 0.0 { "it is inside out" } else { "it is flat" })]
    Inverted {
        /// The cell.
        element: Element,
        /// Least Jacobian over the cube of the longest edge.
        ratio: f64,
    },
    /// A triangle without area.
    #[error(
        "{element} has {ratio} of the area of a square on its longest edge; expected more than 0"
    )]
    Sliver {
        /// The triangle.
        element: Element,
        /// Twice its area over the square of its longest edge.
        ratio: f64,
    },
    /// Two elements with the same nodes.
    #[error("{element} has the nodes of {first} again")]
    Duplicate {
        /// The later element.
        element: Element,
        /// The earlier element.
        first: Element,
    },
    /// A face with more than two cells.
    #[error("the face of {element} with nodes {nodes:?} belongs to {cells} cells; expected 1 or 2")]
    NonManifoldFace {
        /// One of the cells.
        element: Element,
        /// Three nodes of the face.
        nodes: [u32; 3],
        /// Number of cells that share it.
        cells: usize,
    },
    /// Two cells on the same side of a face.
    #[error("{element} and {other} lie on the same side of the face with nodes {nodes:?}")]
    Overlap {
        /// The later cell.
        element: Element,
        /// The earlier cell.
        other: Element,
        /// Three nodes of the face.
        nodes: [u32; 3],
    },
    /// An edge of the outside with more than two faces.
    #[error("edge {} - {} of {element} belongs to {faces} outer faces; expected 1 or 2", edge[0], edge[1])]
    NonManifoldEdge {
        /// One of the elements.
        element: Element,
        /// Nodes of the edge, lower index first.
        edge: [u32; 2],
        /// Number of faces that share it.
        faces: usize,
    },
    /// A triangle that looks the other way than its neighbour.
    #[error("{element} and {other} run the same way along edge {} - {}; one is turned over", edge[0], edge[1])]
    Flipped {
        /// The later triangle.
        element: Element,
        /// The earlier triangle.
        other: Element,
        /// Nodes of the edge, lower index first.
        edge: [u32; 2],
    },
    /// A node that no cell uses, or no triangle of a surface: nothing would hold it.
    #[error("node {node} belongs to no {}", if *volume { "cell" } else { "triangle" })]
    Loose {
        /// The node.
        node: usize,
        /// Whether the mesh has cells.
        volume: bool,
    },
}

/// Something odd in a mesh that can still be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Warning {
    /// The mesh is too large or too small for tissue.
    #[error("the mesh is {} m long; tissue is 0.00001 m to 10 m. {hint}", brief(*extent_m))]
    Extent {
        /// Longest side of the box around it \[m\].
        extent_m: f64,
        /// Which unit the file may be in.
        hint: String,
    },
    /// A surface with a rim.
    #[error("the surface is open: {edges} edges have one triangle, the first is {} - {} of triangle {triangle}", edge[0], edge[1])]
    Open {
        /// Number of such edges.
        edges: usize,
        /// Nodes of the first, lower index first.
        edge: [u32; 2],
        /// Its triangle.
        triangle: usize,
    },
    /// A closed surface that is inside out.
    #[error("the surface looks inward: its volume is {volume_m3} m3; expected more than 0")]
    Inward {
        /// Volume inside \[m^3\].
        volume_m3: f64,
    },
}

/// What is looked at: nodes and the elements over them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces<'a> {
    /// Places of the nodes \[m\].
    pub(super) nodes_m: &'a [Vec3],
    /// Tetrahedra.
    pub(super) tets: &'a [[u32; 4]],
    /// Hexahedra.
    pub(super) hexes: &'a [[u32; 8]],
    /// Triangles: the surface, or faces within the cells if there are cells.
    pub(super) triangles: &'a [[u32; 3]],
}

/// Everything that makes `parts` unfit to simulate or to touch, in the order of its elements.
#[must_use]
pub fn findings(parts: &Parts) -> Vec<Finding> {
    Pieces::of(parts).findings()
}

/// What is odd about `parts`, for a person to judge. Means little if there are findings.
#[must_use]
pub fn warnings(parts: &Parts) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = extent(parts.size_m().max()).into_iter().collect();
    let pieces = Pieces::of(parts);
    let limit = parts.nodes_m.len();
    let sound = pieces
        .elements()
        .all(|(_, nodes)| nodes.iter().all(|&node| (node as usize) < limit));
    if pieces.has_cells() || parts.triangles.is_empty() || !sound {
        return warnings;
    }
    if let Some(open) = pieces.rim() {
        warnings.push(open);
    } else {
        let volume_m3 = Surface::from_parts(parts).volume_m3();
        if volume_m3 < 0.0 {
            warnings.push(Warning::Inward { volume_m3 });
        }
    }
    warnings
}

/// A length in few digits, of whatever size it is.
fn brief(length_m: f64) -> String {
    match (1e-9..1e9).contains(&length_m) {
        true => length_m.to_string(),
        false => format!("{length_m:e}"),
    }
}

/// A warning if a mesh of this extent \[m\] is no tissue, with units that would make it one.
fn extent(extent_m: f64) -> Option<Warning> {
    let [least_m, most_m] = EXTENT_M;
    // a single place, or none, is reported as what it is
    if extent_m == 0.0 || (least_m..=most_m).contains(&extent_m) {
        return None;
    }
    let units = [("um", 1e-6), ("mm", 1e-3), ("cm", 1e-2), ("inches", 0.0254)];
    let mut hints = Vec::new();
    for (name, unit_m) in units {
        let (other_m, from) = if extent_m > most_m {
            (extent_m * unit_m, format!("{name} rather than m"))
        } else {
            (extent_m / unit_m, format!("m rather than {name}"))
        };
        if (USUAL_M[0]..=USUAL_M[1]).contains(&other_m) {
            hints.push(format!("{from} (then {other_m} m)"));
        }
    }
    let hint = if hints.is_empty() {
        "No usual unit explains it".to_owned()
    } else {
        format!("The file may be in {}", hints.join(" or "))
    };
    Some(Warning::Extent { extent_m, hint })
}

impl<'a> Pieces<'a> {
    fn of(parts: &'a Parts) -> Self {
        Self {
            nodes_m: &parts.nodes_m,
            tets: &parts.tets.nodes,
            hexes: &parts.hexes.nodes,
            triangles: &parts.triangles.nodes,
        }
    }

    fn has_cells(&self) -> bool {
        !self.tets.is_empty() || !self.hexes.is_empty()
    }

    /// All elements with their nodes: tetrahedra, hexahedra, triangles.
    fn elements(&self) -> impl Iterator<Item = (Element, &'a [u32])> {
        let tets = numbered(Kind::Tet, self.tets);
        let hexes = numbered(Kind::Hex, self.hexes);
        tets.chain(hexes)
            .chain(numbered(Kind::Triangle, self.triangles))
    }

    /// Everything that is wrong.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.elements().next().is_none() {
            findings.push(Finding::Empty);
        }
        self.numbers(&mut findings);
        self.indices(&mut findings);
        if findings.is_empty() {
            let twins = twins(self.nodes_m, self.extent_m());
            findings.extend(twins.map(|(node, first)| Finding::DuplicateNode { node, first }));
            self.shapes(&mut findings);
            self.repeats(&mut findings);
            self.loose(&mut findings);
        }
        if findings.is_empty() {
            self.joints(&mut findings);
        }
        findings
    }

    fn numbers(&self, findings: &mut Vec<Finding>) {
        for (node, &at_m) in self.nodes_m.iter().enumerate() {
            if !at_m.iter().all(|x| x.is_finite()) {
                findings.push(Finding::NonFinite { node, at_m });
            }
        }
    }

    fn indices(&self, findings: &mut Vec<Finding>) {
        let limit = self.nodes_m.len();
        for (element, nodes) in self.elements() {
            for (place, &node) in nodes.iter().enumerate() {
                if node as usize >= limit {
                    findings.push(Finding::Dangling {
                        element,
                        node,
                        limit,
                    });
                } else if nodes[..place].contains(&node) {
                    findings.push(Finding::Repeated { element, node });
                }
            }
        }
    }

    fn shapes(&self, findings: &mut Vec<Finding>) {
        let at_m = |node: u32| self.nodes_m[node as usize];
        let cells = self.tets.iter().map(|tet| tet_ratio(tet.map(at_m)));
        let tets = (0..)
            .zip(cells)
            .map(|(index, ratio)| (Kind::Tet, index, ratio));
        let cells = self.hexes.iter().map(|hex| hex_ratio(&hex.map(at_m)));
        let hexes = (0..)
            .zip(cells)
            .map(|(index, ratio)| (Kind::Hex, index, ratio));
        for (kind, index, ratio) in tets.chain(hexes) {
            if ratio.is_nan() || ratio <= FLAT {
                let element = Element { kind, index };
                findings.push(Finding::Inverted { element, ratio });
            }
        }
        for (index, triangle) in self.triangles.iter().enumerate() {
            let [a, b, c] = triangle.map(at_m);
            let longest_m = (b - a).norm().max((c - b).norm()).max((a - c).norm());
            let ratio = (b - a).cross(&(c - a)).norm() / (longest_m * longest_m);
            if ratio.is_nan() || ratio <= FLAT {
                let kind = Kind::Triangle;
                let element = Element { kind, index };
                findings.push(Finding::Sliver { element, ratio });
            }
        }
    }

    fn loose(&self, findings: &mut Vec<Finding>) {
        let volume = self.has_cells();
        let mut used = vec![false; self.nodes_m.len()];
        for (element, nodes) in self.elements() {
            if !volume || element.kind != Kind::Triangle {
                nodes.iter().for_each(|&node| used[node as usize] = true);
            }
        }
        let loose = used.iter().enumerate().filter(|(_, used)| !**used);
        findings.extend(loose.map(|(node, _)| Finding::Loose { node, volume }));
    }

    /// Longest side of the box around the nodes \[m\].
    fn extent_m(&self) -> f64 {
        size_m(self.nodes_m).max()
    }
}

fn numbered<const N: usize>(
    kind: Kind,
    cells: &[[u32; N]],
) -> impl Iterator<Item = (Element, &[u32])> {
    let element = move |index| Element { kind, index };
    let cells = cells.iter().enumerate();
    cells.map(move |(index, nodes)| (element(index), nodes.as_slice()))
}

/// Jacobian over the cube of the longest edge; 0.71 in the best tetrahedron.
fn tet_ratio(corners_m: [Vec3; 4]) -> f64 {
    let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    let lengths_m = pairs.map(|[a, b]: [usize; 2]| (corners_m[a] - corners_m[b]).norm());
    let longest_m = lengths_m.into_iter().fold(0.0, f64::max);
    6.0 * volume_m3(corners_m) / (longest_m * longest_m * longest_m)
}

/// Least Jacobian of the corners; 1 in a cube.
fn hex_ratio(corners_m: &[Vec3; 8]) -> f64 {
    let ratios = (0..8).map(|corner| corner_ratio(corners_m, corner));
    ratios.fold(f64::INFINITY, |least, ratio| {
        if ratio.is_nan() {
            ratio
        } else {
            least.min(ratio)
        }
    })
}

#[cfg(test)]
mod tests;
