//! The slave's end of the coupling.
//!
//! A tick calls [`SlaveEnd::begin`] once, then for each axis [`SlaveEnd::demand`] for the velocity that the method
//! wants of the port, and, when guard and account have spoken, [`SlaveEnd::send`] for what goes to the other side.

use super::drift::Recovery;
use super::end::End;
use super::method::{Shipment, SlavePort};
use super::switch::Ease;
use super::{AtRobot, Moment, Moved, Reservoir, WantedVelocity, wave};
use crate::{AXES, Axes};

/// What is left of a distance that no longer matters \[m\].
const EASED_M: f64 = 1e-9;

/// What the coupling remembers at the slave.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SlaveEnd {
    end: End,
    recovery: Recovery,
    /// What is left of how far the robot was behind when its method began: one that follows positions would else go
    /// through the whole deflection of a line of waves at once.
    eases: [Ease; AXES],
}

impl SlaveEnd {
    /// With a peer that began anew, sums count from 0 again.
    pub fn restart(&mut self) {
        self.end.restart();
        self.recovery = Recovery::default();
        self.eases = [Ease::default(); AXES];
    }

    /// Begin a tick, in the mode of its parameters.
    pub fn begin(&mut self, moment: &Moment<'_>) {
        self.recovery.note(moment);
        if self.end.begin(moment) {
            self.eases.iter_mut().for_each(Ease::begin);
        }
    }

    /// What the method wants on one axis.
    pub fn demand(
        &mut self,
        moment: &Moment<'_>,
        robot: &AtRobot,
        account: &Reservoir,
    ) -> WantedVelocity {
        let behind_m = moment.newest.position_m[robot.axis] - robot.port_m;
        let ease = &mut self.eases[robot.axis];
        self.end.running.get_mut().velocity(&SlavePort {
            moment,
            robot,
            spacing: self.end.spacing,
            behind_m: ease.eased(behind_m, 0.0, EASED_M, moment.dt_s),
            repair: self.recovery.repair(moment.params),
            level_j: account.level_j()[robot.axis],
        })
    }

    /// Send the wave of this tick and the energy that goes with it; returns the wave \[sqrt(W)\].
    /// The account has already paid for the motion.
    pub fn send(&mut self, moment: &Moment<'_>, moved: &Moved, account: &mut Reservoir) -> f64 {
        let (axis, v, force_n) = (moved.axis, moved.velocity_mps, moved.force_n);
        let made = wave::backward(moment.own_nspm(axis), v, force_n);
        let sent = self.end.send(moment, axis, made);
        let method = self.end.running.get_mut();
        method.book(axis, -force_n * v * moment.dt_s, v * moment.dt_s);
        method.ship_back(&mut Shipment {
            moment,
            axis,
            wave_j: 0.5 * sent * sent * moment.dt_s,
            reserve_j: 0.0,
            kept_j: 0.0,
            twin_j: 0.0,
            account,
        });
        sent
    }

    /// Integral of the waves sent since the peer began, by axis \[sqrt(W) s\].
    #[must_use]
    pub fn wave_integral(&self) -> &Axes {
        &self.end.wave_integral
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HapticFrame;
    use crate::coupling::{CouplingParams, Mode, Pd};

    fn robot(port_m: f64) -> AtRobot {
        AtRobot {
            axis: 2,
            port_m,
            touching: false,
            contact_n: None,
            pd: Pd {
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

    fn moment<'a>(params: &'a CouplingParams, newest: &'a HapticFrame, held: bool) -> Moment<'a> {
        Moment {
            params,
            impedance_nspm: 10.0,
            newest,
            held,
            dt_s: 1e-3,
        }
    }

    fn in_mode(mode: Mode) -> CouplingParams {
        CouplingParams {
            mode,
            follow_hz: 0.0,
            ..CouplingParams::default()
        }
    }

    /// The filter of the handle's velocity kept what it was in the last touch of the twin.
    #[test]
    fn issue_a_switch_kept_the_velocity_of_long_ago() {
        let (params, other) = (in_mode(Mode::Mmt), in_mode(Mode::Tank));
        let (mut end, account) = (SlaveEnd::default(), Reservoir::default());
        let fast = frame(1, 0.1);
        end.begin(&moment(&params, &fast, true));
        for _ in 0..100 {
            let _ = end.demand(&moment(&params, &fast, true), &robot(0.0), &account);
        }
        let still = frame(2, 0.0);
        end.begin(&moment(&other, &still, true));
        end.begin(&moment(&params, &still, true));
        let wanted = end.demand(&moment(&params, &still, true), &robot(0.0), &account);
        assert_eq!(wanted.velocity_mps, 0.0);
    }

    /// A robot 5 mm behind at a switch to a method of positions was sent there in one tick.
    #[test]
    fn issue_a_switch_sent_the_robot_through_the_deflection_of_the_line() {
        let params = in_mode(Mode::Pspm);
        let (mut end, account) = (SlaveEnd::default(), Reservoir::default());
        let mut newest = frame(1, 0.0);
        newest.position_m[2] = 0.005;
        end.begin(&moment(&in_mode(Mode::Wave), &newest, true));
        end.begin(&moment(&params, &newest, true));
        let mut port_m = 0.0;
        for tick in 0..3000 {
            let wanted = end.demand(&moment(&params, &newest, true), &robot(port_m), &account);
            assert!(wanted.velocity_mps.abs() <= 0.0501, "{tick} {wanted:?}");
            port_m += wanted.velocity_mps * 1e-3;
        }
        // and then it is the method's own, bit for bit
        assert_eq!(end.eases[2], Ease::default());
        assert!((port_m - 0.005).abs() < 1e-8, "{port_m}");
    }

    /// Work on a controller's damping of 50 N s/m by the noise of the handle's velocity emptied the tank.
    #[test]
    fn issue_the_noise_of_a_coarse_encoder_was_work() {
        let params = in_mode(Mode::Mmt);
        let (mut end, account) = (SlaveEnd::default(), Reservoir::default());
        end.begin(&moment(&params, &frame(0, 0.0), true));
        let mut ask = |velocity_mps: f64, held: bool| {
            let newest = frame(0, velocity_mps);
            end.demand(&moment(&params, &newest, held), &robot(0.0), &account)
                .velocity_mps
        };
        // a hand at 20 mm/s whose encoder rattles at 125 Hz by 5 mm/s
        let (mut squares, mut last_mps) = (0.0, 0.0);
        for tick in 0..400 {
            let noise_mps = if tick / 4 % 2 == 0 { 0.005 } else { -0.005 };
            last_mps = ask(0.02 + noise_mps, true);
            if tick >= 200 {
                squares += (last_mps - 0.02) * (last_mps - 0.02);
            }
        }
        assert!((last_mps - 0.02).abs() < 2e-3, "{last_mps}");
        let power_w = 50.0 * squares / 200.0;
        assert!(power_w < 0.1 * 50.0 * 0.005 * 0.005, "{power_w}");
        // and an outage still stops it at once
        assert_eq!(ask(0.0, false), 0.0);
    }
}
