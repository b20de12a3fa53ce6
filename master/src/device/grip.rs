//! The hand that holds a simulated handle: a lump and an impedance (teleop RP-1).
//!
//! The lump moves with the handle; spring K and damper B pull both to where the operator means to
//! be: F = K (intended - position) + B (intended velocity - velocity).

use serde::{Deserialize, Serialize};

/// How tightly the operator holds the handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grip {
    /// 0.15 kg, 300 N/m, 4 N s/m.
    #[default]
    Firm,
    /// 0.05 kg, 60 N/m, 1 N s/m.
    Light,
    /// Nobody holds the handle; it reads as not present.
    None,
}

impl Grip {
    /// The hand of this grip; no hand is all zeros.
    #[must_use]
    pub fn hand(self) -> Hand {
        let (mass_kg, stiffness_npm, damping_nspm) = match self {
            Self::Firm => (0.15, 300.0, 4.0),
            Self::Light => (0.05, 60.0, 1.0),
            Self::None => (0.0, 0.0, 0.0),
        };
        Hand {
            mass_kg,
            stiffness_npm,
            damping_nspm,
        }
    }
}

/// Lump and impedance of a hand, the same on every axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Hand {
    /// Mass that moves with the handle \[kg\].
    pub mass_kg: f64,
    /// Stiffness K to the intended position \[N/m\].
    pub stiffness_npm: f64,
    /// Damping B to the intended velocity \[N s/m\].
    pub damping_nspm: f64,
}

impl Hand {
    /// Force on the handle \[N\], from the errors of position \[m\] and velocity \[m/s\].
    #[must_use]
    pub fn force_n(&self, position_error_m: f64, velocity_error_mps: f64) -> f64 {
        self.stiffness_npm * position_error_m + self.damping_nspm * velocity_error_mps
    }
}
