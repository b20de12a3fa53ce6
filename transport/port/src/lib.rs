//! Parts that both sides of the link share.
//!
//! In reading order:
//! [`tick_inputs`] has the inputs of a tick, [`inbox`] the received state of the other side, `frame_bounds` the bounds of
//! its frames, [`tick_report`] the frame and record after a tick. [`guard`] fades forces, [`limit`] clamps them.
//! Of simulated devices, [`mass`] is the moving body, [`fixed_stepper`] its time, [`encoder`] its measured motion;
//! [`watchdog`] releases a command that is not renewed.

pub mod encoder;
pub mod fixed_stepper;
mod frame_bounds;
pub mod guard;
pub mod inbox;
pub mod limit;
pub mod mass;
pub mod tick_inputs;
pub mod tick_report;
pub mod watchdog;

pub use tick_inputs::TickInputs;
