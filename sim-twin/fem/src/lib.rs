//! Continuum tissue by finite elements.
//!
//! `solid` is a mesh with laws, without units; `element` one hexahedron; `probe` a rigid sphere
//! against the faces of the surface; `sparse` the tangent matrix and the linear solver.
//! `condense` reduces a solid to a patch of its surface, `compliance` keeps how the faces of the patch move under force,
//! `stored` writes and reads that, and `predictor` answers a touch of the patch in microseconds; `masked` lets a
//! late tick feel it. Behind [`palpate_twin::Tissue`] are
//! [`explicit`], the default twin, made for the tick of a servo, and [`implicit`], for any law and
//! viscous materials, too slow for a tick.
//!
//! Inside, lengths are over the extent of the mesh and stresses over its stiffest shear modulus, so
//! that no tolerance depends on the size or the softness of the tissue.

mod compliance;
mod condense;
mod element;
pub mod explicit;
mod front;
pub mod implicit;
mod masked;
mod predictor;
mod probe;
mod solid;
mod sparse;
mod stored;
#[cfg(test)]
mod tests;

pub use compliance::{Compliance, ComplianceError, Patch};
pub use element::Volumetric;
pub use masked::Masked;
pub use predictor::{Answer, Ball, Contacts};
pub use solid::{Solid, SolidError, Support};
pub use stored::StoredError;
