//! Passivity audit: channel energy recomputed from the logged port signals alone.
//!
//! Source: teleop E1 and section 7 ("independent recomputation from logged ports"). This file calls no controller code,
//! so an error in a controller cannot hide here.
//!
//! Per axis, with F the port force \[N\] and x the port position \[m\] of tick k:
//! - the master's device applies F over the next interval, or until it releases F at h:
//!   in += F(k-1) (h(k) - x(k-1)), with h(k) = x(k) if F was applied all the time;
//! - the slave computes F with x of the interval that ends now: out += F(k) (x(k) - x(k-1));
//! - E = in - out \[J\], zero at the start, and a passive channel keeps E >= 0 at every instant.
//!
//! Events of both sides are taken in time order on the master's clock; those of one instant count together. An error
//! of the clock offset below the one-way delay moves no delivery of energy past a frame on which it could depend.

use std::collections::VecDeque;

use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{InputFlags, TickRecord};
use palpate_transport::{AXES, Axes, Span};

mod side_balance;

pub use side_balance::SideBalances;

/// Rounding error that a sum over a session may show before it counts as a violation \[J\]; the
/// limit of the contract.
pub const TOLERANCE_J: f64 = 1e-9;

/// Port signals of both sides.
#[derive(Debug, Clone, Copy)]
pub struct PortTraces<'a> {
    /// Records of the master.
    pub master: &'a [TickRecord],
    /// Records of the slave.
    pub slave: &'a [TickRecord],
    /// Offset of the slave's clock against the master's, positive if ahead; zero if they share one.
    pub slave_clock_ahead: Span,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Audit {
    /// Least energy ever inside the channel by axis \[J\]; at most 0, where every session starts.
    pub min_channel_energy_per_axis_j: Axes,
    /// Least energy of all axes together \[J\].
    pub min_channel_energy_j: f64,
    /// Instants at which an axis, or the sum, was below `-`[`TOLERANCE_J`] or not a number.
    pub violations: u64,
    /// Time of the first of them, master's clock \[ns\].
    pub first_violation_ns: Option<i64>,
    /// Energy that went in at the master by the end \[J\].
    pub energy_in_j: Axes,
    /// Energy that came out at the slave by the end \[J\].
    pub energy_out_j: Axes,
    /// Instants judged.
    pub instants: u64,
    /// Jumps in the numbering of ticks (missed ticks, or records that were lost).
    pub gaps: u64,
    /// Ticks that those jumps leave out.
    pub missing: u64,
    /// Records after the end of the shorter stream, which cannot be judged.
    pub unpaired_records: u64,
    /// The energies over time, for plots.
    pub trace: Vec<EnergySample>,
}

/// Extremes and energy sums of one stretch of the session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergySample {
    /// End of the stretch since the first record \[s\].
    pub at_s: f64,
    /// Least channel energy in it by axis \[J\].
    pub min_j: Axes,
    /// Most channel energy in it by axis \[J\].
    pub max_j: Axes,
    /// Energy in at the master by its end \[J\].
    pub in_j: Axes,
    /// Energy out at the slave by its end \[J\].
    pub out_j: Axes,
}

/// Judges a session; `samples` is the length of the plot trace (at least 1). Empty streams give
/// zero instants: nothing was judged, which is not the same as passive.
#[must_use]
pub fn audit(ports: &PortTraces<'_>, samples: usize) -> Audit {
    let master = in_order(ports.master);
    let slave = in_order(ports.slave);
    let ahead = ports.slave_clock_ahead;
    let edge = |m: Option<&&TickRecord>, s: Option<&&TickRecord>| {
        let (m, s) = m.zip(s)?;
        Some(m.now_ns.min(s.now_ns.saturating_sub(ahead.0)))
    };
    let first = edge(master.first(), slave.first()).unwrap_or(0);
    let end = edge(master.last(), slave.last()).unwrap_or(0);
    let stretch = Span(end.saturating_sub(first) / samples.max(1) as i64);
    let mut auditor = Auditor::new(stretch, ahead);
    let mut slave = slave.into_iter().peekable();
    for record in master {
        let due = |s: &&TickRecord| s.now_ns.saturating_sub(ahead.0) <= record.now_ns;
        while let Some(remote) = slave.next_if(due) {
            auditor.slave(remote);
        }
        auditor.master(record);
    }
    slave.for_each(|record| auditor.slave(record));
    auditor.finish()
}

