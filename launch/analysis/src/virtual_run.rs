//! Sessions in virtual time, run to their end, recorded and judged while they run.
//!
//! Source: ours.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_master::predict::TwinPredictor;
use palpate_master::predict::hunt_crossley::ContactEstimate;
use palpate_session::audit::{Audit, Auditor};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::{Reconstruction, VirtualSession, WIRE_BYTES};
use palpate_session::record::{self, RECORDING, RecordingFile};
use palpate_session::replay::bitwise;
use palpate_session::stat;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, thread_cpu_now};
use palpate_transport::coupling::{ImpedanceMatching, Mode};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{EditBatch, Span};
use palpate_twin::edits::{EditBatchLog, LinkCounts};

use super::conclusion::{self, Conclusion, Evidence};
use super::progress::{NoProgress, Progress};
use super::{Failure, truth};
use crate::closed_form;
use crate::metrics::{DirectionCounts, NetworkFrameCounts, SessionFacts, Site, Tally};
use crate::output::refused;
use crate::rehearsal::{RehearsalResult, RehearsalWatch};
use crate::report::ModeComparison;
use crate::summary::{ContactLaw, ServoSummary};

/// Ticks between two updates of the progress bar and checks of Ctrl-C.
const POLL_TICKS: u64 = 1000;

/// Ticks from the start whose records are kept in memory: five minutes. A longer session is recorded and judged as a
/// whole, and measured over these.
pub const MEMORY_TICKS: u64 = 300_000;

/// A session that ran in virtual time.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualRun {
    /// Records of the operator's side, at most the first five minutes.
    pub master: Vec<TickRecord>,
    /// Records of the remote side, with times on the master's clock; the same number.
    pub slave: Vec<TickRecord>,
    /// Audit over all ticks.
    pub audit: Audit,
    /// Counts over all ticks.
    pub tally: Tally,
    /// Ticks that ran.
    pub ticks: u64,
    /// Hash of all port traces.
    pub trace_hash: String,
    /// Frames as the network counted them.
    pub frames: NetworkFrameCounts,
    /// Tick of every frame sent from the master and from the slave; empty if every tick sends one.
    pub sent_ticks: [Vec<u64>; 2],
    /// Reconstruction quality of each stream, if a codec is on: the master's, the slave's.
    pub reconstruction: [Option<Reconstruction>; 2],
    /// Contact law of the remote tissue, if the master has estimated it.
    pub contact: Option<ContactEstimate>,
    /// Result of the operator's script, if it has steps.
    pub rehearsal: Option<RehearsalResult>,
    /// Links that instruments have cut, and joined, if they can edit the twin.
    pub links: Option<LinkCounts>,
    /// Number of recorded edit batches.
    pub edit_batches: u64,
    /// Real time of the run.
    pub took: Span,
    /// CPU time of the run.
    pub cpu: Span,
}

impl VirtualRun {
    /// Returns the evidence of the run, without a comparison and without remarks.
    #[must_use]
    pub fn evidence<'a>(&'a self, config: &'a Config, facts: &'a SessionFacts) -> Evidence<'a> {
        Evidence {
            full_verdict: Some((&self.audit, &self.tally)),
            ..Evidence::new(config, facts, &self.master, &self.slave)
        }
    }
}

/// Runs the same session coupled by waves, if a comparison is wanted; `sites` are those of the session. None if `stop`
/// is set before its end.
///
/// # Errors
/// [`Failure`] if a scene cannot be used.
pub fn wave_comparison(
    config: &Config,
    sites: &[Site],
    stop: &AtomicBool,
) -> Result<Option<ModeComparison>, Failure> {
    if !conclusion::wants_comparison(config) || stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let mut config = config.clone();
    config.coupling.mode = Mode::Wave;
    let session = VirtualSession::new(&config)?;
    let run = play(session, None, &NoProgress, stop, |_| Ok(()))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let facts = facts(&config, &run, sites.to_vec(), true)?;
    let evidence = run.evidence(&config, &facts);
    let rtt_ms = config.link.forward.oneway_ms + config.link.back.oneway_ms;
    Ok(Some(ModeComparison {
        name: format!("wave at {rtt_ms} ms"),
        contact: conclusion::measure(&evidence).0.contact,
        slow_npm: slow_press_npm(&config, &facts.sites),
    }))
}

