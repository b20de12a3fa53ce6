//! A session in virtual time, played to its end, recorded and judged while it runs.
//!
//! Source: ours.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_master::predict::Predictor;
use palpate_master::predict::hunt_crossley::Contact;
use palpate_master::predict::strokes::Strokes;
use palpate_session::audit::{Audit, Auditor};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::{Reconstruction, Session, WIRE_BYTES};
use palpate_session::record::{self, Recorder};
use palpate_session::replay::same;
use palpate_session::stat;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, thread_cpu_now};
use palpate_transport::coupling::{Matching, Mode};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{Span, Stroke};

use super::conclude::{self, Concluded, Evidence};
use super::progress::{Progress, Unseen};
use super::{Failure, truth};
use crate::closed;
use crate::metrics::{
    FrameCounts, SessionFacts, Site, StrokeFacts, Tally, TickLosses, TwinFacts, press,
};
use crate::rehearsed::{Rehearsed, Watch};
use crate::report::Comparison;

/// Ticks between two looks at the progress bar and at Ctrl-C.
const LOOK_TICKS: u64 = 1000;

/// Ticks from the start whose records are kept in memory: five minutes. A longer session is recorded
/// and judged as a whole, and measured over these.
pub const KEPT_TICKS: u64 = 300_000;

/// A session that ran in virtual time.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualRun {
    /// Records of the operator's side, the first five minutes of them.
    pub master: Vec<TickRecord>,
    /// Records of the remote side, their time moved onto the master's clock; as many.
    pub slave: Vec<TickRecord>,
    /// The verdict over all ticks.
    pub audit: Audit,
    /// Counts over all ticks.
    pub tally: Tally,
    /// Ticks that ran.
    pub ticks: u64,
    /// Hash of all port traces.
    pub trace_hash: String,
    /// Frames as the network counted them.
    pub frames: FrameCounts,
    /// Tick of every frame sent from the master and from the slave, if not each sends one.
    pub sent_ticks: [Vec<u64>; 2],
    /// How well each stream was reconstructed, if a codec is on: the master's, the slave's.
    pub reconstruction: [Option<Reconstruction>; 2],
    /// What the robot has met as one contact law, if the master has estimated it.
    pub contact: Option<Contact>,
    /// What the steps of the operator's script did, if it has steps.
    pub rehearsed: Option<Rehearsed>,
    /// Links that instruments have cut, less those made, if they can open the twin.
    pub links_cut: Option<i64>,
    /// Strokes that were given to whoever records.
    pub strokes: u64,
    /// Real time that it took.
    pub took: Span,
    /// Own CPU time that it took.
    pub cpu: Span,
}

impl VirtualRun {
    /// All that it is judged by, without another session beside it and without remarks.
    #[must_use]
    pub fn evidence<'a>(&'a self, config: &'a Config, facts: &'a SessionFacts) -> Evidence<'a> {
        Evidence {
            config,
            master: &self.master,
            slave: &self.slave,
            judged: Some((&self.audit, &self.tally)),
            facts,
            comparison: None,
            remarks: &[],
        }
    }
}

/// The same session coupled by waves, for a session that deserves it beside; `sites` are those of
/// the session. Nothing if `stop` is set before it has ended.
///
/// # Errors
/// [`Failure`] if a scene cannot be used.
pub fn compared(
    config: &Config,
    sites: &[Site],
    stop: &AtomicBool,
) -> Result<Option<Comparison>, Failure> {
    if !conclude::wants_comparison(config) || stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let mut config = config.clone();
    config.coupling.mode = Mode::Wave;
    let session = Session::new(&config)?;
    let run = play(session, &Unseen, stop, |_| Ok(()))?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let facts = facts(&config, &run, sites.to_vec(), true)?;
    let evidence = run.evidence(&config, &facts);
    let rtt_ms = config.link.forward.oneway_ms + config.link.back.oneway_ms;
    Ok(Some(Comparison {
        name: format!("wave at {rtt_ms} ms"),
        sites: press::by_site(&press::presses(&run.master), &facts.sites),
        contact: conclude::measure(&evidence).0.contact,
        slow_npm: slow_press_npm(&config, &facts.sites),
    }))
}

