//! Reference code for tests: oracles, methods as printed in their sources, and features without a caller yet.
//!
//! No product crate may depend on this one. It holds oracles, methods as their sources print them, and rows that
//! `docs/rows.md` lists as "not reached".

pub mod calib;
pub mod springs;
pub mod voxel;
