//! Time-domain passivity over a delay: observes the energy of both ports and damps only the excess.
//!
//! Source: teleop E8 (Ryu, Artigas and Preusche 2010; Hannaford and Ryu 2002). Per axis, with
//! `P = F v` into the channel:
//!
//! | symbol | is | here |
//! |---|---|---|
//! | E_in | energy that entered at a port, all of it sent to the peer | [`Observer::record_work`] |
//! | W | observed gap, `E_in of the peer - E_out here` | [`Observer::gap_j`] |
//! | alpha | damping of the master's controller | [`impedance_controller_nspm`] |
//! | beta | admittance of the slave's controller | [`admittance_controller_mps`] |
//!
//! The specification `teleop` (docs/sources.md) took E8 from public code and the rest from memory; no paper's text
//! could be read. So the observer is checked against a second derivation. The tank ([`super::EnergyTank`]) of an end
//! that sends all that enters it holds `received + in - out - sent = received - out`, which is W (test below, against
//! counters of the classic form). Energy still to be sent belongs to the peer and is subtracted. The controllers are
//! checked by the energy that they leave.
//!
//! - *Carry-over.* W is a sum, so energy that a limited controller could not dissipate remains for the next tick.
//! - *Near rest.* Below a dead zone in velocity, or force, the sign is noise and no controller acts.
//! - *Drift.* A slave that was slowed falls behind. [`admitted_correction_mps`] adds a velocity towards the
//!   master's position as far as the gap pays (E7; the idea of Coelho 2019 and Chawda).
//! - *Output filter.* E8 requires a passive mass-spring behind the impedance controller, so that a hand does not feel
//!   its pulses. [`OutputFilter`] is one of the first order that counts its demanded work. Passivity does not depend
//!   on that count, as the tank pays for the commanded force. Measured (RP-1, 300 N/m, 20 % jitter, 2 % loss; RMS of
//!   the force above 20 Hz, without and with 15 Hz): `tdpa` 12.4 and 12.4 mN over 10 ms one way, 116 and 102 over 50,
//!   218 and 194 over 200; `wave-tdpa` 66 and 47, 97 and 90, 109 and 97; the stiffness shown stays within 1 %. If the
//!   coupling force is relayed, that force oscillates and the filter has no effect (533 and 603 mN over 10 ms). Most
//!   of the chatter comes from the network and the tank, not from the controller.
//! - *Energy reflection* (Panzirsch 2019). The slave's gap beyond its need goes back to the master
//!   ([`reflected_j`]), where it pays for the force. The paper's internals are not known here. This form is
//!   ours, and any form is passive, because the tank moves the energy.
//! - *Charging.* An ideal robot follows a velocity without loss and needs no energy; a real robot needs some. So the
//!   hand pays a friction while the slave's gap is low, as in model mediation (ours). Without it the robot would
//!   start its first motion only after noise below the dead zones had made the gap negative.
//!
//! Several axes are observed one by one, which is stricter than their sum.

use super::method::{EnergyTransfer, MasterPort, Method, SlavePort};
use super::robot_tank::charging_friction_n;
use super::wave::Wave;
use super::wave_filter::{smoothed, time_of_cutoff_s};
use super::{EnergyTank, ForceDemand, VelocityDemand};
use crate::trace::EventFlags;
use crate::{AXES, Axes, HapticFrame};

/// Speed below which the master's controller does nothing \[m/s\].
const SPEED_DEAD_MPS: f64 = 5e-3;

/// Force below which the slave's controller does nothing \[N\].
const FORCE_DEAD_N: f64 = 1e-3;

/// Largest damping of the master's controller \[N s/m\]: stable on a 0.05 kg handle at 1 kHz (E8, m/T).
const ALPHA_NSPM_MAX: f64 = 20.0;

/// Fraction of the tank's target that a reflecting slave keeps. A tank below its target makes the hand pay some
/// friction. If the slave kept the whole target, no energy would ever be left to reflect.
const TARGET_FRACTION_KEPT: f64 = 1.0 / 3.0;

