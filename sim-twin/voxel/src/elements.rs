//! The fast layout: one array a quantity, displacements instead of places, neighbours by slot.
//!
//! Source: ours after seed-001 section 3.1 "recommended" (rows LV-01, LV-05, LV-06, FU-07). Slots go
//! through the lattice at rest row by row, in every row every second element first, then those between:
//! like the squares of a chessboard. So what a sweep moves at once lies together, and has its neighbours at
//! one distance each. Displacements are from rest, so that a link at rest pulls at nothing
//! and single precision is enough for what is felt.

use crate::matter::{Bonds, Matter, MatterError};
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// The lattice at rest: where its sites are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Place of the site (0, 0, 0) \[m\].
    pub origin_m: Vec3,
    /// Distance of neighbours by axis \[m\], greater than zero.
    pub spacing_m: [f64; 3],
}

impl Frame {
    /// Place of a site at rest \[m\].
    #[must_use]
    pub fn rest_m(&self, site: [i32; 3]) -> Vec3 {
        let along = |a: usize| f64::from(site[a]) * self.spacing_m[a];
        self.origin_m + Vec3::new(along(0), along(1), along(2))
    }
}

/// An element to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// Its site.
    pub site: [i32; 3],
    /// Its material, an index of the list of materials.
    pub matter: u8,
    /// The object that it belongs to; links do not cross objects.
    pub object: u32,
}

/// Why there is no such volume.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ElementsError {
    /// Unfit materials.
    #[error(transparent)]
    Matter(#[from] MatterError),
    /// The lattice has no size.
    #[error("spacing of axis {axis} is {value_m} m; expected a finite number greater than 0")]
    Spacing {
        /// Which axis.
        axis: usize,
        /// Value found \[m\].
        value_m: f64,
    },
    /// No elements, or more than slots can number.
    #[error("{0} elements; expected 1 to 100 million")]
    Count(usize),
    /// A material that is not in the list.
    #[error("element at {site:?} is of material {matter}; there are {count}")]
    Unknown {
        /// Where.
        site: [i32; 3],
        /// Which.
        matter: u8,
        /// How many there are.
        count: usize,
    },
    /// Two elements of one site.
    #[error("two elements at {0:?}")]
    Twice([i32; 3]),
}

/// Most elements of a volume.
const COUNT_MAX: usize = 100_000_000;

/// Stands for no element in tables of neighbours.
pub(super) const NONE: u32 = u32::MAX;

/// Bits of [`Elements::marks`].
const ALIVE: u8 = 1;
const PINNED: u8 = 2;

/// A linked volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Elements<R> {
    frame: Frame,
    bonds: Bonds<R>,
    /// The site that a slot was made for: slots are in its order.
    made: Vec<[i32; 3]>,
    /// The site where it rests now: another one after a piece was joined elsewhere.
    site: Vec<[i32; 3]>,
    /// From rest \[m\], by axis and slot.
    pub moved_m: [Vec<R>; 3],
    pub(super) neighbour: [Vec<u32>; 6],
    pub(super) matter: Vec<u8>,
    /// Stiffness over that of the material, by slot.
    pub(super) stiffened: Vec<R>,
    object: Vec<u32>,
    pub(super) colour: Vec<[u8; 4]>,
    marks: Vec<u8>,
}

impl<R: Real> Elements<R> {
    /// A volume at rest, linked wherever two elements of one object are neighbours (row LV-04).
    ///
    /// # Errors
    /// [`ElementsError`] if the materials, the spacing or the seeds are unfit.
    pub fn new(frame: Frame, matters: Vec<Matter>, seeds: &[Seed]) -> Result<Self, ElementsError> {
        for (axis, &value_m) in frame.spacing_m.iter().enumerate() {
            if !(value_m > 0.0 && value_m.is_finite()) {
                return Err(ElementsError::Spacing { axis, value_m });
            }
        }
        if !(1..=COUNT_MAX).contains(&seeds.len()) {
            return Err(ElementsError::Count(seeds.len()));
        }
        let bonds = Bonds::new(matters, frame.spacing_m)?;
        let seeds = in_rows(seeds, bonds.matters().len())?;
        let count = seeds.len();
        let mut elements = Self {
            frame,
            made: seeds.iter().map(|seed| seed.site).collect(),
            site: seeds.iter().map(|seed| seed.site).collect(),
            moved_m: std::array::from_fn(|_| vec![R::zero(); count]),
            neighbour: std::array::from_fn(|_| vec![NONE; count]),
            matter: seeds.iter().map(|seed| seed.matter).collect(),
            stiffened: vec![R::one(); count],
            object: seeds.iter().map(|seed| seed.object).collect(),
            colour: seeds
                .iter()
                .map(|seed| bonds.matters()[usize::from(seed.matter)].colour)
                .collect(),
            marks: vec![ALIVE; count],
            bonds,
        };
        elements.link_all();
        Ok(elements)
    }

