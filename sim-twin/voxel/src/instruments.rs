//! Instruments during a step, and topology edits between steps.
//!
//! Source: seed-001 sections 3.5 and 3.7 (rows TP-01 to TP-11), through
//! [`TopologyEditor`](crate::topology_editor::TopologyEditor). An instrument acts along the path of its tool, so it
//! tunnels through nothing. All changes of an instrument while it is in tissue are one edit batch, undone as a whole.
//! A cut in a step dissipates the energy of the link. Between steps it is counted as edit energy: an undo or replay
//! that links separated nodes adds energy and reports it.
//!
//! A curette removes the nodes inside it and does not press. A tack presses as blunt tools do; the nodes that it pins
//! are rigid, which is its only other force.
//!
//! A join whose link stores energy takes that from the energy dissipated so far. A join that costs more is not made,
//! and is tried again in every step. So glue adds no energy.
//!
//! A finger that presses where links are cut loses at most a tenth of its force per tick, for a blade of up to half a
//! metre a second. It loses a quarter if all links of a plane are cut at once (measured in
//! `tests/instrument_forces.rs`).

use crate::VoxelModel;
use crate::axis_box::AxisBox;
use crate::blade::{BladeProxy, BladeStep};
use crate::carve::RoundToolMotion;
use crate::friction::ToolTie;
use crate::knife::{self, BladeEdge, BladeMotion, CutEvent};
use crate::nodes::VoxelNodes;
use crate::tear::TearSearch;
use crate::topology_editor::EditOutcome;
use crate::touch::TOOLS;
use palpate_twin::Vec3;
use palpate_twin::contact::{TOOL_COORDINATE_MAX, is_usable};
use palpate_twin::edits::{NeighbourDirection, TopologyChange};
use palpate_twin::twin::{Edit, EditError, EditReport, Instrument, Reaction, Tool};

/// An instrument in use.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ActiveInstrument {
    /// Kind of the instrument.
    pub(super) instrument: Instrument,
    /// Edge of its tool; of other instruments, twice its position \[m\].
    pub(super) blade: BladeEdge,
    /// Proxy of its edge, if it is a blade.
    pub(super) blade_proxy: BladeProxy,
    /// Radius of its tool \[m\].
    pub(super) radius_m: f64,
}

impl ActiveInstrument {
    /// Returns the instrument of a tool; none if it only presses, or if a number is out of range.
    fn of(tool: &Tool) -> Option<Self> {
        let (edge_m, reach_m) = match tool.instrument {
            Instrument::Blunt => return None,
            Instrument::Scalpel { edge_m } => (edge_m, 0.0),
            Instrument::Glue { reach_m } => (Vec3::zeros(), reach_m),
            _ => (Vec3::zeros(), 0.0),
        };
        let within = |x: &f64| (-TOOL_COORDINATE_MAX..=TOOL_COORDINATE_MAX).contains(x);
        let fits = is_usable(tool)
            && edge_m.iter().all(within)
            && (0.0..TOOL_COORDINATE_MAX).contains(&reach_m);
        let blade = BladeEdge([tool.position_m, tool.position_m + edge_m]);
        fits.then_some(Self {
            instrument: tool.instrument,
            blade,
            blade_proxy: BladeProxy {
                edge: blade,
                stiffness_npm: tool.stiffness_npm,
            },
            radius_m: tool.radius_m,
        })
    }

    /// Returns the energy of the springs to its proxy \[J\].
    pub(super) fn stored_j(&self) -> f64 {
        self.blade_proxy.stored_j(&self.blade)
    }

    /// Adds the force of the blade to the reaction of its tool.
    pub(super) fn add_to(&self, blade_step: &BladeStep, reaction: &mut Reaction) {
        let ends_n = self.blade_proxy.forces_n(&self.blade);
        reaction.force_n += ends_n[0] + ends_n[1];
        let size_n = reaction.force_n.norm();
        if size_n == 0.0 {
            return;
        }
        reaction.normal = reaction.force_n / size_n;
        reaction.torque_nm += (self.blade.0[1] - self.blade.0[0]).cross(&ends_n[1]);
        let [from, to] = self.blade_proxy.offset_m(&self.blade);
        reaction.proxy_offset_m += 0.5 * (from + to);
        if blade_step.lost_j <= 0.0 {
            // held; while it cuts, the force does not grow with distance
            reaction.stiffness_npm += self.blade_proxy.stiffness_npm;
        }
        reaction.contacts += 1;
    }
}

