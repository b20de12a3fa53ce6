//! Edits that the operator's instruments make in the twin, and their synchronisation with the remote tissue.
//!
//! Source: ours. An instrument edits the twin alone, so the hand feels its effect at once. The changes
//! are logged in edit batches ([`EditBatchLog`]) that the remote tissue applies one by one. The
//! shadow, which the robot's probe touches, applies a batch when the robot's tissue has applied it, so that
//! corrections compare equal tissues. The whole log is kept, since a restarted tissue needs all of
//! it. Its size is fixed: when the next tick might fill it, instruments act as blunt tools. They also do so
//! while the remote tissue's topology may differ from the shadow's, since it could not apply their changes.
//! Batch numbers continue over runs of the master: a restarted run receives the batches of the remote tissue,
//! applies them to its twin, and continues from there.

use std::collections::VecDeque;

use palpate_twin::edits::{EditBatchLog, EditPhase, TopologyChange};
use palpate_twin::{Edit, Instrument, Snapshot, Tissue, TissueView};

use crate::device::Revisions;

/// Changes that one step or one revision makes at most, per node: its three links, its hold, and itself.
const CHANGES_PER_NODE: usize = 5;

/// Additional changes, whatever the size: those of one removed node.
const CHANGES_EXTRA: usize = 8;

/// Most batches that the shadow applies in one tick, so that a backlog causes no late tick: each takes up to 0.15 ms
/// in a model of 64 000 nodes (measured), and the twin may have to apply as many.
const BATCHES_PER_TICK: u64 = 2;

/// Most pending undo and redo requests; further ones are accepted later.
const PENDING_REVISIONS_MAX: usize = 64;

/// Progress of the remote tissue, from a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoteEdits {
    /// Batches that it has applied.
    pub finished_batches: u64,
    /// Its topology hash after them; 0 if instruments cannot edit it.
    pub topology: u64,
}

/// Log of the twin's edits, and the shadow's progress in it.
#[derive(Debug, Clone)]
pub(super) struct TwinEdits {
    log: EditBatchLog,
    /// Changes that one step, or one revision, may make: free space that the log must have.
    room_min: usize,
    /// Batches that the shadow has applied.
    shadow_batches: u64,
    /// Snapshot of the shadow before the first batch.
    initial_shadow: Snapshot,
    /// True if the last report of the remote tissue had the shadow's topology.
    remote_agrees: bool,
    /// True if there is no remote tissue to agree with.
    standalone: bool,
    /// Revisions that were accepted; the first value is that of the start of this run.
    accepted_revisions: Option<Revisions>,
    /// Pending undo and redo requests, in the order of their arrival.
    pending_revisions: VecDeque<EditPhase>,
}

impl TwinEdits {
    /// Empty log, for a tissue like `shadow`; none if instruments cannot edit it. Allocates.
    #[must_use]
    pub(super) fn for_tissue(shadow: &dyn Tissue) -> Option<Self> {
        let caps = shadow.caps();
        if !caps.instruments {
            return None;
        }
        Some(Self {
            log: EditBatchLog::for_nodes(caps.elements),
            room_min: CHANGES_PER_NODE * caps.elements + CHANGES_EXTRA,
            shadow_batches: 0,
            initial_shadow: Snapshot::of(shadow),
            remote_agrees: false,
            standalone: false,
            accepted_revisions: None,
            pending_revisions: VecDeque::with_capacity(PENDING_REVISIONS_MAX),
        })
    }

    /// Lets instruments edit without reports of a remote tissue, as in a rehearsal.
    pub(super) const fn set_standalone(&mut self) {
        self.standalone = true;
    }

    /// All edits, of this run of the master and of those before.
    #[must_use]
    pub(super) fn log(&self) -> &EditBatchLog {
        &self.log
    }

    /// Instrument that may act now: the wanted one, or a blunt tool; pending requests are served first.
    #[must_use]
    pub(super) fn permitted(&self, wanted: Instrument) -> Instrument {
        if self.may_edit() && self.pending_revisions.is_empty() {
            wanted
        } else {
            Instrument::Blunt
        }
    }

