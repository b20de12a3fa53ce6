//! Impedances in continuous time, swept over frequency; sampling enters as its mean delay (teleop E12, E13).
//!
//! In this file w is an angular frequency \[rad/s\], impedances are force over velocity \[N s/m\].

use nalgebra::Complex;

type C = Complex<f64>;

const J: C = C::new(0.0, 1.0);

/// Mass with a damper and a spring to the ground.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MassSpringDamper {
    /// Mass \[kg\].
    pub mass_kg: f64,
    /// Damping to the ground \[N s/m\].
    pub damping_nspm: f64,
    /// Stiffness to the ground \[N/m\].
    pub stiffness_npm: f64,
}

impl MassSpringDamper {
    /// Impedance at an angular frequency.
    #[must_use]
    pub(crate) fn impedance(&self, w: f64) -> C {
        C::new(self.damping_nspm, self.mass_kg * w - self.stiffness_npm / w)
    }
}

/// Slave side: a spring and damper that pull a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PulledBody {
    /// Stiffness of the slave's controller \[N/m\].
    pub stiffness_npm: f64,
    /// Damping of the slave's controller \[N s/m\].
    pub damping_nspm: f64,
    /// Robot and its contact.
    pub body: MassSpringDamper,
}

impl PulledBody {
    /// Impedance at the pulling end.
    #[must_use]
    pub(crate) fn impedance(&self, w: f64) -> C {
        let spring = C::new(self.damping_nspm, -self.stiffness_npm / w);
        let body = self.body.impedance(w);
        spring * body / (spring + body)
    }
}

/// Stiffness displayed in a slow press at an angular frequency \[N/m\]: the part of the force in phase with the
/// displacement.
#[must_use]
pub(crate) fn stiffness_npm(impedance: C, w: f64) -> f64 {
    (J * w * impedance).re
}

/// Stiffest wall that a handle with `damping_nspm` renders passively \[N/m\], by sweeping the real part of a
/// spring behind sampler, hold and a delay: `K (1 - e^(-jwT)) e^(-jw t_d) / ((jw)^2 T)`.
pub(crate) fn wall_npm_max(damping_nspm: f64, period_s: f64, loop_s: f64) -> f64 {
    let nyquist = std::f64::consts::PI / period_s;
    let loss = |w: f64| {
        let late = |s: f64| {
            let (sin, cos) = libm::sincos(w * s);
            C::new(cos, -sin)
        };
        let held = (C::new(1.0, 0.0) - late(period_s)) * late(loop_s) / (-w * w * period_s);
        -held.re
    };
    // a hundred frequencies per decade over five decades; the largest loss decides
    let most = (0..=500)
        .map(|step| loss(nyquist * libm::pow(10.0, -f64::from(step) / 100.0)))
        .fold(0.0, f64::max);
    damping_nspm / most
}

/// Longest one-way delay at which position forward and force back is stable \[s\], for a hand and handle before a
/// slave: the least phase margin over frequency (Nyquist), where the loop's gain is one. `held_s` is
/// the delay that the two samplers and holds, and jitter, add to the round trip \[s\]. None if the loop is unstable
/// without a delay, infinite if its gain stays below one.
pub(crate) fn direct_oneway_s_max(
    hand: &MassSpringDamper,
    slave: &PulledBody,
    held_s: f64,
) -> Option<f64> {
    const STEPS: u32 = 4000;
    let at = |step: u32| 0.5 * libm::pow(10.0, 4.0 * f64::from(step) / f64::from(STEPS));
    let gain = |w: f64| slave.impedance(w) / hand.impedance(w);
    let mut least_s = f64::INFINITY;
    for step in 0..STEPS {
        let (low, high) = (at(step), at(step + 1));
        let (before, after) = (gain(low).norm(), gain(high).norm());
        if (before - 1.0) * (after - 1.0) < 0.0 {
            let share = (1.0 - before) / (after - before);
            let w = low + share * (high - low);
            // phase that remains before -180 degrees; a delay turns it clockwise
            let angle = gain(w).arg();
            let margin = angle + std::f64::consts::PI;
            least_s = least_s.min(margin / w);
        }
    }
    let oneway_s = 0.5 * (least_s - held_s);
    (oneway_s >= 0.0).then_some(oneway_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stiffest_wall_found_equals_colgates_formula() {
        for (b, period_s, loop_s) in [(0.5, 1e-3, 0.0), (5.0, 1e-3, 0.01), (1.0, 2e-3, 0.1)] {
            let swept = wall_npm_max(b, period_s, loop_s);
            let closed = palpate_analysis::closed_form::wall_npm_max(b, period_s, loop_s);
            assert!((swept / closed - 1.0).abs() < 1e-3, "{swept} {closed}");
        }
    }
}
