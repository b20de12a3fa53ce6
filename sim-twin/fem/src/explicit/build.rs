//! From nested grids with materials to what a tick needs.
//!
//! Source: ours. A cell's own step is that of its element bound; planes whose steps are twice as
//! long go half as often. What the whole of them bears is then found by power iteration, with every
//! cell's stiffness times the square of its step.
//!
//! Units inside: the shortest edge, the largest shear modulus, the largest density.

use super::cells::{Buffer, Cells, Onto, Pulling, RUN, pull};
use super::coupled::{AMONG, Coupled, Room, Stiff};
use super::grid::{Grid, Motion};
use super::lane::LANES;
use super::laws::{Lanes, with_law};
use super::matter::{Matter, check, edge, greatest_bound, own, scale, wave};
use super::schedule::{classes, cut};
use super::seam::Seam;
use super::skin::Skin;
use super::viscous::Viscous;
use super::{ExplicitError, Params, Stuff};
use palpate_geometry::mesh::nested::{Level, Nested};
use palpate_twin::Vec3;
use palpate_twin::law::{Real, Viscosity};

/// About what a cell takes to pull \[ns\], beside what coupled nodes take.
const CELL_NS: f64 = 12.0;

/// Most classes of sub-steps.
pub(super) const CLASSES: usize = 5;

/// What never changes after construction.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) params: Params,
    /// Coarsest first.
    pub(super) grids: Vec<Grid>,
    /// Seam of grid `n + 1` with grid `n`.
    pub(super) seams: Vec<Seam>,
    /// What couples the nodes of stiff cells.
    pub(super) coupled: Option<Coupled>,
    pub(super) skin: Skin,
    pub(super) cells: usize,
    pub(super) free: usize,
    /// Greatest squared frequency, the square of the steps taken along, without deformation.
    pub(super) frequency2: f64,
    /// Greatest rate of damping by viscosity, times steps taken along.
    pub(super) drag: f64,
    /// Slowest class in use.
    pub(super) slowest: usize,
    pub(super) extent: f64,
    pub(super) wave: f64,
    density_kgpm3: f64,
    pub(super) length_m: f64,
    pub(super) stress_pa: f64,
    pub(super) time_s: f64,
    /// Mass that stiff cells have beyond their own.
    pub(super) added: f64,
    /// Place of the block's lowest corner, the origin inside \[m\].
    pub(super) origin_m: Vec3,
}

impl Model {
    pub(super) fn new(
        nested: &Nested,
        stuff: &[Stuff],
        viscosities: &[Vec<Viscosity>],
        params: &Params,
    ) -> Result<Self, ExplicitError> {
        params.check()?;
        params.check_law()?;
        let scale = scale(nested, stuff)?;
        check(nested, viscosities)?;
        let matter = Matter {
            nested,
            stuff,
            viscosities,
            scale: &scale,
            params,
        };
        let bound = greatest_bound(&matter).min(scale.borne(params));
        let classes = classes(&matter, bound);
        let mut grids = Vec::with_capacity(nested.levels.len());
        let mut totals = Totals::default();
        for (index, classes) in classes.iter().enumerate() {
            grids.push(grid(&matter, index, classes, bound, &mut totals));
        }
        let mut seams = seams(nested, &grids);
        share_out(&mut grids, &mut seams);
        let size = nested.levels[0].cells;
        let extent = (0..3).map(|a| size[a] as f64 * grids[0].edge[a]);
        let mut model = Self {
            params: *params,
            coupled: None,
            skin: Skin::new(&matter, &grids),
            cells: nested.cells(),
            free: grids
                .iter()
                .map(|g| g.mass.iter().filter(|&&m| m > 0.0).count())
                .sum(),
            frequency2: 0.0,
            drag: totals.drags[usize::from(params.stiff == Stiff::Mass)],
            slowest: 0,
            extent: extent.fold(0.0, f64::max),
            wave: wave(nested, stuff, &scale),
            density_kgpm3: scale.density_kgpm3,
            length_m: scale.length_m,
            stress_pa: scale.stress_pa,
            time_s: scale.time_s(),
            added: totals.added,
            origin_m: nested.levels[0].low_m,
            grids,
            seams,
        };
        let slabs = model.grids.iter().flat_map(|grid| &grid.slabs);
        model.slowest = slabs.map(|slab| slab.class).max().unwrap_or(0);
        model.frequency2 = model.iterate();
        if params.stiff == Stiff::Coupled {
            model.couple(&matter, scale.borne(params), totals.drags[1]);
        }
        model.measure_demands(bound);
        model.relax();
        Ok(model)
    }

