//! Linked volumes: tissue of elements and links that can be pressed, cut, carved, torn and joined.
//!
//! Source: seed-001 (Frisken-Gibson 1999, "Using linked volumes to model object collisions,
//! deformation, cutting, carving, and joining"), with the corrections of its specification. [`elements`]
//! are the volume and its links, [`limits`] how far links give, [`matter`] what elements are made of. [`exact`] moves
//! elements so that no limit is broken, [`edits`] is what can be taken back. What the source prints, and what judges
//! this crate, is `palpate-reference`. [`Linked`] is the tissue: `weave` its links as `sweep` wants them, `rows` which of them move, `touch` what tools do, `operate` what
//! instruments do, `blade` how a knife feels, `cling` what rubs and what jaws hold, `tick` one step.
//!
//! Rest is a lattice that does not turn, and its energy that of springs which pull elements to their places
//! beside their neighbours: large turns of a piece are strains here (W-11 of seed-001).

mod blade;
mod carve;
mod cells;
mod cling;
pub mod edits;
pub mod elements;
pub mod exact;
mod front;
mod join;
mod knife;
mod lanes;
pub mod limits;
mod marks;
pub mod matter;
mod operate;
pub mod params;
mod pieces;
mod plain;
mod rows;
mod skin;
mod state;
mod stiffen;
mod strands;
pub mod surface;
mod surgery;
mod sweep;
mod tear;
#[cfg(test)]
mod tests;
mod tick;
mod tissue;
mod touch;
pub mod walk;
mod weave;

pub use params::{LinkedError, LinkedParams};
pub use tissue::Linked;
