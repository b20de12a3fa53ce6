//! A rehearsal with a person: one scene after another on the twin alone, by the clock, with tools and tasks.
//!
//! Each scene is a session of its own, with its own configuration and recording, so every folder can be read and run
//! again by itself. A wish that needs another session builds it while this one goes on, and only then takes its place.
//! Source: ours.

mod told;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use palpate_analysis::conclude::operator;
use palpate_analysis::rehearsed::task::{Attempt, Score};
use palpate_master::device::params;
use palpate_master::device::script::ScriptParams;
use palpate_session::config::{Config, ConfigError};
use palpate_session::input::Pilot;
use palpate_session::lab;
use palpate_session::monitor::Answer;
use palpate_session::monitor::desk::SessionDesk;
use palpate_session::monitor::request::{Said, TaskKind, Wish};
use palpate_session::record::{self, Recorder};
use palpate_session::replay::same;
use palpate_session::run::paced::{PacedOptions, Playing, Stage};
use palpate_session::run::servo::ServoReport;
use palpate_session::run::side::RECORDING;
use palpate_session::run::{RunError, file_error, hand};
use palpate_transport::Time;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, wall_now};
use palpate_transport::mailbox::{LatestWriter, latest};
use palpate_transport::trace::{Side, TickRecord};

use super::attempts::{self, Kept, Known};
use super::coming::{self, Built, Coming};
use super::desk::Wished;
use super::library::{self, Posed};
use super::solo::{self, Solo};
use super::wield::{self, ToolKind, Wielded, Wielding};
use crate::rehearsal::solo::Lying;

/// Longest attempt that is scored, in ticks: five minutes.
const ATTEMPT_TICKS: usize = 300_000;

/// Least force of a touch \[N\].
const TOUCH_N: f64 = 0.05;

/// What a rehearsal is given.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    /// Where the first scene's results go; those of later ones go below it.
    pub folder: PathBuf,
    /// The record of attempts, if there is one.
    pub attempts: Option<PathBuf>,
    /// Ends it.
    pub stop: Arc<AtomicBool>,
}

/// One scene that was rehearsed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Where its results go.
    pub folder: PathBuf,
    /// What ran.
    pub config: Config,
    /// What the loop says of itself.
    pub servo: ServoReport,
    /// The tissue as it lay at the end.
    pub lying: Lying,
}

/// What came of a rehearsal.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsals {
    /// The scenes, in their order.
    pub parts: Vec<Part>,
    /// All attempts that are known, those of now with them.
    pub known: Known,
    /// How many of them were made now.
    pub made: usize,
}

/// Rehearse until it is ended, or `config` says; `wished` is what the page wishes, and `pilot` the device that leads the
/// handle, if one does.
///
/// # Errors
/// [`RunError`] if the first scene cannot be used, or a file not written.
pub fn rehearse(
    config: &Config,
    options: &LiveOptions,
    desk: &Arc<SessionDesk>,
    wished: &Receiver<Wished>,
    pilot: Option<&mut Pilot>,
) -> Result<Rehearsals, RunError> {
    let mut room = Room::new(config, options);
    room.pilot = pilot;
    let mut next = Some((Scene::new(config, &Choice::of(config))?, None));
    while let Some((scene, asked)) = next.take() {
        next = room.play(scene, asked, desk, wished)?;
    }
    Ok(Rehearsals {
        parts: room.parts,
        known: room.known,
        made: room.made,
    })
}

/// What is to be touched, and with what.
#[derive(Debug, Clone, PartialEq)]
struct Choice {
    /// Name of the scene in the library, or what the command line named.
    name: String,
    tool: &'static str,
    task: Option<(TaskKind, Posed)>,
    seed: u64,
}

impl Choice {
    fn of(config: &Config) -> Self {
        Self {
            name: config.twin.clone(),
            tool: "fingertip",
            task: None,
            seed: config.seed,
        }
    }
}

/// A session that is built and has not begun.
struct Scene {
    choice: Choice,
    config: Config,
    stage: Stage,
    solo: Solo,
    tool: &'static ToolKind,
    tools: Vec<&'static ToolKind>,
    /// Whether it feels two tools at once.
    second: bool,
    wield: LatestWriter<Wielded>,
    /// What the page is told of it.
    title: String,
}

