//! The judge of passivity: channel energy from the logged port signals, and from nothing else.
//!
//! Source: teleop E1 and section 7 ("independent recomputation from logged ports"). This file
//! calls nothing of the controllers, so an error of theirs cannot hide itself here.
//!
//! Per axis, with F the port force \[N\] and x the port position \[m\] of tick k:
//! - the master holds F over the next interval: in += F(k-1) (x(k) - x(k-1));
//! - the slave computes F with x of the interval that ends now: out += F(k) (x(k) - x(k-1));
//! - E = in - out \[J\], zero at the start, and a passive channel keeps E >= 0 at every instant.
//!
//! Events of both sides are taken in time order on the master's clock; those of one instant count
//! together. An error of the clock offset below the one-way delay moves a delivery past no frame
//! that it could depend on, so the verdict stays sound.

use palpate_transport::trace::TickRecord;
use palpate_transport::{AXES, Axes, Span};

/// Rounding that a sum over a session may show before it counts as a violation \[J\]; ours, the
/// bar of the contract.
pub const TOLERANCE_J: f64 = 1e-9;

/// What to audit.
#[derive(Debug, Clone, Copy)]
pub struct Ports<'a> {
    /// Records of the master.
    pub master: &'a [TickRecord],
    /// Records of the slave.
    pub slave: &'a [TickRecord],
    /// How far the slave's clock is ahead of the master's; zero when they share one.
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
    /// Records after the end of the shorter stream, which cannot be judged.
    pub left_out: u64,
    /// The energies over time, for plots.
    pub trace: Vec<EnergySample>,
}

/// Extremes and ledgers of one stretch of the session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergySample {
    /// End of the stretch since the first record \[s\].
    pub at_s: f64,
    /// Least channel energy in it by axis \[J\].
    pub min_j: Axes,
    /// Most channel energy in it by axis \[J\].
    pub max_j: Axes,
    /// Ledger at its end: in at the master \[J\].
    pub in_j: Axes,
    /// Ledger at its end: out at the slave \[J\].
    pub out_j: Axes,
}

/// Judges a session; `samples` is the length of the plot trace (at least 1). Empty streams give
/// zero instants: nothing was judged, which is not the same as passive.
#[must_use]
pub fn audit(ports: &Ports<'_>, samples: usize) -> Audit {
    let master = events(ports.master, Span(0), master_energy_in);
    let slave = events(ports.slave, ports.slave_clock_ahead, slave_energy_out);
    let (Some(first), Some(end)) = (
        master
            .first()
            .zip(slave.first())
            .map(|(m, s)| m.at_ns.min(s.at_ns)),
        master
            .last()
            .zip(slave.last())
            .map(|(m, s)| m.at_ns.min(s.at_ns)),
    ) else {
        return Audit {
            gaps: gaps(ports.master) + gaps(ports.slave),
            ..Audit::default()
        };
    };
    let stretch_ns = (end.saturating_sub(first) / samples.max(1) as i64).max(1);
    let mut judge = Judge::new(first, stretch_ns);
    let (mut m, mut s) = (0, 0);
    while m < master.len() || s < slave.len() {
        let at_ns = match (master.get(m), slave.get(s)) {
            (Some(a), Some(b)) => a.at_ns.min(b.at_ns),
            (Some(a), None) => a.at_ns,
            (None, Some(b)) => b.at_ns,
            (None, None) => break,
        };
        if at_ns > end {
            break;
        }
        while let Some(event) = master.get(m).filter(|e| e.at_ns == at_ns) {
            judge.energy_in.add(&event.energy_j);
            m += 1;
        }
        while let Some(event) = slave.get(s).filter(|e| e.at_ns == at_ns) {
            judge.energy_out.add(&event.energy_j);
            s += 1;
        }
        judge.instant(at_ns);
    }
    judge.verdict.left_out = (master.len() - m + slave.len() - s) as u64;
    judge.verdict.gaps = gaps(ports.master) + gaps(ports.slave);
    judge.finish()
}

/// Energy through one port at one tick.
struct Event {
    at_ns: i64,
    energy_j: Axes,
}

/// Events of one side in time order on the master's clock; the first record only sets positions.
fn events(
    records: &[TickRecord],
    ahead: Span,
    energy: fn(&TickRecord, &TickRecord, usize) -> f64,
) -> Vec<Event> {
    let mut ordered: Vec<&TickRecord> = records.iter().collect();
    ordered.sort_by_key(|r| r.now_ns);
    let mut events = Vec::with_capacity(ordered.len());
    for (k, now) in ordered.iter().enumerate() {
        let before = ordered[k.saturating_sub(1)];
        events.push(Event {
            at_ns: now.now_ns.saturating_sub(ahead.0),
            energy_j: std::array::from_fn(|a| energy(before, now, a)),
        });
    }
    events
}

fn master_energy_in(before: &TickRecord, now: &TickRecord, axis: usize) -> f64 {
    before.port_force_n[axis] * (now.port_position_m[axis] - before.port_position_m[axis])
}

