//! One element, a hexahedron with eight nodes or a tetrahedron with ten: energy, nodal forces and
//! stiffness at a displacement.
//!
//! Source: Hughes 2000, chapter 3, for the trilinear hexahedron with 2x2x2 Gauss points and the quadratic
//! tetrahedron with 4. Tetrahedra with four nodes are not used. The variant that does not lock averages over
//! neighbours (Bonet and Burton 1998); it couples nodes two cells apart and is stiff in bending. Against
//! volumetric locking: the volume change is averaged over the element (Nagtegaal, Parks and Rice 1974), by a
//! modified gradient `Fbar = (Jbar / J)^(1/3) F` in the energy. This keeps the stiffness symmetric (Simo,
//! Taylor and Pister 1985), unlike the F-bar of de Souza Neto 1996. In the linear law, which has no `J`, the
//! trace of the strain is averaged (Hughes 1980).
//!
//! Used by the implicit solver, the static reference and the predictor's table; the elements of the servo are
//! those of [`explicit`](super::explicit).
//!
//! Symbols: `g_a` gradient of the shape function of node `a` at rest, `w` weight of a Gauss point
//! (volume at rest), `Jbar` mean of `J` over the element, `s = (Jbar / J)^(1/3)`,
//! `p = P(Fbar) : Fbar / 3`, `r = dJbar / Jbar`.

use nalgebra::{Matrix3, SMatrix};
use palpate_geometry::mesh::hex::CORNERS;
use palpate_geometry::mesh::quadratic::EDGES;
use palpate_twin::Vec3;
use palpate_twin::law::{ElasticLaw, LawFamily, MaterialLaw, Moduli, TangentMatrix, cofactor};
use std::cmp::Ordering;

/// Stiffness of an element: block `[a][b]` is the derivative of the force on node `a` by the displacement of
/// node `b`.
pub(crate) type Stiffness<const N: usize> = [[Matrix3<f64>; N]; N];

/// Ratio of bulk to shear modulus of tetrahedra up to which volume is not averaged: Poisson's ratio 0.29, far
/// from locking. A quadratic displacement can change volume pointwise with zero mean; with averaging alone
/// thin parts are too soft.
pub(crate) const BULK_OVER_SHEAR_LOCAL: f64 = 2.0;

/// Law of an element with the averaging of its volume change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AveragedLaw {
    /// Law without averaging.
    pub(crate) law: MaterialLaw,
    /// Law with a smaller bulk modulus, which is not averaged; the remainder is averaged completely.
    soft: Option<MaterialLaw>,
    averaged: Averaging,
    family: LawFamily,
    local_ratio: f64,
}

impl AveragedLaw {
    /// Constructs the law of a family with these moduli. The part of the bulk modulus above `shared` shear
    /// moduli acts on the mean volume change of the element; the rest acts pointwise. Zero averages
    /// everything, infinity nothing, which locks as Poisson's ratio approaches 0.5.
    #[must_use]
    pub(crate) fn new(family: LawFamily, moduli: Moduli, shared: f64) -> Self {
        let law = MaterialLaw::new(family, moduli);
        let least = shared * moduli.mu_pa;
        let stiff = moduli.bulk_pa() > least;
        let soft = Moduli::from_bulk(moduli.mu_pa, least);
        let averaged = match law {
            _ if !stiff => Averaging::Nothing,
            MaterialLaw::Linear(_) => Averaging::Trace,
            _ => Averaging::Volume,
        };
        Self {
            law,
            soft: (shared > 0.0 && stiff).then(|| MaterialLaw::new(family, soft)),
            averaged,
            family,
            local_ratio: shared,
        }
    }

    /// Returns the same law with other moduli.
    #[must_use]
    pub(crate) fn with_moduli(&self, moduli: Moduli) -> Self {
        Self::new(self.family, moduli, self.local_ratio)
    }

    /// Returns the law of another family with these moduli, averaged alike.
    #[must_use]
    pub(crate) fn with_family(&self, family: LawFamily, moduli: Moduli) -> Self {
        Self::new(family, moduli, self.local_ratio)
    }

    /// Returns laws that sum to the whole, the averaging of each, and their signs.
    fn terms(&self) -> impl Iterator<Item = (&MaterialLaw, Averaging, f64)> {
        let soft = self.soft.iter();
        let pair = |soft| [(soft, Averaging::Nothing, 1.0), (soft, self.averaged, -1.0)];
        std::iter::once((&self.law, self.averaged, 1.0)).chain(soft.flat_map(pair))
    }
}

