//! Soft tissue that answers a touch within a tick.
//!
//! Start at [`twin`]: the trait [`Tissue`], the [`Tool`] that touches it and the [`Reaction`] it
//! gives back. [`mesh`] holds neutral descriptions of lattices and their files and the hexahedral
//! blocks of continuum tissue, [`law`] what such tissue is made of, [`model`] the tissue models,
//! [`volume`] voxels, their files and phantoms, [`contact`] the geometry of touching, [`integrate`] the stability advisor, [`crew`] the seam for
//! threads that share a step, and [`scene`] turns a typed scene file into a boxed model. This crate
//! knows nothing of networks, clocks, threads or devices: every step is a pure function of state,
//! tools and `dt`.

pub mod contact;
pub mod crew;
pub mod integrate;
pub mod law;
pub mod mesh;
pub mod model;
pub mod scene;
pub mod twin;
pub mod volume;

pub use twin::{
    Caps, Edit, EditError, EditReport, Instrument, Jaws, Ledger, Reaction, Snapshot, ThawError,
    Tissue, Tool, View,
};

/// A point, velocity or force in the world frame \[SI\].
pub type Vec3 = nalgebra::Vector3<f64>;
