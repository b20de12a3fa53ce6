//! Triangle surface of a voxel model, derived from the links and updated after edits.
//!
//! Source: seed-001 section 3.6 (rows RN-02 and RN-03). Four nodes linked in a square separate two cells of the
//! lattice. A cell is full if its eight corners have all twelve links. A square between a full cell and another is
//! surface, visible from the latter. A square between two cells that are not full is a thin sheet, visible from both
//! sides. Squares are two triangles each. Around every link as many surface squares begin as end, so every edge
//! belongs to an even number of triangles after any cut or join.
//!
//! Squares and cells are found through links and not through places at rest. An edit updates only the nodes around
//! it.

use crate::index_sets::InsertionSet;
use crate::nodes::{NONE, VoxelNodes};
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;
use palpate_twin::snapshot_parts;

/// Visible from above, along the normal's axis.
const UP: u8 = 0;
/// Visible from below.
const DOWN: u8 = 1;

/// A square that is visible from one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SurfaceSquare {
    /// Nodes, the lowest first, right-handed about the axis.
    corners: [u32; 4],
    axis: u8,
    side: u8,
}

snapshot_parts!(SurfaceSquare: corners, axis, side);

impl SurfaceSquare {
    /// Returns a unique id: slots are at most 100 million.
    fn number(&self) -> u32 {
        6 * self.corners[0] + 2 * u32::from(self.axis) + u32::from(self.side)
    }
}

/// The surface of a voxel model. Allocated once.
#[derive(Debug, Clone)]
pub struct VoxelSurface {
    /// Flag by slot: the cell above it is full.
    full_cell: Vec<bool>,
    /// Index in `squares` of the square above a slot, by normal and side.
    square_at: [[Vec<u32>; 2]; 3],
    pub(super) squares: Vec<SurfaceSquare>,
    /// Triangles, two per square, in the order of squares.
    faces: Vec<[u32; 3]>,
    pub(super) vertices: Vec<u32>,
    /// Index in `vertices`, by slot.
    vertex: Vec<u32>,
    /// Number of squares with a corner at a slot.
    uses: Vec<u8>,
    changed: InsertionSet,
    vertices_to_update: InsertionSet,
    /// Number of nodes visited so far: the cost measure of the tests.
    pub(super) nodes_visited: u64,
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
    let far = nodes.neighbour(by_u, v)?;
    (nodes.neighbour(by_v, u) == Some(far)).then_some([node, by_u, far, by_v])
}

/// True if the cell above a node is full.
fn is_full_cell<R: Real>(nodes: &VoxelNodes<R>, node: u32) -> bool {
    (0..3).all(|axis| {
        let beyond = nodes.neighbour(node, NeighbourDirection::POSITIVE[axis]);
        let near = square(nodes, node, axis);
        let far = beyond.and_then(|beyond| square(nodes, beyond, axis));
        // both squares exist, and all their corners are linked in pairs
        near.zip(far).is_some_and(|(near, far)| {
            let mut pairs = near.into_iter().zip(far);
            pairs.all(|(a, b)| nodes.neighbour(a, NeighbourDirection::POSITIVE[axis]) == Some(b))
        })
    })
}

/// Visits a node and all nodes that cell edges link to it within a cell; some more than once.
pub(super) fn visit_cell_neighbours<R: Real>(
    nodes: &VoxelNodes<R>,
    node: u32,
    mut visit: impl FnMut(u32),
) {
    visit(node);
    for (first, near) in nodes.neighbours(node, NeighbourDirection::ALL) {
        visit(near);
        for (second, aside) in nodes.neighbours(near, NeighbourDirection::ALL) {
            if second.axis() == first.axis() {
                continue;
            }
            visit(aside);
            let third = NeighbourDirection::POSITIVE[3 - first.axis() - second.axis()];
            for (_, corner) in nodes.neighbours(aside, [third, third.opposite()]) {
                visit(corner);
            }
        }
    }
}