/// Shape gradients and weights of the `P` Gauss points of an element with `N` nodes at rest.
#[derive(Debug, Clone)]
pub(crate) struct GaussPoints<const N: usize = 8, const P: usize = 8> {
    /// Gradients `g_a` at every point \[1 / length\].
    pub(crate) gradients: [[Vec3; N]; P],
    /// Weights; their sum is the volume of the element.
    pub(crate) weights: [f64; P],
}

/// Local coordinate of the Gauss points, `1 / sqrt 3`.
const GAUSS: f64 = 0.577_350_269_189_625_8;

/// Local coordinates of the Gauss points of a tetrahedron, `(5 - sqrt 5) / 20` and `(5 + 3 sqrt 5) / 20`.
const TET_GAUSS: [f64; 2] = [0.138_196_601_125_010_5, 0.585_410_196_624_968_5];

impl GaussPoints<8, 8> {
    /// Computes the points of a hexahedron with `corners` at rest.
    #[must_use]
    pub(crate) fn of_hex(corners: &[Vec3; 8]) -> Self {
        let mut points = Self {
            gradients: [[Vec3::zeros(); 8]; 8],
            weights: [0.0; 8],
        };
        for (point, signs) in CORNERS.iter().enumerate() {
            let slopes = slopes(signs.map(|sign| sign * GAUSS));
            // columns: change of position along each local coordinate
            let mut jacobian = Matrix3::zeros();
            for (corner, slope) in corners.iter().zip(&slopes) {
                jacobian += corner * slope.transpose();
            }
            let cofactor = cofactor(&jacobian);
            let volume = jacobian.column(0).dot(&cofactor.column(0));
            points.weights[point] = volume;
            points.gradients[point] = slopes.map(|slope| cofactor * slope / volume);
        }
        points
    }
}

impl GaussPoints<10, 4> {
    /// Computes the points of a tetrahedron with `nodes` at rest; edge nodes are assumed to be in the middle
    /// of their edges.
    #[must_use]
    pub(crate) fn of_tet(nodes: &[Vec3; 10]) -> Self {
        let [a, b, c, d] = [0, 1, 2, 3].map(|corner| nodes[corner]);
        let cofactor = cofactor(&Matrix3::from_columns(&[b - a, c - a, d - a]));
        let volume6 = (b - a).dot(&cofactor.column(0));
        let [p, q, r] = [0, 1, 2].map(|axis| cofactor.column(axis) / volume6);
        // slopes of the four barycentric coordinates
        let slopes = [-(p + q + r), p, q, r];
        let gradients = std::array::from_fn(|point| {
            let at = |corner: usize| TET_GAUSS[usize::from(corner == point)];
            std::array::from_fn(|node| match node {
                0..4 => slopes[node] * (4.0 * at(node) - 1.0),
                _ => {
                    let [i, j] = EDGES[node - 4];
                    (slopes[j] * at(i) + slopes[i] * at(j)) * 4.0
                }
            })
        });
        Self {
            gradients,
            weights: [volume6 / 24.0; 4],
        }
    }
}

impl<const N: usize, const P: usize> GaussPoints<N, P> {
    /// Returns the volume of the element at rest.
    #[must_use]
    pub(crate) fn volume(&self) -> f64 {
        self.weights.iter().sum()
    }
}

/// Derivatives of the shape functions in local coordinates.
fn slopes(local: [f64; 3]) -> [Vec3; 8] {
    CORNERS.map(|signs| {
        let [x, y, z] = [0, 1, 2].map(|axis| 1.0 + signs[axis] * local[axis]);
        0.125 * Vec3::new(signs[0] * y * z, signs[1] * x * z, signs[2] * x * y)
    })
}

/// One Gauss point at a displacement.
struct PointStrain {
    f: Matrix3<f64>,
    /// `F^-T`.
    g: Matrix3<f64>,
    j: f64,
    /// `s`; 1 without averaging of volume.
    s: f64,
    /// Value that averaging of the trace adds to the diagonal of `f`.
    shift: f64,
    weight: f64,
}

