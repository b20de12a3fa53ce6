//! Friction between one tool and what it touches.
//!
//! Source: Coulomb's law with an elastic stage before the slip (Curnier 1984): a spring between tool
//! and tissue whose force never exceeds `friction` times the normal force. A spring that becomes
//! stiffer keeps its force, one that becomes softer its length, so that neither makes energy.

use super::skin::Met;
use palpate_twin::Vec3;
use palpate_twin::law::Real;

/// Tangential over normal stiffness of the contact.
const TANGENT: f64 = 0.5;

/// The spring.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Stick {
    /// How far the tool is ahead of what sticks to it.
    pub(super) way: [f64; 3],
    pub(super) stiffness: f64,
    /// Energy that slipping took and that is not booked yet.
    pub(super) spent: f64,
}

impl Stick {
    /// Stored energy.
    pub(super) fn energy(&self) -> f64 {
        0.5 * self.stiffness * Vec3::from(self.way).norm_squared()
    }

    /// Energy taken since the last time.
    pub(super) fn take_spent(&mut self) -> f64 {
        std::mem::take(&mut self.spent)
    }

    /// The contact is over.
    pub(super) fn let_go(&mut self) {
        let energy = self.energy();
        *self = Self {
            spent: self.spent + energy,
            ..Self::default()
        };
    }

    /// Force on the tool.
    pub(super) fn force(&self) -> [f32; 3] {
        self.way.map(|way| f32::of(-self.stiffness * way))
    }

    /// Goes on by `dt` with a tool of velocity `speed`; gives the force on the tool.
    pub(super) fn step(&mut self, met: &Met, speed: Vec3, dt: f64, friction: f64) -> [f32; 3] {
        let before = self.energy();
        let out = Vec3::from(met.force);
        let size = out.norm();
        if !(size > 0.0 && size.is_finite()) {
            self.let_go();
            return [0.0; 3];
        }
        let normal = out / size;
        let stiffness = TANGENT * f64::from(met.slope);
        let mut way = Vec3::from(self.way);
        let pulled = way * self.stiffness;
        if stiffness > self.stiffness {
            way *= self.stiffness / stiffness;
        }
        way -= normal * normal.dot(&way);
        let relative = (speed - Vec3::from(met.velocity.map(f64::from))) * dt;
        way += relative - normal * normal.dot(&relative);
        let limit = friction * size / stiffness;
        let long = way.norm();
        if long > limit {
            way *= limit / long;
        }
        (self.way, self.stiffness) = (way.into(), stiffness);
        // of this way, half was made against the force before, as nodes and tools count it
        let work = 0.5 * (pulled + way * stiffness).dot(&relative);
        self.spent += before + work - self.energy();
        self.force()
    }
}