    /// Links neighbours of one object; slots are in the order of rows.
    fn link_all(&mut self) {
        for element in 0..self.slots() {
            for to in Direction::UP {
                let site = to.from(self.site[element as usize]);
                let Some(other) = self.at_site(site) else {
                    continue;
                };
                if self.object[element as usize] == self.object[other as usize] {
                    self.set(element, to, other);
                }
            }
        }
    }

    /// The element that was made for a site.
    #[must_use]
    pub fn at_site(&self, site: [i32; 3]) -> Option<u32> {
        let found = self
            .made
            .binary_search_by_key(&order(site), |&site| order(site));
        found.ok().and_then(|slot| u32::try_from(slot).ok())
    }

    /// Where the lattice is at rest.
    #[must_use]
    pub const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What links are like.
    #[must_use]
    pub const fn bonds(&self) -> &Bonds<R> {
        &self.bonds
    }

    /// The site that its slot was made for.
    pub(super) fn made(&self, element: u32) -> [i32; 3] {
        self.made[element as usize]
    }

    /// The site on the lattice where it rests.
    #[must_use]
    pub fn site(&self, element: u32) -> [i32; 3] {
        self.site[element as usize]
    }

    /// Its place at rest \[m\].
    #[must_use]
    pub fn rest_m(&self, element: u32) -> Vec3 {
        self.frame.rest_m(self.site[element as usize])
    }

    /// From its place at rest to where it is \[m\].
    #[must_use]
    pub fn moved_m(&self, element: u32) -> [R; 3] {
        std::array::from_fn(|axis| self.moved_m[axis][element as usize])
    }

    /// Where it is \[m\].
    #[must_use]
    pub fn at_m(&self, element: u32) -> Vec3 {
        let moved_m = self.moved_m(element);
        self.rest_m(element) + Vec3::from(moved_m.map(to_f64))
    }

    /// Its material, an index of the list of materials.
    #[must_use]
    pub fn matter(&self, element: u32) -> u8 {
        self.matter[element as usize]
    }

    /// Stiffness \[N/m\] of a link, or of one that would be, along an axis: that of its halves in series.
    #[must_use]
    pub fn stiffness_npm(&self, element: u32, other: u32, axis: usize) -> R {
        let (own, beside) = (self.matter(element), self.matter(other));
        let plain_npm = self.bonds.of(own, beside, axis).stiffness_npm;
        let [a, b] = [element, other].map(|end| self.stiffened[end as usize]);
        if a == R::one() && b == R::one() {
            return plain_npm;
        }
        let pa = |matter: u8| R::of(self.bonds.matters()[usize::from(matter)].modulus_pa);
        let (own_pa, beside_pa) = (pa(own), pa(beside));
        plain_npm * (a * b * (own_pa + beside_pa) / (a * own_pa + b * beside_pa))
    }

    /// The object that it belongs to (row LV-06).
    #[must_use]
    pub fn object(&self, element: u32) -> u32 {
        self.object[element as usize]
    }

    /// Gives it to another object.
    pub(super) fn set_object(&mut self, element: u32, object: u32) {
        self.object[element as usize] = object;
    }

    /// Its colour (row LV-05).
    #[must_use]
    pub fn colour(&self, element: u32) -> [u8; 4] {
        self.colour[element as usize]
    }

    /// Integers of a snapshot of so many slots.
    pub(super) const fn integers(slots: usize) -> usize {
        5 * slots
    }

