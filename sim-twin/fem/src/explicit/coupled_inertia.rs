//! Coupled inertia: stiff cells are integrated linearly implicitly, all others explicitly, in one step.
//!
//! Source: ours, after selective mass scaling (Olovsson, Simonsson and Unosson 2005; Olovsson and Simonsson
//! 2006). Newmark's implicit step with `beta = 1/4` of a linear system is the explicit step with `M + dt^2/4
//! K` instead of `M`. So the nodes of cells for which the sub-step is unstable get an inertia `B` that
//! couples them, in addition to their mass: velocities change by `(M + B) dv = dt f`. `f` is the full
//! nonlinear force, so equilibria are exact.
//!
//! `B` is a scalar matrix, the same for x, y and z: `B = dt^2/4 (1 - 1/r) (lambda + 2 mu) L` per cell. `L` is
//! the Laplacian of the cell and `r` the ratio of its squared frequency to the stable one. The stiffness `K`
//! of the cell itself resists no rotation, but is not used, for two reasons. First, the Cholesky factor of a
//! scalar matrix serves x, y and z, and has a ninth of the entries. Second, `(lambda + 2 mu) |grad v|^2` is
//! invariant under rotation, so `B` dominates the true stiffness of a cell in any orientation. A constant `K`
//! would no longer dominate it after a rotation. The cost: a wave of length `w` in the stiff part
//! has `(pi c dt / w)^2` more inertia, with `c` the speed of pressure waves, for any cell size. Mass at the
//! nodes, the alternative, multiplies the inertia of all motions by `r`, including those of the whole block.
//! `L` vanishes for a cell that translates, so momentum and perceived weight are exact.
//!
//! `B` is constant and factored once ([`super::cholesky`]) for the requested step; shorter sub-steps have
//! more inertia than they need. The longest stable step is measured with it. Cells that deformation or an
//! edit stiffens multiply the masses of their nodes by factors, the loads ([`super::mass_scaling`]). Loads
//! apply to `B` too: the inertia is `D (M + B) D`, with `D` the diagonal matrix of their square roots.
//!
//! Measured on the scene `layers-nodule` (skin of 100 kPa on fat of 2 kPa) at 8 sub-steps per millisecond,
//! where the stiffest cells need 30. The force of a press at 0.3 m/s is off by 8 % of its peak (root mean
//! square); with mass scaling by 47 %, and its peak is 69 % too high. For a capsule of 1 MPa on 1 kPa, which
//! needs 66, the errors are 7 and 115 %. A cap of 2 MPa on 2 kPa oscillates 1.4 % too slowly at 8 sub-steps,
//! 6.5 % at 4 and 41 % at 2. With mass scaling it is 2.8 times too slow at 8 and 5.5 times at 4. A static
//! force is 1.5 % low, since the contact stiffness of stiff skin is limited by its nodes. Where the sub-steps
//! of the stiffest cells cost less than the coupling, nothing is coupled. This holds for the scene `layered`,
//! which selects mass scaling for speed.
//!
//! The energy in `B` counts as kinetic in the energy balance: it is that of the inertia used by the step.

use super::cells::Field;
use super::cholesky::{self, CholeskyFactor, RightSides};
use super::grid::{Grid, Motion};
use super::hanging_nodes::{HangingNodes, index_u32};
use super::material::{CellMaterials, unreplaced_cells};
use super::simd::SIMD_WIDTH;
use multiversion::multiversion;
use palpate_twin::law::Real;

/// Treatment of cells for which the sub-step is unstable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StiffCellMethod {
    /// Linearly implicit integration: an inertia couples the nodes, and the mass of the block is unchanged.
    /// The cells get more sub-steps if those cost less.
    #[default]
    Coupled,
    /// Added mass at the nodes: cheaper, and all motions are slower than the true ones.
    MassScaling,
}

