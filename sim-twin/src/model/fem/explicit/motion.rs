//! Nodes: what impulses do to them, and how far they go.
//!
//! Source: leapfrog; damping proportional to mass, implicit, so that it never pushes.

use super::grid::Motion;
use multiversion::multiversion;
use std::ops::Range;

/// Speeds and displacements are kept to this over 2^24: what is far below rounding becomes zero,
/// since denormal numbers cost a hundred times more.
pub(super) const GRAIN: f32 = 1e-6;

/// How nodes go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    /// The shortest sub-step, by which impulses count.
    pub(super) kick: f32,
    /// Time that nodes go now.
    pub(super) drift: f32,
    /// Factor on speeds that damping leaves.
    pub(super) slow: f32,
    /// Fastest component that is let go: no sound motion reaches it.
    pub(super) fast: f32,
    /// Farthest component.
    pub(super) far: f32,
    /// What is left of impulses: 1 if they count for the next sub-step too, else 0.
    pub(super) keep: f32,
}

/// One component of one node: its new speed and place. What is not a number becomes a bound.
#[inline(always)]
pub(super) fn step((u, v, f): (f32, f32, f32), ease: f32, pace: &Pace) -> (f32, f32) {
    let kicked = (f * pace.kick).mul_add(ease, v);
    let bound = kicked.max(-pace.fast).min(pace.fast);
    let speed = (bound * pace.slow + GRAIN) - GRAIN;
    let place = (speed.mul_add(pace.drift, u) + GRAIN) - GRAIN;
    (place.max(-pace.far).min(pace.far), speed)
}

/// Sums are taken in this many parts, so that the compiler does them at once.
const PARTS: usize = 16;

/// Spends the impulses of a range of nodes, a multiple of [`super::lane::LANES`], and moves them;
/// gives the energy that damping took.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn go(range: Range<usize>, motion: &mut Motion, pace: &Pace) -> f64 {
    let mut parts = [0.0_f32; PARTS];
    let (mass, _) = motion.mass[range.clone()].as_chunks::<PARTS>();
    let (ease, _) = motion.ease[range.clone()].as_chunks::<PARTS>();
    for axis in 0..3 {
        let (u, _) = motion.u[axis][range.clone()].as_chunks_mut::<PARTS>();
        let (v, _) = motion.v[axis][range.clone()].as_chunks_mut::<PARTS>();
        let (f, _) = motion.f[axis][range.clone()].as_chunks_mut::<PARTS>();
        let all = u.iter_mut().zip(v).zip(f).zip(mass.iter().zip(ease));
        for (((u, v), f), (mass, ease)) in all {
            for l in 0..PARTS {
                parts[l] += one((&mut u[l], &mut v[l], &mut f[l]), (mass[l], ease[l]), pace);
            }
        }
    }
    taken(&parts, pace)
}

/// Spends the impulses of single nodes and moves them; gives the energy that damping took.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn go_each(nodes: &[u32], motion: &mut Motion, pace: &Pace) -> f64 {
    let mut sum = 0.0;
    let ([ux, uy, uz], [vx, vy, vz]) = (&mut motion.u, &mut motion.v);
    let [fx, fy, fz] = &mut motion.f;
    for &node in nodes {
        let at = node as usize;
        let mass = motion.mass[at];
        let with = (mass, if mass > 0.0 { 1.0 / mass } else { 0.0 });
        sum += one((&mut ux[at], &mut vx[at], &mut fx[at]), with, pace);
        sum += one((&mut uy[at], &mut vy[at], &mut fy[at]), with, pace);
        sum += one((&mut uz[at], &mut vz[at], &mut fz[at]), with, pace);
    }
    taken(&[sum], pace)
}

/// What damping took, from twice the kinetic energies that it left.
fn taken(twice: &[f32], pace: &Pace) -> f64 {
    let slow = f64::from(pace.slow);
    0.5 * twice.iter().copied().map(f64::from).sum::<f64>() * (1.0 / (slow * slow) - 1.0)
}

/// Kinetic energy of all nodes.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn kinetic(motion: &Motion) -> f64 {
    let mut sum = 0.0;
    let (mass, _) = motion.mass.as_chunks::<PARTS>();
    for v in &motion.v {
        let mut parts = [0.0_f32; PARTS];
        for (v, mass) in v.as_chunks::<PARTS>().0.iter().zip(mass) {
            for l in 0..PARTS {
                parts[l] += mass[l] * v[l] * v[l];
            }
        }
        sum += parts.iter().copied().map(f64::from).sum::<f64>();
    }
    0.5 * sum
}

/// Moves one component; gives mass times the square of its speed.
#[inline(always)]
fn one((u, v, f): (&mut f32, &mut f32, &mut f32), (mass, ease): (f32, f32), pace: &Pace) -> f32 {
    let (place, speed) = step((*u, *v, *f), ease, pace);
    *u = if ease > 0.0 { place } else { *u };
    *v = if ease > 0.0 { speed } else { *v };
    *f *= pace.keep;
    if ease > 0.0 {
        mass * speed * speed
    } else {
        0.0
    }
}
