//! The shape of the tool as data: a ball, a capsule or a flat box with round edges.
//!
//! Source: seed-004 row S4-P30 (real tool geometry); ours in form. The tool's place is the middle of its shape.

use serde::{Deserialize, Serialize};

use crate::{TissueCaps, Vec3};

/// Shape along which a tool's ball is swept; its middle is the tool's place, world frame.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToolShape {
    /// No sweep: the ball alone.
    #[default]
    Ball,
    /// A segment: a finger that lies flat, or a rod.
    Capsule {
        /// Vector from one end to the other \[m\].
        along_m: [f64; 3],
    },
    /// A horizontal rectangle: a spatula.
    Box {
        /// Edge lengths along x and y \[m\].
        edges_m: [f64; 2],
    },
}

impl ToolShape {
    /// Name of the shape in configurations.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ball => "ball",
            Self::Capsule { .. } => "capsule",
            Self::Box { .. } => "box",
        }
    }

    /// Both edges \[m\]: shaft and side of a [`crate::Tool`].
    #[must_use]
    pub fn edges_m(&self) -> [Vec3; 2] {
        match *self {
            Self::Ball => [Vec3::zeros(); 2],
            Self::Capsule { along_m } => [along_m.into(), Vec3::zeros()],
            Self::Box { edges_m: [x, y] } => [Vec3::x() * x, Vec3::y() * y],
        }
    }

    /// Largest of its lengths \[m\]; NaN if one is not finite or an edge is negative.
    #[must_use]
    pub fn longest_m(&self) -> f64 {
        let [shaft_m, side_m] = self.edges_m();
        let all = || shaft_m.iter().chain(side_m.iter());
        let negative = matches!(self, Self::Box { edges_m } if edges_m.iter().any(|m| *m < 0.0));
        if negative || !all().all(|m| m.is_finite()) {
            return f64::NAN;
        }
        all().fold(0.0, |most, m| most.max(m.abs()))
    }

    /// True if tissue with these capabilities supports the shape.
    #[must_use]
    pub const fn is_supported(&self, caps: &TissueCaps) -> bool {
        match self {
            Self::Ball => true,
            Self::Capsule { .. } => caps.shafts,
            Self::Box { .. } => caps.plates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_p30_length_is_the_longest_edge_and_nan_if_invalid() {
        let capsule = ToolShape::Capsule {
            along_m: [0.02, 0.0, -0.01],
        };
        let plate = ToolShape::Box {
            edges_m: [0.02, 0.01],
        };
        assert_eq!((plate.longest_m(), capsule.longest_m()), (0.02, 0.02));
        assert_eq!(ToolShape::Ball.longest_m(), 0.0);
        let wrong = [
            ToolShape::Box {
                edges_m: [-0.01, 0.01],
            },
            ToolShape::Capsule {
                along_m: [f64::NAN, 0.0, 0.0],
            },
        ];
        for shape in wrong {
            assert!(shape.longest_m().is_nan(), "{shape:?}");
        }
    }
}