/// Squared frequency of a single cell over that of a cell among equals: 3 for nearly incompressible cubes,
/// less at borders (measured on the scene `layered`: 2).
pub(super) const NEIGHBOUR_FREQUENCY_RATIO: f64 = 2.0;

/// Approximate time to transfer a node to the factor and back, and per entry of the factor \[ns\], measured.
const NODE_NS: f64 = 25.0;
const NUMBER_NS: f64 = 0.12;

/// Number of pairs whose energies are summed in single precision.
const PAIRS: usize = 256;

/// Grid and index of a node.
type Node = (u32, u32);

/// Inertia that couples the nodes of stiff cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CoupledInertia {
    /// Nodes in the order of the factor, with their masses at rest.
    nodes: Vec<Node>,
    mass: Vec<f32>,
    factor: CholeskyFactor,
    /// Pairs of nodes with the inertia of their relative velocity.
    pairs: Vec<(u32, u32, f32)>,
    /// Nodes with the inertia of their velocity relative to fixed nodes.
    grounded: Vec<(u32, f32)>,
}

/// Working memory of a solve, and the square roots of the mass ratios under loads.
#[derive(Debug, Clone, Default)]
pub(super) struct CoupledScratch {
    x: Vec<RightSides>,
    load_factor: Vec<f32>,
}

impl CoupledScratch {
    pub(super) fn new(coupled: Option<&CoupledInertia>) -> Self {
        coupled.map_or_else(Self::default, |coupled| Self {
            x: RightSides::zeros(coupled.nodes.len()),
            load_factor: vec![1.0; coupled.nodes.len()],
        })
    }
}

impl CoupledInertia {
    /// Constructs the coupling of the cells whose squared frequency exceeds `bound`; `None` if there are
    /// none.
    pub(super) fn new(
        materials: &CellMaterials,
        bound: f64,
        grids: &[Grid],
        hanging_nodes: &[HangingNodes],
    ) -> Option<Self> {
        let mut numbering = UnknownNumbering::new(grids, hanging_nodes);
        let mut parts = Vec::new();
        for (index, level) in materials.nested.levels.iter().enumerate() {
            let (grid, cell_materials) = (&grids[index], &materials.cell_materials[index]);
            for (place, cell) in unreplaced_cells(level) {
                // cells among cells oscillate more slowly than single ones
                let required = materials.step_demand(index, cell).on_steps_of(bound)
                    / NEIGHBOUR_FREQUENCY_RATIO;
                if required <= bound {
                    continue;
                }
                let (moduli, volume) = (
                    &cell_materials[cell].moduli,
                    grid.edge.iter().product::<f64>(),
                );
                let modulus = (moduli.lambda_pa + 2.0 * moduli.mu_pa) / materials.scale.stress_pa;
                let weight = (1.0 / bound - 1.0 / required) * modulus * volume;
                let at = grid.index(place);
                let corners = grid.cells.corners.map(|corner| at + corner);
                numbering.add(index, &corners, &laplacian(&grid.edge, weight), &mut parts);
            }
        }
        let nodes = numbering.nodes;
        if nodes.is_empty() {
            return None;
        }
        let lower = sum(parts);
        let rest = |&(grid, node): &Node| grids[grid as usize].rest_position(node as usize);
        let order = order(&nodes.iter().map(rest).collect::<Vec<_>>(), &lower);
        Self::of(&nodes, &order, lower, grids)
    }