impl Scene {
    fn new(base: &Config, choice: &Choice) -> Result<Self, RunError> {
        let mut config = base.clone();
        let posed = choice.task.as_ref().map(|(_, posed)| posed.scene.clone());
        config.twin = posed.unwrap_or_else(|| choice.name.clone());
        solo::alone(&mut config);
        let scene = lab::load_scene(&config.twin, "twin")?;
        let tissue = scene.build().map_err(|error| wrong(&choice.name, &error))?;
        let caps = tissue.caps();
        let tools: Vec<_> = wield::tools(&caps).collect();
        drop(tissue);
        // a task of jaws begins with jaws
        let wanted = match &choice.task {
            Some((TaskKind::Grasp, _)) => "tweezers",
            _ => choice.tool,
        };
        let tool = tools.iter().find(|tool| tool.name == wanted);
        let Some(tool) = tool.or(tools.first()).copied() else {
            return Err(wrong(&choice.name, &"no tool is felt on it").into());
        };
        let radius_m = scene.tool_radius_m * tool.radius;
        config.master.predict.tool_radius_m = radius_m;
        // instruments and jaws work at the end of a rod: tissue that knows them is touched by a tool's own shape
        let works = caps.instruments || caps.jaws;
        let own = Some(config.master.predict.tool_shape);
        let own = own.filter(|own| own.is_felt(&caps) && !works);
        let shape = tool.shape(scene.tool_radius_m).or(own);
        config.master.predict.tool_shape = shape.unwrap_or_default();
        if let ScriptParams::Palpation(palpation) = &mut config.operator.script {
            // the handle begins above the surface by this
            palpation.tool_radius_m = radius_m;
        }
        let mut stage = Stage::new(false)?;
        let (wield, wielded) = latest(Wielded::new(tool, radius_m));
        let aims = stage.aims().ok_or(RunError::Thread {
            name: "stage",
            detail: "its pointer is taken".into(),
        })?;
        let waits_m = config.operator.script.start_m();
        let handle = Wielding::new(params::pointer(&config.operator, aims), wielded, waits_m);
        let solo = Solo::with_handle(&config, Box::new(handle))?;
        Ok(Self {
            choice: choice.clone(),
            config,
            stage,
            solo,
            tool,
            tools,
            second: caps.tools_max > 1,
            wield,
            title: scene.name,
        })
    }
}

/// How a task stands.
#[derive(Debug, Clone, PartialEq, Default)]
enum Phase {
    /// There is none.
    #[default]
    Free,
    /// It is being done.
    Doing(Vec<TickRecord>),
    /// It was answered.
    Answered(Score),
}

/// The session that is being played, as wishes change it.
struct Now {
    choice: Choice,
    /// Height of the tool at first contact \[m\].
    contact_m: f64,
    config: Config,
    tool: &'static ToolKind,
    /// The one that the hand does not lead.
    other: &'static ToolKind,
    tools: Vec<&'static ToolKind>,
    second: bool,
    wield: LatestWriter<Wielded>,
    wielded: Wielded,
    phase: Phase,
    title: String,
}

/// What a wish leads to.
enum Then {
    /// This session goes on.
    On(String),
    /// Another takes its place, when it is built, and whoever wished it is told this.
    Over(Built<Scene>, String),
}

/// Whoever waits for another session, and what it is told then.
type Asked = Option<(Wished, String)>;

/// A rehearsal.
struct Room<'a> {
    base: &'a Config,
    options: &'a LiveOptions,
    began: Time,
    parts: Vec<Part>,
    known: Known,
    made: usize,
    posed: u64,
    pilot: Option<&'a mut Pilot>,
}

impl<'a> Room<'a> {
    fn new(base: &'a Config, options: &'a LiveOptions) -> Self {
        let known = options.attempts.as_deref().map(attempts::read);
        Self {
            base,
            options,
            began: MonotonicClock.now(),
            parts: Vec::new(),
            known: known.unwrap_or_default(),
            made: 0,
            posed: 0,
            pilot: None,
        }
    }

