//! Material laws in single precision, one cell per SIMD lane.
//!
//! Source: `palpate_twin::law`, family by family, with the same symbols. Laws of volume continue below a
//! small `J` as [`super::simd`] does, so that an inverted cell has finite forces that are still the gradient
//! of the energy. The demand of a cell on the step is the stiffness of a wave along each of its edges over
//! that at rest: exact for the volumetric part, and an estimate of the rest that is exact at rest.
//!
//! Further symbols: `a` a cell's edge, `f_a`, `c_a` the columns of `F` and of its cofactor along it.

use super::cells::{self, Buffer, ForcePass, ForceTarget, PassTotals};
use super::face_points::square;
use super::simd::{THIN, exponential, log_volume, logarithm, minor};
use ogden::Ogden;
use palpate_twin::law::{EXPONENT_MAX, INVARIANT_MAX, LawFamily, OGDEN_TERMS_MAX, Real};
use std::fmt::Debug;

mod ogden;

/// Volume ratio below which a law without resistance to collapse raises the demand.
const SQUEEZED: f32 = 0.5;

/// Bound of the demand of inverted cells, so that its product with zero is zero.
const DEMAND_MAX: f32 = 1e30;

/// Response of one cell at its centre.
#[derive(Debug, Clone, Copy)]
pub(super) struct LawResponse {
    /// First Piola stress, in column-major order.
    pub(super) stress: [f32; 9],
    /// Energy density.
    pub(super) energy: f32,
    /// Stiffness of waves along each edge over that at rest.
    pub(super) wave_stiffness: [f32; 3],
}

/// Law that is evaluated in SIMD lanes.
pub(super) trait SimdLaw: Debug + Send + Sync {
    /// Returns stress and energy at the displacement gradient `h`, in column-major order.
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse;

    /// Adds forces as [`cells::add_forces`].
    fn add_forces(&self, pass: &ForcePass, target: &mut ForceTarget, buffer: &mut Buffer) {
        cells::add_forces(self, pass, target, buffer);
    }

    /// Adds forces as [`cells::add_forces_with_energy`].
    fn add_forces_with_energy(
        &self,
        pass: &ForcePass,
        target: &mut ForceTarget,
        buffer: &mut Buffer,
        demands: &mut [f32],
    ) -> PassTotals {
        cells::add_forces_with_energy(self, pass, target, buffer, demands)
    }
}

/// Returns the law of a family.
pub(super) fn simd_law(family: LawFamily) -> Box<dyn SimdLaw> {
    match family {
        LawFamily::NeoHookean => Box::new(NeoHookean),
        LawFamily::Linear => Box::new(Linear),
        LawFamily::StVenantKirchhoff => Box::new(StVenantKirchhoff),
        LawFamily::StableNeoHookean => Box::new(StableNeoHookean),
        LawFamily::MooneyRivlin { second } => Box::new(MooneyRivlin(f32::of(second))),
        LawFamily::Fung { growth } => Box::new(FirstInvariant(Exponential(f32::of(growth)))),
        LawFamily::Yeoh { second, third } => Box::new(FirstInvariant(Polynomial {
            second: f32::of(second),
            third: f32::of(third),
        })),
        LawFamily::Ogden { terms } => match terms.iter().filter(|term| term.share > 0.0).count() {
            0 | 1 => Box::new(Ogden::<1>::new(&terms)),
            2 => Box::new(Ogden::<2>::new(&terms)),
            _ => Box::new(Ogden::<OGDEN_TERMS_MAX>::new(&terms)),
        },
    }
}

/// `W = mu/2 (I1 - 3) - mu ln J + lambda/2 (ln J)^2`
#[derive(Debug)]
pub(super) struct NeoHookean;

/// Hooke's law in small strains.
#[derive(Debug)]
struct Linear;

/// Hooke's law in the Green strain.
#[derive(Debug)]
struct StVenantKirchhoff;

/// Law of `law::StableNeoHookean`.
#[derive(Debug)]
struct StableNeoHookean;