fn in_order(records: &[TickRecord]) -> Vec<&TickRecord> {
    let mut ordered: Vec<&TickRecord> = records.iter().collect();
    ordered.sort_by_key(|r| r.now_ns);
    ordered
}

/// Incremental audit, fed while the session runs: each side in order of its time. It keeps only
/// events that wait for the other side.
pub struct Auditor {
    master: Port,
    slave: Port,
    slave_clock_ahead: Span,
    stretch_ns: i64,
    judge: Option<Judge>,
}

/// One side as it comes in.
#[derive(Default)]
struct Port {
    before: Option<TickRecord>,
    waiting: VecDeque<Event>,
    newest_ns: Option<i64>,
    gaps: u64,
    missing: u64,
}

/// Energy through one port at one tick.
struct Event {
    at_ns: i64,
    energy_j: Axes,
}

impl Auditor {
    /// Returns an audit of no records; `stretch` is the time between two points of the plot.
    #[must_use]
    pub fn new(stretch: Span, slave_clock_ahead: Span) -> Self {
        Self {
            master: Port::default(),
            slave: Port::default(),
            slave_clock_ahead,
            stretch_ns: stretch.0.max(1),
            judge: None,
        }
    }

    /// Takes the next record of the master.
    pub fn master(&mut self, record: &TickRecord) {
        self.master.push_record(record, Span(0), master_energy_in);
        self.advance(false);
    }

    /// Takes the next record of the slave.
    pub fn slave(&mut self, record: &TickRecord) {
        let ahead = self.slave_clock_ahead;
        self.slave.push_record(record, ahead, slave_energy_out);
        self.advance(false);
    }

    /// Returns the verdict over all records.
    #[must_use]
    pub fn finish(mut self) -> Audit {
        self.advance(true);
        let verdict = self.judge.map(|judge| judge.verdict).unwrap_or_default();
        Audit {
            gaps: self.master.gaps + self.slave.gaps,
            missing: self.master.missing + self.slave.missing,
            unpaired_records: (self.master.waiting.len() + self.slave.waiting.len()) as u64,
            ..verdict
        }
    }

    /// Judges every instant that no later record can change; at the end, also the newest that both
    /// sides have reached.
    fn advance(&mut self, ended: bool) {
        let (Some(master_ns), Some(slave_ns)) = (self.master.newest_ns, self.slave.newest_ns)
        else {
            return;
        };
        let reached_ns = master_ns.min(slave_ns);
        loop {
            let heads = [&self.master, &self.slave].map(|port| port.waiting.front());
            let Some(at_ns) = heads.into_iter().flatten().map(|e| e.at_ns).min() else {
                return;
            };
            if at_ns > reached_ns || (at_ns == reached_ns && !ended) {
                return;
            }
            let stretch_ns = self.stretch_ns;
            let judge = self
                .judge
                .get_or_insert_with(|| Judge::new(at_ns, stretch_ns));
            self.master.add_instant(at_ns, &mut judge.energy_in);
            self.slave.add_instant(at_ns, &mut judge.energy_out);
            judge.instant(at_ns);
        }
    }
}

impl Port {
    /// Queues the energy of a record; the first only sets the position.
    fn push_record(
        &mut self,
        now: &TickRecord,
        ahead: Span,
        energy: fn(&TickRecord, &TickRecord, usize) -> f64,
    ) {
        let before = *self.before.get_or_insert(*now);
        if self.newest_ns.is_some() {
            let expected = before.tick.wrapping_add(1);
            self.gaps += u64::from(now.tick != expected);
            self.missing += now.tick.saturating_sub(expected);
        }
        let at_ns = now.now_ns.saturating_sub(ahead.0);
        self.waiting.push_back(Event {
            at_ns,
            energy_j: std::array::from_fn(|axis| energy(&before, now, axis)),
        });
        self.newest_ns = Some(at_ns);
        self.before = Some(*now);
    }

    /// Adds every event of one instant to `sum`.
    fn add_instant(&mut self, at_ns: i64, sum: &mut EnergySum) {
        while let Some(event) = self.waiting.pop_front_if(|event| event.at_ns == at_ns) {
            sum.add(&event.energy_j);
        }
    }
}

