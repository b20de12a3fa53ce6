//! Sitting of a trial with a person: a page is served, and each interval is a live session.
//!
//! Source: ours. Questions and their order are in [`super`]; this file has the page, the sessions and
//! the waiting. Each answer is stored when it is given, so an interrupted trial continues where it was.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use palpate_analysis::Failure;
use palpate_console::Console;
use palpate_console::rehearsal::library;
use palpate_console::serve::{self, ServeOptions};
use palpate_master::device::{Handle, HandleKind, params};
use palpate_session::config::{Config, ConfigError};
use palpate_session::input::InputThread;
use palpate_session::lab::{self, VirtualSession};
use palpate_session::monitor::LatestState;
use palpate_session::monitor::controller::{SessionController, SessionSides};
use palpate_session::monitor::request::{TaskKind, TrialStep};
use palpate_session::run::clocked::{ClockedLauncher, ClockedOptions};
use palpate_session::run::handle_source;
use palpate_transport::Time;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD};
use palpate_transport::trace::{Side, TickRecord};
use serde_json::json;

use super::answer_file::{AnswerFile, PersonAnswer};
use super::controller::PersonController;
use super::search::SearchResult;
use super::{SittingPhase, SittingProgress};
use crate::abort::{Abort, check_stop, unless_stopped};
use crate::messages::name;
use crate::trial::psycho::{self, ForcedChoice, stimulus};
use crate::trial::{PlannedRow, Trial, TrialClock, TrialKind, TrialRow, metric, person};

/// Interval at which a wait checks for the end of the trial.
const POLL_INTERVAL: core::time::Duration = core::time::Duration::from_millis(50);

/// Time between the intervals of a comparison \[s\].
const GAP_S: f64 = 0.7;

/// Half width of the plate that is displayed without a twin, and its nodes per side.
const PLATE: (f32, u32) = (0.045, 19);

/// Refuses trials that a person cannot answer.
///
/// # Errors
/// [`Failure::Usage`] naming the field and the expected value.
pub fn check(trial: &Trial, file: &str) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::Usage(format!("{file}: {text}")));
    if !trial.kind.is_for_persons() {
        let kind = name(&trial.kind);
        return usage(format!(
            "kind is {kind}, which a person cannot answer; expected stiffness-2afc, delay-2afc or lump-search with --person"
        ));
    }
    if trial.clock == TrialClock::Live {
        return usage("clock is live; expected none with --person: a person's time is always that of the clock".into());
    }
    // a surface that is drawn in one condition and not in another, or differs, would distinguish them
    let drawn = |config: &Config| config.coupling.needs_twin().then(|| config.twin.clone());
    let mut surfaces = trial.conditions.iter().map(|one| drawn(&one.config));
    let first = surfaces.next();
    if let Some(other) = surfaces.find(|one| Some(one) != first.as_ref()) {
        let [first, other] =
            [first.flatten(), other].map(|drawn| drawn.unwrap_or_else(|| "none".into()));
        return usage(format!(
            "twins that are felt are {first} and {other}; expected one in all conditions with --person, as its surface is seen"
        ));
    }
    if trial.kind == TrialKind::Search {
        for condition in &trial.conditions {
            placed_scene(&condition.config, 1)?;
        }
    }
    Ok(())
}

/// Scene with its lump at the place of a seed.
fn placed_scene(config: &Config, seed: u64) -> Result<library::TaskScene, Failure> {
    let offer = library::scene_named(&config.tissue).ok_or_else(|| {
        let text = format!(
            "tissue is {}; expected a scene of `palpate rehearse` with a lump",
            config.tissue
        );
        Failure::Usage(text)
    })?;
    Ok(library::place_task(offer, TaskKind::FindLump, seed)?)
}

/// Person in front of a page.
pub(crate) struct Sitting<'a> {
    trial: &'a Trial,
    folder: &'a Path,
    side: Arc<SessionController>,
    steps: Receiver<TrialStep>,
    console: Console,
    /// Input device that moves the handle instead of the page, if there is one.
    input: Option<InputThread>,
    stop: &'a Arc<AtomicBool>,
    progress: SittingProgress,
}

