//! Pointer as a handle: a mouse, a finger or a pen pulls a virtual handle by a spring.
//!
//! A pointer reports positions some 60 times a second and displays no force. So it does not move the handle; it
//! pulls a point mass (that of teleop RP-1, in [`super::mass`]) by the spring and the damper of a hand,
//! as the virtual coupling of Colgate, Stanley and Brown 1995. The port's force holds the mass
//! back, and a person sees it as the lag of the tool: pseudo-haptics (Lecuyer 2009).
//!
//! Between two positions the target is smoothed by a critically damped filter, x'' = w^2 (target - x) - 2 w x',
//! which lags by 2 / w. Its speed is bounded, so that a jump of the pointer causes no impact. A pointer
//! that is silent for `SILENCE_MAX` counts as a hand that is gone: the handle is released in place and brakes,
//! and only a new grasp takes it again. The same holds for a halt, during which the handle stands. After the halt it
//! first moves to the robot, which stands as well, so that no offset between them remains.

use palpate_port::fixed_stepper::{FixedStepper, SUBSTEP_S};
use palpate_port::limit::limited;
use palpate_port::watchdog::Watchdog;
use palpate_transport::mailbox::LatestReader;
use palpate_transport::{AXES, Axes, Span, Time};

use super::grip::Hand;
use super::mass::{MASS_KG, Mass};
use super::minimum_jerk::Segment;
use super::script::Intent;
use super::{Handle, HandleCaps, HandleReading};

/// Silence after which a pointer counts as gone \[ns\]: longer than a slow page needs for a frame or two.
pub(crate) const SILENCE_MAX: Span = Span(500_000_000);

/// Natural frequency w of the filter that smooths the target \[1/s\]: it lags by 25 ms, and 60 Hz do not rattle.
const TARGET_FILTER_RADPS: f64 = 80.0;

/// Largest speed of the target \[m/s\].
const SPEED_MPS_MAX: f64 = 0.5;

/// Largest coordinate of the target, by axis \[m\].
const REACH_M: f64 = 0.2;

/// Damping of a handle that is not held \[N s/m\]: it stops within some 6 ms.
const BRAKE_NSPM: f64 = 40.0;

/// Largest force that the handle accepts \[N\]: far beyond what a guard permits.
const FORCE_N_MAX: f64 = 20.0;

/// Mean speed at which a halted handle moves to the robot \[m/s\], and the shortest time of that motion \[s\]; ours.
const REALIGN_MPS: f64 = 0.05;
const REALIGN_S_MIN: f64 = 0.1;

/// Phase of a handle with respect to halts of its side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum HaltPhase {
    /// No halt; the pointer may hold the handle.
    #[default]
    Free,
    /// The side is halted, and the handle stands.
    Halted,
    /// After a halt: sub-steps so far of the motion to the robot.
    Realigning { path: Segment, substeps: u32 },
}

/// Target position of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PointerTarget {
    /// Number of the report; 0 before the first. A repeated number is no new report.
    pub sequence: u64,
    /// Intended position of the tool, and opening of its jaws \[m\], world frame.
    pub position_m: Axes,
    /// True if the handle is held.
    pub present: bool,
    /// True if the jaws shall be closed.
    pub closed: bool,
}

impl PointerTarget {
    /// True if every coordinate is finite.
    fn is_usable(&self) -> bool {
        self.position_m.iter().all(|place| place.is_finite())
    }
}

/// Source of pointer targets; read once per reading, must not wait or allocate.
pub trait PointerSource: Send {
    /// The newest target, new or not.
    fn newest(&mut self) -> PointerTarget;
}

/// Shared cell into which another thread writes the newest target.
impl PointerSource for LatestReader<PointerTarget> {
    fn newest(&mut self) -> PointerTarget {
        *self.read()
    }
}

/// Pointer that never reports.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NoPointer;

impl PointerSource for NoPointer {
    fn newest(&mut self) -> PointerTarget {
        PointerTarget::default()
    }
}

/// Virtual handle that a pointer pulls.
#[derive(Debug, Clone)]
pub struct PointerHandle<P> {
    pointer: P,
    stepper: FixedStepper,
    mass: Mass,
    hand: Hand,
    intent: Intent,
    target: PointerTarget,
    /// Time at which the newest target was read first.
    target_since: Time,
    /// True if the handle is held.
    held: bool,
    /// True if the pointer fell silent while it held the handle, and has not reported a release since.
    lost: bool,
    halt_phase: HaltPhase,
    watchdog: Watchdog,
}

