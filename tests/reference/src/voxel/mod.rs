//! Linked volumes beside `palpate-voxel`: what judges it, what its source prints, and rows that no session reaches.
//!
//! Oracles: [`bounds`] is propagation in closed form, [`settle`] where relaxation ends. As printed: [`chain`] (ChainMail),
//! [`relax`] with [`response`] and [`bench1d`], [`raster`] (the cut by cells), [`printed`] (memory layout and map).
//! Rows without a command: [`attach`], [`collide`], [`compact`] and [`listed`] (other storages, by [`links`]), [`drag`]
//! and [`preserve`]. [`bodies`] are volumes to try them on, [`propagation`] chooses what moves them.

pub mod attach;
pub mod bench1d;
pub mod bodies;
pub mod bounds;
pub mod chain;
pub mod collide;
pub mod compact;
pub mod drag;
pub mod links;
pub mod listed;
pub mod preserve;
pub mod printed;
pub mod propagation;
pub mod raster;
pub mod relax;
pub mod response;
pub mod settle;
#[cfg(test)]
mod tests;

use palpate_twin::law::Real;

/// The number, in double precision.
pub(crate) fn to_f64<R: Real>(value: R) -> f64 {
    nalgebra::try_convert(value).unwrap_or(f64::NAN)
}
