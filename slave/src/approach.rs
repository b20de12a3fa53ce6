//! Limits of the robot's approach: a mass that meets a wall presses before anything can react in time.
//!
//! Source: teleop E21; places, reaction and yield are ours. A moving mass m with speed v presses a wall of stiffness K with
//! `v sqrt(m K)`. Three measures keep that within the limit of the contact force, whatever the coupling demands:
//!
//! - *speed*: where no free motion has confirmed the way ahead, the port moves with at most `F_max / sqrt(m K)`, with the
//!   stiffest declared wall as K;
//! - *drive*: no force drives the robot beyond the speed limit, so a stretched servo does not throw it;
//! - *yield*: if the measured force will pass its limit within the time of a reaction, the servo's spring is released.
//!   A robot that holds its position releases only the expected rise of that force: the present force must stay, as it
//!   balances the contact.

use palpate_transport::{AXES, Axes};

use crate::SlaveParams;
use crate::robot::RobotReading;

/// Edge of a cell of confirmed places \[m\].
const CELL_M: f64 = 2e-3;

/// Cells that are remembered, a power of two. Of two cells with the same index the newer one stays; the robot then
/// approaches the other one slowly, which is safe.
const CELLS: usize = 1 << 12;

/// Cells ahead of a fast port that must be confirmed. The robot brakes within two; one more, as a confirmed cell may
/// be free only in part.
const CELLS_AHEAD: u8 = 3;

/// Rates at which the speed limit rises and falls between its two values \[m/s^2\]: a step would be felt through waves.
const RISE_MPS2: f64 = 1.0;
const FALL_MPS2: f64 = 50.0;

/// Speed below which no place is looked up and the limit does not change \[m/s\]. A limit that rose at rest needed 4 ms
/// to fall again: a robot beside a wall met it with 0.116 m/s.
const SLOW_MPS: f64 = 0.05;

/// Speed below which a robot that the servo pushes counts as blocked \[m/s\].
const BLOCKED_MPS: f64 = 0.02;

/// Time from a contact to the first change of the actuator's force \[s\]: sensor, period, lag and rise.
const REACTION_S: f64 = 4e-3;

/// Rise of the contact force within the time of a reaction that counts \[N\]: far above the noise of a sensor.
const RISE_N: f64 = 0.5;

/// Measured force above which the probe counts as in contact \[N\]: ten sigma of its sensor.
pub(crate) const TOUCH_N: f64 = 0.1;

/// Coupling force above which a probe without a sensor counts as in contact \[N\]: above the robot's
/// own friction and drag.
pub(crate) const TOUCH_COUPLING_N_MIN: f64 = 1.0;

/// Largest speed at which a mass meets a wall with at most a force: `F / sqrt(m K)` \[m/s\] (teleop E21).
#[must_use]
pub fn approach_mps(force_n: f64, mass_kg: f64, wall_npm: f64) -> f64 {
    force_n / (mass_kg * wall_npm).sqrt()
}

/// Distance within which a robot stops from a speed \[m\]: 3 ms until the drive reacts to a command, then a
/// deceleration that is assumed for every robot, 20 m/s^2.
#[must_use]
pub fn stopping_distance_m(speed_mps: f64) -> f64 {
    const REACTS_S: f64 = 3e-3;
    const STOP_MPS2: f64 = 20.0;
    speed_mps * REACTS_S + speed_mps * speed_mps / (2.0 * STOP_MPS2)
}

/// Servo of the robot after a tick, by axis.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServoState {
    /// Position of the port \[m\].
    pub port_m: Axes,
    /// Velocity of the port \[m/s\].
    pub port_mps: Axes,
    /// Force of the servo \[N\].
    pub force_n: Axes,
}

/// State of the approach.
#[derive(Debug, Clone, Default)]
pub(crate) struct Approach {
    /// Moving mass, by axis \[kg\].
    mass_kg: Axes,
    free: FreePlaces,
    /// Contact force of the last tick \[N\].
    contact_n: Axes,
    /// Contact force that is expected after the time of a reaction \[N\].
    expected_n: Axes,
    /// Largest speed, by axis \[m/s\].
    speed_mps_max: Axes,
}

