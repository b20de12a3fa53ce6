//! Follows a session tick by tick, takes account of every step of its script, and judges what must hold after it.
//!
//! Source: ours. What instruments changed is taken from [`palpate_twin::View::changes`] of the twin after each tick,
//! in which edits that were asked for come last; `judge` judges.

mod judge;

use palpate_master::device::procedure::{PHASE_FIRST, Procedure, ProcedureParams, Span};
use palpate_master::device::script::ScriptParams;
use palpate_scene::Scene;
use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::after::After;
use palpate_session::config::{Config, ConfigError};
use palpate_transport::AXES;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{Events, TickRecord};
use palpate_twin::edits::Change;
use palpate_twin::{Instrument, Ledger, Tissue, Vec3, View};
use serde::{Deserialize, Serialize};

use super::picture::Pictures;
use super::specimen::{Amount, Specimen};
use super::swept::{Blade, Swept};
use crate::still::Still;
use crate::still::operated::{Held, Operated, Palette};
use crate::summary::Check;

/// What a step did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepOutcome {
    /// Its name.
    pub name: String,
    /// What it does, in one word.
    pub kind: String,
    /// When it was to begin \[s\].
    pub start_s: f64,
    /// When it was to end \[s\].
    pub end_s: f64,
    /// Largest force on the hand in it \[N\].
    pub peak_force_n: f64,
    /// Links that were cut.
    pub links_cut: u64,
    /// Links that were made.
    pub links_joined: u64,
    /// Elements that were taken out, less those put back.
    pub elements_removed: i64,
    /// Pieces at its end, if they can be counted.
    pub pieces: Option<u64>,
    /// The number that says which elements are there, linked and held at its end.
    pub topology: Option<String>,
}

/// What a rehearsed script did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Name of the script.
    pub script: String,
    /// Name of the scene.
    pub scene: String,
    /// Its steps.
    pub steps: Vec<StepOutcome>,
    /// Elements of the pieces at the end, the largest first, at most twenty of them.
    pub pieces: Vec<u64>,
    /// Number of pieces at the end, if they can be counted.
    pub pieces_count: Option<u64>,
    /// What there was and is, by label.
    pub amounts: Vec<Amount>,
    /// Volume that was taken out \[m^3\].
    pub removed_m3: Option<f64>,
    /// The number that says which elements are there, linked and held at the end.
    pub topology: Option<String>,
}

/// All that is known of a rehearsed script.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rehearsed {
    /// What it did.
    pub outcome: Outcome,
    /// Whether what must hold did.
    pub checks: Vec<Check>,
    /// What the tissue looks like in the end.
    pub pictures: Pictures,
    /// Instruments at work, in the midst of their steps.
    pub stills: Vec<Still>,
}

/// Most steps of which there is a picture.
const SHOWN: usize = 4;

/// How long until a picture of a step gives way to a later one \[s\].
const LATER_S: f64 = 0.05;

/// Most pieces that are listed.
const LISTED: usize = 20;

/// What the hand felt and took so far.
#[derive(Default)]
struct Hand {
    peak_n: f64,
    /// Energy that the handle has given, and the least of it.
    taken_j: f64,
    least_j: f64,
    before: Option<TickRecord>,
}

impl Hand {
    /// Books the energy that the handle has given, from the signals of its port.
    fn take(&mut self, record: &TickRecord) {
        if let Some(before) = &self.before {
            for axis in 0..AXES {
                let way_m = record.held_to_m[axis] - before.position_m[axis];
                self.taken_j += before.port_force_n[axis] * way_m;
            }
            self.least_j = self.least_j.min(self.taken_j);
        }
        self.before = Some(*record);
    }
}

/// A session that is being followed.
pub struct Watch {
    params: ProcedureParams,
    procedure: Procedure,
    after: Vec<After>,
    checks: Vec<Option<Check>>,
    scene: String,
    specimen: Option<Specimen>,
    spans: Vec<Span>,
    steps: Vec<StepOutcome>,
    /// Of every step that takes a blade along a path, where that went.
    swept: Vec<Swept>,
    /// What the tissue was like before the first step and at the end of each.
    topologies: Vec<Option<u64>>,
    /// The step at hand, and how many are over.
    running: Option<usize>,
    over: usize,
    ledger: Ledger,
    stored_first_j: Option<f64>,
    hand: Hand,
    twin: Option<u64>,
    radius_m: f64,
    /// Steps in which an instrument worked, each as it was in its midst.
    caught: Vec<(usize, Operated)>,
}

