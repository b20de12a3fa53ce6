//! Static press of a ball on the axis of a layered cylinder: the converged force of a block that is pressed in its middle.
//!
//! Source: ours. Quadratic quadrilaterals in axial symmetry, whose edges follow the layers and grow with the distance
//! from the contact. Newton's method with a line search on the energy (Nocedal and Wright 2006, algorithm 3.1); the
//! linear systems are solved by elimination of one column of elements after the other. The contact is a penalty at
//! five points of each top edge, much stiffer than the top layer.
//!
//! `tests/reference/truth` has forces of an outside engine for the same problem.

mod element;
mod elimination;

use crate::static_press::StaticPressError;
use element::Element;
use elimination::ColumnSystem;
use palpate_twin::law::{CellMaterial, LawFamily, MaterialLaw};

/// Edges of elements over the distance from the axis or the top, and over the distance beyond the widest contact.
const EDGE_A_RADIUS: f64 = 0.15;
const EDGE_A_DEPTH: f64 = 0.2;
const EDGE_BEYOND: f64 = 0.5;
/// Edge of the finest elements over the half-width of the shallowest contact.
const FINEST_EDGE: f64 = 0.25;
/// Contact stiffness over the ratio of shear modulus to the finest edge.
const PENALTY: f64 = 400.0;
/// Residual over the contact force at which a press has converged.
const TOLERANCE: f64 = 1e-4;
/// Newton iterations for one increment.
const ITERATIONS_MAX: usize = 30;
/// Largest increment, and the shortest one before a press is given up, over the radius.
const INCREMENT: f64 = 0.25;
const SHORTEST: f64 = 1e-3;

/// Change of a matrix that makes it positive definite.
#[derive(Debug, Clone, Copy)]
struct MatrixShift {
    /// Share of the ball's curvature, which makes it indefinite where the ball lies deep inside the tissue.
    curvature: f64,
    /// Factor on the diagonal.
    diagonal: f64,
}

/// Shifts to try in turn: tissue that is squeezed far may be unstable.
const SHIFTS: [MatrixShift; 5] = [
    shift(1.0, 1.0),
    shift(0.0, 1.0),
    shift(0.0, 1.001),
    shift(0.0, 1.01),
    shift(0.0, 1.1),
];

const fn shift(curvature: f64, diagonal: f64) -> MatrixShift {
    MatrixShift {
        curvature,
        diagonal,
    }
}

/// Layered cylinder under a rigid, frictionless ball. Its bottom is fixed and its side is free.
#[derive(Debug, Clone, Copy)]
pub struct AxialPress<'a> {
    /// Law of layers whose material has none of its own.
    pub family: LawFamily,
    /// Thickness \[m\] and material of the layers, from the top down; density and viscosity have no effect.
    pub layers: &'a [(f64, CellMaterial)],
    /// Radius of the cylinder \[m\].
    pub outer_m: f64,
    /// Radius of the ball \[m\].
    pub radius_m: f64,
    /// Factor on the edges of the elements. On three tissues the force was within 0.2 % of that with half the
    /// edges, and within 0.5 % with 1.45, in a third of the time (measured once).
    pub coarser: f64,
}