impl PointStrain {
    /// Returns the deformation gradient at which the law is evaluated.
    fn modified(&self, averaged: Averaging) -> Matrix3<f64> {
        match averaged {
            Averaging::Nothing => self.f,
            Averaging::Volume => self.f * self.s,
            Averaging::Trace => self.f + Matrix3::identity() * self.shift,
        }
    }
}

/// Quantity that is averaged over the element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Averaging {
    Nothing,
    /// `J`.
    Volume,
    /// Trace of the small strain.
    Trace,
}

/// Element at a displacement.
pub(crate) struct Deformed<'a, const N: usize, const P: usize> {
    points: &'a GaussPoints<N, P>,
    split: &'a AveragedLaw,
    strained: [PointStrain; P],
    /// `Jbar`.
    mean: f64,
}

impl<'a, const N: usize, const P: usize> Deformed<'a, N, P> {
    /// Evaluates the element `points` with its nodes displaced by `u`.
    #[must_use]
    pub(crate) fn new(
        points: &'a GaussPoints<N, P>,
        split: &'a AveragedLaw,
        u: &[Vec3; N],
    ) -> Self {
        let mut strained = [0; P].map(|_| PointStrain {
            f: Matrix3::identity(),
            g: Matrix3::identity(),
            j: 1.0,
            s: 1.0,
            shift: 0.0,
            weight: 0.0,
        });
        let (mut volume, mut trace) = (0.0, 0.0);
        for (point, at) in strained.iter_mut().enumerate() {
            for (u, gradient) in u.iter().zip(&points.gradients[point]) {
                at.f += u * gradient.transpose();
            }
            let cofactor = cofactor(&at.f);
            at.j = at.f.column(0).dot(&cofactor.column(0));
            at.g = cofactor / at.j;
            at.weight = points.weights[point];
            volume += at.weight * at.j;
            trace += at.weight * at.f.trace();
        }
        let (mean, trace) = (volume / points.volume(), trace / points.volume());
        for at in &mut strained {
            match split.averaged {
                Averaging::Nothing => {}
                Averaging::Volume => at.s = libm::cbrt(mean / at.j),
                Averaging::Trace => at.shift = (trace - at.f.trace()) / 3.0,
            }
        }
        Self {
            points,
            split,
            strained,
            mean,
        }
    }

    /// Returns the deformation gradient at a Gauss point.
    #[must_use]
    pub(crate) fn gradient(&self, point: usize) -> &Matrix3<f64> {
        &self.strained[point].f
    }

    /// Returns the elastic energy; infinite if a Gauss point is inverted under a law of volume.
    #[must_use]
    pub(crate) fn energy(&self) -> f64 {
        let inverted = self.strained.iter().any(|at| at.j <= 0.0);
        if self.split.averaged == Averaging::Volume && (inverted || self.mean <= 0.0) {
            return f64::INFINITY;
        }
        let of = |(law, averaged, sign): (&MaterialLaw, Averaging, f64)| {
            let energy = |at: &PointStrain| at.weight * law.energy(&at.modified(averaged));
            sign * self.strained.iter().map(energy).sum::<f64>()
        };
        self.split.terms().map(of).sum()
    }

    /// Returns the nodal forces in equilibrium with the stress: the gradient of the energy by the
    /// displacements.
    #[must_use]
    pub(crate) fn forces(&self) -> [Vec3; N] {
        let mut stresses = [Matrix3::zeros(); P];
        for (law, averaged, sign) in self.split.terms() {
            let added = self.stresses(law, averaged);
            for (sum, stress) in stresses.iter_mut().zip(added) {
                *sum += stress * sign;
            }
        }
        let mut forces = [Vec3::zeros(); N];
        for ((stress, at), gradients) in stresses
            .iter()
            .zip(&self.strained)
            .zip(&self.points.gradients)
        {
            let stress = stress * at.weight;
            for (force, gradient) in forces.iter_mut().zip(gradients) {
                *force += stress * gradient;
            }
        }
        forces
    }

