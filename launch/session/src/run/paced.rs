//! A session of one process by the clock: what runs in virtual time, run by the servo's ticker for a person.
//!
//! One thread runs the servo loop of a live side; each of its ticks is one tick of the session, whose time is the
//! count of its ticks. A deadline that passes is counted and never made up for, so a machine that is too slow
//! makes the session's time slower than the clock's, and no step of it longer. A [`Stage`] joins that thread to
//! the desk of a console by the lines and cells of live sides ([`crate::monitor::window`]). Source: ours.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use palpate_transport::clock::{PERIOD, pause};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::mailbox::{
    LatestReader, LatestWriter, RingReceiver, RingSender, latest, ring,
};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{HapticFrame, Span, Stroke};
use palpate_twin::Tissue;

use super::duty::Duty;
use super::face::Shown;
use super::servo::{Meeting, ServoReport, Ticked, servo};
use super::side::{CONSOLE, LOOK, RECORDS_WAITING, join, spawn};
use super::{RunError, file_error};
use crate::config::RealtimeConfig;
use crate::monitor::desk::SessionDesk;
use crate::monitor::line;
use crate::monitor::live::Tuner;
use crate::monitor::surface::{self, Painter, Surface as Picture};
use crate::monitor::window::{Aims, Cells, Newest, Sill, Window};
use crate::pipeline::At;
use crate::pipeline::given::is_usable;

/// Strokes that may wait for a look.
const STROKES_WAITING: usize = 4096;

/// Strokes that are handed on in one tick at most.
const TOLD_A_TICK: usize = 64;

/// What both sides of a session are told in one tick: the operator's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beat {
    /// Whether the tick woke too late for a step of the twin.
    pub masked: bool,
    /// Whether motion must not pass.
    pub halt: [bool; 2],
    /// Whether a latched fault is to be cleared.
    pub rearm: [bool; 2],
}

/// A session that advances by ticks of its own time; it must not wait, and allocate only in its first ticks.
pub trait Paced: Send {
    /// What is left of it when it has ended.
    type Lying: Send + 'static;

    /// Advance by one tick: the operator's side, and the remote one if there is one.
    fn beat(&mut self, beat: &Beat) -> (Ticked, Option<Ticked>);

    /// The tissue at the handle, to be shown.
    fn twin(&self) -> Option<&dyn Tissue>;

    /// The coupling, if it may be changed while the session runs.
    fn coupling(&mut self) -> Option<&mut CouplingParams>;

    /// What instruments did, by its number from 1.
    fn stroke(&self, number: u64) -> Option<Stroke>;

    /// What is left of it when it has ended; it may allocate.
    fn lying(&self) -> Self::Lying;
}

/// How a session is run.
#[derive(Debug, Clone)]
pub struct PacedOptions {
    /// The servo thread.
    pub realtime: RealtimeConfig,
    /// Ticks to run; `None` runs until it is stopped.
    pub ticks_max: Option<u64>,
    /// Set when the session must end.
    pub stop: Arc<AtomicBool>,
}

/// Lines to a session that has not begun.
pub struct Stage {
    nears: Vec<UnixStream>,
    windows: Vec<Window>,
    cells: Vec<Cells>,
}

impl Stage {
    /// Lines to the operator's side, and to the remote one if there is one.
    ///
    /// # Errors
    /// [`RunError::File`] if the system has no sockets.
    pub fn new(remote: bool) -> Result<Self, RunError> {
        let mut stage = Self {
            nears: Vec::new(),
            windows: Vec::new(),
            cells: Vec::new(),
        };
        for _ in 0..1 + usize::from(remote) {
            let (near, far) = line::pair().map_err(file_error(Path::new(CONSOLE)))?;
            let (window, cells) = Window::new(far);
            stage.nears.push(near);
            stage.windows.push(window);
            stage.cells.push(cells);
        }
        Ok(stage)
    }

    /// Where the handle finds the newest word of the pointer; none the second time.
    pub fn aims(&mut self) -> Option<Aims> {
        self.cells.first_mut()?.aims.take()
    }

    /// Begin, at the end of `desk`'s lines: they take the place of those of an earlier session.
    ///
    /// # Errors
    /// [`RunError`] if the system has no more threads or descriptors.
    pub fn play<P: Paced + 'static>(
        self,
        desk: &Arc<SessionDesk>,
        paced: P,
        options: &PacedOptions,
    ) -> Result<Playing<P::Lying>, RunError> {
        for (side, near) in [Side::Master, Side::Slave].into_iter().zip(self.nears) {
            let attached = desk.attach(side, near);
            attached.map_err(file_error(Path::new(CONSOLE)))?;
        }
        let first = self.cells.into_iter().next();
        let (watched, tuner) = first.map(|cells| (cells.watched, cells.tuner)).unzip();
        let drawn = paced.twin().zip(watched);
        let drawn = drawn.map(|(twin, watched)| surface::painter(&twin.view(), watched));
        let (painter, picture): (Option<Painter>, Option<LatestReader<Picture>>) = drawn.unzip();
        let (status, newest) = latest(Shown::default());
        let (records, waiting) = ring(RECORDS_WAITING);
        let (remote_status, remote_newest) = latest(Shown::default());
        let (remote_records, remote_waiting) = ring(RECORDS_WAITING);
        let (strokes, made) = ring(STROKES_WAITING);
        let duties = [0, 1].map(|_| Arc::new(Duty::default()));
        let shown = [(newest, picture), (remote_newest, None)];
        let sights = sights(self.windows, &duties, shown)?;
        let [duty, remote] = duties;
        let (outbound, _) = latest(HapticFrame::default());
        let (_, inbound) = latest(None);
        let meeting = Meeting {
            inbound,
            outbound,
            // no frame ever waits for one
            sender: std::thread::current(),
            records,
            status,
            duty,
            stop: Arc::clone(&options.stop),
        };
        let beating = Loop {
            paced,
            painter,
            tuner,
            remote,
            rearms: 0,
            status: remote_status,
            records: remote_records,
            strokes,
            told: 0,
            lost: 0,
            stop: Arc::clone(&options.stop),
        };
        Ok(Playing {
            servo: beating.start(meeting, options)?,
            records: [waiting, remote_waiting],
            made,
            sights,
            looks: 0,
        })
    }
}

