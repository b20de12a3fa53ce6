//! A sampled wall in time: the stiffest that dies out, by bisection.
//!
//! A handle of mass m and damping b is pushed by a spring whose force is sampled every T, comes a whole
//! number of periods late and is held. Between two samples the motion is exact:
//! with `a = b T / m`, `v' = v e^-a + (F/b)(1 - e^-a)`.

use std::collections::VecDeque;

use super::sampled;
use super::two_port::Body;

/// Handle and loop of a sampled wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wall {
    /// Damping of the handle \[N s/m\].
    pub damping_nspm: f64,
    /// Period of the loop \[s\].
    pub period_s: f64,
    /// Whole periods by which the force is late.
    pub late_periods: usize,
}

/// How many times [`Wall::loop_s`] and half a period the time constant `m/b` is: passivity is about any passive hand, and a
/// heavy one is the worst, because it oscillates slowly; at 40 the limit is within 1 % of the heaviest.
const HEAVY: f64 = 40.0;

/// Swings that are watched.
const SWINGS: f64 = 25.0;

/// Periods that are watched at least, of a wall so stiff that a swing has hardly any.
const STEPS_MIN: usize = 1000;

/// Stiffnesses between which the limit is sought \[N/m\].
const SOUGHT_NPM: (f64, f64) = (1e-2, 1e7);

/// Bisections of the logarithm, for 0.1 % between bounds nine decades apart.
const BISECTIONS: usize = 15;

impl Wall {
    /// Delay of the loop beside its sampling \[s\].
    #[must_use]
    pub fn loop_s(&self) -> f64 {
        self.period_s * self.late_periods as f64
    }

    /// Stiffest wall on which a heavy handle comes to rest \[N/m\].
    #[must_use]
    pub(crate) fn npm_max(&self) -> f64 {
        let (mut low, mut high) = SOUGHT_NPM;
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

    /// Handle with the heavy hand, which nothing but the sampled wall holds.
    fn body(&self) -> Body {
        let b = self.damping_nspm;
        Body {
            mass_kg: HEAVY * b * (0.5 * self.period_s + self.loop_s()),
            damping_nspm: b,
            stiffness_npm: 0.0,
        }
    }

    /// Whether the sampled loop has a growing root at a stiffness \[N/m\].
    #[must_use]
    pub fn grows(&self, stiffness_npm: f64) -> bool {
        sampled::spring_grows(
            &self.body(),
            stiffness_npm,
            self.late_periods,
            self.period_s,
        )
    }

    /// Whether a push decays: the largest way in the last quarter of the time is below that of the second.
    fn dies_out(&self, stiffness_npm: f64) -> bool {
        let (b, period_s) = (self.damping_nspm, self.period_s);
        let mass_kg = self.body().mass_kg;
        let swing_s = std::f64::consts::TAU * (mass_kg / stiffness_npm).sqrt();
        let steps = ((SWINGS * swing_s / period_s) as usize).max(STEPS_MIN);
        let kept = libm::exp(-b * period_s / mass_kg);
        let (mut x, mut v) = (0.0, 1.0);
        let mut late: VecDeque<f64> = vec![0.0; self.late_periods].into();
        let (mut early_m, mut end_m) = (0.0_f64, 0.0_f64);
        for step in 0..steps {
            late.push_back(-stiffness_npm * x);
            let force_n = late.pop_front().unwrap_or(0.0);
            let to = force_n / b;
            // exact over a period under a constant force
            x += to * period_s + (v - to) * (1.0 - kept) * mass_kg / b;
            v = to + (v - to) * kept;
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
    fn time_agrees_with_the_closed_form() {
        for (late_periods, bar) in [(0, 0.05), (1, 0.05), (10, 0.1), (100, 0.1)] {
            let wall = Wall {
                damping_nspm: 5.0,
                period_s: 1e-3,
                late_periods,
            };
            let closed = palpate_analysis::closed::wall_npm_max(5.0, 1e-3, wall.loop_s());
            let error = wall.npm_max() / closed - 1.0;
            assert!(error.abs() < bar, "{late_periods}: {error}");
        }
    }
}
