//! Voxel model: tissue of nodes and links that can be pressed, cut, carved, torn and joined.
//!
//! Source: seed-001 (Frisken-Gibson 1999, "Using linked volumes to model object collisions, deformation, cutting,
//! carving, and joining"), as corrected in the specification that was written from it. `palpate-reference` implements
//! the source as printed and verifies this crate.
//!
//! | Modules | Content |
//! |---|---|
//! | [`VoxelModel`] (`model`), `tick`, `state`, [`params`] | the tissue, one step, snapshots, parameters |
//! | [`nodes`], [`limits`], [`material`] | nodes and links, limits of links, materials |
//! | `stencil`, `uniform_run`, `gauss_seidel`, `simd`, `active_set` | relaxation passes over the runs that are not settled |
//! | [`chainmail`], `bucket_queue` | propagation that keeps all limits |
//! | `collapse` | return to rest if a number is no longer finite |
//! | `touch`, `friction` | contact, friction and grasp of tools |
//! | `instruments`, `blade`, `knife`, `carve`, `join`, `tear`, `stiffen` | instruments, cutting forces and edits |
//! | [`edits`], `topology_editor`, `pieces`, `node_runs`, [`piece_search`] | undo log and connected pieces |
//! | [`surface`], `surface_positions` | surface for the view |
//! | `axis_box`, `index_sets` | search boxes and sets of slots |
//!
//! The rest lattice does not rotate. Springs pull nodes to their places beside their neighbours, so a large rotation
//! of a piece counts as strain (W-11 of seed-001).

mod active_set;
mod axis_box;
mod blade;
mod bucket_queue;
mod carve;
pub mod chainmail;
mod collapse;
pub mod edits;
mod friction;
mod gauss_seidel;
mod index_sets;
mod instruments;
mod join;
mod knife;
pub mod limits;
pub mod material;
mod model;
mod node_runs;
pub mod nodes;
pub mod params;
pub mod piece_search;
mod pieces;
mod simd;
mod state;
mod stencil;
mod stiffen;
pub mod surface;
mod surface_positions;
mod tear;
#[cfg(test)]
mod tests;
mod tick;
mod topology_editor;
mod touch;
mod uniform_run;

pub use model::VoxelModel;
pub use params::{VoxelParams, VoxelParamsError};
