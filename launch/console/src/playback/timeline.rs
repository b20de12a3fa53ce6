//! One open recording: its ticks, its plot data along time, and its twin's surface, computed on another thread.
//!
//! Source: ours. After the recording is read, everything but the surface is available; the surface is then computed
//! from the beginning on.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use palpate_session::config::Config;
use palpate_session::monitor::wire;
use palpate_session::record::{self, RecordError, Recording};
use palpate_session::replay::twin::{TwinComparison, TwinReplay};
use palpate_session::run::{crtk_publisher, realtime};
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{InputFlags, Side, TickRecord};
use serde_json::{Value, json};

use crate::client::lock;
use crate::playback::mark::marks;
use crate::playback::surface_frames::{self, FrameMesh, SurfaceFrame, SurfaceFrames};
use crate::playback::trace;

/// Ticks of a twin between two checks that the surface is still needed.
const POLL_TICKS: usize = 64;

/// An open recording.
pub struct RecordingTimeline {
    name: String,
    recording: Recording,
    config: Option<Config>,
    begin_ns: i64,
    end_ns: i64,
    /// Late ticks up to each record, of both sides.
    late_ticks: [Vec<u32>; 2],
    table: Bytes,
    description: Value,
    surface: Mutex<SurfaceProgress>,
    closed: AtomicBool,
}

/// Progress of the surface.
struct SurfaceProgress {
    frames: SurfaceFrames,
    comparison: TwinComparison,
    /// Reason for a missing surface.
    missing_reason: Option<String>,
    done: bool,
}

impl std::fmt::Debug for RecordingTimeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RecordingTimeline({:?})", self.name)
    }
}

impl RecordingTimeline {
    /// ROS time at which the clock of its ticks reads 0 \[ns\].
    pub(crate) fn epoch_ns(&self) -> i64 {
        self.recording.epoch_ns()
    }

    /// Reads a recording, and starts to compute its surface; `name` is its name on the page.
    ///
    /// # Errors
    /// Errors of [`record::read()`].
    pub fn open(path: &Path, name: &str) -> Result<Arc<Self>, RecordError> {
        let recording = record::read(path)?;
        // one without ticks is refused above
        let (begin_ns, end_ns) = trace::span_ns(&recording).unwrap_or_default();
        let config = recording.config.as_deref();
        let config = config.map(|text| Config::parse(text, &format!("{name}, config.toml")));
        let (config, missing_reason) = match config {
            Some(Ok(config)) => (Some(config), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, Some("the recording has no configuration".to_owned())),
        };
        let surface = SurfaceProgress {
            frames: SurfaceFrames::new(surface_frames::BYTES_MAX),
            comparison: TwinComparison::default(),
            done: missing_reason.is_some(),
            missing_reason,
        };
        let timeline = Arc::new(Self {
            name: name.to_owned(),
            late_ticks: [&recording.master, &recording.slave].map(|side| late_tick_counts(side)),
            table: trace::table(&recording).into(),
            description: recording_facts(&recording, config.as_ref()),
            recording,
            config,
            begin_ns,
            end_ns,
            surface: Mutex::new(surface),
            closed: AtomicBool::new(false),
        });
        let builder = Arc::clone(&timeline);
        let started = std::thread::Builder::new()
            .name("console-surface".into())
            .spawn(move || builder.build_surface());
        if started.is_err() {
            timeline.fail_surface("the system has no more threads".into());
        }
        Ok(timeline)
    }

    /// Stops the computation of its surface.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Length of the recording \[s\].
    #[must_use]
    pub fn length_s(&self) -> f64 {
        (self.end_ns - self.begin_ns) as f64 * 1e-9
    }

    /// Returns its columns along time, see [`trace::table`].
    #[must_use]
    pub fn table(&self) -> Bytes {
        self.table.clone()
    }

    fn fail_surface(&self, reason: String) {
        let mut surface = lock(&self.surface);
        surface.missing_reason = Some(reason);
        surface.done = true;
    }

    /// Computes the surface, from the beginning to the end.
    fn build_surface(&self) {
        realtime::lower_priority();
        let Some(config) = &self.config else { return };
        if self.recording.master.is_empty() {
            return self.fail_surface(
                "the recording has no ticks of the master, which has the twin".into(),
            );
        }
        let mut twin = match TwinReplay::of(&self.recording, config) {
            Ok(Some(twin)) => twin,
            Ok(None) => {
                let mode = config.coupling.mode.name();
                return self.fail_surface(format!("this session, in mode {mode}, had no twin"));
            }
            Err(error) => {
                return self.fail_surface(format!("the twin cannot be built again: {error}"));
            }
        };
        for (index, record) in self.recording.master.iter().enumerate() {
            if index % POLL_TICKS == 0 && self.closed.load(Ordering::Relaxed) {
                return;
            }
            twin.step(record);
            let mut surface = lock(&self.surface);
            surface.comparison = twin.comparison;
            if surface.frames.needs_frame(record.now_ns) {
                surface
                    .frames
                    .push(record.now_ns, &twin.view(), twin.proxy_m);
            }
        }
        let mut surface = lock(&self.surface);
        surface.frames.end_ns = Some(self.end_ns);
        surface.done = true;
    }

    /// End of the computed surface, since the beginning \[s\], and true if it is complete.
    #[must_use]
    pub fn surface_end(&self) -> (Option<f64>, bool) {
        let surface = lock(&self.surface);
        let end_ns = surface.frames.end_ns;
        let end_s = end_ns.map(|ns| (ns - self.begin_ns) as f64 * 1e-9);
        (end_s, surface.done)
    }

