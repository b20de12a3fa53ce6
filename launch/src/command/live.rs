//! `palpate run`, `palpate master`, `palpate slave`: sessions in real time.
//!
//! Source: ours. [`palpate_analysis::live`] runs and judges them.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use palpate_analysis::{Failure, live, output, pace};
use palpate_bus::SessionConfig;
use palpate_console::Console;
use palpate_console::serve::{self, NO_FOXGLOVE};
use palpate_session::config::Config;
use palpate_session::input;
use palpate_session::lab::Session;
use palpate_session::monitor::desk::{SessionDesk, Sides};
use palpate_session::monitor::line;
use palpate_session::run::{RunOptions, SideOptions, run_side};
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::Side;

use super::{Done, interrupt};
use crate::cli::{RunArgs, SideArgs};
use crate::progress::Terminal;

/// Run both sides on this machine, with an impaired network between them.
///
/// # Errors
/// [`Failure`] if the configuration cannot be used, or the machine refuses what a session needs.
pub fn run(arguments: &RunArgs) -> Result<Done, Failure> {
    let config = arguments.session.config()?;
    let wanted = &arguments.output;
    Session::new(&config)?;
    pace::check(&config, &[Side::Master, Side::Slave])?;
    led(&config)?;
    serve::check(&config, !arguments.console.no_console)?;
    let folder = output::folder(wanted.out.as_deref(), &config.name)?;
    let stop = interrupt::on_ctrl_c()?;
    let desk = SessionDesk::new(&config, Sides::Both, &stop);
    let console = serve::open(&arguments.console.serving(), &config, &desk)?;
    let options = RunOptions {
        out: folder.clone(),
        desk: console.is_some().then_some(desk),
        stop,
    };
    let progress = Terminal::line("run", wanted.quiet || wanted.json);
    let (concluded, warning) = live::whole(&config, &options, &progress, true)?;
    drop(progress);
    if let Some(console) = &console {
        serve::keep(console, &folder)?;
    }
    Ok(Done {
        warning,
        ..Done::of(concluded, wanted, &folder)
    })
}

/// Whether the device that is to lead the handle can be read; it is opened again by the side that it leads.
///
/// # Errors
/// [`Failure::Refused`] with what would help.
fn led(config: &Config) -> Result<(), Failure> {
    let device = config.operator.device.as_deref();
    let opened = device.map(input::found::open).transpose();
    opened
        .map(drop)
        .map_err(|error| Failure::Refused(error.to_string()))
}

/// Run the operator's side alone.
///
/// # Errors
/// As [`run`].
pub fn master(arguments: &SideArgs) -> Result<Done, Failure> {
    side(arguments, Side::Master)
}

/// Run the remote side alone.
///
/// # Errors
/// As [`run`].
pub fn slave(arguments: &SideArgs) -> Result<Done, Failure> {
    side(arguments, Side::Slave)
}

fn side(arguments: &SideArgs, side: Side) -> Result<Done, Failure> {
    let config = arguments.session.config()?;
    let wanted = &arguments.output;
    if !arguments.status_lines {
        // a supervisor has looked already
        pace::check(&config, &[side])?;
    }
    serve::check(
        &config,
        !arguments.console.no_console || side == Side::Slave,
    )?;
    let folder = output::folder(wanted.out.as_deref(), side.name())?;
    let stop = interrupt::on_ctrl_c()?;
    let (console, line) = of_side(arguments, side, &config, &stop)?;
    let ticks = (config.duration_s / PERIOD.s()).round() as u64;
    let options = SideOptions {
        side,
        out: folder.clone(),
        session: session(arguments, &config, side)?,
        ticks_max: (!arguments.until_stopped).then_some(ticks),
        status_lines: arguments.status_lines,
        console: line,
        stop: Arc::clone(&stop),
    };
    let report = run_side(&config, &options)?;
    // what both sides agreed on is what ran
    let config = Config {
        codec: report.codec,
        ..config
    };
    if arguments.status_lines {
        return Ok(Done {
            held: true,
            ..Done::default()
        });
    }
    output::write(&folder.join("config.toml"), &config.to_toml())?;
    if let Some(console) = &console {
        console.board().ends(&folder);
        serve::keep(console, &folder)?;
    }
    let concluded = live::alone(&config, side, &report, &folder)?;
    Ok(Done {
        warning: report.codec_note.clone(),
        ..Done::of(concluded, wanted, &folder)
    })
}

fn session(arguments: &SideArgs, config: &Config, side: Side) -> Result<SessionConfig, Failure> {
    live::session_at(&arguments.connect, &arguments.listen, config, side)
}

/// The console of a side that runs by itself, if it has one, and that side's end of the line to it or to its
/// supervisor's.
///
/// # Errors
/// As [`serve::open`]; [`Failure::Refused`] if the system has no sockets.
fn of_side(
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
    let Some(console) = serve::open(&arguments.console.serving(), config, &desk)? else {
        return Ok((None, None));
    };
    let (near, far) = line::pair().map_err(refused)?;
    desk.attach(side, near).map_err(refused)?;
    Ok((Some(console), Some(Arc::new(far))))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use palpate_bus::Role;

    use super::*;
    use crate::cli::{Cli, Command};

    fn arguments(flags: &[&str]) -> SideArgs {
        let all = ["palpate", "master"].iter().chain(flags);
        match Cli::try_parse_from(all).expect("good flags").into_command() {
            Command::Master(arguments) => arguments,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn exactly_one_side_dials_by_default() {
        let config = Config::default();
        let of = |side| session(&arguments(&[]), &config, side).expect("defaults");
        let (master, slave) = (of(Side::Master), of(Side::Slave));
        assert_eq!((master.role, slave.role), (Role::Dial, Role::Listen));
        assert_eq!((master.udp, master.tcp), (slave.udp, slave.tcp));
    }

    #[test]
    fn endpoints_may_come_in_one_flag_or_in_two() {
        let config = Config::default();
        let one = arguments(&["--connect", "tcp/192.0.2.7:5,udp/192.0.2.7:4"]);
        let two = arguments(&[
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
        let listening = arguments(&["--listen", "tcp/192.0.2.7:5,udp/192.0.2.7:4"]);
        let session_of = session(&listening, &config, Side::Master).expect("good endpoints");
        assert_eq!(
            (session_of.role, session_of.side, &*session_of.node),
            (Role::Listen, Side::Master, "master")
        );
        let bad = arguments(&["--connect", "192.0.2.7"]);
        let error = session(&bad, &config, Side::Master)
            .expect_err("no scheme")
            .to_string();
        assert!(error.contains("--connect 192.0.2.7") && error.contains("udp/HOST:PORT"));
    }
}
