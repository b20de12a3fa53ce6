//! Neutral descriptions of tissue geometry and the files that carry them.

pub mod check;
pub mod drape;
pub mod fem;
pub mod fixture;
pub mod grade;
pub mod hex;
pub mod lattice;
pub mod nested;
pub mod plg;
pub mod region;
mod rows;
pub mod units;

pub use lattice::{Atom, Face, Lattice, Link};
pub use rows::FileError;
pub use units::{UnitError, Units};
