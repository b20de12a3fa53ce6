//! Identification and calibration: from records of touch to numbers with errors.
//!
//! In reading order:
//! [`fit`] turns forces and motions into stiffness and damping, and says which of them the record cannot tell apart.
//! [`touch`] finds the stiffness of layers and lumps.
//! Everything here works on slices after the fact; nothing runs inside a tick.

pub mod fit;
pub mod touch;

// what no command reaches yet is test code: docs/rows.md
#[cfg(test)]
mod register;
#[cfg(test)]
mod segments;
#[cfg(test)]
mod source;
