//! One side of a live session: a servo thread, a sender, a recorder, and the bus.
//!
//! The servo thread meets the others only in wait-free cells. The bus's own thread writes inbound
//! frames; the sender is woken after every tick; the recorder drains a ring; the main thread shows
//! the status and waits for the end.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{BufWriter, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};

use palpate_bus::{Bus, BusCounts, Session, SessionConfig, SessionError};
use palpate_port::inbox::Parties;
use palpate_slave::robot::Robot;
use palpate_transport::clock::{Clock as _, MonotonicClock, pause};
use palpate_transport::codec::{Agreed, CodecParams};
use palpate_transport::frame::FrameFlags;
use palpate_transport::mailbox::{LatestReader, LatestWriter, RingReceiver, latest, ring};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{HapticFrame, Span, Time};
use serde::{Deserialize, Serialize};

use super::agreement::Agreement;
use super::duty::Duty;
use super::face::{Face, Shown};
use super::servo::{Meeting, ServoReport, Ticked, servo};
use super::strokes::{self, Ends as StrokeEnds, Made};
use super::{RunError, file_error, hand};
use crate::config::Config;
use crate::input::pilot::{InputReport, Pilot, Waiting};
use crate::lab;
use crate::monitor::live::Change;
use crate::monitor::surface::{self, Painter, Surface};
use crate::monitor::window::{Cells, Newest, Sill, Window};
use crate::pipeline::{At, MasterSide, SlaveSide};
use crate::record::{self, Changed, Recorder};
use crate::replay::same;
use crate::tables;

/// What a side is told besides the configuration.
#[derive(Debug, Clone)]
pub struct SideOptions {
    /// Which side.
    pub side: Side,
    /// Folder for its recording and its report.
    pub out: PathBuf,
    /// How it reaches the other side.
    pub session: SessionConfig,
    /// Ticks to run; `None` runs until it is stopped.
    pub ticks_max: Option<u64>,
    /// Whether the newest record is written to stdout as a line of JSON, for a supervisor.
    pub status_lines: bool,
    /// This side's end of the line to a console, if it has one.
    pub console: Option<Arc<UnixStream>>,
    /// Set when the session must end.
    pub stop: Arc<AtomicBool>,
}

/// What a side says of itself at the end, beside its recording.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SideReport {
    /// The servo loop.
    pub servo: ServoReport,
    /// What the bus counted.
    pub bus: BusCounts,
    /// The codec's setting that both sides agreed on.
    #[serde(default)]
    pub codec: CodecParams,
    /// Why that is not what this side wanted, if it is not.
    #[serde(default)]
    pub codec_note: Option<String>,
    /// The device that led the handle, if one did.
    #[serde(default)]
    pub input: Option<InputReport>,
}

/// What a side tells its supervisor while it runs, one line of JSON each time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct StatusLine {
    /// Newest record.
    pub record: TickRecord,
    /// Ticks that woke late so far.
    pub late_ticks: u64,
    /// Whether the other side is on the bus.
    pub peer_present: bool,
}

/// Name of a side's report in its folder.
pub const SIDE_REPORT: &str = "side.json";

/// Name of a recording in a folder.
pub const RECORDING: &str = "recording.mcap";

/// Records that may wait for the recorder: 8 s of them.
pub(super) const RECORDS_WAITING: usize = 8192;

/// Time between two looks of the slow threads \[ns\].
pub(super) const LOOK: Span = Span(10_000_000);

/// How long to wait for the other side before giving up.
const PEER_WAIT: Span = Span(20_000_000_000);

type Inbound = Option<(HapticFrame, Time)>;

