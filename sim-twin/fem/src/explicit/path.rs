//! Where tools go within a tick, which faces they can reach, and what they push there.
//!
//! Source: ours. Tools go evenly; a [`Path`] says where one is at every sub-step. [`super::skin`] pushes.

use super::Explicit;
use super::build::Model;
use super::skin::{Beat, Met, Rod};
use super::state::BODIES;
use super::step::Plan;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_twin::twin::Tool;
use std::sync::Arc;

/// Speed of the surface within which a tick's contacts are found, over that of pressure waves.
const SURFACE: f64 = 0.15;

/// Where a tool goes within a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    pub(super) from: Vec3,
    pub(super) way: Vec3,
    /// Where its shaft points at first, and how that changes.
    shaft: Vec3,
    swing: Vec3,
    rod: Rod,
    /// Coulomb's coefficient.
    pub(super) friction: f64,
}

impl Path {
    pub(super) fn at(&self, share: f64) -> Rod {
        let single = |x: Vec3| [0, 1, 2].map(|axis| f32::of(x[axis]));
        Rod {
            centre: single(self.from + self.way * share),
            shaft: single(self.shaft + self.swing * share),
            ..self.rod
        }
    }

    /// How far the tool moves anywhere.
    fn reach(&self) -> f64 {
        self.way.norm() + self.swing.norm()
    }

    /// Small turn of the shaft.
    pub(super) fn turn(&self) -> Vec3 {
        let middle = self.shaft + 0.5 * self.swing;
        let square = middle.norm_squared();
        if square > 0.0 {
            middle.cross(&self.swing) / square
        } else {
            Vec3::zeros()
        }
    }
}

impl Explicit {
    /// Lists the faces that every tool can reach in a tick.
    pub(super) fn list(&mut self, paths: &[Option<Path>; BODIES], dt: f64) {
        let sound = SURFACE * self.model.wave * dt;
        let (skin, motions) = (&self.model.skin, &self.state.motions);
        for (index, path) in paths.iter().enumerate() {
            let near = &mut self.near[index];
            near.clear();
            let Some(path) = path else { continue };
            let way = f32::of(path.reach() + sound);
            skin.near(&path.at(0.0), way, self.moved, motions, near);
        }
    }

    /// Lets every tool push and drag.
    pub(super) fn press(
        &mut self,
        paths: &[Option<Path>; BODIES],
        share: f64,
        plan: &Plan,
        beat: &Beat,
        all: &mut [Met; BODIES],
    ) {
        let model = Arc::clone(&self.model);
        for (index, path) in paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let (near, motions) = (&self.near[index][..], &mut self.state.motions);
            let rod = path.at(share);
            let touches = &mut self.touches;
            let mut met = model.skin.press(near, &rod, beat, motions, touches);
            if path.friction > 0.0 && met.weight > 0.0 {
                met.velocity = model.skin.velocity(touches, met.weight, motions);
                let speed = path.way / (plan.dt * f64::from(plan.substeps));
                let stick = &mut self.state.tools[index].stick;
                let on_tool = stick.step(&met, speed, plan.dt, path.friction);
                model.skin.drag(touches, beat, on_tool, motions, &mut met);
            } else {
                self.state.tools[index].stick.let_go();
            }
            all[index] = met;
        }
    }
}

impl Model {
    /// The way of a body from where it was.
    pub(super) fn path(&self, from_m: Vec3, shaft_m: Vec3, tool: &Tool, friction: f64) -> Path {
        let radius = tool.radius_m / self.length_m;
        let stiffness = tool.stiffness_npm / (self.stress_pa * self.length_m);
        // the tool's boundary as a bed of springs over its disc
        let bed = stiffness / (std::f64::consts::PI * radius * radius);
        Path {
            from: (from_m - self.origin_m) / self.length_m,
            way: (tool.position_m - from_m) / self.length_m,
            shaft: shaft_m / self.length_m,
            swing: (tool.shaft_m - shaft_m) / self.length_m,
            friction,
            rod: Rod {
                centre: [0.0; 3],
                shaft: [0.0; 3],
                radius: f32::of(radius),
                give: f32::of(1.0 / bed),
            },
        }
    }
}
