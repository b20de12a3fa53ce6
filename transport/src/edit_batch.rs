//! Edit batches of one tissue on their way to another: numbered, sent until applied, released in order.
//!
//! An edit batch is a list of changes of a tissue's links that the operator's instrument made in the master's
//! twin. The remote tissue applies the same changes, node by node, so both end alike whatever the network does.
//! Batches are numbered from 1 since the tissue was whole, over all runs of the master. Each frame carries the number
//! of batches that its sender's tissue has applied ([`crate::HapticFrame::edit_batches`]): this is the acknowledgement,
//! repeated every tick. [`EditBatchSender`] selects the batch to send, again until it is acknowledged, and from the
//! first one if the tissue restarted. [`EditBatchReceiver`] keeps batches that arrive out of order. Both directions work
//! alike: the master sends what it makes, and the slave sends what its tissue applied before a run of the master began.
//! The result is verified: frames carry the topology of either tissue. Both ends have fixed size, read no clock and
//! do not interpret changes. Source: ours; a selective repeat of Tanenbaum's kind.

use crate::msg::message;
use crate::{FieldError, Span, Time};

/// Most changes of one batch; a tick that changes more makes several batches.
pub const BATCH_CHANGES_MAX: usize = 32;

/// Batches that may be in flight at once.
pub const BATCH_WINDOW: usize = 256;

/// Number of kinds of change.
pub(crate) const CHANGE_KINDS: u8 = 7;

/// Number of directions from a node to a neighbour.
pub(crate) const NEIGHBOUR_DIRECTIONS: u8 = 6;

/// Number of values of [`EditBatch::part`].
pub(crate) const BATCH_PARTS: u8 = 4;

message! {
    "palpate_msgs/msg/EditBatchChange"
    /// One change of a tissue of nodes and links.
    #[derive(Copy, Eq, Default)]
    pub struct BatchChange {
        /// Index of the node.
        pub element: u32,
        /// Index of the node at the other end of a link that was cut or made.
        pub other: u32,
        /// Distance that a piece was carried, in sites of the lattice.
        pub by: [i16; 3],
        /// 0 link cut, 1 link made, 2 node removed, 3 node restored, 4 node held in place, 5 node released, 6 its piece
        /// carried.
        pub kind: u8,
        /// Direction of the other end: 0 to 5 for +x, -x, +y, -y, +z, -z.
        pub toward: u8,
    }
}

message! {
    "palpate_msgs/msg/EditBatch"
    /// Changes that are applied together.
    #[derive(Copy, Eq, Default)]
    pub struct EditBatch {
        /// Run of the side that sends the batch.
        pub run: u64,
        /// Number of the batch since the tissue was whole, from 1; 0 is no batch.
        pub number: u64,
        /// Number of changes.
        pub count: u32,
        /// Relation to the batches before: 0 begins an edit, 1 continues it, 2 undoes the last one, 3 redoes the last one
        /// undone.
        pub part: u8,
        /// Changes in the order in which they were made.
        pub changes: [BatchChange; BATCH_CHANGES_MAX],
    }
}

impl EditBatch {
    /// Creates a batch of the first [`BATCH_CHANGES_MAX`] of these changes.
    #[must_use]
    pub fn from_changes(
        run: u64,
        number: u64,
        changes: impl IntoIterator<Item = BatchChange>,
    ) -> Self {
        let mut batch = Self {
            run,
            number,
            ..Self::default()
        };
        for (slot, change) in batch.changes.iter_mut().zip(changes) {
            *slot = change;
            batch.count += 1;
        }
        batch
    }

    /// Checks every number.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that is out of range.
    pub fn validate(&self) -> Result<(), FieldError> {
        let counts = [
            ("number", self.number, 1..=u64::MAX, "1 or more"),
            (
                "count",
                self.count.into(),
                0..=BATCH_CHANGES_MAX as u64,
                "0 to 32",
            ),
            (
                "part",
                self.part.into(),
                0..=u64::from(BATCH_PARTS) - 1,
                "0 to 3",
            ),
        ];
        let of_change = |change: &BatchChange| {
            [
                (
                    "kind",
                    change.kind.into(),
                    0..=u64::from(CHANGE_KINDS) - 1,
                    "0 to 6",
                ),
                (
                    "toward",
                    change.toward.into(),
                    0..=u64::from(NEIGHBOUR_DIRECTIONS) - 1,
                    "0 to 5",
                ),
            ]
        };
        let changes = self.changes().iter().flat_map(of_change);
        let mut checks = counts.into_iter().chain(changes);
        match checks.find(|(_, found, range, _)| !range.contains(found)) {
            None => Ok(()),
            Some((field, found, _, expected)) => {
                let field = format!("field {field} of the edit batch");
                Err(FieldError::new(field, found, expected))
            }
        }
    }

