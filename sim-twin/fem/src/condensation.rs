//! Static condensation of a solid onto the nodes of a surface patch.
//!
//! Runs once, before a session, for the predictor's table.
//!
//! Source: nested dissection (George 1973) by coordinates, multifrontal elimination (Duff and Reid 1983; Liu
//! 1992). The patch is the root and is not eliminated, so its front ends as the Schur complement. No factor
//! is kept, because inner displacements are not needed.

use super::front::{Front, NotPositiveDefinite};
use super::sparse::BlockMatrix;
use palpate_twin::Vec3;

/// Largest node set that is eliminated in one front.
const LEAF: usize = 24;

/// Set of nodes that is eliminated together, after its children.
struct DissectionNode {
    nodes: Vec<u32>,
    children: Vec<DissectionNode>,
}

/// Front that must still be added to its parent's: its nodes and their Schur complement.
struct PendingFront {
    nodes: Vec<u32>,
    front: Front,
}

/// Returns the Schur complement of `matrix` on the nodes `keep`, in their order; degree of freedom `3 a + i`.
///
/// Fails if the matrix is not positive definite.
pub(crate) fn condense(
    matrix: &BlockMatrix,
    places: &[Vec3],
    keep: &[u32],
) -> Result<Front, NotPositiveDefinite> {
    let mut is_kept = vec![false; matrix.rows()];
    for &node in keep {
        is_kept[node as usize] = true;
    }
    #[expect(clippy::cast_possible_truncation, reason = "nodes are indexed by u32")]
    let inside = (0..matrix.rows() as u32).filter(|&node| !is_kept[node as usize]);
    let inside: Vec<u32> = inside.collect();
    let tree = dissect(matrix, places, inside, &mut vec![false; matrix.rows()]);
    let mut state = Elimination {
        matrix,
        eliminated: vec![false; matrix.rows()],
        slot: vec![usize::MAX; matrix.rows()],
    };
    let rest = state.eliminate(&tree)?;
    Ok(state.assemble(keep, keep.len(), &[rest]))
}

/// Splits `nodes` by a plane across the axis with the most planes; the nodes on it separate the two sides.
/// The longest axis is not used, because graded cells are long where nothing changes.
fn dissect(
    matrix: &BlockMatrix,
    places: &[Vec3],
    mut nodes: Vec<u32>,
    left_of: &mut Vec<bool>,
) -> DissectionNode {
    let leaf = |nodes| DissectionNode {
        nodes,
        children: Vec::new(),
    };
    if nodes.len() <= LEAF {
        return leaf(nodes);
    }
    let axis = axis_with_most_planes(places, &nodes);
    let key = |node: &u32| places[*node as usize][axis];
    nodes.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
    let cut = key(&nodes[nodes.len() / 2]);
    let (left, rest): (Vec<u32>, Vec<u32>) = nodes.iter().partition(|node| key(node) < cut);
    if left.is_empty() {
        return leaf(nodes);
    }
    for &node in &left {
        left_of[node as usize] = true;
    }
    let touches = |node: &u32| matrix.row(*node).any(|column| left_of[column as usize]);
    let (border, right): (Vec<u32>, Vec<u32>) = rest.into_iter().partition(touches);
    for &node in &left {
        left_of[node as usize] = false;
    }
    let sides = [left, right].into_iter().filter(|side| !side.is_empty());
    DissectionNode {
        children: sides
            .map(|side| dissect(matrix, places, side, left_of))
            .collect(),
        nodes: border,
    }
}

/// Returns the axis along which the nodes have the most distinct coordinates, of equal ones the first.
fn axis_with_most_planes(places: &[Vec3], nodes: &[u32]) -> usize {
    let planes = |axis: &usize| {
        let at = nodes.iter().map(|&node| &places[node as usize]);
        coordinates(at, *axis).len()
    };
    (0..3).rev().max_by_key(planes).unwrap_or_default()
}

/// Returns the distinct coordinates of places along an axis, ascending.
pub(super) fn coordinates<'a>(places: impl Iterator<Item = &'a Vec3>, axis: usize) -> Vec<f64> {
    let mut all: Vec<f64> = places.map(|place| place[axis]).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

struct Elimination<'a> {
    matrix: &'a BlockMatrix,
    /// Nodes that are eliminated.
    eliminated: Vec<bool>,
    /// Index of a node in the current front.
    slot: Vec<usize>,
}

