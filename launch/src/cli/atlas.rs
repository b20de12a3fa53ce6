//! Flags of `palpate atlas`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::session_flags::seed;

/// Extent of the atlas, and output.
#[derive(Debug, Clone, Args)]
pub struct AtlasArgs {
    /// Find a seventh of the points, for a first look
    #[arg(long)]
    pub sketch: bool,
    /// File (TOML) with lists that replace the default axes: charts, oneway_ms, jitter_ms, b_nspm, wall_npm,
    /// slave_npm, grip; seed. The plant stays RP-1
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one of the fields of --config, after it, to a value or a list; repeatable
    #[arg(long, value_name = "FIELD=VALUE", action = clap::ArgAction::Append)]
    pub set: Vec<String>,
    /// Seed of random delays in sessions with jitter [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Threads that find points [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
}
