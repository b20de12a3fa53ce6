//! `palpate run`, `palpate master`, `palpate slave`: sessions in real time.
//!
//! Source: ours. [`palpate_analysis::live`] runs and judges them.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};

use palpate_analysis::live::SideLink;
use palpate_analysis::{Failure, live, output, realtime_check};
use palpate_console::Console;
use palpate_console::serve::{self, NO_FOXGLOVE};
use palpate_session::config::Config;
use palpate_session::input;
use palpate_session::keys::SessionKeys;
use palpate_session::lab::VirtualSession;
use palpate_session::monitor::controller::{SessionController, SessionSides};
use palpate_session::monitor::ipc;
use palpate_session::netlab::{self, Backend};
use palpate_session::run::{RunOptions, SideOptions, run_side};
use palpate_transport::Span;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;

use super::{CommandOutcome, interrupt};
use crate::cli::{RunArgs, SideArgs};
use crate::message::shortened;
use crate::progress::TerminalProgress;

/// Runs both sides on this machine, with an impaired network between them.
///
/// # Errors
/// [`Failure`] if the configuration cannot be used, or the machine refuses a requirement of the session.
pub(super) fn run(arguments: &RunArgs) -> Result<CommandOutcome, Failure> {
    let config = arguments.session.config()?;
    if config.network.backend != Backend::Loopback {
        netlab::enter_user_namespace();
    }
    let wanted = &arguments.output;
    VirtualSession::new(&config)?;
    realtime_check::check(&config, &[Side::Master, Side::Slave])?;
    check_input_device(&config)?;
    serve::check(&config, !arguments.console.no_console)?;
    let folder = output::folder(wanted.chosen(), &config.name, output::SESSION)?;
    let stop = interrupt::on_ctrl_c()?;
    let controller = SessionController::new(&config, SessionSides::Both, &stop);
    controller
        .latest_state()
        .announce_security(!arguments.insecure);
    let console = serve::serve(
        &arguments.console.serve_options(),
        &config,
        controller.latest_state(),
        Arc::clone(&controller) as _,
    )?;
    let options = RunOptions {
        out: folder.clone(),
        controller: console.is_some().then_some(controller),
        insecure: arguments.insecure,
        stop,
    };
    let progress = TerminalProgress::status_line("run", wanted.is_silent());
    let (concluded, warning) = live::run_session(&config, &options, &progress, true)?;
    drop(progress);
    if let Some(console) = &console {
        serve::write_log(console, &folder)?;
    }
    Ok(CommandOutcome {
        warning,
        ..CommandOutcome::from_session(&concluded, wanted, &folder)?
    })
}

/// Checks that the input device for the handle can be read; the side that it drives opens it again.
///
/// # Errors
/// [`Failure::Refused`] with a remedy.
fn check_input_device(config: &Config) -> Result<(), Failure> {
    let device = config.operator.device.as_deref();
    let opened = device.map(input::discovery::open).transpose();
    opened
        .map(drop)
        .map_err(|error| Failure::Refused(error.to_string()))
}

/// Runs one side alone.
///
/// # Errors
/// As [`run`].
pub(super) fn side(arguments: &SideArgs, side: Side) -> Result<CommandOutcome, Failure> {
    let config = arguments.session.config()?;
    let keys = arguments.security.keys()?;
    let link = side_link(arguments, keys.as_ref());
    let session = live::bus_config(&link, &config, side)?;
    if side == Side::Slave && arguments.ask_handover.is_some() {
        return Err(Failure::Usage(ONLY_MASTERS_ASK.into()));
    }
    let wanted = &arguments.output;
    if !arguments.status_lines {
        // a supervisor has checked already
        realtime_check::check(&config, &[side])?;
    }
    serve::check(
        &config,
        !arguments.console.no_console || side == Side::Slave,
    )?;
    let folder = output::folder(wanted.chosen(), side.name(), output::SESSION)?;
    let force_handover = match side {
        Side::Slave => interrupt::on_user_signal()?,
        Side::Master => Arc::default(),
    };
    let stop = interrupt::on_ctrl_c()?;
    let (console, link) = side_console(arguments, side, &config, &stop)?;
    let ticks = (config.duration_s / PERIOD.s()).round() as u64;
    let options = SideOptions {
        side,
        out: folder.clone(),
        session,
        keys,
        ticks_max: (!arguments.until_stopped).then_some(ticks),
        status_lines: arguments.status_lines,
        console: link,
        handover_wait: arguments.ask_handover.map(Span::from_s),
        force_handover,
        notices: Some(print_notices()),
        stop: Arc::clone(&stop),
    };
    let Some(report) = run_side(&config, &options)? else {
        return Ok(CommandOutcome {
            warning: Some("interrupted before the other side was found".into()),
            ..CommandOutcome::unchecked(String::new())
        });
    };
    // the codec that both sides agreed on is the one that ran
    let config = Config {
        codec: report.codec,
        ..config
    };
    if arguments.status_lines {
        return Ok(CommandOutcome::unchecked(String::new()));
    }
    output::write(&folder.join("config.toml"), config.to_toml())?;
    if let Some(console) = &console {
        console.latest_state().announce_end(&folder);
        serve::write_log(console, &folder)?;
    }
    let concluded = live::judge_side(&config, side, &report, &folder)?;
    let revoked = report.revoked.as_ref();
    let revoked =
        revoked.map(|name| format!("the session was closed: the key of {name} was revoked"));
    let lost = report.handovers.first().filter(|_| side == Side::Master);
    let lost = lost.map(live::handover_words);
    Ok(CommandOutcome {
        warning: revoked.or(lost).or_else(|| report.codec_note.clone()),
        ..CommandOutcome::from_session(&concluded, wanted, &folder)?
    })
}