impl<P: PointerSource> PointerHandle<P> {
    /// Handle at rest at `start_m`, not held yet; `hand` is the grip of a grasp.
    #[must_use]
    pub fn new(pointer: P, start_m: Axes, hand: Hand) -> Self {
        Self {
            pointer,
            stepper: FixedStepper::default(),
            mass: Mass::at(start_m, brake(hand)),
            hand,
            intent: at_rest(start_m),
            target: PointerTarget::default(),
            target_since: Time(0),
            held: false,
            lost: false,
            halt_phase: HaltPhase::Free,
            watchdog: Watchdog::for_plant(None),
        }
    }

    /// Sets the time after which a force that is not renewed is released \[s\]; none for never.
    #[must_use]
    pub(crate) fn with_force_timeout(mut self, timeout_s: Option<f64>) -> Self {
        self.watchdog = Watchdog::for_plant(timeout_s);
        self
    }

    /// Moves the handle to another place, at rest and not held: only a new grasp takes it there.
    pub fn move_to(&mut self, to_m: Axes) {
        self.mass = Mass::at(to_m, brake(self.hand));
        self.intent = at_rest(to_m);
        (self.held, self.lost) = (false, true);
    }

    /// Reads the newest target of the pointer.
    fn read_pointer(&mut self, now: Time) {
        let newest = self.pointer.newest();
        if newest.sequence != self.target.sequence && newest.is_usable() {
            (self.target, self.target_since) = (newest, now);
        }
        let silent = now - self.target_since > SILENCE_MAX;
        let halted = self.halt_phase != HaltPhase::Free;
        self.lost = self.target.present && (self.lost || silent || halted);
        let held = self.target.present && !self.lost;
        if held != self.held {
            self.held = held;
            self.intent = at_rest(self.mass.body.position_m);
            self.mass.hand = if held { self.hand } else { brake(self.hand) };
        }
        self.intent.closed = held && self.target.closed;
    }

    /// Advances by a sub-step.
    fn substep(&mut self) {
        match &mut self.halt_phase {
            HaltPhase::Free => {
                if self.held {
                    self.filter_target();
                }
                self.mass.step(&self.intent);
            }
            HaltPhase::Halted => self.mass.body.velocity_mps = [0.0; AXES],
            HaltPhase::Realigning { path, substeps } => {
                *substeps += 1;
                let elapsed_s = f64::from(*substeps) * SUBSTEP_S;
                let intent = path.intent(elapsed_s);
                self.mass.body.position_m = intent.position_m;
                self.mass.body.velocity_mps = intent.velocity_mps;
                if elapsed_s >= path.end_s {
                    self.move_to(intent.position_m);
                    self.halt_phase = HaltPhase::Free;
                }
            }
        }
    }

    /// Motion from here to the robot; `None` if it is there.
    fn path_to(&self, robot_m: &Axes) -> Option<Segment> {
        let from_m = self.mass.body.position_m;
        let distance_m = |axis: usize| (robot_m[axis] - from_m[axis]).abs();
        let longest_m = (0..AXES).map(distance_m).fold(0.0, f64::max);
        let duration_s = (longest_m / REALIGN_MPS).max(REALIGN_S_MIN);
        (longest_m > 0.0).then(|| Segment {
            end_s: duration_s,
            duration_s,
            from_m,
            to_m: *robot_m,
            ..Segment::default()
        })
    }

