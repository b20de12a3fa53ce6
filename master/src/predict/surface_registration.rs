//! Registration of the tissue's height: where the robot touches, the twin's surface is raised or lowered to.
//!
//! If the robot meets tissue above the shadow, or below it after it has met nothing, a search moves the shadow until it
//! presses the tool at the robot's first touch as the tissue did. The twin follows while nothing touches it, or as far
//! as the energy that it has dissipated pays for it. A difference of less than the depth of a light touch is left to the correction map.
//! Ours.

use palpate_twin::Reaction;

use super::{RemoteReport, ToolState};

/// Force below which the robot is in air \[N\]: five times the noise of its sensor.
const AIR_N: f64 = 0.05;

/// Force from which it touches \[N\].
const TOUCH_N: f64 = 0.1;

/// Force from which a touch is no fault of the sensor \[N\].
const CERTAIN_N: f64 = 0.3;

/// Largest height over the scene's own surface, upwards or downwards \[m\].
const HEIGHT_M_MAX: f64 = 0.03;

/// Largest step of a height in a tick \[m\]: 50 mm/s.
const STEP_M_MAX: f64 = 5e-5;

/// Largest step of the twin's height in a tick of a contact \[m\]: 2 mm/s.
const CONTACT_STEP_M_MAX: f64 = 2e-6;

/// Step below which a search ends \[m\].
const STEP_M_MIN: f64 = 1e-6;

/// Factor on the step of a search when it changes its direction.
const TURN_SHARE: f64 = 0.25;

/// Least difference that changes the height \[m\]: less is the error of a touch of tissue twice as stiff.
const DIFFERENCE_M_MIN: f64 = 0.001;

/// First touch in a contact.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FirstTouch {
    /// The resting probe.
    probe: ToolState,
    /// Force on it \[N\].
    force_n: f64,
}

/// Contact of the robot, or of the shadow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum ContactState {
    /// Unknown, or already used.
    #[default]
    Unknown,
    /// None.
    Air,
    /// From this touch on.
    Begun(FirstTouch),
    /// From this touch on, with a force that only tissue has.
    Certain(FirstTouch),
}

impl ContactState {
    /// State after the probe feels a force \[N\].
    fn after(self, probe: &ToolState, force_n: f64) -> Self {
        match self {
            _ if force_n < AIR_N => Self::Air,
            Self::Air if force_n >= TOUCH_N => Self::Begun(FirstTouch {
                probe: ToolState {
                    velocity_mps: [0.0; 4],
                    ..*probe
                },
                force_n,
            }),
            Self::Begun(touch) if force_n >= CERTAIN_N => Self::Certain(touch),
            state => state,
        }
    }
}

/// Search of the height.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Search {
    /// Touch that it explains; none while the robot meets nothing, and the shadow gives way to it.
    touch: Option<FirstTouch>,
    /// Present step \[m\].
    step_m: f64,
    /// True if the last step was upwards.
    rises: bool,
}

/// Heights of the twin and its shadow over their scene's surface, and the search for them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SurfaceRegistration {
    twin_m: f64,
    shadow_m: f64,
    /// Contacts of the robot and of the shadow.
    contacts: [ContactState; 2],
    /// True if a search has found the height.
    found: bool,
    search: Option<Search>,
    /// Energy that rises in contact have put into the twin \[J\].
    lift_j: f64,
}

impl SurfaceRegistration {
    /// Height of the twin's surface over that of its scene \[m\].
    pub(super) const fn twin_m(&self) -> f64 {
        self.twin_m
    }

    /// Height of the shadow's surface over that of its scene \[m\].
    pub(super) const fn shadow_m(&self) -> f64 {
        self.shadow_m
    }

    /// Energy that rises in contact have put into the twin \[J\].
    pub(super) const fn lift_j(&self) -> f64 {
        self.lift_j
    }

    /// Puts the twin at a recorded height \[m\].
    pub(super) fn set_twin_m(&mut self, height_m: f64) {
        self.twin_m = height_m;
    }

    /// True if twin and shadow have one height, so that the robot's force says something about the twin's.
    pub(super) fn is_settled(&self) -> bool {
        self.search.is_none() && self.twin_m == self.shadow_m
    }

    /// Tool that the shadow feels: the probe, or the first touch that a search explains.
    pub(super) fn shadow_tool(&self, probe: &ToolState) -> ToolState {
        let touch = self.search.and_then(|search| search.touch);
        touch.map_or(*probe, |touch| touch.probe)
    }

