//! Bodies as geometry: meshes and volumes of voxels, their files, their defects, and synthetic ones.
//!
//! In reading order:
//! [`mesh`] has neutral descriptions of lattices and meshes with their files, and the hexahedral blocks of continuum tissue.
//! [`volume`] has voxels, their files and phantoms.
//! Nothing here touches a disk: readers take bytes and writers give them.

pub mod mesh;
pub mod volume;