    /// Changes of the batch.
    #[must_use]
    pub fn changes(&self) -> &[BatchChange] {
        let count = (self.count as usize).min(BATCH_CHANGES_MAX);
        &self.changes[..count]
    }
}

/// Index of a batch in a window.
fn slot(number: u64) -> usize {
    // less than BATCH_WINDOW
    (number % BATCH_WINDOW as u64) as usize
}

/// Sender side: selects the batch to send next, until all are acknowledged.
#[derive(Debug, Clone)]
pub struct EditBatchSender {
    applied: u64,
    sent: [Option<Time>; BATCH_WINDOW],
}

impl Default for EditBatchSender {
    fn default() -> Self {
        Self {
            applied: 0,
            sent: [None; BATCH_WINDOW],
        }
    }
}

impl EditBatchSender {
    /// Takes the number of batches that the other side has applied. Fewer than before mean that its tissue restarted:
    /// all batches are then sent again.
    pub fn acknowledge(&mut self, applied: u64) {
        if applied < self.applied || applied - self.applied > BATCH_WINDOW as u64 {
            self.sent = [None; BATCH_WINDOW];
        } else {
            for number in self.applied..applied {
                self.sent[slot(number + 1)] = None;
            }
        }
        self.applied = applied;
    }

    /// Number of the batch to send now, out of `made` batches: one that was not sent yet, or was not acknowledged
    /// within `again_after`.
    pub fn due(&mut self, made: u64, now: Time, again_after: Span) -> Option<u64> {
        let last = made.min(self.applied.saturating_add(BATCH_WINDOW as u64));
        let number = (self.applied..last)
            .map(|before| before + 1)
            .find(|&number| {
                self.sent[slot(number)].is_none_or(|at| (now - at).0 >= again_after.0)
            })?;
        self.sent[slot(number)] = Some(now);
        Some(number)
    }
}

/// Receiver side: releases batches in order, each once.
#[derive(Debug, Clone)]
pub struct EditBatchReceiver {
    run: u64,
    applied: u64,
    waiting: Box<[EditBatch; BATCH_WINDOW]>,
}

impl Default for EditBatchReceiver {
    fn default() -> Self {
        Self {
            run: 0,
            applied: 0,
            waiting: Box::new([EditBatch::default(); BATCH_WINDOW]),
        }
    }
}

impl EditBatchReceiver {
    /// Sets the run of the other side that counts and the number of batches that this side's tissue has applied.
    /// Waiting batches of other runs, and applied ones, are no longer released.
    pub const fn set_expected(&mut self, run: u64, applied: u64) {
        (self.run, self.applied) = (run, applied);
    }

    /// Keeps a received batch until its turn; returns true if it is new. A batch of another run, an applied one and one
    /// beyond the window are dropped: the sender repeats them if they are still needed.
    pub fn accept(&mut self, batch: &EditBatch) -> bool {
        let ahead = batch.number.saturating_sub(self.applied);
        let place = &mut self.waiting[slot(batch.number)];
        let expected = batch.run == self.run && (1..=BATCH_WINDOW as u64).contains(&ahead);
        let new = expected && (place.run, place.number) != (batch.run, batch.number);
        if new {
            *place = *batch;
        }
        new
    }

    /// Returns the batch whose turn it is, if it has arrived.
    #[must_use]
    pub fn next(&self) -> Option<&EditBatch> {
        let expected = self.applied.checked_add(1)?;
        let batch = &self.waiting[slot(expected)];
        ((batch.run, batch.number) == (self.run, expected)).then_some(batch)
    }
}

#[cfg(test)]
mod tests;
