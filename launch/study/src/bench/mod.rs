//! Benchmarks of this machine: the bus beside raw UDP, the servo's wake-up beside a bare timer, the
//! cost of a tick, the block test of the tissue beside the limits of the memory, presses beside an outside engine, ticks of voxel models, the condensed
//! predictor, and the time to the first tick.
//!
//! On a shared machine a number alone is no evidence, so every number has a reference from the same
//! run, and a load monitor reports when the machine took the CPU away (transport section 10). No maximum is
//! a gate; goals stand beside the results as [`BenchGoal`].

mod bus;
mod cpu_load;
pub mod goal;
mod layers;
mod outside;
mod peers;
mod predictor;
mod roofline;
pub mod start;
mod ticks;
mod timer;
mod tissue;
mod voxel;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use palpate_analysis::Failure;
use palpate_session::config::Config;
use palpate_session::stat::spans::DurationStats;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, Ticker};
use palpate_transport::{Span, Time};
use palpate_twin::{Instrument, Tool, Vec3};
use serde::Serialize;

use crate::abort::{Abort, refusal};

pub(crate) use bus::{BusComparison, ROUNDS, bus};
pub use bus::{EchoArgs, echo};
pub(crate) use goal::BenchGoal;
use predictor::PredictorReport;
use start::StartReport;
use timer::TimerReport;
use tissue::TissueReport;
pub(crate) use voxel::VoxelBenchReport;

/// SCHED_FIFO priority of the servo; zenoh's threads have one less.
const PRIORITY: u8 = 80;

/// Parts that can be measured separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BenchPart {
    /// the bus beside raw UDP
    Bus,
    /// the servo's wake-up beside a bare timer
    Timer,
    /// both sides' ticks in a session
    Ticks,
    /// the block test of the tissue, layers with a nodule, and presses beside an outside engine
    Tissue,
    /// ticks of voxel models: deep presses, light touches and instruments
    Linked,
    /// the condensed predictor: its table of 30 000 nodes, and its answers
    Predictor,
    /// from the start of a process to the first tick of its twin
    Start,
}

/// Cost of an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// Name of the operation.
    pub name: String,
    /// Own CPU time of one call.
    pub stats: DurationStats,
}

/// All results; the content of `bench.json`. A part that was not requested is null, or empty.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct BenchReport {
    /// The bus, quiet and with every core busy.
    pub bus: Option<LoadConditions<BusComparison>>,
    /// The servo's wake-up, quiet and with every core busy.
    pub timer: Option<LoadConditions<TimerReport>>,
    /// Costs in the thread's own CPU time.
    pub costs: Vec<Measurement>,
    /// The block test, and layers with a nodule.
    pub tissue: Option<TissueReport>,
    /// Ticks of voxel models.
    pub linked: Option<VoxelBenchReport>,
    /// The condensed predictor.
    pub predictor: Option<PredictorReport>,
    /// Time from the start of a process to its first tick.
    pub start: Option<StartReport>,
}

/// Result under two load conditions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadConditions<T> {
    /// Without other load.
    pub quiet: T,
    /// With a busy loop on every core.
    pub busy: T,
}

/// Failure of a system call during an action.
fn system(action: &str) -> impl FnOnce(std::io::Error) -> Failure {
    move |source| refusal(format!("bench, {action}: {source}"))
}

/// Failure for too few samples.
fn few(what: &str, found: usize, expected: u32) -> Failure {
    refusal(format!("bench {what}: only {found} samples of {expected}"))
}

/// Starts this binary once more, and waits for the first line of its output.
fn start_self(command: &mut Command) -> Result<(Child, String), Failure> {
    let spawned = command.stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(system("start a process"))?;
    let mut first_line = String::new();
    if let Some(output) = child.stdout.take() {
        // a process that dies closes the pipe, which ends the reading
        let read = BufReader::new(output).read_line(&mut first_line);
        read.map_err(system("read from the process"))?;
    }
    Ok((child, first_line.trim().to_owned()))
}

/// Command that starts this binary.
fn own_command() -> Result<Command, Failure> {
    let binary = std::env::current_exe().map_err(system("find the own binary"))?;
    Ok(Command::new(binary))
}

