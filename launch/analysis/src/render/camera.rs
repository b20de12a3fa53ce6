//! Camera of a picture: parallel rays from above and aside, scaled to fit.
//!
//! Source: ours. World z is up. A projected point is right and down in pixels, and towards the eye in metres.

use palpate_twin::Vec3;

/// Direction from the scene to the eye, not normalised: the x axis runs to the right, y away.
const TO_EYE: [f64; 3] = [-0.45, -0.75, 0.62];
/// Direction from the scene to the lamp, not normalised.
const TO_LAMP: [f64; 3] = [-0.2, -0.55, 1.0];
/// Ambient light.
const AMBIENT: f64 = 0.35;
/// Free part of the picture at each side.
const FREE: f64 = 0.06;

/// A projected point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScreenPoint {
    /// Pixels from the left and from the top.
    pub pixel: [f64; 2],
    /// Coordinate towards the eye \[m\]: the larger of two hides the other.
    pub near_m: f64,
}

impl ScreenPoint {
    /// Moves the point towards the eye \[m\].
    pub(crate) fn nearer(self, by_m: f64) -> Self {
        let near_m = self.near_m + by_m;
        Self { near_m, ..self }
    }
}

/// A parallel projection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Camera {
    right: Vec3,
    up: Vec3,
    to_eye: Vec3,
    to_lamp: Vec3,
    /// Place in the middle of the picture \[m\].
    middle_m: Vec3,
    /// Width of a pixel \[m\].
    pub(super) m_per_pixel: f64,
    centre: [f64; 2],
    /// Diagonal of all places \[m\].
    pub(super) extent_m: f64,
}

impl Camera {
    /// Returns a camera that fits all these places in a picture of this size, with space for a tool above them. None
    /// without places or pixels.
    pub(crate) fn around(places_m: &[Vec3], width: usize, height: usize) -> Option<Self> {
        if places_m.is_empty() || width == 0 || height == 0 {
            return None;
        }
        let to_eye = Vec3::from(TO_EYE).normalize();
        let right = Vec3::z().cross(&to_eye).normalize();
        let up = to_eye.cross(&right);
        let mut low = [f64::INFINITY; 2];
        let mut high = [f64::NEG_INFINITY; 2];
        let (mut from_m, mut to_m) = (places_m[0], places_m[0]);
        for at_m in places_m {
            for (axis, along) in [right, up].iter().enumerate() {
                low[axis] = low[axis].min(at_m.dot(along));
                high[axis] = high[axis].max(at_m.dot(along));
            }
            (from_m, to_m) = (from_m.inf(at_m), to_m.sup(at_m));
        }
        let extent_m = (to_m - from_m).norm();
        // a tool stands above the surface
        high[1] += 0.12 * extent_m;
        let room = |pixels: usize| pixels as f64 * (1.0 - 2.0 * FREE);
        let across = (high[0] - low[0]) / room(width);
        let m_per_pixel = across.max((high[1] - low[1]) / room(height));
        if !(m_per_pixel.is_finite() && m_per_pixel > 0.0) {
            return None;
        }
        let middle_m = right * (0.5 * (low[0] + high[0])) + up * (0.5 * (low[1] + high[1]));
        Some(Self {
            right,
            up,
            to_eye,
            to_lamp: Vec3::from(TO_LAMP).normalize(),
            middle_m,
            m_per_pixel,
            centre: [0.5 * width as f64, 0.5 * height as f64],
            extent_m,
        })
    }

    /// Projects a place.
    pub(crate) fn project(&self, at_m: &Vec3) -> ScreenPoint {
        let from_middle_m = at_m - self.middle_m;
        let [x, y] = self.centre;
        ScreenPoint {
            pixel: [
                x + from_middle_m.dot(&self.right) / self.m_per_pixel,
                y - from_middle_m.dot(&self.up) / self.m_per_pixel,
            ],
            near_m: from_middle_m.dot(&self.to_eye),
        }
    }

    /// Brightness of a surface with this outward direction, 0 to 1.
    pub(crate) fn light(&self, normal: &Vec3) -> f64 {
        AMBIENT + (1.0 - AMBIENT) * normal.dot(&self.to_lamp).max(0.0)
    }

    /// Returns [`Camera::light`] for a direction in view coordinates: right, up, towards the eye.
    pub(crate) fn light_seen(&self, towards: [f64; 3]) -> f64 {
        let [right, up, near] = towards;
        self.light(&(self.right * right + self.up * up + self.to_eye * near))
    }
}