impl Approach {
    /// Creates the state for a robot with a moving mass \[kg\].
    pub(crate) fn new(mass_kg: Axes) -> Self {
        Self {
            mass_kg,
            ..Self::default()
        }
    }

    /// Takes the reading of a tick, and the servo as it was left in the last one.
    pub(crate) fn observe(
        &mut self,
        params: &SlaveParams,
        reading: &RobotReading,
        servo: &ServoState,
        dt_s: f64,
    ) {
        let before_n = core::mem::replace(&mut self.contact_n, reading.contact_force_n);
        self.expected_n = core::array::from_fn(|axis| {
            let (now_n, mps) = (self.contact_n[axis], reading.velocity_mps[axis]);
            let rate_nps = (now_n - before_n[axis]) / dt_s;
            // a force rises only as fast as the probe moves into the stiffest wall; faster changes are noise
            let most_nps = params.wall_npm_max * (-mps * now_n.signum()).max(0.0);
            now_n + REACTION_S * rate_nps.clamp(-most_nps, most_nps)
        });
        let below = |forces: &Axes, most_n: f64| forces[..3].iter().all(|n| n.abs() < most_n);
        let touches = !below(&self.contact_n, TOUCH_N);
        if touches {
            self.free.forget(&reading.position_m);
        } else if reading.force_valid {
            // a sensor that is dead does not see what blocks the robot
            let moves = !below(&reading.velocity_mps, BLOCKED_MPS);
            if moves || below(&servo.force_n, TOUCH_COUPLING_N_MIN) {
                self.free.confirm(&reading.position_m);
            }
        }
        let is_free = self.free.way_ahead_is_free(&servo.port_m, &servo.port_mps);
        let guard = &params.guard;
        for axis in 0..AXES {
            let most_mps = guard.velocity_mps_max[axis];
            let limit_n = guard.contact_n_max[axis];
            let bounded_mps = approach_mps(limit_n, self.mass_kg[axis], params.wall_npm_max);
            let now_mps = self.speed_mps_max[axis];
            // places are those of the probe, and not of the gripper's jaws
            let goal_mps = match is_free.filter(|_| axis < 3) {
                Some(true) => most_mps,
                Some(false) => bounded_mps.min(most_mps),
                None => now_mps,
            };
            let (fall_mps, rise_mps) = (FALL_MPS2 * dt_s, RISE_MPS2 * dt_s);
            self.speed_mps_max[axis] = goal_mps
                .clamp(now_mps - fall_mps, now_mps + rise_mps)
                .max(bounded_mps.min(most_mps));
        }
    }

    /// Largest speed of the port on an axis \[m/s\].
    pub(crate) fn speed_mps_max(&self, axis: usize) -> f64 {
        self.speed_mps_max[axis]
    }

    /// Contact force that is compared with the limit of an axis \[N\]: the expected one if it rises, otherwise the
    /// present one.
    pub(crate) fn contact_n_for_limit(&self, axis: usize) -> f64 {
        let (now_n, expected_n) = (self.contact_n[axis], self.expected_n[axis]);
        let rises = now_n * (expected_n - now_n) > now_n.abs() * RISE_N;
        if rises { expected_n } else { now_n }
    }

    /// Largest force of the servo's spring into the contact of an axis \[N\], of a robot that follows or holds its
    /// position; none without a contact.
    pub(crate) fn spring_n_max(&self, axis: usize, limit_n: f64, holds: bool) -> Option<f64> {
        let (now_n, compared_n) = (self.contact_n[axis], self.contact_n_for_limit(axis));
        let most_n = if compared_n.abs() <= limit_n || compared_n == now_n {
            limit_n
        } else if holds {
            limit_n - (compared_n - now_n).abs()
        } else {
            0.0
        };
        (now_n.abs() > TOUCH_N).then_some(most_n.max(0.0))
    }

