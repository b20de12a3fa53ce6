//! Live rehearsal with a person: one scene after another on the twin alone, in real time, with tools and tasks.
//!
//! Each scene is a session of its own, with its own configuration and recording, so every folder can be read and
//! replayed by itself. A request that needs another session builds it while the present one runs, and then switches.
//! Source: ours.

mod page_facts;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use palpate_analysis::conclusion::operator_name;
use palpate_analysis::rehearsal::task::{Attempt, Score};
use palpate_analysis::scene_tool;
use palpate_master::device::params;
use palpate_master::device::script::ScriptParams;
use palpate_scene::Scene;
use palpate_session::config::{Config, ConfigError};
use palpate_session::files;
use palpate_session::input::InputThread;
use palpate_session::lab;
use palpate_session::monitor::OrderReply;
use palpate_session::monitor::controller::SessionController;
use palpate_session::monitor::request::{RehearsalRequest, TaskAnswer, TaskKind};
use palpate_session::record::{self, RECORDING, Recorder, RecordingFile};
use palpate_session::replay::bitwise;
use palpate_session::run::clocked::{ClockedLauncher, ClockedOptions, ClockedRun};
use palpate_session::run::servo::ServoReport;
use palpate_session::run::{RunError, file_error, handle_source};
use palpate_transport::Time;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, wall_now};
use palpate_transport::mailbox::{LatestWriter, latest};
use palpate_transport::trace::{Side, TickRecord};

use super::attempts::{self, AttemptHistory, AttemptRecord};
use super::controller::PendingRequest;
use super::library::{self, TaskScene, wrong};
use super::pending::{self, BuildReceiver, PendingBuild};
use super::solo::{self, SoloSession};
use super::tool_changer::{self, ToolChanger, ToolCommand, ToolKind};
use crate::rehearsal::solo::FinalTissue;

/// Longest attempt that is scored, in ticks: five minutes.
const ATTEMPT_TICKS: usize = 300_000;

/// Least force of a touch \[N\].
const TOUCH_N: f64 = 0.05;

/// Options of a rehearsal.
#[derive(Debug, Clone)]
pub struct LiveRehearsalOptions {
    /// Folder of the first scene's results; those of later ones are below it.
    pub folder: PathBuf,
    /// File of the attempts, if there is one.
    pub attempts: Option<PathBuf>,
    /// Ends the rehearsal.
    pub stop: Arc<AtomicBool>,
}

/// A scene that was rehearsed.
#[derive(Debug, Clone, PartialEq)]
pub struct RehearsedScene {
    /// Folder of its results.
    pub folder: PathBuf,
    /// Configuration of the scene.
    pub config: Config,
    /// Report of its servo loop.
    pub servo: ServoReport,
    /// Tissue at the end.
    pub final_tissue: FinalTissue,
}

/// Result of a rehearsal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveRehearsalResult {
    /// The scenes, in their order.
    pub scenes: Vec<RehearsedScene>,
    /// All stored attempts, including new ones.
    pub history: AttemptHistory,
    /// Number of attempts made in this rehearsal.
    pub new_attempts: usize,
}

/// Rehearses until the end of `config`'s duration, or until stopped. `requests` are those of the page, and `pilot` is
/// the device that leads the handle, if one does.
///
/// # Errors
/// [`RunError`] if the first scene cannot be used, or a file not written.
pub fn rehearse(
    config: &Config,
    options: &LiveRehearsalOptions,
    controller: &Arc<SessionController>,
    requests: &Receiver<PendingRequest>,
    pilot: Option<&mut InputThread>,
) -> Result<LiveRehearsalResult, RunError> {
    let history = options.attempts.as_deref().map(attempts::read);
    let mut rehearsal = RunningRehearsal {
        base: config,
        options,
        began: MonotonicClock.now(),
        result: LiveRehearsalResult {
            history: history.unwrap_or_default(),
            ..LiveRehearsalResult::default()
        },
        tasks_placed: 0,
        pilot,
    };
    let first = SceneChoice {
        name: config.twin.clone(),
        tool: "fingertip",
        task: None,
        seed: config.seed,
    };
    let mut next = Some((PreparedScene::new(config, &first)?, None));
    while let Some((scene, waiting)) = next.take() {
        next = rehearsal.play_scene(scene, waiting, controller, requests)?;
    }
    Ok(rehearsal.result)
}

