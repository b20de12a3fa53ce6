//! Wave variables: the power of a port split into an outgoing and an incoming wave.
//!
//! Source: teleop E2 and E4 (Niemeyer and Slotine; algebra checked below against `F v`).
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | b | wave impedance, > 0 | N s/m |
//! | u | wave from master to slave | sqrt(W) |
//! | w | wave from slave to master | sqrt(W) |
//! | v, F | velocity and force of a port, `F v` into the channel at the master | m/s, N |

use super::delay_gain::FrameSpacing;
use super::method::{EnergyTransfer, MasterPort, Method, SlavePort};
use super::wave_filter::LowPass;
use super::{CouplingInputs, ForceDemand, ImpedanceMatching, VelocityDemand};
use crate::trace::EventFlags;
use crate::{AXES, HapticFrame};

/// Motion in old waves that is still played out after an outage \[m\].
const BACKLOG_M_MAX: f64 = 0.02;

/// Wave from master to slave: `u = (b v + F) / sqrt(2 b)`.
pub(super) fn forward(b: f64, v: f64, f: f64) -> f64 {
    (b * v + f) / (2.0 * b).sqrt()
}

/// [`forward`] for a matched master (E4): `u = sqrt(b / 2) v`, which no returning wave changes.
pub(super) fn matched_forward(b: f64, v: f64) -> f64 {
    (b / 2.0).sqrt() * v
}

/// Wave from slave to master: `w = (b v - F) / sqrt(2 b)`.
pub(super) fn backward(b: f64, v: f64, f: f64) -> f64 {
    (b * v - f) / (2.0 * b).sqrt()
}

/// Force at the master in impedance causality: `F = b v - sqrt(2 b) w` \[N\].
fn master_force(b: f64, v: f64, w: f64) -> f64 {
    b * v - (2.0 * b).sqrt() * w
}

/// Force at a matched master, with a series element b behind the port: half of [`master_force`] (E4) \[N\].
fn matched_master_force(b: f64, v: f64, w: f64) -> f64 {
    0.5 * master_force(b, v, w)
}

/// Decoder of the incoming wave, at either end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Wave {
    decoder: [WaveDecoder; AXES],
}

impl Method for Wave {
    fn begin_tick(&mut self, newest: &HapticFrame, becomes_active: bool, received_factor: f64) {
        for (decoder, sum) in self.decoder.iter_mut().zip(newest.wave_integral) {
            if becomes_active {
                // no earlier wave is played out
                decoder.integral_used = sum;
            }
            decoder.rescale(received_factor);
        }
    }

    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand {
        let (axis, inputs) = (port.handle.axis, port.inputs);
        let decoded = self.decoded_wave(inputs, axis, &port.spacing);
        self.decoder[axis].record_used(decoded, inputs.dt_s);
        let w = self.decoder[axis].smoothed(decoded, &port.spacing, inputs);
        // with the b of the received wave: with the master's own b, the force would step at a change of b
        let (b, v) = (
            inputs.received_impedance_nspm(axis),
            port.handle.velocity_mps,
        );
        let force_n = match inputs.params.matching {
            ImpedanceMatching::Both => matched_master_force(b, v, w),
            ImpedanceMatching::None | ImpedanceMatching::Slave => master_force(b, v, w),
        };
        ForceDemand {
            force_n,
            wave_in: w,
            events: 0,
        }
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand {
        // the wave whose power the tank can pay for one tick
        let wave_max = (2.0 * port.level_j.max(0.0) / port.inputs.dt_s).sqrt();
        self.velocity_limited(port, wave_max)
    }

    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        // the energy that a blade may return to the hand stays here: it does not belong to the channel, but a channel
        // that lacks energy would send it
        let reserve_j = outgoing.reserve_j + outgoing.blade_energy_j;
        outgoing.transfer(outgoing.wave_j, reserve_j);
    }
}