    /// Appends links and what every element is.
    pub(super) fn write(&self, integers: &mut Vec<u64>) {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        for slot in 0..self.site.len() {
            for to in Direction::UP {
                let [up, down] = [to, to.opposite()].map(|d| self.neighbour[d.index()][slot]);
                integers.push(pair(up, down));
            }
            let kind = u32::from(self.matter[slot]) << 8 | u32::from(self.marks[slot]);
            integers.push(pair(self.object[slot], kind));
            let far = packed(self.made[slot], self.site[slot]);
            integers.push(pair(far, u32::from_le_bytes(self.colour[slot])));
        }
    }

    /// Takes them back; whether links or marks are others than before.
    pub(super) fn read(&mut self, integers: &[u64]) -> bool {
        let mut changed = false;
        let split = |pair: u64| {
            let [a, b, c, d, e, f, g, h] = pair.to_le_bytes();
            (
                u32::from_le_bytes([e, f, g, h]),
                u32::from_le_bytes([a, b, c, d]),
            )
        };
        for (slot, [x, y, z, kind, colour]) in integers.as_chunks::<5>().0.iter().enumerate() {
            if slot >= self.site.len() {
                break;
            }
            for (to, &pair) in Direction::UP.into_iter().zip([x, y, z]) {
                let (up, down) = split(pair);
                for (d, from) in [(to, up), (to.opposite(), down)] {
                    let own = &mut self.neighbour[d.index()][slot];
                    changed |= *own != from;
                    *own = from;
                }
            }
            let (object, kind) = split(*kind);
            let [marks, matter, ..] = kind.to_le_bytes();
            changed |= self.marks[slot] != marks || self.matter[slot] != matter;
            (self.marks[slot], self.matter[slot]) = (marks, matter);
            // who shares an object follows from links, so this alone changes no strand
            self.object[slot] = object;
            let (far, colour) = split(*colour);
            self.colour[slot] = colour.to_le_bytes();
            let site = unpacked(self.made[slot], far);
            changed |= self.site[slot] != site;
            self.site[slot] = site;
        }
        changed
    }
}

/// Links: who is beside whom. A slot is an element's number for life. Links are symmetric always: who is linked to the
/// right has a neighbour that is linked to the left.
impl<R: Real> Elements<R> {
    /// One more than the highest slot that was ever used.
    #[must_use]
    pub fn slots(&self) -> u32 {
        // at most COUNT_MAX
        u32::try_from(self.site.len()).unwrap_or(NONE)
    }

    /// Whether an element is there.
    #[must_use]
    pub fn alive(&self, element: u32) -> bool {
        self.marks
            .get(element as usize)
            .is_some_and(|mark| mark & ALIVE != 0)
    }

    /// Number of elements that are there.
    #[must_use]
    pub fn count(&self) -> usize {
        (0..self.slots()).filter(|&e| self.alive(e)).count()
    }

    /// Number of links.
    #[must_use]
    pub fn link_count(&self) -> usize {
        let linked = |e| move |&to: &Direction| self.neighbour(e, to).is_some();
        (0..self.slots())
            .map(|e| Direction::UP.iter().filter(|to| linked(e)(to)).count())
            .sum()
    }

    /// Its neighbour in a direction; none of an element that is not there.
    #[must_use]
    pub fn neighbour(&self, element: u32, to: Direction) -> Option<u32> {
        let neighbour = self.neighbour[to.index()].get(element as usize);
        neighbour.copied().filter(|&n| n != NONE)
    }

    /// Cuts a link on both sides; whether there was one.
    pub fn cut(&mut self, element: u32, to: Direction) -> bool {
        let Some(other) = self.neighbour(element, to) else {
            return false;
        };
        self.neighbour[to.index()][element as usize] = NONE;
        self.neighbour[to.opposite().index()][other as usize] = NONE;
        true
    }

    /// Links two elements, if both are there and lack a neighbour there; whether they do. The caller knows that they are
    /// near enough.
    pub fn join(&mut self, element: u32, to: Direction, other: u32) -> bool {
        let free = |end, to| self.alive(end) && self.neighbour(end, to).is_none();
        let can = element != other && free(element, to) && free(other, to.opposite());
        if can {
            self.set(element, to, other);
        }
        can
    }

    fn set(&mut self, element: u32, to: Direction, other: u32) {
        self.neighbour[to.index()][element as usize] = other;
        self.neighbour[to.opposite().index()][other as usize] = element;
    }

