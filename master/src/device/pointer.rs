//! A pointer as a handle: a mouse, a finger or a pen leads a virtual handle by a spring.
//!
//! A pointer gives places some 60 times a second and feels nothing. So it does not move the handle; it
//! leads a point mass (that of teleop RP-1, in [`super::mass`]) by the spring and the damper of a hand,
//! as the virtual coupling of Colgate, Stanley and Brown 1995. The force of the port holds the mass
//! back, and what a person sees of it is how far the tool lags: pseudo-haptics (Lecuyer 2009).
//!
//! Between two places the aim is smoothed by a critically damped filter, x'' = w^2 (aim - x) - 2 w x',
//! which lags by 2 / w, and its speed is bounded, so that no jump of a pointer is a blow. A pointer
//! that falls silent for [`STALE`] is a hand that has gone: the handle is let go where it is and brakes,
//! and only a new grasp takes it again.

use palpate_port::Counts;
use palpate_port::pace::{Pace, SUBSTEP_S};
use palpate_port::watchdog::Watchdog;
use palpate_transport::{AXES, Axes, Span, Time};

use super::grip::Hand;
use super::mass::{MASS_KG, Mass};
use super::script::Intent;
use super::{Handle, HandleCaps, Reading};

/// Silence after which a pointer counts as gone \[ns\]: longer than a slow page takes for a picture or two.
pub const STALE: Span = Span(500_000_000);

/// w of the filter that smooths the aim \[1/s\]: it lags by 25 ms, and 60 Hz do not rattle.
const AIM_RADPS: f64 = 80.0;

/// Fastest motion that a pointer can ask for \[m/s\].
const SPEED_MPS_MAX: f64 = 0.5;

/// Farthest place from the origin that a pointer can ask for, by axis \[m\].
const REACH_M: f64 = 0.2;

/// Damping of a handle that nobody holds \[N s/m\]: it stops within some 6 ms.
const BRAKE_NSPM: f64 = 40.0;

/// Largest force that the handle takes \[N\]: far beyond what a guard lets through.
const FORCE_N_MAX: f64 = 20.0;

/// What a pointer says.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Aim {
    /// Counts what was said; 0 is nothing yet. What is not counted on is not new.
    pub number: u64,
    /// Where the tool is meant to be, and the opening of its jaws \[m\], world frame.
    pub position_m: Axes,
    /// Whether the handle is held.
    pub present: bool,
    /// Whether the jaws are meant to be closed.
    pub closed: bool,
}

impl Aim {
    /// Whether it can be followed: every place is a number.
    fn is_usable(&self) -> bool {
        self.position_m.iter().all(|place| place.is_finite())
    }
}

/// Where the newest aim is found; asked once a reading, and must not wait or allocate.
pub trait Pointer: Send {
    /// The newest aim, new or not.
    fn newest(&mut self) -> Aim;
}

/// A pointer that never says anything.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Nobody;

impl Pointer for Nobody {
    fn newest(&mut self) -> Aim {
        Aim::default()
    }
}

/// The virtual handle that a pointer leads.
#[derive(Debug, Clone)]
pub struct PointerHandle<P> {
    pointer: P,
    pace: Pace,
    mass: Mass,
    hand: Hand,
    intent: Intent,
    aim: Aim,
    /// When the newest aim was seen first.
    heard: Time,
    /// Whether the handle is held.
    held: bool,
    /// Whether the pointer fell silent while it held the handle, and has not said since that it holds nothing.
    lost: bool,
    watchdog: Watchdog,
    counts: Counts,
}

impl<P: Pointer> PointerHandle<P> {
    /// At rest at `start_m`, held by nobody yet; `hand` is how firmly a grasp holds it.
    #[must_use]
    pub fn new(pointer: P, start_m: Axes, hand: Hand) -> Self {
        Self {
            pointer,
            pace: Pace::default(),
            mass: Mass::at(start_m, brake(hand)),
            hand,
            intent: at_rest(start_m),
            aim: Aim::default(),
            heard: Time(0),
            held: false,
            lost: false,
            watchdog: Watchdog::of_plant(None),
            counts: Counts::default(),
        }
    }

    /// The same, which lets go of a force that is not renewed for so long \[s\]; none is never.
    #[must_use]
    pub fn letting_go(mut self, let_go_s: Option<f64>) -> Self {
        self.watchdog = Watchdog::of_plant(let_go_s);
        self
    }

