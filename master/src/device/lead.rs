//! Leads a plant through time by a script (ours).
//!
//! The script is asked once a millisecond of plant time; between, position and velocity are
//! interpolated linearly: at 5 m/s^2 of intended acceleration, off by less than a micrometre.

use palpate_transport::{AXES, Time};

use super::pace::{Pace, SUBSTEP_S};
use super::script::{Intent, Script};

/// Sub-steps between two questions to the script.
const STRIDE: u32 = 10;

/// A script, the plant's time, and what the operator means now.
#[derive(Debug, Clone)]
pub(crate) struct Lead {
    script: Script,
    pace: Pace,
    intent: Intent,
}

impl Lead {
    /// At the beginning of the script.
    pub(crate) fn new(script: Script) -> Self {
        Self {
            intent: script.intent(0.0),
            pace: Pace::default(),
            script,
        }
    }

    /// Call `step` for every sub-step up to `now`; gives how many there were.
    pub(crate) fn advance(&mut self, now: Time, mut step: impl FnMut(&Intent)) -> u32 {
        let jumps = self.pace.jumps();
        let (steps, start_s) = self.pace.advance(now);
        let mut done = 0;
        while done < steps {
            let count = (steps - done).min(STRIDE);
            let end_s = start_s + f64::from(done + count) * SUBSTEP_S;
            let end = self.script.intent(end_s);
            for index in 0..count {
                step(&between(
                    &self.intent,
                    &end,
                    f64::from(index) / f64::from(count),
                ));
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

    /// Time of the plant \[s\].
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.pace.elapsed_s()
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
        let mut lead = Lead::new(script.clone());
        let mut count = 0;
        for ms in 0..10_000 {
            lead.advance(Time(ms * 1_000_000), |intent| {
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
        let mut lead = Lead::new(script.clone());
        lead.advance(Time(0), |_| {});
        assert_eq!(lead.advance(Time(5_000_000_000), |_| {}), 3000);
        assert_eq!(*lead.intent(), script.intent(5.0));
    }
}
