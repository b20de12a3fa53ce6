//! Spring tissues that implement the trait [`palpate_twin::Tissue`].
//!
//! [`idms`] is a lattice of point masses, springs and dashpots; [`flat`] is a massless sheet.

pub mod flat;
pub mod idms;
