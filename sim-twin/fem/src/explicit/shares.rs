//! The cells and nodes of a sub-step, chunk by chunk.
//!
//! Source: ours. Chunks of planes are one share each. A chunk's cells pull at its own nodes and at
//! the plane beyond, which is the next chunk's: what goes there is kept apart and joins when that
//! chunk's nodes go, after its own cells have pulled. So no two shares write to one place, every sum
//! has one order, and what a share works on stays in the cache.

use super::build::Model;
use super::cells::{Buffer, Field, Found, Onto, Pulling, pull, pull_and_book};
use super::grid::{Chunk, Grid, Motion};
use super::laws::{Lanes, with_law};
use super::motion::{self, Nodes, Pace};
use super::viscous::{self, Heat, Lagging, Past, Viscous};
use palpate_twin::law::{Family, Real};

/// Scratch of all shares.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    /// By grid, impulses on the plane beyond each chunk but the last, which has no such plane.
    overs: Vec<Vec<[Field; 3]>>,
    buffer: Buffer,
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
    buffer: &'a mut Buffer,
}

/// Nodes of a chunk.
struct Go<'a> {
    grid: &'a Grid,
    chunk: &'a Chunk,
    nodes: Nodes<'a>,
    /// What the chunk before has for the first plane.
    over: Option<&'a mut [Field; 3]>,
}

impl Shares {
    pub(super) fn new(model: &Model) -> Self {
        let overs = |grid: &Grid| {
            let beyond = grid.chunks[1..].iter();
            beyond
                .map(|_| [(); 3].map(|()| vec![0.0; grid.plane]))
                .collect()
        };
        Self {
            overs: model.grids.iter().map(overs).collect(),
            buffer: Buffer::new(),
            law: model.params.law,
            early: !model.seams.is_empty() || model.coupled.is_some(),
        }
    }

    /// Leaves nothing to join.
    pub(super) fn clear(&mut self) {
        let fields = self.overs.iter_mut().flatten().flatten();
        fields.for_each(|field| field.fill(0.0));
    }

    /// Forces of the cells that are due, on what they touch.
    pub(super) fn pull<const BOOKS: bool>(
        &mut self,
        due: &Due,
        grids: &[Grid],
        motions: &mut [Motion],
        needs: &mut [Vec<f32>],
    ) -> (Found, f64) {
        let (mut found, mut taken) = (Found::default(), 0.0);
        let rooms = self.overs.iter_mut().zip(needs);
        for (grid, (motion, (overs, needs))) in grids.iter().zip(motions.iter_mut().zip(rooms)) {
            let Motion {
                u, f, past, stiff, ..
            } = motion;
            let (mut f, mut past) = (slices(f), viscous::past(past));
            let mut needs = needs.as_mut_slice();
            let mut overs = overs.iter_mut();
            for chunk in &grid.chunks {
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
                let mut work = Pull {
                    grid,
                    chunk,
                    stiff: [&stiff[0], &stiff[1]],
                    u,
                    past,
                    needs,
                    onto,
                    buffer: &mut self.buffer,
                };
                let (own, heat) = with_law!(self.law, law => work.run::<BOOKS>(law, due));
                found = found.join(own);
                found.energy += heat.held;
                taken += heat.taken;
            }
        }
        (found, taken)
    }

    /// Brings impulses of cells together where they are needed whole; else they join as nodes go.
    pub(super) fn join_early(&mut self, grids: &[Grid], motions: &mut [Motion]) {
        if !self.early {
            return;
        }
        for (grid, (motion, overs)) in grids.iter().zip(motions.iter_mut().zip(&mut self.overs)) {
            let beyond = grid.chunks[1..].iter().zip(overs);
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
        due: usize,
        pace: impl Fn(usize) -> Pace,
        grids: &[Grid],
        motions: &mut [Motion],
    ) -> f64 {
        let mut taken = 0.0;
        for (grid, (motion, overs)) in grids.iter().zip(motions.iter_mut().zip(&mut self.overs)) {
            let Motion {
                mass,
                ease,
                u,
                v,
                f,
                ..
            } = motion;
            let (mut u, mut v, mut f) = (slices(u), slices(v), slices(f));
            let mut overs = overs.iter_mut();
            for (index, chunk) in grid.chunks.iter().enumerate() {
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
                let mut work = Go {
                    grid,
                    chunk,
                    nodes,
                    over,
                };
                taken += work.run::<LAST>(due, &pace);
            }
        }
        taken
    }
}

impl Pull<'_> {
    /// What it found, and what went into heat.
    fn run<const BOOKS: bool>(&mut self, law: impl Lanes, due: &Due) -> (Found, Heat) {
        let (grid, buffer) = (self.grid, &mut *self.buffer);
        let (mut found, mut heat) = (Found::default(), Heat::default());
        let slabs = grid.slabs[self.chunk.slabs.clone()].iter();
        for slab in slabs.filter(|slab| slab.class <= due.class) {
            let times = f64::from(1_u32 << slab.class);
            let weight = due.weight * f32::of(times);
            let pulling = Pulling {
                cells: &grid.cells,
                stiff: self.stiff,
                runs: &slab.runs,
                weight,
                u: self.u,
            };
            if BOOKS {
                let own = pull_and_book(law, &pulling, &mut self.onto, buffer, self.needs);
                found = found.join(own);
            } else {
                pull(law, &pulling, &mut self.onto, buffer);
            }
            let viscous = grid.viscous.as_ref();
            if let Some(viscous) = viscous.filter(|_: &&Viscous| !slab.viscous.is_empty()) {
                let lagging = Lagging {
                    cells: &grid.cells,
                    viscous,
                    runs: &slab.viscous,
                    weight,
                    dt: f32::of(due.dt * times),
                    u: self.u,
                };
                let own = viscous::pull(&lagging, &mut self.past, &mut self.onto, buffer);
                heat.taken += own.taken;
                heat.held += own.held;
            }
        }
        (found, heat)
    }
}

impl Go<'_> {
    /// Energy that damping took.
    fn run<const LAST: bool>(&mut self, due: usize, pace: &impl Fn(usize) -> Pace) -> f64 {
        if let Some(over) = &mut self.over {
            for (f, over) in self.nodes.f.iter_mut().zip(over.iter_mut()) {
                motion::join(f, over);
            }
        }
        let mut taken = 0.0;
        let from = self.chunk.places.start;
        let sheets = self.grid.sheets[self.chunk.sheets.clone()].iter();
        for sheet in sheets.filter(|sheet| sheet.class <= due) {
            let nodes = sheet.nodes.start - from..sheet.nodes.end - from;
            taken += motion::go::<LAST>(nodes, &mut self.nodes, &pace(sheet.class));
        }
        taken
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
