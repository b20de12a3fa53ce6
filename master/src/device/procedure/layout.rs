//! Steps as legs over time (ours).
//!
//! A tool goes to work from above: up to where its ball and its blade are clear of the tissue, across, and down.
//! The instrument acts only from where the tool is clear until it is clear again, with a rest before and after, so
//! that a hand that lags has come to where it means to be.

use super::super::Revisions;
use super::super::leg::Leg;
use super::super::script::OPEN_M;
use super::step::{Action, Incise, Press, Retract};
use super::{PHASE_FIRST, ProcedureParams};
use palpate_transport::Axes;
use palpate_twin::Instrument;

/// Opening that is meant with the forceps closed \[m\].
const CLOSED_M: f64 = 0.003;
/// How long jaws take to close or open \[s\].
const JAWS_S: f64 = 0.3;
/// Rest before an instrument begins to act and before it ends \[s\].
const SETTLE_S: f64 = 0.15;
/// How long a hand takes to ask for one undo or redo \[s\].
const ASK_S: f64 = 0.1;
/// Shortest leg \[s\]: quicker is no motion of a hand.
const LEG_S_MIN: f64 = 0.08;

/// A procedure on its way to be legs.
pub(super) struct Layout<'a> {
    params: &'a ProcedureParams,
    /// Where it stands, and what the hand does there; legs are made of it.
    now: Leg,
    legs: Vec<Leg>,
}

impl<'a> Layout<'a> {
    /// All legs, in order of time.
    pub(super) fn draw(params: &'a ProcedureParams) -> Vec<Leg> {
        let start_m = params.start_m();
        let mut layout = Self {
            params,
            now: Leg {
                to_m: start_m,
                phase: PHASE_FIRST,
                ..Leg::default()
            },
            legs: Vec::with_capacity(16 * params.step.len()),
        };
        for (index, step) in (0_u16..).zip(&params.step) {
            layout.now.phase = PHASE_FIRST.saturating_add(index);
            layout.step(&step.action);
        }
        let [x_m, y_m, z_m, _] = start_m;
        layout.now.phase = 0;
        layout.above([x_m, y_m], z_m);
        layout.go([x_m, y_m, z_m], None, params.speed_mps);
        layout.legs
    }

    fn step(&mut self, action: &Action) {
        let work_mps = self.params.work_mps;
        match action {
            Action::Move(step) => {
                let speed_mps = step.speed_mps.unwrap_or(self.params.speed_mps);
                self.go(step.to_m, step.time_s, speed_mps);
            }
            Action::Press(step) => self.press(step, work_mps),
            Action::Incise(step) => {
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
            Action::Retract(step) => self.retract(step, work_mps),
            Action::Carve(step) | Action::Tack(step) | Action::Untack(step) => {
                let speed_mps = step.speed_mps.unwrap_or(work_mps);
                self.along(&step.path_m, action.instrument([0.0; 3]), 0.0, speed_mps);
            }
            Action::Glue(step) => {
                let speed_mps = step.speed_mps.unwrap_or(work_mps);
                self.along(&step.path_m, action.instrument([0.0; 3]), 0.0, speed_mps);
            }
            Action::Undo(step) => self.ask(step.times, |asked| {
                asked.undo = asked.undo.saturating_add(1)
            }),
            Action::Redo(step) => self.ask(step.times, |asked| {
                asked.redo = asked.redo.saturating_add(1)
            }),
            Action::Wait(step) => self.hold(step.time_s),
        }
    }

    fn press(&mut self, step: &Press, work_mps: f64) {
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

    fn retract(&mut self, step: &Retract, work_mps: f64) {
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

    /// Takes an instrument along a path; `edge_z_m` is how far above its centre its other end is.
    fn along(&mut self, path_m: &[[f64; 3]], instrument: Instrument, edge_z_m: f64, mps: f64) {
        let (Some(first_m), Some(last_m)) = (path_m.first(), path_m.last()) else {
            return;
        };
        let clear_m = self.clear_m(edge_z_m);
        self.above([first_m[0], first_m[1]], clear_m);
        self.hold(SETTLE_S);
        self.now.instrument = instrument;
        for &at_m in path_m {
            self.go(at_m, None, mps);
        }
        self.hold(SETTLE_S);
        self.go([last_m[0], last_m[1], clear_m.max(last_m[2])], None, mps);
        self.hold(SETTLE_S);
        self.now.instrument = Instrument::Blunt;
    }

    /// An upright blade so long that the ball stays above the surface at the deepest point.
    fn upright_m(&self, step: &Incise) -> [f64; 3] {
        let lowest_m = step.path_m.iter().map(|at| at[2]).fold(0.0, f64::min) - step.depth_m;
        [0.0, 0.0, lowest_m - self.clear_m(0.0)]
    }

    /// Height of the centre at which the ball, and the other end of its edge, are clear of the surface \[m\].
    fn clear_m(&self, edge_z_m: f64) -> f64 {
        self.params.clearance_m + self.params.tool_radius_m.max(-edge_z_m)
    }

    /// To a place at a height, without going across any lower than that.
    fn above(&mut self, [x_m, y_m]: [f64; 2], height_m: f64) {
        let [from_x_m, from_y_m, from_z_m, _] = self.now.to_m;
        let high_m = height_m.max(from_z_m);
        let speed_mps = self.params.speed_mps;
        self.go([from_x_m, from_y_m, high_m], None, speed_mps);
        self.go([x_m, y_m, high_m], None, speed_mps);
        self.go([x_m, y_m, height_m], None, speed_mps);
    }

    fn jaws(&mut self, opening_m: f64, closed: bool) {
        let [x_m, y_m, z_m, _] = self.now.to_m;
        self.now.closed = closed;
        self.leg([x_m, y_m, z_m, opening_m], JAWS_S);
    }

    fn ask(&mut self, times: u16, count: fn(&mut Revisions)) {
        for _ in 0..times {
            count(&mut self.now.revisions);
            self.hold(ASK_S);
        }
    }

    fn hold(&mut self, length_s: f64) {
        if length_s > 0.0 {
            self.leg(self.now.to_m, length_s);
        }
    }

    /// Straight to a place, in a given time or at a mean speed; nothing if it is there.
    fn go(&mut self, [x_m, y_m, z_m]: [f64; 3], time_s: Option<f64>, speed_mps: f64) {
        let from_m = self.now.to_m;
        let to_m = [x_m, y_m, z_m, from_m[3]];
        let way = (0..3).map(|axis| to_m[axis] - from_m[axis]);
        let way_m = libm::sqrt(way.map(|x| x * x).sum());
        if way_m > 0.0 || time_s.is_some() {
            self.leg(to_m, time_s.unwrap_or((way_m / speed_mps).max(LEG_S_MIN)));
        }
    }

    fn leg(&mut self, to_m: Axes, length_s: f64) {
        self.now = Leg {
            end_s: self.now.end_s + length_s,
            length_s,
            from_m: self.now.to_m,
            to_m,
            ..self.now
        };
        self.legs.push(self.now);
    }
}
