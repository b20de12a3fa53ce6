//! The laws in single precision, one number a lane.
//!
//! Source: `palpate_twin::law`, family by family, with the same symbols. Laws of volume go on below a thin
//! `J` as [`super::lane`] does it, so that an inverted cell has finite forces that are still the
//! energy's gradient. What a cell asks of the step is the stiffness of a wave along each of its edges
//! over that at rest: exact for the volume's part, an estimate of the rest that is exact at rest.
//!
//! Symbols beside those: `a` a cell's edge, `f_a`, `c_a` the columns of `F` and of its cofactor along it.

use super::lane::{Strained, exponential, log_volume, logarithm, minor, strain};
use palpate_twin::law::EXPONENT_MAX;

/// Change of volume below which a law that would let a cell collapse counts it as squeezed.
const SQUEEZED: f32 = 0.5;

/// Bound of what cells turned inside out ask for, so that nothing times it is nothing.
const MOST: f32 = 1e30;

/// A law in lanes.
pub(super) trait Lanes: Copy + Sync {
    /// Stress and energy at the displacement gradient `h`, column after column.
    fn strain(&self, h: [f32; 9], mu: f32, lambda: f32) -> Strained;
}

/// `W = mu/2 (I1 - 3) - mu ln J + lambda/2 (ln J)^2`
#[derive(Debug, Clone, Copy)]
pub(super) struct NeoHookean;

/// Hooke's law in small strains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Linear;

/// Hooke's law in the Green strain.
#[derive(Debug, Clone, Copy)]
pub(super) struct StVenantKirchhoff;

/// As `law::StableNeoHookean`.
#[derive(Debug, Clone, Copy)]
pub(super) struct StableNeoHookean;

/// As `law::MooneyRivlin`; the share of the second invariant.
#[derive(Debug, Clone, Copy)]
pub(super) struct MooneyRivlin(pub(super) f32);

/// As `law::Fung`; its growth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fung(pub(super) f32);

/// Calls a function with the law of a family.
macro_rules! with_law {
    ($family:expr, $law:ident => $call:expr) => {
        match $family {
            palpate_twin::law::Family::NeoHookean => {
                let $law = $crate::explicit::laws::NeoHookean;
                $call
            }
            palpate_twin::law::Family::Linear => {
                let $law = $crate::explicit::laws::Linear;
                $call
            }
            palpate_twin::law::Family::StVenantKirchhoff => {
                let $law = $crate::explicit::laws::StVenantKirchhoff;
                $call
            }
            palpate_twin::law::Family::StableNeoHookean => {
                let $law = $crate::explicit::laws::StableNeoHookean;
                $call
            }
            palpate_twin::law::Family::MooneyRivlin { second } => {
                let $law = $crate::explicit::laws::MooneyRivlin(f32::of(second));
                $call
            }
            palpate_twin::law::Family::Fung { growth } => {
                let $law = $crate::explicit::laws::Fung(f32::of(growth));
                $call
            }
        }
    };
}
pub(super) use with_law;

/// What most laws need of a gradient.
#[derive(Clone, Copy)]
struct Shape {
    f: [f32; 9],
    /// Cofactor.
    c: [f32; 9],
    j: f32,
    /// `I1 - 3`, without taking near numbers from each other.
    stretch: f32,
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

#[inline(always)]
fn column(m: &[f32; 9], axis: usize) -> [f32; 3] {
    [m[3 * axis], m[3 * axis + 1], m[3 * axis + 2]]
}

impl Shape {
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
            stretch: squares + 2.0 * (h[0] + h[4] + h[8]),
            f,
            c,
        }
    }

    /// `1 / J^2` where a cell is squeezed to less than [`SQUEEZED`], rising from 1 there.
    #[inline(always)]
    fn squeeze(&self) -> f32 {
        // what is turned inside out counts as squeezed to a fortieth
        let thin = SQUEEZED / 20.0;
        let j = if self.j > thin { self.j } else { thin };
        let over = SQUEEZED / j;
        if over > 1.0 { over * over } else { 1.0 }
    }
}

/// The isochoric laws' part of a gradient.
struct Isochoric {
    /// `ln J` and its slope, continued.
    log: f32,
    slope: f32,
    /// `J^(-2/3)`.
    shrink: f32,
    /// Gradient of `i1`.
    first: [f32; 9],
}

