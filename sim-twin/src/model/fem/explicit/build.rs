//! From a mesh with materials to blocks of cells by level.
//!
//! Source: ours. A cell's own step is that of its element bound; cells whose steps are twice as long
//! form the next level, at most one level from neighbour to neighbour. What the whole of them bears
//! is then found by power iteration, with every cell's stiffness times the square of its step.
//!
//! Units inside: the shortest edge, the largest shear modulus, the largest density.

use super::cells::{Block, ORDER, Quad, pull};
use super::lane::LANES;
use super::skin::{Face, Skin};
use super::{ExplicitError, Params};
use crate::Vec3;
use crate::law::{Family, Moduli, Real};
use crate::mesh::hex::{HexMesh, Side};
use crate::model::fem::Volumetric;
use crate::model::fem::probe::gauss;
use crate::model::fem::solid::{Solid, Support};

/// Most levels, the finest included.
pub(super) const LEVELS: usize = 4;
/// A box's corners are where its edges say, to this share of an edge.
const SKEW: f64 = 1e-6;

/// What never changes after construction.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) params: Params,
    pub(super) blocks: Vec<Block>,
    /// First block of every level, and one past the last.
    pub(super) levels: [usize; LEVELS + 1],
    /// First node of every level, and one past the last.
    pub(super) nodes: [usize; LEVELS + 1],
    pub(super) cells: usize,
    pub(super) mass: Vec<f32>,
    /// Zero along axes that cannot move.
    pub(super) inverse_mass: Vec<Quad>,
    pub(super) skin: Skin,
    /// Node of every surface node, with its place at rest \[m\].
    pub(super) surface: Vec<u32>,
    pub(super) rest_m: Vec<Vec3>,
    pub(super) triangles: Vec<[u32; 3]>,
    /// `E / (1 - nu^2)` of the softest cell under the surface.
    pub(super) contact_modulus: f64,
    /// Greatest squared frequency of the finest level, without deformation.
    pub(super) frequency2: f64,
    pub(super) extent: f64,
    pub(super) wave: f64,
    pub(super) length_m: f64,
    pub(super) stress_pa: f64,
    pub(super) time_s: f64,
    /// Place of the mesh that is the origin inside \[m\].
    pub(super) origin_m: Vec3,
}

/// A cell in units of the model.
struct Cell {
    nodes: [u32; 8],
    edges: [f64; 3],
    mu: f64,
    lambda: f64,
    density: f64,
    /// Bound of the squared frequency.
    bound: f64,
    level: usize,
}

impl Cell {
    fn volume(&self) -> f64 {
        self.edges.iter().product()
    }

    /// Largest squared frequency of one free element with lumped mass.
    fn bound(&self) -> f64 {
        let inverse = self.edges.map(|h| 1.0 / (h * h));
        let (sum, max) = (
            inverse.iter().sum::<f64>(),
            inverse.into_iter().fold(0.0, f64::max),
        );
        4.0 * (self.lambda * sum + 2.0 * self.mu * max) / self.density
    }
}

/// An eighth of each cell's mass at each of its corners.
fn lumped(cells: &[Cell], nodes: usize) -> Vec<f64> {
    let mut masses = vec![0.0; nodes];
    for cell in cells {
        for &node in &cell.nodes {
            masses[node as usize] += cell.density * cell.volume() / 8.0;
        }
    }
    masses
}

