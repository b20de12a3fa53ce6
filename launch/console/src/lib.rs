//! Console: a browser page that shows a session and passes on the operator's orders, served by this process.
//!
//! In reading order: [`serve`] opens the page for a command. [`server`] serves this host alone; `client` serves one
//! page, `asset` has the files of `page/`. The page shows a [`palpate_session::monitor::LatestState`] and sends
//! orders to a [`palpate_session::monitor::MonitorController`]. [`rehearsal`] runs a script, or serves a person, on
//! the twin alone; `scripts/` has the built-in scripts. [`playback`] shows recordings. `foxglove` and `scene_update`
//! serve the same state to viewers of Foxglove's protocol, and `token` generates the token of a run.

mod asset;
mod client;
mod foxglove;
pub mod playback;
pub mod rehearsal;
mod scene_update;
pub mod serve;
pub mod server;
mod token;
mod viewer_gate;

pub use server::{Console, ConsoleError, ConsoleOptions};
