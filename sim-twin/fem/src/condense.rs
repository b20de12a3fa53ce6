//! Static condensation: what the nodes of a patch feel of everything below them. Done once, before a
//! session, for the predictor's table.
//!
//! Source: nested dissection (George 1973) by coordinates, multifrontal elimination (Duff and Reid
//! 1983; Liu 1992). The patch is the root and is not eliminated, so its front ends as the Schur
//! complement; no factor is kept, since nobody asks for the inside.

use super::front::{Front, NotPositive};
use super::sparse::BlockMatrix;
use palpate_twin::Vec3;

/// Node sets of at most this size are eliminated in one front.
const LEAF: usize = 24;

/// A set of nodes that is eliminated together, after its children.
struct Branch {
    nodes: Vec<u32>,
    children: Vec<Branch>,
}

/// A front that still has to go into its parent's: its nodes and their Schur complement.
struct Rest {
    nodes: Vec<u32>,
    front: Front,
}

/// Schur complement of `matrix` on the nodes `keep`, in their order; degree of freedom `3 a + i`.
///
/// # Errors
/// If the matrix is not positive definite.
pub(crate) fn condense(
    matrix: &BlockMatrix,
    places: &[Vec3],
    keep: &[u32],
) -> Result<Front, NotPositive> {
    let mut kept = vec![false; matrix.rows()];
    for &node in keep {
        kept[node as usize] = true;
    }
    #[expect(clippy::cast_possible_truncation, reason = "nodes are indexed by u32")]
    let inside = (0..matrix.rows() as u32).filter(|&node| !kept[node as usize]);
    let inside: Vec<u32> = inside.collect();
    let tree = dissect(matrix, places, inside, &mut vec![false; matrix.rows()]);
    let mut state = Elimination {
        matrix,
        gone: vec![false; matrix.rows()],
        slot: vec![usize::MAX; matrix.rows()],
    };
    let rest = state.eliminate(&tree)?;
    let mut front = Front::zeros(3 * keep.len());
    state.assemble(&mut front, keep, keep.len());
    state.extend(&mut front, keep, &rest);
    Ok(front)
}

/// Splits `nodes` by a plane across the axis with the most planes (not the longest one: graded cells
/// are long where nothing happens); the nodes on it separate the two sides.
fn dissect(
    matrix: &BlockMatrix,
    places: &[Vec3],
    mut nodes: Vec<u32>,
    left_of: &mut Vec<bool>,
) -> Branch {
    let leaf = |nodes| Branch {
        nodes,
        children: Vec::new(),
    };
    if nodes.len() <= LEAF {
        return leaf(nodes);
    }
    let axis = longest_axis(places, &nodes);
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
    Branch {
        children: sides
            .map(|side| dissect(matrix, places, side, left_of))
            .collect(),
        nodes: border,
    }
}

/// The axis along which the nodes have the most different coordinates.
fn longest_axis(places: &[Vec3], nodes: &[u32]) -> usize {
    let planes = |axis: usize| {
        let mut at: Vec<f64> = nodes.iter().map(|&n| places[n as usize][axis]).collect();
        at.sort_by(f64::total_cmp);
        at.dedup();
        at.len()
    };
    let counts = [planes(0), planes(1), planes(2)];
    (0..3).fold(0, |best, axis| {
        if counts[axis] > counts[best] {
            axis
        } else {
            best
        }
    })
}

struct Elimination<'a> {
    matrix: &'a BlockMatrix,
    /// Nodes that are eliminated.
    gone: Vec<bool>,
    /// Place of a node in the front at hand.
    slot: Vec<usize>,
}

