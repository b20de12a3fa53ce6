//! How the cells and nodes of a sub-step are shared among a crew.
//!
//! Source: ours. Chunks of planes are one share each. A chunk's cells pull at its own nodes and at
//! the plane beyond, which is the next chunk's: what goes there is kept apart and joins when that
//! chunk's nodes go, after its own cells have pulled. So no two shares write to one place, every sum
//! has one order, and the bits do not depend on who did what.

use super::build::Model;
use super::cells::{Buffer, Field, Found, Onto, pull, pull_and_book};
use super::grid::{Chunk, Grid, Motion};
use super::laws::{Lanes, with_law};
use super::motion::{self, Nodes, Pace};
use super::schedule::CHUNKS;
use super::viscous::{self, Heat, Past, Viscous};
use crate::crew::Crew;
use palpate_twin::law::{Family, Real};

/// What chunks have to do, of which there are as many as chunks at most.
pub(super) struct Works<T> {
    all: [Option<T>; CHUNKS],
    count: usize,
}

impl<T> Works<T> {
    pub(super) const NEW: Self = Self {
        all: [const { None }; CHUNKS],
        count: 0,
    };

    pub(super) fn push(&mut self, work: T) {
        self.all[self.count] = Some(work);
        self.count += 1;
    }

    /// Those that there are, none of them empty.
    pub(super) fn parts(&mut self) -> &mut [Option<T>] {
        &mut self.all[..self.count]
    }
}

/// What a chunk works with and what it found.
#[derive(Debug, Clone)]
struct Desk {
    buffer: Buffer,
    found: Found,
    heat: Heat,
    /// Energy that damping took.
    taken: f64,
}

/// What the shares of a grid need beyond its motion.
#[derive(Debug, Clone)]
struct Room {
    /// By chunk.
    desks: Vec<Desk>,
    /// Impulses on the plane beyond each chunk but the last, which has no such plane.
    overs: Vec<[Field; 3]>,
}

/// Scratch of all shares, by grid.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    rooms: Vec<Room>,
    law: Family,
    /// Whether impulses join before nodes go: seams and what couples nodes need them whole.
    early: bool,
}

/// Which cells pull, for how much of the shortest sub-step, and its length, 0 if no time has passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) class: usize,
    pub(super) weight: f32,
    pub(super) dt: f64,
}

/// Cells of a chunk.
struct Pull<'a> {
    grid: &'a Grid,
    chunk: &'a Chunk,
    stiff: [&'a Field; 2],
    u: &'a [Field; 3],
    past: Past<'a>,
    needs: &'a mut [f32],
    onto: Onto<'a>,
    desk: &'a mut Desk,
}

/// Nodes of a chunk.
struct Go<'a> {
    grid: &'a Grid,
    chunk: &'a Chunk,
    nodes: Nodes<'a>,
    /// What the chunk before has for the first plane.
    over: Option<&'a mut [Field; 3]>,
    desk: &'a mut Desk,
}

impl Shares {
    pub(super) fn new(model: &Model) -> Self {
        let desk = || Desk {
            buffer: Buffer::new(),
            found: Found::default(),
            heat: Heat::default(),
            taken: 0.0,
        };
        let room = |grid: &Grid| Room {
            desks: grid.chunks.iter().map(|_| desk()).collect(),
            overs: grid.chunks[1..]
                .iter()
                .map(|_| [(); 3].map(|()| vec![0.0; grid.plane]))
                .collect(),
        };
        Self {
            rooms: model.grids.iter().map(room).collect(),
            law: model.params.law,
            early: !model.seams.is_empty() || model.coupled.is_some(),
        }
    }

    /// Leaves nothing to join.
    pub(super) fn clear(&mut self) {
        let overs = self.rooms.iter_mut().flat_map(|room| &mut room.overs);
        overs.flatten().for_each(|field| field.fill(0.0));
    }

    /// Forces of the cells that are due, on what they touch.
    pub(super) fn pull<const BOOKS: bool>(
        &mut self,
        crew: &mut impl Crew,
        due: &Due,
        (grids, motions): (&[Grid], &mut [Motion]),
        needs: &mut [Vec<f32>],
    ) -> (Found, f64) {
        let mut works = Works::NEW;
        let rooms = self.rooms.iter_mut().zip(needs);
        for (grid, (motion, (room, needs))) in grids.iter().zip(motions.iter_mut().zip(rooms)) {
            let Motion {
                u, f, past, stiff, ..
            } = motion;
            let (mut f, mut past) = (slices(f), viscous::past(past));
            let mut needs = needs.as_mut_slice();
            let mut overs = room.overs.iter_mut();
            for (chunk, desk) in grid.chunks.iter().zip(&mut room.desks) {
                let length = chunk.places.len();
                let onto = Onto {
                    from: chunk.places.start,
                    own: cut_each(&mut f, length),
                    over: overs.next().map(slices).unwrap_or_default(),
                };
                let past = cut_each(&mut past, length);
                let needs = cut(&mut needs, length);
                if !grid.slabs[chunk.slabs.clone()]
                    .iter()
                    .any(|slab| slab.class <= due.class)
                {
                    continue;
                }
                works.push(Pull {
                    grid,
                    chunk,
                    stiff: [&stiff[0], &stiff[1]],
                    u,
                    past,
                    needs,
                    onto,
                    desk,
                });
            }
        }
        with_law!(self.law, law => crew.each(works.parts(), |part| {
            part.iter_mut().for_each(|work| work.run::<BOOKS>(law, due));
        }));
        let (mut found, mut taken) = (Found::default(), 0.0);
        for work in works.parts().iter().flatten() {
            found = found.join(work.desk.found);
            found.energy += work.desk.heat.held;
            taken += work.desk.heat.taken;
        }
        (found, taken)
    }

