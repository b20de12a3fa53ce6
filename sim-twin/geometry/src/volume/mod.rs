//! Voxel volumes: their grids, files, labels and synthetic phantoms.
//!
//! Source: seed-001 rows LV-04 and LV-05, its section 5.4 for phantoms; files by their formats' descriptions.
//! [`grid`] has the positions of voxels, [`file`](mod@file) reads and writes volumes, [`phantom`] generates a
//! synthetic volume from a seed, [`sample`] interpolates and resamples, [`label`] assigns tissues. Lengths are metres
//! and positions those of a patient lying down: x to the left, y to the back, z to the head (LPS, as DICOM).

pub mod file;
pub mod grid;
pub mod label;
mod noise;
pub mod phantom;
pub mod sample;

pub use file::VolumeFormat;
pub use grid::{VoxelGrid, VoxelVolume};
