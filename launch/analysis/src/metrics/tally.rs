//! Counts over every tick of a session of any length: a fold, record by record.
//!
//! Source: ours. Every input of a summary's checks, beside the audit, is counted here, so that a session longer than
//! the kept records is still judged as a whole.

use palpate_session::audit::SideBalances;
use palpate_transport::Span;
use palpate_transport::trace::{EventFlags, InputFlags, Side, TickRecord};

use super::robot_limits::{RobotExtremes, keep_larger};
use super::{Traces, norm_xyz};
use crate::summary::{SafetySummary, TicksBySide};

/// Events that are limits, with their names.
const LIMITS: [(u32, &str); 8] = [
    (EventFlags::SPEED_LIMIT, "speed"),
    (EventFlags::FORCE_LIMIT, "force"),
    (EventFlags::WORKSPACE_LIMIT, "workspace"),
    (EventFlags::SLEW_LIMIT, "slew"),
    (EventFlags::CONTACT_LIMIT, "contact force"),
    (EventFlags::CREDIT_REFUSED, "remote energy"),
    (EventFlags::UNPAID_FALL, "unpaid fall"),
    (EventFlags::FRAME_REFUSED, "refused frame"),
];

/// Events that latch a fault, with their names.
const FAULTS: [(u32, &str); 2] = [
    (EventFlags::INVALID_READING, "invalid reading"),
    (EventFlags::TISSUE_COLLAPSED, "tissue collapsed and rebuilt"),
];

/// CRTK operating states by number.
const STATES: [&str; 4] = ["DISABLED", "ENABLED", "PAUSED", "FAULT"];

/// Counts and extremes over all ticks of both sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    master: SideTally,
    slave: SideTally,
    /// Energy of the hand, and at the robot's measured port.
    pub(crate) balances: SideBalances,
    /// Ticks at which an energy tank or a passivity controller lowered a demand or repaid a debt, both sides.
    pub(super) interventions: u64,
    /// Ticks of the master in which the deadline fallback queried the twin without a step.
    pub(super) fallback_ticks: u64,
    /// Ticks with an instrument in the operator's hand, those of them in which it only pressed, and edit batches that
    /// the remote tissue refused, at most one a tick.
    pub(super) instruments: [u64; 3],
    /// Number of the first edit batch that the remote tissue refused.
    pub(super) first_refused_batch: Option<u64>,
    limits: [u64; LIMITS.len()],
    limit_cycles: u64,
    /// Largest force at the master's port, x to z together \[N\].
    pub(super) peak_force_n: Option<f64>,
    /// Extremes of the robot.
    pub(crate) robot: RobotExtremes,
}

/// Counts of one side.
#[derive(Debug, Clone, PartialEq, Default)]
struct SideTally {
    ticks: u64,
    first_ns: i64,
    newest: Option<TickRecord>,
    /// Times that frames became stale.
    trips: u64,
    /// First tick of each of [`FAULTS`].
    fault_ticks: [Option<u64>; FAULTS.len()],
    /// Faults that a collapsed tissue latched.
    collapses: u64,
}

impl Tally {
    /// Counts complete records.
    #[must_use]
    pub fn of(traces: &Traces<'_>) -> Self {
        let mut tally = Self::default();
        let records = traces.master.iter().chain(traces.slave);
        records.for_each(|record| tally.add(record));
        tally
    }

