//! One side of a live session: a servo thread, a sender, a recorder, and the bus.
//!
//! The servo thread shares only wait-free cells with the others. The bus's own thread writes inbound frames; the sender
//! is woken after every tick; the recorder drains a ring; the main thread shows the status and waits for the end.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, Thread};

use palpate_bus::ownership::HandOver;
use palpate_bus::{Bus, BusConfig, BusCounts};
use palpate_port::inbox::RunIds;
use palpate_slave::robot::Robot;
use palpate_transport::clock::{Clock as _, MonotonicClock, sleep_for};
use palpate_transport::codec::CodecParams;
use palpate_transport::frame::FrameFlags;
use palpate_transport::mailbox::{LatestReader, RingReceiver, latest, ring};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{HapticFrame, Span, Time};
use serde::{Deserialize, Serialize};

use super::command_state::CommandState;
use super::connect::{Inbound, connect, revoked};
use super::crtk_publisher::{CrtkPublisher, ServoSnapshot};
use super::owner_watch::OwnerWatch;
use super::servo::{ServoChannels, ServoOutputs, ServoReport, servo};
use super::{RunError, file_error, handle_source};
use crate::config::Config;
use crate::edits::live::{self, EditPort, EditRecords};
use crate::files;
use crate::input::input_thread::{InputReport, InputThread};
use crate::keys::SessionKeys;
use crate::lab;
use crate::monitor::coupling_change::CouplingChange;
use crate::monitor::side_monitor::{
    MonitorCells, MonitorState, RemoteClients, SideMonitor, SnapshotSender,
};
use crate::monitor::surface::{self, SurfaceSampler, TwinSurface};
use crate::pipeline::{self, MasterPipeline, TickInputs};
use crate::record::{self, RECORDING, RecordError, RecordedChange, RecordingFile};
use crate::replay::bitwise;
use crate::table_cache;

/// Options of a side besides the configuration.
#[derive(Debug, Clone)]
pub struct SideOptions {
    /// The side.
    pub side: Side,
    /// Folder for its recording and its report.
    pub out: PathBuf,
    /// Bus configuration to reach the other side.
    pub session: BusConfig,
    /// Keys of a secured session, which ends when one of them is revoked.
    pub keys: Option<SessionKeys>,
    /// Ticks to run; `None` runs until it is stopped.
    pub ticks_max: Option<u64>,
    /// True to write the newest record to stdout as a line of JSON, for a supervisor.
    pub status_lines: bool,
    /// This side's end of the ipc link to a console, if any.
    pub console: Option<Arc<UnixStream>>,
    /// Longest wait of a master for the hand-over of a robot that belongs to another one; none if it does not ask.
    pub handover_wait: Option<Span>,
    /// Set when the robot's host forces a hand-over.
    pub force_handover: Arc<AtomicBool>,
    /// Receiver of notices for the terminal, in words.
    pub notices: Option<Sender<String>>,
    /// Set when the session must end.
    pub stop: Arc<AtomicBool>,
}

/// Report of a side at its end, beside its recording.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SideReport {
    /// The servo loop.
    pub servo: ServoReport,
    /// Counts of the bus.
    pub bus: BusCounts,
    /// Codec setting that both sides agreed on.
    #[serde(default)]
    pub codec: CodecParams,
    /// Reason why the codec differs from this side's request, if it does.
    #[serde(default)]
    pub codec_note: Option<String>,
    /// Report on the input device that drove the handle, if any.
    #[serde(default)]
    pub input: Option<InputReport>,
    /// Reason why the recording ended before the side, such as a full disk.
    #[serde(default)]
    pub recording_failure: Option<String>,
    /// True if the session was to be secured.
    #[serde(default)]
    pub secured: bool,
    /// Trusted host with which the frames were sealed; none if the session was not secured.
    #[serde(default)]
    pub sealed_with: Option<String>,
    /// Name of the key whose revocation closed the session.
    #[serde(default)]
    pub revoked: Option<String>,
    /// Changes of the robot's owner during the session; of a master the one that ended it.
    #[serde(default)]
    pub handovers: Vec<HandOver>,
}

