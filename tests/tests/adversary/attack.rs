//! Run of a case: passivity of the channel, limits, and features.

use palpate_session::audit::{Audit, Auditor, TOLERANCE_J};
use palpate_session::lab::{TickRecords, VirtualSession};
use palpate_tests::least_energy_j;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span};

use super::case::{Case, Event, EventKind};

/// Number of feature bits of a run.
const FEATURES: usize = 1 << 16;

/// Largest displacement of a port that must not move \[m\].
const STILL_M: f64 = 1e-12;

/// Set of features of one run or of all.
#[derive(Clone)]
pub(crate) struct Features(Vec<u64>);

impl Default for Features {
    fn default() -> Self {
        Self(vec![0; FEATURES / 64])
    }
}

impl Features {
    fn see(&mut self, parts: &[u64]) {
        // FNV-1a is the same on every machine
        let hash = parts.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, part| {
            (hash ^ part).wrapping_mul(0x0100_0000_01b3)
        });
        let bit = (hash ^ (hash >> 32)) as usize % FEATURES;
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Adds the features of another run; returns the number of new ones.
    pub(crate) fn join(&mut self, other: &Self) -> u32 {
        let words = self.0.iter_mut().zip(&other.0);
        words
            .map(|(mine, theirs)| {
                let new = (theirs & !*mine).count_ones();
                *mine |= theirs;
                new
            })
            .sum()
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// Violation found by a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Violation {
    /// Negative channel energy, of an axis or in total \[J\].
    Passivity(f64),
    /// Force on the operator or the robot beyond its limit, or NaN \[N\].
    Force(f64),
    /// Displacement of the port while the robot must not move \[m\].
    Uncommanded(f64),
    /// Velocity of the port beyond its limit \[m/s\].
    Speed(f64),
    /// Number of edit batches after which the tissues at both ends differ although both applied them.
    Apart(u64),
}

/// Result of a case.
pub(crate) struct Outcome {
    pub(crate) violation: Option<Violation>,
    pub(crate) features: Features,
}

/// Runs a case; `fault` modifies arriving frames, if there is one.
pub(crate) fn attack(case: &Case, fault: Option<fn(&mut HapticFrame)>) -> Outcome {
    let config = case.config();
    let mut session = VirtualSession::new(&config).expect("a case is valid");
    if let Some(fault) = fault {
        session.inject_fault(fault);
    }
    let ticks = session.ticks();
    let mut features = Features::default();
    let mut watch = Watch::new(&config);
    // the auditor runs along with the session, so that an hour needs no more memory than a second
    let mut judge = Auditor::new(Span(i64::MAX), Span(0));
    let mut next = [None; 2];
    for tick in 0..ticks {
        for event in &case.events {
            if (event.at * ticks as f64) as u64 == tick {
                happen(event.what, &mut session, &mut watch);
            }
        }
        let mut step = session.step();
        // the auditor uses the true time of both sides, whatever their clocks show
        (step.master.now_ns, step.slave.now_ns) = (PERIOD.0 * tick as i64, PERIOD.0 * tick as i64);
        watch.look(&step);
        // features of every 8th tick for lasting states, and of every change of the guards
        watch.show(case, tick, &step, &mut features);
        // a paused side writes no record
        if next[0].replace(step.master.tick) != Some(step.master.tick) {
            judge.master(&step.master);
        }
        if next[1].replace(step.slave.tick) != Some(step.slave.tick) {
            judge.slave(&step.slave);
        }
    }
    let violation = watch.violation.or_else(|| active(&judge.finish()));
    let violation = violation.or_else(|| apart(case, watch.last.as_ref()?));
    Outcome {
        violation,
        features,
    }
}

fn happen(what: EventKind, session: &mut VirtualSession, watch: &mut Watch) {
    match what {
        EventKind::Restart(side) => {
            session.restart(side).expect("the scene is still there");
            watch.loose |= side == Side::Slave;
        }
        EventKind::Pause(side, missed) => session.miss_ticks(side, missed),
        EventKind::Hold(side, ticks) => session.halt_ticks(side, ticks),
        // configured before the session
        EventKind::Link(_) | EventKind::Retune(..) | EventKind::Switch(_) | EventKind::Grip(_) => {}
    }
}

fn active(verdict: &Audit) -> Option<Violation> {
    let least = least_energy_j(verdict);
    let broken = least.is_nan() || least < -TOLERANCE_J;
    (verdict.violations > 0 || broken).then_some(Violation::Passivity(least))
}

/// Returns a violation if both ends applied the same edit batches of one run and their tissues differ. A
/// restarted master has other batches than the tissue.
fn apart(case: &Case, last: &TickRecords) -> Option<Violation> {
    let anew = |event: &Event| event.what == EventKind::Restart(Side::Master);
    let same = !case.events.iter().any(anew) && last.slave.edit_batches == last.master.edit_batches;
    let reported = last.master.topology != 0 && last.slave.topology != 0;
    (same && reported && last.master.topology != last.slave.topology)
        .then_some(Violation::Apart(last.master.edit_batches))
}

/// Monitor of the limits.
struct Watch {
    hand_n_max: [f64; 4],
    robot_n_max: [f64; 4],
    speed_mps_max: [f64; 4],
    last: Option<TickRecords>,
    /// True if the port may jump to the robot: at the start of a run of the slave.
    loose: bool,
    events: [u32; 2],
    violation: Option<Violation>,
}

impl Watch {
    fn new(config: &palpate_session::config::Config) -> Self {
        Self {
            hand_n_max: config.master.guard.force_n_max,
            robot_n_max: config.slave.guard.force_n_max,
            speed_mps_max: config.slave.guard.velocity_mps_max,
            last: None,
            loose: true,
            events: [u32::MAX; 2],
            violation: None,
        }
    }

