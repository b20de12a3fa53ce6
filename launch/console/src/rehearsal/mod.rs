//! Rehearsal: a script of tool motions, what must hold after it, and a session on the twin alone.
//!
//! Source: ours. [`script`] reads a script: the steps of a procedure and its post-conditions
//! ([`palpate_session::config::after`]); what holds of them is judged by [`palpate_analysis::rehearsed`]. [`solo`] is the
//! operator's side without another, in virtual time, and [`run`] plays a script on it. The same script drives `palpate lab`.
//!
//! With a person: [`library`] is what there is to touch and to practise, [`wield`] the tools, [`desk`] passes a page's
//! wishes on to [`live`], which runs one scene after another, [`attempts`] keeps what came of them, and [`judged`] judges each.

pub mod attempts;
pub mod coming;
pub mod desk;
pub mod judged;
pub mod library;
pub mod live;
pub mod run;
pub mod script;
pub mod solo;
pub mod wield;

pub use script::Script;
