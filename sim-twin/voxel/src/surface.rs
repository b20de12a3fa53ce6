//! The surface as triangles, made from links and kept up with edits.
//!
//! Source: seed-001 section 3.6 (rows RN-02 and RN-03). Four elements linked in a square part two cells of the
//! lattice. A cell is whole if its eight corners have all twelve links. A square between a whole cell and
//! one that is not is surface, seen from the latter; a square between two that are not is a thin sheet, seen
//! from both sides. Squares are two triangles each. Around every link as many squares of surface begin as
//! end, so every edge belongs to an even number of triangles, whatever was cut or joined.
//!
//! Nothing is found by places at rest: squares and cells are followed by links. After an edit only the elements
//! around it are looked at again.

use crate::elements::{Elements, NONE};
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// Seen from above, along the normal's axis.
const UP: u8 = 0;
/// Seen from below.
const DOWN: u8 = 1;

/// A square that is seen from one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Square {
    /// Elements, the lowest first, right-handed about the axis.
    corners: [u32; 4],
    axis: u8,
    side: u8,
}

impl Square {
    /// A number that no other has: slots are at most 100 million.
    fn number(&self) -> u32 {
        6 * self.corners[0] + 2 * u32::from(self.axis) + u32::from(self.side)
    }
}

/// How many vertices and squares were written.
const fn counts(pair: u64) -> [usize; 2] {
    [pair as u32 as usize, (pair >> 32) as usize]
}

/// The surface of a volume. Room is made once.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Whether the cell above a slot is whole.
    whole: Vec<bool>,
    /// The number in `squares` of the one above a slot, by normal and side.
    at: [[Vec<u32>; 2]; 3],
    squares: Vec<Square>,
    /// Two a square, in the order of squares.
    faces: Vec<[u32; 3]>,
    vertices: Vec<u32>,
    /// Number of a slot in `vertices`.
    vertex: Vec<u32>,
    /// Squares that a slot is a corner of.
    uses: Vec<u8>,
    touched: List,
    loose: List,
    /// Elements that were looked at so far.
    pub(super) looked: u64,
}

/// Slots, each once.
#[derive(Debug, Clone)]
struct List {
    slots: Vec<u32>,
    has: Vec<bool>,
}

impl List {
    fn new(slots: usize) -> Self {
        Self {
            slots: Vec::with_capacity(slots),
            has: vec![false; slots],
        }
    }

