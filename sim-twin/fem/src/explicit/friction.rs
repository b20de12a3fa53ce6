//! Friction between one tool and the surface.
//!
//! Source: Coulomb's law with an elastic stage before slip (Curnier 1984): a spring between tool and tissue
//! whose force never exceeds `friction` times the normal force. A spring that becomes stiffer keeps its
//! force, one that becomes softer its length. Neither generates energy.

use super::skin::ToolContact;
use palpate_twin::Vec3;
use palpate_twin::law::Real;

/// Ratio of tangential to normal stiffness of the contact.
const TANGENT: f64 = 0.5;

/// Tangential spring between a tool and the surface.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct FrictionSpring {
    /// Displacement of the tool relative to the sticking surface.
    pub(super) extension: [f64; 3],
    pub(super) stiffness: f64,
    /// Energy dissipated by slip and not yet in the energy balance.
    pub(super) dissipated: f64,
}

impl FrictionSpring {
    /// Returns the stored energy.
    pub(super) fn energy(&self) -> f64 {
        0.5 * self.stiffness * Vec3::from(self.extension).norm_squared()
    }

    /// Ends the contact; the stored energy is dissipated.
    pub(super) fn release(&mut self) {
        let energy = self.energy();
        *self = Self {
            dissipated: self.dissipated + energy,
            ..Self::default()
        };
    }

    /// Returns the force on the tool.
    pub(super) fn force(&self) -> [f32; 3] {
        self.extension
            .map(|extension| f32::of(-self.stiffness * extension))
    }

    /// Advances by `dt` with a tool of velocity `speed`; returns the force on the tool.
    pub(super) fn step(
        &mut self,
        contact: &ToolContact,
        speed: Vec3,
        dt: f64,
        friction: f64,
    ) -> [f32; 3] {
        let before = self.energy();
        let out = Vec3::from(contact.force);
        let size = out.norm();
        if !(size > 0.0 && size.is_finite()) {
            self.release();
            return [0.0; 3];
        }
        let normal = out / size;
        let stiffness = TANGENT * f64::from(contact.stiffness);
        let mut extension = Vec3::from(self.extension);
        let force_before = extension * self.stiffness;
        if stiffness > self.stiffness {
            extension *= self.stiffness / stiffness;
        }
        extension -= normal * normal.dot(&extension);
        let relative = (speed - Vec3::from(contact.velocity.map(f64::from))) * dt;
        extension += relative - normal * normal.dot(&relative);
        let limit = friction * size / stiffness;
        let length = extension.norm();
        if length > limit {
            extension *= limit / length;
        }
        (self.extension, self.stiffness) = (extension.into(), stiffness);
        // the work uses the mean of the forces before and after, as for nodes and tools
        let work = 0.5 * (force_before + extension * stiffness).dot(&relative);
        self.dissipated += before + work - self.energy();
        self.force()
    }
}
