//! One cell over one step: its energy, its forces and their derivative, including viscous parts.
//!
//! Source: ours, from [`palpate_twin::law::viscous`]. Both viscous parts are gradients of a function of the
//! end of the step, so a step stays the minimum of a potential. The dashpot uses the geometry at the start of
//! the step: `P = F0 S(sym(F0^T (F1 - F0)) / dt)`, so its work equals its heat to rounding. A branch is
//! linear in the deviatoric Green strain and acts with its stress at the end: `P = F1 h1`. Of its work, `h1 :
//! (F1 - F0)^T (F1 - F0) / 2` is numerical dissipation.

use crate::element::{
    AveragedLaw, Deformed, GaussPoints, Stiffness, add_point, each_block, mirror,
};
use nalgebra::Matrix3;
use palpate_twin::Vec3;
use palpate_twin::law::viscous::{KelvinVoigt, PronySeries, ViscousState};
use palpate_twin::law::{TangentMatrix, Viscosity};

/// Viscous material.
#[derive(Debug, Clone)]
pub(super) struct ViscousMaterial {
    pub(super) viscosity: Viscosity,
    /// Shear dashpot, without units.
    pub(super) dashpot: KelvinVoigt,
    /// Bulk viscosity, without units.
    pub(super) bulk: f64,
    /// Branches for the current step.
    pub(super) series: PronySeries,
}

/// Hexahedron, or tetrahedron with ten nodes.
#[derive(Debug, Clone)]
pub(super) struct Cell<const N: usize, const P: usize> {
    pub(super) nodes: [u32; N],
    pub(super) points: GaussPoints<N, P>,
    pub(super) law: AveragedLaw,
    /// Indices of its blocks in the tangent.
    pub(super) pairs: [[usize; N]; N],
    pub(super) material: Option<usize>,
    /// Index of the memory of its first Gauss point, if its material has branches.
    pub(super) memory: usize,
    /// Stiffness `2 mu` of all branches and the law together.
    pub(super) shear: f64,
}

/// State at the start of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepStart<'a> {
    pub(super) dt: f64,
    pub(super) u: &'a [Vec3],
    pub(super) materials: &'a [ViscousMaterial],
    pub(super) memories: &'a [ViscousState],
}

/// Energies of cells at the end of a step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CellEnergies {
    /// Energy of the elastic laws.
    pub(super) elastic: f64,
    /// Work of the elastic forces at the end along the step.
    pub(super) work: f64,
    /// Potential of the viscous parts.
    pub(super) viscous: f64,
}

/// Energies of the viscous parts of cells in one step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heat {
    /// Energy stored in the branches.
    pub(super) stored: f64,
    /// Energy dissipated by the material.
    pub(super) physical: f64,
    /// Energy dissipated by the integration scheme.
    pub(super) numerical: f64,
}

impl Heat {
    pub(super) fn add(&mut self, other: Self) {
        self.stored += other.stored;
        self.physical += other.physical;
        self.numerical += other.numerical;
    }
}

/// Gauss point over a step.
struct PointStep<'a> {
    f0: Matrix3<f64>,
    f1: Matrix3<f64>,
    dt: f64,
    material: &'a ViscousMaterial,
    memory: Option<&'a ViscousState>,
    shear: f64,
}

/// Returns the trace-free part.
fn deviator(m: &Matrix3<f64>) -> Matrix3<f64> {
    m - Matrix3::identity() * (m.trace() / 3.0)
}

impl PointStep<'_> {
    /// Returns the elastic stress that drives the branches: `2 mu` times the deviatoric Green strain.
    fn elastic(&self) -> Matrix3<f64> {
        deviator(&(self.f1.transpose() * self.f1)) * (0.5 * self.shear)
    }

    fn rate(&self) -> Matrix3<f64> {
        (self.f1 - self.f0) / self.dt
    }

    fn branches(&self) -> Matrix3<f64> {
        self.memory.map_or_else(Matrix3::zeros, |memory| {
            self.material.series.stress(memory, &self.elastic())
        })
    }

    fn stress(&self) -> Matrix3<f64> {
        self.material.dashpot.stress(&self.f0, &self.rate()) + self.f1 * self.branches()
    }

    fn potential(&self) -> f64 {
        let heat = self.material.dashpot.dissipation(&self.f0, &self.rate());
        let branches = self.memory.map_or(0.0, |memory| {
            let series = &self.material.series;
            series.potential(memory, &self.elastic(), self.shear)
        });
        0.5 * self.dt * heat + branches
    }
}

/// Returns the derivative of the viscous stress by the gradient `f`. The initial stress of the branches,
/// which a Newton step does not need, is omitted, so the result depends on `f` alone.
fn tangent(material: &ViscousMaterial, f: &Matrix3<f64>, dt: f64, shear: f64) -> TangentMatrix {
    let mut whole = TangentMatrix::zeros();
    for column in 0..9 {
        let mut df = Matrix3::zeros();
        df[column] = 1.0;
        let half = f.transpose() * df;
        let strain = deviator(&((half + half.transpose()) * 0.5));
        let change =
            material.dashpot.stress(f, &(df / dt)) + f * strain * (material.series.slope() * shear);
        whole.column_mut(column).copy_from_slice(change.as_slice());
    }
    whole
}

