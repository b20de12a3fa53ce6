//! The ideal handle of teleop RP-1: a point mass on every axis, held by the hand.
//!
//! (m + m_hand) dv/dt = F - b v + K (x_intended - x) + B (v_intended - v), semi-implicit Euler at
//! 0.1 ms, F held between writes. No friction and no quantisation.

use palpate_port::Counts;
use palpate_port::mass::PointMass;
use palpate_transport::{AXES, Axes, Time};

use super::grip::{Grips, Hand};
use super::lead::Lead;
use super::script::{Intent, Script};
use super::{Handle, HandleCaps, Reading};

/// Mass m of the handle \[kg\] (teleop RP-1).
pub const MASS_KG: f64 = 0.10;
/// Damping b of the handle \[N s/m\] (teleop RP-1).
pub const DAMPING_NSPM: f64 = 0.5;
/// Largest force that is taken \[N\]: far beyond use, it only keeps the state finite.
const FORCE_N_MAX: f64 = 1000.0;

/// The ideal point-mass handle.
#[derive(Debug, Clone)]
pub(crate) struct MassHandle {
    lead: Lead,
    mass: Mass,
    counts: Counts,
}

/// The point mass with the hand on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mass {
    pub(super) hand: Hand,
    pub(super) body: PointMass,
    pub(super) force_n: Axes,
}

impl MassHandle {
    /// A handle at rest where the script begins.
    #[must_use]
    pub(crate) fn new(script: Script, grips: impl Into<Grips>) -> Self {
        let lead = Lead::new(script, grips.into());
        Self {
            mass: Mass::at(lead.intent().position_m, lead.hand()),
            lead,
            counts: Counts::default(),
        }
    }

    /// The same, which lets go of a force that is not renewed for so long \[s\]; none is never.
    #[must_use]
    pub(crate) fn letting_go(mut self, let_go_s: Option<f64>) -> Self {
        self.lead.letting_go(let_go_s);
        self
    }
}

impl Mass {
    /// At rest at a place, held by a hand.
    pub(super) fn at(position_m: Axes, hand: Hand) -> Self {
        Self {
            hand,
            body: PointMass::at(position_m),
            force_n: [0.0; AXES],
        }
    }

    /// Let go of the force; gives the place where that was \[m\].
    pub(super) fn let_go(&mut self) -> Axes {
        self.force_n = [0.0; AXES];
        self.body.position_m
    }

    /// One sub-step of plant time towards what the hand means.
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
            name: "simulated-mass",
            force_n_max: [FORCE_N_MAX; AXES],
            resolution_m: [0.0; AXES],
            mass_kg_min: [MASS_KG; AXES],
            let_go_s: self.lead.let_go_s(),
            real: false,
        }
    }

    fn read(&mut self, now: Time) -> Reading {
        let (mass, mut let_go_m) = (&mut self.mass, None);
        self.lead.advance(now, |intent, expires| {
            if expires {
                let_go_m = Some(mass.let_go());
            }
            mass.step(intent);
        });
        if let Some(hand) = self.lead.regrip() {
            self.mass.hand = hand;
        }
        let PointMass {
            position_m,
            velocity_mps,
        } = self.mass.body;
        Reading {
            let_go_m,
            ..self.lead.reading(position_m, velocity_mps)
        }
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.lead.renew();
        self.mass.force_n = self.counts.accepted(force_on_hand_n, &[FORCE_N_MAX; AXES]);
    }

    fn counts(&self) -> Counts {
        Counts {
            time_jumps: self.lead.jumps(),
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grip::Grip;
    use super::super::script::{ScriptParams, SineParams};
    use super::*;

    fn still(grip: Grip) -> MassHandle {
        let sine = SineParams {
            amplitude_m: 0.0,
            hz: 0.0,
        };
        MassHandle::new(Script::new(&ScriptParams::Sine(sine), 20.0, 0), grip)
    }

    /// Step response of m x'' + b x' + k x = F from rest, underdamped.
    fn step_response_m(force_n: f64, [m, b, k]: [f64; 3], at_s: f64) -> f64 {
        let decay = b / (2.0 * m);
        let omega = libm::sqrt(k / m - decay * decay);
        let (sin, cos) = libm::sincos(omega * at_s);
        force_n / k * (1.0 - libm::exp(-decay * at_s) * (cos + decay / omega * sin))
    }

    #[test]
    fn answers_a_step_as_the_closed_form_does() {
        for grip in [Grip::Firm, Grip::Light] {
            let hand = grip.hand();
            let system = [
                MASS_KG + hand.mass_kg,
                DAMPING_NSPM + hand.damping_nspm,
                hand.stiffness_npm,
            ];
            let mut handle = still(grip);
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
    fn a_force_that_is_not_renewed_is_let_go_and_its_work_is_known() {
        for (let_go_s, held_ms) in [(Some(2e-3), 2), (None, 50)] {
            let push = |until_ms: i64| {
                let mut handle = still(Grip::None).letting_go(let_go_s);
                handle.read(Time(0));
                handle.write(&[1.0, 0.0, 0.0, 0.0]);
                handle.read(Time(until_ms * 1_000_000))
            };
            let late = push(50);
            let held_to_m = late.let_go_m.unwrap_or(late.position_m);
            assert_eq!(late.let_go_m.is_some(), let_go_s.is_some());
            assert_eq!(held_to_m, push(held_ms).position_m);
            assert_eq!(push(held_ms).let_go_m, None, "renewed in time");
            // it coasts on with the speed that the force gave it
            let coasted_m = late.position_m[0] - held_to_m[0];
            let wanted_m = 1e-3 * (50 - held_ms) as f64 * push(held_ms).velocity_mps[0];
            assert!((coasted_m - wanted_m).abs() < 0.15 * wanted_m + 1e-9);
        }
    }

    #[test]
    fn a_free_handle_coasts_to_force_over_damping() {
        let mut handle = still(Grip::None);
        handle.read(Time(0));
        handle.write(&[0.1, 0.0, 0.0, 0.0]);
        let mut reading = Reading::default();
        for ms in 1..4000 {
            reading = handle.read(Time(ms * 1_000_000));
        }
        assert!((reading.velocity_mps[0] - 0.1 / DAMPING_NSPM).abs() < 1e-3 * 0.2);
        assert!(!reading.present);
    }

    /// The default palpation through a firm hand on 300 N/m tissue: 1 to 2.5 N at every site.
    #[test]
    fn presses_are_as_hard_as_a_palpation() {
        let script = Script::new(&ScriptParams::default(), 20.0, 1);
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
