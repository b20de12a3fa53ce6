//! Nodes: what an impulse does to them, and how far they go.
//!
//! Source: leapfrog. Nodes stand in the order of their levels, so that those of a sub-step are the
//! first ones.

use super::cells::Quad;

/// Speeds and displacements are kept to this over 2^24.
const GRAIN: f32 = 1e-6;

/// Bounds that no sound motion reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub(super) speed: f32,
    pub(super) way: f32,
}

/// Places, speeds and what is to change them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Nodes {
    /// Displacements.
    pub(super) u: Vec<Quad>,
    pub(super) v: Vec<Quad>,
    /// Forces times the number of sub-steps for which they act.
    pub(super) impulse: Vec<Quad>,
    /// Times that a node was slowed or put back.
    pub(super) escapes: u64,
}

impl Nodes {
    pub(super) fn new(count: usize) -> Self {
        Self {
            u: vec![[0.0; 4]; count],
            v: vec![[0.0; 4]; count],
            impulse: vec![[0.0; 4]; count],
            escapes: 0,
        }
    }

    /// Spends the impulses of the first nodes, as many as `inverse_mass` has.
    pub(super) fn kick(&mut self, inverse_mass: &[Quad], dt: f32, keep: bool) {
        let count = inverse_mass.len();
        let nodes = self.v[..count].iter_mut().zip(&mut self.impulse[..count]);
        for ((v, impulse), inverse) in nodes.zip(inverse_mass) {
            for axis in 0..4 {
                v[axis] += impulse[axis] * (inverse[axis] * dt);
            }
            if !keep {
                *impulse = [0.0; 4];
            }
        }
    }

    /// Moves a range of nodes for `dt` after slowing them by the factor `slow`; gives the energy
    /// that this took.
    pub(super) fn drift(
        &mut self,
        range: std::ops::Range<usize>,
        mass: &[f32],
        (dt, slow): (f32, f32),
        bounds: Bounds,
    ) -> f64 {
        let (fast2, far2) = (bounds.speed * bounds.speed, bounds.way * bounds.way);
        let mut taken = 0.0_f64;
        let nodes = self.u[range.clone()]
            .iter_mut()
            .zip(&mut self.v[range.clone()]);
        for ((u, v), mass) in nodes.zip(&mass[range]) {
            let speed2 = square(v);
            taken += f64::from(mass * speed2);
            // what is far below rounding becomes zero: denormal numbers cost a hundred times more
            let mut speed = v.map(|v| (v * slow + GRAIN) - GRAIN);
            let mut way = [0.0; 4];
            for axis in 0..4 {
                way[axis] = (u[axis] + speed[axis] * dt + GRAIN) - GRAIN;
            }
            // written so that what is not a number fails it too
            if !(speed2 <= fast2 && square(&way) <= far2) {
                self.escapes += 1;
                if speed2 > fast2 && speed2.is_finite() && square(&way) <= far2 {
                    let factor = bounds.speed / speed2.sqrt();
                    speed = speed.map(|v| v * factor);
                } else {
                    (way, speed) = ([0.0; 4], [0.0; 4]);
                }
            }
            (*u, *v) = (way, speed);
        }
        0.5 * taken * (1.0 - f64::from(slow) * f64::from(slow))
    }

    /// Kinetic energy.
    pub(super) fn kinetic(&self, mass: &[f32]) -> f64 {
        let nodes = self.v.iter().zip(mass);
        0.5 * nodes
            .map(|(v, mass)| f64::from(mass * square(v)))
            .sum::<f64>()
    }
}

#[inline(always)]
fn square(x: &Quad) -> f32 {
    x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
}
