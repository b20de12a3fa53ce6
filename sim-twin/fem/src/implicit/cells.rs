//! One cell over one step: its energy, its forces and their slope, with what is viscous in it.
//!
//! Source: ours, from [`palpate_twin::law::viscous`]. Both additions are gradients of a function of the end
//! of the step, so a step stays the minimum of a potential. The dashpot takes its geometry from the
//! beginning of the step: `P = F0 S(sym(F0^T (F1 - F0)) / dt)`, which makes its work its heat to
//! rounding. A branch is linear in the shape part of the Green strain and pulls with its stress at
//! the end: `P = F1 h1`; of its work `h1 : (F1 - F0)^T (F1 - F0) / 2` is the scheme's.

use crate::element::{Deformed, Points, Split, Stiffness, add_point, each_block, mirror};
use nalgebra::Matrix3;
use palpate_twin::Vec3;
use palpate_twin::law::Tangent;
use palpate_twin::law::viscous::{KelvinVoigt, Memory, Prony, PronyStep};

/// A viscous material without units, but for the times of its branches.
#[derive(Debug, Clone)]
pub(super) struct Material {
    /// What follows the change of shape.
    pub(super) dashpot: KelvinVoigt<f64>,
    /// Viscosity for change of volume.
    pub(super) bulk: f64,
    pub(super) prony: Prony,
    /// The branches for the step that is being taken.
    pub(super) step: PronyStep<f64>,
}

/// One hexahedron, or one tetrahedron with ten nodes.
#[derive(Debug, Clone)]
pub(super) struct Cell<const N: usize, const P: usize> {
    pub(super) nodes: [u32; N],
    pub(super) points: Points<N, P>,
    pub(super) law: Split,
    /// Places of its blocks in the tangent.
    pub(super) pairs: [[usize; N]; N],
    pub(super) material: Option<usize>,
    /// Place of what its first Gauss point remembers, if its material has branches.
    pub(super) memory: usize,
    /// Stiffness `2 mu` of all branches and the law together.
    pub(super) shear: f64,
}

/// What is given at the beginning of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin<'a> {
    pub(super) dt: f64,
    pub(super) u: &'a [Vec3],
    pub(super) materials: &'a [Material],
    pub(super) memories: &'a [Memory<f64>],
}

/// Energies of cells at the end of a step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pulled {
    /// Of the elastic laws.
    pub(super) elastic: f64,
    /// Work of the elastic forces at the end along the step.
    pub(super) work: f64,
    /// Potential of what is viscous.
    pub(super) viscous: f64,
}

/// What the viscous parts of cells did in one step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heat {
    /// Energy that the branches hold now.
    pub(super) held: f64,
    /// Energy that dashpots turned to heat.
    pub(super) physical: f64,
    /// Energy that the scheme took.
    pub(super) numerical: f64,
}

impl Heat {
    pub(super) fn add(&mut self, other: Self) {
        self.held += other.held;
        self.physical += other.physical;
        self.numerical += other.numerical;
    }
}

/// A Gauss point over a step.
struct Lag<'a> {
    f0: Matrix3<f64>,
    f1: Matrix3<f64>,
    dt: f64,
    material: &'a Material,
    memory: Option<&'a Memory<f64>>,
    shear: f64,
}

/// The trace-free part.
fn shape(m: &Matrix3<f64>) -> Matrix3<f64> {
    m - Matrix3::identity() * (m.trace() / 3.0)
}

impl Lag<'_> {
    /// What drives the branches: `2 mu` times the shape part of the Green strain.
    fn elastic(&self) -> Matrix3<f64> {
        shape(&(self.f1.transpose() * self.f1)) * (0.5 * self.shear)
    }

    fn rate(&self) -> Matrix3<f64> {
        (self.f1 - self.f0) / self.dt
    }

    fn branches(&self) -> Matrix3<f64> {
        self.memory.map_or_else(Matrix3::zeros, |memory| {
            self.material.step.branches(memory, &self.elastic())
        })
    }

    fn stress(&self) -> Matrix3<f64> {
        self.material.dashpot.stress(&self.f0, &self.rate()) + self.f1 * self.branches()
    }

    fn potential(&self) -> f64 {
        let heat = self.material.dashpot.dissipation(&self.f0, &self.rate());
        let branches = self.memory.map_or(0.0, |memory| {
            let step = &self.material.step;
            step.potential(memory, &self.elastic(), self.shear)
        });
        0.5 * self.dt * heat + branches
    }
}

/// Slope of the viscous stress at the gradient `f` against a change of it, but for what the branches
/// held before the step, which a Newton step does without: so it depends on nothing but `f`.
fn tangent(material: &Material, f: &Matrix3<f64>, dt: f64, shear: f64) -> Tangent<f64> {
    let mut whole = Tangent::zeros();
    for column in 0..9 {
        let mut df = Matrix3::zeros();
        df[column] = 1.0;
        let half = f.transpose() * df;
        let strain = shape(&((half + half.transpose()) * 0.5));
        let change =
            material.dashpot.stress(f, &(df / dt)) + f * strain * (material.step.slope() * shear);
        whole.column_mut(column).copy_from_slice(change.as_slice());
    }
    whole
}

impl<const N: usize, const P: usize> Cell<N, P> {
    fn moved(&self, u: &[Vec3]) -> [Vec3; N] {
        self.nodes.map(|node| u[node as usize])
    }

