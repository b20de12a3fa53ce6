//! Linked volumes: tissue of elements and links that can be pressed, cut, carved, torn and joined.
//!
//! Source: seed-001 (Frisken-Gibson 1999, "Using linked volumes to model object collisions,
//! deformation, cutting, carving, and joining"), with the corrections of its specification. [`links`]
//! is what every storage can do, [`elements`] the storage that sessions use, [`limits`] how far links give, [`matter`] what elements are made of. [`exact`] moves
//! elements so that no limit is broken, [`bounds`] says the same in closed form for a block; [`chain`] and
//! [`ordered`] are what the source and its successor print, [`propagation`] chooses. [`relax`], [`bench1d`] and
//! [`preserve`] are for study and golden numbers, [`settle`] is where all of it ends,
//! [`edits`] what can be taken back. [`Linked`] is the
//! tissue: `weave` its links as `sweep` wants them, `rows` which of them move, `touch` what tools do, `operate` what
//! instruments do, `blade` how a knife feels, `cling` what rubs and what jaws hold, `tick` one step.
//!
//! Rest is a lattice that does not turn, and its energy that of springs which pull elements to their places
//! beside their neighbours: large turns of a piece are strains here (W-11 of seed-001).

pub mod attach;
pub mod bench1d;
mod blade;
pub mod bounds;
pub mod carve;
pub mod cells;
pub mod chain;
mod cling;
pub mod collide;
pub mod compact;
mod drag;
pub mod edits;
pub mod elements;
pub mod exact;
mod front;
pub mod join;
pub mod knife;
mod lanes;
pub mod limits;
pub mod links;
pub mod listed;
mod marks;
pub mod matter;
mod operate;
pub mod ordered;
pub mod params;
pub mod pieces;
mod plain;
pub mod preserve;
pub mod propagation;
pub mod raster;
pub mod relax;
pub mod response;
mod rows;
pub mod settle;
mod skin;
mod state;
mod stiffen;
mod strands;
pub mod surface;
pub mod surgery;
mod sweep;
pub mod tear;
#[cfg(test)]
mod tests;
mod tick;
mod tissue;
mod touch;
pub mod walk;
mod weave;

pub use params::{LinkedError, LinkedParams};
pub use tissue::Linked;
