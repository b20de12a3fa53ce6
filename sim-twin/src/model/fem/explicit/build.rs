//! From nested grids with materials to what a tick needs.
//!
//! Source: ours. A cell's own step is that of its element bound; planes whose steps are twice as
//! long go half as often. What the whole of them bears is then found by power iteration, with every
//! cell's stiffness times the square of its step.
//!
//! Units inside: the shortest edge, the largest shear modulus, the largest density.

use super::cells::{Buffer, Cells, RUN, Run, pull};
use super::grid::{Grid, Motion, Sheet, Slab};
use super::lane::LANES;
use super::seam::Seam;
use super::skin::Skin;
use super::viscous::Viscous;
use super::{ExplicitError, Params, Stuff};
use crate::Vec3;
use crate::law::{Real, Viscosity};
use crate::mesh::nested::{Level, Nested};

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
    pub(super) length_m: f64,
    pub(super) stress_pa: f64,
    pub(super) time_s: f64,
    /// Mass that stiff cells have beyond their own.
    pub(super) added: f64,
    /// Place of the block's lowest corner, the origin inside \[m\].
    pub(super) origin_m: Vec3,
}

/// Units inside, and the fastest wave.
struct Scale {
    length_m: f64,
    stress_pa: f64,
    density_kgpm3: f64,
}

impl Model {
    pub(super) fn new(
        nested: &Nested,
        stuff: &[Stuff],
        viscosities: &[Vec<Viscosity>],
        params: &Params,
    ) -> Result<Self, ExplicitError> {
        params.check()?;
        let scale = scale(nested, stuff)?;
        check(nested, viscosities)?;
        let matter = Matter {
            stuff,
            viscosities,
            scale: &scale,
            safety: params.safety,
        };
        let bound = greatest_bound(nested, &matter).min(scale.borne(params));
        let classes = classes(nested, &matter, bound, params);
        let mut grids = Vec::with_capacity(nested.levels.len());
        let (mut added, mut drag) = (0.0, 0.0);
        for (index, classes) in classes.iter().enumerate() {
            grids.push(grid(
                (nested, index),
                (&matter, classes),
                (bound, params),
                (&mut added, &mut drag),
            ));
        }
        let mut seams = Vec::new();
        for (index, level) in nested.levels.iter().enumerate().skip(1) {
            let hangs = nested.hangs(index);
            seams.push(Seam::new(
                &grids[index],
                &grids[index - 1],
                level.corner,
                hangs,
            ));
        }
        share_out(&mut grids, &mut seams);
        let size = nested.levels[0].cells;
        let extent = (0..3).map(|a| size[a] as f64 * grids[0].edge[a]);
        let mut model = Self {
            params: *params,
            skin: Skin::new(nested, &grids, stuff, (&scale.units(), params)),
            cells: nested.cells(),
            free: grids
                .iter()
                .map(|g| g.mass.iter().filter(|&&m| m > 0.0).count())
                .sum(),
            frequency2: 0.0,
            drag,
            slowest: 0,
            extent: extent.fold(0.0, f64::max),
            wave: wave(nested, stuff, &scale),
            length_m: scale.length_m,
            stress_pa: scale.stress_pa,
            time_s: scale.time_s(),
            added,
            origin_m: nested.levels[0].low_m,
            grids,
            seams,
        };
        let slabs = model.grids.iter().flat_map(|grid| &grid.slabs);
        model.slowest = slabs.map(|slab| slab.class).max().unwrap_or(0);
        model.frequency2 = model.iterate();
        model.measure_demands(bound);
        model.relax();
        Ok(model)
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
        let mut buffer = Buffer::new();
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
                for slab in &grid.slabs {
                    let weight = f32::of(f64::from(1_u32 << (2 * slab.class)));
                    pull(
                        (
                            &grid.cells,
                            [&motion.stiff[0], &motion.stiff[1]],
                            &slab.runs,
                        ),
                        weight,
                        &motion.u,
                        &mut motion.f,
                        &mut buffer,
                    );
                }
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
            greatest = f64::max(greatest, self.quotient(&mut motions));
        }
        // the quotient comes from below
        1.03 * greatest
    }

    /// Work over mass of the displacements, which then become the accelerations.
    fn quotient(&self, motions: &mut [Motion]) -> f64 {
        let (mut work, mut mass) = (0.0, 0.0);
        for (grid, motion) in self.grids.iter().zip(motions) {
            for node in 0..grid.count() {
                let own = grid.mass[node];
                for axis in 0..3 {
                    let (u, f) = (&mut motion.u[axis][node], motion.f[axis][node]);
                    if own > 0.0 {
                        work -= f64::from(*u) * f64::from(f);
                        mass += f64::from(*u) * f64::from(*u) * f64::from(own);
                        *u = f / own;
                    } else {
                        *u = 0.0;
                    }
                }
            }
        }
        work / mass
    }
}

