//! Parameters that both ends of the coupling must agree on, and their ranges.

use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::method::Felt;
use super::{Mode, Schedule, Switches};
use crate::{AXES, Axes};

/// Which ends of a wave channel are terminated by their own impedance (teleop E4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matching {
    /// Neither: the sheet's acceptance formula E3 holds as it stands.
    None,
    /// The slave's PD damping is set to b, so that waves are absorbed there.
    #[default]
    Slave,
    /// Also a series element b at the master, which halves the force and the wave sent: the robot goes half
    /// as far, and as a hand at rest sends no wave, no force stays in a press that stands still.
    Both,
}

/// Which force of the robot a method relays to the hand: of `tdpa`, `tank` and `iss`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relayed {
    /// The coupling force, with all that moves the robot in it. Over a delay the robot's own
    /// controller then closes a loop through the hand.
    Port,
    /// The measured contact force where it is known, else the coupling force.
    #[default]
    Contact,
}

/// Defines [`CouplingParams`] by a list of fields, each with its type and default, and a number with its range.
macro_rules! params {
    ($($(#[$about:meta])* $field:ident: $type:ty = $default:expr $(, $range:expr, $expected:literal)?;)+) => {
        /// Parameters that both ends of the coupling must agree on.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct CouplingParams {
            $($(#[$about])* pub $field: $type,)+
        }

        impl Default for CouplingParams {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl CouplingParams {
            fn check_ranges(&self) -> Result<(), CouplingError> {
                $($(CouplingError::unless_in($range, stringify!($field), self.$field, $expected)?;)?)+
                Ok(())
            }
        }
    };
}

params! {
    /// Method.
    mode: Mode = Mode::Auto;
    /// Wave impedance b \[N s/m\], 0.1 to 1000.
    impedance_nspm: f64 = 10.0, 0.1..=1000.0, "0.1 to 1000 N s/m";
    /// Wave impedance of each axis over b, 0.01 to 100; a retune changes b and keeps it. A matrix that
    /// couples the axes is refused: its energy is no sum over axes that are each passive, and accounts,
    /// limits and the judge go by axis (waves of such a matrix: E2).
    impedance_ratio: Axes = [1.0; AXES];
    /// Impedance matching of the wave channel.
    matching: Matching = Matching::Slave;
    /// Rate at which the slave's desired position is pulled to the master's delayed one \[1/s\];
    /// 0 switches the correction off.
    drift_rate_hz: f64 = 3.0, 0.0..=100.0, "0 to 100 1/s";
    /// The same in the first second after an outage, a silence of `hold_s` and 0.1 s; where it is not the
    /// larger, outages are made up for as any drift is \[1/s\]. Paid from the account as ever.
    recover_hz: f64 = 30.0, 0.0..=100.0, "0 to 100 1/s";
    /// Rate at which a decoder catches up with the wave integral \[1/s\].
    catch_up_hz: f64 = 30.0, 0.0..=500.0, "0 to 500 1/s";
    /// Longest time that a decoder holds the newest sample when nothing arrives \[s\].
    hold_s: f64 = 0.02, 0.0..=1.0, "0 to 1 s";
    /// Energy that the master keeps back for the force it holds, in ticks of what it may cost from rest; at
    /// least what it costs until the device lets go.
    reserve_ticks: f64 = 3.0, 1.0..=100.0, "1 to 100 ticks";
    /// Energy that the slave's tank of a model-mediated channel should hold \[J\].
    tank_target_j: f64 = 0.03, 0.0..=10.0, "0 to 10 J";
    /// Fraction of a surplus that the slave's tank returns every second \[1/s\].
    share_hz: f64 = 5.0, 0.0..=200.0, "0 to 200 1/s";
    /// Largest friction against the hand that fills the slave's tank \[N\].
    charge_n_max: f64 = 0.3, 0.0..=5.0, "0 to 5 N";
    /// Rate at which the slave follows the delayed position in model mediation and with tanks \[1/s\].
    follow_hz: f64 = 30.0, 0.0..=200.0, "0 to 200 1/s";
    /// Which force `tdpa`, `tank` and `iss` relay to the hand.
    relayed: Relayed = Relayed::Contact;
    /// Cut-off of the waves that are sent \[Hz\] (teleop E5); 0 is no filter.
    wave_filter_hz: f64 = 0.0, 0.0..=500.0, "0 to 500 Hz";
    /// Whether waves are decoded by the classic gain (teleop E6a), a baseline, and not by their
    /// integrals.
    delay_gain: bool = false;
    /// Largest friction against the hand that fills the slave's gap in mode `tdpa`, whole while it is
    /// empty \[N\]: unlike a twin's, this hand pays for all that the robot loses on its way.
    tdpa_charge_n_max: f64 = 1.0, 0.0..=5.0, "0 to 5 N";
    /// Share of the slave's observed gap beyond a third of `tank_target_j` that time-domain passivity
    /// reflects every second \[1/s\]; 0 is the classic form.
    reflect_hz: f64 = 0.0, 0.0..=200.0, "0 to 200 1/s";
    /// Largest damping that fills the tanks of mode `tank` \[N s/m\], at most what a light handle bears at 1 kHz.
    tank_nspm_max: f64 = 10.0, 0.0..=20.0, "0 to 20 N s/m";
    /// Stiffness K of both springs of set-position modulation \[N/m\]; the slave's own, if it is less.
    pspm_npm: f64 = 500.0, 1.0..=5000.0, "1 to 5000 N/m";
    /// Damping of the handle in set-position modulation \[N s/m\].
    pspm_nspm: f64 = 1.0, 0.0..=20.0, "0 to 20 N s/m";
    /// Series stiffness mu of mode `iss` \[N/m\].
    iss_mu_npm: f64 = 3000.0, 10.0..=1e6, "10 to 1e6 N/m";
    /// Damping time tau of mode `iss` \[s\].
    iss_tau_s: f64 = 0.003, 0.0..=0.1, "0 to 0.1 s";
    /// Cut-off of the filter behind the master's passivity controller, of `tdpa` and `wave-tdpa` \[Hz\];
    /// 0 is none.
    control_filter_hz: f64 = 15.0, 0.0..=500.0, "0 to 500 Hz";
    /// Changes of the wave impedance while the session runs; behind all plain values, as it is a list of tables.
    retune: Schedule = Schedule::default();
    /// Switches of the method while the session runs.
    switch: Switches = Switches::default();
}

/// A coupling parameter that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("coupling.{field} is {value}; expected {expected}")]
pub struct CouplingError {
    /// Name of the field.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// What would be right.
    pub expected: &'static str,
}

impl CouplingError {
    /// Of a value that is out of its range.
    pub(super) fn unless_in(
        range: RangeInclusive<f64>,
        field: &'static str,
        value: f64,
        expected: &'static str,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(Self {
            field,
            value,
            expected,
        })
    }
}

impl CouplingParams {
    /// The same parameters in another mode.
    #[must_use]
    pub fn in_mode(&self, mode: Mode) -> Self {
        Self { mode, ..*self }
    }

    /// Whether the session renders a twin at any time.
    #[must_use]
    pub fn needs_twin(&self) -> bool {
        let renders = |mode: Mode| mode.felt() == Felt::Twin;
        renders(self.mode) || self.switch.any(renders)
    }

    /// The mode that a frame with this number of one was made in, as far as it was agreed on.
    #[must_use]
    pub fn mode_of(&self, code: u32) -> Mode {
        let told = Mode::of_code(code).filter(|told| self.switch.any(|mode| mode == *told));
        told.unwrap_or(self.mode)
    }

    /// Stiffness of the robot's controller in this session, of the one that it has \[N/m\]; asked of what was
    /// agreed on, as [`Self::in_mode`] knows the modes to come and none that was.
    #[must_use]
    pub fn robot_npm(&self, own_npm: f64) -> f64 {
        let sets = |mode: Mode| mode.felt() == Felt::Spring;
        if sets(self.mode) || self.switch.any(sets) {
            own_npm.min(self.pspm_npm)
        } else {
            own_npm
        }
    }

    /// Check every field.
    ///
    /// # Errors
    /// [`CouplingError`] names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), CouplingError> {
        self.check_ranges()?;
        self.retune.validate()?;
        self.switch.validate(self.mode)?;
        // the impedance of every axis at every b that the session will have
        let products = "0.1 to 1000 N s/m when multiplied by the wave impedance";
        for b in self.retune.impedances_nspm().chain([self.impedance_nspm]) {
            for ratio in self.impedance_ratio {
                let field = "impedance_ratio";
                CouplingError::unless_in(0.01..=100.0, field, ratio, "0.01 to 100")?;
                CouplingError::unless_in(0.1..=1000.0, field, ratio * b, products)?;
            }
        }
        Ok(())
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
            Err("impedance_nspm")
        );
        for (ratio, b) in [(-1.0, 10.0), (f64::NAN, 10.0), (50.0, 100.0)] {
            let bad = CouplingParams {
                impedance_nspm: b,
                impedance_ratio: [1.0, ratio, 1.0, 1.0],
                ..CouplingParams::default()
            };
            let field = bad.validate().map_err(|error| error.field);
            assert_eq!(field, Err("impedance_ratio"));
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