/// Energy of the held force up to the port, or up to the point of release. A release is accepted only from a tick
/// that flags it and follows a missed tick, since no device releases its force within two periods.
fn master_energy_in(before: &TickRecord, now: &TickRecord, axis: usize) -> f64 {
    let late = now.now_ns.saturating_sub(before.now_ns) >= 2 * PERIOD.0;
    let held_to_m = if late && now.given & InputFlags::FORCE_RELEASED != 0 {
        now.held_to_m
    } else {
        now.port_position_m
    };
    before.port_force_n[axis] * (held_to_m[axis] - before.port_position_m[axis])
}

fn slave_energy_out(before: &TickRecord, now: &TickRecord, axis: usize) -> f64 {
    now.port_force_n[axis] * (now.port_position_m[axis] - before.port_position_m[axis])
}

/// A sum that keeps its rounding error (Neumaier 1974), so that hours of ticks stay far below
/// [`TOLERANCE_J`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct EnergySum {
    sum_j: Axes,
    rest_j: Axes,
}

impl EnergySum {
    fn add(&mut self, energy_j: &Axes) {
        for (axis, &x) in energy_j.iter().enumerate() {
            let sum = self.sum_j[axis];
            let next = sum + x;
            self.rest_j[axis] += if sum.abs() >= x.abs() {
                (sum - next) + x
            } else {
                (x - next) + sum
            };
            self.sum_j[axis] = next;
        }
    }

    fn total(&self) -> Axes {
        std::array::from_fn(|a| self.sum_j[a] + self.rest_j[a])
    }
}

struct Judge {
    energy_in: EnergySum,
    energy_out: EnergySum,
    verdict: Audit,
    start_ns: i64,
    stretch_ns: i64,
    /// End of the stretch of the last sample.
    stretch_end_ns: i64,
}

impl Judge {
    fn new(start_ns: i64, stretch_ns: i64) -> Self {
        Self {
            energy_in: EnergySum::default(),
            energy_out: EnergySum::default(),
            verdict: Audit::default(),
            start_ns,
            stretch_ns,
            stretch_end_ns: start_ns.saturating_add(stretch_ns),
        }
    }

    fn instant(&mut self, at_ns: i64) {
        let (into, out) = (self.energy_in.total(), self.energy_out.total());
        let stored: Axes = std::array::from_fn(|a| into[a] - out[a]);
        let total: f64 = stored.iter().sum();
        self.sample(at_ns, &stored);
        let verdict = &mut self.verdict;
        (verdict.energy_in_j, verdict.energy_out_j) = (into, out);
        let leasts = &mut verdict.min_channel_energy_per_axis_j;
        for (least, &energy_j) in leasts.iter_mut().zip(&stored) {
            *least = lesser(*least, energy_j);
        }
        verdict.min_channel_energy_j = lesser(verdict.min_channel_energy_j, total);
        // Written so that a NaN counts as a violation.
        let passive = stored.iter().all(|&e| e >= -TOLERANCE_J) && total >= -TOLERANCE_J;
        if !passive {
            verdict.violations += 1;
            verdict.first_violation_ns.get_or_insert(at_ns);
        }
        verdict.instants += 1;
    }

    /// Adds an instant to the sample of its stretch; the first instant of a stretch begins a new sample.
    fn sample(&mut self, at_ns: i64, stored: &Axes) {
        let begins = at_ns > self.stretch_end_ns;
        if begins {
            let passed = at_ns.saturating_sub(self.start_ns) / self.stretch_ns;
            let end_ns = (passed + 1).saturating_mul(self.stretch_ns);
            self.stretch_end_ns = self.start_ns.saturating_add(end_ns);
        }
        let open = self.verdict.trace.pop_if(|_| !begins);
        let bounds = open.map_or(
            ([f64::INFINITY; AXES], [f64::NEG_INFINITY; AXES]),
            |sample| (sample.min_j, sample.max_j),
        );
        self.verdict.trace.push(EnergySample {
            at_s: Span(at_ns.saturating_sub(self.start_ns)).s(),
            min_j: std::array::from_fn(|a| bounds.0[a].min(stored[a])),
            max_j: std::array::from_fn(|a| bounds.1[a].max(stored[a])),
            in_j: self.energy_in.total(),
            out_j: self.energy_out.total(),
        });
    }
}

/// The lesser of two energies; unlike `f64::min`, NaN propagates.
fn lesser(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.min(b)
    }
}

#[cfg(test)]
mod tests;
