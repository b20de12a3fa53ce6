//! Hexahedral meshes: structured blocks, their sides, and what can be wrong with them.
//!
//! Source: ours; numbering of a cell's nodes as in VTK (cell type 12): bottom counter-clockwise
//! seen from above, then top.

use crate::mesh::grade::GradeError;
use crate::mesh::twins::twins;
use palpate_twin::Vec3;
use std::cmp::Ordering;

/// Signs of the corners of the unit cell, in the order of a cell's nodes.
pub const CORNERS: [[f64; 3]; 8] = [
    [-1.0, -1.0, -1.0],
    [1.0, -1.0, -1.0],
    [1.0, 1.0, -1.0],
    [-1.0, 1.0, -1.0],
    [-1.0, -1.0, 1.0],
    [1.0, -1.0, 1.0],
    [1.0, 1.0, 1.0],
    [-1.0, 1.0, 1.0],
];

/// A cell whose volume is less than this share of a cube of its edge is flat.
pub(super) const FLAT: f64 = 1e-9;

/// A side of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Least x.
    XMin,
    /// Largest x.
    XMax,
    /// Least y.
    YMin,
    /// Largest y.
    YMax,
    /// Bottom.
    ZMin,
    /// Top.
    ZMax,
}

/// All sides, in the order of [`Side`].
pub const SIDES: [Side; 6] = [
    Side::XMin,
    Side::XMax,
    Side::YMin,
    Side::YMax,
    Side::ZMin,
    Side::ZMax,
];

impl Side {
    /// Nodes of a cell on this side, counter-clockwise seen from outside.
    #[must_use]
    pub fn corners(self) -> [usize; 4] {
        match self {
            Self::XMin => [0, 4, 7, 3],
            Self::XMax => [1, 2, 6, 5],
            Self::YMin => [0, 1, 5, 4],
            Self::YMax => [2, 3, 7, 6],
            Self::ZMin => [0, 3, 2, 1],
            Self::ZMax => [4, 5, 6, 7],
        }
    }
}

/// Hexahedra with the faces of their boundary by side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HexMesh {
    /// Places of the nodes at rest \[m\].
    pub nodes_m: Vec<Vec3>,
    /// Nodes of every cell.
    pub cells: Vec<[u32; 8]>,
    /// Faces of every side, counter-clockwise seen from outside, in the order of [`SIDES`].
    pub faces: [Vec<[u32; 4]>; 6],
}

/// Why a mesh cannot be made or is unfit to simulate.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum HexError {
    /// An axis cannot be graded.
    #[error(transparent)]
    Grade(#[from] GradeError),
    /// Coordinates of an axis are too few or do not ascend.
    #[error("axis {axis}: coordinate {index} is out of order; expected at least 2, ascending")]
    Axis {
        /// 0, 1 or 2.
        axis: usize,
        /// Index of the coordinate.
        index: usize,
    },
    /// More nodes than an index holds.
    #[error("{0} nodes; expected fewer than 2^32")]
    Nodes(usize),
    /// A coordinate is not a number.
    #[error("node {node} is at {:?} m; expected finite numbers", at_m.as_slice())]
    NonFinite {
        /// The node.
        node: usize,
        /// Its place \[m\].
        at_m: Vec3,
    },
    /// Two nodes are at the same place.
    #[error("node {node} is where node {first} is")]
    Duplicate {
        /// The later node.
        node: usize,
        /// The earlier node.
        first: usize,
    },
    /// A cell names a node that is not there.
    #[error("cell {cell} names node {node}; expected an index below {limit}")]
    Dangling {
        /// The cell.
        cell: usize,
        /// The node that it names.
        node: u32,
        /// Number of nodes.
        limit: usize,
    },
    /// A cell is inside out or flat at a corner.
    #[error("cell {cell} has volume {ratio} of its box at corner {corner}; expected more than 0")]
    Inverted {
        /// The cell.
        cell: usize,
        /// Its corner, 0 to 7.
        corner: usize,
        /// Jacobian there over the volume of a cube with the cell's longest edge.
        ratio: f64,
    },
    /// A node that no cell uses: nothing would hold it.
    #[error("node {node} belongs to no cell")]
    Loose {
        /// The node.
        node: usize,
    },
}