/// Run one side until it is stopped or has run its ticks.
///
/// # Errors
/// [`RunError`] if the configuration, the bus or a file cannot be used.
pub fn run_side(config: &Config, options: &SideOptions) -> Result<SideReport, RunError> {
    config.validate()?;
    fs::create_dir_all(&options.out).map_err(file_error(&options.out))?;
    let (window, mut cells) = window(options)?.unzip();
    let heard = cells.as_ref().map(|cells| Arc::clone(&cells.heard));
    let changes = cells.as_mut().and_then(|cells| cells.changes.take());
    let Prepared {
        begin,
        has_table,
        surface,
        device,
    } = side_tick(config, options.side, cells)?;
    let (inbound_writer, inbound) = latest::<Inbound>(None);
    let bus = open_bus(options, inbound_writer)?;
    let mut agreement = Agreement::serve(bus.session(), config, options.side)?;
    let agreed = wait_for_peer(&bus, &mut agreement, options)?;
    let codec = agreed.map_or(config.codec, |agreed| agreed.params);
    // what runs, and what is recorded to have run
    let config = &Config {
        codec,
        ..config.clone()
    };
    let mut ending = Ending::default();
    let ended = Arc::clone(&ending.ended);
    let (ends, way, made) = strokes::open(bus.session(), options.side, &ended)?;
    let tick = begin(config, ends);
    let duty = Arc::new(Duty::default());
    let face = Face::open(bus.session(), options.side, &duty)?;
    let sill = open_window(window, surface, (&bus, &duty))?;
    let pilot = hand::fly(device, heard, (&bus, &duty))?;
    let recorder = begin_recording(config, options, has_table)?;
    let (outbound, frames) = latest::<HapticFrame>(HapticFrame::default());
    let (records, waiting) = ring::<TickRecord>(RECORDS_WAITING);
    let (status, newest) = latest::<Shown>(Shown::default());
    let bus = Arc::new(bus);
    let priority = config.realtime.bus_priority();
    let sending = spawn_sender(Arc::clone(&bus), frames, Arc::clone(&ended), priority)?;
    ending.sender = Some(sending.thread().clone());
    let recording = spawn_recorder(recorder, (waiting, made, options.side), changes, ended)?;
    let meeting = Meeting {
        inbound,
        outbound,
        sender: sending.thread().clone(),
        records,
        status,
        duty,
        stop: Arc::clone(&options.stop),
    };
    let (loop_config, ticks_max) = (config.realtime, options.ticks_max.unwrap_or(u64::MAX));
    let servo_thread = spawn("servo", move || {
        servo(&loop_config, ticks_max, meeting, tick)
    })?;
    let input = show_status(&servo_thread, newest, (&bus, face, sill, pilot), options);
    let servo = join("servo", servo_thread)?;
    drop(ending);
    join("sender", sending)?;
    way.close()?;
    join("recorder", recording)??;
    let report = reported((servo, input), bus.counts(), (codec, agreed));
    write_json(&options.out.join(SIDE_REPORT), &report)?;
    Ok(report)
}

/// What a side says of itself, with the codec that it ran.
fn reported(
    (servo, input): (ServoReport, Option<InputReport>),
    bus: BusCounts,
    (codec, agreed): (CodecParams, Option<Agreed>),
) -> SideReport {
    let codec_note = agreed.and_then(|agreed| agreed.note);
    SideReport {
        servo,
        bus,
        codec,
        codec_note: codec_note.map(|note| note.to_string()),
        input,
    }
}

/// Ends the threads of a side when it is dropped, also where the side cannot be opened.
#[derive(Default)]
struct Ending {
    ended: Arc<AtomicBool>,
    /// The sender, which sleeps until it is woken.
    sender: Option<Thread>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(sender) = &self.sender {
            sender.unpark();
        }
    }
}

/// Begin the recording of a side; `has_table` tells whether its twin has a table.
fn begin_recording(
    config: &Config,
    options: &SideOptions,
    has_table: bool,
) -> Result<Recorder<BufWriter<File>>, RunError> {
    let recording = options.out.join(RECORDING);
    let file = File::create(&recording).map_err(file_error(&recording))?;
    let description = record::Session {
        sides: vec![options.side],
        config: config.to_toml(),
        facts: [(same::TWIN_TABLE, if has_table { "yes" } else { "no" })]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into(),
    };
    Ok(Recorder::create(BufWriter::new(file), &description)?)
}

/// Wait until the other side receives and agrees; an early end is no error, and agrees on nothing.
fn wait_for_peer(
    bus: &Bus,
    agreement: &mut Agreement,
    options: &SideOptions,
) -> Result<Option<Agreed>, RunError> {
    let clock = MonotonicClock;
    let asked = clock.now();
    while !options.stop.load(Ordering::Relaxed) {
        // a side that refuses ours may have gone before its stream was seen here
        agreement.hear()?;
        if bus.wait_ready(LOOK)
            && let Some(agreed) = agreement.reach()?
        {
            return Ok(Some(agreed));
        }
        // a side that runs until it is stopped also waits until it is stopped
        if options.ticks_max.is_some() && clock.now() - asked > PEER_WAIT {
            let waited_s = PEER_WAIT.s();
            return Err(RunError::NoPeer { waited_s });
        }
    }
    Ok(None)
}

/// The pure tick of a side together with the device that it drives.
type SideTick = Box<dyn FnMut(&At) -> Ticked + Send>;

/// A side with its device at rest, which waits for the configuration that both sides agree on.
type SideBegin = Box<dyn FnOnce(&Config, StrokeEnds) -> SideTick>;