/// Law of `law::MooneyRivlin`, with the fraction of the second invariant.
#[derive(Debug)]
struct MooneyRivlin(f32);

/// Law of `law::FirstInvariantLaw`.
#[derive(Debug)]
struct FirstInvariant<S>(S);

/// Function `g` of `law::Stiffening`, in SIMD lanes.
trait Stiffening: Debug + Send + Sync {
    /// Returns `g`, its slope and its curvature at `x = i1 - 3`.
    fn at(&self, x: f32) -> [f32; 3];
}

/// `Stiffening::Exponential`, with its growth.
#[derive(Debug)]
struct Exponential(f32);

/// `Stiffening::Polynomial`.
#[derive(Debug)]
struct Polynomial {
    second: f32,
    third: f32,
}

/// Kinematic quantities of a gradient that most laws use.
#[derive(Clone, Copy)]
struct Kinematics {
    f: [f32; 9],
    /// Cofactor.
    c: [f32; 9],
    j: f32,
    /// `I1 - 3`, computed without cancellation.
    i1_minus_3: f32,
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

#[inline(always)]
fn column(m: &[f32; 9], axis: usize) -> [f32; 3] {
    [m[3 * axis], m[3 * axis + 1], m[3 * axis + 2]]
}

impl Kinematics {
    #[inline(always)]
    fn new(h: [f32; 9]) -> Self {
        let mut f = h;
        f[0] += 1.0;
        f[4] += 1.0;
        f[8] += 1.0;
        let mut c = [0.0; 9];
        for a in 0..3 {
            let (b, d) = ((a + 1) % 3, (a + 2) % 3);
            for i in 0..3 {
                let (k, l) = ((i + 1) % 3, (i + 2) % 3);
                c[3 * a + i] = minor(f[3 * b + k], f[3 * d + l], f[3 * b + l], f[3 * d + k]);
            }
        }
        let mut squares = 0.0;
        for h in h {
            squares = h.mul_add(h, squares);
        }
        Self {
            j: dot(column(&f, 0), column(&c, 0)),
            i1_minus_3: squares + 2.0 * (h[0] + h[4] + h[8]),
            f,
            c,
        }
    }

    /// Returns `1 / J^2` scaled to 1 at [`SQUEEZED`] for a cell squeezed below it, else 1.
    #[inline(always)]
    fn squeeze(&self) -> f32 {
        // an inverted cell counts as squeezed to a fortieth
        let thin = SQUEEZED / 20.0;
        let j = if self.j > thin { self.j } else { thin };
        let over = SQUEEZED / j;
        if over > 1.0 { over * over } else { 1.0 }
    }
}

/// Isochoric part of a gradient.
struct Isochoric {
    /// `ln J` and its derivative, continued.
    log: f32,
    slope: f32,
    /// `J^(-2/3)`.
    shrink: f32,
    /// Gradient of `i1`.
    i1_gradient: [f32; 9],
}

impl Isochoric {
    #[inline(always)]
    fn new(at: &Kinematics) -> Self {
        let (log, slope) = log_volume(at.j);
        let shrink = exponential(log * (-2.0 / 3.0));
        let i1 = shrink * (at.i1_minus_3 + 3.0);
        let (along, round) = (2.0 * shrink, -(2.0 / 3.0) * i1 * slope);
        let mut first = [0.0; 9];
        for (first, (f, c)) in first.iter_mut().zip(at.f.iter().zip(&at.c)) {
            *first = along.mul_add(*f, round * c);
        }
        Self {
            log,
            slope,
            shrink,
            i1_gradient: first,
        }
    }

    /// `i1 - 3`.
    #[inline(always)]
    fn i1_minus_3(&self, at: &Kinematics) -> f32 {
        self.shrink
            .mul_add(at.i1_minus_3, 3.0 * (self.shrink - 1.0))
    }

