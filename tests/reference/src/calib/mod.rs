//! Reference for `palpate-calib`: identification and registration rows without a command.
//!
//! [`registration`] fits one frame to another, [`stiffness_segments`] fits stiffness to segments of a record,
//! [`validation`] keeps tuning and validation sources separate.

pub mod registration;
pub mod stiffness_segments;
pub mod validation;
