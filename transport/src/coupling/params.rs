//! Parameters that both ends of the coupling must agree on, and their ranges.

use serde::{Deserialize, Serialize};

use super::method::FeedbackKind;
use super::{ImpedanceSchedule, Mode, ModeSchedule};
use crate::params::RangeChecked as _;
use crate::{AXES, Axes, FieldError, params};

/// Ends of a wave channel that are terminated by their own impedance (teleop E4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImpedanceMatching {
    /// Neither end: the formula E3 of the displayed stiffness holds unchanged.
    None,
    /// The slave's PD damping is set to b, so that waves are absorbed there.
    #[default]
    Slave,
    /// Also a series element b at the master, which halves the force and the wave sent. The robot moves half
    /// as far. As a hand at rest sends no wave, the force of a static press decays to zero.
    Both,
}

/// Force of the robot that a method relays to the hand: for `tdpa`, `tank` and `iss`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RelayedForce {
    /// The coupling force, which includes all that moves the robot. Over a delay the robot's own
    /// controller then closes a loop through the hand.
    Port,
    /// The measured contact force where it is known, otherwise the coupling force.
    #[default]
    Contact,
}

params! {
    /// Parameters that both ends of the coupling must agree on.
    #[derive(Copy)]
    pub struct CouplingParams: "coupling." then schedules_are_valid {
        /// Coupling method.
        pub mode: Mode = Mode::Auto,
        /// Wave impedance b \[N s/m\], 0.1 to 1000.
        pub impedance_nspm: f64 = 10.0 => (0.1..=1000.0, "0.1 to 1000 N s/m"),
        /// Ratio of the wave impedance of each axis to b, 0.01 to 100. A change of b keeps the ratios. An impedance matrix
        /// that couples the axes is not supported: its energy cannot be divided among axes that are passive one by one,
        /// and tanks, limits and the auditor work by axis.
        pub impedance_ratio: Axes = [1.0; AXES],
        /// Impedance matching of the wave channel.
        pub matching: ImpedanceMatching = ImpedanceMatching::Slave,
        /// Rate at which the slave's desired position is pulled to the master's delayed one \[1/s\];
        /// 0 switches the correction off.
        pub drift_per_s: f64 = 3.0 => (0.0..=100.0, "0 to 100 1/s"),
        /// The same in the first second after an outage (a silence longer than `hold_s` plus 0.1 s), if it is larger than
        /// `drift_per_s` \[1/s\]. The tank pays for it too.
        pub recovery_per_s: f64 = 30.0 => (0.0..=100.0, "0 to 100 1/s"),
        /// Rate at which a decoder catches up with the wave integral \[1/s\].
        pub catch_up_per_s: f64 = 30.0 => (0.0..=500.0, "0 to 500 1/s"),
        /// Longest time that a decoder holds the newest sample when no frame arrives \[s\].
        pub hold_s: f64 = 0.02 => (0.0..=1.0, "0 to 1 s"),
        /// Energy that the master keeps in reserve for the force on the hand, as a multiple of the largest cost of this force
        /// over one hold from rest. The reserve is at least its cost until the device releases the force.
        pub reserve_ticks: f64 = 3.0 => (1.0..=100.0, "1 to 100 ticks"),
        /// Target level of the slave's tank in a model-mediated channel \[J\].
        pub tank_target_j: f64 = 0.03 => (0.0..=10.0, "0 to 10 J"),
        /// Rate at which the slave's tank returns energy above one and a half `tank_target_j` \[1/s\].
        pub surplus_per_s: f64 = 5.0 => (0.0..=200.0, "0 to 200 1/s"),
        /// Largest friction against the hand that fills the slave's tank in the modes `mmt`, `auto` and `pspm` \[N\]. With a
        /// twin it is a dry friction of at most 0.5 N in air, and a damper in contact.
        pub charging_friction_n_max: f64 = 0.3 => (0.0..=5.0, "0 to 5 N"),
        /// Rate at which the slave follows the delayed position in model mediation and with tanks \[1/s\].
        pub follow_per_s: f64 = 30.0 => (0.0..=200.0, "0 to 200 1/s"),
        /// Force that `tdpa`, `tank` and `iss` relay to the hand.
        pub relayed: RelayedForce = RelayedForce::Contact,
        /// Cut-off of the waves that are sent \[Hz\] (teleop E5); 0 is no filter.
        pub wave_filter_hz: f64 = 0.0 => (0.0..=500.0, "0 to 500 Hz"),
        /// Decodes waves by the classic gain (teleop E6a), a baseline, instead of their integrals.
        pub delay_gain: bool = false,
        /// Largest friction against the hand that fills the slave's tank in mode `tdpa` \[N\], reached when the energy
        /// observed at the slave is used up. It is larger than `charging_friction_n_max`, as without a twin the hand pays
        /// for all losses of the robot.
        pub tdpa_charging_friction_n_max: f64 = 1.0 => (0.0..=5.0, "0 to 5 N"),
        /// Rate at which time-domain passivity reflects the slave's observed gap beyond a third of `tank_target_j` \[1/s\]; 0
        /// is the classic form.
        pub reflect_per_s: f64 = 0.0 => (0.0..=200.0, "0 to 200 1/s"),
        /// Largest damping that fills the tanks of mode `tank` \[N s/m\], at most what is stable on a light handle at 1 kHz.
        pub tank_nspm_max: f64 = 10.0 => (0.0..=20.0, "0 to 20 N s/m"),
        /// Stiffness K of both springs of set-position modulation \[N/m\]; the slave's own, if it is less.
        pub pspm_npm: f64 = 500.0 => (1.0..=5000.0, "1 to 5000 N/m"),
        /// Damping of the handle in set-position modulation \[N s/m\].
        pub pspm_nspm: f64 = 1.0 => (0.0..=20.0, "0 to 20 N s/m"),
        /// Series stiffness mu of mode `iss` \[N/m\].
        pub iss_mu_npm: f64 = 3000.0 => (10.0..=1e6, "10 to 1e6 N/m"),
        /// Damping time tau of mode `iss` \[s\].
        pub iss_tau_s: f64 = 0.003 => (0.0..=0.1, "0 to 0.1 s"),
        /// Cut-off of the filter behind the master's passivity controller, of `tdpa` and `wave-tdpa` \[Hz\];
        /// 0 is none.
        pub control_filter_hz: f64 = 15.0 => (0.0..=500.0, "0 to 500 Hz"),
        /// Energy that the hand may gain in all from an active remote side: muscles, prestress, edits, or a slave that
        /// restarts in contact \[J\]. Without a budget, what a remote returns beyond what the hand put in is refused.
        pub active_j_max: f64 = 0.0 => (0.0..=100.0, "0 to 100 J"),
        /// Largest speed of a handle or a robot \[m/s\]. A received frame that claims more is refused; so is a step of a
        /// position, or energy, that no device can have made since the last frame.
        pub device_mps_max: f64 = 5.0 => (0.01..=1000.0, "0.01 to 1000 m/s"),
        /// Largest force at the port of a handle or a robot \[N\]. A received frame that claims more is refused.
        pub device_n_max: f64 = 50.0 => (0.1..=1e6, "0.1 to 1e6 N"),
        /// Changes of the wave impedance while the session runs. TOML needs lists of tables at the end.
        pub retune: ImpedanceSchedule = ImpedanceSchedule::default(),
        /// Switches of the method while the session runs.
        pub switch: ModeSchedule = ModeSchedule::default(),
    }
}