/// Observer and controllers of one end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tdpa {
    /// Waves whose energy is observed and controlled (`wave-tdpa`); none for velocity forward and force back.
    waves: Option<Wave>,
    observer: Observer,
    output: [OutputFilter; AXES],
    /// Force that the master's controller added, by axis \[N\].
    added_n: Axes,
}

impl Method for Tdpa {
    fn restart(&mut self) {
        *self = Self {
            waves: self.waves.map(|_| Wave::default()),
            ..Self::default()
        };
    }

    fn begin_tick(&mut self, newest: &HapticFrame, becomes_active: bool, received_factor: f64) {
        if let Some(waves) = &mut self.waves {
            waves.begin_tick(newest, becomes_active, received_factor);
        }
    }

    fn record_work(&mut self, axis: usize, channel_j: f64, moved_m: f64) {
        // the energy that the controller dissipates repays the gap and is not sent to the peer
        let repaid_j = (self.added_n[axis] * moved_m).max(0.0);
        self.output[axis].record_work(moved_m);
        self.observer.record_work(axis, channel_j - repaid_j);
    }

    fn force(&mut self, port: &MasterPort<'_>) -> ForceDemand {
        let demand = if let Some(waves) = &mut self.waves {
            waves.force(port)
        } else {
            let relayed_n = port.inputs.relayed_force_n(port.handle.axis);
            ForceDemand::from_force(
                relayed_n
                    + charging_friction_n(port, port.inputs.params.tdpa_charging_friction_n_max),
            )
        };
        self.with_impedance_controller(demand, port)
    }

    fn velocity(&mut self, port: &SlavePort<'_>) -> VelocityDemand {
        if let Some(waves) = &mut self.waves {
            let demand = waves.velocity_limited(port, f64::INFINITY);
            return self.with_admittance_controller(demand, port);
        }
        let (pd, handle_mps) = (&port.robot.pd, port.handle_velocity_mps());
        let correction_mps = port.correction.velocity_mps(port.position_error_m);
        let force_n = pd.force(handle_mps);
        let admitted_mps = admitted_correction_mps(
            self.gap_j(port),
            force_n,
            handle_mps,
            correction_mps,
            pd.dt_s,
        );
        self.with_admittance_controller(
            VelocityDemand::from_velocity(handle_mps + admitted_mps),
            port,
        )
    }

    fn transfer(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        let left_j = outgoing.reserve_j + outgoing.blade_energy_j;
        self.observer.transfer(outgoing.axis, left_j, outgoing.tank);
    }

    fn transfer_back(&mut self, outgoing: &mut EnergyTransfer<'_>) {
        self.transfer(outgoing);
        let (params, dt_s) = (outgoing.inputs.params, outgoing.inputs.dt_s);
        let gap_j = self.observer.gap_j(outgoing.axis, outgoing.level_j());
        let reserve_j = params.tank_target_j * TARGET_FRACTION_KEPT;
        outgoing.transfer(
            reflected_j(gap_j, reserve_j, params.reflect_per_s, dt_s),
            0.0,
        );
    }
}

impl Tdpa {
    /// Creates the method over waves (`wave-tdpa`, with E2).
    pub(super) fn over_waves() -> Self {
        Self {
            waves: Some(Wave::default()),
            ..Self::default()
        }
    }

    /// Demand behind the impedance controller of E8.
    fn with_impedance_controller(
        &mut self,
        demand: ForceDemand,
        port: &MasterPort<'_>,
    ) -> ForceDemand {
        let (axis, v) = (port.handle.axis, port.handle.velocity_mps);
        let (dt_s, filter_hz) = (port.inputs.dt_s, port.inputs.params.control_filter_hz);
        let gap_j = self.observer.gap_j(axis, port.level_j) - port.blade_energy_j;
        let alpha = impedance_controller_nspm(gap_j, demand.force_n, v, dt_s, ALPHA_NSPM_MAX);
        let added_n = self.output[axis].next(alpha * v, v, filter_hz, dt_s);
        self.added_n[axis] = added_n;
        ForceDemand {
            force_n: demand.force_n + added_n,
            events: demand.events | (EventFlags::PASSIVITY_CONTROL * u32::from(alpha > 0.0)),
            ..demand
        }
    }

