//! Position drift between master and slave, taken out only as far as the account can pay.
//!
//! Source: teleop E7. Correcting drift moves the robot, so it costs `F dx`; an uncharged corrector
//! was measured to create 14.5 mJ (teleop section 8). Here the correction is a velocity, with waves the one
//! that is worth `sqrt(b/2) v` at a port that keeps its force, added to the demand before the reservoir limits it:
//! a correction that lowers the wave is free, one that raises it is paid.
//!
//! After an outage the hand is centimetres away. There the correction is ten times as fast for a second
//! (`recover_hz`), and paid in the same way, within the robot's speed limit: the account decides, so it can
//! be no less passive. In contact waves only lead out of the tissue then, as a line that is pressed is longer
//! than nothing by its own deflection, `F T_rt / 2b`. `tdpa` follows positions and has no such deflection: it
//! goes back into the tissue as well, to where the hand is, as fast and as far as the account pays.

use super::{CouplingParams, Moment};

/// Fastest drift correction \[m/s\]: below a hand's own speed, so that it is not felt as motion.
const SPEED_OF_DRIFT_MPS: f64 = 0.05;

/// The same while an outage is made up for \[m/s\]: a robot that stood has farther to go, and the hand knows.
const SPEED_OF_RECOVERY_MPS: f64 = 0.25;

/// Silence beyond the hold that is an outage and no jitter \[s\].
const OUTAGE_S: f64 = 0.1;

/// How long an outage is made up for \[s\].
const RECOVERY_S: f64 = 1.0;

/// How fast a port that is behind is corrected now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Repair {
    /// Rate \[1/s\].
    pub(super) rate_hz: f64,
    /// Largest speed \[m/s\].
    pub(super) mps_max: f64,
    /// Whether an outage is made up for, faster than drift is.
    pub(super) after_outage: bool,
}

impl Repair {
    /// Velocity for a port that is `behind_m` \[m/s\].
    pub(super) fn velocity_mps(&self, behind_m: f64) -> f64 {
        (self.rate_hz * behind_m).clamp(-self.mps_max, self.mps_max)
    }
}

/// Silence of the peer, and the time after it in which an outage is made up for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Recovery {
    /// Time since anything new came \[s\].
    silent_s: f64,
    /// Whether the peer was heard before: the wait for its first frame is no outage.
    heard: bool,
    /// Time left in which an outage is made up for \[s\].
    left_s: f64,
}

impl Recovery {
    /// Note a tick.
    pub(super) fn note(&mut self, moment: &Moment<'_>) {
        self.left_s = (self.left_s - moment.dt_s).max(0.0);
        if !moment.held {
            self.silent_s += moment.dt_s;
        } else if core::mem::take(&mut self.silent_s) > OUTAGE_S && self.heard {
            self.left_s = RECOVERY_S;
        }
        self.heard |= moment.newest.sequence > 0;
    }

    /// The correction now; no rate is none after an outage either.
    pub(super) fn repair(&self, params: &CouplingParams) -> Repair {
        let drift_hz = params.drift_rate_hz;
        if self.left_s > 0.0 && drift_hz > 0.0 && params.recover_hz > drift_hz {
            Repair {
                rate_hz: params.recover_hz,
                mps_max: SPEED_OF_RECOVERY_MPS,
                after_outage: true,
            }
        } else {
            Repair {
                rate_hz: drift_hz,
                mps_max: SPEED_OF_DRIFT_MPS,
                after_outage: false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HapticFrame;

    #[test]
    fn correction_points_at_the_master_and_is_capped() {
        let of = |rate_hz: f64, behind_m: f64| {
            let repair = Repair {
                rate_hz,
                mps_max: 0.1,
                after_outage: false,
            };
            repair.velocity_mps(behind_m)
        };
        assert!(of(3.0, 0.01) > 0.0);
        assert!(of(3.0, -0.01) < 0.0);
        assert_eq!(of(3.0, 10.0), 0.1);
        assert_eq!(of(0.0, 0.01), 0.0);
    }

    /// After a second of silence, what is the correction?
    fn after_a_silence(params: &CouplingParams, before: u64) -> (f64, f64) {
        let mut recovery = Recovery::default();
        let mut note = |sequence: u64, held: bool| {
            let newest = HapticFrame {
                sequence,
                ..HapticFrame::default()
            };
            recovery.note(&Moment {
                params,
                impedance_nspm: 10.0,
                newest: &newest,
                held,
                dt_s: 1e-3,
            });
        };
        note(before, before > 0);
        for _ in 0..1000 {
            note(before, false);
        }
        note(before + 5, true);
        let repair = recovery.repair(params);
        (repair.rate_hz, repair.mps_max)
    }

    /// The first frame that came began a recovery, if it was not the peer's very first.
    #[test]
    fn issue_the_wait_for_a_peer_was_an_outage() {
        let params = CouplingParams::default();
        let usual = (params.drift_rate_hz, SPEED_OF_DRIFT_MPS);
        assert_eq!(after_a_silence(&params, 0), usual);
        let faster = (params.recover_hz, SPEED_OF_RECOVERY_MPS);
        assert_eq!(after_a_silence(&params, 7), faster);
    }

    /// A recovery that was switched off was still five times as fast.
    #[test]
    fn issue_a_recovery_of_no_rate_was_a_recovery() {
        for (recover_hz, drift_rate_hz) in [(0.0, 3.0), (2.0, 3.0), (30.0, 0.0)] {
            let params = CouplingParams {
                recover_hz,
                drift_rate_hz,
                ..CouplingParams::default()
            };
            let usual = (drift_rate_hz, SPEED_OF_DRIFT_MPS);
            assert_eq!(after_a_silence(&params, 7), usual, "{recover_hz}");
        }
    }
}