impl HexMesh {
    /// A block with its corner at the origin and these coordinates along x, y and z \[m\].
    ///
    /// # Errors
    /// Names the axis and coordinate that is out of order.
    pub fn block(axes_m: [&[f64]; 3]) -> Result<Self, HexError> {
        for (axis, coordinates) in axes_m.iter().enumerate() {
            if coordinates.len() < 2 {
                return Err(HexError::Axis { axis, index: 0 });
            }
            // what is not a number compares to nothing, so it is out of order too
            let ascends = |w: &[f64]| w[0].partial_cmp(&w[1]) == Some(Ordering::Less);
            let wrong = coordinates.windows(2).position(|w| !ascends(w));
            if let Some(index) = wrong {
                return Err(HexError::Axis { axis, index });
            }
        }
        let counts = axes_m.map(<[f64]>::len);
        let total = counts.iter().product::<usize>();
        if u32::try_from(total).is_err() {
            return Err(HexError::Nodes(total));
        }
        let mut mesh = Self::default();
        for &z in axes_m[2] {
            for &y in axes_m[1] {
                mesh.nodes_m
                    .extend(axes_m[0].iter().map(|&x| Vec3::new(x, y, z)));
            }
        }
        mesh.fill(counts);
        mesh.check()?;
        Ok(mesh)
    }

    fn fill(&mut self, counts: [usize; 3]) {
        #[expect(clippy::cast_possible_truncation, reason = "checked by the caller")]
        let node = |i: usize, j: usize, k: usize| (i + counts[0] * (j + counts[1] * k)) as u32;
        let last = counts.map(|count| count - 2);
        for k in 0..=last[2] {
            for j in 0..=last[1] {
                for i in 0..=last[0] {
                    let ring = |k| {
                        [
                            node(i, j, k),
                            node(i + 1, j, k),
                            node(i + 1, j + 1, k),
                            node(i, j + 1, k),
                        ]
                    };
                    let ([a, b, c, d], [e, f, g, h]) = (ring(k), ring(k + 1));
                    let cell = [a, b, c, d, e, f, g, h];
                    let at = [i, j, k];
                    for (side, faces) in SIDES.iter().zip(&mut self.faces) {
                        let (axis, high) = (*side as usize / 2, *side as usize % 2 == 1);
                        if at[axis] == if high { last[axis] } else { 0 } {
                            faces.push(side.corners().map(|corner| cell[corner]));
                        }
                    }
                    self.cells.push(cell);
                }
            }
        }
    }

    /// Faces of one side.
    #[must_use]
    pub fn side(&self, side: Side) -> &[[u32; 4]] {
        &self.faces[side as usize]
    }

