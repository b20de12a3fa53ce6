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
use super::seam::Seam;
use multiversion::multiversion;

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

    /// Masses for the demands now; `greatest` is the greatest of them.
    pub(super) fn apply(
        &mut self,
        greatest: f32,
        (grids, seams): (&[Grid], &[Seam]),
        motions: &mut [Motion],
    ) {
        if greatest <= BORNE && !self.loaded {
            return;
        }
        self.loaded = greatest > BORNE;
        let fields = self.needs.iter_mut().zip(&mut self.nodes).zip(&*motions);
        for (grid, ((needs, nodes), motion)) in grids.iter().zip(fields) {
            for (need, stiffened) in needs.iter_mut().zip(&motion.stiffened) {
                *need *= stiffened;
            }
            spread(grid, needs, nodes);
        }
        for (index, seam) in seams.iter().enumerate().rev() {
            let (above, fine) = self.nodes.split_at_mut(index + 1);
            seam.raise(&mut above[index], &fine[0]);
        }
        for (grid, (nodes, motion)) in grids.iter().zip(self.nodes.iter().zip(motions)) {
            load(grid, nodes, motion);
        }
    }

    /// Whether anything was loaded after the last time; a copy of a state has to say.
    pub(super) fn set_loaded(&mut self, greatest: f32) {
        self.loaded = greatest > BORNE;
    }
}

/// Load of every node: the greatest of its cells.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn spread(grid: &Grid, needs: &[f32], nodes: &mut [f32]) {
    nodes.fill(1.0);
    let count = grid.count();
    for corner in grid.cells.corners {
        let to = &mut nodes[corner..corner + count];
        for (load, need) in to.iter_mut().zip(needs) {
            let own = need * (1.0 / BORNE);
            let own = if own < FALLEN { own } else { FALLEN };
            *load = if own > *load { own } else { *load };
        }
    }
}

/// Gives nodes the masses that their loads ask for.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn load(grid: &Grid, loads: &[f32], motion: &mut Motion) {
    let [x, y, z] = &mut motion.v;
    let speeds = x.iter_mut().zip(y).zip(z);
    let masses = motion.mass.iter_mut().zip(&mut motion.ease);
    let rest = grid.mass.iter().zip(&grid.ease).zip(loads);
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
