//! Pages of studies: stability and transparency, which lumps can be felt, with maps of `heat`, linked
//! volumes, what a trial found, and the same hand under other circumstances.
//!
//! Source: ours. They are written as [`palpate_analysis::report`] writes that of a session.

mod atlas;
mod detect;
mod heat;
mod linked;
pub mod trial;
pub mod what_if;

pub use atlas::render as atlas;
pub use detect::render as detect;
pub use linked::render as linked;
