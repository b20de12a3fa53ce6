//! Parameters of the codec, which both sides must agree on, and their ranges.
//!
//! Source: teleop E14 and section 3; defaults ours, derived from the noise stated there.

use serde::{Deserialize, Serialize};

use crate::{Span, params};

/// Longest time between two frames \[s\] (teleop goal 6).
pub(crate) const KEEP_ALIVE_S_MAX: f64 = 0.05;

/// Largest Weber fraction k.
pub(crate) const WEBER_MAX: f64 = 0.5;

/// Most periods between two frames while the delay grows.
pub(crate) const PERIODS_PER_FRAME_MAX: u32 = 8;

/// Kind of codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodecKind {
    /// Every frame is sent.
    #[default]
    Off,
    /// Imperceptible frames are omitted.
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

/// Extrapolation at the receiver between frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PredictorKind {
    /// The last value, held.
    Zoh,
    /// The line through the last values.
    #[default]
    Linear,
}

impl PredictorKind {
    /// Name as in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Zoh => "zoh",
            Self::Linear => "linear",
        }
    }
}

params! {
    /// Parameters of the codec.
    #[derive(Copy)]
    pub struct CodecParams: "codec." {
        /// Kind of codec.
        pub kind: CodecKind = CodecKind::Off,
        /// Requires this setting: a session with another one is refused. If false, it is a request: two sides that
        /// begin a session use a setting that both support, see [`super::handshake`].
        pub demanded: bool = false,
        /// Weber fraction k, 0 to 0.5: changes below this fraction of the value are imperceptible.
        pub weber: f64 = 0.10 => (0.0..=WEBER_MAX, "0 to 0.5"),
        /// Increase of k with the speed of the hand or the robot \[s/m\], 0 to 10: motion masks force
        /// (Kammerl et al. 2010; their slope was not found, so it is off by default).
        pub weber_per_mps: f64 = 0.0 => (0.0..=10.0, "0 to 10 s/m"),
        /// Least change of a force that counts \[N\]. At least 4 sigma of the noise; 6 by default, as the norm
        /// of the difference of two readings on three axes exceeds that in 0.04 % of all ticks.
        pub floor_n: f64 = 0.06 => (0.0..=1.0, "0 to 1 N"),
        /// Least change of a velocity that counts \[m/s\]; likewise, of the 1.3 mm/s that remain of encoder noise.
        pub floor_mps: f64 = 0.006 => (0.0..=0.1, "0 to 0.1 m/s"),
        /// Time constant of the smoothing of the judged signal before it is judged and sent \[s\], 0 to 0.1; 0 is
        /// none. The steps of an encoder of 0.03 mm are 12 mm/s in a velocity at 1 kHz, far above any floor;
        /// over 10 ms they are 1.3 mm/s. The position is never smoothed.
        pub smooth_s: f64 = 0.01 => (0.0..=0.1, "0 to 0.1 s"),
        /// Longest time between two frames \[s\], 0.002 to 0.05 and below every limit on silence.
        pub keep_alive_s: f64 = 0.024 => (0.002..=KEEP_ALIVE_S_MAX, "0.002 to 0.05 s"),
        /// Extrapolation at the receiver between frames.
        pub predictor: PredictorKind = PredictorKind::Linear,
        /// Expected fraction of lost frames, 0 to 0.5: a change is sent again until the receiver is likely
        /// to have it. 0 sends it once.
        pub loss_expected: f64 = 0.1 => (0.0..=0.5, "0 to 0.5"),
        /// Accepted probability, 0 to 0.5, that the receiver is off by more than the threshold.
        pub doubt_max: f64 = 0.003 => (0.0..=0.5, "0 to 0.5"),
        /// Largest number of periods between two frames while the delay grows, 1 to 8; 1 never slows down.
        pub pace_max: u32 = 4 => (1.0..=f64::from(PERIODS_PER_FRAME_MAX), "1 to 8"),
    }
}

impl CodecParams {
    /// Longest extrapolation at the receiver without a frame: one keep-alive may be lost.
    #[must_use]
    pub fn horizon(&self) -> Span {
        Span::from_s(2.0 * self.keep_alive_s)
    }

    /// True if frames may be omitted.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.kind != CodecKind::Off
    }
}
