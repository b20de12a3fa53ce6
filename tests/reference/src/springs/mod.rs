//! Reference for `palpate-springs`: stability analysis of its integrators.

pub mod stability;
