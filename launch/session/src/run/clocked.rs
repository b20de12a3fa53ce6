//! Clocked run of a session in one process: virtual-time ticks, run by the servo's ticker for a person.
//!
//! One thread runs the servo loop of a live side; each of its ticks is one tick of the session, whose time is the
//! count of its ticks. A missed deadline is counted and never made up for, so a machine that is too slow
//! slows down the session's time, and no step becomes longer. A [`ClockedLauncher`] connects that thread to
//! the controller of a console by the ipc links and cells of live sides ([`crate::monitor::side_monitor`]).
//! Source: ours.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use palpate_master::device::pointer::PointerTarget;
use palpate_transport::clock::{PERIOD, sleep_for};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::mailbox::{
    LatestReader, LatestWriter, RingReceiver, RingSender, latest, ring,
};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{EditBatch, HapticFrame, Span};
use palpate_twin::Tissue;

use super::RunError;
use super::command_state::CommandState;
use super::crtk_publisher::ServoSnapshot;
use super::servo::{ServoChannels, ServoOutputs, ServoReport, servo};
use super::side::{POLL_PERIOD, RECORDS_WAITING, console_error, join, spawn};
use crate::config::RealtimeConfig;
use crate::edits::EditRecorderFeed;
use crate::monitor::controller::SessionController;
use crate::monitor::coupling_change::Tuner;
use crate::monitor::side_monitor::{MonitorState, SideMonitor, SnapshotSender};
use crate::monitor::surface::{self, SurfaceSampler};
use crate::pipeline::TickInputs;
use crate::pipeline::tick_inputs::is_usable;

/// Most edit batches that wait for a poll.
const QUEUED_BATCHES_MAX: usize = 4096;

/// Commands to both sides of a session in one tick, the operator's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TickCommands {
    /// True if the tick woke too late to step the twin.
    pub deadline_fallback: bool,
    /// True to block motion.
    pub halt: [bool; 2],
    /// True to clear a latched fault.
    pub rearm: [bool; 2],
}

/// A session that advances by ticks of its own time. It must not wait, and may allocate only in its first ticks.
pub trait ClockedSession: Send {
    /// Result of the session when it has ended.
    type FinalState: Send + 'static;

    /// Steps one tick; returns the outputs of the operator's side, and of the remote one if there is one.
    fn tick(&mut self, commands: &TickCommands) -> (ServoOutputs, Option<ServoOutputs>);

    /// Tissue at the handle, for display.
    fn twin(&self) -> Option<&dyn Tissue>;

    /// Coupling, if it may change while the session runs.
    fn coupling(&mut self) -> Option<&mut CouplingParams>;

    /// Edit batch by its number from 1.
    fn edit_batch(&self, number: u64) -> Option<EditBatch>;

    /// Result of the session when it has ended; it may allocate.
    fn final_state(&self) -> Self::FinalState;
}

/// Options of a clocked run.
#[derive(Debug, Clone)]
pub struct ClockedOptions {
    /// Configuration of the servo thread.
    pub realtime: RealtimeConfig,
    /// Ticks to run; `None` runs until it is stopped.
    pub ticks_max: Option<u64>,
    /// Set when the session must end.
    pub stop: Arc<AtomicBool>,
}

/// Links to a session that has not started.
pub struct ClockedLauncher {
    /// For each side, the operator's first: controller's end of the ipc link, side's end, and side monitor.
    links: Vec<(UnixStream, UnixStream, SideMonitor)>,
    tuner: Tuner,
    watched: Arc<AtomicBool>,
}

impl ClockedLauncher {
    /// Opens links to the operator's side, and to the remote one if there is one; returns also the reader of the
    /// pointer's targets for the handle.
    ///
    /// # Errors
    /// [`RunError::File`] if the system cannot give a socket.
    pub fn new(remote: bool) -> Result<(Self, LatestReader<PointerTarget>), RunError> {
        let link = |monitor| {
            let (near, far) = UnixStream::pair().map_err(console_error)?;
            Ok::<_, RunError>((near, far, monitor))
        };
        let (monitor, cells) = SideMonitor::new();
        let mut links = vec![link(monitor)?];
        if remote {
            links.push(link(SideMonitor::new().0)?);
        }
        let launcher = Self {
            links,
            tuner: cells.tuner,
            watched: cells.watched,
        };
        Ok((launcher, cells.aims))
    }

