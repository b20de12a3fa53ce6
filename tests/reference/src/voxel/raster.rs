//! The cut as the source prints it: elements and links drawn into cells, and a knife that takes what it meets.
//!
//! Source: seed-001 section 3.5 "Cut", as printed (rows TP-03 and TP-04). Where neighbours are farther apart than cells are
//! wide, the cells of the line between them (Bresenham) name the link. A knife carves the element of every cell
//! that it goes through, and cuts the links that the cell names. Elements are lost so, at rest a voxel's
//! width of them: `super::knife` is the default, this is to compare with. An element keeps links out of its
//! cell; links share cells.

use std::collections::{BTreeMap, BTreeSet};

use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;

/// Which links are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// All of them.
    All,
    /// Those that are not inside whole cells: all that a knife from outside can meet first (row TP-04).
    Surface,
}

/// What a cell holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// An element; where two are in one cell, the last that was written.
    Element(u32),
    /// Links, by their lower ends.
    Links(Vec<(u32, Direction)>),
}

/// What the knife met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// An element, to be carved.
    Element(u32),
    /// A link of an element, to be cut.
    Link(u32, Direction),
}

/// Cells of a volume with its elements and links.
#[derive(Debug, Clone)]
pub struct Raster {
    pitch_m: f64,
    drawn: Drawn,
    cells: BTreeMap<[i32; 3], Cell>,
    done: BTreeSet<(u32, usize)>,
    /// Cells that links were written to.
    written: usize,
}

impl Raster {
    /// Draws a volume into cells of a width \[m\].
    #[must_use]
    pub fn new<R: Real>(elements: &Elements<R>, pitch_m: f64, drawn: Drawn) -> Self {
        let mut raster = Self {
            pitch_m,
            drawn,
            cells: BTreeMap::new(),
            done: BTreeSet::new(),
            written: 0,
        };
        let alive = || (0..elements.slots()).filter(|&e| elements.alive(e));
        for element in alive() {
            let cell = raster.of(&elements.at_m(element));
            raster.cells.insert(cell, Cell::Element(element));
        }
        for element in alive() {
            raster.draw(elements, element);
        }
        raster
    }

    /// The cell of a place: an element at rest is in the middle of one.
    #[must_use]
    pub fn of(&self, at_m: &Vec3) -> [i32; 3] {
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        std::array::from_fn(|axis| (at_m[axis] / self.pitch_m + 0.5).floor() as i32)
    }

    /// What a cell holds.
    #[must_use]
    pub fn cell(&self, cell: [i32; 3]) -> Option<&Cell> {
        self.cells.get(&cell)
    }

    /// Cells that links were written to so far.
    #[must_use]
    pub const fn written(&self) -> usize {
        self.written
    }

    /// Draws the links of an element that are to be drawn and are not.
    fn draw<R: Real>(&mut self, elements: &Elements<R>, element: u32) {
        for to in Direction::UP {
            let Some(other) = elements.neighbour(element, to) else {
                continue;
            };
            let hidden = self.drawn == Drawn::Surface && is_inside(elements, element, to);
            if hidden || !self.done.insert((element, to.index())) {
                continue;
            }
            let ends = [element, other].map(|end| self.of(&elements.at_m(end)));
            let cells = line(ends[0], ends[1]);
            for &cell in cells.iter().take(cells.len() - 1).skip(1) {
                let held = self.cells.entry(cell).or_insert(Cell::Links(Vec::new()));
                if let Cell::Links(links) = held {
                    links.push((element, to));
                    self.written += 1;
                }
            }
        }
    }

    /// Takes a knife through cells, in their order: `make` carves and cuts what it meets.
    pub fn knife<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        path: &[[i32; 3]],
        mut make: impl FnMut(&mut Elements<R>, Met),
    ) {
        for cell in path {
            match self.cells.remove(cell) {
                Some(Cell::Element(element)) => {
                    self.take(elements, Met::Element(element), &mut make);
                }
                Some(Cell::Links(links)) => {
                    for (element, to) in links {
                        self.take(elements, Met::Link(element, to), &mut make);
                    }
                }
                None => {}
            }
        }
    }

    /// Has one thing done, and draws what it laid open.
    fn take<R: Real>(
        &mut self,
        elements: &mut Elements<R>,
        met: Met,
        make: &mut impl FnMut(&mut Elements<R>, Met),
    ) {
        let mut open = Vec::new();
        if self.drawn == Drawn::Surface {
            let (Met::Element(element) | Met::Link(element, _)) = met;
            around(elements, element, |near| open.push(near));
            for first in open.clone() {
                around(elements, first, |near| open.push(near));
            }
            open.sort_unstable();
            open.dedup();
        }
        make(elements, met);
        for element in open {
            self.draw(elements, element);
        }
    }
}

