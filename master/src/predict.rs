//! Prediction by the twin at the handle: force at once, and corrections from the forces that the robot measured.
//!
//! Two instances of one tissue model run side by side. The *twin* is touched by the handle and
//! gives the force at once. The *shadow* is touched where the robot reports to have been, so its
//! force and the measured one belong to the same motion, whatever the delay is. Their ratio is the
//! twin's error, free of any assumption about the network (ours; compare Sette 2011, teleop section 2).
//!
//! `probe_playback` makes one motion of the robot's frames, and `evidence` compares it with the shadow. `correction_map`
//! stores the error by place and force, with a `place_fit` for each place. `learning` and `correction` bring it to the
//! hand passively (teleop E16). `surface_registration` finds the height of the tissue. `scene_morph` changes the twin to
//! another scene. `contact_estimator` fits one contact law ([`hunt_crossley`]) to the robot's contact (E15), which
//! [`local_law`] can render instead of the twin. `twin_edits` logs what instruments changed, `two_tools` adds a second
//! tool, `params` has the parameters.

use palpate_scene::MorphSteps;
use palpate_transport::Axes;
use palpate_twin::edits::{EditBatchLog, EditPhase, TopologyChange};
use palpate_twin::{Instrument, Reaction, Tissue, Vec3};

use crate::device::{HandleReading, Revisions};

mod contact_estimator;
mod correction;
mod correction_map;
mod evidence;
pub mod hunt_crossley;
mod learning;
pub mod local_law;
mod params;
mod place_fit;
mod probe_playback;
mod scene_morph;
mod surface_registration;
mod twin_edits;
mod twin_prediction;
mod two_tools;

use contact_estimator::ContactEstimator;
use correction::{Correction, InwardMotion};
pub use evidence::RemoteReport;
use evidence::{learn_from_robot, meets_nothing};
use hunt_crossley::ContactEstimate;
use learning::Learning;
use local_law::{LocalLaw, LocalModel, TwinContact};
pub use params::PredictParams;
use probe_playback::{Played, ProbePlayback};
use scene_morph::SceneMorph;
use surface_registration::{SurfaceRegistration, TwinSurface};
pub use twin_edits::RemoteEdits;
use twin_edits::TwinEdits;
pub use twin_prediction::TwinPrediction;
pub use two_tools::tissue_tool;
use two_tools::{ParkedTool, PlacedTissue, TwoTools};

/// A tool's motion at one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolState {
    /// Position x, y, z and opening \[m\].
    pub position_m: Axes,
    /// Velocity \[m/s\].
    pub velocity_mps: Axes,
    /// True if the jaws are closed.
    pub closed: bool,
    /// Instrument at the tool's end.
    pub instrument: Instrument,
}

impl ToolState {
    /// Tool of a handle's reading; `blunt` replaces its instrument.
    #[must_use]
    pub(crate) fn from_reading(reading: &HandleReading, blunt: bool) -> Self {
        Self {
            position_m: reading.position_m,
            velocity_mps: reading.velocity_mps,
            closed: reading.closed,
            instrument: if blunt {
                Instrument::Blunt
            } else {
                reading.instrument
            },
        }
    }
}

/// The twin, its shadow, and the corrections.
pub struct TwinPredictor {
    twin: Box<dyn Tissue>,
    shadow: Box<dyn Tissue>,
    /// The robot's motion, which the shadow feels.
    playback: ProbePlayback,
    /// True if the robot's motion touched the shadow in the last step.
    shadow_in_contact: bool,
    /// Heights of twin and shadow.
    registration: SurfaceRegistration,
    /// Created at the first step, from its parameters.
    learning: Option<Learning>,
    /// Contact law of the remote tissue.
    contact_estimator: ContactEstimator,
    /// Local model that renders that law.
    local_law: LocalLaw,
    /// True if the last tick extrapolated and did not step the twin.
    extrapolated_last: bool,
    /// Remaining steps to another scene.
    morph: Option<SceneMorph>,
    /// Energy that those steps have put into the twin \[J\], and the sum of the bounds of its force changes.
    morph_cost: [f64; 2],
    /// True if the twin has changed since the corrections were learnt.
    corrections_outdated: bool,
    /// True if the hand touches the twin.
    in_contact: bool,
    /// The active and the parked tool.
    tools: TwoTools,
    /// Instrument of the last step.
    last_instrument: Instrument,
    /// Edits that instruments made, if they can edit the twin.
    edits: Option<TwinEdits>,
}

