//! Registration of the tissue's height: the twin's surface is moved to where the robot touches the tissue.
//!
//! If the robot meets tissue above the shadow, or below it after it has met nothing, a search moves the shadow until it
//! presses the tool at the robot's first touch as the tissue did. Later touches refine the height, by where both felt
//! the same force in the same motion. The twin follows while nothing touches it, or as far as the energy that it has
//! dissipated pays for it. Smaller differences are left to the correction map. Ours.

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

/// Largest step of the shadow in a tick, and of a sinking twin \[m\]: 50 mm/s.
const STEP_M_MAX: f64 = 5e-5;

/// Largest step of a rising twin in a tick without contact \[m\]: 10 mm/s, so that it meets the tool without an impact.
const RISE_M_MAX: f64 = 1e-5;

/// Largest step of a rising twin in a tick of a contact \[m\]: 2 mm/s.
const CONTACT_RISE_M_MAX: f64 = 2e-6;

/// Step below which a search ends \[m\].
const STEP_M_MIN: f64 = 1e-6;

/// Factor on the step of a search when it changes its direction.
const TURN_SHARE: f64 = 0.25;

/// Least difference that a search registers \[m\].
const DIFFERENCE_M_MIN: f64 = 0.001;

/// Least difference that a later touch refines \[m\]: less is the noise of its sensor.
const REFINED_M_MIN: f64 = 0.0003;

