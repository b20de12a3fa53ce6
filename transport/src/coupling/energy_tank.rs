//! Energy tank of one end of the channel: energy received, sent and available.
//!
//! Source: teleop E6b (cumulative energies in every packet) and E9 (tanks). Each end has a level per
//! axis. The handle's work and the energy received from the peer fill it; the robot's work and the energy
//! sent empty it. Transfers travel as cumulative sums that never decrease, so a frame that is lost, late,
//! repeated or overtaken neither makes nor loses energy. As long as both levels are >= 0, the channel
//! has never given more energy than it received: `E_ch = level_m + level_s + in flight`.
//!
//! A passive peer at rest returns no more than this end sent, all axes together (teleop E19). So the master
//! accepts received energy only up to that sum and a declared budget ([`EnergyTank::receive_within`]).

use crate::{AXES, Axes};

/// Energy that an empty tank pays in a tick \[J\]: a thousandth of the 1 nJ that the passivity audit tolerates.
const TRICKLE_J: f64 = 1e-12;

/// Level at which an empty tank stops paying \[J\]. The sum over the axes stays above the tolerance of the audit.
const TRICKLE_STOP_J: f64 = -2e-10;

/// Largest debt (size of a negative level) that is not repaid \[J\].
const DEBT_J: f64 = 1e-10;

/// Speed below which a debt is not repaid \[m/s\]: the noise of a coarse encoder would give damping of
/// the wrong sign, and the level would fall further.
const DEAD_ZONE_MPS: f64 = 2e-2;

/// Energy tank of one end, all axes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EnergyTank {
    level_j: Axes,
    sent_j: Axes,
    received_j: Axes,
    /// Energy sent less energy received, all axes and all runs of the peer together.
    outstanding_j: f64,
}

impl EnergyTank {
    /// Energy that this end may still spend, by axis \[J\].
    #[must_use]
    pub fn level_j(&self) -> &Axes {
        &self.level_j
    }

    /// Energy sent to the peer since its run began, by axis \[J\].
    #[must_use]
    pub fn sent_j(&self) -> &Axes {
        &self.sent_j
    }

    /// Energy received from the peer since its run began, by axis \[J\].
    #[must_use]
    pub fn received_j(&self) -> &Axes {
        &self.received_j
    }

    /// Energy that this end may still give out at its port, all axes together \[J\]. It is the sum of its levels, of
    /// the energy that the peer may still return, and of a budget for active peers.
    #[must_use]
    pub fn recoverable_j(&self, active_j_max: f64) -> f64 {
        self.level_j.iter().sum::<f64>() + self.outstanding_j + active_j_max
    }

    /// Adds the peer's cumulative energy \[J\]; older or repeated sums change nothing.
    pub fn receive(&mut self, peer_sent_j: &Axes) {
        self.receive_within(peer_sent_j, f64::INFINITY);
    }

    /// Adds the peer's cumulative energy as far as this end sent as much before, and `active_j_max` more, all axes
    /// together (teleop E19) \[J\]. Returns true if energy was refused; it stays due, so that a later call accepts
    /// it once this end has sent more.
    pub fn receive_within(&mut self, peer_sent_j: &Axes, active_j_max: f64) -> bool {
        let due_j: Axes = core::array::from_fn(|axis| {
            let due_j = peer_sent_j[axis] - self.received_j[axis];
            if due_j.is_finite() {
                due_j.max(0.0)
            } else {
                0.0
            }
        });
        let total_j: f64 = due_j.iter().sum();
        let room_j = self.outstanding_j + active_j_max + TRICKLE_J;
        let refused = total_j > room_j;
        for axis in 0..AXES {
            if !refused && due_j[axis] > 0.0 {
                self.level_j[axis] += due_j[axis];
                self.received_j[axis] = peer_sent_j[axis];
                self.outstanding_j -= due_j[axis];
            } else if refused {
                let accepted_j = due_j[axis] * (room_j / total_j).max(0.0);
                self.level_j[axis] += accepted_j;
                self.received_j[axis] += accepted_j;
                self.outstanding_j -= accepted_j;
            }
        }
        refused
    }