/// Power iterations.
const ITERATIONS: usize = 80;

impl Scale {
    fn time_s(&self) -> f64 {
        self.length_m * (self.density_kgpm3 / self.stress_pa).sqrt()
    }

    /// Bound of the squared frequency that the allowed sub-steps bear.
    fn borne(&self, params: &Params) -> f64 {
        let step = 1e-3 / f64::from(params.substeps_max) / self.time_s();
        (2.0 * params.safety / step).powi(2)
    }

    fn units(&self) -> (f64, f64) {
        (self.length_m, self.stress_pa)
    }
}

fn scale(nested: &Nested, stuff: &[Stuff]) -> Result<Scale, ExplicitError> {
    if stuff.len() != nested.levels.len() {
        return Err(ExplicitError::Levels {
            levels: nested.levels.len(),
            found: stuff.len(),
        });
    }
    let mut scale = Scale {
        length_m: f64::MAX,
        stress_pa: 0.0,
        density_kgpm3: 0.0,
    };
    for (level, (grid, stuff)) in nested.levels.iter().zip(stuff).enumerate() {
        let found = stuff.moduli.len().min(stuff.densities_kgpm3.len());
        if found != grid.count() {
            return Err(ExplicitError::Cells {
                level,
                cells: grid.count(),
                found,
            });
        }
        let all = stuff.moduli.iter().zip(&stuff.densities_kgpm3).enumerate();
        for (cell, (moduli, &density_kgpm3)) in all {
            let sound = moduli.mu_pa > 0.0
                && moduli.lambda_pa >= 0.0
                && (moduli.mu_pa + moduli.lambda_pa).is_finite()
                && density_kgpm3 > 0.0
                && density_kgpm3.is_finite();
            if !sound {
                return Err(ExplicitError::Material { level, cell });
            }
            scale.stress_pa = scale.stress_pa.max(moduli.mu_pa);
            scale.density_kgpm3 = scale.density_kgpm3.max(density_kgpm3);
        }
        scale.length_m = grid.edge_m.iter().fold(scale.length_m, |a, &b| a.min(b));
    }
    Ok(scale)
}

/// What cells are made of, and the units inside.
#[derive(Clone, Copy)]
struct Matter<'a> {
    stuff: &'a [Stuff],
    viscosities: &'a [Vec<Viscosity>],
    scale: &'a Scale,
    safety: f64,
}

/// What a cell asks of the step.
#[derive(Debug, Clone, Copy)]
struct Ask {
    /// Largest squared frequency of the free element with lumped mass.
    frequency2: f64,
    /// Its largest rate of damping by viscosity, over the safety of the step.
    drag: f64,
}

impl Ask {
    /// As a squared frequency on steps that bear `bound`.
    fn on(&self, bound: f64) -> f64 {
        self.frequency2 + self.drag * bound.sqrt()
    }

    /// As a squared frequency on its own steps.
    fn alone(&self) -> f64 {
        if self.drag == 0.0 {
            return self.frequency2;
        }
        let root = (self.drag * self.drag + 4.0 * self.frequency2).sqrt();
        (0.5 * (self.drag + root)).powi(2)
    }
}

impl Matter<'_> {
    fn viscosity(&self, level: usize, cell: usize) -> Viscosity {
        let own = self.viscosities.get(level).and_then(|all| all.get(cell));
        own.copied().unwrap_or(Viscosity::NONE)
    }

    fn ask(&self, (index, level): (usize, &Level), cell: usize) -> Ask {
        let (stuff, scale) = (&self.stuff[index], self.scale);
        let (moduli, density) = (&stuff.moduli[cell], stuff.densities_kgpm3[cell]);
        let inverse = edge(level, scale).map(|h| 1.0 / (h * h));
        let sum = inverse.iter().sum::<f64>();
        let max = inverse.into_iter().fold(0.0, f64::max);
        let bound = |volume: f64, shape: f64| {
            4.0 * (volume * sum + 2.0 * shape * max) * scale.density_kgpm3 / density
        };
        let (lambda, mu) = (
            moduli.lambda_pa / scale.stress_pa,
            moduli.mu_pa / scale.stress_pa,
        );
        let viscosity = self.viscosity(index, cell);
        let unit_pas = scale.stress_pa * scale.time_s();
        let (bulk, shear) = (
            viscosity.bulk_pas / unit_pas,
            viscosity.shear_pas / unit_pas,
        );
        Ask {
            frequency2: bound(lambda, mu),
            drag: bound((bulk - shear * (2.0 / 3.0)).max(0.0), shear) / self.safety,
        }
    }
}

