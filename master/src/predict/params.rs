//! Parameters of prediction and learning.

use palpate_transport::{FieldError, params};
use palpate_twin::ToolShape;

use super::local_law::LocalModel;

params! {
    /// Parameters of prediction and learning.
    #[derive(Copy)]
    pub struct PredictParams: "master.predict." then check_shape {
        /// Radius of the tool's sphere \[m\].
        pub tool_radius_m: f64 = 0.008 => (1e-4..=0.1),
        /// Stiffness of the tool's boundary \[N/m\].
        pub tool_stiffness_npm: f64 = 3000.0 => (1.0..=1e5),
        /// Shape of the tool: the segment or rectangle along which its sphere is swept. Tissue that does not support it uses
        /// the sphere.
        pub tool_shape: ToolShape = ToolShape::Ball,
        /// True if the twin is corrected by the robot's measured force.
        pub update: bool = true,
        /// True if the twin's surface is raised or lowered to where the robot touches the tissue. Lower tissue is found only
        /// with [`Self::update`], which finds that a place is empty.
        pub register: bool = true,
        /// True if one contact law is fitted to the robot's contact (teleop E15), for the summary. It is also fitted if
        /// [`Self::local`] renders it.
        pub estimate: bool = true,
        /// Model that the hand feels at 1 kHz: the twin, the fitted contact law, or this law only where the twin was never
        /// corrected.
        pub local: LocalModel = LocalModel::Twin,
        /// Time constant of the damping of learnt stiffness: damping over added stiffness \[s\]; 0 for none.
        pub damped_s: f64 = 0.004 => (0.0..=0.02),
        /// Radius around a touched place within which its correction applies \[m\].
        pub update_radius_m: f64 = 0.015 => (1e-3..=0.5),
        /// Rate at which a lasting touch takes over corrections that are learnt meanwhile \[1/s\].
        pub update_per_s: f64 = 10.0 => (0.0..=50.0),
        /// Fastest fall of the rendered force by learning \[1/s\]: 7 % of the force in 100 ms, below what a hand
        /// notices (teleop section 4). Where the robot meets nothing it falls faster.
        pub soften_per_s_max: f64 = 0.68 => (0.0..=10.0),
        /// Fastest rise of the rendered stiffness by learning \[1/s\]; a rise keeps the force, so it may be faster.
        pub stiffen_per_s_max: f64 = 6.0 => (0.0..=20.0),
        /// Force below which nothing is learnt \[N\].
        pub force_n_min: f64 = 0.15 => (0.01..=10.0),
        /// Probe speed above which nothing is learnt, because damping is not stiffness \[m/s\].
        pub speed_mps_max: f64 = 0.06 => (0.0..=1.0),
    }
}

/// Checks the longest edge of the tool.
fn check_shape(params: &PredictParams) -> Result<(), FieldError> {
    let longest_m = params.tool_shape.longest_m();
    FieldError::check_range("master.predict.tool_shape", longest_m, 0.0, 0.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_errors_name_the_field() {
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
            soften_per_s_max: f64::NAN,
            ..PredictParams::default()
        };
        assert!(bad.validate().expect_err("nan").to_string().contains("NaN"));
    }
}
