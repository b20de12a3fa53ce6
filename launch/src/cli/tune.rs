//! Flags of `palpate tune`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::session_flags::{number, within};
use super::{OutputArgs, SecurityArgs, SessionArgs};

/// Link, and tissue to be felt through it.
#[derive(Debug, Clone, Args)]
pub struct TuneArgs {
    /// The configuration that will run: its twin, the robot's coupling, and for --connect the terms of both sides.
    /// --rtt-ms, or --oneway-ms-fwd with --oneway-ms-back, and --jitter-ms and --loss give the link instead of
    /// a measurement.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Endpoints of a running slave, zenoh style: the UDP one, then the TCP or TLS one; nobody holds the handle
    /// meanwhile, so it stands still [default: the bus on this machine]
    #[arg(long, value_name = "ENDPOINT", value_delimiter = ',')]
    pub connect: Vec<String>,
    /// Keys of the running slave's session.
    #[command(flatten)]
    pub security: SecurityArgs,
    /// Length of the measurement of a running slave, in seconds; `--duration` sets it as well [default: 5]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Stiffness of the tissue to be felt, in N/m
    #[arg(long, value_name = "K", default_value_t = 300.0, value_parser = within(1.0, 1e5, "1 to 100000 N/m"),
        allow_negative_numbers = true)]
    pub stiffness: f64,
    /// Propose for a session without a twin
    #[arg(long)]
    pub no_twin: bool,
    /// Atlas to choose from: the folder of `palpate atlas`, or its atlas.csv [default: one is found for
    /// this link and stored beside tune.json]
    #[arg(long, value_name = "PATH")]
    pub atlas: Option<PathBuf>,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl TuneArgs {
    /// Length of the measurement of a running slave \[s\].
    ///
    /// # Errors
    /// The fault of `--duration`, if that sets it.
    pub(crate) fn listening_s(&self) -> Result<f64, String> {
        match (self.seconds, self.session.duration) {
            (Some(s), _) => Ok(s),
            (None, Some(s)) => {
                seconds(&s.to_string()).map_err(|what| format!("--duration: {what}"))
            }
            (None, None) => Ok(5.0),
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    number(text, 1.0, 600.0, "1 to 600 s")
}
