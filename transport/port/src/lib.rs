//! What both sides of the link share.
//!
//! [`inbox`] is what a side knows from the other's frames and [`outbox`] what it says of itself after a tick;
//! [`guard`] fades forces and checks limits, [`field`] refuses a parameter. Of simulated devices, [`pace`] is
//! their time, [`mass`] what moves, [`encoder`] what is measured of it, [`watchdog`] lets go of a command that
//! nobody renews, and [`counts`] says what went wrong.

pub mod counts;
pub mod encoder;
pub mod field;
pub mod guard;
pub mod inbox;
pub mod mass;
pub mod outbox;
pub mod pace;
pub mod watchdog;

pub use counts::Counts;
pub use field::FieldError;
