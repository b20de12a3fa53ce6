//! Simulated hand that follows a trace: one intent per tick, from a recording or a protocol.
//!
//! Source: ours; the plant is the ideal handle of teleop RP-1 as in `palpate_master::device::mass`, with
//! the hand of a grip on it, or [`TraceTracking::Prescribed`], a handle that follows the trace exactly.

use palpate_master::device::grip::{Grip, GripChange, GripSchedule, Hand};
use palpate_master::device::mass::{DAMPING_NSPM, MASS_KG};
use palpate_master::device::{Handle, HandleCaps, HandleReading};
use palpate_port::limit::limited;
use palpate_port::watchdog::Watchdog;
use palpate_transport::clock::PERIOD;
use palpate_transport::{AXES, Axes, Time};
use palpate_twin::Instrument;

/// Plant steps per tick.
const SUBSTEPS: i64 = 10;

/// Largest force that is applied \[N\], as for the ideal handle.
const FORCE_N_MAX: f64 = 1000.0;

/// Most plant steps in one reading.
const STEPS_MAX: i64 = 3000;

/// Operator's intent in one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OperatorIntent {
    /// Intended position of the tool centre and opening of the tweezers \[m\].
    pub position_m: Axes,
    /// True to close the tweezers.
    pub closed: bool,
    /// Instrument beside the pressing tool.
    pub instrument: Instrument,
    /// Phase of the script.
    pub phase: u16,
    /// True if the operator is present.
    pub present: bool,
}

/// Tracking of the trace by the handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceTracking {
    /// By the hand of a grip, against the force of the channel.
    Grip(Grip),
    /// Exactly, whatever the force.
    Prescribed,
}

/// Handle that is driven by a trace.
#[derive(Debug, Clone)]
pub struct TracedHandle {
    trace: Vec<OperatorIntent>,
    tracking: TraceTracking,
    grips: GripSchedule,
    hand: Hand,
    position_m: Axes,
    velocity_mps: Axes,
    force_n: Axes,
    watchdog: Watchdog,
    release_position_m: Option<Axes>,
    begun: Option<Time>,
    steps: i64,
}

impl TracedHandle {
    /// Returns a handle at rest at the start of the trace; after its end the hand stays at the last intent. The device
    /// releases a force after `release_s` \[s\], if ever.
    #[must_use]
    pub fn new(
        trace: Vec<OperatorIntent>,
        tracking: TraceTracking,
        release_s: Option<f64>,
    ) -> Self {
        let grip = match tracking {
            TraceTracking::Grip(grip) => grip,
            TraceTracking::Prescribed => Grip::None,
        };
        Self {
            position_m: trace
                .first()
                .map_or([0.0; AXES], |intent| intent.position_m),
            trace,
            tracking,
            grips: grip.into(),
            hand: grip.hand(),
            velocity_mps: [0.0; AXES],
            force_n: [0.0; AXES],
            watchdog: Watchdog::for_plant(release_s),
            release_position_m: None,
            begun: None,
            steps: 0,
        }
    }

    /// Sets changes of the grip, at times counted from the first reading; a handle with prescribed motion
    /// has no grip.
    pub(crate) fn with_grip_changes(mut self, changes: &[GripChange]) -> Self {
        if let TraceTracking::Grip(grip) = self.tracking {
            self.grips = GripSchedule::new(grip, changes);
        }
        self
    }

    /// True if a hand holds the handle, or its motion is prescribed.
    fn is_held(&self) -> bool {
        self.tracking == TraceTracking::Prescribed || self.grips.grip() != Grip::None
    }

    fn intent_at(&self, tick: i64) -> OperatorIntent {
        let last = self.trace.len().saturating_sub(1);
        let index = usize::try_from(tick.max(0)).unwrap_or(0).min(last);
        self.trace.get(index).copied().unwrap_or_default()
    }

