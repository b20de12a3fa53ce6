//! Mass scaling: squeezed cells get mass instead of shorter sub-steps.
//!
//! Source: ours, after selective mass scaling (Olovsson, Simonsson and Unosson 2005). A cell that is squeezed
//! to a third would demand three times the sub-steps for all cells. Its nodes get mass instead, so a tick costs
//! the same for any depth of a tool. A press is slow compared with waves, so its force does not change. The
//! added mass can be queried, and the kinetic energy that it adds and removes is a term of the energy
//! balance.
//!
//! The *demand* of a cell is the square of the sub-steps that it needs over those at rest. The *load* of a node is
//! its mass over that at rest. Mass beyond [`LOAD_SLOW_PRESS_MAX`] is added at constant momentum and removed at
//! constant velocity. Both dissipate energy; otherwise a collapsed region would sustain its motion (measured: it
//! never came to rest). Such mass has a [`MARGIN`], and leaves slowly: cells that are squeezed by a plunge may be
//! squeezed again within a tick. Masses are set once a tick, and in every sub-step while cells are squeezed fast.

use super::cells::Field;
use super::grid::{Grid, Motion};
use super::hanging_nodes::HangingNodes;
use super::leapfrog::kinetic;
use multiversion::multiversion;

/// Demand up to which the safety factor of the time step suffices, so that no mass is added.
const DEMAND_COVERED: f32 = 1.15;
/// Demand of a collapsed cell: stretched to ten times its size in each direction, and inverted.
pub(super) const DEMAND_COLLAPSED: f32 = 1e6;
/// Largest load that a slow press causes. Mass beyond it is added and removed with dissipation.
pub(super) const LOAD_SLOW_PRESS_MAX: f32 = 16.0;
/// Factor on the load beyond [`LOAD_SLOW_PRESS_MAX`]: a cell may be squeezed further before its mass must grow again.
const MARGIN: f32 = 1.5;
/// Share of the mass beyond [`LOAD_SLOW_PRESS_MAX`] that stays for another tick.
const HELD: f32 = 0.95;

/// Time at which masses are set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MassTime {
    /// Within a tick: only cells whose forces were computed so far have a new demand, so masses may only grow.
    Within,
    /// At its end.
    End,
}

/// Mass factors of the nodes of every grid; 1 without added mass.
#[derive(Debug, Clone)]
pub(super) struct MassLoads {
    /// Demands of the cells by grid.
    pub(super) demands: Vec<Field>,
    nodes: Vec<Field>,
    /// True if any load differs from 1.
    loaded: bool,
}

impl MassLoads {
    pub(super) fn new(grids: &[Grid]) -> Self {
        let field = |grid: &Grid| vec![0.0; grid.mass.len()];
        Self {
            demands: grids.iter().map(field).collect(),
            nodes: grids.iter().map(field).collect(),
            loaded: false,
        }
    }

    /// Sets the masses for the present demands, of which `greatest` is the largest. Returns the kinetic
    /// energy before and after.
    pub(super) fn apply(
        &mut self,
        greatest: f32,
        time: MassTime,
        grids: &[Grid],
        hanging_nodes: &[HangingNodes],
        motions: &mut [Motion],
    ) -> (f64, f64) {
        let all = self.changes(greatest);
        if all {
            self.spread(grids, motions);
            for (index, hanging) in hanging_nodes.iter().enumerate().rev() {
                let (above, fine) = self.nodes.split_at_mut(index + 1);
                hanging.raise(&mut above[index], &fine[0]);
            }
        }
        let before = energy(grids, motions);
        if !all {
            return (before, before);
        }
        for (grid, (motion, loads)) in grids.iter().zip(motions.iter_mut().zip(&self.nodes)) {
            set_masses(grid, loads, time, motion);
        }
        self.find_loaded(grids, motions);
        (before, energy(grids, motions))
    }

    /// True if masses change for a largest demand of `greatest`.
    pub(super) fn changes(&self, greatest: f32) -> bool {
        greatest > DEMAND_COVERED || self.loaded
    }

