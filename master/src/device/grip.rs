//! Hand that holds a simulated handle: a lumped mass and an impedance (teleop RP-1).
//!
//! The mass moves with the handle; spring K and damper B pull both to the intended
//! position: F = K (intended - position) + B (intended velocity - velocity).

use serde::{Deserialize, Serialize};

/// Grip of the operator on the handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grip {
    /// 0.15 kg, 300 N/m, 4 N s/m.
    #[default]
    Firm,
    /// 0.05 kg, 60 N/m, 1 N s/m.
    Light,
    /// No hand; the handle reads as not present.
    None,
}

impl Grip {
    /// Hand of this grip; all zeros for no hand.
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

/// Change of grip: another grip, a release, or a new grasp.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GripChange {
    /// Time since the start of the session \[s\].
    pub at_s: f64,
    /// Grip from then on.
    pub grip: Grip,
}

/// Grips over time: the present one, and later changes.
#[derive(Debug, Clone, PartialEq)]
pub struct GripSchedule {
    grip: Grip,
    /// Changes, in order of time.
    changes: Vec<GripChange>,
    done: usize,
}

impl GripSchedule {
    /// Schedule from a first grip and `changes`, whose times must not decrease.
    #[must_use]
    pub fn new(grip: Grip, changes: &[GripChange]) -> Self {
        Self {
            grip,
            changes: changes.to_vec(),
            done: 0,
        }
    }

    /// Present grip.
    #[must_use]
    pub fn grip(&self) -> Grip {
        self.grip
    }

    /// True if a hand holds the handle at any time.
    #[must_use]
    pub fn ever_held(&self) -> bool {
        self.grip != Grip::None || self.changes.iter().any(|change| change.grip != Grip::None)
    }

    /// Applies the changes up to `elapsed_s` \[s\]; returns the new grip, if there was a change.
    pub fn advance(&mut self, elapsed_s: f64) -> Option<Grip> {
        let before = self.done;
        while let Some(change) = self.changes.get(self.done)
            && change.at_s <= elapsed_s
        {
            self.grip = change.grip;
            self.done += 1;
        }
        (self.done > before).then_some(self.grip)
    }
}

impl From<Grip> for GripSchedule {
    fn from(grip: Grip) -> Self {
        Self::new(grip, &[])
    }
}

/// Lumped mass and impedance of a hand, the same on every axis.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_grip_change_applies_once() {
        let change = |at_s, grip| GripChange { at_s, grip };
        let changes = [change(1.0, Grip::None), change(2.0, Grip::Light)];
        let mut grips = GripSchedule::new(Grip::Firm, &changes);
        assert!(grips.ever_held() && !GripSchedule::new(Grip::None, &changes[..1]).ever_held());
        assert_eq!((grips.advance(0.5), grips.grip()), (None, Grip::Firm));
        assert_eq!(grips.advance(1.0), Some(Grip::None));
        assert_eq!((grips.advance(1.5), grips.grip()), (None, Grip::None));
        assert_eq!(grips.advance(9.0), Some(Grip::Light));
        assert_eq!(grips.advance(99.0), None);
        // of several due changes the last one counts
        assert_eq!(
            GripSchedule::new(Grip::Firm, &changes).advance(5.0),
            Some(Grip::Light)
        );
    }
}