    /// Takes a report of the robot, with the reaction of the shadow; `empty_here` is true if the robot is known to meet
    /// nothing at its place. Returns true if a search has ended, and the shadow's tool leaps to the probe.
    pub(super) fn observe(
        &mut self,
        remote: &RemoteReport,
        expected: &Reaction,
        empty_here: bool,
    ) -> bool {
        let measured_n = remote
            .contact_force_n
            .filter(|_| remote.engaged && !remote.probe.closed);
        let Some([_, _, measured_n, _]) = measured_n else {
            self.contacts = [ContactState::Unknown; 2];
            return false;
        };
        for (contact, force_n) in self
            .contacts
            .iter_mut()
            .zip([measured_n, expected.force_n.z])
        {
            *contact = contact.after(&remote.probe, force_n);
        }
        if self.search.is_some() {
            return self.step_search(expected.force_n.z);
        }
        if self.twin_m != self.shadow_m {
            return false;
        }
        let touch = match self.contacts {
            [ContactState::Certain(touch), _] if expected.contacts == 0 => Some(touch),
            [ContactState::Air, _] if empty_here && expected.force_n.z > CERTAIN_N => None,
            [ContactState::Certain(robot), ContactState::Certain(shadow)] if self.found => {
                self.contacts = [ContactState::Unknown; 2];
                self.shadow_m += robot.probe.position_m[2] - shadow.probe.position_m[2];
                return true;
            }
            _ => return false,
        };
        self.search = Some(Search {
            touch,
            step_m: STEP_M_MAX,
            rises: touch.is_some(),
        });
        false
    }

    /// Moves the shadow, whose reaction to the tool is `expected_n` \[N\], by a step; true if the search has ended.
    fn step_search(&mut self, expected_n: f64) -> bool {
        let Some(search) = &mut self.search else {
            return false;
        };
        if let (None, ContactState::Certain(touch)) = (search.touch, self.contacts[0]) {
            search.touch = Some(touch);
            return false;
        }
        let target_n = search.touch.map_or(TOUCH_N, |touch| touch.force_n);
        let rises = expected_n < target_n;
        if rises != search.rises && search.touch.is_some() {
            search.step_m *= TURN_SHARE;
        }
        search.rises = rises;
        let (touch, step_m) = (search.touch, search.step_m);
        self.shadow_m += if rises { step_m } else { -step_m };
        let found = match touch {
            // the robot has left the empty place
            None if self.shadow_m >= self.twin_m => false,
            None => {
                self.shadow_m = self.shadow_m.max(-HEIGHT_M_MAX);
                return false;
            }
            Some(_) if self.shadow_m.abs() > HEIGHT_M_MAX => false,
            Some(_) if step_m > STEP_M_MIN => return false,
            Some(_) => (self.shadow_m - self.twin_m).abs() >= DIFFERENCE_M_MIN,
        };
        if !found {
            self.shadow_m = self.twin_m;
        }
        self.found |= found;
        (self.search, self.contacts) = (None, [ContactState::Unknown; 2]);
        true
    }