/// Stiffness that a slow press through waves displays beside the lump \[N/m\]. The line is a spring of 2 b / round
/// trip in series with the slave's controller and the tissue (teleop E3). The closed form holds for a line whose
/// master end is not matched.
fn slow_press_npm(config: &Config, sites: &[Site]) -> Option<f64> {
    let rtt_s = (config.link.forward.oneway_ms + config.link.back.oneway_ms) * 1e-3;
    let beside = sites.iter().filter(|site| !site.over_lump);
    let known: Vec<f64> = beside.filter_map(|site| site.true_npm).collect();
    let tissue_npm = stat::mean(&known)?;
    let (slave_npm, b_nspm) = (
        config.slave.stiffness_npm[2],
        config.coupling.impedance_nspm * config.coupling.impedance_ratio[2],
    );
    let displayed_npm = closed_form::displayed_npm(tissue_npm, slave_npm, b_nspm, rtt_s);
    (config.coupling.matching != ImpedanceMatching::Both).then_some(displayed_npm)
}

/// Returns the facts of a virtual session beside its records; `timed` also times steps of the twin on this machine.
///
/// # Errors
/// [`ConfigError`] if the twin is a scene that cannot be used.
pub fn facts(
    config: &Config,
    run: &VirtualRun,
    sites: Vec<Site>,
    timed: bool,
) -> Result<SessionFacts, ConfigError> {
    let truth = truth::delays(&run.master, &run.slave, &run.sent_ticks);
    // a tool that cuts is not timed by one that only presses
    let timed = timed && run.rehearsal.is_none();
    let touched: &[TickRecord] = if timed { &run.master } else { &[] };
    let mut facts = SessionFacts {
        oneway: [&truth.slave_ns, &truth.master_ns].map(|delays| truth::median(delays)),
        sites,
        frames: Some(run.frames),
        reconstruction: run.reconstruction,
        frame_bytes: Some(WIRE_BYTES as u64),
        oneway_truth: Some(truth),
        rehearsal: run.rehearsal.clone(),
        ..SessionFacts::of(config, "lab")
    };
    let prefilled = &mut facts.prefilled;
    prefilled.trace_hash = Some(run.trace_hash.clone());
    // virtual time is never late, and the session itself feeds the auditor
    prefilled.servo = ServoSummary::punctual();
    prefilled.twin = truth::twin_summary(config, touched)?;
    prefilled.twin.contact = run.contact.map(ContactLaw::from);
    prefilled.topology = prefilled.topology.clone().with_links(run.links);
    Ok(facts)
}

fn frames(session: &VirtualSession) -> NetworkFrameCounts {
    let stats = session.link_stats();
    NetworkFrameCounts {
        streams: stats.map(|link| DirectionCounts {
            sent: link.offered,
            arrived: link.delivered,
        }),
        bytes: stats.iter().map(|link| link.offered_bytes).sum(),
    }
}

/// Writer of the recording, used while the session runs.
pub struct RecordingWriter {
    path: PathBuf,
    file: RecordingFile,
}

impl RecordingWriter {
    /// Begins the recording of a command with these sides, `recording.mcap` in its folder.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the file cannot be written.
    pub fn create(
        folder: &Path,
        config: &Config,
        command: &str,
        sides: &[Side],
    ) -> Result<Self, Failure> {
        let path = folder.join(RECORDING);
        let session = record::RecordingHeader {
            sides: sides.to_vec(),
            config: config.to_toml(),
            epoch_ns: config.clock.epoch_ns(),
            begun_ns: 0,
            facts: [(bitwise::COMMAND.to_owned(), command.to_owned())].into(),
        };
        let file = RecordingFile::create(&path, &session);
        Ok(Self {
            file: file.map_err(|error| refused(&path, &error))?,
            path,
        })
    }

    /// Writes one tick, or one edit batch.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the file cannot be written.
    pub fn push(&mut self, entry: SessionEvent<'_>) -> Result<(), Failure> {
        let recorder = self.file.recorder();
        let pushed = match entry {
            SessionEvent::Tick(record) => recorder.push(record),
            SessionEvent::EditBatch(made_ns, batch) => recorder.push_edit_batch(made_ns, batch),
        };
        pushed.map_err(|error| refused(&self.path, &error))
    }