/// A side that is ready to begin.
struct Prepared {
    begin: SideBegin,
    /// Whether its twin has a table for late ticks.
    has_table: bool,
    /// Pictures of its twin for a console.
    surface: Option<LatestReader<Surface>>,
    /// What leads its handle.
    device: Option<Waiting>,
}

/// What the line of a side to its console is called in an error.
pub(super) const CONSOLE: &str = "the line to the console";

/// A window to the console, if there is one, and the cells behind it.
fn window(options: &SideOptions) -> Result<Option<(Window, Cells)>, RunError> {
    let Some(line) = &options.console else {
        return Ok(None);
    };
    let line = line.try_clone().map_err(file_error(Path::new(CONSOLE)))?;
    Ok(Some(Window::new(line)))
}

/// Show and listen at a window from now on; the master's tells the slave on the bus what a console asks of it there.
fn open_window(
    window: Option<Window>,
    surface: Option<LatestReader<Surface>>,
    (bus, duty): (&Bus, &Arc<Duty>),
) -> Result<Option<Sill>, RunError> {
    let Some(window) = window else {
        return Ok(None);
    };
    let remote = bus.session().command_client(Side::Slave.name())?;
    let opened = window.open((duty, Some(remote)), surface);
    opened.map(Some).map_err(file_error(Path::new(CONSOLE)))
}

fn side_tick(config: &Config, side: Side, cells: Option<Cells>) -> Result<Prepared, RunError> {
    match side {
        Side::Master => master_tick(config, cells),
        Side::Slave => Ok(Prepared {
            begin: slave_tick(config, cells)?,
            has_table: false,
            surface: None,
            device: None,
        }),
    }
}

fn master_tick(config: &Config, cells: Option<Cells>) -> Result<Prepared, RunError> {
    let (aims, watched, mut tuner) = match cells {
        Some(cells) => (cells.aims, Some(cells.watched), Some(cells.tuner)),
        None => (None, None, None),
    };
    let (mut handle, device) = hand::handle(config, aims)?;
    let table = match config.realtime.mask_late > 0.0 {
        true => tables::of_session(&lab::load_scene(&config.twin, "twin")?).table,
        false => None,
    };
    let twin = lab::predictor_with(config, table.as_ref())?;
    let drawn = twin.as_ref().zip(watched);
    let drawn = drawn.map(|(twin, watched)| surface::painter(&twin.twin().view(), watched));
    let (mut painter, surface): (Option<Painter>, _) = drawn.unzip();
    let state = palpate_master::State::new(twin, &handle.caps(), new_run());
    let begin: SideBegin = Box::new(move |config, mut strokes| {
        let mut coupling = config.coupling_in_use();
        let mut side = MasterSide::new(config, state);
        Box::new(move |at| {
            strokes.tell(&mut side.state);
            tuner
                .iter_mut()
                .for_each(|tuner| tuner.tune(&mut coupling, at.tick, (at.device - Time(0)).s()));
            let made = side.tick(at, &coupling, handle.as_mut());
            strokes.pass(&side.state, at.now);
            if let (Some(painter), Some(twin)) = (&mut painter, side.state.predictor()) {
                painter.paint(&twin.twin().view());
            }
            Ticked::live(&made, &coupling, side.state.inbox(), at.now)
        })
    });
    Ok(Prepared {
        begin,
        has_table: table.is_some(),
        surface,
        device,
    })
}

/// A run of a side, told apart from all others; the other side's is learnt from its frames.
fn new_run() -> Parties {
    // the standard library's own source of random numbers, which the system seeds
    let own = RandomState::new().build_hasher().finish().max(1);
    Parties { own, peer: 0 }
}

fn slave_tick(config: &Config, cells: Option<Cells>) -> Result<SideBegin, RunError> {
    let mut robot: Box<dyn Robot> = lab::build_robot(config)?;
    let mut tuner = cells.map(|cells| cells.tuner);
    let state = palpate_slave::State::new(new_run());
    Ok(Box::new(move |config, mut strokes| {
        let mut coupling = config.coupling_in_use();
        let mut side = SlaveSide::new(config, state);
        Box::new(move |at| {
            let refused = strokes.take(side.state.inbox(), robot.as_mut(), at.now);
            tuner
                .iter_mut()
                .for_each(|tuner| tuner.tune(&mut coupling, at.tick, (at.device - Time(0)).s()));
            let made = side.tick(&At { refused, ..*at }, &coupling, robot.as_mut());
            // that of the newest frame, which it follows
            let code = FrameFlags::mode_code(side.state.inbox().newest().flags);
            let mut ticked = Ticked::live(&made, &coupling, side.state.inbox(), at.now);
            ticked.shown.mode = coupling.mode_of(code).code();
            ticked
        })
    }))
}

