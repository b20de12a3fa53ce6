//! The console of a live session: opened, said where, and what was asked of it kept.
//!
//! A session does not fail for want of a page: without one it says why and runs. Source: ours.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use palpate_master::device::HandleKind;
use palpate_transport::trace::Side;

use super::{Failure, output};
use crate::cli::{ConsoleArgs, FoxgloveArgs, SideArgs};
use crate::config::Config;
use crate::console::server::PORT;
use crate::console::session::{SessionDesk, Sides};
use crate::console::{Board, Console, ConsoleOptions, Desk, line};

/// File of a run that keeps what was asked for at its console.
const LOG: &str = "console.json";

/// Why there is nothing for viewers of Foxglove's protocol.
pub(super) const NO_FOXGLOVE: &str = "--foxglove shows what a console shows, and this process has none; expected it of `run`, \
                           `master`, `rehearse --console` or `replay --console`, without --no-console";

/// Refuses a session that only a page could lead, if there is to be none.
///
/// # Errors
/// [`Failure::Usage`] naming the flag and the field.
pub(super) fn check(config: &Config, served: bool) -> Result<(), Failure> {
    let operator = &config.operator;
    if operator.handle != HandleKind::Pointer || operator.device.is_some() || served {
        return Ok(());
    }
    let text = "operator.handle is pointer, and there is no page to point at; expected phantom or mass, a \
                --device, or `palpate run` with its console";
    Err(Failure::Usage(text.into()))
}

/// Refuses what is said of a page where none is served.
///
/// # Errors
/// [`Failure::Usage`] naming the flag and whose process it is.
pub(super) fn unserved(arguments: &ConsoleArgs, who: &str) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::Usage(text));
    if let Some(port) = arguments.console_port {
        return usage(format!(
            "--console-port {port}: {who} serves no console; expected no port"
        ));
    }
    if arguments.foxglove.foxglove.is_some() {
        return usage(format!("{who}: {NO_FOXGLOVE}"));
    }
    Ok(())
}

/// Serve a session, and say where on stderr.
///
/// # Errors
/// [`Failure::Refused`] only of a session that needs its page.
pub(super) fn open(
    arguments: &ConsoleArgs,
    config: &Config,
    desk: &Arc<SessionDesk>,
) -> Result<Option<Console>, Failure> {
    serve(arguments, config, (desk.board(), Arc::clone(desk) as _))
}

/// Serve what a board shows to a desk of any kind, and say where on stderr.
///
/// # Errors
/// As [`open`].
pub(super) fn serve(
    arguments: &ConsoleArgs,
    config: &Config,
    (board, desk): (&Arc<Board>, Arc<dyn Desk>),
) -> Result<Option<Console>, Failure> {
    if arguments.no_console {
        return match arguments.foxglove.foxglove {
            Some(_) => Err(Failure::Usage(NO_FOXGLOVE.into())),
            None => Ok(None),
        };
    }
    let options = ConsoleOptions {
        port: arguments.console_port.unwrap_or(PORT),
        ..ConsoleOptions::default()
    };
    let opened = Console::open(&options, Arc::clone(board), desk);
    match opened {
        Ok(mut console) => {
            let beside = arguments
                .console_port
                .filter(|wanted| *wanted != 0 && *wanted != console.port());
            let taken = beside.map_or(String::new(), |port| format!(" (port {port} is taken)"));
            say(&format!("console: {}{taken}", console.url()));
            foxglove(&mut console, &arguments.foxglove)?;
            Ok(Some(console))
        }
        Err(error) if config.operator.handle == HandleKind::Pointer => {
            Err(Failure::Refused(format!("no console: {error}")))
        }
        Err(error) => {
            say(&format!("palpate: no console: {error}"));
            Ok(None)
        }
    }
}

/// Serve Foxglove's protocol beside a console if that is asked for, and say where on stderr.
///
/// # Errors
/// [`Failure::Refused`] if the port is not free.
pub(super) fn foxglove(console: &mut Console, wanted: &FoxgloveArgs) -> Result<(), Failure> {
    let Some(port) = wanted.foxglove else {
        return Ok(());
    };
    let served = console.serve_foxglove(port);
    let port = served.map_err(|error| Failure::Refused(error.to_string()))?;
    say(&format!("foxglove: ws://127.0.0.1:{port}"));
    Ok(())
}

/// The console of a side that runs by itself, if it has one, and that side's end of the line to it or to its
/// supervisor's.
///
/// # Errors
/// As [`open`]; [`Failure::Refused`] if the system has no sockets.
pub(super) fn of_side(
    arguments: &SideArgs,
    side: Side,
    config: &Config,
    stop: &Arc<AtomicBool>,
) -> Result<(Option<Console>, Option<Arc<UnixStream>>), Failure> {
    let refused = |error| Failure::Refused(format!("the line to the console: {error}"));
    if arguments.console_on_stdin {
        let line = line::given().map_err(refused)?;
        return Ok((None, Some(Arc::new(line))));
    }
    if side == Side::Slave || arguments.status_lines {
        return match arguments.console.foxglove.foxglove {
            Some(_) => Err(Failure::Usage(NO_FOXGLOVE.into())),
            None => Ok((None, None)),
        };
    }
    let desk = SessionDesk::new(config, Sides::RemoteElsewhere, stop);
    let Some(console) = open(&arguments.console, config, &desk)? else {
        return Ok((None, None));
    };
    let (near, far) = line::pair().map_err(refused)?;
    desk.attach(side, near).map_err(refused)?;
    Ok((Some(console), Some(Arc::new(far))))
}

/// Keep what was asked for, if anything was.
///
/// # Errors
/// As [`output::write`].
pub(super) fn keep(console: &Console, folder: &Path) -> Result<(), Failure> {
    let log = console.log();
    if log.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&log).unwrap_or_default();
    output::write(&folder.join(LOG), &(text + "\n"))
}

pub(super) fn say(text: &str) {
    // a terminal that has gone away wants no more
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_needs_a_page() {
        let mut config = Config::default();
        assert_eq!(check(&config, false), Ok(()));
        config.operator.handle = HandleKind::Pointer;
        assert_eq!(check(&config, true), Ok(()));
        let error = check(&config, false).expect_err("no page").to_string();
        assert!(error.contains("operator.handle is pointer"), "{error}");
    }
}
