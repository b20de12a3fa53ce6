//! What instruments made of both tissues, and whether they are alike. Source: ours.

use palpate_transport::trace::TickRecord;

use super::{SessionFacts, Tally};
use crate::summary::TopologySummary;

/// From the newest record of each side, and counts over all of them.
#[must_use]
pub fn measure(tally: &Tally, facts: &SessionFacts) -> TopologySummary {
    let [master, slave] = tally.newest();
    let topology = |of: Option<&TickRecord>| of.map(|r| r.topology).filter(|&hash| hash != 0);
    let (twin, tissue) = (topology(master), topology(slave));
    let shown = |hash: u64| format!("{hash:016x}");
    let [instrument_ticks, blunted_ticks, strokes_refused] = tally.instruments();
    TopologySummary {
        master: twin.map(shown),
        slave: tissue.map(shown),
        equal: twin.zip(tissue).map(|(twin, tissue)| twin == tissue),
        strokes: twin.and(master).map(|record| record.strokes),
        strokes_done: tissue.and(slave).map(|record| record.strokes),
        links_cut: twin.and(facts.strokes.links_cut),
        instrument_ticks: master.map(|_| instrument_ticks),
        blunted_ticks: master.map(|_| blunted_ticks),
        strokes_refused: slave.map(|_| strokes_refused),
        first_refused: slave.and(tally.refused()),
        strokes_recorded: twin.and(facts.strokes.recorded),
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::trace::{Events, Given, Side};

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

    fn record(strokes: u64, topology: u64) -> TickRecord {
        TickRecord {
            strokes,
            topology,
            ..TickRecord::default()
        }
    }

    #[test]
    fn alike_is_only_what_both_sides_say() {
        let alike = measured(record(3, 7), record(3, 7));
        assert_eq!((alike.equal, alike.strokes), (Some(true), Some(3)));
        let behind = measured(record(3, 7), record(2, 6));
        assert_eq!((behind.equal, behind.strokes_done), (Some(false), Some(2)));
        // a wall cannot be opened, which is no difference
        let wall = measured(record(0, 7), record(0, 0));
        assert_eq!((wall.equal, wall.slave), (None, None));
    }

    #[test]
    fn what_was_refused_is_counted() {
        let blunted = TickRecord {
            instrument: 1,
            events: Events::BLUNTED,
            ..record(0, 7)
        };
        let refused = TickRecord {
            given: Given::REFUSED,
            ..record(5, 7)
        };
        let summary = measured(blunted, refused);
        assert_eq!(summary.first_refused, Some(5));
        let counted = [
            summary.instrument_ticks,
            summary.blunted_ticks,
            summary.strokes_refused,
        ];
        assert_eq!(counted, [Some(1); 3]);
    }
}