    /// Play one scene to its end; what comes after it, if anything does.
    fn play(
        &mut self,
        scene: Scene,
        asked: Asked,
        desk: &Arc<SessionDesk>,
        wished: &Receiver<Wished>,
    ) -> Result<Option<(Scene, Asked)>, RunError> {
        let gone_s = (MonotonicClock.now() - self.began).s();
        let left_s = (self.base.duration_s - gone_s).max(PERIOD.s());
        let config = Config {
            duration_s: left_s,
            ..scene.config
        };
        let folder = self.folder(&scene.title);
        let mut recorder = begin_recording(&config, &folder)?;
        let ended = Arc::new(AtomicBool::new(false));
        let options = PacedOptions {
            realtime: config.realtime,
            ticks_max: Some((left_s / PERIOD.s()).round() as u64),
            stop: Arc::clone(&ended),
        };
        let radius_m = config.master.predict.tool_radius_m;
        let mut now = Now {
            contact_m: lab::contact_m(&config),
            phase: match scene.choice.task {
                Some(_) => Phase::Doing(Vec::new()),
                None => Phase::Free,
            },
            wielded: Wielded::new(scene.tool, radius_m),
            choice: scene.choice,
            config,
            tool: scene.tool,
            other: scene.tool,
            tools: scene.tools,
            second: scene.second,
            wield: scene.wield,
            title: scene.title,
        };
        let mut playing = scene.stage.play(desk, scene.solo, &options)?;
        desk.board().tell(self.facts(&now));
        if let Some((wished, text)) = asked {
            // whoever asked may have gone
            let _ = wished.answer.send(Ok(text));
        }
        let (mut coming, mut next) = (None, None);
        while self.look(&mut playing, &mut recorder, &mut now)? {
            if self.options.stop.load(Ordering::Relaxed) {
                ended.store(true, Ordering::Relaxed);
            }
            // what is wished while another scene comes waits for that
            if next.is_none() {
                coming = coming.or_else(|| self.heed(&mut now, desk, wished));
                next = coming::arrived(&mut coming).map(|(scene, asked)| (scene, Some(asked)));
                ended.fetch_or(next.is_some(), Ordering::Relaxed);
            }
        }
        let next = next.filter(|_| !self.options.stop.load(Ordering::Relaxed));
        if next.is_none() {
            desk.board().ends(&self.options.folder);
        }
        recorder.finish(None)?;
        let (servo, lying) = playing.end()?;
        self.parts.push(Part {
            folder,
            config: now.config,
            servo,
            lying,
        });
        Ok(next)
    }

    /// Do what is wished; what is to come after this scene and is being built, if that is wished.
    fn heed(
        &mut self,
        now: &mut Now,
        desk: &Arc<SessionDesk>,
        wished: &Receiver<Wished>,
    ) -> Option<Coming<Scene>> {
        for wished in wished.try_iter().filter(Wished::is_awaited) {
            match self.grant(now, &wished.wish) {
                Ok(Then::On(text)) => {
                    desk.board().tell(self.facts(now));
                    // whoever asked may have gone
                    let _ = wished.answer.send(Ok(text));
                }
                Ok(Then::Over(built, text)) => {
                    return Some(Coming {
                        built,
                        wished,
                        text,
                    });
                }
                Err(reason) => {
                    let _ = wished.answer.send(Err(reason));
                }
            }
        }
        None
    }

    /// One look at the session, with all that it recorded since the last; whether it still runs.
    fn look(
        &mut self,
        playing: &mut Playing<Lying>,
        recorder: &mut Recorder<BufWriter<File>>,
        now: &mut Now,
    ) -> Result<bool, RunError> {
        let mut refused = None;
        let mut newest = None;
        let running = playing.look(|tick| {
            newest = Some(*tick);
            if let Err(error) = recorder.push(tick) {
                refused.get_or_insert(error);
            }
            if let Phase::Doing(ticks) = &mut now.phase
                && ticks.len() <= ATTEMPT_TICKS
            {
                ticks.push(*tick);
            }
        });
        if let (Some(pilot), Some(tick)) = (&mut self.pilot, &newest) {
            pilot.feel(hand::felt_of(tick, now.contact_m));
        }
        while let Some((made_ns, stroke)) = playing.stroke() {
            recorder.push_stroke(made_ns, &stroke)?;
        }
        match refused {
            Some(error) => Err(error.into()),
            None => Ok(running),
        }
    }

    /// Where the next scene's results go: the first's where the rehearsal's do.
    fn folder(&self, title: &str) -> PathBuf {
        match self.parts.len() {
            0 => self.options.folder.clone(),
            before => {
                let letter = |c: char| if c.is_alphanumeric() { c } else { '-' };
                let title: String = title.chars().map(letter).collect();
                self.options.folder.join(format!("{}-{title}", before + 1))
            }
        }
    }

