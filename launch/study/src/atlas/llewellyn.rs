//! The chain as a two-port: what it shows of a tissue, and whether any hand and any tissue may close it.
//!
//! Ports are the handle's grip and the robot's tip; handle, samplers, holds, channel, controller and robot are
//! inside. Hybrid parameters `[F1; -V2] = H [V1; F2]` (teleop E13; Hannaford 1989), at frequencies below
//! half the sampling rate, where a hold is `(1 - e^(-jwT)) / (jwT)` and the aliases that it lets through are
//! left out, as two masses filter them. [`super::sampled`], which has them, judges one hand and one tissue.

use super::sampled::{C, Channel};
use super::two_port::Body;

/// Hybrid parameters at one angular frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hybrid {
    /// Impedance felt while the tip is free \[N s/m\].
    pub h11: C,
    /// Force back, as a share.
    pub h12: C,
    /// Velocity forward, as a share, negative.
    pub h21: C,
    /// Admittance of the tip while the handle is held \[m/(N s)\].
    pub h22: C,
}

impl Hybrid {
    /// Parameters of a channel between a handle (nobody on it) and a robot (touching nothing) at `w` \[rad/s\].
    #[must_use]
    pub(crate) fn at(channel: &Channel, handle: &Body, robot: &Body, w: f64) -> Self {
        let period_s = channel.period_s;
        let (sin, cos) = libm::sincos(w * period_s);
        let q = C::new(cos, -sin);
        let jw = C::new(0.0, w);
        let hold = (C::new(1.0, 0.0) - q) / (jw * period_s);
        // positions are velocities over jw
        let of = |row: [C; 4]| [hold * (row[0] / jw + row[1]), hold * (row[2] / jw + row[3])];
        let [back, there] = channel.at(q).map(of);
        // V2 (Zr - there2) = there1 V1 - F2
        let tip = robot.impedance(w) - there[1];
        let (h21, h22) = (-there[0] / tip, tip.inv());
        Self {
            h11: handle.impedance(w) + back[0] - back[1] * h21,
            h12: -back[1] * h22,
            h21,
            h22,
        }
    }

    /// Impedance felt of a tissue with impedance `tissue` \[N s/m\] (E13).
    #[must_use]
    pub(crate) fn felt(&self, tissue: C) -> C {
        self.h11 - self.h12 * self.h21 * tissue / (self.h22 * tissue + 1.0)
    }

    /// Whether no passive hand and tissue can make it grow at this frequency (Llewellyn 1952).
    #[must_use]
    pub(crate) fn is_absolutely_stable(&self) -> bool {
        let both = self.h12 * self.h21;
        let spare = 2.0 * self.h11.re * self.h22.re - both.re - both.norm();
        // what two sides that cancel leave of rounding
        let rounding = 1e-9 * (both.norm() + self.h11.norm() * self.h22.norm());
        self.h11.re >= 0.0 && self.h22.re >= 0.0 && spare >= -rounding
    }
}

/// Frequencies that are swept: a hundred a decade, over four decades below half the sampling rate.
const SWEPT: u32 = 400;

/// Lowest frequency of the sweep at which some passive hand and tissue make the chain grow \[Hz\]; nothing if it
/// is absolutely stable.
#[must_use]
pub(crate) fn unstable_hz(channel: &Channel, handle: &Body, robot: &Body) -> Option<f64> {
    let most_hz = 0.5 / channel.period_s;
    let swept = (1..=SWEPT).rev();
    let mut hz = swept.map(|step| most_hz * libm::pow(10.0, -f64::from(step) / 100.0));
    hz.find(|hz| {
        let w = core::f64::consts::TAU * hz;
        !Hybrid::at(channel, handle, robot, w).is_absolutely_stable()
    })
}

#[cfg(test)]
mod tests {
    use super::super::sampled::{Ages, Law};
    use super::*;

    const HANDLE: Body = Body {
        mass_kg: 0.1,
        damping_nspm: 0.5,
        stiffness_npm: 0.0,
    };
    const ROBOT: Body = Body {
        mass_kg: 0.5,
        damping_nspm: 3.0,
        stiffness_npm: 0.0,
    };

    fn chain(law: Law, ticks: u16) -> Channel {
        Channel {
            law,
            stiffness_npm: 2000.0,
            damping_nspm: 50.0,
            ages: [Ages::fixed(ticks), Ages::fixed(ticks)],
            period_s: 1e-3,
        }
    }

    /// What a lossless line of waves shows of an impedance behind it (teleop E3), without samples.
    fn through_line(load: C, b: f64, rtt_s: f64, w: f64) -> C {
        let (sin, cos) = libm::sincos(0.5 * w * rtt_s);
        let j = C::new(0.0, 1.0);
        b * (load * cos + j * b * sin) / (b * cos + j * load * sin)
    }

    #[test]
    fn a_sampled_line_is_the_continuous_one_at_low_frequency() {
        for (b, ticks, wall_npm, hz) in [
            (10.0, 50, 300.0, 0.1),
            (3.0, 5, 1000.0, 2.0),
            (30.0, 100, 100.0, 0.5),
        ] {
            let w = core::f64::consts::TAU * hz;
            let channel = chain(Law::Wave { b_nspm: b }, ticks);
            let h = Hybrid::at(&channel, &HANDLE, &ROBOT, w);
            let wall = C::new(2.0, -wall_npm / w);
            let found = h.felt(wall) - HANDLE.impedance(w);
            let spring = C::new(50.0, -2000.0 / w);
            let body = ROBOT.impedance(w) + wall;
            let load = spring * body / (spring + body);
            let expected = through_line(load, b, 2e-3 * f64::from(ticks), w);
            let error = (found - expected).norm() / expected.norm();
            assert!(error < 0.02, "{b} {ticks}: {found} {expected}");
        }
    }

    /// An ideal chain is `[[0, 1], [-1, 0]]`; direct coupling without delay is near it, and shows the tissue behind the
    /// controller's spring.
    #[test]
    fn direct_coupling_is_nearly_ideal_when_slow() {
        let w = core::f64::consts::TAU * 0.05;
        let h = Hybrid::at(&chain(Law::Direct, 1), &HANDLE, &ROBOT, w);
        assert!((h.h12 - C::new(1.0, 0.0)).norm() < 0.01, "{h:?}");
        assert!((h.h21 + C::new(1.0, 0.0)).norm() < 0.01, "{h:?}");
        let felt = h.felt(C::new(0.0, -300.0 / w));
        let npm = (C::new(0.0, w) * felt).re;
        assert!(
            (npm / (300.0 * 2000.0 / 2300.0) - 1.0).abs() < 0.01,
            "{npm}"
        );
    }

    /// teleop E13: delay costs direct coupling its absolute stability at low frequencies. A line of waves loses it only
    /// where holds are late, far above a hand, and a soft short one nowhere.
    #[test]
    fn delayed_positions_are_not_absolutely_stable_and_waves_are_but_for_their_holds() {
        let unstable = |law, ticks| unstable_hz(&chain(law, ticks), &HANDLE, &ROBOT);
        assert!(unstable(Law::Direct, 50).is_some_and(|hz| hz < 19.0));
        let line = unstable(Law::Wave { b_nspm: 5.0 }, 50);
        assert!(line.is_some_and(|hz| hz > 50.0), "{line:?}");
        assert_eq!(unstable(Law::Wave { b_nspm: 0.3 }, 1), None);
    }
}
