//! Playback of recordings: one, or two side by side, shown as a running session.
//!
//! Source: ours. A clock advances the time at the selected speed and publishes the state of that time as the latest
//! one. [`timeline`] is an open recording, [`surface_frames`] the surface of its twin, [`trace`] and [`mark`] the plot
//! data along time, [`recording_library`] the recordings that can be opened. Nothing is written, and no servo runs.

pub mod mark;
pub mod recording_library;
pub mod surface_frames;
pub mod timeline;
pub mod trace;

use core::time::Duration;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use palpate_master::device::pointer::PointerTarget;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::trace::Side;
use serde_json::{Value, json};

use palpate_session::monitor::latest_state::{PageMessage, SESSIONS_MAX};
use palpate_session::monitor::order::{OperatorOrder, OrderReply};
use palpate_session::monitor::request::PlaybackRequest;
use palpate_session::monitor::{LatestState, MonitorController, PageResource};
use palpate_session::record::RecordError;
use recording_library::RecordingLibrary;
use timeline::RecordingTimeline;

use crate::client::lock;

/// Time between two updates \[s\].
const UPDATE_INTERVAL: Duration = Duration::from_millis(16);

/// Time between two updates of a paused playback, for the progress of surfaces.
const PAUSED_INTERVAL: Duration = Duration::from_millis(250);

/// Range of the speed.
const SPEEDS: core::ops::RangeInclusive<f64> = 0.1..=4.0;

/// Largest time offset between two recordings \[s\].
const OFFSET_S_MAX: f64 = 3600.0;

/// Controller of the playback.
#[derive(Debug)]
pub struct PlaybackController {
    latest_state: Arc<LatestState>,
    state: Mutex<PlaybackState>,
    changed: Condvar,
    library: Mutex<RecordingLibrary>,
    stop: Arc<AtomicBool>,
}

/// Recording in one of the views.
#[derive(Debug, Default)]
struct Slot {
    timeline: Option<Arc<RecordingTimeline>>,
    /// Number of the recording, counted over all that were opened; a page requests its columns by it.
    number: u32,
    /// Time and mesh of the shown surface.
    shown_frame: Option<(i64, usize)>,
    /// Position of the tool's proxy then, if it touched \[m\].
    proxy_m: Option<[f64; 3]>,
    /// True if the surface was complete at the last overview.
    surface_done: bool,
}

#[derive(Debug, Default)]
struct PlaybackState {
    slots: [Slot; SESSIONS_MAX],
    /// Present time, on the time axis of the first \[s\].
    at_s: f64,
    speed: f64,
    playing: bool,
    /// Delay of the second recording \[s\].
    offset_s: f64,
    /// Number of recordings opened so far.
    opened_count: u32,
    /// Time and waiting state of the last update.
    last_shown: Option<(f64, bool)>,
    /// True if pages need a new overview.
    stale: bool,
}

impl PlaybackState {
    /// Converts a time to the own time axis of a view \[s\].
    fn local_s(&self, view: usize, at_s: f64) -> f64 {
        if view == 0 {
            at_s
        } else {
            at_s - self.offset_s
        }
    }

    /// First and last time of all open recordings \[s\].
    fn span_s(&self) -> [f64; 2] {
        let spans = self.slots.iter().enumerate().filter_map(|(view, slot)| {
            let begin_s = if view == 0 { 0.0 } else { self.offset_s };
            Some([begin_s, begin_s + slot.timeline.as_ref()?.length_s()])
        });
        let whole = spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        whole.unwrap_or([0.0; 2])
    }

    fn go_to(&mut self, at_s: f64) {
        let [from_s, to_s] = self.span_s();
        self.at_s = at_s.clamp(from_s, to_s);
    }

    /// Advances by a time \[s\]; returns true if it must wait for a surface that is still computed.
    fn advance(&mut self, by_s: f64) -> bool {
        let to_s = self.at_s + by_s * self.speed;
        let views = self.slots.iter().enumerate();
        let mut waiting = views.filter_map(|(view, slot)| {
            let own_s = self.local_s(view, to_s);
            let timeline = slot
                .timeline
                .as_ref()
                .filter(|timeline| own_s <= timeline.length_s())?;
            Some(!timeline.surface_end().1 && own_s >= 0.0 && !timeline.is_surface_known(own_s))
        });
        if waiting.any(|waits| waits) {
            return true;
        }
        self.go_to(to_s);
        if self.at_s < to_s {
            self.playing = false;
        }
        false
    }
}

