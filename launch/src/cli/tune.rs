//! Flags of `palpate tune`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::flags::number;
use super::{OutputArgs, SessionArgs};

/// Which link, and what is to be felt through it.
#[derive(Debug, Clone, Args)]
pub struct TuneArgs {
    /// The configuration that will run: its twin, the robot's coupling, and for --connect what both sides
    /// agree on. --rtt-ms, or --oneway-ms-fwd with --oneway-ms-back, and --jitter-ms and --loss say what the link is instead of
    /// measuring it.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Endpoints of a running slave, zenoh style: the UDP one, then the TCP one; nobody holds the handle
    /// meanwhile, so it stands still [default: the bus on this machine]
    #[arg(long, value_name = "ENDPOINT", value_delimiter = ',')]
    pub connect: Vec<String>,
    /// How long a running slave is listened to, in seconds; `--duration` says it as well [default: 5]
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// Stiffness of the tissue that is to be felt, in N/m
    #[arg(long, value_name = "K", default_value_t = 300.0, value_parser = stiffness,
        allow_negative_numbers = true)]
    pub stiffness: f64,
    /// There is no twin of the tissue
    #[arg(long)]
    pub no_twin: bool,
    /// Atlas to choose from: the folder of `palpate atlas`, or its atlas.csv [default: one is drawn for
    /// this link and kept beside tune.json]
    #[arg(long, value_name = "PATH")]
    pub atlas: Option<PathBuf>,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl TuneArgs {
    /// How long a running slave is listened to \[s\].
    ///
    /// # Errors
    /// What is wrong with `--duration`, if that says it.
    pub fn listens_s(&self) -> Result<f64, String> {
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

fn stiffness(text: &str) -> Result<f64, String> {
    number(text, 1.0, 1e5, "1 to 100000 N/m")
}
