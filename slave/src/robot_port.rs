//! Energy balance at the robot's measured port: what the channel gave to the servo, and what the tissue gave to the probe.
//!
//! Source: teleop E20. With F and dx_sd the force and motion of the channel's port, and f and dx the measured force and
//! motion of the probe, `surplus = sum F dx_sd + sum f dx` is stored in robot and servo or was dissipated there, all axes
//! together. It is at least 0 for a passive drive, whatever the tissue. A drive that is active, by lag or by stiffness,
//! returns more at the set point than it got. The energy tank does not get that excess, so it is never sent to the
//! master. The tank then limits the port, and the servo's damping dissipates the excess.
//!
//! No allowance is made for the sensor: its noise has no mean, a bias does no work on a closed path, and the robot's own
//! losses exceed the rest. The balance ends when the force becomes unknown, as the energy that the tissue returns is then unknown.

use palpate_transport::{AXES, Axes};

use crate::robot::RobotReading;

/// Energy balance of the robot's measured port.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RobotPort {
    /// Energy in robot and servo, and dissipated there \[J\].
    surplus_j: f64,
    /// Position \[m\] and force \[N\] of the last reading, while the force is known.
    before: Option<(Axes, Axes)>,
}

impl RobotPort {
    /// Adds the work of the tissue on the probe since the last reading, by the trapezoidal rule.
    pub(crate) fn observe(&mut self, reading: &RobotReading) {
        let now = reading
            .force_valid
            .then_some((reading.position_m, reading.contact_force_n));
        if let (Some((from_m, from_n)), Some((to_m, to_n))) = (self.before, now) {
            let works_j = (0..AXES).map(|a| 0.5 * (from_n[a] + to_n[a]) * (to_m[a] - from_m[a]));
            self.surplus_j += works_j.sum::<f64>();
        }
        self.before = now;
    }

    /// Part of the work at the channel's port that the channel gets \[J\]: all of a negative work, which the channel
    /// gave; of a positive work no more than the drive had received. A method that is not passive gets all.
    pub(crate) fn returned_j(&mut self, work_j: f64, passive: bool) -> f64 {
        if !passive {
            return work_j;
        }
        let granted_j = if work_j > 0.0 && self.before.is_some() {
            work_j.min(self.surplus_j.max(0.0))
        } else {
            work_j
        };
        self.surplus_j -= granted_j;
        granted_j
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(z_m: f64, force_n: f64) -> RobotReading {
        RobotReading {
            position_m: [0.0, 0.0, z_m, 0.0],
            contact_force_n: [0.0, 0.0, force_n, 0.0],
            force_valid: true,
            ..RobotReading::default()
        }
    }

    /// A spring of 300 N/m is pressed 10 mm deep and left again.
    #[test]
    fn spring_returns_all_that_it_stored() {
        let mut port = RobotPort::default();
        port.observe(&reading(0.0, 0.0));
        assert_eq!(port.returned_j(-0.02, true), -0.02, "given by the channel");
        let press = |port: &mut RobotPort, mm: i32| {
            let depth_m = f64::from(mm) * 1e-3;
            port.observe(&reading(-depth_m, 300.0 * depth_m));
        };
        (0..=10).for_each(|mm| press(&mut port, mm));
        // 0.015 J is in the spring
        assert!((port.surplus_j - 0.005).abs() < 1e-12, "{port:?}");
        (0..=10).rev().for_each(|mm| press(&mut port, mm));
        assert!((port.returned_j(0.05, true) - 0.02).abs() < 1e-12);
        assert_eq!(port.returned_j(0.01, true), 0.0);
    }

    #[test]
    fn active_drive_gets_no_credit() {
        let mut port = RobotPort::default();
        port.observe(&reading(0.0, 0.0));
        let mut balance_j = 0.0;
        for cycle in 0..1000 {
            // each cycle returns twice what it took, at a probe that touches nothing
            balance_j += port.returned_j(-1e-3, true) + port.returned_j(2e-3, true);
            assert!(balance_j <= 1e-12, "{cycle}: {balance_j}");
        }
    }

    #[test]
    fn unknown_force_ends_the_balance() {
        let mut port = RobotPort::default();
        port.observe(&RobotReading::default());
        assert_eq!(port.returned_j(1e-3, true), 1e-3);
    }
}