impl Elimination<'_> {
    fn eliminate(&mut self, branch: &Branch) -> Result<Rest, NotPositive> {
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
            .filter(|&node| !self.gone[node as usize] && self.slot[node as usize] == usize::MAX)
            .collect();
        outer.sort_unstable();
        outer.dedup();
        nodes.extend_from_slice(&outer);
        let mut front = Front::zeros(3 * nodes.len());
        self.assemble(&mut front, &nodes, own);
        for rest in &rests {
            self.extend(&mut front, &nodes, rest);
        }
        drop(rests);
        front.eliminate(3 * own)?;
        for &node in &branch.nodes {
            self.gone[node as usize] = true;
            self.slot[node as usize] = usize::MAX;
        }
        Ok(Rest {
            front: trailing(&front, 3 * own),
            nodes: outer,
        })
    }

    /// Adds the matrix's blocks in the columns of the first `own` nodes.
    fn assemble(&mut self, front: &mut Front, nodes: &[u32], own: usize) {
        for (place, &node) in nodes.iter().enumerate() {
            self.slot[node as usize] = place;
        }
        for (place, &node) in nodes[..own].iter().enumerate() {
            for (column, block) in self.matrix.row_blocks(node) {
                let other = self.slot[column as usize];
                if self.gone[column as usize] || other == usize::MAX || other < place {
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
        for &node in nodes {
            self.slot[node as usize] = usize::MAX;
        }
    }

    /// Adds what a child left.
    fn extend(&mut self, front: &mut Front, nodes: &[u32], rest: &Rest) {
        for (place, &node) in nodes.iter().enumerate() {
            self.slot[node as usize] = place;
        }
        let slots: Vec<usize> = rest.nodes.iter().map(|&n| self.slot[n as usize]).collect();
        let size = rest.front.size;
        for column in 0..size {
            let to = 3 * slots[column / 3] + column % 3;
            for row in column..size {
                let at = 3 * slots[row / 3] + row % 3;
                let (low, high) = (to.min(at), to.max(at));
                front.entries[high + front.size * low] += rest.front.entries[row + size * column];
            }
        }
        for &node in nodes {
            self.slot[node as usize] = usize::MAX;
        }
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
    use crate::tests::even;
    use crate::{Solid, Support, Volumetric};
    use palpate_geometry::mesh::hex::{HexMesh, Side};
    use palpate_twin::law::{Family, Material};

    #[test]
    fn forces_on_the_patch_move_it_as_in_the_whole_block() {
        let axis_m = even(0.1, 6);
        let mesh = HexMesh::block([&axis_m, &axis_m, &even(0.1, 5)]).unwrap();
        let moduli = vec![Material::new(5e3, 0.45, 1e3).unwrap().moduli(); mesh.cells.len()];
        let supports = [Support::Fixed(Side::ZMin)];
        let law = (Family::NeoHookean, &moduli[..]);
        let solid = Solid::new(&mesh, law, &supports, Volumetric::Mean).unwrap();
        let mut matrix = BlockMatrix::pattern(solid.nodes.len(), &solid.cells);
        matrix.clear();
        let rest = vec![Vec3::zeros(); solid.nodes.len()];
        solid.add_stiffness(&rest, &mut matrix);
        matrix.fix(&solid.fixed);
        let keep = mesh.side_nodes(Side::ZMax);
        let schur = condense(&matrix, &solid.nodes, &keep).unwrap();
        let single: Vec<_> = (0..schur.size)
            .map(|unknown| vec![(unknown, 1.0)])
            .collect();
        let compliance = schur.respond(&single).unwrap();
        for (load, axis) in [(0, 2), (17, 0), (24, 1)] {
            let mut forces = rest.clone();
            forces[keep[load] as usize][axis] = 1.0;
            let (exact, _) = crate::tests::truth::solve(&matrix, &forces, 1e-12, 4000);
            for (place, &node) in keep.iter().enumerate() {
                let column = schur.size * (3 * load + axis) + 3 * place;
                let found = Vec3::from_column_slice(&compliance.entries[column..][..3]);
                assert!((found - exact[node as usize]).amax() < 1e-8);
            }
        }
    }

    #[test]
    fn a_block_that_nothing_holds_is_refused() {
        let mut front = Front::zeros(2);
        front
            .entries
            .copy_from_slice(&[1.0, -1.0, -1.0, 1.0 - 1e-9]);
        assert!(front.eliminate(2).is_err());
    }
}
