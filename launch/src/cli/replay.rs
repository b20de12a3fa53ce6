//! Flags of `palpate replay`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

/// A recording, and what is to be different this time.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// Recording: the folder of a run, or a .mcap file
    #[arg(value_name = "REC")]
    pub recording: PathBuf,
    /// Change a field and let the recorded hand do it again in virtual time: a flag of the network (rtt-ms,
    /// oneway-ms-fwd, oneway-ms-back, jitter-ms, loss, burst, dup, reorder, rate-kbps, outage, profile), of coupling, tissue and
    /// operator (mode, impedance, codec, tissue, twin, method, grip), or any path as of --set; repeatable
    #[arg(long, value_name = "FIELD=VALUE", num_args = 1.., action = clap::ArgAction::Append)]
    pub what_if: Vec<String>,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
}
