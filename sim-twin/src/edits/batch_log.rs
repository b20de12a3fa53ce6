//! Log of all topology changes of a voxel model since it was whole: batches in order, numbered from 1.
//!
//! Source: ours. Two equal models with the same log have the same links, so each side of a network keeps a log to
//! send missing batches. The log has a fixed size: adding never allocates, and a batch that does
//! not fit is rejected as a whole.

use crate::edits::{EditPhase, LinkCounts, TopologyChange};
use crate::{Edit, Tissue, TissueView};

/// Most changes of one batch that [`EditBatchLog::record_step`] adds.
pub const BATCH_CHANGES_MAX: usize = 32;

/// Changes per node that the log of a tissue has room for: every link cut and joined again, and half as many
/// more.
const CHANGES_PER_NODE: usize = 16;

/// Least capacity of a log, in changes.
const CHANGES_MIN: usize = 512;

/// Log of edit batches.
#[derive(Debug, Clone)]
pub struct EditBatchLog {
    changes: Vec<TopologyChange>,
    /// End of each batch in `changes`.
    ends: Vec<u32>,
    /// Phase of each batch.
    phases: Vec<EditPhase>,
    /// Most changes, and most batches.
    most: usize,
    links: LinkCounts,
    /// Number of the edit that was recorded last, see [`TissueView::edit_number`]; none after an undo or redo, or for
    /// batches from elsewhere.
    edit: Option<u32>,
}

impl EditBatchLog {
    /// Creates an empty log for a tissue of `nodes` nodes. Allocates.
    #[must_use]
    pub fn for_nodes(nodes: usize) -> Self {
        Self::new(CHANGES_MIN.max(CHANGES_PER_NODE * nodes))
    }

    /// Creates an empty log with room for so many changes, and as many batches. Allocates.
    fn new(changes: usize) -> Self {
        let most = changes.min(u32::MAX as usize);
        Self {
            changes: Vec::with_capacity(most),
            ends: Vec::with_capacity(most),
            phases: Vec::with_capacity(most),
            most,
            links: LinkCounts::default(),
            edit: None,
        }
    }

    /// Number of batches.
    #[must_use]
    pub fn batch_count(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Number of links that its batches have cut, and joined.
    #[must_use]
    pub const fn links(&self) -> LinkCounts {
        self.links
    }

    /// Number of changes and batches that still fit.
    #[must_use]
    pub fn remaining_capacity(&self) -> usize {
        self.most - self.changes.len().max(self.ends.len())
    }

    /// Phase and changes of a batch, by its number from 1; a batch may have no changes.
    #[must_use]
    pub fn batch(&self, number: u64) -> Option<(EditPhase, &[TopologyChange])> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let end = *self.ends.get(index)? as usize;
        let begin = index
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        let phase = *self.phases.get(index)?;
        self.changes.get(begin..end).map(|changes| (phase, changes))
    }

    /// Applies a batch to a tissue; true if the batch exists and the tissue accepted it.
    pub fn replay(&self, number: u64, tissue: &mut dyn Tissue) -> bool {
        let batch = self.batch(number);
        batch.is_some_and(|(phase, changes)| tissue.edit(&Edit::Replay(changes, phase)).is_ok())
    }

    /// Adds a batch; true if all of it fitted.
    pub fn push(&mut self, phase: EditPhase, changes: &[TopologyChange]) -> bool {
        let fits = self.ends.len() < self.most && changes.len() <= self.most - self.changes.len();
        if fits {
            self.changes.extend_from_slice(changes);
            // at most `u32::MAX` changes
            self.ends.push(self.changes.len() as u32);
            self.phases.push(phase);
            let added = changes.iter().map(|change| change.links());
            self.links = std::iter::once(self.links).chain(added).sum();
        }
        fits
    }

    /// Adds the changes of the last step of a tissue, or of an undo or redo (`revised`), in batches of
    /// [`BATCH_CHANGES_MAX`]; true if all of them fitted.
    pub fn record_step(&mut self, view: &TissueView<'_>, revised: Option<EditPhase>) -> bool {
        let mut fits = true;
        for changes in view.changes.chunks(BATCH_CHANGES_MAX) {
            let continues = self.edit == Some(view.edit_number);
            let phase = revised.unwrap_or(if continues {
                EditPhase::Continue
            } else {
                EditPhase::Begin
            });
            self.edit = revised.is_none().then_some(view.edit_number);
            fits &= self.push(phase, changes);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_read_by_number_and_rejected_if_they_do_not_fit() {
        let remove = |node| TopologyChange::Remove { node };
        let mut log = EditBatchLog::new(4);
        let (begin, continues) = (EditPhase::Begin, EditPhase::Continue);
        assert!(log.push(begin, &[remove(1), remove(2)]) && log.push(continues, &[]));
        assert!(!log.push(begin, &[remove(3); 3]), "two are left");
        assert!(log.push(EditPhase::Undo, &[remove(4)]));
        assert_eq!((log.batch_count(), log.remaining_capacity()), (3, 1));
        let batches = [0, 1, 2, 3, 4].map(|number| {
            let batch = log.batch(number);
            batch.map(|(phase, changes)| (phase, changes.to_vec()))
        });
        let expected = [
            (begin, vec![remove(1), remove(2)]),
            (continues, vec![]),
            (EditPhase::Undo, vec![remove(4)]),
        ];
        assert_eq!(batches[1..4], expected.map(Some));
        assert_eq!((&batches[0], &batches[4]), (&None, &None));
        // an empty batch also counts
        assert!(log.push(begin, &[]) && !log.push(begin, &[]));
        assert_eq!(log.remaining_capacity(), 0);
    }
}
