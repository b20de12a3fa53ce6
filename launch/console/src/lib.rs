//! Console: a browser page that shows a session and passes on the operator's orders, served by this process.
//!
//! In reading order: [`serve`] opens the page for a command. [`server`] serves this host alone; `client` serves one
//! page, `asset` has the files of `page/`. The shown state and the controller of the orders are a
//! [`palpate_session::monitor::LatestState`] and a [`palpate_session::monitor::MonitorController`]. [`rehearsal`] is a
//! script or a person on the twin alone, with the built-in scripts of `scripts/`. [`playback`] shows recordings.
//! `foxglove` and `scene_update` serve the same state to viewers of Foxglove's protocol, and `token` generates the
//! token of a run.

mod asset;
mod client;
mod foxglove;
pub mod playback;
pub mod rehearsal;
mod scene_update;
pub mod serve;
pub mod server;
mod token;

pub use server::{Console, ConsoleError, ConsoleOptions};
