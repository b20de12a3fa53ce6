//! Search for nodes at the same position.
//!
//! Source: ours. Two nodes within half a grid cell of each other share a cell of at least one of eight
//! grids that are shifted by half a cell along the axes. So eight sorts find every pair.

use palpate_twin::Vec3;

/// Nodes closer than this fraction of the mesh's extent are at the same position.
const SAME: f64 = 1e-9;

/// Pairs (node, earlier node) at the same position, ascending. `extent_m` is the longest extent of the mesh \[m\]. Positions
/// must be finite.
pub(super) fn coincident_nodes(
    nodes_m: &[Vec3],
    extent_m: f64,
) -> impl Iterator<Item = (usize, usize)> {
    let same_m = SAME * extent_m;
    let mut first_of: Vec<usize> = (0..nodes_m.len()).collect();
    let mut order: Vec<([i64; 3], usize)> = Vec::with_capacity(nodes_m.len());
    for shift in 0..8_u8 {
        order.clear();
        let keyed = nodes_m.iter().enumerate();
        order.extend(keyed.map(|(node, at_m)| (grain(at_m, 2.0 * same_m, shift), node)));
        order.sort_unstable();
        for group in order.chunk_by(|a, b| a.0 == b.0) {
            let (_, first) = group[0];
            for &(_, node) in &group[1..] {
                // corners of one cell may lie farther apart
                if (nodes_m[node] - nodes_m[first]).amax() <= same_m {
                    first_of[node] = first_of[node].min(first);
                }
            }
        }
    }
    let pairs = first_of.into_iter().enumerate();
    pairs.filter(|(node, first)| node != first)
}

/// Cell of a grid with cells of `grain_m` \[m\], shifted by half a cell along the axes of `shift`'s bits.
fn grain(at_m: &Vec3, grain_m: f64, shift: u8) -> [i64; 3] {
    [0_usize, 1, 2].map(|axis| {
        let half = if shift >> axis & 1 == 1 { 0.5 } else { 0.0 };
        let cell = (at_m[axis] / grain_m + half).floor();
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and NaN is 0")]
        let cell = cell as i64;
        cell
    })
}
