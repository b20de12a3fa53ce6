//! Tissue models, one file or folder each, all behind the trait [`crate::Tissue`].

pub mod conjugate;
pub mod fem;
pub mod flat;
pub(crate) mod hold;
pub mod idms;
pub mod linked;
pub(crate) mod seal;
pub(crate) mod stiffen;

pub use idms::{Idms, IdmsError, IdmsParams};