impl AxialPress<'_> {
    /// Returns the force on the ball along z \[N\] at ascending depths below first contact \[m\], up to the first depth
    /// without equilibrium.
    ///
    /// # Errors
    /// [`StaticPressError`] if the first depth has no equilibrium, or names the number that is out of its range.
    pub fn forces_n(&self, depths_m: &[f64]) -> Result<Vec<f64>, StaticPressError> {
        self.check(depths_m)?;
        let Some((first_m, last_m)) = depths_m.first().zip(depths_m.last()) else {
            return Ok(Vec::new());
        };
        let scale_pa = self
            .layers
            .iter()
            .fold(0.0_f64, |a, layer| a.max(layer.1.moduli.mu_pa));
        let mut press = Press::new(
            self,
            first_m / self.radius_m,
            last_m / self.radius_m,
            scale_pa,
        );
        let unit_n = scale_pa * self.radius_m * self.radius_m;
        let mut forces_n = Vec::with_capacity(depths_m.len());
        for depth_m in depths_m {
            match press.press_to(depth_m / self.radius_m) {
                Ok(force) => forces_n.push(force * unit_n),
                Err(_) if !forces_n.is_empty() => break,
                Err((residual, iterations)) => {
                    let depth_m = *depth_m;
                    return Err(StaticPressError::Stalled {
                        depth_m,
                        residual,
                        iterations,
                    });
                }
            }
        }
        Ok(forces_n)
    }

    fn check(&self, depths_m: &[f64]) -> Result<(), StaticPressError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let thicknesses = self.layers.iter().map(|layer| ("thickness_m", layer.0));
        let numbers = [
            ("outer_m", self.outer_m),
            ("radius_m", self.radius_m),
            ("coarser", self.coarser),
        ];
        let depths = depths_m.iter().map(|&depth_m| ("depths_m", depth_m));
        let all = numbers.into_iter().chain(thicknesses).chain(depths);
        let wrong = |field, value, expected| {
            Err(StaticPressError::Field {
                field,
                value,
                expected,
            })
        };
        if let Some((field, value)) = all.clone().find(|(_, value)| !positive(*value)) {
            return wrong(field, value, "a finite number above 0");
        }
        if let Some(pair) = depths_m.windows(2).find(|pair| pair[0] > pair[1]) {
            return wrong("depths_m", pair[1], "a depth not below the one before");
        }
        if self.layers.is_empty() {
            return wrong("layers", 0.0, "at least one");
        }
        Ok(())
    }

    /// Edge of an element at a distance, where its ratio to that is `share` between contacts of half-widths `low` and `high`.
    fn edge(&self, share: f64, distance: f64, low: f64, high: f64) -> f64 {
        let near = (FINEST_EDGE * low).max(share * distance.min(high));
        self.coarser * (near + EDGE_BEYOND * (distance - high).max(0.0))
    }

    /// Coordinates of the element borders along r, over the radius.
    fn radial_axis(&self, low: f64, high: f64) -> Vec<f64> {
        let size = |r: f64| self.edge(EDGE_A_RADIUS, r, low, high);
        graded(0.0, self.outer_m / self.radius_m, &size)
    }

    /// Depths of the element borders under the top, over the radius, and the layer of each element.
    fn depth_axis(&self, low: f64, high: f64) -> (Vec<f64>, Vec<usize>) {
        let size = |z: f64| self.edge(EDGE_A_DEPTH, z, low, high);
        let (mut axis, mut layers) = (vec![0.0], Vec::new());
        for (layer, (thickness_m, _)) in self.layers.iter().enumerate() {
            let from = axis[axis.len() - 1];
            let part = graded(from, from + thickness_m / self.radius_m, &size);
            layers.extend(std::iter::repeat_n(layer, part.len() - 1));
            axis.extend_from_slice(&part[1..]);
        }
        (axis, layers)
    }
}

/// Coordinates from `from` to `to` with edges of about `size` of their place.
fn graded(from: f64, to: f64, size: &dyn Fn(f64) -> f64) -> Vec<f64> {
    const SAMPLES: usize = 400;
    let at = |sample: usize| from + (to - from) * sample as f64 / SAMPLES as f64;
    let mut sums = vec![0.0];
    for sample in 0..SAMPLES {
        let middle = 0.5 * (at(sample) + at(sample + 1));
        sums.push(sums[sample] + (at(sample + 1) - at(sample)) / size(middle));
    }
    // the sum is bounded: sizes are at least a fraction of the contact
    let count = (sums[SAMPLES].ceil() as usize).clamp(1, 400);
    let mut axis = vec![from];
    let mut sample = 0;
    for index in 1..count {
        let goal = sums[SAMPLES] * index as f64 / count as f64;
        while sums[sample + 1] < goal {
            sample += 1;
        }
        let share = (goal - sums[sample]) / (sums[sample + 1] - sums[sample]);
        axis.push(at(sample) + share * (at(sample + 1) - at(sample)));
    }
    axis.push(to);
    axis
}

/// Half-width of the contact with a half-space, over the radius.
fn chord(depth: f64) -> f64 {
    depth.min(1.0).sqrt()
}

/// Point of the top at which the ball may press.
struct TopPoint {
    /// Unknowns of the vertical and the radial displacement of the three nodes of its edge.
    nodes: [usize; 3],
    weights: [f64; 3],
    radius: f64,
    area: f64,
}

/// Cylinder in units of the ball's radius and the largest shear modulus, with its displacements.
struct Press {
    elements: Vec<Element>,
    laws: Vec<MaterialLaw>,
    system: ColumnSystem,
    top: Vec<TopPoint>,
    stiffness: f64,
    u: Vec<f64>,
    rate: Vec<f64>,
    depth: f64,
    iterations: usize,
}

