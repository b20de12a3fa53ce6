//! Contract that every simulated robot must meet.

#[path = "../../transport/port/tests/contract/mod.rs"]
mod contract;

use contract::{Builder, Device, Numbers};
use palpate_slave::robot::{
    Environment, FreeSpace, Probe, Robot, RobotKind, RobotParams, ViscoelasticWall, build,
};
use palpate_transport::{AXES, Axes, Time};

/// An environment whose forces are not numbers.
struct Broken;

impl Environment for Broken {
    fn step(&mut self, _probe: &Probe, _dt_s: f64) -> Axes {
        [f64::NAN, f64::INFINITY, -1e300, 0.0]
    }

    fn energy_j(&self) -> f64 {
        0.0
    }
}

/// A robot and its number of writes: its gripper closes and opens.
struct ContractRobot(Box<dyn Robot>, u64);

impl Device for ContractRobot {
    fn read(&mut self, now: Time) -> Numbers {
        let reading = self.0.read(now);
        let axes = [
            reading.position_m,
            reading.velocity_mps,
            reading.contact_force_n,
        ];
        let mut numbers = [reading.tissue_energy_j; 3 * AXES + 1];
        numbers[..3 * AXES].copy_from_slice(axes.as_flattened());
        numbers
    }

    fn write(&mut self, force_n: &Axes) {
        self.0.write(force_n, self.1 % 500 > 250);
        self.1 += 1;
    }

    /// Presses on the wall.
    fn force_n(&self, tick: i64) -> Axes {
        let saw = |period: i64| (tick % period) as f64 / period as f64 - 0.5;
        [saw(70), saw(110), saw(330) - 1.0, 0.5 * saw(90)]
    }
}

/// Runs `check` on the parameters of every robot.
fn each(check: impl Fn(&str, &RobotParams)) {
    for kind in [RobotKind::Palpator, RobotKind::Mass] {
        let params = RobotParams {
            kind,
            start_m: [0.0, 0.0, 0.0, 0.020],
            ..RobotParams::default()
        };
        assert_eq!(params.validate(), Ok(()));
        check(&format!("{kind:?}"), &params);
    }
}

/// Runs a rule of the contract on every robot in an environment.
fn check<W: Environment + 'static, T>(environment: fn() -> W, rule: impl Fn(&str, Builder) -> T) {
    each(|name, params| {
        rule(name, &|seed| {
            Box::new(ContractRobot(
                build(params, Box::new(environment()), seed),
                0,
            ))
        });
    });
}

fn wall() -> ViscoelasticWall {
    ViscoelasticWall::rp1(300.0)
}

#[test]
fn a_force_that_is_not_finite_counts_as_none() {
    check(wall, contract::a_force_that_is_not_finite_counts_as_none);
}

#[test]
fn reading_again_or_back_in_time_changes_nothing() {
    check(
        wall,
        contract::reading_again_or_back_in_time_changes_nothing,
    );
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    check(wall, contract::the_same_seed_gives_the_same_bits);
}

#[test]
fn other_seeds_give_other_noise() {
    let params = RobotParams::default();
    let [first, second] = [1, 2].map(|seed| {
        let mut robot = ContractRobot(build(&params, Box::new(wall()), seed), 0);
        contract::run(&mut robot, 0..100)
    });
    assert!(first != second);
}

#[test]
fn a_stall_costs_bounded_time() {
    check(FreeSpace::default, contract::a_stall_costs_bounded_time);
}

#[test]
fn any_force_leaves_every_number_finite() {
    check(wall, contract::any_force_leaves_every_number_finite);
}

#[test]
fn broken_environment_leaves_readings_finite() {
    check(
        || Broken,
        |name, build| {
            let mut robot = build(1);
            for bits in contract::run(&mut *robot, 0..200) {
                assert!(f64::from_bits(bits).is_finite(), "{name}");
            }
        },
    );
}

#[test]
fn reading_and_writing_allocate_nothing() {
    check(wall, contract::reading_and_writing_allocate_nothing);
}
