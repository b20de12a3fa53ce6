//! Parameters of the codec, which both sides must agree on, and which values make sense.
//!
//! Source: teleop E14 and section 3; defaults ours, from the noise that they name.

use serde::{Deserialize, Serialize};

use crate::Span;

/// Longest time between two frames \[s\] (teleop goal 6).
pub(crate) const KEEP_ALIVE_S_MAX: f64 = 0.05;

/// Largest Weber fraction k.
pub(crate) const WEBER_MAX: f64 = 0.5;

/// Most periods between two frames while the delay grows.
pub(crate) const PACE_MAX: u32 = 8;

/// Which codec is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodecKind {
    /// Every frame is sent.
    #[default]
    Off,
    /// Frames that would not be felt are left out.
    Deadband,
}

impl CodecKind {
    /// Name as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Deadband => "deadband",
        }
    }
}

/// What the receiver believes between frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prediction {
    /// The last value.
    Zoh,
    /// The line through the last values.
    #[default]
    Linear,
}

impl Prediction {
    /// Name as in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zoh => "zoh",
            Self::Linear => "linear",
        }
    }
}

/// Parameters of the codec.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CodecParams {
    /// Which codec.
    pub kind: CodecKind,
    /// Whether a session with any other setting is refused. Else this is a wish: two sides that begin a
    /// session use what both can, see [`super::handshake`].
    pub demanded: bool,
    /// Weber fraction k, 0 to 0.5: changes below this part of the value are not felt.
    pub weber: f64,
    /// By how much k grows with the speed of the hand or the robot \[s/m\], 0 to 10: motion masks force
    /// (Kammerl et al. 2010; their slope was not found, so it is off by default).
    pub weber_per_mps: f64,
    /// Least change of a force that counts \[N\]. At least 4 sigma of the noise; 6 by default, as the norm
    /// of the difference of two readings on three axes is above that in 0.04 % of all ticks.
    pub floor_n: f64,
    /// Least change of a velocity that counts \[m/s\]; likewise, of 1.3 mm/s that are left of an encoder.
    pub floor_mps: f64,
    /// Time constant by which the judged signal is smoothed before it is judged and sent \[s\], 0 to
    /// 0.1; 0 does not. The steps of an encoder of 0.03 mm are 12 mm/s in a velocity of 1 kHz, far above
    /// any floor; over 10 ms they are 1.3 mm/s. The position is never smoothed.
    pub smooth_s: f64,
    /// Longest time between two frames \[s\], 0.002 to 0.05 and below every limit on silence.
    pub keep_alive_s: f64,
    /// What the receiver believes between frames.
    pub predictor: Prediction,
    /// Part of the frames that may get lost, 0 to 0.5: a change is sent again until the receiver
    /// is likely to have it. 0 sends it once.
    pub loss_expected: f64,
    /// Probability, 0 to 0.5, with which the receiver may be off by more than the threshold.
    pub doubt_max: f64,
    /// Largest number of periods between two frames while the delay grows, 1 to 8; 1 never slows down.
    pub pace_max: u32,
}

impl Default for CodecParams {
    fn default() -> Self {
        Self {
            kind: CodecKind::Off,
            demanded: false,
            weber: 0.10,
            weber_per_mps: 0.0,
            floor_n: 0.06,
            floor_mps: 0.006,
            smooth_s: 0.01,
            keep_alive_s: 0.024,
            predictor: Prediction::Linear,
            loss_expected: 0.1,
            doubt_max: 0.003,
            pace_max: 4,
        }
    }
}

/// A parameter of the codec that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("codec.{field} is {value}; expected {expected}")]
pub struct CodecError {
    /// Name of the field.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// What would be right.
    pub expected: &'static str,
}

impl CodecParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`CodecError`] names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), CodecError> {
        let rows: [(&'static str, f64, f64, f64, &'static str); 9] = [
            ("weber", self.weber, 0.0, WEBER_MAX, "0 to 0.5"),
            (
                "weber_per_mps",
                self.weber_per_mps,
                0.0,
                10.0,
                "0 to 10 s/m",
            ),
            ("floor_n", self.floor_n, 0.0, 1.0, "0 to 1 N"),
            ("floor_mps", self.floor_mps, 0.0, 0.1, "0 to 0.1 m/s"),
            ("smooth_s", self.smooth_s, 0.0, 0.1, "0 to 0.1 s"),
            (
                "keep_alive_s",
                self.keep_alive_s,
                0.002,
                KEEP_ALIVE_S_MAX,
                "0.002 to 0.05 s",
            ),
            ("loss_expected", self.loss_expected, 0.0, 0.5, "0 to 0.5"),
            ("doubt_max", self.doubt_max, 0.0, 0.5, "0 to 0.5"),
            (
                "pace_max",
                f64::from(self.pace_max),
                1.0,
                f64::from(PACE_MAX),
                "1 to 8",
            ),
        ];
        for (field, value, low, high, expected) in rows {
            if !(low..=high).contains(&value) {
                return Err(CodecError {
                    field,
                    value,
                    expected,
                });
            }
        }
        Ok(())
    }

    /// How long a receiver goes on by its line when no frame comes: one keep-alive may be lost.
    #[must_use]
    pub fn horizon(&self) -> Span {
        Span::from_s(2.0 * self.keep_alive_s)
    }

    /// Whether frames may be left out.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.kind != CodecKind::Off
    }
}
