//! Baseline as the source prints it: an array of whole nodes with neighbour pointers, candidate lists, node-by-node
//! relaxation, and a map of cells.
//!
//! Source: seed-001 Figs. 4, 6, 9 and 10 and Eq. 2, as a reader of the paper would write it. Single precision and
//! marks that need no clearing are in its favour. Lengths are in spacings.

use std::collections::VecDeque;

/// A node of more than 40 bytes, as in Fig. 4.
#[derive(Debug, Clone)]
pub struct PrintedNode {
    _rgba: [u8; 4],
    object: u32,
    /// Position.
    pub at: [f32; 3],
    /// Neighbours: left, right, bottom, top, back, front.
    neighbour: [Option<usize>; 6],
    held: bool,
    processed_in_round: u32,
}

/// Limits of links.
#[derive(Debug, Clone, Copy)]
pub struct PrintedLimits(
    /// Least length.
    pub f32,
    /// Greatest length.
    pub f32,
    /// Greatest lateral offset.
    pub f32,
);

/// A volume as printed.
#[derive(Debug, Clone)]
pub struct PrintedVolume {
    /// All nodes, by rows.
    pub nodes: Vec<PrintedNode>,
    /// Nodes that lack a neighbour, with their positions at the last update.
    surface: Vec<usize>,
    view_positions: Vec<[f32; 3]>,
    limits: PrintedLimits,
    /// Candidates and their sponsors, by direction.
    lists: [VecDeque<(usize, usize)>; 6],
    round: u32,
}

/// Order of the lists, front first, as in Fig. 10.
const ORDER: [usize; 6] = [5, 4, 1, 0, 3, 2];

impl PrintedVolume {
    /// Returns a box at rest; its lowest layer is held if it has more than one.
    #[must_use]
    pub fn new(size: [usize; 3], give: PrintedLimits) -> Self {
        let slot = |at: [usize; 3]| (at[2] * size[1] + at[1]) * size[0] + at[0];
        let mut nodes = Vec::with_capacity(size.iter().product());
        for z in 0..size[2] {
            for y in 0..size[1] {
                for x in 0..size[0] {
                    let site = [x, y, z];
                    let neighbour = std::array::from_fn(|to| {
                        let (axis, up) = (to / 2, to % 2 == 1);
                        let mut other = site;
                        other[axis] = match up {
                            true => Some(site[axis] + 1).filter(|&at| at < size[axis])?,
                            false => site[axis].checked_sub(1)?,
                        };
                        Some(slot(other))
                    });
                    nodes.push(PrintedNode {
                        _rgba: [0; 4],
                        object: 0,
                        at: site.map(|along| along as f32),
                        neighbour,
                        held: size[2] > 1 && z == 0,
                        processed_in_round: 0,
                    });
                }
            }
        }
        let bare = |node: &PrintedNode| node.neighbour.iter().any(Option::is_none);
        let surface: Vec<usize> = (0..nodes.len()).filter(|&e| bare(&nodes[e])).collect();
        Self {
            view_positions: vec![[0.0; 3]; surface.len()],
            surface,
            nodes,
            limits: give,
            lists: Default::default(),
            round: 0,
        }
    }

    /// Moves a node and all that must follow (Fig. 10); returns the number of candidates processed.
    pub fn move_node(&mut self, target: usize, to: [f32; 3]) -> usize {
        self.round += 1;
        self.nodes[target].at = to;
        self.nodes[target].processed_in_round = self.round;
        for list in 0..6 {
            self.queue(target, list);
        }
        let mut processed = 0;
        for list in ORDER {
            while let Some((node, sponsor)) = self.lists[list].pop_front() {
                if self.nodes[node].processed_in_round == self.round {
                    continue;
                }
                self.nodes[node].processed_in_round = self.round;
                processed += 1;
                if !self.follow(node, sponsor, list) {
                    continue;
                }
                let next: &[usize] = match list {
                    5 => &[3, 2, 0, 1, 5],
                    4 => &[3, 2, 0, 1, 4],
                    1 => &[3, 2, 1],
                    0 => &[3, 2, 0],
                    3 => &[3],
                    _ => &[2],
                };
                for &to in next {
                    self.queue(node, to);
                }
            }
        }
        processed
    }

    fn queue(&mut self, sponsor: usize, list: usize) {
        if let Some(node) = self.nodes[sponsor].neighbour[list] {
            self.lists[list].push_back((node, sponsor));
        }
    }

    /// Moves a node as little as its limits require; returns true if it moved.
    fn follow(&mut self, node: usize, sponsor: usize, list: usize) -> bool {
        let PrintedLimits(shortest, longest, aside) = self.limits;
        let from = self.nodes[sponsor].at;
        let own = &mut self.nodes[node];
        let mut moved = false;
        for (axis, &from) in from.iter().enumerate() {
            let (least, most) = match (axis == list / 2, list % 2 == 1) {
                (true, true) => (shortest, longest),
                (true, false) => (-longest, -shortest),
                (false, _) => (-aside, aside),
            };
            let to = own.at[axis].clamp(from + least, from + most);
            moved |= to != own.at[axis];
            own.at[axis] = to;
        }
        moved
    }