/// Open the bus; its receiving thread writes every frame that is newer than the last.
fn open_bus(options: &SideOptions, mut inbound: LatestWriter<Inbound>) -> Result<Bus, RunError> {
    let session = open_session(options)?;
    let write = move |frame: &HapticFrame, received: Time| inbound.write(Some((*frame, received)));
    Ok(Bus::over(session, &options.session, write)?)
}

/// Open the session. A side that dials tries again for as long as it waits for the other to agree: on a busy
/// machine that one may still be reading its tissue.
fn open_session(options: &SideOptions) -> Result<Session, RunError> {
    let begun = MonotonicClock.now();
    loop {
        match Session::open(&options.session) {
            Err(SessionError::Unreachable { endpoints, .. }) => {
                let waited = MonotonicClock.now() - begun;
                if waited > PEER_WAIT || options.stop.load(Ordering::Relaxed) {
                    let waited_ms = waited.ms().round();
                    return Err(SessionError::Unreachable {
                        endpoints,
                        waited_ms,
                    }
                    .into());
                }
            }
            opened => return Ok(opened?),
        }
    }
}

fn spawn_sender(
    bus: Arc<Bus>,
    mut frames: LatestReader<HapticFrame>,
    ended: Arc<AtomicBool>,
    priority: u8,
) -> Result<JoinHandle<()>, RunError> {
    spawn("sender", move || {
        if priority > 0 {
            // a refusal is reported by the servo thread, which asks for the same privilege
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

fn spawn_recorder(
    mut recorder: Recorder<BufWriter<File>>,
    (mut waiting, mut made, side): (RingReceiver<TickRecord>, Made, Side),
    mut changes: Option<RingReceiver<(u64, Change)>>,
    ended: Arc<AtomicBool>,
) -> Result<JoinHandle<Result<(), RunError>>, RunError> {
    spawn("recorder", move || {
        loop {
            let last = ended.load(Ordering::Acquire);
            while let Some((made_ns, stroke)) = made.pop() {
                recorder.push_stroke(made_ns, &stroke)?;
            }
            while let Some((tick, change)) = changes.as_mut().and_then(RingReceiver::pop) {
                recorder.push_change(&Changed { side, tick, change })?;
            }
            while let Some(record) = waiting.pop() {
                recorder.push(&record)?;
            }
            if last {
                break;
            }
            pause(LOOK);
        }
        recorder.finish(None)?;
        Ok(())
    })
}

/// Show the newest record until the servo loop has ended: to CRTK peers, a console, and a supervisor. What
/// the servo knows of the other side's clock goes to the bus, which judges the age of frames by it. Gives what the
/// device was that led the handle.
fn show_status(
    servo: &JoinHandle<ServoReport>,
    mut newest: LatestReader<Shown>,
    (bus, mut face, sill, mut pilot): (&Bus, Face, Option<Sill>, Option<Pilot>),
    options: &SideOptions,
) -> Option<InputReport> {
    let mut looks = 0u32;
    while !servo.is_finished() {
        pause(LOOK);
        looks += 1;
        let Some(shown) = newest.read_new().copied() else {
            continue;
        };
        if let Some(clock) = shown.clock {
            bus.set_sender_clock(clock);
        }
        if let Some(pilot) = &mut pilot {
            pilot.feel(hand::felt(&shown));
        }
        // a bus that is closed has nobody to show anything to
        let _ = face.publish(&shown, MonotonicClock.now());
        if let Some(sill) = sill.as_ref().filter(|_| looks.is_multiple_of(2)) {
            sill.put(Newest {
                shown,
                peer_present: bus.peer_present(),
            });
        }
        if options.status_lines && looks.is_multiple_of(20) {
            let line = StatusLine {
                record: shown.record,
                late_ticks: shown.late_ticks,
                peer_present: bus.peer_present(),
            };
            let line = serde_json::to_string(&line).unwrap_or_default();
            // a supervisor that is gone must not end this side before it is told to stop
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }
    pilot.map(Pilot::land)
}

/// Starts a named thread.
///
/// # Errors
/// [`RunError::Thread`] if the system has no more threads.
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

pub(super) fn join<T>(name: &'static str, thread: JoinHandle<T>) -> Result<T, RunError> {
    thread.join().map_err(|_| RunError::Thread {
        name,
        detail: "it panicked".into(),
    })
}

/// Write a value as readable JSON.
///
/// # Errors
/// [`RunError::File`] with the path.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| file_error(path)(std::io::Error::other(error)))?;
    fs::write(path, text + "\n").map_err(file_error(path))
}
