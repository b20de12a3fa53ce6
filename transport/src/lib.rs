//! What travels between places and between threads.
//!
//! In reading order:
//! [`clock`] has integer time and the absolute-deadline ticker; [`mailbox`] the wait-free cells in which threads meet.
//! [`frame`] is the haptic frame, [`stroke`] what instruments did, sent until it is done, [`trace`] the record of one tick.
//! [`coupling`] has the coupling methods and their energy account; [`codec`] decides which frames are sent.
//! [`link`] is the seeded model of an impaired network, [`sync`] clock offset and one-way delay with their bound.
//! [`chance`] draws numbers from a seed. [`cdr`] and [`msg`] are the bytes of ROS 2 and CRTK messages.
//! All but `clock` is pure. The crates in `port/` and `bus/` have what both sides share, and zenoh.

pub mod cdr;
pub mod chance;
pub mod clock;
pub mod codec;
pub mod coupling;
pub mod frame;
pub mod link;
pub mod mailbox;
pub mod msg;
pub mod stroke;
pub mod sync;
pub mod trace;

pub use clock::{Span, Time};
pub use frame::HapticFrame;
pub use stroke::{Stroke, StrokeChange};

/// Ports of the coupling: x, y, z of the tool \[m\], then the opening of the gripper \[m\].
pub const AXES: usize = 4;

/// One number a port axis.
pub type Axes = [f64; AXES];
