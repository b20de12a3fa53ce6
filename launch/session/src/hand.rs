//! A simulated hand that means what a trace says: one intent a tick, of a recording or of a protocol.
//!
//! Source: ours; the plant is the ideal handle of teleop RP-1 as in `palpate_master::device::mass`, with
//! the hand of a grip on it, or [`Hold::Carried`], a handle that is where the trace is, whatever the force.

use palpate_master::device::grip::{Grip, Grips, Hand, Regrip};
use palpate_master::device::mass::{DAMPING_NSPM, MASS_KG};
use palpate_master::device::{Handle, HandleCaps, Reading, Revisions};
use palpate_port::watchdog::{LET_GO_S, Watchdog};
use palpate_transport::clock::PERIOD;
use palpate_transport::{AXES, Axes, Span, Time};
use palpate_twin::Instrument;

/// Plant steps of a tick.
const SUBSTEPS: i64 = 10;

/// Largest force that is taken \[N\], as of the ideal handle.
const FORCE_N_MAX: f64 = 1000.0;

/// Plant steps that one reading runs at most.
const STEPS_MAX: i64 = 3000;

/// What the operator means in one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Meant {
    /// Where the tool centre and the tweezers are meant to be \[m\].
    pub position_m: Axes,
    /// Whether the tweezers are meant to be closed.
    pub closed: bool,
    /// What the tool is meant to do beside pressing.
    pub instrument: Instrument,
    /// Phase of the script.
    pub phase: u16,
    /// Whether the operator is there.
    pub present: bool,
}

/// How the handle follows the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// By the hand of a grip, against what the channel pushes.
    Grip(Grip),
    /// Exactly.
    Carried,
}

/// A handle that is led by a trace.
#[derive(Debug, Clone)]
pub struct TracedHandle {
    trace: Vec<Meant>,
    hold: Hold,
    grips: Grips,
    hand: Hand,
    position_m: Axes,
    velocity_mps: Axes,
    force_n: Axes,
    watchdog: Watchdog,
    let_go_m: Option<Axes>,
    begun: Option<Time>,
    steps: i64,
}

impl TracedHandle {
    /// At rest where the trace begins; after its end the hand stays where the trace ended.
    #[must_use]
    pub fn new(trace: Vec<Meant>, hold: Hold) -> Self {
        let grip = match hold {
            Hold::Grip(grip) => grip,
            Hold::Carried => Grip::None,
        };
        Self {
            position_m: trace.first().map_or([0.0; AXES], |meant| meant.position_m),
            trace,
            hold,
            grips: grip.into(),
            hand: grip.hand(),
            velocity_mps: [0.0; AXES],
            force_n: [0.0; AXES],
            watchdog: Watchdog::new(Some(LET_GO_S), Span(PERIOD.0 / SUBSTEPS)),
            let_go_m: None,
            begun: None,
            steps: 0,
        }
    }

    /// A device that lets go of a force after `let_go_s` \[s\], if ever.
    #[must_use]
    pub fn letting_go(mut self, let_go_s: Option<f64>) -> Self {
        self.watchdog = Watchdog::new(let_go_s, Span(PERIOD.0 / SUBSTEPS));
        self
    }

    /// A hand whose grip changes as it goes, times counted from the first reading; a handle that is carried
    /// has none.
    #[must_use]
    pub fn regripping(mut self, changes: &[Regrip]) -> Self {
        if let Hold::Grip(grip) = self.hold {
            self.grips = Grips::new(grip, changes);
        }
        self
    }

    /// Whether a hand is on the handle, or it is carried.
    fn is_held(&self) -> bool {
        self.hold == Hold::Carried || self.grips.grip() != Grip::None
    }

    fn meant(&self, tick: i64) -> Meant {
        let last = self.trace.len().saturating_sub(1);
        let index = usize::try_from(tick.max(0)).unwrap_or(0).min(last);
        self.trace.get(index).copied().unwrap_or_default()
    }

    /// One plant step, from the intent of a tick to that of the next.
    fn step(&mut self) {
        if self.watchdog.expires() {
            self.force_n = [0.0; AXES];
            self.let_go_m = Some(self.position_m);
        }
        let (tick, part) = (self.steps / SUBSTEPS, self.steps % SUBSTEPS);
        let (now, next) = (self.meant(tick), self.meant(tick + 1));
        // where a hand comes or goes its intent jumps, which is no motion that a hand would make
        let jumps = self.hold != Hold::Carried && now.present != next.present;
        let (from, to) = (now.position_m, if jumps { now } else { next }.position_m);
        let share = part as f64 / SUBSTEPS as f64;
        let step_s = PERIOD.s() / SUBSTEPS as f64;
        let mass_kg = MASS_KG + self.hand.mass_kg;
        for axis in 0..AXES {
            let pace_mps = (to[axis] - from[axis]) / PERIOD.s();
            let there_m = from[axis] + share * (to[axis] - from[axis]);
            if self.hold == Hold::Carried {
                self.position_m[axis] = there_m + pace_mps * step_s;
                self.velocity_mps[axis] = pace_mps;
                continue;
            }
            let pull = self.hand.force_n(
                there_m - self.position_m[axis],
                pace_mps - self.velocity_mps[axis],
            );
            let force = self.force_n[axis] - DAMPING_NSPM * self.velocity_mps[axis] + pull;
            self.velocity_mps[axis] += step_s * force / mass_kg;
            self.position_m[axis] += step_s * self.velocity_mps[axis];
        }
        self.steps += 1;
    }
}

