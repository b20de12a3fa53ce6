//! Rehearsal of instrument scripts: the result on a tissue, and its post-conditions.
//!
//! Source: ours; tools and post-conditions after seed-001 rows TP-01 to TP-11 and CL-01. [`specimen`] is a second
//! tissue that receives the changes of the first and applies them, so that every measurement on it is also possible at
//! the other end of a network. [`blade_path`] is the swept path of a blade. [`watch`] follows a session tick by tick
//! and judges at the end of every step; [`drawings`] are the drawings of a report. [`task`] has practice tasks and
//! scores.

pub mod blade_path;
pub mod drawings;
pub mod specimen;
pub mod task;
pub mod watch;

pub use drawings::TissueDrawings;
pub use watch::{RehearsalResult, RehearsalWatch, ScriptOutcome, StepOutcome};
