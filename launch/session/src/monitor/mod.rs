//! Monitor of a session: display of a live side, and the operator's orders to it.
//!
//! [`latest_state`] holds the state that is shown, [`wire`] its encoding, [`order`] and [`request`] the orders, and
//! [`MonitorController`] executes them. A session whose sides are processes has an [`ipc`] link to each:
//! [`side_monitor`] is its end at a side, [`controller`] the other one. No servo thread ever waits for any of it:
//! state leaves the servo through wait-free cells, and orders enter it so ([`surface`], [`coupling_change`]).
//! Source: ours.
//!
//! Another source of state writes into a [`LatestState`] and implements [`MonitorController`].

mod blinding;
pub mod controller;
pub mod coupling_change;
pub mod ipc;
pub mod latest_state;
pub mod order;
pub mod request;
pub mod side_monitor;
pub mod surface;
pub mod wire;

use bytes::Bytes;
use palpate_master::device::pointer::PointerTarget;

pub use latest_state::LatestState;
pub use order::{OperatorOrder, OrderReply};

/// Executor of an operator's orders.
pub trait MonitorController: Send + Sync {
    /// Executes an order, or returns the reason against it. It may block; it is never called on a thread that
    /// serves others.
    fn execute(&self, order: &OperatorOrder) -> OrderReply;

    /// Stops all motion at once. It is called on the receiving thread before [`Self::execute`] gets the same order,
    /// so it must not wait.
    fn stop(&self);

    /// Takes the target of the operator's pointer; `page_time_ms` is the page's own time of it \[ms\], which is
    /// shown again. Must not wait.
    fn aim(&self, aim: PointerTarget, page_time_ms: f64);

    /// Takes whether anybody watches; without a viewer nothing need be produced.
    fn set_watched(&self, anybody: bool);

    /// Resource of this name, for a page that requests it beside its files; none by default. Must not wait.
    fn resource(&self, _name: &str) -> Option<PageResource> {
        None
    }
}

/// A resource for a page: media type and bytes.
pub type PageResource = (&'static str, Bytes);
