//! What this machine can do: the bus beside raw UDP, the servo's wake-up beside a bare timer, the
//! cost of a tick, the block test of the tissue beside what the memory allows, ticks of linked volumes, the condensed
//! predictor, and how long a start takes.
//!
//! On a shared machine a number alone says little, so every number has its neighbour from the same
//! run, and a witness says when the machine took the CPU away (transport section 10). Nothing here
//! is gated on a maximum; what is wanted stands beside it as a [`Goal`].

pub mod bus;
pub mod goal;
pub mod layers;
pub mod linked;
pub mod load;
pub mod peers;
pub mod predictor;
pub mod roofline;
pub mod start;
pub mod ticks;
pub mod timer;
pub mod tissue;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_bus::SessionError;
use palpate_fem::explicit::ExplicitError;
use palpate_scene::{BlockError, SceneError, TableError};
use palpate_transport::clock::{Clock as _, MonotonicClock, Ticker};
use palpate_transport::{Span, Time};
use serde::{Deserialize, Serialize};

use palpate_session::config::ConfigError;
use palpate_session::stat::spans::{Measurement, Stats};

pub use bus::{BusComparison, EchoArgs, echo};
pub use goal::Goal;
pub use linked::LinkedReport;
pub use predictor::PredictorReport;
pub use start::StartReport;
pub use timer::TimerReport;
pub use tissue::TissueReport;

/// Period of every measurement: that of the servo, 1 kHz.
const PERIOD: Span = Span(1_000_000);

/// How long to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchOptions {
    /// Round trips of each kind in each condition, one a millisecond.
    pub rounds: u32,
    /// Ticks of the timer in each condition, one a millisecond.
    pub ticks: u32,
    /// SCHED_FIFO priority of the servo, 1 to 98; zenoh's threads have 79.
    pub priority: u8,
    /// First argument that makes this binary call [`echo`].
    pub echo_command: String,
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self {
            rounds: 5000,
            ticks: 5000,
            priority: 80,
            echo_command: "bench-echo".to_owned(),
        }
    }
}

/// What can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// the bus beside raw UDP
    Bus,
    /// the servo's wake-up beside a bare timer
    Timer,
    /// both sides' ticks in a session
    Ticks,
    /// the block test of the tissue, and layers with a nodule
    Tissue,
    /// ticks of linked volumes: presses, pokes and instruments
    Linked,
    /// the condensed predictor: its table of 30 000 nodes, and its answers
    Predictor,
    /// from the start of a process to the first tick of its twin
    Start,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Bus,
        Self::Timer,
        Self::Ticks,
        Self::Tissue,
        Self::Linked,
        Self::Predictor,
        Self::Start,
    ];
}

/// Everything measured; `bench.json` is this. What was not asked for is null, or empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BenchReport {
    /// The bus, quiet and with every core busy.
    pub bus: Option<Conditions<BusComparison>>,
    /// The servo's wake-up, quiet and with every core busy.
    pub timer: Option<Conditions<TimerReport>>,
    /// Costs in the thread's own CPU time; the caller adds its ticks here.
    pub costs: Vec<Measurement>,
    /// The block test, and layers with a nodule.
    pub tissue: Option<TissueReport>,
    /// Linked volumes.
    #[serde(default)]
    pub linked: Option<LinkedReport>,
    /// The condensed predictor.
    #[serde(default)]
    pub predictor: Option<PredictorReport>,
    /// The start of a process.
    #[serde(default)]
    pub start: Option<StartReport>,
}

