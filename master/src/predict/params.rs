//! Parameters of prediction and learning.

use palpate_port::FieldError;
use serde::{Deserialize, Serialize};

use super::local::LocalModel;
use super::shape::ToolShape;

/// Parameters of prediction and learning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PredictParams {
    /// Radius of the tool's sphere \[m\].
    pub tool_radius_m: f64,
    /// Stiffness of the tool's boundary \[N/m\].
    pub tool_stiffness_npm: f64,
    /// What its sphere is swept over; tissue that cannot feel that feels the sphere.
    pub tool_shape: ToolShape,
    /// Whether the twin learns from what the robot feels.
    pub update: bool,
    /// Whether one contact law is fitted to what the robot meets (teleop E15), for the summary and for
    /// [`Self::local`], which needs it and fits it in any case.
    pub estimate: bool,
    /// What the hand feels at 1 kHz: the twin, that law, or the law where the twin was never taught.
    pub local: LocalModel,
    /// Damping of what was learnt beyond the twin's stiffness, over that stiffness \[s\]: 0 for none.
    pub damped_s: f64,
    /// How far around a touched place a lesson reaches \[m\].
    pub update_radius_m: f64,
    /// Rate at which a touch that lasts takes over what was learnt meanwhile \[1/s\].
    pub update_hz: f64,
    /// Fastest fall of the felt force by learning \[1/s\]: 7 % of the force in 100 ms, which nobody
    /// should feel (teleop section 4).
    pub soften_hz_max: f64,
    /// Fastest rise of the felt stiffness by learning \[1/s\]; a rise keeps the force, so it may be faster.
    pub stiffen_hz_max: f64,
    /// Force below which nothing is learnt \[N\].
    pub force_n_min: f64,
    /// Probe speed above which nothing is learnt, because damping is not stiffness \[m/s\].
    pub speed_mps_max: f64,
}

impl Default for PredictParams {
    fn default() -> Self {
        Self {
            tool_radius_m: 0.008,
            tool_stiffness_npm: 3000.0,
            tool_shape: ToolShape::Ball,
            update: true,
            estimate: true,
            local: LocalModel::Twin,
            damped_s: 0.004,
            update_radius_m: 0.015,
            update_hz: 10.0,
            soften_hz_max: 0.68,
            stiffen_hz_max: 6.0,
            force_n_min: 0.15,
            speed_mps_max: 0.03,
        }
    }
}

impl PredictParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), FieldError> {
        let rows = [
            (
                "master.predict.tool_radius_m",
                self.tool_radius_m,
                1e-4,
                0.1,
            ),
            (
                "master.predict.tool_stiffness_npm",
                self.tool_stiffness_npm,
                1.0,
                1e5,
            ),
            (
                "master.predict.tool_shape",
                self.tool_shape.longest_m(),
                0.0,
                0.1,
            ),
            ("master.predict.damped_s", self.damped_s, 0.0, 0.02),
            (
                "master.predict.update_radius_m",
                self.update_radius_m,
                1e-3,
                0.5,
            ),
            ("master.predict.update_hz", self.update_hz, 0.0, 50.0),
            (
                "master.predict.soften_hz_max",
                self.soften_hz_max,
                0.0,
                10.0,
            ),
            (
                "master.predict.stiffen_hz_max",
                self.stiffen_hz_max,
                0.0,
                20.0,
            ),
            ("master.predict.force_n_min", self.force_n_min, 0.01, 10.0),
            ("master.predict.speed_mps_max", self.speed_mps_max, 0.0, 1.0),
        ];
        for (field, value, low, high) in rows {
            FieldError::between(field, value, low, high)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_bad_fields_are_named() {
        assert_eq!(PredictParams::default().validate(), Ok(()));
        let bad = PredictParams {
            update_radius_m: 0.0,
            ..PredictParams::default()
        };
        assert_eq!(
            bad.validate().expect_err("zero").field,
            "master.predict.update_radius_m"
        );
        let bad = PredictParams {
            soften_hz_max: f64::NAN,
            ..PredictParams::default()
        };
        assert!(bad.validate().expect_err("nan").to_string().contains("NaN"));
    }
}
