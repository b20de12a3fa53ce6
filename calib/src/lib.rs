//! Identification and calibration: from records of touch to parameters with errors.
//!
//! In reading order:
//! [`fit`] computes stiffness and damping from forces and motions, and which of them the record cannot distinguish.
//! [`touch`] finds the stiffness of layers and lumps.
//! Everything here works on recorded data; nothing runs inside a tick.

pub mod fit;
pub mod touch;