    /// Steps the plant once, from the intent of a tick to that of the next.
    fn step(&mut self) {
        if self.watchdog.expires() {
            self.force_n = [0.0; AXES];
            self.release_position_m = Some(self.position_m);
        }
        let (tick, part) = (self.steps / SUBSTEPS, self.steps % SUBSTEPS);
        let (now, next) = (self.intent_at(tick), self.intent_at(tick + 1));
        // at a grasp or release the intent jumps, which is no motion of a hand
        let jumps = self.tracking != TraceTracking::Prescribed && now.present != next.present;
        let (from, to) = (now.position_m, if jumps { now } else { next }.position_m);
        let share = part as f64 / SUBSTEPS as f64;
        let step_s = PERIOD.s() / SUBSTEPS as f64;
        let mass_kg = MASS_KG + self.hand.mass_kg;
        for axis in 0..AXES {
            let intent_mps = (to[axis] - from[axis]) / PERIOD.s();
            let target_m = from[axis] + share * (to[axis] - from[axis]);
            if self.tracking == TraceTracking::Prescribed {
                self.position_m[axis] = target_m + intent_mps * step_s;
                self.velocity_mps[axis] = intent_mps;
                continue;
            }
            let pull = self.hand.force_n(
                target_m - self.position_m[axis],
                intent_mps - self.velocity_mps[axis],
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
            resolution_m: [0.0; AXES],
            mass_kg_min: [MASS_KG; AXES],
            force_timeout_s: self.watchdog.timeout_s(),
        }
    }

    fn read(&mut self, now: Time) -> HandleReading {
        let begun = *self.begun.get_or_insert(now);
        let due = (now - begun).0 * SUBSTEPS / PERIOD.0;
        for _ in 0..(due - self.steps).clamp(0, STEPS_MAX) {
            self.step();
        }
        let elapsed_s = self.steps as f64 * PERIOD.s() / SUBSTEPS as f64;
        if let Some(grip) = self.grips.advance(elapsed_s) {
            self.hand = grip.hand();
        }
        let mut intent = self.intent_at(self.steps / SUBSTEPS);
        if !self.is_held() {
            intent = OperatorIntent {
                position_m: self.position_m,
                phase: intent.phase,
                ..OperatorIntent::default()
            };
        }
        HandleReading {
            position_m: self.position_m,
            velocity_mps: self.velocity_mps,
            closed: intent.closed,
            instrument: intent.instrument,
            present: intent.present,
            intended_m: intent.position_m,
            phase: intent.phase,
            force_released_m: self.release_position_m.take(),
            ..HandleReading::default()
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.force_n = limited(force_on_hand_n, &[FORCE_N_MAX; AXES]);
        self.watchdog.renew();
    }
}

#[cfg(test)]
mod tests {
    use palpate_port::watchdog::COMMAND_TIMEOUT_S;

    use super::*;

    fn ramp() -> Vec<OperatorIntent> {
        let intent = |k: u32| OperatorIntent {
            position_m: [0.0, 0.0, -1e-5 * f64::from(k.min(1000)), 0.02],
            present: true,
            ..OperatorIntent::default()
        };
        (0..3000).map(intent).collect()
    }

    fn end_m(tracking: TraceTracking, push_n: f64) -> f64 {
        let mut handle = TracedHandle::new(ramp(), tracking, Some(COMMAND_TIMEOUT_S));
        let mut read = HandleReading::default();
        for tick in 0..4000 {
            read = handle.read(Time(PERIOD.0 * tick));
            handle.write(&[0.0, 0.0, push_n, f64::NAN]);
        }
        assert!(read.present && read.velocity_mps[2].abs() < 1e-6);
        read.position_m[2]
    }

    #[test]
    fn gripped_handle_yields_and_prescribed_handle_does_not() {
        let firm = end_m(TraceTracking::Grip(Grip::Firm), 1.5);
        assert!((firm - (-0.01 + 1.5 / 300.0)).abs() < 1e-5, "{firm}");
        assert!((end_m(TraceTracking::Prescribed, 1.5) + 0.01).abs() < 1e-12);
    }

    #[test]
    fn grip_changes_release_and_take_the_handle() {
        let change = |at_s, grip| GripChange { at_s, grip };
        let changes = [change(2.0, Grip::None), change(2.5, Grip::Light)];
        let firm = TraceTracking::Grip(Grip::Firm);
        let mut handle =
            TracedHandle::new(ramp(), firm, Some(COMMAND_TIMEOUT_S)).with_grip_changes(&changes);
        let mut at = [HandleReading::default(); 4000];
        for (tick, read) in at.iter_mut().enumerate() {
            *read = handle.read(Time(PERIOD.0 * tick as i64));
            handle.write(&[0.0, 0.0, if tick < 2000 { 0.6 } else { 0.0 }, 0.0]);
        }
        assert!(at[1999].present && !at[2000].present && !at[2499].present && at[2500].present);
        let off_m = |tick: usize| at[tick].position_m[2] + 0.01;
        // 0.6 N against 300 N/m; released, the offset stays; grasped again, it returns
        assert!((off_m(1999) - 2e-3).abs() < 1e-5, "{}", off_m(1999));
        assert!((off_m(2499) - 2e-3).abs() < 1e-5, "{}", off_m(2499));
        assert_eq!(at[2400].intended_m, at[2400].position_m);
        assert!(off_m(3999).abs() < 1e-5, "{}", off_m(3999));
    }
}