impl Handle for TracedHandle {
    fn caps(&self) -> HandleCaps {
        HandleCaps {
            name: "traced-hand",
            force_n_max: [FORCE_N_MAX; AXES],
            resolution_m: [0.0; AXES],
            mass_kg_min: [MASS_KG; AXES],
            let_go_s: self.watchdog.let_go_s(),
            real: false,
        }
    }

    fn read(&mut self, now: Time) -> Reading {
        let begun = *self.begun.get_or_insert(now);
        let due = (now - begun).0 * SUBSTEPS / PERIOD.0;
        for _ in 0..(due - self.steps).clamp(0, STEPS_MAX) {
            self.step();
        }
        let elapsed_s = self.steps as f64 * PERIOD.s() / SUBSTEPS as f64;
        if let Some(grip) = self.grips.follow(elapsed_s) {
            self.hand = grip.hand();
        }
        let (meant, held) = (self.meant(self.steps / SUBSTEPS), self.is_held());
        Reading {
            position_m: self.position_m,
            velocity_mps: self.velocity_mps,
            closed: held && meant.closed,
            instrument: if held {
                meant.instrument
            } else {
                Instrument::Blunt
            },
            revisions: Revisions::default(),
            swapped: false,
            present: held && meant.present,
            intended_m: if held {
                meant.position_m
            } else {
                self.position_m
            },
            phase: meant.phase,
            let_go_m: self.let_go_m.take(),
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        let usable = |force: f64| match force.is_finite() {
            true => force.clamp(-FORCE_N_MAX, FORCE_N_MAX),
            false => 0.0,
        };
        self.force_n = force_on_hand_n.map(usable);
        self.watchdog.renew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Vec<Meant> {
        let meant = |k: u32| Meant {
            position_m: [0.0, 0.0, -1e-5 * f64::from(k.min(1000)), 0.02],
            present: true,
            ..Meant::default()
        };
        (0..3000).map(meant).collect()
    }

    fn end_m(hold: Hold, push_n: f64) -> f64 {
        let mut handle = TracedHandle::new(ramp(), hold);
        let mut read = Reading::default();
        for tick in 0..4000 {
            read = handle.read(Time(PERIOD.0 * tick));
            handle.write(&[0.0, 0.0, push_n, f64::NAN]);
        }
        assert!(read.present && read.velocity_mps[2].abs() < 1e-6);
        read.position_m[2]
    }

    #[test]
    fn a_hand_gives_way_by_its_spring_and_a_carried_handle_does_not() {
        let firm = end_m(Hold::Grip(Grip::Firm), 1.5);
        assert!((firm - (-0.01 + 1.5 / 300.0)).abs() < 1e-5, "{firm}");
        assert!((end_m(Hold::Carried, 1.5) + 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_hand_lets_go_and_takes_the_handle_again() {
        let change = |at_s, grip| Regrip { at_s, grip };
        let changes = [change(2.0, Grip::None), change(2.5, Grip::Light)];
        let mut handle = TracedHandle::new(ramp(), Hold::Grip(Grip::Firm)).regripping(&changes);
        let mut at = [Reading::default(); 4000];
        for (tick, read) in at.iter_mut().enumerate() {
            *read = handle.read(Time(PERIOD.0 * tick as i64));
            handle.write(&[0.0, 0.0, if tick < 2000 { 0.6 } else { 0.0 }, 0.0]);
        }
        assert!(at[1999].present && !at[2000].present && !at[2499].present && at[2500].present);
        let off_m = |tick: usize| at[tick].position_m[2] + 0.01;
        // 0.6 N against 300 N/m, nobody pulls it back, then somebody does
        assert!((off_m(1999) - 2e-3).abs() < 1e-5, "{}", off_m(1999));
        assert!((off_m(2499) - 2e-3).abs() < 1e-5, "{}", off_m(2499));
        assert_eq!(at[2400].intended_m, at[2400].position_m);
        assert!(off_m(3999).abs() < 1e-5, "{}", off_m(3999));
    }
}
