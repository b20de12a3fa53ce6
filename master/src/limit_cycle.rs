//! Detector of limit cycles: sustained vibration of the force on the hand, or more energy returned than was stored.
//!
//! Source: ours. Two signs, each judged once a block of 63 ms:
//!
//! - *vibration*: the force between 8 and 200 Hz, all axes together, has a root mean square above a limit in each of
//!   eight blocks in succession (0.5 s). Palpation is slower; a tap fills two or three blocks. Sliding, a hand faster than
//!   0.1 m/s, an instrument and a tissue that is declared active may vibrate, so they do not count. Neither does a
//!   vibration that the hand itself drives: it puts energy in, in that band, over the eight blocks. A limit cycle is
//!   driven by the device, as the arm that holds it dissipates.
//! - *energy*: in four blocks (252 ms) the hand got more than was stored and in flight at their beginning.
//!
//! The band is a high-pass and a low-pass of second order (Butterworth), as trapezoidal state-variable filters with
//! states s1 and s2: `v1 = (s1 + g (u - s2)) / (1 + g (g + k))`, `v2 = s2 + g v1`, `s = 2 v - s`, with
//! `g = tan(pi f T)`, `k = sqrt 2`; the low-pass is v2, the high-pass `u - k v1 - v2`.

use core::f64::consts::SQRT_2;

use palpate_transport::{AXES, Axes};

/// `tan(pi f T)` of the high-pass at 8 Hz, for T = 1 ms.
const HIGH_PASS_G: f64 = 0.025_138_034_303_967;

/// `tan(pi f T)` of the low-pass at 200 Hz, for T = 1 ms.
const LOW_PASS_G: f64 = 0.726_542_528_005_361;

/// Length of a block \[periods\]: half a cycle of the lowest frequency, so that every block has its mean square.
const BLOCK_PERIODS: u32 = 63;

/// Successive blocks above the limit that make a limit cycle.
const VIBRATING_BLOCKS: u32 = 8;

/// Blocks over which returned energy is judged.
const ENERGY_BLOCKS: usize = 4;

/// Returned energy that does not count \[J\]: 0.3 N over 0.3 mm, which a hand hardly feels. Smaller sums are left to the
/// energy balance of the hand.
const RETURNED_J_MIN: f64 = 1e-4;

/// Distance along the surface over which a tool slides in the time of a limit cycle \[m\].
const SLIDE_M: f64 = 5e-3;

/// Distance between the mean positions of two successive blocks at a speed of the hand of 0.1 m/s \[m\].
const FAST_M: f64 = 6.3e-3;

/// Time for which the force stays faded after a limit cycle \[periods\].
const REST_PERIODS: u32 = 500;

/// State of the hand after a tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct HandSample {
    /// Force on the hand \[N\].
    pub force_n: Axes,
    /// Position of the handle \[m\].
    pub position_m: Axes,
    /// Periods since the last tick, 1 to 20.
    pub periods: u32,
    /// True if vibration is expected: an instrument works, or the tissue is declared active.
    pub may_vibrate: bool,
    /// Energy that the hand may still get, stored and in flight \[J\]; none if the method is not limited by energy.
    pub recoverable_j: Option<f64>,
}

/// Detector of limit cycles at the hand.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LimitCycleDetector {
    bands: [[SecondOrder; 2]; AXES],
    motion_bands: [[SecondOrder; 2]; AXES],
    /// Force between 8 and 200 Hz in the last period \[N\].
    band_n: Axes,
    /// Position of the handle in the last sample \[m\].
    last_m: Option<Axes>,
    block: Block,
    /// Work of the hand on the vibration in the last blocks, oldest first \[J\].
    work_j: [f64; VIBRATING_BLOCKS as usize],
    /// Successive blocks above the limit, and the mean position of the first of them \[m\].
    vibrating_blocks: u32,
    vibrating_from_m: [f64; 3],
    /// Mean position of the last block \[m\].
    last_place_m: [f64; 3],
    /// Energy that the hand could still get at the ends of the last blocks, oldest first \[J\].
    recoverable_j: [f64; ENERGY_BLOCKS],
    /// Periods for which the force stays faded.
    rest: u32,
}

