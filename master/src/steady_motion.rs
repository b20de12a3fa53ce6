//! Motion of a handle without the steps of its encoders, for a twin that a hand holds and for the robot that follows.
//!
//! A hand at rest lets the last count of an encoder alternate. A twin that was touched at each count would ring, and the
//! robot's servo would dissipate each step: on the simulated arm, of 30 um, both cost 0.1 to 0.2 mW, more than a slow
//! hand supplies. Position: play of one count (the reading moves it only at the ends of the play). Velocity: first-order
//! adaptive windowing, end-fit (Janabi-Sharifi 2000): the slope over the longest window in which a
//! line meets all readings within a count. Fast motion has a window of one reading, so it is not delayed.

use palpate_transport::coupling::PRESLIDING_M;
use palpate_transport::{AXES, Axes, Time};
use palpate_twin::Instrument;

use crate::device::HandleReading;

/// Most readings of a window: at 1 kHz it delays the velocity of a slow hand by 8 ms.
const WINDOW: usize = 16;

/// Longest time between two readings of a window \[s\]; after a longer one a new window begins.
const SPAN_S_MAX: f64 = 0.02;

/// Time over which the handle's velocity is smoothed for the friction that fills the tank \[s\]: one step of a
/// 0.03 mm encoder must not make the force rattle in a resting hand.
const FRICTION_SMOOTH_S: f64 = 0.015;

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
pub struct SteadyMotion {
    axes: [AxisWindow; AXES],
    /// Time from each reading of the windows to the next \[s\].
    spans_s: [f64; WINDOW],
    /// Number of readings before the newest.
    count: usize,
    last_read: Option<Time>,
}

impl SteadyMotion {
    /// Takes the next reading at `now`, of a device with steps of `resolution_m` \[m\]. An axis without steps keeps the
    /// reading's own motion. A reading that is not plausible stops the motion.
    pub fn read(&mut self, reading: &HandleReading, resolution_m: &Axes, now: Time) {
        if !reading.is_plausible() {
            self.count = 0;
            self.axes
                .iter_mut()
                .for_each(|axis| axis.velocity_mps = 0.0);
            return;
        }
        let span_s = self.last_read.map_or(0.0, |last| (now - last).s());
        self.last_read = Some(now);
        if !(f64::MIN_POSITIVE..=SPAN_S_MAX).contains(&span_s) {
            self.count = 0;
        }
        self.spans_s.copy_within(..WINDOW - 1, 1);
        self.spans_s[0] = span_s;
        let spans_s = &self.spans_s[..self.count];
        for (index, axis) in self.axes.iter_mut().enumerate() {
            let (at_m, step_m) = (reading.position_m[index], resolution_m[index]);
            // not-a-number counts as no steps
            if self.count > 0 && step_m > 0.0 {
                let play_m = 0.5 * step_m;
                axis.position_m = axis.position_m.clamp(at_m - play_m, at_m + play_m);
                axis.velocity_mps = slope_mps(at_m, &axis.before_m, spans_s, step_m);
            } else {
                (axis.position_m, axis.velocity_mps) = (at_m, reading.velocity_mps[index]);
            }
            axis.before_m.copy_within(..WINDOW - 1, 1);
            axis.before_m[0] = at_m;
        }
        self.count = (self.count + 1).min(WINDOW);
    }

    /// Position \[m\].
    fn position_m(&self) -> Axes {
        self.axes.map(|axis| axis.position_m)
    }

    /// Velocity \[m/s\].
    fn velocity_mps(&self) -> Axes {
        self.axes.map(|axis| axis.velocity_mps)
    }

    /// The reading with this motion. An instrument acts where the device is, so its reading is returned as it is.
    #[must_use]
    pub fn of(&self, reading: &HandleReading) -> HandleReading {
        if reading.instrument == Instrument::Blunt {
            HandleReading {
                position_m: self.position_m(),
                velocity_mps: self.velocity_mps(),
                ..*reading
            }
        } else {
            *reading
        }
    }
}

/// Motion of the handle as twin, robot and frictions use it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct HandMotion {
    pub(crate) steady: SteadyMotion,
    /// Dry friction against the motion, by axis: `HandleAxis::sliding`.
    pub(crate) sliding: Axes,
    /// Velocity, smoothed for the friction that fills a tank and for the damping that repays a negative level \[m/s\].
    pub(crate) smoothed_mps: Axes,
}

impl HandMotion {
    /// Smooths a velocity \[m/s\] of an axis that lasted for `passed_s` \[s\].
    pub(crate) fn smooth(&mut self, axis: usize, moved_mps: f64, passed_s: f64) {
        let smoothing = (passed_s / FRICTION_SMOOTH_S).min(1.0);
        self.smoothed_mps[axis] += smoothing * (moved_mps - self.smoothed_mps[axis]);
    }

    /// Takes the next reading, as [`SteadyMotion::read`]. There is no dry friction without a hand, after a release of the
    /// force, and on an instrument, which it would displace.
    pub(crate) fn read(&mut self, reading: &HandleReading, resolution_m: &Axes, now: Time) {
        let (first, before_m) = (self.steady.last_read.is_none(), self.steady.position_m());
        self.steady.read(reading, resolution_m, now);
        let blunt = reading.instrument == Instrument::Blunt;
        let holds = reading.present && reading.force_released_m.is_none();
        if first || !blunt || !holds {
            self.sliding = [0.0; AXES];
            return;
        }
        let moved_m = self.steady.position_m().into_iter().zip(before_m);
        for (sliding, (now_m, before_m)) in self.sliding.iter_mut().zip(moved_m) {
            *sliding = (*sliding + (now_m - before_m) / PRESLIDING_M).clamp(-1.0, 1.0);
        }
    }
}

