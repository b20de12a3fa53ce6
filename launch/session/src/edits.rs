//! Transfer of tissue edits from the log of one side to the tissue of the other.
//!
//! Source: ours. [`palpate_transport::edit_batch`] numbers, repeats and orders batches. Here the batches of a log
//! ([`EditBatchLog`]) become messages, and messages become edits of the remote tissue. The reverse direction serves
//! a master that starts anew: each side sends the batches that the other lacks. An `EditEndpoint` is the same in
//! virtual time, where `virtual_stream` has the links between two of them, and live, where [`live`] has rings and
//! the bus. Nothing here allocates after construction.

pub mod live;
pub(crate) mod virtual_stream;

use palpate_master::predict::TwinPredictor;
use palpate_port::inbox::Inbox;
use palpate_slave::robot::{Environment, Robot};
use palpate_transport::edit_batch::{EditBatchReceiver, EditBatchSender};
use palpate_transport::mailbox::RingSender;
use palpate_transport::trace::TickRecord;
use palpate_transport::{BatchChange, EditBatch, Span, Time};
use palpate_twin::edits::{
    BATCH_CHANGES_MAX, ChangeRecord, EditBatchLog, EditPhase, LinkCounts, TopologyChange,
};
use palpate_twin::{Instrument, Vec3};

/// Most edit batches sent or applied in one tick.
const BATCHES_PER_TICK: usize = 4;

/// Most edit batches handed to the recorder in one tick.
const RECORDED_PER_TICK: usize = 64;

/// Least time before an edit batch is sent again.
const RESEND_AFTER_MIN: Span = Span(20_000_000);

const _: () = assert!(BATCH_CHANGES_MAX == palpate_transport::edit_batch::BATCH_CHANGES_MAX);

/// Buffer for the changes of a received edit batch.
pub(crate) type ChangeBuffer = [TopologyChange; BATCH_CHANGES_MAX];

/// Initial content of a [`ChangeBuffer`].
pub(crate) const EMPTY_CHANGES: ChangeBuffer =
    [TopologyChange::Remove { node: 0 }; BATCH_CHANGES_MAX];

/// Message of a batch of the log, sent from `run`; none if the log lacks that number.
pub(crate) fn batch_message(log: &EditBatchLog, run: u64, number: u64) -> Option<EditBatch> {
    let (part, changes) = log.batch(number)?;
    let message_of = |change: &TopologyChange| {
        let row = change.record();
        BatchChange {
            element: row.node,
            other: row.neighbour,
            by: row.offset,
            kind: row.kind,
            toward: row.direction,
        }
    };
    Some(EditBatch {
        // in the order of its numbers
        part: part as u8,
        ..EditBatch::from_changes(run, number, changes.iter().map(message_of))
    })
}

/// Decodes a received change; none if its kind or direction does not exist.
fn decode_change(sent: &BatchChange) -> Option<TopologyChange> {
    TopologyChange::from_record(ChangeRecord {
        node: sent.element,
        neighbour: sent.other,
        offset: sent.by,
        kind: sent.kind,
        direction: sent.toward,
    })
}

/// Decodes the changes of a received batch; none if the kind or direction of one does not exist.
pub(crate) fn decode_changes<'a>(
    batch: &EditBatch,
    place: &'a mut ChangeBuffer,
) -> Option<&'a [TopologyChange]> {
    let sent = batch.changes();
    for (change, sent) in place.iter_mut().zip(sent) {
        *change = decode_change(sent)?;
    }
    Some(&place[..sent.len()])
}

/// Phase of a received batch within its edit; it was validated on reception.
pub(crate) fn decode_part(batch: &EditBatch) -> EditPhase {
    let part = EditPhase::ALL.get(usize::from(batch.part));
    part.copied().unwrap_or_default()
}

/// Links that edit batches have cut, and joined.
pub(crate) fn links<'a>(batches: impl IntoIterator<Item = &'a EditBatch>) -> LinkCounts {
    let changes = batches.into_iter().flat_map(EditBatch::changes);
    changes
        .filter_map(decode_change)
        .map(TopologyChange::links)
        .sum()
}

/// A side with its tissue and the edit log of that tissue.
trait EditTarget {
    /// State received by frames from the other side.
    fn inbox(&self) -> &Inbox;

    /// Number of edit batches applied to its tissue.
    fn batch_count(&self) -> u64;

    /// Number of the last batch that may have to be sent to the other side.
    fn last_to_send(&self) -> u64 {
        self.batch_count()
    }

    /// Edit batch of its tissue as a message of this side.
    fn edit_batch(&self, number: u64) -> Option<EditBatch>;

    /// Applies the next batch to its tissue; returns false if the tissue refuses it.
    fn apply_batch(&mut self, batch: &EditBatch) -> bool;

