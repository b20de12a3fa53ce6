//! Tissue labels of voxels, given as whole numbers or assigned by bands of intensity.
//!
//! Source: seed-001 row LV-04. Label 0 is empty space.

use std::collections::{BTreeMap, BTreeSet};

use super::grid::VoxelVolume;
use crate::Defect;
use crate::number::Number;

/// Most distinct labels in a volume of labels.
pub const LABELS_MAX: usize = 255;

/// Band of intensities of one tissue: from `low`, and below `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntensityBand {
    /// Least intensity.
    pub low: f32,
    /// Upper limit, not included.
    pub high: f32,
    /// Label of the band, at least 1.
    pub label: u16,
}

/// Converts a volume of values that are labels.
///
/// # Errors
/// [`Defect`] naming the first value that is no label, or if there are too many labels.
pub fn from_values(volume: &VoxelVolume<f32>) -> Result<VoxelVolume<u16>, Defect> {
    let mut kinds = BTreeSet::new();
    let mut values = Vec::with_capacity(volume.values.len());
    for (&value, index) in volume.values.iter().zip(volume.grid.indices()) {
        let label = Number::Real(value.into()).whole();
        let Some(label) = label.and_then(|label| u16::try_from(label).ok()) else {
            let expected = "whole numbers from 0 to 65535 for labels, or bands of intensity";
            return Err(Defect::field(
                format_args!("voxel {index:?}"),
                value,
                expected,
            ));
        };
        if values.last() != Some(&label) {
            kinds.insert(label);
            if kinds.len() > LABELS_MAX {
                return Err(too_many());
            }
        }
        values.push(label);
    }
    Ok(VoxelVolume {
        grid: volume.grid,
        values,
    })
}

fn too_many() -> Defect {
    let found = format_args!("more than {LABELS_MAX} kinds of values");
    let expected = "labels of that many tissues at most, or bands of intensity";
    Defect::new(found, expected)
}

/// Assigns labels by bands of intensity: the first band that contains the value, or 0.
#[must_use]
pub fn from_bands(volume: &VoxelVolume<f32>, bands: &[IntensityBand]) -> VoxelVolume<u16> {
    volume.map(|value| {
        let holds = |band: &&IntensityBand| value >= band.low && value < band.high;
        bands.iter().find(holds).map_or(0, |band| band.label)
    })
}

/// Number of voxels of each label.
#[must_use]
pub fn counts(volume: &VoxelVolume<u16>) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for same in volume.values.chunk_by(|a, b| a == b) {
        *counts.entry(same[0]).or_insert(0) += same.len();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::VoxelGrid;
    use palpate_twin::Vec3;

    fn volume(values: &[f32]) -> VoxelVolume<f32> {
        let grid = VoxelGrid::axis_aligned([values.len(), 1, 1], Vec3::zeros(), [1e-3; 3]);
        VoxelVolume::new(grid, values.to_vec()).expect("fits")
    }

    #[test]
    fn labels_are_whole_numbers_and_counted() {
        let labels = from_values(&volume(&[0.0, 3.0, 3.0, 7.0, 3.0])).expect("labels");
        assert_eq!(labels.values, [0, 3, 3, 7, 3]);
        assert_eq!(counts(&labels), BTreeMap::from([(0, 1), (3, 3), (7, 1)]));
        for value in [0.5, -1.0, f32::NAN, 65536.0, f32::INFINITY] {
            let message = from_values(&volume(&[1.0, value])).expect_err("none");
            assert!(message.to_string().contains("voxel [1, 0, 0]"), "{message}");
        }
        let many: Vec<f32> = (0_u16..300).map(f32::from).collect();
        let text = from_values(&volume(&many)).unwrap_err().to_string();
        assert!(text.starts_with("more than 255 kinds of values"), "{text}");
    }

    #[test]
    fn first_matching_band_labels_a_value() {
        let band = |low, high, label| IntensityBand { low, high, label };
        let bands = [band(1.0, 2.0, 4), band(1.5, f32::INFINITY, 9)];
        let labels = from_bands(
            &volume(&[0.9, 1.0, 1.99, 2.0, f32::INFINITY, f32::NAN]),
            &bands,
        );
        assert_eq!(labels.values, [0, 4, 4, 9, 0, 0]);
    }
}