    /// Couples the nodes of stiff cells, more of them and more strongly until the step is as long as was
    /// asked for; not if as many sub-steps as the stiffest cells need cost less, which is the truth too.
    fn couple(&mut self, matter: &Matter, borne: f64, drag: f64) {
        let plainly = (self.frequency2, self.drag, self.skin.clone());
        let plain_step = self.step();
        let mut bound = borne;
        for _ in 0..COUPLINGS {
            if self.frequency2 <= borne * (1.0 + STRICT) {
                break;
            }
            self.coupled = Coupled::new(matter, bound, &self.grids, &self.seams);
            self.soften(matter.stuff, borne);
            self.frequency2 = self.iterate();
            bound *= (borne / self.frequency2).clamp(0.5, 0.9);
        }
        let cells_ns = CELL_NS * self.cells as f64;
        let own_ns = self.coupled.as_ref().map_or(0.0, Coupled::cost_ns);
        self.drag = drag;
        if self.coupled.is_none() || self.step() * cells_ns <= plain_step * (cells_ns + own_ns) {
            self.coupled = None;
            (self.frequency2, self.drag, self.skin) = plainly;
        }
    }

    /// A touch of stiff skin is no stiffer than the nodes that it pushes bear. What lies under such skin is
    /// softer by far, so a press hardly tells (measured: 1.5 % of the force on the scene `layers-nodule`).
    fn soften(&mut self, stuff: &[Stuff], borne: f64) {
        for face in &mut self.skin.faces {
            let (index, node) = (face.grid as usize, face.nodes[0] as usize);
            let grid = &self.grids[index];
            let [nx, ny, nz] = grid.nodes.map(|n| n - 1);
            let [i, j] = [node % grid.plane % (nx + 1), node % grid.plane / (nx + 1)];
            let density = stuff[index].densities_kgpm3[i + nx * (j + ny * (nz - 1))];
            let most = borne * 0.8 * density / self.density_kgpm3 * grid.edge[2];
            let steps = f64::from(1_u32 << (2 * face.class));
            face.stiffness = face.stiffness.min(f32::of(most / steps));
        }
    }

    /// Demands of cells over what they may have. The step bears what was found at rest, of which the
    /// bound of the greatest cell may be nearly three times: stiff cells inside one another never
    /// reach theirs, soft ones squeezed against them may. So a cell may demand what it did at rest or
    /// what the whole did, whichever is more, before it gets mass (measured: soft cells over a large
    /// nodule that were let up to the nodule's bound fell in).
    fn measure_demands(&mut self, bound: f64) {
        let whole = f32::of((self.frequency2 / bound).min(1.0));
        for grid in &mut self.grids {
            for demand in &mut grid.cells.demand {
                *demand /= demand.max(whole);
            }
        }
    }

    /// Leaves the law the share of its shear modulus that branches do not carry, of a bulk modulus that
    /// does not relax.
    fn relax(&mut self) {
        for grid in &mut self.grids {
            let Some(viscous) = &grid.viscous else {
                continue;
            };
            let moduli = grid.cells.mu.iter_mut().zip(&mut grid.cells.lambda);
            for ((mu, lambda), branch) in moduli.zip(viscous.branches()) {
                let carried = 0.5 * branch;
                *mu -= carried;
                *lambda += carried * (2.0 / 3.0);
            }
        }
    }

    /// Joules a unit of energy.
    pub(super) fn energy_j(&self) -> f64 {
        self.stress_pa * self.length_m.powi(3)
    }

    /// Kilograms a unit of mass: energy over speed squared.
    pub(super) fn mass_kg(&self) -> f64 {
        let speed_mps = self.length_m / self.time_s;
        self.energy_j() / (speed_mps * speed_mps)
    }

    /// Newtons a unit of force.
    pub(super) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// The shortest sub-step at rest.
    pub(super) fn step(&self) -> f64 {
        let (safety, drag) = (self.params.safety, self.drag);
        if drag == 0.0 {
            return safety * 2.0 / self.frequency2.sqrt();
        }
        // viscous forces are half a step late: with them a step bears `f dt^2 + 2 c dt <= 4`
        let root = (drag * drag + 4.0 * safety * safety * self.frequency2).sqrt();
        (root - drag) / self.frequency2
    }

