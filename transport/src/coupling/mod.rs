//! Methods that couple the two sides through a delay, and the energy account they all share.
//!
//! Every method has one shape, axis by axis: from what was received it forms a *demand* (a force at
//! the master, a velocity at the slave), and [`reservoir`] decides how much of it the account can
//! pay. So no method can create energy, whatever the network does; `direct` alone is let through
//! unpaid, because it is kept to show what happens then.
//!
//! | file | method | source |
//! |---|---|---|
//! | [`wave`] | wave variables, impedance matching | teleop E2, E4 |
//! | [`reservoir`] | cumulative energy account for variable delay and loss | teleop E6b, E9 |
//! | [`drift`] | position correction, paid from the account | teleop E7 |
//! | [`model_mediated`] | a tank at the slave, passive model update | teleop E9, E16 |
//!
//! Ports (teleop section 6): `F_m v_m` is the power into the channel at the master, `F_s v_sd` the
//! power out of it at the slave.

pub mod drift;
pub mod model_mediated;
pub mod reservoir;
pub mod wave;

use serde::{Deserialize, Serialize};

pub use reservoir::Reservoir;

/// Which method couples the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Position forward, coupling force back, nothing accounted: the baseline that goes unstable.
    Direct,
    /// Wave variables with an energy reservoir at each end.
    Wave,
    /// The twin's force at the handle, the remote side's force as a delayed correction.
    Mmt,
    /// Chosen by Palpate; model mediation for now.
    #[default]
    Auto,
}

impl Mode {
    /// The method that really runs.
    #[must_use]
    pub fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Mmt,
            other => other,
        }
    }

    /// Name as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Wave => "wave",
            Self::Mmt => "mmt",
            Self::Auto => "auto",
        }
    }
}

/// Which ends of a wave channel are terminated by their own impedance (teleop E4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matching {
    /// Neither: the sheet's acceptance formula E3 holds as it stands.
    None,
    /// The slave's PD damping is set to b, so that waves are absorbed there.
    #[default]
    Slave,
    /// Also a series element b at the master, which halves the force and the wave sent.
    Both,
}

/// Parameters that both ends of the coupling must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CouplingParams {
    /// Method.
    pub mode: Mode,
    /// Wave impedance b \[N s/m\], 0.1 to 1000.
    pub impedance_nspm: f64,
    /// Impedance matching of the wave channel.
    pub matching: Matching,
    /// Rate at which the slave's desired position is pulled to the master's delayed one \[1/s\];
    /// 0 switches the correction off.
    pub drift_rate_hz: f64,
    /// Rate at which a decoder catches up with the wave integral \[1/s\].
    pub catch_up_hz: f64,
    /// Longest time that a decoder holds the newest sample when nothing arrives \[s\].
    pub hold_s: f64,
    /// Energy that the master keeps back for the force it holds, in ticks of the fastest retreat
    /// of the hand.
    pub reserve_ticks: f64,
    /// Energy that the slave's tank of a model-mediated channel should hold \[J\].
    pub tank_target_j: f64,
    /// Fraction of a surplus that the slave's tank returns every second \[1/s\].
    pub share_hz: f64,
    /// Largest friction against the hand that fills the slave's tank \[N\].
    pub charge_n_max: f64,
    /// Rate at which the slave follows the delayed position in model mediation \[1/s\].
    pub follow_hz: f64,
}

impl Default for CouplingParams {
    fn default() -> Self {
        Self {
            mode: Mode::Auto,
            impedance_nspm: 10.0,
            matching: Matching::Slave,
            drift_rate_hz: 3.0,
            catch_up_hz: 30.0,
            hold_s: 0.02,
            reserve_ticks: 3.0,
            tank_target_j: 0.03,
            share_hz: 5.0,
            charge_n_max: 0.3,
            follow_hz: 30.0,
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

impl CouplingParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`CouplingError`] names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), CouplingError> {
        let rows: [(&'static str, f64, f64, f64, &'static str); 9] = [
            (
                "impedance_nspm",
                self.impedance_nspm,
                0.1,
                1000.0,
                "0.1 to 1000 N s/m",
            ),
            (
                "drift_rate_hz",
                self.drift_rate_hz,
                0.0,
                100.0,
                "0 to 100 1/s",
            ),
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
        ];
        for (field, value, low, high, expected) in rows {
            if !(low..=high).contains(&value) {
                return Err(CouplingError {
                    field,
                    value,
                    expected,
                });
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
