//! Continuum tissue by finite elements.
//!
//! [`solid`] is a mesh with laws, without units; [`element`] one hexahedron; [`probe`] a rigid sphere
//! against the faces of the surface; [`sparse`] the tangent matrix and the linear solver; [`truth`]
//! the static solution of a press, the judge of every faster solver.
//!
//! Inside, lengths are over the extent of the mesh and stresses over its stiffest shear modulus, so
//! that no tolerance depends on the size or the softness of the tissue.

pub mod condense;
pub mod element;
pub mod front;
pub mod probe;
pub mod solid;
pub mod sparse;
#[cfg(test)]
mod tests;
pub mod truth;

pub use element::Volumetric;
pub use solid::{Solid, SolidError, Support};
pub use truth::{Press, PressError, Settings, Touch};
