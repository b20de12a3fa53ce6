//! Where a picture is looked at from: along parallel rays, from above and aside, as near as all fits.
//!
//! Source: ours. World z is up. A seen place is right and down in pixels, and how near to the eye in metres.

use palpate_twin::Vec3;

/// From the scene to the eye, before it is made of length 1: the x axis runs to the right, y away.
const TO_EYE: [f64; 3] = [-0.45, -0.75, 0.62];
/// From the scene to the lamp, likewise.
const TO_LAMP: [f64; 3] = [-0.2, -0.55, 1.0];
/// Light where the lamp does not shine.
const AMBIENT: f64 = 0.35;
/// Part of the picture that stays free at each side.
const FREE: f64 = 0.06;

/// A place as it is seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Pixels from the left and from the top.
    pub pixel: [f64; 2],
    /// Way towards the eye \[m\]: of two places the one with more hides the other.
    pub near_m: f64,
}

impl Seen {
    /// The same, nearer to the eye by so much \[m\].
    #[must_use]
    pub fn nearer(self, by_m: f64) -> Self {
        let near_m = self.near_m + by_m;
        Self { near_m, ..self }
    }
}

/// An eye that is far away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    right: Vec3,
    up: Vec3,
    to_eye: Vec3,
    to_lamp: Vec3,
    /// Place in the middle of the picture \[m\].
    middle_m: Vec3,
    m_per_pixel: f64,
    centre: [f64; 2],
    extent_m: f64,
}

impl Camera {
    /// One that sees all these places in a picture of so many pixels, with room for a tool above them; none
    /// if there is no place, or no pixel.
    #[must_use]
    pub fn around(places_m: &[Vec3], width: usize, height: usize) -> Option<Self> {
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

    /// Where a place is seen.
    #[must_use]
    pub fn see(&self, at_m: &Vec3) -> Seen {
        let from_middle_m = at_m - self.middle_m;
        let [x, y] = self.centre;
        Seen {
            pixel: [
                x + from_middle_m.dot(&self.right) / self.m_per_pixel,
                y - from_middle_m.dot(&self.up) / self.m_per_pixel,
            ],
            near_m: from_middle_m.dot(&self.to_eye),
        }
    }

    /// How bright a surface with this outward direction is, 0 to 1.
    #[must_use]
    pub fn light(&self, normal: &Vec3) -> f64 {
        AMBIENT + (1.0 - AMBIENT) * normal.dot(&self.to_lamp).max(0.0)
    }

    /// As [`Camera::light`], of a direction as seen: right, up, towards the eye.
    #[must_use]
    pub(crate) fn light_seen(&self, [right, up, near]: [f64; 3]) -> f64 {
        self.light(&(self.right * right + self.up * up + self.to_eye * near))
    }

    /// Width of a pixel \[m\].
    #[must_use]
    pub(crate) const fn m_per_pixel(&self) -> f64 {
        self.m_per_pixel
    }

    /// Diagonal of all places \[m\].
    #[must_use]
    pub const fn extent_m(&self) -> f64 {
        self.extent_m
    }
}
