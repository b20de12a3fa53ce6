//! Hexahedral meshes: structured blocks, their sides, and checks of their cells.
//!
//! Source: ours; numbering of a cell's nodes as in VTK (cell type 12): bottom counter-clockwise
//! seen from above, then top.

use crate::Defect;
use crate::mesh::coincidence::coincident_nodes;
use crate::mesh::mesh_check::{dangling, not_finite};
use crate::mesh::mixed_mesh::size_m;
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

/// Volume over the cube of the longest edge below which a cell is flat.
pub(super) const VOLUME_RATIO_MIN: f64 = 1e-9;

/// A side of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockSide {
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

/// All sides, in the order of [`BlockSide`].
pub(super) const SIDES: [BlockSide; 6] = [
    BlockSide::XMin,
    BlockSide::XMax,
    BlockSide::YMin,
    BlockSide::YMax,
    BlockSide::ZMin,
    BlockSide::ZMax,
];

impl BlockSide {
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
    /// Positions of the nodes at rest \[m\].
    pub nodes_m: Vec<Vec3>,
    /// Nodes of every cell.
    pub cells: Vec<[u32; 8]>,
    /// Faces of every side, counter-clockwise seen from outside, in the order of [`BlockSide`].
    pub faces: [Vec<[u32; 4]>; 6],
}

impl HexMesh {
    /// Creates a block with its corner at the origin and these coordinates along x, y and z \[m\].
    ///
    /// # Errors
    /// Names the axis and coordinate that is out of order.
    pub fn block(axes_m: [&[f64]; 3]) -> Result<Self, Defect> {
        for (axis, coordinates) in axes_m.iter().enumerate() {
            // NaN compares to nothing, so it is out of order too
            let ascends = |w: &[f64]| w[0].partial_cmp(&w[1]) == Some(Ordering::Less);
            let first = (coordinates.len() < 2).then_some(0);
            let wrong = first.or(coordinates.windows(2).position(|w| !ascends(w)));
            if let Some(index) = wrong {
                let found = format!("axis {axis}: coordinate {index} is out of order");
                return Err(Defect::new(found, "at least 2, ascending"));
            }
        }
        let counts = axes_m.map(<[f64]>::len);
        let total = counts.iter().product::<usize>();
        if u32::try_from(total).is_err() {
            return Err(Defect::new(format!("{total} nodes"), "fewer than 2^32"));
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
    pub fn side(&self, side: BlockSide) -> &[[u32; 4]] {
        &self.faces[side as usize]
    }

    /// Nodes of one side, ascending, each once.
    #[must_use]
    pub fn side_nodes(&self, side: BlockSide) -> Vec<u32> {
        let mut nodes: Vec<u32> = self.side(side).iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Positions of the nodes of a cell \[m\].
    #[must_use]
    pub fn corners_m(&self, cell: usize) -> [Vec3; 8] {
        self.cells[cell].map(|node| self.nodes_m[node as usize])
    }

    /// Longest extent along an axis \[m\].
    #[must_use]
    pub fn extent_m(&self) -> f64 {
        size_m(&self.nodes_m).max()
    }

    /// Checks every node and cell.
    ///
    /// # Errors
    /// The first defect that makes the mesh unfit to simulate.
    pub fn check(&self) -> Result<(), Defect> {
        let mut nodes = self.nodes_m.iter().enumerate();
        if let Some(refusal) = nodes.find_map(|(node, at_m)| not_finite(node, at_m)) {
            return Err(refusal);
        }
        if let Some((node, first)) = coincident_nodes(&self.nodes_m, self.extent_m()).next() {
            return Err(Defect::from_text(format!(
                "node {node} is where node {first} is"
            )));
        }
        let mut used = vec![false; self.nodes_m.len()];
        for (cell, nodes) in self.cells.iter().enumerate() {
            for &node in nodes {
                let Some(flag) = used.get_mut(node as usize) else {
                    let found = format_args!("cell {cell} names node {node}");
                    return Err(dangling(found, self.nodes_m.len()));
                };
                *flag = true;
            }
            self.check_shape(cell)?;
        }
        match used.iter().position(|flag| !flag) {
            Some(node) => Err(Defect::from_text(format!("node {node} belongs to no cell"))),
            None => Ok(()),
        }
    }

    fn check_shape(&self, cell: usize) -> Result<(), Defect> {
        let corners_m = self.corners_m(cell);
        for corner in 0..8 {
            let ratio = corner_ratio(&corners_m, corner);
            if ratio.is_nan() || ratio <= VOLUME_RATIO_MIN {
                let found = format!("cell {cell} has volume {ratio} of its box at corner {corner}");
                return Err(Defect::new(found, "more than 0"));
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

/// Corner at the other end of the edge along `axis`.
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
    use crate::mesh::tests::even;

    fn block() -> HexMesh {
        let axis_m = even(0.1, 3);
        HexMesh::block([&axis_m, &axis_m, &even(0.05, 2)]).unwrap()
    }

    #[test]
    fn block_has_the_expected_counts() {
        let mesh = block();
        assert_eq!(mesh.nodes_m.len(), 4 * 4 * 3);
        assert_eq!(mesh.cells.len(), 3 * 3 * 2);
        assert_eq!(mesh.side(BlockSide::ZMax).len(), 9);
        assert_eq!(mesh.side(BlockSide::XMin).len(), 6);
        assert_eq!(mesh.side_nodes(BlockSide::ZMin).len(), 16);
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
    fn defects_are_named() {
        let refused = |change: &dyn Fn(&mut HexMesh)| {
            let mut mesh = block();
            change(&mut mesh);
            mesh.check().unwrap_err().to_string()
        };
        let text = refused(&|mesh| mesh.nodes_m[7].z = f64::NAN);
        assert!(text.starts_with("node 7 is at [0"), "{text}");
        let text = refused(&|mesh| mesh.nodes_m[9] = mesh.nodes_m[3]);
        assert_eq!(text, "node 9 is where node 3 is");
        // on either side of a border of any even grid of grains, but one place
        for step in 0..40_u8 {
            let shift_m = f64::from(step) * 0.13e-10;
            let text = refused(&|mesh| {
                mesh.nodes_m[9] = mesh.nodes_m[3] + Vec3::new(shift_m, 0.0, 0.0);
                mesh.nodes_m[3].x += shift_m - 0.5e-10;
            });
            assert_eq!(text, "node 9 is where node 3 is");
        }
        let text = refused(&|mesh| mesh.cells[2][1] = 99);
        assert_eq!(text, "cell 2 names node 99; expected an index below 48");
        let text = refused(&|mesh| mesh.nodes_m.push(Vec3::repeat(1.0)));
        assert_eq!(text, "node 48 belongs to no cell");
        // the middle layer's first node above the top
        let text = refused(&|mesh| mesh.nodes_m[16].z = 0.06);
        assert!(text.starts_with("cell 9 has volume -"), "{text}");
        let up_m = even(0.1, 2);
        let flat = HexMesh::block([&up_m, &[0.0, 0.1, 0.1], &up_m]);
        assert_eq!(
            flat.unwrap_err().to_string(),
            "axis 1: coordinate 1 is out of order; expected at least 2, ascending"
        );
    }
}