    /// True if the twin may be edited now.
    fn may_edit(&self) -> bool {
        (self.standalone || self.remote_agrees) && self.log.remaining_capacity() >= self.room_min
    }

    /// Logs what the twin's last step changed, or a revision (undo or redo); allocates nothing. The log
    /// has room for all that [`Self::may_edit`] allowed. If it should overflow, the tissues would differ, so
    /// nothing is edited after that.
    pub(super) fn record(&mut self, view: &TissueView<'_>, revised: Option<EditPhase>) {
        if !self.log.record_step(view, revised) {
            self.room_min = usize::MAX;
        }
    }

    /// Undoes or redoes what the operator requested: one batch a tick, after the tick's step, in the order
    /// of the requests, so that [`TissueView::changes`] contains it. A request that the remote tissue cannot apply
    /// now stays pending, and instruments act as blunt tools meanwhile. Tissue that cannot be revised is unchanged.
    pub(super) fn revise(&mut self, twin: &mut dyn Tissue, requested: Revisions) {
        let accepted = self.accepted_revisions.get_or_insert(requested);
        for (requested, accepted, phase) in [
            (requested.undo, &mut accepted.undo, EditPhase::Undo),
            (requested.redo, &mut accepted.redo, EditPhase::Redo),
        ] {
            while *accepted < requested && self.pending_revisions.len() < PENDING_REVISIONS_MAX {
                *accepted += 1;
                self.pending_revisions.push_back(phase);
            }
        }
        if !self.may_edit() {
            return;
        }
        let Some(phase) = self.pending_revisions.pop_front() else {
            return;
        };
        let edit = if phase == EditPhase::Undo {
            Edit::Undo
        } else {
            Edit::Redo
        };
        if twin.edit(&edit).is_ok() {
            self.record(&twin.view(), Some(phase));
        }
    }

    /// Applies the next batch of the remote tissue's history to the twin; true if it was applied. Returns false for a
    /// run whose topology agrees, or for a twin that is the only tissue.
    pub(super) fn apply_remote(
        &mut self,
        twin: &mut dyn Tissue,
        phase: EditPhase,
        changes: &[TopologyChange],
    ) -> bool {
        !self.standalone
            && !self.remote_agrees
            && self.log.remaining_capacity() > changes.len()
            && twin.edit(&Edit::Replay(changes, phase)).is_ok()
            && self.log.push(phase, changes)
    }

    /// Advances the shadow to the remote tissue's progress, some batches a tick; true if they agree. Once
    /// all batches are applied everywhere, the twin must agree as well.
    pub(super) fn sync_shadow(
        &mut self,
        shadow: &mut dyn Tissue,
        twin: &dyn Tissue,
        remote: RemoteEdits,
    ) -> bool {
        if remote.finished_batches < self.shadow_batches {
            // the remote tissue has restarted
            if shadow.restore(&self.initial_shadow).is_err() {
                self.remote_agrees = false;
                return false;
            }
            self.shadow_batches = 0;
        }
        for _ in 0..BATCHES_PER_TICK {
            let next = self.shadow_batches + 1;
            if next > remote.finished_batches || !self.log.replay(next, shadow) {
                break;
            }
            self.shadow_batches = next;
        }
        if self.shadow_batches == remote.finished_batches {
            let agrees = |tissue: &dyn Tissue| tissue.view().topology_hash == Some(remote.topology);
            self.remote_agrees = agrees(shadow)
                && (self.log.batch_count() > remote.finished_batches || agrees(twin));
            return self.remote_agrees;
        }
        // being behind is no disagreement; being ahead of this run's log is one, until the history is received
        self.remote_agrees &= remote.finished_batches <= self.log.batch_count();
        false
    }
}

#[cfg(test)]
mod tests {
    use palpate_scene as scene;
    use palpate_twin::{Reaction, Tool, Vec3};

    use palpate_twin::edits::BATCH_CHANGES_MAX;

    use super::*;

    fn tissue() -> Box<dyn Tissue> {
        let scene = scene::load("linked-nodule").expect("built in");
        scene.build().expect("a volume")
    }

