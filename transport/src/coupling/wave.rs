//! Wave variables: the power of a port split into a wave that leaves and a wave that returns.
//!
//! Source: teleop E2 and E4 (Niemeyer and Slotine; algebra checked below against `F v`).
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | b | wave impedance, > 0 | N s/m |
//! | u | wave from master to slave | sqrt(W) |
//! | w | wave from slave to master | sqrt(W) |
//! | v, F | velocity and force of a port, `F v` into the channel at the master | m/s, N |

use super::delay_gain::Spacing;
use super::method::{MasterPort, Method, Shipment, SlavePort};
use super::{Matching, Moment, WantedForce, WantedVelocity};
use crate::trace::Events;
use crate::{AXES, HapticFrame};

/// Motion in old waves that is still played out after an outage \[m\].
const FORGIVEN_M: f64 = 0.02;

/// The wave that travels from master to slave: `u = (b v + F) / sqrt(2 b)`.
pub(super) fn forward(b: f64, v: f64, f: f64) -> f64 {
    (b * v + f) / (2.0 * b).sqrt()
}

/// The same of a matched master (E4): `u = sqrt(b / 2) v`, which no returning wave changes.
pub(super) fn matched_forward(b: f64, v: f64) -> f64 {
    (b / 2.0).sqrt() * v
}

/// The wave that travels from slave to master: `w = (b v - F) / sqrt(2 b)`.
pub(super) fn backward(b: f64, v: f64, f: f64) -> f64 {
    (b * v - f) / (2.0 * b).sqrt()
}

/// Force at the master in impedance causality: `F = b v - sqrt(2 b) w` \[N\].
fn master_force(b: f64, v: f64, w: f64) -> f64 {
    b * v - (2.0 * b).sqrt() * w
}

/// Force at a matched master, a series element b behind the port: half of the above (E4) \[N\].
fn matched_master_force(b: f64, v: f64, w: f64) -> f64 {
    0.5 * master_force(b, v, w)
}

/// The wave that comes, at either end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Wave {
    decoder: [Decoder; AXES],
}

impl Method for Wave {
    fn begin(&mut self, newest: &HapticFrame, joins: bool, came: f64) {
        for (decoder, sum) in self.decoder.iter_mut().zip(newest.wave_integral) {
            if joins {
                // no wave of the time before is played out
                decoder.integral_out = sum;
            }
            decoder.integral_out *= came;
        }
    }

    fn force(&mut self, port: &MasterPort<'_>) -> WantedForce {
        let (axis, moment) = (port.handle.axis, port.moment);
        let w = self.carried(moment, axis, &port.spacing);
        self.decoder[axis].used(w, moment.dt_s);
        // with the b that it was made with: with one's own, a force in the hand would leap at a retune
        let (b, v) = (moment.came_with_nspm(axis), port.handle.velocity_mps);
        let force_n = match moment.params.matching {
            Matching::Both => matched_master_force(b, v, w),
            Matching::None | Matching::Slave => master_force(b, v, w),
        };
        WantedForce {
            force_n,
            wave_in: w,
            events: 0,
        }
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> WantedVelocity {
        // what the account can pay for one tick
        let wave_max = (2.0 * port.level_j.max(0.0) / port.moment.dt_s).sqrt();
        self.velocity_within(port, wave_max)
    }

    fn ship(&mut self, shipment: &mut Shipment<'_>) {
        // short of energy a line would take what holds a blade, which the robot has not
        let left_j = shipment.reserve_j + shipment.kept_j;
        shipment.ship(shipment.wave_j, left_j);
    }
}

impl Wave {
    /// Velocity of the wave that came with its drift correction, no larger than `wave_max` \[sqrt(W)\].
    pub(super) fn velocity_within(
        &mut self,
        port: &SlavePort<'_>,
        wave_max: f64,
    ) -> WantedVelocity {
        let (axis, moment, pd) = (port.robot.axis, port.moment, &port.robot.pd);
        let b = moment.came_with_nspm(axis);
        let carried = self.carried(moment, axis, &port.spacing);
        // in contact the line's own deflection looks like drift; it must stay. It never has the hand on the
        // way out, where a robot is left that stood in an outage
        let outward = port.repair.after_outage && pd.force_at_rest() * port.behind_m < 0.0;
        let mut repair = port.repair;
        if port.robot.touching && !outward {
            repair.rate_hz = 0.0;
        }
        let corrected = carried + (b / 2.0).sqrt() * repair.velocity_mps(port.behind_m);
        let u = corrected.clamp(-wave_max, wave_max);
        let share = if corrected == 0.0 { 1.0 } else { u / corrected };
        let decoder = &mut self.decoder[axis];
        decoder.used(carried * share, moment.dt_s);
        let integral = moment.newest.wave_integral[axis];
        decoder.forgive(integral, (b / 2.0).sqrt() * FORGIVEN_M);
        WantedVelocity {
            velocity_mps: pd.wave_velocity(b, u),
            wave_in: u,
            events: if share < 1.0 { Events::UNPAID } else { 0 },
        }
    }

    /// The wave that came, as it should be used now \[sqrt(W)\].
    fn carried(&self, moment: &Moment<'_>, axis: usize, spacing: &Spacing) -> f64 {
        let came = Came {
            sample: moment.newest.wave[axis],
            integral: moment.newest.wave_integral[axis],
            held: moment.held,
        };
        if moment.params.delay_gain {
            spacing.used(came.sample, came.held)
        } else {
            self.decoder[axis].demand(&came, moment.params.catch_up_hz, moment.dt_s)
        }
    }
}

/// What came of a wave on one axis.
struct Came {
    /// The newest sample \[sqrt(W)\].
    sample: f64,
    /// Integral of all that was sent \[sqrt(W) s\].
    integral: f64,
    /// Whether the sample is new enough to be held.
    held: bool,
}

/// Reads one axis of a wave from cumulative integrals, so that a lost, late, repeated or
/// overtaken frame changes nothing but the moment at which its content is used (E6b).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Decoder {
    /// Integral of the wave that was used so far \[sqrt(W) s\].
    integral_out: f64,
}

