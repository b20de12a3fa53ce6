//! Motion of tools within a tick, the faces they can reach, and their forces on these.
//!
//! Source: ours. Tools move uniformly; a [`ToolPath`] returns the pose at every sub-step. [`super::skin`]
//! computes the forces.

use super::ExplicitTissue;
use super::build::Model;
use super::skin::{DueForces, ToolContact, ToolRod};
use super::state::BODIES;
use super::step::Plan;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_twin::twin::Tool;
use std::sync::Arc;

/// Speed of the surface for which the contacts of a tick are listed, over that of pressure waves.
const SURFACE_SPEED_RATIO: f64 = 0.15;

/// Uniform motion of a tool within a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolPath {
    pub(super) from: Vec3,
    pub(super) displacement: Vec3,
    /// Shaft at the start, and its change over the tick.
    shaft: Vec3,
    shaft_change: Vec3,
    rod: ToolRod,
    /// Coulomb's friction coefficient.
    pub(super) friction: f64,
}

impl ToolPath {
    pub(super) fn rod_at(&self, fraction: f64) -> ToolRod {
        let single = |x: Vec3| [0, 1, 2].map(|axis| f32::of(x[axis]));
        ToolRod {
            centre: single(self.from + self.displacement * fraction),
            shaft: single(self.shaft + self.shaft_change * fraction),
            ..self.rod
        }
    }

    /// Returns a bound on the displacement of any point of the tool.
    fn reach(&self) -> f64 {
        self.displacement.norm() + self.shaft_change.norm()
    }

    /// Returns the small rotation of the shaft.
    pub(super) fn turn(&self) -> Vec3 {
        let middle = self.shaft + 0.5 * self.shaft_change;
        let square = middle.norm_squared();
        if square > 0.0 {
            middle.cross(&self.shaft_change) / square
        } else {
            Vec3::zeros()
        }
    }
}

impl ExplicitTissue {
    /// Lists the faces that each tool can reach in a tick.
    pub(super) fn list_near_faces(&mut self, paths: &[Option<ToolPath>; BODIES], dt: f64) {
        let sound = SURFACE_SPEED_RATIO * self.model.wave * dt;
        let (skin, motions) = (&self.model.skin, &self.state.motions);
        for (index, path) in paths.iter().enumerate() {
            let near = &mut self.near[index];
            near.clear();
            let Some(path) = path else { continue };
            let reach = f32::of(path.reach() + sound);
            skin.near(
                &path.rod_at(0.0),
                reach,
                self.top_displacement_max,
                motions,
                near,
            );
        }
    }

    /// Applies the contact and friction forces of every tool.
    pub(super) fn press_tools(
        &mut self,
        paths: &[Option<ToolPath>; BODIES],
        fraction: f64,
        plan: &Plan,
        due: &DueForces,
        all: &mut [ToolContact; BODIES],
    ) {
        let model = Arc::clone(&self.model);
        for (index, path) in paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let (near, motions) = (&self.near[index][..], &mut self.state.motions);
            let rod = path.rod_at(fraction);
            let touches = &mut self.touches;
            let mut contact = model.skin.press(near, &rod, due, motions, touches);
            if path.friction > 0.0 && contact.friction_weight > 0.0 {
                contact.velocity = model
                    .skin
                    .velocity(touches, contact.friction_weight, motions);
                let speed = path.displacement / (plan.dt * f64::from(plan.substeps));
                let spring = &mut self.state.tools[index].friction_spring;
                let on_tool = spring.step(&contact, speed, plan.dt, path.friction);
                model
                    .skin
                    .apply_friction(touches, due, on_tool, motions, &mut contact);
                let heat = model.skin.absorb_waves(touches, due, motions);
                self.state.tools[index].friction_spring.dissipated += heat;
            } else {
                self.state.tools[index].friction_spring.release();
            }
            all[index] = contact;
        }
    }
}

impl Model {
    /// Constructs the path of a body from its last pose.
    pub(super) fn tool_path(
        &self,
        from_m: Vec3,
        shaft_m: Vec3,
        tool: &Tool,
        friction: f64,
        spread: f64,
    ) -> ToolPath {
        let radius = tool.radius_m / self.length_m;
        let stiffness = tool.stiffness_npm / (self.stress_pa * self.length_m);
        // the tool's boundary as an elastic foundation over its disc
        let foundation = stiffness / (std::f64::consts::PI * radius * radius);
        ToolPath {
            from: (from_m - self.origin_m) / self.length_m,
            displacement: (tool.position_m - from_m) / self.length_m,
            shaft: shaft_m / self.length_m,
            shaft_change: (tool.shaft_m - shaft_m) / self.length_m,
            friction,
            rod: ToolRod {
                centre: [0.0; 3],
                shaft: [0.0; 3],
                radius: f32::of(radius),
                boundary_compliance: f32::of(1.0 / foundation),
                spread: f32::of(spread),
            },
        }
    }
}