    /// Demand behind the admittance controller of E8.
    fn with_admittance_controller(
        &self,
        demand: VelocityDemand,
        port: &SlavePort<'_>,
    ) -> VelocityDemand {
        let (pd, v) = (&port.robot.pd, demand.velocity_mps);
        let slowed = admittance_controller_mps(self.gap_j(port), pd.force(v), v, pd.dt_s);
        let acted = if slowed == v {
            0
        } else {
            EventFlags::PASSIVITY_CONTROL
        };
        VelocityDemand {
            velocity_mps: slowed,
            events: demand.events | acted,
            ..demand
        }
    }

    /// Gap at the slave \[J\].
    fn gap_j(&self, port: &SlavePort<'_>) -> f64 {
        self.observer.gap_j(port.robot.axis, port.level_j)
    }
}

/// Passivity observer of one port.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Observer {
    untransferred_j: Axes,
}

impl Observer {
    /// Records work done on this port \[J\], + into the channel: energy that enters is owed to the peer.
    fn record_work(&mut self, axis: usize, work_j: f64) {
        if work_j > 0.0 && work_j.is_finite() {
            self.untransferred_j[axis] += work_j;
        }
    }

    /// Sends the energy owed, leaving `reserve_j` in the tank \[J\].
    fn transfer(&mut self, axis: usize, reserve_j: f64, tank: &mut EnergyTank) {
        let sent_j = tank.transfer(axis, self.untransferred_j[axis], reserve_j);
        self.untransferred_j[axis] = (self.untransferred_j[axis] - sent_j).max(0.0);
    }

    /// Observed gap W \[J\]: the level of the tank, less the energy that is still to be sent to the peer. Energy up
    /// to W may leave at this port.
    fn gap_j(&self, axis: usize, level_j: f64) -> f64 {
        level_j - self.untransferred_j[axis]
    }
}

/// Damping of the master's passivity controller in this tick, at most `nspm_max` \[N s/m\]:
/// `alpha = -(W + F v T) / (T v^2)` where that is positive, none below the dead zone.
///
/// `F v T` counts only when it leaves: energy that would enter is not there yet. `F + alpha v` then leaves
/// the gap at zero, or as near as the limit allows.
fn impedance_controller_nspm(
    gap_j: f64,
    force_n: f64,
    velocity_mps: f64,
    dt_s: f64,
    nspm_max: f64,
) -> f64 {
    let expected_j = gap_j + (force_n * velocity_mps * dt_s).min(0.0);
    if expected_j < 0.0 && velocity_mps.abs() > SPEED_DEAD_MPS {
        (-expected_j / (dt_s * velocity_mps * velocity_mps)).min(nspm_max)
    } else {
        0.0
    }
}

/// Low-pass of the force that the master's controller adds, against its pulses (E8; ours, of the first
/// order).
///
/// A controller's force is a damper's and only takes energy. Delayed by a filter it may act after the handle has
/// turned, and then it would push. So the filter counts the energy that it took at the port and gives back no more
/// than that: by itself it is passive. It counts the force that it demands. Where guard or tank reduce the whole
/// force, the count may be too large, and then the tank pays for the difference as for any force. The filter delays
/// the repayment of a negative level, which stays negative until then.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct OutputFilter {
    force_n: f64,
    absorbed_j: f64,
}

impl OutputFilter {
    /// Records the distance that the handle moved under the last force \[m\].
    fn record_work(&mut self, moved_m: f64) {
        let work_j = self.force_n * moved_m;
        if work_j.is_finite() {
            self.absorbed_j = (self.absorbed_j + work_j).max(0.0);
        }
    }

