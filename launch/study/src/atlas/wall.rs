//! Sampled wall in time: the stiffest on which a push decays, by bisection.
//!
//! A spring pushes a handle of mass m and damping b. Its force is sampled every T, delayed by a whole
//! number of periods and held. Between two samples the motion is exact:
//! with `a = b T / m`, `v' = v e^-a + (F/b)(1 - e^-a)`.

use core::ops::RangeInclusive;
use std::collections::VecDeque;

use super::sampled_loop;
use super::two_port::MassSpringDamper;

/// Handle and loop of a sampled wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SampledWall {
    /// Damping of the handle \[N s/m\].
    pub damping_nspm: f64,
    /// Period of the loop \[s\].
    pub period_s: f64,
    /// Delay of the force in whole periods.
    pub late_periods: usize,
}

/// Ratio of the time constant `m/b` to the sum of [`SampledWall::loop_s`] and half a period. Passivity concerns any
/// passive hand, and a heavy one is the worst, because it oscillates slowly; at 40 the limit is within 1 % of that
/// of the heaviest.
const HEAVY_RATIO: f64 = 40.0;

/// Simulated oscillations.
const OSCILLATIONS: f64 = 25.0;

/// Least number of simulated periods, for a wall so stiff that an oscillation has few.
const STEPS_MIN: usize = 1000;

/// Range of the search for the limit, in time and by roots \[N/m\].
pub(super) const SEARCH_NPM: RangeInclusive<f64> = 1e-2..=1e7;

/// Bisections of the logarithm, for 0.1 % between bounds nine decades apart.
const BISECTIONS: usize = 15;

impl SampledWall {
    /// Delay of the loop besides its sampling \[s\].
    pub(crate) fn loop_s(&self) -> f64 {
        self.period_s * self.late_periods as f64
    }

    /// Stiffest wall on which a push of a heavy handle decays \[N/m\].
    pub(crate) fn npm_max(&self) -> f64 {
        let (mut low, mut high) = SEARCH_NPM.into_inner();
        for _ in 0..BISECTIONS {
            let middle = (low * high).sqrt();
            if self.dies_out(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low * high).sqrt()
    }

    /// Handle with the heavy hand, free except for the sampled wall.
    fn body(&self) -> MassSpringDamper {
        let b = self.damping_nspm;
        MassSpringDamper {
            mass_kg: HEAVY_RATIO * b * (0.5 * self.period_s + self.loop_s()),
            damping_nspm: b,
            stiffness_npm: 0.0,
        }
    }

    /// True if the sampled loop has a growing root at a stiffness \[N/m\].
    #[must_use]
    pub(crate) fn grows(&self, stiffness_npm: f64) -> bool {
        sampled_loop::spring_grows(
            &self.body(),
            stiffness_npm,
            self.late_periods,
            self.period_s,
        )
    }

    /// True if a push decays: the largest displacement in the last quarter of the time is below that of the second.
    fn dies_out(&self, stiffness_npm: f64) -> bool {
        let (b, period_s) = (self.damping_nspm, self.period_s);
        let mass_kg = self.body().mass_kg;
        let swing_s = std::f64::consts::TAU * (mass_kg / stiffness_npm).sqrt();
        let steps = ((OSCILLATIONS * swing_s / period_s) as usize).max(STEPS_MIN);
        let decay = libm::exp(-b * period_s / mass_kg);
        let (mut x, mut v) = (0.0, 1.0);
        let mut in_flight: VecDeque<f64> = vec![0.0; self.late_periods].into();
        let (mut early_m, mut end_m) = (0.0_f64, 0.0_f64);
        for step in 0..steps {
            in_flight.push_back(-stiffness_npm * x);
            let force_n = in_flight.pop_front().unwrap_or(0.0);
            let terminal_mps = force_n / b;
            // exact over a period under a constant force
            x += terminal_mps * period_s + (v - terminal_mps) * (1.0 - decay) * mass_kg / b;
            v = terminal_mps + (v - terminal_mps) * decay;
            if !x.is_finite() {
                return false;
            }
            match 4 * step / steps {
                1 => early_m = early_m.max(x.abs()),
                3 => end_m = end_m.max(x.abs()),
                _ => {}
            }
        }
        end_m < early_m
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_agrees_with_the_closed_form() {
        for (late_periods, bar) in [(0, 0.05), (1, 0.05), (10, 0.1), (100, 0.1)] {
            let wall = SampledWall {
                damping_nspm: 5.0,
                period_s: 1e-3,
                late_periods,
            };
            let closed = palpate_analysis::closed_form::wall_npm_max(5.0, 1e-3, wall.loop_s());
            let error = wall.npm_max() / closed - 1.0;
            assert!(error.abs() < bar, "{late_periods}: {error}");
        }
    }
}
