//! Tweezers at the tip of the arm: a leaf spring between two fingers, and its closure switch.
//!
//! Opening o: m do'/dt = F - b o' + k (o_rest - o) + the fingers' impedance, one degree of freedom
//! (seed-004 3.15, S4-35; numbers ours). The seed's tweezers have no motor: `force_n_max` = 0. With
//! one, the opening is coupled haptically as well.

use palpate_port::encoder::quantised;
use palpate_port::fixed_stepper::SUBSTEP_S;
use palpate_transport::{FieldError, params};

use super::super::grip::Hand;

params! {
    /// Parameters of the tweezers.
    #[derive(Copy)]
    pub struct TweezersParams: "phantom.tweezers." then openings_are_in_order {
        /// Moving mass m \[kg\].
        pub mass_kg: f64 = 0.020 => (0.005..=0.5),
        /// Damping b \[N s/m\].
        pub damping_nspm: f64 = 1.0 => (0.0..=20.0),
        /// Stiffness k of the leaf \[N/m\].
        pub leaf_npm: f64 = 10.0 => (0.0..=1000.0),
        /// Opening at rest \[m\].
        pub rest_m: f64 = 0.022,
        /// Largest opening \[m\].
        pub open_m_max: f64 = 0.030 => (1e-3..=0.1),
        /// Largest force of the motor \[N\]; 0 for tweezers without one.
        pub force_n_max: f64 = 3.0 => (0.0..=20.0),
        /// Opening below which the switch closes \[m\].
        pub close_below_m: f64 = 0.008,
        /// Opening above which it opens again \[m\].
        pub open_above_m: f64 = 0.011,
        /// Time for which the switch must agree \[s\]; S4-35 requires at most 2 ms.
        pub debounce_s: f64 = 0.001 => (0.0..=0.002),
        /// Step of the opening's gauge \[m\].
        pub gauge_m: f64 = 1e-5 => (0.0..=1e-3),
    }
}

fn openings_are_in_order(leaf: &TweezersParams) -> Result<(), FieldError> {
    for (field, value, high) in [
        ("phantom.tweezers.rest_m", leaf.rest_m, leaf.open_m_max),
        (
            "phantom.tweezers.close_below_m",
            leaf.close_below_m,
            leaf.open_above_m,
        ),
        (
            "phantom.tweezers.open_above_m",
            leaf.open_above_m,
            leaf.open_m_max,
        ),
    ] {
        FieldError::check_range(field, value, 0.0, high)?;
    }
    Ok(())
}

/// Share of the hand's lumped mass that moves with the fingers (ours).
const FINGER_SHARE: f64 = 0.1;

/// Opening of the tweezers and state of their switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tweezers {
    params: TweezersParams,
    /// Opening \[m\].
    pub opening_m: f64,
    /// Speed of opening \[m/s\].
    pub velocity_mps: f64,
    /// The switch.
    pub switch: Switch,
}

impl Tweezers {
    /// Tweezers at rest at `opening_m` \[m\].
    #[must_use]
    pub(super) fn new(params: TweezersParams, opening_m: f64) -> Self {
        Self {
            params,
            opening_m: opening_m.clamp(0.0, params.open_m_max),
            velocity_mps: 0.0,
            switch: Switch::default(),
        }
    }

    /// Advances by one sub-step under the motor's force \[N\] and the fingers, whose intended
    /// opening \[m\] and speed \[m/s\] are `intended`.
    pub(super) fn step(&mut self, motor_n: f64, fingers: &Hand, intended: [f64; 2]) {
        let params = &self.params;
        let motor_n = motor_n.clamp(-params.force_n_max, params.force_n_max);
        let finger_n = fingers.force_n(
            intended[0] - self.opening_m,
            intended[1] - self.velocity_mps,
        );
        let leaf_n = params.leaf_npm * (params.rest_m - self.opening_m);
        let force_n = motor_n + finger_n + leaf_n - params.damping_nspm * self.velocity_mps;
        let mass_kg = params.mass_kg + FINGER_SHARE * fingers.mass_kg;
        self.velocity_mps += SUBSTEP_S * force_n / mass_kg;
        let free_m = self.opening_m + SUBSTEP_S * self.velocity_mps;
        self.opening_m = free_m.clamp(0.0, params.open_m_max);
        if self.opening_m != free_m {
            self.velocity_mps = 0.0;
        }
        self.switch.step(self.opening_m, params);
    }

