//! What a script of tool motions did to a tissue, and whether what must hold after it does.
//!
//! Source: ours; tools and post-conditions after seed-001 rows TP-01 to TP-11 and CL-01. [`specimen`] is a second tissue
//! that is told what instruments did to the first and does the same, so that whatever is measured on it could be measured
//! at the other end of a network as well; [`swept`] is where a blade went. [`watch`] follows a session tick by tick and
//! judges at the end of every step; [`picture`] is what a report draws. [`task`] has tasks to practise, with their scores.

pub mod picture;
pub mod specimen;
pub mod swept;
pub mod task;
pub mod watch;

pub use picture::Pictures;
pub use watch::{Outcome, Rehearsed, Watch};
