//! `palpate lab`: a session in virtual time, recorded, judged and reported.
//!
//! Source: ours.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_transport::Span;
use palpate_transport::clock::{Clock as _, MonotonicClock, thread_cpu_now};
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{Side, TickRecord};

use super::conclude::{self, Concluded, Evidence};
use super::{Done, Failure, interrupt, output, truth};
use crate::cli::LabArgs;
use crate::config::{Config, ConfigError};
use crate::lab::{PERIOD, Session, WIRE_BYTES};
use crate::metrics::{FrameCounts, SessionFacts, Site, press};
use crate::progress::Progress;
use crate::record::{self, Recorder};
use crate::report::Comparison;

/// Ticks between two looks at the progress bar and at Ctrl-C.
const LOOK_TICKS: u64 = 1000;

/// A session that ran in virtual time.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualRun {
    /// Records of the operator's side.
    pub master: Vec<TickRecord>,
    /// Records of the remote side, their time moved onto the master's clock.
    pub slave: Vec<TickRecord>,
    /// Hash of all port traces.
    pub trace_hash: String,
    /// Frames as the network counted them.
    pub frames: FrameCounts,
    /// Real time that it took.
    pub took: Span,
    /// Own CPU time that it took.
    pub cpu: Span,
}

/// Run a session in virtual time, write its folder, and say how it went.
///
/// # Errors
/// [`Failure::Usage`] for a configuration or folder that cannot be used.
pub fn lab(arguments: &LabArgs) -> Result<Done, Failure> {
    let config = arguments.session.config()?;
    let session = Session::new(&config)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), &config.name)?;
    output::write(&folder.join("config.toml"), &config.to_toml())?;
    let stop = interrupt::on_ctrl_c()?;
    let progress = Progress::bar("lab", session.ticks(), wanted.quiet || wanted.json);
    let run = play(session, &progress, &stop);
    drop(progress);
    let facts = facts(&config, &run, truth::sites(&config, &run.master)?)?;
    let comparison = if stop.load(Ordering::Relaxed) {
        None
    } else {
        compared(&config, &facts.sites)?
    };
    let evidence = Evidence {
        config: &config,
        master: &run.master,
        slave: &run.slave,
        facts: &facts,
        comparison: comparison.as_ref(),
        remarks: &[pace(&run)],
    };
    let concluded = conclude::conclude(&evidence, &folder)?;
    if !arguments.no_recording {
        write_recording(&folder.join("recording.mcap"), &config, &run, &concluded)?;
    }
    Ok(concluded.done(wanted, &folder))
}

/// The same session coupled by waves, for a session that deserves it beside; `sites` are those of
/// the session.
///
/// # Errors
/// [`ConfigError`] if a scene cannot be used.
pub fn compared(config: &Config, sites: &[Site]) -> Result<Option<Comparison>, ConfigError> {
    if !conclude::wants_comparison(config) {
        return Ok(None);
    }
    let mut config = config.clone();
    config.coupling.mode = Mode::Wave;
    let run = play(
        Session::new(&config)?,
        &Progress::line("wave", true),
        &AtomicBool::new(false),
    );
    let facts = facts(&config, &run, sites.to_vec())?;
    let evidence = Evidence {
        config: &config,
        master: &run.master,
        slave: &run.slave,
        facts: &facts,
        comparison: None,
        remarks: &[],
    };
    let contact = conclude::measure(&evidence).0.contact;
    let rtt_ms = config.link.forward.oneway_ms + config.link.back.oneway_ms;
    Ok(Some(Comparison {
        name: format!("wave at {rtt_ms} ms"),
        sites: press::by_site(&press::presses(&run.master), &facts.sites),
        stiffness_error: contact.stiffness_error,
        contrast_transmission: contact.contrast_transmission,
    }))
}

/// What virtual time knows besides the records.
fn facts(config: &Config, run: &VirtualRun, sites: Vec<Site>) -> Result<SessionFacts, ConfigError> {
    let truth = truth::delays(&run.master, &run.slave);
    Ok(SessionFacts {
        command: "lab".into(),
        seed: Some(config.seed),
        trace_hash: Some(run.trace_hash.clone()),
        mode: config.coupling.mode.resolved().name().into(),
        period: PERIOD,
        oneway_fwd: truth::median(&truth.slave_ns),
        oneway_back: truth::median(&truth.master_ns),
        sites,
        twin: truth::twin(config, &run.master)?,
        frames: Some(run.frames),
        frame_bytes: Some(WIRE_BYTES as u64),
        oneway_truth: Some(truth),
        ..SessionFacts::default()
    })
}

/// How fast virtual time went; on a busy machine the CPU time says more than the clock.
fn pace(run: &VirtualRun) -> String {
    let simulated_s = run.master.len() as f64 * PERIOD.s();
    let times = |span: Span| simulated_s / span.s().max(1e-9);
    format!(
        "Virtual time: {:.1} times as fast as real time ({:.2} s), {:.1} times by own CPU time.",
        times(run.took),
        run.took.s(),
        times(run.cpu)
    )
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

fn write_recording(
    path: &Path,
    config: &Config,
    run: &VirtualRun,
    concluded: &Concluded,
) -> Result<(), Failure> {
    let file = File::create(path).map_err(|error| refused(path, &error))?;
    let session = record::Session {
        sides: vec![Side::Master, Side::Slave],
        config: config.to_toml(),
        facts: [("command", "lab"), ("version", env!("CARGO_PKG_VERSION"))]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
    };
    let write = || -> Result<(), record::RecordError> {
        let mut recorder = Recorder::create(BufWriter::new(file), &session)?;
        for (master, slave) in run.master.iter().zip(&run.slave) {
            recorder.push(master)?;
            recorder.push(slave)?;
        }
        recorder.finish(Some(&concluded.summary.to_json()))?;
        Ok(())
    };
    write().map_err(|error| refused(path, &error))
}

fn refused(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Refused(format!("{}: {error}; is the disk full?", path.display()))
}

/// Run a session to its end, or until `stop` is set.
#[must_use]
pub fn play(mut session: Session, progress: &Progress, stop: &AtomicBool) -> VirtualRun {
    let ticks = session.ticks();
    let room = usize::try_from(ticks).unwrap_or(0).min(ROOM_MAX);
    let (mut master, mut slave) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let clock = MonotonicClock;
    let (begun, cpu_begun) = (clock.now(), thread_cpu_now());
    for tick in 0..ticks {
        if tick % LOOK_TICKS == 0 {
            progress.at(tick);
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let both = session.step();
        master.push(both.master);
        // both sides end their tick at the same true time, whatever the slave's clock says
        slave.push(TickRecord {
            now_ns: PERIOD.0 * tick as i64,
            ..both.slave
        });
    }
    VirtualRun {
        master,
        slave,
        trace_hash: session.trace_hash(),
        frames: frames(&session),
        took: clock.now() - begun,
        cpu: thread_cpu_now() - cpu_begun,
    }
}

/// Most records a side for which room is made in advance.
const ROOM_MAX: usize = 1 << 20;
