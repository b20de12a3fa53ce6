//! Gauss-Seidel passes over the unsettled runs, and the search for nodes near a tool.
//!
//! Source: ours. A run is settled if it and its adjacent runs moved less than [`VoxelParams::settled_step`] in the
//! last pass; the next pass skips it. Zones of runs that are far from a tool are skipped as a whole. So the cost of a
//! tick depends on the moving nodes and hardly on the size of the model.
//!
//! [`VoxelParams::settled_step`]: crate::VoxelParams::settled_step

use crate::VoxelModel;
use crate::axis_box::AxisBox;
use crate::gauss_seidel;
use crate::gauss_seidel::BATCH;
use crate::index_sets::BitSet;
use crate::nodes::{NONE, colour_of, to_f32};
use palpate_twin::Vec3;

/// Drift of a run, over the spacing, after which its bounds are updated.
const DRIFT: f32 = 0.25;
/// Number of runs of a zone; equal to the batch of a pass.
const ZONE: usize = BATCH;

/// Bounding box of some runs, and the greatest drift of their nodes out of it.
#[derive(Debug, Clone, Copy)]
struct Zone {
    extent: AxisBox,
    drift_m: f32,
}

impl Zone {
    fn empty() -> Self {
        Self {
            extent: AxisBox::around(&Vec3::zeros(), f64::NEG_INFINITY),
            drift_m: 0.0,
        }
    }

    /// True if its nodes may reach into a box.
    fn overlaps(&self, extent: &AxisBox) -> bool {
        let drift_m = f64::from(self.drift_m);
        (0..3).all(|along| {
            self.extent.high_m[along] + drift_m >= extent.low_m[along]
                && self.extent.low_m[along] - drift_m <= extent.high_m[along]
        })
    }
}

/// Motion and bounds by run, and sets of runs. Allocated once.
#[derive(Debug, Clone)]
pub(super) struct ActiveSet {
    /// Farthest step of the last pass, by run \[m\].
    pub(super) last_step_m: Vec<f32>,
    /// Lower bound of the distance that the nodes of a run may move before one of their links reaches a limit \[m\].
    pub(super) margin_m: Vec<f32>,
    /// Range of displacement by axis at the last update \[m\].
    bounds_m: Vec<[(f32, f32); 3]>,
    /// Greatest drift of the run's nodes since that update \[m\].
    pub(super) drift_m: Vec<f32>,
    /// Runs that the present pass updates.
    pub(super) active: BitSet,
    /// Runs that moved in the last pass.
    unsettled: BitSet,
    /// Runs that moved since the surface was updated.
    pub(super) moved_since_view: BitSet,
    /// Runs whose bounds need an update.
    drifted: BitSet,
    /// Bounds of groups of [`ZONE`] runs.
    zones: Vec<Zone>,
}

impl ActiveSet {
    /// Returns a set for at most one run a slot.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            last_step_m: vec![0.0; slots],
            margin_m: vec![-1.0; slots],
            bounds_m: vec![[(0.0, 0.0); 3]; slots],
            drift_m: vec![0.0; slots],
            active: BitSet::new(slots),
            unsettled: BitSet::new(slots),
            moved_since_view: BitSet::new(slots),
            drifted: BitSet::new(slots),
            zones: Vec::with_capacity(slots.div_ceil(ZONE)),
        }
    }

    /// Invalidates the margin of a run: some nodes or links were not part of its last check.
    #[inline]
    pub(super) fn reset_margin(&mut self, run: u32) {
        if let Some(margin_m) = self.margin_m.get_mut(run as usize) {
            *margin_m = -1.0;
        }
    }
}

impl VoxelModel {
    /// Lists the slots that may be in a box: those of runs in order, by zones, and then the irregular ones.
    pub(super) fn find_near(&mut self, extent: &AxisBox) {
        let mut near = std::mem::take(&mut self.contact.near);
        near.clear();
        for (nth, zone) in self.active_set.zones.iter().enumerate() {
            if !zone.overlaps(extent) {
                continue;
            }
            for run in ZONE * nth..(ZONE * (nth + 1)).min(self.stencil.runs.len()) {
                // no more than slots
                let slots = self.near_slots(run, extent);
                near.extend(slots.map(|slot| u32::try_from(slot).unwrap_or(NONE)));
            }
        }
        near.extend(&self.stencil.irregular);
        self.contact.near = near;
    }