/// Whether viscosities fit the grids.
fn check(nested: &Nested, viscosities: &[Vec<Viscosity>]) -> Result<(), ExplicitError> {
    if viscosities.is_empty() {
        return Ok(());
    }
    if viscosities.len() != nested.levels.len() {
        return Err(ExplicitError::Levels {
            levels: nested.levels.len(),
            found: viscosities.len(),
        });
    }
    for (level, (grid, all)) in nested.levels.iter().zip(viscosities).enumerate() {
        if all.len() != grid.count() {
            return Err(ExplicitError::Cells {
                level,
                cells: grid.count(),
                found: all.len(),
            });
        }
        for (cell, viscosity) in all.iter().enumerate() {
            let wrong = |source| ExplicitError::Viscosity {
                level,
                cell,
                source,
            };
            viscosity.check().map_err(wrong)?;
        }
    }
    Ok(())
}

fn edge(level: &Level, scale: &Scale) -> [f64; 3] {
    level.edge_m.map(|edge_m| edge_m / scale.length_m)
}

/// Cells of a level with their number in the mesh, those that are replaced left out.
fn own(level: &Level) -> impl Iterator<Item = ([usize; 3], usize)> + '_ {
    let [nx, ny, _] = level.cells;
    (0..level.count()).filter_map(move |cell| {
        let place = [cell % nx, cell / nx % ny, cell / (nx * ny)];
        (!level.is_replaced(place)).then_some((place, cell))
    })
}

fn greatest_bound(nested: &Nested, matter: &Matter) -> f64 {
    let levels = nested.levels.iter().enumerate();
    let all =
        levels.flat_map(|level| own(level.1).map(move |(_, cell)| matter.ask(level, cell).alone()));
    all.fold(0.0, f64::max)
}

/// Speed of the fastest pressure wave.
fn wave(nested: &Nested, stuff: &[Stuff], scale: &Scale) -> f64 {
    let levels = nested.levels.iter().zip(stuff);
    let all = levels.flat_map(|(level, stuff)| {
        own(level).map(|(_, cell)| {
            let m = &stuff.moduli[cell];
            (m.lambda_pa + 2.0 * m.mu_pa) / stuff.densities_kgpm3[cell]
        })
    });
    (all.fold(0.0, f64::max) * scale.density_kgpm3 / scale.stress_pa).sqrt()
}

fn grid(
    (nested, index): (&Nested, usize),
    (matter, classes): (&Matter, &[usize]),
    (greatest, params): (f64, &Params),
    (added, drag): (&mut f64, &mut f64),
) -> Grid {
    let (level, stuff, scale) = (&nested.levels[index], &matter.stuff[index], matter.scale);
    let low_m = level.low_m - nested.levels[0].low_m;
    let edge = edge(level, scale);
    let nodes = level.cells.map(|n| n + 1);
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
    let mut grid = Grid {
        nodes,
        plane,
        edge,
        low: [0, 1, 2].map(|a| low_m[a] / scale.length_m),
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
        mass: field(),
        ease: field(),
    };
    let volume = edge.iter().product::<f64>();
    for (place, cell) in own(level) {
        let at = grid.at(place);
        let (moduli, density) = (&stuff.moduli[cell], stuff.densities_kgpm3[cell]);
        let ask = matter.ask((index, level), cell);
        let own = ask.on(greatest);
        let need = own.min(greatest);
        grid.cells.mu[at] = f32::of(moduli.mu_pa / scale.stress_pa * volume);
        grid.cells.lambda[at] = f32::of(moduli.lambda_pa / scale.stress_pa * volume);
        grid.cells.demand[at] = f32::of(need);
        let mass = density / scale.density_kgpm3 * volume;
        *added += mass * (own / need - 1.0);
        let eighth = f32::of(mass * (own / need) / 8.0);
        for corner in corners {
            grid.mass[at + corner] += eighth;
        }
        let viscosity = matter.viscosity(index, cell);
        if viscosity != Viscosity::NONE {
            let steps = f64::from(1_u32 << classes[place[2]]);
            *drag = drag.max(ask.drag * params.safety * steps * need / own);
            let length = grid.mass.len();
            let viscous = grid.viscous.get_or_insert_with(|| Viscous::new(length));
            let size = (volume, moduli.mu_pa / scale.stress_pa);
            viscous.set(at, &viscosity, size, (scale.stress_pa, scale.time_s()));
        }
    }
    grid.slabs = slabs(&grid, classes);
    grid.sheets = sheets(&grid, classes);
    for (k, &class) in classes.iter().enumerate() {
        let scale = 4.0_f64.powi(i32::try_from(class).unwrap_or(0)) / greatest;
        let range = k * plane..(k + 1) * plane;
        let demands = &mut grid.cells.demand[range];
        demands.iter_mut().for_each(|d| *d *= f32::of(scale));
    }
    grid
}

