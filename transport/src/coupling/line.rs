//! The units and the filter of the wave that an end sends (teleop E2, E5).

/// Impedances that the two integrals of an end are told in: of the wave that it sends and of the one that
/// comes (teleop E2, the epochs of b).
///
/// A wave's integral is motion in units that b sets: `x = sqrt(2/b) U` where no force acts. So when b
/// changes, the sender tells all of its sum anew in the new b, and the receiver takes what it used so far
/// there as well. What was lost or late before the change is then still worth the same motion; left in
/// the old units, a sum of U would become `sqrt(b_new / b_old)` of it, at once.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Units {
    sent_nspm: f64,
    came_nspm: f64,
}

impl Units {
    /// Factors by which the sums of the sent and of the used wave change with b \[N s/m\]; 1 each where it
    /// did not change, and at first.
    pub(super) fn follow(&mut self, sent_nspm: f64, came_nspm: f64) -> (f64, f64) {
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

/// A first-order low-pass for a wave that is sent (E5): `H = lambda / (s + lambda)`, by implicit Euler.
///
/// Each output is a mean of the input and the output before, so the filtered wave never carries more
/// energy than the wave did (test below); what it takes stays in the account of this end. At low
/// frequency the integral of the wave, and with it the position, passes whole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct LowPass {
    out: f64,
}

impl LowPass {
    /// Tell the state in other units, as the sums are when b changes ([`Units::follow`]).
    pub(super) fn retell(&mut self, factor: f64) {
        self.out *= factor;
    }

    /// The wave to send; `cutoff_hz` 0 is no filter.
    pub(super) fn next(&mut self, wave: f64, cutoff_hz: f64, dt_s: f64) -> f64 {
        if cutoff_hz <= 0.0 {
            return wave;
        }
        self.out = smoothed(self.out, wave, cutoff_hz, dt_s);
        if !self.out.is_finite() {
            self.out = 0.0;
        }
        self.out
    }
}

/// The next output of a first-order low-pass by implicit Euler, from its last one and an input.
pub(super) fn smoothed(last: f64, input: f64, cutoff_hz: f64, dt_s: f64) -> f64 {
    let lambda_t = 2.0 * core::f64::consts::PI * cutoff_hz * dt_s;
    last + lambda_t / (1.0 + lambda_t) * (input - last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
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
}
