//! Cut as the source prints it: nodes and links drawn into cells, and a knife that removes what it meets.
//!
//! Source: seed-001 section 3.5 "Cut", as printed (rows TP-03 and TP-04). Where neighbours are more than one cell
//! apart, the cells of the line between them (Bresenham) refer to the link. A knife carves the nodes of all cells it
//! goes through, and cuts the links that the cells refer to. So it removes nodes, at rest one voxel wide; the
//! product's knife does not, and this is for comparison. A cell holds either a node or links.

use std::collections::{BTreeMap, BTreeSet};

use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_voxel::nodes::VoxelNodes;

/// Selection of the links that are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RasterSelection {
    /// All links.
    All,
    /// Links that are not inside full cells: all that a knife from outside can meet first (row TP-04).
    Surface,
}

/// Content of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RasterCell {
    /// A node; of two in one cell, the last written.
    Node(u32),
    /// Links, by their lower ends.
    Links(Vec<(u32, NeighbourDirection)>),
}

/// Event on the path of a knife.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnifeHit {
    /// A node to carve.
    Node(u32),
    /// A link of a node to cut.
    Link(u32, NeighbourDirection),
}

/// Cells with the nodes and links of a volume.
#[derive(Debug, Clone)]
pub struct Raster {
    pitch_m: f64,
    selection: RasterSelection,
    cells: BTreeMap<[i32; 3], RasterCell>,
    done: BTreeSet<(u32, usize)>,
    /// Number of cells written with links.
    written: usize,
}

impl Raster {
    /// Draws a volume into cells of a width \[m\].
    #[must_use]
    pub fn new<R: Real>(nodes: &VoxelNodes<R>, pitch_m: f64, selection: RasterSelection) -> Self {
        let mut raster = Self {
            pitch_m,
            selection,
            cells: BTreeMap::new(),
            done: BTreeSet::new(),
            written: 0,
        };
        let alive = || (0..nodes.slots()).filter(|&e| nodes.alive(e));
        for node in alive() {
            let cell = raster.cell_of(&nodes.position_m(node));
            raster.cells.insert(cell, RasterCell::Node(node));
        }
        for node in alive() {
            raster.draw(nodes, node);
        }
        raster
    }

    /// Returns the cell of a place; a node at rest is at the centre of one.
    #[must_use]
    pub fn cell_of(&self, at_m: &Vec3) -> [i32; 3] {
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        std::array::from_fn(|axis| (at_m[axis] / self.pitch_m + 0.5).floor() as i32)
    }

    /// Returns the content of a cell.
    #[must_use]
    pub fn cell(&self, cell: [i32; 3]) -> Option<&RasterCell> {
        self.cells.get(&cell)
    }

    /// Returns the number of cells written with links so far.
    #[must_use]
    pub const fn written(&self) -> usize {
        self.written
    }

    /// Draws the selected links of a node that are not drawn yet.
    fn draw<R: Real>(&mut self, nodes: &VoxelNodes<R>, node: u32) {
        for to in NeighbourDirection::POSITIVE {
            let Some(other) = nodes.neighbour(node, to) else {
                continue;
            };
            let hidden = self.selection == RasterSelection::Surface && is_inside(nodes, node, to);
            if hidden || !self.done.insert((node, to.index())) {
                continue;
            }
            let ends = [node, other].map(|end| self.cell_of(&nodes.position_m(end)));
            let cells = line(ends[0], ends[1]);
            for &cell in cells.iter().take(cells.len() - 1).skip(1) {
                let held = self
                    .cells
                    .entry(cell)
                    .or_insert(RasterCell::Links(Vec::new()));
                if let RasterCell::Links(links) = held {
                    links.push((node, to));
                    self.written += 1;
                }
            }
        }
    }

    /// Moves a knife through cells in order; `make` applies each carve or cut.
    pub fn cut_path<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        path: &[[i32; 3]],
        mut make: impl FnMut(&mut VoxelNodes<R>, KnifeHit),
    ) {
        for cell in path {
            match self.cells.remove(cell) {
                Some(RasterCell::Node(node)) => {
                    self.take(nodes, KnifeHit::Node(node), &mut make);
                }
                Some(RasterCell::Links(links)) => {
                    for (node, to) in links {
                        self.take(nodes, KnifeHit::Link(node, to), &mut make);
                    }
                }
                None => {}
            }
        }
    }

    /// Applies one event, and draws the links that it exposes.
    fn take<R: Real>(
        &mut self,
        nodes: &mut VoxelNodes<R>,
        hit: KnifeHit,
        make: &mut impl FnMut(&mut VoxelNodes<R>, KnifeHit),
    ) {
        let mut open = Vec::new();
        if self.selection == RasterSelection::Surface {
            let (KnifeHit::Node(node) | KnifeHit::Link(node, _)) = hit;
            visit_cell_neighbours(nodes, node, |near| open.push(near));
            for first in open.clone() {
                visit_cell_neighbours(nodes, first, |near| open.push(near));
            }
            open.sort_unstable();
            open.dedup();
        }
        make(nodes, hit);
        for node in open {
            self.draw(nodes, node);
        }
    }
}