    /// Largest eigenvalue of cells and touched points, each times the square of its step.
    fn iterate(&self) -> f64 {
        let mut motions: Vec<Motion> = self.grids.iter().map(Motion::new).collect();
        let mut word = 1_u32;
        for (grid, motion) in self.grids.iter().zip(&mut motions) {
            for node in 0..grid.count() {
                for axis in 0..3 {
                    word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let noise = f64::from(word >> 8) / f64::from(1 << 24) - 0.5;
                    motion.u[axis][node] = if grid.mass[node] > 0.0 {
                        f32::of(noise)
                    } else {
                        0.0
                    };
                }
            }
        }
        let springs = self.skin.springs(&self.grids);
        let (mut buffer, mut room) = (Buffer::new(), Room::new(self.coupled.as_ref()));
        let mut greatest = 0.0;
        for _ in 0..ITERATIONS {
            let largest = motions.iter().flat_map(|m| m.u.iter().flatten());
            let largest = largest.fold(0.0_f32, |a, b| a.max(b.abs()));
            for motion in &mut motions {
                // small enough to be linear, large enough against rounding
                motion
                    .u
                    .iter_mut()
                    .flatten()
                    .for_each(|u| *u *= 1e-3 / largest);
                motion.f.iter_mut().for_each(|f| f.fill(0.0));
            }
            for (index, seam) in self.seams.iter().enumerate() {
                let (above, fine) = motions.split_at_mut(index + 1);
                seam.follow_rim(&above[index], &mut fine[0]);
            }
            for (grid, motion) in self.grids.iter().zip(&mut motions) {
                with_law!(self.params.law, law => pull_all(law, grid, motion, &mut buffer));
            }
            for (motion, springs) in motions.iter_mut().zip(&springs) {
                for (node, spring) in springs.iter().enumerate() {
                    motion.f[2][node] -= spring * motion.u[2][node];
                }
            }
            for (index, seam) in self.seams.iter().enumerate().rev() {
                let (above, fine) = motions.split_at_mut(index + 1);
                seam.gather_forces(&mut above[index], &mut fine[0]);
            }
            greatest = f64::max(greatest, self.quotient(&mut motions, &mut room));
        }
        // the quotient comes from below
        1.03 * greatest
    }

    /// Work over inertia of the displacements, which then become the accelerations.
    fn quotient(&self, motions: &mut [Motion], room: &mut Room) -> f64 {
        let (mut work, mut mass) = (0.0, 0.0);
        for (grid, motion) in self.grids.iter().zip(&*motions) {
            for (u, f) in motion.u.iter().zip(&motion.f) {
                let nodes = u.iter().zip(f).zip(&grid.mass);
                for ((&u, &f), &own) in nodes.filter(|node| *node.1 > 0.0) {
                    work -= f64::from(u) * f64::from(f);
                    mass += f64::from(u) * f64::from(u) * f64::from(own);
                }
            }
        }
        if let Some(coupled) = &self.coupled {
            mass += coupled.twice(motions, |motion| &motion.u, room);
            coupled.spread(motions, room);
        }
        for (grid, motion) in self.grids.iter().zip(motions) {
            for (u, f) in motion.u.iter_mut().zip(&motion.f) {
                for ((u, &f), &own) in u.iter_mut().zip(f).zip(&grid.mass) {
                    *u = if own > 0.0 { f / own } else { 0.0 };
                }
            }
        }
        work / mass
    }
}

/// Forces of all cells of a grid, each times the square of its step.
fn pull_all(law: impl Lanes, grid: &Grid, motion: &mut Motion, buffer: &mut Buffer) {
    for slab in &grid.slabs {
        let weight = f32::of(f64::from(1_u32 << (2 * slab.class)));
        let stiff = [&motion.stiff[0], &motion.stiff[1]];
        let pulling = Pulling {
            cells: &grid.cells,
            stiff,
            runs: &slab.runs,
            weight,
            u: &motion.u,
        };
        pull(law, &pulling, &mut Onto::whole(&mut motion.f), buffer);
    }
}

/// Times that couplings are made at most.
const COUPLINGS: usize = 4;
/// What a step may be short of that asked for.
const STRICT: f64 = 0.02;

/// Power iterations.
const ITERATIONS: usize = 80;

/// A grid of so many cells without any matter.
fn empty(cells: [usize; 3], edge: [f64; 3], low: [f64; 3], params: &Params) -> Grid {
    let nodes = cells.map(|n| n + 1);
    let (row, plane) = (nodes[0], (nodes[0] * nodes[1]).next_multiple_of(LANES));
    let padded = (plane * (nodes[2] + 1) + row + RUN + 2 * LANES).next_multiple_of(LANES);
    let corners = [
        0,
        1,
        row,
        row + 1,
        plane,
        plane + 1,
        plane + row,
        plane + row + 1,
    ];
    let field = || vec![0.0_f32; padded];
    let [x, y, z] = edge.map(|e| 1.0 / (e * e));
    // integral of |grad mode|^2 over the volume, a mode being 8 times its corners' value
    let sums = [x + y, x + z, y + z, (x + y + z) / 3.0];
    Grid {
        nodes,
        plane,
        edge,
        low,
        cells: Cells {
            corners,
            mu: field(),
            lambda: field(),
            demand: field(),
            slope: edge.map(|e| f32::of(0.25 / e)),
            hourglass: sums.map(|sum| f32::of(params.hourglass / 48.0 * sum)),
        },
        viscous: None,
        slabs: Vec::new(),
        sheets: Vec::new(),
        chunks: Vec::new(),
        mass: field(),
        ease: field(),
    }
}

