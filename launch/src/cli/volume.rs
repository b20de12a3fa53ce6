//! Flags of `palpate model` for volumes.
//!
//! Source: ours. Lengths are in mm here, as in imaging programs.

use std::path::PathBuf;

use clap::Args;

use super::session_flags::within;
use super::{OverwriteArgs, UnitName};

/// Flags of `palpate model build`.
#[derive(Debug, Clone, Args)]
pub struct BuildArgs {
    /// Volume: .nrrd, .nii, .nii.gz, or a folder with a DICOM series; or springs: a .fem file, with its faces in the
    /// .plg file beside it [default: the synthetic layered phantom]
    pub volume: Option<String>,
    /// Units of a .fem file, which states none itself
    #[arg(long, value_enum, value_name = "UNITS")]
    pub units: Option<UnitName>,
    /// Seed of the phantom
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "volume")]
    pub seed: u64,
    /// Labels of the volume, and spacing of the nodes.
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Axis of the volume that points to the hand: x, y or z as the file has them, -x, -y or -z
    #[arg(
        long,
        value_name = "AXIS",
        default_value = "z",
        allow_hyphen_values = true
    )]
    pub up: String,
    /// Make a separate object of each label, without links between them [default: one bonded body]
    #[arg(long)]
    pub separate: bool,
    /// Folder for labels.nrrd, scene.toml and report.html (default: `runs/<time>-model`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Treatment of an earlier run.
    #[command(flatten)]
    pub earlier: OverwriteArgs,
    /// Print the model's report as JSON on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no table
    #[arg(short, long)]
    pub quiet: bool,
}

/// Labels of a volume, and spacing of the nodes.
#[derive(Debug, Clone, Args)]
pub struct LabelArgs {
    /// Bands of intensity that become labels 1, 2, ...: LOW..HIGH, separated by commas; either end may be left
    /// out [default: values are labels]
    #[arg(long, value_name = "BAND", value_delimiter = ',', value_parser = band, allow_hyphen_values = true)]
    pub bands: Vec<(f32, f32)>,
    /// Spacing of the nodes in mm [default: that of the voxels; 2 for the phantom]
    #[arg(long, value_name = "MM", value_parser = within(0.05, 50.0, "0.05 to 50 mm"), allow_negative_numbers = true)]
    pub spacing_mm: Option<f64>,
}

/// Parts of a voxel model to write.
#[derive(Debug, Clone, Args)]
pub struct SurfaceArgs {
    /// Write the coloured surface instead of the cells as .vtu; .ply and .obj always are surfaces
    #[arg(long)]
    pub surface: bool,
    /// Remove the part beyond a plane, to show the inside: y=3.5 for all beyond 3.5 mm along y
    #[arg(long, value_name = "AXIS=MM", value_parser = clip)]
    pub clip: Option<(usize, f64)>,
}

/// Parses a band `LOW..HIGH`.
fn band(text: &str) -> Result<(f32, f32), String> {
    let expected = "expected LOW..HIGH with LOW less than HIGH, such as 0.2..0.6, 0.6.. or ..0.1";
    let end = |text: &str, open: f32| match text {
        "" => Some(open),
        _ => text.parse().ok().filter(|end: &f32| end.is_finite()),
    };
    let found = text.split_once("..").and_then(|(low, high)| {
        let band = (end(low, f32::NEG_INFINITY)?, end(high, f32::INFINITY)?);
        (band.0 < band.1).then_some(band)
    });
    found.ok_or_else(|| expected.to_owned())
}

/// Parses a plane `AXIS=MM` into the axis and its position \[m\].
fn clip(text: &str) -> Result<(usize, f64), String> {
    let expected = "expected x=MM, y=MM or z=MM, such as y=3.5";
    let found = text.split_once('=').and_then(|(axis, place)| {
        let axis = ["x", "y", "z"].iter().position(|known| *known == axis)?;
        let mm = place.parse().ok().filter(|mm: &f64| mm.is_finite())?;
        Some((axis, mm * 1e-3))
    });
    found.ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_and_planes_are_parsed_or_explained() {
        assert_eq!(band("0.2..0.6"), Ok((0.2, 0.6)));
        assert_eq!(band("-100.."), Ok((-100.0, f32::INFINITY)));
        assert_eq!(band("..3"), Ok((f32::NEG_INFINITY, 3.0)));
        for wrong in ["3", "3..1", "a..b", "1..nan", ""] {
            assert!(band(wrong).expect_err(wrong).contains("LOW..HIGH"));
        }
        assert_eq!(clip("y=3.5"), Ok((1, 3.5e-3)));
        for wrong in ["y", "w=1", "x=", "z=inf"] {
            assert!(clip(wrong).expect_err(wrong).contains("such as y=3.5"));
        }
    }
}
