//! What must be counted over every tick of a session, however long: a fold, record by record.
//!
//! Source: ours. Everything that a check of a summary rests on, beside the audit, is here, so that
//! a session longer than the records that are kept is still judged as a whole.

use std::collections::BTreeMap;

use palpate_transport::Span;
use palpate_transport::trace::{Events, Given, Side, TickRecord};

use super::Traces;
use crate::summary::{SafetySummary, TicksBySide};

/// Events that are limits, with their names.
const LIMITS: [(u32, &str); 5] = [
    (Events::SPEED, "speed"),
    (Events::FORCE, "force"),
    (Events::WORKSPACE, "workspace"),
    (Events::SLEW, "slew"),
    (Events::CONTACT, "contact force"),
];

/// CRTK operating states by number.
const STATES: [&str; 4] = ["DISABLED", "ENABLED", "PAUSED", "FAULT"];

/// Number of [`STATES`] in which the robot may move.
const ENABLED: u8 = 1;

/// Counts and extremes over all ticks of both sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    master: OfSide,
    slave: OfSide,
    interventions: u64,
    masked: u64,
    /// Ticks with an instrument, of those in which it only pressed, and strokes that the remote tissue refused.
    instruments: [u64; 3],
    /// Number of the first of those.
    refused: Option<u64>,
    limits: [u64; LIMITS.len()],
    peak_force_n: Option<f64>,
    uncommanded_m: f64,
    /// Where the probe was when the robot stopped being enabled, while it is not.
    standing_m: Option<[f64; 3]>,
}

/// What one side did.
#[derive(Debug, Clone, PartialEq, Default)]
struct OfSide {
    ticks: u64,
    first_ns: i64,
    newest: Option<TickRecord>,
    trips: u64,
    fault: Option<u64>,
}

impl Tally {
    /// Of records at hand.
    #[must_use]
    pub fn of(traces: &Traces<'_>) -> Self {
        let mut tally = Self::default();
        let records = traces.master.iter().chain(traces.slave);
        records.for_each(|record| tally.add(record));
        tally
    }

    /// Counts the next record of a side.
    pub fn add(&mut self, record: &TickRecord) {
        for (count, (mask, _)) in self.limits.iter_mut().zip(LIMITS) {
            *count += u64::from(record.events & mask != 0);
        }
        let acted = record.events & (Events::UNPAID | Events::REPAID | Events::CONTROLLED) != 0;
        self.interventions += u64::from(acted);
        self.masked += u64::from(record.events & Events::MASKED != 0);
        let instruments = [
            record.instrument != 0,
            record.events & Events::BLUNTED != 0,
            record.given & Given::REFUSED != 0,
        ];
        for (count, was) in self.instruments.iter_mut().zip(instruments) {
            *count += u64::from(was);
        }
        if record.given & Given::REFUSED != 0 {
            self.refused.get_or_insert(record.strokes);
        }
        match record.side {
            Side::Master => {
                let force_n = norm(&record.port_force_n);
                let peak_n = self.peak_force_n.get_or_insert(force_n);
                *peak_n = larger(*peak_n, force_n);
                self.master.add(record);
            }
            Side::Slave => {
                self.watch_standstill(record);
                self.slave.add(record);
            }
        }
    }

    /// The distance of the probe from where it was when the robot stopped being enabled.
    fn watch_standstill(&mut self, record: &TickRecord) {
        let [x, y, z, _] = record.position_m;
        if record.state == ENABLED {
            self.standing_m = None;
            return;
        }
        let start = *self.standing_m.get_or_insert([x, y, z]);
        let moved_m = norm(&[x - start[0], y - start[1], z - start[2]]);
        self.uncommanded_m = larger(self.uncommanded_m, moved_m);
    }

    /// Ticks recorded by each side.
    #[must_use]
    pub fn ticks(&self) -> TicksBySide {
        TicksBySide {
            master: self.master.ticks,
            slave: self.slave.ticks,
        }
    }

    /// Length of the longer side \[s\].
    #[must_use]
    pub fn duration_s(&self) -> Option<f64> {
        let lengths = [&self.master, &self.slave].map(|side| {
            let newest = side.newest.as_ref()?;
            Some(Span(newest.now_ns.saturating_sub(side.first_ns)).s())
        });
        lengths.into_iter().flatten().reduce(f64::max)
    }

    /// Frames that the slave took, and that the master took; unknown of a side without records.
    #[must_use]
    pub(crate) fn frames_used(&self) -> [Option<u64>; 2] {
        [&self.slave, &self.master]
            .map(|side| side.newest.as_ref().map(|newest| newest.received_count))
    }

    /// Ticks at which an energy account lowered a demand or repaid a debt, both sides.
    #[must_use]
    pub fn interventions(&self) -> u64 {
        self.interventions
    }

    /// Ticks of the master that asked the twin and did not step it.
    #[must_use]
    pub fn masked(&self) -> u64 {
        self.masked
    }

    /// Number of the first stroke that the remote tissue refused.
    #[must_use]
    pub fn refused(&self) -> Option<u64> {
        self.refused
    }

    /// Ticks with an instrument in the operator's hand, of those in which it only pressed, and strokes that the
    /// remote tissue refused, one a tick at most.
    #[must_use]
    pub fn instruments(&self) -> [u64; 3] {
        self.instruments
    }

    /// The newest record of the master and of the slave.
    #[must_use]
    pub fn newest(&self) -> [Option<&TickRecord>; 2] {
        [self.master.newest.as_ref(), self.slave.newest.as_ref()]
    }

    /// Largest force at the master's port, x to z together \[N\].
    #[must_use]
    pub fn peak_force_n(&self) -> Option<f64> {
        self.peak_force_n
    }

    /// Limits and faults of both sides.
    #[must_use]
    pub fn safety(&self) -> SafetySummary {
        let named = LIMITS.iter().zip(self.limits);
        let limit_hits: BTreeMap<String, u64> = named
            .map(|(&(_, name), count)| (name.to_owned(), count))
            .collect();
        let last = self.slave.newest.as_ref();
        let sides = [(&self.master, Side::Master), (&self.slave, Side::Slave)];
        let fault = |(of, side): (&OfSide, Side)| {
            let tick = of.fault?;
            Some(format!("{}: invalid reading at tick {tick}", side.name()))
        };
        SafetySummary {
            state: last
                .and_then(|r| STATES.get(usize::from(r.state)))
                .map(|s| (*s).to_owned()),
            faults: sides.into_iter().filter_map(fault).collect(),
            limit_hits,
            watchdog_trips: (self.master.ticks + self.slave.ticks > 0)
                .then_some(self.master.trips + self.slave.trips),
            uncommanded_motion_mm_max: last.map(|_| self.uncommanded_m * 1e3),
        }
    }
}

impl OfSide {
    fn add(&mut self, record: &TickRecord) {
        if self.ticks == 0 {
            self.first_ns = record.now_ns;
        }
        self.ticks += 1;
        if record.events & Events::INVALID != 0 {
            self.fault.get_or_insert(record.tick);
        }
        // being stale before the first frame is no trip
        let stale = |r: &TickRecord| r.events & Events::STALE != 0;
        let tripped =
            |before: TickRecord| before.received_sequence > 0 && !stale(&before) && stale(record);
        self.trips += u64::from(self.newest.is_some_and(tripped));
        self.newest = Some(*record);
    }
}

/// The larger of two; unlike `f64::max`, one that is not a number stays.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

/// Length of the first three components.
fn norm(axes: &[f64]) -> f64 {
    axes.iter().take(3).map(|x| x * x).sum::<f64>().sqrt()
}