    /// Returns the stress of every point, including its share of the averaged term.
    fn stresses(&self, law: &MaterialLaw, averaged: Averaging) -> [Matrix3<f64>; P] {
        let mut stresses = [Matrix3::zeros(); P];
        let mut pressure = 0.0;
        for (at, stress) in self.strained.iter().zip(&mut stresses) {
            *stress = law.stress(&at.modified(averaged));
            match averaged {
                Averaging::Nothing => {}
                Averaging::Volume => {
                    let p = stress.dot(&at.f) * at.s / 3.0;
                    pressure += at.weight * p;
                    *stress = *stress * at.s - at.g * p;
                }
                Averaging::Trace => {
                    let p = stress.trace() / 3.0;
                    pressure += at.weight * p;
                    *stress -= Matrix3::identity() * p;
                }
            }
        }
        // distributed by the contribution of every point to the mean
        match averaged {
            Averaging::Nothing => {}
            Averaging::Volume => {
                let share = pressure / (self.points.volume() * self.mean);
                let points = stresses.iter_mut().zip(&self.strained);
                points.for_each(|(stress, at)| *stress += at.g * (share * at.j));
            }
            Averaging::Trace => {
                let share = Matrix3::identity() * (pressure / self.points.volume());
                stresses.iter_mut().for_each(|stress| *stress += share);
            }
        }
        stresses
    }

    /// Returns the derivative of [`Deformed::forces`]; symmetric.
    #[must_use]
    pub(crate) fn stiffness(&self) -> Stiffness<N> {
        let mut whole = [[Matrix3::zeros(); N]; N];
        for (law, averaged, sign) in self.split.terms() {
            let added = match averaged {
                Averaging::Nothing => self.unaveraged_stiffness(law),
                Averaging::Volume => self.volume_stiffness(law),
                Averaging::Trace => self.trace_stiffness(law),
            };
            each_block(&mut whole, |block, a, b| *block += added[a][b] * sign);
        }
        whole
    }

    fn unaveraged_stiffness(&self, law: &MaterialLaw) -> Stiffness<N> {
        let mut whole = [[Matrix3::zeros(); N]; N];
        for (point, at) in self.strained.iter().enumerate() {
            let tangent = law.tangent_matrix(&at.f) * at.weight;
            add_point(&mut whole, &tangent, &self.points.gradients[point]);
        }
        mirror(&mut whole);
        whole
    }

    /// Stiffness of the linear law: the resistance to the trace at a point acts on its mean instead.
    fn trace_stiffness(&self, law: &MaterialLaw) -> Stiffness<N> {
        let unit = Column::from_column_slice(Matrix3::<f64>::identity().as_slice());
        let tangent = law.tangent_matrix(&Matrix3::identity());
        let bulk = unit.dot(&(tangent * unit)) / 9.0;
        let local = tangent - unit * unit.transpose() * bulk;
        let (mut whole, mut rate) = ([[Matrix3::zeros(); N]; N], [Vec3::zeros(); N]);
        let volume = self.points.volume();
        for (at, gradients) in self.strained.iter().zip(&self.points.gradients) {
            add_point(&mut whole, &(local * at.weight), gradients);
            add_row(&mut rate, &unit, at.weight / volume, gradients);
        }
        mirror(&mut whole);
        each_block(&mut whole, |block, a, b| {
            *block += rate[a] * rate[b].transpose() * (bulk * volume);
        });
        whole
    }

    fn volume_stiffness(&self, law: &MaterialLaw) -> Stiffness<N> {
        let mut whole = [[Matrix3::zeros(); N]; N];
        let curved: [Curved; P] =
            std::array::from_fn(|point| Curved::new(law, &self.strained[point]));
        let weighted_sum = |value: &dyn Fn(&Curved) -> f64| -> f64 {
            let pairs = curved.iter().zip(&self.points.weights);
            pairs.map(|(curved, weight)| weight * value(curved)).sum()
        };
        let volume = self.points.volume() * self.mean;
        let share = weighted_sum(&|c| c.p) / volume;
        // `rate` maps to dJbar / Jbar, `cross` maps a change of it to the nodes
        let (mut rate, mut cross) = ([Vec3::zeros(); N], [Vec3::zeros(); N]);
        for (point, curved) in curved.iter().enumerate() {
            let (at, gradients) = (&self.strained[point], &self.points.gradients[point]);
            let local = curved.local + curved.volume_curvature(share * at.j);
            add_point(&mut whole, &(local * at.weight), gradients);
            add_row(&mut rate, &curved.g, at.weight * at.j / volume, gradients);
            add_row(&mut cross, &curved.cross, at.weight, gradients);
        }
        mirror(&mut whole);
        let square = weighted_sum(&|c| c.square);
        each_block(&mut whole, |block, a, b| {
            *block += rate[a] * (cross[b] + rate[b] * square).transpose()
                + cross[a] * rate[b].transpose();
        });
        whole
    }
}