/// Status of a running side for its supervisor, one line of JSON each time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StatusLine {
    /// Newest record.
    pub record: TickRecord,
    /// Ticks that woke late so far.
    pub late_ticks: u64,
    /// True if the other side is on the bus.
    pub peer_present: bool,
}

/// Name of a side's report in its folder.
pub(super) const SIDE_REPORT: &str = "side.json";

/// Most records that wait for the recorder: 8 s of them.
pub(super) const RECORDS_WAITING: usize = 8192;

/// Time between two polls of the slow threads \[ns\].
pub(super) const POLL_PERIOD: Span = Span(10_000_000);

/// Polls between two checks of the folder of the keys: 0.2 s.
const REVOCATION_POLLS: u32 = 20;

/// Runs one side until it is stopped or has run its ticks; none if it was stopped before it found the other side.
///
/// # Errors
/// [`RunError`] if the configuration, the bus or a file cannot be used.
pub fn run_side(config: &Config, options: &SideOptions) -> Result<Option<SideReport>, RunError> {
    let (monitor, cells) = SideMonitor::new();
    let statistics = Arc::clone(&cells.pointer_statistics);
    let prepared = side_tick(config, options, cells)?;
    let (inbound_writer, inbound) = latest::<Inbound>(None);
    let Some(peer) = connect(config, options, inbound_writer)? else {
        return Ok(None);
    };
    let (bus, command_state, agreed) = (peer.bus, peer.command_state, peer.agreed);
    // the configuration that runs, with the agreed codec, is recorded
    let config = &Config {
        codec: agreed.params,
        ..config.clone()
    };
    let mut ending = ThreadStopGuard::default();
    let ended = Arc::clone(&ending.ended);
    let (edit_port, edit_thread, edit_records) = live::open(bus.session(), options.side, &ended)?;
    let tick = (prepared.begin)(config, edit_port);
    let outputs = SnapshotOutputs {
        crtk: CrtkPublisher::open(bus.session(), options.side, &command_state)?,
        monitor: open_monitor(monitor, options, prepared.surface, &bus, &command_state)?,
        input: handle_source::start_input(prepared.device, statistics, &bus, &command_state)?,
        owner: OwnerWatch::open(&bus, options, &command_state, &ended, peer.terms)?,
    };
    let recorder = begin_recording(config, options, prepared.has_table)?;
    let (outbound, frames) = latest::<HapticFrame>(HapticFrame::default());
    let (records, waiting) = ring::<TickRecord>(RECORDS_WAITING);
    let (status, newest) = latest::<ServoSnapshot>(ServoSnapshot::default());
    let priority = config.realtime.bus_priority();
    let sending = spawn_sender(Arc::clone(&bus), frames, Arc::clone(&ended), priority)?;
    ending.sender = Some(sending.thread().clone());
    let recording = RecorderInputs {
        side: options.side,
        records: waiting,
        edit_records,
        changes: prepared.changes,
    };
    let recording = spawn("recorder", move || recording.run(recorder, &ended))?;
    let channels = ServoChannels {
        inbound,
        outbound,
        sender: sending.thread().clone(),
        records,
        status,
        command_state,
        stop: Arc::clone(&options.stop),
    };
    let (realtime, ticks_max) = (config.realtime, options.ticks_max.unwrap_or(u64::MAX));
    let servo_thread = spawn("servo", move || servo(&realtime, ticks_max, channels, tick))?;
    let (input, revoked, owner) = outputs.until_ended(&servo_thread, newest, &bus, options);
    let servo = join("servo", servo_thread)?;
    drop(ending);
    join("sender", sending)?;
    join("edits", edit_thread)?;
    let recorded = join("recorder", recording)?;
    let report = SideReport {
        servo,
        bus: bus.counts(),
        codec: config.codec,
        codec_note: agreed.note.map(|note| note.to_string()),
        input,
        recording_failure: recorded.err().map(|error| error.to_string()),
        secured: options.keys.is_some(),
        sealed_with: bus.session().sealed_with(),
        revoked,
        handovers: owner.close()?,
    };
    write(&report, &options.out.join(SIDE_REPORT)).map(|()| Some(report))
}