/// Stiffness that a slow press through waves shows beside the lump \[N/m\]: the line is a spring of
/// 2 b / round trip in series with the slave's controller and the tissue (teleop E3). The closed form
/// is of a line whose master end is not matched.
fn slow_press_npm(config: &Config, sites: &[Site]) -> Option<f64> {
    let rtt_s = (config.link.forward.oneway_ms + config.link.back.oneway_ms) * 1e-3;
    let beside = sites.iter().filter(|site| !site.over_lump);
    let known: Vec<f64> = beside.filter_map(|site| site.true_stiffness_npm).collect();
    let tissue_npm = stat::mean(&known)?;
    let (slave_npm, b_nspm) = (
        config.slave.stiffness_npm[2],
        config.coupling.impedance_nspm * config.coupling.impedance_ratio[2],
    );
    let shown_npm = closed::displayed_npm(tissue_npm, slave_npm, b_nspm, rtt_s);
    (config.coupling.matching != Matching::Both).then_some(shown_npm)
}

/// What virtual time knows besides the records; `timed` also times steps of the twin on this machine.
///
/// # Errors
/// [`ConfigError`] if the twin is a scene that cannot be used.
pub fn facts(
    config: &Config,
    run: &VirtualRun,
    sites: Vec<Site>,
    timed: bool,
) -> Result<SessionFacts, ConfigError> {
    let [fwd, back] = &run.sent_ticks;
    let truth = truth::delays(&run.master, &run.slave, [fwd, back]);
    // a tool that cuts where it goes is not timed by one that only presses there
    let timed = timed && run.rehearsed.is_none();
    let touched: &[TickRecord] = if timed { &run.master } else { &[] };
    Ok(SessionFacts {
        command: "lab".into(),
        seed: Some(config.seed),
        trace_hash: Some(run.trace_hash.clone()),
        mode: config.modes(),
        // virtual time is never late, and its judge is fed by the session itself
        losses: TickLosses::NONE,
        oneway: [&truth.slave_ns, &truth.master_ns].map(|delays| truth::median(delays)),
        sites,
        twin: truth::twin(config, touched)?.map(|twin| TwinFacts {
            contact: run.contact,
            ..twin
        }),
        frames: Some(run.frames),
        reconstruction: run.reconstruction,
        strokes: StrokeFacts {
            links_cut: run.links_cut,
            recorded: None,
        },
        frame_bytes: Some(WIRE_BYTES as u64),
        oneway_truth: Some(truth),
        rehearsal: run.rehearsed.clone(),
        stills: run
            .rehearsed
            .as_ref()
            .map_or(Vec::new(), |done| done.stills.clone()),
        ..SessionFacts::default()
    })
}

fn frames(session: &Session) -> FrameCounts {
    let [forward, back] = session.link_stats();
    FrameCounts {
        sent_fwd: forward.offered,
        arrived_fwd: forward.delivered,
        sent_back: back.offered,
        arrived_back: back.delivered,
        bytes: forward.offered_bytes + back.offered_bytes,
    }
}

/// The recording, written while the session runs.
pub struct Recording {
    path: PathBuf,
    recorder: Recorder<BufWriter<File>>,
}

