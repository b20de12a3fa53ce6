//! Wave impedance over a session: its initial value and its changes.
//!
//! `(u^2 - w^2) / 2 = F v` holds at a port for any b that it uses consistently within a tick, so a
//! change of b makes no energy (teleop E2). The test of `wave`, which draws b anew for every port,
//! checks this. Three rules make it correct as well:
//!
//! 1. Every frame contains the b of its wave, and is decoded with that. The slave adopts the master's b
//!    with the first frame of the new epoch, so its port has one b at any time. The master sends with the new
//!    b while waves of the old one still arrive, for one round trip, which its records show
//!    ([`crate::trace::EventFlags::RETUNING`], by the epoch that the slave echoes). Decoded with the
//!    master's own b, those would render `sqrt(b_new / b_old)` too large.
//! 2. Between the two the port at the master is no lossless line: `u^2 - w^2` and `2 F v` differ by
//!    `(b_2 - b_1) v^2 / 2 + F^2 / 2 (1/b_2 - 1/b_1)`, the difference in stored energy of a line of the new
//!    impedance. The tank covers it ([`super::energy_tank`]): a surplus stays here, a deficit is not sent,
//!    and then the robot, not the hand, yields until the hand has paid. So lower b slowly while a force
//!    is held.
//! 3. Sums of waves are rescaled to the new b (`WaveUnits`), so waves lost before the change still give
//!    the same motion.

use serde::{Deserialize, Serialize};

use crate::FieldError;
use crate::params::RangeChecked as _;

/// Most changes of one session.
const RETUNES_MAX: usize = 8;

/// A change of the wave impedance at a time of the session.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImpedanceChange {
    /// Time of its start, since the master's first tick \[s\].
    pub at_s: f64,
    /// Final impedance \[N s/m\].
    pub impedance_nspm: f64,
    /// Duration \[s\]; 0 is at once.
    #[serde(default = "default_over_s")]
    pub over_s: f64,
}

/// Default duration \[s\]: a change within a fifth of a second gives no jump of the force.
fn default_over_s() -> f64 {
    0.2
}

/// All changes of a session in order; they do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<ImpedanceChange>", into = "Vec<ImpedanceChange>")]
pub struct ImpedanceSchedule {
    changes: [Option<ImpedanceChange>; RETUNES_MAX],
}

/// More changes than a session can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("coupling.retune has {0} changes; expected at most {RETUNES_MAX}")]
pub struct TooManyChanges(usize);

impl TryFrom<Vec<ImpedanceChange>> for ImpedanceSchedule {
    type Error = TooManyChanges;

    fn try_from(changes: Vec<ImpedanceChange>) -> Result<Self, TooManyChanges> {
        let mut schedule = Self::default();
        if changes.len() > RETUNES_MAX {
            return Err(TooManyChanges(changes.len()));
        }
        for (place, change) in schedule.changes.iter_mut().zip(changes) {
            *place = Some(change);
        }
        Ok(schedule)
    }
}

impl From<ImpedanceSchedule> for Vec<ImpedanceChange> {
    fn from(schedule: ImpedanceSchedule) -> Self {
        schedule.changes.into_iter().flatten().collect()
    }
}

impl ImpedanceSchedule {
    /// Creates a schedule of one change.
    #[must_use]
    pub fn single(change: ImpedanceChange) -> Self {
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

    /// Final impedances of its changes \[N s/m\].
    pub(super) fn target_impedances_nspm(&self) -> impl Iterator<Item = f64> {
        self.changes
            .iter()
            .flatten()
            .map(|change| change.impedance_nspm)
    }

    /// Checks that every change is possible and that the changes follow each other.
    ///
    /// # Errors
    /// [`FieldError`] names the first invalid field.
    pub(super) fn validate(&self) -> Result<(), FieldError> {
        let mut free_s = 0.0;
        for change in self.changes.iter().flatten() {
            let (at_s, b, over_s) = (change.at_s, change.impedance_nspm, change.over_s);
            let free = "0 to 86400 s, after the change before has ended";
            let rows = [
                ("coupling.retune.at_s", at_s, free_s..=86_400.0, free),
                (
                    "coupling.retune.impedance_nspm",
                    b,
                    0.1..=1000.0,
                    "0.1 to 1000 N s/m",
                ),
                ("coupling.retune.over_s", over_s, 0.0..=60.0, "0 to 60 s"),
            ];
            for (field, value, range, expected) in rows {
                value.check(field, &range, Some(expected))?;
            }
            free_s = at_s + over_s;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(changes: &[(f64, f64, f64)]) -> ImpedanceSchedule {
        let changes: Vec<ImpedanceChange> = changes
            .iter()
            .map(|&(at_s, impedance_nspm, over_s)| ImpedanceChange {
                at_s,
                impedance_nspm,
                over_s,
            })
            .collect();
        ImpedanceSchedule::try_from(changes).expect("few")
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
        assert_eq!(ImpedanceSchedule::default().impedance_nspm(10.0, 5.0), 10.0);
        let change = plan.changes[0].expect("one");
        assert_eq!(
            ImpedanceSchedule::single(change),
            schedule(&[(1.0, 30.0, 0.5)])
        );
    }

    #[test]
    fn changes_that_overlap_or_lie_out_of_range_are_named() {
        let field = |plan: ImpedanceSchedule| plan.validate().map_err(|error| error.field);
        let overlap = schedule(&[(1.0, 30.0, 0.5), (1.2, 3.0, 0.0)]);
        assert_eq!(field(overlap), Err("coupling.retune.at_s".into()));
        assert_eq!(
            field(schedule(&[(1.0, 0.0, 0.5)])),
            Err("coupling.retune.impedance_nspm".into())
        );
        assert_eq!(
            field(schedule(&[(1.0, 1.0, f64::NAN)])),
            Err("coupling.retune.over_s".into())
        );
        let many = vec![schedule(&[(1.0, 1.0, 0.0)]).changes[0].expect("one"); 9];
        assert!(ImpedanceSchedule::try_from(many).is_err());
    }
}
