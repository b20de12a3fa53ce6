//! Labels: which tissue a voxel is, given as whole numbers or found by bands of intensity.
//!
//! Source: seed-001 row LV-04. 0 is where nothing is.

use std::collections::BTreeMap;

use super::grid::Voxels;

/// Most kinds of labels in a volume that is taken for one of labels.
pub const KINDS_MAX: usize = 255;

/// Intensities that are one tissue: from `low`, and below `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Least intensity.
    pub low: f32,
    /// Intensity that is no longer of it.
    pub high: f32,
    /// The label that it gets, at least 1.
    pub label: u16,
}

/// Why a volume is none of labels.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LabelError {
    /// A value that is no label.
    #[error(
        "voxel {index:?} is {value}; expected whole numbers from 0 to 65535 for labels, or bands of intensity"
    )]
    Value {
        /// Which voxel.
        index: [usize; 3],
        /// Its value.
        value: f32,
    },
    /// More kinds than materials can be given to.
    #[error(
        "more than {KINDS_MAX} kinds of values; expected labels of that many tissues at most, or bands of intensity"
    )]
    Kinds,
}

/// A volume whose values are labels.
///
/// # Errors
/// [`LabelError`] naming the first value that is none, or if there are too many kinds.
pub fn from_values(volume: &Voxels<f32>) -> Result<Voxels<u16>, LabelError> {
    let mut kinds = BTreeMap::new();
    let mut values = Vec::with_capacity(volume.values.len());
    for (&value, index) in volume.values.iter().zip(volume.grid.indices()) {
        let fits = (0.0..=65535.0).contains(&value) && value.trunc() == value;
        if !fits {
            return Err(LabelError::Value { index, value });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let label = value as u16;
        if values.last() != Some(&label) {
            kinds.insert(label, ());
            if kinds.len() > KINDS_MAX {
                return Err(LabelError::Kinds);
            }
        }
        values.push(label);
    }
    Ok(Voxels {
        grid: volume.grid,
        values,
    })
}

/// The label of an intensity: that of the first band that holds it, or 0.
#[must_use]
fn of_intensity(bands: &[Band], value: f32) -> u16 {
    let holds = |band: &&Band| value >= band.low && value < band.high;
    bands.iter().find(holds).map_or(0, |band| band.label)
}

/// Labels by bands of intensity.
#[must_use]
pub fn from_bands(volume: &Voxels<f32>, bands: &[Band]) -> Voxels<u16> {
    volume.map(|value| of_intensity(bands, value))
}

/// Voxels of each label.
#[must_use]
pub fn counts(volume: &Voxels<u16>) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for same in volume.values.chunk_by(|a, b| a == b) {
        *counts.entry(same[0]).or_insert(0) += same.len();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volume::Grid;
    use palpate_twin::Vec3;

    fn volume(values: &[f32]) -> Voxels<f32> {
        let grid = Grid::straight([values.len(), 1, 1], Vec3::zeros(), [1e-3; 3]);
        Voxels::new(grid, values.to_vec()).expect("fits")
    }

    #[test]
    fn labels_are_whole_numbers_and_counted() {
        let labels = from_values(&volume(&[0.0, 3.0, 3.0, 7.0, 3.0])).expect("labels");
        assert_eq!(labels.values, [0, 3, 3, 7, 3]);
        assert_eq!(counts(&labels), BTreeMap::from([(0, 1), (3, 3), (7, 1)]));
        for value in [0.5, -1.0, f32::NAN, 65536.0, f32::INFINITY] {
            let told = from_values(&volume(&[1.0, value])).expect_err("none");
            assert!(told.to_string().contains("voxel [1, 0, 0]"), "{told}");
        }
        let many: Vec<f32> = (0_u16..300).map(f32::from).collect();
        assert_eq!(from_values(&volume(&many)), Err(LabelError::Kinds));
    }

    #[test]
    fn the_first_band_that_holds_a_value_names_it() {
        let band = |low, high, label| Band { low, high, label };
        let bands = [band(1.0, 2.0, 4), band(1.5, f32::INFINITY, 9)];
        let labels = from_bands(
            &volume(&[0.9, 1.0, 1.99, 2.0, f32::INFINITY, f32::NAN]),
            &bands,
        );
        assert_eq!(labels.values, [0, 4, 4, 9, 0, 0]);
    }
}
