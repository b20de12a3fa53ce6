//! The same work as the source prints it, to compare with: an array of whole elements that know their
//! neighbours one by one, lists of candidates, a sweep of one element after the other, a map of cells.
//!
//! Source: seed-001 Figs. 4, 6, 9 and 10 and Eq. 2. Written as a reader of the paper would write it;
//! single precision and marks that need no clearing are in its favour. Lengths are in spacings.

use std::collections::VecDeque;

/// An element: more than 40 bytes, as in Fig. 4.
#[derive(Debug, Clone)]
pub struct Element {
    _rgba: [u8; 4],
    object: u32,
    /// Where it is.
    pub at: [f32; 3],
    /// Left, right, bottom, top, back, front.
    neighbour: [Option<usize>; 6],
    held: bool,
    seen: u32,
}

/// Limits of links: shortest, longest, aside.
#[derive(Debug, Clone, Copy)]
pub struct Give(
    /// Shortest.
    pub f32,
    /// Longest.
    pub f32,
    /// Farthest aside.
    pub f32,
);

/// A volume.
#[derive(Debug, Clone)]
pub struct Volume {
    /// All of them, row by row.
    pub elements: Vec<Element>,
    /// Elements that lack a neighbour, and where they were seen last.
    surface: Vec<usize>,
    drawn: Vec<[f32; 3]>,
    give: Give,
    /// Candidates and their sponsors, by direction.
    lists: [VecDeque<(usize, usize)>; 6],
    round: u32,
}

/// Fronts first, as in Fig. 10.
const ORDER: [usize; 6] = [5, 4, 1, 0, 3, 2];

impl Volume {
    /// A box at rest, its lowest layer held if it has more than one.
    #[must_use]
    pub fn new(size: [usize; 3], give: Give) -> Self {
        let slot = |at: [usize; 3]| (at[2] * size[1] + at[1]) * size[0] + at[0];
        let mut elements = Vec::with_capacity(size.iter().product());
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
                    elements.push(Element {
                        _rgba: [0; 4],
                        object: 0,
                        at: site.map(|along| along as f32),
                        neighbour,
                        held: size[2] > 1 && z == 0,
                        seen: 0,
                    });
                }
            }
        }
        let bare = |element: &Element| element.neighbour.iter().any(Option::is_none);
        let surface: Vec<usize> = (0..elements.len())
            .filter(|&e| bare(&elements[e]))
            .collect();
        Self {
            drawn: vec![[0.0; 3]; surface.len()],
            surface,
            elements,
            give,
            lists: Default::default(),
            round: 0,
        }
    }

    /// Fig. 10: puts an element somewhere, and whoever has to follows; gives how many were looked at.
    pub fn chain(&mut self, control: usize, to: [f32; 3]) -> usize {
        self.round += 1;
        self.elements[control].at = to;
        self.elements[control].seen = self.round;
        for list in 0..6 {
            self.queue(control, list);
        }
        let mut looked = 0;
        for list in ORDER {
            while let Some((element, sponsor)) = self.lists[list].pop_front() {
                if self.elements[element].seen == self.round {
                    continue;
                }
                self.elements[element].seen = self.round;
                looked += 1;
                if !self.follow(element, sponsor, list) {
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
                    self.queue(element, to);
                }
            }
        }
        looked
    }

    fn queue(&mut self, sponsor: usize, list: usize) {
        if let Some(element) = self.elements[sponsor].neighbour[list] {
            self.lists[list].push_back((element, sponsor));
        }
    }

    /// Moves an element no farther than limits ask; whether it had to.
    fn follow(&mut self, element: usize, sponsor: usize, list: usize) -> bool {
        let Give(shortest, longest, aside) = self.give;
        let from = self.elements[sponsor].at;
        let own = &mut self.elements[element];
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

    /// Eq. 2 over all elements but the held and `control`, one after the other.
    pub fn relax(&mut self, control: Option<usize>, gain: f32) {
        for element in 0..self.elements.len() {
            if self.elements[element].held || Some(element) == control {
                continue;
            }
            let (mut sum, mut count) = ([0.0_f32; 3], 0.0_f32);
            for to in 0..6 {
                let Some(other) = self.elements[element].neighbour[to] else {
                    continue;
                };
                let mut wish = self.elements[other].at;
                wish[to / 2] -= if to % 2 == 1 { 1.0 } else { -1.0 };
                for (sum, wish) in sum.iter_mut().zip(wish) {
                    *sum += wish;
                }
                count += 1.0;
            }
            if count > 0.0 {
                for (at, sum) in self.elements[element].at.iter_mut().zip(sum) {
                    *at += gain * (sum / count - *at);
                }
            }
        }
    }

    /// Looks where the elements of the surface are.
    #[must_use]
    pub fn draw(&mut self) -> &[[f32; 3]] {
        for (drawn, &element) in self.drawn.iter_mut().zip(&self.surface) {
            *drawn = self.elements[element].at;
        }
        &self.drawn
    }
}

