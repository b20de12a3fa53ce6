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
    /// Factor on speeds that damping leaves at the end of a tick.
    pub(super) slow: f32,
    /// Fastest component that is let go: no sound motion reaches it.
    pub(super) fast: f32,
    /// Farthest component.
    pub(super) far: f32,
}

/// What is within a bound; what is not a number becomes the bound.
#[inline(always)]
fn within(x: f32, bound: f32) -> f32 {
    let below = if x < bound { x } else { bound };
    if below > -bound { below } else { -bound }
}

/// Mass of a node, and its inverse; 0 of one that does not go.
#[derive(Debug, Clone, Copy)]
struct Inertia {
    mass: f32,
    ease: f32,
}

/// One component of one node. Within a tick its impulse moves it and is spent; at the `LAST` time of a
/// tick it only changes the speed, damping slows that, and the impulse stays for the next tick. Gives
/// mass times the square of the speed that damping left.
#[inline(always)]
fn one<const LAST: bool>(u: &mut f32, v: &mut f32, f: &mut f32, own: Inertia, pace: &Pace) -> f32 {
    let Inertia { mass, ease } = own;
    let goes = ease > 0.0;
    let kicked = within((*f * pace.kick).mul_add(ease, *v), pace.fast);
    let slowed = if LAST { kicked * pace.slow } else { kicked };
    let speed = (slowed + GRAIN) - GRAIN;
    *v = if goes { speed } else { *v };
    if LAST {
        return if goes { mass * speed * speed } else { 0.0 };
    }
    let place = (speed.mul_add(pace.drift, *u) + GRAIN) - GRAIN;
    *u = if goes { within(place, pace.far) } else { *u };
    *f = 0.0;
    0.0
}

/// Sums are taken in this many parts, so that the compiler does them at once.
const PARTS: usize = 16;

/// Adds impulses that were kept apart to those of the first nodes of `f`, and leaves none.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn join(f: &mut [f32], over: &mut [f32]) {
    for (f, over) in f.iter_mut().zip(over) {
        *f += *over;
        *over = 0.0;
    }
}

/// Nodes that go together.
#[derive(Debug)]
pub(super) struct Nodes<'a> {
    pub(super) mass: &'a [f32],
    pub(super) ease: &'a [f32],
    pub(super) u: [&'a mut [f32]; 3],
    pub(super) v: [&'a mut [f32]; 3],
    pub(super) f: [&'a mut [f32]; 3],
}

/// Spends the impulses of a range of nodes, a multiple of [`super::lane::LANES`], and moves them;
/// gives the energy that damping took.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn go<const LAST: bool>(range: Range<usize>, nodes: &mut Nodes, pace: &Pace) -> f64 {
    let mut parts = [0.0_f32; PARTS];
    let (mass, _) = nodes.mass[range.clone()].as_chunks::<PARTS>();
    let (ease, _) = nodes.ease[range.clone()].as_chunks::<PARTS>();
    for axis in 0..3 {
        let (u, _) = nodes.u[axis][range.clone()].as_chunks_mut::<PARTS>();
        let (v, _) = nodes.v[axis][range.clone()].as_chunks_mut::<PARTS>();
        let (f, _) = nodes.f[axis][range.clone()].as_chunks_mut::<PARTS>();
        let all = u.iter_mut().zip(v).zip(f).zip(mass.iter().zip(ease));
        for (((u, v), f), (mass, ease)) in all {
            for l in 0..PARTS {
                let own = Inertia {
                    mass: mass[l],
                    ease: ease[l],
                };
                parts[l] += one::<LAST>(&mut u[l], &mut v[l], &mut f[l], own, pace);
            }
        }
    }
    if LAST { taken(&parts, pace) } else { 0.0 }
}

/// Spends the impulses of single nodes and moves them; gives the energy that damping took.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn go_each<const LAST: bool>(nodes: &[u32], motion: &mut Motion, pace: &Pace) -> f64 {
    let mut sum = 0.0;
    for &node in nodes {
        let at = node as usize;
        let mass = motion.mass[at];
        let ease = if mass > 0.0 { 1.0 / mass } else { 0.0 };
        let own = Inertia { mass, ease };
        for axis in 0..3 {
            let (u, v) = (&mut motion.u[axis][at], &mut motion.v[axis][at]);
            sum += one::<LAST>(u, v, &mut motion.f[axis][at], own, pace);
        }
    }
    if LAST { taken(&[sum], pace) } else { 0.0 }
}

/// What damping took, from twice the kinetic energies that it left.
fn taken(twice: &[f32], pace: &Pace) -> f64 {
    let slow = f64::from(pace.slow);
    0.5 * twice.iter().copied().map(f64::from).sum::<f64>() * (1.0 / (slow * slow) - 1.0)
}

/// Kinetic energy of nodes, a multiple of [`super::lane::LANES`] of them.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+fma", "x86_64+avx2+fma"))]
pub(super) fn kinetic(mass: &[f32], v: &[&mut [f32]; 3]) -> f64 {
    let mut sum = 0.0;
    let (mass, _) = mass.as_chunks::<PARTS>();
    for v in v {
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
