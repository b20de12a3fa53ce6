//! Wave variables: the power of a port split into a wave that leaves and a wave that returns.
//!
//! Source: teleop E2, E4 and E5 (Niemeyer and Slotine; algebra checked below against `F v`).
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | b | wave impedance, > 0 | N s/m |
//! | u | wave from master to slave | sqrt(W) |
//! | w | wave from slave to master | sqrt(W) |
//! | v, F | velocity and force of a port, `F v` into the channel at the master | m/s, N |

/// The wave that travels from master to slave: `u = (b v + F) / sqrt(2 b)`.
#[must_use]
pub fn forward(b: f64, v: f64, f: f64) -> f64 {
    (b * v + f) / (2.0 * b).sqrt()
}

/// The wave that travels from slave to master: `w = (b v - F) / sqrt(2 b)`.
#[must_use]
pub fn backward(b: f64, v: f64, f: f64) -> f64 {
    (b * v - f) / (2.0 * b).sqrt()
}

/// Force at the master in impedance causality: `F = b v - sqrt(2 b) w` \[N\].
#[must_use]
pub fn master_force(b: f64, v: f64, w: f64) -> f64 {
    b * v - (2.0 * b).sqrt() * w
}

/// Force at a matched master, a series element b behind the port: half of the above (E4) \[N\].
#[must_use]
pub fn matched_master_force(b: f64, v: f64, w: f64) -> f64 {
    0.5 * master_force(b, v, w)
}

/// A PD coupling from the desired to the measured robot position, at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pd {
    /// Stiffness K \[N/m\].
    pub stiffness_npm: f64,
    /// Damping B \[N s/m\].
    pub damping_nspm: f64,
    /// `x_sd - x_s` before this tick's motion \[m\].
    pub error_m: f64,
    /// Velocity of the robot \[m/s\].
    pub robot_velocity_mps: f64,
    /// Tick period T \[s\].
    pub dt_s: f64,
}

impl Pd {
    /// Force at zero desired velocity \[N\].
    #[must_use]
    pub fn force_at_rest(&self) -> f64 {
        self.stiffness_npm * self.error_m - self.damping_nspm * self.robot_velocity_mps
    }

    /// Change of force a unit of desired velocity, `K T + B` \[N s/m\].
    #[must_use]
    pub fn slope_nspm(&self) -> f64 {
        self.stiffness_npm * self.dt_s + self.damping_nspm
    }

    /// Force when the desired position moves at `v` during this tick (implicit Euler) \[N\].
    #[must_use]
    pub fn force(&self, v: f64) -> f64 {
        self.force_at_rest() + self.slope_nspm() * v
    }

    /// Desired velocity that solves the wave port together with the PD (E2, the algebraic loop):
    /// `v = (sqrt(2b) u - F(0)) / (b + B + K T)` \[m/s\].
    #[must_use]
    pub fn wave_velocity(&self, b: f64, u: f64) -> f64 {
        ((2.0 * b).sqrt() * u - self.force_at_rest()) / (b + self.slope_nspm())
    }
}

/// Impedances that the two integrals of an end are told in: of the wave that it sends and of the one that
/// comes (teleop E2, the epochs of b).
///
/// A wave's integral is motion in units that b sets: `x = sqrt(2/b) U` where no force acts. So when b
/// changes, the sender tells all of its sum anew in the new b, and the receiver takes what it used so far
/// there as well. What was lost or late before the change is then still worth the same motion; left in
/// the old units, a sum of U would become `sqrt(b_new / b_old)` of it, at once.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Units {
    sent_nspm: f64,
    came_nspm: f64,
}

impl Units {
    /// Factors by which the sums of the sent and of the used wave change with b \[N s/m\]; 1 each where it
    /// did not change, and at first.
    pub fn follow(&mut self, sent_nspm: f64, came_nspm: f64) -> (f64, f64) {
        let factors = (
            retold(self.sent_nspm, sent_nspm),
            retold(self.came_nspm, came_nspm),
        );
        (self.sent_nspm, self.came_nspm) = (sent_nspm, came_nspm);
        factors
    }
}

fn retold(from_nspm: f64, to_nspm: f64) -> f64 {
    let known = from_nspm > 0.0 && to_nspm > 0.0 && from_nspm != to_nspm;
    if known {
        (to_nspm / from_nspm).sqrt()
    } else {
        1.0
    }
}

/// Reads one axis of a wave from cumulative integrals, so that a lost, late, repeated or
/// overtaken frame changes nothing but the moment at which its content is used (E6b).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Decoder {
    /// Integral of the wave that was used so far \[sqrt(W) s\].
    pub integral_out: f64,
}

impl Decoder {
    /// The wave that should be used now: the newest sample, corrected towards its integral.
    ///
    /// With a constant delay and no loss this is the newest sample itself. When nothing arrived
    /// for longer than the hold (`held` false), only the remaining integral is played out.
    #[must_use]
    pub fn demand(
        &self,
        sample: f64,
        integral: f64,
        held: bool,
        catch_up_hz: f64,
        dt_s: f64,
    ) -> f64 {
        let behind = integral - self.integral_out;
        if held {
            sample + catch_up_hz * (behind - sample * dt_s)
        } else {
            catch_up_hz * behind
        }
    }