    /// Returns its surface at a time since its beginning \[s\], if it is computed and differs from `before`, the time
    /// and mesh of the shown one; with the mesh if that differs, too.
    #[must_use]
    pub fn surface_at(
        &self,
        at_s: f64,
        before: Option<(i64, usize)>,
    ) -> Option<(SurfaceFrame, Option<FrameMesh>)> {
        let (surface, at_ns) = (lock(&self.surface), self.ns(at_s));
        if surface.frames.frame_key(at_ns) == before {
            return None;
        }
        let frame = surface.frames.at(at_ns)?;
        let new_mesh = before.is_none_or(|(_, mesh)| mesh != frame.mesh);
        let mesh = new_mesh.then(|| surface.frames.meshes[frame.mesh].clone());
        Some((frame, mesh))
    }

    /// Returns true if the surface is computed at a time since the beginning \[s\].
    #[must_use]
    pub(crate) fn is_surface_known(&self, at_s: f64) -> bool {
        let end_ns = lock(&self.surface).frames.end_ns;
        end_ns.is_some_and(|end_ns| self.ns(at_s) <= end_ns)
    }

    fn ns(&self, at_s: f64) -> i64 {
        // a time beyond the range of the clock is clamped
        self.begin_ns.saturating_add((at_s * 1e9) as i64)
    }

    /// Returns the last record of a side up to a time since the beginning \[s\], and the late ticks so far.
    #[must_use]
    pub(crate) fn record_at(&self, side: Side, at_s: f64) -> Option<(&TickRecord, u32)> {
        let records = match side {
            Side::Master => &self.recording.master,
            Side::Slave => &self.recording.slave,
        };
        let at_ns = self.ns(at_s);
        let index = records
            .partition_point(|r| r.now_ns <= at_ns)
            .checked_sub(1)?;
        Some((&records[index], self.late_ticks[side as usize][index]))
    }

    /// Returns a side at a time in the page's format; without a record yet, it is marked as absent.
    #[must_use]
    pub(crate) fn side_block(&self, side: Side, at_s: f64) -> [u8; 8 * wire::FIELDS] {
        let Some((record, late)) = self.record_at(side, at_s) else {
            return [0; 8 * wire::FIELDS];
        };
        let (impedance_nspm, mode) = self.coupling(at_s);
        let view = wire::SideView {
            servo: crtk_publisher::ServoSnapshot {
                record: *record,
                late_ticks: u64::from(late),
                force_measured: record.given & InputFlags::FORCE_VALID != 0,
                impedance_nspm,
                mode: mode.map_or(0, Mode::code),
                peer_clock: None,
            },
            state: record.state,
            commanded_state: record.state,
            peer_present: true,
            pointer: None,
        };
        view.block()
    }

    /// Returns impedance \[N s/m\] and mode, as scheduled by the configuration.
    fn coupling(&self, at_s: f64) -> (f64, Option<Mode>) {
        let Some(config) = &self.config else {
            return (f64::NAN, None);
        };
        let params = &config.coupling;
        let impedance_nspm = params.retune.impedance_nspm(params.impedance_nspm, at_s);
        (
            impedance_nspm,
            Some(params.switch.mode_at(params.mode, at_s)),
        )
    }

    /// Returns the facts for the page, with the comparison of its surface to the recorded forces so far.
    #[must_use]
    pub fn page_facts(&self) -> Value {
        let surface = lock(&self.surface);
        let (spacing_s, bytes) = surface.frames.size();
        let compared = surface.comparison;
        let surface_facts = json!({
            "without": surface.missing_reason,
            "done": surface.done,
            "ticks": compared.ticks,
            "different": compared.different_ticks,
            "first_s": compared.first_different_tick.map(|tick| tick as f64 * PERIOD.s()),
            "worst_n": compared.worst_n,
            "spacing_s": spacing_s,
            "bytes": bytes,
        });
        drop(surface);
        let mut facts = self.description.clone();
        facts["name"] = json!(self.name);
        facts["length_s"] = json!(self.length_s());
        facts["film"] = surface_facts;
        facts
    }
}

fn late_tick_counts(records: &[TickRecord]) -> Vec<u32> {
    let late = records.iter().scan(0, |late, record| {
        *late += u32::from(record.late_ns >= PERIOD.0);
        Some(*late)
    });
    late.collect()
}

/// Returns the facts of a recording that do not change.
fn recording_facts(recording: &Recording, config: Option<&Config>) -> Value {
    let summary = recording.summary.as_deref();
    let summary: Option<Value> = summary.and_then(|text| serde_json::from_str(text).ok());
    let config = config.map(|config| {
        json!({
            "name": config.name,
            "twin": config.twin,
            "tissue": config.tissue,
            "mode": config.coupling.mode.name(),
            "impedance_nspm": config.coupling.impedance_nspm,
            "oneway_ms": [config.link.forward.oneway_ms, config.link.back.oneway_ms],
            "seed": config.seed,
            "tool_radius_m": config.master.predict.tool_radius_m,
            "tool_edges_m": config.master.predict.tool_shape.edges_m().map(|edge_m| [edge_m.x, edge_m.y, edge_m.z]),
        })
    });
    json!({
        "facts": recording.facts,
        "config": config,
        "summary": summary,
        "ticks": [recording.master.len(), recording.slave.len()],
        "edit_batches": recording.edit_batches.len(),
        "damage": recording.damage.as_ref().map(ToString::to_string),
        "columns": trace::COLUMNS,
        "marks": marks(recording),
    })
}
