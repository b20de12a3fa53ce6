//! What the robot has met, as one contact law: teleop E15 fed by the frames as they come, late or not.
//!
//! Force and motion of a frame are of one moment, so the delay does not matter. The surface is where the
//! robot's force began: its first contact. A law of its own beside the twin, which needs no scene: it says
//! how hard and how curved the tissue under the robot is, and how sure that is. Ours.

use super::hunt_crossley::{Contact, Estimation, HuntCrossley};
use super::local::Surface;

/// Force below which the robot is in the air \[N\]: three times the noise of its sensor.
const AIR_N: f64 = 0.03;

/// The surface under the robot, and the law of what it meets there.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Met {
    law: HuntCrossley,
    /// Height of the surface of this touch \[m\]; none in the air.
    surface_m: Option<f64>,
    /// Height of the last sample in the air \[m\].
    air_m: Option<f64>,
    /// Height of the surface that was touched last \[m\].
    last_m: Option<f64>,
}

impl Met {
    /// A frame of the robot: height and its rate \[m\], \[m/s\], and the normal force on the probe \[N\].
    pub(super) fn hear(&mut self, height_m: f64, rate_mps: f64, force_n: f64) {
        if !(height_m + rate_mps + force_n).is_finite() {
            return;
        }
        let params = Estimation::default();
        if force_n < AIR_N {
            (self.surface_m, self.air_m) = (None, Some(height_m));
            return;
        }
        // a robot that begins in contact has no surface yet
        let Some(air_m) = self.air_m else { return };
        let surface_m = *self.surface_m.get_or_insert(air_m);
        self.last_m = Some(surface_m);
        self.law
            .hear(&params, surface_m - height_m, -rate_mps, force_n);
    }

    /// The law as it is known; none before a first contact.
    #[must_use]
    pub(super) fn contact(&self) -> Option<Contact> {
        self.law.contact(&Estimation::default())
    }

    /// The law with the height of the surface that was touched last; none before a first contact.
    #[must_use]
    pub(super) fn surface(&self) -> Option<Surface> {
        Some(Surface {
            law: self.contact()?,
            height_m: self.last_m?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_at_an_unknown_height_is_known_after_two_presses() {
        let (wall_m, npm) = (0.0123, 400.0);
        let mut met = Met::default();
        assert_eq!(met.contact(), None);
        for tick in 0..4000 {
            let turn = 2.0 * core::f64::consts::PI * f64::from(tick) / 2000.0;
            let height_m = wall_m + 0.001 - 0.003 * (1.0 - libm::cos(turn));
            let rate_mps = -0.003 * core::f64::consts::PI * libm::sin(turn);
            let force_n = (npm * (wall_m - height_m)).max(0.0);
            met.hear(height_m, rate_mps, force_n);
            met.hear(f64::NAN, rate_mps, force_n);
        }
        let contact = met.contact().expect("met");
        let there_npm = contact.stiffness_npm(3e-3);
        assert!((there_npm / npm - 1.0).abs() < 0.05, "{contact:?}");
        assert!((contact.force_n(3e-3, 0.0) / 1.2 - 1.0).abs() < 0.05);
        assert!(contact.confidence > 0.9);
    }

    #[test]
    fn a_robot_that_begins_in_contact_waits_for_its_first_air() {
        let mut met = Met::default();
        for _ in 0..100 {
            met.hear(0.0, 0.0, 1.0);
        }
        assert_eq!(met.contact(), None);
    }
}
