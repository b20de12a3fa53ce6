//! Flags of `palpate recover`. Source: ours.

use std::path::PathBuf;

use clap::Args;

/// Session to recover.
#[derive(Debug, Clone, Args)]
pub struct RecoverArgs {
    /// Folder of a session that was killed
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Print the summary as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no table
    #[arg(short, long)]
    pub quiet: bool,
    /// Accepted for uniformity: the cuts are always shown
    #[arg(short, long)]
    pub verbose: bool,
}
