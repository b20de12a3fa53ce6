//! Jitter of the newest frame's age, and the filter of received waves that follows from it.
//!
//! Source: ours, with the filter of teleop E5. Frames that arrive irregularly turn a smooth wave into steps, and an
//! impedance b turns these steps into force. Besides, a wave that a robot or a hand reflects travels around the channel
//! as vibration at multiples of `1 / T`, with the round trip T. A low-pass at both decoders removes both. Its time
//! constant is a small part of the delay that a hand feels anyway.

/// Time over which mean and jitter are averaged \[s\].
const MEAN_S: f64 = 0.5;

/// Largest deviation that counts \[s\]: a clock that is set is no jitter.
const DEVIATION_S_MAX: f64 = 0.1;

/// Time without a frame after which the age does not count \[s\]: an outage is no jitter.
const HELD_S_MAX: f64 = 0.1;

/// Jitter that needs no filter \[s\]: clocks that drift apart, single lost frames.
const DEVIATION_S_MIN: f64 = 1e-3;

/// Time constant over the mean deviation of the age. Of 1 669 sessions of the trial `adversary` with waves, 10 had limit
/// cycles with neither part of the time constant, and none with both.
const DEVIATION_RATIO: f64 = 5.0;

/// Time constant over the round trip. Of 26 sessions that have limit cycles without a filter, 5 keep them without this
/// part.
const ROUND_TRIP_RATIO: f64 = 0.03;

/// Jitter from which that part counts in full \[s\]: waves of regular frames pass as they are.
const JITTER_FULL_S: f64 = 0.3e-3;

/// Mean absolute deviation of the newest frame's age from its mean.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct AgeJitter {
    /// Transit time of the newest frame minus that of the first one \[s\].
    transit_s: f64,
    /// Mean age, likewise \[s\].
    mean_s: f64,
    deviation_s: f64,
}

impl AgeJitter {
    /// Records a tick. `transit_change_s` is the transit time of a frame that arrived in it, less that of the frame
    /// before; 0 if none arrived. `held_s` is the time since the newest frame arrived.
    pub(super) fn record(&mut self, transit_change_s: f64, held_s: f64, dt_s: f64) {
        self.transit_s += transit_change_s;
        if held_s > HELD_S_MAX {
            return;
        }
        let late_s = self.transit_s + held_s - self.mean_s;
        let share = (dt_s / MEAN_S).clamp(0.0, 1.0);
        self.mean_s += share * late_s;
        self.deviation_s += share * (late_s.abs().min(DEVIATION_S_MAX) - self.deviation_s);
    }

    /// Time constant of the filter of a received wave \[s\].
    pub(super) fn smoothing_s(&self, round_trip_s: f64) -> f64 {
        let jitter_s = (self.deviation_s - DEVIATION_S_MIN).max(0.0);
        let share = (self.deviation_s / JITTER_FULL_S).min(1.0);
        DEVIATION_RATIO * jitter_s + ROUND_TRIP_RATIO * share * round_trip_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records three seconds in ticks of 1 ms. Frames arrive in the ticks for which `arrives` is true; their transit
    /// time is the constant `transit_ms`.
    fn jitter(transit_ms: i32, arrives: impl Fn(i32) -> bool) -> AgeJitter {
        let (mut jitter, mut spacing_ms) = (AgeJitter::default(), 1);
        jitter.record(f64::from(transit_ms) * 1e-3, 0.0, 1e-3);
        for tick in 1..3000 {
            spacing_ms = if arrives(tick) { 1 } else { spacing_ms + 1 };
            jitter.record(0.0, f64::from(spacing_ms - 1) * 1e-3, 1e-3);
        }
        jitter
    }

    #[test]
    fn regular_frames_and_single_losses_need_no_filter() {
        assert_eq!(jitter(0, |_| true).smoothing_s(0.5), 0.0);
        assert_eq!(jitter(0, |tick| tick % 5 != 0).smoothing_s(0.0), 0.0);
    }

    #[test]
    fn clumps_of_frames_are_smoothed_over_about_their_spacing() {
        for clump_ms in [20, 40] {
            let clumps = jitter(50, |tick| tick % clump_ms == 0);
            let found_s = clumps.smoothing_s(0.0);
            assert!((clumps.smoothing_s(0.1) - found_s - 3e-3).abs() < 1e-12);
            // mean deviation of a uniform age: a quarter of its range
            let expected_s = 5.0 * (f64::from(clump_ms) * 0.25e-3 - 1e-3);
            assert!((found_s / expected_s - 1.0).abs() < 0.1, "{found_s} s");
        }
    }

    #[test]
    fn outage_is_no_jitter() {
        let found_s = jitter(20, |tick| !(500..2000).contains(&tick)).smoothing_s(0.0);
        assert!(found_s < 0.02, "{found_s} s");
    }
}