impl Press {
    fn new(problem: &AxialPress<'_>, first: f64, last: f64, scale_pa: f64) -> Self {
        let (low, high) = (chord(first), (1.3 * chord(last)).min(1.3));
        let radial = problem.radial_axis(low, high);
        let (down, layers) = problem.depth_axis(low, high);
        let laws = problem.layers.iter();
        let laws: Vec<MaterialLaw> = laws
            .map(|(_, own)| {
                let moduli = own.moduli.scaled(1.0 / scale_pa);
                MaterialLaw::new(own.law.unwrap_or(problem.family), moduli)
            })
            .collect();
        let system = ColumnSystem::new(radial.len() - 1, 2 * (down.len() - 1));
        let mut elements = Vec::with_capacity((radial.len() - 1) * layers.len());
        for column in 0..radial.len() - 1 {
            for (row, &layer) in layers.iter().enumerate() {
                let nodes = std::array::from_fn(|node| {
                    system.node(2 * column + node % 3, 2 * row + node / 3)
                });
                let corner = [radial[column], radial[column + 1]];
                elements.push(Element::new(
                    corner,
                    [down[row], down[row + 1]],
                    nodes,
                    layer,
                ));
            }
        }
        let mut top = Vec::new();
        for (column, edge) in radial.windows(2).enumerate() {
            for (at, weight) in element::GAUSS_FIVE {
                let radius = 0.5 * (edge[0] + edge[1]) + 0.5 * at * (edge[1] - edge[0]);
                let turn = 2.0 * std::f64::consts::PI * radius;
                top.push(TopPoint {
                    nodes: [0, 1, 2].map(|node| system.node(2 * column + node, 0)),
                    weights: element::shapes(at),
                    radius,
                    area: turn * 0.5 * weight * (edge[1] - edge[0]),
                });
            }
        }
        let top_mu = problem.layers[0].1.moduli.mu_pa / scale_pa;
        let unknowns = system.unknowns();
        Self {
            elements,
            laws,
            top,
            stiffness: PENALTY * top_mu / (problem.coarser * FINEST_EDGE * low),
            u: vec![0.0; unknowns],
            rate: vec![0.0; unknowns],
            depth: 0.0,
            iterations: 0,
            system,
        }
    }

    /// Presses to a depth; returns the force on the ball. Increments are halved where one does not converge; fails with
    /// the relative residual and the number of iterations.
    fn press_to(&mut self, goal: f64) -> Result<f64, (f64, usize)> {
        let mut reach = INCREMENT;
        while self.depth < goal {
            let way = (goal - self.depth).min(reach);
            let before = (self.u.clone(), self.depth);
            self.depth += way;
            if goal - self.depth < 1e-12 {
                self.depth = goal;
            }
            let guess: Vec<f64> = self
                .u
                .iter()
                .zip(&self.rate)
                .map(|(u, rate)| u + rate * way)
                .collect();
            if self.potential(&guess) <= self.potential(&self.u) {
                self.u = guess;
            }
            match self.equilibrate() {
                Ok(()) => {
                    let steps = self.u.iter().zip(&before.0).map(|(u, old)| (u - old) / way);
                    self.rate = steps.collect();
                    reach = INCREMENT.min(2.0 * reach);
                }
                Err(error) if reach < SHORTEST => return Err(error),
                Err(_) => {
                    (self.u, self.depth) = before;
                    reach = 0.5 * way;
                }
            }
        }
        Ok(self.contact(&self.u, |_, _| ()).0)
    }

    /// Returns the force on the ball and the energy of the contact; calls `take` with each point that is pressed.
    fn contact(&self, u: &[f64], mut take: impl FnMut(&TopPoint, &PointPress)) -> (f64, f64) {
        let (mut force, mut energy) = (0.0, 0.0);
        let centre = 1.0 - self.depth;
        for point in &self.top {
            let (mut across, mut up) = (point.radius, -centre);
            for (node, weight) in point.nodes.iter().zip(point.weights) {
                across += weight * u[*node];
                up += weight * u[node + 1];
            }
            let distance = libm::hypot(across, up);
            let pressure = self.stiffness * (1.0 - distance);
            if pressure > 0.0 && distance > 1e-9 {
                let normal = [across / distance, up / distance];
                force -= normal[1] * pressure * point.area;
                energy += 0.5 * pressure * (1.0 - distance) * point.area;
                take(
                    point,
                    &PointPress {
                        normal,
                        distance,
                        pressure,
                    },
                );
            }
        }
        (force, energy)
    }