    /// Opening with the resolution of the gauge \[m\].
    #[must_use]
    pub(super) fn gauged_m(&self) -> f64 {
        quantised(self.opening_m, self.params.gauge_m)
    }
}

/// A closure switch with hysteresis and debouncing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Switch {
    /// True if it reads closed.
    pub closed: bool,
    disagrees: u32,
}

impl Switch {
    /// Updates the switch from the opening \[m\] once a sub-step.
    pub(super) fn step(&mut self, opening_m: f64, params: &TweezersParams) {
        let limit_m = if self.closed {
            params.open_above_m
        } else {
            params.close_below_m
        };
        if (opening_m < limit_m) == self.closed {
            self.disagrees = 0;
            return;
        }
        self.disagrees += 1;
        if f64::from(self.disagrees) * SUBSTEP_S >= params.debounce_s {
            self.closed = !self.closed;
            self.disagrees = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::grip::Grip;
    use super::*;

    /// Sub-steps until the switch reads `closed` at a constant opening.
    fn substeps_until(switch: &mut Switch, opening_m: f64, closed: bool) -> u32 {
        let params = TweezersParams::default();
        (1..100)
            .find(|_| {
                switch.step(opening_m, &params);
                switch.closed == closed
            })
            .expect("the switch turns")
    }

    /// S4-35: hysteresis, and an event within 2 ms.
    #[test]
    fn switch_changes_within_two_milliseconds() {
        let mut switch = Switch::default();
        assert!(substeps_until(&mut switch, 0.007, true) <= 20);
        assert!(substeps_until(&mut switch, 0.012, false) <= 20);
    }

    #[test]
    fn switch_ignores_bounces_and_hysteresis_band() {
        let params = TweezersParams::default();
        let mut switch = Switch::default();
        for step in 0..1000 {
            // shorter than the debounce time each
            switch.step(if step % 6 < 5 { 0.007 } else { 0.012 }, &params);
            assert!(!switch.closed);
        }
        substeps_until(&mut switch, 0.007, true);
        for _ in 0..1000 {
            switch.step(0.010, &params);
            assert!(switch.closed);
        }
    }

    #[test]
    fn grips_close_tweezers_and_leaf_opens_them() {
        for grip in [Grip::Firm, Grip::Light] {
            let mut tweezers = Tweezers::new(TweezersParams::default(), 0.020);
            let hand = grip.hand();
            let settle = |tweezers: &mut Tweezers, hand: &Hand| {
                for _ in 0..20_000 {
                    tweezers.step(0.0, hand, [0.003, 0.0]);
                }
            };
            settle(&mut tweezers, &hand);
            assert!(tweezers.switch.closed);
            // springs of fingers and leaf in balance
            let wanted_m =
                (hand.stiffness_npm * 0.003 + 10.0 * 0.022) / (hand.stiffness_npm + 10.0);
            assert!((tweezers.opening_m - wanted_m).abs() < 1e-9);
            settle(&mut tweezers, &Grip::None.hand());
            assert!(!tweezers.switch.closed);
            assert!((tweezers.opening_m - 0.022).abs() < 1e-6);
        }
    }

    #[test]
    fn motor_force_and_opening_are_limited() {
        let mut tweezers = Tweezers::new(TweezersParams::default(), 0.020);
        for _ in 0..20_000 {
            tweezers.step(1e9, &Hand::default(), [0.0, 0.0]);
        }
        assert_eq!(tweezers.opening_m, 0.030);
        let unpowered = TweezersParams {
            force_n_max: 0.0,
            ..TweezersParams::default()
        };
        let mut tweezers = Tweezers::new(unpowered, 0.022);
        tweezers.step(5.0, &Hand::default(), [0.0, 0.0]);
        assert_eq!(tweezers.velocity_mps, 0.0);
    }
}
