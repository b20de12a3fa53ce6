//! `palpate rehearse` with a page: a person practises on the twin by the clock, and every scene is judged as a session.
//!
//! Source: ours.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use palpate_master::device::HandleKind;
use palpate_transport::trace::Side;

use super::conclude::{self, Concluded, Evidence};
use super::{Done, Failure, console, interrupt, output, rehearse, truth};
use crate::bench::timer::BareTimer;
use crate::cli::RehearseArgs;
use crate::console::session::{SessionDesk, Sides};
use crate::input::{InputReport, Pilot};
use crate::lab::PERIOD;
use crate::metrics::{LiveFacts, SessionFacts};
use crate::progress::Progress;
use crate::record;
use crate::rehearsal::attempts;
use crate::rehearsal::desk::RehearsalDesk;
use crate::rehearsal::live::{self, LiveOptions, Part, Rehearsals};
use crate::rehearsal::solo;
use crate::rehearsal::specimen::Specimen;
use crate::rehearsal::task::Attempts;
use crate::run::side::RECORDING;
use crate::run::{RunError, hand};
use crate::still::Still;
use crate::still::operated::Palette;
use crate::summary::Ending;

/// Length of a rehearsal if nothing is said \[s\].
const DURATION_S: f64 = 600.0;

/// Whether a person is to rehearse: where it is asked for, or nothing else is and a terminal says where the page is.
#[must_use]
pub(super) fn wanted(arguments: &RehearseArgs) -> bool {
    let scripted = arguments.script.is_some() || arguments.page.no_console;
    let plain = !scripted && !arguments.no_recording && !arguments.output.json;
    let terminal = || std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let led = arguments.operator.is_some() || arguments.device.is_some();
    arguments.console || led || (plain && terminal())
}

/// Rehearse with a person, write the folders, and say how it went.
///
/// # Errors
/// [`Failure::Usage`] for a scene, configuration or folder that cannot be used, [`Failure::Refused`] for a page that
/// cannot be served or a file that cannot be written.
pub(super) fn practise(arguments: &RehearseArgs) -> Result<Done, Failure> {
    let mut config = arguments.session().config()?;
    config.operator.handle = HandleKind::Pointer;
    if arguments.duration.is_none() && arguments.config.is_none() {
        config.duration_s = DURATION_S;
    }
    solo::alone(&mut config);
    config.validate()?;
    // no page for what cannot be touched
    crate::lab::load_scene(&config.twin, "twin")?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), &config.name)?;
    let stop = interrupt::on_ctrl_c()?;
    let side = SessionDesk::new(&config, Sides::OperatorOnly, &stop);
    let (desk, wished) = RehearsalDesk::new(Arc::clone(&side));
    // no page for a device that is not there
    let mut pilot = hand::pilot(&config, &side).map_err(failure)?;
    let served = console::serve(&arguments.page, &config, (side.board(), desk))?;
    let options = LiveOptions {
        folder: folder.clone(),
        attempts: arguments.attempts.clone().or_else(attempts::of_user),
        stop: Arc::clone(&stop),
    };
    let progress = Progress::line("rehearse", wanted.quiet || wanted.json);
    let bare_timer = BareTimer::start(config.realtime.servo_priority);
    let rehearsals = live::rehearse(&config, &options, (&side, &wished), pilot.as_mut());
    let input = pilot.map(Pilot::land);
    let bare_us_p99 = bare_timer.finish().map(|lateness| lateness.us_p99);
    let rehearsals = rehearsals.map_err(failure)?;
    drop(wished);
    if let Some(console) = &served {
        console::keep(console, &folder)?;
    }
    progress.say("judging");
    let mut first = None;
    for (index, part) in rehearsals.parts.iter().enumerate() {
        let concluded = judge(part, index, (&rehearsals, input.as_ref()), bare_us_p99)?;
        if concluded.is_none() && index == 0 {
            return Err(Failure::Refused("nothing was recorded".into()));
        }
        first = first.or(concluded);
    }
    drop(progress);
    let concluded = first.ok_or_else(|| Failure::Refused("nothing was recorded".into()))?;
    Ok(concluded.done(wanted, &folder))
}