    /// Writes the summary, without measured times, and the end of the file.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the file cannot be written.
    pub fn finish(self, concluded: &Conclusion) -> Result<(), Failure> {
        let mut summary = concluded.summary.clone();
        // the same seed gives the same bytes, so what this machine's clock measured is left out
        let twin = &mut summary.twin;
        (twin.step_us_p50, twin.step_us_p99, twin.step_us_max) = (None, None, None);
        let finished = self.file.finish(Some(&summary.to_json()));
        finished.map_err(|error| refused(&self.path, &error))
    }
}

/// Event of a session, in order of time.
#[derive(Debug, Clone, Copy)]
pub enum SessionEvent<'a> {
    /// A tick of either side.
    Tick(&'a TickRecord),
    /// An edit batch, and its time at the master \[ns\].
    EditBatch(i64, &'a EditBatch),
}

/// Runs `tick` for every tick number from 0, to the end or until `stop` is set; returns the number of ticks run.
///
/// # Errors
/// Errors of `tick`.
pub fn run_ticks(
    ticks: u64,
    progress: &dyn Progress,
    stop: &AtomicBool,
    mut tick: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    for ran in 0..ticks {
        if ran % POLL_TICKS == 0 {
            progress.set_done(ran);
            if stop.load(Ordering::Relaxed) {
                return Ok(ran);
            }
        }
        tick(ran)?;
    }
    Ok(ticks)
}

/// Runs a session to its end, or until `stop` is set; if there is a `watch`, it observes every tick. `record` receives
/// every record, both sides in turn, and every edit batch before them. Memory does not grow with the length of the
/// session.
///
/// # Errors
/// Errors of `record`.
pub fn play(
    mut session: VirtualSession,
    mut watch: Option<RehearsalWatch>,
    progress: &dyn Progress,
    stop: &AtomicBool,
    mut record: impl FnMut(SessionEvent<'_>) -> Result<(), Failure>,
) -> Result<VirtualRun, Failure> {
    let ticks = session.ticks();
    let room = usize::try_from(ticks.min(MEMORY_TICKS)).unwrap_or(0);
    let (mut master, mut slave) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let stretch = Span(PERIOD.0 * ticks as i64 / conclusion::PLOT_SAMPLES as i64);
    let mut auditor = Auditor::new(stretch, Span(0));
    let mut tally = Tally::default();
    let clock = MonotonicClock;
    let (begun, cpu_begun) = (clock.now(), thread_cpu_now());
    let mut batches = 0;
    let ran = run_ticks(ticks, progress, stop, |ran| {
        let mut both = session.step();
        // both sides end their tick at the same true time, whatever the slave's clock says
        both.slave.now_ns = PERIOD.0 * ran as i64;
        let twin = session.master().predictor().map(TwinPredictor::twin);
        if let (Some(watch), Some(twin)) = (&mut watch, twin) {
            watch.tick(&both.master, twin);
        }
        auditor.master(&both.master);
        auditor.slave(&both.slave);
        while let Some(batch) = session.edit_batch(batches + 1) {
            record(SessionEvent::EditBatch(both.master.now_ns, &batch))?;
            batches += 1;
        }
        for side in [&both.master, &both.slave] {
            tally.add(side);
            record(SessionEvent::Tick(side))?;
        }
        if ran < MEMORY_TICKS {
            master.push(both.master);
            slave.push(both.slave);
        }
        Ok(())
    })?;
    let log = session.master().edits();
    let remote = tally.newest()[1].map(|record| record.topology);
    let remote = remote.filter(|&topology| topology != 0);
    Ok(VirtualRun {
        master,
        slave,
        audit: auditor.finish(),
        tally,
        ticks: ran,
        trace_hash: session.trace_hash(),
        frames: frames(&session),
        sent_ticks: session.sent_ticks().map(<[u64]>::to_vec),
        reconstruction: session.reconstruction(),
        contact: session
            .master()
            .predictor()
            .and_then(TwinPredictor::contact_estimate),
        rehearsal: watch.map(|watch| watch.finish(Some(remote))),
        links: log.map(EditBatchLog::links),
        edit_batches: batches,
        took: clock.now() - begun,
        cpu: thread_cpu_now() - cpu_begun,
    })
}
