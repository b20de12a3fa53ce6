//! Volume files of other programs: bytes in, [`VoxelVolume`] out, and back.
//!
//! Source: ours; each reader cites its format's description. A reader never relies on a count. Memory is bounded
//! by `VOXELS_MAX` and by the bytes of the file, and every refusal names the field, the value and the valid
//! form. Values become single precision, in which whole numbers up to 16 million are exact.

mod dicom;
mod gzip;
mod nifti;
mod nrrd;
pub mod nrrd_write;
pub mod series;
#[cfg(test)]
mod tests;

use super::grid::{VOXELS_MAX, VoxelGrid, VoxelVolume};
use crate::Defect;
use crate::error::{lossy, quoted};

/// A format of volume files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeFormat {
    /// Nearly raw raster data, header and values in one file.
    Nrrd,
    /// NIfTI-1, header and values in one file, compressed or not.
    Nifti,
    /// A slice of a DICOM series; a series is a folder of them.
    Dicom,
}

/// File name extensions of each format, without the dot.
const ENDINGS: [(&str, VolumeFormat); 4] = [
    ("nrrd", VolumeFormat::Nrrd),
    ("nii", VolumeFormat::Nifti),
    ("nii.gz", VolumeFormat::Nifti),
    ("dcm", VolumeFormat::Dicom),
];

impl VolumeFormat {
    /// Format of a file of this name, in any case of letters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ends = |(ending, _): &&(&str, Self)| {
            name.strip_suffix(ending)
                .is_some_and(|stem| stem.ends_with('.'))
        };
        ENDINGS.iter().find(ends).map(|&(_, format)| format)
    }

    /// All extensions, for messages.
    #[must_use]
    pub fn extensions() -> String {
        ENDINGS.map(|(ending, _)| format!(".{ending}")).join(", ")
    }
}

/// Reads one file.
///
/// # Errors
/// [`Defect`] naming field, value and what would be right.
pub fn read(format: VolumeFormat, bytes: &[u8]) -> Result<VoxelVolume<f32>, Defect> {
    match format {
        VolumeFormat::Nrrd => nrrd::read(bytes),
        VolumeFormat::Nifti => nifti::read(bytes),
        VolumeFormat::Dicom => series::read(&[("slice".to_owned(), bytes.to_vec())]),
    }
}

/// Error of one field with this text.
fn text_error(field: &str, text: &[u8], expected: impl std::fmt::Display) -> Defect {
    Defect::field(field, quoted(lossy(text)), expected)
}

/// First `count` bytes of the values of a volume.
fn values_of(bytes: &[u8], count: usize) -> Result<&[u8], Defect> {
    bytes.get(..count).ok_or_else(|| {
        let found = format!("{} bytes", bytes.len());
        Defect::field("data", found, format_args!("{count} bytes"))
    })
}

/// Reads `N` finite numbers, if all words are one.
fn finite<'a, const N: usize>(words: impl Iterator<Item = &'a str>) -> Option<[f64; N]> {
    let number = |word: &str| word.trim().parse().ok().filter(|x: &f64| x.is_finite());
    let numbers: Option<Vec<f64>> = words.map(number).collect();
    numbers?.try_into().ok()
}