fn slave_energy_out(before: &TickRecord, now: &TickRecord, axis: usize) -> f64 {
    now.port_force_n[axis] * (now.port_position_m[axis] - before.port_position_m[axis])
}

fn gaps(records: &[TickRecord]) -> u64 {
    records
        .windows(2)
        .filter(|w| w[1].tick != w[0].tick.wrapping_add(1))
        .count() as u64
}

/// A sum that keeps its rounding error (Neumaier 1974), so that hours of ticks stay far below
/// [`TOLERANCE_J`].
#[derive(Clone, Copy, Default)]
struct Account {
    sum_j: Axes,
    rest_j: Axes,
}

impl Account {
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
    energy_in: Account,
    energy_out: Account,
    verdict: Audit,
    start_ns: i64,
    stretch_ns: i64,
    stretch_end_ns: i64,
    least_j: Axes,
    most_j: Axes,
    last_ns: i64,
    open: bool,
}

impl Judge {
    fn new(start_ns: i64, stretch_ns: i64) -> Self {
        Self {
            energy_in: Account::default(),
            energy_out: Account::default(),
            verdict: Audit::default(),
            start_ns,
            stretch_ns,
            stretch_end_ns: start_ns.saturating_add(stretch_ns),
            least_j: [f64::INFINITY; AXES],
            most_j: [f64::NEG_INFINITY; AXES],
            last_ns: start_ns,
            open: false,
        }
    }

    fn instant(&mut self, at_ns: i64) {
        if at_ns > self.stretch_end_ns {
            self.close_stretch();
            let passed = at_ns.saturating_sub(self.start_ns) / self.stretch_ns;
            self.stretch_end_ns = self
                .start_ns
                .saturating_add((passed + 1).saturating_mul(self.stretch_ns));
        }
        let (into, out) = (self.energy_in.total(), self.energy_out.total());
        let stored: Axes = std::array::from_fn(|a| into[a] - out[a]);
        let total: f64 = stored.iter().sum();
        let verdict = &mut self.verdict;
        for (axis, &energy_j) in stored.iter().enumerate() {
            let least = &mut verdict.min_channel_energy_per_axis_j[axis];
            *least = lesser(*least, energy_j);
            self.least_j[axis] = self.least_j[axis].min(energy_j);
            self.most_j[axis] = self.most_j[axis].max(energy_j);
        }
        verdict.min_channel_energy_j = lesser(verdict.min_channel_energy_j, total);
        // Written so that a NaN counts as a violation.
        let passive = stored.iter().all(|&e| e >= -TOLERANCE_J) && total >= -TOLERANCE_J;
        if !passive {
            verdict.violations += 1;
            verdict.first_violation_ns.get_or_insert(at_ns);
        }
        verdict.instants += 1;
        self.last_ns = at_ns;
        self.open = true;
    }

    fn close_stretch(&mut self) {
        if !self.open {
            return;
        }
        self.verdict.trace.push(EnergySample {
            at_s: Span(self.last_ns.saturating_sub(self.start_ns)).s(),
            min_j: self.least_j,
            max_j: self.most_j,
            in_j: self.energy_in.total(),
            out_j: self.energy_out.total(),
        });
        self.least_j = [f64::INFINITY; AXES];
        self.most_j = [f64::NEG_INFINITY; AXES];
        self.open = false;
    }

    fn finish(mut self) -> Audit {
        self.close_stretch();
        self.verdict.energy_in_j = self.energy_in.total();
        self.verdict.energy_out_j = self.energy_out.total();
        self.verdict
    }
}

