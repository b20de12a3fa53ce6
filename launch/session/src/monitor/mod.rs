//! The monitor of a session: what a live side shows, and how it is commanded, whoever watches.
//!
//! [`mod@board`] holds what is shown, [`wire`] is how it is written, [`order`] and [`request`] what may be asked and [`Desk`]
//! whoever does it. A session whose sides are processes has one [`mod@line`] to each: [`window`] is its end at a side,
//! [`desk`] the desk at the other. No servo thread ever waits for any of it: what is shown leaves it through wait-free
//! cells, and what is told enters so ([`surface`], [`live`]). Source: ours.
//!
//! Whoever shows something else gives a [`board::Board`] what to show, and a [`Desk`] to do what is asked.

mod blind;
pub mod board;
pub mod desk;
pub mod line;
pub mod live;
pub mod order;
pub mod request;
pub mod surface;
pub mod window;
pub mod wire;

use bytes::Bytes;
use palpate_master::device::pointer::Aim;

pub use board::Board;
pub use order::{Answer, Order};

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
pub type Resource = (&'static str, Bytes);