/// Sums over the present block.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Block {
    periods: u32,
    squares_n2: f64,
    /// Work of the hand on the vibration \[J\].
    work_j: f64,
    /// Sum of the positions x, y and z \[m\].
    place_m: [f64; 3],
    may_vibrate: bool,
}

impl LimitCycleDetector {
    /// True if the force on the hand is to fade, during a limit cycle and half a second after it.
    pub(crate) fn is_active(&self) -> bool {
        self.rest > 0
    }

    /// Takes the state of the hand after a tick; a vibration above `limit_n` is a limit cycle \[N\].
    pub(crate) fn step(&mut self, limit_n: f64, sample: &HandSample) {
        let (periods, last_m) = (sample.periods.max(1), self.last_m);
        let from_m = last_m.unwrap_or(sample.position_m);
        let moved_m =
            core::array::from_fn(|a| (sample.position_m[a] - from_m[a]) / f64::from(periods));
        self.last_m = Some(sample.position_m);
        for _ in 0..periods {
            self.rest = self.rest.saturating_sub(1);
            self.add(sample, &moved_m);
            if self.block.periods == BLOCK_PERIODS {
                let vibrates = self.vibrates(limit_n);
                if self.returns_energy(sample.recoverable_j) || vibrates {
                    (self.rest, self.vibrating_blocks) = (REST_PERIODS, 0);
                }
                self.block = Block::default();
            }
        }
    }

    /// Adds one period to the block, in which the handle moved by `moved_m`.
    fn add(&mut self, sample: &HandSample, moved_m: &Axes) {
        let block = &mut self.block;
        block.periods += 1;
        block.may_vibrate |= sample.may_vibrate;
        for (sum_m, at_m) in block.place_m.iter_mut().zip(sample.position_m) {
            *sum_m += at_m;
        }
        for (axis, band_n) in self.band_n.iter_mut().enumerate() {
            // the force of the last sample was held while the handle moved
            let band_m = band_pass(&mut self.motion_bands[axis], moved_m[axis]);
            block.work_j += *band_n * band_m;
            *band_n = band_pass(&mut self.bands[axis], sample.force_n[axis]);
            block.squares_n2 += *band_n * *band_n;
        }
    }

    /// Judges the vibration at the end of a block.
    fn vibrates(&mut self, limit_n: f64) -> bool {
        let block = &self.block;
        let count = f64::from(block.periods);
        let place_m = block.place_m.map(|sum_m| sum_m / count);
        self.work_j.rotate_left(1);
        self.work_j[VIBRATING_BLOCKS as usize - 1] = block.work_j;
        let last_m = core::mem::replace(&mut self.last_place_m, place_m);
        let distance_m = |from_m: &[f64; 3], axes: usize| {
            let squares = (0..axes).map(|a| (place_m[a] - from_m[a]) * (place_m[a] - from_m[a]));
            libm::sqrt(squares.sum())
        };
        let is_quiet = block.squares_n2 <= limit_n * limit_n * count;
        if block.may_vibrate || is_quiet || distance_m(&last_m, 3) > FAST_M {
            self.vibrating_blocks = 0;
            return false;
        }
        if self.vibrating_blocks == 0 || distance_m(&self.vibrating_from_m, 2) > SLIDE_M {
            (self.vibrating_blocks, self.vibrating_from_m) = (0, place_m);
        }
        self.vibrating_blocks += 1;
        self.vibrating_blocks >= VIBRATING_BLOCKS && self.work_j.iter().sum::<f64>() <= 0.0
    }

    /// Judges the energy that the hand got in the last blocks.
    fn returns_energy(&mut self, recoverable_j: Option<f64>) -> bool {
        let now_j = recoverable_j.unwrap_or(f64::INFINITY);
        let [before_j, ..] = self.recoverable_j;
        self.recoverable_j.rotate_left(1);
        self.recoverable_j[ENERGY_BLOCKS - 1] = now_j;
        before_j.is_finite() && before_j - now_j > before_j.max(0.0) + RETURNED_J_MIN
    }
}

