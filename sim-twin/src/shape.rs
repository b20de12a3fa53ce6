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
}
