//! The desk of recordings: one, or two beside each other, shown as if they went on now.
//!
//! Source: ours. A clock of its own goes through time at the speed that was asked for and puts on the board what was
//! then: [`reel`] is an open recording, [`film`] the surface of its twin, [`trace`] and [`mark`] what is drawn along time,
//! [`shelf`] what else may be opened. Nothing is ever written, and no servo runs.

pub mod film;
pub mod mark;
pub mod reel;
pub mod shelf;
pub mod trace;

use core::time::Duration;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use palpate_master::device::pointer::Aim;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::trace::Side;
use serde_json::{Value, json};

use palpate_session::monitor::board::{PLACES, Word};
use palpate_session::monitor::order::{Answer, Order};
use palpate_session::monitor::request::Transport;
use palpate_session::monitor::{Board, Desk, Resource};
use reel::Reel;
use shelf::Shelf;

/// Time between two pictures \[s\].
const PICTURE: Duration = Duration::from_millis(16);

/// Time after which a page at rest is told how far surfaces have come.
const REST: Duration = Duration::from_millis(250);

/// How fast a recording may go.
const SPEEDS: core::ops::RangeInclusive<f64> = 0.1..=4.0;

/// How far from each other two recordings may be shown \[s\].
const OFFSET_S_MAX: f64 = 3600.0;

/// The desk.
#[derive(Debug)]
pub struct PlaybackDesk {
    board: Arc<Board>,
    state: Mutex<State>,
    changed: Condvar,
    shelf: Mutex<Shelf>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
struct State {
    reels: [Option<Arc<Reel>>; PLACES],
    /// Where it is, on the time of the first \[s\].
    at_s: f64,
    speed: f64,
    playing: bool,
    /// How much later the second is shown \[s\].
    offset_s: f64,
    /// Counts what was opened: a page asks for the columns of one of them.
    opened: u32,
    /// Which reel each place has, counted so.
    numbers: [u32; PLACES],
    /// Time and mesh of the surface that is shown.
    shown: [Option<(i64, usize)>; PLACES],
    /// Where the tool's proxy was then, if it touched \[m\].
    proxies_m: [Option<[f64; 3]>; PLACES],
    /// Where it was when it was shown last.
    last: Option<(f64, bool)>,
    /// Whether pages are to be told all again.
    stale: bool,
    /// Whether each surface was done when they were.
    done: [bool; PLACES],
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    // whoever panicked left it whole
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn new() -> Self {
        Self {
            reels: [None, None],
            at_s: 0.0,
            speed: 1.0,
            playing: false,
            offset_s: 0.0,
            opened: 0,
            numbers: [0; PLACES],
            shown: [None; PLACES],
            proxies_m: [None; PLACES],
            last: None,
            stale: true,
            done: [false; PLACES],
        }
    }

    /// Where a place is, on its own time \[s\].
    fn own_s(&self, place: usize, at_s: f64) -> f64 {
        if place == 0 {
            at_s
        } else {
            at_s - self.offset_s
        }
    }

    /// First and last moment of all that is open \[s\].
    fn span_s(&self) -> [f64; 2] {
        let spans = self.reels.iter().enumerate().filter_map(|(place, reel)| {
            let begin_s = if place == 0 { 0.0 } else { self.offset_s };
            Some([begin_s, begin_s + reel.as_ref()?.length_s()])
        });
        let whole = spans.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        whole.unwrap_or([0.0; 2])
    }

    fn go_to(&mut self, at_s: f64) {
        let [from_s, to_s] = self.span_s();
        self.at_s = at_s.clamp(from_s, to_s);
    }