impl TwinPredictor {
    /// Predictor from two instances of the same tissue model, both at rest.
    #[must_use]
    pub fn new(twin: Box<dyn Tissue>, shadow: Box<dyn Tissue>) -> Self {
        Self {
            edits: TwinEdits::for_tissue(shadow.as_ref()),
            twin,
            shadow,
            playback: ProbePlayback::default(),
            shadow_in_contact: false,
            registration: SurfaceRegistration::default(),
            learning: None,
            contact_estimator: ContactEstimator::default(),
            local_law: LocalLaw::default(),
            extrapolated_last: false,
            morph: None,
            morph_cost: [0.0; 2],
            corrections_outdated: false,
            in_contact: false,
            tools: TwoTools::default(),
            last_instrument: Instrument::Blunt,
        }
    }

    /// Adds a morph to another scene; `steps` begin at the scene from which both instances were built. The twin changes
    /// in small steps while the hand is in contact, and the shadow while the robot is, as far as the energy that each
    /// has dissipated pays for them. Without contact a tissue changes at once.
    #[must_use]
    pub fn with_morph(self, steps: MorphSteps) -> Self {
        Self {
            morph: Some(SceneMorph::new(steps)),
            ..self
        }
    }

    /// Lets instruments edit at once, without a remote tissue that must agree.
    #[must_use]
    pub fn without_remote_tissue(mut self) -> Self {
        if let Some(edits) = &mut self.edits {
            edits.set_standalone();
        }
        self
    }

    /// Log of the edits that instruments made; none for a twin that they cannot edit.
    #[must_use]
    pub fn edits(&self) -> Option<&EditBatchLog> {
        self.edits.as_ref().map(TwinEdits::log)
    }

    /// Hash of the twin's topology (nodes, links, pins); 0 if no instrument can change it.
    #[must_use]
    pub fn topology(&self) -> u64 {
        self.twin.view().topology_hash.unwrap_or(0)
    }

    /// The tool with its permitted instrument, and true if that differs from the wanted one.
    fn permitted_tool(&self, handle: &ToolState) -> (ToolState, bool) {
        let wanted = handle.instrument;
        let edits = self.edits.as_ref();
        let allowed = edits.map_or(Instrument::Blunt, |edits| edits.permitted(wanted));
        let tool = ToolState {
            instrument: allowed,
            ..*handle
        };
        (tool, allowed != wanted)
    }

    /// The tissue at the handle, for drawing and reports.
    #[must_use]
    pub fn twin(&self) -> &dyn Tissue {
        self.twin.as_ref()
    }

    /// Contact law of the remote tissue (teleop E15), if [`PredictParams::estimate`] is on; none
    /// before its first contact.
    #[must_use]
    pub fn contact_estimate(&self) -> Option<ContactEstimate> {
        self.contact_estimator.estimate()
    }

