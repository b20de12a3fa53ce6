//! Flags of `palpate atlas`. Source: ours.

use std::path::PathBuf;

use clap::Args;

/// How much is drawn, and where the results go.
#[derive(Debug, Clone, Args)]
pub struct AtlasArgs {
    /// Draw a third of the points, for a first look
    #[arg(long)]
    pub sketch: bool,
    /// Threads that find points [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Folder for atlas.csv and report.html (default: `runs/<time>-atlas`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the points as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table
    #[arg(short, long)]
    pub quiet: bool,
}