/// Advances a high-pass and a low-pass by one period with the input; returns the band between them.
fn band_pass(filters: &mut [SecondOrder; 2], input: f64) -> f64 {
    let [high, low] = filters;
    low.low_pass(LOW_PASS_G, high.high_pass(HIGH_PASS_G, input))
}

/// State-variable filter of second order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct SecondOrder {
    s1: f64,
    s2: f64,
}

impl SecondOrder {
    /// Advances by one period with the input u; returns v1 and v2.
    fn step(&mut self, g: f64, u: f64) -> (f64, f64) {
        let v1 = (self.s1 + g * (u - self.s2)) / (1.0 + g * (g + SQRT_2));
        let v2 = self.s2 + g * v1;
        (self.s1, self.s2) = (2.0 * v1 - self.s1, 2.0 * v2 - self.s2);
        (v1, v2)
    }

    fn low_pass(&mut self, g: f64, u: f64) -> f64 {
        self.step(g, u).1
    }

    fn high_pass(&mut self, g: f64, u: f64) -> f64 {
        let (v1, v2) = self.step(g, u);
        u - SQRT_2 * v1 - v2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT_N: f64 = 0.3;

    /// Time until the detector acts on a force on axis z \[ms\]; none within 3 s.
    fn detected(force_n: impl Fn(f64) -> f64, sample: impl Fn(f64) -> HandSample) -> Option<u32> {
        let mut detector = LimitCycleDetector::default();
        (0..3000).find(|&tick| {
            let at_s = f64::from(tick) * 1e-3;
            let given = HandSample {
                force_n: [0.0, 0.0, force_n(at_s), 0.0],
                periods: 1,
                ..sample(at_s)
            };
            detector.step(LIMIT_N, &given);
            detector.is_active()
        })
    }

    fn at_rest(_at_s: f64) -> HandSample {
        HandSample::default()
    }

    fn sine(hz: f64, rms_n: f64) -> impl Fn(f64) -> f64 {
        move |at_s| 2.0 + SQRT_2 * rms_n * (core::f64::consts::TAU * hz * at_s).sin()
    }

    /// Compares with the printed magnitudes of a Butterworth filter, `1 / sqrt(1 + (f0 / f)^4)` for a high-pass, with
    /// the frequencies as the bilinear transform warps them.
    #[test]
    fn band_passes_8_to_200_hz() {
        let warped = |hz: f64| (core::f64::consts::PI * hz * 1e-3).tan();
        for hz in [1.0, 3.0, 8.0, 14.0, 60.0, 200.0, 400.0] {
            let (mut high, mut low) = (SecondOrder::default(), SecondOrder::default());
            let (mut squares, count) = (0.0, 4000);
            for tick in 0..count + 2000 {
                let input = (core::f64::consts::TAU * hz * f64::from(tick) * 1e-3).sin();
                let band = low.low_pass(LOW_PASS_G, high.high_pass(HIGH_PASS_G, input));
                squares += if tick < 2000 { 0.0 } else { band * band };
            }
            let high_ratio = warped(8.0) / warped(hz);
            let low_ratio = warped(hz) / warped(200.0);
            let power = 0.5 / ((1.0 + high_ratio.powi(4)) * (1.0 + low_ratio.powi(4)));
            let found = squares / f64::from(count);
            assert!(
                (found / power - 1.0).abs() < 0.01,
                "{hz} Hz: {found} {power}"
            );
        }
    }

    #[test]
    fn sustained_vibration_is_detected_in_about_half_a_second() {
        for hz in [12.0, 14.0, 40.0, 100.0, 150.0] {
            let after_ms = detected(sine(hz, 0.5), at_rest);
            assert!(
                after_ms.is_some_and(|ms| (503..700).contains(&ms)),
                "{hz} Hz"
            );
            assert_eq!(detected(sine(hz, 0.2), at_rest), None, "{hz} Hz");
        }
    }

    #[test]
    fn palpation_taps_and_short_bursts_are_no_limit_cycles() {
        assert_eq!(detected(sine(2.0, 2.0), at_rest), None);
        // 5 N within 30 ms, three times a second
        let tap = |at_s: f64| {
            let since_s = at_s % 0.33;
            if since_s < 0.03 { 5.0 } else { 0.0 }
        };
        assert_eq!(detected(tap, at_rest), None);
        let burst = |at_s| {
            if at_s < 0.4 {
                sine(14.0, 1.0)(at_s)
            } else {
                2.0
            }
        };
        assert_eq!(detected(burst, at_rest), None);
    }

    #[test]
    fn sliding_tool_instrument_and_active_tissue_are_not_judged() {
        let slides = |at_s: f64| HandSample {
            position_m: [0.02 * at_s, 0.0, 0.0, 0.0],
            ..HandSample::default()
        };
        assert_eq!(detected(sine(14.0, 1.0), slides), None);
        let moves_at = |mps: f64| {
            move |at_s: f64| HandSample {
                position_m: [0.0, 0.0, mps * at_s, 0.0],
                ..HandSample::default()
            }
        };
        assert_eq!(detected(sine(14.0, 1.0), moves_at(0.11)), None);
        assert!(detected(sine(14.0, 1.0), moves_at(0.09)).is_some());
        let works = |_| HandSample {
            may_vibrate: true,
            ..HandSample::default()
        };
        assert_eq!(detected(sine(14.0, 1.0), works), None);
        // a handle that vibrates in one place does not slide
        let shakes = |at_s: f64| HandSample {
            position_m: [3e-3 * sine(14.0, 1.0)(at_s), 0.0, 0.0, 0.0],
            ..HandSample::default()
        };
        assert!(detected(sine(14.0, 1.0), shakes).is_some());
    }

    /// True if the detector acts on a handle that vibrates on x at 10 Hz against a spring with this damping
    /// \[N s/m\]; negative damping gives energy.
    fn is_detected_with_damping(nspm: f64) -> bool {
        let mut detector = LimitCycleDetector::default();
        (0..3000).any(|tick| {
            let (sin, cos) = (core::f64::consts::TAU * 10e-3 * f64::from(tick)).sin_cos();
            let (at_m, velocity_mps) = (2e-3 * sin, 0.04 * core::f64::consts::PI * cos);
            let sample = HandSample {
                force_n: [500.0 * at_m + nspm * velocity_mps, 0.0, 0.0, 0.0],
                position_m: [at_m, 0.0, 0.0, 0.0],
                periods: 1,
                ..HandSample::default()
            };
            detector.step(LIMIT_N, &sample);
            detector.is_active()
        })
    }

    #[test]
    fn issue_19_hand_that_shook_a_spring_counted_as_a_limit_cycle() {
        assert!(!is_detected_with_damping(2.0));
        assert!(is_detected_with_damping(-2.0));
    }

    #[test]
    fn more_energy_than_was_stored_is_detected() {
        let holds = |start_j: f64, rate_w: f64| {
            move |at_s: f64| HandSample {
                recoverable_j: Some(start_j - rate_w * at_s),
                ..HandSample::default()
            }
        };
        let steady = |_| 2.0;
        // a spring of 10 mJ that returns 8 mJ is no limit cycle; the same rate beyond 10 mJ is one
        let spring = |at_s: f64| holds(0.01, 0.04)(at_s.min(0.2));
        assert_eq!(detected(steady, spring), None);
        assert!(detected(steady, holds(0.01, 0.04)).is_some());
    }

    #[test]
    fn force_returns_half_a_second_after_the_vibration() {
        let mut detector = LimitCycleDetector::default();
        let mut active = 0;
        for tick in 0..3000 {
            let at_s = f64::from(tick) * 1e-3;
            let force_n = if detector.is_active() || at_s > 1.0 {
                0.0
            } else {
                sine(14.0, 1.0)(at_s)
            };
            let sample = HandSample {
                force_n: [0.0, 0.0, force_n, 0.0],
                periods: 1,
                ..HandSample::default()
            };
            detector.step(LIMIT_N, &sample);
            active += u32::from(detector.is_active());
        }
        assert!((500..=501).contains(&active), "{active} ms");
    }
}