    /// Advances by one tick: steps the twin with the handle, the shadow with the probe.
    pub fn step(
        &mut self,
        params: &PredictParams,
        handle: &ToolState,
        remote: Option<&RemoteReport>,
        dt_s: f64,
    ) -> TwinPrediction {
        // a tissue is driven by positions: after missed ticks it does not need a longer step, which could exceed its
        // stability limit
        let step_s = dt_s.min(TISSUE_STEP_S_MAX);
        let (handle, blunted) = &self.permitted_tool(handle);
        let (reaction, parked) = self.touch_twin(params, handle, step_s);
        if let Some(edits) = &mut self.edits
            && step_s > 0.0
        {
            edits.record(&self.twin.view(), None);
        }
        (self.extrapolated_last, self.in_contact) = (false, reaction.contacts > 0);
        let expected = remote.map(|remote| self.learn_from_report(params, remote, dt_s));
        // without a frame the shadow stays where it is
        if let Some(expected) = &expected {
            self.shadow_in_contact = expected.contacts > 0;
        }
        let learning = Learning::get_or_new(&mut self.learning, params);
        let place_m = place_m(handle);
        let press = without_edge_force(&reaction);
        let timing = InwardMotion::new(inward_mps(handle, &press), dt_s);
        // a correction of a twin that is not rendered is applied at once and costs nothing
        let law_rendered = self.local_law.is_active();
        let rendered = if law_rendered {
            Reaction::default()
        } else {
            press
        };
        let correction_completed = learning.apply(params, place_m, &rendered, timing);
        let twin = TwinContact {
            in_contact: reaction.contacts > 0,
            confidence: learning.confidence(place_m),
        };
        let law_timing = InwardMotion::new(-handle.velocity_mps[2], dt_s);
        self.local_law.step(
            params,
            handle,
            self.contact_estimator.surface(),
            twin,
            law_timing,
        );
        let morphed = self.advance_morph([reaction.contacts > 0, self.shadow_in_contact]);
        let height_m = self.registration.twin_m();
        self.move_surface(params, handle, &reaction);
        let last_instrument = core::mem::replace(&mut self.last_instrument, handle.instrument);
        let instrument_kinds =
            [last_instrument, handle.instrument].map(|one| core::mem::discriminant(&one));
        TwinPrediction {
            instrument_changed: instrument_kinds[0] != instrument_kinds[1],
            updated: correction_completed || morphed,
            collapsed: reaction.collapsed || expected.is_some_and(|expected| expected.collapsed),
            blunted: *blunted,
            parked_tool: parked,
            height_m,
            ..self.prediction(params, handle, &reaction)
        }
    }

    /// Steps the twin with the handle's tool and a parked one.
    fn touch_twin(
        &mut self,
        params: &PredictParams,
        handle: &ToolState,
        step_s: f64,
    ) -> (Reaction, ParkedTool) {
        let placed = PlacedTissue {
            height_m: self.registration.twin_m(),
            tissue: self.twin.as_mut(),
        };
        self.tools.touch(placed, params, handle, step_s)
    }

    /// Moves the twin's surface towards the registered height; corrections that were learnt belong to the former one.
    /// A tool that was put down holds the surface.
    fn move_surface(&mut self, params: &PredictParams, handle: &ToolState, reaction: &Reaction) {
        if self.tools.is_one_parked() {
            if self.registration.abandon() {
                self.playback.settle();
            }
            return;
        }
        let place_m = place_m(handle);
        let learning = Learning::get_or_new(&mut self.learning, params);
        let energy = self.twin.view().energy;
        let moved = self.registration.move_twin(&TwinSurface {
            reaction,
            factor: learning.factor(place_m, reaction),
            available_j: energy.dissipated_j - energy.edit_j.max(0.0),
        });
        if moved {
            learning.forget_learnt();
        }
    }

    /// Puts the twin at a recorded height of its surface over that of its scene \[m\], for a replay.
    pub fn set_height_m(&mut self, height_m: f64) {
        self.registration.set_twin_m(height_m);
    }

    /// Steps the shadow along the robot's motion and learns from the difference; returns the shadow's reaction.
    fn learn_from_report(
        &mut self,
        params: &PredictParams,
        newest: &RemoteReport,
        dt_s: f64,
    ) -> Reaction {
        let (remote, played) = &self.playback.play(newest, dt_s, self.shadow_in_contact);
        let step_s = match played {
            Played::Rests => 0.0,
            Played::Moves | Played::Settles => dt_s.min(TISSUE_STEP_S_MAX),
        };
        let is_evidence = *played == Played::Moves;
        let (shadow, twin) = (self.shadow.as_mut(), self.twin.as_ref());
        let topology_agrees = self
            .edits
            .as_mut()
            .is_none_or(|edits| edits.sync_shadow(shadow, twin, remote.edits));
        let placed = PlacedTissue {
            tissue: self.shadow.as_mut(),
            height_m: self.registration.shadow_m(),
        };
        let tool = self.registration.shadow_tool(&remote.probe);
        let expected = placed.touch(params, &tool, step_s);
        let learning = Learning::get_or_new(&mut self.learning, params);
        let agrees = topology_agrees && !expected.collapsed;
        let was_settled = self.registration.is_settled();
        // a tissue that is being changed is no reference for a height
        if params.register && is_evidence && agrees && self.morph.is_none() {
            let empty_here = learning.is_empty_at(place_m(&remote.probe));
            if self.registration.observe(remote, &expected, empty_here) {
                self.playback.settle();
            }
        }
        let gives_way = self.registration.before_giving_way();
        let is_evidence = is_evidence && was_settled && self.registration.is_settled();
        if is_evidence && params.update && agrees {
            learn_from_robot(params, learning, &expected, remote);
        } else if let Some(before) = gives_way
            && *played == Played::Moves
            && meets_nothing(params, &before, remote)
        {
            learning.add_absence(place_m(&remote.probe));
        } else if *played != Played::Rests {
            learning.interrupt_absence(true);
        }
        if (params.estimate || params.local != LocalModel::Twin)
            && is_evidence
            && let Some([_, _, force_n, _]) = remote.contact_force_n
        {
            let ([_, _, z, _], [_, _, vz, _]) =
                (remote.probe.position_m, remote.probe.velocity_mps);
            self.contact_estimator.add_sample(z, vz, force_n);
        }
        expected
    }

