//! What both sides of the link share.
//!
//! [`inbox`] is what a side knows from the other's frames.

pub mod inbox;