    /// Range of the servo's force at a given speed of the robot \[N\]. Within it the servo does not drive the robot
    /// beyond the speed limit of the approach, or in contact beyond that of the guard.
    pub(crate) fn force_range_n(
        &self,
        axis: usize,
        params: &SlaveParams,
        robot_mps: f64,
    ) -> [f64; 2] {
        let most_mps = if self.contact_n[axis].abs() > TOUCH_N {
            params.guard.velocity_mps_max[axis]
        } else {
            self.speed_mps_max[axis]
        };
        let (nspm, most_n) = (params.damping_nspm[axis], params.guard.force_n_max[axis]);
        [-most_mps, most_mps].map(|mps| (nspm * (mps - robot_mps)).clamp(-most_n, most_n))
    }
}

/// Places where the probe has been without a contact: cells of space, in a table by their hash.
#[derive(Debug, Clone)]
struct FreePlaces {
    /// Cells, 0 where there is none.
    cells: Box<[u64]>,
}

impl Default for FreePlaces {
    fn default() -> Self {
        Self {
            cells: vec![0; CELLS].into_boxed_slice(),
        }
    }
}

impl FreePlaces {
    /// Number of the cell at a place, never 0, and its index in the table.
    fn cell(position_m: &Axes) -> (u64, usize) {
        let [x, y, z, _] = position_m.map(|m| ((m / CELL_M).floor() as i64 & 0x1F_FFFF) as u64);
        let cell = 1 << 63 | x << 42 | y << 21 | z;
        let hash = cell.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
        (cell, hash as usize % CELLS)
    }

    fn confirm(&mut self, position_m: &Axes) {
        let (cell, index) = Self::cell(position_m);
        self.cells[index] = cell;
    }

    fn forget(&mut self, position_m: &Axes) {
        let (cell, index) = Self::cell(position_m);
        if self.cells[index] == cell {
            self.cells[index] = 0;
        }
    }

