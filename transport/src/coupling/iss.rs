//! Input-to-state stability instead of passivity: a spring and a bounded damper without an energy tank.
//!
//! Source: teleop E11 (Jafari and Ryu 2015, as their public code has it): `v' = v - dF/dt / mu` on the
//! way to the robot, `F' = F + tau dF/dt` on the way to the hand, for an environment with
//! `0 <= dF/dx <= mu`.
//!
//! The papers could not be read. The two terms, derived and tested here:
//! - `v' = v - dF/dt / mu` integrates to `x' = x - F / mu`: a spring mu in series, so that the hand
//!   never feels a stiffness above mu, whatever the robot touches;
//! - `tau dF/dt = tau (dF/dx) v`, which for the assumed environment is a damper between 0 and
//!   `tau mu`. The delayed force violates the assumption, so the term is limited to that damper: it may
//!   take energy from the hand and never give it.
//!
//! The guarantee is weaker than passivity and is not proven here for a delay. Force and motion stay
//! bounded for a bounded hand as long as loop gain and delay are small, and the channel may create
//! energy. [`super::Mode::is_passive`] is false, and the tank does not act in this mode.

use super::method::{EnergyTransfer, MasterPort, Method, SlavePort};
use super::{ForceDemand, RelayedForce, VelocityDemand};
use crate::AXES;

/// Series spring and damper.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Iss {
    /// Rate of the relayed force, at the master.
    rate: [ForceRate; AXES],
}

impl Method for Iss {
    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand {
        let (axis, params, newest) = (port.handle.axis, port.inputs.params, port.inputs.newest);
        let relayed_n = port.inputs.relayed_force_n(axis);
        let rate = self.rate[axis].update(newest.sequence, newest.sent_ns, relayed_n);
        let (v, tau_s) = (port.handle.velocity_mps, params.iss_tau_s);
        ForceDemand::from_force(force_n(relayed_n, rate, v, tau_s, params.iss_mu_npm))
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand {
        let (robot, params, dt_s) = (port.robot, port.inputs.params, port.inputs.dt_s);
        // the relayed force is the one behind the series spring
        let (rest_n, slope_nspm) = match robot.contact_force_n {
            Some(contact_n) if params.relayed == RelayedForce::Contact => (-contact_n, 0.0),
            _ => (robot.pd.force_at_rest(), robot.pd.slope_nspm()),
        };
        let (behind_m, mu_npm) = (port.position_error_m, params.iss_mu_npm);
        VelocityDemand::from_velocity(velocity_mps(behind_m, rest_n, slope_nspm, mu_npm, dt_s))
    }

    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        outgoing.transfer_unpaid();
    }
}

/// Force with its damping term, `F + tau dF/dt`, the term limited to a damper of at most `tau mu` \[N\].
fn force_n(force_n: f64, rate_nps: f64, velocity_mps: f64, tau_s: f64, mu_npm: f64) -> f64 {
    let (a, b) = (0.0_f64, mu_npm * velocity_mps);
    let bounded = if rate_nps.is_finite() {
        rate_nps.clamp(a.min(b), a.max(b))
    } else {
        0.0
    };
    force_n + tau_s * bounded
}

/// Desired velocity that moves the port to `x_m - F / mu` within this tick \[m/s\]. `behind_m` is
/// `x_m - x_sd`, and the port force responds as `F = rest_n + slope_nspm v`, so the series spring is
/// solved together with it.
fn velocity_mps(behind_m: f64, rest_n: f64, slope_nspm: f64, mu_npm: f64, dt_s: f64) -> f64 {
    (behind_m - rest_n / mu_npm) / (dt_s + slope_nspm / mu_npm)
}

/// Rate of a force received in frames \[N/s\].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ForceRate {
    sequence: u64,
    sent_ns: i64,
    force_n: f64,
    rate_nps: f64,
}

impl ForceRate {
    /// Rate between the two newest frames; it stays until the next one.
    fn update(&mut self, sequence: u64, sent_ns: i64, force_n: f64) -> f64 {
        if sequence != self.sequence {
            let apart_s = sent_ns.saturating_sub(self.sent_ns) as f64 * 1e-9;
            let known = self.sequence > 0 && apart_s > 0.0;
            self.rate_nps = if known {
                (force_n - self.force_n) / apart_s
            } else {
                0.0
            };
            (self.sequence, self.sent_ns, self.force_n) = (sequence, sent_ns, force_n);
        }
        self.rate_nps
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn damping_term_only_takes_energy_from_the_hand(
            f in -10.0f64..10.0, rate in prop::num::f64::ANY, v in -1.0f64..1.0,
        ) {
            let added = force_n(f, rate, v, 5e-3, 2000.0) - f;
            prop_assert!(added * v >= -1e-12 && added.abs() <= 10.0 * v.abs() + 1e-12);
        }

        #[test]
        fn assumed_environment_is_rendered_with_its_own_damping(k in 0.0f64..2000.0, v in -1.0f64..1.0) {
            // F = k x: dF/dt = k v
            let rendered_n = force_n(0.0, k * v, v, 5e-3, 2000.0);
            prop_assert!((rendered_n - 5e-3 * k * v).abs() < 1e-12);
        }

        /// `v' = v - dF/dt / mu`, summed up, is a spring in series.
        #[test]
        fn velocity_rule_is_a_series_spring(
            steps in prop::collection::vec(-1e-3f64..1e-3, 1..100), k in 1.0f64..2000.0,
        ) {
            let (mu, dt) = (3000.0, 1e-3);
            let (mut x_master, mut port, mut summed, mut last) = (0.0, 0.0, 0.0, 0.0);
            for step in steps {
                x_master += step;
                // an environment F = k x at the port
                port += dt * velocity_mps(x_master - port, k * port, k * dt, mu, dt);
                let force = k * port;
                summed += step - (force - last) / mu;
                last = force;
                prop_assert!((port - summed).abs() < 1e-12);
                prop_assert!((force - k * mu / (k + mu) * x_master).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn force_rate_is_constant_between_frames() {
        let mut rate = ForceRate::default();
        assert_eq!(rate.update(1, 0, 1.0), 0.0);
        assert_eq!(rate.update(3, 2_000_000, 1.5), 250.0);
        assert_eq!(rate.update(3, 2_000_000, 1.5), 250.0);
        assert_eq!(rate.update(4, 2_000_000, 9.0), 0.0);
    }
}
