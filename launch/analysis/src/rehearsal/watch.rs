//! Watch of a rehearsal: follows a session tick by tick, records every step of its script, and judges post-conditions.
//!
//! Source: ours. Changes by instruments come from [`palpate_twin::TissueView::changes`] of the twin after each tick,
//! in which requested edits come last; `judge` judges.

mod judge;

use palpate_master::device::MinimumJerkPath;
use palpate_master::device::procedure::{PHASE_FIRST, ProcedureParams, StepSpan};
use palpate_master::device::script::ScriptParams;
use palpate_scene::Scene;
use palpate_session::audit::TOLERANCE_J;
use palpate_session::config::postcondition::Postcondition;
use palpate_session::config::{Config, ConfigError};
use palpate_transport::AXES;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{EventFlags, TickRecord};
use palpate_twin::edits::TopologyChange;
use palpate_twin::{Instrument, Tissue, TissueEnergy, TissueView, Vec3};
use serde::{Deserialize, Serialize};

use super::blade_path::{Blade, BladePath};
use super::drawings::TissueDrawings;
use super::specimen::{LabelAmount, Specimen};
use crate::metrics::norm_xyz;
use crate::render::Render;
use crate::render::instrument::{InstrumentPose, OperatedTissue, TissuePalette};
use crate::summary::Check;

/// Result of a step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepOutcome {
    /// Name of the step.
    pub name: String,
    /// Kind of the step, in one word.
    pub kind: String,
    /// Planned start \[s\].
    pub start_s: f64,
    /// Planned end \[s\].
    pub end_s: f64,
    /// Largest force on the hand in the step \[N\].
    pub peak_force_n: f64,
    /// Links that were cut.
    pub links_cut: u64,
    /// Links that were joined.
    pub links_joined: u64,
    /// Nodes that were removed, less those restored.
    pub elements_removed: i64,
    /// Pieces at the end of the step, if they can be counted.
    pub pieces: Option<u64>,
    /// Hash of the present nodes, links and fixed nodes at the end of the step.
    pub topology: Option<String>,
}

/// Result of a rehearsed script.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScriptOutcome {
    /// Name of the script.
    pub script: String,
    /// Name of the scene.
    pub scene: String,
    /// Results of its steps.
    pub steps: Vec<StepOutcome>,
    /// Nodes of the pieces at the end, the largest first, at most twenty of them.
    pub pieces: Vec<u64>,
    /// Number of pieces at the end, if they can be counted.
    pub pieces_count: Option<u64>,
    /// Amounts by label, before and at the end.
    pub amounts: Vec<LabelAmount>,
    /// Volume that was removed \[m^3\].
    pub removed_m3: Option<f64>,
    /// Hash of the present nodes, links and fixed nodes at the end.
    pub topology: Option<String>,
}

/// Result of a rehearsed script, with checks and pictures.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RehearsalResult {
    /// Result of the script.
    pub outcome: ScriptOutcome,
    /// Results of the post-conditions.
    pub checks: Vec<Check>,
    /// Drawings of the tissue at the end.
    pub drawings: TissueDrawings,
    /// Pictures of instruments at work, in the middle of their steps.
    pub renders: Vec<Render>,
}

/// Most steps with a picture.
const PICTURED_STEPS_MAX: usize = 4;

/// Time after which a later picture of a step replaces an earlier one \[s\].
const LATER_S: f64 = 0.05;

/// Most pieces that are listed.
const LISTED_PIECES_MAX: usize = 20;

/// Force and energy at the hand so far.
#[derive(Default)]
struct HandEnergy {
    peak_n: f64,
    /// Energy that the handle has supplied, and its minimum \[J\].
    input_j: f64,
    input_j_min: f64,
    before: Option<TickRecord>,
}

impl HandEnergy {
    /// Adds the energy that the handle supplied, from the signals of its port.
    fn add(&mut self, record: &TickRecord) {
        if let Some(before) = &self.before {
            for axis in 0..AXES {
                let way_m = record.held_to_m[axis] - before.position_m[axis];
                self.input_j += before.port_force_n[axis] * way_m;
            }
            self.input_j_min = self.input_j_min.min(self.input_j);
        }
        self.before = Some(*record);
    }
}

