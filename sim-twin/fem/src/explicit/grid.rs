//! One grid of the nested ones: its cells, its nodes, and when they go.
//!
//! Source: ours. Cells and nodes share one numbering, x fastest, so that a cell is where its first
//! node is. Planes of equal cost are a slab: its cells push and its nodes go every `2^class`
//! sub-steps. Nodes that hang on the grid above or that the finer grid hangs on go with
//! [`super::seam`]. A chunk is what is summed on its own, see [`super::shares`].

use super::cells::{Cells, Field, Run};
use super::viscous::{PAST, Viscous};
use std::ops::Range;

/// Planes that go together.
#[derive(Debug, Clone)]
pub(super) struct Slab {
    /// Its cells push every `2^class` sub-steps.
    pub(super) class: usize,
    pub(super) runs: Vec<Run>,
    /// Those with viscous cells.
    pub(super) viscous: Vec<Run>,
}

/// A range of nodes that go every `2^class` sub-steps.
#[derive(Debug, Clone)]
pub(super) struct Sheet {
    pub(super) class: usize,
    pub(super) nodes: Range<usize>,
}

/// Planes of cells that are worked on together, with the nodes below and between them; the last has
/// the grid's last plane of nodes too. What they are depends on the grid and on nothing else.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) slabs: Range<usize>,
    pub(super) sheets: Range<usize>,
    /// Places of its cells and nodes in fields; the chunks of a grid divide them without a gap.
    pub(super) places: Range<usize>,
}

/// What never changes of one grid.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// Nodes along the axes.
    pub(super) nodes: [usize; 3],
    /// Distance of neighbours along z: a plane, padded to whole lanes, so that no lanes are shared.
    pub(super) plane: usize,
    /// Edges of a cell.
    pub(super) edge: [f64; 3],
    /// Its first node.
    pub(super) low: [f64; 3],
    pub(super) cells: Cells,
    /// What is viscous of them, if anything is.
    pub(super) viscous: Option<Viscous>,
    pub(super) slabs: Vec<Slab>,
    pub(super) sheets: Vec<Sheet>,
    pub(super) chunks: Vec<Chunk>,
    /// Mass of every node that goes with its sheet or a seam, what hangs on it included.
    pub(super) mass: Field,
    /// Inverse mass of those that go with their sheet, else 0.
    pub(super) ease: Field,
}

impl Grid {
    /// Number of the node or cell at a place of the grid.
    pub(super) fn at(&self, [x, y, z]: [usize; 3]) -> usize {
        x + self.nodes[0] * y + self.plane * z
    }

    /// Nodes, with the padding of planes.
    pub(super) fn count(&self) -> usize {
        self.plane * self.nodes[2]
    }

    /// Place of a node at rest.
    pub(super) fn rest(&self, node: usize) -> [f64; 3] {
        let in_plane = node % self.plane;
        let index = [
            in_plane % self.nodes[0],
            in_plane / self.nodes[0],
            node / self.plane,
        ];
        [0, 1, 2].map(|a| self.low[a] + self.edge[a] * index[a] as f64)
    }
}

/// What changes of one grid: displacements, speeds, and impulses over the shortest sub-step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Motion {
    /// As [`Grid::mass`], with what squeezed cells add.
    pub(super) mass: Field,
    /// As [`Grid::ease`], of the masses now.
    pub(super) ease: Field,
    /// Stiffness of every cell over that at first.
    pub(super) stiffened: Field,
    /// As [`Cells::mu`] and [`Cells::lambda`], now.
    pub(super) stiff: [Field; 2],
    pub(super) u: [Field; 3],
    pub(super) v: [Field; 3],
    pub(super) f: [Field; 3],
    /// What viscous cells remember; nothing if none is.
    pub(super) past: Vec<Field>,
}

impl Motion {
    pub(super) fn new(grid: &Grid) -> Self {
        let zero = || [(); 3].map(|()| vec![0.0; grid.mass.len()]);
        Self {
            mass: grid.mass.clone(),
            ease: grid.ease.clone(),
            stiffened: vec![1.0; grid.mass.len()],
            stiff: [grid.cells.mu.clone(), grid.cells.lambda.clone()],
            u: zero(),
            v: zero(),
            f: zero(),
            past: vec![vec![0.0; grid.mass.len()]; if grid.viscous.is_some() { PAST } else { 0 }],
        }
    }
}

palpate_twin::frozen!(Motion: mass, ease, stiffened, stiff, u, v, f, past);