impl BenchReport {
    /// Adds one part, unless `stop` is set before it ends; the part `ticks` runs a session of `config`.
    ///
    /// # Errors
    /// A process, socket or session fails, or answers are missing.
    pub fn measure(
        &mut self,
        part: BenchPart,
        config: &Config,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), Abort> {
        match part {
            BenchPart::Bus => self.bus = Some(bus(stop)?),
            BenchPart::Timer => self.timer = Some(timer::timer(stop)?),
            BenchPart::Ticks => self.costs = ticks::ticks(config, stop)?,
            BenchPart::Tissue => self.tissue = Some(tissue::tissue(stop)?),
            BenchPart::Linked => self.linked = Some(voxel::measure_voxel(stop)?),
            BenchPart::Predictor => self.predictor = Some(predictor::predictor(stop)?),
            BenchPart::Start => self.start = Some(start::start(stop)?),
        }
        Ok(())
    }

    /// All goals of the measured parts.
    pub fn goals(&self) -> impl Iterator<Item = &BenchGoal> {
        let bus = self.bus.iter().flat_map(|bus| [&bus.quiet, &bus.busy]);
        let bus = bus.flat_map(|condition| &condition.goals);
        let tissue = self.tissue.iter().flat_map(TissueReport::goals);
        let predictor = self.predictor.iter().flat_map(|part| &part.goals);
        let start = self.start.iter().flat_map(|part| &part.goals);
        let linked = self.linked.iter().flat_map(|part| &part.goals);
        let tissue = tissue.chain(linked);
        bus.chain(tissue).chain(predictor).chain(start)
    }

    /// Formats the results as a table; times in microseconds.
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
        rows.extend(self.linked.as_ref().map(VoxelBenchReport::table));
        rows.extend(self.predictor.as_ref().map(PredictorReport::table));
        rows.extend(self.start.as_ref().map(StartReport::table));
        rows.join("\n").trim_end().to_owned()
    }
}

fn bus_rows(condition: &str, bus: &BusComparison) -> [String; 5] {
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
        row(
            &format!("sealed round trip, {condition}"),
            &bus.sealed,
            bus.sealed_lost,
        ),
        format!("{:<34}{:>9.2}", "  ratio to plain", bus.sealed_ratio_p50),
    ]
}

fn timer_rows(condition: &str, timer: &TimerReport) -> [String; 3] {
    [
        row(&format!("servo wake-up, {condition}"), &timer.servo, 0),
        row(&format!("bare timer, {condition}"), &timer.bare, 0),
        format!(
            "  stolen, as the load monitor saw it: {} gaps, longest {:.0} us, {:.2} ms in all; \
             {} of {} late ticks beside a gap",
            timer.witness.gaps,
            timer.witness.gap_us_max,
            timer.witness.stolen_ms,
            timer.late_explained,
            timer.late_ticks,
        ),
    ]
}

/// Ball of 5 mm at `x_m` on a block whose top is at z = 0, at a depth \[m\].
fn ball(x_m: f64, depth_m: f64) -> Tool {
    let radius_m = 5e-3;
    Tool {
        position_m: Vec3::new(x_m, 0.0, radius_m - depth_m),
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 300.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    }
}

fn now() -> Time {
    MonotonicClock.now()
}

/// Sleeps until `time` without spinning; returns at once if it has passed.
fn sleep_until(time: Time) {
    let _ = Ticker::new(time, PERIOD, Span(0)).wait();
}

fn row(name: &str, stats: &DurationStats, lost: u32) -> String {
    format!(
        "{name:<34}{:>9.1}{:>9.1}{:>9.1}{:>10.1}{lost:>8}",
        stats.us_p50, stats.us_p90, stats.us_p99, stats.us_max
    )
}

#[cfg(test)]
mod tests {
    use super::bus::Trips;
    use super::*;

    #[test]
    fn issue_bus_had_no_goal_to_miss() {
        let trips = |us: [f64; 2], lost| Trips {
            stats: DurationStats {
                us_p50: us[0],
                us_p99: us[1],
                ..DurationStats::default()
            },
            lost,
        };
        let compared = |zenoh: [f64; 2]| {
            let (plain, sealed) = (trips(zenoh, 1), trips(zenoh, 0));
            BusComparison::of(trips([20.0, 50.0], 0), plain, sealed, true)
        };
        let mut report = BenchReport {
            bus: Some(LoadConditions {
                quiet: compared([50.0, 150.0]),
                busy: compared([50.0, 150.0]),
            }),
            ..BenchReport::default()
        };
        assert_eq!(report.goals().count(), 6);
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
    }
}
