//! Layout of procedure steps as minimum-jerk segments over time (ours).
//!
//! A tool approaches from above: up to where its ball and its blade are clear of the tissue, across, and down.
//! The instrument acts from where the tool is clear until it is clear again, with a rest before and after, so
//! that a lagging hand reaches its intended position.

use super::super::Revisions;
use super::super::minimum_jerk::Segment;
use super::super::script::OPEN_M;
use super::step::{InciseStep, PressStep, RetractStep, StepAction};
use super::{PHASE_FIRST, ProcedureParams};
use palpate_transport::Axes;
use palpate_twin::Instrument;

/// Intended opening of the closed forceps \[m\].
const CLOSED_M: f64 = 0.003;
/// Time for the jaws to close or open \[s\].
const JAWS_S: f64 = 0.3;
/// Rest before an instrument begins to act and before it ends \[s\].
const SETTLE_S: f64 = 0.15;
/// Time between two undo or redo requests \[s\].
const REVISION_S: f64 = 0.1;
/// Shortest segment \[s\]: no hand moves faster.
const SEGMENT_S_MIN: f64 = 0.08;

/// Procedure under layout.
pub(super) struct Layout<'a> {
    params: &'a ProcedureParams,
    /// Last segment: present position, and action of the hand.
    current: Segment,
    segments: Vec<Segment>,
}

impl<'a> Layout<'a> {
    /// Returns all segments, in order of time.
    pub(super) fn draw(params: &'a ProcedureParams) -> Vec<Segment> {
        let start_m = params.start_m();
        let mut layout = Self {
            params,
            current: Segment {
                to_m: start_m,
                phase: PHASE_FIRST,
                ..Segment::default()
            },
            segments: Vec::with_capacity(16 * params.step.len()),
        };
        for (index, step) in (0_u16..).zip(&params.step) {
            layout.current.phase = PHASE_FIRST.saturating_add(index);
            layout.step(&step.action);
        }
        let [x_m, y_m, z_m, _] = start_m;
        layout.current.phase = 0;
        layout.above([x_m, y_m], z_m);
        layout.go([x_m, y_m, z_m], None, params.speed_mps);
        layout.segments
    }

    fn step(&mut self, action: &StepAction) {
        let work_mps = self.params.work_mps;
        match action {
            StepAction::Move(step) => {
                let speed_mps = step.speed_mps.unwrap_or(self.params.speed_mps);
                self.go(step.to_m, step.time_s, speed_mps);
            }
            StepAction::Press(step) => self.press(step, work_mps),
            StepAction::Incise(step) => {
                let speed_mps = step.speed_mps.unwrap_or(work_mps);
                let edge_m = step.edge_m.unwrap_or_else(|| self.upright_m(step));
                let tip = |[x, y, z]: [f64; 3]| [x, y, z - step.depth_m];
                let centres: Vec<[f64; 3]> = step
                    .path_m
                    .iter()
                    .map(|&at| core::array::from_fn(|axis| tip(at)[axis] - edge_m[axis]))
                    .collect();
                self.along(&centres, action.instrument(edge_m), edge_m[2], speed_mps);
            }
            StepAction::Retract(step) => self.retract(step, work_mps),
            StepAction::Carve(step) | StepAction::Tack(step) | StepAction::Untack(step) => {
                let speed_mps = step.speed_mps.unwrap_or(work_mps);
                self.along(&step.path_m, action.instrument([0.0; 3]), 0.0, speed_mps);
            }
            StepAction::Glue(step) => {
                let speed_mps = step.speed_mps.unwrap_or(work_mps);
                self.along(&step.path_m, action.instrument([0.0; 3]), 0.0, speed_mps);
            }
            StepAction::Undo(step) => self.request_revisions(step.times, |revisions| {
                revisions.undo = revisions.undo.saturating_add(1)
            }),
            StepAction::Redo(step) => self.request_revisions(step.times, |revisions| {
                revisions.redo = revisions.redo.saturating_add(1)
            }),
            StepAction::Wait(step) => self.hold(step.time_s),
        }
    }

    fn press(&mut self, step: &PressStep, work_mps: f64) {
        let speed_mps = step.speed_mps.unwrap_or(work_mps);
        let [x_m, y_m] = step.site_m;
        let clear_m = self.clear_m(0.0);
        self.above(step.site_m, clear_m);
        self.go(
            [x_m, y_m, self.params.tool_radius_m - step.depth_m],
            None,
            speed_mps,
        );
        self.hold(step.hold_s);
        self.go([x_m, y_m, clear_m], None, speed_mps);
    }

