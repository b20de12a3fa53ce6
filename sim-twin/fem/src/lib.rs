//! Continuum tissue by finite elements.
//!
//! `solid` is a mesh with laws, without units; `element` is one hexahedron or tetrahedron. `sphere_contact`
//! presses a rigid sphere against the faces of the surface. `sparse` holds the tangent matrix and the linear
//! solver. `condensation` reduces a solid to a patch of its surface with the dense factorisation in `front`.
//! `compliance` is the resulting table, and `compliance_bytes` writes and reads it. `predictor` computes the
//! contact force of a sphere on the patch in microseconds. `deadline_fallback` uses it for late ticks.
//! `static_press` solves a press offline, as the truth. Two tissues implement [`palpate_twin::Tissue`]:
//! [`explicit`], the default twin, is fast enough for the servo tick. [`implicit`] accepts any law and viscous
//! materials and is too slow for the tick.
//!
//! Internally, lengths are divided by the extent of the mesh (in [`explicit`] by its shortest edge) and stresses by its
//! largest shear modulus. No
//! tolerance depends on the size or the softness of the tissue.

mod axial_press;
mod compliance;
mod compliance_bytes;
mod condensation;
mod deadline_fallback;
mod element;
pub mod explicit;
mod front;
pub mod implicit;
mod predictor;
mod solid;
mod sparse;
mod sphere_contact;
mod static_press;
#[cfg(test)]
mod tests;

pub use axial_press::AxialPress;
pub use compliance::{ComplianceError, ComplianceTable, Patch};
pub use compliance_bytes::ComplianceDecodeError;
pub use deadline_fallback::FallbackPredictor;
pub use predictor::{ContactSolver, ContactSphere, SphereForce};
pub use solid::Solid;
pub use static_press::{PressedBlock, StaticPressError};
