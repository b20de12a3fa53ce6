//! Flags of `palpate trial`. Source: ours.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use palpate_study::trial::person::Who;
use palpate_study::trial::{BUILT_IN, Shard};

use super::{ConsoleArgs, OutputArgs, SessionArgs};

/// A trial to run, or what to do with the parts of one.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct TrialArgs {
    /// What to do instead of running a file.
    #[command(subcommand)]
    pub action: Option<TrialAction>,
    /// The trial: a built-in one by its name, or a file.
    #[arg(required = true, value_name = "TRIAL", help = format!("The trial: a built-in one ({}), or a file (TOML): \
        `[base]`, `[grid]` or `[[condition]]`, seeds, repeats", BUILT_IN.names().join(", ")))]
    pub file: Option<PathBuf>,
    /// Sessions that run at once [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Ask a person in the console's page, by a code such as P07 that says nothing else of them; rows, and which of two
    /// has the more, come in an order that the code draws. A program that clicks has a code that begins with `machine`
    #[arg(long, value_name = "CODE", value_parser = Who::coded)]
    pub person: Option<Who>,
    /// The page of a trial with a person.
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// Run only this part of the rows, as in 2/8
    #[arg(long, value_name = "I/N", default_value_t)]
    pub shard: Shard,
    /// What every row has beside what the trial varies; a seed stands for the seeds of the file. Its
    /// --config is what `[base]` begins with. Flags and --set win over `[base]`; two of them that set the same, and
    /// one that sets what the grid or a condition has, are refused.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Where the results go, and what is shown: a folder that has rows of this trial is gone on with.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What can be done with the parts of a trial.
#[derive(Debug, Clone, Subcommand)]
pub enum TrialAction {
    /// Join the folders of shards into one; exit 1 if rows are missing
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
    /// Where the joined results go, and what is shown.
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