    fn look(&mut self, step: &TickRecords) {
        for axis in 0..4 {
            let (hand, robot) = (
                step.master.port_force_n[axis],
                step.slave.port_force_n[axis],
            );
            // NaN is beyond any limit
            let beyond =
                |force: f64, most: f64| force.is_nan() || force.abs() > most * (1.0 + 1e-12);
            if beyond(hand, self.hand_n_max[axis]) {
                self.violation.get_or_insert(Violation::Force(hand));
            }
            if beyond(robot, self.robot_n_max[axis]) {
                self.violation.get_or_insert(Violation::Force(robot));
            }
            let Some(last) = &self.last else { continue };
            if self.loose && step.slave.tick != last.slave.tick {
                continue;
            }
            let moved_m =
                (step.slave.port_position_m[axis] - last.slave.port_position_m[axis]).abs();
            let ticks = step.slave.tick.saturating_sub(last.slave.tick).clamp(1, 21) as f64;
            let fastest_m = self.speed_mps_max[axis] * ticks * PERIOD.s();
            if moved_m > fastest_m * (1.0 + 1e-9) + STILL_M {
                self.violation
                    .get_or_insert(Violation::Speed(moved_m / PERIOD.s() / ticks));
            }
            if step.slave.state != 1 && moved_m > STILL_M {
                self.violation
                    .get_or_insert(Violation::Uncommanded(moved_m));
            }
        }
        // a slave that is paused from the start has not written a record yet
        let ticked = self
            .last
            .as_ref()
            .is_some_and(|last| last.slave.tick != step.slave.tick);
        self.loose &= !ticked;
        self.last = Some(*step);
    }

    /// Records features: mode x events x link state x levels of the tank.
    fn show(&mut self, case: &Case, tick: u64, step: &TickRecords, features: &mut Features) {
        let sides = [&step.master, &step.slave];
        let events = sides.map(|record| record.events);
        if events == self.events && !tick.is_multiple_of(8) {
            return;
        }
        let setting =
            case.mode as u64 * 4 + case.matching as u64 + 64 * u64::from(case.codec.is_some());
        for (index, record) in sides.into_iter().enumerate() {
            let level_j = record.tank_j.iter().copied().fold(f64::INFINITY, f64::min);
            let link = age_bucket(record.age_ns) * 4 + u64::from(record.state);
            let at = [index as u64, setting, u64::from(events[index])];
            features.see(&[at[0], at[1], at[2], link, bucket(level_j)]);
            let before = u64::from(self.events[index]);
            features.see(&[7, at[0], at[1], before, at[2]]);
        }
        self.events = events;
    }
}

/// Returns the sign and the power of a thousand, from 1 pJ.
fn bucket(level_j: f64) -> u64 {
    let edges = [1e-12, 1e-9, 1e-6, 1e-3, 1.0];
    let size = edges.iter().filter(|edge| level_j.abs() >= **edge).count() as u64;
    size + if level_j < 0.0 { 8 } else { 0 }
}

fn age_bucket(age_ns: i64) -> u64 {
    let edges_ms = [0, 2, 20, 50, 100, 500, 1000];
    edges_ms
        .iter()
        .filter(|ms| age_ns >= **ms * 1_000_000)
        .count() as u64
}