impl Watch {
    /// Of a session with a procedure whose twin is of a scene; none of another operator.
    ///
    /// # Errors
    /// [`ConfigError`] if a post-condition names a label that the scene does not have, or if the tissue cannot do
    /// what a step needs.
    pub fn new(config: &Config, scene: &Scene) -> Result<Option<Self>, ConfigError> {
        let ScriptParams::Procedure(params) = &config.operator.script else {
            return Ok(None);
        };
        let wrong = |message: String| ConfigError::Field { message };
        let build = |error: palpate_scene::SceneError| wrong(format!("twin: {error}"));
        able(params, scene).map_err(wrong)?;
        let specimen = Specimen::of(scene).map_err(build)?;
        for (number, one) in (1..).zip(&config.after) {
            let Some(label) = one.label() else { continue };
            let labels: Vec<&str> = specimen.iter().flat_map(Specimen::labels).collect();
            if !labels.contains(&label) {
                let message = format!(
                    "after {number}, {}: label is {label}; expected one of the materials of the scene `{}`: {}",
                    one.name(),
                    scene.name,
                    labels.join(", ")
                );
                return Err(wrong(message));
            }
        }
        let spans = params.spans();
        let steps = spans.iter().map(|span| StepOutcome {
            name: span.name.clone(),
            kind: span.kind.to_owned(),
            start_s: span.start_s,
            end_s: span.end_s,
            ..StepOutcome::default()
        });
        Ok(Some(Self {
            procedure: Procedure::new(params),
            after: config.after.clone(),
            checks: vec![None; config.after.len()],
            scene: scene.name.clone(),
            steps: steps.collect(),
            swept: vec![Swept::default(); spans.len()],
            topologies: vec![specimen.as_ref().map(Specimen::topology)],
            specimen,
            spans,
            running: None,
            over: 0,
            ledger: Ledger::default(),
            stored_first_j: None,
            hand: Hand::default(),
            twin: None,
            radius_m: config.master.predict.tool_radius_m,
            caught: Vec::new(),
            params: params.clone(),
        }))
    }

    /// Takes account of a tick of the operator's side, and of the twin as that left it.
    pub fn tick(&mut self, record: &TickRecord, twin: &dyn Tissue) {
        let view = twin.view();
        let index = usize::from(record.phase.wrapping_sub(PHASE_FIRST));
        let step = (index < self.spans.len()).then_some(index);
        if step != self.running {
            self.end_step();
            self.running = step;
        }
        (self.ledger, self.twin) = (view.ledger, view.topology);
        self.stored_first_j.get_or_insert(view.ledger.stored_j());
        // a tick that only asked the twin, or was missed, shows what the last step changed once more
        let again = self
            .hand
            .before
            .is_some_and(|before| before.tick == record.tick);
        let stepped = record.events & Events::MASKED == 0 && !again;
        let changes = if stepped { view.changes } else { &[] };
        if let Some(specimen) = &mut self.specimen {
            specimen.replay(changes);
        }
        let force_n = &record.port_force_n;
        let felt_n = (0..3)
            .map(|axis| force_n[axis] * force_n[axis])
            .sum::<f64>()
            .sqrt();
        self.hand.peak_n = self.hand.peak_n.max(felt_n);
        if let Some(step) = step {
            self.count(step, changes, felt_n);
            self.sweep(step, record);
            if !changes.is_empty() && record.instrument != 0 {
                self.catch(step, record, &view);
            }
        }
        self.hand.take(record);
    }

    fn count(&mut self, step: usize, changes: &[Change], felt_n: f64) {
        let step = &mut self.steps[step];
        step.peak_force_n = step.peak_force_n.max(felt_n);
        for change in changes {
            match change {
                Change::Cut { .. } => step.links_cut += 1,
                Change::Join { .. } => step.links_joined += 1,
                Change::Take { .. } => step.elements_removed += 1,
                Change::Put { .. } => step.elements_removed -= 1,
                _ => {}
            }
        }
    }

    /// Keeps how an instrument works: the first that it does in the second half of its step, or the last before.
    fn catch(&mut self, step: usize, record: &TickRecord, view: &View<'_>) {
        let at_s = record.tick as f64 * PERIOD.s();
        let (half_s, of_step) = {
            let span = &self.spans[step];
            let last = self.caught.last().filter(|(caught, _)| *caught == step);
            (
                0.5 * (span.start_s + span.end_s),
                last.map(|(_, one)| one.at_s),
            )
        };
        match of_step {
            Some(before_s)
                if before_s >= half_s || (at_s < half_s && at_s < before_s + LATER_S) =>
            {
                return;
            }
            Some(_) => drop(self.caught.pop()),
            None if self.caught.len() == SHOWN => return,
            None => {}
        }
        let held = Held::of(record, self.radius_m);
        self.caught.push((step, Operated::of(view, held, at_s)));
    }

