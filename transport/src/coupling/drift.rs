//! Correction of position drift between master and slave, limited to the energy in the tank.
//!
//! Source: teleop E7. Correcting drift moves the robot, so it costs `F dx`; a corrector that did not pay this
//! was measured to create 14.5 mJ (teleop section 8). Here the correction is a velocity v, or with waves the
//! wave `sqrt(b/2) v` at a port that keeps its force. It is added to the demand before the tank limits it.
//! A correction that lowers the wave is free; one that raises it costs energy.
//!
//! After an outage the hand is centimetres away. There the correction is ten times as fast for a second
//! (`recovery_per_s`), paid in the same way and within the robot's speed limit, so it stays passive. With waves in
//! contact it only leads out of the tissue then, as a pressed channel has a deflection of its own, `F T_rt / 2b`. `tdpa`
//! follows positions and has no such deflection: it goes back into the tissue as well, to the position of the hand,
//! as fast and as far as the tank pays.

use super::{CouplingInputs, CouplingParams};

/// Fastest drift correction \[m/s\]: below a hand's own speed, so that it is not perceived as motion.
const DRIFT_MPS_MAX: f64 = 0.05;

/// The same after an outage \[m/s\]: the robot has farther to go, and the operator expects it.
const RECOVERY_MPS_MAX: f64 = 0.25;

/// Silence beyond the hold time that is an outage and no jitter \[s\].
const OUTAGE_S: f64 = 0.1;

/// Duration of the recovery after an outage \[s\].
const RECOVERY_S: f64 = 1.0;

/// Correction of a port that is behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DriftCorrection {
    /// Rate \[1/s\].
    pub(super) rate_per_s: f64,
    /// Largest speed \[m/s\].
    pub(super) mps_max: f64,
    /// True after an outage, where the correction is faster.
    pub(super) after_outage: bool,
}

impl DriftCorrection {
    /// Velocity of the correction for a port that is `behind_m` \[m/s\].
    pub(super) fn velocity_mps(&self, behind_m: f64) -> f64 {
        (self.rate_per_s * behind_m).clamp(-self.mps_max, self.mps_max)
    }
}

/// Silence of the peer, and the remaining time of the recovery after an outage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct OutageRecovery {
    /// Time since the last new frame \[s\].
    silent_s: f64,
    /// True once a frame was received: the wait for the first frame is no outage.
    received_any: bool,
    /// Remaining time of the recovery \[s\].
    remaining_s: f64,
}

impl OutageRecovery {
    /// Advances by one tick.
    pub(super) fn update(&mut self, inputs: &CouplingInputs<'_>) {
        self.remaining_s = (self.remaining_s - inputs.dt_s).max(0.0);
        if !inputs.fresh {
            self.silent_s += inputs.dt_s;
        } else if core::mem::take(&mut self.silent_s) > OUTAGE_S && self.received_any {
            self.remaining_s = RECOVERY_S;
        }
        self.received_any |= inputs.newest.sequence > 0;
    }

    /// Correction in this tick; a recovery rate of zero disables the recovery.
    pub(super) fn correction(&self, params: &CouplingParams) -> DriftCorrection {
        let drift_per_s = params.drift_per_s;
        if self.remaining_s > 0.0 && drift_per_s > 0.0 && params.recovery_per_s > drift_per_s {
            DriftCorrection {
                rate_per_s: params.recovery_per_s,
                mps_max: RECOVERY_MPS_MAX,
                after_outage: true,
            }
        } else {
            DriftCorrection {
                rate_per_s: drift_per_s,
                mps_max: DRIFT_MPS_MAX,
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
    fn correction_points_at_the_master_and_is_limited() {
        let of = |rate_hz: f64, behind_m: f64| {
            let repair = DriftCorrection {
                rate_per_s: rate_hz,
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

    /// Correction after a second of silence.
    fn after_a_silence(params: &CouplingParams, before: u64) -> (f64, f64) {
        let mut recovery = OutageRecovery::default();
        let mut tick = |sequence: u64, fresh: bool| {
            let newest = HapticFrame {
                sequence,
                ..HapticFrame::default()
            };
            recovery.update(&CouplingInputs {
                params,
                impedance_nspm: 10.0,
                newest: &newest,
                fresh,
                round_trip_s: 0.0,
                dt_s: 1e-3,
            });
        };
        tick(before, before > 0);
        for _ in 0..1000 {
            tick(before, false);
        }
        tick(before + 5, true);
        let repair = recovery.correction(params);
        (repair.rate_per_s, repair.mps_max)
    }

    /// The first received frame started a recovery although no frame had come before it.
    #[test]
    fn issue_wait_for_the_first_frame_counted_as_outage() {
        let params = CouplingParams::default();
        let usual = (params.drift_per_s, DRIFT_MPS_MAX);
        assert_eq!(after_a_silence(&params, 0), usual);
        let faster = (params.recovery_per_s, RECOVERY_MPS_MAX);
        assert_eq!(after_a_silence(&params, 7), faster);
    }

    /// A recovery that was switched off was still five times as fast.
    #[test]
    fn issue_recovery_with_zero_rate_was_active() {
        for (recovery_per_s, drift_per_s) in [(0.0, 3.0), (2.0, 3.0), (30.0, 0.0)] {
            let params = CouplingParams {
                recovery_per_s,
                drift_per_s,
                ..CouplingParams::default()
            };
            let usual = (drift_per_s, DRIFT_MPS_MAX);
            assert_eq!(after_a_silence(&params, 7), usual, "{recovery_per_s}");
        }
    }
}
