//! Script driver: moves a plant through time by a script, with the hand's intent, its grip, and the
//! device's watchdog for forces that are not renewed (ours).
//!
//! The script is evaluated once a millisecond of plant time. Between, position and velocity are
//! interpolated linearly: at 5 m/s^2 of intended acceleration, off by less than a micrometre.

use palpate_port::fixed_stepper::{FixedStepper, SUBSTEP_S};
use palpate_port::watchdog::Watchdog;
use palpate_transport::{AXES, Axes, Time};

use super::HandleReading;
use super::grip::{Grip, GripSchedule, Hand};
use super::script::{HandLeap, Intent, OperatorScript};

/// Sub-steps between two evaluations of the script.
const SUBSTEPS_PER_INTENT: u32 = 10;

/// Script with the grip of the hand, the plant's time, and the present intent.
#[derive(Debug, Clone)]
pub(crate) struct ScriptDriver {
    script: OperatorScript,
    leaps: Vec<HandLeap>,
    stepper: FixedStepper,
    intent: Intent,
    grip_schedule: GripSchedule,
    watchdog: Watchdog,
}

impl ScriptDriver {
    /// Driver at the start of the script, with a device that never releases a force.
    pub(crate) fn new(script: OperatorScript, grips: GripSchedule) -> Self {
        Self {
            intent: script.intent(0.0),
            stepper: FixedStepper::default(),
            script,
            leaps: Vec::new(),
            grip_schedule: grips,
            watchdog: Watchdog::for_plant(None),
        }
    }

    /// Displaces the intended positions by leaps, each within a millisecond.
    pub(crate) fn set_leaps(&mut self, leaps: &[HandLeap]) {
        self.leaps = leaps.to_vec();
    }

    /// Intent at a time \[s\], with the leaps until then.
    fn intent_at(&self, elapsed_s: f64) -> Intent {
        let mut intent = self.script.intent(elapsed_s);
        let leaps = self.leaps.iter().filter(|leap| leap.at_s <= elapsed_s);
        for leap in leaps {
            for (at_m, by_m) in intent.position_m.iter_mut().zip(leap.by_m) {
                *at_m += by_m;
            }
        }
        intent
    }

    /// Sets the time after which the device releases a force that is not renewed \[s\]; none for never.
    pub(crate) fn set_force_timeout(&mut self, timeout_s: Option<f64>) {
        self.watchdog = Watchdog::for_plant(timeout_s);
    }

    /// Time after which the device releases a force \[s\]; none for never.
    pub(crate) fn force_timeout_s(&self) -> Option<f64> {
        self.watchdog.timeout_s()
    }

    /// Renews the force, after a write.
    pub(crate) fn renew(&mut self) {
        self.watchdog.renew();
    }

    /// Calls `step` for every sub-step up to `now`, with the intent and true if the device releases
    /// its force before it; returns the number of sub-steps.
    pub(crate) fn advance(&mut self, now: Time, mut step: impl FnMut(&Intent, bool)) -> u32 {
        let (jumps, start_s) = (self.stepper.jumps(), self.stepper.elapsed_s());
        let steps = self.stepper.advance(now);
        let mut done = 0;
        while done < steps {
            let count = (steps - done).min(SUBSTEPS_PER_INTENT);
            let end_s = start_s + f64::from(done + count) * SUBSTEP_S;
            let end = self.intent_at(end_s);
            for index in 0..count {
                let share = f64::from(index) / f64::from(count);
                step(&between(&self.intent, &end, share), self.watchdog.expires());
            }
            self.intent = end;
            done += count;
        }
        if self.stepper.jumps() != jumps {
            self.intent = self.intent_at(self.stepper.elapsed_s());
        }
        steps
    }

    /// Present intent of the operator.
    pub(crate) fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The hand on the device.
    pub(crate) fn hand(&self) -> Hand {
        self.grip_schedule.grip().hand()
    }

    /// Hand of a new grip, if the grip has changed by now.
    pub(crate) fn changed_hand(&mut self) -> Option<Hand> {
        self.grip_schedule
            .advance(self.stepper.elapsed_s())
            .map(Grip::hand)
    }

    /// Reading of the device at a place \[m\] with a velocity \[m/s\], with the intent.
    pub(crate) fn reading(&self, position_m: Axes, velocity_mps: Axes) -> HandleReading {
        let (present, intent) = (self.grip_schedule.grip() != Grip::None, &self.intent);
        HandleReading {
            position_m,
            velocity_mps,
            closed: present && intent.closed,
            instrument: intent.instrument_if(present),
            revisions: intent.revisions,
            present,
            intended_m: if present {
                intent.position_m
            } else {
                position_m
            },
            phase: intent.phase,
            ..HandleReading::default()
        }
    }
}

/// Intent at the fraction `share` between two intents; phase and switch are those of the first.
fn between(from: &Intent, to: &Intent, share: f64) -> Intent {
    let mut intent = *from;
    for axis in 0..AXES {
        intent.position_m[axis] += share * (to.position_m[axis] - from.position_m[axis]);
        intent.velocity_mps[axis] += share * (to.velocity_mps[axis] - from.velocity_mps[axis]);
    }
    intent
}

#[cfg(test)]
mod tests {
    use super::super::script::ScriptParams;
    use super::*;

    #[test]
    fn leap_displaces_the_intent_within_a_millisecond_and_for_good() {
        let script = OperatorScript::new(&ScriptParams::default(), 10.0, 1);
        let [mut leaping, mut steady] =
            [(); 2].map(|()| ScriptDriver::new(script.clone(), Grip::Firm.into()));
        leaping.set_leaps(&[HandLeap {
            at_s: 0.5,
            by_m: [0.02, 0.0, -0.01],
        }]);
        for ms in 0..1000 {
            for driver in [&mut leaping, &mut steady] {
                driver.advance(Time(ms * 1_000_000), |_, _| ());
            }
            let by_m: [f64; 3] = core::array::from_fn(|axis| {
                leaping.intent().position_m[axis] - steady.intent().position_m[axis]
            });
            let expected_m = if ms < 500 {
                [0.0; 3]
            } else {
                [0.02, 0.0, -0.01]
            };
            for (by_m, expected_m) in by_m.into_iter().zip(expected_m) {
                assert!((by_m - expected_m).abs() < 1e-12, "{ms}: {by_m}");
            }
        }
    }

    #[test]
    fn interpolation_stays_close_to_the_script() {
        let script = OperatorScript::new(&ScriptParams::default(), 10.0, 1);
        let mut driver = ScriptDriver::new(script.clone(), Grip::Firm.into());
        let mut count = 0;
        for ms in 0..10_000 {
            driver.advance(Time(ms * 1_000_000), |intent, _| {
                let wanted = script.intent(f64::from(count) * SUBSTEP_S);
                for axis in 0..AXES {
                    let error_m = intent.position_m[axis] - wanted.position_m[axis];
                    // at 10 s a segment accelerates up to 30 m/s^2
                    assert!(error_m.abs() < 6e-6, "{count} {axis}: {error_m}");
                }
                count += 1;
            });
        }
        assert_eq!(count, 99_990);
    }

    #[test]
    fn driver_follows_a_time_jump() {
        let script = OperatorScript::new(&ScriptParams::default(), 10.0, 1);
        let mut driver = ScriptDriver::new(script.clone(), Grip::Firm.into());
        driver.advance(Time(0), |_, _| {});
        assert_eq!(driver.advance(Time(5_000_000_000), |_, _| {}), 3000);
        assert_eq!(*driver.intent(), script.intent(5.0));
    }
}