impl PlaybackController {
    /// Opens the playback of these recordings, with a library of others; `stop` ends it.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn open(
        timelines: [Option<Arc<RecordingTimeline>>; SESSIONS_MAX],
        library: RecordingLibrary,
        stop: &Arc<AtomicBool>,
    ) -> std::io::Result<Arc<Self>> {
        let controller = Arc::new(Self {
            latest_state: Arc::new(LatestState::new(
                json!({"for": "recording", "name": "recordings"}),
            )),
            state: Mutex::new(PlaybackState {
                speed: 1.0,
                stale: true,
                ..PlaybackState::default()
            }),
            changed: Condvar::new(),
            library: Mutex::new(library),
            stop: Arc::clone(stop),
        });
        for (view, timeline) in timelines.into_iter().enumerate() {
            if let Some(timeline) = timeline {
                controller.place_recording(view, Some(timeline));
            }
        }
        let clocked = Arc::downgrade(&controller);
        std::thread::Builder::new()
            .name("console-replay".into())
            .spawn(move || run_clock(&clocked))?;
        Ok(controller)
    }

    /// Returns the shown state.
    #[must_use]
    pub fn latest_state(&self) -> &Arc<LatestState> {
        &self.latest_state
    }

    /// Places a recording, or none, in a view.
    fn place_recording(&self, view: usize, timeline: Option<Arc<RecordingTimeline>>) {
        let mut state = lock(&self.state);
        state.opened_count += 1;
        let epoch_ns = timeline.as_ref().map(|timeline| timeline.epoch_ns());
        let slot = Slot {
            timeline,
            number: state.opened_count,
            ..Slot::default()
        };
        if let Some(before) = std::mem::replace(&mut state.slots[view], slot).timeline {
            before.close();
        }
        if view == 0 {
            (state.at_s, state.playing) = (0.0, false);
        }
        // remove the surface of the previous recording
        let session = self.latest_state.session(view);
        session.show_mesh(&[], &[]);
        session.set_epoch_ns(epoch_ns.unwrap_or(0));
        let at_s = state.at_s;
        state.go_to(at_s);
        (state.stale, state.last_shown) = (true, None);
        drop(state);
        self.changed.notify_all();
    }

    fn transport(&self, request: PlaybackRequest) -> OrderReply {
        match request {
            PlaybackRequest::Open { number, beside } => return self.open_listed(number, beside),
            PlaybackRequest::Close => {
                self.place_recording(1, None);
                return Ok("closed".into());
            }
            PlaybackRequest::List => {
                lock(&self.library).refresh();
                lock(&self.state).stale = true;
                self.changed.notify_all();
                return Ok("list updated".into());
            }
            _ => {}
        }
        let mut state = lock(&self.state);
        if state.slots.iter().all(|slot| slot.timeline.is_none()) {
            return Err("no recording is open; choose one from the list".into());
        }
        let reply = apply_transport(&mut state, request);
        drop(state);
        self.changed.notify_all();
        reply
    }

    fn open_listed(&self, number: u32, beside: bool) -> OrderReply {
        let (path, name) = {
            let library = lock(&self.library);
            let file = library.file(number);
            let file = file.ok_or_else(|| format!("the list has no recording {number}"))?;
            (file.0, file.1.to_owned())
        };
        if beside && lock(&self.state).slots[0].timeline.is_none() {
            return Err("a second recording needs a first one; open a first one".into());
        }
        // a page receives names below the folder only
        let reason = |error: RecordError| {
            error
                .to_string()
                .replace(&path.display().to_string(), &name)
        };
        let timeline = RecordingTimeline::open(&path, &name).map_err(reason)?;
        self.place_recording(usize::from(beside), Some(timeline));
        Ok(format!("{name} is open"))
    }

    /// Publishes the present state, if anything changed.
    fn show(&self, state: &mut PlaybackState, waiting: bool) {
        let at = (state.at_s, waiting);
        let moved = state.last_shown != Some(at);
        state.last_shown = Some(at);
        let timelines = state.slots.each_ref().map(|slot| slot.timeline.clone());
        let ends = timelines
            .each_ref()
            .map(|timeline| Some(timeline.as_ref()?.surface_end()));
        for (view, (timeline, end)) in timelines.iter().zip(ends).enumerate() {
            let Some(timeline) = timeline else { continue };
            self.show_recording(state, view, timeline, moved);
            let done = end.is_some_and(|(_, done)| done);
            let before = core::mem::replace(&mut state.slots[view].surface_done, done);
            state.stale |= before != done;
        }
        self.send_state(state, waiting, &ends);
    }

    fn show_recording(
        &self,
        state: &mut PlaybackState,
        view: usize,
        timeline: &RecordingTimeline,
        moved: bool,
    ) {
        let own_s = state.local_s(view, state.at_s);
        let session = self.latest_state.session(view);
        for side in [Side::Slave, Side::Master].into_iter().filter(|_| moved) {
            session.show(side, &timeline.side_block(side, own_s));
            if let Some((record, _)) = timeline.record_at(side, own_s) {
                session.record(record);
            }
        }
        let slot = &mut state.slots[view];
        if let Some((frame, mesh)) = timeline.surface_at(own_s.max(0.0), slot.shown_frame) {
            if let Some(mesh) = mesh {
                session.show_mesh(&mesh.rest_m, &mesh.faces);
            }
            session.show_surface(&frame.positions_m);
            slot.shown_frame = Some((frame.at_ns, frame.mesh));
            slot.proxy_m = frame.proxy_m;
        }
    }

    fn send_state(
        &self,
        state: &mut PlaybackState,
        waiting: bool,
        ends: &[Option<(Option<f64>, bool)>; SESSIONS_MAX],
    ) {
        if core::mem::take(&mut state.stale) {
            self.latest_state
                .send_message(PageMessage::Content, &self.overview(state));
        }
        let [from_s, to_s] = state.span_s();
        let position = json!({
            "kind": "moment",
            "at_s": state.at_s,
            "playing": state.playing,
            "waiting": waiting,
            "speed": state.speed,
            "offset_s": state.offset_s,
            "from_s": from_s,
            "to_s": to_s,
            "fronts_s": ends.map(|end| end.and_then(|(end_s, _)| end_s)),
            "proxies_m": state.slots.each_ref().map(|slot| slot.proxy_m),
            "done": ends.map(|end| end.map(|(_, done)| done)),
        });
        self.latest_state
            .send_message(PageMessage::Position, &position);
    }

    /// Returns the open recordings, and the list of others.
    fn overview(&self, state: &PlaybackState) -> Value {
        let open = |slot: &Slot| {
            let mut facts = slot.timeline.as_ref()?.page_facts();
            facts["number"] = json!(slot.number);
            Some(facts)
        };
        let open: Vec<Option<Value>> = state.slots.iter().map(open).collect();
        let library = lock(&self.library);
        json!({"kind": "overview", "list": library.entries, "open": open})
    }
}

