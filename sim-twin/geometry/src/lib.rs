//! Geometry of bodies: meshes and voxel volumes, their files and defects, and synthetic bodies.
//!
//! In reading order:
//! [`mesh`] has neutral descriptions of lattices and meshes with their files, and the hexahedral blocks of continuum tissue.
//! [`volume`] has voxels, their files and phantoms. [`Defect`] is the error of all of them.
//! The crate opens no files: readers take bytes and writers return them.

mod error;
pub mod mesh;
mod number;
pub mod volume;

pub use error::Defect;