impl Decoder {
    /// The wave that should be used now: the newest sample, corrected towards its integral.
    ///
    /// With a constant delay and no loss this is the newest sample itself. When nothing arrived
    /// for longer than the hold, only the remaining integral is played out.
    fn demand(&self, came: &Came, catch_up_hz: f64, dt_s: f64) -> f64 {
        let behind = came.integral - self.integral_out;
        if came.held {
            came.sample + catch_up_hz * (behind - came.sample * dt_s)
        } else {
            catch_up_hz * behind
        }
    }

    /// Give up what lies further behind than `behind_max` \[sqrt(W) s\]: after a long outage the
    /// position correction brings the robot home, not a burst of old waves.
    fn forgive(&mut self, integral: f64, behind_max: f64) {
        let behind = (integral - self.integral_out).clamp(-behind_max, behind_max);
        self.integral_out = integral - behind;
    }

    /// Note the wave that was really used.
    fn used(&mut self, wave: f64, dt_s: f64) {
        if wave.is_finite() {
            self.integral_out += wave * dt_s;
        }
    }
}

// A predicted wave (E5) is not here: extrapolated by its slope, with the account as its regulator, it
// swung between two unmatched ends and showed 17 of 132 N/m on RP-1 at 50 ms. It needs a model of the
// far side, which is model mediation.

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Pd;
    use super::super::line::Units;
    use super::*;

    fn came(sample: f64, integral: f64, held: bool) -> Came {
        Came {
            sample,
            integral,
            held,
        }
    }

    proptest! {
        #[test]
        fn waves_carry_the_power_of_the_port(
            b in 0.1f64..1000.0, v in -1.0f64..1.0, f in -20.0f64..20.0,
        ) {
            let (u, w) = (forward(b, v, f), backward(b, v, f));
            prop_assert!(((u * u - w * w) / 2.0 - f * v).abs() <= 1e-9 * (1.0 + u * u + w * w));
            prop_assert!((master_force(b, v, w) - f).abs() <= 1e-9 * (1.0 + f.abs() + b * v.abs()));
            // and back: v = (u + w) / sqrt(2b), F = sqrt(b/2) (u - w)
            prop_assert!(((u + w) / (2.0 * b).sqrt() - v).abs() < 1e-9);
            prop_assert!(((b / 2.0).sqrt() * (u - w) - f).abs() < 1e-8);
        }

        #[test]
        fn slave_port_solves_its_loop(
            b in 0.1f64..200.0, u in -2.0f64..2.0, error in -0.01f64..0.01, vs in -0.5f64..0.5,
        ) {
            let pd = Pd { stiffness_npm: 2000.0, damping_nspm: 50.0, error_m: error,
                robot_velocity_mps: vs, dt_s: 1e-3 };
            let v = pd.wave_velocity(b, u);
            // the port equation v = sqrt(2/b) u - F/b, solved another way
            prop_assert!((v - ((2.0 / b).sqrt() * u - pd.force(v) / b)).abs() < 1e-9 * (1.0 + 50.0 / b));
        }

        #[test]
        fn matched_master_loses_energy_in_its_element(
            b in 0.1f64..100.0, v in -1.0f64..1.0, w in -1.0f64..1.0,
        ) {
            let f = matched_master_force(b, v, w);
            let u = (b / 2.0).sqrt() * v;
            prop_assert!(f * v - (u * u - w * w) / 2.0 >= -1e-12);
        }
    }

    /// What was lost before a change of b is worth the same motion after it.
    #[test]
    fn a_loss_before_a_retune_is_made_up_in_the_new_impedance() {
        let (dt, mut decoder, mut units) = (1e-3, Decoder::default(), Units::default());
        let (mut sum, mut sent, mut moved_m, mut used_m) = (0.0, Units::default(), 0.0, 0.0);
        for tick in 0..2000 {
            let b = if tick < 50 { 10.0 } else { 40.0 };
            let v = if tick < 100 { 0.1 } else { 0.0 };
            sum *= sent.follow(b, b).0;
            let sample = (b / 2.0_f64).sqrt() * v;
            sum += sample * dt;
            moved_m += v * dt;
            // nothing arrives around the change
            if (20..70).contains(&tick) {
                continue;
            }
            decoder.integral_out *= units.follow(b, b).1;
            let wave = decoder.demand(&came(sample, sum, true), 30.0, dt);
            decoder.used(wave, dt);
            used_m += (2.0 / b).sqrt() * wave * dt;
        }
        assert!((used_m - moved_m).abs() < 1e-9, "{used_m} of {moved_m} m");
    }

    #[test]
    fn decoder_is_transparent_for_a_steady_stream_and_recovers_a_loss() {
        let dt = 1e-3;
        let mut decoder = Decoder::default();
        let mut integral = 0.0;
        for k in 0..100 {
            let sample = f64::from(k) * 0.01;
            integral += sample * dt;
            let wave = decoder.demand(&came(sample, integral, true), 30.0, dt);
            assert!((wave - sample).abs() < 1e-9);
            decoder.used(wave, dt);
        }
        integral += 5.0 * dt; // five frames were lost, their integral was not
        for _ in 0..1000 {
            let wave = decoder.demand(&came(0.0, integral, false), 30.0, dt);
            decoder.used(wave, dt);
        }
        assert!((decoder.integral_out - integral).abs() < 1e-9);
    }
}
