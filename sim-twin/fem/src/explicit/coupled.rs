//! Stiff cells go linearly implicitly, all others explicitly, in one step.
//!
//! Source: ours, after selective mass scaling (Olovsson, Simonsson and Unosson 2005; Olovsson and
//! Simonsson 2006). Newmark's implicit step with `beta = 1/4` of a linear system is the explicit step
//! with `M + dt^2/4 K` for `M`. So the nodes of cells that the sub-step does not bear get, beside their
//! mass, an inertia `B` that couples them: velocities change by `(M + B) dv = dt f`. `f` is the full
//! nonlinear force, so equilibria are the true ones.
//!
//! `B` is a scalar matrix, the same for x, y and z: `B = dt^2/4 (1 - 1/r) (lambda + 2 mu) L` a cell, with
//! `L` its Laplacian and `r` what it asks over what the step bears. Why not the cells' own stiffness,
//! which does not weigh on their turning: one factor serves three right sides at once at a ninth of the
//! numbers; and `(lambda + 2 mu) |grad v|^2` is the same for a turned cell, while a constant stiffness
//! would stop dominating the true one. What it costs: a wave of length `w` in the stiff part has
//! `(pi c dt / w)^2` more inertia, `c` the speed of pressure waves, whatever the size of the cells; mass
//! at their nodes, the alternative, is `r` times as much for all motions, also of the whole block.
//! `L` gives nothing to a cell that moves as a whole, so momentum and felt weight are true.
//!
//! `B` is constant: factored once ([`super::factor`]), for the step that was asked for; shorter
//! sub-steps only have more inertia than they need. The longest step is measured with it, as ever.
//! Cells that deformation or an edit stiffens load their nodes ([`super::squeeze`]); a load `d` counts for
//! `B` too: the inertia is `D (M + B) D` with `D` the roots of the loads, so a cell whose stiffness
//! is `d` times as much has `d` times as much of both.
//!
//! Measured on the scene `layers-nodule` (skin of 100 kPa on fat of 2 kPa) at 8 sub-steps a millisecond,
//! where the stiffest cells ask for 30: of a press at 0.3 m/s the force is off the true one by 8 % of its
//! peak (root of the mean square), with mass instead by 47 %, whose peak is 69 % too high; of a capsule of
//! 1 MPa on 1 kPa, which asks for 66, 7 and 115 %. A cap of 2 MPa on 2 kPa swings 1.4 % too slowly at 8
//! sub-steps, 6.5 at 4 and 41 at 2; with mass instead 2.8 times too slowly at 8 and 5.5 times at 4. A held force is
//! 1.5 % low, since a touch of
//! stiff skin is made no stiffer than its nodes bear. Where as many sub-steps as the stiffest cells need
//! cost less than to couple many nodes, nothing is coupled: so it is with the layers of the scene `layered`,
//! which asks for mass instead, for speed.
//!
//! Energy in `B` is kinetic in the books: it is that of the inertia that the step really has.

use super::cells::Field;
use super::factor::{Factor, Sides};
use super::grid::{Grid, Motion};
use super::lane::LANES;
use super::matter::{Matter, own};
use super::seam::{Seam, number};
use multiversion::multiversion;
use palpate_twin::law::Real;

/// What becomes of cells that the sub-step does not bear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stiff {
    /// They go linearly implicitly: an inertia couples their nodes, the block weighs what it weighs. Where
    /// more sub-steps cost less, they get those.
    #[default]
    Coupled,
    /// Their nodes get mass: cheaper, and slower than true in every motion.
    Mass,
}

/// Squared frequency of a cell alone over that of many alike: 3 for cubes that hardly change their volume,
/// less at borders (measured on the scene `layered`: 2).
pub(super) const AMONG: f64 = 2.0;

/// About what a node takes to be brought to the factor and back, and a number of the factor \[ns\], both
/// measured.
const NODE_NS: f64 = 25.0;
const NUMBER_NS: f64 = 0.12;

/// Pairs whose energies are summed in single precision.
const PAIRS: usize = 256;

/// Where a node is: grid and place.
type Node = (u32, u32);

/// What couples nodes of stiff cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Coupled {
    /// Nodes in the order of the factor, with their masses at rest.
    nodes: Vec<Node>,
    mass: Vec<f32>,
    factor: Factor,
    /// Pairs of nodes with what their difference weighs.
    pairs: Vec<(u32, u32, f32)>,
    /// What nodes weigh against the ground.
    held: Vec<(u32, f32)>,
}

