//! The remote tissue as the simulated robot meets it: `Tissue` behind the robot's `Environment`.

use palpate_master::predict::ToolShape;
use palpate_slave::robot::{Environment, Opened, Probe, StrokeRefusal};
use palpate_transport::stroke::STROKE_CHANGES;
use palpate_transport::{Axes, Stroke};
use palpate_twin::edits::Change;
use palpate_twin::edits::History;
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

use crate::strokes::{change_of, part_of, sent_as};

/// A tissue that a simulated probe touches.
///
/// A robot's plant goes in shorter steps than some tissues want. Those are stepped at their own pace,
/// and in between the force goes on with the stiffness of the last contact.
pub struct TissueEnvironment {
    tissue: Box<dyn Tissue>,
    radius_m: f64,
    stiffness_npm: f64,
    shape: ToolShape,
    /// Step at which the tissue goes \[s\].
    pace_s: f64,
    /// Time since its last step \[s\].
    since_s: f64,
    last: Reaction,
    last_at_m: Vec3,
    /// The strokes that are over, refused ones without their changes; nothing where strokes cannot open it.
    history: Option<History>,
    /// The master's run that made the last of them, and how many others had made before.
    maker: (u64, u64),
    /// The stroke at hand.
    changes: Vec<Change>,
}

impl TissueEnvironment {
    /// `radius_m` and `stiffness_npm` are those of the probe's sphere \[m\], \[N/m\].
    #[must_use]
    pub fn new(tissue: Box<dyn Tissue>, radius_m: f64, stiffness_npm: f64) -> Self {
        let caps = tissue.caps();
        Self {
            pace_s: caps.dt_s_best,
            history: caps.instruments.then(|| History::of(caps.elements)),
            tissue,
            radius_m,
            stiffness_npm,
            shape: ToolShape::Ball,
            since_s: 0.0,
            last: Reaction::default(),
            last_at_m: Vec3::zeros(),
            maker: (0, 0),
            changes: Vec::with_capacity(STROKE_CHANGES),
        }
    }

    /// The same, touched by a probe of another shape.
    #[must_use]
    pub fn touched_by(self, shape: ToolShape) -> Self {
        Self { shape, ..self }
    }
}

impl Environment for TissueEnvironment {
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes {
        let [x, y, z, opening_m] = probe.position_m;
        let [vx, vy, vz, opening_velocity_mps] = probe.velocity_mps;
        let [shaft_m, side_m] = self.shape.edges_m();
        let tool = Tool {
            position_m: Vec3::new(x, y, z) - 0.5 * (shaft_m + side_m),
            velocity_mps: Vec3::new(vx, vy, vz),
            radius_m: self.radius_m,
            stiffness_npm: self.stiffness_npm,
            shaft_m,
            side_m,
            instrument: Instrument::Blunt,
            jaws: Some(Jaws {
                opening_m,
                opening_velocity_mps,
                closed: probe.closed,
            }),
        };
        self.since_s += dt_s;
        // half a step short, so that rounding does not decide
        if self.since_s + 0.5 * dt_s > self.pace_s {
            let step_s = std::mem::take(&mut self.since_s);
            let mut reactions = [Reaction::default()];
            self.tissue.step(&[tool], step_s, &mut reactions);
            [self.last] = reactions;
            self.last_at_m = tool.position_m;
        }
        let felt = self.last.moved_by(&(tool.position_m - self.last_at_m));
        let force = felt.force_n;
        [force.x, force.y, force.z, felt.grip_n]
    }

    fn energy_j(&self) -> f64 {
        self.tissue.view().ledger.stored_j()
    }

    fn replay(&mut self, stroke: &Stroke) -> Result<(), StrokeRefusal> {
        let (number, expected) = (stroke.number, self.opened().strokes + 1);
        let Some(history) = &mut self.history else {
            return Err(StrokeRefusal::Closed);
        };
        if number != expected {
            return Err(StrokeRefusal::Order {
                found: number,
                expected,
            });
        }
        self.changes.clear();
        let part = part_of(stroke.part);
        let mut wrong = None;
        for (index, change) in stroke.changes().iter().enumerate() {
            match change_of(change) {
                Some(change) => self.changes.push(change),
                None => wrong = wrong.or(Some(StrokeRefusal::Change { number, index })),
            }
        }
        if wrong.is_some() {
            self.changes.clear();
        }
        if !history.push(part, &self.changes) {
            return Err(StrokeRefusal::Full { number });
        }
        if self.maker.0 != stroke.run {
            self.maker = (stroke.run, number - 1);
        }
        if let Some(refusal) = wrong {
            return Err(refusal);
        }
        let done = self.tissue.edit(&Edit::Replay(&self.changes, part));
        done.map(|_| ()).map_err(|_| StrokeRefusal::Closed)
    }

    fn opened(&self) -> Opened {
        Opened {
            strokes: self.history.as_ref().map_or(0, History::strokes),
            topology: self.tissue.view().topology.unwrap_or(0),
        }
    }

    fn foreign(&self, run: u64) -> u64 {
        let (maker, others) = self.maker;
        if maker == run {
            others
        } else {
            self.opened().strokes
        }
    }

    fn done(&self, number: u64) -> Option<Stroke> {
        let (part, changes) = self.history.as_ref()?.stroke(number)?;
        Some(Stroke {
            part: part as u8,
            ..Stroke::of(0, number, changes.iter().map(sent_as))
        })
    }
}