impl<const N: usize, const P: usize> Cell<N, P> {
    fn moved(&self, u: &[Vec3]) -> [Vec3; N] {
        self.nodes.map(|node| u[node as usize])
    }

    /// Returns the deformation gradient at a Gauss point.
    fn gradient(&self, point: usize, u: &[Vec3]) -> Matrix3<f64> {
        let mut f = Matrix3::identity();
        for (&node, gradient) in self.nodes.iter().zip(&self.points.gradients[point]) {
            f += u[node as usize] * gradient.transpose();
        }
        f
    }

    /// Returns the derivative of the mean trace of the Green strain by the nodes' displacements, at `u`.
    fn mean_trace_gradient(&self, u: &[Vec3]) -> [Vec3; N] {
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

    /// Returns the heat of the mean change of volume over a step to `u`, with the force on every node.
    fn volume_damping(&self, begin: &StepStart<'_>, bulk: f64, u: &[Vec3]) -> (f64, [Vec3; N]) {
        let slopes = self.mean_trace_gradient(begin.u);
        let displacements = self
            .nodes
            .iter()
            .map(|&node| u[node as usize] - begin.u[node as usize]);
        let volume_change: f64 = displacements
            .zip(&slopes)
            .map(|(way, slope)| way.dot(slope))
            .sum();
        let push = bulk * self.points.volume() * volume_change / begin.dt;
        (push * volume_change, slopes.map(|slope| slope * push))
    }

    fn point_step<'a>(
        &self,
        begin: &StepStart<'a>,
        material: &'a ViscousMaterial,
        point: usize,
        f1: Matrix3<f64>,
    ) -> PointStep<'a> {
        let remembers = material.viscosity.share() > 0.0;
        PointStep {
            f0: self.gradient(point, begin.u),
            f1,
            dt: begin.dt,
            material,
            memory: remembers.then(|| &begin.memories[self.memory + point]),
            shear: self.shear,
        }
    }

    /// Adds the cell's forces at the end `u`; returns false if it is inverted there.
    pub(super) fn add_forces(
        &self,
        begin: &StepStart<'_>,
        u: &[Vec3],
        forces: &mut [Vec3],
        sums: &mut CellEnergies,
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
        let (heat, pushes) = self.volume_damping(begin, material.bulk, u);
        sums.viscous += 0.5 * heat;
        for (&node, push) in self.nodes.iter().zip(&pushes) {
            forces[node as usize] += push;
        }
        for point in 0..P {
            let step = self.point_step(begin, material, point, *deformed.gradient(point));
            let weight = self.points.weights[point];
            sums.viscous += step.potential() * weight;
            let stress = step.stress() * weight;
            for (&node, gradient) in self.nodes.iter().zip(&self.points.gradients[point]) {
                forces[node as usize] += stress * gradient;
            }
        }
        true
    }

    /// Returns the derivative of the cell's forces at the end `u` of a step `dt`; that of the viscous ones as
    /// [`tangent`].
    pub(super) fn slope(&self, materials: &[ViscousMaterial], dt: f64, u: &[Vec3]) -> Stiffness<N> {
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
            let swelling = self.mean_trace_gradient(u);
            let factor = material.bulk * self.points.volume() / dt;
            each_block(&mut whole, |block, a, b| {
                *block += swelling[a] * swelling[b].transpose() * factor;
            });
        }
        whole
    }

    /// Advances `memories` to the end `u` and returns the energies of the viscous parts.
    pub(super) fn advance_viscous(
        &self,
        begin: &StepStart<'_>,
        u: &[Vec3],
        memories: &mut [ViscousState],
    ) -> Heat {
        let mut sum = Heat::default();
        let Some(material) = self.material else {
            return sum;
        };
        let material = &begin.materials[material];
        sum.physical += self.volume_damping(begin, material.bulk, u).0;
        for (point, &weight) in self.points.weights.iter().enumerate() {
            let step = self.point_step(begin, material, point, self.gradient(point, u));
            let heat = material.dashpot.dissipation(&step.f0, &step.rate());
            sum.physical += weight * begin.dt * heat;
            let Some(before) = step.memory else {
                continue;
            };
            let way = step.f1 - step.f0;
            let square = way.transpose() * way;
            sum.numerical += weight * 0.5 * step.branches().dot(&square);
            let after = &mut memories[self.memory + point];
            let (series, shear) = (&material.series, self.shear);
            series.advance(after, &step.elastic());
            sum.physical += weight * series.dissipation(before, after, shear);
            sum.stored += weight * series.energy(after, shear);
        }
        sum
    }
}
