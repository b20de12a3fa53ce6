//! What both sides of the link share.
//!
//! In reading order:
//! [`inbox`] is what a side knows from the other's frames, [`outbox`] what it says of itself after a tick.
//! [`guard`] fades forces and checks limits; [`counts`] counts what went wrong; [`field`] refuses a parameter.
//! Of simulated devices, [`mass`] is what moves, [`pace`] its time, [`encoder`] what is measured of it;
//! [`watchdog`] lets go of a command that nobody renews.

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