    /// Takes an element out, with its links; whether it was there.
    pub fn carve(&mut self, element: u32) -> bool {
        if !self.alive(element) {
            return false;
        }
        for to in Direction::ALL {
            self.cut(element, to);
        }
        self.marks[element as usize] &= !ALIVE;
        true
    }

    /// Puts an element back where it was, without links; whether it was gone.
    pub fn revive(&mut self, element: u32) -> bool {
        if self.alive(element) || element >= self.slots() {
            return false;
        }
        self.marks[element as usize] |= ALIVE;
        true
    }

    /// Whether it is held where it is (row TP-09).
    #[must_use]
    pub fn pinned(&self, element: u32) -> bool {
        self.marks[element as usize] & PINNED != 0
    }

    /// Holds it where it is, or lets it go.
    pub fn pin(&mut self, element: u32, held: bool) {
        let mark = &mut self.marks[element as usize];
        *mark = if held {
            *mark | PINNED
        } else {
            *mark & !PINNED
        };
    }

    /// Holds an element that is there, or lets it go; whether that changed anything.
    pub fn hold(&mut self, element: u32, held: bool) -> bool {
        let changes = self.alive(element) && self.pinned(element) != held;
        if changes {
            self.pin(element, held);
        }
        changes
    }

    /// Whether [`Elements::carry`] can number an element's rest from so many sites further on.
    pub(super) fn carries(&self, element: u32, by: [i32; 3]) -> bool {
        let slot = element as usize;
        (0..3).all(|axis| {
            let far = (self.site[slot][axis] - self.made[slot][axis]).saturating_add(by[axis]);
            far.abs() <= CARRY_MAX
        })
    }

    /// Has an element rest at another site of the lattice; it stays where it is.
    pub(super) fn carry(&mut self, element: u32, by: [i32; 3]) {
        let slot = element as usize;
        for (axis, &steps) in by.iter().enumerate() {
            self.site[slot][axis] += steps;
            let way_m = f64::from(steps) * self.frame.spacing_m[axis];
            let moved_m = &mut self.moved_m[axis][slot];
            *moved_m = R::of(to_f64(*moved_m) - way_m);
        }
    }
}

/// Farthest from the site that an element was made for to the one where it rests, by axis.
const CARRY_MAX: i32 = 511;

/// From the site that an element was made for to where it rests, in ten bits an axis.
fn packed(made: [i32; 3], site: [i32; 3]) -> u32 {
    let bits = |axis: usize| ((site[axis] - made[axis]) as u32 & 0x3ff) << (10 * axis);
    bits(0) | bits(1) | bits(2)
}

/// Where an element rests, after [`packed`].
fn unpacked(made: [i32; 3], far: u32) -> [i32; 3] {
    // the sign is the highest of the ten bits
    std::array::from_fn(|axis| made[axis] + ((far << (22 - 10 * axis)) as i32 >> 22))
}

/// The number, in double precision.
pub(super) fn to_f64<R: Real>(value: R) -> f64 {
    nalgebra::try_convert(value).unwrap_or(f64::NAN)
}

/// The number in single precision, which is what elements of sessions keep.
#[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
pub(super) const fn single(value: f64) -> f32 {
    value as f32
}

/// Colour of a site, 0 or 1: neighbours have the other one.
pub(super) fn colour_of([x, y, z]: [i32; 3]) -> usize {
    usize::from((x ^ y ^ z) & 1 != 0)
}

/// The order of slots: rows along x by z and y, one colour of a row after the other.
fn order(site: [i32; 3]) -> (i32, i32, usize, i32) {
    (site[2], site[1], colour_of(site), site[0])
}

/// Seeds in the order of slots.
fn in_rows(seeds: &[Seed], matters: usize) -> Result<Vec<Seed>, ElementsError> {
    let mut seeds = seeds.to_vec();
    seeds.sort_by_key(|seed| order(seed.site));
    if let Some(seed) = seeds.iter().find(|s| usize::from(s.matter) >= matters) {
        return Err(ElementsError::Unknown {
            site: seed.site,
            matter: seed.matter,
            count: matters,
        });
    }
    match seeds.windows(2).find(|pair| pair[0].site == pair[1].site) {
        Some(pair) => Err(ElementsError::Twice(pair[0].site)),
        None => Ok(seeds),
    }
}
