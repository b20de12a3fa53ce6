//! Leapfrog integration of the nodes.
//!
//! Source: leapfrog; damping proportional to mass, implicit, so that it never reverses a velocity.

use super::grid::Motion;
use multiversion::multiversion;
use std::hint::select_unpredictable;
use std::ops::Range;

/// Rounding unit of velocities and displacements, times 2^24: smaller values become zero, since denormal
/// numbers are a hundred times slower.
pub(super) const GRAIN: f32 = 1e-6;

/// Factors of an integration step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StepFactors {
    /// Shortest sub-step, the unit of impulses.
    pub(super) kick_dt: f32,
    /// Time by which nodes move.
    pub(super) drift_dt: f32,
    /// Factor of damping on velocities at the end of a tick.
    pub(super) damping_factor: f32,
    /// Largest velocity component; no valid motion reaches it.
    pub(super) speed_max: f32,
    /// Largest displacement component.
    pub(super) displacement_max: f32,
    /// Minus infinity, which the compiler does not know.
    pub(super) lowest: f32,
}

/// Clamps to a bound; NaN stays.
#[inline(always)]
fn clamp_magnitude(x: f32, bound: f32) -> f32 {
    let below = if bound < x { bound } else { x };
    if -bound > below { -bound } else { below }
}

/// Mass of a node and its inverse; the inverse is 0 for a node that does not move.
#[derive(Debug, Clone, Copy)]
struct Inertia {
    mass: f32,
    inverse_mass: f32,
}

impl Inertia {
    /// Returns `moved` for a node that moves, else `own`. A choice that is stored at once would become a masked store,
    /// which takes some processors ten times as long; so the larger of it and of minus infinity is taken.
    #[inline(always)]
    fn if_free(self, moved: f32, own: f32, factors: &StepFactors) -> f32 {
        let chosen = select_unpredictable(self.inverse_mass > 0.0, moved, own);
        if factors.lowest > chosen {
            factors.lowest
        } else {
            chosen
        }
    }
}

/// Integrates one component of one node. Within a tick its impulse moves it and is cleared. At the `LAST`
/// time of a tick the impulse changes only the velocity, damping is applied, and the impulse stays for the
/// next tick. Returns mass times the square of the damped velocity.
#[inline(always)]
fn integrate_component<const LAST: bool>(
    u: &mut f32,
    v: &mut f32,
    f: &mut f32,
    own: Inertia,
    factors: &StepFactors,
) -> f32 {
    let Inertia { mass, inverse_mass } = own;
    let unbounded = (*f * factors.kick_dt).mul_add(inverse_mass, *v);
    // an infinite velocity or place becomes NaN as well, so that the energy shows the collapse
    let kicked = unbounded.mul_add(0.0, clamp_magnitude(unbounded, factors.speed_max));
    let slowed = if LAST {
        kicked * factors.damping_factor
    } else {
        kicked
    };
    let speed = (slowed + GRAIN) - GRAIN;
    *v = own.if_free(speed, *v, factors);
    if LAST {
        return select_unpredictable(inverse_mass > 0.0, mass * speed * speed, 0.0);
    }
    let place = (speed.mul_add(factors.drift_dt, *u) + GRAIN) - GRAIN;
    let bounded = place.mul_add(0.0, clamp_magnitude(place, factors.displacement_max));
    *u = own.if_free(bounded, *u, factors);
    *f = 0.0;
    0.0
}

/// Number of partial sums, so that the compiler vectorises them.
const PARTS: usize = 16;

/// Adds the impulses in `overlap` to those of the first nodes of `f`, and clears them.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn add_and_clear(f: &mut [f32], overlap: &mut [f32]) {
    for (f, overlap) in f.iter_mut().zip(overlap) {
        *f += *overlap;
        *overlap = 0.0;
    }
}

/// Applies the impulses of a range of nodes, a multiple of [`super::simd::SIMD_WIDTH`], and moves them;
/// returns the energy dissipated by damping.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn integrate<const LAST: bool>(
    range: Range<usize>,
    nodes: &mut Motion,
    factors: &StepFactors,
) -> f64 {
    let mut parts = [0.0_f32; PARTS];
    let (mass, _) = nodes.mass[range.clone()].as_chunks::<PARTS>();
    let (inverse_mass, _) = nodes.inverse_mass[range.clone()].as_chunks::<PARTS>();
    for axis in 0..3 {
        let (u, _) = nodes.u[axis][range.clone()].as_chunks_mut::<PARTS>();
        let (v, _) = nodes.v[axis][range.clone()].as_chunks_mut::<PARTS>();
        let (f, _) = nodes.f[axis][range.clone()].as_chunks_mut::<PARTS>();
        let all = u
            .iter_mut()
            .zip(v)
            .zip(f)
            .zip(mass.iter().zip(inverse_mass));
        for (((u, v), f), (mass, inverse_mass)) in all {
            for l in 0..PARTS {
                let own = Inertia {
                    mass: mass[l],
                    inverse_mass: inverse_mass[l],
                };
                let twice =
                    integrate_component::<LAST>(&mut u[l], &mut v[l], &mut f[l], own, factors);
                if LAST {
                    parts[l] += twice;
                }
            }
        }
    }
    if LAST {
        damping_loss(&parts, factors)
    } else {
        0.0
    }
}

/// Applies the impulses of single nodes and moves them; returns the energy dissipated by damping.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn integrate_nodes<const LAST: bool>(
    nodes: &[u32],
    motion: &mut Motion,
    factors: &StepFactors,
) -> f64 {
    let mut sum = 0.0;
    for &node in nodes {
        let at = node as usize;
        let mass = motion.mass[at];
        let inverse_mass = if mass > 0.0 { 1.0 / mass } else { 0.0 };
        let own = Inertia { mass, inverse_mass };
        for axis in 0..3 {
            let (u, v) = (&mut motion.u[axis][at], &mut motion.v[axis][at]);
            sum += integrate_component::<LAST>(u, v, &mut motion.f[axis][at], own, factors);
        }
    }
    if LAST {
        damping_loss(&[sum], factors)
    } else {
        0.0
    }
}

/// Returns the energy dissipated by damping, from twice the kinetic energies after it.
fn damping_loss(twice: &[f32], factors: &StepFactors) -> f64 {
    let factor = f64::from(factors.damping_factor);
    0.5 * twice.iter().copied().map(f64::from).sum::<f64>() * (1.0 / (factor * factor) - 1.0)
}

/// Returns the kinetic energy of a range of nodes, a multiple of [`super::simd::SIMD_WIDTH`].
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn kinetic(range: Range<usize>, nodes: &Motion) -> f64 {
    let mut sum = 0.0;
    let (mass, _) = nodes.mass[range.clone()].as_chunks::<PARTS>();
    for v in &nodes.v {
        let mut parts = [0.0_f32; PARTS];
        for (v, mass) in v[range.clone()].as_chunks::<PARTS>().0.iter().zip(mass) {
            for l in 0..PARTS {
                parts[l] += mass[l] * v[l] * v[l];
            }
        }
        sum += parts.iter().copied().map(f64::from).sum::<f64>();
    }
    0.5 * sum
}
