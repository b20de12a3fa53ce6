//! Neutral descriptions of tissue geometry, and the files that store them.
//!
//! In reading order:
//! [`MixedMesh`] is the content of a mesh file, [`ColouredMesh`] a coloured surface; [`file`](mod@file) reads the first
//! and writes the second.
//! [`fem_file`] and [`plg_file`] are the files of lattices, with numbers in [`Units`]; [`drape`] curves a sheet.
//! [`hex`], [`nested_grid`] and [`grading`] make blocks, [`quadratic`] makes tetrahedra with ten nodes, and [`region`]
//! computes fractions of layers and inclusions. [`mesh_check`] and [`lattice_check`] find defects.

mod boundary;
mod coincidence;
mod coloured_mesh;
pub mod drape;
pub mod fem_file;
pub mod file;
pub mod grading;
pub mod hex;
pub mod lattice_check;
pub mod mesh_check;
mod mixed_mesh;
pub mod nested_grid;
pub mod plg_file;
pub mod quadratic;
mod records;
pub mod region;
#[cfg(test)]
mod tests;
mod tet;
mod units;

pub use coloured_mesh::ColouredMesh;
pub use mixed_mesh::{CellList, MixedMesh, bounds_m};
pub use units::Units;