    /// Restarts both sums for a peer that restarted. The levels stay. Energy in flight to the former run is lost,
    /// which creates no energy. It still counts as sent in the bound of [`Self::receive_within`].
    pub fn reset_sums(&mut self) {
        self.sent_j = Axes::default();
        self.received_j = Axes::default();
    }

    /// Drops what the tank holds for a former peer; a debt stays. This creates no energy.
    pub fn drop_surplus(&mut self) {
        self.level_j = self.level_j.map(|level_j| level_j.min(0.0));
    }

    /// Adds work done on this end \[J\]: positive fills the tank, negative empties it.
    pub fn deposit(&mut self, axis: usize, work_j: f64) {
        if work_j.is_finite() {
            self.level_j[axis] += work_j;
        }
    }

    /// Sends up to `wanted_j` to the peer, leaving `reserve_j`; returns the energy sent \[J\].
    pub(super) fn transfer(&mut self, axis: usize, wanted_j: f64, reserve_j: f64) -> f64 {
        let spare = (self.level_j[axis] - reserve_j).max(0.0);
        let sent_j = if wanted_j > 0.0 {
            wanted_j.min(spare)
        } else {
            0.0
        };
        self.send(axis, sent_j)
    }

    /// Sends `wanted_j` \[J\] even if the level is too low, which may then become negative; only for `direct`
    /// and `iss`.
    pub(super) fn transfer_unpaid(&mut self, axis: usize, wanted_j: f64) {
        let wanted = if wanted_j > 0.0 && wanted_j.is_finite() {
            wanted_j
        } else {
            0.0
        };
        self.send(axis, wanted);
    }

    /// Moves energy from the level to the sum that travels; returns the energy moved \[J\].
    ///
    /// Energy that is rounded away in the growing sum must stay in the level: a million equal transfers
    /// rounded the same way would otherwise make energy.
    fn send(&mut self, axis: usize, energy_j: f64) -> f64 {
        let before_j = self.sent_j[axis];
        self.sent_j[axis] += energy_j;
        let moved_j = self.sent_j[axis] - before_j;
        self.level_j[axis] -= moved_j;
        self.outstanding_j += moved_j;
        moved_j
    }

    /// Fraction of the master's force that the tank can pay for, over the time for which it is held, 0 to 1.
    ///
    /// An empty tank still pays 1 pJ a tick. With it a damper can start, which then fills the tank. Without it no force
    /// could start.
    #[must_use]
    pub fn payable_fraction(&self, axis: usize, force_n: f64, hold: &ForceHold) -> f64 {
        let level = self.level_j[axis];
        let allowance_j = if level < TRICKLE_STOP_J {
            0.0
        } else {
            level.max(TRICKLE_J)
        };
        if hold.cost_j(force_n) <= allowance_j {
            return 1.0;
        }
        (hold.payable_n(force_n, allowance_j) / force_n.abs()).min(1.0)
    }

    /// Damping that repays a negative level within this tick, at most `nspm_max` \[N s/m\] (teleop E8).
    ///
    /// Zero below 20 mm/s, where the sign of a velocity may be noise.
    #[must_use]
    pub fn repayment_nspm(&self, axis: usize, velocity_mps: f64, dt_s: f64, nspm_max: f64) -> f64 {
        let debt = (-self.level_j[axis]).max(0.0);
        if debt <= DEBT_J || velocity_mps.abs() < DEAD_ZONE_MPS {
            return 0.0;
        }
        (debt / (velocity_mps * velocity_mps * dt_s)).min(nspm_max)
    }