    /// Give up what lies further behind than `behind_max` \[sqrt(W) s\]: after a long outage the
    /// position correction brings the robot home, not a burst of old waves.
    pub fn forgive(&mut self, integral: f64, behind_max: f64) {
        let behind = (integral - self.integral_out).clamp(-behind_max, behind_max);
        self.integral_out = integral - behind;
    }

    /// Note the wave that was really used.
    pub fn used(&mut self, wave: f64, dt_s: f64) {
        if wave.is_finite() {
            self.integral_out += wave * dt_s;
        }
    }
}

/// A first-order low-pass for a wave that is sent (E5): `H = lambda / (s + lambda)`, by implicit Euler.
///
/// Each output is a mean of the input and the output before, so the filtered wave never carries more
/// energy than the wave did (test below); what it takes stays in the account of this end. At low
/// frequency the integral of the wave, and with it the position, passes whole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LowPass {
    out: f64,
}

impl LowPass {
    /// Tell the state in other units, as the sums are when b changes ([`Units::follow`]).
    pub fn retell(&mut self, factor: f64) {
        self.out *= factor;
    }

    /// The wave to send; `cutoff_hz` 0 is no filter.
    pub fn next(&mut self, wave: f64, cutoff_hz: f64, dt_s: f64) -> f64 {
        if cutoff_hz <= 0.0 {
            return wave;
        }
        let lambda_t = 2.0 * core::f64::consts::PI * cutoff_hz * dt_s;
        self.out += lambda_t / (1.0 + lambda_t) * (wave - self.out);
        if !self.out.is_finite() {
            self.out = 0.0;
        }
        self.out
    }
}

// A predicted wave (E5) is not here: extrapolated by its slope, with the account as its regulator, it
// swung between two unmatched ends and showed 17 of 132 N/m on RP-1 at 50 ms. It needs a model of the
// far side, which is model mediation.

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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

        /// E5: sum y^2 <= sum u^2 at every instant, which is |H| <= 1 from rest.
        #[test]
        fn a_filtered_wave_never_carries_more(
            waves in prop::collection::vec(-5.0f64..5.0, 1..300), cutoff_hz in 0.0f64..500.0,
        ) {
            let mut filter = LowPass::default();
            let (mut before, mut after) = (0.0, 0.0);
            for wave in waves {
                let sent = filter.next(wave, cutoff_hz, 1e-3);
                before += wave * wave;
                after += sent * sent;
                prop_assert!(after <= before * (1.0 + 1e-12));
            }
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
            let wave = decoder.demand(sample, sum, true, 30.0, dt);
            decoder.used(wave, dt);
            used_m += (2.0 / b).sqrt() * wave * dt;
        }
        assert!((used_m - moved_m).abs() < 1e-9, "{used_m} of {moved_m} m");
    }

    /// Left in the units of the old b, a filtered wave moved the port by the square root of 4 too much or little.
    #[test]
    fn issue_a_filter_kept_the_units_of_the_impedance_before() {
        let (dt, v, mut filter, mut units) = (1e-3, 0.1, LowPass::default(), Units::default());
        for tick in 0..2000 {
            let b = if tick < 1000 { 10.0 } else { 40.0 };
            filter.retell(units.follow(b, b).0);
            let sent = filter.next((b / 2.0_f64).sqrt() * v, 5.0, dt);
            if tick >= 500 {
                assert!(((2.0 / b).sqrt() * sent - v).abs() < 1e-6, "tick {tick}");
            }
        }
    }

    #[test]
    fn a_filter_passes_a_steady_wave_and_halves_the_power_at_its_cutoff() {
        let mut filter = LowPass::default();
        let last = (0..1000).fold(0.0, |_, _| filter.next(1.0, 10.0, 1e-3));
        assert!((last - 1.0).abs() < 1e-9);
        let (mut filter, mut power) = (LowPass::default(), 0.0);
        for k in 0..10_000 {
            let sent = filter.next(
                libm::sin(2.0 * core::f64::consts::PI * 10.0 * 1e-3 * f64::from(k)),
                10.0,
                1e-3,
            );
            power += sent * sent / 10_000.0;
        }
        // half of the 0.5 of a sine; implicit Euler takes a little more
        assert!((power - 0.25).abs() < 0.02, "{power}");
    }

    #[test]
    fn decoder_is_transparent_for_a_steady_stream_and_recovers_a_loss() {
        let dt = 1e-3;
        let mut decoder = Decoder::default();
        let mut integral = 0.0;
        for k in 0..100 {
            let sample = f64::from(k) * 0.01;
            integral += sample * dt;
            let wave = decoder.demand(sample, integral, true, 30.0, dt);
            assert!((wave - sample).abs() < 1e-9);
            decoder.used(wave, dt);
        }
        integral += 5.0 * dt; // five frames were lost, their integral was not
        for _ in 0..1000 {
            let wave = decoder.demand(0.0, integral, false, 30.0, dt);
            decoder.used(wave, dt);
        }
        assert!((decoder.integral_out - integral).abs() < 1e-9);
    }
}