/// Watch of a session.
pub struct RehearsalWatch {
    params: ProcedureParams,
    procedure: MinimumJerkPath,
    after: Vec<Postcondition>,
    checks: Vec<Option<Check>>,
    specimen: Option<Specimen>,
    /// Results of the finished steps.
    outcome: ScriptOutcome,
    /// Path of the blade in every step that leads one.
    blade_paths: Vec<BladePath>,
    /// Topology hashes before the first step and at the end of each.
    topologies: Vec<Option<u64>>,
    /// Present step.
    current_step: Option<usize>,
    ledger: TissueEnergy,
    stored_first_j: Option<f64>,
    hand: HandEnergy,
    twin_topology: Option<u64>,
    radius_m: f64,
    /// Steps in which an instrument worked, each with its tissue in the middle of the step.
    snapshots: Vec<(usize, OperatedTissue)>,
}

impl RehearsalWatch {
    /// Watches a session with a procedure whose twin is of a scene; None for another operator.
    ///
    /// # Errors
    /// [`ConfigError`] if a post-condition names a label that the scene does not have, or if the tissue does not
    /// support a step.
    pub fn new(config: &Config, scene: &Scene) -> Result<Option<Self>, ConfigError> {
        let ScriptParams::Procedure(params) = &config.operator.script else {
            return Ok(None);
        };
        let wrong = ConfigError::Field;
        let build = |error: palpate_scene::SceneError| wrong(format!("twin: {error}"));
        check_capabilities(params, scene).map_err(wrong)?;
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
        let step = |span: StepSpan| StepOutcome {
            name: span.name,
            kind: span.kind.to_owned(),
            start_s: span.start_s,
            end_s: span.end_s,
            ..StepOutcome::default()
        };
        let steps: Vec<StepOutcome> = params.spans().into_iter().map(step).collect();
        Ok(Some(Self {
            procedure: params.to_path(),
            after: config.after.clone(),
            checks: vec![None; config.after.len()],
            blade_paths: vec![BladePath::default(); steps.len()],
            topologies: vec![specimen.as_ref().map(Specimen::topology)],
            specimen,
            outcome: ScriptOutcome {
                script: params.name.clone(),
                scene: scene.name.clone(),
                steps,
                ..ScriptOutcome::default()
            },
            current_step: None,
            ledger: TissueEnergy::default(),
            stored_first_j: None,
            hand: HandEnergy::default(),
            twin_topology: None,
            radius_m: config.master.predict.tool_radius_m,
            snapshots: Vec::new(),
            params: params.clone(),
        }))
    }

    /// Records a tick of the operator's side, and the state of the twin after it.
    pub fn tick(&mut self, record: &TickRecord, twin: &dyn Tissue) {
        let view = twin.view();
        let index = usize::from(record.phase.wrapping_sub(PHASE_FIRST));
        let step = (index < self.outcome.steps.len()).then_some(index);
        if step != self.current_step {
            self.end_step();
            self.current_step = step;
        }
        (self.ledger, self.twin_topology) = (view.energy, view.topology_hash);
        self.stored_first_j.get_or_insert(view.energy.stored_j());
        // a fallback or missed tick shows the changes of the last step once more
        let before = self.hand.before;
        let again = before.is_some_and(|before| before.tick == record.tick);
        let stepped = record.events & EventFlags::DEADLINE_FALLBACK == 0 && !again;
        let changes = if stepped { view.changes } else { &[] };
        if let Some(specimen) = &mut self.specimen {
            specimen.replay(changes);
        }
        let felt_n = norm_xyz(&record.port_force_n);
        self.hand.peak_n = self.hand.peak_n.max(felt_n);
        if let Some(step) = step {
            self.count(step, changes, felt_n);
            self.record_blade(step, record);
            if !changes.is_empty() && record.instrument != 0 {
                self.take_snapshot(step, record, &view);
            }
        }
        self.hand.add(record);
    }

    fn count(&mut self, step: usize, changes: &[TopologyChange], felt_n: f64) {
        let step = &mut self.outcome.steps[step];
        step.peak_force_n = step.peak_force_n.max(felt_n);
        for change in changes {
            match change {
                TopologyChange::Cut { .. } => step.links_cut += 1,
                TopologyChange::Join { .. } => step.links_joined += 1,
                TopologyChange::Remove { .. } => step.elements_removed += 1,
                TopologyChange::Restore { .. } => step.elements_removed -= 1,
                _ => {}
            }
        }
    }

    /// Keeps a snapshot of an instrument at work: the first in the second half of its step, or the last before.
    fn take_snapshot(&mut self, step: usize, record: &TickRecord, view: &TissueView<'_>) {
        let at_s = record.tick as f64 * PERIOD.s();
        let of = &self.outcome.steps[step];
        let half_s = 0.5 * (of.start_s + of.end_s);
        let last = self.snapshots.last().filter(|(caught, _)| *caught == step);
        match last.map(|(_, one)| one.at_s) {
            Some(before_s)
                if before_s >= half_s || (at_s < half_s && at_s < before_s + LATER_S) =>
            {
                return;
            }
            Some(_) => drop(self.snapshots.pop()),
            None if self.snapshots.len() == PICTURED_STEPS_MAX => return,
            None => {}
        }
        let pose = InstrumentPose::of(record, self.radius_m);
        self.snapshots
            .push((step, OperatedTissue::of(view, pose, at_s)));
    }

