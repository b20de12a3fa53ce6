//! Units of the waves (teleop E2), and a first-order low-pass for sent waves (E5), received waves and other signals.

/// Impedances of the two integrals of an end: of the outgoing and of the incoming wave (teleop E2, the
/// epochs of b).
///
/// A wave's integral is motion in units that b sets: `x = sqrt(2/b) U` where no force acts. So when b changes, the
/// sender rescales its whole sum to the new b, and the receiver rescales the sum that it used so far. Waves that were
/// lost or late before the change then still give the same motion. Without this they would give `sqrt(b_old / b_new)`
/// times that motion.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct WaveUnits {
    sent_nspm: f64,
    received_nspm: f64,
}

impl WaveUnits {
    /// Factors by which the sums of the sent and of the used wave change with b \[N s/m\]; 1 where it did
    /// not change, and at first.
    pub(super) fn follow(&mut self, sent_nspm: f64, received_nspm: f64) -> (f64, f64) {
        let factors = (
            rescale_factor(self.sent_nspm, sent_nspm),
            rescale_factor(self.received_nspm, received_nspm),
        );
        (self.sent_nspm, self.received_nspm) = (sent_nspm, received_nspm);
        factors
    }
}

fn rescale_factor(from_nspm: f64, to_nspm: f64) -> f64 {
    let known = from_nspm > 0.0 && to_nspm > 0.0 && from_nspm != to_nspm;
    if known {
        (to_nspm / from_nspm).sqrt()
    } else {
        1.0
    }
}

/// First-order low-pass (E5): `H = lambda / (s + lambda)`, by implicit Euler. The text below is for an outgoing wave.
///
/// Each output is a mean of the input and the output before, so the filtered wave never carries more
/// energy than the wave did (test below). The difference stays in the tank of this end. At low
/// frequency the integral of the wave, and with it the position, passes unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct LowPass {
    out: f64,
}

impl LowPass {
    /// Filter in the steady state of a wave.
    pub(super) fn from_wave(wave: f64) -> Self {
        Self { out: wave }
    }

    /// Rescales the state, as the sums are when b changes ([`WaveUnits::follow`]).
    pub(super) fn rescale(&mut self, factor: f64) {
        self.out *= factor;
    }

    /// Filtered wave; `cutoff_hz` 0 is no filter.
    pub(super) fn next(&mut self, wave: f64, cutoff_hz: f64, dt_s: f64) -> f64 {
        if cutoff_hz <= 0.0 {
            return wave;
        }
        self.next_after(wave, time_of_cutoff_s(cutoff_hz), dt_s)
    }

    /// Filtered wave, with a time constant \[s\]; 0 passes the wave.
    pub(super) fn next_after(&mut self, wave: f64, time_s: f64, dt_s: f64) -> f64 {
        self.out = smoothed(self.out, wave, time_s, dt_s);
        if !self.out.is_finite() {
            self.out = 0.0;
        }
        self.out
    }
}

/// Time constant of a first-order low-pass with a cutoff above 0 \[s\].
pub(super) fn time_of_cutoff_s(cutoff_hz: f64) -> f64 {
    0.5 / (core::f64::consts::PI * cutoff_hz)
}

/// Next output of a first-order low-pass by implicit Euler, from its last one and an input; with a time constant of 0 the
/// input itself.
pub(super) fn smoothed(last: f64, input: f64, time_s: f64, dt_s: f64) -> f64 {
    if time_s > 0.0 {
        last + dt_s / (time_s + dt_s) * (input - last)
    } else {
        input
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// E5: sum y^2 <= sum u^2 at every instant, which is |H| <= 1 from rest.
        #[test]
        fn filtered_wave_never_carries_more_energy(
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
    }

    /// In the units of the old b, a filtered wave moved the port by a factor of two, the root of 4, too much or too little.
    #[test]
    fn issue_filter_kept_the_units_of_the_former_impedance() {
        let (dt, v, mut filter, mut units) = (1e-3, 0.1, LowPass::default(), WaveUnits::default());
        for tick in 0..2000 {
            let b = if tick < 1000 { 10.0 } else { 40.0 };
            filter.rescale(units.follow(b, b).0);
            let sent = filter.next((b / 2.0_f64).sqrt() * v, 5.0, dt);
            if tick >= 500 {
                assert!(((2.0 / b).sqrt() * sent - v).abs() < 1e-6, "tick {tick}");
            }
        }
    }

    #[test]
    fn filter_passes_a_steady_wave_and_halves_the_power_at_cutoff() {
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
}