    /// Advances the target filter of the header by a sub-step.
    fn filter_target(&mut self) {
        for axis in 0..AXES {
            let target_m = self.target.position_m[axis].clamp(-REACH_M, REACH_M);
            let (at_m, speed_mps) = (self.intent.position_m[axis], self.intent.velocity_mps[axis]);
            let acceleration =
                TARGET_FILTER_RADPS * (TARGET_FILTER_RADPS * (target_m - at_m) - 2.0 * speed_mps);
            let speed_mps =
                (speed_mps + SUBSTEP_S * acceleration).clamp(-SPEED_MPS_MAX, SPEED_MPS_MAX);
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

/// Brake on a handle that is not held: the mass of the hand stays, as that of the device would.
fn brake(hand: Hand) -> Hand {
    Hand {
        mass_kg: hand.mass_kg,
        stiffness_npm: 0.0,
        damping_nspm: BRAKE_NSPM,
    }
}

impl<P: PointerSource> Handle for PointerHandle<P> {
    fn caps(&self) -> HandleCaps {
        HandleCaps {
            resolution_m: [0.0; AXES],
            mass_kg_min: [MASS_KG; AXES],
            force_timeout_s: self.watchdog.timeout_s(),
        }
    }

    fn observe_halt(&mut self, halted: bool, robot_m: Option<&Axes>) {
        let within_reach = |robot_m: &&Axes| robot_m.iter().all(|place| place.abs() <= REACH_M);
        let path = robot_m
            .filter(within_reach)
            .and_then(|robot_m| self.path_to(robot_m));
        self.halt_phase = match self.halt_phase {
            _ if halted => HaltPhase::Halted,
            HaltPhase::Halted => path.map_or(HaltPhase::Free, |path| HaltPhase::Realigning {
                path,
                substeps: 0,
            }),
            other => other,
        };
    }

    fn read(&mut self, now: Time) -> HandleReading {
        self.read_pointer(now);
        let mut released_m = None;
        for _ in 0..self.stepper.advance(now) {
            if self.watchdog.expires() {
                released_m = Some(self.mass.release_force());
            }
            self.substep();
        }
        HandleReading {
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
            force_released_m: released_m,
            // a page has no instruments
            ..HandleReading::default()
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.watchdog.renew();
        self.mass.force_n = limited(force_on_hand_n, &[FORCE_N_MAX; AXES]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::grip::Grip;
    use super::*;

    /// Pointer that reports a list of targets, each for its number of ticks.
    struct ScriptedPointer(Vec<(u32, PointerTarget)>);

    impl PointerSource for ScriptedPointer {
        fn newest(&mut self) -> PointerTarget {
            if self.0.len() > 1 && self.0[0].0 == 0 {
                self.0.remove(0);
            }
            self.0[0].0 = self.0[0].0.saturating_sub(1);
            self.0[0].1
        }
    }

    fn target(number: u64, z_m: f64, present: bool) -> PointerTarget {
        PointerTarget {
            sequence: number,
            position_m: [0.0, 0.0, z_m, 0.02],
            present,
            closed: false,
        }
    }

    /// Pointer that reports each target every 16 ms with a new number.
    fn steady(parts: &[(u32, f64, bool)]) -> ScriptedPointer {
        let mut reports = Vec::new();
        for &(times, z_m, present) in parts {
            for _ in 0..times {
                reports.push((16, target(reports.len() as u64 + 1, z_m, present)));
            }
        }
        ScriptedPointer(reports)
    }

    fn handle(reports: ScriptedPointer) -> PointerHandle<ScriptedPointer> {
        let start_m = [0.0, 0.0, 0.03, 0.02];
        PointerHandle::new(reports, start_m, Grip::Firm.hand()).with_force_timeout(Some(2e-3))
    }

    fn run(
        handle: &mut PointerHandle<ScriptedPointer>,
        ms: core::ops::Range<i64>,
        up_n: f64,
    ) -> Vec<HandleReading> {
        ms.map(|ms| {
            let reading = handle.read(Time(ms * 1_000_000));
            handle.write(&[0.0, 0.0, up_n, 0.0]);
            reading
        })
        .collect()
    }

    #[test]
    fn handle_lags_by_force_over_stiffness() {
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
    fn silent_pointer_releases_until_a_new_grasp() {
        let mut reports = steady(&[(10, 0.03, false), (60, 0.01, true)]);
        reports.0.push((700, target(70, 0.01, true)));
        reports
            .0
            .extend([(100, target(71, -0.1, true)), (20, target(72, -0.1, false))]);
        reports.0.push((100, target(73, 0.0, true)));
        let mut handle = handle(reports);
        let read = run(&mut handle, 0..2040, 0.0);
        assert!(read[1110].present, "held");
        // the last new report came at 1104 ms
        assert!(
            read[1590].present && !read[1620].present,
            "released after half a second"
        );
        assert!(!read[1900].present, "a report alone is no grasp");
        assert!((read[1900].position_m[2] - read[1620].position_m[2]).abs() < 1e-4);
        assert!(read[1990].present, "a new grasp is");
    }

    #[test]
    fn released_handle_brakes() {
        let mut handle = handle(steady(&[
            (4, 0.03, false),
            (10, -0.1, true),
            (90, -0.1, false),
        ]));
        let read = run(&mut handle, 0..800, 0.0);
        let release_index = read.iter().rposition(|read| read.present).expect("held");
        assert!(read[release_index].velocity_mps[2] < -0.05);
        let fell_m = read[release_index].position_m[2] - read[799].position_m[2];
        // a quarter of a kilogram against 40.5 N s/m
        assert!((0.0..0.005).contains(&fell_m), "{fell_m}");
        assert!(read[799].velocity_mps[2].abs() < 1e-3);
    }

    #[test]
    fn issue_a_halted_hand_moved_on_and_kept_its_offset() {
        let mut handle = handle(steady(&[(4, 0.03, false), (200, 0.0, true)]));
        let robot_m = [0.0, 0.0, 0.02, 0.02];
        let mut read = Vec::new();
        for ms in 0..2400_i64 {
            handle.observe_halt((300..800).contains(&ms), Some(&robot_m));
            let reading = handle.read(Time(ms * 1_000_000));
            handle.write(&[0.0, 0.0, if reading.present { 2.0 } else { 0.0 }, 0.0]);
            read.push(reading);
        }
        assert!(read[299].velocity_mps[2] < -0.02 && read[299].present);
        let stood_m = read[300].position_m;
        assert!(
            read[300..800]
                .iter()
                .all(|at| at.position_m == stood_m && !at.present)
        );
        assert!((stood_m[2] - robot_m[2]).abs() > 2e-3, "{stood_m:?}");
        // at most twice the mean speed, and at rest where the robot is
        let steps = read[800..].windows(2);
        let longest_m = steps.map(|two| (two[1].position_m[2] - two[0].position_m[2]).abs());
        assert!(longest_m.fold(0.0, f64::max) < 2e-3 * REALIGN_MPS);
        assert!(
            (read[2399].position_m[2] - robot_m[2]).abs() < 1e-3,
            "{:?}",
            read[2399]
        );
        assert!(read[800..].iter().all(|at| !at.present), "no new grasp");
    }

    #[test]
    fn a_handle_ignores_a_robot_without_a_plausible_place() {
        for robot_m in [[f64::NAN; AXES], [0.0, 0.0, 9.0, 0.0]] {
            let mut handle = handle(steady(&[(100, 0.03, false)]));
            handle.observe_halt(true, Some(&robot_m));
            handle.read(Time(0));
            handle.observe_halt(false, Some(&robot_m));
            assert_eq!(
                handle.read(Time(100_000_000)).position_m,
                [0.0, 0.0, 0.03, 0.02]
            );
        }
    }

    #[test]
    fn issue_first_grasp_counted_as_silent() {
        let mut reports = steady(&[]);
        reports.0.push((900, PointerTarget::default()));
        reports.0.extend(steady(&[(20, 0.01, true)]).0);
        let mut handle = handle(reports);
        let read = run(&mut handle, 0..1100, 0.0);
        assert!(!read[899].present && read[910].present);
    }

    #[test]
    fn no_pointer_reads_as_not_present() {
        let mut handle = PointerHandle::new(NoPointer, [0.0; AXES], Grip::Firm.hand());
        for ms in 0..500 {
            assert!(!handle.read(Time(ms * 1_000_000)).present);
        }
    }

    proptest! {
        #[test]
        fn any_target_yields_plausible_reading(
            places in proptest::collection::vec((any::<f64>(), any::<f64>(), any::<bool>()), 1..40),
            force_n in any::<f64>(),
        ) {
            let reports = places.iter().enumerate().map(|(number, &(x_m, z_m, present))| {
                let position_m = [x_m, 0.0, z_m, x_m];
                let number = number as u64 + 1;
                (16, PointerTarget { sequence: number, position_m, present, closed: present })
            });
            let mut handle = handle(ScriptedPointer(reports.collect()));
            for ms in 0..640 {
                let reading = handle.read(Time(ms * 1_000_000));
                prop_assert!(reading.is_plausible(), "{reading:?}");
                prop_assert!(reading.intended_m.iter().all(|place| place.abs() <= 1.0));
                handle.write(&[force_n.clamp(-20.0, 20.0), 0.0, force_n, 0.0]);
            }
        }
    }
}
