//! `palpate replay --console`: recordings on the console's page.
//!
//! Source: ours. Files, text and the end are here; [`palpate_console::playback`] executes the page's requests.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use palpate_analysis::{Failure, output};
use palpate_console::playback::PlaybackController;
use palpate_console::playback::recording_library::RecordingLibrary;
use palpate_console::playback::timeline::RecordingTimeline;
use palpate_console::server::PORT;
use palpate_console::{Console, ConsoleOptions, serve};

use super::{CommandOutcome, interrupt};
use crate::cli::ReplayArgs;
use crate::progress::{Progress as _, TerminalProgress};

/// Time between two polls for Ctrl-C and the page's end request.
const POLL_PERIOD: Duration = Duration::from_millis(50);

/// Serves recordings until Ctrl-C or the page's end request.
///
/// # Errors
/// [`Failure::Usage`] for a file that is no recording or a folder without any, [`Failure::Refused`] if the machine
/// has no port for the page.
pub(super) fn playback(arguments: &ReplayArgs) -> Result<CommandOutcome, Failure> {
    let quiet = arguments.output.quiet;
    let progress = TerminalProgress::status_line("replay", quiet);
    progress.set_status("reading");
    let (first, library) = open_path(&arguments.recording)?;
    let second = arguments
        .beside
        .as_deref()
        .map(|path| open_timeline(&output::recording(path)));
    let second = second.transpose()?;
    if second.is_some() && first.is_none() {
        return Err(no_run(&arguments.recording));
    }
    drop(progress);
    let stop = interrupt::on_ctrl_c()?;
    let refused = |error: &dyn std::fmt::Display| Failure::Refused(format!("no console: {error}"));
    let controller = PlaybackController::open([first, second], library, &stop)
        .map_err(|error| refused(&error))?;
    let options = ConsoleOptions {
        port: arguments.console_port.unwrap_or(PORT),
        ..ConsoleOptions::default()
    };
    let opened = Console::open(
        &options,
        Arc::clone(controller.latest_state()),
        Arc::clone(&controller) as _,
    );
    let mut console = opened.map_err(|error| refused(&error))?;
    serve::print_note(&format!("console: {}", console.url()));
    serve::foxglove(&mut console, arguments.foxglove.foxglove)?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(POLL_PERIOD);
    }
    Ok(CommandOutcome::unchecked(String::new()))
}

/// The named recording, and the library of its folder.
fn open_path(path: &Path) -> Result<(Option<Arc<RecordingTimeline>>, RecordingLibrary), Failure> {
    let file = output::recording(path);
    if path.is_dir() && !file.exists() {
        let library = RecordingLibrary::of(Some(path.to_owned()));
        if library.entries.is_empty() {
            return Err(no_run(path));
        }
        return Ok((None, library));
    }
    Ok((Some(open_timeline(&file)?), RecordingLibrary::of(None)))
}

fn no_run(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{}: a folder without a recording; expected the folder of a run, or, for the first and alone, one with \
         .mcap files below it",
        path.display()
    ))
}

fn open_timeline(path: &Path) -> Result<Arc<RecordingTimeline>, Failure> {
    RecordingTimeline::open(path, &display_name(path))
        .map_err(|error| Failure::Usage(error.to_string()))
}

/// Name of a recording on the page: the folder of its run, or its own name.
fn display_name(path: &Path) -> String {
    let name = path.file_name().map(PathBuf::from);
    let of_run = name.as_deref() == Some(Path::new(palpate_session::record::RECORDING));
    let named = match path.parent().and_then(Path::file_name) {
        Some(folder) if of_run => Some(PathBuf::from(folder)),
        _ => name,
    };
    named.map_or_else(|| "recording".into(), |name| name.display().to_string())
}
