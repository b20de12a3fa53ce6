//! What makes a rod or a plate of a sphere: all the places that its centre is at.
//!
//! Source: seed-004 row S4-P30 (real tool geometry), ours in form: a segment swept by a ball is a capsule, a rectangle
//! swept by one a box with round edges, and the depth of a place in either is the radius less its distance from them.

use crate::{Tool, Vec3};

/// A point, a segment or a rectangle from the tool's place on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Span {
    /// To the other end \[m\]; zero without length.
    pub shaft_m: Vec3,
    /// To the other edge \[m\], perpendicular; zero without breadth.
    pub side_m: Vec3,
}

/// Cosine of the angle between shaft and side below which they count as perpendicular.
const SQUARE: f64 = 1e-6;

impl Span {
    /// That of a tool.
    #[must_use]
    #[inline]
    pub fn of(tool: &Tool) -> Self {
        Self {
            shaft_m: tool.shaft_m,
            side_m: tool.side_m,
        }
    }

    /// Whether its edges are perpendicular: the nearest point is found along each by itself.
    #[must_use]
    #[inline]
    pub(super) fn is_square(&self) -> bool {
        let cosine = self.shaft_m.dot(&self.side_m).abs();
        cosine <= SQUARE * self.shaft_m.norm() * self.side_m.norm()
    }

    /// Its longest way across \[m\].
    #[must_use]
    #[inline]
    pub fn size_m(&self) -> f64 {
        (self.shaft_m + self.side_m).norm()
    }

    /// From the tool's place to the point of it that is nearest to a place `off_m` from there \[m\].
    #[must_use]
    #[inline]
    pub fn nearest_m(&self, off_m: &Vec3) -> Vec3 {
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
        fn s4_p30_the_nearest_point_of_a_plate_is_that_of_all_its_points(
            shaft in prop::array::uniform3(-1.0..1.0_f64),
            other in prop::array::uniform3(-1.0..1.0_f64),
            off in prop::array::uniform3(-3.0..3.0_f64),
        ) {
            let shaft_m = vector(shaft);
            let other_m = vector(other);
            let along = other_m.dot(&shaft_m) / shaft_m.norm_squared().max(1e-9);
            let span = Span { shaft_m, side_m: other_m - shaft_m * along };
            prop_assume!(shaft_m.norm() > 0.1 && span.is_square());
            let off_m = vector(off);
            let found_m = (off_m - span.nearest_m(&off_m)).norm();
            let net = (0..=40).flat_map(|i| (0..=40).map(move |j| (f64::from(i) / 40.0, f64::from(j) / 40.0)));
            let least_m = net
                .map(|(s, t)| (off_m - span.shaft_m * s - span.side_m * t).norm())
                .fold(f64::INFINITY, f64::min);
            prop_assert!(found_m <= least_m + 1e-12 && least_m - found_m < span.size_m() / 40.0);
        }
    }

    #[test]
    fn edges_that_are_askew_are_told_apart() {
        let square = Span {
            shaft_m: Vec3::x(),
            side_m: Vec3::y(),
        };
        assert!(square.is_square() && Span::default().is_square());
        assert!(
            !Span {
                side_m: Vec3::new(0.1, 1.0, 0.0),
                ..square
            }
            .is_square()
        );
        assert!(
            !Span {
                side_m: Vec3::new(f64::NAN, 1.0, 0.0),
                ..square
            }
            .is_square()
        );
    }
}
