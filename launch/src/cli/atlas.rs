//! Flags of `palpate atlas`. Source: ours.

use clap::Args;

use super::OutputArgs;

/// How much is drawn, and where the results go.
#[derive(Debug, Clone, Args)]
pub struct AtlasArgs {
    /// Draw a seventh of the points, for a first look
    #[arg(long)]
    pub sketch: bool,
    /// Threads that find points [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Where the results go, and what is shown.
    #[command(flatten)]
    pub output: OutputArgs,
}
