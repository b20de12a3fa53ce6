//! One open recording: its ticks, what is drawn of it along time, and its twin's surface, made on a thread of its own.
//!
//! Source: ours. Reading it takes as long as it takes; the surface then grows from the begin on while all else is
//! shown already.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use palpate_session::config::Config;
use palpate_session::monitor::wire;
use palpate_session::record::{self, RecordError, Recording};
use palpate_session::replay::twin::{Compared, Twin};
use palpate_session::run::realtime;
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::Mode;
use palpate_transport::trace::{Given, Side, TickRecord};
use serde_json::{Value, json};

use crate::playback::film::{self, Film, Mesh, Shown};
use crate::playback::mark::marks;
use crate::playback::trace;

/// Ticks of a twin between two looks at whether anybody still wants it.
const LOOK_TICKS: usize = 64;

/// An open recording.
pub struct Reel {
    name: String,
    recording: Recording,
    config: Option<Config>,
    begin_ns: i64,
    end_ns: i64,
    /// Late ticks until each record, of both sides.
    late: [Vec<u32>; 2],
    table: Bytes,
    described: Value,
    made: Mutex<Made>,
    closed: AtomicBool,
}

/// How far the surface has come.
struct Made {
    film: Film,
    compared: Compared,
    /// Why there is none.
    without: Option<String>,
    done: bool,
}

