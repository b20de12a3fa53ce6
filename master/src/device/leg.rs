//! One minimum-jerk leg of a scripted motion (Flash and Hogan 1985: s = 10 r^3 - 15 r^4 + 6 r^5).

use palpate_transport::{AXES, Axes};
use palpate_twin::Instrument;

use super::Revisions;
use super::script::Intent;

/// From one place to another, with what the hand does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Leg {
    /// When it ends \[s\].
    pub(super) end_s: f64,
    /// How long it takes \[s\], above 0.
    pub(super) length_s: f64,
    /// Where it begins \[m\].
    pub(super) from_m: Axes,
    /// Where it ends \[m\].
    pub(super) to_m: Axes,
    /// Phase of the script.
    pub(super) phase: u16,
    /// Whether the jaws are meant to be closed.
    pub(super) closed: bool,
    /// What the tool is meant to do.
    pub(super) instrument: Instrument,
    /// What was asked to be taken back or done again until now.
    pub(super) revisions: Revisions,
}

impl Leg {
    /// What is meant at `elapsed_s` \[s\]; before its begin and after its end, what is meant then.
    pub(super) fn intent(&self, elapsed_s: f64) -> Intent {
        let r = (1.0 - (self.end_s - elapsed_s) / self.length_s).clamp(0.0, 1.0);
        let s = r * r * r * (10.0 + r * (6.0 * r - 15.0));
        let slope = 30.0 * r * r * (1.0 - r) * (1.0 - r) / self.length_s;
        let mut intent = Intent {
            closed: self.closed,
            phase: self.phase,
            instrument: self.instrument,
            revisions: self.revisions,
            ..Intent::default()
        };
        for axis in 0..AXES {
            let span_m = self.to_m[axis] - self.from_m[axis];
            intent.position_m[axis] = self.from_m[axis] + s * span_m;
            intent.velocity_mps[axis] = slope * span_m;
        }
        intent
    }

    /// The leg of `legs`, which are in order of time, that is gone at a moment; none after the last.
    pub(super) fn at(legs: &[Self], elapsed_s: f64) -> Option<&Self> {
        legs.get(legs.partition_point(|leg| leg.end_s <= elapsed_s))
    }
}
