//! Continuum tissue by finite elements.
//!
//! [`solid`] is a mesh with laws, without units; [`element`] one hexahedron; [`probe`] a rigid sphere
//! against the faces of the surface; [`sparse`] the tangent matrix and the linear solver; [`truth`]
//! the static solution of a press, the judge of every faster solver. [`condense`] reduces a solid to
//! a patch of its surface, [`compliance`] keeps how the faces of the patch move under force,
//! [`stored`] writes and reads that, and [`predictor`] answers a touch of the patch in microseconds; [`masked`] lets a
//! late tick feel it. Behind [`palpate_twin::Tissue`] are
//! [`explicit`], the default twin, made for the tick of a servo, and [`implicit`], for any law and
//! viscous materials, too slow for a tick.
//!
//! Inside, lengths are over the extent of the mesh and stresses over its stiffest shear modulus, so
//! that no tolerance depends on the size or the softness of the tissue.

pub mod compliance;
pub mod condense;
pub mod element;
pub mod explicit;
pub mod front;
pub mod implicit;
pub mod masked;
pub mod predictor;
pub mod probe;
pub mod solid;
pub mod sparse;
pub mod stored;
#[cfg(test)]
mod tests;
pub mod truth;

pub use compliance::{Compliance, ComplianceError, Patch};
pub use element::Volumetric;
pub use masked::Masked;
pub use predictor::{Answer, Ball, Contacts, DEPTH_OVER_RADIUS_MAX};
pub use solid::{Solid, SolidError, Support};
pub use stored::StoredError;
pub use truth::{Press, PressError, Settings, Touch};
