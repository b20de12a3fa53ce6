//! Slave's end of the coupling.
//!
//! A tick calls [`SlaveEnd::begin_tick`] once, then for each axis [`SlaveEnd::demand`] for the method's velocity and,
//! after the limits of guard and tank, [`SlaveEnd::send`] for the wave and energy to the other side.

use super::channel_end::ChannelEnd;
use super::drift::OutageRecovery;
use super::method::{EnergyTransfer, SlavePort};
use super::mode_switch::Crossfade;
use super::{CouplingInputs, EnergyTank, RobotAxis, SlavePortMotion, VelocityDemand, wave};
use crate::{AXES, Axes};

/// Remainder of a crossfade that is negligible \[m\].
const CROSSFADE_M_MIN: f64 = 1e-9;

/// State of the coupling at the slave.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SlaveEnd {
    channel: ChannelEnd,
    recovery: OutageRecovery,
    /// Crossfades of the distance by which the robot was behind when its method began: a method that follows
    /// positions would otherwise cover the deflection of a wave channel at once.
    crossfades: [Crossfade; AXES],
}

impl SlaveEnd {
    /// Resets the sums for a peer that restarted.
    pub fn restart(&mut self) {
        self.channel.restart();
        self.recovery = OutageRecovery::default();
        self.crossfades = [Crossfade::default(); AXES];
    }

    /// Begins a tick, in the mode of its parameters.
    pub fn begin_tick(&mut self, inputs: &CouplingInputs<'_>) {
        self.recovery.update(inputs);
        if self.channel.begin_tick(inputs) {
            self.crossfades.iter_mut().for_each(Crossfade::begin);
        }
    }

    /// Velocity demand of the method on one axis.
    pub fn demand(
        &mut self,
        inputs: &CouplingInputs<'_>,
        robot: &RobotAxis,
        tank: &EnergyTank,
    ) -> VelocityDemand {
        let behind_m = inputs.newest.position_m[robot.axis] - robot.port_position_m;
        let crossfade = &mut self.crossfades[robot.axis];
        self.channel.active.get_mut().velocity(&SlavePort {
            inputs,
            robot,
            spacing: self.channel.spacing,
            position_error_m: crossfade.blended(behind_m, 0.0, CROSSFADE_M_MIN, inputs.dt_s),
            correction: self.recovery.correction(inputs.params),
            level_j: tank.level_j()[robot.axis],
        })
    }

    /// Sends the wave of this tick and its energy; returns the wave \[sqrt(W)\].
    /// The tank has already paid for the motion.
    pub fn send(
        &mut self,
        inputs: &CouplingInputs<'_>,
        moved: &SlavePortMotion,
        tank: &mut EnergyTank,
    ) -> f64 {
        let (axis, v, force_n) = (moved.axis, moved.velocity_mps, moved.force_n);
        let wave = wave::backward(inputs.sent_impedance_nspm(axis), v, force_n);
        let sent = self.channel.send(inputs, axis, wave);
        let method = self.channel.active.get_mut();
        method.record_work(axis, moved.work_j, v * inputs.dt_s);
        method.transfer_back(&mut EnergyTransfer {
            inputs,
            axis,
            wave_j: 0.5 * sent * sent * inputs.dt_s,
            reserve_j: 0.0,
            blade_energy_j: 0.0,
            twin_energy_j: 0.0,
            tank,
        });
        sent
    }