/// What ties every grid to the coarser one.
fn seams(nested: &Nested, grids: &[Grid]) -> Vec<Seam> {
    let finer = nested.levels.iter().enumerate().skip(1);
    let seam = |(index, level): (usize, &Level)| {
        let (fine, above) = (&grids[index], &grids[index - 1]);
        Seam::new(fine, above, level.corner, nested.hangs(index))
    };
    finer.map(seam).collect()
}

/// What the grids come to together.
#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    /// Mass that stiff cells have beyond their own.
    added: f64,
    /// Greatest rates of damping by viscosity, with coupled nodes and with mass.
    drags: [f64; 2],
}

fn grid(
    matter: &Matter,
    index: usize,
    classes: &[usize],
    greatest: f64,
    totals: &mut Totals,
) -> Grid {
    let (nested, params) = (matter.nested, matter.params);
    let (level, stuff, scale) = (&nested.levels[index], &matter.stuff[index], matter.scale);
    let low_m = (level.low_m - nested.levels[0].low_m) / scale.length_m;
    let mut grid = empty(level.cells, edge(level, scale), low_m.into(), params);
    let volume = grid.edge.iter().product::<f64>();
    for (place, cell) in own(level) {
        let at = grid.at(place);
        let (moduli, density) = (&stuff.moduli[cell], stuff.densities_kgpm3[cell]);
        let ask = matter.ask(index, cell);
        let own = ask.on(greatest);
        let need = own.min(greatest);
        grid.cells.mu[at] = f32::of(moduli.mu_pa / scale.stress_pa * volume);
        grid.cells.lambda[at] = f32::of(moduli.lambda_pa / scale.stress_pa * volume);
        grid.cells.demand[at] = f32::of(need);
        let mass = density / scale.density_kgpm3 * volume;
        let times = match params.stiff {
            Stiff::Coupled => 1.0,
            Stiff::Mass => own / need,
        };
        totals.added += mass * (times - 1.0);
        let eighth = f32::of(mass * times / 8.0);
        for corner in grid.cells.corners {
            grid.mass[at + corner] += eighth;
        }
        let viscosity = matter.viscosity(index, cell);
        if viscosity != Viscosity::NONE {
            let steps = f64::from(1_u32 << classes[place[2]]);
            let rate = ask.drag * params.safety * steps;
            // what couples nodes has less of it than mass that bears a cell alone
            let eased = match params.stiff {
                Stiff::Coupled => (AMONG * need / own).min(1.0),
                Stiff::Mass => need / own,
            };
            totals.drags[0] = totals.drags[0].max(rate);
            totals.drags[1] = totals.drags[1].max(rate * eased);
            let length = grid.mass.len();
            let viscous = grid.viscous.get_or_insert_with(|| Viscous::new(length));
            viscous.set(
                at,
                &viscosity,
                volume,
                moduli.mu_pa / scale.stress_pa,
                scale,
            );
        }
    }
    cut(&mut grid, classes, nested.levels.len());
    for (k, &class) in classes.iter().enumerate() {
        let scale = 4.0_f64.powi(i32::try_from(class).unwrap_or(0)) / greatest;
        let range = k * grid.plane..(k + 1) * grid.plane;
        let demands = &mut grid.cells.demand[range];
        demands.iter_mut().for_each(|d| *d *= f32::of(scale));
    }
    grid
}

/// Masses of hanging nodes to their rims, and who goes with what.
fn share_out(grids: &mut [Grid], seams: &mut [Seam]) {
    for (index, seam) in seams.iter().enumerate().rev() {
        let (above, fine) = grids.split_at_mut(index + 1);
        seam.gather([&mut above[index].mass], [&fine[0].mass]);
        seam.clear(&mut fine[0].mass);
    }
    if let Some(coarsest) = grids.first() {
        let floor = coarsest.low[2];
        for grid in grids.iter_mut() {
            // the bottom of the block is fixed
            if grid.low[2] <= floor + 1e-6 * grid.edge[2] {
                let plane = grid.plane;
                grid.mass[..plane].fill(0.0);
            }
            for (ease, &mass) in grid.ease.iter_mut().zip(&grid.mass) {
                *ease = if mass > 0.0 { 1.0 / mass } else { 0.0 };
            }
        }
    }
    for (index, seam) in seams.iter_mut().enumerate() {
        let (above, fine) = grids.split_at_mut(index + 1);
        let above = &mut above[index];
        let slabs = || above.slabs.iter().chain(&fine[0].slabs);
        seam.class = slabs().map(|slab| slab.class).min().unwrap_or(0);
        seam.apart = slabs().any(|slab| slab.class != seam.class);
        if seam.apart {
            for &node in seam.rim() {
                above.ease[node as usize] = 0.0;
            }
        }
    }
}
