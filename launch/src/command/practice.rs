//! `palpate rehearse` with a page: a person practises on the twin by the clock, and every scene is judged as a session.
//!
//! Source: ours.

use std::io::IsTerminal as _;
use std::sync::Arc;

use palpate_analysis::{Failure, output};
use palpate_console::rehearsal::desk::RehearsalDesk;
use palpate_console::rehearsal::judged::judge;
use palpate_console::rehearsal::live::{self, LiveOptions};
use palpate_console::rehearsal::{attempts, solo};
use palpate_console::serve;
use palpate_master::device::HandleKind;
use palpate_session::input::Pilot;
use palpate_session::lab;
use palpate_session::monitor::desk::{SessionDesk, Sides};
use palpate_session::run::bare_timer::BareTimer;
use palpate_session::run::hand;

use super::{Done, interrupt};
use crate::cli::RehearseArgs;
use crate::progress::{Progress as _, Terminal};

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
    lab::load_scene(&config.twin, "twin")?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), &config.name)?;
    let stop = interrupt::on_ctrl_c()?;
    let side = SessionDesk::new(&config, Sides::OperatorOnly, &stop);
    let (desk, wished) = RehearsalDesk::new(Arc::clone(&side));
    // no page for a device that is not there
    let mut pilot = hand::pilot(&config, &side)?;
    let served = serve::serve(&arguments.page.serving(), &config, side.board(), desk)?;
    let options = LiveOptions {
        folder: folder.clone(),
        attempts: arguments.attempts.clone().or_else(attempts::of_user),
        stop: Arc::clone(&stop),
    };
    let progress = Terminal::line("rehearse", wanted.quiet || wanted.json);
    let bare_timer = BareTimer::start(config.realtime.servo_priority);
    let rehearsals = live::rehearse(&config, &options, &side, &wished, pilot.as_mut());
    let input = pilot.map(Pilot::land);
    let bare_us_p99 = bare_timer.finish().map(|lateness| lateness.us_p99);
    let rehearsals = rehearsals?;
    drop(wished);
    if let Some(console) = &served {
        serve::keep(console, &folder)?;
    }
    progress.say("judging");
    let mut first = None;
    for (index, part) in rehearsals.parts.iter().enumerate() {
        let concluded = judge(part, index, &rehearsals, input.as_ref(), bare_us_p99)?;
        if concluded.is_none() && index == 0 {
            return Err(Failure::Refused("nothing was recorded".into()));
        }
        first = first.or(concluded);
    }
    drop(progress);
    let concluded = first.ok_or_else(|| Failure::Refused("nothing was recorded".into()))?;
    Ok(Done::of(concluded, wanted, &folder))
}