/// Room to solve in, and the roots of what nodes have lost to loads.
#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    x: Vec<Sides>,
    ease: Vec<f32>,
}

impl Room {
    pub(super) fn new(coupled: Option<&Coupled>) -> Self {
        coupled.map_or_else(Self::default, |coupled| Self {
            x: Sides::room(coupled.nodes.len()),
            ease: vec![1.0; coupled.nodes.len()],
        })
    }
}

impl Coupled {
    /// What couples the cells that ask for more than `bound`; none if no cell does.
    pub(super) fn new(matter: &Matter, bound: f64, grids: &[Grid], seams: &[Seam]) -> Option<Self> {
        let mut places = Places::new(grids, seams);
        let mut parts = Vec::new();
        for (index, level) in matter.nested.levels.iter().enumerate() {
            let (grid, stuff) = (&grids[index], &matter.stuff[index]);
            for (place, cell) in own(level) {
                // cells among cells do not swing as fast as alone
                let asked = matter.ask(index, cell).on(bound) / AMONG;
                if asked <= bound {
                    continue;
                }
                let (moduli, volume) = (&stuff.moduli[cell], grid.edge.iter().product::<f64>());
                let modulus = (moduli.lambda_pa + 2.0 * moduli.mu_pa) / matter.scale.stress_pa;
                let weight = (1.0 / bound - 1.0 / asked) * modulus * volume;
                let at = grid.at(place);
                let corners = grid.cells.corners.map(|corner| at + corner);
                places.add(index, &corners, &laplacian(&grid.edge, weight), &mut parts);
            }
        }
        let nodes = places.nodes;
        if nodes.is_empty() {
            return None;
        }
        let lower = sum(parts);
        let rest = |&(grid, node): &Node| grids[grid as usize].rest(node as usize);
        let order = order(&nodes.iter().map(rest).collect::<Vec<_>>(), &lower);
        Self::of(&nodes, &order, lower, grids)
    }

    /// From the lower triangle of `B` and an order of its nodes.
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
        let mut held = Vec::new();
        for (row, column, value) in &mut lower {
            if row == column {
                // what the sum of a row leaves is what fixed nodes hold, or rounding
                let left = sums[*row as usize];
                if left > 1e-9 * *value {
                    held.push((*row, f32::of(left)));
                }
                *value += f64::from(mass[*row as usize]);
            }
        }
        let factor = Factor::new(nodes.len(), &lower)?;
        Some(Self {
            nodes,
            mass,
            factor,
            pairs,
            held,
        })
    }

    /// Number of nodes, and of numbers in the factor.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.nodes.len(), self.factor.numbers())
    }

    /// About what a sub-step takes for it \[ns\].
    pub(super) fn cost_ns(&self) -> f64 {
        NODE_NS * self.nodes.len() as f64 + NUMBER_NS * self.factor.numbers() as f64
    }

    /// Impulses become those that give free nodes the velocities of the coupled ones.
    pub(super) fn spread(&self, motions: &mut [Motion], room: &mut Room) {
        self.take(motions, |motion| &motion.f, room, |f, ease| f * ease);
        self.factor.solve(&mut room.x);
        for (k, &(grid, node)) in self.nodes.iter().enumerate() {
            let (motion, at) = (&mut motions[grid as usize], node as usize);
            let scale = motion.mass[at] * room.ease[k];
            for (f, x) in motion.f.iter_mut().zip(&room.x[k / LANES].0) {
                f[at] = scale * x[k % LANES];
            }
        }
    }

    /// Twice the kinetic energy of what couples, at velocities or what stands for them.
    pub(super) fn twice(
        &self,
        motions: &[Motion],
        field: impl Fn(&Motion) -> &[Field; 3],
        room: &mut Room,
    ) -> f64 {
        self.take(motions, field, room, |v, ease| v / ease);
        let held = self.held.iter().map(|&(node, weight)| {
            let square = at(&room.x, node).map(|x| x * x);
            f64::from(weight * (square[0] + square[1] + square[2]))
        });
        of_pairs(&self.pairs, &room.x) + held.sum::<f64>()
    }

    /// Brings a field of the nodes into the room, by the roots of what loads have left of their ease.
    fn take(
        &self,
        motions: &[Motion],
        field: impl Fn(&Motion) -> &[Field; 3],
        room: &mut Room,
        scale: impl Fn(f32, f32) -> f32,
    ) {
        let nodes = self.nodes.iter().zip(&self.mass).zip(&mut room.ease);
        for (k, ((&(grid, node), &mass), ease)) in nodes.enumerate() {
            let (motion, at) = (&motions[grid as usize], node as usize);
            let loaded = motion.mass[at];
            *ease = if loaded > mass {
                (mass / loaded).sqrt()
            } else {
                1.0
            };
            for (x, own) in room.x[k / LANES].0.iter_mut().zip(field(motion)) {
                x[k % LANES] = scale(own[at], *ease);
            }
        }
        // what fills the last lanes: what was not a number there must not stay
        if let Some(last) = room.x.last_mut() {
            let from = (self.nodes.len() - 1) % LANES + 1;
            last.0.iter_mut().for_each(|x| x[from..].fill(0.0));
        }
    }
}