/// The lesser of two energies; unlike `f64::min`, one that is not a number stays.
fn lesser(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.min(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_transport::trace::Side;
    use proptest::prelude::*;

    fn stream(side: Side, signals: &[(i64, f64, f64)]) -> Vec<TickRecord> {
        signals
            .iter()
            .enumerate()
            .map(|(k, &(at_ms, x_m, f_n))| TickRecord {
                side,
                tick: k as u64,
                now_ns: at_ms * 1_000_000,
                port_position_m: [0.0, 0.0, x_m, 0.0],
                port_force_n: [0.0, 0.0, f_n, 0.0],
                ..TickRecord::default()
            })
            .collect()
    }

    fn judge(master: &[TickRecord], slave: &[TickRecord], ahead_ms: i64) -> Audit {
        let ports = Ports {
            master,
            slave,
            slave_clock_ahead: Span(ahead_ms * 1_000_000),
        };
        audit(&ports, 100)
    }

    #[test]
    fn known_energies_add_up() {
        // In: 2 N held over 3 mm, then 1 N over 1 mm = 7 mJ. Out: 4 N over 1 mm = 4 mJ.
        let master = stream(
            Side::Master,
            &[
                (0, 0.0, 2.0),
                (1, 0.003, 1.0),
                (2, 0.004, 9.0),
                (9, 0.004, 0.0),
            ],
        );
        let slave = stream(
            Side::Slave,
            &[(0, 0.0, 0.0), (5, 0.001, 4.0), (9, 0.001, 3.0)],
        );
        let audit = judge(&master, &slave, 0);
        assert!((audit.energy_in_j[2] - 7e-3).abs() < 1e-15);
        assert!((audit.energy_out_j[2] - 4e-3).abs() < 1e-15);
        assert_eq!(audit.violations, 0);
        assert_eq!(audit.min_channel_energy_j, 0.0);
        assert_eq!(audit.instants, 5);
        let last = audit.trace.last().unwrap();
        assert!((last.in_j[2] - last.out_j[2] - 3e-3).abs() < 1e-15);
    }

    #[test]
    fn delivery_before_payment_is_a_violation() {
        let master = stream(
            Side::Master,
            &[(0, 0.0, 2.0), (6, 0.003, 2.0), (8, 0.003, 0.0)],
        );
        let slave = stream(
            Side::Slave,
            &[(0, 0.0, 0.0), (4, 0.001, 4.0), (8, 0.001, 0.0)],
        );
        let audit = judge(&master, &slave, 0);
        assert_eq!(audit.violations, 1);
        assert_eq!(audit.first_violation_ns, Some(4_000_000));
        assert!((audit.min_channel_energy_per_axis_j[2] + 4e-3).abs() < 1e-15);
        // The same slave on a clock 3 ms behind delivers after the payment.
        assert_eq!(judge(&master, &slave, -3).violations, 0);
    }

    #[test]
    fn one_axis_cannot_pay_for_another() {
        let mut master = stream(
            Side::Master,
            &[(0, 0.0, 2.0), (1, 0.003, 0.0), (2, 0.003, 0.0)],
        );
        let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (2, 0.001, 4.0)]);
        for record in &mut master {
            record.port_position_m.swap(0, 2);
            record.port_force_n.swap(0, 2);
        }
        let audit = judge(&master, &slave, 0);
        assert_eq!(audit.min_channel_energy_j, 0.0);
        assert_eq!(audit.violations, 1);
    }

    #[test]
    fn not_a_number_is_a_violation() {
        let master = stream(
            Side::Master,
            &[(0, 0.0, 1.0), (1, f64::NAN, 1.0), (2, 0.0, 0.0)],
        );
        let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (2, 0.0, 0.0)]);
        assert!(judge(&master, &slave, 0).violations > 0);
    }

    #[test]
    fn what_one_side_did_alone_at_the_end_is_left_out() {
        let master = stream(Side::Master, &[(0, 0.0, 0.0), (1, 0.0, 0.0)]);
        let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (1, 0.0, 0.0), (2, 1.0, 1.0)]);
        let audit = judge(&master, &slave, 0);
        assert_eq!(
            (audit.left_out, audit.violations, audit.instants),
            (1, 0, 2)
        );
        assert_eq!(judge(&master, &[], 0).instants, 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Second route: the sums by a plain loop over a pure delay line, which is passive.
        #[test]
        fn a_delay_line_is_passive_and_its_opposite_is_not(
            steps in prop::collection::vec((-1e-3..1e-3f64, 0.0..5.0f64), 3..60),
            delay in 1usize..5,
        ) {
            let (mut x, mut signals) = (0.0, Vec::new());
            for (k, &(dx, f)) in steps.iter().enumerate() {
                x += dx;
                // The handle pushes in the direction in which it will move: only energy in.
                let ahead = steps.get(k + 1).map_or(0.0, |n| n.0);
                signals.push((k as i64, x, f * ahead.signum()));
            }
            let master = stream(Side::Master, &signals);
            let mut out = vec![(0, signals[0].1, 0.0)];
            for k in 1..signals.len() {
                out.push(((k + delay) as i64, signals[k].1, signals[k - 1].2));
            }
            let mut slave = stream(Side::Slave, &out);
            let idle = TickRecord { now_ns: 1_000_000_000, tick: 99, ..*master.last().unwrap() };
            let rest = TickRecord { now_ns: 1_000_000_000, tick: 99, ..*slave.last().unwrap() };
            let master: Vec<_> = master.into_iter().chain([idle]).collect();
            slave.push(rest);
            let good = judge(&master, &slave, 0);
            prop_assert_eq!(good.violations, 0);
            let plain: f64 = (1..signals.len())
                .map(|k| signals[k - 1].2 * (signals[k].1 - signals[k - 1].1)).sum();
            prop_assert!((good.energy_in_j[2] - plain).abs() < 1e-12);
            prop_assert!((good.energy_out_j[2] - plain).abs() < 1e-12);
            if plain > 1e-6 {
                let early: Vec<_> = slave.iter()
                    .map(|r| TickRecord { now_ns: r.now_ns - 100_000_000, ..*r }).collect();
                prop_assert!(judge(&master, &early, 0).violations > 0);
            }
        }
    }
}