    /// Returns the tool of a handle's reading, before a step; swaps the tools if the reading demands it. Only the twin
    /// has two tools.
    pub fn take_reading(&mut self, reading: &HandleReading, blunt: bool) -> ToolState {
        if reading.tools_swapped {
            self.tools.swap();
        }
        ToolState::from_reading(reading, blunt)
    }

    /// Undoes or redoes, after a step, what the operator requested.
    pub fn revise(&mut self, requested: Revisions) {
        if let Some(edits) = &mut self.edits {
            edits.revise(self.twin.as_mut(), requested);
        }
    }

    /// Applies to the twin the next edit batch that the remote tissue had received before this run; true if it was
    /// applied. See `twin_edits`.
    pub fn apply_remote_edits(&mut self, phase: EditPhase, changes: &[TopologyChange]) -> bool {
        let (edits, twin) = (&mut self.edits, self.twin.as_mut());
        edits
            .as_mut()
            .is_some_and(|edits| edits.apply_remote(twin, phase, changes))
    }

    /// True if the hand touched the twin in the last step.
    #[must_use]
    pub const fn is_in_contact(&self) -> bool {
        self.in_contact
    }

    /// Takes the next step towards another scene, if there is one; true if the twin changed. Corrections of the
    /// former scene are cleared as soon as nothing touches the twin.
    fn advance_morph(&mut self, in_contact: [bool; 2]) -> bool {
        let mut morphed = false;
        if let Some(morph) = &mut self.morph {
            let (twin, shadow) = (self.twin.as_mut(), self.shadow.as_mut());
            let change = morph.step(twin, shadow, in_contact);
            morphed = change.changed;
            self.morph_cost[0] += change.energy_j;
            self.morph_cost[1] += change.force_change_max;
            if morph.is_done() {
                self.morph = None;
            }
        }
        self.corrections_outdated |= morphed;
        if self.corrections_outdated && !in_contact[0] {
            self.corrections_outdated = false;
            if let Some(learning) = &mut self.learning {
                learning.forget();
            }
        }
        morphed
    }

    /// Prediction for a tick that is too late to step the twin: no time passes for twin,
    /// shadow and learning. The next tick steps as usual.
    pub fn extrapolate(&mut self, params: &PredictParams, handle: &ToolState) -> TwinPrediction {
        let (handle, blunted) = &self.permitted_tool(handle);
        let (reaction, parked) = self.touch_twin(params, handle, 0.0);
        self.extrapolated_last = true;
        TwinPrediction {
            extrapolated: true,
            height_m: self.registration.twin_m(),
            blunted: *blunted,
            parked_tool: parked,
            ..self.prediction(params, handle, &reaction)
        }
    }

    /// True if a late tick may extrapolate: never two in a row, or a machine that is always late would never
    /// step its twin.
    #[must_use]
    pub fn may_extrapolate(&self) -> bool {
        !self.extrapolated_last
    }