/// Selected scene, tool and task.
#[derive(Debug, Clone, PartialEq)]
struct SceneChoice {
    /// Name of the scene in the library, or the scene of the command line.
    name: String,
    tool: &'static str,
    task: Option<(TaskKind, TaskScene)>,
    seed: u64,
}

/// A session that is built and has not begun.
struct PreparedScene {
    running: RunningScene,
    launcher: ClockedLauncher,
    solo: SoloSession,
}

/// Stiffness of the tool on a scene \[N/m\]: the scene's own, unless a flag gave one that the first scene does not state.
fn stiffness_npm(base: &Config, scene: &Scene) -> Result<f64, ConfigError> {
    let first = lab::load_scene(&base.twin, "twin")?;
    let set_npm = base.master.predict.tool_stiffness_npm;
    Ok(match set_npm == scene_tool::stiffness_npm(&first) {
        true => scene_tool::stiffness_npm(scene),
        false => set_npm,
    })
}

impl PreparedScene {
    fn new(base: &Config, choice: &SceneChoice) -> Result<Self, RunError> {
        let mut config = base.clone();
        let placed = choice.task.as_ref().map(|(_, placed)| placed.scene.clone());
        config.twin = placed.unwrap_or_else(|| choice.name.clone());
        solo::make_solo(&mut config);
        let scene = lab::load_scene(&config.twin, "twin")?;
        // as the session builds it, so that it is calibrated once
        let stiffness_npm = stiffness_npm(base, &scene)?;
        config.master.predict.tool_stiffness_npm = stiffness_npm;
        let scene = scene.clone().with_tool(scene.tool_radius_m, stiffness_npm);
        let tissue = scene.build().map_err(|error| wrong(&choice.name, &error))?;
        let caps = tissue.caps();
        let tools: Vec<_> = tool_changer::tools(&caps).collect();
        drop(tissue);
        // a grasp task begins with tweezers
        let wanted = match &choice.task {
            Some((TaskKind::Grasp, _)) => "tweezers",
            _ => choice.tool,
        };
        let tool = tools.iter().find(|tool| tool.name == wanted);
        let Some(tool) = tool.or(tools.first()).copied() else {
            return Err(wrong(&choice.name, &"no tool works on it").into());
        };
        let radius_m = scene.tool_radius_m * tool.radius;
        config.master.predict.tool_radius_m = radius_m;
        // instruments and jaws work at the end of a rod: tissue that supports them is touched by a tool's own shape
        let works = caps.instruments || caps.jaws;
        let own = Some(config.master.predict.tool_shape);
        let own = own.filter(|own| own.is_supported(&caps) && !works);
        let shape = tool.shape(scene.tool_radius_m).or(own);
        config.master.predict.tool_shape = shape.unwrap_or_default();
        if let ScriptParams::Palpation(palpation) = &mut config.operator.script {
            // the handle begins above the surface by this radius
            palpation.tool_radius_m = radius_m;
        }
        let (launcher, aims) = ClockedLauncher::new(false)?;
        let (command_writer, command_reader) = latest(ToolCommand::new(tool, radius_m));
        let other_m = config.operator.script.start_m();
        let handle = ToolChanger::new(
            params::build_pointer(&config.operator, aims),
            command_reader,
            other_m,
        );
        let solo = SoloSession::with_handle(&config, Box::new(handle))?;
        let running = RunningScene {
            contact_m: lab::contact_m(&config),
            phase: match choice.task {
                Some(_) => TaskPhase::Running(Vec::new()),
                None => TaskPhase::NoTask,
            },
            command: ToolCommand::new(tool, radius_m),
            choice: choice.clone(),
            config,
            tool,
            other: tool,
            tools,
            second: caps.tools_max > 1,
            command_writer,
            title: scene.name,
        };
        Ok(Self {
            running,
            launcher,
            solo,
        })
    }
}

/// Phase of a task.
#[derive(Debug, Clone, PartialEq, Default)]
enum TaskPhase {
    /// Without a task.
    #[default]
    NoTask,
    /// In progress, with the ticks so far.
    Running(Vec<TickRecord>),
    /// Answered, with its score.
    Answered(Score),
}