    fn topology(tissue: &dyn Tissue) -> u64 {
        tissue.view().topology_hash.expect("a volume")
    }

    /// Draws a blade through the twin for some ticks, and logs its edits.
    fn cut(twin: &mut dyn Tissue, edits: &mut TwinEdits, ticks: u32) {
        for tick in 0..ticks {
            let tool = Tool {
                position_m: Vec3::new(-0.02 + 1e-3 * f64::from(tick), 0.0, 0.01),
                velocity_mps: Vec3::zeros(),
                radius_m: 0.004,
                stiffness_npm: 3000.0,
                shaft_m: Vec3::zeros(),
                side_m: Vec3::zeros(),
                jaws: None,
                instrument: edits.permitted(Instrument::Scalpel {
                    edge_m: Vec3::new(0.0, 0.0, -0.016),
                }),
            };
            twin.step(&[tool], 1e-3, &mut [Reaction::default()]);
            edits.record(&twin.view(), None);
        }
    }

    #[test]
    fn shadow_follows_remote_tissue_and_its_restart() {
        let (mut twin, mut shadow, mut remote) = (tissue(), tissue(), tissue());
        let mut edits = TwinEdits::for_tissue(shadow.as_ref()).expect("it can be opened");
        let report = |remote: &dyn Tissue, done| RemoteEdits {
            finished_batches: done,
            topology: topology(remote),
        };
        assert_eq!(edits.permitted(Instrument::Curette), Instrument::Blunt);
        assert!(edits.sync_shadow(shadow.as_mut(), twin.as_ref(), report(remote.as_ref(), 0)));
        cut(twin.as_mut(), &mut edits, 30);
        let batch_count = edits.log.batch_count();
        assert!(
            batch_count > 5 && edits.log.links().cut > 0,
            "{batch_count}"
        );
        let mut done = 0;
        while done < batch_count {
            done += 1;
            let (phase, changes) = edits.log.batch(done).expect("it was made");
            remote
                .edit(&Edit::Replay(changes, phase))
                .expect("the same volume");
            assert!(edits.sync_shadow(
                shadow.as_mut(),
                twin.as_ref(),
                report(remote.as_ref(), done)
            ));
            assert_eq!(topology(shadow.as_ref()), topology(remote.as_ref()));
        }
        assert_eq!(topology(remote.as_ref()), topology(twin.as_ref()));
        assert_eq!(edits.log.batch(batch_count + 1), None);
        // a restarted tissue
        assert!(edits.sync_shadow(shadow.as_mut(), twin.as_ref(), report(tissue().as_ref(), 0)));
        assert_eq!(topology(shadow.as_ref()), topology(tissue().as_ref()));
        // a long backlog takes some ticks, and being behind is no disagreement
        let end = report(remote.as_ref(), batch_count);
        while !edits.sync_shadow(shadow.as_mut(), twin.as_ref(), end) {
            assert_eq!(edits.permitted(Instrument::Curette), Instrument::Curette);
        }
        assert_eq!(topology(shadow.as_ref()), topology(remote.as_ref()));
    }

    #[test]
    fn differing_topology_blocks_instruments() {
        let (mut twin, mut shadow) = (tissue(), tissue());
        let mut edits = TwinEdits::for_tissue(shadow.as_ref()).expect("it can be opened");
        for topology in [0, topology(shadow.as_ref()) ^ 1] {
            let report = RemoteEdits {
                finished_batches: 0,
                topology,
            };
            assert!(!edits.sync_shadow(shadow.as_mut(), twin.as_ref(), report));
            cut(twin.as_mut(), &mut edits, 30);
            assert_eq!(edits.log.batch_count(), 0);
        }
        // a remote tissue that reports batches which nobody made
        let topology = topology(shadow.as_ref());
        assert!(edits.sync_shadow(
            shadow.as_mut(),
            twin.as_ref(),
            RemoteEdits {
                finished_batches: 0,
                topology
            }
        ));
        assert!(!edits.sync_shadow(
            shadow.as_mut(),
            twin.as_ref(),
            RemoteEdits {
                finished_batches: 9,
                topology
            }
        ));
        assert_eq!(edits.permitted(Instrument::Tack), Instrument::Blunt);
        edits.set_standalone();
        assert_eq!(edits.permitted(Instrument::Tack), Instrument::Tack);
    }