/// True if both are the same kind of instrument.
pub(super) fn is_same_kind(one: &Instrument, other: &Instrument) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// State of all instruments from step to step.
#[derive(Debug, Clone, Default)]
pub(super) struct InstrumentState {
    /// Instruments by tool.
    pub(super) active: [Option<ActiveInstrument>; TOOLS],
    /// True if an instrument met tissue in the last step: its next changes join the same batch.
    pub(super) batch_open: bool,
    /// True if links tore in the last step.
    pub(super) tore_last_step: bool,
    /// Search for links to tear, if the tissue tears.
    tearing: Option<TearSearch>,
}

impl InstrumentState {
    /// Returns the state without instruments; `tears` enables tearing.
    pub(super) fn new(slots: u32, tears: bool) -> Self {
        Self {
            tearing: tears.then(|| TearSearch::new(slots)),
            ..Self::default()
        }
    }
}

/// Energy and blade motion of all instruments in a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct InstrumentEnergy {
    /// Work of their tools, without contact work \[J\].
    pub(super) work_j: f64,
    /// Energy dissipated from links and blade springs \[J\].
    pub(super) lost_j: f64,
    /// Steps of the blades, by tool.
    pub(super) blade_steps: [Option<BladeStep>; TOOLS],
}

impl VoxelModel {
    /// Applies the instruments along the paths of their tools.
    pub(super) fn apply_instruments(&mut self, tools: &[Tool]) -> InstrumentEnergy {
        self.editor.derived.changes.clear();
        let (mut in_tissue, mut energy) = (false, InstrumentEnergy::default());
        for index in 0..TOOLS {
            let now = tools.get(index).and_then(ActiveInstrument::of);
            let was = std::mem::replace(&mut self.instruments.active[index], now);
            let same_kind = was.filter(|was| {
                now.is_some_and(|now| is_same_kind(&was.instrument, &now.instrument))
            });
            if same_kind.is_none() {
                // laid down: the energy of its springs is lost
                energy.lost_j += was.map_or(0.0, |was| was.stored_j());
            }
            let Some(mut now) = now else {
                continue;
            };
            // an instrument that is taken up starts a batch
            self.instruments.batch_open &= same_kind.is_some();
            self.editor.continues_batch = self.instruments.batch_open || in_tissue;
            self.instruments.active[index] = Some(now);
            let was = same_kind.unwrap_or(now);
            let batch = match now.instrument {
                Instrument::Scalpel { .. } | Instrument::Curette => {
                    let (batch, blade_step) = self.advance_blade(&was, &mut now);
                    energy.work_j += blade_step.work_j;
                    energy.lost_j += blade_step.lost_j;
                    energy.blade_steps[index] = Some(blade_step);
                    self.instruments.active[index] = Some(now);
                    batch
                }
                _ => self.apply_instrument(&was, &now, energy.lost_j),
            };
            if let Some(batch) = batch {
                in_tissue = true;
                energy.lost_j -= batch.stored_j;
                self.update_after_edit();
            }
        }
        self.instruments.batch_open = in_tissue;
        energy
    }

