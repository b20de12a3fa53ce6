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
        let paid = self.lift_j + cost_j <= dissipated_j;
        if paid {
            self.lift_j += cost_j;
            self.twin_m += step_m;
        }
        paid
    }
}
