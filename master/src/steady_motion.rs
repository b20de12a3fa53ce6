//! Motion of a handle without the steps of its encoders, for a twin that a hand holds and for the robot that follows.
//!
//! A hand at rest lets the last count of an encoder alternate. A twin that was touched at each count would ring, and the
//! robot's servo would dissipate each step: on the simulated arm, of 30 um, both cost 0.1 to 0.2 mW, more than a slow
//! hand supplies. Position: play of one count (the reading moves it only at the ends of the play). Velocity: first-order
//! adaptive windowing, end-fit, Janabi-Sharifi, Hayward and Chen (2000): the slope over the longest window in which a
//! line meets all readings within a count. Fast motion has a window of one reading, so it is not delayed.

use palpate_transport::{AXES, Axes};

use crate::device::HandleReading;

/// Most readings of a window: at 1 kHz it delays the velocity of a slow hand by 8 ms.
const WINDOW: usize = 16;

/// Readings of one axis and what was made of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct AxisWindow {
    /// Positions before the newest, from the last one back \[m\].
    before_m: [f64; WINDOW],
    /// Middle of the play \[m\].
    position_m: f64,
    /// Velocity \[m/s\].
    velocity_mps: f64,
}

/// Steady motion of all axes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct SteadyMotion {
    axes: [AxisWindow; AXES],
    /// Time from each reading of the windows to the next \[s\].
    spans_s: [f64; WINDOW],
    /// Number of readings before the newest.
    count: usize,
}

impl SteadyMotion {
    /// Takes the next reading of a device with steps of `resolution_m` \[m\], `passed_s` \[s\] after the last one. An axis
    /// without steps keeps the reading's own motion.
    pub(crate) fn read(&mut self, reading: &HandleReading, resolution_m: &Axes, passed_s: f64) {
        self.spans_s.copy_within(..WINDOW - 1, 1);
        self.spans_s[0] = passed_s;
        let spans_s = &self.spans_s[..self.count];
        for (index, axis) in self.axes.iter_mut().enumerate() {
            let (at_m, step_m) = (reading.position_m[index], resolution_m[index]);
            if self.count == 0 || step_m <= 0.0 {
                (axis.position_m, axis.velocity_mps) = (at_m, reading.velocity_mps[index]);
            } else {
                let play_m = 0.5 * step_m;
                axis.position_m = axis.position_m.clamp(at_m - play_m, at_m + play_m);
                axis.velocity_mps = slope_mps(at_m, &axis.before_m, spans_s, step_m);
            }
            axis.before_m.copy_within(..WINDOW - 1, 1);
            axis.before_m[0] = at_m;
        }
        self.count = (self.count + 1).min(WINDOW);
    }

    /// Position \[m\].
    pub(crate) fn position_m(&self) -> Axes {
        self.axes.map(|axis| axis.position_m)
    }

    /// Velocity \[m/s\].
    pub(crate) fn velocity_mps(&self) -> Axes {
        self.axes.map(|axis| axis.velocity_mps)
    }
}

/// Slope of the longest window that ends at `at_m` and whose readings all lie within `step_m` of the line between its
/// ends \[m/s\].
fn slope_mps(at_m: f64, before_m: &[f64; WINDOW], spans_s: &[f64], step_m: f64) -> f64 {
    let (mut found_mps, mut whole_s) = (0.0, 0.0);
    for (last, span_s) in spans_s.iter().enumerate() {
        whole_s += span_s;
        let slope_mps = (at_m - before_m[last]) / whole_s;
        let mut back_s = 0.0;
        let meets = (0..last).all(|k| {
            back_s += spans_s[k];
            (at_m - slope_mps * back_s - before_m[k]).abs() <= step_m
        });
        if last > 0 && !meets {
            break;
        }
        found_mps = slope_mps;
    }
    found_mps
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEP_M: f64 = 3e-5;
    const TICK_S: f64 = 1e-3;

    fn read(steady: &mut SteadyMotion, z_m: f64, step_m: f64) -> (f64, f64) {
        let reading = HandleReading {
            position_m: [0.0, 0.0, z_m, 0.0],
            velocity_mps: [0.0, 0.0, 0.7, 0.0],
            ..HandleReading::default()
        };
        steady.read(&reading, &[step_m; AXES], TICK_S);
        (steady.position_m()[2], steady.velocity_mps()[2])
    }

    #[test]
    fn resting_hand_between_two_counts_moves_nothing() {
        let mut steady = SteadyMotion::default();
        let places_m: Vec<_> = (0..200)
            .map(|tick| read(&mut steady, STEP_M * f64::from(tick / 4 % 2), STEP_M))
            .collect();
        for pair in places_m[40..].windows(2) {
            assert_eq!(pair[0].0, pair[1].0);
            assert!(pair[1].1.abs() < 2.5e-3, "{pair:?}");
        }
    }

    #[test]
    fn velocity_is_that_of_the_hand_at_any_speed() {
        for speed_mps in [0.002, 0.02, 0.2] {
            let mut steady = SteadyMotion::default();
            let mut found = (0.0, 0.0);
            for tick in 0..100 {
                let z_m = speed_mps * TICK_S * f64::from(tick);
                found = read(&mut steady, (z_m / STEP_M).round() * STEP_M, STEP_M);
            }
            let z_m = speed_mps * TICK_S * 99.0;
            assert!(
                (found.0 - z_m).abs() <= 1.01 * STEP_M,
                "{speed_mps}: {found:?}"
            );
            assert!(
                (found.1 - speed_mps).abs()
                    <= 2.0 * STEP_M / (16.0 * TICK_S).min(STEP_M / speed_mps * 4.0),
                "{found:?}"
            );
        }
    }

    #[test]
    fn fast_start_is_not_delayed() {
        let mut steady = SteadyMotion::default();
        for _ in 0..50 {
            read(&mut steady, 0.0, STEP_M);
        }
        let (_, mps) = read(&mut steady, 2e-4, STEP_M);
        assert!((mps - 0.2).abs() < 1e-9, "{mps}");
    }

    #[test]
    fn device_without_counts_keeps_its_own_motion() {
        let mut steady = SteadyMotion::default();
        read(&mut steady, 0.0, 0.0);
        assert_eq!(read(&mut steady, 0.01, 0.0), (0.01, 0.7));
    }

    proptest! {
        /// The position is never farther than half a count from the reading, and both are finite.
        #[test]
        fn position_stays_within_half_a_count(leaps in proptest::collection::vec(-20_i32..20, 1..100)) {
            let (mut steady, mut count) = (SteadyMotion::default(), 0);
            for leap in leaps {
                count += leap;
                let z_m = STEP_M * f64::from(count);
                let (at_m, mps) = read(&mut steady, z_m, STEP_M);
                prop_assert!((at_m - z_m).abs() <= 0.5 * STEP_M * (1.0 + 1e-9));
                prop_assert!(mps.is_finite());
            }
        }
    }
}
