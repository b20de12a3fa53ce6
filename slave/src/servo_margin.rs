//! Stability of the robot's servo against walls, in closed form, with a gain margin of 2.
//!
//! The loop: a sampled spring and damper with zero-order hold, a drive with first-order lag, the robot's mass and damping,
//! a wall without damping, and a velocity from the filtered difference of positions. The plant is discretised exactly over
//! one period. A matrix of the closed loop has all eigenvalues inside the unit circle if its powers vanish.
//! Coulomb friction, with its compensation, and the steps of encoders are left out.
//! Source: teleop E20 (Colgate and Schenkel 1997); the test by powers is ours.
//!
//! | symbol | meaning | unit |
//! |---|---|---|
//! | K, B | stiffness and damping of the servo | N/m, N s/m |
//! | T | period | s |
//! | x, v, a | position, velocity, actuator force of the robot | m, m/s, N |

use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::{AXES, FieldError};

use crate::SlaveParams;
use crate::robot::RobotParams;

/// Factor on stiffness and damping with which the loop must still be stable.
const GAIN_MARGIN: f64 = 2.0;

/// Ratio of successive walls that are tested, from [`WALL_NPM_MIN`] on.
const WALL_RATIO: f64 = 1.5;

/// Softest wall that is tested beside free space \[N/m\].
const WALL_NPM_MIN: f64 = 10.0;

/// Lag below which a drive counts as immediate \[s\].
const LAG_S_MIN: f64 = 1e-5;

/// Squarings of the closed loop's matrix: its power 2^24 tells eigenvalues from 1 to within 1e-6.
const SQUARINGS: u32 = 24;

/// Halvings of the interval in which the largest stiffness lies; its error is below 0.1 %.
const HALVINGS: u32 = 12;

/// One axis of a robot, as its servo meets it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ServoPlant {
    /// Moving mass \[kg\].
    pub mass_kg: f64,
    /// Physical damping \[N s/m\].
    pub damping_nspm: f64,
    /// Part of that damping that the drive compensates from the measured velocity \[N s/m\].
    pub compensated_nspm: f64,
    /// Time constant of the drive \[s\].
    pub lag_s: f64,
    /// Gain of the velocity's low-pass over a period, 0 to 1; none if the velocity itself is measured.
    pub velocity_gain: Option<f64>,
}

/// Order of the loop: x, v, a, the position read before, the filtered velocity.
const ORDER: usize = 5;

type Matrix = nalgebra::SMatrix<f64, ORDER, ORDER>;

/// True if the powers of a matrix vanish, so that its spectral radius is below 1.
fn vanishes(mut power: Matrix) -> bool {
    for _ in 0..SQUARINGS {
        power *= power;
        if !(1e-9..=1e60).contains(&power.norm()) {
            break;
        }
    }
    // false for not-a-number
    power.norm() < 1.0
}

impl ServoPlant {
    /// Matrix of one period of the closed loop at stiffness `k` \[N/m\] and damping `b` \[N s/m\] against a wall.
    fn closed_loop(&self, k: f64, b: f64, wall_npm: f64) -> Matrix {
        let (period_s, lagging) = (PERIOD.s(), self.lag_s > LAG_S_MIN);
        // rates of x, v and a; the fourth is the held command
        let mut rate = Matrix::zeros();
        rate[(0, 1)] = 1.0;
        rate[(1, 0)] = -wall_npm / self.mass_kg;
        rate[(1, 1)] = -self.damping_nspm / self.mass_kg;
        rate[(1, if lagging { 2 } else { 3 })] = 1.0 / self.mass_kg;
        if lagging {
            rate[(2, 2)] = -1.0 / self.lag_s;
            rate[(2, 3)] = 1.0 / self.lag_s;
        }
        let over_period = (rate * period_s).exp();
        let velocity = match self.velocity_gain {
            Some(gain) => [gain / period_s, 0.0, 0.0, -gain / period_s, 1.0 - gain],
            None => [0.0, 1.0, 0.0, 0.0, 0.0],
        };
        let mut command = velocity.map(|of| (self.compensated_nspm - b) * of);
        command[0] -= k;
        let mut next = Matrix::zeros();
        for row in 0..if lagging { 3 } else { 2 } {
            for column in 0..ORDER {
                let own = if column < 3 {
                    over_period[(row, column)]
                } else {
                    0.0
                };
                next[(row, column)] = own + over_period[(row, 3)] * command[column];
            }
        }
        next[(3, 0)] = 1.0;
        next.set_row(4, &velocity.into());
        next
    }

