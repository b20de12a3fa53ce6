//! Identification, calibration and registration: from records of touch to numbers with errors.
//!
//! In reading order:
//! [`fit`] turns forces and motions into stiffness and damping, and says which of them the record cannot tell apart.
//! [`touch`] finds the stiffness of layers and lumps. [`register`] lays the frame of a device on that of a scene.
//! [`source`] keeps who tuned apart from who validates.
//! Everything here works on slices after the fact; nothing runs inside a tick.

pub mod fit;
pub mod register;
pub mod source;
pub mod touch;
