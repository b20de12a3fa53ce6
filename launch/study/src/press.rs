//! Presses of a scene with a rigid ball, beside the truth on converged meshes.
//!
//! Source: ours. [`palpate_scene::PressMotion`] defines forces and motions.

use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::Failure;
use palpate_scene::{BallPress, PressMotion, PressRun, PressSample, Scene, SceneBody};
use serde::Serialize;

use crate::messages::{self, wrong};

/// Largest depth over the height of a block.
const DEPTH_OVER_HEIGHT_MAX: f64 = 0.9;

/// Presses that are requested.
#[derive(Debug, Clone, PartialEq)]
pub struct PressRequest {
    /// Places \[m\].
    pub places_m: Vec<[f64; 2]>,
    /// Depths below first contact \[m\].
    pub depths_m: Vec<f64>,
    /// Radius of the ball \[m\].
    pub radius_m: f64,
    /// Motion of the ball.
    pub motion: PressMotion,
    /// True if the truth is computed too.
    pub with_truth: bool,
}

/// Results; the content of `press.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PressStudy {
    /// Name of the scene.
    pub scene: String,
    /// Method of its tissue.
    pub method: String,
    /// Radius of the ball \[m\].
    pub radius_m: f64,
    /// Motion of the ball: `slow`, `rate`, `hold`, `drag` or `sine`.
    pub motion: &'static str,
    /// Every press, place by place.
    pub presses: Vec<ScenePress>,
}

/// Result of one press.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScenePress {
    /// Place \[m\].
    pub at_m: [f64; 2],
    /// Depth below first contact \[m\].
    pub depth_m: f64,
    /// Force along z \[N\].
    pub force_n: f64,
    /// Error of the force, as the tissue estimates it \[N\].
    pub error_n: Option<f64>,
    /// True force \[N\].
    pub truth_n: Option<f64>,
    /// Error of the true force itself \[N\].
    pub truth_error_n: Option<f64>,
    /// Slope of the force against depth \[N/m\]; of a sine the ratio of the amplitudes.
    pub stiffness_npm: Option<f64>,
    /// The same of the truth.
    pub truth_stiffness_npm: Option<f64>,
    /// Lead of the force before the depth in a sine \[degrees\].
    pub phase_deg: Option<f64>,
    /// The same of the truth.
    pub truth_phase_deg: Option<f64>,
    /// Standard deviation of the force along a drag \[N\].
    pub ripple_n: Option<f64>,
    /// Mean force against the motion along a drag \[N\].
    pub friction_n: Option<f64>,
    /// All ticks.
    #[serde(skip)]
    pub samples: Vec<PressSample>,
}

impl ScenePress {
    /// Error of the force against the truth, over the truth.
    #[must_use]
    pub fn true_error(&self) -> Option<f64> {
        let error = self.force_n / self.truth_n? - 1.0;
        error.is_finite().then_some(error)
    }

    fn new(press: &BallPress, run: PressRun, truth: Option<&PressRun>) -> Self {
        Self {
            at_m: press.at_m,
            depth_m: press.depth_m,
            force_n: run.force_n,
            error_n: run.error_n,
            truth_n: truth.map(|truth| truth.force_n),
            truth_error_n: truth.and_then(|truth| truth.error_n),
            stiffness_npm: run.stiffness_npm,
            truth_stiffness_npm: truth.and_then(|truth| truth.stiffness_npm),
            phase_deg: run.phase_deg,
            truth_phase_deg: truth.and_then(|truth| truth.phase_deg),
            ripple_n: run.ripple_n,
            friction_n: run.friction_n,
            samples: run.samples,
        }
    }
}

impl PressRequest {
    /// Presses a scene; ends with the finished presses if `stop` is set. `done` gets the number of presses.
    ///
    /// # Errors
    /// [`Failure::Usage`] names a place outside the block, a depth beyond it, or a scene without truth;
    /// [`Failure::Refused`] a tissue that cannot be built, or a press without equilibrium.
    pub fn run(
        &self,
        scene: &Scene,
        stop: &AtomicBool,
        done: &dyn Fn(u64),
    ) -> Result<PressStudy, Failure> {
        self.check(scene).map_err(Failure::Usage)?;
        let mut study = PressStudy {
            scene: scene.name.clone(),
            method: scene.method().to_owned(),
            radius_m: self.radius_m,
            motion: self.motion.name(),
            presses: Vec::new(),
        };
        for &at_m in &self.places_m {
            for &depth_m in &self.depths_m {
                if stop.load(Ordering::Relaxed) {
                    return Ok(study);
                }
                let press = BallPress {
                    at_m,
                    radius_m: self.radius_m,
                    depth_m,
                };
                let run = scene
                    .press(&press, self.motion)
                    .map_err(crate::abort::refusal)?;
                let truth = match self.with_truth {
                    true => scene.press_truth(&press, self.motion),
                    false => Ok(None),
                };
                let truth = truth.map_err(crate::abort::refusal)?;
                study
                    .presses
                    .push(ScenePress::new(&press, run, truth.as_ref()));
                done(study.presses.len() as u64);
            }
        }
        Ok(study)
    }

    fn check(&self, scene: &Scene) -> Result<(), String> {
        let SceneBody::Block(block) = &scene.body else {
            let found = format!("truth, for a scene of method {}", scene.method());
            return match self.with_truth {
                true => Err(wrong("--against", found, "a scene with a [block]")),
                false => Ok(()),
            };
        };
        let [wide_m, long_m, high_m] = block.size_m.map(|size_m| 0.5 * size_m);
        for &[x_m, y_m] in &self.places_m {
            let found = format!("{},{}", 1e3 * x_m, 1e3 * y_m);
            let (wide_mm, long_mm) = (1e3 * wide_m, 1e3 * long_m);
            if x_m.abs() >= wide_m || y_m.abs() >= long_m {
                let expected =
                    format!("a place inside -{wide_mm} to {wide_mm}, -{long_mm} to {long_mm} mm");
                return Err(wrong("--at-mm", found, &expected));
            }
        }
        let most_mm = 1e3 * DEPTH_OVER_HEIGHT_MAX * 2.0 * high_m;
        for &depth_m in &self.depths_m {
            messages::within("--depths-mm", 1e3 * depth_m, 0.0..=most_mm, "mm")?;
        }
        Ok(())
    }
}