    /// Constructs the coupling from the lower triangle of `B` and an order of its nodes.
    fn of(
        nodes: &[Node],
        order: &[u32],
        lower: Vec<(u32, u32, f64)>,
        grids: &[Grid],
    ) -> Option<Self> {
        let mut rank = vec![0_u32; order.len()];
        for (new, &old) in (0..).zip(order) {
            rank[old as usize] = new;
        }
        let nodes: Vec<Node> = order.iter().map(|&old| nodes[old as usize]).collect();
        let mass_of = |&(grid, node): &Node| grids[grid as usize].mass[node as usize];
        let mass: Vec<f32> = nodes.iter().map(mass_of).collect();
        let ranked = lower.into_iter().map(|(row, column, value)| {
            let (row, column) = (rank[row as usize], rank[column as usize]);
            (row.max(column), row.min(column), value)
        });
        let mut lower = sum(ranked.collect());
        let mut sums = vec![0.0_f64; nodes.len()];
        let mut pairs = Vec::new();
        for &(row, column, value) in &lower {
            sums[row as usize] += value;
            if row != column {
                sums[column as usize] += value;
                pairs.push((row, column, f32::of(-value)));
            }
        }
        let mut grounded = Vec::new();
        for (row, column, value) in &mut lower {
            if row == column {
                // the sum of a row is the coupling to fixed nodes, or rounding
                let left = sums[*row as usize];
                if left > 1e-9 * *value {
                    grounded.push((*row, f32::of(left)));
                }
                *value += f64::from(mass[*row as usize]);
            }
        }
        let factor = CholeskyFactor::new(nodes.len(), &lower)?;
        Some(Self {
            nodes,
            mass,
            factor,
            pairs,
            grounded,
        })
    }

    /// Returns the number of nodes, and of entries in the factor.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.nodes.len(), self.factor.numbers())
    }

    /// Returns the approximate time that the coupling adds to a sub-step \[ns\].
    pub(super) fn cost_ns(&self) -> f64 {
        NODE_NS * self.nodes.len() as f64 + NUMBER_NS * self.factor.numbers() as f64
    }

    /// Replaces the impulse of each coupled node by the one that, divided by the node's mass alone, gives the
    /// velocity change of the coupled system.
    pub(super) fn apply(&self, motions: &mut [Motion], scratch: &mut CoupledScratch) {
        self.take(
            motions,
            |motion| &motion.f,
            scratch,
            |f, root_ratio| f * root_ratio,
        );
        cholesky::solve(&self.factor, &mut scratch.x);
        for (k, &(grid, node)) in self.nodes.iter().enumerate() {
            let (motion, at) = (&mut motions[grid as usize], node as usize);
            let scale = motion.mass[at] * scratch.load_factor[k];
            for (f, x) in motion.f.iter_mut().zip(&scratch.x[k / SIMD_WIDTH].0) {
                f[at] = scale * x[k % SIMD_WIDTH];
            }
        }
    }

    /// Returns twice the kinetic energy of the coupling, at velocities or at another field.
    pub(super) fn twice_kinetic_energy(
        &self,
        motions: &[Motion],
        field: impl Fn(&Motion) -> &[Field; 3],
        scratch: &mut CoupledScratch,
    ) -> f64 {
        self.take(motions, field, scratch, |v, root_ratio| v / root_ratio);
        let grounded = self.grounded.iter().map(|&(node, weight)| {
            let square = at(&scratch.x, node).map(|x| x * x);
            f64::from(weight * (square[0] + square[1] + square[2]))
        });
        of_pairs(&self.pairs, &scratch.x) + grounded.sum::<f64>()
    }

    /// Copies a field of the nodes to the scratch, scaled by the square roots of the mass ratios.
    fn take(
        &self,
        motions: &[Motion],
        field: impl Fn(&Motion) -> &[Field; 3],
        scratch: &mut CoupledScratch,
        scale: impl Fn(f32, f32) -> f32,
    ) {
        let nodes = self
            .nodes
            .iter()
            .zip(&self.mass)
            .zip(&mut scratch.load_factor);
        for (k, ((&(grid, node), &mass), root_ratio)) in nodes.enumerate() {
            let (motion, at) = (&motions[grid as usize], node as usize);
            let loaded = motion.mass[at];
            *root_ratio = if loaded > mass {
                (mass / loaded).sqrt()
            } else {
                1.0
            };
            for (x, own) in scratch.x[k / SIMD_WIDTH].0.iter_mut().zip(field(motion)) {
                x[k % SIMD_WIDTH] = scale(own[at], *root_ratio);
            }
        }
        // clear the padding of the last block: a NaN there must not stay
        if let Some(last) = scratch.x.last_mut() {
            let from = (self.nodes.len() - 1) % SIMD_WIDTH + 1;
            last.0.iter_mut().for_each(|x| x[from..].fill(0.0));
        }
    }
}

