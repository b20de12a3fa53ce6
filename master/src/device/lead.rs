//! Leads a plant through time by a script: what the hand on it means, how it holds it, and what the device's
//! watchdog makes of a force that nobody renews (ours).
//!
//! The script is asked once a millisecond of plant time; between, position and velocity are
//! interpolated linearly: at 5 m/s^2 of intended acceleration, off by less than a micrometre.

use palpate_port::pace::{Pace, SUBSTEP_S};
use palpate_port::watchdog::Watchdog;
use palpate_transport::{AXES, Axes, Time};

use super::Reading;
use super::grip::{Grip, Grips, Hand};
use super::script::{Intent, Script};

/// Sub-steps between two questions to the script.
const STRIDE: u32 = 10;

/// A script and the hand that follows it, the plant's time, and what the operator means now.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    script: Script,
    pace: Pace,
    intent: Intent,
    grips: Grips,
    watchdog: Watchdog,
}

impl Lead {
    /// At the beginning of the script, with a device that holds a force for ever.
    pub(crate) fn new(script: Script, grips: Grips) -> Self {
        Self {
            intent: script.intent(0.0),
            pace: Pace::default(),
            script,
            grips,
            watchdog: Watchdog::of_plant(None),
        }
    }

    /// The same with a device that lets go of a force that is not renewed for so long \[s\]; none is never.
    pub(crate) fn letting_go(&mut self, let_go_s: Option<f64>) {
        self.watchdog = Watchdog::of_plant(let_go_s);
    }

    /// After how long the device lets go of a force \[s\]; none if never.
    pub(crate) fn let_go_s(&self) -> Option<f64> {
        self.watchdog.let_go_s()
    }

    /// A force was written.
    pub(crate) fn renew(&mut self) {
        self.watchdog.renew();
    }

    /// Call `step` for every sub-step up to `now`, with what the operator means and whether the device lets go of
    /// its force before it; gives how many there were.
    pub(crate) fn advance(&mut self, now: Time, mut step: impl FnMut(&Intent, bool)) -> u32 {
        let (jumps, start_s) = (self.pace.jumps(), self.pace.elapsed_s());
        let steps = self.pace.advance(now);
        let mut done = 0;
        while done < steps {
            let count = (steps - done).min(STRIDE);
            let end_s = start_s + f64::from(done + count) * SUBSTEP_S;
            let end = self.script.intent(end_s);
            for index in 0..count {
                let share = f64::from(index) / f64::from(count);
                step(&between(&self.intent, &end, share), self.watchdog.expires());
            }
            self.intent = end;
            done += count;
        }
        if self.pace.jumps() != jumps {
            self.intent = self.script.intent(self.pace.elapsed_s());
        }
        steps
    }

    /// What the operator means now.
    pub(crate) fn intent(&self) -> &Intent {
        &self.intent
    }

    /// The hand on the device.
    pub(crate) fn hand(&self) -> Hand {
        self.grips.grip().hand()
    }

    /// The new hand, if the grip has changed by now.
    pub(crate) fn regrip(&mut self) -> Option<Hand> {
        self.grips.follow(self.pace.elapsed_s()).map(Grip::hand)
    }

    /// What is read of the device at a place \[m\] with a velocity \[m/s\], with what the operator means.
    pub(crate) fn reading(&self, position_m: Axes, velocity_mps: Axes) -> Reading {
        let (present, intent) = (self.grips.grip() != Grip::None, &self.intent);
        Reading {
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
            ..Reading::default()
        }
    }

    /// How often the plant's time jumped.
    pub(crate) fn jumps(&self) -> u64 {
        self.pace.jumps()
    }
}

/// `share` of the way from one intent to the next; phase and switch are of the first.
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
    fn keeps_to_the_script_between_its_questions() {
        let script = Script::new(&ScriptParams::default(), 10.0, 1);
        let mut lead = Lead::new(script.clone(), Grip::Firm.into());
        let mut count = 0;
        for ms in 0..10_000 {
            lead.advance(Time(ms * 1_000_000), |intent, _| {
                let wanted = script.intent(f64::from(count) * SUBSTEP_S);
                for axis in 0..AXES {
                    let error_m = intent.position_m[axis] - wanted.position_m[axis];
                    // at 10 s a leg accelerates up to 30 m/s^2
                    assert!(error_m.abs() < 6e-6, "{count} {axis}: {error_m}");
                }
                count += 1;
            });
        }
        assert_eq!(count, 99_990);
    }

    #[test]
    fn follows_a_jump() {
        let script = Script::new(&ScriptParams::default(), 10.0, 1);
        let mut lead = Lead::new(script.clone(), Grip::Firm.into());
        lead.advance(Time(0), |_, _| {});
        assert_eq!(lead.advance(Time(5_000_000_000), |_, _| {}), 3000);
        assert_eq!(*lead.intent(), script.intent(5.0));
    }
}
