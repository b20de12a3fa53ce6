//! Fracture of links by impact.
//!
//! Source: seed-001 row CL-04 and section 3.5 (strength of links); the rule is ours. The energy of a node's contact
//! breaks links of that node, the weakest first, as far as it suffices. So an impact with less energy than the
//! weakest link's toughness breaks nothing, and all broken links are paid for.

use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::nodes::VoxelNodes;

/// Result of an impact.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BrokenLinks {
    /// Number of broken links.
    pub links: usize,
    /// Their toughness, to be subtracted from the contact energy \[J\].
    pub paid_j: f64,
}

/// Breaks links that the contact energies \[J\], one per node, can pay for, in order. Links without toughness do not
/// break, since their cost is not defined.
pub fn shatter<R: Real>(
    nodes: &mut VoxelNodes<R>,
    contacts: impl IntoIterator<Item = (u32, f64)>,
) -> BrokenLinks {
    let mut broken = BrokenLinks::default();
    for (node, mut left_j) in contacts {
        while let Some((to, tough_j)) = weakest(nodes, node) {
            if left_j.is_nan() || tough_j > left_j {
                break;
            }
            nodes.cut(node, to);
            left_j -= tough_j;
            broken.links += 1;
            broken.paid_j += tough_j;
        }
    }
    broken
}

/// Returns the node's link of the least toughness, and its cost \[J\].
fn weakest<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> Option<(NeighbourDirection, f64)> {
    if !nodes.alive(node) {
        return None;
    }
    let mut weakest: Option<(NeighbourDirection, f64)> = None;
    for to in NeighbourDirection::ALL {
        let Some(other) = nodes.neighbour(node, to) else {
            continue;
        };
        let pair = [nodes.material(node), nodes.material(other)];
        let tough_j = nodes.bonds().of(pair[0], pair[1], to.axis()).cut_energy_j;
        if tough_j > 0.0 && weakest.is_none_or(|(_, least_j)| tough_j < least_j) {
            weakest = Some((to, tough_j));
        }
    }
    weakest
}