    /// Counts the next record of a side.
    pub fn add(&mut self, record: &TickRecord) {
        self.balances.add(record);
        for (count, (mask, _)) in self.limits.iter_mut().zip(LIMITS) {
            *count += u64::from(record.events & mask != 0);
        }
        let acted = record.events
            & (EventFlags::TANK_LIMITED | EventFlags::DEBT_DAMPING | EventFlags::PASSIVITY_CONTROL)
            != 0;
        self.interventions += u64::from(acted);
        self.fallback_ticks += u64::from(record.events & EventFlags::DEADLINE_FALLBACK != 0);
        let instruments = [
            record.instrument != 0,
            record.events & EventFlags::CUTTING_BLOCKED != 0,
            record.given & InputFlags::EDIT_REFUSED != 0,
        ];
        for (count, flag) in self.instruments.iter_mut().zip(instruments) {
            *count += u64::from(flag);
        }
        if record.given & InputFlags::EDIT_REFUSED != 0 {
            self.first_refused_batch.get_or_insert(record.edit_batches);
        }
        match record.side {
            Side::Master => {
                let force_n = norm_xyz(&record.port_force_n);
                keep_larger(self.peak_force_n.get_or_insert(force_n), force_n);
                let cycling = |r: &TickRecord| r.events & EventFlags::LIMIT_CYCLE != 0;
                let began = cycling(record) && !self.master.newest.as_ref().is_some_and(cycling);
                self.limit_cycles += u64::from(began);
                self.master.add(record);
            }
            Side::Slave => {
                self.robot.add(record);
                self.slave.add(record);
            }
        }
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

    /// Frames that the slave used, and that the master used; unknown for a side without records.
    pub(crate) fn frames_used(&self) -> [Option<u64>; 2] {
        [&self.slave, &self.master]
            .map(|side| side.newest.as_ref().map(|newest| newest.received_count))
    }

    /// The newest record of the master and of the slave.
    #[must_use]
    pub(crate) fn newest(&self) -> [Option<&TickRecord>; 2] {
        [self.master.newest.as_ref(), self.slave.newest.as_ref()]
    }

    /// Limits and faults of both sides.
    #[must_use]
    pub(crate) fn safety(&self) -> SafetySummary {
        let named = LIMITS.iter().zip(self.limits);
        let limit_hits = named.map(|(&(_, name), count)| (name.to_owned(), count));
        let last = self.slave.newest.as_ref();
        let any = self.master.ticks + self.slave.ticks > 0;
        let sides = [(&self.master, Side::Master), (&self.slave, Side::Slave)];
        let faults = sides.into_iter().flat_map(|(of, side)| {
            let named = of.fault_ticks.into_iter().zip(FAULTS);
            named.filter_map(move |(tick, (_, cause))| {
                Some(format!("{}: {cause} at tick {}", side.name(), tick?))
            })
        });
        SafetySummary {
            state: last
                .and_then(|r| STATES.get(usize::from(r.state)))
                .map(|s| (*s).to_owned()),
            faults: faults.collect(),
            tissue_rebuilds: any.then_some(self.master.collapses + self.slave.collapses),
            limit_hits: limit_hits.collect(),
            limit_cycles: (self.master.ticks > 0).then_some(self.limit_cycles),
            watchdog_trips: any.then_some(self.master.trips + self.slave.trips),
            uncommanded_motion_mm_max: last.map(|_| self.robot.uncommanded_m * 1e3),
            stopping_distance_mm_max: last.map(|_| self.robot.stopping_m * 1e3),
            ..SafetySummary::default()
        }
    }
}

impl SideTally {
    fn add(&mut self, record: &TickRecord) {
        if self.ticks == 0 {
            self.first_ns = record.now_ns;
        }
        self.ticks += 1;
        for (tick, (event, _)) in self.fault_ticks.iter_mut().zip(FAULTS) {
            if record.events & event != 0 {
                tick.get_or_insert(record.tick);
            }
        }
        let collapsed = |r: &TickRecord| r.events & EventFlags::TISSUE_COLLAPSED != 0;
        self.collapses +=
            u64::from(collapsed(record) && !self.newest.as_ref().is_some_and(collapsed));
        // being stale before the first frame is no trip
        let stale = |r: &TickRecord| r.events & EventFlags::STALE != 0;
        let tripped =
            |before: TickRecord| before.received_sequence > 0 && !stale(&before) && stale(record);
        self.trips += u64::from(self.newest.is_some_and(tripped));
        self.newest = Some(*record);
    }
}
