//! The console: a page in a browser that shows a session and passes the operator's orders, served by this process.
//!
//! In reading order:
//! [`serve`] opens the page for a command. [`server`] answers on this host alone; `client` serves one page, `asset` has the
//! files of `page/`. What is shown, and who answers orders, are a board and a desk of [`palpate_session::monitor`].
//! [`rehearsal`] is a script or a person on the twin alone, with the built-in scripts of `scripts/`.
//! [`playback`] shows recordings. `foxglove` and `scene_update` serve the same to viewers of Foxglove's protocol, and
//! `random` makes the token of a run.

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
