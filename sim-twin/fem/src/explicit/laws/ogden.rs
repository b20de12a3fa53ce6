//! Ogden's law in SIMD lanes.
//!
//! Source: `palpate_twin::law::OgdenLaw`, with the same symbols. The demand bounds the isochoric part by the stiffest principal
//! direction, for every edge: `W_kk = (u_k / 3 + sum_j u_j / 9 - t_k) / c_k`, which is 4/3 of the shear modulus at rest.

use super::{DEMAND_MAX, Isochoric, Kinematics, LawResponse, PLACES, SimdLaw, bulk, by_edge};
use super::{column, dot};
use crate::explicit::simd::{exponential, logarithm};
use palpate_twin::law::spectral::{SWEEPS_SINGLE, Spectral};
use palpate_twin::law::{EXPONENT_MAX, OgdenTerm, Real, STRETCH_MIN};

/// Law of `N` terms: shares and exponents.
#[derive(Debug)]
pub(super) struct Ogden<const N: usize>(pub(super) [[f32; 2]; N]);

impl<const N: usize> Ogden<N> {
    /// Creates the law of the first `N` terms.
    pub(super) fn new(terms: &[OgdenTerm]) -> Self {
        Self(std::array::from_fn(|term| {
            [terms[term].share, terms[term].exponent].map(f32::of)
        }))
    }

    /// Returns the energy over the shear modulus, `t_k` less their mean and `u_k`, from `ln b_k`.
    #[inline(always)]
    fn terms(&self, log: [f32; 3]) -> (f32, [f32; 3], [f32; 3]) {
        const LIMIT: f32 = EXPONENT_MAX as f32;
        let (mut energy, mut t, mut u) = (0.0_f32, [0.0_f32; 3], [0.0_f32; 3]);
        for [share, exponent] in self.0 {
            let inverse = 1.0 / exponent;
            let weight = 2.0 * share * inverse;
            for k in 0..3 {
                let x = exponent * log[k];
                let beyond = (x - LIMIT).max(0.0);
                let steep = exponential(x - beyond);
                let value = steep.mul_add(beyond, steep - 1.0);
                energy = (weight * inverse).mul_add(value, energy);
                t[k] = weight.mul_add(steep - 1.0, t[k]);
                let bend = if x > LIMIT { 0.0 } else { steep };
                u[k] = (2.0 * share).mul_add(bend, u[k]);
            }
        }
        let mean = (t[0] + t[1] + t[2]) * (1.0 / 3.0);
        (energy, [t[0] - mean, t[1] - mean, t[2] - mean], u)
    }
}

/// Principal axes of the Green strain of `h`, squared stretches and their logarithms, continued.
#[inline(always)]
fn principal(h: &[f32; 9]) -> (Spectral<f32>, [f32; 3], [f32; 3]) {
    const LEAST: f32 = (STRETCH_MIN * STRETCH_MIN) as f32;
    let mut e = [0.0; 6];
    for (k, (a, b, _)) in PLACES.into_iter().enumerate() {
        let own = h[3 * a + b] + h[3 * b + a];
        e[k] = 0.5 * (own + dot(column(h, a), column(h, b)));
    }
    let axes = Spectral::new::<SWEEPS_SINGLE>([e[0], e[1], e[2]], [e[5], e[4], e[3]]);
    let (mut c, mut log) = ([0.0; 3], [0.0; 3]);
    for k in 0..3 {
        let whole = 2.0f32.mul_add(axes.values[k], 1.0);
        c[k] = whole.max(LEAST);
        log[k] = 0.5 * (logarithm(c[k]) + (whole - c[k]) / c[k]);
    }
    (axes, c, log)
}

impl<const N: usize> SimdLaw for Ogden<N> {
    #[inline(always)]
    fn response(&self, h: [f32; 9], mu: f32, lambda: f32) -> LawResponse {
        let at = Kinematics::new(h);
        let part = Isochoric::new(&at);
        let kappa = bulk(mu, lambda);
        let (axes, c, log) = principal(&h);
        let mean = (log[0] + log[1] + log[2]) * (1.0 / 3.0);
        let (sheared, t, u) = self.terms([log[0] - mean, log[1] - mean, log[2] - mean]);
        let (energy, push) = part.volume(at.j);
        let (mut out, mut greatest) = ([0.0; 9], 0.0_f32);
        for (to, c) in out.iter_mut().zip(at.c) {
            *to = kappa * push * c;
        }
        let all = (u[0] + u[1] + u[2]) * (1.0 / 9.0);
        for k in 0..3 {
            let inverse = 1.0 / c[k];
            let n = axes.vectors[k];
            // F n, scaled by the principal stress
            let along = [0, 1, 2].map(|i| {
                let turned = at.f[i].mul_add(n[0], at.f[3 + i].mul_add(n[1], at.f[6 + i] * n[2]));
                mu * t[k] * inverse * turned
            });
            for (to, n) in out.chunks_exact_mut(3).zip(n) {
                for (to, along) in to.iter_mut().zip(along) {
                    *to = along.mul_add(n, *to);
                }
            }
            let own = (u[k].mul_add(1.0 / 3.0, all) - t[k]) * inverse;
            greatest = if own > greatest { own } else { greatest };
        }
        let greatest = greatest.min(DEMAND_MAX);
        let stiff = kappa + mu * (4.0 / 3.0);
        let inverse = if stiff > 0.0 { 1.0 / stiff } else { 0.0 };
        LawResponse {
            stress: out,
            energy: mu.mul_add(sheared, kappa * energy),
            wave_stiffness: by_edge(&at, |_, _, c2| {
                kappa.mul_add(part.volume_wave(c2), mu * greatest) * inverse
            }),
        }
    }
}