    fn add(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.has[slot as usize], true) {
            self.slots.push(slot);
        }
    }

    fn clear(&mut self) {
        for &slot in &self.slots {
            self.has[slot as usize] = false;
        }
        self.slots.clear();
    }
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
pub(super) fn around<R: Real>(links: &Elements<R>, element: u32, mut visit: impl FnMut(u32)) {
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

impl Surface {
    /// The surface of a volume.
    #[must_use]
    pub fn new<R: Real>(links: &Elements<R>) -> Self {
        let slots = links.slots() as usize;
        let squares = || std::array::from_fn(|_| vec![NONE; slots]);
        let mut surface = Self {
            whole: vec![false; slots],
            at: [squares(), squares(), squares()],
            squares: Vec::with_capacity(6 * slots),
            faces: Vec::with_capacity(12 * slots),
            vertices: Vec::with_capacity(slots),
            vertex: vec![NONE; slots],
            uses: vec![0; slots],
            touched: List::new(slots),
            loose: List::new(slots),
            looked: 0,
        };
        surface.rebuild(links);
        surface
    }

    /// Makes it anew, all of it.
    pub fn rebuild<R: Real>(&mut self, links: &Elements<R>) {
        self.squares.clear();
        self.faces.clear();
        self.vertices.clear();
        self.vertex.fill(NONE);
        self.uses.fill(0);
        self.at.iter_mut().flatten().for_each(|at| at.fill(NONE));
        self.touched.clear();
        for element in 0..links.slots() {
            self.touched.add(element);
        }
        self.update(links);
    }

    /// Integers that [`Surface::write`] appends at most, for so many slots.
    pub(super) const fn integers_max(slots: usize) -> usize {
        // a vertex and six squares of each, two in one
        1 + (7 * slots).div_ceil(2)
    }

    /// Integers that a surface takes which begins with these.
    pub(super) fn integers(written: &[u64]) -> Option<usize> {
        let [vertices, squares] = counts(*written.first()?);
        Some(1 + (vertices + squares).div_ceil(2))
    }

    /// Appends in which order it tells its vertices and triangles.
    pub(super) fn write(&self, integers: &mut Vec<u64>) {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        // no more than slots, and than six a slot
        let count = |of: usize| u32::try_from(of).unwrap_or(NONE);
        integers.push(pair(count(self.vertices.len()), count(self.squares.len())));
        let squares = self.squares.iter().map(Square::number);
        let mut numbers = self.vertices.iter().copied().chain(squares);
        while let Some(low) = numbers.next() {
            integers.push(pair(low, numbers.next().unwrap_or(0)));
        }
    }

    /// Tells what it has in the order that was written.
    pub(super) fn read(&mut self, written: &[u64]) {
        let Some((&first, rest)) = written.split_first() else {
            return;
        };
        let [vertices, squares] = counts(first);
        let numbers = || {
            let pairs = rest
                .iter()
                .flat_map(|&pair| [pair as u32, (pair >> 32) as u32]);
            pairs.take(vertices + squares)
        };
        for (nth, element) in numbers().take(vertices).enumerate() {
            let at = self.vertex[element as usize] as usize;
            self.vertices.swap(nth, at);
            let moved = self.vertices[at];
            // no more than slots
            self.vertex[moved as usize] = u32::try_from(at).unwrap_or(NONE);
            self.vertex[element as usize] = u32::try_from(nth).unwrap_or(NONE);
        }
        for (nth, number) in numbers().skip(vertices).enumerate() {
            let at = *self.index(number) as usize;
            self.squares.swap(nth, at);
            let moved = self.squares[at].number();
            *self.index(moved) = u32::try_from(at).unwrap_or(NONE);
            *self.index(number) = u32::try_from(nth).unwrap_or(NONE);
        }
        for at in 0..squares {
            self.write_faces(u32::try_from(at).unwrap_or(NONE));
        }
    }

    /// The elements of the surface.
    #[must_use]
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Triangles, counter-clockwise seen from outside; corners are numbers in [`Surface::vertices`].
    #[must_use]
    pub fn faces(&self) -> &[[u32; 3]] {
        &self.faces
    }

    /// Notes that one end of a link changed, right after it did and before anything else does: what is
    /// around it is looked at again by the next [`Surface::update`].
    pub fn touch<R: Real>(&mut self, links: &Elements<R>, element: u32) {
        let touched = &mut self.touched;
        around(links, element, |near| touched.add(near));
    }

    /// Brings the surface up to date with all that was touched.
    pub fn update<R: Real>(&mut self, links: &Elements<R>) {
        for nth in 0..self.touched.slots.len() {
            let element = self.touched.slots[nth];
            self.whole[element as usize] = is_whole(links, element);
            self.loose.add(element);
        }
        self.looked += self.touched.slots.len() as u64;
        for nth in 0..self.touched.slots.len() {
            let element = self.touched.slots[nth];
            for axis in 0..3 {
                self.look(links, element, axis);
            }
        }
        self.touched.clear();
        let mut nth = 0;
        // who moves among the vertices comes after
        while let Some(&element) = self.loose.slots.get(nth) {
            self.settle(links, element);
            nth += 1;
        }
        for nth in 0..self.loose.slots.len() {
            let element = self.loose.slots[nth];
            self.draw(links, element);
        }
        self.loose.clear();
    }

    /// Finds what is seen of a square, and adds or takes its triangles.
    fn look<R: Real>(&mut self, links: &Elements<R>, element: u32, axis: u8) {
        let up = Direction::UP[usize::from(axis)];
        let corners = square(links, element, usize::from(axis));
        let above = self.whole[element as usize];
        let under = links.neighbour(element, up.opposite());
        let below = under.is_some_and(|under| self.whole[under as usize]);
        for side in [UP, DOWN] {
            // a whole cell hides the side that faces it
            let hidden = if side == UP { above } else { below };
            let wanted = corners.filter(|_| !hidden);
            let at = self.at[usize::from(axis)][usize::from(side)][element as usize];
            let had = self.squares.get(at as usize).map(|square| square.corners);
            if had == wanted {
                continue;
            }
            if had.is_some() {
                self.take(at as usize);
            }
            if let Some(corners) = wanted {
                self.put(Square {
                    corners,
                    axis,
                    side,
                });
            }
        }
    }

    /// Where a square is noted in the list, by its number.
    fn index(&mut self, number: u32) -> &mut u32 {
        let (slot, kind) = ((number / 6) as usize, (number % 6) as usize);
        &mut self.at[kind / 2][kind % 2][slot]
    }

    fn put(&mut self, square: Square) {
        // no more than six a slot
        *self.index(square.number()) = u32::try_from(self.squares.len()).unwrap_or(NONE);
        self.squares.push(square);
        self.faces.extend([[NONE; 3]; 2]);
        for corner in square.corners {
            self.uses[corner as usize] += 1;
            self.loose.add(corner);
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
            self.loose.add(corner);
        }
    }

    /// Takes an element among the vertices, or out of them.
    fn settle<R: Real>(&mut self, links: &Elements<R>, element: u32) {
        let slot = element as usize;
        let bare = |to: &Direction| links.neighbour(element, *to).is_none();
        let wanted =
            links.alive(element) && (self.uses[slot] > 0 || Direction::ALL.iter().any(bare));
        let at = self.vertex[slot];
        if wanted && at == NONE {
            self.vertex[slot] = u32::try_from(self.vertices.len()).unwrap_or(NONE);
            self.vertices.push(element);
        } else if !wanted && at != NONE {
            self.vertices.swap_remove(at as usize);
            self.vertex[slot] = NONE;
            if let Some(&moved) = self.vertices.get(at as usize) {
                self.vertex[moved as usize] = at;
                // its triangles name it by its number
                self.loose.add(moved);
            }
        }
    }

    /// Writes the triangles around an element.
    fn draw<R: Real>(&mut self, links: &Elements<R>, element: u32) {
        if self.uses[element as usize] == 0 {
            return;
        }
        for axis in 0..3 {
            let [u, v] = across(axis).map(|to| links.neighbour(element, to.opposite()));
            let both = u.and_then(|u| links.neighbour(u, across(axis)[1].opposite()));
            for owner in [Some(element), u, v, both].into_iter().flatten() {
                for side in 0..2 {
                    self.write_faces(self.at[axis][side][owner as usize]);
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