    /// Nodes of one side, ascending, each once.
    #[must_use]
    pub fn side_nodes(&self, side: Side) -> Vec<u32> {
        let mut nodes: Vec<u32> = self.side(side).iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Places of the nodes of a cell \[m\].
    #[must_use]
    pub fn corners_m(&self, cell: usize) -> [Vec3; 8] {
        self.cells[cell].map(|node| self.nodes_m[node as usize])
    }

    /// Longest extent along an axis \[m\].
    #[must_use]
    pub fn extent_m(&self) -> f64 {
        let low = self
            .nodes_m
            .iter()
            .fold(Vec3::repeat(f64::MAX), |a, b| a.inf(b));
        let high = self
            .nodes_m
            .iter()
            .fold(Vec3::repeat(f64::MIN), |a, b| a.sup(b));
        (high - low).max()
    }

    /// Looks at every node and cell.
    ///
    /// # Errors
    /// The first thing that makes the mesh unfit to simulate.
    pub fn check(&self) -> Result<(), HexError> {
        self.check_nodes()?;
        let mut used = vec![false; self.nodes_m.len()];
        for (cell, nodes) in self.cells.iter().enumerate() {
            for &node in nodes {
                let Some(seen) = used.get_mut(node as usize) else {
                    let limit = self.nodes_m.len();
                    return Err(HexError::Dangling { cell, node, limit });
                };
                *seen = true;
            }
            self.check_shape(cell)?;
        }
        match used.iter().position(|seen| !seen) {
            Some(node) => Err(HexError::Loose { node }),
            None => Ok(()),
        }
    }

    fn check_nodes(&self) -> Result<(), HexError> {
        for (node, &at_m) in self.nodes_m.iter().enumerate() {
            if !at_m.iter().all(|x| x.is_finite()) {
                return Err(HexError::NonFinite { node, at_m });
            }
        }
        match twins(&self.nodes_m, self.extent_m()).next() {
            Some((node, first)) => Err(HexError::Duplicate { node, first }),
            None => Ok(()),
        }
    }

    fn check_shape(&self, cell: usize) -> Result<(), HexError> {
        let corners_m = self.corners_m(cell);
        for corner in 0..8 {
            let ratio = corner_ratio(&corners_m, corner);
            if ratio.is_nan() || ratio <= FLAT {
                return Err(HexError::Inverted {
                    cell,
                    corner,
                    ratio,
                });
            }
        }
        Ok(())
    }
}

/// Jacobian at a corner of a cell over the volume of a cube with the corner's longest edge.
pub(super) fn corner_ratio(corners_m: &[Vec3; 8], corner: usize) -> f64 {
    // at a corner the Jacobian is the triple product of its three edges
    let mut edges = [Vec3::zeros(); 3];
    for (axis, edge) in edges.iter_mut().enumerate() {
        let other = opposite(corner, axis);
        *edge = (corners_m[other] - corners_m[corner]) * -CORNERS[corner][axis];
    }
    let longest = edges.iter().map(|edge| edge.norm()).fold(0.0, f64::max);
    edges[0].dot(&edges[1].cross(&edges[2])) / (longest * longest * longest)
}

/// The corner at the other end of the edge along `axis`.
fn opposite(corner: usize, axis: usize) -> usize {
    let mut wanted = CORNERS[corner];
    wanted[axis] = -wanted[axis];
    CORNERS
        .iter()
        .position(|signs| *signs == wanted)
        .unwrap_or(corner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::grade::even;

    fn block() -> HexMesh {
        let axis_m = even(0.1, 3);
        HexMesh::block([&axis_m, &axis_m, &even(0.05, 2)]).unwrap()
    }

    #[test]
    fn a_block_has_the_right_numbers() {
        let mesh = block();
        assert_eq!(mesh.nodes_m.len(), 4 * 4 * 3);
        assert_eq!(mesh.cells.len(), 3 * 3 * 2);
        assert_eq!(mesh.side(Side::ZMax).len(), 9);
        assert_eq!(mesh.side(Side::XMin).len(), 6);
        assert_eq!(mesh.side_nodes(Side::ZMin).len(), 16);
        assert!((mesh.extent_m() - 0.1).abs() < 1e-15);
    }

    #[test]
    fn faces_look_outward() {
        let mesh = block();
        let middle_m = Vec3::new(0.05, 0.05, 0.025);
        for side in SIDES {
            for face in mesh.side(side) {
                let [a, b, c, d] = face.map(|node| mesh.nodes_m[node as usize]);
                let normal = (c - a).cross(&(d - b));
                assert!(normal.dot(&((a + c) * 0.5 - middle_m)) > 0.0, "{side:?}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut mesh = block();
        mesh.nodes_m[7].z = f64::NAN;
        assert!(matches!(
            mesh.check(),
            Err(HexError::NonFinite { node: 7, .. })
        ));
        let mut mesh = block();
        mesh.nodes_m[9] = mesh.nodes_m[3];
        assert_eq!(mesh.check(), Err(HexError::Duplicate { node: 9, first: 3 }));
        // on either side of a border of any even grid of grains, but one place
        for step in 0..40_u8 {
            let mut mesh = block();
            let shift_m = f64::from(step) * 0.13e-10;
            mesh.nodes_m[9] = mesh.nodes_m[3] + Vec3::new(shift_m, 0.0, 0.0);
            mesh.nodes_m[3].x += shift_m - 0.5e-10;
            assert_eq!(mesh.check(), Err(HexError::Duplicate { node: 9, first: 3 }));
        }
        let mut mesh = block();
        mesh.cells[2][1] = 99;
        assert!(matches!(
            mesh.check(),
            Err(HexError::Dangling {
                cell: 2,
                node: 99,
                ..
            })
        ));
        let mut mesh = block();
        mesh.nodes_m.push(Vec3::repeat(1.0));
        assert_eq!(mesh.check(), Err(HexError::Loose { node: 48 }));
        let mut mesh = block();
        // the middle layer's first node above the top
        mesh.nodes_m[16].z = 0.06;
        assert!(matches!(
            mesh.check(),
            Err(HexError::Inverted { cell: 9, .. })
        ));
        let up_m = even(0.1, 2);
        assert_eq!(
            HexMesh::block([&up_m, &[0.0, 0.1, 0.1], &up_m]),
            Err(HexError::Axis { axis: 1, index: 1 })
        );
    }
}
