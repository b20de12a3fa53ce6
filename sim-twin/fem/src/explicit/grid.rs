//! One grid of the nested ones: its cells, its nodes, and their step classes.
//!
//! Source: ours. Cells and nodes share one numbering, x fastest; a cell has the index of its first node.
//! Planes of equal cost form a slab: its cells and nodes step every `2^class` sub-steps. Nodes that hang on
//! the coarser grid, or on which the finer grid hangs, step with [`super::hanging_nodes`]. A chunk is the
//! unit of summation, see [`super::chunks`].

use super::cells::{Cells, Field, ForcePass, LawLanes, Run};
use super::viscous::Viscous;
use std::ops::Range;

/// Planes that step together.
#[derive(Debug, Clone)]
pub(super) struct Slab {
    /// Step class: its cells act every `2^class` sub-steps.
    pub(super) class: usize,
    /// Runs of all its cells.
    pub(super) runs: Vec<Run>,
    /// Runs by law, for a grid with several: the number of the law and the blocks in which a cell has it.
    pub(super) law_runs: Vec<(u32, Vec<Run>)>,
    /// Runs with viscous cells.
    pub(super) viscous: Vec<Run>,
}

/// Range of nodes that step every `2^class` sub-steps.
#[derive(Debug, Clone)]
pub(super) struct NodeRange {
    pub(super) class: usize,
    pub(super) nodes: Range<usize>,
}

/// Planes of cells that are processed together, with the nodes below and between them; the last chunk
/// includes the grid's last plane of nodes. Chunks depend on the grid alone.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) slabs: Range<usize>,
    pub(super) node_ranges: Range<usize>,
    /// Index range of its cells and nodes in fields; the chunks of a grid partition them.
    pub(super) places: Range<usize>,
}

/// Constant data of one grid.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// Nodes along the axes.
    pub(super) nodes: [usize; 3],
    /// Index distance of neighbours along z: a plane padded to a multiple of the SIMD width, so that planes
    /// share no block.
    pub(super) plane: usize,
    /// Edge lengths of a cell.
    pub(super) edge: [f64; 3],
    /// Position of its first node.
    pub(super) low: [f64; 3],
    pub(super) cells: Cells,
    /// Law of all cells, unless they differ.
    pub(super) law: u32,
    /// Law of every cell, if they differ.
    pub(super) laws: Vec<u32>,
    /// Viscous parameters of the cells, if any is viscous.
    pub(super) viscous: Option<Viscous>,
    pub(super) slabs: Vec<Slab>,
    pub(super) node_ranges: Vec<NodeRange>,
    pub(super) chunks: Vec<Chunk>,
    /// Mass of every node that steps with its range or a rim, including the nodes that hang on it.
    pub(super) mass: Field,
    /// Inverse mass of the nodes that step with their range, else 0.
    pub(super) inverse_mass: Field,
}

impl Grid {
    /// Returns the passes of the cells of a slab, one for each of its laws, with the number of the law.
    pub(super) fn passes<'a>(
        &'a self,
        slab: &'a Slab,
        whole: ForcePass<'a>,
    ) -> impl Iterator<Item = (usize, ForcePass<'a>)> {
        let one = self.laws.is_empty().then_some((self.law as usize, whole));
        let several = slab.law_runs.iter().map(move |(law, runs)| {
            let lanes = Some(LawLanes {
                laws: &self.laws,
                law: *law,
            });
            (
                *law as usize,
                ForcePass {
                    runs,
                    lanes,
                    ..whole
                },
            )
        });
        one.into_iter().chain(several)
    }

    /// Returns the index of the node or cell at a position of the grid.
    pub(super) fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.nodes[0] * y + self.plane * z
    }

    /// Returns the number of nodes including the padding of planes.
    pub(super) fn count(&self) -> usize {
        self.plane * self.nodes[2]
    }

    /// Returns the position of a node at rest.
    pub(super) fn rest_position(&self, node: usize) -> [f64; 3] {
        let in_plane = node % self.plane;
        let index = [
            in_plane % self.nodes[0],
            in_plane / self.nodes[0],
            node / self.plane,
        ];
        [0, 1, 2].map(|a| self.low[a] + self.edge[a] * index[a] as f64)
    }
}

/// State of one grid: displacements, velocities, and impulses over the shortest sub-step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Motion {
    /// Mass as [`Grid::mass`], with the added mass of squeezed cells.
    pub(super) mass: Field,
    /// Inverse mass as [`Grid::inverse_mass`], of the present masses.
    pub(super) inverse_mass: Field,
    /// Stiffness of every cell over its initial one.
    pub(super) stiffness_ratio: Field,
    /// Present moduli, as [`Cells::mu`] and [`Cells::lambda`].
    pub(super) moduli: [Field; 2],
    pub(super) u: [Field; 3],
    pub(super) v: [Field; 3],
    pub(super) f: [Field; 3],
    /// Memory of viscous cells; empty if there are none.
    pub(super) viscous_memory: Vec<Field>,
}

impl Motion {
    pub(super) fn new(grid: &Grid) -> Self {
        let zero = || [(); 3].map(|()| vec![0.0; grid.mass.len()]);
        Self {
            mass: grid.mass.clone(),
            inverse_mass: grid.inverse_mass.clone(),
            stiffness_ratio: vec![1.0; grid.mass.len()],
            moduli: [grid.cells.mu.clone(), grid.cells.lambda.clone()],
            u: zero(),
            v: zero(),
            f: zero(),
            viscous_memory: vec![
                vec![0.0; grid.mass.len()];
                grid.viscous.as_ref().map_or(0, Viscous::memory_len)
            ],
        }
    }
}

palpate_twin::snapshot_parts!(Motion: mass, inverse_mass, stiffness_ratio, moduli, u, v, f, viscous_memory);