impl Wave {
    /// Velocity of the incoming wave with its drift correction, the wave limited to `wave_max` \[sqrt(W)\].
    pub(super) fn velocity_limited(
        &mut self,
        port: &SlavePort<'_>,
        wave_max: f64,
    ) -> VelocityDemand {
        let (axis, inputs, pd) = (port.robot.axis, port.inputs, &port.robot.pd);
        let b = inputs.received_impedance_nspm(axis);
        let decoded = self.decoded_wave(inputs, axis, &port.spacing);
        let wave = self.decoder[axis].smoothed(decoded, &port.spacing, inputs);
        // in contact the deflection of the channel looks like drift and must not be corrected. After an outage,
        // however, a hand that is farther out of the tissue than the robot is real drift: the robot stayed in the
        // tissue
        let outward =
            port.correction.after_outage && pd.force_at_rest() * port.position_error_m < 0.0;
        let mut correction = port.correction;
        if port.robot.touching && !outward {
            correction.rate_per_s = 0.0;
        }
        let corrected = wave + (b / 2.0).sqrt() * correction.velocity_mps(port.position_error_m);
        let u = corrected.clamp(-wave_max, wave_max);
        let share = if corrected == 0.0 { 1.0 } else { u / corrected };
        let decoder = &mut self.decoder[axis];
        decoder.record_used(decoded * share, inputs.dt_s);
        let integral = inputs.newest.wave_integral[axis];
        decoder.discard_backlog(integral, (b / 2.0).sqrt() * BACKLOG_M_MAX);
        VelocityDemand {
            velocity_mps: pd.wave_velocity(b, u),
            wave_in: u,
            events: if share < 1.0 {
                EventFlags::TANK_LIMITED
            } else {
                0
            },
        }
    }

    /// Incoming wave for use in this tick \[sqrt(W)\].
    fn decoded_wave(
        &self,
        inputs: &CouplingInputs<'_>,
        axis: usize,
        spacing: &FrameSpacing,
    ) -> f64 {
        let received = ReceivedWave {
            sample: inputs.newest.wave[axis],
            integral: inputs.newest.wave_integral[axis],
            fresh: inputs.fresh,
        };
        if inputs.params.delay_gain {
            spacing.scaled_wave(received.sample, received.fresh)
        } else {
            self.decoder[axis].demand(&received, inputs.params.catch_up_per_s, inputs.dt_s)
        }
    }
}

/// Received state of a wave on one axis.
struct ReceivedWave {
    /// Newest sample \[sqrt(W)\].
    sample: f64,
    /// Integral of all waves sent \[sqrt(W) s\].
    integral: f64,
    /// True if the sample is recent enough to be held.
    fresh: bool,
}

/// Decoder of one axis of a wave from cumulative integrals: a lost, late, repeated or overtaken
/// frame only changes the time at which its content is used (E6b).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct WaveDecoder {
    /// Integral of the waves used so far \[sqrt(W) s\].
    integral_used: f64,
    /// Filter of the decoded wave, against the jitter of its frames; none before the first wave.
    filter: Option<LowPass>,
}

impl WaveDecoder {
    /// Converts the state to a new impedance b of the incoming wave.
    fn rescale(&mut self, factor: f64) {
        self.integral_used *= factor;
        if let Some(filter) = &mut self.filter {
            filter.rescale(factor);
        }
    }

    /// Wave without the jumps that irregular frames cause. The time constant varies, so the filter alone does not bound
    /// the energy (E5 holds for a constant one); the energy tank of this end does.
    fn smoothed(&mut self, wave: f64, spacing: &FrameSpacing, inputs: &CouplingInputs<'_>) -> f64 {
        let time_s = spacing.jitter.smoothing_s(inputs.round_trip_s);
        let filter = self.filter.get_or_insert(LowPass::from_wave(wave));
        filter.next_after(wave, time_s, inputs.dt_s)
    }

    /// Wave for use in this tick: the newest sample, corrected towards its integral.
    ///
    /// With a constant delay and no loss this is the newest sample itself. When no frame arrived for
    /// longer than the hold time, only the remaining integral is played out.
    fn demand(&self, received: &ReceivedWave, catch_up_per_s: f64, dt_s: f64) -> f64 {
        let behind = received.integral - self.integral_used;
        if received.fresh {
            received.sample + catch_up_per_s * (behind - received.sample * dt_s)
        } else {
            catch_up_per_s * behind
        }
    }

