//! Flags of `palpate model detect`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::OverwriteArgs;

/// Lumps, presses and output of the study.
#[derive(Debug, Clone, Args)]
pub struct DetectArgs {
    /// Scene: a built-in one, or a .toml file; a block with an `[[inclusion]]`
    pub scene: String,
    /// Standard deviation of a force reading, as a fraction of the force
    #[arg(long, default_value_t = 0.02, allow_negative_numbers = true)]
    pub noise: f64,
    /// Depth of a press in mm
    #[arg(
        long,
        value_name = "MM",
        default_value_t = 5.0,
        allow_negative_numbers = true
    )]
    pub press_mm: f64,
    /// Depths of the lump's centre in mm, separated by commas [default: 0.8, 1, 1.5 and 2 times the scene's]
    #[arg(
        long,
        value_name = "MM",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub depths_mm: Vec<f64>,
    /// Radii of the lump in mm, separated by commas [default: 0.6, 1 and 1.5 times the scene's]
    #[arg(
        long,
        value_name = "MM",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub radii_mm: Vec<f64>,
    /// Stiffness ratios of the lump to its layer, separated by commas
    #[arg(
        long,
        value_name = "TIMES",
        value_delimiter = ',',
        allow_negative_numbers = true,
        default_values_t = [3.0, 10.0, 30.0]
    )]
    pub contrasts: Vec<f64>,
    /// Folder for the results (default: `runs/<time>-detect`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Treatment of an earlier run.
    #[command(flatten)]
    pub earlier: OverwriteArgs,
    /// Print the study as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress and no table
    #[arg(short, long)]
    pub quiet: bool,
}
