//! Console of a live session: its start, the note of its address, and the log of its orders.
//!
//! A session does not fail for lack of a page: without one it prints the reason and runs. Source: ours.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use palpate_analysis::{Failure, output};
use palpate_master::device::HandleKind;
use palpate_session::config::Config;
use palpate_session::monitor::{LatestState, MonitorController};

use crate::server::PORT;
use crate::{Console, ConsoleOptions};

/// File of a run with the orders of its console.
const LOG: &str = "console.json";

/// Message for a process that cannot serve Foxglove's protocol.
pub const NO_FOXGLOVE: &str = "--foxglove shows what a console shows, and this process has none; expected it of `run`, \
                           `master`, `rehearse --console` or `replay --console`, without --no-console";

/// Options of a served page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServeOptions {
    /// No page is served.
    pub disabled: bool,
    /// Port of the page on 127.0.0.1; without one, the first free port from the default on.
    pub port: Option<u16>,
    /// Port for viewers of Foxglove's protocol; none are served without one.
    pub foxglove: Option<u16>,
}

/// Refuses a session that only a page could control, if none is served.
///
/// # Errors
/// [`Failure::Usage`] naming the flag and the field.
pub fn check(config: &Config, served: bool) -> Result<(), Failure> {
    let operator = &config.operator;
    if operator.handle != HandleKind::Pointer || operator.device.is_some() || served {
        return Ok(());
    }
    let text = "operator.handle is pointer, and no page is served; expected phantom or mass, a \
        --device, or `palpate run` with its console";
    Err(Failure::Usage(text.into()))
}

/// Refuses flags of a page for a process that serves none.
///
/// # Errors
/// [`Failure::Usage`] naming the flag and the process.
pub fn refuse_page_flags(serving: &ServeOptions, process: &str) -> Result<(), Failure> {
    let usage = |text: String| Err(Failure::Usage(text));
    if let Some(port) = serving.port {
        return usage(format!(
            "--console-port {port}: {process} serves no console; expected no port"
        ));
    }
    if serving.foxglove.is_some() {
        return usage(format!("{process}: {NO_FOXGLOVE}"));
    }
    Ok(())
}

/// Serves a latest state with a controller, and prints the address on stderr.
///
/// # Errors
/// [`Failure::Refused`] only for a session that needs its page.
pub fn serve(
    serving: &ServeOptions,
    config: &Config,
    state: &Arc<LatestState>,
    controller: Arc<dyn MonitorController>,
) -> Result<Option<Console>, Failure> {
    if serving.disabled {
        return match serving.foxglove {
            Some(_) => Err(Failure::Usage(NO_FOXGLOVE.into())),
            None => Ok(None),
        };
    }
    let options = ConsoleOptions {
        port: serving.port.unwrap_or(PORT),
        ..ConsoleOptions::default()
    };
    let opened = Console::open(&options, Arc::clone(state), controller);
    match opened {
        Ok(mut console) => {
            let requested = serving
                .port
                .filter(|port| *port != 0 && *port != console.port());
            let taken = requested.map_or(String::new(), |port| format!(" (port {port} is taken)"));
            print_note(&format!("console: {}{taken}", console.url()));
            foxglove(&mut console, serving.foxglove)?;
            Ok(Some(console))
        }
        Err(error) if config.operator.handle == HandleKind::Pointer => {
            Err(Failure::Refused(format!("no console: {error}")))
        }
        Err(error) => {
            print_note(&format!("palpate: no console: {error}"));
            Ok(None)
        }
    }
}

/// Serves Foxglove's protocol beside a console if requested, and prints the address on stderr.
///
/// # Errors
/// [`Failure::Refused`] if the port is not free.
pub fn foxglove(console: &mut Console, port: Option<u16>) -> Result<(), Failure> {
    let Some(port) = port else {
        return Ok(());
    };
    let served = console.serve_foxglove(port);
    let address = served.map_err(|error| Failure::Refused(error.to_string()))?;
    print_note(&format!("foxglove: {address}"));
    Ok(())
}

/// Writes the log of orders, if there are any.
///
/// # Errors
/// Errors of [`output::write`].
pub fn write_log(console: &Console, folder: &Path) -> Result<(), Failure> {
    let log = console.log();
    if log.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&log).unwrap_or_default();
    output::write(&folder.join(LOG), &(text + "\n"))
}

/// Prints a note on stderr.
pub fn print_note(text: &str) {
    // a closed terminal is no error
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