/// Returns the weighted sum of squared differences.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn of_pairs(pairs: &[(u32, u32, f32)], x: &[RightSides]) -> f64 {
    let mut sum = 0.0;
    for part in pairs.chunks(PAIRS) {
        let mut twice = [0.0_f32; 3];
        for &(one, other, weight) in part {
            let (one, other) = (at(x, one), at(x, other));
            for axis in 0..3 {
                let gap = one[axis] - other[axis];
                twice[axis] = (weight * gap).mul_add(gap, twice[axis]);
            }
        }
        sum += f64::from(twice[0]) + f64::from(twice[1]) + f64::from(twice[2]);
    }
    sum
}

/// Returns the components of an unknown.
#[inline(always)]
fn at(x: &[RightSides], unknown: u32) -> [f32; 3] {
    let (block, lane) = (unknown as usize / SIMD_WIDTH, unknown as usize % SIMD_WIDTH);
    [0, 1, 2].map(|axis| x[block].0[axis][lane])
}

/// Numbering of the nodes that are unknowns, with the hanging nodes that depend on them.
struct UnknownNumbering<'a> {
    grids: &'a [Grid],
    /// Weights of each hanging node on nodes of the coarser grid, by grid.
    hanging: Vec<Vec<Vec<(u32, f64)>>>,
    /// Unknown by grid and node, or [`NONE`].
    unknowns: Vec<Vec<u32>>,
    nodes: Vec<Node>,
}

const NONE: u32 = u32::MAX;

impl<'a> UnknownNumbering<'a> {
    fn new(grids: &'a [Grid], hanging_nodes: &[HangingNodes]) -> Self {
        let mut hanging_weights: Vec<Vec<Vec<(u32, f64)>>> = vec![Vec::new(); grids.len()];
        for (index, hanging) in hanging_nodes.iter().enumerate() {
            let own = &mut hanging_weights[index + 1];
            own.resize(grids[index + 1].mass.len(), Vec::new());
            for (fine, rim) in hanging.hanging_rows.iter() {
                own[fine as usize] = rim
                    .iter()
                    .map(|&(rim, weight)| (rim, weight.into()))
                    .collect();
            }
        }
        let unknowns = grids.iter().map(|grid| vec![NONE; grid.mass.len()]);
        Self {
            grids,
            hanging: hanging_weights,
            unknowns: unknowns.collect(),
            nodes: Vec::new(),
        }
    }

    /// Collects the unknowns that move a node, with their weights; fixed ones are skipped.
    fn collect_unknowns(
        &mut self,
        grid: usize,
        node: usize,
        weight: f64,
        all: &mut Vec<(u32, f64)>,
    ) {
        if let Some(on) = self.hanging[grid].get(node).filter(|on| !on.is_empty()) {
            for (rim, part) in on.clone() {
                self.collect_unknowns(grid - 1, rim as usize, weight * part, all);
            }
            return;
        }
        if self.grids[grid].mass[node] <= 0.0 {
            return;
        }
        let unknown = &mut self.unknowns[grid][node];
        if *unknown == NONE {
            *unknown = index_u32(self.nodes.len());
            self.nodes.push((index_u32(grid), index_u32(node)));
        }
        all.push((*unknown, weight));
    }

