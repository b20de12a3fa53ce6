//! Squeezed cells: mass instead of shorter sub-steps.
//!
//! Source: ours, after selective mass scaling (Olovsson, Simonsson and Unosson 2005). A cell that is
//! squeezed to a third would need three times the sub-steps for all; its nodes get mass instead, so
//! that a tick costs the same however deep a tool is. A press is slow against waves, so what is felt
//! does not change; how much mass there is can be asked for, and the kinetic energy that comes and
//! goes with it has a place in the books. What a tangle gets beyond [`TANGLED`] keeps its momentum instead of
//! its speed, and what loses it its speed: both take energy, where else a tangle would feed itself
//! (measured: it never came to rest).

use super::grid::{Grid, Motion};
use super::motion::kinetic;
use super::seam::Seam;
use super::shares::{cut, cut_each, slices};
use multiversion::multiversion;
use std::ops::Range;

/// Demand that the step's safety covers, over that at rest.
const BORNE: f32 = 1.15;
/// Demand of a cell that has fallen in: squeezed to a twentieth.
pub(super) const FALLEN: f32 = 400.0;
/// Load that no sound press reaches.
const TANGLED: f32 = 16.0;

/// Loads of the nodes of every grid, 1 without any.
#[derive(Debug, Clone)]
pub(super) struct Loads {
    /// Demands of the cells by grid.
    pub(super) needs: Vec<Vec<f32>>,
    nodes: Vec<Vec<f32>>,
    /// Whether any load is not 1.
    loaded: bool,
}

impl Loads {
    pub(super) fn new(grids: &[Grid]) -> Self {
        let field = |grid: &Grid| vec![0.0; grid.mass.len()];
        Self {
            needs: grids.iter().map(field).collect(),
            nodes: grids.iter().map(field).collect(),
            loaded: false,
        }
    }

    /// Masses for the demands now; `greatest` is the greatest of them. Gives the kinetic energy before
    /// and after.
    pub(super) fn apply(
        &mut self,
        greatest: f32,
        grids: &[Grid],
        seams: &[Seam],
        motions: &mut [Motion],
    ) -> (f64, f64) {
        let all = self.changes(greatest);
        self.loaded = greatest > BORNE;
        if all {
            self.each(grids, motions, |mut weigh| weigh.spread());
            for (index, seam) in seams.iter().enumerate().rev() {
                let (above, fine) = self.nodes.split_at_mut(index + 1);
                seam.raise(&mut above[index], &fine[0]);
            }
        }
        let (mut light, mut heavy) = (0.0, 0.0);
        self.each(grids, motions, |mut weigh| {
            let own = weigh.apply(all);
            light += own.0;
            heavy += own.1;
        });
        (light, heavy)
    }

    /// Whether masses change for demands of which that is the greatest.
    pub(super) fn changes(&self, greatest: f32) -> bool {
        greatest > BORNE || self.loaded
    }

    /// Does something with every chunk, in their order.
    fn each(&mut self, grids: &[Grid], motions: &mut [Motion], mut work: impl FnMut(Weigh<'_>)) {
        let fields = self.needs.iter().zip(&mut self.nodes).zip(motions);
        for (grid, ((needs, nodes), motion)) in grids.iter().zip(fields) {
            let Motion {
                mass,
                ease,
                v,
                stiffened,
                ..
            } = motion;
            let (mut mass, mut ease) = (mass.as_mut_slice(), ease.as_mut_slice());
            let (mut v, mut loads) = (slices(v), nodes.as_mut_slice());
            for chunk in &grid.chunks {
                let length = chunk.places.len();
                work(Weigh {
                    grid,
                    places: chunk.places.clone(),
                    needs,
                    stiffened,
                    mass: cut(&mut mass, length),
                    ease: cut(&mut ease, length),
                    v: cut_each(&mut v, length),
                    loads: cut(&mut loads, length),
                });
            }
        }
    }

    /// Whether anything was loaded after the last time; a copy of a state has to say.
    pub(super) fn set_loaded(&mut self, greatest: f32) {
        self.loaded = greatest > BORNE;
    }
}

/// Nodes of a chunk, with the demands of all cells.
struct Weigh<'a> {
    grid: &'a Grid,
    places: Range<usize>,
    needs: &'a [f32],
    stiffened: &'a [f32],
    mass: &'a mut [f32],
    ease: &'a mut [f32],
    v: [&'a mut [f32]; 3],
    loads: &'a mut [f32],
}

/// Masses of nodes without any load, and their inverses.
struct Rest<'a> {
    mass: &'a [f32],
    ease: &'a [f32],
}

impl Weigh<'_> {
    /// Load of every node: the greatest of its cells.
    fn spread(&mut self) {
        self.loads.fill(1.0);
        let (from, to) = (self.places.start, self.places.end);
        for corner in self.grid.cells.corners {
            let (low, high) = (from.max(corner), to.min(corner + self.grid.count()));
            if low < high {
                let cells = low - corner..high - corner;
                let (needs, stiffened) = (&self.needs[cells.clone()], &self.stiffened[cells]);
                raise(needs, stiffened, &mut self.loads[low - from..high - from]);
            }
        }
    }

    /// Gives nodes the masses that their loads ask for, if anything is loaded; kinetic energy before and after.
    fn apply(&mut self, loaded: bool) -> (f64, f64) {
        let light = kinetic(self.mass, &self.v);
        if !loaded {
            return (light, light);
        }
        let rest = Rest {
            mass: &self.grid.mass[self.places.clone()],
            ease: &self.grid.ease[self.places.clone()],
        };
        let [x, y, z] = &mut self.v;
        load(&rest, self.loads, self.mass, self.ease, [x, y, z]);
        (light, kinetic(self.mass, &self.v))
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn raise(needs: &[f32], stiffened: &[f32], loads: &mut [f32]) {
    for (load, (need, stiffened)) in loads.iter_mut().zip(needs.iter().zip(stiffened)) {
        let own = need * stiffened * (1.0 / BORNE);
        let own = if own < FALLEN { own } else { FALLEN };
        *load = if own > *load { own } else { *load };
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn load(rest: &Rest, loads: &[f32], mass: &mut [f32], ease: &mut [f32], v: [&mut [f32]; 3]) {
    let [x, y, z] = v;
    let speeds = x.iter_mut().zip(y).zip(z);
    let masses = mass.iter_mut().zip(ease);
    let rest = rest.mass.iter().zip(rest.ease).zip(loads);
    for ((((x, y), z), (mass, ease)), ((light, easy), load)) in speeds.zip(masses).zip(rest) {
        let (bound, after) = (TANGLED * light, light * load);
        let least = if *mass > bound { *mass } else { bound };
        let slower = if after > least { least / after } else { 1.0 };
        *x *= slower;
        *y *= slower;
        *z *= slower;
        *mass = after;
        *ease = easy / load;
    }
}