/// One thing measured under two conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conditions<T> {
    /// Nothing else to do.
    pub quiet: T,
    /// A busy loop for every core.
    pub busy: T,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// An option cannot be used.
    #[error("bench {field} is {found}; expected {expected}")]
    Option {
        /// Field of [`BenchOptions`].
        field: &'static str,
        /// Value found.
        found: u32,
        /// What would be right.
        expected: &'static str,
    },
    /// The bus failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A socket, a pipe or a process failed.
    #[error("bench, {action}: {source}")]
    System {
        /// What was being done.
        action: &'static str,
        /// As the system says it.
        source: std::io::Error,
    },
    /// The echoing process did not get ready.
    #[error("bench: the echoing process did not get ready; it said {said:?}")]
    Echo {
        /// First line of its output.
        said: String,
    },
    /// A process whose start is timed did not tick, or ended badly.
    #[error(
        "bench: the process that was started said {said:?} and ended with {status}; expected \"ticked\" and 0"
    )]
    Start {
        /// First line of its output.
        said: String,
        /// How it ended.
        status: String,
    },
    /// The scene of the block test cannot be used.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A mesh of the block test cannot be made.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The solver refuses a mesh of the block test.
    #[error(transparent)]
    Explicit(#[from] ExplicitError),
    /// Linked volumes cannot be measured.
    #[error(transparent)]
    Linked(#[from] linked::LinkedBenchError),
    /// The predictor's block cannot be condensed.
    #[error(transparent)]
    Predictor(#[from] predictor::PredictorError),
    /// The twin's scene has no table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The session whose ticks are measured cannot be made.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It was asked to end before its time.
    #[error("bench: interrupted")]
    Stopped,
    /// Too few answers to say anything.
    #[error("bench {what}: only {found} samples of {expected}")]
    Samples {
        /// What was measured.
        what: &'static str,
        /// Samples there are.
        found: usize,
        /// Samples there should be.
        expected: u32,
    },
}

impl BenchError {
    fn system(action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::System { action, source }
    }
}

/// Measure these parts, unless `stop` is set before they end. The caller adds the cost of its ticks to
/// the report.
///
/// # Errors
/// [`BenchError`] when a process, socket or session fails, answers are missing, or it was stopped.
pub fn run(
    options: &BenchOptions,
    parts: &[Part],
    stop: &Arc<AtomicBool>,
) -> Result<BenchReport, BenchError> {
    check(options)?;
    let when = |part| parts.contains(&part).then_some(());
    Ok(BenchReport {
        bus: when(Part::Bus)
            .map(|()| bus::bus(options, stop))
            .transpose()?,
        timer: when(Part::Timer)
            .map(|()| timer::timer(options, stop))
            .transpose()?,
        costs: Vec::new(),
        tissue: when(Part::Tissue)
            .map(|()| tissue::tissue(stop))
            .transpose()?,
        linked: when(Part::Linked)
            .map(|()| linked::linked(stop))
            .transpose()?,
        predictor: when(Part::Predictor)
            .map(|()| predictor::predictor(stop))
            .transpose()?,
        start: when(Part::Start).map(|()| start::start(stop)).transpose()?,
    })
}

/// Whether there is more to do.
fn go_on(stop: &AtomicBool) -> Result<(), BenchError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(BenchError::Stopped),
        false => Ok(()),
    }
}

fn check(options: &BenchOptions) -> Result<(), BenchError> {
    for (field, found) in [("rounds", options.rounds), ("ticks", options.ticks)] {
        if !(100..=600_000).contains(&found) {
            return Err(BenchError::Option {
                field,
                found,
                expected: "100 to 600000",
            });
        }
    }
    if !(10..=98).contains(&options.priority) {
        let found = u32::from(options.priority);
        return Err(BenchError::Option {
            field: "priority",
            found,
            expected: "10 to 98",
        });
    }
    Ok(())
}

impl BenchReport {
    /// Everything that is wanted of what was measured.
    pub fn goals(&self) -> impl Iterator<Item = &Goal> {
        let bus = self.bus.iter().flat_map(|bus| [&bus.quiet, &bus.busy]);
        let bus = bus.flat_map(|condition| &condition.goals);
        let tissue = self.tissue.iter().flat_map(TissueReport::goals);
        let predictor = self.predictor.iter().flat_map(|part| &part.goals);
        let start = self.start.iter().flat_map(|part| &part.goals);
        let linked = self.linked.iter().flat_map(|part| &part.goals);
        let tissue = tissue.chain(linked);
        bus.chain(tissue).chain(predictor).chain(start)
    }

    /// As a table for people; times in microseconds.
    #[must_use]
    pub fn table(&self) -> String {
        let mut rows = Vec::new();
        if self.bus.is_some() || self.timer.is_some() || !self.costs.is_empty() {
            rows.push(format!(
                "{:<34}{:>9}{:>9}{:>9}{:>10}{:>8}",
                "us", "p50", "p90", "p99", "max", "lost"
            ));
        }
        if let Some(bus) = &self.bus {
            rows.extend(bus_rows("quiet", &bus.quiet));
            rows.extend(bus_rows("busy", &bus.busy));
            for (condition, of) in [("quiet", &bus.quiet), ("busy", &bus.busy)] {
                let lines = goal::lines(&format!("bus, {condition}"), &of.goals);
                rows.push(lines.trim_end().to_owned());
            }
        }
        if let Some(timer) = &self.timer {
            rows.extend(timer_rows("quiet", &timer.quiet));
            rows.extend(timer_rows("busy", &timer.busy));
        }
        for cost in &self.costs {
            rows.push(row(&format!("{}, own CPU", cost.name), &cost.stats, 0));
        }
        let refused = self.bus.as_ref().is_some_and(|bus| !bus.quiet.fifo)
            || self.timer.as_ref().is_some_and(|timer| !timer.quiet.fifo);
        if refused {
            rows.push("SCHED_FIFO was refused: see `palpate doctor`.".to_owned());
        }
        rows.extend(self.tissue.as_ref().map(TissueReport::table));
        rows.extend(self.linked.as_ref().map(LinkedReport::table));
        rows.extend(self.predictor.as_ref().map(PredictorReport::table));
        rows.extend(self.start.as_ref().map(StartReport::table));
        rows.join("\n").trim_end().to_owned()
    }
}

