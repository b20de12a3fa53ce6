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

/// A change of grip: the operator takes the handle otherwise, lets go of it, or takes it again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regrip {
    /// When, since the session began \[s\].
    pub at_s: f64,
    /// How it is held from then on.
    pub grip: Grip,
}

/// How the handle is held over time: a grip, and those that follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct Grips {
    grip: Grip,
    /// What is to come, in order.
    changes: Vec<Regrip>,
    done: usize,
}

impl Grips {
    /// First so, then as each of `changes` says, whose times must not fall.
    #[must_use]
    pub fn new(grip: Grip, changes: &[Regrip]) -> Self {
        Self {
            grip,
            changes: changes.to_vec(),
            done: 0,
        }
    }

    /// How it is held now.
    #[must_use]
    pub fn grip(&self) -> Grip {
        self.grip
    }

    /// Whether somebody holds the handle at any time.
    #[must_use]
    pub fn ever_held(&self) -> bool {
        self.grip != Grip::None || self.changes.iter().any(|change| change.grip != Grip::None)
    }

    /// Take the changes up to `elapsed_s` \[s\]; the new grip, if there was one.
    pub fn follow(&mut self, elapsed_s: f64) -> Option<Grip> {
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

impl From<Grip> for Grips {
    fn from(grip: Grip) -> Self {
        Self::new(grip, &[])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grips_follow_each_other_once() {
        let change = |at_s, grip| Regrip { at_s, grip };
        let changes = [change(1.0, Grip::None), change(2.0, Grip::Light)];
        let mut grips = Grips::new(Grip::Firm, &changes);
        assert!(grips.ever_held() && !Grips::new(Grip::None, &changes[..1]).ever_held());
        assert_eq!((grips.follow(0.5), grips.grip()), (None, Grip::Firm));
        assert_eq!(grips.follow(1.0), Some(Grip::None));
        assert_eq!((grips.follow(1.5), grips.grip()), (None, Grip::None));
        assert_eq!(grips.follow(9.0), Some(Grip::Light));
        assert_eq!(grips.follow(99.0), None);
        // what was missed is not taken one by one
        assert_eq!(
            Grips::new(Grip::Firm, &changes).follow(5.0),
            Some(Grip::Light)
        );
    }
}
