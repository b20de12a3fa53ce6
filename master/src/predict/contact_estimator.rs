//! Estimation of the robot's contact as one law: teleop E15 from the frames as they arrive, late or not.
//!
//! Force and motion of a frame have one time stamp, so the delay does not matter. The surface is at the height where
//! the robot's force began. The law is independent of the twin and needs no scene: it estimates
//! stiffness and curvature of the tissue under the robot, and their uncertainty. Ours.

use super::hunt_crossley::{ContactEstimate, HuntCrossleyEstimator};
use super::local_law::EstimatedSurface;

/// Force below which the robot is in free space \[N\]: three times the noise of its sensor.
const AIR_N: f64 = 0.03;

/// Surface under the robot, and the estimated law of its contact.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ContactEstimator {
    estimator: HuntCrossleyEstimator,
    /// Height of the surface of this touch \[m\]; none in free space.
    surface_m: Option<f64>,
    /// Height of the last sample in free space \[m\].
    air_m: Option<f64>,
    /// Height of the last touched surface \[m\].
    last_m: Option<f64>,
}

impl ContactEstimator {
    /// Adds a frame of the robot: height and its rate \[m\], \[m/s\], and the normal force on the probe \[N\].
    pub(super) fn add_sample(&mut self, height_m: f64, rate_mps: f64, force_n: f64) {
        if !(height_m + rate_mps + force_n).is_finite() {
            return;
        }
        if force_n < AIR_N {
            (self.surface_m, self.air_m) = (None, Some(height_m));
            return;
        }
        // a robot that starts in contact has no surface yet
        let Some(air_m) = self.air_m else { return };
        let surface_m = *self.surface_m.get_or_insert(air_m);
        self.last_m = Some(surface_m);
        self.estimator
            .add_sample(surface_m - height_m, -rate_mps, force_n);
    }

    /// Present law; none before the first contact.
    #[must_use]
    pub(super) fn estimate(&self) -> Option<ContactEstimate> {
        self.estimator.estimate()
    }

    /// Present law with the height of the last touched surface; none before the first contact.
    #[must_use]
    pub(super) fn surface(&self) -> Option<EstimatedSurface> {
        Some(EstimatedSurface {
            law: self.estimate()?,
            height_m: self.last_m?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_at_unknown_height_is_estimated_in_two_presses() {
        let (wall_m, npm) = (0.0123, 400.0);
        let mut estimator = ContactEstimator::default();
        assert_eq!(estimator.estimate(), None);
        for tick in 0..4000 {
            let turn = 2.0 * core::f64::consts::PI * f64::from(tick) / 2000.0;
            let height_m = wall_m + 0.001 - 0.003 * (1.0 - libm::cos(turn));
            let rate_mps = -0.003 * core::f64::consts::PI * libm::sin(turn);
            let force_n = (npm * (wall_m - height_m)).max(0.0);
            estimator.add_sample(height_m, rate_mps, force_n);
            estimator.add_sample(f64::NAN, rate_mps, force_n);
        }
        let contact = estimator.estimate().expect("met");
        let there_npm = contact.stiffness_npm(3e-3);
        assert!((there_npm / npm - 1.0).abs() < 0.05, "{contact:?}");
        assert!((contact.force_n(3e-3, 0.0) / 1.2 - 1.0).abs() < 0.05);
        assert!(contact.confidence > 0.9);
    }

    #[test]
    fn start_in_contact_yields_no_estimate() {
        let mut estimator = ContactEstimator::default();
        for _ in 0..100 {
            estimator.add_sample(0.0, 0.0, 1.0);
        }
        assert_eq!(estimator.estimate(), None);
    }
}
