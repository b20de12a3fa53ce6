//! Rehearsal: a script of tool motions, what must hold after it, and a session on the twin alone.
//!
//! Source: ours; tools and post-conditions after seed-001 rows TP-01 to TP-11 and CL-01. [`script`] reads a script:
//! the steps of a procedure and [`after`], its post-conditions. [`specimen`] is a second tissue that is told what
//! instruments did to the first and does the same, so that whatever is measured on it could be measured at the other
//! end of a network as well; [`swept`] is where a blade went. [`watch`] follows a session tick by tick and judges at
//! the end of every step; [`picture`] is what a report draws; [`solo`] is the operator's side without another, in
//! virtual time. The same script drives `palpate lab`. [`task`] has tasks to practise, with their scores.
//!
//! With a person: [`library`] is what there is to touch and to practise, [`wield`] the tools, [`desk`] passes a page's
//! wishes on to [`live`], which runs one scene after another, and [`attempts`] keeps what came of them.

pub mod after;
pub mod attempts;
pub mod coming;
pub mod desk;
pub mod library;
pub mod live;
pub mod picture;
pub mod script;
pub mod solo;
pub mod specimen;
pub mod swept;
pub mod task;
pub mod watch;
pub mod wield;

pub use after::After;
pub use picture::Pictures;
pub use script::Script;
pub use watch::{Outcome, Rehearsed, Watch};