/// Number of touches that may refine a registered height: what differs then is the stiffness of places.
const REFINEMENTS: u32 = 3;

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
    /// State after the probe feels a force \[N\]. A force that is mostly sideways is not that of a surface below it.
    fn after(self, probe: &ToolState, felt_n: [f64; 3]) -> Self {
        let [x_n, y_n, force_n] = felt_n;
        match self {
            _ if libm::hypot(x_n, y_n) > force_n.max(AIR_N) => Self::Unknown,
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
    /// Reaction of the shadow before the search.
    before: Reaction,
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
    /// Number of later touches that may refine what a search has found.
    refinements: u32,
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

    /// Reaction of a shadow that gives way to a robot that meets nothing, before it did so.
    pub(super) fn before_giving_way(&self) -> Option<Reaction> {
        let search = self.search.filter(|search| search.touch.is_none());
        search.map(|search| search.before)
    }

    /// Ends a search without a result, and what the twin has not yet followed; true if there was a search.
    pub(super) fn abandon(&mut self) -> bool {
        self.contacts = [ContactState::Unknown; 2];
        self.shadow_m = self.twin_m;
        self.search.take().is_some()
    }

    /// Takes a report of the robot, with the reaction of the shadow; `empty_here` is true if the robot is known to meet
    /// nothing at its place. Returns true if the shadow's tool leaps within the tissue, after a search or a refinement.
    pub(super) fn observe(
        &mut self,
        remote: &RemoteReport,
        expected: &Reaction,
        empty_here: bool,
    ) -> bool {
        let measured_n = remote
            .contact_force_n
            .filter(|_| remote.engaged && !remote.probe.closed);
        let Some([x_n, y_n, z_n, _]) = measured_n else {
            let searched = self.search.is_some();
            if searched {
                self.abandon();
            }
            self.contacts = [ContactState::Unknown; 2];
            return searched;
        };
        let felt_n = [[x_n, y_n, z_n], expected.force_n.into()];
        for (contact, force_n) in self.contacts.iter_mut().zip(felt_n) {
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
            [ContactState::Certain(robot), ContactState::Certain(shadow)] => {
                return self.refine(robot.probe.position_m[2] - shadow.probe.position_m[2]);
            }
            _ => return false,
        };
        self.search = Some(Search {
            touch,
            before: *expected,
            step_m: STEP_M_MAX,
            rises: touch.is_some(),
        });
        false
    }

    /// Moves a registered height by how much higher the robot touched than the shadow \[m\]; true if it moved.
    fn refine(&mut self, higher_m: f64) -> bool {
        self.contacts = [ContactState::Unknown; 2];
        let to_m = self.shadow_m + higher_m;
        let refines = self.refinements > 0
            && higher_m.abs() >= REFINED_M_MIN
            && (-HEIGHT_M_MAX..=HEIGHT_M_MAX).contains(&to_m);
        if refines {
            self.refinements -= 1;
            self.shadow_m = to_m;
        }
        refines
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
        if found {
            self.refinements = REFINEMENTS;
            self.search = None;
            self.contacts = [ContactState::Unknown; 2];
        } else {
            self.abandon();
        }
        true
    }

    /// Moves the twin towards the registered height; true if it moved. Without contact it sinks, and rises until it meets
    /// the tool. In light contact it rises slowly, as far as the energy pays for it that the twin has dissipated.
    pub(super) fn move_twin(&mut self, contact: &TwinSurface<'_>) -> bool {
        let way_m = self.shadow_m - self.twin_m;
        let (reaction, in_contact) = (contact.reaction, contact.reaction.contacts > 0);
        let blocked = in_contact && (way_m < 0.0 || reaction.force_n.z > CERTAIN_N);
        if self.search.is_some() || way_m == 0.0 || blocked {
            return false;
        }
        let step_m = way_m.clamp(
            -STEP_M_MAX,
            if in_contact {
                CONTACT_RISE_M_MAX
            } else {
                RISE_M_MAX
            },
        );
        let cost_j = if in_contact {
            let spring_n = reaction.force_n.z.max(0.0) + 0.5 * reaction.stiffness_npm * step_m;
            contact.factor.max(1.0) * spring_n * step_m
        } else {
            0.0
        };
        let paid = !in_contact || self.lift_j + cost_j <= contact.available_j;
        if paid {
            self.lift_j += cost_j;
            self.twin_m += step_m;
        }
        paid
    }
}

/// Contact of the hand with the twin.
pub(super) struct TwinSurface<'a> {
    /// Reaction of the twin.
    pub(super) reaction: &'a Reaction,
    /// Factor of its force on the hand.
    pub(super) factor: f64,
    /// Energy that the twin has dissipated and no edit has used \[J\].
    pub(super) available_j: f64,
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

    /// Moves the twin whose reaction to the hand is known, without a correction.
    fn move_in(
        registration: &mut SurfaceRegistration,
        reaction: &Reaction,
        available_j: f64,
    ) -> bool {
        registration.move_twin(&TwinSurface {
            reaction,
            factor: 1.0,
            available_j,
        })
    }

    /// Robot that presses tissue of `npm` \[N/m\], which is `height_m` \[m\] higher than its twin of 200 N/m, and lifts; its
    /// sensor adds `bias_n` \[N\]. Returns the number of ticks in which the twin moved.
    fn press(registration: &mut SurfaceRegistration, npm: f64, height_m: f64, bias_n: f64) -> u32 {
        let top_m = TOUCH_M + height_m.max(0.0) + 0.005;
        let way_m = top_m - (TOUCH_M + height_m - 0.006);
        let mut moved = 0;
        for tick in 0..6000 {
            let phase = f64::from(tick) / 6000.0;
            let z_m = top_m - way_m * (1.0 - (2.0 * phase - 1.0).abs());
            let force_n = reaction(npm, z_m, height_m).force_n.z + bias_n;
            let remote = report(z_m, force_n);
            let tool = registration.shadow_tool(&remote.probe);
            let expected = reaction(200.0, tool.position_m[2], registration.shadow_m());
            // the map knows a place as empty after a row of ticks without a force
            let empty_here = z_m < TOUCH_M - 0.003;
            registration.observe(&remote, &expected, empty_here);
            moved += u32::from(move_in(registration, &reaction(200.0, 0.05, 0.0), 0.0));
        }
        moved
    }

    #[test]
    fn tissue_at_another_height_is_registered_by_two_touches_and_stays() {
        for height_m in [0.02, 0.005, -0.006, -0.02] {
            let mut registration = SurfaceRegistration::default();
            press(&mut registration, 200.0, height_m, 0.0);
            press(&mut registration, 200.0, height_m, 0.0);
            let error_m = registration.twin_m() - height_m;
            assert!(error_m.abs() < REFINED_M_MIN, "{height_m}: {error_m}");
            assert!(registration.is_settled());
            // twice as stiff: a touch of 0.1 N is 0.25 mm less deep
            for npm in [200.0, 400.0] {
                let moved = press(&mut registration, npm, height_m, 0.0);
                assert_eq!(moved, 0, "{height_m}, {npm} N/m");
            }
        }
    }

    /// Tissue whose first touch is felt at other depths everywhere refines the height a few times, and not for ever.
    #[test]
    fn refinements_end() {
        let mut registration = SurfaceRegistration::default();
        press(&mut registration, 200.0, 0.01, 0.0);
        let moved = (0..10).map(|n| press(&mut registration, [100.0, 1000.0][n % 2], 0.01, 0.0));
        let moved: Vec<u32> = moved.collect();
        assert!(moved[0] > 0 && moved[5..] == [0; 5], "{moved:?}");
    }

    #[test]
    fn height_beyond_its_bound_is_refused() {
        let mut registration = SurfaceRegistration {
            refinements: REFINEMENTS,
            ..SurfaceRegistration::default()
        };
        for wrong_m in [1e6, -1e6, f64::NAN, 0.031] {
            assert!(!registration.refine(wrong_m));
        }
        assert_eq!(registration.shadow_m(), 0.0);
    }

    #[test]
    fn closed_jaws_and_sideways_forces_find_no_surface() {
        let mut registration = SurfaceRegistration::default();
        for (z_m, force_n) in [(0.02, 0.0), (0.015, 0.12), (0.014, 0.4)] {
            registration.observe(&report(z_m, force_n), &reaction(200.0, z_m, 0.0), false);
        }
        assert!(!registration.is_settled());
        let mut closed = report(0.013, 0.5);
        closed.probe.closed = true;
        assert!(registration.observe(&closed, &reaction(200.0, 0.013, 0.0), false));
        assert!(registration.is_settled());
        for force_n in [0.0, 0.12, 0.4] {
            let mut aside = report(0.015, force_n);
            aside.contact_force_n = Some([2.0 * force_n, 0.0, force_n, 0.0]);
            registration.observe(&aside, &reaction(200.0, 0.015, 0.0), false);
        }
        assert!(registration.is_settled());
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
        let cost_j = 0.2 * CONTACT_RISE_M_MAX;
        assert!(!move_in(&mut registration, &light, 0.0));
        assert!(move_in(&mut registration, &light, cost_j));
        assert!((registration.lift_j() - cost_j).abs() < 1e-18);
        assert!(!move_in(&mut registration, &light, cost_j));
        registration.shadow_m = -1e-5;
        assert!(!move_in(&mut registration, &light, 1.0));
        assert!(move_in(&mut registration, &reaction(200.0, 0.05, 0.0), 0.0));
        assert_eq!(registration.twin_m(), -1e-5);
    }
}