    /// True if the servo is stable at [`GAIN_MARGIN`] times its gains against every wall up to `wall_npm_max`.
    fn is_stable(&self, stiffness_npm: f64, damping_nspm: f64, wall_npm_max: f64) -> bool {
        let (k, b) = (GAIN_MARGIN * stiffness_npm, GAIN_MARGIN * damping_nspm);
        let holds = |wall_npm| vanishes(self.closed_loop(k, b, wall_npm));
        let walls = core::iter::successors(Some(WALL_NPM_MIN), |wall| Some(wall * WALL_RATIO));
        let between = walls.take_while(|wall| *wall < wall_npm_max);
        between.chain([0.0, wall_npm_max]).all(holds)
    }

    /// Largest stiffness up to `npm_max` that is stable with each damping \[N/m\]; none if no stiffness is.
    fn largest_stiffness_npm(
        &self,
        npm_max: f64,
        dampings_nspm: &[f64],
        wall_npm_max: f64,
    ) -> Option<f64> {
        let stable = |npm: f64| {
            let mut all = dampings_nspm.iter();
            all.all(|nspm| self.is_stable(npm, *nspm, wall_npm_max))
        };
        let softer = core::iter::successors(Some(npm_max), |npm| Some(npm / WALL_RATIO));
        let mut low = softer.take(30).find(|npm| stable(*npm))?;
        let mut high = (low * WALL_RATIO).min(npm_max);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            *(if stable(middle) { &mut low } else { &mut high }) = middle;
        }
        Some(low)
    }
}