/// The cells of a line from one to another, both included (Bresenham 1965, in three dimensions).
#[must_use]
pub fn line(from: [i32; 3], to: [i32; 3]) -> Vec<[i32; 3]> {
    let way: [i64; 3] = std::array::from_fn(|a| i64::from(to[a]) - i64::from(from[a]));
    let far = way.map(i64::abs);
    let steps = far.into_iter().max().unwrap_or(0);
    let mut errors = [steps; 3];
    let mut at = from;
    let mut cells = vec![at];
    for _ in 0..steps {
        for axis in 0..3 {
            errors[axis] += 2 * far[axis];
            if errors[axis] >= 2 * steps {
                errors[axis] -= 2 * steps;
                at[axis] += if way[axis] > 0 { 1 } else { -1 };
            }
        }
        cells.push(at);
    }
    cells
}

/// Up along the two axes that follow a third.
const fn across(axis: usize) -> [Direction; 2] {
    [Direction::UP[(axis + 1) % 3], Direction::UP[(axis + 2) % 3]]
}

/// The square above an element, right-handed about the axis, if its four links are there.
fn square<R: Real>(links: &Elements<R>, element: u32, axis: usize) -> Option<[u32; 4]> {
    let [u, v] = across(axis);
    let by_u = links.neighbour(element, u)?;
    let by_v = links.neighbour(element, v)?;
    let far = links.neighbour(by_u, v)?;
    (links.neighbour(by_v, u) == Some(far)).then_some([element, by_u, far, by_v])
}

/// Whether the cell above an element is whole.
fn is_whole<R: Real>(links: &Elements<R>, element: u32) -> bool {
    (0..3).all(|axis| {
        let beyond = links.neighbour(element, Direction::UP[axis]);
        let near = square(links, element, axis);
        let far = beyond.and_then(|beyond| square(links, beyond, axis));
        // both squares there, and every corner of one linked to that of the other
        near.zip(far).is_some_and(|(near, far)| {
            let mut pairs = near.into_iter().zip(far);
            pairs.all(|(a, b)| links.neighbour(a, Direction::UP[axis]) == Some(b))
        })
    })
}

/// Visits an element and all that share a cell with it and are linked to it by the cell's edges; some more
/// than once.
fn around<R: Real>(links: &Elements<R>, element: u32, mut visit: impl FnMut(u32)) {
    visit(element);
    for first in Direction::ALL {
        let Some(near) = links.neighbour(element, first) else {
            continue;
        };
        visit(near);
        for second in Direction::ALL {
            if second.axis() == first.axis() {
                continue;
            }
            let Some(aside) = links.neighbour(near, second) else {
                continue;
            };
            visit(aside);
            let third = Direction::UP[3 - first.axis() - second.axis()];
            for third in [third, third.opposite()] {
                if let Some(corner) = links.neighbour(aside, third) {
                    visit(corner);
                }
            }
        }
    }
}

/// Whether all four cells around a link are whole: what lies inside.
fn is_inside<R: Real>(links: &Elements<R>, element: u32, to: Direction) -> bool {
    let low = if to.is_up() {
        Some(element)
    } else {
        links.neighbour(element, to)
    };
    let [u, v] = across(to.axis()).map(Direction::opposite);
    let whole = |corner: Option<u32>| corner.is_some_and(|corner| is_whole(links, corner));
    let by_u = low.and_then(|low| links.neighbour(low, u));
    let by_v = low.and_then(|low| links.neighbour(low, v));
    let both = by_u.and_then(|by_u| links.neighbour(by_u, v));
    [low, by_u, by_v, both].into_iter().all(whole)
}