/// Cells of the space along an axis.
const SIDE: i32 = 200;

/// The map of Fig. 6 with a cube that moves through it; the ball is left out, it is free space that is timed.
#[derive(Debug, Clone)]
pub struct Map {
    cells: Vec<Option<usize>>,
    cube: Volume,
    shown: Vec<usize>,
}

fn cell(at: [f32; 3]) -> usize {
    let along = |k: usize| at[k].floor() as i32 + SIDE / 2;
    ((along(2) * SIDE + along(1)) * SIDE + along(0)) as usize
}

impl Map {
    /// A cube of this edge, or its surface.
    #[must_use]
    pub fn new(edge: usize, surface: bool) -> Self {
        let mut cube = Volume::new([edge; 3], Give(1.0, 1.0, 0.0));
        for element in &mut cube.elements {
            element.object = 1;
            let middle = (edge / 2) as f32;
            element.at = element.at.map(|along| along - middle);
        }
        let shown = if surface {
            cube.surface.clone()
        } else {
            (0..cube.elements.len()).collect()
        };
        let mut cells = vec![None; (SIDE * SIDE * SIDE) as usize];
        for &element in &shown {
            cells[cell(cube.elements[element].at)] = Some(element);
        }
        Self { cells, cube, shown }
    }

    /// Moves the cube along y unless it hits; gives the hits.
    pub fn step(&mut self, by: f32) -> usize {
        let elements = &mut self.cube.elements;
        let mut hits = 0;
        for &element in &self.shown {
            let [x, y, z] = elements[element].at;
            let found = self.cells[cell([x, y + by, z])];
            let object = elements[element].object;
            hits += usize::from(found.is_some_and(|other| elements[other].object != object));
        }
        for &element in &self.shown {
            let own = &mut self.cells[cell(elements[element].at)];
            if *own == Some(element) {
                *own = None;
            }
        }
        for &element in &self.shown {
            elements[element].at[1] += by;
            self.cells[cell(elements[element].at)] = Some(element);
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_with_keeps_limits_and_relaxes() {
        assert!(std::mem::size_of::<Element>() > 40);
        let mut volume = Volume::new([9, 9, 5], Give(0.8, 1.2, 0.2));
        let middle = 4 * 81 + 40;
        // so little that what is held need not give, of which the lists know nothing
        let looked = volume.chain(middle, [4.0, 4.0, 4.6]);
        assert!(looked > 10, "{looked}");
        let apart = |volume: &Volume| {
            let links = volume.elements.iter().flat_map(|element| {
                let others = element.neighbour.iter().flatten();
                others.map(|&other| (element.at, volume.elements[other].at))
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
        let mut map = Map::new(5, true);
        assert_eq!((map.step(5.0), map.step(-5.0)), (0, 0));
    }
}
