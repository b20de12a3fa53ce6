//! Closed forms of the atlas: stiffness that a wave line displays, and limits of a sampled wall.

/// Stiffness that a wave line displays of a wall behind the slave's spring, slowly pressed \[N/m\]. All three are in
/// series, the line as `2 b / T_rt` (teleop E3; checked against the sampled line of `llewellyn` in the atlas). `rtt_s`
/// is a round trip, including the ticks that the loop adds.
#[must_use]
pub fn displayed_npm(wall_npm: f64, slave_npm: f64, b_nspm: f64, rtt_s: f64) -> f64 {
    let line_npm = 2.0 * b_nspm / rtt_s;
    1.0 / (1.0 / wall_npm + 1.0 / slave_npm + 1.0 / line_npm)
}

/// Stiffest wall that a handle with damping `damping_nspm` \[N s/m\] renders passively \[N/m\]: `b / (T/2 + t_d)`,
/// with period `period_s` and an additional loop delay `loop_s`. Source: teleop E12 (Colgate and Schenkel 1997 without
/// delay; Diolaiti, Niemeyer, Barbagli and Salisbury 2006 with it). Checked against the real part of the sampled
/// wall's impedance in `two_port` of the atlas.
#[must_use]
pub fn wall_npm_max(damping_nspm: f64, period_s: f64, loop_s: f64) -> f64 {
    damping_nspm / (0.5 * period_s + loop_s)
}

/// Largest wave impedance at which sampled wave-line ends stay stable \[N s/m\]: `sqrt(2 m B / T)` (ours), for a hand
/// and handle of `mass_kg` before a slave's controller of damping `slave_nspm`. At sample rate the slave acts as its
/// damper, which a line of another impedance shows as up to `b^2 / B`. A sampled damper of more than `2 m / T` makes a
/// mass overshoot.
#[must_use]
pub fn impedance_nspm_max(mass_kg: f64, slave_nspm: f64, period_s: f64) -> f64 {
    (2.0 * mass_kg * slave_nspm / period_s).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_match_the_numbers_of_the_sheet() {
        // teleop section 8: 300 N/m behind 2000 N/m, b = 10, 50 ms one way with the tick that the sheet's return took
        assert!((displayed_npm(300.0, 2000.0, 10.0, 0.101) - 112.6).abs() < 0.7);
        // teleop E12: b = 0.8: 1600 N/m locally, 7.96 at 100 ms round trip
        assert!((wall_npm_max(0.8, 1e-3, 0.0) - 1600.0).abs() < 1e-9);
        assert!((wall_npm_max(0.8, 1e-3, 0.1) - 7.96).abs() < 0.005);
    }
}
