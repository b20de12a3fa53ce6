//! The console: a page in a browser that shows a session and takes the operator's word, served by this process.
//!
//! [`server`] answers on this host alone and refuses what it must, `client` serves one page, `asset` is
//! the page; [`board`] holds what is shown, [`wire`] is how it is written, [`order`] what may be asked and
//! [`Desk`] whoever does it. A session whose sides are processes has one [`mod@line`] to each: [`window`] is its
//! end at a side, [`session`] the desk at the other; [`playback`] is the desk of recordings. `foxglove` shows the same to
//! tools that labs have. No servo thread ever waits for any of it: what is shown
//! leaves it through wait-free cells, and what is told enters so ([`surface`], [`live`]). Source: ours.
//!
//! Whoever shows something else gives a [`board::Board`] what to show, and a [`Desk`] to do what is asked.

mod asset;
pub mod board;
mod client;
mod foxglove;
pub mod line;
pub mod live;
pub mod order;
pub mod playback;
mod random;
mod scene_update;
pub mod server;
pub mod session;
pub mod surface;
pub mod window;
pub mod wire;

use palpate_master::device::pointer::Aim;

pub use board::Board;
pub use order::{Answer, Order};
pub use server::{Console, ConsoleError, ConsoleOptions};

/// Whoever does what an operator asks for.
pub trait Desk: Send + Sync {
    /// Do it, or say why not. It may take a moment; it is never called on a thread that serves others.
    fn take(&self, order: &Order) -> Answer;

    /// Stop all motion at once: called on the thread that heard it, before [`Self::take`] is asked for
    /// the same, so it must not wait.
    fn stop(&self);

    /// Where the operator's pointer is; `said_ms` is the page's own time of it \[ms\], to be shown again.
    /// Must not wait.
    fn aim(&self, aim: Aim, said_ms: f64);

    /// Whether anybody watches: what nobody sees need not be made.
    fn watched(&self, anybody: bool);

    /// What it has under a name that a page asks for beside the files of the page; none but for who gives some.
    /// Must not wait.
    fn resource(&self, _name: &str) -> Option<Resource> {
        None
    }
}

/// What a page may read from a desk: its media type, and itself.
pub type Resource = (&'static str, axum::body::Bytes);
