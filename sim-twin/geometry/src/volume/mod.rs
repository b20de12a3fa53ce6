//! Volumes of voxels: where their samples are, files of them, phantoms, and how labels are made of them.
//!
//! Source: seed-001 rows LV-04 and LV-05, its section 5.4 for phantoms; files by their formats' descriptions.
//! [`grid`] says where voxels are, [`file`](mod@file) turns bytes into a volume and back, [`phantom`] makes a
//! synthetic one from a seed, [`sample`] asks between voxels, [`label`] tells tissues apart. Lengths are metres
//! and places those of a patient lying down: x to the left, y to the back, z to the head (LPS, as DICOM).

pub mod file;
pub mod grid;
pub mod label;
pub mod noise;
pub mod phantom;
pub mod sample;

pub use file::{Format, VolumeFileError};
pub use grid::{Grid, GridError, Voxels};
