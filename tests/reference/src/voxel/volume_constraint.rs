//! Volume constraint: compressed cells push their corners apart, within the limits of links.
//!
//! Source: seed-001 section 3.8(c) (row FU-02): the volume constraint of position based dynamics (Muller 2007), one
//! cell of eight linked nodes at a time, alternating with relaxation. A Dirichlet energy has no Poisson effect (W-01,
//! W-13), and this adds one.
//!
//! It moves nodes without regard to the energy of their links and may raise it. So
//! [`VoxelModel`](palpate_voxel::VoxelModel) does not use it: the added energy would have to be stored with a force
//! of its own, or come from an input, and it does neither. It is for shapes: pictures, studies, initial values of a
//! solve.

use nalgebra::Vector3;

use crate::voxel::relaxation::RelaxationError;
use crate::voxel::relaxation::allowed_range_m;
use crate::voxel::to_f64;
use palpate_twin::edits::NeighbourDirection::{Front, Right, Top};
use palpate_twin::law::Real;
use palpate_voxel::nodes::VoxelNodes;

/// Faces of a cell, counter-clockwise from outside; bits of a corner are its x, y and z.
const FACES: [[usize; 4]; 6] = [
    [0, 4, 6, 2],
    [1, 3, 7, 5],
    [0, 1, 5, 4],
    [2, 6, 7, 3],
    [0, 2, 3, 1],
    [4, 5, 7, 6],
];

/// Cells of a volume, and the share of their lost volume that a pass restores.
#[derive(Debug, Clone)]
pub struct VolumeConstraint {
    cells: Vec<[u32; 8]>,
    omega: f64,
}

impl VolumeConstraint {
    /// Returns the cells whose eight corners are all linked; edits invalidate them.
    ///
    /// # Errors
    /// [`RelaxationError`] if the share `omega` of the lost volume that a pass restores is not more than 0 and at
    /// most 1.
    pub fn new<R: Real>(nodes: &VoxelNodes<R>, omega: f64) -> Result<Self, RelaxationError> {
        if !(omega > 0.0 && omega <= 1.0) {
            return Err(RelaxationError {
                field: "omega",
                value: omega,
                expected: "more than 0, at most 1",
            });
        }
        let all = 0..nodes.slots();
        let cells = all.filter_map(|node| cell(nodes, node)).collect();
        Ok(Self { cells, omega })
    }

    /// Returns the number of cells.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// Returns their volume \[m^3\].
    #[must_use]
    pub fn volume_m3<R: Real>(&self, nodes: &VoxelNodes<R>) -> f64 {
        let volumes = self.cells.iter().map(|cell| {
            let (volume, _) = volume(&corners(nodes, cell));
            to_f64(volume)
        });
        volumes.sum()
    }

    /// Runs one pass over all cells; pinned nodes and those of `held` stay. Links within their limits stay within
    /// them.
    pub fn pass<R: Real>(&self, nodes: &mut VoxelNodes<R>, held: &[u32]) {
        let rest_m3 = R::of(nodes.frame().spacing_m.iter().product());
        for cell in &self.cells {
            let (volume, slopes) = volume(&corners(nodes, cell));
            let free = cell.map(|e| !nodes.pinned(e) && !held.contains(&e));
            let squares = slopes.iter().zip(free).map(|(slope, free)| {
                if free {
                    slope.norm_squared()
                } else {
                    R::zero()
                }
            });
            let sum = squares.fold(R::zero(), |a, b| a + b);
            let share = R::of(self.omega) * (rest_m3 - volume) / sum;
            if !(sum > R::zero() && share.is_finite()) {
                continue;
            }
            for ((&node, slope), free) in cell.iter().zip(slopes).zip(free) {
                let room = allowed_range_m(nodes, node);
                for along in (0..3).filter(|_| free) {
                    let own = nodes.displacement_m[along][node as usize];
                    let (least, most) = room[along];
                    let to_m = (own + share * slope[along]).clamp(least, most);
                    nodes.displacement_m[along][node as usize] = to_m;
                }
            }
        }
    }
}

/// Returns the cell to the right, top and front of a node, if all its links exist.
fn cell<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> Option<[u32; 8]> {
    let next = |from: u32, to| nodes.neighbour(from, to);
    let mut corners = [node; 8];
    for (at, (bit, to)) in [(1, Right), (2, Top), (4, Front)].into_iter().enumerate() {
        for low in 0..1 << at {
            corners[low + bit] = next(corners[low], to)?;
        }
    }
    let linked = (0..8_usize).all(|at| {
        [(1, Right), (2, Top), (4, Front)]
            .into_iter()
            .filter(|(bit, _)| at & bit == 0)
            .all(|(bit, to)| next(corners[at], to) == Some(corners[at + bit]))
    });
    linked.then_some(corners)
}

/// Returns the corners of a cell relative to its first one \[m\].
fn corners<R: Real>(nodes: &VoxelNodes<R>, cell: &[u32; 8]) -> [Vector3<R>; 8] {
    let spacing_m = nodes.frame().spacing_m;
    let first = Vector3::from(nodes.displacement_m(cell[0]));
    std::array::from_fn(|at| {
        let rest_m = Vector3::from_fn(|along, _| {
            if at >> along & 1 == 1 {
                R::of(spacing_m[along])
            } else {
                R::zero()
            }
        });
        rest_m + Vector3::from(nodes.displacement_m(cell[at])) - first
    })
}

/// Returns the volume of a cell with bilinear faces, each the mean of its two triangulations, and its gradient by
/// corner.
fn volume<R: Real>(at: &[Vector3<R>; 8]) -> (R, [Vector3<R>; 8]) {
    let share = R::of(1.0 / 12.0);
    let mut volume = R::zero();
    let mut slopes = [Vector3::zeros(); 8];
    for [a, b, c, d] in FACES {
        for [p, q, r] in [[a, b, c], [a, c, d], [a, b, d], [b, c, d]] {
            let slope = at[q].cross(&at[r]) * share;
            volume += at[p].dot(&slope);
            slopes[p] += slope;
            slopes[q] += at[r].cross(&at[p]) * share;
            slopes[r] += at[p].cross(&at[q]) * share;
        }
    }
    (volume, slopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_of_a_box_and_its_gradient_match_closed_form() {
        let (x, y, z) = (2.0, 3.0, 5.0);
        let mut at: [Vector3<f64>; 8] = std::array::from_fn(|i| {
            let side = |bit: usize, length: f64| if i & bit == 0 { 0.0 } else { length };
            Vector3::new(side(1, x), side(2, y), side(4, z))
        });
        assert!((volume(&at).0 - 30.0).abs() < 1e-12);
        at[6] += Vector3::new(0.3, -0.2, 0.4);
        at[1] += Vector3::new(0.1, 0.5, -0.3);
        let (before, slopes) = volume(&at);
        for (corner, slope) in slopes.iter().enumerate() {
            for along in 0..3 {
                let mut there = at;
                there[corner][along] += 1e-6;
                let got = (volume(&there).0 - before) / 1e-6;
                assert!((got - slope[along]).abs() < 1e-5, "{corner} {along}");
            }
        }
        let sum: Vector3<f64> = slopes.iter().sum();
        assert!(sum.norm() < 1e-12, "moving all changes nothing");
    }
}