impl Elimination<'_> {
    fn eliminate(&mut self, branch: &DissectionNode) -> Result<PendingFront, NotPositiveDefinite> {
        let mut rests = Vec::with_capacity(branch.children.len());
        for child in &branch.children {
            rests.push(self.eliminate(child)?);
        }
        let own = branch.nodes.len();
        let mut nodes = branch.nodes.clone();
        for &node in &branch.nodes {
            self.slot[node as usize] = 0;
        }
        let mut outer: Vec<u32> = branch
            .nodes
            .iter()
            .flat_map(|&node| self.matrix.row(node))
            .chain(rests.iter().flat_map(|rest| rest.nodes.iter().copied()))
            .filter(|&node| {
                !self.eliminated[node as usize] && self.slot[node as usize] == usize::MAX
            })
            .collect();
        outer.sort_unstable();
        outer.dedup();
        nodes.extend_from_slice(&outer);
        let mut front = self.assemble(&nodes, own, &rests);
        drop(rests);
        front.eliminate(3 * own)?;
        for &node in &branch.nodes {
            self.eliminated[node as usize] = true;
        }
        Ok(PendingFront {
            front: trailing(&front, 3 * own),
            nodes: outer,
        })
    }

    /// Returns the front of some nodes: the matrix's blocks in the columns of the first `own` nodes, and the Schur
    /// complements of the children.
    fn assemble(&mut self, nodes: &[u32], own: usize, children: &[PendingFront]) -> Front {
        let mut front = Front::zeros(3 * nodes.len());
        for (place, &node) in nodes.iter().enumerate() {
            self.slot[node as usize] = place;
        }
        for (place, &node) in nodes[..own].iter().enumerate() {
            for (column, block) in self.matrix.row_blocks(node) {
                let other = self.slot[column as usize];
                if self.eliminated[column as usize] || other == usize::MAX || other < place {
                    continue;
                }
                // symmetric: the block of the row is the transposed one of the column
                for i in 0..3 {
                    for j in 0..3 {
                        let (row, column) = (3 * other + j, 3 * place + i);
                        front.entries[row + front.size * column] += block[(i, j)];
                    }
                }
            }
        }
        for PendingFront { nodes, front: rest } in children {
            let slots: Vec<usize> = nodes.iter().map(|&n| self.slot[n as usize]).collect();
            for column in 0..rest.size {
                let to = 3 * slots[column / 3] + column % 3;
                for row in column..rest.size {
                    let at = 3 * slots[row / 3] + row % 3;
                    let (low, high) = (to.min(at), to.max(at));
                    front.entries[high + front.size * low] +=
                        rest.entries[row + rest.size * column];
                }
            }
        }
        for &node in nodes {
            self.slot[node as usize] = usize::MAX;
        }
        front
    }
}

fn trailing(front: &Front, from: usize) -> Front {
    let mut rest = Front::zeros(front.size - from);
    for column in 0..rest.size {
        let source = &front.entries[from + front.size * (from + column)..][..rest.size];
        rest.entries[rest.size * column..][..rest.size].copy_from_slice(source);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Solid;
    use crate::tests::evenly_spaced;
    use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
    use palpate_twin::law::{LawFamily, Material};

    #[test]
    fn condensed_patch_responds_as_the_whole_block() {
        let axis_m = evenly_spaced(0.1, 6);
        let mesh = HexMesh::block([&axis_m, &axis_m, &evenly_spaced(0.1, 5)]).unwrap();
        let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); mesh.cells.len()];
        let solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli);
        let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
        matrix.clear();
        let rest = vec![Vec3::zeros(); solid.nodes.len()];
        solid.add_stiffness(&rest, &mut matrix);
        matrix.fix(&solid.fixed);
        let keep = mesh.side_nodes(BlockSide::ZMax);
        let schur = condense(&matrix, &solid.nodes, &keep).unwrap();
        let single: Vec<_> = (0..schur.size)
            .map(|unknown| vec![(unknown, 1.0)])
            .collect();
        let compliance = schur.respond(&single).unwrap();
        for (load, axis) in [(0, 2), (17, 0), (24, 1)] {
            let mut forces = rest.clone();
            forces[keep[load] as usize][axis] = 1.0;
            let (expected, _) =
                crate::tests::static_reference::solve(&matrix, &forces, 1e-12, 4000);
            for (place, &node) in keep.iter().enumerate() {
                let column = schur.size * (3 * load + axis) + 3 * place;
                let found = Vec3::from_column_slice(&compliance.entries[column..][..3]);
                assert!((found - expected[node as usize]).amax() < 1e-8);
            }
        }
    }

    #[test]
    fn an_unsupported_block_is_refused() {
        let mut front = Front::zeros(2);
        front
            .entries
            .copy_from_slice(&[1.0, -1.0, -1.0, 1.0 - 1e-9]);
        assert!(front.eliminate(2).is_err());
    }
}
