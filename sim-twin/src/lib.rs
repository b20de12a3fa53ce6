//! Soft tissue that answers a touch within a tick: what every model and every caller shares.
//!
//! In reading order:
//! [`twin`] has the trait [`Tissue`], the [`Tool`] that touches it and the [`Reaction`] it gives back.
//! [`edits`] is what was done to tissue that can be cut, [`shape`] where a part of it is.
//! [`contact`] is the geometry of touching, [`law`] what a continuum is made of, [`lattice`] a neutral description of
//! point masses and links, [`integrate`] the stability advisor. Models share [`hold`], [`snapshot`], [`seal`], [`stiffen`] and
//! [`conjugate`].
//!
//! The crates in the folders beside `src` know this one: `geometry` has meshes, volumes and their files; `fem`, `voxel`
//! and `springs` are models, which never know each other; `scene` turns a typed scene file into a boxed model. None of
//! them knows networks, clocks, threads or devices: every step is a pure function of state, tools and `dt`.

pub mod conjugate;
pub mod contact;
pub mod edits;
pub mod hold;
pub mod integrate;
pub mod lattice;
pub mod law;
pub mod seal;
pub mod shape;
pub mod snapshot;
pub mod stiffen;
pub mod twin;

pub use twin::{
    Caps, Edit, EditError, EditReport, Instrument, Jaws, Ledger, Reaction, Snapshot, ThawError,
    Tissue, Tool, View,
};

/// A point, velocity or force in the world frame \[SI\].
pub type Vec3 = nalgebra::Vector3<f64>;