fn bus_rows(condition: &str, bus: &BusComparison) -> [String; 3] {
    [
        row(
            &format!("raw UDP round trip, {condition}"),
            &bus.raw,
            bus.raw_lost,
        ),
        row(
            &format!("bus round trip, {condition}"),
            &bus.zenoh,
            bus.zenoh_lost,
        ),
        format!(
            "{:<34}{:>9.2}{:>9}{:>9.2}",
            "  ratio", bus.ratio_p50, "", bus.ratio_p99
        ),
    ]
}

fn timer_rows(condition: &str, timer: &TimerReport) -> [String; 3] {
    [
        row(&format!("servo wake-up, {condition}"), &timer.servo, 0),
        row(&format!("bare timer, {condition}"), &timer.bare, 0),
        format!(
            "  stolen, as the witness saw it: {} gaps, longest {:.0} us, {:.2} ms in all; \
             {} of {} late ticks beside a gap",
            timer.witness.gaps,
            timer.witness.gap_us_max,
            timer.witness.stolen_ms,
            timer.late_explained,
            timer.late_ticks,
        ),
    ]
}

fn now() -> Time {
    MonotonicClock.now()
}

/// Sleep until `time`, no spinning; returns at once if it has passed.
fn sleep_until(time: Time) {
    let _ = Ticker::new(time, PERIOD, Span(0)).wait();
}

fn row(name: &str, stats: &Stats, lost: u32) -> String {
    format!(
        "{name:<34}{:>9.1}{:>9.1}{:>9.1}{:>10.1}{lost:>8}",
        stats.us_p50, stats.us_p90, stats.us_p99, stats.us_max
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_the_bus_had_no_goal_that_it_could_miss() {
        let trips = |us: [f64; 2]| Stats {
            us_p50: us[0],
            us_p99: us[1],
            ..Stats::default()
        };
        let compared = |zenoh| BusComparison::of(trips([20.0, 50.0]), trips(zenoh), [0, 1], true);
        let mut report = BenchReport {
            bus: Some(Conditions {
                quiet: compared([50.0, 150.0]),
                busy: compared([50.0, 150.0]),
            }),
            ..BenchReport::default()
        };
        assert_eq!(report.goals().count(), 4);
        assert!(report.goals().all(|goal| goal.held), "{}", report.table());
        if let Some(bus) = &mut report.bus {
            bus.busy = compared([51.0, 151.0]);
        }
        let missed: Vec<&str> = report
            .goals()
            .filter(|goal| !goal.held)
            .map(|goal| &*goal.name)
            .collect();
        assert_eq!(missed, ["over raw UDP, p50", "over raw UDP, p99"]);
        assert!(report.table().contains("bus, busy: over raw UDP, p50"));
        // a recording of before the goals is read
        let mut old = serde_json::to_value(&report).expect("writable");
        for condition in ["quiet", "busy"] {
            let fields = old["bus"][condition].as_object_mut().expect("fields");
            fields.remove("goals");
        }
        let old: BenchReport = serde_json::from_value(old).expect("readable");
        assert_eq!(old.goals().count(), 0);
    }

    #[test]
    fn options_out_of_range_are_named() {
        let named = |options: BenchOptions| match run(&options, &[], &Arc::default()) {
            Err(BenchError::Option { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            named(BenchOptions {
                rounds: 0,
                ..BenchOptions::default()
            }),
            "rounds"
        );
        assert_eq!(
            named(BenchOptions {
                ticks: 1,
                ..BenchOptions::default()
            }),
            "ticks"
        );
        assert_eq!(
            named(BenchOptions {
                priority: 99,
                ..BenchOptions::default()
            }),
            "priority"
        );
    }
}