    /// Brings impulses of cells together where they are needed whole; else they join as nodes go.
    pub(super) fn join_early(&mut self, grids: &[Grid], motions: &mut [Motion]) {
        if !self.early {
            return;
        }
        for (grid, (motion, room)) in grids.iter().zip(motions.iter_mut().zip(&mut self.rooms)) {
            let beyond = grid.chunks[1..].iter().zip(&mut room.overs);
            for (chunk, over) in beyond {
                for (f, over) in motion.f.iter_mut().zip(over) {
                    motion::join(&mut f[chunk.places.start..], over);
                }
            }
        }
    }

    /// Moves the nodes that go with their sheets and whose class is due; the `LAST` time of a tick only
    /// their speeds change. Gives the energy that damping took.
    pub(super) fn go<const LAST: bool>(
        &mut self,
        crew: &mut impl Crew,
        (due, pace): (usize, impl Fn(usize) -> Pace + Sync),
        (grids, motions): (&[Grid], &mut [Motion]),
    ) -> f64 {
        let mut works = Works::NEW;
        for (grid, (motion, room)) in grids.iter().zip(motions.iter_mut().zip(&mut self.rooms)) {
            let Motion {
                mass,
                ease,
                u,
                v,
                f,
                ..
            } = motion;
            let (mut u, mut v, mut f) = (slices(u), slices(v), slices(f));
            let mut overs = room.overs.iter_mut();
            for (index, (chunk, desk)) in grid.chunks.iter().zip(&mut room.desks).enumerate() {
                let (places, length) = (chunk.places.clone(), chunk.places.len());
                let nodes = Nodes {
                    mass: &mass[places.clone()],
                    ease: &ease[places],
                    u: cut_each(&mut u, length),
                    v: cut_each(&mut v, length),
                    f: cut_each(&mut f, length),
                };
                let over = if index > 0 { overs.next() } else { None };
                let over = over.filter(|_| !self.early);
                let mut sheets = grid.sheets[chunk.sheets.clone()].iter();
                if over.is_none() && !sheets.any(|sheet| sheet.class <= due) {
                    continue;
                }
                works.push(Go {
                    grid,
                    chunk,
                    nodes,
                    over,
                    desk,
                });
            }
        }
        crew.each(works.parts(), |part| {
            part.iter_mut()
                .for_each(|work| work.run::<LAST>(due, &pace));
        });
        works
            .parts()
            .iter()
            .flatten()
            .map(|work| work.desk.taken)
            .sum()
    }
}

impl Pull<'_> {
    fn run<const BOOKS: bool>(&mut self, law: impl Lanes, due: &Due) {
        let (grid, desk) = (self.grid, &mut *self.desk);
        (desk.found, desk.heat) = (Found::default(), Heat::default());
        let slabs = grid.slabs[self.chunk.slabs.clone()].iter();
        for slab in slabs.filter(|slab| slab.class <= due.class) {
            let times = f64::from(1_u32 << slab.class);
            let weight = due.weight * f32::of(times);
            let (cells, buffer) = ((&grid.cells, self.stiff, &slab.runs[..]), &mut desk.buffer);
            if BOOKS {
                let with = (&mut *buffer, &mut *self.needs);
                let found = pull_and_book(law, cells, weight, self.u, &mut self.onto, with);
                desk.found = desk.found.join(found);
            } else {
                pull(law, cells, weight, self.u, &mut self.onto, buffer);
            }
            let viscous = grid.viscous.as_ref();
            if let Some(viscous) = viscous.filter(|_: &&Viscous| !slab.viscous.is_empty()) {
                let (cells, pace) = ((grid, viscous, &slab.viscous[..]), f32::of(due.dt * times));
                let remembered = (self.u, &mut self.past);
                let with = (&mut self.onto, buffer);
                let heat = viscous::pull(cells, (weight, pace), remembered, with);
                desk.heat.taken += heat.taken;
                desk.heat.held += heat.held;
            }
        }
    }
}

impl Go<'_> {
    fn run<const LAST: bool>(&mut self, due: usize, pace: &impl Fn(usize) -> Pace) {
        if let Some(over) = &mut self.over {
            for (f, over) in self.nodes.f.iter_mut().zip(over.iter_mut()) {
                motion::join(f, over);
            }
        }
        self.desk.taken = 0.0;
        let from = self.chunk.places.start;
        let sheets = self.grid.sheets[self.chunk.sheets.clone()].iter();
        for sheet in sheets.filter(|sheet| sheet.class <= due) {
            let nodes = sheet.nodes.start - from..sheet.nodes.end - from;
            self.desk.taken += motion::go::<LAST>(nodes, &mut self.nodes, &pace(sheet.class));
        }
    }
}

pub(super) fn slices(fields: &mut [Field; 3]) -> [&mut [f32]; 3] {
    fields.each_mut().map(Vec::as_mut_slice)
}

/// The first of a slice, which keeps the rest; of nothing, nothing.
pub(super) fn cut<'a>(rest: &mut &'a mut [f32], length: usize) -> &'a mut [f32] {
    let whole = std::mem::take(rest);
    let length = length.min(whole.len());
    let (first, others) = whole.split_at_mut(length);
    *rest = others;
    first
}

pub(super) fn cut_each<'a, const N: usize>(
    rest: &mut [&'a mut [f32]; N],
    length: usize,
) -> [&'a mut [f32]; N] {
    rest.each_mut().map(|rest| cut(rest, length))
}
