//! The wave impedance over a session: where it begins, and when it is changed.
//!
//! `(u^2 - w^2) / 2 = F v` holds at a port for any b that it uses consistently within a tick, so a
//! change of b makes no energy (teleop E2; checked there by the test of `wave`, which draws b
//! anew for every port). Three rules make it right as well:
//!
//! 1. Every frame says which b its wave was made with, and is decoded with that. The slave takes on the
//!    master's b with the first frame of the new epoch, so its port has one b at any time; the master
//!    sends in the new b while waves of the old one still arrive, for one round trip, which its records
//!    show ([`crate::trace::Events::RETUNING`], by the epoch that the slave echoes). Decoded with the
//!    master's own b, those would be felt `sqrt(b_new / b_old)` too large.
//! 2. Between the two the port at the master is no lossless line: `u^2 - w^2` and `2 F v` differ by
//!    `(b_2 - b_1) v^2 / 2 + F^2 / 2 (1/b_2 - 1/b_1)`, the energy that a line of the new impedance stores
//!    more, or less. The account settles it ([`super::reservoir`]): what is left stays here, what lacks
//!    is not sent, and then the robot, not the hand, gives way until the hand has paid. So a b that is
//!    lowered under a held force is best lowered slowly.
//! 3. Sums of waves are told anew in the new b (`line::Units`), so what was lost before the
//!    change is still worth the same motion.

use serde::{Deserialize, Serialize};

use super::CouplingError;

/// Most changes of one session.
pub const RETUNES_MAX: usize = 8;

/// A change of the wave impedance at a moment of the session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retune {
    /// When it begins, since the master's first tick \[s\].
    pub at_s: f64,
    /// Impedance that it ends at \[N s/m\].
    pub impedance_nspm: f64,
    /// Time that it takes \[s\]; 0 is at once.
    #[serde(default = "default_over_s")]
    pub over_s: f64,
}

/// A change within a fifth of a second is no jump of the force.
fn default_over_s() -> f64 {
    0.2
}

/// All changes of a session in their order, none while another is under way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Retune>", into = "Vec<Retune>")]
pub struct Schedule {
    changes: [Option<Retune>; RETUNES_MAX],
}

/// More changes than a session can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("coupling.retune has {0} changes; expected at most {RETUNES_MAX}")]
pub struct TooMany(usize);

impl TryFrom<Vec<Retune>> for Schedule {
    type Error = TooMany;

    fn try_from(changes: Vec<Retune>) -> Result<Self, TooMany> {
        let mut schedule = Self::default();
        if changes.len() > RETUNES_MAX {
            return Err(TooMany(changes.len()));
        }
        for (place, change) in schedule.changes.iter_mut().zip(changes) {
            *place = Some(change);
        }
        Ok(schedule)
    }
}

impl From<Schedule> for Vec<Retune> {
    fn from(schedule: Schedule) -> Self {
        schedule.changes.into_iter().flatten().collect()
    }
}

impl Schedule {
    /// One change and no other.
    #[must_use]
    pub fn once(change: Retune) -> Self {
        let mut schedule = Self::default();
        schedule.changes[0] = Some(change);
        schedule
    }

    /// Impedance at `since_s` after the master's first tick, for a session that begins at
    /// `first_nspm` \[N s/m\].
    #[must_use]
    pub fn impedance_nspm(&self, first_nspm: f64, since_s: f64) -> f64 {
        let mut b = first_nspm;
        for change in self.changes.iter().flatten() {
            if since_s < change.at_s {
                break;
            }
            let done = if change.over_s > 0.0 {
                ((since_s - change.at_s) / change.over_s).min(1.0)
            } else {
                1.0
            };
            b += done * (change.impedance_nspm - b);
        }
        b
    }

    /// The impedances that its changes end at \[N s/m\].
    pub(super) fn impedances_nspm(&self) -> impl Iterator<Item = f64> {
        self.changes
            .iter()
            .flatten()
            .map(|change| change.impedance_nspm)
    }

    /// Check that every change is possible and that they follow each other.
    ///
    /// # Errors
    /// [`CouplingError`] names the first field that is out of its range.
    pub(super) fn validate(&self) -> Result<(), CouplingError> {
        let mut free_s = 0.0;
        for change in self.changes.iter().flatten() {
            let (at_s, b, over_s) = (change.at_s, change.impedance_nspm, change.over_s);
            let free = "0 to 86400 s, after the change before has ended";
            CouplingError::unless_in(free_s..=86_400.0, "retune.at_s", at_s, free)?;
            let within = "0.1 to 1000 N s/m";
            CouplingError::unless_in(0.1..=1000.0, "retune.impedance_nspm", b, within)?;
            CouplingError::unless_in(0.0..=60.0, "retune.over_s", over_s, "0 to 60 s")?;
            free_s = at_s + over_s;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(changes: &[(f64, f64, f64)]) -> Schedule {
        let changes: Vec<Retune> = changes
            .iter()
            .map(|&(at_s, impedance_nspm, over_s)| Retune {
                at_s,
                impedance_nspm,
                over_s,
            })
            .collect();
        Schedule::try_from(changes).expect("few")
    }

    #[test]
    fn impedance_follows_its_changes() {
        let plan = schedule(&[(1.0, 30.0, 0.5), (2.0, 3.0, 0.0)]);
        assert_eq!(plan.validate(), Ok(()));
        for (at_s, expected) in [
            (0.0, 10.0),
            (1.25, 20.0),
            (1.5, 30.0),
            (1.9, 30.0),
            (2.0, 3.0),
        ] {
            assert_eq!(plan.impedance_nspm(10.0, at_s), expected, "at {at_s} s");
        }
        assert_eq!(Schedule::default().impedance_nspm(10.0, 5.0), 10.0);
        let change = plan.changes[0].expect("one");
        assert_eq!(Schedule::once(change), schedule(&[(1.0, 30.0, 0.5)]));
    }

    #[test]
    fn changes_that_overlap_or_lie_out_of_range_are_named() {
        let field = |plan: Schedule| plan.validate().map_err(|error| error.field);
        let overlap = schedule(&[(1.0, 30.0, 0.5), (1.2, 3.0, 0.0)]);
        assert_eq!(field(overlap), Err("retune.at_s"));
        assert_eq!(
            field(schedule(&[(1.0, 0.0, 0.5)])),
            Err("retune.impedance_nspm")
        );
        assert_eq!(
            field(schedule(&[(1.0, 1.0, f64::NAN)])),
            Err("retune.over_s")
        );
        let many = vec![schedule(&[(1.0, 1.0, 0.0)]).changes[0].expect("one"); 9];
        assert!(Schedule::try_from(many).is_err());
    }
}
