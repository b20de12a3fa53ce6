//! Contact geometry of a tool and a deforming surface.
//!
//! Source: seed-004 3.5 (rows S4-16 to S4-18). [`node`] is the point-in-sphere penalty of the
//! source, [`face`] the continuous contact with triangles; both are for the springs of
//! `palpate_springs::idms`. [`rest_surface`] has the data of a surface that is computed in advance. [`neighbour_list`] is
//! the short list of elements worth testing, [`grid`] a search grid and [`tool_core`] the axis of a rod or a plate. Models
//! of a continuum have their own contact: the skin of `palpate_fem::explicit`, and the sphere contact of `palpate_fem` for
//! the implicit solver and the offline truth.

pub mod face;
pub mod grid;
pub mod neighbour_list;
pub mod node;
pub mod rest_surface;
pub mod tool_core;
mod triangle;

pub use neighbour_list::NeighbourList;
pub use rest_surface::RestSurface;
pub use tool_core::ToolCore;

use crate::{Tool, Vec3};

/// Contact of one tool with a surface at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SurfaceContact {
    /// Force on the tool \[N\]; the opposite acts on the nodes.
    pub force_n: Vec3,
    /// Energy in the contact springs \[J\].
    pub energy_j: f64,
    /// Unit direction of `force_n`; the last direction if there is no force.
    pub normal: Vec3,
    /// Largest depth \[m\].
    pub penetration_m: f64,
    /// True if the centre of the tool is behind the surface, or not well above its rim.
    pub behind: bool,
    /// Nodes or faces that carry force.
    pub contacts: u32,
    /// Node that a closing pair of tweezers would grasp.
    pub nearest: Option<u32>,
}

/// Largest coordinate \[m\] and speed \[m/s\] of a usable tool.
pub const TOOL_COORDINATE_MAX: f64 = 1e6;

/// True if a tool is usable: every number is finite, positive where required and within
/// [`TOOL_COORDINATE_MAX`]. An unusable tool touches nothing.
#[must_use]
#[inline]
pub fn is_usable(tool: &Tool) -> bool {
    let within = |value: f64| value.abs() <= TOOL_COORDINATE_MAX;
    let vectors = [
        tool.position_m,
        tool.velocity_mps,
        tool.shaft_m,
        tool.side_m,
    ];
    tool.radius_m > 0.0
        && within(tool.radius_m)
        && vectors.iter().flatten().all(|&value| within(value))
        && ToolCore::of_tool(tool).is_rectangular()
        && tool.stiffness_npm > 0.0
        && tool.stiffness_npm.is_finite()
        && tool
            .jaws
            .is_none_or(|jaws| within(jaws.opening_m) && within(jaws.opening_velocity_mps))
}

/// Direction from the second jaw of a tool to the first: x or, for a tool with a shaft, across the shaft.
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
        assert!(is_usable(&good));
        for bad in [f64::NAN, f64::INFINITY, 1e300] {
            let mut tool = good;
            tool.position_m.y = bad;
            assert!(!is_usable(&tool));
            let mut tool = good;
            tool.velocity_mps.z = bad;
            assert!(!is_usable(&tool));
            let mut tool = good;
            tool.radius_m = bad;
            assert!(!is_usable(&tool));
            let mut tool = good;
            tool.jaws.as_mut().unwrap().opening_m = bad;
            assert!(!is_usable(&tool));
        }
        for (radius_m, stiffness_npm) in [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, f64::NAN)] {
            let tool = Tool {
                radius_m,
                stiffness_npm,
                ..good
            };
            assert!(!is_usable(&tool));
        }
    }
}