    /// Moves the twin towards the registered height, for a reaction to its tool; true if it moved. Without contact it sinks
    /// at once, and rises until it meets the tool. In light contact it rises slowly, as far as the energy \[J\] that the twin
    /// has dissipated pays for it.
    pub(super) fn move_twin(&mut self, reaction: &Reaction, dissipated_j: f64) -> bool {
        let rise_m = self.shadow_m - self.twin_m;
        let in_contact = reaction.contacts > 0;
        let blocked = in_contact && (rise_m < 0.0 || reaction.force_n.z > CERTAIN_N);
        if self.search.is_some() || rise_m == 0.0 || blocked {
            return false;
        }
        let step_m = rise_m.min(if in_contact {
            CONTACT_STEP_M_MAX
        } else {
            STEP_M_MAX
        });
        let cost_j = (reaction.force_n.z * step_m).max(0.0);
        let paid = cost_j == 0.0 || self.lift_j + cost_j <= dissipated_j;
        if paid {
            self.lift_j += cost_j;
            self.twin_m += step_m;
        }
        paid
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::Time;
    use palpate_twin::{Instrument, Vec3};

    use super::*;
    use crate::predict::RemoteEdits;

    /// Height of the tool's middle at the surface \[m\].
    const TOUCH_M: f64 = 0.008;

    /// Report of a robot at a height, with the force of its tissue.
    fn report(z_m: f64, force_n: f64) -> RemoteReport {
        RemoteReport {
            probe: ToolState {
                position_m: [0.0, 0.0, z_m, 0.0],
                velocity_mps: [0.0; 4],
                closed: false,
                instrument: Instrument::Blunt,
            },
            contact_force_n: Some([0.0, 0.0, force_n, 0.0]),
            sensor_lives: true,
            port_force_n: [0.0; 4],
            engaged: true,
            sent: Time(0),
            edits: RemoteEdits::default(),
        }
    }

    /// Force of a spring of `npm` \[N/m\] whose surface is `height_m` \[m\] higher.
    fn reaction(npm: f64, z_m: f64, height_m: f64) -> Reaction {
        let force_n = npm * (TOUCH_M + height_m - z_m).max(0.0);
        Reaction {
            force_n: Vec3::new(0.0, 0.0, force_n),
            contacts: u32::from(force_n > 0.0),
            ..Reaction::default()
        }
    }

    /// Robot that presses tissue of `npm` \[N/m\], which is `height_m` \[m\] higher than its twin of 200 N/m, and lifts.
    fn press(registration: &mut SurfaceRegistration, npm: f64, height_m: f64, bias_n: f64) {
        let top_m = TOUCH_M + height_m.max(0.0) + 0.005;
        let way_m = top_m - (TOUCH_M + height_m - 0.006);
        for tick in 0..3000 {
            let phase = f64::from(tick) / 3000.0;
            let z_m = top_m - way_m * (1.0 - (2.0 * phase - 1.0).abs());
            let force_n = reaction(npm, z_m, height_m).force_n.z + bias_n;
            let remote = report(z_m, force_n);
            let tool = registration.shadow_tool(&remote.probe);
            let expected = reaction(200.0, tool.position_m[2], registration.shadow_m());
            // the map knows a place as empty after a row of ticks without a force
            let empty_here = z_m < TOUCH_M - 0.003;
            registration.observe(&remote, &expected, empty_here);
            let in_air = reaction(200.0, 0.05, 0.0);
            registration.move_twin(&in_air, 0.0);
        }
    }

    #[test]
    fn tissue_at_another_height_is_registered_by_two_touches() {
        for height_m in [0.02, 0.005, -0.006, -0.02] {
            let mut registration = SurfaceRegistration::default();
            press(&mut registration, 200.0, height_m, 0.0);
            let error_m = registration.twin_m() - height_m;
            assert!(error_m.abs() < 2e-4, "{height_m}: {error_m}");
            assert!(registration.is_settled());
            press(&mut registration, 200.0, height_m, 0.0);
            assert!((registration.twin_m() - height_m).abs() < 1e-4);
            // twice as stiff: a touch of 0.1 N is 0.25 mm less deep
            press(&mut registration, 400.0, height_m, 0.0);
            assert!((registration.twin_m() - height_m).abs() < 5e-4);
        }
    }

    #[test]
    fn softer_and_stiffer_tissue_at_the_height_of_its_twin_moves_nothing() {
        for npm in [40.0, 200.0, 1000.0] {
            let mut registration = SurfaceRegistration::default();
            press(&mut registration, npm, 0.0, 0.0);
            assert_eq!(registration.twin_m(), 0.0, "{npm}");
        }
    }

    /// A sensor that shows a force in air has met no tissue.
    #[test]
    fn biased_sensor_moves_nothing() {
        let mut registration = SurfaceRegistration::default();
        press(&mut registration, 200.0, 0.01, 0.4);
        assert_eq!((registration.twin_m(), registration.shadow_m()), (0.0, 0.0));
    }

    #[test]
    fn shadow_returns_to_its_height_where_there_is_no_tissue() {
        let mut registration = SurfaceRegistration::default();
        press(&mut registration, 0.0, -0.01, 0.0);
        assert_eq!((registration.twin_m(), registration.shadow_m()), (0.0, 0.0));
        assert!(registration.is_settled());
    }

    #[test]
    fn rise_in_contact_is_paid_by_dissipated_energy_and_sinking_waits() {
        let mut registration = SurfaceRegistration {
            shadow_m: 0.001,
            ..SurfaceRegistration::default()
        };
        let light = reaction(200.0, TOUCH_M - 0.001, 0.0);
        assert!(!registration.move_twin(&light, 0.0));
        assert!(registration.move_twin(&light, 0.2 * CONTACT_STEP_M_MAX));
        assert!((registration.lift_j() - 0.2 * CONTACT_STEP_M_MAX).abs() < 1e-18);
        assert!(!registration.move_twin(&light, 0.2 * CONTACT_STEP_M_MAX));
        registration.shadow_m = -0.001;
        assert!(!registration.move_twin(&light, 1.0));
        assert!(registration.move_twin(&reaction(200.0, 0.05, 0.0), 0.0));
        assert_eq!(registration.twin_m(), -0.001);
    }
}