    /// Advances a blade or curette through the tissue as far as its tool pulls; the outcome is none if no tissue was
    /// near.
    fn advance_blade(
        &mut self,
        was: &ActiveInstrument,
        now: &mut ActiveInstrument,
    ) -> (Option<EditOutcome>, BladeStep) {
        let spacing_m = self.spacing_m;
        let mut proxy = was.blade_proxy;
        let softened_j = proxy.set_stiffness(&was.blade, now.blade_proxy.stiffness_npm);
        let ball_radius_m = matches!(now.instrument, Instrument::Curette).then_some(now.radius_m);
        let cost_share = self.params.curette_share;
        let ahead = proxy.lookahead(&now.blade, spacing_m);
        let (motion, share) = ahead.unwrap_or_else(|| {
            let (before, after) = (proxy.edge, proxy.edge);
            (BladeMotion { before, after }, 1.0)
        });
        let mut path_fraction = 1.0 / share;
        let reach_m = ball_radius_m.unwrap_or(self.editor.link_length_max_m);
        // a blade at rest cuts nothing; a curette at rest removes what enters it
        let meets = (ahead.is_some() || ball_radius_m.is_some())
            && self.find_tissue_in(&motion.axis_box(reach_m));
        let near = self.contact.near.iter().copied();
        let across = motion.normal();
        // a link costs its area projected across the path
        let cost_j = |event: &CutEvent| match event.change {
            TopologyChange::Cut { direction: to, .. } => event.energy_j * across[to.axis()].abs(),
            _ => cost_share * event.energy_j,
        };
        let find = |nodes: &VoxelNodes<f32>, events: &mut Vec<CutEvent>| match ball_radius_m {
            None => knife::find_crossed_links(nodes, near, &motion, reach_m, events),
            Some(radius_m) => RoundToolMotion {
                axis: motion,
                radius_m,
            }
            .find_removals(nodes, near, events),
        };
        let count = |events: &[CutEvent]| {
            if ahead.is_some() {
                path_fraction = proxy.advance_share(&now.blade, share, events, spacing_m, cost_j);
            }
            events.partition_point(|event| event.path_fraction <= path_fraction)
        };
        let batch = meets.then(|| self.editor.apply_cut_events(&mut self.nodes, find, count));
        let to = ahead.is_some().then_some((&motion, path_fraction));
        let mut blade_step = proxy.advance(&was.blade, &now.blade, to);
        blade_step.lost_j += softened_j;
        now.blade_proxy = proxy;
        (batch, blade_step)
    }

    /// Applies one instrument from its previous to its present pose. `lost_j` is the energy that instruments
    /// dissipated earlier in this step \[J\]. Returns none if no tissue was near.
    fn apply_instrument(
        &mut self,
        was: &ActiveInstrument,
        now: &ActiveInstrument,
        lost_j: f64,
    ) -> Option<EditOutcome> {
        let motion = BladeMotion {
            before: was.blade,
            after: now.blade,
        };
        let (from_m, to_m) = (was.blade.0[0], now.blade.0[0]);
        let ball_radius_m = RoundToolMotion::ball(from_m, to_m, now.radius_m);
        let editor = &self.editor;
        let reach_m = match now.instrument {
            Instrument::Glue { reach_m } => reach_m + editor.glue_reach_m(&self.nodes),
            _ => now.radius_m,
        };
        if !self.find_tissue_in(&motion.axis_box(reach_m)) {
            return None;
        }
        // a link that stores energy takes it from the dissipated energy
        let budget_j = (self.spendable_j() + lost_j).max(0.0);
        let (nodes, editor) = (&mut self.nodes, &mut self.editor);
        let near = self.contact.near.iter().copied();
        Some(match now.instrument {
            Instrument::Blunt | Instrument::Scalpel { .. } | Instrument::Curette => return None,
            Instrument::Glue { reach_m } => {
                let around = RoundToolMotion::ball(to_m, to_m, reach_m);
                editor.join_within(nodes, near, &around, budget_j)
            }
            Instrument::Tack => editor.pin_within(nodes, near, &ball_radius_m, true),
            Instrument::Untack => editor.pin_within(nodes, near, &ball_radius_m, false),
        })
    }

    /// Lists the nodes that may be in a box; returns true if any is or was there. So a tool in its own hole continues
    /// its batch.
    fn find_tissue_in(&mut self, extent: &AxisBox) -> bool {
        self.find_near(extent);
        let mut near = self.contact.near.iter();
        near.any(|&node| extent.contains(&self.nodes.position_m(node)))
    }