    /// Sets the load of every node to the largest of its cells.
    fn spread(&mut self, grids: &[Grid], motions: &[Motion]) {
        let fields = self.demands.iter().zip(&mut self.nodes).zip(motions);
        for (grid, ((demands, loads), motion)) in grids.iter().zip(fields) {
            loads.fill(1.0);
            for corner in grid.cells.corners {
                let end = loads.len().min(corner + grid.count());
                raise(demands, &motion.stiffness_ratio, &mut loads[corner..end]);
            }
        }
    }

    /// Finds whether any node is loaded; needed after a state was copied.
    pub(super) fn find_loaded(&mut self, grids: &[Grid], motions: &[Motion]) {
        let mut pairs = grids.iter().zip(motions);
        self.loaded = pairs.any(|(grid, motion)| motion.mass != grid.mass);
    }

    /// Clears the demands, which are no part of the state.
    pub(super) fn clear_demands(&mut self) {
        self.demands.iter_mut().for_each(|field| field.fill(0.0));
    }

    /// Removes all loads, whatever they were.
    pub(super) fn reset(&mut self, grids: &[Grid], motions: &mut [Motion]) {
        for (grid, motion) in grids.iter().zip(motions) {
            motion.mass.copy_from_slice(&grid.mass);
            motion.inverse_mass.copy_from_slice(&grid.inverse_mass);
        }
        self.loaded = false;
    }
}

/// Returns the kinetic energy of all nodes.
fn energy(grids: &[Grid], motions: &[Motion]) -> f64 {
    let pairs = grids.iter().zip(motions);
    let chunks =
        pairs.flat_map(|(grid, motion)| grid.chunks.iter().map(move |chunk| (chunk, motion)));
    chunks.fold(0.0, |sum, (chunk, motion)| {
        sum + kinetic(chunk.places.clone(), motion)
    })
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn raise(demands: &[f32], stiffened: &[f32], loads: &mut [f32]) {
    for (load, (demand, stiffened)) in loads.iter_mut().zip(demands.iter().zip(stiffened)) {
        let own = demand * stiffened * (1.0 / DEMAND_COVERED);
        let own = if own < DEMAND_COLLAPSED {
            own
        } else {
            DEMAND_COLLAPSED
        };
        let beyond = own - LOAD_SLOW_PRESS_MAX;
        let own = if beyond > 0.0 {
            beyond.mul_add(MARGIN, LOAD_SLOW_PRESS_MAX)
        } else {
            own
        };
        *load = if own > *load { own } else { *load };
    }
}

/// Sets the masses of the nodes from their loads.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn set_masses(grid: &Grid, loads: &Field, time: MassTime, motion: &mut Motion) {
    let (share, least_held) = match time {
        MassTime::Within => (1.0, 1.0),
        MassTime::End => (HELD, LOAD_SLOW_PRESS_MAX),
    };
    let [x, y, z] = &mut motion.v;
    let speeds = x.iter_mut().zip(y).zip(z);
    let masses = motion.mass.iter_mut().zip(&mut motion.inverse_mass);
    let rest = grid.mass.iter().zip(&grid.inverse_mass).zip(loads);
    for ((((x, y), z), (mass, inverse_mass)), ((rest_mass, rest_inverse_mass), load)) in
        speeds.zip(masses).zip(rest)
    {
        // NaN for a node without mass of its own
        let held = share * *mass / rest_mass;
        let held = if held > least_held { held } else { 1.0 };
        let load = if held > *load { held } else { *load };
        let (bound, after) = (LOAD_SLOW_PRESS_MAX * rest_mass, rest_mass * load);
        let least = if *mass > bound { *mass } else { bound };
        let slower = if after > least { least / after } else { 1.0 };
        *x *= slower;
        *y *= slower;
        *z *= slower;
        *mass = after;
        *inverse_mass = rest_inverse_mass / load;
    }
}
