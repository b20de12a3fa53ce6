//! Rows of a trial with a person: a page is served, and each interval is a session by the clock.
//!
//! Source: ours. What is asked, and in which order, is in [`super`]; here are the page, the sessions and
//! the waiting. An answer is kept when it is given, so a trial that is left goes on where it was.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use palpate_analysis::Failure;
use palpate_console::Console;
use palpate_console::rehearsal::library;
use palpate_console::serve::{self, Serving};
use palpate_master::device::{Handle, HandleKind, params};
use palpate_session::config::{Config, ConfigError};
use palpate_session::input::Pilot;
use palpate_session::lab::{self, Session};
use palpate_session::monitor::Board;
use palpate_session::monitor::desk::{SessionDesk, Sides};
use palpate_session::monitor::request::{Step, TaskKind};
use palpate_session::run::paced::{PacedOptions, Stage};
use palpate_session::run::{RunError, hand};
use palpate_transport::Time;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD};
use palpate_transport::trace::{Side, TickRecord};
use serde_json::json;

use super::desk::PersonDesk;
use super::kept::{Block, Given};
use super::search::Search;
use super::{Phase, Place};
use crate::trial::psycho::{self, Asked, Told, show};
use crate::trial::{Cell, Clock, Kind, Row, Trial, metric, person};

/// How often a wait looks whether the trial was ended.
const LOOK: core::time::Duration = core::time::Duration::from_millis(50);

/// Time between the intervals of a comparison \[s\].
const GAP_S: f64 = 0.7;

/// Half width of the plate that is shown where no twin is felt, and its nodes a side.
const PLATE: (f32, u32) = (0.045, 19);

/// Refuses what no person can be asked.
///
/// # Errors
/// [`Failure::Usage`] naming the field and what would be right.
pub fn check(trial: &Trial, file: &str) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::Usage(format!("{file}: {text}")));
    if !trial.kind.is_for_persons() {
        let kind = trial.kind.name();
        return usage(format!(
            "kind is {kind}, which asks no person; expected stiffness-2afc, delay-2afc or lump-search with --person"
        ));
    }
    if trial.clock == Clock::Live {
        return usage("clock is live; expected none with --person: a person's time is always that of the clock".into());
    }
    // a surface that is drawn in one condition and not in another, or is another's, would tell them apart
    let drawn = |config: &Config| config.coupling.needs_twin().then(|| config.twin.clone());
    let mut surfaces = trial.conditions.iter().map(|one| drawn(&one.config));
    let first = surfaces.next();
    if let Some(other) = surfaces.find(|one| Some(one) != first.as_ref()) {
        let name = |drawn: Option<String>| drawn.unwrap_or_else(|| "none".into());
        let (first, other) = (name(first.flatten()), name(other));
        return usage(format!(
            "twins that are felt are {first} and {other}; expected one in all conditions with --person, as its surface is seen"
        ));
    }
    if trial.kind == Kind::Search {
        for condition in &trial.conditions {
            pose(&condition.config, 1)?;
        }
    }
    Ok(())
}

/// A scene with its lump where a seed has it.
fn pose(config: &Config, seed: u64) -> Result<library::Posed, Failure> {
    let offer = library::offer_of(&config.tissue).ok_or_else(|| {
        let text = format!(
            "tissue is {}; expected a scene of `palpate rehearse` with a lump",
            config.tissue
        );
        Failure::Usage(text)
    })?;
    Ok(library::pose(offer, TaskKind::FindLump, seed)?)
}

/// A person in front of a page.
pub(crate) struct Sitting<'a> {
    trial: &'a Trial,
    folder: &'a Path,
    side: Arc<SessionDesk>,
    desk: Arc<PersonDesk>,
    steps: Receiver<Step>,
    console: Console,
    /// The device that leads the handle in the page's place, if one does.
    pilot: Option<Pilot>,
    stop: &'a Arc<AtomicBool>,
    place: Place,
}