    fn retract(&mut self, step: &RetractStep, work_mps: f64) {
        let speed_mps = step.speed_mps.unwrap_or(work_mps);
        let ([x_m, y_m, _], [dx_m, dy_m, dz_m]) = (step.at_m, step.by_m);
        let clear_m = self.clear_m(0.0);
        self.above([x_m, y_m], clear_m);
        self.go(step.at_m, None, speed_mps);
        self.jaws(CLOSED_M, true);
        let pulled_m = [x_m + dx_m, y_m + dy_m, step.at_m[2] + dz_m];
        self.go(pulled_m, None, speed_mps);
        self.hold(step.hold_s);
        self.jaws(OPEN_M, false);
        self.go(
            [pulled_m[0], pulled_m[1], clear_m.max(pulled_m[2])],
            None,
            speed_mps,
        );
    }

    /// Moves an instrument along a path; `edge_z_m` is the height of its other end above its centre.
    fn along(&mut self, path_m: &[[f64; 3]], instrument: Instrument, edge_z_m: f64, mps: f64) {
        let (Some(first_m), Some(last_m)) = (path_m.first(), path_m.last()) else {
            return;
        };
        let clear_m = self.clear_m(edge_z_m);
        self.above([first_m[0], first_m[1]], clear_m);
        self.hold(SETTLE_S);
        self.current.instrument = instrument;
        for &at_m in path_m {
            self.go(at_m, None, mps);
        }
        self.hold(SETTLE_S);
        self.go([last_m[0], last_m[1], clear_m.max(last_m[2])], None, mps);
        self.hold(SETTLE_S);
        self.current.instrument = Instrument::Blunt;
    }

    /// Edge of an upright blade, long enough that the ball stays above the surface at the deepest point.
    fn upright_m(&self, step: &InciseStep) -> [f64; 3] {
        let lowest_m = step.path_m.iter().map(|at| at[2]).fold(0.0, f64::min) - step.depth_m;
        [0.0, 0.0, lowest_m - self.clear_m(0.0)]
    }

    /// Height of the centre at which the ball, and the other end of its edge, are clear of the surface \[m\].
    fn clear_m(&self, edge_z_m: f64) -> f64 {
        self.params.clearance_m + self.params.tool_radius_m.max(-edge_z_m)
    }

    /// Moves to a place at a height; the horizontal motion is at that height or above.
    fn above(&mut self, [x_m, y_m]: [f64; 2], height_m: f64) {
        let [from_x_m, from_y_m, from_z_m, _] = self.current.to_m;
        let high_m = height_m.max(from_z_m);
        let speed_mps = self.params.speed_mps;
        self.go([from_x_m, from_y_m, high_m], None, speed_mps);
        self.go([x_m, y_m, high_m], None, speed_mps);
        self.go([x_m, y_m, height_m], None, speed_mps);
    }

    fn jaws(&mut self, opening_m: f64, closed: bool) {
        let [x_m, y_m, z_m, _] = self.current.to_m;
        self.current.closed = closed;
        self.push_segment([x_m, y_m, z_m, opening_m], JAWS_S);
    }

    fn request_revisions(&mut self, times: u16, count: fn(&mut Revisions)) {
        for _ in 0..times {
            count(&mut self.current.revisions);
            self.hold(REVISION_S);
        }
    }

    fn hold(&mut self, length_s: f64) {
        if length_s > 0.0 {
            self.push_segment(self.current.to_m, length_s);
        }
    }

    /// Moves straight to a place, in a given time or at a mean speed; adds nothing if it is there.
    fn go(&mut self, [x_m, y_m, z_m]: [f64; 3], time_s: Option<f64>, speed_mps: f64) {
        let from_m = self.current.to_m;
        let to_m = [x_m, y_m, z_m, from_m[3]];
        let offsets_m = (0..3).map(|axis| to_m[axis] - from_m[axis]);
        let distance_m = libm::sqrt(offsets_m.map(|x| x * x).sum());
        if distance_m > 0.0 || time_s.is_some() {
            self.push_segment(
                to_m,
                time_s.unwrap_or((distance_m / speed_mps).max(SEGMENT_S_MIN)),
            );
        }
    }

    fn push_segment(&mut self, to_m: Axes, length_s: f64) {
        self.current = Segment {
            end_s: self.current.end_s + length_s,
            duration_s: length_s,
            from_m: self.current.to_m,
            to_m,
            ..self.current
        };
        self.segments.push(self.current);
    }
}
