//! Flags of `palpate model press`. Source: ours.

use clap::Args;

use super::{OutputArgs, UnitName, session_flags};

/// Ball, places, depths and motion of the presses.
#[derive(Debug, Clone, Args)]
pub struct PressArgs {
    /// Scene: a built-in one, a .toml file, or a .fem file with --units
    pub scene: String,
    /// Units of a .fem file, which states none itself; as the name FILE.fem:UNITS
    #[arg(long, value_enum, value_name = "UNITS")]
    pub units: Option<UnitName>,
    /// Place of a press in mm, X,Y from the middle; may be repeated
    #[arg(long, value_name = "X,Y", value_parser = place_mm, default_value = "0,0", allow_hyphen_values = true)]
    pub at_mm: Vec<[f64; 2]>,
    /// Depths below first contact in mm, separated by commas
    #[arg(long, value_name = "MM", value_delimiter = ',', default_values_t = [1.0, 2.0, 5.0],
        value_parser = session_flags::within(0.01, 100.0, "0.01 to 100 mm"), allow_negative_numbers = true)]
    pub depths_mm: Vec<f64>,
    /// Radius of the rigid ball in mm [default: that of the scene's tool]
    #[arg(long, value_name = "MM", value_parser = session_flags::within(0.1, 200.0, "0.1 to 200 mm"),
        allow_negative_numbers = true)]
    pub radius_mm: Option<f64>,
    /// Press at this speed, and take the force on arrival; also the speed of --hold and --drag [default there: 20]
    #[arg(long, value_name = "MM/S", value_parser = session_flags::within(0.1, 1000.0, "0.1 to 1000 mm/s"),
        allow_negative_numbers = true)]
    pub rate_mmps: Option<f64>,
    /// Press, and drag this far along x, in mm [default length: 10]
    #[arg(long, value_name = "MM", num_args = 0..=1, default_missing_value = "10", group = "motion",
        value_parser = session_flags::within(0.1, 500.0, "0.1 to 500 mm"), allow_negative_numbers = true)]
    pub drag: Option<f64>,
    /// Press, and take the force after so many seconds [default time: 1]
    #[arg(long, value_name = "S", num_args = 0..=1, default_missing_value = "1", group = "motion",
        value_parser = session_flags::within(0.001, 600.0, "0.001 to 600 s"), allow_negative_numbers = true)]
    pub hold: Option<f64>,
    /// Press, and move up and down by a tenth of the depth at this frequency
    #[arg(long, value_name = "HZ", group = "motion", conflicts_with = "rate_mmps",
        value_parser = session_flags::within(0.1, 100.0, "0.1 to 100 Hz"), allow_negative_numbers = true)]
    pub sine: Option<f64>,
    /// Compute the same press on converged meshes as well, and the true error; takes up to some minutes for each depth
    #[arg(long, value_enum, value_name = "REFERENCE")]
    pub against: Option<PressReference>,
    /// Folder for press.json and report.html, and form of the output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reference of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PressReference {
    /// the offline solver on converged meshes
    Truth,
}

/// Parses a place `X,Y` in mm.
fn place_mm(text: &str) -> Result<[f64; 2], String> {
    let parts: Vec<f64> = text
        .split(',')
        .filter_map(|part| part.trim().parse().ok())
        .collect();
    match parts[..] {
        [x, y] if text.matches(',').count() == 1 && x.is_finite() && y.is_finite() => Ok([x, y]),
        _ => Err("expected two numbers X,Y in mm, such as 10,-5".to_owned()),
    }
}
