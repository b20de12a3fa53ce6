//! Minimum-jerk segments of a scripted motion (Flash and Hogan 1985: s = 10 r^3 - 15 r^4 + 6 r^5).

use core::f64::consts::PI;

use palpate_transport::{AXES, Axes};
use palpate_twin::Instrument;

use super::Revisions;
use super::script::Intent;

/// Motion from one place to another, with the action of the hand meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Segment {
    /// End \[s\].
    pub(super) end_s: f64,
    /// Duration \[s\], above 0.
    pub(super) duration_s: f64,
    /// Start \[m\].
    pub(super) from_m: Axes,
    /// Target \[m\].
    pub(super) to_m: Axes,
    /// Phase of the script.
    pub(super) phase: u16,
    /// True if the jaws shall be closed.
    pub(super) closed: bool,
    /// Intended instrument.
    pub(super) instrument: Instrument,
    /// Undo and redo requests until now.
    pub(super) revisions: Revisions,
}

impl Segment {
    /// Intent at `elapsed_s` \[s\]; before the start and after the end, that of start or end.
    pub(super) fn intent(&self, elapsed_s: f64) -> Intent {
        let r = (1.0 - (self.end_s - elapsed_s) / self.duration_s).clamp(0.0, 1.0);
        let s = r * r * r * (10.0 + r * (6.0 * r - 15.0));
        let slope = 30.0 * r * r * (1.0 - r) * (1.0 - r) / self.duration_s;
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
}

/// One sine of a tremor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tremor {
    pub(super) hz: f64,
    pub(super) phase_turns: f64,
}

/// Script as a list of segments.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MinimumJerkPath {
    /// Segments in order of time.
    pub(super) segments: Vec<Segment>,
    /// Intent after the last segment.
    pub(super) final_intent: Intent,
    /// Amplitude of the tremor \[m\], 0 for none, and its sine along each axis.
    pub(super) tremor_m: f64,
    pub(super) tremor: [Tremor; 3],
}

impl MinimumJerkPath {
    /// Intent of the operator at `elapsed_s` \[s\]; after the last segment, to stay.
    #[must_use]
    pub fn intent(&self, elapsed_s: f64) -> Intent {
        let at = self
            .segments
            .partition_point(|segment| segment.end_s <= elapsed_s);
        let segment = self.segments.get(at);
        let mut intent = segment.map_or(self.final_intent, |segment| segment.intent(elapsed_s));
        if self.tremor_m > 0.0 {
            for (axis, tremor) in self.tremor.iter().enumerate() {
                let turns = tremor.hz * elapsed_s + tremor.phase_turns;
                let (sin, cos) = libm::sincos(2.0 * PI * (turns - turns.floor()));
                intent.position_m[axis] += self.tremor_m * sin;
                intent.velocity_mps[axis] += self.tremor_m * 2.0 * PI * tremor.hz * cos;
            }
        }
        intent
    }
}