    /// Force to add in place of `pulse_n` at the handle's velocity; `cutoff_hz` 0 is no filter \[N\].
    fn next(&mut self, pulse_n: f64, velocity_mps: f64, cutoff_hz: f64, dt_s: f64) -> f64 {
        if cutoff_hz <= 0.0 {
            return pulse_n;
        }
        let smooth_n = smoothed(self.force_n, pulse_n, time_of_cutoff_s(cutoff_hz), dt_s);
        let cost_j = -smooth_n * velocity_mps * dt_s;
        // written so that not-a-number gives no force
        let paid = cost_j <= self.absorbed_j;
        self.force_n = if paid { smooth_n } else { 0.0 };
        self.force_n
    }
}

/// Desired velocity behind the slave's passivity controller \[m/s\]:
/// `v - beta F` with `beta = -(W - F v T) / (T F^2)` where that is positive.
///
/// `F v` is the power that leaves at the slave. The sign of v is never reversed within a tick; the
/// remainder is carried over in W. No controller acts below the dead zone of force.
fn admittance_controller_mps(gap_j: f64, force_n: f64, velocity_mps: f64, dt_s: f64) -> f64 {
    let expected_j = gap_j - force_n * velocity_mps * dt_s;
    let acts = expected_j < 0.0 && force_n.abs() > FORCE_DEAD_N && force_n * velocity_mps > 0.0;
    if !acts {
        return velocity_mps;
    }
    let slowed = velocity_mps + expected_j / (dt_s * force_n);
    if slowed * velocity_mps > 0.0 {
        slowed
    } else {
        0.0
    }
}

/// Part of a correcting velocity that the gap admits beside `velocity_mps` \[m/s\] (E7): all of it where
/// it takes no energy out, otherwise as much as `F (v + v_ad) T <= W` allows.
fn admitted_correction_mps(
    gap_j: f64,
    force_n: f64,
    velocity_mps: f64,
    correction_mps: f64,
    dt_s: f64,
) -> f64 {
    // written so that a force that is not a number leaves the correction unchanged and causes no panic
    let costs = force_n * correction_mps > 0.0;
    if !costs {
        return correction_mps;
    }
    let spare_j = (gap_j - force_n * velocity_mps * dt_s).max(0.0);
    let most_mps = spare_j / (force_n.abs() * dt_s);
    correction_mps.max(-most_mps).min(most_mps)
}