    /// Most edit batches applied in one tick.
    fn batches_per_tick(&self) -> usize {
        BATCHES_PER_TICK
    }
}

impl EditTarget for palpate_master::MasterState {
    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn batch_count(&self) -> u64 {
        self.edits().map_or(0, EditBatchLog::batch_count)
    }

    fn edit_batch(&self, number: u64) -> Option<EditBatch> {
        master_batch(self, number)
    }

    fn apply_batch(&mut self, batch: &EditBatch) -> bool {
        let mut place = EMPTY_CHANGES;
        decode_changes(batch, &mut place)
            .is_some_and(|changes| self.apply_remote_edits(decode_part(batch), changes))
    }

    /// One batch per tick while the handle is in contact, so that each is felt alone; more than two would overrun
    /// the tick for a large voxel model.
    fn batches_per_tick(&self) -> usize {
        match self.predictor().is_some_and(TwinPredictor::is_in_contact) {
            true => 1,
            false => 2,
        }
    }
}

/// Message of an edit batch of the master's twin, by its number from 1.
#[must_use]
pub fn master_batch(master: &palpate_master::MasterState, number: u64) -> Option<EditBatch> {
    batch_message(master.edits()?, master.inbox().run_ids().own, number)
}

/// The slave's inbox, and the tissue at its robot.
struct SlaveTissue<'a> {
    inbox: &'a Inbox,
    tissue: &'a mut dyn Environment,
}

impl EditTarget for SlaveTissue<'_> {
    fn inbox(&self) -> &Inbox {
        self.inbox
    }

    fn batch_count(&self) -> u64 {
        self.tissue.edits().finished_batches
    }

    fn last_to_send(&self) -> u64 {
        self.tissue.foreign_batches(self.inbox.run_ids().peer)
    }

    fn edit_batch(&self, number: u64) -> Option<EditBatch> {
        let run = self.inbox.run_ids().own;
        let batch = self.tissue.finished_batch(number)?;
        Some(EditBatch { run, ..batch })
    }

    fn apply_batch(&mut self, batch: &EditBatch) -> bool {
        self.tissue.apply_batch(batch)
    }
}

/// Endpoint of one side: sends the edits of its tissue until the other side has applied them, and applies
/// received edits in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct EditEndpoint {
    sender: EditBatchSender,
    receiver: EditBatchReceiver,
    /// Last batch that was refused: run of its sender, and number.
    last_refused: Option<(u64, u64)>,
}

impl EditEndpoint {
    /// Before a tick of the slave: applies received batches and passes batches that the master lacks to `send`.
    /// Returns true if a batch was refused.
    fn update_slave(
        &mut self,
        inbox: &Inbox,
        robot: &mut dyn Robot,
        now: Time,
        send: impl FnMut(EditBatch),
    ) -> bool {
        let Some(tissue) = robot.environment() else {
            return false;
        };
        let mut side = SlaveTissue { inbox, tissue };
        let refused = self.apply_received(&mut side);
        self.send_due(&side, now, send);
        refused
    }

    /// Applies the batches that are due, up to the first that is refused; returns true if one was. Each refusal is
    /// reported once; if the tissue counts it as finished, later batches follow in the next ticks.
    fn apply_received(&mut self, side: &mut impl EditTarget) -> bool {
        for _ in 0..side.batches_per_tick() {
            let peer = side.inbox().run_ids().peer;
            self.receiver.set_expected(peer, side.batch_count());
            let Some(batch) = self.receiver.next() else {
                return false;
            };
            if !side.apply_batch(batch) {
                let one = Some((batch.run, batch.number));
                return std::mem::replace(&mut self.last_refused, one) != one;
            }
        }
        false
    }

    /// Passes the batches that are due to `send`; none while the peer's tissue is unknown or has no
    /// topology.
    fn send_due(&mut self, side: &impl EditTarget, now: Time, mut send: impl FnMut(EditBatch)) {
        let (inbox, newest) = (side.inbox(), side.inbox().newest());
        if newest.topology == 0 {
            return;
        }
        self.sender.acknowledge(newest.edit_batches);
        let rtt = inbox.sync().rtt_latest().unwrap_or(Span(0));
        // a quarter more than a round trip, or jitter would send all of it twice
        let again_after = Span((rtt.0 + rtt.0 / 4).max(RESEND_AFTER_MIN.0));
        for _ in 0..BATCHES_PER_TICK {
            let due = self.sender.due(side.last_to_send(), now, again_after);
            let Some(batch) = due.and_then(|number| side.edit_batch(number)) else {
                break;
            };
            send(batch);
        }
    }
}

/// Feed of a recorder; batches that do not fit into the ring wait in the log.
pub(crate) struct EditRecorderFeed {
    ring: RingSender<(i64, EditBatch)>,
    batches_sent: u64,
}

