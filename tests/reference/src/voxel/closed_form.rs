//! Propagation in closed form: the displacement of every node of a block by one clamp.
//!
//! Source: seed-001 section 3.3.4. With one target, the links of a homogeneous box bound every node relative to the
//! target; the bounds depend only on the lattice offset between them. It is the oracle of every other propagation,
//! and the fastest for one held target.

use palpate_twin::law::Real;
use palpate_voxel::chainmail::NodeTarget;
use palpate_voxel::nodes::VoxelNodes;

/// Returns the range of a node's displacement relative to the target's \[m\], by axis of the world, for a node
/// `offset` sites away in a box of `material`.
#[must_use]
pub fn offset_bounds_m<R: Real>(
    nodes: &VoxelNodes<R>,
    material: u8,
    offset: [i32; 3],
) -> [(R, R); 3] {
    std::array::from_fn(|along| {
        let mut sum = (R::zero(), R::zero());
        for (axis, &steps) in offset.iter().enumerate() {
            let bond = nodes.bonds().of(material, material, axis);
            let count = R::of(f64::from(steps.abs()));
            // in the negative direction the bond is seen from its upper end
            let (least, most) = if steps >= 0 {
                (bond.least_m[along], bond.most_m[along])
            } else {
                (-bond.most_m[along], -bond.least_m[along])
            };
            sum = (sum.0 + count * least, sum.1 + count * most);
        }
        sum
    })
}

/// Moves a homogeneous box so that the target has its displacement. It is exact only for such a box, from a state
/// that keeps all limits.
pub fn clamp_block<R: Real>(nodes: &mut VoxelNodes<R>, target: &NodeTarget<R>) {
    let (material, centre) = (nodes.material(target.node), nodes.site(target.node));
    for node in 0..nodes.slots() {
        let site = nodes.site(node);
        let offset = std::array::from_fn(|axis| site[axis] - centre[axis]);
        let bounds = offset_bounds_m(nodes, material, offset);
        for (along, (least, most)) in bounds.into_iter().enumerate() {
            let moved_m = &mut nodes.displacement_m[along][node as usize];
            let to_m = target.displacement_m[along];
            *moved_m = (*moved_m).clamp(to_m + least, to_m + most);
        }
    }
}