    /// Do what is wished, or say why not.
    fn grant(&mut self, now: &mut Now, wish: &Wish) -> Result<Then, String> {
        match wish {
            Wish::Scene(name) => {
                // a page chooses from what it was offered, and reads no file by its name
                if library::offer_of(name).is_none() && *name != self.base.twin {
                    return Err(format!("there is no scene `{name}` here"));
                }
                let choice = Choice {
                    name: name.clone(),
                    tool: now.choice.tool,
                    task: None,
                    seed: self.base.seed,
                };
                self.over(&choice, format!("now on {name}"))
            }
            Wish::Tool(name) => self.take_tool(now, name),
            Wish::Swap => {
                if !now.second {
                    return Err("this tissue feels one tool only".into());
                }
                std::mem::swap(&mut now.tool, &mut now.other);
                now.choice.tool = now.tool.name;
                now.wielded = now.wielded.with(now.tool);
                now.wielded.swaps = now.wielded.swaps.wrapping_add(1);
                now.wield.write(now.wielded);
                Ok(Then::On(format!(
                    "the {} lies where it was put down; take the other one, a {}",
                    now.other.name, now.tool.name
                )))
            }
            Wish::Undo | Wish::Redo => {
                let revisions = &mut now.wielded.revisions;
                let count = match wish {
                    Wish::Undo => &mut revisions.undo,
                    _ => &mut revisions.redo,
                };
                *count = count.wrapping_add(1);
                now.wield.write(now.wielded);
                Ok(Then::On("asked of the tissue".into()))
            }
            Wish::Begin(kind) => {
                let offer = library::offer_of(&now.choice.name);
                let offer = offer.ok_or("this scene has no tasks")?;
                let seed = self.seed();
                let posed = library::pose(offer, *kind, seed).map_err(|error| error.to_string())?;
                let choice = Choice {
                    task: Some((*kind, posed)),
                    seed,
                    ..now.choice.clone()
                };
                self.posed += 1;
                self.over(&choice, kind.words())
            }
            Wish::Answer(said) => self.answer(now, said).map(Then::On),
            Wish::Leave => {
                let choice = Choice {
                    task: None,
                    ..now.choice.clone()
                };
                self.over(&choice, "left without an answer".into())
            }
        }
    }

    fn over(&self, choice: &Choice, text: String) -> Result<Then, String> {
        let (base, choice) = (self.base.clone(), choice.clone());
        let built = coming::build(move || Scene::new(&base, &choice));
        let built = built.map_err(|error| error.to_string())?;
        Ok(Then::Over(built, text))
    }

    /// Of every attempt another, and of every rehearsal others.
    fn seed(&self) -> u64 {
        let before = self.known.attempts.attempt.len() as u64;
        self.base
            .seed
            .wrapping_mul(1_000_003)
            .wrapping_add(before.wrapping_mul(1009))
            .wrapping_add(self.posed)
    }

    fn take_tool(&self, now: &mut Now, name: &str) -> Result<Then, String> {
        let found = now.tools.iter().find(|tool| tool.name == name).copied();
        let names = || now.tools.iter().map(|tool| tool.name).collect::<Vec<_>>();
        let tool = found.ok_or_else(|| {
            format!(
                "no tool is called {name}; expected one of {}",
                names().join(", ")
            )
        })?;
        if tool.is_like(now.tool) {
            now.tool = tool;
            now.choice.tool = tool.name;
            now.wielded = now.wielded.with(tool);
            now.wield.write(now.wielded);
            return Ok(Then::On(format!("{name}: {}", tool.about)));
        }
        if now.choice.task.is_some() {
            return Err(
                "a tool of another size begins anew: answer or leave the task first".into(),
            );
        }
        let choice = Choice {
            tool: tool.name,
            ..now.choice.clone()
        };
        self.over(&choice, format!("{name}: {}", tool.about))
    }

    /// Score what was done and keep it.
    fn answer(&mut self, now: &mut Now, said: &Said) -> Answer {
        let (Some((kind, posed)), Phase::Doing(ticks)) = (&now.choice.task, &now.phase) else {
            return Err("there is no task to be answered".into());
        };
        if ticks.len() > ATTEMPT_TICKS {
            return Err("this took longer than its five minutes: begin anew".into());
        }
        if *kind == TaskKind::FindLump && !ticks.iter().any(touches) {
            return Err(
                "nothing was pressed yet: press the tissue, and mark where it is stiff".into(),
            );
        }
        let task = posed.answered(*kind, said)?;
        let score = task.score(ticks, &posed.lumps);
        let attempt = Attempt {
            task: kind.name().into(),
            scene: now.choice.name.clone(),
            operator: who(self.base, said),
            score: score.clone(),
        };
        let at_unix_s = wall_now().0.max(0).unsigned_abs() / 1_000_000_000;
        let kept = Kept::new(at_unix_s, now.choice.seed, now.tool.name, attempt.clone());
        let mut text = format!("score {:.2}", score.score);
        let beside = self.options.folder.join(attempts::FILE);
        let wanted = self.options.attempts.iter();
        let wanted = wanted.filter(|path| !attempts::same(path, &beside));
        for path in wanted.chain([&beside]) {
            if let Err(error) = attempts::add(path, &kept) {
                text = format!("{text}; not kept in {}: {error}", path.display());
            }
        }
        self.known.attempts.attempt.push(attempt);
        self.made += 1;
        now.phase = Phase::Answered(score);
        Ok(text)
    }
}

