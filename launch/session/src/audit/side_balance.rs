//! Energy balances of one side from its own record alone: at the hand, and at the robot's measured port.
//!
//! Source: teleop E18 to E20. Both are sums over all axes, zero at the first record. They go on through pauses, idle
//! ticks and switches of the method, whose ticks are recorded like any other. A side that restarts begins a new
//! recording and a new balance. No controller code is called.
//!
//! - Hand (E18): `in(k) = Σ F(k-1) (x_held(k) - x(k-1))`, with F the rendered force \[N\], positive when it resists
//!   motion, x the handle's position \[m\], and x_held the position up to which the device held F. Motion after a
//!   release does not count.
//! - Robot (E19, E20): `R(k) - S(k) + Σ (f(k-1) + f(k)) / 2 · (x(k) - x(k-1))`, with R and S the energy received from
//!   and sent to the master \[J\], f the measured force of the tissue on the robot \[N\] and x the robot's
//!   measured position \[m\]. Below zero, the side sent or spent more than it received and the tissue returned: the
//!   drive is the source. Energy in the tank, in the moving mass and in losses of the drive keeps it above.

use palpate_transport::trace::{Side, TickRecord};

use super::{EnergySum, lesser, master_energy_in};

/// Standard deviations of the sensor's noise that the tolerance of the robot's balance covers at every tick (ours).
const NOISE_SIGMAS: f64 = 6.0;

/// Balances of the sides whose records were added, each side in order of its time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SideBalances {
    hand: PortBalance,
    robot: PortBalance,
    /// Sum of the squared motions of the robot between its records \[m^2\].
    robot_motion_m2: f64,
    /// Sum of the squared changes of the measured force between its records \[N^2\].
    robot_force_n2: f64,
    /// Largest measured force on an axis \[N\].
    robot_force_n_max: f64,
}

impl SideBalances {
    /// Adds the next record of a side.
    pub fn add(&mut self, now: &TickRecord) {
        match now.side {
            Side::Master => self.hand.add(now, |before| {
                std::array::from_fn(|axis| master_energy_in(before, now, axis))
            }),
            Side::Slave => {
                let (mut squares_m2, mut squares_n2) = (0.0, 0.0);
                self.robot.add(now, |before| {
                    std::array::from_fn(|axis| {
                        let moved_m = now.position_m[axis] - before.position_m[axis];
                        squares_m2 += moved_m * moved_m;
                        let grown_n = now.tissue_force_n[axis] - before.tissue_force_n[axis];
                        squares_n2 += grown_n * grown_n;
                        let force_n =
                            0.5 * (before.tissue_force_n[axis] + now.tissue_force_n[axis]);
                        let received_j =
                            gained_j(now.energy_received_j[axis], before.energy_received_j[axis]);
                        let sent_j = gained_j(now.energy_sent_j[axis], before.energy_sent_j[axis]);
                        received_j - sent_j + force_n * moved_m
                    })
                });
                self.robot_motion_m2 += squares_m2;
                self.robot_force_n2 += squares_n2;
                let forces_n = now.tissue_force_n.iter();
                let most_n = |most_n: f64, force_n: &f64| most_n.max(force_n.abs());
                self.robot_force_n_max = forces_n.fold(self.robot_force_n_max, most_n);
            }
        }
    }

    /// Least energy that the hand has put in by any tick, and by the newest \[J\]; None without records of the master.
    #[must_use]
    pub fn hand_j(&self) -> Option<[f64; 2]> {
        self.hand.energy_j()
    }

    /// Least energy in the robot's balance at any tick \[J\]; None without records of the slave.
    #[must_use]
    pub fn robot_port_min_j(&self) -> Option<f64> {
        self.robot.energy_j().map(|[least_j, _]| least_j)
    }

    /// Error of the robot's balance that white noise of `noise_n` \[N\] in each force reading and of `noise_m` \[m\] in
    /// each position can make \[J\]: `6 σ_n sqrt(Σ Δx²) + 6 σ_m (sqrt(Σ Δf²) + max |f|)`, as noise does work that adds
    /// up by squares; summed by parts, an error of position does work on changes of the force, and on its last value.
    /// Bias and range of the sensor are not covered.
    #[must_use]
    pub fn robot_port_tolerance_j(&self, noise_n: f64, noise_m: f64) -> f64 {
        let of_position_n = self.robot_force_n2.sqrt() + self.robot_force_n_max;
        NOISE_SIGMAS * (noise_n * self.robot_motion_m2.sqrt() + noise_m * of_position_n)
    }
}