    fn prediction(
        &self,
        params: &PredictParams,
        handle: &ToolState,
        reaction: &Reaction,
    ) -> TwinPrediction {
        let place_m = place_m(handle);
        let learning = self.learning.as_ref();
        let corrections = learning.map(Learning::correction);
        let sum = |of: fn(&Correction) -> f64| {
            corrections.map_or(0.0, of) + of(self.local_law.correction())
        };
        let confidence = learning.map_or(0.0, |learning| learning.confidence(place_m));
        // the force on a blade is the twin's alone: neither a correction nor the local law contains it
        let edge = reaction.blade_force_n;
        let edge_n = [edge.x, edge.y, edge.z, 0.0];
        let add_edge = |force_n: Axes| core::array::from_fn(|axis| force_n[axis] + edge_n[axis]);
        let edge_j = 0.5 * edge.norm_squared() / params.tool_stiffness_npm;
        let costs = TwinPrediction {
            edge_n,
            edge_j,
            links_cut: self.edits().map_or(0, |log| log.links().open()),
            update_energy_j: self.morph_cost[0]
                + self.registration.lift_j()
                + sum(Correction::energy_j),
            correction_sum: self.morph_cost[1] + sum(Correction::correction_sum),
            confidence,
            to_proxy_m: reaction.proxy_offset_m.into(),
            ..TwinPrediction::default()
        };
        if let Some(law) = self.local_law.reaction(handle) {
            return TwinPrediction {
                twin_force_n: add_edge([0.0, 0.0, law.spring_n, reaction.grip_force_n]),
                force_n: add_edge([0.0, 0.0, law.force_n, reaction.grip_force_n]),
                energy_j: law.energy_j + edge_j,
                factor: law.factor,
                confidence: law.confidence,
                ..costs
            };
        }
        let press = &without_edge_force(reaction);
        let factor = learning.map_or(1.0, |learning| learning.factor(place_m, press));
        let [x, y, z, grip] = port_axes(press);
        let damped = damped_factor(params, handle, press, factor);
        TwinPrediction {
            twin_force_n: port_axes(reaction),
            force_n: add_edge([x * damped, y * damped, z * damped, grip]),
            energy_j: self.twin.view().energy.stored_j(),
            factor,
            ..costs
        }
    }
}

/// Reaction without the force on the edge of a blade.
fn without_edge_force(reaction: &Reaction) -> Reaction {
    let force_n = reaction.force_n - reaction.blade_force_n;
    let size_n = force_n.norm();
    let blade = reaction.blade_force_n != Vec3::zeros();
    Reaction {
        force_n,
        blade_force_n: Vec3::zeros(),
        normal: if blade && size_n > 0.0 {
            force_n / size_n
        } else {
            reaction.normal
        },
        ..*reaction
    }
}

/// Largest damping of a learnt stiffness \[N s/m\]: the limit of a light handle at 1 kHz behind the filter of its
/// velocity.
const LEARNT_DAMPING_NSPM_MAX: f64 = 6.0;

/// Factor on the twin's force: the learnt one, with damping. A spring that is rendered a tick late adds energy, as a
/// damping of `-K T / 2` would (teleop E12); the twin itself does not damp the stiffness that the factor adds. The
/// sum never pulls. Ours.
fn damped_factor(
    params: &PredictParams,
    handle: &ToolState,
    reaction: &Reaction,
    factor: f64,
) -> f64 {
    let force_n = reaction.force_n.norm();
    let added_npm = (factor - 1.0).max(0.0) * reaction.stiffness_npm;
    let nspm = (params.damped_s * added_npm).clamp(0.0, LEARNT_DAMPING_NSPM_MAX);
    let damping_factor = nspm * inward_mps(handle, reaction) / force_n;
    // never more than the force itself, so that a first touch is no impact
    if force_n > 0.0 && damping_factor.is_finite() {
        factor + damping_factor.clamp(-factor, factor)
    } else {
        factor
    }
}

/// Speed of a tool into the tissue, against the reaction's normal \[m/s\].
fn inward_mps(tool: &ToolState, reaction: &Reaction) -> f64 {
    let [vx, vy, vz, _] = tool.velocity_mps;
    -Vec3::new(vx, vy, vz).dot(&reaction.normal)
}

/// Longest step of a tissue \[s\]: just above the tick period that its scene was checked for.
const TISSUE_STEP_S_MAX: f64 = 1.001e-3;

/// Place of a tool in the plane of the surface \[m\].
fn place_m(tool: &ToolState) -> [f64; 2] {
    let [x, y, _, _] = tool.position_m;
    [x, y]
}

/// Force of a reaction on the four port axes \[N\].
fn port_axes(reaction: &Reaction) -> Axes {
    let force = reaction.force_n;
    [force.x, force.y, force.z, reaction.grip_force_n]
}

#[cfg(test)]
mod tests;
