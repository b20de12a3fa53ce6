//! Ideal handle of teleop RP-1: a point mass on every axis, held by the hand.
//!
//! (m + m_hand) dv/dt = F - b v + K (x_intended - x) + B (v_intended - v), semi-implicit Euler at
//! 0.1 ms, F held between writes. No friction and no quantisation.

use palpate_port::limit::limited;
use palpate_port::mass::PointMass;
use palpate_transport::{AXES, Axes, Time};

use super::grip::{GripSchedule, Hand};
use super::script::{HandLeap, Intent, OperatorScript};
use super::script_driver::ScriptDriver;
use super::{Handle, HandleCaps, HandleReading};

/// Mass m of the handle \[kg\] (teleop RP-1).
pub const MASS_KG: f64 = 0.10;
/// Damping b of the handle \[N s/m\] (teleop RP-1).
pub const DAMPING_NSPM: f64 = 0.5;
/// Largest accepted force \[N\]: far beyond use, it only keeps the state finite.
const FORCE_N_MAX: f64 = 1000.0;

/// The ideal point-mass handle.
#[derive(Debug, Clone)]
pub(crate) struct MassHandle {
    driver: ScriptDriver,
    mass: Mass,
}

/// Point mass with the hand on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mass {
    pub(super) hand: Hand,
    pub(super) body: PointMass,
    pub(super) force_n: Axes,
}

impl MassHandle {
    /// Handle at rest at the start of the script.
    #[must_use]
    pub(crate) fn new(script: OperatorScript, grips: impl Into<GripSchedule>) -> Self {
        let driver = ScriptDriver::new(script, grips.into());
        Self {
            mass: Mass::at(driver.intent().position_m, driver.hand()),
            driver,
        }
    }

    /// Displaces the hand's intended positions by leaps.
    #[must_use]
    pub(crate) fn with_leaps(mut self, leaps: &[HandLeap]) -> Self {
        self.driver.set_leaps(leaps);
        self
    }

    /// Sets the time after which a force that is not renewed is released \[s\]; none for never.
    #[must_use]
    pub(crate) fn with_force_timeout(mut self, timeout_s: Option<f64>) -> Self {
        self.driver.set_force_timeout(timeout_s);
        self
    }
}

impl Mass {
    /// Mass at rest at a place, held by a hand.
    pub(super) fn at(position_m: Axes, hand: Hand) -> Self {
        Self {
            hand,
            body: PointMass::at_rest(position_m),
            force_n: [0.0; AXES],
        }
    }

    /// Releases the force; returns the position of the release \[m\].
    pub(super) fn release_force(&mut self) -> Axes {
        self.force_n = [0.0; AXES];
        self.body.position_m
    }

    /// Advances by one sub-step of plant time, under the hand at `intent`.
    pub(super) fn step(&mut self, intent: &Intent) {
        let mass_kg = MASS_KG + self.hand.mass_kg;
        for axis in 0..AXES {
            let velocity_mps = self.body.velocity_mps[axis];
            let error_m = intent.position_m[axis] - self.body.position_m[axis];
            let error_mps = intent.velocity_mps[axis] - velocity_mps;
            let force_n = self.force_n[axis] - DAMPING_NSPM * velocity_mps
                + self.hand.force_n(error_m, error_mps);
            self.body.push(axis, force_n, mass_kg);
        }
    }
}

impl Handle for MassHandle {
    fn caps(&self) -> HandleCaps {
        HandleCaps {
            resolution_m: [0.0; AXES],
            mass_kg_min: [MASS_KG; AXES],
            force_timeout_s: self.driver.force_timeout_s(),
        }
    }

