//! Hanging nodes: constraint of a finer grid to the coarser one.
//!
//! Source: hanging nodes follow the corners of the coarser faces on which they lie, with equal weights. Their
//! forces and masses go to those corners by the same weights, so the constraint does no work, passes a
//! uniform strain, and keeps action equal to reaction. The corners, called the rim, step as often as the
//! faster of both grids.

use super::cells::Field;
use super::grid::{Grid, Motion};
use multiversion::multiversion;
use palpate_twin::law::Real;

/// Nodes of one grid as weighted sums of nodes of the other: rows of a sparse matrix.
#[derive(Debug, Clone, Default)]
pub(super) struct SparseRows {
    pub(super) nodes: Vec<u32>,
    /// Index of the first part of each row, and of the end of the last.
    starts: Vec<u32>,
    /// Nodes of the other grid, ascending, with their weights.
    parts: Vec<(u32, f32)>,
}

impl SparseRows {
    /// Constructs the rows from entries of node, node of the other grid, and weight.
    fn new(mut entries: Vec<(u32, u32, f32)>) -> Self {
        entries.sort_unstable_by_key(|&(node, other, _)| (node, other));
        let mut all = Self::default();
        for row in entries.chunk_by(|a, b| a.0 == b.0) {
            all.nodes.push(row[0].0);
            all.starts.push(index_u32(all.parts.len()));
            let parts = row.iter().map(|&(_, other, weight)| (other, weight));
            all.parts.extend(parts);
        }
        all.starts.push(index_u32(all.parts.len()));
        all
    }

    /// Returns every node with its parts.
    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &[(u32, f32)])> {
        let ends = self.starts.windows(2);
        let parts = ends.map(|ends| &self.parts[ends[0] as usize..ends[1] as usize]);
        self.nodes.iter().copied().zip(parts)
    }
}

/// Sets nodes of fields to the weighted sums of the other grid's nodes, or adds these.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn sum_rows<const K: usize, const ADD: bool>(
    rows: &SparseRows,
    to: &mut [Field; K],
    from: &[Field; K],
) {
    for (node, parts) in rows.iter() {
        let mut sums = [0.0_f32; K];
        for &(other, weight) in parts {
            for (sum, from) in sums.iter_mut().zip(from) {
                *sum = weight.mul_add(from[other as usize], *sum);
            }
        }
        for (to, sum) in to.iter_mut().zip(sums) {
            let own = &mut to[node as usize];
            *own = if ADD { *own + sum } else { sum };
        }
    }
}

/// Constraint of a grid to the coarser one.
#[derive(Debug, Clone)]
pub(super) struct HangingNodes {
    /// Rows of the hanging nodes, each the mean of one, two or four nodes of the rim.
    pub(super) hanging_rows: SparseRows,
    /// Rows of the rim, nodes of the coarser grid, with the hanging nodes of each.
    pub(super) rim_rows: SparseRows,
    /// Step class: they step every `2^class` sub-steps.
    pub(super) class: usize,
    /// True if the rim steps apart from the ranges that contain it.
    pub(super) rim_separate: bool,
}

/// Converts a node's index.
pub(super) fn index_u32(index: usize) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "grids are below 2^32 nodes"
    )]
    let number = index as u32;
    number
}

impl HangingNodes {
    /// Constructs the hanging nodes of a grid whose first node is node `corner` of the coarser one. `hangs`
    /// selects the sides, as [`palpate_geometry::mesh::nested_grid::NestedGrid::hanging_sides`].
    pub(super) fn new(fine: &Grid, coarse: &Grid, corner: [usize; 3], hangs: [bool; 6]) -> Self {
        let [nx, ny, nz] = fine.nodes.map(|n| n - 1);
        let mut entries = Vec::new();
        let adjacent = |i: usize| i / 2..=i.div_ceil(2);
        for k in 0..=nz {
            for j in 0..=ny {
                let whole = (hangs[2] && j == 0)
                    || (hangs[3] && j == ny)
                    || (hangs[4] && k == 0)
                    || (hangs[5] && k == nz);
                for i in 0..=nx {
                    if !(whole || (hangs[0] && i == 0) || (hangs[1] && i == nx)) {
                        continue;
                    }
                    let places = adjacent(k).flat_map(|z| {
                        adjacent(j).flat_map(move |y| adjacent(i).map(move |x| [x, y, z]))
                    });
                    // a side lies inside the coarser grid, so at most four nodes are adjacent
                    let rim =
                        places.map(|place| coarse.index([0, 1, 2].map(|a| corner[a] + place[a])));
                    let rim: Vec<u32> = rim.map(index_u32).collect();
                    let (at, weight) = (
                        index_u32(fine.index([i, j, k])),
                        f32::of(1.0 / rim.len() as f64),
                    );
                    entries.extend(rim.iter().map(|&rim| (at, rim, weight)));
                }
            }
        }
        let transposed = entries
            .iter()
            .map(|&(fine, rim, weight)| (rim, fine, weight));
        Self {
            rim_rows: SparseRows::new(transposed.collect()),
            hanging_rows: SparseRows::new(entries),
            class: 0,
            rim_separate: false,
        }
    }

    /// Sets fields of the hanging nodes from the coarser grid.
    pub(super) fn interpolate<const K: usize>(&self, coarse: &[Field; K], fine: &mut [Field; K]) {
        sum_rows::<K, false>(&self.hanging_rows, fine, coarse);
    }

    /// Adds fields of hanging nodes to the coarser grid.
    pub(super) fn add_to_rim<const K: usize>(&self, coarse: &mut [Field; K], fine: &[Field; K]) {
        sum_rows::<K, true>(&self.rim_rows, coarse, fine);
    }

    /// Clears a field of the hanging nodes.
    pub(super) fn clear(&self, fine: &mut [f32]) {
        let hanging = self.hanging_rows.nodes.iter();
        hanging.for_each(|&node| fine[node as usize] = 0.0);
    }

    /// Raises a field of every node of the rim to the maximum of its hanging nodes.
    pub(super) fn raise(&self, coarse: &mut Field, fine: &Field) {
        for (rim, parts) in self.rim_rows.iter() {
            let own = &mut coarse[rim as usize];
            for &(at, _) in parts {
                *own = own.max(fine[at as usize]);
            }
        }
    }

    /// Adds the impulses of the hanging nodes to the rim. The hanging nodes keep them until all nodes step,
    /// which clears them, unless some grids step less often.
    pub(super) fn gather_forces(&self, coarse: &mut Motion, fine: &mut Motion) {
        self.add_to_rim(&mut coarse.f, &fine.f);
        if self.rim_separate {
            fine.f.iter_mut().for_each(|f| self.clear(f));
        }
    }
}
