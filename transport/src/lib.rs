//! Data that travel between the two sides and between threads, and the methods that couple the sides.
//!
//! In reading order:
//! [`clock`] has integer time and the absolute-deadline ticker; [`mailbox`] the wait-free cells between threads.
//! [`frame`] is the haptic frame, [`edit_batch`] transfers edits of the tissue, [`trace`] is the record of one tick.
//! [`coupling`] has the coupling methods and their energy tanks; [`codec`] decides which frames are sent.
//! [`link`] is the seeded model of an impaired network, [`sync`] clock offset and one-way delay with their bound.
//! [`random`] draws numbers from a seed, [`mod@params`] makes tables of parameters. [`cdr`] and [`msg`] encode ROS 2
//! and CRTK messages. All modules but `clock` are pure. The crate in `port/` has the parts that both sides share, the
//! one in `bus/` the connection by zenoh.

pub mod cdr;
pub mod clock;
pub mod codec;
pub mod coupling;
pub mod edit_batch;
pub mod frame;
pub mod link;
pub mod mailbox;
pub mod msg;
pub mod params;
pub mod random;
pub mod sync;
pub mod trace;

pub use clock::{Span, Time};
pub use edit_batch::{BatchChange, EditBatch};
pub use frame::HapticFrame;
pub use params::FieldError;

/// Number of axes of a port: x, y and z of the tool, then the opening of the gripper, all in metres.
pub const AXES: usize = 4;

/// One number for each axis of a port.
pub type Axes = [f64; AXES];