    /// Applies Eq. 2 to all nodes but the held ones and `target`, one after the other.
    pub fn relax(&mut self, target: Option<usize>, gain: f32) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].held || Some(node) == target {
                continue;
            }
            let (mut sum, mut count) = ([0.0_f32; 3], 0.0_f32);
            for to in 0..6 {
                let Some(other) = self.nodes[node].neighbour[to] else {
                    continue;
                };
                let mut place = self.nodes[other].at;
                place[to / 2] -= if to % 2 == 1 { 1.0 } else { -1.0 };
                for (sum, place) in sum.iter_mut().zip(place) {
                    *sum += place;
                }
                count += 1.0;
            }
            if count > 0.0 {
                for (at, sum) in self.nodes[node].at.iter_mut().zip(sum) {
                    *at += gain * (sum / count - *at);
                }
            }
        }
    }

    /// Updates the positions of the surface nodes and returns them.
    #[must_use]
    pub fn draw(&mut self) -> &[[f32; 3]] {
        for (view_positions, &node) in self.view_positions.iter_mut().zip(&self.surface) {
            *view_positions = self.nodes[node].at;
        }
        &self.view_positions
    }
}

/// Cells of the space along an axis.
const SIDE: i32 = 200;

/// The map of Fig. 6 with a cube that moves through it. The ball is left out: only free motion is timed.
#[derive(Debug, Clone)]
pub struct PrintedMap {
    cells: Vec<Option<usize>>,
    cube: PrintedVolume,
    visible: Vec<usize>,
}

fn cell(at: [f32; 3]) -> usize {
    let along = |k: usize| at[k].floor() as i32 + SIDE / 2;
    ((along(2) * SIDE + along(1)) * SIDE + along(0)) as usize
}

impl PrintedMap {
    /// Returns a map with a cube of this edge, or its surface.
    #[must_use]
    pub fn new(edge: usize, surface: bool) -> Self {
        let mut cube = PrintedVolume::new([edge; 3], PrintedLimits(1.0, 1.0, 0.0));
        for node in &mut cube.nodes {
            node.object = 1;
            let middle = (edge / 2) as f32;
            node.at = node.at.map(|along| along - middle);
        }
        let visible = if surface {
            cube.surface.clone()
        } else {
            (0..cube.nodes.len()).collect()
        };
        let mut cells = vec![None; (SIDE * SIDE * SIDE) as usize];
        for &node in &visible {
            cells[cell(cube.nodes[node].at)] = Some(node);
        }
        Self {
            cells,
            cube,
            visible,
        }
    }

    /// Moves the cube along y unless it hits; returns the number of hits.
    pub fn step(&mut self, by: f32) -> usize {
        let nodes = &mut self.cube.nodes;
        let mut hits = 0;
        for &node in &self.visible {
            let [x, y, z] = nodes[node].at;
            let found = self.cells[cell([x, y + by, z])];
            let object = nodes[node].object;
            hits += usize::from(found.is_some_and(|other| nodes[other].object != object));
        }
        for &node in &self.visible {
            let own = &mut self.cells[cell(nodes[node].at)];
            if *own == Some(node) {
                *own = None;
            }
        }
        for &node in &self.visible {
            nodes[node].at[1] += by;
            self.cells[cell(nodes[node].at)] = Some(node);
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_baseline_keeps_limits_and_relaxes() {
        assert!(std::mem::size_of::<PrintedNode>() > 40);
        let mut volume = PrintedVolume::new([9, 9, 5], PrintedLimits(0.8, 1.2, 0.2));
        let middle = 4 * 81 + 40;
        // so little that held nodes need not move: the lists do not support them
        let processed = volume.move_node(middle, [4.0, 4.0, 4.6]);
        assert!(processed > 10, "{processed}");
        let apart = |volume: &PrintedVolume| {
            let links = volume.nodes.iter().flat_map(|node| {
                let others = node.neighbour.iter().flatten();
                others.map(|&other| (node.at, volume.nodes[other].at))
            });
            links
                .map(|(a, b)| (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f32::max))
                .fold(0.0, f32::max)
        };
        assert!(apart(&volume) <= 1.2 + 1e-5, "{}", apart(&volume));
        assert!(volume.draw().iter().any(|at| at[2] > 4.5));
        for _ in 0..400 {
            volume.relax(None, 1.0);
        }
        assert!((apart(&volume) - 1.0).abs() < 1e-4);
        let mut map = PrintedMap::new(5, true);
        assert_eq!((map.step(5.0), map.step(-5.0)), (0, 0));
    }
}