impl Isochoric {
    #[inline(always)]
    fn new(at: &Shape) -> Self {
        let (log, slope) = log_volume(at.j);
        let shrink = exponential(log * (-2.0 / 3.0));
        let i1 = shrink * (at.stretch + 3.0);
        let (along, round) = (2.0 * shrink, -(2.0 / 3.0) * i1 * slope);
        let mut first = [0.0; 9];
        for (first, (f, c)) in first.iter_mut().zip(at.f.iter().zip(&at.c)) {
            *first = along.mul_add(*f, round * c);
        }
        Self {
            log,
            slope,
            shrink,
            first,
        }
    }

    /// `i1 - 3`.
    #[inline(always)]
    fn over(&self, at: &Shape) -> f32 {
        self.shrink.mul_add(at.stretch, 3.0 * (self.shrink - 1.0))
    }

    /// Energy of volume, and its slope, over the bulk modulus: `(J^2 - 1 - 2 ln J) / 4`.
    #[inline(always)]
    fn volume(&self, j: f32) -> (f32, f32) {
        let energy = 0.25 * ((j - 1.0) * (j + 1.0) - 2.0 * self.log);
        (energy, 0.5 * (j - self.slope))
    }

    /// Stiffness of volume along an edge over that at rest.
    #[inline(always)]
    fn volume_wave(&self, c2: f32) -> f32 {
        0.5 * self.slope.mul_add(self.slope, 1.0) * c2
    }

    /// Stiffness of `i1` along an edge over that at rest.
    #[inline(always)]
    fn first_wave(&self, at: &Shape, f2: f32, c2: f32) -> f32 {
        let q2 = c2 * self.slope * self.slope;
        let turned = (q2 * f2).sqrt() - 1.0;
        let whole = (10.0 / 9.0) * (at.stretch + 3.0) * q2;
        self.shrink * (whole - 2.0 / 3.0 + (4.0 / 3.0) * turned) * (3.0 / 8.0)
    }
}

/// Bulk modulus.
#[inline(always)]
fn bulk(mu: f32, lambda: f32) -> f32 {
    mu.mul_add(2.0 / 3.0, lambda)
}

/// Stress `along F + round cof F`.
#[inline(always)]
fn stress(at: &Shape, along: f32, round: f32) -> [f32; 9] {
    let mut out = [0.0; 9];
    for (out, (f, c)) in out.iter_mut().zip(at.f.iter().zip(&at.c)) {
        *out = along.mul_add(*f, round * c);
    }
    out
}

/// Something of every edge from the squares of `f_a` and `c_a`.
#[inline(always)]
fn by_edge(at: &Shape, of: impl Fn(usize, f32, f32) -> f32) -> [f32; 3] {
    let mut out = [0.0; 3];
    for (a, out) in out.iter_mut().enumerate() {
        let (f, c) = (column(&at.f, a), column(&at.c, a));
        *out = of(a, dot(f, f), dot(c, c));
    }
    out
}

impl Lanes for NeoHookean {
    #[inline(always)]
    fn strain(&self, h: [f32; 9], mu: f32, lambda: f32) -> Strained {
        strain(h, mu, lambda)
    }
}

/// Rows and columns of a symmetric matrix, and how often each counts.
const PLACES: [(usize, usize, f32); 6] = [
    (0, 0, 1.0),
    (1, 1, 1.0),
    (2, 2, 1.0),
    (0, 1, 2.0),
    (0, 2, 2.0),
    (1, 2, 2.0),
];

/// Hooke's law: stress as a full matrix, and energy, of a strain by [`PLACES`].
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

impl Lanes for Linear {
    #[inline(always)]
    fn strain(&self, h: [f32; 9], mu: f32, lambda: f32) -> Strained {
        let mut e = [0.0; 6];
        for (k, (a, b, _)) in PLACES.into_iter().enumerate() {
            e[k] = 0.5 * (h[3 * a + b] + h[3 * b + a]);
        }
        let (stress, energy) = hooke(e, mu, lambda);
        Strained {
            stress,
            energy,
            shrunk: [1.0; 3],
        }
    }
}

impl Lanes for StVenantKirchhoff {
    #[inline(always)]
    fn strain(&self, h: [f32; 9], mu: f32, lambda: f32) -> Strained {
        let at = Shape::new(h);
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
        // where no cell is, nothing is stiff
        let inverse = if whole > 0.0 { 1.0 / whole } else { 0.0 };
        let shrunk = by_edge(&at, |a, f2, _| {
            (f2 + (second[4 * a] * inverse).max(0.0)) * squeeze
        });
        Strained {
            stress,
            energy,
            shrunk,
        }
    }
}

