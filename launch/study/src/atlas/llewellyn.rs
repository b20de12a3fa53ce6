//! The chain as a two-port: displayed impedance, and absolute stability for any hand and tissue.
//!
//! Ports are the handle's grip and the robot's tip; handle, samplers, holds, channel, controller and robot are
//! inside. Hybrid parameters `[F1; -V2] = H [V1; F2]` (teleop E13; Hannaford 1989), at frequencies below
//! half the sampling rate. A hold is `(1 - e^(-jwT)) / (jwT)`, and its aliases are
//! neglected, as two masses filter them. [`super::sampled_loop`] includes them, for one hand and one tissue.

use super::sampled_loop::{Complex64, SampledChannel};
use super::two_port::MassSpringDamper;

/// Hybrid parameters at one angular frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hybrid {
    /// Impedance at the handle while the tip is free \[N s/m\].
    pub h11: Complex64,
    /// Force reflection, as a share.
    pub h12: Complex64,
    /// Velocity transmission, as a share, negative.
    pub h21: Complex64,
    /// Admittance of the tip while the handle is held \[m/(N s)\].
    pub h22: Complex64,
}

impl Hybrid {
    /// Parameters of a channel between a handle (nobody on it) and a robot (touching nothing) at `w` \[rad/s\].
    pub(crate) fn at(
        channel: &SampledChannel,
        handle: &MassSpringDamper,
        robot: &MassSpringDamper,
        w: f64,
    ) -> Self {
        let period_s = channel.period_s;
        let (sin, cos) = libm::sincos(w * period_s);
        let q = Complex64::new(cos, -sin);
        let jw = Complex64::new(0.0, w);
        let hold = (Complex64::new(1.0, 0.0) - q) / (jw * period_s);
        // positions are velocities over jw
        let of =
            |row: [Complex64; 4]| [hold * (row[0] / jw + row[1]), hold * (row[2] / jw + row[3])];
        let [back, to_robot] = channel.at(q).map(of);
        // V2 (Zr - there2) = there1 V1 - F2
        let tip = robot.impedance(w) - to_robot[1];
        let (h21, h22) = (-to_robot[0] / tip, tip.inv());
        Self {
            h11: handle.impedance(w) + back[0] - back[1] * h21,
            h12: -back[1] * h22,
            h21,
            h22,
        }
    }

    /// Impedance displayed of a tissue with impedance `tissue` \[N s/m\] (E13).
    pub(crate) fn displayed_impedance(&self, tissue: Complex64) -> Complex64 {
        self.h11 - self.h12 * self.h21 * tissue / (self.h22 * tissue + 1.0)
    }

    /// True if the chain is stable at this frequency with any passive hand and tissue (Llewellyn 1952).
    pub(crate) fn is_absolutely_stable(&self) -> bool {
        let product = self.h12 * self.h21;
        let margin = 2.0 * self.h11.re * self.h22.re - product.re - product.norm();
        // rounding that remains where both sides cancel
        let rounding = 1e-9 * (product.norm() + self.h11.norm() * self.h22.norm());
        self.h11.re >= 0.0 && self.h22.re >= 0.0 && margin >= -rounding
    }
}

/// Number of frequencies: a hundred per decade, over four decades below half the sampling rate.
const SWEEP_POINTS: u32 = 400;

/// Lowest frequency of the sweep at which some passive hand and tissue destabilise the chain \[Hz\]; none if it
/// is absolutely stable.
pub(crate) fn unstable_hz(
    channel: &SampledChannel,
    handle: &MassSpringDamper,
    robot: &MassSpringDamper,
) -> Option<f64> {
    let nyquist_hz = 0.5 / channel.period_s;
    let swept = (1..=SWEEP_POINTS).rev();
    let mut hz = swept.map(|step| nyquist_hz * libm::pow(10.0, -f64::from(step) / 100.0));
    hz.find(|hz| {
        let w = core::f64::consts::TAU * hz;
        !Hybrid::at(channel, handle, robot, w).is_absolutely_stable()
    })
}