/// Returns the cells of a line, both ends included (Bresenham 1965, in three dimensions).
#[must_use]
pub fn line(from: [i32; 3], to: [i32; 3]) -> Vec<[i32; 3]> {
    let delta: [i64; 3] = std::array::from_fn(|a| i64::from(to[a]) - i64::from(from[a]));
    let distance = delta.map(i64::abs);
    let steps = distance.into_iter().max().unwrap_or(0);
    let mut errors = [steps; 3];
    let mut at = from;
    let mut cells = vec![at];
    for _ in 0..steps {
        for axis in 0..3 {
            errors[axis] += 2 * distance[axis];
            if errors[axis] >= 2 * steps {
                errors[axis] -= 2 * steps;
                at[axis] += if delta[axis] > 0 { 1 } else { -1 };
            }
        }
        cells.push(at);
    }
    cells
}

/// Returns the positive directions of the two axes that follow `axis`.
const fn across(axis: usize) -> [NeighbourDirection; 2] {
    [
        NeighbourDirection::POSITIVE[(axis + 1) % 3],
        NeighbourDirection::POSITIVE[(axis + 2) % 3],
    ]
}

/// Returns the square above a node, right-handed about the axis, if its four links exist.
fn square<R: Real>(nodes: &VoxelNodes<R>, node: u32, axis: usize) -> Option<[u32; 4]> {
    let [u, v] = across(axis);
    let by_u = nodes.neighbour(node, u)?;
    let by_v = nodes.neighbour(node, v)?;
    let distance = nodes.neighbour(by_u, v)?;
    (nodes.neighbour(by_v, u) == Some(distance)).then_some([node, by_u, distance, by_v])
}

/// True if the cell above a node is full.
fn is_whole<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> bool {
    (0..3).all(|axis| {
        let beyond = nodes.neighbour(node, NeighbourDirection::POSITIVE[axis]);
        let near = square(nodes, node, axis);
        let distance = beyond.and_then(|beyond| square(nodes, beyond, axis));
        // both squares exist, and all their corners are linked in pairs
        near.zip(distance).is_some_and(|(near, distance)| {
            let mut pairs = near.into_iter().zip(distance);
            pairs.all(|(a, b)| nodes.neighbour(a, NeighbourDirection::POSITIVE[axis]) == Some(b))
        })
    })
}

/// Visits a node and all nodes that cell edges link to it within a cell; some more than once.
fn visit_cell_neighbours<R: Real>(nodes: &VoxelNodes<R>, node: u32, mut visit: impl FnMut(u32)) {
    visit(node);
    for first in NeighbourDirection::ALL {
        let Some(near) = nodes.neighbour(node, first) else {
            continue;
        };
        visit(near);
        for second in NeighbourDirection::ALL {
            if second.axis() == first.axis() {
                continue;
            }
            let Some(aside) = nodes.neighbour(near, second) else {
                continue;
            };
            visit(aside);
            let third = NeighbourDirection::POSITIVE[3 - first.axis() - second.axis()];
            for third in [third, third.opposite()] {
                if let Some(corner) = nodes.neighbour(aside, third) {
                    visit(corner);
                }
            }
        }
    }
}

/// True if all four cells around a link are full: it is inside.
fn is_inside<R: Real>(nodes: &VoxelNodes<R>, node: u32, to: NeighbourDirection) -> bool {
    let low = if to.is_positive() {
        Some(node)
    } else {
        nodes.neighbour(node, to)
    };
    let [u, v] = across(to.axis()).map(NeighbourDirection::opposite);
    let whole = |corner: Option<u32>| corner.is_some_and(|corner| is_whole(nodes, corner));
    let by_u = low.and_then(|low| nodes.neighbour(low, u));
    let by_v = low.and_then(|low| nodes.neighbour(low, v));
    let both = by_u.and_then(|by_u| nodes.neighbour(by_u, v));
    [low, by_u, by_v, both].into_iter().all(whole)
}
