//! `palpate replay --console`: recordings on the console's page.
//!
//! Source: ours. Here are files, words and the end; [`palpate_console::playback`] is the desk.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use palpate_analysis::Failure;
use palpate_console::playback::PlaybackDesk;
use palpate_console::playback::reel::Reel;
use palpate_console::playback::shelf::Shelf;
use palpate_console::server::PORT;
use palpate_console::{Console, ConsoleOptions, serve};

use super::{Done, interrupt, replay};
use crate::cli::ReplayArgs;
use crate::progress::{Progress as _, Terminal};

/// How often Ctrl-C and the page's own end are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Serve recordings until Ctrl-C or the page's end.
///
/// # Errors
/// [`Failure::Usage`] for a file that is no recording or a folder without any, [`Failure::Refused`] if the machine
/// has no port for the page.
pub fn playback(arguments: &ReplayArgs) -> Result<Done, Failure> {
    let quiet = arguments.output.quiet;
    let progress = Terminal::line("replay", quiet);
    progress.say("reading");
    let (first, shelf) = of(&arguments.recording)?;
    let second = arguments
        .beside
        .as_deref()
        .map(|path| open(&replay::inside(path)));
    let second = second.transpose()?;
    if second.is_some() && first.is_none() {
        return Err(no_run(&arguments.recording));
    }
    drop(progress);
    let stop = interrupt::on_ctrl_c()?;
    let refused = |error: &dyn std::fmt::Display| Failure::Refused(format!("no console: {error}"));
    let desk =
        PlaybackDesk::open([first, second], shelf, &stop).map_err(|error| refused(&error))?;
    let options = ConsoleOptions {
        port: arguments.console_port.unwrap_or(PORT),
        ..ConsoleOptions::default()
    };
    let opened = Console::open(&options, Arc::clone(desk.board()), Arc::clone(&desk) as _);
    let mut console = opened.map_err(|error| refused(&error))?;
    serve::say(&format!("console: {}", console.url()));
    serve::foxglove(&mut console, arguments.foxglove.foxglove)?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    Ok(Done {
        held: true,
        ..Done::default()
    })
}

/// The recording that is named, and what else lies in its folder.
fn of(path: &Path) -> Result<(Option<Arc<Reel>>, Shelf), Failure> {
    let file = replay::inside(path);
    if path.is_dir() && !file.exists() {
        let shelf = Shelf::of(Some(path.to_owned()));
        if shelf.listed().is_empty() {
            return Err(no_run(path));
        }
        return Ok((None, shelf));
    }
    Ok((Some(open(&file)?), Shelf::of(None)))
}

fn no_run(path: &Path) -> Failure {
    Failure::Usage(format!(
        "{}: a folder without a recording; expected the folder of a run, or, for the first and alone, one with \
         .mcap files below it",
        path.display()
    ))
}

fn open(path: &Path) -> Result<Arc<Reel>, Failure> {
    Reel::open(path, &called(path)).map_err(|error| Failure::Usage(error.to_string()))
}

/// What a page calls a recording: the folder of its run, or its own name.
fn called(path: &Path) -> String {
    let name = path.file_name().map(PathBuf::from);
    let of_run = name.as_deref() == Some(Path::new(palpate_session::run::side::RECORDING));
    let named = match path.parent().and_then(Path::file_name) {
        Some(folder) if of_run => Some(PathBuf::from(folder)),
        _ => name,
    };
    named.map_or_else(|| "recording".into(), |name| name.display().to_string())
}