    /// Deformation gradient at a Gauss point.
    fn gradient(&self, point: usize, u: &[Vec3]) -> Matrix3<f64> {
        let mut f = Matrix3::identity();
        for (&node, gradient) in self.nodes.iter().zip(&self.points.gradients[point]) {
            f += u[node as usize] * gradient.transpose();
        }
        f
    }

    /// What the nodes' ways change of the mean trace of the Green strain, at displacements `u`.
    fn swelling(&self, u: &[Vec3]) -> [Vec3; N] {
        let mut sums = [Vec3::zeros(); N];
        for point in 0..P {
            let f = self.gradient(point, u) * self.points.weights[point];
            for (sum, gradient) in sums.iter_mut().zip(&self.points.gradients[point]) {
                *sum += f * gradient;
            }
        }
        let volume = self.points.volume();
        sums.map(|sum| sum / volume)
    }

    /// Heat of the mean change of volume over a step to `u`, with the force on every node.
    fn swell(&self, begin: &Begin<'_>, bulk: f64, u: &[Vec3]) -> (f64, [Vec3; N]) {
        let slopes = self.swelling(begin.u);
        let ways = self
            .nodes
            .iter()
            .map(|&node| u[node as usize] - begin.u[node as usize]);
        let grown: f64 = ways.zip(&slopes).map(|(way, slope)| way.dot(slope)).sum();
        let push = bulk * self.points.volume() * grown / begin.dt;
        (push * grown, slopes.map(|slope| slope * push))
    }

    fn lag<'a>(
        &self,
        begin: &Begin<'a>,
        material: &'a Material,
        point: usize,
        f1: Matrix3<f64>,
    ) -> Lag<'a> {
        let remembers = !material.prony.is_empty();
        Lag {
            f0: self.gradient(point, begin.u),
            f1,
            dt: begin.dt,
            material,
            memory: remembers.then(|| &begin.memories[self.memory + point]),
            shear: self.shear,
        }
    }

    /// Adds the cell's forces at the end `u`; false if it is inverted there.
    pub(super) fn pull(
        &self,
        begin: &Begin<'_>,
        u: &[Vec3],
        forces: &mut [Vec3],
        sums: &mut Pulled,
    ) -> bool {
        let moved = self.moved(u);
        let deformed = Deformed::new(&self.points, &self.law, &moved);
        let energy = deformed.energy();
        if !energy.is_finite() {
            return false;
        }
        sums.elastic += energy;
        for (corner, force) in deformed.forces().iter().enumerate() {
            let node = self.nodes[corner] as usize;
            forces[node] += force;
            sums.work += force.dot(&(moved[corner] - begin.u[node]));
        }
        let Some(material) = self.material else {
            return true;
        };
        let material = &begin.materials[material];
        let (heat, pushes) = self.swell(begin, material.bulk, u);
        sums.viscous += 0.5 * heat;
        for (&node, push) in self.nodes.iter().zip(&pushes) {
            forces[node as usize] += push;
        }
        for point in 0..P {
            let lag = self.lag(begin, material, point, *deformed.gradient(point));
            let weight = self.points.weights[point];
            sums.viscous += lag.potential() * weight;
            let stress = lag.stress() * weight;
            for (&node, gradient) in self.nodes.iter().zip(&self.points.gradients[point]) {
                forces[node as usize] += stress * gradient;
            }
        }
        true
    }

    /// Slope of the cell's forces at the end `u` of a step `dt`; of the viscous ones as [`tangent`].
    pub(super) fn slope(&self, materials: &[Material], dt: f64, u: &[Vec3]) -> Stiffness<N> {
        let moved = self.moved(u);
        let deformed = Deformed::new(&self.points, &self.law, &moved);
        let mut whole = deformed.stiffness();
        if let Some(material) = self.material {
            let material = &materials[material];
            for point in 0..P {
                let f = deformed.gradient(point);
                let tangent = tangent(material, f, dt, self.shear) * self.points.weights[point];
                add_point(&mut whole, &tangent, &self.points.gradients[point]);
            }
            mirror(&mut whole);
            let swelling = self.swelling(u);
            let factor = material.bulk * self.points.volume() / dt;
            each_block(&mut whole, |block, a, b| {
                *block += swelling[a] * swelling[b].transpose() * factor;
            });
        }
        whole
    }

    /// Books the viscous parts at the end `u`; `memories` go on to it.
    pub(super) fn book(&self, begin: &Begin<'_>, u: &[Vec3], memories: &mut [Memory<f64>]) -> Heat {
        let mut sum = Heat::default();
        let Some(material) = self.material else {
            return sum;
        };
        let material = &begin.materials[material];
        sum.physical += self.swell(begin, material.bulk, u).0;
        for (point, &weight) in self.points.weights.iter().enumerate() {
            let lag = self.lag(begin, material, point, self.gradient(point, u));
            let heat = material.dashpot.dissipation(&lag.f0, &lag.rate());
            sum.physical += weight * begin.dt * heat;
            let Some(before) = lag.memory else {
                continue;
            };
            let way = lag.f1 - lag.f0;
            let square = way.transpose() * way;
            sum.numerical += weight * 0.5 * lag.branches().dot(&square);
            let after = &mut memories[self.memory + point];
            material.step.advance(after, &lag.elastic());
            let (step, shear) = (&material.step, self.shear);
            sum.physical += weight * step.dissipation(before, after, shear);
            sum.held += weight * step.energy(after, shear);
        }
        sum
    }
}