    /// Pictures of what was kept.
    fn stills(&self) -> Vec<Still> {
        let colours = self.specimen.iter().flat_map(Specimen::colours);
        let palette = Palette::of(colours);
        let still = |(step, one): &(usize, Operated)| {
            let caption = format!(
                "The twin at {:.2} s, in step {} ({}), with the {} at work. Tissue has the colours of the scene; what cuts \
                 or joins is amber, and seen through it.",
                one.at_s,
                step + 1,
                self.spans[*step].name,
                one.held.name(),
            );
            one.still(&palette, caption)
        };
        self.caught.iter().filter_map(still).collect()
    }

    /// Notes where a blade is.
    fn sweep(&mut self, step: usize, record: &TickRecord) {
        let at_s = record.tick as f64 * PERIOD.s();
        if let Instrument::Scalpel { edge_m } = self.procedure.intent(at_s).instrument {
            let [x, y, z, _] = record.position_m;
            let top_m = Vec3::new(x, y, z);
            self.swept[step].add(Blade {
                tip_m: top_m + edge_m,
                top_m,
            });
        }
    }

    /// Ends the step at hand: what must hold at its end is judged now.
    fn end_step(&mut self) {
        let Some(step) = self.running else { return };
        let topology = self.specimen.as_ref().map(Specimen::topology);
        self.topologies.resize(step + 1, None);
        self.topologies.push(topology);
        self.over = step + 1;
        let pieces = self.specimen.as_mut().map(Specimen::pieces);
        let outcome = &mut self.steps[step];
        outcome.pieces = pieces.map(|pieces| pieces.len() as u64);
        outcome.topology = topology.map(hex);
        let name = outcome.name.clone();
        for index in 0..self.after.len() {
            if self.after[index].step.as_ref() == Some(&name) {
                self.checks[index] = Some(self.judge(&self.after[index].clone(), None));
            }
        }
    }

    /// Ends the session: what was done, and all checks. `remote` is the number of the remote tissue's links, where
    /// there is a remote tissue; without one, it is the specimen that must be cut as the twin is.
    #[must_use]
    pub fn finish(mut self, remote: Option<Option<u64>>) -> Rehearsed {
        self.end_step();
        let over = Check::at_least(
            "steps of the script that came to their end",
            Some(self.over as f64),
            self.spans.len() as f64,
            "steps",
        );
        let mut checks = vec![over];
        if remote.is_none() {
            let name = "least energy in the twin and its coupling, at the handle";
            checks.push(Check::at_least(
                name,
                Some(self.hand.least_j),
                -TOLERANCE_J,
                "J",
            ));
        }
        for index in 0..self.after.len() {
            let one = self.after[index].clone();
            let judged = match (self.checks[index].take(), &one.step) {
                (Some(judged), _) => judged,
                (None, None) => self.judge(&one, remote),
                (None, Some(_)) => Check {
                    held: false,
                    value: None,
                    ..self.judge(&one, remote)
                },
            };
            checks.push(judged);
        }
        let pieces = self.specimen.as_mut().map(Specimen::pieces);
        let stills = self.stills();
        let specimen = self.specimen.as_ref();
        let outcome = Outcome {
            script: self.params.name.clone(),
            scene: self.scene.clone(),
            pieces_count: pieces.as_ref().map(|pieces| pieces.len() as u64),
            pieces: pieces.map_or(Vec::new(), |pieces| {
                pieces
                    .iter()
                    .take(LISTED)
                    .map(|&count| count as u64)
                    .collect()
            }),
            amounts: specimen.map_or(Vec::new(), Specimen::amounts),
            removed_m3: specimen.map(|specimen| specimen.amount(None).removed_m3),
            topology: specimen.map(|specimen| hex(specimen.topology())),
            steps: self.steps,
        };
        Rehearsed {
            outcome,
            checks,
            stills,
            pictures: self
                .specimen
                .as_ref()
                .map_or(Pictures::default(), Pictures::of),
        }
    }
}

/// Whether tissue of a scene can do what the steps need.
fn able(params: &ProcedureParams, scene: &Scene) -> Result<(), String> {
    let caps = scene
        .build()
        .map_err(|error| format!("twin: {error}"))?
        .caps();
    for (index, step) in params.step.iter().enumerate() {
        let lacks = if step.action.needs_instruments() && !caps.instruments {
            "be cut, carved or joined"
        } else if step.action.needs_jaws() && !caps.jaws {
            "be grasped"
        } else {
            continue;
        };
        return Err(format!(
            "step {} `{}` is a step `{}`, and the tissue of scene `{}` (method {}) cannot {lacks}; expected a scene \
             that can, or a script without such a step",
            index + 1,
            params.name_of(index),
            step.action.kind(),
            scene.name,
            caps.method
        ));
    }
    Ok(())
}

fn hex(topology: u64) -> String {
    format!("{topology:016x}")
}