    /// Integral of the waves sent since the peer's run began, by axis \[sqrt(W) s\].
    #[must_use]
    pub fn wave_integral(&self) -> &Axes {
        &self.channel.wave_integral
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HapticFrame;
    use crate::coupling::{CouplingParams, Mode, PdController};

    fn robot(port_m: f64) -> RobotAxis {
        RobotAxis {
            axis: 2,
            port_position_m: port_m,
            touching: false,
            contact_force_n: None,
            pd: PdController {
                stiffness_npm: 2000.0,
                damping_nspm: 50.0,
                error_m: 0.0,
                robot_velocity_mps: 0.0,
                dt_s: 1e-3,
            },
        }
    }

    fn frame(sequence: u64, velocity_mps: f64) -> HapticFrame {
        let mut newest = HapticFrame {
            sequence,
            ..HapticFrame::default()
        };
        newest.velocity_mps[2] = velocity_mps;
        newest
    }

    fn inputs<'a>(
        params: &'a CouplingParams,
        newest: &'a HapticFrame,
        fresh: bool,
    ) -> CouplingInputs<'a> {
        CouplingInputs {
            params,
            impedance_nspm: 10.0,
            newest,
            fresh,
            round_trip_s: 0.0,
            dt_s: 1e-3,
        }
    }

    fn in_mode(mode: Mode) -> CouplingParams {
        CouplingParams {
            mode,
            follow_per_s: 0.0,
            ..CouplingParams::default()
        }
    }

    /// The filter of the handle's velocity kept its state from an earlier use of the method.
    #[test]
    fn issue_switch_kept_an_old_filter_state() {
        let (params, other) = (in_mode(Mode::Mmt), in_mode(Mode::Tank));
        let (mut end, tank) = (SlaveEnd::default(), EnergyTank::default());
        let fast = frame(1, 0.1);
        end.begin_tick(&inputs(&params, &fast, true));
        for _ in 0..100 {
            let _ = end.demand(&inputs(&params, &fast, true), &robot(0.0), &tank);
        }
        let still = frame(2, 0.0);
        end.begin_tick(&inputs(&other, &still, true));
        end.begin_tick(&inputs(&params, &still, true));
        let demand = end.demand(&inputs(&params, &still, true), &robot(0.0), &tank);
        assert_eq!(demand.velocity_mps, 0.0);
    }

    /// A robot 5 mm behind at a switch to a method of positions moved there in one tick.
    #[test]
    fn issue_switch_moved_the_robot_by_the_channel_deflection_at_once() {
        let params = in_mode(Mode::Pspm);
        let (mut end, tank) = (SlaveEnd::default(), EnergyTank::default());
        let mut newest = frame(1, 0.0);
        newest.position_m[2] = 0.005;
        end.begin_tick(&inputs(&in_mode(Mode::Wave), &newest, true));
        end.begin_tick(&inputs(&params, &newest, true));
        let mut port_m = 0.0;
        for tick in 0..3000 {
            let demand = end.demand(&inputs(&params, &newest, true), &robot(port_m), &tank);
            assert!(demand.velocity_mps.abs() <= 0.0501, "{tick} {demand:?}");
            port_m += demand.velocity_mps * 1e-3;
        }
        // then it equals the method's own demand, bit for bit
        assert_eq!(end.crossfades[2], Crossfade::default());
        assert!((port_m - 0.005).abs() < 1e-8, "{port_m}");
    }

    /// Encoder noise in the handle's velocity did work on a controller's damping of 50 N s/m and emptied the tank.
    #[test]
    fn issue_encoder_noise_emptied_the_slave_tank() {
        let params = in_mode(Mode::Mmt);
        let (mut end, tank) = (SlaveEnd::default(), EnergyTank::default());
        end.begin_tick(&inputs(&params, &frame(0, 0.0), true));
        let mut demand = |velocity_mps: f64, fresh: bool| {
            let newest = frame(0, velocity_mps);
            end.demand(&inputs(&params, &newest, fresh), &robot(0.0), &tank)
                .velocity_mps
        };
        // a hand at 20 mm/s whose encoder noise has 5 mm/s at 125 Hz
        let (mut squares, mut last_mps) = (0.0, 0.0);
        for tick in 0..400 {
            let noise_mps = if tick / 4 % 2 == 0 { 0.005 } else { -0.005 };
            last_mps = demand(0.02 + noise_mps, true);
            if tick >= 200 {
                squares += (last_mps - 0.02) * (last_mps - 0.02);
            }
        }
        assert!((last_mps - 0.02).abs() < 2e-3, "{last_mps}");
        let power_w = 50.0 * squares / 200.0;
        assert!(power_w < 0.1 * 50.0 * 0.005 * 0.005, "{power_w}");
        // an outage still stops it at once
        assert_eq!(demand(0.0, false), 0.0);
    }
}
