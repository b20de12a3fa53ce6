//! Rehearsal: a script of tool motions with post-conditions, or a person, in a session on the twin alone.
//!
//! Source: ours. [`script`] reads a script: the steps of a procedure and its post-conditions
//! ([`palpate_session::config::postcondition`]), which [`palpate_analysis::rehearsal`] judges. [`solo`] is the
//! operator's side without another, in virtual time, and [`run`] plays a script on it. The same script drives `palpate
//! lab`.
//!
//! With a person: [`library`] has the scenes and tasks, [`tool_changer`] the tools. [`controller`] passes the requests
//! of a page to [`live`], which runs one scene after another. [`pending`] builds the next scene, [`attempts`] stores
//! attempts, and [`verdict`] judges each scene.

pub mod attempts;
pub mod controller;
pub mod library;
pub mod live;
pub mod pending;
pub mod run;
pub mod script;
pub mod solo;
pub mod tool_changer;
pub mod verdict;

pub use script::RehearsalScript;
