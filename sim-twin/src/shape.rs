//! Shapes of tissue regions: the whole tissue, a layer or a ball.
//!
//! Source: ours.

use crate::Vec3;

/// Shape of a region, in the rest configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RegionShape {
    /// The whole tissue.
    All,
    /// Between two heights.
    Layer {
        /// Lower end \[m\].
        from_m: f64,
        /// Upper end \[m\].
        to_m: f64,
    },
    /// A ball.
    Ball {
        /// Its centre \[m\].
        centre_m: Vec3,
        /// Its radius \[m\].
        radius_m: f64,
    },
}

impl RegionShape {
    /// True if the place \[m\] is inside; the border of a layer belongs to the layer above it.
    #[must_use]
    #[inline]
    pub fn contains(&self, at_m: &Vec3) -> bool {
        match *self {
            Self::All => true,
            Self::Layer { from_m, to_m } => (from_m..to_m).contains(&at_m.z),
            Self::Ball { centre_m, radius_m } => (at_m - centre_m).norm() <= radius_m,
        }
    }

    /// Compares the region with the convex hull of a cell's corners \[m\]: true if the interior of the hull is inside, false
    /// if it is outside, None if it is both or not known. Ours: conservative for a ball, whose outside is tested by the box
    /// of the corners.
    #[must_use]
    pub fn contains_cell(&self, corners_m: &[Vec3; 8]) -> Option<bool> {
        let low_m = corners_m.iter().fold(corners_m[0], |a, b| a.inf(b));
        let high_m = corners_m.iter().fold(corners_m[0], |a, b| a.sup(b));
        let (inside, outside) = match *self {
            Self::All => (true, false),
            Self::Layer { from_m, to_m } => (
                from_m <= low_m.z && high_m.z <= to_m,
                high_m.z <= from_m || to_m <= low_m.z,
            ),
            Self::Ball { centre_m, .. } => {
                let nearest_m = centre_m.sup(&low_m).inf(&high_m);
                (
                    corners_m.iter().all(|corner_m| self.contains(corner_m)),
                    !self.contains(&nearest_m),
                )
            }
        };
        (inside || outside).then_some(inside)
    }
}