impl std::fmt::Debug for Reel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reel")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Reel {
    /// Read a recording, and begin with its surface; `name` is what it is called.
    ///
    /// # Errors
    /// [`RecordError`] as [`record::read()`].
    pub fn open(path: &Path, name: &str) -> Result<Arc<Self>, RecordError> {
        let recording = record::read(path)?;
        // one without ticks is refused above
        let (begin_ns, end_ns) = trace::span_ns(&recording).unwrap_or_default();
        let config = recording.config.as_deref();
        let config = config.map(|text| Config::parse(text, &format!("{name}, config.toml")));
        let (config, why) = match config {
            Some(Ok(config)) => (Some(config), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, Some("the recording has no configuration".to_owned())),
        };
        let made = Made {
            film: Film::new(film::ROOM),
            compared: Compared::default(),
            done: why.is_some(),
            without: why,
        };
        let reel = Arc::new(Self {
            name: name.to_owned(),
            late: [&recording.master, &recording.slave].map(|side| late(side)),
            table: trace::table(&recording).into(),
            described: described(&recording, config.as_ref()),
            recording,
            config,
            begin_ns,
            end_ns,
            made: Mutex::new(made),
            closed: AtomicBool::new(false),
        });
        let developing = Arc::clone(&reel);
        let started = std::thread::Builder::new()
            .name("console-film".into())
            .spawn(move || developing.develop());
        if started.is_err() {
            reel.give_up("the system has no more threads".into());
        }
        Ok(reel)
    }

    /// Leave off making its surface: nobody looks at it any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// How long it is \[s\].
    #[must_use]
    pub fn length_s(&self) -> f64 {
        (self.end_ns - self.begin_ns) as f64 * 1e-9
    }

    /// Its columns along time, see [`trace::table`].
    #[must_use]
    pub fn table(&self) -> Bytes {
        self.table.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Made> {
        // whoever panicked left whole pictures behind
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_up(&self, why: String) {
        let mut made = self.lock();
        made.without = Some(why);
        made.done = true;
    }

    /// Make the surface, from the begin to the end.
    fn develop(&self) {
        realtime::yield_to_others();
        let Some(config) = &self.config else { return };
        if self.recording.master.is_empty() {
            return self
                .give_up("the recording has no ticks of the master, which has the twin".into());
        }
        let mut twin = match Twin::of(&self.recording, config) {
            Ok(Some(twin)) => twin,
            Ok(None) => {
                let mode = config.coupling.mode.name();
                return self.give_up(format!("this session, in mode {mode}, had no twin"));
            }
            Err(error) => return self.give_up(format!("the twin cannot be built again: {error}")),
        };
        for (index, record) in self.recording.master.iter().enumerate() {
            if index % LOOK_TICKS == 0 && self.closed.load(Ordering::Relaxed) {
                return;
            }
            twin.step(record);
            let mut made = self.lock();
            made.compared = twin.compared();
            if made.film.wants(record.now_ns) {
                made.film.take(record.now_ns, &twin.view(), twin.proxy_m());
            }
        }
        let mut made = self.lock();
        made.film.reach(self.end_ns);
        made.done = true;
    }

    /// Until when its surface is known, since its begin \[s\], and whether that is all there will be.
    #[must_use]
    pub fn front(&self) -> (Option<f64>, bool) {
        let made = self.lock();
        let front_ns = made.film.front_ns();
        let front_s = front_ns.map(|ns| (ns - self.begin_ns) as f64 * 1e-9);
        (front_s, made.done)
    }

    /// Its surface at a moment since its begin \[s\], if that is known and another than `before`, which is what is
    /// shown, by time and mesh; with the mesh if that is another as well.
    #[must_use]
    pub fn picture(
        &self,
        at_s: f64,
        before: Option<(i64, usize)>,
    ) -> Option<(Shown, Option<Mesh>)> {
        let (made, at_ns) = (self.lock(), self.ns(at_s));
        if made.film.moment(at_ns) == before {
            return None;
        }
        let shown = made.film.at(at_ns)?;
        let other = before.is_none_or(|(_, mesh)| mesh != shown.mesh);
        let mesh = other
            .then(|| made.film.mesh_of(shown.mesh).cloned())
            .flatten();
        Some((shown, mesh))
    }

    /// Whether the surface is known at a moment since the begin \[s\].
    #[must_use]
    pub fn knows(&self, at_s: f64) -> bool {
        let front_ns = self.lock().film.front_ns();
        front_ns.is_some_and(|front_ns| self.ns(at_s) <= front_ns)
    }

    fn ns(&self, at_s: f64) -> i64 {
        // a place on a time line; what is beyond every clock is at its end
        self.begin_ns.saturating_add((at_s * 1e9) as i64)
    }

    /// The last record of a side until a moment since the begin \[s\], and late ticks until then.
    #[must_use]
    pub fn record(&self, side: Side, at_s: f64) -> Option<(&TickRecord, u32)> {
        let records = match side {
            Side::Master => &self.recording.master,
            Side::Slave => &self.recording.slave,
        };
        let at_ns = self.ns(at_s);
        let index = records
            .partition_point(|r| r.now_ns <= at_ns)
            .checked_sub(1)?;
        Some((&records[index], self.late[side as usize][index]))
    }

    /// A side at a moment as a page is sent it; one that has no record yet has not spoken.
    #[must_use]
    pub fn block(&self, side: Side, at_s: f64) -> [u8; 8 * wire::FIELDS] {
        let Some((record, late)) = self.record(side, at_s) else {
            return [0; 8 * wire::FIELDS];
        };
        let (impedance_nspm, mode) = self.coupling(at_s);
        let shown = wire::Side {
            record: *record,
            late_ticks: u64::from(late),
            state: record.state,
            ordered: record.state,
            peer_present: true,
            force_known: record.given & Given::FORCE_VALID != 0,
            impedance_nspm,
            mode: mode.map_or(0, Mode::code),
            pointer: None,
        };
        shown.block()
    }

    /// Impedance \[N s/m\] and mode as the configuration schedules them.
    fn coupling(&self, at_s: f64) -> (f64, Option<Mode>) {
        let Some(config) = &self.config else {
            return (f64::NAN, None);
        };
        let of = &config.coupling;
        let impedance_nspm = of.retune.impedance_nspm(of.impedance_nspm, at_s);
        (impedance_nspm, Some(of.switch.mode(of.mode, at_s)))
    }

    /// What a page is told of it, and how its surface is to the recorded forces so far.
    #[must_use]
    pub fn told(&self) -> Value {
        let made = self.lock();
        let (spacing_s, bytes) = made.film.size();
        let compared = made.compared;
        let film = json!({
            "without": made.without,
            "done": made.done,
            "ticks": compared.ticks,
            "different": compared.different,
            "first_s": compared.first.map(|tick| tick as f64 * PERIOD.s()),
            "worst_n": compared.worst_n,
            "spacing_s": spacing_s,
            "bytes": bytes,
        });
        drop(made);
        let mut told = self.described.clone();
        told["name"] = json!(self.name);
        told["length_s"] = json!(self.length_s());
        told["film"] = film;
        told
    }
}

fn late(records: &[TickRecord]) -> Vec<u32> {
    let late = records.iter().scan(0, |late, record| {
        *late += u32::from(record.late_ns >= PERIOD.0);
        Some(*late)
    });
    late.collect()
}

/// What a recording says of itself.
fn described(recording: &Recording, config: Option<&Config>) -> Value {
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
        "strokes": recording.strokes.len(),
        "damage": recording.damage.as_ref().map(ToString::to_string),
        "columns": trace::COLUMNS,
        "marks": marks(recording),
    })
}