/// Sum of the squares of differences by their weights.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
fn of_pairs(pairs: &[(u32, u32, f32)], x: &[Sides]) -> f64 {
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

/// Components of an unknown.
#[inline(always)]
fn at(x: &[Sides], unknown: u32) -> [f32; 3] {
    let (block, lane) = (unknown as usize / LANES, unknown as usize % LANES);
    [0, 1, 2].map(|axis| x[block].0[axis][lane])
}

/// Which nodes are unknowns, and what hangs on them.
struct Places<'a> {
    grids: &'a [Grid],
    /// By grid, what a hanging node is of nodes of the grid above.
    hung: Vec<Vec<Vec<(u32, f64)>>>,
    /// By grid and place, its unknown, if it is one yet.
    unknowns: Vec<Vec<u32>>,
    nodes: Vec<Node>,
}

const NONE: u32 = u32::MAX;

impl<'a> Places<'a> {
    fn new(grids: &'a [Grid], seams: &[Seam]) -> Self {
        let mut hung: Vec<Vec<Vec<(u32, f64)>>> = vec![Vec::new(); grids.len()];
        for (index, seam) in seams.iter().enumerate() {
            let own = &mut hung[index + 1];
            own.resize(grids[index + 1].mass.len(), Vec::new());
            for (rim, fine, share) in seam.shares() {
                own[fine as usize].push((rim, f64::from(share)));
            }
        }
        let unknowns = grids.iter().map(|grid| vec![NONE; grid.mass.len()]);
        Self {
            grids,
            hung,
            unknowns: unknowns.collect(),
            nodes: Vec::new(),
        }
    }

    /// The unknowns that move a node, with their shares; fixed ones are left out.
    fn movers(&mut self, grid: usize, node: usize, share: f64, all: &mut Vec<(u32, f64)>) {
        if let Some(on) = self.hung[grid].get(node).filter(|on| !on.is_empty()) {
            for (rim, part) in on.clone() {
                self.movers(grid - 1, rim as usize, share * part, all);
            }
            return;
        }
        if self.grids[grid].mass[node] <= 0.0 {
            return;
        }
        let unknown = &mut self.unknowns[grid][node];
        if *unknown == NONE {
            *unknown = number(self.nodes.len());
            self.nodes.push((number(grid), number(node)));
        }
        all.push((*unknown, share));
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
            self.movers(grid, node, 1.0, &mut all);
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

/// Integrals of the products of the gradients of a cell's corners, times a weight over its volume.
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

/// Sorted, and what is at one place summed.
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

/// An order of nodes with short rows: part by part that hangs together, each along the axes in the order
/// that serves it best.
fn order(places: &[[f64; 3]], lower: &[(u32, u32, f64)]) -> Vec<u32> {
    let mut beside: Vec<Vec<u32>> = vec![Vec::new(); places.len()];
    for &(row, column, _) in lower {
        beside[row as usize].push(column);
        beside[column as usize].push(row);
    }
    let (mut seen, mut all) = (vec![false; places.len()], Vec::new());
    let mut rank = vec![0_usize; places.len()];
    for start in 0..places.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let mut part = vec![number(start)];
        let mut next = 0;
        while let Some(&node) = part.get(next) {
            next += 1;
            for &other in &beside[node as usize] {
                if !std::mem::replace(&mut seen[other as usize], true) {
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
            let key = |node: u32| axes.map(|axis: usize| places[node as usize][axis]);
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

/// Numbers that the rows of an order have.
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
