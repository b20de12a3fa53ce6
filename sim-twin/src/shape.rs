//! Shapes of tissue regions: the whole tissue, a layer, a ball, a box or an ellipsoid.
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
    /// A box or an ellipsoid.
    Solid {
        /// Its centre \[m\].
        centre_m: Vec3,
        /// Its form.
        solid: TurnedSolid,
    },
}

/// Form of a solid with three axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SolidForm {
    /// A box.
    Box,
    /// An ellipsoid.
    Ellipsoid,
}

/// Box or ellipsoid that is turned about z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnedSolid {
    /// Its form.
    pub form: SolidForm,
    /// Half of its lengths along its own axes \[m\], above 0.
    pub half_m: Vec3,
    /// Its first axis: cosine and sine of its turn about z.
    pub axis: [f64; 2],
}

impl TurnedSolid {
    /// Position over its half-lengths, along its own axes, of an offset from its centre \[m\].
    fn scaled(&self, offset_m: &Vec3) -> Vec3 {
        let [cosine, sine] = self.axis;
        let along = Vec3::new(
            cosine * offset_m.x + sine * offset_m.y,
            cosine * offset_m.y - sine * offset_m.x,
            offset_m.z,
        );
        along.component_div(&self.half_m)
    }

    /// True if a scaled position is inside.
    fn holds(&self, scaled: &Vec3) -> bool {
        match self.form {
            SolidForm::Box => scaled.amax() <= 1.0,
            SolidForm::Ellipsoid => scaled.norm_squared() <= 1.0,
        }
    }

    /// Turn about z \[degrees\].
    #[must_use]
    pub fn turn_deg(&self) -> f64 {
        libm::atan2(self.axis[1], self.axis[0]).to_degrees()
    }

    /// Half of the lengths of an upright box around it \[m\].
    #[must_use]
    pub fn reach_m(&self) -> Vec3 {
        let [cosine, sine] = self.axis.map(f64::abs);
        let [x, y, z] = self.half_m.into();
        let join = |a: f64, b: f64| match self.form {
            SolidForm::Box => a + b,
            SolidForm::Ellipsoid => libm::hypot(a, b),
        };
        Vec3::new(join(cosine * x, sine * y), join(sine * x, cosine * y), z)
    }
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
            Self::Solid { centre_m, solid } => solid.holds(&solid.scaled(&(at_m - centre_m))),
        }
    }

    /// Middle and half of the lengths of an upright box around it \[m\], if it is bounded.
    #[must_use]
    pub fn around_m(&self) -> Option<[Vec3; 2]> {
        match *self {
            Self::All | Self::Layer { .. } => None,
            Self::Ball { centre_m, radius_m } => Some([centre_m, Vec3::repeat(radius_m)]),
            Self::Solid { centre_m, solid } => Some([centre_m, solid.reach_m()]),
        }
    }

    /// Compares the region with the convex hull of a cell's corners \[m\]: true if the interior of the hull is inside, false
    /// if it is outside, None if it is both or not known. Ours: conservative for a ball or a solid, whose outside is
    /// tested by the box of the corners along its axes.
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
            Self::Solid { centre_m, solid } => {
                let scaled = corners_m.map(|corner_m| solid.scaled(&(corner_m - centre_m)));
                let [low, high] = [Vec3::inf, Vec3::sup]
                    .map(|of| scaled.iter().fold(scaled[0], |a, b| of(&a, b)));
                let nearest = Vec3::zeros().sup(&low).inf(&high);
                (
                    scaled.iter().all(|corner| solid.holds(corner)),
                    !solid.holds(&nearest),
                )
            }
        };
        (inside || outside).then_some(inside)
    }
}
