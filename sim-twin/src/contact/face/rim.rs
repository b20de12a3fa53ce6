//! Distance of a tool beside the open border of a surface, continued to the places below it.
//!
//! Source: ours. With the height h over the surface on the tool's side and the distance u beside the rim, a tool above or
//! beside has the distance `B = sqrt(u^2 + h^2)`, and a tool that went through has `A = h + g(u)`: its signed distance
//! under the surface, which grows to a release on the way out. `phi = (1 - t) A + t B`, with t from the height, and
//! from the distance where the tool is beside. Each part has a continuous slope, S being `3 x^2 - 2 x^3` from 0 to 1:
//!
//! - `g = u S(u / w)`, `w = r / 2`: 0 with its slope at the rim, u from w on;
//! - `t = S((h + q) / q_max)`, `q = q_max S(u / w)`, `q_max = r / 4`: 0 below the rim, 1 above q_max, and beside from w on.
//!
//! The force is along the gradient of phi, for a normal that does not turn.

use super::FADE_RATIO;
use crate::Vec3;

/// Distance w beside the rim from which a tool is beside, over the radius.
const BESIDE_RATIO: f64 = 0.5;

/// Continued distance from the rim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RimDistance {
    /// Signed distance phi \[m\].
    pub(super) distance_m: f64,
    /// Its gradient.
    pub(super) direction: Vec3,
    /// Distance from which other faces fade \[m\].
    pub(super) clear_m: f64,
}

impl RimDistance {
    /// Distance of a tool at `gap_m` from the rim, whose surface has the normal `outward` on the tool's side. None if
    /// the tool is so far above or beside that it has the plain distance.
    pub(super) fn new(gap_m: &Vec3, outward: &Vec3, radius_m: f64) -> Option<Self> {
        let height_m = gap_m.dot(outward);
        let aside = gap_m - height_m * outward;
        let aside_m = aside.norm();
        let (wide_m, high_m) = (BESIDE_RATIO * radius_m, FADE_RATIO * radius_m);
        let (beside, beside_slope) = smooth_step(aside_m / wide_m);
        let (plain, plain_slope) = smooth_step((height_m + high_m * beside) / high_m);
        if plain >= 1.0 {
            return None;
        }
        let below_m = height_m + aside_m * beside;
        let above_m = libm::hypot(aside_m, height_m);
        let [along_height, along_aside] = if above_m > 0.0 {
            [height_m / above_m, aside_m / above_m]
        } else {
            [0.0; 2]
        };
        let below_slope = beside + aside_m * beside_slope / wide_m;
        let change_m = above_m - below_m;
        let height_slope = 1.0 + plain * (along_height - 1.0) + plain_slope / high_m * change_m;
        let aside_slope = below_slope
            + plain * (along_aside - below_slope)
            + plain_slope * beside_slope / wide_m * change_m;
        let sideways = aside.try_normalize(0.0).unwrap_or_else(Vec3::zeros);
        Some(Self {
            distance_m: below_m + plain * change_m,
            direction: height_slope * outward + aside_slope * sideways,
            clear_m: libm::hypot(aside_m, height_m.max(0.0)),
        })
    }
}

/// `3 x^2 - 2 x^3` between 0 and 1, and its slope.
fn smooth_step(at: f64) -> (f64, f64) {
    let at = at.clamp(0.0, 1.0);
    (at * at * (3.0 - 2.0 * at), 6.0 * at * (1.0 - at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gradient_is_the_slope_of_the_distance(h in -2.0..0.5_f64, u in 0.01..2.0_f64, angle in 0.0..6.0_f64) {
            let (sin, cos) = libm::sincos(angle);
            let at = |h: f64, u: f64| RimDistance::new(&Vec3::new(u * cos, u * sin, h), &Vec3::z(), 1.0);
            let Some(here) = at(h, u) else { return Ok(()) };
            let step = 1e-6;
            let near = [at(h + step, u), at(h - step, u), at(h, u + step), at(h, u - step)];
            let [Some(up), Some(down), Some(out), Some(back)] = near.map(|near| near.map(|near| near.distance_m)) else {
                return Ok(());
            };
            let along = here.direction.x * cos + here.direction.y * sin;
            prop_assert!(((up - down) / (2.0 * step) - here.direction.z).abs() < 1e-5);
            prop_assert!(((out - back) / (2.0 * step) - along).abs() < 1e-5);
            prop_assert!(here.direction.norm() < 4.0);
        }
    }

    #[test]
    fn distance_is_signed_below_the_rim_and_plain_beside_and_above() {
        let at = |u: f64, h: f64| RimDistance::new(&Vec3::new(u, 0.0, h), &Vec3::z(), 1.0);
        assert_eq!(at(0.0, -0.7).map(|rim| rim.distance_m), Some(-0.7));
        assert_eq!(at(0.0, -0.7).map(|rim| rim.direction), Some(Vec3::z()));
        for (u, h) in [(0.0, 0.25), (0.6, 0.0), (0.3, 0.9)] {
            assert_eq!(at(u, h), None);
        }
        // a tool below leaves the contact a radius and its depth beside the rim
        assert!(at(1.69, -0.7).is_some_and(|rim| rim.distance_m < 1.0));
        assert!(at(1.71, -0.7).is_some_and(|rim| rim.distance_m > 1.0));
    }
}