    /// Returns the volumetric energy and its derivative over the bulk modulus: `(J^2 - 1 - 2 ln J) / 4`.
    #[inline(always)]
    fn volume(&self, j: f32) -> (f32, f32) {
        let energy = 0.25 * ((j - 1.0) * (j + 1.0) - 2.0 * self.log);
        (energy, 0.5 * (j - self.slope))
    }

    /// Returns the volumetric stiffness along an edge over that at rest.
    #[inline(always)]
    fn volume_wave(&self, c2: f32) -> f32 {
        0.5 * self.slope.mul_add(self.slope, 1.0) * c2
    }

    /// Returns the stiffness of `i1` along an edge over that at rest.
    #[inline(always)]
    fn first_wave(&self, at: &Kinematics, f2: f32, c2: f32) -> f32 {
        let q2 = c2 * self.slope * self.slope;
        let turned = (q2 * f2).sqrt() - 1.0;
        let whole = (10.0 / 9.0) * (at.i1_minus_3 + 3.0) * q2;
        self.shrink * (whole - 2.0 / 3.0 + (4.0 / 3.0) * turned) * (3.0 / 8.0)
    }
}

/// Returns the bulk modulus.
#[inline(always)]
fn bulk(mu: f32, lambda: f32) -> f32 {
    mu.mul_add(2.0 / 3.0, lambda)
}

/// Returns the stress `along F + round cof F`.
#[inline(always)]
fn stress(at: &Kinematics, along: f32, round: f32) -> [f32; 9] {
    let mut out = [0.0; 9];
    for (out, (f, c)) in out.iter_mut().zip(at.f.iter().zip(&at.c)) {
        *out = along.mul_add(*f, round * c);
    }
    out
}

/// Evaluates a function of the squares of `f_a` and `c_a` for every edge.
#[inline(always)]
fn by_edge(at: &Kinematics, of: impl Fn(usize, f32, f32) -> f32) -> [f32; 3] {
    let mut out = [0.0; 3];
    for (a, out) in out.iter_mut().enumerate() {
        let (f, c) = (column(&at.f, a), column(&at.c, a));
        *out = of(a, dot(f, f), dot(c, c));
    }
    out
}

impl SimdLaw for NeoHookean {
    #[inline(always)]
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse {
        let at = Kinematics::new(h);
        let (log, slope) = log_volume(at.j);
        // below `THIN` the logarithm is straight
        let curved = if at.j > THIN { 1.0 - log } else { 1.0 };
        let wave = slope * slope * curved.max(1.0);
        let mut wave_stiffness = [0.0; 3];
        for (a, wave_stiffness) in wave_stiffness.iter_mut().enumerate() {
            *wave_stiffness = square(&column(&at.c, a)) * wave;
        }
        LawResponse {
            stress: stress(&at, mu, lambda.mul_add(log, -mu) * slope),
            energy: mu * (0.5 * at.i1_minus_3 - log) + 0.5 * lambda * log * log,
            wave_stiffness,
        }
    }
}

/// Rows and columns of a symmetric matrix, and the multiplicity of each.
const PLACES: [(usize, usize, f32); 6] = [
    (0, 0, 1.0),
    (1, 1, 1.0),
    (2, 2, 1.0),
    (0, 1, 2.0),
    (0, 2, 2.0),
    (1, 2, 2.0),
];

/// Returns stress as a full matrix, and energy, of Hooke's law for a strain by [`PLACES`].
#[inline(always)]
fn hooke(e: [f32; 6], mu: f32, lambda: f32) -> ([f32; 9], f32) {
    let trace = e[0] + e[1] + e[2];
    let (mut stress, mut square) = ([0.0; 9], 0.0);
    for (k, (a, b, times)) in PLACES.into_iter().enumerate() {
        let round = if a == b { lambda * trace } else { 0.0 };
        let s = (2.0 * mu).mul_add(e[k], round);
        (stress[3 * a + b], stress[3 * b + a]) = (s, s);
        square = (times * e[k]).mul_add(e[k], square);
    }
    (stress, mu.mul_add(square, 0.5 * lambda * trace * trace))
}

impl SimdLaw for Linear {
    #[inline(always)]
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse {
        let mut e = [0.0; 6];
        for (k, (a, b, _)) in PLACES.into_iter().enumerate() {
            e[k] = 0.5 * (h[3 * a + b] + h[3 * b + a]);
        }
        let (stress, energy) = hooke(e, mu, lambda);
        LawResponse {
            stress,
            energy,
            wave_stiffness: [1.0; 3],
        }
    }
}

impl SimdLaw for StVenantKirchhoff {
    #[inline(always)]
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse {
        let at = Kinematics::new(h);
        let mut e = [0.0; 6];
        for (k, (a, b, _)) in PLACES.into_iter().enumerate() {
            let own = h[3 * a + b] + h[3 * b + a];
            e[k] = 0.5 * (own + dot(column(&h, a), column(&h, b)));
        }
        let (second, energy) = hooke(e, mu, lambda);
        let mut stress = [0.0; 9];
        for a in 0..3 {
            for i in 0..3 {
                let mut sum = 0.0;
                for b in 0..3 {
                    sum = at.f[3 * b + i].mul_add(second[3 * b + a], sum);
                }
                stress[3 * a + i] = sum;
            }
        }
        let (squeeze, whole) = (at.squeeze(), 2.0f32.mul_add(mu, lambda));
        // without a cell nothing is stiff
        let inverse = if whole > 0.0 { 1.0 / whole } else { 0.0 };
        let wave_stiffness = by_edge(&at, |a, f2, _| {
            (f2 + (second[4 * a] * inverse).max(0.0)) * squeeze
        });
        LawResponse {
            stress,
            energy,
            wave_stiffness,
        }
    }
}

impl SimdLaw for StableNeoHookean {
    #[inline(always)]
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse {
        let at = Kinematics::new(h);
        let (shear, volume) = (mu * (4.0 / 3.0), mu.mul_add(5.0 / 6.0, lambda));
        let rest = if volume > 0.0 { mu / volume } else { 0.0 };
        let over = at.j - 1.0;
        let fade = 1.0 / (at.i1_minus_3 + 4.0);
        let log = logarithm(0.25f32.mul_add(at.i1_minus_3, 1.0));
        // less the value at rest
        let squeezed = volume * over * (over - 2.0 * rest);
        let whole = 2.0f32.mul_add(mu, lambda);
        let inverse = if whole > 0.0 { 1.0 / whole } else { 0.0 };
        LawResponse {
            stress: stress(&at, shear * (1.0 - fade), volume * (over - rest)),
            energy: 0.5 * (shear * (at.i1_minus_3 - log) + squeezed),
            wave_stiffness: by_edge(&at, |_, f2, c2| {
                let sheared = shear * (1.0 - fade + 2.0 * fade * fade * f2);
                volume.mul_add(c2, sheared) * inverse
            }),
        }
    }
}

impl SimdLaw for MooneyRivlin {
    #[inline(always)]
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse {
        let at = Kinematics::new(h);
        let part = Isochoric::new(&at);
        let (c1, c2) = (0.5 * mu * (1.0 - self.0), 0.5 * mu * self.0);
        let kappa = bulk(mu, lambda);
        // C, and the second invariant
        let mut c = [0.0; 9];
        let mut square = 0.0;
        for (a, b, times) in PLACES {
            let own = dot(column(&at.f, a), column(&at.f, b));
            (c[3 * a + b], c[3 * b + a]) = (own, own);
            square = (times * own).mul_add(own, square);
        }
        let (whole, squeeze) = (at.i1_minus_3 + 3.0, part.shrink * part.shrink);
        let second = 0.5 * whole.mul_add(whole, -square);
        let i2 = second * squeeze;
        let (energy, push) = part.volume(at.j);
        let round = kappa.mul_add(push, -c2 * (4.0 / 3.0) * i2 * part.slope);
        let mut out = [0.0; 9];
        for a in 0..3 {
            for i in 0..3 {
                let k = 3 * a + i;
                let mut turned = 0.0;
                for b in 0..3 {
                    turned = at.f[3 * b + i].mul_add(c[3 * b + a], turned);
                }
                let grown = 2.0 * squeeze * whole.mul_add(at.f[k], -turned);
                out[k] = c1 * part.i1_gradient[k] + c2 * grown + round * at.c[k];
            }
        }
        let stiff = kappa + mu * (4.0 / 3.0);
        let inverse = if stiff > 0.0 { 1.0 / stiff } else { 0.0 };
        LawResponse {
            stress: out,
            energy: c1 * part.i1_minus_3(&at) + c2 * (i2 - 3.0) + kappa * energy,
            wave_stiffness: by_edge(&at, |_, f2, c2a| {
                let one = part.first_wave(&at, f2, c2a);
                let q2 = c2a * part.slope * part.slope;
                let least = squeeze * whole * (1.0 / 3.0);
                let grown = squeeze * (28.0 / 9.0 * second * q2 - 20.0 / 9.0 * whole);
                let two = (grown * (3.0 / 8.0)).max(least).min(DEMAND_MAX);
                let sheared = (8.0 / 3.0) * (c1 * one + c2 * two);
                kappa.mul_add(part.volume_wave(c2a), sheared) * inverse
            }),
        }
    }
}

impl Stiffening for Exponential {
    #[inline(always)]
    fn at(&self, x: f32) -> [f32; 3] {
        const LIMIT: f32 = EXPONENT_MAX as f32;
        let x = self.0 * x;
        let beyond = (x - LIMIT).max(0.0);
        let steep = exponential(x - beyond);
        let bend = if x > LIMIT { 0.0 } else { steep };
        let value = steep.mul_add(beyond, steep - 1.0);
        [value / self.0, steep, self.0 * bend]
    }
}

impl Stiffening for Polynomial {
    #[inline(always)]
    fn at(&self, x: f32) -> [f32; 3] {
        const LIMIT: f32 = INVARIANT_MAX as f32;
        let beyond = (x - LIMIT).max(0.0);
        let near = x - beyond;
        let slope = near.mul_add(2.0f32.mul_add(self.second, 3.0 * self.third * near), 1.0);
        let value = near * near.mul_add(self.third.mul_add(near, self.second), 1.0);
        let bend = 2.0f32.mul_add(self.second, 6.0 * self.third * near);
        let bend = if x > LIMIT { 0.0 } else { bend };
        [slope.mul_add(beyond, value), slope, bend]
    }
}

impl<S: Stiffening> SimdLaw for FirstInvariant<S> {
    #[inline(always)]
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse {
        let at = Kinematics::new(h);
        let part = Isochoric::new(&at);
        let kappa = bulk(mu, lambda);
        let [value, steep, bend] = self.0.at(part.i1_minus_3(&at));
        let (energy, push) = part.volume(at.j);
        let mut out = [0.0; 9];
        for (out, (first, c)) in out.iter_mut().zip(part.i1_gradient.iter().zip(&at.c)) {
            *out = (0.5 * mu * steep).mul_add(*first, kappa * push * c);
        }
        let stiff = kappa + mu * (4.0 / 3.0);
        let inverse = if stiff > 0.0 { 1.0 / stiff } else { 0.0 };
        LawResponse {
            stress: out,
            energy: 0.5 * mu * value + kappa * energy,
            wave_stiffness: by_edge(&at, |a, f2, c2| {
                let one = (4.0 / 3.0) * steep * part.first_wave(&at, f2, c2);
                let own = column(&part.i1_gradient, a);
                let grown = 0.5 * bend * dot(own, own).min(DEMAND_MAX);
                kappa.mul_add(part.volume_wave(c2), mu * (one + grown)) * inverse
            }),
        }
    }
}

#[cfg(test)]
mod tests;