/// Opens the windows of the sides that are there.
fn sights(
    windows: Vec<Window>,
    duties: &[Arc<Duty>; 2],
    shown: [(LatestReader<Shown>, Option<LatestReader<Picture>>); 2],
) -> Result<Vec<Sight>, RunError> {
    let sides = windows.into_iter().zip(duties).zip(shown);
    sides
        .map(|((window, duty), (newest, picture))| {
            let opened = window.open((duty, None), picture);
            let sill = opened.map_err(file_error(Path::new(CONSOLE)))?;
            Ok(Sight { newest, sill })
        })
        .collect()
}

/// What the servo thread has.
struct Loop<P> {
    paced: P,
    painter: Option<Painter>,
    tuner: Option<Tuner>,
    /// What the remote side is told.
    remote: Arc<Duty>,
    rearms: u32,
    status: LatestWriter<Shown>,
    records: RingSender<TickRecord>,
    /// What instruments did, and when \[ns\].
    strokes: RingSender<(i64, Stroke)>,
    /// How many of these were handed on.
    told: u64,
    lost: u64,
    stop: Arc<AtomicBool>,
}

impl<P: Paced + 'static> Loop<P> {
    /// Start the servo thread.
    fn start(
        mut self,
        meeting: Meeting,
        options: &PacedOptions,
    ) -> Result<JoinHandle<(ServoReport, P::Lying)>, RunError> {
        let realtime = RealtimeConfig {
            // what this process keeps beside the servo may grow beyond what may be locked
            lock_memory: false,
            ..options.realtime
        };
        let ticks_max = options.ticks_max.unwrap_or(u64::MAX);
        spawn("servo", move || {
            let report = servo(&realtime, ticks_max, meeting, |at| self.tick(at));
            let report = ServoReport {
                records_lost: report.records_lost + self.lost,
                ..report
            };
            (report, self.paced.lying())
        })
    }

    /// Hand on what instruments did; what finds no place waits where it is kept.
    fn tell_strokes(&mut self, now_ns: i64) {
        for _ in 0..TOLD_A_TICK {
            let stroke = self.paced.stroke(self.told + 1);
            if !stroke.is_some_and(|stroke| self.strokes.push((now_ns, stroke))) {
                return;
            }
            self.told += 1;
        }
    }

    fn tick(&mut self, at: &At) -> Ticked {
        let orders = self.remote.orders();
        let beat = Beat {
            masked: at.masked,
            halt: [at.halt, orders.halt || self.stop.load(Ordering::Relaxed)],
            rearm: [at.rearm, orders.rearms != self.rearms],
        };
        self.rearms = orders.rearms;
        if let (Some(tuner), Some(coupling)) = (&mut self.tuner, self.paced.coupling()) {
            let since = Span(PERIOD.0 * at.tick as i64);
            tuner.tune(coupling, at.tick, since.s());
        }
        let (own, remote) = self.paced.beat(&beat);
        self.tell_strokes(own.shown.record.now_ns);
        if let Some(remote) = remote {
            let record = &remote.shown.record;
            self.remote.note(record.state, is_usable(record));
            self.status.write(remote.shown);
            self.lost += u64::from(!self.records.push(*record));
        }
        if let (Some(painter), Some(twin)) = (&mut self.painter, self.paced.twin()) {
            painter.paint(&twin.view());
        }
        own
    }
}

/// Where one side is shown.
struct Sight {
    newest: LatestReader<Shown>,
    sill: Sill,
}

/// A session that runs; [`Self::look`] must be called all the time.
pub struct Playing<L> {
    servo: JoinHandle<(ServoReport, L)>,
    records: [RingReceiver<TickRecord>; 2],
    made: RingReceiver<(i64, Stroke)>,
    sights: Vec<Sight>,
    looks: u32,
}

impl<L: Send + 'static> Playing<L> {
    /// Wait a little, show what is newest, and give every record since the last look to `take`; whether it still
    /// runs.
    pub fn look(&mut self, mut take: impl FnMut(&TickRecord)) -> bool {
        let running = !self.servo.is_finished();
        if running {
            pause(LOOK);
        }
        for records in &mut self.records {
            while let Some(record) = records.pop() {
                take(&record);
            }
        }
        self.looks += 1;
        if self.looks.is_multiple_of(2) {
            let peer_present = self.sights.len() > 1;
            for sight in &mut self.sights {
                let Some(shown) = sight.newest.read_new() else {
                    continue;
                };
                sight.sill.put(Newest {
                    shown: *shown,
                    peer_present,
                });
            }
        }
        running
    }

    /// The next of what instruments did, and when \[ns\], as far as it is told.
    pub fn stroke(&mut self) -> Option<(i64, Stroke)> {
        self.made.pop()
    }

    /// What the loop says of itself when it has ended, and what it left.
    ///
    /// # Errors
    /// [`RunError::Thread`] if it panicked.
    pub fn end(self) -> Result<(ServoReport, L), RunError> {
        join("servo", self.servo)
    }
}