/// Records of an interval.
#[derive(Default)]
struct IntervalRecords {
    /// True if every tick is stored.
    keeps_records: bool,
    master: Vec<TickRecord>,
    slave: Vec<TickRecord>,
    /// Newest record of the master.
    newest: Option<TickRecord>,
    /// Largest force of the port at the handle \[N\].
    peak_force_n: f64,
    /// Step that ended it, if one did.
    end_step: Option<TrialStep>,
    took_s: f64,
}

impl<'a> Sitting<'a> {
    /// Serves the page, and reports its address.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the page cannot be served.
    pub(crate) fn open(
        trial: &'a Trial,
        folder: &'a Path,
        serving: &ServeOptions,
        blocks: usize,
        stop: &'a Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        if serving.disabled {
            let text =
                "--no-console: a person answers in the console's page; expected it to be served";
            return Err(Failure::Usage(text.into()));
        }
        let config = with_pointer(&trial.base);
        let progress = SittingProgress {
            of: trial.psycho.trials,
            blocks,
            ..SittingProgress::default()
        };
        let latest_state = Arc::new(LatestState::blinded(json!(null)));
        let side =
            SessionController::with_latest_state(&config, latest_state, SessionSides::Both, stop);
        let (controller, steps) = PersonController::new(Arc::clone(&side));
        let device = handle_source::open_device(&config)?;
        let input = device
            .map(|device| handle_source::start_input_for(device, &side))
            .transpose()?;
        let console = serve::serve(serving, &config, side.latest_state(), controller)?;
        let no_console = || Failure::Refused("no console: a person answers in its page".into());
        let console = console.ok_or_else(no_console)?;
        let sitting = Self {
            trial,
            folder,
            side,
            steps,
            console,
            input,
            stop,
            progress,
        };
        sitting.show_plate(&config);
        sitting.send_phase(SittingPhase::Ready, 0.0);
        Ok(sitting)
    }

    /// Console, with the log of its requests.
    pub(crate) fn console(&self) -> &Console {
        &self.console
    }

    /// Fills one row: a block of comparisons, or a search. None if the trial was ended meanwhile; given answers are
    /// kept.
    ///
    /// # Errors
    /// [`Failure`] if a session cannot be run, or an answer not stored.
    pub(crate) fn fill(&mut self, planned: &PlannedRow) -> Result<Option<TrialRow>, Failure> {
        self.progress.block += 1;
        let filled = match self.trial.kind {
            TrialKind::Search => self.search(planned),
            _ => self.block(planned),
        };
        unless_stopped(filled)
    }

    /// Shows that all rows are done, for a moment.
    pub(crate) fn show_done(&mut self) {
        self.send_phase(SittingPhase::Done, 0.0);
        // long enough for every page to receive it
        let _ = self.steps.recv_timeout(20 * POLL_INTERVAL);
    }

    fn block(&mut self, planned: &PlannedRow) -> Result<TrialRow, Abort> {
        let trial = self.trial;
        let config = with_pointer(&planned.config(trial));
        let setup = stimulus::StimulusSetup::new(&config, trial.kind, &trial.psycho);
        let (mut block, stored) = AnswerFile::open(self.folder, planned.index).map_err(refused)?;
        let seed = planned.session_seed();
        self.progress.of = trial.psycho.trials;
        self.begin(&setup, seed)?;
        let answer_to = |number: u32, difference: f64| -> Result<ForcedChoice, Abort> {
            if let Some(stored) = stored.get(number as usize) {
                return stored_answer(stored, difference, &block);
            }
            if number > 0 && number.is_multiple_of(trial.person.pause_every) {
                self.wait_for_go(SittingPhase::Break)?;
            }
            self.progress.number = number + 1;
            let new = self.compare(&setup, seed, number, difference)?;
            block.push(&new).map_err(refused)?;
            Ok(new.asked)
        };
        let found = psycho::run_protocol(&trial.psycho, answer_to)?;
        Ok(TrialRow {
            index: planned.index,
            values: trial.observer_values(&found),
            asked: found.choices,
            ..TrialRow::default()
        })
    }

    /// Waits for the start of a block, and runs the practice before the first.
    fn begin(&mut self, setup: &stimulus::StimulusSetup<'_>, seed: u64) -> Result<(), Abort> {
        self.progress.number = 0;
        self.wait_for_go(SittingPhase::Ready)?;
        if self.progress.block > 1 {
            return Ok(());
        }
        self.progress.practice = true;
        for number in 0..self.trial.person.practice {
            self.progress.number = number + 1;
            // numbers that no comparison of the block has
            let stored =
                self.compare(setup, seed, u32::MAX - number, person::PRACTICE_DIFFERENCE)?;
            self.wait_for_go(SittingPhase::Feedback(stored.asked.right == Some(true)))?;
        }
        self.progress.practice = false;
        if self.trial.person.practice > 0 {
            self.progress.number = 0;
            self.wait_for_go(SittingPhase::Ready)?;
        }
        Ok(())
    }

    /// Presents two intervals and waits for the answer.
    fn compare(
        &mut self,
        setup: &stimulus::StimulusSetup<'_>,
        seed: u64,
        number: u32,
        difference: f64,
    ) -> Result<PersonAnswer, Abort> {
        let more_first = person::more_is_first(seed, number);
        let limit_s = self.trial.person.interval_s;
        let mut shown = [None; 2];
        for interval in [1, 2] {
            let more = (interval == 1) == more_first;
            let seed = stimulus::interval_seed(seed, 1 + u64::from(number), more);
            let d = if more { difference } else { 0.0 };
            let config = setup.person_config(d, seed, limit_s);
            // a stopped interval is repeated
            let records = loop {
                let phase = SittingPhase::Interval(interval);
                let build = |handle| setup.session(&config, d, 0.0, handle);
                let ends = |step| step == TrialStep::Enough;
                let records = IntervalRecords {
                    keeps_records: true,
                    ..IntervalRecords::default()
                };
                if let Some(records) = self.run_interval(phase, &config, build, ends, records)? {
                    break records;
                }
            };
            shown[usize::from(more)] =
                stimulus::measured_quantity(self.trial.kind, &records.master, &records.slave);
            if interval == 1 {
                self.send_phase(SittingPhase::Gap, 0.0);
                self.rest(GAP_S)?;
            }
        }
        self.send_phase(SittingPhase::Ask, 0.0);
        let question_time = MonotonicClock.now();
        let first = loop {
            match self.next_step()? {
                TrialStep::First => break true,
                TrialStep::Second => break false,
                _ => {}
            }
        };
        let [less, more] = shown.map(|shown| shown.filter(|value| value.is_finite()));
        Ok(PersonAnswer {
            asked: ForcedChoice {
                difference,
                less,
                more,
                right: Some(first == more_first),
            },
            more_first,
            took_s: (MonotonicClock.now() - question_time).s(),
        })
    }

    fn search(&mut self, planned: &PlannedRow) -> Result<TrialRow, Abort> {
        self.progress.of = 1;
        self.progress.number = 0;
        let searches = if self.progress.block == 1 {
            self.trial.person.practice
        } else {
            0
        };
        let seed = planned.session_seed();
        for number in 0..searches {
            self.progress.practice = true;
            self.wait_for_go(SittingPhase::Ready)?;
            // places that no row has
            let search = self.search_once(
                planned,
                person::draw_number(seed, b"practice", number.into()) >> 1,
            )?;
            self.wait_for_go(SittingPhase::Feedback(search.is_found()))?;
        }
        self.progress.practice = false;
        self.wait_for_go(SittingPhase::Ready)?;
        let search = self.search_once(planned, seed)?;
        Ok(TrialRow {
            index: planned.index,
            values: metric::of_search(&search),
            ..TrialRow::default()
        })
    }

    /// Runs a search; a stopped one does not count, and is repeated at another place.
    fn search_once(&mut self, planned: &PlannedRow, seed: u64) -> Result<SearchResult, Abort> {
        let mut again = 0;
        loop {
            let place_seed = match again {
                0 => seed,
                again => person::draw_number(seed, b"again", again) >> 1,
            };
            match self.run_search(planned, place_seed)? {
                Some(search) => return Ok(search),
                None => again += 1,
            }
        }
    }

    /// Runs a search at one place; none if it was stopped.
    fn run_search(
        &mut self,
        planned: &PlannedRow,
        seed: u64,
    ) -> Result<Option<SearchResult>, Abort> {
        let mut config = with_pointer(&planned.config(self.trial));
        let placed = placed_scene(&config, seed)?;
        let lump = placed.lumps.last().ok_or_else(|| {
            Failure::Usage(format!(
                "tissue is {}; expected one with a lump",
                config.tissue
            ))
        })?;
        config.tissue.clone_from(&placed.scene);
        config.duration_s = self.trial.person.search_s;
        config.seed = seed;
        self.progress.number = 1;
        let build = |handle| {
            let robot = lab::build_robot(&config)?;
            VirtualSession::with_twin(&config, handle, robot, lab::predictor(&config, None)?)
        };
        // a search may be long: of its ticks only the largest force is stored
        let ends = |step| matches!(step, TrialStep::Mark(_));
        let records = self.run_interval(
            SittingPhase::Search,
            &config,
            build,
            ends,
            IntervalRecords::default(),
        )?;
        let Some(records) = records else {
            return Ok(None);
        };
        Ok(Some(SearchResult {
            hidden_m: lump.center_m,
            radius_m: lump.radius_m,
            marked_m: match records.end_step {
                Some(TrialStep::Mark(place_m)) => Some(place_m),
                _ => None,
            },
            took_s: records.took_s,
            peak_force_n: records.peak_force_n,
        }))
    }

    /// Runs a session in which the person moves the handle, until its time is over or a step ends it; none if it was
    /// stopped.
    fn run_interval(
        &mut self,
        phase: SittingPhase,
        config: &Config,
        build: impl FnOnce(Box<dyn Handle>) -> Result<VirtualSession, ConfigError>,
        ends: impl Fn(TrialStep) -> bool,
        mut records: IntervalRecords,
    ) -> Result<Option<IntervalRecords>, Abort> {
        // a stop persists until it is enabled again
        if self.side.is_halted() {
            self.send_phase(SittingPhase::Stopped, 0.0);
            while self.side.is_halted() {
                check_stop(self.stop)?;
                let _ = self.steps.recv_timeout(POLL_INTERVAL);
            }
        }
        self.send_phase(phase, config.duration_s);
        let (launcher, targets) = ClockedLauncher::new(true).map_err(Failure::from)?;
        let handle = Box::new(params::build_pointer(&config.operator, targets));
        let session = build(handle).map_err(Failure::from)?;
        let over = Arc::new(AtomicBool::new(false));
        let options = ClockedOptions {
            realtime: config.realtime,
            ticks_max: Some((config.duration_s / PERIOD.s()).round() as u64),
            stop: Arc::clone(&over),
        };
        // earlier steps do not belong to this interval
        while self.steps.try_recv().is_ok() {}
        let mut running = launcher
            .start(&self.side, session, &options)
            .map_err(Failure::from)?;
        let started = MonotonicClock.now();
        let mut stopped = false;
        let contact_m = lab::contact_m(config);
        while running.poll(|record| records.take(record)) {
            if let (Some(input), Some(newest)) = (&mut self.input, &records.newest) {
                input.set_feedback(handle_source::device_feedback(newest, Some(contact_m)));
            }
            if let Some(step) = self.steps.try_recv().ok().filter(|step| ends(*step)) {
                records.end_step = Some(step);
                over.store(true, Ordering::Relaxed);
            }
            stopped |= self.side.is_halted();
            over.fetch_or(
                stopped || self.stop.load(Ordering::Relaxed),
                Ordering::Relaxed,
            );
        }
        records.took_s = (MonotonicClock.now() - started).s();
        running.finish().map_err(Failure::from)?;
        check_stop(self.stop)?;
        Ok((!stopped).then_some(records))
    }

    /// Shows a phase, and waits for the step `Go`.
    fn wait_for_go(&mut self, phase: SittingPhase) -> Result<(), Abort> {
        self.send_phase(phase, 0.0);
        while self.next_step()? != TrialStep::Go {}
        Ok(())
    }

    /// Waits for the next step.
    fn next_step(&mut self) -> Result<TrialStep, Abort> {
        loop {
            check_stop(self.stop)?;
            match self.steps.recv_timeout(POLL_INTERVAL) {
                Ok(step) => return Ok(step),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(None),
            }
        }
    }

    fn rest(&mut self, s: f64) -> Result<(), Abort> {
        let until: Time = MonotonicClock.now() + palpate_transport::Span::from_ms(1e3 * s);
        while MonotonicClock.now() < until {
            check_stop(self.stop)?;
            let _ = self.steps.recv_timeout(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Sends the phase and the progress to every page.
    fn send_phase(&self, phase: SittingPhase, limit_s: f64) {
        let config = with_pointer(&self.trial.base);
        self.side.latest_state().set_facts(json!({
            "for": "trial",
            "name": self.trial.name,
            "pointer": config.operator.device.is_none(),
            "tool_radius_m": config.master.predict.tool_radius_m,
            "tool_edges_m": config.master.predict.tool_shape.edges_m().map(|edge_m| [edge_m.x, edge_m.y, edge_m.z]),
            "start_m": config.operator.script.start_m(),
            "force_n_max": config.master.guard.force_n_max,
            "trial": person::page_facts(self.trial.kind, &self.progress, phase, limit_s),
        }));
    }

    /// Shows a flat surface, for sessions without a twin.
    fn show_plate(&self, config: &Config) {
        let (half_m, side) = PLATE;
        let height_m = lab::contact_m(config) - config.master.predict.tool_radius_m;
        let coordinate = |n: u32| half_m * (2.0 * n as f32 / (side - 1) as f32 - 1.0);
        let rest_m: Vec<[f32; 3]> = (0..side * side)
            .map(|n| [coordinate(n % side), coordinate(n / side), height_m as f32])
            .collect();
        let squares =
            (0..side - 1).flat_map(|row| (0..side - 1).map(move |column| row * side + column));
        let faces: Vec<[u32; 3]> = squares
            .flat_map(|at| [[at, at + 1, at + side], [at + 1, at + side + 1, at + side]])
            .collect();
        self.side
            .latest_state()
            .session(0)
            .show_mesh(&rest_m, &faces);
        self.side.latest_state().session(0).show_surface(&rest_m);
    }
}

impl IntervalRecords {
    /// Takes a record of an interval, which counts as one press in the measurement.
    fn take(&mut self, record: &TickRecord) {
        if record.side == Side::Master {
            let [x_n, y_n, z_n, _] = record.port_force_n;
            let force_n = libm::sqrt(x_n * x_n + y_n * y_n + z_n * z_n);
            self.peak_force_n = self.peak_force_n.max(force_n);
            self.newest = Some(*record);
        }
        if !self.keeps_records {
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

/// Configuration with a handle that the page, or a device of this machine, moves.
fn with_pointer(config: &Config) -> Config {
    let mut config = config.clone();
    config.operator.handle = HandleKind::Pointer;
    config
}

fn refused(error: std::io::Error) -> Failure {
    Failure::Refused(format!("the answers of a block: {error}"))
}

/// Stored answer, if it is to the same question.
fn stored_answer(
    stored: &PersonAnswer,
    difference: f64,
    block: &AnswerFile,
) -> Result<ForcedChoice, Abort> {
    let asked = stored.asked;
    if asked.difference.to_bits() == difference.to_bits() {
        return Ok(asked);
    }
    Err(Some(Failure::Usage(format!(
        "{}: an answer to a difference of {}, where {difference} is asked; expected the answers of this trial, or another \
         folder by --out",
        block.path().display(),
        asked.difference
    ))))
}
