//! Flags of `palpate replay`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::flags::duration_s;
use super::{FieldArgs, FoxgloveArgs, OutputArgs};

/// A recording, and what is to be different this time.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// Recording: the folder of a run, or a .mcap file; with --console also a folder with runs in it, to choose from
    #[arg(value_name = "REC")]
    pub recording: PathBuf,
    /// With --console: a second recording to be shown beside the first
    #[arg(value_name = "BESIDE", requires = "console")]
    pub beside: Option<PathBuf>,
    /// Serve the console's page on the recording: play it, go to and fro in time, compare two; writes nothing
    #[arg(long, conflicts_with_all = ["what_if", "out", "json", "config", "set", "seed", "duration"])]
    pub console: bool,
    /// Port of the console on 127.0.0.1; the next free one if it is taken [default: 7780]
    #[arg(long, value_name = "PORT", requires = "console")]
    pub console_port: Option<u16>,
    /// Viewers of Foxglove's protocol.
    #[command(flatten)]
    pub foxglove: FoxgloveArgs,
    /// Change a field and let the recorded hand do it again in virtual time: a flag of the network (rtt-ms,
    /// oneway-ms-fwd, oneway-ms-back, jitter-ms, loss, burst, dup, reorder, rate-kbps, outage, profile), of coupling, tissue and
    /// operator (mode, impedance, codec, tissue, twin, method, grip), or any path as of --set; repeatable
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., action = clap::ArgAction::Append)]
    pub what_if: Vec<String>,
    /// Run only the first so many seconds of the recording again [default: all of it]
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = duration_s)]
    pub duration: Option<f64>,
    /// A configuration that the recorded hand meets instead, and fields of it: as `--what-if`, of which `--set` is
    /// another name; the operator stays the recorded one.
    #[command(flatten)]
    pub fields: FieldArgs,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
}
