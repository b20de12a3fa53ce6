//! Position drift between master and slave, taken out only as far as the account can pay.
//!
//! Source: teleop E7. Correcting drift moves the robot, so it costs `F dx`; an uncharged corrector
//! was measured to create 14.5 mJ (teleop section 8). Here the correction is a wave added to the
//! demand before the reservoir limits it: a correction that lowers the wave is free, one that
//! raises it is paid.
//!
//! After an outage the hand is centimetres away. There the correction is ten times as fast for a second
//! (`recover_hz`), and paid in the same way, within the robot's speed limit: the account decides, so it can
//! be no less passive. In contact waves only lead out of the tissue then, as a line that is pressed is longer
//! than nothing by its own deflection, `F T_rt / 2b`. `tdpa` follows positions and has no such deflection: it
//! goes back into the tissue as well, to where the hand is, as fast and as far as the account pays.

/// Wave to add so that the desired position approaches the master's delayed position \[sqrt(W)\].
///
/// `error_m` is `x_m(delayed) - x_sd`; a velocity of `rate_hz * error_m`, capped at
/// `speed_mps_max`, is worth `sqrt(b/2) v` of forward wave at a port that keeps its force.
#[must_use]
pub fn correction_wave(b: f64, error_m: f64, rate_hz: f64, speed_mps_max: f64) -> f64 {
    let speed = (rate_hz * error_m).clamp(-speed_mps_max, speed_mps_max);
    (b / 2.0).sqrt() * speed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correction_points_at_the_master_and_is_capped() {
        assert!(correction_wave(10.0, 0.01, 3.0, 0.1) > 0.0);
        assert!(correction_wave(10.0, -0.01, 3.0, 0.1) < 0.0);
        assert_eq!(correction_wave(10.0, 10.0, 3.0, 0.1), 5f64.sqrt() * 0.1);
        assert_eq!(correction_wave(10.0, 0.01, 0.0, 0.1), 0.0);
    }
}
