//! `palpate rehearse` with a page: a person practises on the twin in real time, and every scene is judged as a
//! session.
//!
//! Source: ours.

use std::io::IsTerminal as _;
use std::sync::Arc;

use palpate_analysis::{Failure, output};
use palpate_console::rehearsal::controller::RehearsalController;
use palpate_console::rehearsal::live::{self, LiveRehearsalOptions};
use palpate_console::rehearsal::verdict::judge;
use palpate_console::rehearsal::{attempts, solo};
use palpate_console::serve;
use palpate_master::device::HandleKind;
use palpate_session::input::InputThread;
use palpate_session::lab;
use palpate_session::monitor::controller::{SessionController, SessionSides};
use palpate_session::run::bare_timer::BareTimer;
use palpate_session::run::handle_source;
use palpate_transport::clock::{Clock as _, MonotonicClock};

use super::{CommandOutcome, interrupt};
use crate::cli::RehearseArgs;
use crate::progress::{Progress as _, TerminalProgress};

/// Default length of a rehearsal \[s\].
const DURATION_S: f64 = 600.0;

/// True if a person is to rehearse: by request, or without other requests on a terminal, which shows the page's
/// address.
pub(super) fn wanted(arguments: &RehearseArgs) -> bool {
    let scripted = arguments.script.is_some() || arguments.page.no_console;
    let plain = !scripted && !arguments.no_recording && !arguments.output.json;
    let terminal = || std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let device_requested = arguments.operator.is_some() || arguments.device.is_some();
    arguments.console || device_requested || (plain && terminal())
}

/// Rehearses with a person, writes the folders, and returns the outcome.
///
/// # Errors
/// [`Failure::Usage`] for a scene, configuration or folder that cannot be used, [`Failure::Refused`] for a page that
/// cannot be served or a file that cannot be written.
pub(super) fn rehearse_live(arguments: &RehearseArgs) -> Result<CommandOutcome, Failure> {
    let mut config = arguments.session().config()?;
    config.operator.handle = HandleKind::Pointer;
    if arguments.duration.is_none() && arguments.config.is_none() {
        config.duration_s = DURATION_S;
    }
    solo::make_solo(&mut config);
    config.validate()?;
    // no page for a scene that cannot be loaded
    lab::load_scene(&config.twin, "twin")?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.chosen(), &config.name, output::SESSION)?;
    let stop = interrupt::on_ctrl_c()?;
    let side = SessionController::new(&config, SessionSides::OperatorOnly, &stop);
    let (controller, requests) = RehearsalController::new(Arc::clone(&side));
    // no page for a device that cannot be opened
    let device = handle_source::open_device(&config)?;
    let mut input = device
        .map(|device| handle_source::start_input_for(device, &side))
        .transpose()?;
    let served = serve::serve(
        &arguments.page.serve_options(),
        &config,
        side.latest_state(),
        controller,
    )?;
    let options = LiveRehearsalOptions {
        folder: folder.clone(),
        attempts: arguments.attempts.clone().or_else(attempts::user_path),
        stop: Arc::clone(&stop),
    };
    let progress = TerminalProgress::status_line("rehearse", wanted.is_silent());
    let bare_timer = BareTimer::start(config.realtime.servo_priority, MonotonicClock.now());
    let rehearsals = live::rehearse(&config, &options, &side, &requests, input.as_mut());
    let input_report = input.map(InputThread::stop);
    let bare_us_p99 = bare_timer.finish().map(|lateness| lateness.us_p99);
    let rehearsals = rehearsals?;
    drop(requests);
    if let Some(console) = &served {
        serve::write_log(console, &folder)?;
    }
    progress.set_status("judging");
    let mut first = None;
    for (index, part) in rehearsals.scenes.iter().enumerate() {
        let concluded = judge(part, index, &rehearsals, input_report.as_ref(), bare_us_p99)?;
        if concluded.is_none() && index == 0 {
            return Err(Failure::Refused("nothing was recorded".into()));
        }
        first = first.or(concluded);
    }
    drop(progress);
    let concluded = first.ok_or_else(|| Failure::Refused("nothing was recorded".into()))?;
    CommandOutcome::from_session(&concluded, wanted, &folder)
}