/// What an interval left behind.
#[derive(Default)]
struct Felt {
    /// Whether every tick is kept.
    keeps: bool,
    master: Vec<TickRecord>,
    slave: Vec<TickRecord>,
    /// The newest tick at the handle.
    newest: Option<TickRecord>,
    /// Largest force of the port at the handle \[N\].
    peak_force_n: f64,
    /// What was said to end it, if anything was.
    step: Option<Step>,
    took_s: f64,
}

impl<'a> Sitting<'a> {
    /// Serve the page, and say where.
    ///
    /// # Errors
    /// [`Failure::Refused`] if there can be no page.
    pub(crate) fn open(
        trial: &'a Trial,
        folder: &'a Path,
        serving: &Serving,
        blocks: usize,
        stop: &'a Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        if serving.none {
            let text =
                "--no-console: a person is asked in the console's page; expected it to be served";
            return Err(Failure::Usage(text.into()));
        }
        let config = pointed(&trial.base);
        let place = Place {
            number: 0,
            of: trial.psycho.trials,
            block: 0,
            blocks,
            practice: false,
        };
        let board = Arc::new(Board::blinded(json!(null)));
        let side = SessionDesk::showing((&config, board), Sides::Both, stop);
        let (desk, steps) = PersonDesk::new(Arc::clone(&side));
        let pilot = hand::pilot(&config, &side)?;
        let console = serve::serve(serving, &config, side.board(), Arc::clone(&desk) as _)?;
        let nothing = || Failure::Refused("no console: a person is asked in its page".into());
        let console = console.ok_or_else(nothing)?;
        let sitting = Self {
            trial,
            folder,
            side,
            desk,
            steps,
            console,
            pilot,
            stop,
            place,
        };
        sitting.plate(&config);
        sitting.tell(Phase::Ready, 0.0);
        Ok(sitting)
    }

    /// The page, for what was asked of it.
    pub(crate) fn console(&self) -> &Console {
        &self.console
    }

    /// One row: a block of comparisons, or a search. Nothing if the trial was ended meanwhile; what was answered is kept.
    ///
    /// # Errors
    /// [`Failure`] if a session cannot be run, or an answer not kept.
    pub(crate) fn fill(&mut self, cell: &Cell) -> Result<Option<Row>, Failure> {
        self.place.block += 1;
        let filled = match self.trial.kind {
            Kind::Search => self.search(cell),
            _ => self.block(cell),
        };
        match filled {
            Ok(row) => Ok(Some(row)),
            Err(Left::Ended) => Ok(None),
            Err(Left::Failed(failure)) => Err(failure),
        }
    }

    /// Say that all is done, for a moment.
    pub(crate) fn thank(&mut self) {
        self.tell(Phase::Done, 0.0);
        // long enough for every page to be told
        let _ = self.steps.recv_timeout(20 * LOOK);
    }

    fn block(&mut self, cell: &Cell) -> Result<Row, Left> {
        let trial = self.trial;
        let config = pointed(&cell.config(trial));
        let stage = show::Stage::new(&config, trial.kind, &trial.psycho);
        let (mut block, given) = Block::open(self.folder, cell.index).map_err(refused)?;
        let seed = cell.session_seed();
        self.place.of = trial.psycho.trials;
        self.begin(&stage, seed)?;
        let tell = |number: u32, difference: f64| -> Result<Told, Left> {
            if let Some(given) = given.get(number as usize) {
                return kept(given, difference, &block);
            }
            if number > 0 && number.is_multiple_of(trial.person.pause_every) {
                self.pause(Phase::Break)?;
            }
            self.place.number = number + 1;
            let new = self.compare(&stage, seed, number, difference)?;
            block.push(&new).map_err(refused)?;
            let Asked {
                less, more, right, ..
            } = new.asked;
            Ok(Told { less, more, right })
        };
        let found = psycho::run(&trial.psycho, tell)?;
        Ok(Row {
            index: cell.index,
            held: None,
            trace_hash: None,
            values: metric::of_answers(&found, None),
            asked: found.asked,
        })
    }

    /// Wait until a block is to begin, and practise before the first.
    fn begin(&mut self, stage: &show::Stage<'_>, seed: u64) -> Result<(), Left> {
        self.place.number = 0;
        self.pause(Phase::Ready)?;
        if self.place.block > 1 {
            return Ok(());
        }
        self.place.practice = true;
        for number in 0..self.trial.person.practice {
            self.place.number = number + 1;
            // numbers that no comparison of the block has
            let given = self.compare(stage, seed, u32::MAX - number, person::PRACTICE)?;
            self.pause(Phase::Told(given.asked.right == Some(true)))?;
        }
        self.place.practice = false;
        if self.trial.person.practice > 0 {
            self.place.number = 0;
            self.pause(Phase::Ready)?;
        }
        Ok(())
    }

    /// Two intervals and an answer.
    fn compare(
        &mut self,
        stage: &show::Stage<'_>,
        seed: u64,
        number: u32,
        difference: f64,
    ) -> Result<Given, Left> {
        let more_first = person::more_is_first(seed, number);
        let limit_s = self.trial.person.interval_s;
        let mut shown = [None; 2];
        for interval in [1, 2] {
            let more = (interval == 1) == more_first;
            let seed = show::interval_seed(seed, 1 + u64::from(number), more);
            let d = if more { difference } else { 0.0 };
            let lead = |handle: &mut dyn FnMut(&Config) -> Box<dyn Handle>| {
                stage.led(d, seed, limit_s, |config| handle(config))
            };
            // one that was stopped is felt again
            let felt = loop {
                let phase = Phase::Interval(interval);
                let enough = |step| step == Step::Enough;
                let played = self.play(phase, limit_s, lead, enough, Felt::whole())?;
                if let Some((felt, _)) = played {
                    break felt;
                }
            };
            shown[usize::from(more)] = show::quantity(self.trial.kind, &felt.master, &felt.slave);
            if interval == 1 {
                self.tell(Phase::Gap, 0.0);
                self.rest(GAP_S)?;
            }
        }
        self.tell(Phase::Ask, 0.0);
        let asked = MonotonicClock.now();
        let first = loop {
            match self.step()? {
                Step::First => break true,
                Step::Second => break false,
                _ => {}
            }
        };
        let told = Told {
            less: shown[0].filter(|value| value.is_finite()),
            more: shown[1].filter(|value| value.is_finite()),
            right: Some(first == more_first),
        };
        Ok(Given {
            asked: Asked::new(difference, told),
            more_first,
            took_s: (MonotonicClock.now() - asked).s(),
        })
    }

    fn search(&mut self, cell: &Cell) -> Result<Row, Left> {
        self.place.of = 1;
        self.place.number = 0;
        let searches = if self.place.block == 1 {
            self.trial.person.practice
        } else {
            0
        };
        let seed = cell.session_seed();
        for number in 0..searches {
            self.place.practice = true;
            self.pause(Phase::Ready)?;
            // places that no row has
            let search =
                self.search_once(cell, person::draw(seed, b"practice", number.into()) >> 1)?;
            self.pause(Phase::Told(search.found()))?;
        }
        self.place.practice = false;
        self.pause(Phase::Ready)?;
        let search = self.search_once(cell, seed)?;
        Ok(Row {
            index: cell.index,
            held: None,
            trace_hash: None,
            values: search.values(),
            asked: Vec::new(),
        })
    }

    /// A search; one that was stopped does not count, and another place is looked for instead.
    fn search_once(&mut self, cell: &Cell, seed: u64) -> Result<Search, Left> {
        let mut again = 0;
        loop {
            let place = match again {
                0 => seed,
                again => person::draw(seed, b"again", again) >> 1,
            };
            match self.look_for(cell, place)? {
                Some(search) => return Ok(search),
                None => again += 1,
            }
        }
    }

    /// A search of one place; nothing of one that was stopped.
    fn look_for(&mut self, cell: &Cell, seed: u64) -> Result<Option<Search>, Left> {
        let mut config = pointed(&cell.config(self.trial));
        let posed = pose(&config, seed)?;
        let lump = posed.lumps.last().ok_or_else(|| {
            Failure::Usage(format!(
                "tissue is {}; expected one with a lump",
                config.tissue
            ))
        })?;
        config.tissue.clone_from(&posed.scene);
        config.duration_s = self.trial.person.search_s;
        config.seed = seed;
        self.place.number = 1;
        let limit_s = config.duration_s;
        let lead = |handle: &mut dyn FnMut(&Config) -> Box<dyn Handle>| {
            let robot = lab::build_robot(&config)?;
            let twin = lab::predictor(&config)?;
            Ok((
                Session::with_twin(&config, handle(&config), robot, twin)?,
                config.clone(),
            ))
        };
        // a search may be long: of its ticks only the largest force is asked
        let ends = |step| matches!(step, Step::Mark(_));
        let Some((felt, _)) = self.play(Phase::Search, limit_s, lead, ends, Felt::default())?
        else {
            return Ok(None);
        };
        Ok(Some(Search {
            hidden_m: lump.center_m,
            radius_m: lump.radius_m,
            marked_m: match felt.step {
                Some(Step::Mark(place_m)) => Some(place_m),
                _ => None,
            },
            took_s: felt.took_s,
            peak_force_n: felt.peak_force_n,
        }))
    }

    /// Run a session that the person leads, until its time is over or a step ends it; nothing if it was stopped.
    fn play(
        &mut self,
        phase: Phase,
        limit_s: f64,
        build: impl FnOnce(
            &mut dyn FnMut(&Config) -> Box<dyn Handle>,
        ) -> Result<(Session, Config), ConfigError>,
        ends: impl Fn(Step) -> bool,
        mut felt: Felt,
    ) -> Result<Option<(Felt, Config)>, Left> {
        let failed = |error: RunError| Left::Failed(error.into());
        // a stop holds until it is taken back, whatever is to come
        if self.desk.is_halted() {
            self.tell(Phase::Stopped, 0.0);
            while self.desk.is_halted() {
                self.going()?;
                let _ = self.steps.recv_timeout(LOOK);
            }
        }
        self.tell(phase, limit_s);
        let mut stage = Stage::new(true).map_err(failed)?;
        let mut handle = |config: &Config| -> Box<dyn Handle> {
            match stage.aims() {
                Some(aims) => Box::new(params::pointer(&config.operator, aims)),
                None => {
                    palpate_master::device::build(&config.operator, config.duration_s, config.seed)
                }
            }
        };
        let (session, config) = build(&mut handle).map_err(Failure::from)?;
        let over = Arc::new(AtomicBool::new(false));
        let options = PacedOptions {
            realtime: config.realtime,
            ticks_max: Some((config.duration_s / PERIOD.s()).round() as u64),
            stop: Arc::clone(&over),
        };
        // what was said before it began is not about it
        while self.steps.try_recv().is_ok() {}
        let mut playing = stage.play(&self.side, session, &options).map_err(failed)?;
        let begun = MonotonicClock.now();
        let mut stopped = false;
        let contact_m = lab::contact_m(&config);
        while playing.look(|record| felt.take(record)) {
            if let (Some(pilot), Some(newest)) = (&mut self.pilot, &felt.newest) {
                pilot.feel(hand::felt_of(newest, contact_m));
            }
            if let Some(step) = self.steps.try_recv().ok().filter(|step| ends(*step)) {
                felt.step = Some(step);
                over.store(true, Ordering::Relaxed);
            }
            stopped |= self.desk.is_halted();
            over.fetch_or(
                stopped || self.stop.load(Ordering::Relaxed),
                Ordering::Relaxed,
            );
        }
        felt.took_s = (MonotonicClock.now() - begun).s();
        playing.end().map_err(failed)?;
        self.going()?;
        Ok((!stopped).then_some((felt, config)))
    }

    /// Wait for a word to go on.
    fn pause(&mut self, phase: Phase) -> Result<(), Left> {
        self.tell(phase, 0.0);
        while self.step()? != Step::Go {}
        Ok(())
    }

    /// The next step.
    fn step(&mut self) -> Result<Step, Left> {
        loop {
            self.going()?;
            match self.steps.recv_timeout(LOOK) {
                Ok(step) => return Ok(step),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Left::Ended),
            }
        }
    }

    fn rest(&mut self, s: f64) -> Result<(), Left> {
        let until: Time = MonotonicClock.now() + palpate_transport::Span::from_ms(1e3 * s);
        while MonotonicClock.now() < until {
            self.going()?;
            let _ = self.steps.recv_timeout(LOOK);
        }
        Ok(())
    }

    fn going(&self) -> Result<(), Left> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Left::Ended),
            false => Ok(()),
        }
    }

    /// Tell every page where in the trial it is.
    fn tell(&self, phase: Phase, limit_s: f64) {
        let config = pointed(&self.trial.base);
        self.side.board().tell(json!({
            "for": "trial",
            "name": self.trial.name,
            "pointer": config.operator.device.is_none(),
            "tool_radius_m": config.master.predict.tool_radius_m,
            "tool_edges_m": config.master.predict.tool_shape.edges_m().map(|edge_m| [edge_m.x, edge_m.y, edge_m.z]),
            "start_m": config.operator.script.start_m(),
            "force_n_max": config.master.guard.force_n_max,
            "trial": person::sight(self.trial.kind, &self.place, phase, limit_s),
        }));
    }

    /// A flat surface, for sessions in which no twin is felt.
    fn plate(&self, config: &Config) {
        let (half_m, side) = PLATE;
        let height_m = lab::contact_m(config) - config.master.predict.tool_radius_m;
        let place = |n: u32| half_m * (2.0 * n as f32 / (side - 1) as f32 - 1.0);
        let rest_m: Vec<[f32; 3]> = (0..side * side)
            .map(|n| [place(n % side), place(n / side), height_m as f32])
            .collect();
        let squares =
            (0..side - 1).flat_map(|row| (0..side - 1).map(move |column| row * side + column));
        let faces: Vec<[u32; 3]> = squares
            .flat_map(|at| [[at, at + 1, at + side], [at + 1, at + side + 1, at + side]])
            .collect();
        self.side.board().show_mesh(&rest_m, &faces);
        self.side.board().show_surface(&rest_m);
    }
}