/// Writes a report as formatted JSON.
fn write(report: &SideReport, path: &Path) -> Result<(), RunError> {
    let text = serde_json::to_string_pretty(report).map_err(std::io::Error::other);
    let written = text.and_then(|text| files::write(path, text + "\n"));
    written.map_err(file_error(path))
}

/// Ends the threads of a side when dropped, also if the side cannot be opened.
#[derive(Default)]
struct ThreadStopGuard {
    ended: Arc<AtomicBool>,
    /// The sender, which sleeps until it is woken.
    sender: Option<Thread>,
}

impl Drop for ThreadStopGuard {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(sender) = &self.sender {
            sender.unpark();
        }
    }
}

/// Starts the recording of a side; `has_table` is true if its twin has a compliance table.
fn begin_recording(
    config: &Config,
    options: &SideOptions,
    has_table: bool,
) -> Result<RecordingFile, RunError> {
    let description = record::RecordingHeader {
        sides: vec![options.side],
        config: config.to_toml(),
        epoch_ns: record::host_epoch_ns(),
        begun_ns: MonotonicClock.now().0,
        facts: [(bitwise::TWIN_TABLE, if has_table { "yes" } else { "no" })]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
    };
    Ok(RecordingFile::create(
        &options.out.join(RECORDING),
        &description,
    )?)
}

/// Tick of a side together with the device that it drives.
type SideTick = Box<dyn FnMut(&TickInputs) -> ServoOutputs + Send>;

/// Constructor of a side's tick, called with the configuration that both sides agreed on.
type SideBegin = Box<dyn FnOnce(&Config, EditPort) -> SideTick>;

/// A side that is ready to start.
struct Prepared {
    begin: SideBegin,
    /// True if its twin has a compliance table for late ticks.
    has_table: bool,
    /// Surface samples of its twin for a console.
    surface: Option<LatestReader<TwinSurface>>,
    /// Input device that drives its handle.
    device: Option<handle_source::InputWithAims>,
    /// Changes of its coupling from a console, with their ticks.
    changes: RingReceiver<(u64, CouplingChange)>,
}

/// Wraps an error of the ipc link between a side and its console.
pub(super) fn console_error(source: std::io::Error) -> RunError {
    file_error(Path::new("the link to the console"))(source)
}

/// Starts the side monitor, if there is a console; the master's monitor forwards commands for the slave on the
/// bus.
fn open_monitor(
    monitor: SideMonitor,
    options: &SideOptions,
    surface: Option<LatestReader<TwinSurface>>,
    bus: &Bus,
    command_state: &Arc<CommandState>,
) -> Result<Option<SnapshotSender>, RunError> {
    let Some(link) = &options.console else {
        return Ok(None);
    };
    let link = link.try_clone().map_err(console_error)?;
    let robot = Side::Slave.name();
    let remote = RemoteClients {
        commands: Arc::new(Mutex::new(bus.session().command_client(robot)?)),
        handover: Arc::new(Mutex::new(bus.session().handover_client(robot)?)),
    };
    let opened = monitor.open(link, command_state, Some(remote), surface);
    opened.map(Some).map_err(console_error)
}

fn side_tick(
    config: &Config,
    options: &SideOptions,
    cells: MonitorCells,
) -> Result<Prepared, RunError> {
    config.validate()?;
    fs::create_dir_all(&options.out).map_err(file_error(&options.out))?;
    match options.side {
        Side::Master => master_tick(config, options.console.is_some(), cells),
        Side::Slave => slave_tick(config, cells),
    }
}