    /// Renders the snapshots.
    fn renders(&self) -> Vec<Render> {
        let colours = self.specimen.iter().flat_map(Specimen::colours);
        let palette = TissuePalette::of(colours);
        let render = |(step, one): &(usize, OperatedTissue)| {
            let caption = format!(
                "The twin at {:.2} s, in step {} ({}), with the {} at work. Tissue has the colours of the scene; the \
                 cutting or joining part is amber, and visible through it.",
                one.at_s,
                step + 1,
                self.outcome.steps[*step].name,
                one.instrument.name(),
            );
            one.render(&palette, caption)
        };
        self.snapshots.iter().filter_map(render).collect()
    }

    /// Adds the pose of a blade to the path of its step.
    fn record_blade(&mut self, step: usize, record: &TickRecord) {
        let at_s = record.tick as f64 * PERIOD.s();
        if let Instrument::Scalpel { edge_m } = self.procedure.intent(at_s).instrument {
            let top_m = Vec3::from_column_slice(&record.position_m[..3]);
            self.blade_paths[step].add(Blade {
                tip_m: top_m + edge_m,
                top_m,
            });
        }
    }

    /// Ends the present step and judges its post-conditions.
    fn end_step(&mut self) {
        let Some(step) = self.current_step else {
            return;
        };
        let topology = self.specimen.as_ref().map(Specimen::topology);
        self.topologies.resize(step + 1, None);
        self.topologies.push(topology);
        let pieces = self.specimen.as_mut().map(Specimen::pieces);
        let outcome = &mut self.outcome.steps[step];
        outcome.pieces = pieces.map(|pieces| pieces.len() as u64);
        outcome.topology = topology.map(hex);
        let name = outcome.name.clone();
        for index in 0..self.after.len() {
            if self.after[index].step.as_ref() == Some(&name) {
                self.checks[index] = Some(self.judge(&self.after[index].clone(), None));
            }
        }
    }

    /// Ends the session and returns its result and checks. `remote` is the topology hash of the remote tissue, if
    /// there is one; without one, the specimen must be cut as the twin is.
    #[must_use]
    pub fn finish(mut self, remote: Option<Option<u64>>) -> RehearsalResult {
        self.end_step();
        let finished = self.topologies.len() - 1;
        let (over, steps) = (finished as f64, self.outcome.steps.len() as f64);
        let name = "finished steps of the script";
        let mut checks = vec![Check::at_least(name, Some(over), steps, "steps")];
        if remote.is_none() {
            let name = "least energy supplied by the handle to twin and coupling";
            let least_j = Some(self.hand.input_j_min);
            checks.push(Check::at_least(name, least_j, -TOLERANCE_J, "J"));
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
        let renders = self.renders();
        let specimen = self.specimen.as_ref();
        let listed = pieces.iter().flatten().take(LISTED_PIECES_MAX);
        let outcome = ScriptOutcome {
            pieces_count: pieces.as_ref().map(|pieces| pieces.len() as u64),
            pieces: listed.map(|&count| count as u64).collect(),
            amounts: specimen.map_or(Vec::new(), Specimen::amounts),
            removed_m3: specimen.map(|specimen| specimen.amount(None).removed_m3),
            topology: specimen.map(|specimen| hex(specimen.topology())),
            ..self.outcome
        };
        RehearsalResult {
            outcome,
            checks,
            renders,
            drawings: specimen.map_or(TissueDrawings::default(), TissueDrawings::of),
        }
    }
}

/// Checks that the tissue of a scene supports the steps.
fn check_capabilities(params: &ProcedureParams, scene: &Scene) -> Result<(), String> {
    let caps = scene
        .build()
        .map_err(|error| format!("twin: {error}"))?
        .caps();
    for (index, step) in params.step.iter().enumerate() {
        let lacking = if step.action.needs_instruments() && !caps.instruments {
            "be cut, carved or joined"
        } else if step.action.needs_jaws() && !caps.jaws {
            "be grasped"
        } else {
            continue;
        };
        return Err(format!(
            "step {} `{}` is a step `{}`, and the tissue of scene `{}` (method {}) cannot {lacking}; expected a scene \
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