impl Felt {
    /// With every tick kept.
    fn whole() -> Self {
        Self {
            keeps: true,
            ..Self::default()
        }
    }

    /// Take a record of an interval, which is one press to whoever measures it.
    fn take(&mut self, record: &TickRecord) {
        if record.side == Side::Master {
            let [x_n, y_n, z_n, _] = record.port_force_n;
            let force_n = libm::sqrt(x_n * x_n + y_n * y_n + z_n * z_n);
            self.peak_force_n = self.peak_force_n.max(force_n);
            self.newest = Some(*record);
        }
        if !self.keeps {
            return;
        }
        let record = TickRecord {
            phase: 1,
            ..*record
        };
        match record.side {
            Side::Master => self.master.push(record),
            Side::Slave => self.slave.push(record),
        }
    }
}

/// A configuration whose handle the page leads, or a device of this machine.
fn pointed(config: &Config) -> Config {
    let mut config = config.clone();
    config.operator.handle = HandleKind::Pointer;
    config
}

/// Why a row was left.
enum Left {
    /// The trial was ended.
    Ended,
    /// It cannot go on.
    Failed(Failure),
}

impl From<Failure> for Left {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn refused(error: std::io::Error) -> Left {
    Left::Failed(Failure::Refused(format!("the answers of a block: {error}")))
}

/// An answer that was given before, if it is to the same question.
fn kept(given: &Given, difference: f64, block: &Block) -> Result<Told, Left> {
    let Asked {
        less, more, right, ..
    } = given.asked;
    if given.asked.difference.to_bits() == difference.to_bits() {
        return Ok(Told { less, more, right });
    }
    Err(Left::Failed(Failure::Usage(format!(
        "{}: an answer to a difference of {}, where {difference} is asked; expected the answers of this trial, or another \
         folder by --out",
        block.path().display(),
        given.asked.difference
    ))))
}
