//! Flags of `palpate trial`. Source: ours.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use palpate_study::trial::person::Respondent;
use palpate_study::trial::{BUILT_IN, Shard};

use super::{ConsoleArgs, OutputArgs, SessionArgs};

/// Trial to run, or action on its parts.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct TrialArgs {
    /// Action instead of running a file.
    #[command(subcommand)]
    pub action: Option<TrialAction>,
    /// The trial: a built-in one by its name, or a file.
    #[arg(required = true, value_name = "TRIAL", help = format!("The trial: a built-in one ({}), or a file (TOML): \
        `[base]`, `[grid]` or `[[condition]]`, seeds, repeats", BUILT_IN.names().join(", ")))]
    pub file: Option<PathBuf>,
    /// Sessions that run at once [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Sessions of a trial that draws them, such as adversary [default: as in its file]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sessions: Option<u32>,
    /// Run even if it would take more than an hour
    #[arg(long)]
    pub yes: bool,
    /// Ask a person in the console's page, by a code such as P07 that identifies nobody; the code determines
    /// the order of the rows, and which of two intervals has the stronger stimulus. A program that clicks in place of
    /// a person needs a code that begins with `machine`
    #[arg(long, value_name = "CODE", value_parser = Respondent::from_code)]
    pub person: Option<Respondent>,
    /// Console page of a trial with a person.
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// Run only this part of the rows, as in 2/8
    #[arg(long, value_name = "I/N", default_value_t)]
    pub shard: Shard,
    /// Fields of every row beside the varied ones; a seed replaces the seeds of the file. The file of
    /// --config precedes `[base]`. Flags and --set override `[base]`; two of them that set the same field, and
    /// one that sets a field of the grid or a condition, are refused.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Output flags; a folder with rows of this trial is continued.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Action on the parts of a trial.
#[derive(Debug, Clone, Subcommand)]
pub enum TrialAction {
    /// Merge the folders of shards into one; exit 1 if rows are missing
    #[command(
        after_help = "Example:\n  palpate trial merge runs/part-1 runs/part-2 --out runs/whole"
    )]
    Merge(MergeArgs),
}

/// Flags of `palpate trial merge`.
#[derive(Debug, Clone, Args)]
pub struct MergeArgs {
    /// Folders of the parts
    #[arg(required = true, value_name = "DIR")]
    pub parts: Vec<PathBuf>,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn jobs(text: &str) -> Result<usize, String> {
    let value = text
        .parse::<usize>()
        .ok()
        .filter(|n| (1..=4096).contains(n));
    value.ok_or_else(|| "expected 1 to 4096".to_owned())
}