    /// Discards the backlog beyond `behind_max` \[sqrt(W) s\]: after a long outage the position correction
    /// returns the robot, not a burst of old waves.
    fn discard_backlog(&mut self, integral: f64, behind_max: f64) {
        let behind = (integral - self.integral_used).clamp(-behind_max, behind_max);
        self.integral_used = integral - behind;
    }

    /// Records the wave that was used.
    fn record_used(&mut self, wave: f64, dt_s: f64) {
        if wave.is_finite() {
            self.integral_used += wave * dt_s;
        }
    }
}

// A predicted wave (E5) is not implemented: extrapolated by its slope and limited by the tank, it oscillated between
// two unmatched ends and displayed only a small part of the stiffness (RP-1, 50 ms). A useful prediction needs a
// model of the far side, which is model mediation.

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::PdController;
    use super::super::wave_filter::WaveUnits;
    use super::*;

    fn received(sample: f64, integral: f64, fresh: bool) -> ReceivedWave {
        ReceivedWave {
            sample,
            integral,
            fresh,
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
        fn slave_port_solves_its_algebraic_loop(
            b in 0.1f64..200.0, u in -2.0f64..2.0, error in -0.01f64..0.01, vs in -0.5f64..0.5,
        ) {
            let pd = PdController { stiffness_npm: 2000.0, damping_nspm: 50.0, error_m: error,
                robot_velocity_mps: vs, dt_s: 1e-3 };
            let v = pd.wave_velocity(b, u);
            // the port equation v = sqrt(2/b) u - F/b, solved another way
            prop_assert!((v - ((2.0 / b).sqrt() * u - pd.force(v) / b)).abs() < 1e-9 * (1.0 + 50.0 / b));
        }

        #[test]
        fn matched_master_dissipates_energy_in_its_element(
            b in 0.1f64..100.0, v in -1.0f64..1.0, w in -1.0f64..1.0,
        ) {
            let f = matched_master_force(b, v, w);
            let u = (b / 2.0).sqrt() * v;
            prop_assert!(f * v - (u * u - w * w) / 2.0 >= -1e-12);
        }
    }

    /// Waves lost before a change of b give the same motion after it.
    #[test]
    fn loss_before_a_retune_gives_the_same_motion_after() {
        let (dt, mut decoder, mut units) = (1e-3, WaveDecoder::default(), WaveUnits::default());
        let (mut sum, mut sent, mut moved_m, mut used_m) = (0.0, WaveUnits::default(), 0.0, 0.0);
        for tick in 0..2000 {
            let b = if tick < 50 { 10.0 } else { 40.0 };
            let v = if tick < 100 { 0.1 } else { 0.0 };
            sum *= sent.follow(b, b).0;
            let sample = (b / 2.0_f64).sqrt() * v;
            sum += sample * dt;
            moved_m += v * dt;
            // no frame arrives around the change
            if (20..70).contains(&tick) {
                continue;
            }
            decoder.integral_used *= units.follow(b, b).1;
            let wave = decoder.demand(&received(sample, sum, true), 30.0, dt);
            decoder.record_used(wave, dt);
            used_m += (2.0 / b).sqrt() * wave * dt;
        }
        assert!((used_m - moved_m).abs() < 1e-9, "{used_m} of {moved_m} m");
    }

    #[test]
    fn decoder_passes_a_steady_stream_and_recovers_a_loss() {
        let dt = 1e-3;
        let mut decoder = WaveDecoder::default();
        let mut integral = 0.0;
        for k in 0..100 {
            let sample = f64::from(k) * 0.01;
            integral += sample * dt;
            let wave = decoder.demand(&received(sample, integral, true), 30.0, dt);
            assert!((wave - sample).abs() < 1e-9);
            decoder.record_used(wave, dt);
        }
        integral += 5.0 * dt; // five frames were lost, their integral was not
        for _ in 0..1000 {
            let wave = decoder.demand(&received(0.0, integral, false), 30.0, dt);
            decoder.record_used(wave, dt);
        }
        assert!((decoder.integral_used - integral).abs() < 1e-9);
    }
}