#[cfg(test)]
mod tests {
    use super::super::sampled_loop::{FrameAges, LinearMethod};
    use super::*;

    const HANDLE: MassSpringDamper = MassSpringDamper {
        mass_kg: 0.1,
        damping_nspm: 0.5,
        stiffness_npm: 0.0,
    };
    const ROBOT: MassSpringDamper = MassSpringDamper {
        mass_kg: 0.5,
        damping_nspm: 3.0,
        stiffness_npm: 0.0,
    };

    fn chain(law: LinearMethod, ticks: u16) -> SampledChannel {
        SampledChannel {
            law,
            stiffness_npm: 2000.0,
            damping_nspm: 50.0,
            ages: [FrameAges::fixed(ticks), FrameAges::fixed(ticks)],
            period_s: 1e-3,
        }
    }

    /// Impedance that a lossless wave line displays of a load behind it (teleop E3), in continuous time.
    fn through_line(load: Complex64, b: f64, rtt_s: f64, w: f64) -> Complex64 {
        let (sin, cos) = libm::sincos(0.5 * w * rtt_s);
        let j = Complex64::new(0.0, 1.0);
        b * (load * cos + j * b * sin) / (b * cos + j * load * sin)
    }

    #[test]
    fn sampled_line_matches_continuous_line_at_low_frequency() {
        for (b, ticks, wall_npm, hz) in [
            (10.0, 50, 300.0, 0.1),
            (3.0, 5, 1000.0, 2.0),
            (30.0, 100, 100.0, 0.5),
        ] {
            let w = core::f64::consts::TAU * hz;
            let channel = chain(LinearMethod::Wave { b_nspm: b }, ticks);
            let h = Hybrid::at(&channel, &HANDLE, &ROBOT, w);
            let wall = Complex64::new(2.0, -wall_npm / w);
            let found = h.displayed_impedance(wall) - HANDLE.impedance(w);
            let spring = Complex64::new(50.0, -2000.0 / w);
            let body = ROBOT.impedance(w) + wall;
            let load = spring * body / (spring + body);
            let expected = through_line(load, b, 2e-3 * f64::from(ticks), w);
            let error = (found - expected).norm() / expected.norm();
            assert!(error < 0.02, "{b} {ticks}: {found} {expected}");
        }
    }

    /// An ideal chain is `[[0, 1], [-1, 0]]`; direct coupling without delay is close to it, and displays the tissue
    /// behind the controller's spring.
    #[test]
    fn direct_coupling_is_nearly_ideal_at_low_frequency() {
        let w = core::f64::consts::TAU * 0.05;
        let h = Hybrid::at(&chain(LinearMethod::Direct, 1), &HANDLE, &ROBOT, w);
        assert!((h.h12 - Complex64::new(1.0, 0.0)).norm() < 0.01, "{h:?}");
        assert!((h.h21 + Complex64::new(1.0, 0.0)).norm() < 0.01, "{h:?}");
        let displayed = h.displayed_impedance(Complex64::new(0.0, -300.0 / w));
        let npm = (Complex64::new(0.0, w) * displayed).re;
        assert!(
            (npm / (300.0 * 2000.0 / 2300.0) - 1.0).abs() < 0.01,
            "{npm}"
        );
    }

    /// teleop E13: delay removes the absolute stability of direct coupling at low frequencies. A wave line loses it
    /// only far above the band of a hand, by the delay of its holds, and a soft short one nowhere.
    #[test]
    fn delayed_direct_coupling_is_not_absolutely_stable_and_waves_are() {
        let unstable = |law, ticks| unstable_hz(&chain(law, ticks), &HANDLE, &ROBOT);
        assert!(unstable(LinearMethod::Direct, 50).is_some_and(|hz| hz < 19.0));
        let line = unstable(LinearMethod::Wave { b_nspm: 5.0 }, 50);
        assert!(line.is_some_and(|hz| hz > 50.0), "{line:?}");
        assert_eq!(unstable(LinearMethod::Wave { b_nspm: 0.3 }, 1), None);
    }
}
