//! The console: a page in a browser that shows a session and takes the operator's word, served by this process.
//!
//! [`server`] answers on this host alone and refuses what it must, `client` serves one page, `asset` is the page; what it
//! shows and whom it asks is of [`palpate_session::monitor`]. [`playback`] is the desk of recordings, [`rehearsal`] a
//! script or a person on the twin alone. `foxglove` shows the same to tools that labs have; [`serve`] opens it for a command. Source: ours.

mod asset;
mod client;
mod foxglove;
pub mod playback;
mod random;
pub mod rehearsal;
mod scene_update;
pub mod serve;
pub mod server;

pub use server::{Console, ConsoleError, ConsoleOptions};