impl VoxelSurface {
    /// Returns the surface of a voxel model.
    #[must_use]
    pub fn new<R: Real>(nodes: &VoxelNodes<R>) -> Self {
        let slots = nodes.slots() as usize;
        let squares = || std::array::from_fn(|_| vec![NONE; slots]);
        let mut surface = Self {
            full_cell: vec![false; slots],
            square_at: [squares(), squares(), squares()],
            squares: Vec::with_capacity(6 * slots),
            faces: Vec::with_capacity(12 * slots),
            vertices: Vec::with_capacity(slots),
            vertex: vec![NONE; slots],
            uses: vec![0; slots],
            changed: InsertionSet::new(slots),
            vertices_to_update: InsertionSet::new(slots),
            nodes_visited: 0,
        };
        surface.rebuild(nodes);
        surface
    }

    /// Rebuilds the whole surface.
    pub(crate) fn rebuild<R: Real>(&mut self, nodes: &VoxelNodes<R>) {
        self.squares.clear();
        self.faces.clear();
        self.vertices.clear();
        self.vertex.fill(NONE);
        self.uses.fill(0);
        self.square_at
            .iter_mut()
            .flatten()
            .for_each(|at| at.fill(NONE));
        self.changed.clear();
        for node in 0..nodes.slots() {
            self.changed.add(node);
        }
        self.update(nodes);
    }

    /// Recomputes all that follows from the links and the lists of vertices and squares.
    pub(super) fn rebuild_from_lists<R: Real>(&mut self, nodes: &VoxelNodes<R>) {
        for (node, whole) in (0..).zip(&mut self.full_cell) {
            *whole = is_full_cell(nodes, node);
        }
        self.vertex.fill(NONE);
        for (number, &node) in (0..).zip(&self.vertices) {
            self.vertex[node as usize] = number;
        }
        self.uses.fill(0);
        self.square_at
            .iter_mut()
            .flatten()
            .for_each(|at| at.fill(NONE));
        self.faces.clear();
        self.faces.resize(2 * self.squares.len(), [NONE; 3]);
        for number in 0..self.squares.len() {
            let square = self.squares[number];
            // no more than six a slot
            let number = number as u32;
            *self.index(square.number()) = number;
            for corner in square.corners {
                self.uses[corner as usize] += 1;
            }
            self.write_faces(number);
        }
    }

    /// Returns the nodes of the surface.
    #[must_use]
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Returns triangles, counter-clockwise seen from outside; corners are indices in [`VoxelSurface::vertices`].
    #[must_use]
    pub fn faces(&self) -> &[[u32; 3]] {
        &self.faces
    }

    /// Records that one end of a link changed. The call must come before any other change; the next
    /// [`VoxelSurface::update`] visits the nodes around it.
    pub fn mark_changed<R: Real>(&mut self, nodes: &VoxelNodes<R>, node: u32) {
        let touched = &mut self.changed;
        visit_cell_neighbours(nodes, node, |near| {
            touched.add(near);
        });
    }

    /// Updates the surface for all recorded changes.
    pub fn update<R: Real>(&mut self, nodes: &VoxelNodes<R>) {
        for &node in &*self.changed {
            self.full_cell[node as usize] = is_full_cell(nodes, node);
            self.vertices_to_update.add(node);
        }
        self.nodes_visited += self.changed.len() as u64;
        for nth in 0..self.changed.len() {
            let node = self.changed[nth];
            for axis in 0..3 {
                self.update_square(nodes, node, axis);
            }
        }
        self.changed.clear();
        let mut nth = 0;
        // a vertex whose index changes is appended
        while let Some(&node) = self.vertices_to_update.get(nth) {
            self.update_vertex(nodes, node);
            nth += 1;
        }
        for nth in 0..self.vertices_to_update.len() {
            let node = self.vertices_to_update[nth];
            self.write_faces_around(nodes, node);
        }
        self.vertices_to_update.clear();
    }