    /// True if the places ahead of a port are confirmed; none below [`SLOW_MPS`], where no place is looked up.
    fn way_ahead_is_free(&self, port_m: &Axes, port_mps: &Axes) -> Option<bool> {
        let speed_mps = port_mps[..3].iter().map(|v| v * v).sum::<f64>().sqrt();
        let is_confirmed = |count: u8| {
            let ahead_s = f64::from(count) * CELL_M / speed_mps;
            let (cell, index) =
                Self::cell(&core::array::from_fn(|a| port_m[a] + ahead_s * port_mps[a]));
            self.cells[index] == cell
        };
        (speed_mps >= SLOW_MPS).then(|| (1..=CELLS_AHEAD).all(is_confirmed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(z_m: f64) -> Axes {
        [0.001, -0.001, z_m, 0.0]
    }

    #[test]
    fn speed_is_bounded_where_no_free_motion_confirmed_the_way() {
        let (params, mut approach) = (SlaveParams::default(), Approach::new([0.3; AXES]));
        let seen_mps = [(); 2].map(|()| {
            let mut seen_mps = 0.0;
            // 0.1 m/s over 40 mm; the limit needs 0.2 s to rise
            for tick in 0..400 {
                let reading = RobotReading {
                    position_m: at(0.04 - 1e-4 * f64::from(tick)),
                    force_valid: true,
                    ..RobotReading::default()
                };
                let servo = ServoState {
                    port_m: reading.position_m,
                    port_mps: [0.0, 0.0, -0.1, 0.0],
                    ..ServoState::default()
                };
                approach.observe(&params, &reading, &servo, 1e-3);
                if tick == 300 {
                    seen_mps = approach.speed_mps_max(2);
                }
            }
            seen_mps
        });
        let slow_mps = 8.0 / (0.3 * 20_000.0_f64).sqrt();
        assert!((seen_mps[0] - slow_mps).abs() < 1e-12);
        assert_eq!(seen_mps[1], 0.3);
        // at its lower end the way ahead is unknown again
        assert!(approach.speed_mps_max(2) < 0.11);
    }

    #[test]
    fn touched_place_is_not_confirmed() {
        let mut free = FreePlaces::default();
        let down = [0.0, 0.0, -0.1, 0.0];
        for mm in -20..20 {
            free.confirm(&at(1e-3 * f64::from(mm)));
        }
        assert_eq!(free.way_ahead_is_free(&at(0.01), &down), Some(true));
        free.forget(&at(0.005));
        assert_eq!(free.way_ahead_is_free(&at(0.01), &down), Some(false));
        assert_eq!(
            free.way_ahead_is_free(&at(0.01), &[0.0; AXES]),
            None,
            "it stands"
        );
    }

    #[test]
    fn spring_is_released_before_the_limit_is_passed() {
        let (params, mut approach) = (SlaveParams::default(), Approach::new([0.3; AXES]));
        let mut push = |force_n: f64, velocity_mps: f64| {
            let reading = RobotReading {
                contact_force_n: [0.0, 0.0, force_n, 0.0],
                velocity_mps: [0.0, 0.0, velocity_mps, 0.0],
                force_valid: true,
                ..RobotReading::default()
            };
            approach.observe(&params, &reading, &ServoState::default(), 1e-3);
            approach.spring_n_max(2, 8.0, false)
        };
        assert_eq!(push(0.0, -0.1), None);
        assert_eq!(push(0.5, -0.1), Some(8.0));
        assert_eq!(push(2.5, -0.1), Some(0.0), "2 N in a millisecond");
        assert_eq!(push(2.6, -0.1), Some(8.0));
    }

    /// A robot that stopped in vibrating tissue moved with 8 mm/s; its whole spring was released, and it moved by
    /// 3.3 mm while not enabled.
    #[test]
    fn issue_20_slow_rise_released_the_whole_spring() {
        let (params, mut approach) = (SlaveParams::default(), Approach::new([0.3; AXES]));
        let mut push = |force_n: f64| {
            let reading = RobotReading {
                contact_force_n: [0.0, 0.0, force_n, 0.0],
                velocity_mps: [0.0, 0.0, -0.008, 0.0],
                force_valid: true,
                ..RobotReading::default()
            };
            approach.observe(&params, &reading, &ServoState::default(), 1e-3);
            approach.spring_n_max(2, 8.0, true).unwrap()
        };
        assert_eq!(push(7.2), 8.0);
        // 20 kN/m at 8 mm/s for the 4 ms of a reaction
        assert!((push(7.5) - (8.0 - 0.64)).abs() < 1e-9);
    }

    /// The noise of a sensor at rest, 0.4 N from reading to reading at 7 N, released the spring of a robot that held
    /// its position: it moved by 7.5 mm.
    #[test]
    fn issue_19_noise_released_the_spring_of_a_robot_at_rest() {
        let (params, mut approach) = (SlaveParams::default(), Approach::new([0.3; AXES]));
        for tick in 0..100 {
            let reading = RobotReading {
                contact_force_n: [0.0, 0.0, if tick % 2 == 0 { 6.7 } else { 7.1 }, 0.0],
                force_valid: true,
                ..RobotReading::default()
            };
            approach.observe(&params, &reading, &ServoState::default(), 1e-3);
            assert_eq!(approach.spring_n_max(2, 8.0, false), Some(8.0));
        }
    }

    #[test]
    fn servo_does_not_drive_a_robot_beyond_its_speed() {
        let (params, mut approach) = (SlaveParams::default(), Approach::new([0.3; AXES]));
        let reading = RobotReading::default();
        approach.observe(&params, &reading, &ServoState::default(), 1e-3);
        let limit_mps = approach.speed_mps_max(2);
        let [low_n, high_n] = approach.force_range_n(2, &params, limit_mps);
        assert!(high_n.abs() < 1e-12, "{high_n}");
        assert!((low_n + 100.0 * limit_mps).abs() < 1e-12, "{low_n}");
        assert_eq!(approach.force_range_n(2, &params, 0.5)[1], -12.0);
    }
}