fn schedules_are_valid(coupling: &CouplingParams) -> Result<(), FieldError> {
    coupling.retune.validate()?;
    coupling.switch.validate(coupling.mode)?;
    // the impedance of every axis at every b of the session
    let products = "0.1 to 1000 N s/m when multiplied by the wave impedance";
    let retuned = coupling.retune.target_impedances_nspm();
    for b in retuned.chain([coupling.impedance_nspm]) {
        for ratio in coupling.impedance_ratio {
            let field = "coupling.impedance_ratio";
            ratio.check(field, &(0.01..=100.0), Some("0.01 to 100"))?;
            (ratio * b).check(field, &(0.1..=1000.0), Some(products))?;
        }
    }
    Ok(())
}

impl CouplingParams {
    /// Returns the same parameters in another mode.
    #[must_use]
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self { mode, ..*self }
    }

    /// True if the session renders a twin at any time.
    #[must_use]
    pub fn needs_twin(&self) -> bool {
        self.mode.renders_twin() || self.switch.any(Mode::renders_twin)
    }

    /// Mode of a frame with this number; the session's first mode if that number was not agreed on.
    #[must_use]
    pub fn mode_from_code(&self, code: u32) -> Mode {
        let scheduled = |sent: &Mode| self.switch.any(|mode| mode == *sent);
        Mode::from_code(code).filter(scheduled).unwrap_or(self.mode)
    }

    /// Stiffness of the robot's controller in this session, from its own stiffness \[N/m\]. Call it on the agreed
    /// parameters: after [`Self::with_mode`] a former mode is missing.
    #[must_use]
    pub fn robot_stiffness_npm(&self, own_npm: f64) -> f64 {
        let sets = |mode: Mode| mode.feedback() == FeedbackKind::Spring;
        if sets(self.mode) || self.switch.any(sets) {
            own_npm.min(self.pspm_npm)
        } else {
            own_npm
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_valid_and_bad_fields_are_named() {
        assert_eq!(CouplingParams::default().validate(), Ok(()));
        let bad = CouplingParams {
            impedance_nspm: f64::NAN,
            ..CouplingParams::default()
        };
        assert_eq!(
            bad.validate().map_err(|error| error.field),
            Err("coupling.impedance_nspm".into())
        );
        for (ratio, b) in [(-1.0, 10.0), (f64::NAN, 10.0), (50.0, 100.0)] {
            let bad = CouplingParams {
                impedance_nspm: b,
                impedance_ratio: [1.0, ratio, 1.0, 1.0],
                ..CouplingParams::default()
            };
            let field = bad.validate().map_err(|error| error.field);
            assert_eq!(field, Err("coupling.impedance_ratio".into()));
        }
        let bad = CouplingParams {
            hold_s: -1.0,
            ..CouplingParams::default()
        };
        assert!(
            bad.validate()
                .expect_err("negative")
                .to_string()
                .contains("hold_s is -1")
        );
    }
}