    /// Updates both sides of a square.
    fn update_square<R: Real>(&mut self, nodes: &VoxelNodes<R>, node: u32, axis: u8) {
        let up = NeighbourDirection::POSITIVE[usize::from(axis)];
        let corners = square(nodes, node, usize::from(axis));
        let above = self.full_cell[node as usize];
        let under = nodes.neighbour(node, up.opposite());
        let below = under.is_some_and(|under| self.full_cell[under as usize]);
        for side in [UP, DOWN] {
            // a full cell hides the side that faces it
            let hidden = if side == UP { above } else { below };
            let required = corners.filter(|_| !hidden);
            let at = self.square_at[usize::from(axis)][usize::from(side)][node as usize];
            let present = self.squares.get(at as usize).map(|square| square.corners);
            if present == required {
                continue;
            }
            if present.is_some() {
                self.take(at as usize);
            }
            if let Some(corners) = required {
                self.put(SurfaceSquare {
                    corners,
                    axis,
                    side,
                });
            }
        }
    }

    /// Returns the entry of `square_at` for a square id.
    fn index(&mut self, number: u32) -> &mut u32 {
        let (slot, kind) = ((number / 6) as usize, (number % 6) as usize);
        &mut self.square_at[kind / 2][kind % 2][slot]
    }

    fn put(&mut self, square: SurfaceSquare) {
        // no more than six a slot
        *self.index(square.number()) = u32::try_from(self.squares.len()).unwrap_or(NONE);
        self.squares.push(square);
        self.faces.extend([[NONE; 3]; 2]);
        for corner in square.corners {
            self.uses[corner as usize] += 1;
            self.vertices_to_update.add(corner);
        }
    }

    fn take(&mut self, at: usize) {
        let square = self.squares.swap_remove(at);
        *self.index(square.number()) = NONE;
        if let Some(&moved) = self.squares.get(at) {
            *self.index(moved.number()) = u32::try_from(at).unwrap_or(NONE);
        }
        let last = self.faces.len() - 2;
        self.faces.copy_within(last.., 2 * at);
        self.faces.truncate(last);
        for corner in square.corners {
            self.uses[corner as usize] -= 1;
            self.vertices_to_update.add(corner);
        }
    }

    /// Adds a node to the vertices, or removes it.
    fn update_vertex<R: Real>(&mut self, nodes: &VoxelNodes<R>, node: u32) {
        let slot = node as usize;
        let required = nodes.alive(node) && (self.uses[slot] > 0 || nodes.lacks_neighbour(node));
        let at = self.vertex[slot];
        if required && at == NONE {
            self.vertex[slot] = u32::try_from(self.vertices.len()).unwrap_or(NONE);
            self.vertices.push(node);
        } else if !required && at != NONE {
            self.vertices.swap_remove(at as usize);
            self.vertex[slot] = NONE;
            if let Some(&moved) = self.vertices.get(at as usize) {
                self.vertex[moved as usize] = at;
                // its triangles refer to it by index
                self.vertices_to_update.add(moved);
            }
        }
    }

    /// Writes the triangles around a node.
    fn write_faces_around<R: Real>(&mut self, nodes: &VoxelNodes<R>, node: u32) {
        if self.uses[node as usize] == 0 {
            return;
        }
        for axis in 0..3 {
            let [u, v] = across(axis).map(|to| nodes.neighbour(node, to.opposite()));
            let both = u.and_then(|u| nodes.neighbour(u, across(axis)[1].opposite()));
            for owner in [Some(node), u, v, both].into_iter().flatten() {
                for side in 0..2 {
                    self.write_faces(self.square_at[axis][side][owner as usize]);
                }
            }
        }
    }

    /// Writes the two triangles of a square.
    fn write_faces(&mut self, at: u32) {
        let Some(square) = self.squares.get(at as usize) else {
            return;
        };
        let [a, mut b, c, mut d] = square.corners.map(|corner| self.vertex[corner as usize]);
        if square.side == DOWN {
            (b, d) = (d, b);
        }
        let at = 2 * at as usize;
        self.faces[at] = [a, b, c];
        self.faces[at + 1] = [a, c, d];
    }
}