/// The running scene, as requests change it.
struct RunningScene {
    choice: SceneChoice,
    /// Height of the tool at first contact \[m\].
    contact_m: f64,
    config: Config,
    tool: &'static ToolKind,
    /// The tool that the hand does not lead.
    other: &'static ToolKind,
    tools: Vec<&'static ToolKind>,
    /// True if the tissue supports two tools at once.
    second: bool,
    command_writer: LatestWriter<ToolCommand>,
    command: ToolCommand,
    phase: TaskPhase,
    /// Title for the page.
    title: String,
}

/// Reply to a request, with the build of the next session if the request needs one.
type RequestReply = (String, Option<BuildReceiver<PreparedScene>>);

/// Request that waits for another session, with its reply.
type WaitingRequest = Option<(PendingRequest, String)>;

/// A rehearsal in progress.
struct RunningRehearsal<'a> {
    base: &'a Config,
    options: &'a LiveRehearsalOptions,
    began: Time,
    result: LiveRehearsalResult,
    tasks_placed: u64,
    pilot: Option<&'a mut InputThread>,
}

impl RunningRehearsal<'_> {
    /// Plays one scene to its end; returns the next one, if any.
    fn play_scene(
        &mut self,
        scene: PreparedScene,
        waiting: WaitingRequest,
        controller: &Arc<SessionController>,
        requests: &Receiver<PendingRequest>,
    ) -> Result<Option<(PreparedScene, WaitingRequest)>, RunError> {
        let elapsed_s = (MonotonicClock.now() - self.began).s();
        let left_s = (self.base.duration_s - elapsed_s).max(PERIOD.s());
        let PreparedScene {
            running: mut now,
            launcher,
            solo,
        } = scene;
        now.config.duration_s = left_s;
        let folder = self.folder(&now.title);
        let mut recorder = begin_recording(&now.config, &folder)?;
        let ended = Arc::new(AtomicBool::new(false));
        let options = ClockedOptions {
            realtime: now.config.realtime,
            ticks_max: Some((left_s / PERIOD.s()).round() as u64),
            stop: Arc::clone(&ended),
        };
        let mut playing = launcher.start(controller, solo, &options)?;
        controller.latest_state().set_facts(self.facts(&now));
        if let Some((request, text)) = waiting {
            // the requester may be gone
            let _ = request.answer.send(Ok(text));
        }
        let (mut pending, mut next) = (None, None);
        while self.poll(&mut playing, recorder.recorder(), &mut now)? {
            if self.options.stop.load(Ordering::Relaxed) {
                ended.store(true, Ordering::Relaxed);
            }
            // requests during the build of another scene wait for it
            if next.is_none() {
                pending = pending.or_else(|| self.take_requests(&mut now, controller, requests));
                next = pending::take_finished(&mut pending)
                    .map(|(scene, waiting)| (scene, Some(waiting)));
                ended.fetch_or(next.is_some(), Ordering::Relaxed);
            }
        }
        let next = next.filter(|_| !self.options.stop.load(Ordering::Relaxed));
        if next.is_none() {
            controller.latest_state().announce_end(&self.options.folder);
        }
        recorder.finish(None)?;
        let (servo, final_tissue) = playing.finish()?;
        self.result.scenes.push(RehearsedScene {
            folder,
            config: now.config,
            servo,
            final_tissue,
        });
        Ok(next)
    }

    /// Executes pending requests; returns the build of the next scene, if one was requested.
    fn take_requests(
        &mut self,
        now: &mut RunningScene,
        controller: &Arc<SessionController>,
        requests: &Receiver<PendingRequest>,
    ) -> Option<PendingBuild<PreparedScene>> {
        for pending in requests.try_iter().filter(PendingRequest::is_awaited) {
            match self.handle_request(now, &pending.request) {
                Ok((text, None)) => {
                    controller.latest_state().set_facts(self.facts(now));
                    // the requester may be gone
                    let _ = pending.answer.send(Ok(text));
                }
                Ok((text, Some(built))) => {
                    return Some(PendingBuild {
                        receiver: built,
                        request: pending,
                        reply: text,
                    });
                }
                Err(reason) => {
                    let _ = pending.answer.send(Err(reason));
                }
            }
        }
        None
    }

    /// Polls the session, and records its ticks since the last poll; returns true while it runs.
    fn poll(
        &mut self,
        playing: &mut ClockedRun<FinalTissue>,
        recorder: &mut Recorder<BufWriter<File>>,
        now: &mut RunningScene,
    ) -> Result<bool, RunError> {
        let mut refused = None;
        let mut newest = None;
        let running = playing.poll(|tick| {
            newest = Some(*tick);
            if let Err(error) = recorder.push(tick) {
                refused.get_or_insert(error);
            }
            if let TaskPhase::Running(ticks) = &mut now.phase
                && ticks.len() <= ATTEMPT_TICKS
            {
                ticks.push(*tick);
            }
        });
        if let (Some(pilot), Some(tick)) = (&mut self.pilot, &newest) {
            pilot.set_feedback(handle_source::device_feedback(tick, Some(now.contact_m)));
        }
        while let Some((made_ns, batch)) = playing.next_edit_batch() {
            recorder.push_edit_batch(made_ns, &batch)?;
        }
        match refused {
            Some(error) => Err(error.into()),
            None => Ok(running),
        }
    }

    /// Returns the folder of the next scene's results; the first uses that of the rehearsal.
    fn folder(&self, title: &str) -> PathBuf {
        match self.result.scenes.len() {
            0 => self.options.folder.clone(),
            before => {
                let letter = |c: char| if c.is_alphanumeric() { c } else { '-' };
                let title: String = title.chars().map(letter).collect();
                self.options.folder.join(format!("{}-{title}", before + 1))
            }
        }
    }

    /// Executes a request, or returns the reason of its refusal.
    fn handle_request(
        &mut self,
        now: &mut RunningScene,
        request: &RehearsalRequest,
    ) -> Result<RequestReply, String> {
        match request {
            RehearsalRequest::Scene(name) => {
                // a page may select offered scenes only, and read no file by its name
                if library::scene_named(name).is_none() && *name != self.base.twin {
                    return Err(format!("there is no scene `{name}` here"));
                }
                let choice = SceneChoice {
                    name: name.clone(),
                    tool: now.choice.tool,
                    task: None,
                    seed: self.base.seed,
                };
                self.start_build(&choice, format!("now on {name}"))
            }
            RehearsalRequest::Tool(name) => self.take_tool(now, name),
            RehearsalRequest::Swap => {
                if !now.second {
                    return Err("this tissue supports one tool only".into());
                }
                std::mem::swap(&mut now.tool, &mut now.other);
                now.choice.tool = now.tool.name;
                now.command.action = now.tool.action;
                now.command.swaps = now.command.swaps.wrapping_add(1);
                now.command_writer.write(now.command);
                let (other, tool) = (now.other.name, now.tool.name);
                let text = format!(
                    "the {other} stays where it was put down; take the other tool, a {tool}"
                );
                Ok((text, None))
            }
            RehearsalRequest::Undo | RehearsalRequest::Redo => {
                let revisions = &mut now.command.revisions;
                let count = match request {
                    RehearsalRequest::Undo => &mut revisions.undo,
                    _ => &mut revisions.redo,
                };
                *count = count.wrapping_add(1);
                now.command_writer.write(now.command);
                Ok(("requested".into(), None))
            }
            RehearsalRequest::Begin(kind) => {
                let offer = library::scene_named(&now.choice.name);
                let offer = offer.ok_or("this scene has no tasks")?;
                let seed = self.seed();
                let placed =
                    library::place_task(offer, *kind, seed).map_err(|error| error.to_string())?;
                let choice = SceneChoice {
                    task: Some((*kind, placed)),
                    seed,
                    ..now.choice.clone()
                };
                self.tasks_placed += 1;
                self.start_build(&choice, kind.words())
            }
            RehearsalRequest::Answer(answer) => Ok((self.score_answer(now, answer)?, None)),
            RehearsalRequest::Leave => {
                let choice = SceneChoice {
                    task: None,
                    ..now.choice.clone()
                };
                self.start_build(&choice, "task canceled".into())
            }
        }
    }

    fn start_build(&self, choice: &SceneChoice, text: String) -> Result<RequestReply, String> {
        let (base, choice) = (self.base.clone(), choice.clone());
        let built = pending::spawn_build(move || PreparedScene::new(&base, &choice));
        let built = built.map_err(|error| error.to_string())?;
        Ok((text, Some(built)))
    }

    /// Returns a seed that differs between attempts and between rehearsals.
    fn seed(&self) -> u64 {
        let before = self.result.history.attempts.len() as u64;
        self.base
            .seed
            .wrapping_mul(1_000_003)
            .wrapping_add(before.wrapping_mul(1009))
            .wrapping_add(self.tasks_placed)
    }

    fn take_tool(&self, now: &mut RunningScene, name: &str) -> Result<RequestReply, String> {
        let found = now.tools.iter().find(|tool| tool.name == name).copied();
        let names = || now.tools.iter().map(|tool| tool.name).collect::<Vec<_>>();
        let tool = found.ok_or_else(|| {
            format!(
                "no tool is called {name}; expected one of {}",
                names().join(", ")
            )
        })?;
        if tool.is_interchangeable(now.tool) {
            now.tool = tool;
            now.choice.tool = tool.name;
            now.command.action = tool.action;
            now.command_writer.write(now.command);
            return Ok((format!("{name}: {}", tool.about), None));
        }
        if now.choice.task.is_some() {
            return Err(
                "a tool of another size resets the scene: answer or cancel the task first".into(),
            );
        }
        let choice = SceneChoice {
            tool: tool.name,
            ..now.choice.clone()
        };
        self.start_build(&choice, format!("{name}: {}", tool.about))
    }

    /// Scores an answer and stores the attempt.
    fn score_answer(&mut self, now: &mut RunningScene, answer: &TaskAnswer) -> OrderReply {
        let (Some((kind, placed)), TaskPhase::Running(ticks)) = (&now.choice.task, &now.phase)
        else {
            return Err("there is no task to answer".into());
        };
        if ticks.len() > ATTEMPT_TICKS {
            return Err(
                "the task exceeded its limit of five minutes: cancel it and begin again".into(),
            );
        }
        let touches = |tick: &TickRecord| {
            let [x_n, y_n, z_n, _] = tick.port_force_n;
            x_n * x_n + y_n * y_n + z_n * z_n > TOUCH_N * TOUCH_N
        };
        if *kind == TaskKind::FindLump && !ticks.iter().any(touches) {
            return Err(
                "nothing was pressed yet: press the tissue, and mark the stiff place".into(),
            );
        }
        let score = placed.score(*kind, answer, ticks)?;
        let attempt = Attempt {
            task: kind.name().into(),
            scene: now.choice.name.clone(),
            // kind of respondent, and device of the handle
            operator: match answer.machine {
                true => operator_name(self.base).replace("person", "machine"),
                false => operator_name(self.base).to_owned(),
            },
            score: score.clone(),
        };
        let at_unix_s = wall_now().0.max(0).unsigned_abs() / 1_000_000_000;
        let record = AttemptRecord {
            version: attempts::VERSION,
            at_unix_s,
            seed: now.choice.seed,
            tool: now.tool.name.to_owned(),
            attempt: attempt.clone(),
        };
        let mut text = format!("score {:.2}", score.score);
        let in_folder = self.options.folder.join(attempts::FILE);
        let configured = self.options.attempts.iter();
        let configured = configured.filter(|path| !attempts::is_same_file(path, &in_folder));
        for path in configured.chain([&in_folder]) {
            if let Err(error) = attempts::add(path, &record) {
                text = format!("{text}; not stored in {}: {error}", path.display());
            }
        }
        self.result.history.attempts.push(attempt);
        self.result.new_attempts += 1;
        now.phase = TaskPhase::Answered(score);
        Ok(text)
    }
}

fn begin_recording(config: &Config, folder: &Path) -> Result<RecordingFile, RunError> {
    std::fs::create_dir_all(folder).map_err(file_error(folder))?;
    let config_path = folder.join("config.toml");
    files::write(&config_path, config.to_toml()).map_err(file_error(&config_path))?;
    let header = record::RecordingHeader {
        sides: vec![Side::Master],
        config: config.to_toml(),
        epoch_ns: record::host_epoch_ns(),
        begun_ns: MonotonicClock.now().0,
        facts: [(bitwise::COMMAND.to_owned(), "rehearse".to_owned())].into(),
    };
    Ok(RecordingFile::create(&folder.join(RECORDING), &header)?)
}

#[cfg(test)]
mod tests;