/// A gradient as a column, entry `(i, J)` at `i + 3 J`.
type Column = SMatrix<f64, 9, 1>;

/// Second variation of the averaged energy at one Gauss point. With `r = dJbar / Jbar` it is `dF : local : dF
/// + 2 r cross : dF + r^2 square`, without the curvature of the mean itself.
struct Curved {
    g: Column,
    inverse_variation: TangentMatrix,
    local: TangentMatrix,
    cross: Column,
    square: f64,
    p: f64,
}

impl Curved {
    fn new(law: &MaterialLaw, at: &PointStrain) -> Self {
        let modified = at.f * at.s;
        let stress = law.stress(&modified);
        let tangent = law.tangent_matrix(&modified);
        let column = |m: &Matrix3<f64>| Column::from_column_slice(m.as_slice());
        let (f, g, stress) = (column(&at.f), column(&at.g), column(&stress));
        let (third, s) = (1.0 / 3.0, at.s);
        let p = stress.dot(&f) * s * third;
        // d ln s = (r - g : dF) / 3, so dFbar = s (dF - F (g : dF) / 3) + s F r / 3
        let along = tangent * f * (s * s);
        let steep = along.dot(&f);
        let twist = inverse_transpose_variation(&at.g);
        let mixed = (along + stress * s) * third;
        let outer = mixed * g.transpose();
        let round = g * g.transpose() * ((steep * third + p) * third);
        Self {
            local: tangent * (s * s) - outer - outer.transpose() + round - twist * p,
            cross: mixed - g * ((steep * third + p) * third),
            square: steep * third * third - 2.0 * third * p,
            g,
            inverse_variation: twist,
            p,
        }
    }

    /// Returns the second variation of `J` over `J`, times `factor`.
    fn volume_curvature(&self, factor: f64) -> TangentMatrix {
        (self.g * self.g.transpose() + self.inverse_variation) * factor
    }
}

/// Variation of `F^-T`: the form `dF -> -(g dF^T g)`.
fn inverse_transpose_variation(g: &Matrix3<f64>) -> TangentMatrix {
    TangentMatrix::from_fn(|row, column| -g[(row % 3, column / 3)] * g[(column % 3, row / 3)])
}

/// Adds a form on gradients to one on the nodes of an element.
fn add_row<const N: usize>(row: &mut [Vec3; N], form: &Column, factor: f64, gradients: &[Vec3; N]) {
    let form = Matrix3::from_column_slice(form.as_slice()) * factor;
    for (row, gradient) in row.iter_mut().zip(gradients) {
        *row += form * gradient;
    }
}

/// Adds one Gauss point's tangent to the blocks on and below the diagonal.
pub(super) fn add_point<const N: usize>(
    whole: &mut Stiffness<N>,
    tangent: &TangentMatrix,
    gradients: &[Vec3; N],
) {
    for (b, gradient) in gradients.iter().enumerate() {
        // column k: change of stress as node b moves along k
        let mut moved = SMatrix::<f64, 9, 3>::zeros();
        for axis in 0..3 {
            moved += tangent.fixed_columns::<3>(3 * axis) * gradient[axis];
        }
        for (row, gradient) in whole.iter_mut().zip(gradients).skip(b) {
            for axis in 0..3 {
                row[b] += moved.fixed_rows::<3>(3 * axis) * gradient[axis];
            }
        }
    }
}

/// Copies the blocks below the diagonal to those above it.
pub(super) fn mirror<const N: usize>(whole: &mut Stiffness<N>) {
    let below = *whole;
    each_block(whole, |block, a, b| match a.cmp(&b) {
        Ordering::Less => *block = below[b][a].transpose(),
        Ordering::Equal => {
            for (i, j) in [(0, 1), (0, 2), (1, 2)] {
                block[(i, j)] = block[(j, i)];
            }
        }
        Ordering::Greater => {}
    });
}

/// Calls `change` with every block, its row and its column.
pub(super) fn each_block<const N: usize>(
    whole: &mut Stiffness<N>,
    mut change: impl FnMut(&mut Matrix3<f64>, usize, usize),
) {
    for (a, row) in whole.iter_mut().enumerate() {
        for (b, block) in row.iter_mut().enumerate() {
            change(block, a, b);
        }
    }
}