/// Applies a request that needs no file.
fn apply_transport(state: &mut PlaybackState, request: PlaybackRequest) -> OrderReply {
    let [from_s, to_s] = state.span_s();
    match request {
        PlaybackRequest::Play => {
            if state.at_s >= to_s {
                state.at_s = from_s;
            }
            state.playing = true;
            Ok("playing".into())
        }
        PlaybackRequest::Pause => {
            state.playing = false;
            Ok("paused".into())
        }
        PlaybackRequest::Seek(at_s) if at_s.is_finite() => {
            state.go_to(at_s);
            Ok(format!("at {:.3} s", state.at_s))
        }
        PlaybackRequest::Seek(at_s) => Err(format!("seek is {at_s}; expected a time in seconds")),
        PlaybackRequest::Speed(speed) if SPEEDS.contains(&speed) => {
            state.speed = speed;
            state.last_shown = None;
            Ok(format!("speed {speed}"))
        }
        PlaybackRequest::Speed(speed) => Err(format!("speed is {speed}; expected 0.1 to 4")),
        PlaybackRequest::Offset(offset_s) if offset_s.abs() <= OFFSET_S_MAX => {
            state.offset_s = offset_s;
            state.last_shown = None;
            let at_s = state.at_s;
            state.go_to(at_s);
            Ok(format!("the second recording is shown {offset_s} s later"))
        }
        PlaybackRequest::Offset(offset_s) => Err(format!(
            "offset is {offset_s}; expected -{OFFSET_S_MAX} to {OFFSET_S_MAX} s"
        )),
        PlaybackRequest::Open { .. } | PlaybackRequest::Close | PlaybackRequest::List => {
            Err("this request needs a file".into())
        }
    }
}

/// Advances the time, until the controller is dropped.
fn run_clock(controller: &Weak<PlaybackController>) {
    let now_s = || MonotonicClock.now().0 as f64 * 1e-9;
    let mut before_s = now_s();
    while let Some(controller) = controller.upgrade() {
        let mut state = lock(&controller.state);
        let since_s = now_s() - before_s;
        before_s += since_s;
        // after a long suspension, playback continues from the same time
        let waiting = state.playing && state.advance(since_s.min(0.25));
        controller.show(&mut state, waiting);
        let interval = if state.playing {
            UPDATE_INTERVAL
        } else {
            PAUSED_INTERVAL
        };
        let played = state.playing;
        // a change notifies the condition
        let notified = controller.changed.wait_timeout(state, interval);
        drop(notified);
        if !played {
            before_s = now_s();
        }
    }
}

impl Drop for PlaybackController {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let timelines = state.slots.iter().filter_map(|slot| slot.timeline.as_ref());
        timelines.for_each(|timeline| timeline.close());
    }
}

impl MonitorController for PlaybackController {
    fn execute(&self, order: &OperatorOrder) -> OrderReply {
        match order {
            OperatorOrder::Replay { what } => self.transport(*what),
            OperatorOrder::Stop => self.transport(PlaybackRequest::Pause),
            OperatorOrder::End => {
                self.stop.store(true, Ordering::Relaxed);
                Ok("closed".into())
            }
            _ => Err("a recording cannot be changed".into()),
        }
    }

    fn stop(&self) {
        lock(&self.state).playing = false;
        self.changed.notify_all();
    }

    fn aim(&self, _aim: PointerTarget, _page_time_ms: f64) {}

    fn set_watched(&self, _anybody: bool) {}

    fn resource(&self, name: &str) -> Option<PageResource> {
        let number: u32 = name.strip_prefix("trace/")?.parse().ok()?;
        let state = lock(&self.state);
        let slot = state.slots.iter().find(|slot| slot.number == number)?;
        let timeline = slot.timeline.as_ref()?;
        Some(("application/octet-stream", timeline.table()))
    }
}
