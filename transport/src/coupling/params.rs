//! Parameters that both ends of the coupling must agree on, and their ranges.

use serde::{Deserialize, Serialize};

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

/// Parameters that both ends of the coupling must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CouplingParams {
    /// Method.
    pub mode: Mode,
    /// Wave impedance b \[N s/m\], 0.1 to 1000.
    pub impedance_nspm: f64,
    /// Wave impedance of each axis over b, 0.01 to 100; a retune changes b and keeps it. A matrix that
    /// couples the axes is refused: its energy is no sum over axes that are each passive, and accounts,
    /// limits and the judge go by axis ([`super::wave_matrix`] has its waves).
    pub impedance_ratio: Axes,
    /// Impedance matching of the wave channel.
    pub matching: Matching,
    /// Rate at which the slave's desired position is pulled to the master's delayed one \[1/s\];
    /// 0 switches the correction off.
    pub drift_rate_hz: f64,
    /// The same in the first second after an outage, a silence of `hold_s` and 0.1 s; where it is not the
    /// larger, outages are made up for as any drift is \[1/s\]. Paid from the account as ever.
    pub recover_hz: f64,
    /// Rate at which a decoder catches up with the wave integral \[1/s\].
    pub catch_up_hz: f64,
    /// Longest time that a decoder holds the newest sample when nothing arrives \[s\].
    pub hold_s: f64,
    /// Energy that the master keeps back for the force it holds, in ticks of what it may cost from rest; at
    /// least what it costs until the device lets go.
    pub reserve_ticks: f64,
    /// Energy that the slave's tank of a model-mediated channel should hold \[J\].
    pub tank_target_j: f64,
    /// Fraction of a surplus that the slave's tank returns every second \[1/s\].
    pub share_hz: f64,
    /// Largest friction against the hand that fills the slave's tank \[N\].
    pub charge_n_max: f64,
    /// Rate at which the slave follows the delayed position in model mediation and with tanks \[1/s\].
    pub follow_hz: f64,
    /// Which force `tdpa`, `tank` and `iss` relay to the hand.
    pub relayed: Relayed,
    /// Cut-off of the waves that are sent \[Hz\] (teleop E5); 0 is no filter.
    pub wave_filter_hz: f64,
    /// Whether waves are decoded by the classic gain (teleop E6a), a baseline, and not by their
    /// integrals.
    pub delay_gain: bool,
    /// Largest friction against the hand that fills the slave's gap in mode `tdpa`, whole while it is
    /// empty \[N\]: unlike a twin's, this hand pays for all that the robot loses on its way.
    pub tdpa_charge_n_max: f64,
    /// Share of the slave's observed gap beyond a third of `tank_target_j` that time-domain passivity
    /// reflects every second \[1/s\]; 0 is the classic form.
    pub reflect_hz: f64,
    /// Largest damping that fills the tanks of mode `tank` \[N s/m\].
    pub tank_nspm_max: f64,
    /// Stiffness K of both springs of set-position modulation \[N/m\]; the slave's own, if it is less.
    pub pspm_npm: f64,
    /// Damping of the handle in set-position modulation \[N s/m\].
    pub pspm_nspm: f64,
    /// Series stiffness mu of mode `iss` \[N/m\].
    pub iss_mu_npm: f64,
    /// Damping time tau of mode `iss` \[s\].
    pub iss_tau_s: f64,
    /// Cut-off of the filter behind the master's passivity controller, of `tdpa` and `wave-tdpa` \[Hz\]
    /// ([`super::tdpa::OutputFilter`]); 0 is none.
    pub control_filter_hz: f64,
    /// Changes of the wave impedance while the session runs; behind all plain values, as it is a list of tables.
    pub retune: Schedule,
    /// Switches of the method while the session runs.
    pub switch: Switches,
}

