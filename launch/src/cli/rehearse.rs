//! Flags of `palpate rehearse`. Source: ours.

use std::path::PathBuf;

use clap::Args;

use super::session_flags::MethodArgs;
use super::{ConsoleArgs, OutputArgs, SessionArgs, UnitName};

/// Flags of `palpate rehearse`.
#[derive(Debug, Clone, Args)]
pub struct RehearseArgs {
    /// Script to follow in virtual time: a built-in one (biopsy), or a .toml or .json file [default: the palpation of
    /// `palpate run`; with a page, the pointer]
    #[arg(long, value_name = "SCRIPT")]
    pub script: Option<String>,
    /// Scene to rehearse on: a built-in one, a .fem file, or a scene file [default: the script's own, else layered]
    #[arg(long, value_name = "SCENE")]
    pub twin: Option<String>,
    /// Units of the `.fem` file of --twin, which states none itself; as the name FILE.fem:UNITS
    #[arg(long, value_enum, value_name = "UNITS")]
    pub units: Option<UnitName>,
    /// Grip of the simulated hand on the handle [default: firm]
    #[arg(long, value_name = "GRIP", value_parser = ["firm", "light", "none"])]
    pub grip: Option<String>,
    /// Configuration file (TOML), such as the config.toml of a rehearsal; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set any field of the configuration, after everything else; repeatable
    #[arg(long, value_name = "FIELD=VALUE", action = clap::ArgAction::Append)]
    pub set: Vec<String>,
    /// Seed of everything random [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = super::session_flags::seed)]
    pub seed: Option<u64>,
    /// Length of the session in seconds [default: the script's, or 20; with a page, 600]
    #[arg(long, value_name = "S", allow_negative_numbers = true,
        value_parser = super::session_flags::duration_s)]
    pub duration: Option<f64>,
    /// Output flags.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Rehearse with the pointer on the console's page, in real time [default: at a terminal, without a script]
    #[arg(long, conflicts_with_all = ["no_console", "script", "no_recording"])]
    pub console: bool,
    /// Input for the handle on that page: the pointer, or a gamepad or 3-D mouse of this machine [default: pointer]
    #[arg(long, value_name = "WHO", value_parser = ["pointer", "evdev"],
        conflicts_with_all = ["no_console", "script", "no_recording"])]
    pub operator: Option<String>,
    /// Input device of `--operator evdev`, such as /dev/input/event5; `palpate doctor` lists them
    /// [default: the first that can drive a handle]
    #[arg(long, value_name = "FILE", value_parser = super::session_flags::device,
        conflicts_with_all = ["no_console", "script", "no_recording"])]
    pub device: Option<String>,
    /// Console page.
    #[command(flatten)]
    pub page: ConsoleArgs,
    /// Log of attempts [default: palpate/attempts.jsonl in the user's data folder]
    #[arg(long, value_name = "FILE")]
    pub attempts: Option<PathBuf>,
    /// Write no recording.mcap
    #[arg(long)]
    pub no_recording: bool,
}

impl RehearseArgs {
    /// Converts to the flags of a session.
    #[must_use]
    pub(crate) fn session(&self) -> SessionArgs {
        SessionArgs {
            config: self.config.clone(),
            set: self.set.clone(),
            seed: self.seed,
            duration: self.duration,
            method: MethodArgs {
                script: self.script.clone(),
                twin: self.twin.clone(),
                units: self.units,
                grip: self.grip.clone(),
                operator: self.operator.clone(),
                device: self.device.clone(),
                ..MethodArgs::default()
            },
            ..SessionArgs::default()
        }
    }
}