    /// Go on at another place, at rest and held by nobody: only a new grasp takes it there.
    pub fn carry(&mut self, to_m: Axes) {
        self.mass = Mass::at(to_m, brake(self.hand));
        self.intent = at_rest(to_m);
        (self.held, self.lost) = (false, true);
    }

    /// Take what the pointer says now.
    fn listen(&mut self, now: Time) {
        let newest = self.pointer.newest();
        if newest.number != self.aim.number && newest.is_usable() {
            (self.aim, self.heard) = (newest, now);
        }
        let silent = now - self.heard > STALE;
        self.lost = self.aim.present && (self.lost || silent);
        let held = self.aim.present && !self.lost;
        if held != self.held {
            self.held = held;
            self.intent = at_rest(self.mass.body.position_m);
            self.mass.hand = if held { self.hand } else { brake(self.hand) };
        }
        self.intent.closed = held && self.aim.closed;
    }

    /// The aim a sub-step later: the filter of the header.
    fn lead(&mut self) {
        for axis in 0..AXES {
            let aim_m = self.aim.position_m[axis].clamp(-REACH_M, REACH_M);
            let (at_m, speed_mps) = (self.intent.position_m[axis], self.intent.velocity_mps[axis]);
            let pull = AIM_RADPS * (AIM_RADPS * (aim_m - at_m) - 2.0 * speed_mps);
            let speed_mps = (speed_mps + SUBSTEP_S * pull).clamp(-SPEED_MPS_MAX, SPEED_MPS_MAX);
            self.intent.velocity_mps[axis] = speed_mps;
            self.intent.position_m[axis] = at_m + SUBSTEP_S * speed_mps;
        }
    }
}

fn at_rest(position_m: Axes) -> Intent {
    Intent {
        position_m,
        ..Intent::default()
    }
}

/// What holds a handle that nobody holds: the mass of the hand stays, as that of the device would.
fn brake(hand: Hand) -> Hand {
    Hand {
        mass_kg: hand.mass_kg,
        stiffness_npm: 0.0,
        damping_nspm: BRAKE_NSPM,
    }
}

impl<P: Pointer> Handle for PointerHandle<P> {
    fn caps(&self) -> HandleCaps {
        HandleCaps {
            name: "pointer",
            force_n_max: [FORCE_N_MAX; AXES],
            resolution_m: [0.0; AXES],
            mass_kg_min: [MASS_KG; AXES],
            let_go_s: self.watchdog.let_go_s(),
            real: true,
        }
    }

