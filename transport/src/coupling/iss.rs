//! Input-to-state stability instead of passivity: a spring and a bounded damper that need no account.
//!
//! Source: teleop E11 (Jafari and Ryu 2015, as their public code has it): `v' = v - dF/dt / mu` on the
//! way to the robot, `F' = F + tau dF/dt` on the way to the hand, for an environment with
//! `0 <= dF/dx <= mu`.
//!
//! The papers could not be read. What the two terms are, derived and tested here:
//! - `v' = v - dF/dt / mu` integrates to `x' = x - F / mu`: a spring mu in series, so that the hand
//!   never feels more than mu, whatever the robot meets;
//! - `tau dF/dt = tau (dF/dx) v`, which for the environment assumed is a damper between 0 and
//!   `tau mu`. The delayed force breaks the assumption, so the term is held to that damper: it may
//!   take energy from the hand and never give it.
//!
//! The guarantee is weaker than passivity and is not proven here for a delay: force and motion stay
//! bounded for a bounded hand as long as loop gain and delay are small, and the channel may create
//! energy. [`super::Mode::is_passive`] says so, and the account does not act in this mode.

use super::method::{MasterPort, Method, Shipment, SlavePort};
use super::{Relayed, WantedForce, WantedVelocity};
use crate::AXES;

/// The series spring and the damper.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Iss {
    /// Rate of the relayed force, at the master.
    rate: [Rate; AXES],
}

impl Method for Iss {
    fn force(&mut self, port: &MasterPort<'_>) -> WantedForce {
        let (axis, params, newest) = (port.handle.axis, port.moment.params, port.moment.newest);
        let relayed_n = port.moment.relayed_n(axis);
        let rate = self.rate[axis].note(newest.sequence, newest.sent_ns, relayed_n);
        let (v, tau_s) = (port.handle.velocity_mps, params.iss_tau_s);
        WantedForce::of(force_n(relayed_n, rate, v, tau_s, params.iss_mu_npm))
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> WantedVelocity {
        let (robot, params, dt_s) = (port.robot, port.moment.params, port.moment.dt_s);
        // the force that is relayed is the one behind the series spring
        let (rest_n, slope_nspm) = match robot.contact_n {
            Some(contact_n) if params.relayed == Relayed::Contact => (-contact_n, 0.0),
            _ => (robot.pd.force_at_rest(), robot.pd.slope_nspm()),
        };
        let (behind_m, mu_npm) = (port.behind_m, params.iss_mu_npm);
        WantedVelocity::of(velocity_mps(behind_m, rest_n, slope_nspm, mu_npm, dt_s))
    }

    fn ship(&mut self, shipment: &mut Shipment<'_>) {
        shipment.ship_unpaid();
    }
}

/// Force with its damping term, `F + tau dF/dt`, the term held to a damper of at most `tau mu` \[N\].
fn force_n(force_n: f64, rate_nps: f64, velocity_mps: f64, tau_s: f64, mu_npm: f64) -> f64 {
    let (a, b) = (0.0_f64, mu_npm * velocity_mps);
    let bounded = if rate_nps.is_finite() {
        rate_nps.clamp(a.min(b), a.max(b))
    } else {
        0.0
    };
    force_n + tau_s * bounded
}

/// Desired velocity that puts the port to `x_m - F / mu` within this tick \[m/s\]: `behind_m` is
/// `x_m - x_sd`, and the port force answers as `F = rest_n + slope_nspm v`, so the series spring is
/// solved together with it.
fn velocity_mps(behind_m: f64, rest_n: f64, slope_nspm: f64, mu_npm: f64, dt_s: f64) -> f64 {
    (behind_m - rest_n / mu_npm) / (dt_s + slope_nspm / mu_npm)
}

/// Rate of a force that comes in frames \[N/s\].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Rate {
    sequence: u64,
    sent_ns: i64,
    force_n: f64,
    rate_nps: f64,
}

impl Rate {
    /// The rate between the two newest frames; it stays until the next one.
    fn note(&mut self, sequence: u64, sent_ns: i64, force_n: f64) -> f64 {
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
        fn the_term_only_takes_energy_from_the_hand(
            f in -10.0f64..10.0, rate in prop::num::f64::ANY, v in -1.0f64..1.0,
        ) {
            let added = force_n(f, rate, v, 5e-3, 2000.0) - f;
            prop_assert!(added * v >= -1e-12 && added.abs() <= 10.0 * v.abs() + 1e-12);
        }

        #[test]
        fn an_environment_as_assumed_is_felt_with_its_own_damping(k in 0.0f64..2000.0, v in -1.0f64..1.0) {
            // F = k x: dF/dt = k v
            let felt = force_n(0.0, k * v, v, 5e-3, 2000.0);
            prop_assert!((felt - 5e-3 * k * v).abs() < 1e-12);
        }

        /// `v' = v - dF/dt / mu`, summed up, is a spring in series.
        #[test]
        fn the_velocity_rule_is_a_spring_in_series(
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
    fn a_rate_is_of_two_frames_and_stays_between_them() {
        let mut rate = Rate::default();
        assert_eq!(rate.note(1, 0, 1.0), 0.0);
        assert_eq!(rate.note(3, 2_000_000, 1.5), 250.0);
        assert_eq!(rate.note(3, 2_000_000, 1.5), 250.0);
        assert_eq!(rate.note(4, 2_000_000, 9.0), 0.0);
    }
}