/// Running sum of the energy at one port.
#[derive(Debug, Clone, PartialEq, Default)]
struct PortBalance {
    before: Option<TickRecord>,
    sum: EnergySum,
    least_j: f64,
}

impl PortBalance {
    /// Adds the energy of a record; the first only sets the position.
    fn add(
        &mut self,
        now: &TickRecord,
        energy: impl FnOnce(&TickRecord) -> palpate_transport::Axes,
    ) {
        if let Some(before) = &self.before {
            let energy_j = energy(before);
            self.sum.add(&energy_j);
            self.least_j = lesser(self.least_j, self.total_j());
        }
        self.before = Some(*now);
    }

    fn total_j(&self) -> f64 {
        self.sum.total().iter().sum()
    }

    /// Least and newest energy \[J\].
    fn energy_j(&self) -> Option<[f64; 2]> {
        self.before.as_ref()?;
        Some([self.least_j, self.total_j()])
    }
}

/// Growth of a sum that counts from 0 again when the other side restarts \[J\].
fn gained_j(now_j: f64, before_j: f64) -> f64 {
    if now_j < before_j {
        now_j
    } else {
        now_j - before_j
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(side: Side, tick: u64, x_m: f64, force_n: f64) -> TickRecord {
        let (at_m, force_n) = ([0.0, 0.0, x_m, 0.0], [0.0, 0.0, force_n, 0.0]);
        TickRecord {
            side,
            tick,
            now_ns: tick as i64 * 1_000_000,
            position_m: at_m,
            port_position_m: at_m,
            held_to_m: at_m,
            port_force_n: force_n,
            tissue_force_n: force_n,
            ..TickRecord::default()
        }
    }

    fn balances(records: &[TickRecord]) -> SideBalances {
        let mut balances = SideBalances::default();
        records.iter().for_each(|record| balances.add(record));
        balances
    }

    #[test]
    fn hand_that_gets_more_than_it_gave_is_below_zero() {
        let at = |tick, x_m, n| record(Side::Master, tick, x_m, n);
        // 2 N over 3 mm in, then 4 N over 3 mm back: -6 mJ; then 1 N over 2 mm in
        let records = [
            at(0, 0.0, 2.0),
            at(1, 0.003, 4.0),
            at(2, 0.0, 1.0),
            at(3, 0.002, 0.0),
        ];
        let [least_j, end_j] = balances(&records).hand_j().expect("records");
        assert!((least_j + 6e-3).abs() < 1e-15 && (end_j + 4e-3).abs() < 1e-15);
        let mut lost = records;
        lost[1].port_force_n[2] = f64::NAN;
        assert!(balances(&lost).hand_j().expect("records")[0].is_nan());
        assert_eq!(balances(&[]).hand_j(), None);
    }

    #[test]
    fn robot_that_ships_what_the_tissue_did_not_return_is_below_zero() {
        let at = |tick, x_m, n| record(Side::Slave, tick, x_m, n);
        // received 5 mJ; 2 N resist 2 mm of motion: 4 mJ go into the tissue and come back
        let mut records = [
            at(0, 0.0, 2.0),
            at(1, -0.002, 2.0),
            at(2, 0.0, 2.0),
            at(3, 0.0, 2.0),
        ];
        records[1..]
            .iter_mut()
            .for_each(|r| r.energy_received_j[2] = 5e-3);
        records[2..]
            .iter_mut()
            .for_each(|r| r.energy_sent_j[2] = 5e-3);
        assert_eq!(balances(&records).robot_port_min_j(), Some(0.0));
        records[2].energy_sent_j[2] = 7e-3;
        records[3].energy_sent_j[2] = 7e-3;
        let active = balances(&records);
        assert!((active.robot_port_min_j().expect("records") + 2e-3).abs() < 1e-15);
        // two motions of 2 mm
        let noise_j = 6.0 * 0.01 * 0.002 * 2.0_f64.sqrt();
        assert!((active.robot_port_tolerance_j(0.01, 0.0) - noise_j).abs() < 1e-15);
        // a master that restarts sets the sums to 0, which returns nothing
        (records[3].energy_sent_j[2], records[3].energy_received_j[2]) = (0.0, 0.0);
        assert_eq!(
            balances(&records).robot_port_min_j(),
            active.robot_port_min_j()
        );
    }
}
