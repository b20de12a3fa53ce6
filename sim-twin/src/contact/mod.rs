//! The geometry of touching: a sphere against a deforming surface.
//!
//! Source: seed-004 3.5 (rows S4-16 to S4-18). [`node`] is the point-in-sphere penalty of the
//! source, [`face`] the continuous contact with triangles; both are for the springs of
//! `palpate_springs::idms`, [`skin`] is what they know of the surface in advance, [`near`] the short
//! list of elements worth testing, [`span`] what makes a rod or a plate of a sphere. The continuum brings its own: `skin` of
//! `palpate_fem::explicit`, and `palpate_fem::probe` for the
//! implicit solver and the offline truth.

pub mod face;
pub mod grid;
pub mod near;
pub mod node;
pub mod skin;
pub mod span;
mod triangle;

pub use near::Near;
pub use skin::Skin;
pub use span::Span;

use crate::{Tool, Vec3};

/// The part of a tool that contact sees: a sphere, or all places of one that is swept along a rod or over a plate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sphere {
    /// Centre \[m\].
    pub center_m: Vec3,
    /// Radius \[m\], greater than zero.
    pub radius_m: f64,
    /// Stiffness of the boundary \[N/m\].
    pub stiffness_npm: f64,
    /// How far it is swept: [`face`] knows balls only.
    pub span: Span,
}

impl Sphere {
    /// How far from its centre any of it may be \[m\].
    #[must_use]
    #[inline]
    pub fn reach_m(&self) -> f64 {
        self.radius_m + self.span.size_m()
    }
}

/// What one sphere does to a surface at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touch {
    /// Force on the tool \[N\]; the opposite acts on the nodes.
    pub force_n: Vec3,
    /// Energy in the contact springs \[J\].
    pub energy_j: f64,
    /// Unit direction of `force_n`; the last one known when there is no force.
    pub normal: Vec3,
    /// Largest depth \[m\].
    pub penetration_m: f64,
    /// Nodes or faces that carry force.
    pub contacts: u32,
    /// The node that a closing pair of tweezers would take.
    pub nearest: Option<u32>,
}

impl Touch {
    /// No contact; `normal` is remembered.
    #[must_use]
    #[inline]
    pub fn none(normal: Vec3) -> Self {
        Self {
            force_n: Vec3::zeros(),
            energy_j: 0.0,
            normal,
            penetration_m: 0.0,
            contacts: 0,
            nearest: None,
        }
    }
}

/// Largest coordinate \[m\] and speed \[m/s\] of a tool that is taken seriously.
pub const TOOL_RANGE: f64 = 1e6;

/// Whether a tool is a sphere or a rod: every number of it is finite, positive where it must be and
/// within [`TOOL_RANGE`]. A tool that fails touches nothing.
#[must_use]
#[inline]
pub fn usable(tool: &Tool) -> bool {
    tool.radius_m > 0.0 && tool.radius_m <= TOOL_RANGE && sound(tool)
}

/// Everything but the radius.
#[inline]
fn sound(tool: &Tool) -> bool {
    let within = |value: f64| value.abs() <= TOOL_RANGE;
    let positive = |value: f64| value > 0.0 && value.is_finite();
    tool.position_m
        .iter()
        .chain(tool.velocity_mps.iter())
        .chain(tool.shaft_m.iter())
        .chain(tool.side_m.iter())
        .all(|&value| within(value))
        && Span::of(tool).is_square()
        && positive(tool.stiffness_npm)
        && tool
            .jaws
            .is_none_or(|jaws| within(jaws.opening_m) && within(jaws.opening_velocity_mps))
}

/// Direction from the second jaw of a tool to the first: x or, of one with a shaft, across it.
#[must_use]
#[inline]
pub fn jaw_axis(shaft_m: &Vec3) -> Vec3 {
    let long = shaft_m.norm_squared().max(f64::MIN_POSITIVE);
    let across = |axis: Vec3| axis - shaft_m * (axis.dot(shaft_m) / long);
    let x = across(Vec3::x());
    let side = if x.norm_squared() > 0.25 {
        x
    } else {
        across(Vec3::y())
    };
    side.normalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jaws;

    #[test]
    fn a_tool_with_one_bad_number_is_unusable() {
        let good = Tool {
            position_m: Vec3::zeros(),
            velocity_mps: Vec3::zeros(),
            radius_m: 0.01,
            stiffness_npm: 100.0,
            shaft_m: Vec3::zeros(),
            side_m: Vec3::zeros(),
            instrument: crate::Instrument::Blunt,
            jaws: Some(Jaws {
                opening_m: 0.01,
                opening_velocity_mps: 0.0,
                closed: false,
            }),
        };
        assert!(usable(&good));
        for bad in [f64::NAN, f64::INFINITY, 1e300] {
            let mut tool = good;
            tool.position_m.y = bad;
            assert!(!usable(&tool));
            let mut tool = good;
            tool.velocity_mps.z = bad;
            assert!(!usable(&tool));
            let mut tool = good;
            tool.radius_m = bad;
            assert!(!usable(&tool));
            let mut tool = good;
            tool.jaws.as_mut().unwrap().opening_m = bad;
            assert!(!usable(&tool));
        }
        for (radius_m, stiffness_npm) in [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, f64::NAN)] {
            let tool = Tool {
                radius_m,
                stiffness_npm,
                ..good
            };
            assert!(!usable(&tool));
        }
    }
}