fn master_tick(
    config: &Config,
    has_console: bool,
    cells: MonitorCells,
) -> Result<Prepared, RunError> {
    let (mut handle, device) = handle_source::handle(config, cells.aims)?;
    let table = match config.realtime.fallback_late > 0.0 {
        true => table_cache::cached(&lab::scene_with_tool(config, &config.twin, "twin")?)
            .unwrap_or_default(),
        false => None,
    };
    let twin = lab::predictor(config, table.as_ref())?;
    let displayed = twin.as_ref().filter(|_| has_console);
    let sampler =
        displayed.map(|twin| surface::surface_sampler(&twin.twin().view(), cells.watched));
    let (mut sampler, surface): (Option<SurfaceSampler>, _) = sampler.unzip();
    let state = palpate_master::MasterState::new(twin, &handle.caps(), new_run());
    let mut tuner = cells.tuner;
    let begin: SideBegin = Box::new(move |config, mut edit_port| {
        let mut coupling = config.coupling_in_use();
        let mut side = MasterPipeline::new(config, state);
        Box::new(move |inputs| {
            edit_port.update_master(&mut side.state);
            let device_s = (inputs.device_now - Time(0)).s();
            tuner.tune(&mut coupling, inputs.tick, device_s);
            let outputs = side.tick(inputs, &coupling, handle.as_mut());
            edit_port.send_from_master(&side.state, inputs.now);
            if let (Some(sampler), Some(twin)) = (&mut sampler, side.state.predictor()) {
                sampler.sample_part(&twin.twin().view());
            }
            ServoOutputs::from_live_tick(&outputs, &coupling, side.state.inbox(), inputs.now)
        })
    });
    Ok(Prepared {
        begin,
        has_table: table.is_some(),
        surface,
        device,
        changes: cells.changes,
    })
}

/// New run number of a side, distinct from all others; the other side's is read from its frames.
fn new_run() -> RunIds {
    // the standard library's random source, which the system seeds
    let own = RandomState::new().build_hasher().finish().max(1);
    RunIds { own, peer: 0 }
}

fn slave_tick(config: &Config, cells: MonitorCells) -> Result<Prepared, RunError> {
    let mut robot: Box<dyn Robot> = lab::build_robot(config)?;
    let state = palpate_slave::SlaveState::new(config.robot.mass_kg(), new_run());
    let mut tuner = cells.tuner;
    let begin: SideBegin = Box::new(move |config, mut edit_port| {
        let mut coupling = config.coupling_in_use();
        let mut side = pipeline::SidePipeline::new(config, state);
        Box::new(move |inputs| {
            let refused = edit_port.update_slave(side.state.inbox(), robot.as_mut(), inputs.now);
            let device_s = (inputs.device_now - Time(0)).s();
            tuner.tune(&mut coupling, inputs.tick, device_s);
            let outputs = side.tick(
                &TickInputs {
                    edit_refused: refused,
                    ..*inputs
                },
                &coupling,
                robot.as_mut(),
            );
            // the mode of the newest frame, which the slave follows
            let code = FrameFlags::mode_code(side.state.inbox().newest().flags);
            let mut servo_outputs =
                ServoOutputs::from_live_tick(&outputs, &coupling, side.state.inbox(), inputs.now);
            servo_outputs.snapshot.mode = coupling.mode_from_code(code).code();
            servo_outputs
        })
    });
    Ok(Prepared {
        begin,
        has_table: false,
        surface: None,
        device: None,
        changes: cells.changes,
    })
}

fn spawn_sender(
    bus: Arc<Bus>,
    mut frames: LatestReader<HapticFrame>,
    ended: Arc<AtomicBool>,
    priority: u8,
) -> Result<JoinHandle<()>, RunError> {
    spawn("sender", move || {
        if priority > 0 {
            // the servo thread, which requests the same privilege, reports a refusal
            let _ = super::realtime::fifo(priority);
        }
        while !ended.load(Ordering::Acquire) {
            match frames.read_new() {
                Some(frame) => bus.send_frame(frame),
                None => std::thread::park(),
            }
        }
    })
}

/// Inputs of a side's recorder, from its threads.
struct RecorderInputs {
    side: Side,
    records: RingReceiver<TickRecord>,
    edit_records: EditRecords,
    changes: RingReceiver<(u64, CouplingChange)>,
}

