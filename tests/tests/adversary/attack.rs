//! Run a case: does the channel stay passive and every limit hold, and what was seen on the way?

use palpate_session::audit::{Audit, Auditor, TOLERANCE_J};
use palpate_session::lab::{Lockstep, Session};
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span};

use super::case::{Case, Event, What};

/// Bits of what a run can show.
const FEATURES: usize = 1 << 16;

/// Rounding of a motion that must be none \[m\].
const STILL_M: f64 = 1e-12;

/// Which features a run, or all of them, have shown.
#[derive(Clone)]
pub(crate) struct Features(Vec<u64>);

impl Default for Features {
    fn default() -> Self {
        Self(vec![0; FEATURES / 64])
    }
}

impl Features {
    fn see(&mut self, parts: &[u64]) {
        // FNV-1a: the same on every machine
        let hash = parts.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, part| {
            (hash ^ part).wrapping_mul(0x0100_0000_01b3)
        });
        let bit = (hash ^ (hash >> 32)) as usize % FEATURES;
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Add those of another; how many were new.
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

/// What was broken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Broken {
    /// Less energy than none in the channel, of an axis or all \[J\].
    Passivity(f64),
    /// A force on the hand or the robot beyond its limit, or not a number \[N\].
    Force(f64),
    /// The port moved while the robot was not to move \[m\].
    Uncommanded(f64),
    /// The port moved faster than its limit \[m/s\].
    Speed(f64),
    /// Both tissues did the same strokes of one run, and are open otherwise: how many strokes.
    Apart(u64),
}

/// What came of a case.
pub(crate) struct Outcome {
    pub(crate) broken: Option<Broken>,
    pub(crate) features: Features,
}

/// Run a case; `fault` spoils arriving frames, if there is one.
pub(crate) fn attack(case: &Case, fault: Option<fn(&mut HapticFrame)>) -> Outcome {
    let config = case.config();
    let mut session = Session::new(&config).expect("a case is valid");
    if let Some(fault) = fault {
        session.plant(fault);
    }
    let ticks = session.ticks();
    let mut features = Features::default();
    let mut watch = Watch::new(&config);
    // the judge is fed as the session runs, so that an hour costs no more memory than a second
    let mut judge = Auditor::new(Span(i64::MAX), Span(0));
    let mut next = [None; 2];
    for tick in 0..ticks {
        for event in &case.events {
            if (event.at * ticks as f64) as u64 == tick {
                happen(event.what, &mut session, &mut watch);
            }
        }
        let mut step = session.step();
        // the judge knows the true time of both sides, whatever their clocks showed
        (step.master.now_ns, step.slave.now_ns) = (PERIOD.0 * tick as i64, PERIOD.0 * tick as i64);
        watch.look(&step);
        // every 8th tick, for what lasts; and every change of what the guards did
        watch.show(case, tick, &step, &mut features);
        // a side that pauses writes nothing
        if next[0].replace(step.master.tick) != Some(step.master.tick) {
            judge.master(&step.master);
        }
        if next[1].replace(step.slave.tick) != Some(step.slave.tick) {
            judge.slave(&step.slave);
        }
    }
    let broken = watch.broken.or_else(|| active(&judge.finish()));
    let broken = broken.or_else(|| apart(case, watch.last.as_ref()?));
    Outcome { broken, features }
}

fn happen(what: What, session: &mut Session, watch: &mut Watch) {
    match what {
        What::Restart(side) => {
            session.restart(side).expect("the scene is still there");
            watch.loose |= side == Side::Slave;
        }
        What::Pause(side, missed) => session.pause(side, missed),
        What::Hold(side, ticks) => session.hold(side, ticks),
        // these are in the configuration
        What::Link(_) | What::Retune(..) | What::Switch(_) | What::Grip(_) => {}
    }
}

fn active(verdict: &Audit) -> Option<Broken> {
    let axes = verdict.min_channel_energy_per_axis_j.iter().copied();
    let least = axes.fold(verdict.min_channel_energy_j, f64::min);
    (verdict.violations > 0 || least < -TOLERANCE_J).then_some(Broken::Passivity(least))
}

/// Whether strokes that were done at both ends made other tissues of them; a master that began anew has other
/// strokes than the tissue's.
fn apart(case: &Case, last: &Lockstep) -> Option<Broken> {
    let anew = |event: &Event| event.what == What::Restart(Side::Master);
    let same = !case.events.iter().any(anew) && last.slave.strokes == last.master.strokes;
    let told = last.master.topology != 0 && last.slave.topology != 0;
    (same && told && last.master.topology != last.slave.topology)
        .then_some(Broken::Apart(last.master.strokes))
}

/// Looks after the limits.
struct Watch {
    hand_n_max: [f64; 4],
    robot_n_max: [f64; 4],
    speed_mps_max: [f64; 4],
    last: Option<Lockstep>,
    /// Whether the port may be put to where the robot is: a run of the slave begins.
    loose: bool,
    events: [u32; 2],
    broken: Option<Broken>,
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
            broken: None,
        }
    }

    fn look(&mut self, step: &Lockstep) {
        for axis in 0..4 {
            let (hand, robot) = (
                step.master.port_force_n[axis],
                step.slave.port_force_n[axis],
            );
            // not a number is beyond any limit
            let beyond =
                |force: f64, most: f64| force.is_nan() || force.abs() > most * (1.0 + 1e-12);
            if beyond(hand, self.hand_n_max[axis]) {
                self.broken.get_or_insert(Broken::Force(hand));
            }
            if beyond(robot, self.robot_n_max[axis]) {
                self.broken.get_or_insert(Broken::Force(robot));
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
                self.broken
                    .get_or_insert(Broken::Speed(moved_m / PERIOD.s() / ticks));
            }
            if step.slave.state != 1 && moved_m > STILL_M {
                self.broken.get_or_insert(Broken::Uncommanded(moved_m));
            }
        }
        // a slave that is paused from the start has written nothing yet
        let ticked = self
            .last
            .as_ref()
            .is_some_and(|last| last.slave.tick != step.slave.tick);
        self.loose &= !ticked;
        self.last = Some(*step);
    }

    /// Mode x events x link state x levels of the account.
    fn show(&mut self, case: &Case, tick: u64, step: &Lockstep, features: &mut Features) {
        let sides = [&step.master, &step.slave];
        let events = sides.map(|record| record.events);
        if events == self.events && !tick.is_multiple_of(8) {
            return;
        }
        let setting =
            case.mode as u64 * 4 + case.matching as u64 + 64 * u64::from(case.codec.is_some());
        for (index, record) in sides.into_iter().enumerate() {
            let level_j = record
                .reservoir_j
                .iter()
                .copied()
                .fold(f64::INFINITY, f64::min);
            let link = age_bucket(record.age_ns) * 4 + u64::from(record.state);
            let at = [index as u64, setting, u64::from(events[index])];
            features.see(&[at[0], at[1], at[2], link, bucket(level_j)]);
            let before = u64::from(self.events[index]);
            features.see(&[7, at[0], at[1], before, at[2]]);
        }
        self.events = events;
    }
}

/// Sign and power of a thousand, from 1 pJ.
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