    /// Go on by a time \[s\]; whether it had to wait for a surface that is still being made.
    fn advance(&mut self, by_s: f64) -> bool {
        let to_s = self.at_s + by_s * self.speed;
        let places = self.reels.iter().enumerate();
        let mut waiting = places.filter_map(|(place, reel)| {
            let own_s = self.own_s(place, to_s);
            let reel = reel.as_ref().filter(|reel| own_s <= reel.length_s())?;
            Some(!reel.front().1 && own_s >= 0.0 && !reel.knows(own_s))
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

impl PlaybackDesk {
    /// A desk with these recordings open, and a shelf of others; `stop` ends it.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn open(
        reels: [Option<Arc<Reel>>; PLACES],
        shelf: Shelf,
        stop: &Arc<AtomicBool>,
    ) -> std::io::Result<Arc<Self>> {
        let desk = Arc::new(Self {
            board: Arc::new(Board::new(
                json!({"for": "recording", "name": "recordings"}),
            )),
            state: Mutex::new(State::new()),
            changed: Condvar::new(),
            shelf: Mutex::new(shelf),
            stop: Arc::clone(stop),
        });
        for (place, reel) in reels.into_iter().enumerate() {
            if let Some(reel) = reel {
                desk.put(place, Some(reel));
            }
        }
        let going = Arc::downgrade(&desk);
        std::thread::Builder::new()
            .name("console-replay".into())
            .spawn(move || go(&going))?;
        Ok(desk)
    }

    /// What it shows.
    #[must_use]
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Put a recording in a place, or none.
    fn put(&self, place: usize, reel: Option<Arc<Reel>>) {
        let mut state = lock(&self.state);
        state.opened += 1;
        state.numbers[place] = state.opened;
        (state.shown[place], state.proxies_m[place]) = (None, None);
        state.done[place] = false;
        if let Some(before) = std::mem::replace(&mut state.reels[place], reel) {
            before.close();
        }
        if place == 0 {
            (state.at_s, state.playing) = (0.0, false);
        }
        // no picture of what was there before
        self.board.place(place).show_mesh(&[], &[]);
        let at_s = state.at_s;
        state.go_to(at_s);
        (state.stale, state.last) = (true, None);
        drop(state);
        self.changed.notify_all();
    }

    fn transport(&self, what: Transport) -> Answer {
        match what {
            Transport::Open { number, beside } => return self.open_number(number, beside),
            Transport::Close => {
                self.put(1, None);
                return Ok("closed".into());
            }
            Transport::List => {
                lock(&self.shelf).look();
                lock(&self.state).stale = true;
                self.changed.notify_all();
                return Ok("looked again".into());
            }
            _ => {}
        }
        let mut state = lock(&self.state);
        if state.reels.iter().all(Option::is_none) {
            return Err("no recording is open; choose one from the list".into());
        }
        let said = moved(&mut state, what);
        drop(state);
        self.changed.notify_all();
        said
    }

    fn open_number(&self, number: u32, beside: bool) -> Answer {
        let (path, name) = {
            let shelf = lock(&self.shelf);
            let file = shelf.file(number);
            let file = file.ok_or_else(|| format!("the list has no recording {number}"))?;
            (file.0, file.1.to_owned())
        };
        if beside && lock(&self.state).reels[0].is_none() {
            return Err("one is shown beside another; open a first one".into());
        }
        let reel = open_reel(&path, &name)?;
        self.put(usize::from(beside), Some(reel));
        Ok(format!("{name} is open"))
    }

    /// Show what is now, if anything is another than it was.
    fn show(&self, state: &mut State, waiting: bool) {
        let at = (state.at_s, waiting);
        let moved = state.last != Some(at);
        state.last = Some(at);
        let reels = state.reels.clone();
        let fronts = reels.each_ref().map(|reel| Some(reel.as_ref()?.front()));
        for (place, (reel, front)) in reels.iter().zip(fronts).enumerate() {
            let Some(reel) = reel else { continue };
            self.show_reel(state, place, reel, moved);
            let done = front.is_some_and(|(_, done)| done);
            state.stale |= core::mem::replace(&mut state.done[place], done) != done;
        }
        self.say(state, waiting, &fronts);
    }

    fn show_reel(&self, state: &mut State, place: usize, reel: &Reel, moved: bool) {
        let own_s = state.own_s(place, state.at_s);
        let board = self.board.place(place);
        for side in [Side::Slave, Side::Master].into_iter().filter(|_| moved) {
            board.show(side, &reel.block(side, own_s));
            if let Some((record, _)) = reel.record(side, own_s) {
                board.record(record);
            }
        }
        if let Some((shown, mesh)) = reel.picture(own_s.max(0.0), state.shown[place]) {
            if let Some(mesh) = mesh {
                board.show_mesh(&mesh.rest_m, &mesh.faces);
            }
            board.show_surface(&shown.positions_m);
            state.shown[place] = Some((shown.at_ns, shown.mesh));
            state.proxies_m[place] = shown.proxy_m;
        }
    }

    fn say(
        &self,
        state: &mut State,
        waiting: bool,
        fronts: &[Option<(Option<f64>, bool)>; PLACES],
    ) {
        if core::mem::take(&mut state.stale) {
            self.board.say(Word::Whole, &self.whole(state));
        }
        let [from_s, to_s] = state.span_s();
        let moment = json!({
            "kind": "moment",
            "at_s": state.at_s,
            "playing": state.playing,
            "waiting": waiting,
            "speed": state.speed,
            "offset_s": state.offset_s,
            "from_s": from_s,
            "to_s": to_s,
            "fronts_s": fronts.map(|front| front.and_then(|(front_s, _)| front_s)),
            "proxies_m": state.proxies_m,
            "done": fronts.map(|front| front.map(|(_, done)| done)),
        });
        self.board.say(Word::Moment, &moment);
    }

    /// All that is open, and what may be.
    fn whole(&self, state: &State) -> Value {
        let open = |(place, reel): (usize, &Option<Arc<Reel>>)| {
            let mut told = reel.as_ref()?.told();
            told["number"] = json!(state.numbers[place]);
            Some(told)
        };
        let open: Vec<Option<Value>> = state.reels.iter().enumerate().map(open).collect();
        let shelf = lock(&self.shelf);
        json!({"kind": "shelf", "list": shelf.listed(), "open": open})
    }
}

/// Open a recording for a page; why not in words.
fn open_reel(path: &Path, name: &str) -> Result<Arc<Reel>, String> {
    // a page is told of names below the folder only
    let said = |error: palpate_session::record::RecordError| {
        error.to_string().replace(&path.display().to_string(), name)
    };
    Reel::open(path, name).map_err(said)
}

/// Do what needs no file.
fn moved(state: &mut State, what: Transport) -> Answer {
    let [from_s, to_s] = state.span_s();
    match what {
        Transport::Play => {
            if state.at_s >= to_s {
                state.at_s = from_s;
            }
            state.playing = true;
            Ok("it plays".into())
        }
        Transport::Pause => {
            state.playing = false;
            Ok("it stands still".into())
        }
        Transport::Seek(at_s) if at_s.is_finite() => {
            state.go_to(at_s);
            Ok(format!("at {:.3} s", state.at_s))
        }
        Transport::Seek(at_s) => Err(format!("seek is {at_s}; expected a time in seconds")),
        Transport::Speed(speed) if SPEEDS.contains(&speed) => {
            state.speed = speed;
            state.last = None;
            Ok(format!("{speed} times as fast as it was"))
        }
        Transport::Speed(speed) => Err(format!("speed is {speed}; expected 0.1 to 4")),
        Transport::Offset(offset_s) if offset_s.abs() <= OFFSET_S_MAX => {
            state.offset_s = offset_s;
            state.last = None;
            let at_s = state.at_s;
            state.go_to(at_s);
            Ok(format!("the second is shown {offset_s} s later"))
        }
        Transport::Offset(offset_s) => Err(format!(
            "offset is {offset_s}; expected -{OFFSET_S_MAX} to {OFFSET_S_MAX} s"
        )),
        Transport::Open { .. } | Transport::Close | Transport::List => {
            Err("this needs a file".into())
        }
    }
}

/// Let time pass, until the desk is gone.
fn go(desk: &Weak<PlaybackDesk>) {
    let now_s = || MonotonicClock.now().0 as f64 * 1e-9;
    let mut before_s = now_s();
    while let Some(desk) = desk.upgrade() {
        let mut state = lock(&desk.state);
        let since_s = now_s() - before_s;
        before_s += since_s;
        // a machine that stood still for long goes on where it was
        let waiting = state.playing && state.advance(since_s.min(0.25));
        desk.show(&mut state, waiting);
        let rest = if state.playing { PICTURE } else { REST };
        let went = state.playing;
        // whoever changes something wakes it
        let woken = desk.changed.wait_timeout(state, rest);
        drop(woken);
        if !went {
            before_s = now_s();
        }
    }
}

impl Drop for PlaybackDesk {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.reels.iter().flatten().for_each(|reel| reel.close());
    }
}

impl Desk for PlaybackDesk {
    fn take(&self, order: &Order) -> Answer {
        match order {
            Order::Replay { what } => self.transport(*what),
            Order::Stop => self.transport(Transport::Pause),
            Order::End => {
                self.stop.store(true, Ordering::Relaxed);
                Ok("closed".into())
            }
            _ => Err("this is a recording: nothing of it can be changed".into()),
        }
    }

    fn stop(&self) {
        lock(&self.state).playing = false;
        self.changed.notify_all();
    }

    fn aim(&self, _aim: Aim, _said_ms: f64) {}

    fn watched(&self, _anybody: bool) {}

    fn resource(&self, name: &str) -> Option<Resource> {
        let number: u32 = name.strip_prefix("trace/")?.parse().ok()?;
        let state = lock(&self.state);
        let place = state.numbers.iter().position(|one| *one == number)?;
        let reel = state.reels[place].as_ref()?;
        Some(("application/octet-stream", reel.table()))
    }
}
