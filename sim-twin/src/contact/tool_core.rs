//! Core of a tool: the point, segment or rectangle whose sweep by a sphere is the tool.
//!
//! Source: seed-004 row S4-P30 (real tool geometry), ours in form: a segment swept by a sphere is a capsule, a rectangle
//! swept by one a box with round edges. The depth of a position in either is the radius less its distance from the core.

use crate::{Tool, Vec3};

/// Point, segment or rectangle that starts at the tool's position.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ToolCore {
    /// Vector to the other end \[m\]; zero without length.
    pub shaft_m: Vec3,
    /// Vector to the other edge \[m\], perpendicular; zero without breadth.
    pub side_m: Vec3,
}

/// Largest cosine of the angle between shaft and side that counts as perpendicular.
const PERPENDICULAR_COSINE_MAX: f64 = 1e-6;

impl ToolCore {
    /// Core of a tool.
    #[must_use]
    #[inline]
    pub(crate) fn of_tool(tool: &Tool) -> Self {
        Self {
            shaft_m: tool.shaft_m,
            side_m: tool.side_m,
        }
    }

    /// True if the edges are perpendicular, so that the nearest point is found along each edge separately.
    #[must_use]
    #[inline]
    pub(super) fn is_rectangular(&self) -> bool {
        let cosine = self.shaft_m.dot(&self.side_m).abs();
        cosine <= PERPENDICULAR_COSINE_MAX * self.shaft_m.norm() * self.side_m.norm()
    }

    /// Length of its diagonal \[m\].
    #[must_use]
    #[inline]
    pub(crate) fn diagonal_m(&self) -> f64 {
        (self.shaft_m + self.side_m).norm()
    }

    /// Vector from the tool's position to the core point nearest to a position at `off_m` from there \[m\].
    #[must_use]
    #[inline]
    pub fn nearest_offset_m(&self, off_m: &Vec3) -> Vec3 {
        let mut nearest_m = Vec3::zeros();
        for edge_m in [&self.shaft_m, &self.side_m] {
            let length2 = edge_m.norm_squared();
            if length2 > 0.0 {
                nearest_m += edge_m * (off_m.dot(edge_m) / length2).clamp(0.0, 1.0);
            }
        }
        nearest_m
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(of: [f64; 3]) -> Vec3 {
        Vec3::from(of)
    }

    proptest! {
        /// No point of a fine net over it is nearer, and the nearest of the net is not much farther.
        #[test]
        fn s4_p30_nearest_point_of_a_plate_matches_brute_force(
            shaft in prop::array::uniform3(-1.0..1.0_f64),
            other in prop::array::uniform3(-1.0..1.0_f64),
            off in prop::array::uniform3(-3.0..3.0_f64),
        ) {
            let shaft_m = vector(shaft);
            let other_m = vector(other);
            let along = other_m.dot(&shaft_m) / shaft_m.norm_squared().max(1e-9);
            let span = ToolCore { shaft_m, side_m: other_m - shaft_m * along };
            prop_assume!(shaft_m.norm() > 0.1 && span.is_rectangular());
            let off_m = vector(off);
            let found_m = (off_m - span.nearest_offset_m(&off_m)).norm();
            let net = (0..=40).flat_map(|i| (0..=40).map(move |j| (f64::from(i) / 40.0, f64::from(j) / 40.0)));
            let least_m = net
                .map(|(s, t)| (off_m - span.shaft_m * s - span.side_m * t).norm())
                .fold(f64::INFINITY, f64::min);
            prop_assert!(found_m <= least_m + 1e-12 && least_m - found_m < span.diagonal_m() / 40.0);
        }
    }

    #[test]
    fn skewed_edges_are_detected() {
        let square = ToolCore {
            shaft_m: Vec3::x(),
            side_m: Vec3::y(),
        };
        assert!(square.is_rectangular() && ToolCore::default().is_rectangular());
        assert!(
            !ToolCore {
                side_m: Vec3::new(0.1, 1.0, 0.0),
                ..square
            }
            .is_rectangular()
        );
        assert!(
            !ToolCore {
                side_m: Vec3::new(f64::NAN, 1.0, 0.0),
                ..square
            }
            .is_rectangular()
        );
    }
}
