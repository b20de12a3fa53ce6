//! The console of a live session: opened, said where, and what was asked of it kept.
//!
//! A session does not fail for want of a page: without one it says why and runs. Source: ours.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use palpate_analysis::{Failure, output};
use palpate_master::device::HandleKind;
use palpate_session::config::Config;
use palpate_session::monitor::desk::SessionDesk;
use palpate_session::monitor::{Board, Desk};

use crate::server::PORT;
use crate::{Console, ConsoleOptions};

/// File of a run that keeps what was asked for at its console.
const LOG: &str = "console.json";

/// Why there is nothing for viewers of Foxglove's protocol.
pub const NO_FOXGLOVE: &str = "--foxglove shows what a console shows, and this process has none; expected it of `run`, \
                           `master`, `rehearse --console` or `replay --console`, without --no-console";

/// Whether and where a page is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Serving {
    /// No page is served.
    pub none: bool,
    /// Port of the page on 127.0.0.1; the next free one after the usual if none is named.
    pub port: Option<u16>,
    /// Port for viewers of Foxglove's protocol; none are served without.
    pub foxglove: Option<u16>,
}

/// Refuses a session that only a page could lead, if there is to be none.
///
/// # Errors
/// [`Failure::Usage`] naming the flag and the field.
pub fn check(config: &Config, served: bool) -> Result<(), Failure> {
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
pub fn unserved(serving: &Serving, who: &str) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::Usage(text));
    if let Some(port) = serving.port {
        return usage(format!(
            "--console-port {port}: {who} serves no console; expected no port"
        ));
    }
    if serving.foxglove.is_some() {
        return usage(format!("{who}: {NO_FOXGLOVE}"));
    }
    Ok(())
}

/// Serve a session, and say where on stderr.
///
/// # Errors
/// [`Failure::Refused`] only of a session that needs its page.
pub fn open(
    serving: &Serving,
    config: &Config,
    desk: &Arc<SessionDesk>,
) -> Result<Option<Console>, Failure> {
    serve(serving, config, desk.board(), Arc::clone(desk) as _)
}

/// Serve what a board shows to a desk of any kind, and say where on stderr.
///
/// # Errors
/// As [`open`].
pub fn serve(
    serving: &Serving,
    config: &Config,
    board: &Arc<Board>,
    desk: Arc<dyn Desk>,
) -> Result<Option<Console>, Failure> {
    if serving.none {
        return match serving.foxglove {
            Some(_) => Err(Failure::Usage(NO_FOXGLOVE.into())),
            None => Ok(None),
        };
    }
    let options = ConsoleOptions {
        port: serving.port.unwrap_or(PORT),
        ..ConsoleOptions::default()
    };
    let opened = Console::open(&options, Arc::clone(board), desk);
    match opened {
        Ok(mut console) => {
            let beside = serving
                .port
                .filter(|wanted| *wanted != 0 && *wanted != console.port());
            let taken = beside.map_or(String::new(), |port| format!(" (port {port} is taken)"));
            say(&format!("console: {}{taken}", console.url()));
            foxglove(&mut console, serving.foxglove)?;
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
pub fn foxglove(console: &mut Console, port: Option<u16>) -> Result<(), Failure> {
    let Some(port) = port else {
        return Ok(());
    };
    let served = console.serve_foxglove(port);
    let port = served.map_err(|error| Failure::Refused(error.to_string()))?;
    say(&format!("foxglove: ws://127.0.0.1:{port}"));
    Ok(())
}

/// Keep what was asked for, if anything was.
///
/// # Errors
/// As [`output::write`].
pub fn keep(console: &Console, folder: &Path) -> Result<(), Failure> {
    let log = console.log();
    if log.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&log).unwrap_or_default();
    output::write(&folder.join(LOG), &(text + "\n"))
}

/// Says something on stderr.
pub fn say(text: &str) {
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
