//! Soft tissue that computes its reaction to a tool within one tick: the interface and parts shared by all models.
//!
//! In reading order:
//! [`twin`] has the trait [`Tissue`], the [`Tool`] that touches it with its shape ([`tool_shape`]), and the [`Reaction`] of the tissue.
//! [`edits`] has topology changes of tissue that can be cut, [`shape`] the shapes of its regions.
//! [`contact`] is the geometry of contact, [`law`] has the constitutive laws of a continuum, [`lattice`] is a neutral
//! description of point masses and links, [`stability`] computes stable steps. Models share [`extrapolation`],
//! [`snapshot`], [`checksum`], [`stiffness_edit`] and [`conjugate_gradient`].
//!
//! The crates in the folders beside `src` depend on this one. `geometry` has meshes, volumes and their files. `fem`,
//! `voxel` and `springs` are models that do not depend on each other. `scene` builds a boxed model from a typed scene
//! file. None depends on networks, clocks, threads or devices: every step is a pure function of state, tools and `dt`.

pub mod checksum;
pub mod conjugate_gradient;
pub mod contact;
pub mod edits;
pub mod extrapolation;
pub mod lattice;
pub mod law;
pub mod shape;
pub mod snapshot;
pub mod stability;
pub mod stiffness_edit;
pub mod tool_shape;
pub mod twin;

pub use tool_shape::ToolShape;
pub use twin::{
    Edit, EditError, EditReport, Instrument, Jaws, Reaction, Snapshot, SnapshotError, Tissue,
    TissueCaps, TissueEnergy, TissueView, Tool,
};

/// A point, velocity or force in the world frame \[SI\].
pub type Vec3 = nalgebra::Vector3<f64>;