    /// Starts the session with links to `controller`, which replace those of an earlier session.
    ///
    /// # Errors
    /// [`RunError`] if the system cannot give a thread or a descriptor.
    pub fn start<P: ClockedSession + 'static>(
        self,
        controller: &Arc<SessionController>,
        session: P,
        options: &ClockedOptions,
    ) -> Result<ClockedRun<P::FinalState>, RunError> {
        let twin = session.twin();
        let sampler = twin.map(|twin| surface::surface_sampler(&twin.view(), self.watched));
        let (surface_sampler, surface) = sampler.unzip();
        let [(status, newest), (remote_status, remote_newest)] =
            [(); 2].map(|()| latest(ServoSnapshot::default()));
        let [(records, waiting), (remote_records, remote_waiting)] =
            [(); 2].map(|()| ring(RECORDS_WAITING));
        let (batches, edit_records) = ring(QUEUED_BATCHES_MAX);
        let [command_state, remote] = [(); 2].map(|()| Arc::new(CommandState::default()));
        let outputs = [
            (Side::Master, &command_state, newest, surface),
            (Side::Slave, &remote, remote_newest, None),
        ];
        let mut monitors = Vec::new();
        for ((near, far, monitor), (side, command_state, newest, surface)) in
            self.links.into_iter().zip(outputs)
        {
            controller.attach(side, near).map_err(console_error)?;
            let opened = monitor.open(far, command_state, None, surface);
            let snapshots = opened.map_err(console_error)?;
            monitors.push((newest, snapshots));
        }
        let (outbound, _) = latest(HapticFrame::default());
        let (_, inbound) = latest(None);
        let channels = ServoChannels {
            inbound,
            outbound,
            // there are no frames to send
            sender: std::thread::current(),
            records,
            status,
            command_state,
            stop: Arc::clone(&options.stop),
        };
        let servo_loop = ClockedLoop {
            session,
            surface_sampler,
            tuner: self.tuner,
            remote,
            rearms: 0,
            status: remote_status,
            records: remote_records,
            edit_feed: EditRecorderFeed::new(batches),
            records_lost: 0,
            stop: Arc::clone(&options.stop),
        };
        Ok(ClockedRun {
            servo: servo_loop.start(channels, options)?,
            records: [waiting, remote_waiting],
            edit_records,
            monitors,
            poll_count: 0,
        })
    }
}

/// State of the servo thread.
struct ClockedLoop<P> {
    session: P,
    surface_sampler: Option<SurfaceSampler>,
    tuner: Tuner,
    /// Commands to the remote side.
    remote: Arc<CommandState>,
    rearms: u32,
    status: LatestWriter<ServoSnapshot>,
    records: RingSender<TickRecord>,
    /// Feed of edit batches to the recorder.
    edit_feed: EditRecorderFeed,
    records_lost: u64,
    stop: Arc<AtomicBool>,
}

impl<P: ClockedSession + 'static> ClockedLoop<P> {
    /// Starts the servo thread.
    fn start(
        mut self,
        channels: ServoChannels,
        options: &ClockedOptions,
    ) -> Result<JoinHandle<(ServoReport, P::FinalState)>, RunError> {
        let realtime = RealtimeConfig {
            // the memory of this process beside the servo may exceed the limit of locked memory
            lock_memory: false,
            ..options.realtime
        };
        let ticks_max = options.ticks_max.unwrap_or(u64::MAX);
        spawn("servo", move || {
            let report = servo(&realtime, ticks_max, channels, |inputs| self.tick(inputs));
            let report = ServoReport {
                records_lost: report.records_lost + self.records_lost,
                ..report
            };
            (report, self.session.final_state())
        })
    }

    fn tick(&mut self, inputs: &TickInputs) -> ServoOutputs {
        let (halt, rearms) = self.remote.servo_commands();
        let commands = TickCommands {
            deadline_fallback: inputs.deadline_fallback,
            halt: [inputs.halt, halt || self.stop.load(Ordering::Relaxed)],
            rearm: [inputs.rearm, rearms != self.rearms],
        };
        self.rearms = rearms;
        if let Some(coupling) = self.session.coupling() {
            let since = Span(PERIOD.0 * inputs.tick as i64);
            self.tuner.tune(coupling, inputs.tick, since.s());
        }
        let (own, remote) = self.session.tick(&commands);
        let (made_ns, session) = (own.snapshot.record.now_ns, &self.session);
        self.edit_feed
            .forward(made_ns, |number| session.edit_batch(number));
        if let Some(remote) = remote {
            let record = &remote.snapshot.record;
            self.remote.update(record.state, is_usable(record));
            self.status.write(remote.snapshot);
            self.records_lost += u64::from(!self.records.push(*record));
        }
        if let (Some(sampler), Some(twin)) = (&mut self.surface_sampler, self.session.twin()) {
            sampler.sample_part(&twin.view());
        }
        own
    }
}

/// A running session; [`Self::poll`] must be called continuously.
pub struct ClockedRun<L> {
    servo: JoinHandle<(ServoReport, L)>,
    records: [RingReceiver<TickRecord>; 2],
    edit_records: RingReceiver<(i64, EditBatch)>,
    /// Monitor of each side, with its newest snapshot.
    monitors: Vec<(LatestReader<ServoSnapshot>, SnapshotSender)>,
    poll_count: u32,
}

impl<L: Send + 'static> ClockedRun<L> {
    /// Waits a little, shows the newest state, and passes every record since the last call to `take`; returns true
    /// while the session runs.
    pub fn poll(&mut self, mut take: impl FnMut(&TickRecord)) -> bool {
        let running = !self.servo.is_finished();
        if running {
            sleep_for(POLL_PERIOD);
        }
        for records in &mut self.records {
            while let Some(record) = records.pop() {
                take(&record);
            }
        }
        self.poll_count += 1;
        if self.poll_count.is_multiple_of(2) {
            let peer_present = self.monitors.len() > 1;
            for (newest, sender) in &mut self.monitors {
                if let Some(snapshot) = newest.read_new() {
                    let state = MonitorState {
                        snapshot: *snapshot,
                        peer_present,
                        asks: None,
                    };
                    let _ = sender.try_send(state);
                }
            }
        }
        running
    }

    /// Next edit batch with the time of its making \[ns\], if there is one.
    pub fn next_edit_batch(&mut self) -> Option<(i64, EditBatch)> {
        self.edit_records.pop()
    }

    /// Returns the report of the servo loop and the result of the session.
    ///
    /// # Errors
    /// [`RunError::Thread`] if it panicked.
    pub fn finish(self) -> Result<(ServoReport, L), RunError> {
        join("servo", self.servo)
    }
}