    fn read(&mut self, now: Time) -> Reading {
        self.listen(now);
        let mut let_go_m = None;
        for _ in 0..self.pace.advance(now) {
            if self.watchdog.expires() {
                let_go_m = Some(self.mass.let_go());
            }
            if self.held {
                self.lead();
            }
            self.mass.step(&self.intent);
        }
        Reading {
            position_m: self.mass.body.position_m,
            velocity_mps: self.mass.body.velocity_mps,
            closed: self.intent.closed,
            present: self.held,
            intended_m: if self.held {
                self.intent.position_m
            } else {
                self.mass.body.position_m
            },
            phase: 0,
            let_go_m,
            // a page has no instruments
            ..Reading::default()
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.watchdog.renew();
        self.mass.force_n = self.counts.finite(force_on_hand_n, &[FORCE_N_MAX; AXES]);
    }

    fn counts(&self) -> Counts {
        Counts {
            time_jumps: self.pace.jumps(),
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::grip::Grip;
    use super::*;

    /// A pointer that says one thing after another, each for its ticks.
    struct Said(Vec<(u32, Aim)>);

    impl Pointer for Said {
        fn newest(&mut self) -> Aim {
            if self.0.len() > 1 && self.0[0].0 == 0 {
                self.0.remove(0);
            }
            self.0[0].0 = self.0[0].0.saturating_sub(1);
            self.0[0].1
        }
    }

    fn aim(number: u64, z_m: f64, present: bool) -> Aim {
        Aim {
            number,
            position_m: [0.0, 0.0, z_m, 0.02],
            present,
            closed: false,
        }
    }

    /// Each aim said every 16 ms with a new number.
    fn steady(parts: &[(u32, f64, bool)]) -> Said {
        let mut said = Vec::new();
        for &(times, z_m, present) in parts {
            for _ in 0..times {
                said.push((16, aim(said.len() as u64 + 1, z_m, present)));
            }
        }
        Said(said)
    }

    fn handle(said: Said) -> PointerHandle<Said> {
        let start_m = [0.0, 0.0, 0.03, 0.02];
        PointerHandle::new(said, start_m, Grip::Firm.hand()).letting_go(Some(2e-3))
    }

    fn run(handle: &mut PointerHandle<Said>, ms: core::ops::Range<i64>, up_n: f64) -> Vec<Reading> {
        ms.map(|ms| {
            let reading = handle.read(Time(ms * 1_000_000));
            handle.write(&[0.0, 0.0, up_n, 0.0]);
            reading
        })
        .collect()
    }

    #[test]
    fn the_handle_follows_and_lags_by_the_force_over_the_spring() {
        let mut handle = handle(steady(&[(10, 0.03, false), (500, 0.01, true)]));
        let read = run(&mut handle, 0..3000, 1.5);
        assert!(!read[100].present && read[200].present);
        let last = read[2999];
        assert!((last.intended_m[2] - 0.01).abs() < 1e-6, "{last:?}");
        assert!(
            (last.position_m[2] - 0.01 - 1.5 / 300.0).abs() < 1e-5,
            "{last:?}"
        );
    }

    #[test]
    fn a_pointer_that_falls_silent_lets_go_and_is_not_taken_back_by_the_next_word() {
        let mut said = steady(&[(10, 0.03, false), (60, 0.01, true)]);
        said.0.push((700, aim(70, 0.01, true)));
        said.0
            .extend([(100, aim(71, -0.1, true)), (20, aim(72, -0.1, false))]);
        said.0.push((100, aim(73, 0.0, true)));
        let mut handle = handle(said);
        let read = run(&mut handle, 0..2040, 0.0);
        assert!(read[1110].present, "held");
        // the last new word came at 1104 ms
        assert!(
            read[1590].present && !read[1620].present,
            "let go after half a second"
        );
        assert!(!read[1900].present, "a word alone is no grasp");
        assert!((read[1900].position_m[2] - read[1620].position_m[2]).abs() < 1e-4);
        assert!(read[1990].present, "a new grasp is");
    }

    #[test]
    fn a_handle_that_nobody_holds_brakes() {
        let mut handle = handle(steady(&[
            (4, 0.03, false),
            (10, -0.1, true),
            (90, -0.1, false),
        ]));
        let read = run(&mut handle, 0..800, 0.0);
        let let_go = read.iter().rposition(|read| read.present).expect("held");
        assert!(read[let_go].velocity_mps[2] < -0.05);
        let fell_m = read[let_go].position_m[2] - read[799].position_m[2];
        // a quarter of a kilogram against 40.5 N s/m
        assert!((0.0..0.005).contains(&fell_m), "{fell_m}");
        assert!(read[799].velocity_mps[2].abs() < 1e-3);
    }

    #[test]
    fn issue_the_first_grasp_was_taken_for_one_that_had_fallen_silent() {
        let mut said = steady(&[]);
        said.0.push((900, Aim::default()));
        said.0.extend(steady(&[(20, 0.01, true)]).0);
        let mut handle = handle(said);
        let read = run(&mut handle, 0..1100, 0.0);
        assert!(!read[899].present && read[910].present);
    }

    #[test]
    fn nobody_is_nobody() {
        let mut handle = PointerHandle::new(Nobody, [0.0; AXES], Grip::Firm.hand());
        for ms in 0..500 {
            assert!(!handle.read(Time(ms * 1_000_000)).present);
        }
    }

    proptest! {
        #[test]
        fn any_aim_gives_a_plausible_reading(
            places in proptest::collection::vec((any::<f64>(), any::<f64>(), any::<bool>()), 1..40),
            force_n in any::<f64>(),
        ) {
            let said = places.iter().enumerate().map(|(number, &(x_m, z_m, present))| {
                let position_m = [x_m, 0.0, z_m, x_m];
                let number = number as u64 + 1;
                (16, Aim { number, position_m, present, closed: present })
            });
            let mut handle = handle(Said(said.collect()));
            for ms in 0..640 {
                let reading = handle.read(Time(ms * 1_000_000));
                prop_assert!(reading.is_plausible(), "{reading:?}");
                prop_assert!(reading.intended_m.iter().all(|place| place.abs() <= 1.0));
                handle.write(&[force_n.clamp(-20.0, 20.0), 0.0, force_n, 0.0]);
            }
        }
    }
}