    /// Desired velocity nearest to `velocity_mps` whose work `F(v) v T` the tank can pay, for a port
    /// force `F(v) = force_at_rest_n + slope_nspm v` with a positive slope \[m/s\].
    ///
    /// `F(v) v` is convex in v and zero at v = 0, so the limit is a root of a quadratic (ours).
    #[must_use]
    pub fn payable_velocity(
        &self,
        axis: usize,
        velocity_mps: f64,
        force_at_rest_n: f64,
        slope_nspm: f64,
        dt_s: f64,
    ) -> f64 {
        let power = self.level_j[axis].max(0.0) / dt_s;
        if !(force_at_rest_n.is_finite() && velocity_mps.is_finite()) {
            return 0.0;
        }
        if (force_at_rest_n + slope_nspm * velocity_mps) * velocity_mps <= power {
            return velocity_mps;
        }
        let root = (force_at_rest_n * force_at_rest_n + 4.0 * slope_nspm * power).sqrt();
        let toward = if velocity_mps > 0.0 { root } else { -root };
        (toward - force_at_rest_n) / (2.0 * slope_nspm)
    }
}

/// Conditions under which the master's port holds a force, and from them the largest energy that the force may cost
/// (ours).
///
/// Work is force times the distance over which the force is held. A device holds the last command for at
/// most H and then releases it, so that no pause of the master costs more. The mean speed over those H
/// differs from the mean over the last tick for three reasons: the port forces of both times accelerate the
/// handle, so does the hand, and the encoder measures in steps. A filtered velocity would come too late: 6 N
/// turn a light handle within three ticks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ForceHold {
    /// Time H for which the force is paid \[s\].
    pub hold_s: f64,
    /// Part h of D (`elapsed_s`) in which the last force was held \[s\].
    pub last_held_s: f64,
    /// Time D since the previous tick \[s\].
    pub elapsed_s: f64,
    /// Mean speed of the handle over D \[m/s\].
    pub velocity_mps: f64,
    /// Force F' that was held in D \[N\].
    pub last_n: f64,
    /// Least mass m that moves with the handle on this axis \[kg\].
    pub mass_kg: f64,
    /// Largest error of a measured distance \[m\]: the step of the encoder, and its noise.
    pub resolution_m: f64,
    /// Acceleration that the hand may add against the port's force \[m/s^2\].
    pub hand_mps2: f64,
}

impl ForceHold {
    /// Largest cost of a force until it is renewed or released \[J\].
    fn cost_j(&self, force_n: f64) -> f64 {
        self.cost_over_j(force_n, self.hold_s)
    }

    /// Largest cost of a force that is held for `over_s` \[J\].
    #[must_use]
    pub fn cost_over_j(&self, force_n: f64, over_s: f64) -> f64 {
        self.cost_at_speed_j(force_n, self.retreat_mps(force_n), over_s)
    }

    /// Largest cost of a force that is held for `over_s` from rest \[J\].
    #[must_use]
    pub fn cost_from_rest_j(&self, force_n: f64, over_s: f64) -> f64 {
        self.cost_at_speed_j(force_n, 0.0, over_s)
    }

    /// Largest cost \[J\] of a force that is held for `over_s`, if the handle moved against it with a mean speed of
    /// `retreat_mps` in the last tick.
    fn cost_at_speed_j(&self, force_n: f64, retreat_mps: f64, over_s: f64) -> f64 {
        let gain = 0.5 * over_s / self.mass_kg;
        let speed_mps = retreat_mps + self.speed_gain_mps(force_n, over_s) + gain * force_n.abs();
        force_n.abs() * speed_mps * over_s
    }

    /// Mean speed of the last tick against a force of this direction \[m/s\].
    fn retreat_mps(&self, force_n: f64) -> f64 {
        (-self.velocity_mps * force_n.signum()).max(0.0)
    }