impl RecorderInputs {
    /// Records until the side has ended.
    ///
    /// # Errors
    /// [`RecordError`], as on a full disk: the recording ends, and the side goes on.
    fn run(mut self, mut file: RecordingFile, ended: &AtomicBool) -> Result<(), RecordError> {
        loop {
            let recorder = file.recorder();
            let last = ended.load(Ordering::Acquire);
            while let Some((made_ns, batch)) = self.edit_records.pop() {
                recorder.push_edit_batch(made_ns, &batch)?;
            }
            while let Some((tick, change)) = self.changes.pop() {
                let side = self.side;
                recorder.push_change(&RecordedChange { side, tick, change })?;
            }
            while let Some(record) = self.records.pop() {
                recorder.push(&record)?;
            }
            if last {
                return file.finish(None);
            }
            sleep_for(POLL_PERIOD);
        }
    }
}

/// Outputs for the newest snapshot: CRTK peers, a console, and the input device of the handle.
struct SnapshotOutputs {
    crtk: CrtkPublisher,
    monitor: Option<SnapshotSender>,
    input: Option<InputThread>,
    owner: OwnerWatch,
}

impl SnapshotOutputs {
    /// Shows the newest snapshot until the servo loop has ended, also to a supervisor. Passes the servo's estimate
    /// of the other side's clock to the bus, which judges the age of frames by it. Stops the side when a key is
    /// revoked. Returns the report on the input device, the name of that key, and the watch over the ownership.
    fn until_ended(
        mut self,
        servo: &JoinHandle<ServoReport>,
        mut newest: LatestReader<ServoSnapshot>,
        bus: &Bus,
        options: &SideOptions,
    ) -> (Option<InputReport>, Option<String>, OwnerWatch) {
        let (mut polls, mut lost_trust) = (0u32, None);
        while !servo.is_finished() {
            sleep_for(POLL_PERIOD);
            polls += 1;
            if polls.is_multiple_of(REVOCATION_POLLS) && lost_trust.is_none() {
                lost_trust = revoked(options);
                if lost_trust.is_some() {
                    options.stop.store(true, Ordering::Relaxed);
                }
            }
            let Some(snapshot) = newest.read_new().copied() else {
                continue;
            };
            if let Some(clock) = snapshot.peer_clock {
                bus.set_sender_clock(clock);
            }
            if let Some(input) = &mut self.input {
                input.set_feedback(handle_source::device_feedback(&snapshot.record, None));
            }
            // a closed bus has no observers
            let _ = self.crtk.publish(&snapshot, MonotonicClock.now());
            let peer_present = bus.peer_present();
            let asks = self.owner.follow(&snapshot.record, options);
            if let Some(snapshots) = self.monitor.as_ref().filter(|_| polls.is_multiple_of(2)) {
                let state = MonitorState {
                    snapshot,
                    peer_present,
                    asks,
                };
                let _ = snapshots.try_send(state);
            }
            if options.status_lines && polls.is_multiple_of(20) {
                let line = StatusLine {
                    record: snapshot.record,
                    late_ticks: snapshot.late_ticks,
                    peer_present,
                };
                let line = serde_json::to_string(&line).unwrap_or_default();
                // a supervisor that is gone must not end this side before it is stopped
                let _ = writeln!(std::io::stdout(), "{line}");
            }
        }
        (self.input.map(InputThread::stop), lost_trust, self.owner)
    }
}

/// Starts a named thread.
///
/// # Errors
/// [`RunError::Thread`] if the system cannot start a thread.
pub fn spawn<T: Send + 'static>(
    name: &'static str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, RunError> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(body)
        .map_err(|error| RunError::Thread {
            name,
            detail: error.to_string(),
        })
}

pub(crate) fn join<T>(name: &'static str, thread: JoinHandle<T>) -> Result<T, RunError> {
    thread.join().map_err(|_| RunError::Thread {
        name,
        detail: "it panicked".into(),
    })
}
