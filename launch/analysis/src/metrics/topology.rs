//! Topology of both tissues after edits by instruments, and its comparison. Source: ours.

use palpate_session::record::Recording;
use palpate_transport::trace::TickRecord;
use palpate_twin::edits::LinkCounts;

use super::{SessionFacts, Tally};
use crate::summary::TopologySummary;

/// Measures the topology from the newest record of each side and from counts over all of them.
#[must_use]
pub fn measure(tally: &Tally, facts: &SessionFacts) -> TopologySummary {
    let [master, slave] = tally.newest();
    let topology = |of: Option<&TickRecord>| of.map(|r| r.topology).filter(|&hash| hash != 0);
    let (twin, tissue) = (topology(master), topology(slave));
    let shown = |hash: u64| format!("{hash:016x}");
    let [instrument_ticks, blunted_ticks, edit_batches_refused] = tally.instruments;
    TopologySummary {
        master: twin.map(shown),
        slave: tissue.map(shown),
        equal: twin.zip(tissue).map(|(twin, tissue)| twin == tissue),
        edit_batches: twin.and(master).map(|record| record.edit_batches),
        edit_batches_done: tissue.and(slave).map(|record| record.edit_batches),
        links_cut: twin.and(facts.prefilled.topology.links_cut),
        links_joined: twin.and(facts.prefilled.topology.links_joined),
        instrument_ticks: master.map(|_| instrument_ticks),
        blunted_ticks: master.map(|_| blunted_ticks),
        edit_batches_refused: slave.map(|_| edit_batches_refused),
        first_refused: slave.and(tally.first_refused_batch),
        edit_batches_recorded: twin.and(facts.prefilled.topology.edit_batches_recorded),
    }
}

impl TopologySummary {
    /// Returns the links cut and the edit batches of a recording.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        Self {
            edit_batches_recorded: Some(recording.edit_batches.len() as u64),
            ..Self::default().with_links(Some(recording.links()))
        }
    }

    /// The same with counts of links; none if no instrument can edit the twin.
    #[must_use]
    pub fn with_links(self, links: Option<LinkCounts>) -> Self {
        Self {
            links_cut: links.map(|links| links.cut as i64),
            links_joined: links.map(|links| links.joined as i64),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::trace::{EventFlags, InputFlags, Side};

    use super::*;

    fn measured(master: TickRecord, slave: TickRecord) -> TopologySummary {
        let mut tally = Tally::default();
        tally.add(&master);
        tally.add(&TickRecord {
            side: Side::Slave,
            ..slave
        });
        measure(&tally, &SessionFacts::default())
    }

    fn record(edit_batches: u64, topology: u64) -> TickRecord {
        TickRecord {
            edit_batches,
            topology,
            ..TickRecord::default()
        }
    }

    #[test]
    fn topologies_are_equal_only_if_both_sides_report_them() {
        let equal = measured(record(3, 7), record(3, 7));
        assert_eq!((equal.equal, equal.edit_batches), (Some(true), Some(3)));
        let behind = measured(record(3, 7), record(2, 6));
        assert_eq!(
            (behind.equal, behind.edit_batches_done),
            (Some(false), Some(2))
        );
        // a wall has no topology, which is no difference
        let wall = measured(record(0, 7), record(0, 0));
        assert_eq!((wall.equal, wall.slave), (None, None));
    }

    #[test]
    fn blocked_and_refused_edits_are_counted() {
        let blunted = TickRecord {
            instrument: 1,
            events: EventFlags::CUTTING_BLOCKED,
            ..record(0, 7)
        };
        let refused = TickRecord {
            given: InputFlags::EDIT_REFUSED,
            ..record(5, 7)
        };
        let summary = measured(blunted, refused);
        assert_eq!(summary.first_refused, Some(5));
        let counted = [
            summary.instrument_ticks,
            summary.blunted_ticks,
            summary.edit_batches_refused,
        ];
        assert_eq!(counted, [Some(1); 3]);
    }
}