/// Refusal of a request that only a master can make.
const ONLY_MASTERS_ASK: &str =
    "--ask-handover: the slave owns no robot but its own; expected it of `palpate master`";

/// Starts a thread that prints notices of a running side on stderr.
fn print_notices() -> Sender<String> {
    let (sender, notices) = channel::<String>();
    std::thread::spawn(move || {
        for notice in notices {
            let _ = writeln!(std::io::stderr(), "palpate: {}", shortened(&notice));
        }
    });
    sender
}

/// Endpoints and keys of a side.
fn side_link<'a>(arguments: &'a SideArgs, keys: Option<&'a SessionKeys>) -> SideLink<'a> {
    SideLink {
        connect: &arguments.connect,
        listen: &arguments.listen,
        keys,
        insecure: arguments.security.insecure,
    }
}

/// Console of a side that runs alone, if any, and that side's end of the ipc link to it or to its
/// supervisor's.
///
/// # Errors
/// As [`serve::serve()`]; [`Failure::Refused`] if the system cannot give a socket.
fn side_console(
    arguments: &SideArgs,
    side: Side,
    config: &Config,
    stop: &Arc<AtomicBool>,
) -> Result<(Option<Console>, Option<Arc<UnixStream>>), Failure> {
    let refused = |error| Failure::Refused(format!("the link to the console: {error}"));
    if arguments.console_on_stdin {
        let link = ipc::inherited_link().map_err(refused)?;
        return Ok((None, Some(Arc::new(link))));
    }
    if side == Side::Slave || arguments.status_lines {
        return match arguments.console.foxglove.foxglove {
            Some(_) => Err(Failure::Usage(NO_FOXGLOVE.into())),
            None => Ok((None, None)),
        };
    }
    let controller = SessionController::new(config, SessionSides::RemoteElsewhere, stop);
    controller
        .latest_state()
        .announce_security(arguments.security.secure.is_some());
    let Some(console) = serve::serve(
        &arguments.console.serve_options(),
        config,
        controller.latest_state(),
        Arc::clone(&controller) as _,
    )?
    else {
        return Ok((None, None));
    };
    let (near, far) = UnixStream::pair().map_err(refused)?;
    controller.attach(side, near).map_err(refused)?;
    Ok((Some(console), Some(Arc::new(far))))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use palpate_bus::ConnectionRole;

    use super::*;
    use crate::cli::{Cli, CliCommand};

    fn arguments(flags: &[&str]) -> SideArgs {
        let all = ["palpate", "master"].iter().chain(flags);
        match Cli::try_parse_from(all).expect("good flags").into_command() {
            CliCommand::Master(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    fn session(
        arguments: &SideArgs,
        config: &Config,
        side: Side,
    ) -> Result<palpate_bus::BusConfig, Failure> {
        live::bus_config(&side_link(arguments, None), config, side)
    }

    #[test]
    fn exactly_one_side_connects_by_default() {
        let config = Config::default();
        let of = |side| session(&arguments(&[]), &config, side).expect("defaults");
        let (master, slave) = (of(Side::Master), of(Side::Slave));
        assert_eq!(
            (master.role, slave.role),
            (ConnectionRole::Dial, ConnectionRole::Listen)
        );
        assert_eq!((master.udp, master.tcp), (slave.udp, slave.tcp));
    }

    #[test]
    fn endpoints_are_accepted_in_one_or_two_flags() {
        let config = Config::default();
        let one = arguments(&["--insecure", "--connect", "tcp/192.0.2.7:5,udp/192.0.2.7:4"]);
        let two = arguments(&[
            "--insecure",
            "--connect",
            "udp/192.0.2.7:4",
            "--connect",
            "tcp/192.0.2.7:5",
        ]);
        for flags in [one, two] {
            let session = session(&flags, &config, Side::Master).expect("good endpoints");
            assert_eq!(
                (&*session.udp, &*session.tcp),
                ("udp/192.0.2.7:4", "tcp/192.0.2.7:5")
            );
        }
        let listening = arguments(&["--insecure", "--listen", "tcp/192.0.2.7:5,udp/192.0.2.7:4"]);
        let session_of = session(&listening, &config, Side::Master).expect("good endpoints");
        assert_eq!(
            (session_of.role, session_of.side, &*session_of.node),
            (ConnectionRole::Listen, Side::Master, "master")
        );
        let open = arguments(&["--listen", "udp/0.0.0.0:7447,tcp/0.0.0.0:7448"]);
        let error = session(&open, &config, Side::Slave).expect_err("no keys");
        assert_eq!(error.exit_code(), 2);
        let error = error.to_string();
        for part in [
            "--listen udp/0.0.0.0:7447",
            "palpate keys new",
            "palpate keys trust",
            "--insecure",
        ] {
            assert!(error.contains(part), "{error}");
        }
        for here in ["127.0.0.3", "localhost", "[::1]"] {
            let flags = format!("udp/{here}:7447,tcp/{here}:7448");
            assert!(session(&arguments(&["--listen", &flags]), &config, Side::Slave).is_ok());
        }
        let bad = arguments(&["--connect", "192.0.2.7"]);
        let error = session(&bad, &config, Side::Master)
            .expect_err("no scheme")
            .to_string();
        assert!(error.contains("--connect 192.0.2.7") && error.contains("udp/HOST:PORT"));
    }
}