/// Who answers, and what leads the handle.
fn who(config: &Config, said: &Said) -> String {
    let person = operator(config);
    if said.machine {
        return person.replace("person", "machine");
    }
    person.into()
}

/// Whether a tick feels what it touches.
fn touches(tick: &TickRecord) -> bool {
    let [x_n, y_n, z_n, _] = tick.port_force_n;
    x_n * x_n + y_n * y_n + z_n * z_n > TOUCH_N * TOUCH_N
}

fn wrong(name: &str, why: &dyn std::fmt::Display) -> ConfigError {
    ConfigError::Field {
        message: format!("scene {name}: {why}"),
    }
}

fn begin_recording(config: &Config, folder: &Path) -> Result<Recorder<BufWriter<File>>, RunError> {
    std::fs::create_dir_all(folder).map_err(file_error(folder))?;
    let place = folder.join("config.toml");
    std::fs::write(&place, config.to_toml()).map_err(file_error(&place))?;
    let path = folder.join(RECORDING);
    let file = File::create(&path).map_err(file_error(&path))?;
    let description = record::Session {
        sides: vec![Side::Master],
        config: config.to_toml(),
        facts: [(same::COMMAND.to_owned(), "rehearse".to_owned())].into(),
    };
    Ok(Recorder::create(BufWriter::new(file), &description)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io;

    use evdev::KeyCode as Key;
    use palpate_master::device::HandleKind;
    use palpate_master::device::pointer::Aim;
    use palpate_session::input::map::{Lead, Range, Said as Word, Shape};
    use palpate_session::input::pilot::{Source, Waiting};
    use palpate_session::monitor::Desk as _;
    use palpate_session::monitor::desk::Sides;
    use palpate_transport::clock::pause;
    use palpate_transport::{Axes, Span};

    use super::*;
    use crate::rehearsal::desk::RehearsalDesk;

    /// A pad that is held and pressed home, again and again.
    struct Pressed(u32);

    impl Source for Pressed {
        fn listen(&mut self, at_most: Span) -> io::Result<Vec<Word>> {
            pause(at_most);
            self.0 += 1;
            Ok(match self.0 % 100 {
                1 => vec![Word::Button(Key::BTN_SOUTH.0, true)],
                2 => vec![Word::Axis(5, 255)],
                0 => vec![Word::Axis(5, 0), Word::Button(Key::BTN_SOUTH.0, false)],
                _ => Vec::new(),
            })
        }

        fn push(&mut self, _: &Axes) {}
    }

    fn pad() -> Shape {
        let range = |low| Range {
            low,
            high: 255,
            flat: 0,
        };
        let axes = [(0, -255), (1, -255), (3, -255), (4, -255), (5, 0)];
        let axes = axes.map(|(axis, low)| (axis, range(low)));
        Shape::of(BTreeMap::from(axes), &[], &[Key::BTN_SOUTH.0]).expect("a pad")
    }

    #[test]
    fn a_device_leads_the_handle_of_a_rehearsal_and_no_page_does() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut config = Config {
            duration_s: 4.0,
            twin: "sheet".into(),
            ..Config::default()
        };
        config.operator.handle = HandleKind::Pointer;
        config.operator.device = Some("played".into());
        solo::alone(&mut config);
        let stop = Arc::new(AtomicBool::new(false));
        let side = SessionDesk::new(&config, Sides::OperatorOnly, &stop);
        let (desk, wished) = RehearsalDesk::new(Arc::clone(&side));
        let told = Arc::clone(&side);
        let say = Box::new(move |aim: Aim| {
            told.lead(aim);
            // a page says the opposite all the time
            desk.aim(Aim::default(), 0.0);
        });
        let start_m = config.operator.script.start_m();
        let lead = Lead::new(pad(), 0.008, start_m);
        let waiting = Waiting::saying(Box::new(Pressed(0)), (lead, "a played pad".into()), say);
        let mut pilot = hand::fly_to(waiting, &side).expect("a thread");
        let options = LiveOptions {
            folder: folder.path().into(),
            attempts: None,
            stop,
        };
        let done = rehearse(&config, &options, &side, &wished, Some(&mut pilot));
        assert_eq!(done.expect("it runs").parts.len(), 1);
        assert!(pilot.land().words > 2);
        let recording = record::read(&folder.path().join(RECORDING)).expect("recorded");
        let felt_n = recording.master.iter().map(|r| r.tissue_force_n[2]);
        let most_n = felt_n.fold(0.0, f64::max);
        assert!(most_n > 0.3, "{most_n} N at most");
    }
}