    fn read(&mut self, now: Time) -> HandleReading {
        let (mass, mut released_m) = (&mut self.mass, None);
        self.driver.advance(now, |intent, expires| {
            if expires {
                released_m = Some(mass.release_force());
            }
            mass.step(intent);
        });
        if let Some(hand) = self.driver.changed_hand() {
            self.mass.hand = hand;
        }
        let PointMass {
            position_m,
            velocity_mps,
        } = self.mass.body;
        HandleReading {
            force_released_m: released_m,
            ..self.driver.reading(position_m, velocity_mps)
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.driver.renew();
        self.mass.force_n = limited(force_on_hand_n, &[FORCE_N_MAX; AXES]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::grip::Grip;
    use super::super::script::{ScriptParams, SineParams};
    use super::*;

    fn at_rest(grip: Grip) -> MassHandle {
        let sine = SineParams {
            amplitude_m: 0.0,
            hz: 0.0,
        };
        MassHandle::new(
            OperatorScript::new(&ScriptParams::Sine(sine), 20.0, 0),
            grip,
        )
    }

    /// Step response of m x'' + b x' + k x = F from rest, underdamped.
    fn step_response_m(force_n: f64, [m, b, k]: [f64; 3], at_s: f64) -> f64 {
        let decay = b / (2.0 * m);
        let omega = libm::sqrt(k / m - decay * decay);
        let (sin, cos) = libm::sincos(omega * at_s);
        force_n / k * (1.0 - libm::exp(-decay * at_s) * (cos + decay / omega * sin))
    }

    #[test]
    fn step_response_matches_closed_form() {
        for grip in [Grip::Firm, Grip::Light] {
            let hand = grip.hand();
            let system = [
                MASS_KG + hand.mass_kg,
                DAMPING_NSPM + hand.damping_nspm,
                hand.stiffness_npm,
            ];
            let mut handle = at_rest(grip);
            handle.read(Time(0));
            handle.write(&[1.0, 0.0, -2.0, 0.5]);
            let full_m = 1.0 / hand.stiffness_npm;
            for ms in 1..2000_i64 {
                let reading = handle.read(Time(ms * 1_000_000));
                let wanted_m = step_response_m(1.0, system, ms as f64 * 1e-3);
                assert!(
                    (reading.position_m[0] - wanted_m).abs() < 0.01 * full_m,
                    "{ms}"
                );
                assert!((reading.position_m[2] + 2.0 * wanted_m).abs() < 0.02 * full_m);
            }
        }
    }

    #[test]
    fn unrenewed_force_is_released_and_its_work_is_known() {
        for (timeout_s, held_ms) in [(Some(2e-3), 2), (None, 50)] {
            let push = |until_ms: i64| {
                let mut handle = at_rest(Grip::None).with_force_timeout(timeout_s);
                handle.read(Time(0));
                handle.write(&[1.0, 0.0, 0.0, 0.0]);
                handle.read(Time(until_ms * 1_000_000))
            };
            let late = push(50);
            let held_to_m = late.force_released_m.unwrap_or(late.position_m);
            assert_eq!(late.force_released_m.is_some(), timeout_s.is_some());
            assert_eq!(held_to_m, push(held_ms).position_m);
            assert_eq!(push(held_ms).force_released_m, None, "renewed in time");
            // it coasts on at the speed that the force gave it
            let coasted_m = late.position_m[0] - held_to_m[0];
            let wanted_m = 1e-3 * (50 - held_ms) as f64 * push(held_ms).velocity_mps[0];
            assert!((coasted_m - wanted_m).abs() < 0.15 * wanted_m + 1e-9);
        }
    }

    #[test]
    fn free_handle_reaches_force_over_damping() {
        let mut handle = at_rest(Grip::None);
        handle.read(Time(0));
        handle.write(&[0.1, 0.0, 0.0, 0.0]);
        let mut reading = HandleReading::default();
        for ms in 1..4000 {
            reading = handle.read(Time(ms * 1_000_000));
        }
        assert!((reading.velocity_mps[0] - 0.1 / DAMPING_NSPM).abs() < 1e-3 * 0.2);
        assert!(!reading.present);
    }

    /// The default palpation through a firm hand on 300 N/m tissue: 1 to 2.5 N at every site.
    #[test]
    fn press_forces_are_those_of_a_palpation() {
        let script = OperatorScript::new(&ScriptParams::default(), 20.0, 1);
        let mut handle = MassHandle::new(script, Grip::Firm);
        let mut peak_n = [0.0_f64; 14];
        for ms in 0..20_000 {
            let reading = handle.read(Time(ms * 1_000_000));
            let force_n = (300.0 * (0.008 - reading.position_m[2])).max(0.0);
            handle.write(&[0.0, 0.0, force_n, 0.0]);
            let peak_n = &mut peak_n[usize::from(reading.phase)];
            *peak_n = peak_n.max(force_n);
        }
        assert!(
            peak_n[1..=9].iter().all(|force| (1.0..2.5).contains(force)),
            "{peak_n:?}"
        );
        // touching neither before, nor between, nor after
        assert_eq!([peak_n[0], peak_n[10], peak_n[13]], [0.0; 3]);
    }
}