impl EditRecorderFeed {
    /// Returns a feed into a ring of edit batches with the time of their making \[ns\].
    pub(crate) fn new(ring: RingSender<(i64, EditBatch)>) -> Self {
        Self {
            ring,
            batches_sent: 0,
        }
    }

    /// After a tick at `now_ns` \[ns\]: pushes the batches that the ring has not had, read by number
    /// from `batch`.
    pub(crate) fn forward(&mut self, now_ns: i64, batch: impl Fn(u64) -> Option<EditBatch>) {
        for _ in 0..RECORDED_PER_TICK {
            let batch = batch(self.batches_sent + 1);
            if !batch.is_some_and(|batch| self.ring.push((now_ns, batch))) {
                return;
            }
            self.batches_sent += 1;
        }
    }
}

/// Writes an instrument into a record: its number, and its length \[m\].
pub(crate) fn record_instrument(record: &mut TickRecord, instrument: &Instrument) {
    (record.instrument, record.instrument_m) = match instrument {
        Instrument::Blunt => (0, [0.0; 3]),
        Instrument::Scalpel { edge_m } => (1, [edge_m.x, edge_m.y, edge_m.z]),
        Instrument::Curette => (2, [0.0; 3]),
        Instrument::Glue { reach_m } => (3, [*reach_m, 0.0, 0.0]),
        Instrument::Tack => (4, [0.0; 3]),
        Instrument::Untack => (5, [0.0; 3]),
    };
}

/// Instrument of a record; an unknown number is blunt.
#[must_use]
pub fn recorded_instrument(record: &TickRecord) -> Instrument {
    let [x, y, z] = record.instrument_m;
    match record.instrument {
        1 => Instrument::Scalpel {
            edge_m: Vec3::new(x, y, z),
        },
        2 => Instrument::Curette,
        3 => Instrument::Glue { reach_m: x },
        4 => Instrument::Tack,
        5 => Instrument::Untack,
        _ => Instrument::Blunt,
    }
}

#[cfg(test)]
mod tests {
    use palpate_twin::edits::NeighbourDirection;

    use super::*;

    #[test]
    fn changes_round_trip() {
        let (node, neighbour, offset) = (7, 9, [-3, 0, i16::MAX]);
        let mut kinds = Vec::new();
        for direction in NeighbourDirection::ALL {
            let changes = [
                TopologyChange::Cut {
                    node,
                    direction,
                    neighbour,
                },
                TopologyChange::Join {
                    node,
                    direction,
                    neighbour,
                },
                TopologyChange::Remove { node },
                TopologyChange::Restore { node },
                TopologyChange::Pin { node },
                TopologyChange::Unpin { node },
                TopologyChange::Translate { node, offset },
            ];
            let mut log = EditBatchLog::for_nodes(0);
            assert!(log.push(EditPhase::Redo, &changes));
            let batch = batch_message(&log, 3, 1).expect("it was pushed");
            let mut place = EMPTY_CHANGES;
            assert_eq!(decode_changes(&batch, &mut place), Some(&changes[..]));
            assert_eq!((batch.run, decode_part(&batch)), (3, EditPhase::Redo));
            assert_eq!(batch.validate(), Ok(()));
            kinds.extend(batch.changes().iter().map(|change| change.kind));
            for change in changes {
                assert_eq!(TopologyChange::unpack(change.pack(5)), (5, change));
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds, [0, 1, 2, 3, 4, 5, 6]);
        let none = |kind, toward| BatchChange {
            kind,
            toward,
            ..BatchChange::default()
        };
        assert_eq!(decode_change(&none(7, 0)), None);
        assert_eq!(decode_change(&none(0, 6)), None);
    }

    #[test]
    fn edit_phases_round_trip() {
        assert_eq!(EditPhase::ALL.map(|part| part as u8), [0, 1, 2, 3]);
        let of = |part| {
            decode_part(&EditBatch {
                part,
                ..EditBatch::default()
            })
        };
        assert_eq!(EditPhase::ALL.map(|part| of(part as u8)), EditPhase::ALL);
        assert_eq!(of(9), EditPhase::Begin);
    }

    #[test]
    fn instruments_round_trip() {
        let all = [
            Instrument::Blunt,
            Instrument::Scalpel {
                edge_m: Vec3::new(0.0, 1e-3, -2e-2),
            },
            Instrument::Curette,
            Instrument::Glue { reach_m: 3e-3 },
            Instrument::Tack,
            Instrument::Untack,
        ];
        for instrument in all {
            let mut record = TickRecord::default();
            record_instrument(&mut record, &instrument);
            assert_eq!(recorded_instrument(&record), instrument);
        }
    }
}