    /// Returns the part of a run that may be in a box.
    fn near_slots(&self, index: usize, extent: &AxisBox) -> std::ops::Range<usize> {
        let run = &self.stencil.runs[index];
        let rest_m = self.nodes.rest_m(u32::try_from(run.start).unwrap_or(NONE));
        let drift_m = self.active_set.drift_m[index];
        let bounds =
            self.active_set.bounds_m[index].map(|(least, most)| (least - drift_m, most + drift_m));
        let nowhere = run.start..run.start;
        for along in [1, 2] {
            let (least, most) = bounds[along];
            if rest_m[along] + f64::from(most) < extent.low_m[along]
                || rest_m[along] + f64::from(least) > extent.high_m[along]
            {
                return nowhere;
            }
        }
        let pitch_m = 2.0 * self.nodes.frame().spacing_m[0];
        let (least, most) = bounds[0];
        let from = (extent.low_m.x - f64::from(most) - rest_m.x) / pitch_m;
        let to = (extent.high_m.x - f64::from(least) - rest_m.x) / pitch_m;
        if !(from.is_finite() && to.is_finite()) {
            return nowhere;
        }
        let len = run.len as f64;
        // clamped to the run above
        let (from, to) = (
            from.ceil().clamp(0.0, len) as usize,
            (to.floor() + 1.0).clamp(0.0, len) as usize,
        );
        run.start + from..run.start + to.max(from)
    }

    /// Relaxes all unsettled runs of both colours once; returns the dissipated energy \[J\].
    pub(super) fn gauss_seidel_pass(&mut self) -> f64 {
        let mut lost_j = 0.0;
        self.update_active();
        for colour in 0..2 {
            lost_j += self.pass_colour(colour);
            for index in 0..self.stencil.irregular.len() {
                let node = self.stencil.irregular[index];
                if colour_of(self.nodes.site(node)) == colour {
                    let slot = node as usize;
                    let omega = self.params.omega;
                    let step = gauss_seidel::pass_node(&mut self.nodes, &self.stencil, slot, omega);
                    self.record_node_step(node, step.farthest_m);
                    lost_j += step.lost_j;
                }
            }
            let shapes = self.contact.shapes;
            let contact_loss = self.relax_touched(colour, &shapes);
            lost_j += contact_loss.held_j + contact_loss.released_j;
        }
        lost_j
    }

    /// Relaxes the active runs of one colour, in batches; returns the dissipated energy \[J\].
    fn pass_colour(&mut self, colour: usize) -> f64 {
        let mut lost_j = 0.0;
        let mut runs = [0; BATCH];
        for nth in 0..self.active_set.active.words() {
            let mut word = self.active_set.active.word(nth) & self.stencil.colour_mask(nth, colour);
            let mut count = 0;
            while word != 0 {
                let index = BATCH * nth + word.trailing_zeros() as usize;
                word &= word - 1;
                self.stencil.classify_run(&self.nodes, index);
                // no more runs than slots
                runs[count] = u32::try_from(index).unwrap_or(NONE);
                count += 1;
            }
            if count == 0 {
                continue;
            }
            let runs = &runs[..count];
            let (nodes, stencil) = (&mut self.nodes, &self.stencil);
            let margin_m = &mut self.active_set.margin_m;
            let result = gauss_seidel::pass_runs(nodes, stencil, runs, self.params.omega, margin_m);
            lost_j += result.lost_j;
            self.record_steps(runs, &result.farthest_m);
        }
        lost_j
    }

    /// Records the steps of runs in a pass \[m\].
    #[inline]
    fn record_steps(&mut self, runs: &[u32], farthest_m: &[f32]) {
        for (&run, &step_m) in runs.iter().zip(farthest_m) {
            if step_m == 0.0 {
                continue;
            }
            let run = run as usize;
            self.record_run_step(run, step_m);
            self.active_set.margin_m[run] -= step_m;
            for &beside in self.stencil.adjacent_runs(run) {
                self.active_set.margin_m[beside as usize] -= step_m;
            }
        }
    }

    /// Records that nodes of a run moved by this distance \[m\].
    #[inline]
    pub(super) fn record_run_step(&mut self, run: usize, step_m: f32) {
        self.mark_unsettled(run, step_m);
        self.active_set.drift_m[run] += step_m;
        let zone = &mut self.active_set.zones[run / ZONE];
        zone.drift_m = zone.drift_m.max(self.active_set.drift_m[run]);
        self.active_set.moved_since_view.add(run);
        if self.active_set.drift_m[run] > DRIFT * to_f32(self.spacing_m) {
            self.active_set.drifted.add(run);
        }
    }