impl Lanes for StableNeoHookean {
    #[inline(always)]
    fn strain(&self, h: [f32; 9], mu: f32, lambda: f32) -> Strained {
        let at = Shape::new(h);
        let (shear, volume) = (mu * (4.0 / 3.0), mu.mul_add(5.0 / 6.0, lambda));
        let rest = if volume > 0.0 { mu / volume } else { 0.0 };
        let over = at.j - 1.0;
        let fade = 1.0 / (at.stretch + 4.0);
        let log = logarithm(0.25f32.mul_add(at.stretch, 1.0));
        // less the value at rest
        let squeezed = volume * over * (over - 2.0 * rest);
        let whole = 2.0f32.mul_add(mu, lambda);
        let inverse = if whole > 0.0 { 1.0 / whole } else { 0.0 };
        Strained {
            stress: stress(&at, shear * (1.0 - fade), volume * (over - rest)),
            energy: 0.5 * (shear * (at.stretch - log) + squeezed),
            shrunk: by_edge(&at, |_, f2, c2| {
                let sheared = shear * (1.0 - fade + 2.0 * fade * fade * f2);
                volume.mul_add(c2, sheared) * inverse
            }),
        }
    }
}

impl Lanes for MooneyRivlin {
    #[inline(always)]
    fn strain(&self, h: [f32; 9], mu: f32, lambda: f32) -> Strained {
        let at = Shape::new(h);
        let part = Isochoric::new(&at);
        let (c1, c2) = (0.5 * mu * (1.0 - self.0), 0.5 * mu * self.0);
        let kappa = bulk(mu, lambda);
        // C, and what the second invariant is
        let mut c = [0.0; 9];
        let mut square = 0.0;
        for (a, b, times) in PLACES {
            let own = dot(column(&at.f, a), column(&at.f, b));
            (c[3 * a + b], c[3 * b + a]) = (own, own);
            square = (times * own).mul_add(own, square);
        }
        let (whole, squeeze) = (at.stretch + 3.0, part.shrink * part.shrink);
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
                out[k] = c1 * part.first[k] + c2 * grown + round * at.c[k];
            }
        }
        let stiff = kappa + mu * (4.0 / 3.0);
        let inverse = if stiff > 0.0 { 1.0 / stiff } else { 0.0 };
        Strained {
            stress: out,
            energy: c1 * part.over(&at) + c2 * (i2 - 3.0) + kappa * energy,
            shrunk: by_edge(&at, |_, f2, c2a| {
                let one = part.first_wave(&at, f2, c2a);
                let q2 = c2a * part.slope * part.slope;
                let least = squeeze * whole * (1.0 / 3.0);
                let grown = squeeze * (28.0 / 9.0 * second * q2 - 20.0 / 9.0 * whole);
                let two = (grown * (3.0 / 8.0)).max(least).min(MOST);
                let sheared = (8.0 / 3.0) * (c1 * one + c2 * two);
                kappa.mul_add(part.volume_wave(c2a), sheared) * inverse
            }),
        }
    }
}