    /// Tears links that jaws pull beyond their limits (row TP-05), if the tissue tears; later steps relax the tissue.
    /// A tear that continues from the step before joins its batch. Returns the energy of the torn links \[J\].
    pub(super) fn tear_links(&mut self, continues: bool) -> f64 {
        let Some(tearing) = &mut self.instruments.tearing else {
            return 0.0;
        };
        let (ties, tie_of) = (&self.contact.ties, &self.contact.tie_of);
        self.chainmail.targets.retain(|target| {
            let tie = ties.get(tie_of[target.node as usize] as usize);
            tie.is_some_and(ToolTie::is_grasped)
        });
        self.editor.continues_batch = self.instruments.batch_open || continues;
        let (nodes, chainmail) = (&mut self.nodes, &mut self.chainmail.solver);
        let batch = self
            .editor
            .pull_and_tear(nodes, tearing, chainmail, &self.chainmail.targets);
        chainmail.restore(nodes);
        self.instruments.tore_last_step = batch.links > 0;
        self.update_after_edit();
        self.exclude_touched();
        -batch.stored_j
    }

    /// Updates stencil, active set and surface for the last batch.
    fn update_after_edit(&mut self) {
        if self.editor.derived.changed_nodes.is_empty() {
            return;
        }
        let mut fits = true;
        for nth in 0..self.editor.derived.changed_nodes.len() {
            let end = self.editor.derived.changed_nodes[nth];
            fits &= self.matches_run(end);
            self.stencil.update_node(&self.nodes, end);
            // new links and released nodes were not part of its last check
            self.active_set
                .reset_margin(self.stencil.run_of[end as usize]);
            self.record_node_step(end, self.activation_step_m());
        }
        let translated =
            |change: &TopologyChange| matches!(change, TopologyChange::Translate { .. });
        if !fits || self.editor.derived.changes.iter().any(translated) {
            self.stencil.rebuild_runs(&self.nodes);
            self.active_set.drift_m.fill(0.0);
            self.update_all_bounds();
            self.active_set.margin_m.fill(-1.0);
            let step_m = self.activation_step_m();
            self.active_set.last_step_m.fill(step_m);
            self.rebuild_unsettled();
        }
        self.rebuild_surface();
    }

    /// True if the neighbours of a node are at the slots of its run.
    fn matches_run(&self, node: u32) -> bool {
        let run = self.stencil.run_of[node as usize];
        let Some(run) = self.stencil.runs.get(run as usize) else {
            return true;
        };
        let nth = node as usize - run.start;
        let mut beside = self.nodes.neighbours(node, NeighbourDirection::ALL);
        beside.all(|(to, other)| other as usize == run.neighbour_starts[to.index()] + nth)
    }

    /// Implements [`palpate_twin::Tissue::edit`].
    pub(super) fn apply_edit(&mut self, edit: &Edit<'_>) -> Result<EditReport, EditError> {
        self.editor.continues_batch = false;
        let pressed_j = self.contact_energy_j();
        let (nodes, editor) = (&mut self.nodes, &mut self.editor);
        let batch = match *edit {
            Edit::Cut { point_m, normal } => {
                let normal = checked(&point_m, &normal)?;
                editor.cut_plane(nodes, &point_m, &normal)
            }
            Edit::Replay(changes, part) => editor.replay(nodes, part, changes),
            Edit::Undo => editor.undo_or_redo(nodes, true),
            Edit::Redo => editor.undo_or_redo(nodes, false),
            Edit::Scale { .. } => return self.stiffen(edit),
        };
        (self.instruments.batch_open, self.instruments.tore_last_step) = (false, false);
        // contact energy of a removed node is lost
        let freed_j = pressed_j - self.contact_energy_j();
        let energy_j = batch.stored_j - freed_j;
        self.update_after_edit();
        self.balance.ledger.edit_j += energy_j;
        self.balance.ledger.contact_j -= freed_j;
        self.balance.ledger.elastic_j += batch.stored_j;
        Ok(EditReport {
            elements: batch.links + batch.nodes,
            energy_j,
            applied_fraction: 1.0,
        })
    }
}

/// Returns the unit normal of a plane.
fn checked(point_m: &Vec3, normal: &Vec3) -> Result<Vec3, EditError> {
    let length = normal.norm();
    if !(length > 0.0 && length.is_finite()) {
        return Err(EditError::Field {
            field: "normal",
            value: length,
            expected: "a vector longer than 0",
        });
    }
    if !point_m.iter().all(|x| x.is_finite()) {
        return Err(EditError::Field {
            field: "point_m",
            value: point_m.norm(),
            expected: "finite numbers",
        });
    }
    Ok(normal / length)
}