    /// Marks a run as unsettled by a step \[m\].
    #[inline]
    pub(super) fn mark_unsettled(&mut self, run: usize, step_m: f32) {
        self.active_set.last_step_m[run] = self.active_set.last_step_m[run].max(step_m);
        self.active_set.unsettled.add(run);
    }

    /// Rebuilds the set of unsettled runs from their last steps.
    pub(super) fn rebuild_unsettled(&mut self) {
        self.active_set.unsettled.clear();
        for run in 0..self.stencil.runs.len() {
            if self.active_set.last_step_m[run] > 0.0 {
                self.active_set.unsettled.add(run);
            }
        }
    }

    /// Finds the runs that moved in the last pass, or are adjacent to one that did.
    fn update_active(&mut self) {
        if 2 * self.active_set.unsettled.count() > self.stencil.runs.len() {
            self.update_active_dense();
        } else {
            self.update_active_sparse();
        }
        self.active_set.unsettled.clear();
    }

    /// Activates the runs that moved and the runs adjacent to them.
    fn update_active_sparse(&mut self) {
        self.active_set.active.clear();
        let mut from = 0;
        while let Some(run) = self.active_set.unsettled.next(from) {
            from = run + 1;
            if self.active_set.last_step_m[run] > self.settled_step_m {
                self.active_set.active.add(run);
                for &beside in self.stencil.adjacent_runs(run) {
                    self.active_set.active.add(beside as usize);
                }
            }
            self.active_set.last_step_m[run] = 0.0;
        }
    }

    /// Finds the same set faster where most runs moved: tests every run and its adjacent ones.
    fn update_active_dense(&mut self) {
        let runs = self.stencil.runs.len();
        self.active_set.active.clear();
        for nth in 0..runs.div_ceil(BATCH) {
            let mut word = 0;
            for run in BATCH * nth..runs.min(BATCH * (nth + 1)) {
                let is_unsettled =
                    |run: usize| self.active_set.last_step_m[run] > self.settled_step_m;
                let beside = || self.stencil.adjacent_runs(run).iter();
                let is_active =
                    is_unsettled(run) || beside().any(|&other| is_unsettled(other as usize));
                word |= u64::from(is_active) << (run % BATCH);
            }
            self.active_set.active.add_word(nth, word);
        }
        self.active_set.last_step_m[..runs].fill(0.0);
    }

    /// Updates the bounds of a run; returns the energy of its nodes' links to the right, top and front \[J\].
    pub(super) fn update_run_bounds(&mut self, index: usize) -> f64 {
        let run = self.stencil.runs[index];
        let bounds = gauss_seidel::measure_run(&self.nodes, &self.stencil, &run);
        self.active_set.bounds_m[index] = bounds.bounds_m;
        let ends = [run.start, run.start + run.len - 1]
            .map(|slot| self.nodes.rest_m(u32::try_from(slot).unwrap_or(NONE)));
        let zone = &mut self.active_set.zones[index / ZONE];
        zone.drift_m = zone.drift_m.max(self.active_set.drift_m[index]);
        let AxisBox { low_m, high_m } = &mut zone.extent;
        for (along, (least, most)) in bounds.bounds_m.into_iter().enumerate() {
            let [first, last] = ends.map(|end| end[along]);
            low_m[along] = low_m[along].min(first + f64::from(least));
            high_m[along] = high_m[along].max(last + f64::from(most));
        }
        bounds.upward_energy_j
    }

    /// Updates the bounds of all runs and keeps their drift; returns the energy of all runs' links to the right, top
    /// and front \[J\].
    pub(super) fn update_all_bounds(&mut self) -> f64 {
        let runs = self.stencil.runs.len();
        self.active_set.zones.clear();
        self.active_set
            .zones
            .resize(runs.div_ceil(ZONE), Zone::empty());
        self.active_set.drifted.clear();
        (0..runs).map(|run| self.update_run_bounds(run)).sum()
    }

    /// Updates the bounds of runs that have drifted too far.
    pub(super) fn update_drifted_bounds(&mut self) {
        let mut from = 0;
        while let Some(run) = self.active_set.drifted.next(from) {
            from = run + 1;
            self.active_set.drift_m[run] = 0.0;
            self.update_run_bounds(run);
        }
        self.active_set.drifted.clear();
    }
}
