//! Volume files of other programs: bytes in, [`Voxels`] out, and back.
//!
//! Source: ours; each reader names its format's description. A reader never trusts a count: memory is bounded
//! by `VOXELS_MAX` and by the bytes that are there, and every refusal names the field, the value and what would be
//! right. Values become single precision, in which whole numbers up to 16 million are exact.

pub mod dicom;
pub mod nifti;
pub mod nrrd;
pub mod nrrd_write;
mod sampled;
pub mod series;
#[cfg(test)]
mod tests;
mod unpack;

use super::grid::{Grid, GridError, VOXELS_MAX, Voxels};

/// A format of volume files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Nearly raw raster data, header and values in one file.
    Nrrd,
    /// NIfTI-1, header and values in one file, packed or not.
    Nifti,
    /// A slice of a DICOM series; a series is a folder of them.
    Dicom,
}

/// Endings of the names of files in each format, without the dot.
const ENDINGS: [(&str, Format); 4] = [
    ("nrrd", Format::Nrrd),
    ("nii", Format::Nifti),
    ("nii.gz", Format::Nifti),
    ("dcm", Format::Dicom),
];

impl Format {
    /// The format of a file of this name, in any case of letters.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ends = |(ending, _): &&(&str, Self)| {
            name.strip_suffix(ending)
                .is_some_and(|stem| stem.ends_with('.'))
        };
        ENDINGS.iter().find(ends).map(|&(_, format)| format)
    }

    /// All endings, for messages.
    #[must_use]
    pub fn endings() -> String {
        ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ")
    }
}

/// Read one file.
///
/// # Errors
/// [`VolumeFileError`] naming field, value and what would be right.
pub fn read(format: Format, bytes: &[u8]) -> Result<Voxels<f32>, VolumeFileError> {
    match format {
        Format::Nrrd => nrrd::read(bytes),
        Format::Nifti => nifti::read(bytes),
        Format::Dicom => series::read(&[("slice".to_owned(), bytes.to_vec())]),
    }
}

/// Why a volume file is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VolumeFileError {
    /// A field is not what it should be.
    #[error("{field} is {value}; expected {expected}")]
    Field {
        /// Name of the field, as its format calls it.
        field: String,
        /// What was found: text in backquotes cut after 40 characters, or `missing`.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// The box of samples cannot be.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A file of a series.
    #[error("{file}: {source}")]
    File {
        /// Its name.
        file: String,
        /// What is wrong with it.
        source: Box<Self>,
    },
}

/// The error for one field with this value.
fn wrong(field: impl Into<String>, value: impl ToString, expected: &str) -> VolumeFileError {
    VolumeFileError::Field {
        field: field.into(),
        value: value.to_string(),
        expected: expected.to_owned(),
    }
}

/// The error for one field with this text.
fn wrong_text(field: impl Into<String>, text: &[u8], expected: &str) -> VolumeFileError {
    let cut = &text[..text.len().min(160)];
    let text: String = String::from_utf8_lossy(cut).chars().take(40).collect();
    wrong(field, format!("`{}`", text.escape_default()), expected)
}

/// The error for one field that is not there.
fn missing(field: impl Into<String>, expected: &str) -> VolumeFileError {
    wrong(field, "missing", expected)
}
