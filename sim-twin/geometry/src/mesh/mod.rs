//! Neutral descriptions of tissue geometry and the files that carry them.

pub mod check;
pub mod defect;
pub mod drape;
pub mod fem;
pub mod file;
pub mod grade;
pub mod hex;
pub mod nested;
pub mod painted;
pub mod parts;
pub mod plg;
pub mod quadratic;
pub mod region;
mod rows;
pub mod surface;
#[cfg(test)]
mod tests;
pub mod tet;
mod twins;
pub mod units;

pub use file::{Format, MeshError};
pub use painted::Painted;
pub use parts::{Cells, Parts};
pub use rows::FileError;
pub use surface::Surface;
pub use tet::TetMesh;
pub use units::{UnitError, Units};
