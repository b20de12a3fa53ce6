//! Flags of `palpate replay`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::session_flags::duration_s;
use super::{ConfigArgs, FoxgloveArgs, OutputArgs};

/// Recording to replay, and changes.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// Recording: the folder of a run, or a .mcap file; with --console also a folder with runs in it, to choose from
    #[arg(value_name = "REC")]
    pub recording: PathBuf,
    /// With --console: a second recording to show beside the first
    #[arg(value_name = "BESIDE", requires = "console")]
    pub beside: Option<PathBuf>,
    /// Serve the console's page on the recording: play, seek, compare two; writes nothing
    #[arg(long, conflicts_with_all = ["what_if", "out", "json", "config", "set", "seed", "duration"])]
    pub console: bool,
    /// Port of the console on 127.0.0.1; the next free one if it is taken [default: 7780]
    #[arg(long, value_name = "PORT", requires = "console")]
    pub console_port: Option<u16>,
    /// Viewers of Foxglove's protocol.
    #[command(flatten)]
    pub foxglove: FoxgloveArgs,
    /// Change a field and let the recorded hand repeat its motion in virtual time: a flag of the network (rtt-ms,
    /// oneway-ms-fwd, oneway-ms-back, jitter-ms, loss, burst, dup, reorder, rate-kbps, outage, profile), of
    /// coupling, tissue and operator (mode, impedance, codec, tissue, twin, method, grip), or any path as for
    /// --set; repeatable
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., action = clap::ArgAction::Append)]
    pub what_if: Vec<String>,
    /// Replay only this number of seconds from the start of the recording [default: all of it]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = duration_s)]
    pub duration: Option<f64>,
    /// Another configuration for the recorded hand, and fields of it: as `--what-if`, of which `--set` is
    /// another name; the operator stays the recorded one.
    #[command(flatten)]
    pub fields: ConfigArgs,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
}