    /// Adds the matrix of a cell to the lower triangle.
    fn add(
        &mut self,
        grid: usize,
        corners: &[usize; 8],
        matrix: &[[f64; 8]; 8],
        parts: &mut Vec<(u32, u32, f64)>,
    ) {
        let movers = corners.map(|node| {
            let mut all = Vec::new();
            self.collect_unknowns(grid, node, 1.0, &mut all);
            all
        });
        for (rows, values) in movers.iter().zip(matrix) {
            for (columns, value) in movers.iter().zip(values) {
                for &(row, one) in rows {
                    for &(column, other) in columns {
                        if column <= row {
                            parts.push((row, column, one * other * value));
                        }
                    }
                }
            }
        }
    }
}

/// Returns the integrals of the products of the gradients at a cell's corners, times a weight over its
/// volume.
fn laplacian(edge: &[f64; 3], weight: f64) -> [[f64; 8]; 8] {
    let sign = |corner: usize, axis: usize| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
    let mut matrix = [[0.0; 8]; 8];
    for (a, row) in matrix.iter_mut().enumerate() {
        for (b, entry) in row.iter_mut().enumerate() {
            for (axis, edge_m) in edge.iter().enumerate() {
                let others = [(axis + 1) % 3, (axis + 2) % 3];
                // along the axis a difference, across it the mass of a line
                let across: f64 = others
                    .map(|other| (3.0 + sign(a, other) * sign(b, other)) / 12.0)
                    .iter()
                    .product();
                let along = sign(a, axis) * sign(b, axis) / (edge_m * edge_m);
                *entry += weight * along * across;
            }
        }
    }
    matrix
}

/// Sorts entries and sums those at one position.
fn sum(mut parts: Vec<(u32, u32, f64)>) -> Vec<(u32, u32, f64)> {
    // stable, so that sums have one order
    parts.sort_by_key(|&(row, column, _)| (row, column));
    parts.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    parts
}

/// Returns an order of nodes with short rows: one connected part after another, each along the axes in the
/// order with the fewest entries.
fn order(positions: &[[f64; 3]], lower: &[(u32, u32, f64)]) -> Vec<u32> {
    let mut beside: Vec<Vec<u32>> = vec![Vec::new(); positions.len()];
    for &(row, column, _) in lower {
        beside[row as usize].push(column);
        beside[column as usize].push(row);
    }
    let (mut visited, mut all) = (vec![false; positions.len()], Vec::new());
    let mut rank = vec![0_usize; positions.len()];
    for start in 0..positions.len() {
        if visited[start] {
            continue;
        }
        visited[start] = true;
        let mut part = vec![index_u32(start)];
        let mut next = 0;
        while let Some(&node) = part.get(next) {
            next += 1;
            for &other in &beside[node as usize] {
                if !std::mem::replace(&mut visited[other as usize], true) {
                    part.push(other);
                }
            }
        }
        let axes = [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ];
        let orders = axes.map(|axes| {
            let mut order = part.clone();
            let key = |node: u32| axes.map(|axis: usize| positions[node as usize][axis]);
            order.sort_by(|&a, &b| {
                let pairs = key(a).into_iter().zip(key(b));
                let unlike = |(a, b): (f64, f64)| Some(a.total_cmp(&b)).filter(|o| o.is_ne());
                pairs
                    .into_iter()
                    .find_map(unlike)
                    .unwrap_or_else(|| a.cmp(&b))
            });
            (length(&order, &beside, &mut rank), order)
        });
        let best = orders.into_iter().min_by_key(|order| order.0);
        all.extend(best.into_iter().flat_map(|order| order.1));
    }
    all
}

/// Returns the number of entries of the rows in an order.
fn length(order: &[u32], beside: &[Vec<u32>], rank: &mut [usize]) -> usize {
    for (new, &node) in order.iter().enumerate() {
        rank[node as usize] = new;
    }
    let rows = order.iter().enumerate().map(|(new, &node)| {
        let first = beside[node as usize].iter().map(|&n| rank[n as usize]);
        new - first.min().unwrap_or(new).min(new)
    });
    rows.sum()
}