    /// Largest increase of the mean speed against a force, from the last `elapsed_s` to the next `over_s`, without the
    /// acceleration by that force itself \[m/s\].
    ///
    /// D is `elapsed_s`, H is `over_s` and h is `last_held_s`. A constant acceleration a makes the means over D and over
    /// H after it differ by `a (D + H) / 2`. F'
    /// acted for h of D only: the mean over D is below the speed at its end by `F' / m (h - h^2 / 2 D)`.
    /// One step of the encoder bounds the error of each of the two distances.
    fn speed_gain_mps(&self, force_n: f64, over_s: f64) -> f64 {
        let pushed_n = (self.last_n * force_n.signum()).max(0.0);
        let lacking_s = self.last_held_s * (1.0 - 0.5 * self.last_held_s / self.elapsed_s);
        self.resolution_m * (1.0 / over_s + 1.0 / self.elapsed_s)
            + 0.5 * self.hand_mps2 * (over_s + self.elapsed_s)
            + pushed_n * lacking_s / self.mass_kg
    }

    /// Largest force in the direction of `force_n` that costs no more than `allowance_j`: the root
    /// of `f (v + g f) H = allowance` \[N\].
    fn payable_n(&self, force_n: f64, allowance_j: f64) -> f64 {
        let over_s = self.hold_s;
        let v_mps = self.retreat_mps(force_n) + self.speed_gain_mps(force_n, over_s);
        let (gain, power_w) = (0.5 * over_s / self.mass_kg, allowance_j / over_s);
        // 2 c / (b + sqrt(b^2 + 4 a c)): avoids the difference of nearly equal numbers
        2.0 * power_w / (v_mps + (v_mps * v_mps + 4.0 * gain * power_w).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn energy_sums_survive_loss_repetition_and_reordering() {
        let mut sender = EnergyTank::default();
        let mut receiver = EnergyTank::default();
        sender.deposit(2, 1.0);
        let mut sums = Vec::new();
        for _ in 0..10 {
            sender.transfer(2, 0.05, 0.0);
            sums.push(*sender.sent_j());
        }
        for index in [3, 1, 9, 9, 2] {
            receiver.receive(&sums[index]);
        }
        assert!((receiver.level_j()[2] - 0.5).abs() < 1e-12);
        assert!((sender.level_j()[2] + receiver.level_j()[2] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn restarted_peer_resets_sums_and_keeps_levels() {
        let mut tank = EnergyTank::default();
        tank.deposit(1, 1.0);
        tank.transfer(1, 0.25, 0.0);
        tank.receive(&[0.0, 0.5, 0.0, 0.0]);
        tank.reset_sums();
        assert_eq!(tank.level_j()[1], 1.25);
        assert_eq!((tank.sent_j()[1], tank.received_j()[1]), (0.0, 0.0));
        tank.receive(&[0.0, 0.125, 0.0, 0.0]);
        assert_eq!(tank.level_j()[1], 1.375);
    }

    #[test]
    fn active_peer_returns_no_more_than_was_sent_and_its_budget() {
        let mut tank = EnergyTank::default();
        assert!(tank.receive_within(&[0.5, 0.0, 0.25, 0.0], 0.0));
        let accepted_j = |tank: &EnergyTank| tank.level_j().iter().sum::<f64>();
        assert!(accepted_j(&tank) <= TRICKLE_J);
        // what is refused is due, first within a budget, then against energy that was sent
        assert!(tank.receive_within(&[0.5, 0.0, 0.25, 0.0], 0.3));
        assert!((accepted_j(&tank) - 0.3).abs() < 1e-11);
        assert!((tank.level_j()[0] - 0.2).abs() < 1e-11);
        tank.deposit(1, 1.0);
        tank.transfer(1, 0.45, 0.0);
        tank.reset_sums();
        assert!(!tank.receive_within(&[0.3, 0.0, 0.15, 0.0], 0.3));
        assert!(tank.receive_within(&[5e3; AXES], 0.3));
        assert!((accepted_j(&tank) - 1.3).abs() < 1e-11);
    }

    #[test]
    fn energy_that_comes_back_on_another_axis_is_accepted() {
        let mut tank = EnergyTank::default();
        tank.deposit(0, 0.1);
        tank.transfer(0, 0.1, 0.0);
        assert!(!tank.receive_within(&[0.0, 0.06, 0.04, 0.0], 0.0));
        assert!((tank.level_j()[1] - 0.06).abs() < 1e-12);
    }

    #[test]
    fn a_million_equal_transfers_make_no_energy() {
        let (mut sender, mut receiver) = (EnergyTank::default(), EnergyTank::default());
        sender.deposit(0, 300.0);
        sender.transfer(0, 200.0, 0.0);
        for _ in 0..1_000_000 {
            sender.transfer(0, 1.6e-14, 0.0);
        }
        receiver.receive(sender.sent_j());
        let total_j = sender.level_j()[0] + receiver.level_j()[0];
        assert!((total_j - 300.0).abs() < 1e-10, "{}", total_j - 300.0);
    }

    #[test]
    fn negative_level_is_repaid_by_damping_only_while_moving() {
        let mut tank = EnergyTank::default();
        tank.deposit(0, -1e-6);
        assert_eq!(tank.repayment_nspm(0, 0.0, 1e-3, 20.0), 0.0);
        assert_eq!(tank.repayment_nspm(0, 0.03, 1e-3, 0.5), 0.5);
        let alpha = tank.repayment_nspm(0, 0.1, 1e-3, 20.0);
        assert!((alpha * 0.01 * 1e-3 - 1e-6).abs() < 1e-15);
        assert_eq!(
            EnergyTank::default().repayment_nspm(0, 0.1, 1e-3, 20.0),
            0.0
        );
    }

    proptest! {
        #[test]
        fn payable_velocity_costs_at_most_the_level(
            level in 0.0f64..0.01, v in -0.5f64..0.5, f0 in -10.0f64..10.0, slope in 1.0f64..100.0,
        ) {
            let mut tank = EnergyTank::default();
            tank.deposit(1, level);
            let allowed = tank.payable_velocity(1, v, f0, slope, 1e-3);
            prop_assert!((f0 + slope * allowed) * allowed * 1e-3 <= level + 1e-15);
            prop_assert!(allowed * v >= 0.0 && allowed.abs() <= v.abs() + 1e-12);
        }

        #[test]
        fn payable_force_never_overdraws_the_tank(
            level in 0.0f64..1e-3, f in -10.0f64..10.0, v in -0.5f64..0.5, last in -6.0f64..6.0,
            mass in 0.02f64..0.5, hand in -40.0f64..40.0, missed in 0u32..30,
        ) {
            let mut tank = EnergyTank::default();
            tank.deposit(0, level);
            let (period, hold_s) = (1e-3, 2e-3);
            let hold = ForceHold {
                hold_s, last_held_s: period, elapsed_s: period, velocity_mps: v, last_n: last, mass_kg: mass,
                resolution_m: 0.0, hand_mps2: 40.0,
            };
            let force = f * tank.payable_fraction(0, f, &hold);
            prop_assert!(force * f >= 0.0 && force.abs() <= f.abs() * (1.0 + 1e-12));
            // the handle responds as a mass: the port force pushes it backwards; the device holds the force
            // until it is renewed, or for H
            let until_s = (period * f64::from(1 + missed)).min(hold_s);
            let now = v + 0.5 * period * (hand - last / mass);
            let moved = until_s * (now + 0.5 * until_s * (hand - force / mass));
            tank.deposit(0, force * moved);
            prop_assert!(tank.level_j()[0] >= -2.0 * TRICKLE_J);
        }

        #[test]
        fn invalid_energy_of_the_peer_changes_nothing(value in prop::num::f64::ANY) {
            let mut tank = EnergyTank::default();
            tank.receive(&[value; AXES]);
            prop_assert!(tank.level_j().iter().all(|level| level.is_finite() && *level >= 0.0));
        }
    }
}