impl Recording {
    /// Begins the recording of a command with so many sides.
    pub fn create(
        path: &Path,
        config: &Config,
        command: &str,
        sides: &[Side],
    ) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| refused(path, &error))?;
        let session = record::Session {
            sides: sides.to_vec(),
            config: config.to_toml(),
            facts: [(same::COMMAND.to_owned(), command.to_owned())].into(),
        };
        let recorder = Recorder::create(BufWriter::new(file), &session);
        Ok(Self {
            recorder: recorder.map_err(|error| refused(path, &error))?,
            path: path.to_owned(),
        })
    }

    /// Writes one tick, or one stroke.
    pub fn push(&mut self, entry: Entry<'_>) -> Result<(), Failure> {
        let pushed = match entry {
            Entry::Tick(record) => self.recorder.push(record),
            Entry::Stroke(made_ns, stroke) => self.recorder.push_stroke(made_ns, stroke),
        };
        pushed.map_err(|error| refused(&self.path, &error))
    }

    /// Writes the summary and the end.
    pub fn finish(self, concluded: &Concluded) -> Result<(), Failure> {
        let finished = self.recorder.finish(Some(&concluded.summary.to_json()));
        finished
            .map(|_| ())
            .map_err(|error| refused(&self.path, &error))
    }
}

fn refused(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Refused(format!("{}: {error}; is the disk full?", path.display()))
}

/// What a session leaves behind, in order of time.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// A tick of either side.
    Tick(&'a TickRecord),
    /// A stroke, and when the master made it \[ns\].
    Stroke(i64, &'a Stroke),
}

/// Run a session to its end, or until `stop` is set; `record` is given every record, both sides in
/// turn, and every stroke before them. Memory does not grow with the length of the session.
///
/// # Errors
/// What `record` refuses.
pub fn play(
    session: Session,
    progress: &dyn Progress,
    stop: &AtomicBool,
    record: impl FnMut(Entry<'_>) -> Result<(), Failure>,
) -> Result<VirtualRun, Failure> {
    play_watched(session, None, progress, stop, record)
}

/// As [`play`], with whoever follows the session, if anyone does.
///
/// # Errors
/// As [`play`].
pub fn play_watched(
    mut session: Session,
    mut watch: Option<Watch>,
    progress: &dyn Progress,
    stop: &AtomicBool,
    mut record: impl FnMut(Entry<'_>) -> Result<(), Failure>,
) -> Result<VirtualRun, Failure> {
    let ticks = session.ticks();
    let room = usize::try_from(ticks.min(KEPT_TICKS)).unwrap_or(0);
    let (mut master, mut slave) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let stretch = Span(PERIOD.0 * ticks as i64 / conclude::PLOT_SAMPLES as i64);
    let mut auditor = Auditor::new(stretch, Span(0));
    let mut tally = Tally::default();
    let clock = MonotonicClock;
    let (begun, cpu_begun) = (clock.now(), thread_cpu_now());
    let (mut ran, mut strokes) = (0, 0);
    while ran < ticks {
        if ran % LOOK_TICKS == 0 {
            progress.at(ran);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let mut both = session.step();
        // both sides end their tick at the same true time, whatever the slave's clock says
        both.slave.now_ns = PERIOD.0 * ran as i64;
        let twin = session.master().predictor().map(Predictor::twin);
        if let (Some(watch), Some(twin)) = (&mut watch, twin) {
            watch.tick(&both.master, twin);
        }
        auditor.master(&both.master);
        auditor.slave(&both.slave);
        while let Some(stroke) = session.stroke(strokes + 1) {
            record(Entry::Stroke(both.master.now_ns, &stroke))?;
            strokes += 1;
        }
        for side in [&both.master, &both.slave] {
            tally.add(side);
            record(Entry::Tick(side))?;
        }
        if ran < KEPT_TICKS {
            master.push(both.master);
            slave.push(both.slave);
        }
        ran += 1;
    }
    let cut = session.master().predictor().and_then(Predictor::strokes);
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
        contact: session.master().predictor().and_then(Predictor::contact),
        rehearsed: watch.map(|watch| watch.finish(Some(remote))),
        links_cut: cut.map(Strokes::links_cut),
        strokes,
        took: clock.now() - begun,
        cpu: thread_cpu_now() - cpu_begun,
    })
}