/// Judge one scene from its recording; nothing of one that was left before its first tick.
fn judge(
    part: &Part,
    index: usize,
    (rehearsals, input): (&Rehearsals, Option<&InputReport>),
    bare_us_p99: Option<f64>,
) -> Result<Option<Concluded>, Failure> {
    let path = part.folder.join(RECORDING);
    let recording = match record::read(&path) {
        Ok(recording) => recording,
        Err(record::RecordError::NoTicks { .. }) => return Ok(None),
        Err(error) => return Err(Failure::Refused(error.to_string())),
    };
    let config = &part.config;
    let servo = &part.servo;
    if let Some(surface) = &part.lying.surface {
        rehearse::write_surface(surface, &part.folder)?;
    }
    let facts = SessionFacts {
        command: "rehearse".into(),
        seed: Some(config.seed),
        trace_hash: part.lying.trace_hash.clone(),
        mode: config.modes(),
        sides: vec![Side::Master],
        networked: false,
        ending: Ending::Complete,
        missed_ticks: Some(servo.missed),
        records_lost: Some(servo.records_lost),
        period: PERIOD,
        twin: truth::twin(config, &[])?,
        stills: operated(part).into_iter().collect(),
        attempts: match index {
            0 => rehearsals.known.attempts.clone(),
            _ => Attempts::default(),
        },
        links_cut: Some(recording.links_cut()),
        strokes_recorded: Some(recording.strokes.len() as u64),
        live: Some(LiveFacts {
            late_causes: servo.late_causes.clone(),
            allocations: Some(servo.allocations),
            bare_timer_us_p99: bare_us_p99,
            ran_to_end: vec![("master", true)],
        }),
        ..SessionFacts::default()
    };
    let mut remarks = remarks(part, index, rehearsals);
    remarks.extend(input.map(InputReport::words));
    let evidence = Evidence {
        config,
        master: &recording.master,
        slave: &[],
        judged: None,
        facts: &facts,
        comparison: None,
        remarks: &remarks,
    };
    conclude::conclude(&evidence, &part.folder).map(Some)
}

/// The tissue as instruments left it; none if none worked.
fn operated(part: &Part) -> Option<Still> {
    let operated = part.lying.operated.as_ref()?;
    let scene = crate::lab::load_scene(&part.config.twin, "twin").ok()?;
    let specimen = Specimen::of(&scene).ok()??;
    let caption = format!(
        "The tissue as it lay at the end, with the {} where it worked last, at {:.1} s. Tissue has the colours of the \
         scene; what cuts or joins is amber, and seen through it.",
        operated.held.name(),
        operated.at_s,
    );
    operated.still(&Palette::of(specimen.colours()), caption)
}

/// What a reader should know of a scene, with how attempts went on in the first.
fn remarks(part: &Part, index: usize, rehearsals: &Rehearsals) -> Vec<String> {
    let servo = &part.servo;
    let passed = servo.ticks + servo.missed;
    let mut remarks = vec![format!(
        "No slave and no network: the hand felt the twin at once, at {:.1} % of the clock's pace.",
        100.0 * servo.ticks as f64 / passed.max(1) as f64
    )];
    remarks.push(rehearse::SURFACE.into());
    remarks.extend(servo.granted.refusals.iter().cloned());
    if index > 0 {
        return remarks;
    }
    let others = rehearsals.parts.iter().skip(1);
    let others: Vec<String> = others.map(|part| shown(&part.folder)).collect();
    if !others.is_empty() {
        remarks.push(format!(
            "Other scenes of this rehearsal: {}.",
            others.join(", ")
        ));
    }
    let known = &rehearsals.known;
    remarks.push(format!("Attempts made now: {}.", rehearsals.made));
    remarks.extend(known.problem.clone());
    remarks
}

fn shown(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::Config(error) => error.into(),
        error => Failure::Refused(error.to_string()),
    }
}