/// Velocity that is certain to last \[m/s\]: the lesser of the velocity and the smoothed one, if they agree in direction.
/// A step of a noisy encoder is followed by a step back, in which a damping force returns energy.
pub(crate) fn steady_mps(velocity_mps: f64, smoothed_mps: f64) -> f64 {
    if velocity_mps * smoothed_mps <= 0.0 {
        return 0.0;
    }
    velocity_mps.signum() * velocity_mps.abs().min(smoothed_mps.abs())
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
        if !meets {
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

    /// A device of one moving axis that is read at 1 kHz.
    #[derive(Default)]
    struct Device {
        steady: SteadyMotion,
        tick: i64,
    }

    impl Device {
        fn read(&mut self, z_m: f64, step_m: f64) -> (f64, f64) {
            let reading = HandleReading {
                position_m: [0.0, 0.0, z_m, 0.0],
                velocity_mps: [0.0, 0.0, 0.7, 0.0],
                ..HandleReading::default()
            };
            self.tick += 1;
            let now = Time(self.tick * 1_000_000);
            self.steady.read(&reading, &[step_m; AXES], now);
            (self.steady.position_m()[2], self.steady.velocity_mps()[2])
        }
    }

    #[test]
    fn alternating_count_moves_no_position_and_little_velocity() {
        let mut device = Device::default();
        let found: Vec<_> = (0..200)
            .map(|tick| device.read(STEP_M * f64::from(tick / 4 % 2), STEP_M))
            .collect();
        for pair in found[40..].windows(2) {
            assert_eq!(pair[0].0, pair[1].0);
            // a difference of two readings is 30 mm/s
            assert!(pair[1].1.abs() < 2.5e-3, "{pair:?}");
        }
    }

    #[test]
    fn velocity_is_that_of_the_hand_at_any_speed() {
        for speed_mps in [0.005, 0.02, 0.2] {
            let mut device = Device::default();
            let (mut at_m, mut mean_mps) = (0.0, 0.0);
            for tick in 0..200 {
                let z_m = speed_mps * TICK_S * f64::from(tick);
                let (found_m, mps) = device.read((z_m / STEP_M).round() * STEP_M, STEP_M);
                at_m = found_m;
                mean_mps += if tick < 100 { 0.0 } else { mps / 100.0 };
            }
            let z_m = speed_mps * TICK_S * 199.0;
            assert!((at_m - z_m).abs() <= 1.01 * STEP_M, "{speed_mps}: {at_m}");
            let share = mean_mps / speed_mps;
            assert!((share - 1.0).abs() < 0.1, "{speed_mps}: {share}");
        }
    }

    #[test]
    fn fast_start_is_not_delayed() {
        let mut device = Device::default();
        for _ in 0..50 {
            device.read(0.0, STEP_M);
        }
        let (_, mps) = device.read(2e-4, STEP_M);
        assert!((mps - 0.2).abs() < 1e-9, "{mps}");
    }

    #[test]
    fn device_without_counts_keeps_its_own_motion() {
        for step_m in [0.0, f64::NAN] {
            let mut device = Device::default();
            device.read(0.0, step_m);
            assert_eq!(device.read(0.01, step_m), (0.01, 0.7));
        }
    }

    #[test]
    fn implausible_reading_stops_and_restarts_the_window() {
        let mut device = Device::default();
        device.read(f64::NAN, STEP_M);
        // the first usable reading is no leap from 0
        assert_eq!(device.read(0.03, STEP_M), (0.03, 0.7));
        for tick in 1..50 {
            device.read(0.03 + 2e-4 * f64::from(tick), STEP_M);
        }
        let (before_m, _) = device.read(0.04, STEP_M);
        assert_eq!(device.read(f64::NAN, STEP_M), (before_m, 0.0));
        assert_eq!(device.read(0.05, STEP_M), (0.05, 0.7));
    }

    #[test]
    fn dry_friction_follows_the_motion_of_a_blunt_tool_in_a_hand() {
        let mut hand = HandMotion::default();
        let mut read = |z_mm: f64, present: bool, instrument: Instrument, tick: i64| {
            let reading = HandleReading {
                position_m: [0.0, 0.0, z_mm * 1e-3, 0.0],
                present,
                instrument,
                ..HandleReading::default()
            };
            hand.read(&reading, &[0.0; AXES], Time(tick * 1_000_000));
            hand.sliding[2]
        };
        let blunt = Instrument::Blunt;
        // the first reading is no motion
        assert_eq!(read(20.0, true, blunt, 1), 0.0);
        assert!((read(20.5, true, blunt, 2) - 0.5).abs() < 1e-9);
        assert_eq!(read(25.0, true, blunt, 3), 1.0);
        assert!((read(24.0, true, blunt, 4)).abs() < 1e-9);
        assert_eq!(read(20.0, true, blunt, 5), -1.0);
        assert_eq!(read(19.0, false, blunt, 6), 0.0);
        assert_eq!(read(15.0, true, blunt, 7), -1.0);
        assert_eq!(read(14.0, true, Instrument::Curette, 8), 0.0);
    }

    proptest! {
        /// The position is never farther than half a count from the reading, and both are finite.
        #[test]
        fn position_stays_within_half_a_count(leaps in proptest::collection::vec(-20_i32..20, 1..100)) {
            let (mut device, mut count) = (Device::default(), 0);
            for leap in leaps {
                count += leap;
                let z_m = STEP_M * f64::from(count);
                let (at_m, mps) = device.read(z_m, STEP_M);
                prop_assert!((at_m - z_m).abs() <= 0.5 * STEP_M * (1.0 + 1e-9));
                prop_assert!(mps.is_finite());
            }
        }
    }
}
