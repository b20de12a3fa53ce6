//! Stiffness of a scene's tissue by slow presses: the reference for a palpation.
//!
//! Source: ours.

use super::{Scene, SceneBody, SceneError};
use palpate_springs::idms::{Idms, IdmsParams};
use palpate_twin::{Reaction, Snapshot, Tissue, Vec3};

/// Duration of the descent, and then of the wait, of [`Scene::press_stiffness`] \[s\].
pub(super) const PRESS_S: f64 = 0.25;
/// Fraction of the wait, at its end, over which the force is averaged.
const AVERAGED_SHARE: f64 = 0.5;
/// Longest step of a press \[s\].
const PRESS_STEP_S: f64 = 1e-3;
/// Step of the implicit solver, which is stable at any step and settles sooner with a long one \[s\].
const IMPLICIT_STEP_S: f64 = 5e-3;
/// Fraction of the force at which the chord of a press begins: below it, the contact is still incomplete.
const CHORD_START: f64 = 0.2;

/// Result of a slow press to one depth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PressStiffness {
    /// Force along z on the tool at rest \[N\], up to residual oscillation.
    pub force_n: f64,
    /// Force over depth \[N/m\].
    pub secant_npm: f64,
    /// Mean slope of the force from the depth of a fifth of the force to the whole depth \[N/m\]: the stiffness
    /// that a hand can perceive in one press.
    pub chord_npm: f64,
}

impl Scene {
    /// Builds a tissue for slow presses, and returns the step that it takes \[s\].
    pub(super) fn build_for_presses(&self) -> Result<(Box<dyn Tissue>, f64), SceneError> {
        let SceneBody::Lattice { lattice, params } = &self.body else {
            let dt_s = match self.method() {
                "implicit" => IMPLICIT_STEP_S,
                _ => PRESS_STEP_S,
            };
            return Ok((self.build()?, dt_s));
        };
        // Sleeping atoms would leave a trace of their threshold in a quasi-static force. The force
        // does not depend on the step, so the longest stable one is used.
        let dt_s = PRESS_STEP_S.min(0.9 * Idms::new(lattice, params)?.caps().dt_s_max);
        let params = IdmsParams {
            sleeps: false,
            dt_s,
            ..*params
        };
        Ok((Box::new(Idms::new(lattice, &params)?), dt_s))
    }

    /// Presses a separate tissue slowly at each of the points, with the tool of this scene, and waits.
    ///
    /// The descent is smooth and the force a mean over the end of the wait. The residual oscillation,
    /// against a mean over a second, is less than 0.001 % of the force for `layered` (damping 30 1/s). It is
    /// 0.13 % for `block` (10 1/s, whose slowest shear wave takes 0.3 s), at 2 and 5 mm.
    ///
    /// `depth_m` \[m\] is measured from first contact with the flat surface at rest and includes
    /// the deformation of the tool's boundary. It should exceed 0.
    ///
    /// # Errors
    /// If no tissue can be built.
    pub fn press_stiffness(
        &self,
        points_m: &[[f64; 2]],
        depth_m: f64,
    ) -> Result<Vec<PressStiffness>, SceneError> {
        let places: Vec<_> = points_m.iter().map(|&point_m| (point_m, depth_m)).collect();
        self.press_stiffness_at_depths(&places)
    }

    /// Presses as [`Scene::press_stiffness`] does, to a separate depth at each point.
    ///
    /// # Errors
    /// If no tissue can be built.
    pub(crate) fn press_stiffness_at_depths(
        &self,
        places_m: &[([f64; 2], f64)],
    ) -> Result<Vec<PressStiffness>, SceneError> {
        let (mut tissue, dt_s) = self.build_for_presses()?;
        let rest = Snapshot::of(tissue.as_ref());
        let one = |&(point_m, depth_m): &([f64; 2], f64)| {
            // a snapshot of this tissue fits it
            let _ = tissue.restore(&rest);
            self.press_once(tissue.as_mut(), point_m, depth_m, dt_s)
        };
        Ok(places_m.iter().map(one).collect())
    }

    fn press_once(
        &self,
        tissue: &mut dyn Tissue,
        point_m: [f64; 2],
        depth_m: f64,
        dt_s: f64,
    ) -> PressStiffness {
        let mut hold = |from_m: f64, to_m: f64, curve: &mut Vec<(f64, f64)>| {
            let steps = (PRESS_S / dt_s).ceil() as u64;
            let averaged_steps = ((AVERAGED_SHARE * steps as f64) as u64).max(1);
            let mut sum_n = 0.0;
            let mut reaction = [Reaction::default()];
            for step in 1..=2 * steps {
                let (share, rate) = minimum_jerk((step as f64 / steps as f64).min(1.0));
                let depth_m = from_m + share * (to_m - from_m);
                let z_m = self.tool_radius_m - depth_m;
                let mut tool = self.tool_at(Vec3::new(point_m[0], point_m[1], z_m));
                tool.velocity_mps.z = rate * (from_m - to_m) / PRESS_S;
                tissue.step(&[tool], dt_s, &mut reaction);
                curve.push((depth_m, reaction[0].force_n.z));
                if step > 2 * steps - averaged_steps {
                    sum_n += reaction[0].force_n.z;
                }
            }
            sum_n / averaged_steps as f64
        };
        let mut curve = Vec::new();
        let force_n = hold(0.0, depth_m, &mut curve);
        let part_n = CHORD_START * force_n;
        let low_m = curve.iter().find(|(_, force_n)| *force_n >= part_n);
        // short of the whole depth, so that there is a chord
        let low_m = low_m.map_or(0.0, |&(low_m, _)| low_m.min(0.9 * depth_m));
        let low_n = hold(depth_m, low_m, &mut Vec::new());
        PressStiffness {
            force_n,
            secant_npm: force_n / depth_m,
            chord_npm: (force_n - low_n) / (depth_m - low_m),
        }
    }
}

/// Fraction of the path at a fraction of the time, and its slope. A path with zero initial and final
/// speed and acceleration excites the tissue least (minimum jerk, Flash and Hogan 1985).
pub(super) fn minimum_jerk(time: f64) -> (f64, f64) {
    let left = 1.0 - time;
    let share = time * time * time * (10.0 + time * (6.0 * time - 15.0));
    (share, 30.0 * time * time * left * left)
}

#[cfg(test)]
mod tests {
    use crate::{Scene, load};
    use palpate_twin::{Reaction, Vec3};

    /// Mean force \[N\] of the last of two seconds at a depth.
    fn patient_n(scene: &Scene, depth_m: f64) -> f64 {
        let mut tissue = scene.build().unwrap();
        let mut reaction = [Reaction::default()];
        let mut sum_n = 0.0;
        for step in 1..=2500_u32 {
            let (share, rate) = super::minimum_jerk((f64::from(step) / 500.0).min(1.0));
            let mut tool = scene.tool_at(Vec3::z() * (scene.tool_radius_m - share * depth_m));
            tool.velocity_mps.z = -rate * depth_m / 0.5;
            tissue.step(&[tool], 1e-3, &mut reaction);
            if step > 1500 {
                sum_n += reaction[0].force_n.z;
            }
        }
        sum_n / 1000.0
    }

    #[test]
    fn press_oscillation_has_decayed() {
        let scene = load("layered").unwrap();
        let found_n = scene.press_stiffness(&[[0.0; 2]], 5e-3).unwrap()[0].force_n;
        let patient_n = patient_n(&scene, 5e-3);
        assert!(
            (found_n / patient_n - 1.0).abs() < 1e-4,
            "{found_n} {patient_n}"
        );
    }
}