    #[test]
    fn issue_tick_with_many_changes_overflowed_the_log() {
        let shadow = tissue();
        let nodes = shadow.caps().elements;
        // all links, holds and nodes in one step, and as many in a revision
        let changes_max = vec![TopologyChange::Remove { node: 0 }; 5 * nodes + 8];
        for size in [1000, changes_max.len()] {
            let mut edits = TwinEdits::for_tissue(shadow.as_ref()).expect("it can be opened");
            edits.set_standalone();
            let (mut logged, mut ticks) = (0, 0_u32);
            while edits.may_edit() {
                let view = TissueView {
                    changes: &changes_max[..size],
                    edit_number: ticks,
                    ..shadow.view()
                };
                edits.record(&view, None);
                (logged, ticks) = (logged + size, ticks + 1);
            }
            assert!(ticks > 1, "{ticks} ticks of {size}");
            let batches =
                (1..=edits.log.batch_count()).filter_map(|number| edits.log.batch(number));
            assert_eq!(
                batches.map(|(_, changes)| changes.len()).sum::<usize>(),
                logged
            );
            let [first, second] = [1, 2].map(|number| edits.log.batch(number).expect("made"));
            assert_eq!(
                (first.0, first.1.len()),
                (EditPhase::Begin, BATCH_CHANGES_MAX)
            );
            assert_eq!(second.0, EditPhase::Continue);
            assert_eq!(edits.permitted(Instrument::Tack), Instrument::Blunt);
        }
    }

    #[test]
    fn restarted_run_replays_history_and_continues() {
        let (mut twin, mut shadow, mut remote) = (tissue(), tissue(), tissue());
        let mut former = TwinEdits::for_tissue(shadow.as_ref()).expect("it can be opened");
        former.set_standalone();
        cut(remote.as_mut(), &mut former, 30);
        let batch_count = former.log.batch_count();
        let report = RemoteEdits {
            finished_batches: batch_count,
            topology: topology(remote.as_ref()),
        };
        let mut edits = TwinEdits::for_tissue(shadow.as_ref()).expect("it can be opened");
        for number in 1..=batch_count {
            assert!(!edits.sync_shadow(shadow.as_mut(), twin.as_ref(), report));
            assert_eq!(edits.permitted(Instrument::Curette), Instrument::Blunt);
            let (phase, changes) = former.log.batch(number).expect("it was made");
            assert!(edits.apply_remote(twin.as_mut(), phase, changes));
        }
        while !edits.sync_shadow(shadow.as_mut(), twin.as_ref(), report) {}
        assert_eq!(topology(twin.as_ref()), report.topology);
        assert_eq!(edits.log.links(), former.log.links());
        assert_eq!(edits.permitted(Instrument::Curette), Instrument::Curette);
        // the histories agree: nothing more is accepted
        let (phase, changes) = former.log.batch(1).expect("made");
        assert!(!edits.apply_remote(twin.as_mut(), phase, changes));
        assert_eq!(edits.log.batch_count(), batch_count);
    }

    #[test]
    fn inconsistent_history_keeps_instruments_blocked() {
        let (mut twin, mut shadow) = (tissue(), tissue());
        let mut edits = TwinEdits::for_tissue(shadow.as_ref()).expect("it can be opened");
        let report = RemoteEdits {
            finished_batches: 1,
            topology: topology(shadow.as_ref()) ^ 1,
        };
        assert!(!edits.sync_shadow(shadow.as_mut(), twin.as_ref(), report));
        let changes = [TopologyChange::Remove { node: 0 }];
        assert!(edits.apply_remote(twin.as_mut(), EditPhase::Begin, &changes));
        assert!(!edits.sync_shadow(shadow.as_mut(), twin.as_ref(), report));
        assert_eq!(edits.permitted(Instrument::Curette), Instrument::Blunt);
    }
}
