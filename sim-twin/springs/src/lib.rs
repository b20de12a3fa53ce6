//! Tissue of springs behind the trait [`palpate_twin::Tissue`].
//!
//! [`idms`] is a lattice of point masses, springs and dashpots; [`flat`] a sheet without mass.

pub mod flat;
pub mod idms;