/// Class of every plane of cells of every grid: the slowest that its cells bear, and at most one
/// slower than planes beside it. Impulses that are saved up for `n` sub-steps drive what swings in
/// `2 n` of them (Biesiadecki and Skeel 1993); with neighbours that differ by a factor of two, that
/// is about as fast as the step lets anything swing. Four beside one blew up (measured).
fn classes(nested: &Nested, matter: &Matter, greatest: f64, params: &Params) -> Vec<Vec<usize>> {
    let levels = nested.levels.iter().enumerate();
    let planes = levels.map(|(index, level)| {
        let mut needs = vec![0.0_f64; level.cells[2]];
        for (place, cell) in own(level) {
            let need = matter.ask((index, level), cell).alone();
            needs[place[2]] = needs[place[2]].max(need);
        }
        let class = |need: &f64| class(*need, greatest, params);
        needs.iter().map(class).collect()
    });
    let mut planes: Vec<Vec<usize>> = planes.collect();
    // a bound passes at least one plane further each time, and goes no further than there are classes
    for _ in 0..CLASSES {
        for own in &mut planes {
            for k in 1..own.len() {
                let (below, above) = own.split_at_mut(k);
                agree(&mut below[k - 1], &mut above[0]);
            }
        }
        for (index, next) in nested.levels.iter().enumerate().skip(1) {
            let (above, fine) = planes.split_at_mut(index);
            for (k, fine) in fine[0].iter_mut().enumerate() {
                // beside it and, for the first and last, beyond the seam
                let (beside, cells) = (next.corner[2] + k / 2, next.cells[2]);
                let from = if k == 0 {
                    beside.saturating_sub(1)
                } else {
                    beside
                };
                let to = if k + 1 == cells { beside + 1 } else { beside };
                let coarse = above[index - 1].iter_mut().take(to + 1).skip(from);
                coarse.for_each(|coarse| agree(coarse, fine));
            }
        }
    }
    planes
}

/// Leaves neither of two classes more than one slower than the other.
fn agree(one: &mut usize, other: &mut usize) {
    *one = (*one).min(*other + 1);
    *other = (*other).min(*one + 1);
}

/// The slowest class that cells of such a bound bear; a class is a factor of four.
fn class(need: f64, greatest: f64, params: &Params) -> usize {
    let fits = |class: &usize| need * f64::from(1_u32 << (2 * class)) <= greatest;
    (0..params.classes).rev().find(fits).unwrap_or(0)
}

/// Neighbouring planes of equal class, with the runs of their cells.
fn slabs(grid: &Grid, classes: &[usize]) -> Vec<Slab> {
    let mut slabs: Vec<Slab> = Vec::new();
    let mut first = 0;
    for group in classes.chunk_by(|a, b| a == b) {
        let (from, to) = (first * grid.plane, (first + group.len()) * grid.plane);
        first += group.len();
        let mut runs: Vec<Run> = Vec::new();
        for start in (from..to).step_by(LANES) {
            if grid.cells.mu[start..start + LANES]
                .iter()
                .all(|&mu| mu == 0.0)
            {
                continue;
            }
            match runs.last_mut() {
                Some((at, length)) if *at + *length == start && *length < RUN => *length += LANES,
                _ => runs.push((start, LANES)),
            }
        }
        let viscous = match &grid.viscous {
            Some(viscous) => of_lanes(&runs, |start| viscous.any(start)),
            None => Vec::new(),
        };
        slabs.push(Slab {
            class: group[0],
            runs,
            viscous,
        });
    }
    slabs
}

/// The parts of runs of which some lanes are wanted.
fn of_lanes(runs: &[Run], wanted: impl Fn(usize) -> bool) -> Vec<Run> {
    let mut parts: Vec<Run> = Vec::new();
    for &(from, length) in runs {
        for start in (from..from + length)
            .step_by(LANES)
            .filter(|&at| wanted(at))
        {
            match parts.last_mut() {
                Some((at, length)) if *at + *length == start && *length < RUN => *length += LANES,
                _ => parts.push((start, LANES)),
            }
        }
    }
    parts
}

/// Neighbouring planes of nodes that go together: as often as the faster cells beside them.
fn sheets(grid: &Grid, classes: &[usize]) -> Vec<Sheet> {
    let class = |k: usize| {
        let below = k.checked_sub(1).map_or(usize::MAX, |k| classes[k]);
        below.min(classes.get(k).copied().unwrap_or(usize::MAX))
    };
    let mut sheets: Vec<Sheet> = Vec::new();
    for k in 0..=classes.len() {
        let nodes = k * grid.plane..(k + 1) * grid.plane;
        match sheets.last_mut() {
            Some(sheet) if sheet.class == class(k) => sheet.nodes.end = nodes.end,
            _ => sheets.push(Sheet {
                class: class(k),
                nodes,
            }),
        }
    }
    sheets
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