    fn potential(&self, u: &[f64]) -> f64 {
        let strain = |element: &Element| element.energy(&self.laws[element.layer], u);
        self.elements.iter().map(strain).sum::<f64>() + self.contact(u, |_, _| ()).1
    }

    /// Returns the gradient of the potential, and the size of the contact forces.
    fn residual(&self) -> (Vec<f64>, f64) {
        let mut residual = vec![0.0; self.u.len()];
        self.contact(&self.u, |point, press| {
            for (node, weight) in point.nodes.iter().zip(point.weights) {
                for axis in 0..2 {
                    residual[node + axis] -=
                        press.normal[axis] * press.pressure * point.area * weight;
                }
            }
        });
        let scale = norm(&residual);
        for element in &self.elements {
            element.add_forces(&self.laws[element.layer], &self.u, &mut residual);
        }
        self.system.clear_fixed(&mut residual);
        (residual, scale)
    }

    /// Returns the step to the equilibrium of the linearised forces, of a matrix that is made positive definite by a shift
    /// (Nocedal and Wright 2006, section 3.4). None if it is not positive definite.
    fn newton_step(&mut self, residual: &[f64], shift: MatrixShift) -> Option<Vec<f64>> {
        self.system.clear();
        for element in &self.elements {
            let stiffness = element.stiffness(&self.laws[element.layer], &self.u);
            for (a, &row) in element.nodes.iter().enumerate() {
                for (b, &column) in element.nodes.iter().enumerate() {
                    let block = std::array::from_fn(|i| {
                        std::array::from_fn(|j| stiffness[2 * a + i][2 * b + j])
                    });
                    self.system.add(row, column, &block);
                }
            }
        }
        let mut blocks = Vec::new();
        self.contact(&self.u, |point, press| {
            let [r, z] = press.normal;
            let bend = shift.curvature * press.pressure / press.distance;
            let along = self.stiffness + bend;
            let slope = [
                [along * r * r - bend, along * r * z],
                [along * r * z, along * z * z - bend],
            ];
            // areas are those at rest, so they add no term
            for (row, a) in point.nodes.iter().zip(point.weights) {
                for (column, b) in point.nodes.iter().zip(point.weights) {
                    let share = a * b * point.area;
                    blocks.push((*row, *column, slope.map(|line| line.map(|x| x * share))));
                }
            }
        });
        for (row, column, block) in blocks {
            self.system.add(row, column, &block);
        }
        self.system.scale_diagonal(shift.diagonal);
        let load: Vec<f64> = residual.iter().map(|r| -r).collect();
        self.system.solve(load).ok()
    }

    fn equilibrate(&mut self) -> Result<(), (f64, usize)> {
        let mut relative = f64::INFINITY;
        for _ in 0..ITERATIONS_MAX {
            let (residual, scale) = self.residual();
            let size = norm(&residual);
            relative = if size == 0.0 { 0.0 } else { size / scale };
            if relative <= TOLERANCE {
                return Ok(());
            }
            self.iterations += 1;
            let mut tried = SHIFTS.into_iter();
            let Some(step) = tried.find_map(|shift| self.newton_step(&residual, shift)) else {
                break;
            };
            if !self.search(&residual, &step) {
                break;
            }
        }
        Err((relative, self.iterations))
    }

    /// Moves along `step` while the energy falls; returns false if it falls nowhere.
    fn search(&mut self, residual: &[f64], step: &[f64]) -> bool {
        let slope: f64 = residual.iter().zip(step).map(|(r, s)| r * s).sum();
        let start = self.potential(&self.u);
        let noise = 1e-12 * start.abs() + 1e-15;
        let mut length = 1.0;
        for _ in 0..20 {
            let trial: Vec<f64> = self
                .u
                .iter()
                .zip(step)
                .map(|(u, s)| u + s * length)
                .collect();
            let now = self.potential(&trial);
            if now <= start + 1e-4 * length * slope + noise {
                self.u = trial;
                return true;
            }
            length *= 0.5;
        }
        false
    }
}

/// Pressure of the ball at a point.
struct PointPress {
    normal: [f64; 2],
    distance: f64,
    pressure: f64,
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;