impl Lanes for Fung {
    #[inline(always)]
    fn strain(&self, h: [f32; 9], mu: f32, lambda: f32) -> Strained {
        const LIMIT: f32 = EXPONENT_MAX as f32;
        let at = Shape::new(h);
        let part = Isochoric::new(&at);
        let kappa = bulk(mu, lambda);
        let x = self.0 * part.over(&at);
        let beyond = (x - LIMIT).max(0.0);
        let steep = exponential(x - beyond);
        let bend = if x > LIMIT { 0.0 } else { steep };
        let value = steep.mul_add(beyond, steep - 1.0);
        let (energy, push) = part.volume(at.j);
        let mut out = [0.0; 9];
        for (out, (first, c)) in out.iter_mut().zip(part.first.iter().zip(&at.c)) {
            *out = (0.5 * mu * steep).mul_add(*first, kappa * push * c);
        }
        let stiff = kappa + mu * (4.0 / 3.0);
        let inverse = if stiff > 0.0 { 1.0 / stiff } else { 0.0 };
        Strained {
            stress: out,
            energy: 0.5 * mu * value / self.0 + kappa * energy,
            shrunk: by_edge(&at, |a, f2, c2| {
                let one = (4.0 / 3.0) * steep * part.first_wave(&at, f2, c2);
                let own = column(&part.first, a);
                let grown = 0.5 * self.0 * bend * dot(own, own).min(MOST);
                kappa.mul_add(part.volume_wave(c2), mu * (one + grown)) * inverse
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Matrix3;
    use palpate_twin::law::{Elastic, Family, Law, Moduli, Real};

    const FAMILIES: [Family; 6] = [
        Family::NeoHookean,
        Family::Linear,
        Family::StVenantKirchhoff,
        Family::StableNeoHookean,
        Family::MooneyRivlin { second: 0.3 },
        Family::Fung { growth: 4.0 },
    ];
    const LAMBDA: f32 = 9.0;

    fn at(family: Family, h: [f32; 9]) -> Strained {
        with_law!(family, law => law.strain(h, 1.0, LAMBDA))
    }

    const SHAPES: [[f32; 9]; 3] = [
        [0.2, 0.1, -0.05, 0.0, -0.3, 0.1, 0.07, 0.02, 0.15],
        [0.5, 0.0, 0.2, 0.1, 0.3, 0.0, -0.1, 0.2, -0.4],
        [1e-3, 2e-3, 0.0, -1e-3, -2e-3, 1e-3, 0.0, 5e-4, 1e-3],
    ];

    #[test]
    fn every_family_has_the_stress_and_energy_of_its_law() {
        let moduli = Moduli {
            mu_pa: 1.0,
            lambda_pa: f64::from(LAMBDA),
        };
        for family in FAMILIES {
            let law = Law::<f64>::new(family, moduli);
            for h in SHAPES {
                let found = at(family, h);
                let f = Matrix3::identity() + Matrix3::from_column_slice(&h.map(f64::from));
                for (found, exact) in found.stress.iter().zip(law.stress(&f).iter()) {
                    let close = (f64::from(*found) - exact).abs() < 2e-5 * (1.0 + exact.abs());
                    assert!(close, "{family:?} {h:?}: {found} {exact}");
                }
                let (found, exact) = (f64::from(found.energy), law.energy(&f));
                assert!(
                    (found - exact).abs() < 3e-6 * (1.0 + exact),
                    "{family:?}: {found} {exact}"
                );
            }
        }
    }

    #[test]
    fn stress_is_the_energy_s_slope_even_inside_out() {
        for family in FAMILIES {
            for shift in [0.0, -0.6, -1.1, -2.0] {
                let mut h = SHAPES[0];
                h[0] += shift;
                let slope = |i: usize| {
                    let (mut up, mut down) = (h, h);
                    up[i] += 1e-3;
                    down[i] -= 1e-3;
                    (at(family, up).energy - at(family, down).energy) / 2e-3
                };
                for (i, stress) in at(family, h).stress.iter().enumerate() {
                    assert!(stress.is_finite(), "{family:?} {shift}");
                    let close = (slope(i) - stress).abs() < 2e-2 * (1.0 + stress.abs());
                    assert!(close, "{family:?} {i} {shift}: {} {stress}", slope(i));
                }
            }
        }
    }

    #[test]
    fn demand_is_one_at_rest_and_no_less_than_the_tangent_asks() {
        let moduli = Moduli {
            mu_pa: 1.0,
            lambda_pa: f64::from(LAMBDA),
        };
        for family in FAMILIES {
            for shrunk in at(family, [0.0; 9]).shrunk {
                assert!((shrunk - 1.0).abs() < 1e-5, "{family:?}: {shrunk}");
            }
            let law = Law::<f64>::new(family, moduli);
            for h in SHAPES {
                let f = Matrix3::identity() + Matrix3::from_column_slice(&h.map(f64::from));
                let tangent = law.tangent_matrix(&f);
                for (a, shrunk) in at(family, h).shrunk.into_iter().enumerate() {
                    // stiffness of a wave along this edge
                    let block = tangent.fixed_view::<3, 3>(3 * a, 3 * a).into_owned();
                    let asked = block.symmetric_eigenvalues().max() / (2.0 + f64::from(LAMBDA));
                    assert!(
                        f64::from(shrunk) > 0.9 * asked,
                        "{family:?} {h:?} {a}: {shrunk} {asked}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_not_there_pulls_nothing() {
        for family in FAMILIES {
            for h in [
                [0.0; 9],
                SHAPES[0],
                [-40.0; 9],
                [30.0, -7.0, 2.0, 9.0, -50.0, 3.0, 1.0, 8.0, 60.0],
            ] {
                let found = with_law!(family, law => law.strain(h, 0.0, 0.0));
                assert!(found.stress.iter().all(|&s| s == 0.0), "{family:?} {h:?}");
                assert_eq!(found.energy, 0.0, "{family:?} {h:?}");
                assert!(
                    found.shrunk.iter().all(|s| s.is_finite()),
                    "{family:?} {h:?}"
                );
            }
        }
    }
}