impl SlaveParams {
    /// Checks that the servo is stable on this robot against every wall up to `wall_npm_max`, at twice its gains, with
    /// each damping that it may have.
    ///
    /// # Errors
    /// [`FieldError`] names the largest stiffness that is stable.
    pub fn check_servo(
        &self,
        robot: &RobotParams,
        coupling: &CouplingParams,
    ) -> Result<(), FieldError> {
        let mut checked = None;
        for axis in 0..AXES {
            let plant = robot.servo_plant(axis);
            let npm = coupling.robot_stiffness_npm(self.stiffness_npm[axis]);
            let own_nspm = self.damping_nspm[axis];
            let dampings = [own_nspm, own_nspm.min(self.matched_nspm_min[axis])];
            if checked.replace((plant, npm, dampings)) == Some((plant, npm, dampings))
                || dampings
                    .iter()
                    .all(|nspm| plant.is_stable(npm, *nspm, self.wall_npm_max))
            {
                continue;
            }
            let wall_npm = self.wall_npm_max;
            let lag_ms = 1e3 * plant.lag_s;
            let against = format!(
                "with which the servo is stable at twice its gains against walls up to {wall_npm} N/m \
                 (slave.wall_npm_max), with a damping of {} to {own_nspm} N s/m and a drive lag of {lag_ms} ms",
                dampings[1]
            );
            let most = plant.largest_stiffness_npm(npm, &dampings, wall_npm);
            let expected = match most {
                Some(most_npm) => {
                    format!("at most {} N/m on axis {axis}, {against}", most_npm.floor())
                }
                None => format!(
                    "another damping or less lag on axis {axis}: there is no stiffness {against}"
                ),
            };
            return Err(FieldError::new(
                "slave.stiffness_npm",
                format!("{npm} N/m"),
                expected,
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::Time;

    use super::*;
    use crate::robot::{RobotKind, ViscoelasticWall, build};

    fn lagging(lag_s: f64) -> RobotParams {
        let mut robot = RobotParams::default();
        robot.palpator.lag_s = lag_s;
        robot
    }

    #[test]
    fn default_servo_is_stable_on_both_robots() {
        let (slave, coupling) = (SlaveParams::default(), CouplingParams::default());
        for kind in [RobotKind::Palpator, RobotKind::Mass] {
            let robot = RobotParams {
                kind,
                ..RobotParams::default()
            };
            assert_eq!(slave.check_servo(&robot, &coupling), Ok(()), "{kind:?}");
        }
    }

    #[test]
    fn issue_stiff_servo_on_a_slow_drive_was_accepted() {
        let coupling = CouplingParams::default();
        for stiffness_npm in [[5000.0, 5000.0, 5000.0, 1000.0], [2000.0; AXES]] {
            let slave = SlaveParams {
                stiffness_npm,
                ..SlaveParams::default()
            };
            let error = slave
                .check_servo(&lagging(5e-3), &coupling)
                .expect_err("unstable");
            assert_eq!(error.field, "slave.stiffness_npm");
            let text = error.to_string();
            let named = text.split("at most ").nth(1).expect("a stiffness");
            let npm: f64 = named
                .split(' ')
                .next()
                .expect("it")
                .parse()
                .expect("a number");
            assert!((100.0..2000.0).contains(&npm), "{text}");
            for (factor, holds) in [(1.0, true), (1.01, false)] {
                let own = SlaveParams {
                    stiffness_npm: [npm * factor, npm * factor, npm * factor, 100.0],
                    ..slave
                };
                let checked = own.check_servo(&lagging(5e-3), &coupling);
                let axis_3 = |e: &FieldError| e.expected.contains("axis 3");
                let held = checked.as_ref().map_or_else(axis_3, |()| true);
                assert_eq!(held, holds, "{factor}: {checked:?}");
            }
        }
    }

    /// A mass on a sampled spring, without lag, is stable just inside the passivity bound of E20 and unstable far
    /// beyond it.
    #[test]
    fn servo_within_the_bound_of_colgate_and_schenkel_is_stable() {
        let plant = ServoPlant {
            mass_kg: 0.5,
            damping_nspm: 10.0,
            compensated_nspm: 0.0,
            lag_s: 0.0,
            velocity_gain: None,
        };
        // passive against every wall if the plant's damping exceeds K T / 2 (with B = 0); the gain margin doubles K
        let passive_npm = 10.0 / (0.5 * PERIOD.s()) / GAIN_MARGIN;
        assert!(plant.is_stable(0.99 * passive_npm, 0.0, 1e5));
        // a wall and a servo of the same stiffness: unstable far beyond that bound
        assert!(!plant.is_stable(50.0 * passive_npm, 0.0, 1e5));
    }

    /// True if an oscillation of the simulated robot on a wall grows at these gains. The command cancels the static
    /// force of the wall; 1 N more during the first 5 ms starts the oscillation.
    fn grows(robot: &RobotParams, npm: f64, nspm: f64, wall_npm: f64) -> bool {
        let depth_m = 0.01;
        let mut wall = ViscoelasticWall::rp1(wall_npm);
        (wall.z_m, wall.damping_nspm) = (robot.start_m[2] + depth_m, 0.0);
        let mut simulated = build(robot, Box::new(wall), 1);
        let mut peaks_m = [0.0_f64; 2];
        for ms in 0..1000 {
            let reading = simulated.read(Time(ms * 1_000_000));
            let error_m = robot.start_m[2] - reading.position_m[2];
            let load_n = wall_npm * depth_m + f64::from(u8::from(ms < 5));
            let force_n = npm * error_m - nspm * reading.velocity_mps[2] - load_n;
            simulated.write(&[0.0, 0.0, force_n, 0.0], false);
            let peak_m = &mut peaks_m[usize::from(ms > 500)];
            *peak_m = peak_m.max(error_m.abs());
        }
        peaks_m[1] > peaks_m[0]
    }

    /// Compares the closed form with the simulated robot, which is integrated in sub-steps.
    #[test]
    fn simulated_robot_oscillates_beyond_the_margin_of_the_closed_form() {
        let mut robot = lagging(5e-3);
        let palpator = &mut robot.palpator;
        (palpator.encoder_m, palpator.compensated) = (0.0, 0.0);
        (palpator.friction_n, palpator.force_n_max) = ([0.0; AXES], [100.0; AXES]);
        let plant = robot.servo_plant(2);
        let mut seen = [0; 2];
        for npm in [300.0, 1000.0, 3000.0] {
            for (nspm, wall_npm) in [(5.0, 0.0), (40.0, 0.0), (10.0, 1000.0), (60.0, 5000.0)] {
                let stable = vanishes(plant.closed_loop(npm, nspm, wall_npm));
                seen[usize::from(stable)] += 1;
                let grown = grows(&robot, npm, nspm, wall_npm);
                assert_eq!(grown, !stable, "{npm} N/m, {nspm} N s/m, {wall_npm} N/m");
            }
        }
        assert!(seen[0] > 1 && seen[1] > 1, "{seen:?}");
    }
}