impl Model {
    pub(super) fn new(
        mesh: &HexMesh,
        (moduli, densities_kgpm3): (&[Moduli], &[f64]),
        supports: &[Support],
        params: &Params,
    ) -> Result<Self, ExplicitError> {
        params.check()?;
        let law = (Family::NeoHookean, moduli);
        let solid = Solid::new(mesh, law, supports, Volumetric::Mean)?;
        let density = reference_density(mesh, densities_kgpm3)?;
        let (mut cells, length_m) = cells(mesh, moduli, densities_kgpm3)?;
        for cell in &mut cells {
            cell.density /= density;
            cell.mu /= solid.stress_pa;
            cell.lambda /= solid.stress_pa;
            cell.bound = cell.bound();
        }
        let node_levels = grade(&mut cells, mesh.nodes_m.len(), params.levels);
        let (order, nodes) = by_level(&node_levels);
        for cell in &mut cells {
            cell.nodes = cell.nodes.map(|node| order[node as usize]);
        }
        let (blocks, levels) = blocks(&cells, params.hourglass);
        let masses = lumped(&cells, order.len());
        let mut inverse_mass = vec![[0.0; 4]; order.len()];
        let origin_m = mesh.nodes_m[0];
        let mut rest = vec![[0.0; 4]; order.len()];
        for (node, &place) in order.iter().enumerate() {
            let place = place as usize;
            let at = (mesh.nodes_m[node] - origin_m) / length_m;
            for axis in 0..3 {
                rest[place][axis] = f32::of(at[axis]);
                if !solid.fixed[node][axis] {
                    inverse_mass[place][axis] = f32::of(1.0 / masses[place]);
                }
            }
        }
        let skin = skin(mesh, &order, (&cells, rest), params);
        let wave = cells.iter().map(|c| (c.lambda + 2.0 * c.mu) / c.density);
        let top = mesh.side_nodes(Side::ZMax);
        let mut model = Self {
            params: *params,
            blocks,
            levels,
            nodes,
            cells: cells.len(),
            mass: masses.iter().map(|&m| f32::of(m)).collect(),
            inverse_mass,
            skin,
            surface: top.iter().map(|&node| order[node as usize]).collect(),
            rest_m: top
                .iter()
                .map(|&node| mesh.nodes_m[node as usize])
                .collect(),
            triangles: triangles(mesh, &top),
            contact_modulus: contact_modulus(mesh, moduli) / solid.stress_pa,
            frequency2: 0.0,
            extent: mesh.extent_m() / length_m,
            wave: wave.fold(0.0, f64::max).sqrt(),
            length_m,
            stress_pa: solid.stress_pa,
            time_s: length_m * (density / solid.stress_pa).sqrt(),
            origin_m,
        };
        model.frequency2 = model.iterate();
        Ok(model)
    }

    /// Joules a unit of energy.
    pub(super) fn energy_j(&self) -> f64 {
        self.stress_pa * self.length_m.powi(3)
    }

    /// Newtons a unit of force.
    pub(super) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// Largest eigenvalue of cells and touched points, each times the square of its step.
    fn iterate(&self) -> f64 {
        let count = self.mass.len();
        let mut u = vec![[0.0_f32; 4]; count];
        let mut word = 1_u32;
        for (u, inverse) in u.iter_mut().zip(&self.inverse_mass) {
            for axis in 0..3 {
                word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let noise = f64::from(word >> 8) / f64::from(1 << 24) - 0.5;
                u[axis] = if inverse[axis] > 0.0 {
                    f32::of(noise)
                } else {
                    0.0
                };
            }
        }
        let springs = self.springs();
        let mut force = vec![[0.0_f32; 4]; count];
        let mut greatest = 0.0;
        for _ in 0..ITERATIONS {
            // small enough to be linear, large enough against rounding
            let largest = u.iter().flatten().fold(0.0_f32, |a, b| a.max(b.abs()));
            u.iter_mut().flatten().for_each(|u| *u *= 1e-3 / largest);
            force.fill([0.0; 4]);
            for level in 0..LEVELS {
                let weight = f32::of(f64::from(1_u32 << (2 * level)));
                let range = self.levels[level]..self.levels[level + 1];
                pull::<false>(&self.blocks[range], weight, &u, &mut force);
            }
            let (mut work, mut mass) = (0.0, 0.0);
            for node in 0..count {
                force[node][2] -= springs[node] * u[node][2];
                for axis in 0..3 {
                    let (x, f) = (f64::from(u[node][axis]), f64::from(force[node][axis]));
                    work -= x * f;
                    mass += x * x * f64::from(self.mass[node]);
                    u[node][axis] = force[node][axis] * self.inverse_mass[node][axis];
                }
            }
            greatest = f64::max(greatest, work / mass);
        }
        // the quotient comes from below
        1.03 * greatest
    }

    /// Contact stiffness of every node if the tool is everywhere, times the square of its step.
    fn springs(&self) -> Vec<f32> {
        let mut springs = vec![0.0; self.mass.len()];
        for face in &self.skin.faces {
            for &node in &face.nodes {
                let at = node as usize;
                let level = (1..LEVELS).filter(|&l| at >= self.nodes[l]).count();
                let weight = f32::of(f64::from(1_u32 << (2 * level)));
                springs[at] += 0.25 * face.area * face.stiffness * weight;
            }
        }
        springs
    }
}

