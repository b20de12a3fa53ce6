//! Reference for `palpate-voxel`: oracles, methods as printed, and rows that no session reaches.
//!
//! Oracles: [`closed_form`] is propagation by clamps, [`equilibrium`] the limit of relaxation. As printed:
//! [`printed_chainmail`], [`relaxation`] with [`response`] and [`link_row_bench`], [`raster`] (the cut by cells),
//! [`printed`] (memory layout and map). Rows without a command: [`attachments`], [`collide`], [`compact_grid`] and
//! [`node_list`] (other storages, through [`storage`]), [`drag`] and [`volume_constraint`]. [`test_volumes`] holds
//! models to test them on, [`propagation`] selects the propagation method.

pub mod attachments;
pub mod closed_form;
pub mod collide;
pub mod compact_grid;
pub mod drag;
pub mod equilibrium;
pub mod link_row_bench;
pub mod node_list;
pub mod printed;
pub mod printed_chainmail;
pub mod propagation;
pub mod raster;
pub mod relaxation;
pub mod response;
pub mod storage;
pub mod test_volumes;
#[cfg(test)]
mod tests;
pub mod volume_constraint;

use palpate_twin::law::Real;

/// Converts to double precision.
pub(crate) fn to_f64<R: Real>(value: R) -> f64 {
    nalgebra::try_convert(value).unwrap_or(f64::NAN)
}