/// Energy that the slave reflects to the master in one tick \[J\]: a fraction of the gap beyond `reserve_j`.
fn reflected_j(gap_j: f64, reserve_j: f64, reflect_per_s: f64, dt_s: f64) -> f64 {
    (gap_j - reserve_j).max(0.0) * (reflect_per_s * dt_s).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const T: f64 = 1e-3;

    proptest! {
        /// Second derivation of the gap: counters of the classic form, over a delay.
        #[test]
        fn gap_equals_the_classic_observer(
            powers in prop::collection::vec((-1.0f64..1.0, -1.0f64..1.0), 1..300), delay in 0usize..50,
        ) {
            let (mut tank, mut observer) = (EnergyTank::default(), Observer::default());
            let (mut peer_in, mut own_out, mut sums) = (0.0, 0.0, vec![0.0; delay + 1]);
            for (peer_w, own_w) in powers {
                peer_in += T * peer_w.max(0.0);
                sums.push(peer_in);
                let arrived = sums[sums.len() - 1 - delay];
                own_out += T * (-own_w).max(0.0);
                tank.receive(&[arrived, 0.0, 0.0, 0.0]);
                tank.deposit(0, T * own_w);
                observer.record_work(0, T * own_w);
                prop_assert!((observer.gap_j(0, tank.level_j()[0]) - (arrived - own_out)).abs() < 1e-12);
                observer.transfer(0, 0.0, &mut tank);
                prop_assert!((observer.gap_j(0, tank.level_j()[0]) - (arrived - own_out)).abs() < 1e-12);
            }
        }

        #[test]
        fn master_damping_closes_the_gap(
            gap in -1e-3f64..1e-3, f in -10.0f64..10.0, v in -0.5f64..0.5,
        ) {
            let alpha = impedance_controller_nspm(gap, f, v, T, f64::INFINITY);
            prop_assert!(alpha >= 0.0);
            let remaining = gap + (f * v * T).min(0.0) + alpha * v * v * T;
            let dead = v.abs() <= SPEED_DEAD_MPS;
            prop_assert!(dead || remaining >= -1e-15);
            // no more damping than necessary
            prop_assert!(alpha == 0.0 || remaining.abs() < 1e-12);
            // a limited controller leaves a remainder, and never adds energy
            let clipped = impedance_controller_nspm(gap, f, v, T, ALPHA_NSPM_MAX);
            prop_assert!(clipped <= alpha && clipped <= ALPHA_NSPM_MAX);
        }

        /// Filter's own balance, for a handle that moves at the commanded velocity.
        #[test]
        fn filtered_controller_returns_no_more_than_it_took(
            ticks in prop::collection::vec((-0.5f64..0.5, 0.0f64..20.0), 1..300), hz in 1.0f64..200.0,
        ) {
            let (mut filter, mut taken_j) = (OutputFilter::default(), 0.0);
            for (v, alpha) in ticks {
                let added_n = filter.next(alpha * v, v, hz, T);
                prop_assert!(added_n.abs() <= 10.0);
                taken_j += added_n * v * T;
                filter.record_work(v * T);
                prop_assert!(taken_j >= -1e-15);
            }
        }

        #[test]
        fn slave_is_slowed_to_close_the_gap_and_never_reversed(
            gap in -1e-3f64..1e-3, f in -10.0f64..10.0, v in -0.5f64..0.5,
        ) {
            let slowed = admittance_controller_mps(gap, f, v, T);
            prop_assert!(slowed * v >= 0.0 && slowed.abs() <= v.abs() + 1e-15);
            let remaining = gap - f * slowed * T;
            let free = f.abs() <= FORCE_DEAD_N || f * v <= 0.0 || slowed == 0.0;
            prop_assert!(free || remaining >= -1e-12);
            prop_assert!(slowed == v || slowed == 0.0 || remaining.abs() < 1e-12);
        }

        #[test]
        fn drift_correction_is_paid_by_the_gap(
            gap in -1e-3f64..1e-3, f in -10.0f64..10.0, v in -0.5f64..0.5, ad in -0.05f64..0.05,
        ) {
            let admitted = admitted_correction_mps(gap, f, v, ad, T);
            prop_assert!(admitted * ad >= 0.0 && admitted.abs() <= ad.abs());
            let before = gap - f * v * T;
            let after = gap - f * (v + admitted) * T;
            // it never makes a level negative nor lowers a negative one
            prop_assert!(after >= before.min(0.0) - 1e-15);
        }
    }

    #[test]
    fn gap_beyond_the_damping_limit_is_carried_over() {
        let mut gap = -1e-4;
        let mut ticks = 0;
        while gap < -1e-12 {
            let v = 0.05;
            gap += impedance_controller_nspm(gap, 0.0, v, T, ALPHA_NSPM_MAX) * v * v * T;
            ticks += 1;
        }
        assert_eq!(ticks, 2, "50 uJ a tick at 20 N s/m and 50 mm/s");
        assert_eq!(
            impedance_controller_nspm(-1e-4, 0.0, 1e-3, T, ALPHA_NSPM_MAX),
            0.0
        );
        assert_eq!(admittance_controller_mps(-1e-4, 1e-4, 0.1, T), 0.1);
        assert_eq!(reflected_j(0.03, 0.03, 5.0, T), 0.0);
        assert!((reflected_j(0.05, 0.03, 5.0, T) - 1e-4).abs() < 1e-15);
    }
}