/// Power iterations.
const ITERATIONS: usize = 80;

fn reference_density(mesh: &HexMesh, densities_kgpm3: &[f64]) -> Result<f64, ExplicitError> {
    if densities_kgpm3.len() != mesh.cells.len() {
        return Err(ExplicitError::Densities {
            cells: mesh.cells.len(),
            found: densities_kgpm3.len(),
        });
    }
    for (cell, &density_kgpm3) in densities_kgpm3.iter().enumerate() {
        if !(density_kgpm3 > 0.0 && density_kgpm3.is_finite()) {
            return Err(ExplicitError::Density {
                cell,
                density_kgpm3,
            });
        }
    }
    Ok(densities_kgpm3.iter().copied().fold(0.0, f64::max))
}

/// Cells in units of the shortest edge, which comes with them.
fn cells(
    mesh: &HexMesh,
    moduli: &[Moduli],
    densities: &[f64],
) -> Result<(Vec<Cell>, f64), ExplicitError> {
    let mut cells = Vec::with_capacity(mesh.cells.len());
    let mut shortest_m = f64::MAX;
    for (index, nodes) in mesh.cells.iter().enumerate() {
        let corners_m = ORDER.map(|corner| mesh.nodes_m[nodes[corner] as usize]);
        let size_m = corners_m[7] - corners_m[0];
        for (place, at_m) in corners_m.iter().enumerate() {
            for axis in 0..3 {
                let share = if place >> axis & 1 == 1 { 1.0 } else { 0.0 };
                let expected_m = corners_m[0][axis] + share * size_m[axis];
                if (at_m[axis] - expected_m).abs() > SKEW * size_m.amax() || size_m[axis] <= 0.0 {
                    return Err(ExplicitError::Skew { cell: index });
                }
            }
        }
        shortest_m = shortest_m.min(size_m.min());
        cells.push(Cell {
            nodes: ORDER.map(|corner| nodes[corner]),
            edges: size_m.into(),
            mu: moduli[index].mu_pa,
            lambda: moduli[index].lambda_pa,
            density: densities[index],
            bound: 0.0,
            level: 0,
        });
    }
    for cell in &mut cells {
        cell.edges = cell.edges.map(|edge_m| edge_m / shortest_m);
    }
    Ok((cells, shortest_m))
}

/// Gives every cell its level; the level of a node is the least of its cells'.
fn grade(cells: &mut [Cell], count: usize, levels: usize) -> Vec<usize> {
    let greatest = cells.iter().map(|c| c.bound).fold(0.0, f64::max);
    for cell in cells.iter_mut() {
        // a level a factor of four in the squared frequency
        let fits = |level: &usize| cell.bound * 4.0_f64.powi(*level as i32) <= greatest;
        cell.level = (0..levels).rev().find(fits).unwrap_or(0);
    }
    let mut nodes = vec![LEVELS; count];
    loop {
        for cell in cells.iter() {
            for &node in &cell.nodes {
                nodes[node as usize] = nodes[node as usize].min(cell.level);
            }
        }
        let mut changed = false;
        for cell in cells.iter_mut() {
            let least = cell.nodes.iter().map(|&node| nodes[node as usize]).min();
            let most = least.unwrap_or(0) + 1;
            changed |= cell.level > most;
            cell.level = cell.level.min(most);
        }
        if !changed {
            return nodes;
        }
    }
}

/// New index of every node, and the first of every level.
fn by_level(levels: &[usize]) -> (Vec<u32>, [usize; LEVELS + 1]) {
    let (mut order, mut starts) = (vec![0; levels.len()], [0; LEVELS + 1]);
    let mut next = 0;
    for (level, start) in starts.iter_mut().enumerate().take(LEVELS) {
        *start = next as usize;
        for (place, &own) in order.iter_mut().zip(levels) {
            if own == level {
                *place = next;
                next += 1;
            }
        }
    }
    starts[LEVELS] = next as usize;
    (order, starts)
}

