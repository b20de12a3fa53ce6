//! Flags of `palpate atlas`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;
use super::flags::seed;

/// How much is drawn, and where the results go.
#[derive(Debug, Clone, Args)]
pub struct AtlasArgs {
    /// Draw a seventh of the points, for a first look
    #[arg(long)]
    pub sketch: bool,
    /// File (TOML) with lists of what is drawn instead: charts, oneway_ms, jitter_ms, b_nspm, wall_npm,
    /// slave_npm, grip; seed. The plant stays RP-1
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set one of the fields of --config, after it, to a value or a list; repeatable
    #[arg(long, value_name = "FIELD=VALUE", action = clap::ArgAction::Append)]
    pub set: Vec<String>,
    /// Seed of what sessions draw, which are delays under jitter [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Threads that find points [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
}