impl Default for CouplingParams {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            impedance_nspm: 10.0,
            impedance_ratio: [1.0; AXES],
            matching: Matching::Slave,
            drift_rate_hz: 3.0,
            recover_hz: 30.0,
            catch_up_hz: 30.0,
            hold_s: 0.02,
            reserve_ticks: 3.0,
            tank_target_j: 0.03,
            share_hz: 5.0,
            charge_n_max: 0.3,
            follow_hz: 30.0,
            relayed: Relayed::Contact,
            wave_filter_hz: 0.0,
            delay_gain: false,
            tdpa_charge_n_max: 1.0,
            reflect_hz: 0.0,
            tank_nspm_max: 10.0,
            pspm_npm: 500.0,
            pspm_nspm: 1.0,
            iss_mu_npm: 3000.0,
            iss_tau_s: 0.003,
            control_filter_hz: 15.0,
            retune: Schedule::default(),
            switch: Switches::default(),
        }
    }
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

/// A field with its value, its lowest and highest, and what would be right.
pub(super) type Row = (&'static str, f64, f64, f64, &'static str);

impl CouplingError {
    /// The first of the rows whose value is out of its range.
    pub(super) fn first(rows: &[Row]) -> Result<(), Self> {
        for &(field, value, low, high, expected) in rows {
            if !(low..=high).contains(&value) {
                return Err(Self {
                    field,
                    value,
                    expected,
                });
            }
        }
        Ok(())
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
        let renders = |mode: Mode| mode.resolved() == Mode::Mmt;
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
        let sets = |mode: Mode| mode.resolved() == Mode::Pspm;
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
        let b = self.impedance_nspm;
        CouplingError::first(&[
            ("impedance_nspm", b, 0.1, 1000.0, "0.1 to 1000 N s/m"),
            (
                "drift_rate_hz",
                self.drift_rate_hz,
                0.0,
                100.0,
                "0 to 100 1/s",
            ),
            ("recover_hz", self.recover_hz, 0.0, 100.0, "0 to 100 1/s"),
            ("catch_up_hz", self.catch_up_hz, 0.0, 500.0, "0 to 500 1/s"),
            ("hold_s", self.hold_s, 0.0, 1.0, "0 to 1 s"),
            (
                "reserve_ticks",
                self.reserve_ticks,
                1.0,
                100.0,
                "1 to 100 ticks",
            ),
            ("tank_target_j", self.tank_target_j, 0.0, 10.0, "0 to 10 J"),
            ("share_hz", self.share_hz, 0.0, 200.0, "0 to 200 1/s"),
            ("charge_n_max", self.charge_n_max, 0.0, 5.0, "0 to 5 N"),
            ("follow_hz", self.follow_hz, 0.0, 200.0, "0 to 200 1/s"),
            (
                "wave_filter_hz",
                self.wave_filter_hz,
                0.0,
                500.0,
                "0 to 500 Hz",
            ),
            (
                "tdpa_charge_n_max",
                self.tdpa_charge_n_max,
                0.0,
                5.0,
                "0 to 5 N",
            ),
            (
                "control_filter_hz",
                self.control_filter_hz,
                0.0,
                500.0,
                "0 to 500 Hz",
            ),
            ("reflect_hz", self.reflect_hz, 0.0, 200.0, "0 to 200 1/s"),
            // what a light handle bears at 1 kHz
            (
                "tank_nspm_max",
                self.tank_nspm_max,
                0.0,
                20.0,
                "0 to 20 N s/m",
            ),
            ("pspm_npm", self.pspm_npm, 1.0, 5000.0, "1 to 5000 N/m"),
            ("pspm_nspm", self.pspm_nspm, 0.0, 20.0, "0 to 20 N s/m"),
            ("iss_mu_npm", self.iss_mu_npm, 10.0, 1e6, "10 to 1e6 N/m"),
            ("iss_tau_s", self.iss_tau_s, 0.0, 0.1, "0 to 0.1 s"),
        ])?;
        self.retune.validate()?;
        self.switch.validate(self.mode)?;
        let all = self.retune.impedances_nspm().chain([b]);
        self.check_axes(all)
    }

    /// Check the impedance of every axis at every b that the session will have.
    fn check_axes(&self, all_nspm: impl Iterator<Item = f64>) -> Result<(), CouplingError> {
        for b in all_nspm {
            for ratio in self.impedance_ratio {
                CouplingError::first(&[
                    ("impedance_ratio", ratio, 0.01, 100.0, "0.01 to 100"),
                    (
                        "impedance_ratio",
                        ratio * b,
                        0.1,
                        1000.0,
                        "0.1 to 1000 N s/m when multiplied by the wave impedance",
                    ),
                ])?;
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