fn blocks(cells: &[Cell], hourglass: f64) -> (Vec<Block>, [usize; LEVELS + 1]) {
    let demand = |cell: &Cell| cell.bound * 4.0_f64.powi(cell.level as i32);
    let greatest = cells.iter().map(demand).fold(0.0, f64::max);
    let (mut blocks, mut starts) = (Vec::new(), [0; LEVELS + 1]);
    for (level, start) in starts.iter_mut().enumerate().take(LEVELS) {
        *start = blocks.len();
        let own: Vec<&Cell> = cells.iter().filter(|cell| cell.level == level).collect();
        for chunk in own.chunks(LANES) {
            let mut block = Block::EMPTY;
            for (lane, cell) in chunk.iter().enumerate() {
                block.nodes[lane] = cell.nodes;
                for axis in 0..3 {
                    block.slope[axis][lane] = f32::of(0.25 / cell.edges[axis]);
                }
                block.volume[lane] = f32::of(cell.volume());
                block.mu[lane] = f32::of(cell.mu);
                block.lambda[lane] = f32::of(cell.lambda);
                block.demand[lane] = f32::of(demand(cell) / greatest);
                let [x, y, z] = cell.edges.map(|edge| 1.0 / (edge * edge));
                // integral of |grad mode|^2 over the volume, a mode being 8 times its corners' value
                let unit = hourglass * cell.mu * cell.volume() / 64.0 * (4.0 / 3.0);
                let sums = [x + y, x + z, y + z, (x + y + z) / 3.0];
                for (stiffness, sum) in block.hourglass.iter_mut().zip(sums) {
                    stiffness[lane] = f32::of(unit * sum);
                }
            }
            blocks.push(block);
        }
    }
    starts[LEVELS] = blocks.len();
    (blocks, starts)
}

fn skin(
    mesh: &HexMesh,
    order: &[u32],
    (cells, rest): (&[Cell], Vec<Quad>),
    params: &Params,
) -> Skin {
    let mut softest = vec![f64::MAX; rest.len()];
    for cell in cells {
        for &node in &cell.nodes {
            softest[node as usize] = softest[node as usize].min(cell.mu);
        }
    }
    let mut rule = Vec::new();
    for &(x, wx) in gauss(params.order) {
        for &(y, wy) in gauss(params.order) {
            let signs = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
            let shares = signs.map(|(a, b)| f32::of(0.25 * (1.0 + a * x) * (1.0 + b * y)));
            rule.push((shares, f32::of(0.25 * wx * wy)));
        }
    }
    let faces = mesh.side(Side::ZMax).iter().map(|face| {
        let nodes = face.map(|node| order[node as usize]);
        let [a, b, _, d] = nodes.map(|node| rest[node as usize]);
        let (along, across) = (
            f64::from((b[0] - a[0]).abs()),
            f64::from((d[1] - a[1]).abs()),
        );
        let mu = nodes
            .iter()
            .map(|&n| softest[n as usize])
            .fold(f64::MAX, f64::min);
        Face {
            nodes,
            area: f32::of(along * across),
            stiffness: f32::of(params.contact_stiffness * mu / along.min(across)),
            deepest: f32::of(along.min(across)),
        }
    });
    Skin {
        faces: faces.collect(),
        rule,
        rest,
    }
}

fn triangles(mesh: &HexMesh, top: &[u32]) -> Vec<[u32; 3]> {
    let place = |node: u32| top.binary_search(&node).map_or(0, |at| at as u32);
    let quads = mesh.side(Side::ZMax).iter().map(|face| face.map(place));
    quads
        .flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]])
        .collect()
}

/// Least contact modulus of the cells at the top \[Pa\].
fn contact_modulus(mesh: &HexMesh, moduli: &[Moduli]) -> f64 {
    let mut top = vec![false; mesh.nodes_m.len()];
    for &node in mesh.side(Side::ZMax).iter().flatten() {
        top[node as usize] = true;
    }
    let cells = mesh.cells.iter().zip(moduli);
    cells
        .filter(|(cell, _)| cell.iter().any(|&node| top[node as usize]))
        // E / (1 - nu^2) = 4 mu (lambda + mu) / (lambda + 2 mu)
        .map(|(_, m)| 4.0 * m.mu_pa * (m.lambda_pa + m.mu_pa) / (m.lambda_pa + 2.0 * m.mu_pa))
        .fold(f64::MAX, f64::min)
}
