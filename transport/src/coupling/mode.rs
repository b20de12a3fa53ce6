//! List of the coupling methods, and the two enums generated from it: [`Mode`] names a method, and
//! `ActiveMethod` is a method with its state at one end.

use serde::{Deserialize, Serialize};

use super::direct::Direct;
use super::iss::Iss;
use super::method::{FeedbackKind, Method};
use super::mmt::Mmt;
use super::pspm::Pspm;
use super::tank::Tank;
use super::tdpa::Tdpa;
use super::wave::Wave;

/// Defines [`Mode`] and [`ActiveMethod`] by a list of methods. Each line has the mode and the type, the name on the
/// command line (the mode in kebab case), the rendered quantity, passivity, and the initial state of the method.
macro_rules! methods {
    ($($(#[$about:meta])* $mode:ident($method:ty) = $name:literal, $feedback:ident, $passive:literal, $first:expr;)+) => {
        /// Coupling method of the two sides.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Mode {
            $($(#[$about])* $mode,)+
        }

        impl Mode {
            /// All modes, in the order of the help text.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$mode),+];

            /// Name as on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$mode => $name,)+
                }
            }

            /// True if the channel never gives more energy than it received. The other methods are not limited
            /// by the energy tank, and passivity cannot be required of them.
            #[must_use]
            pub fn is_passive(self) -> bool {
                match self {
                    $(Self::$mode => $passive,)+
                }
            }

            /// Quantity that the handle renders.
            pub(crate) fn feedback(self) -> FeedbackKind {
                match self {
                    $(Self::$mode => FeedbackKind::$feedback,)+
                }
            }
        }

        /// A method with its state at one end.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub(super) enum ActiveMethod {
            $($mode($method),)+
        }

        impl Default for ActiveMethod {
            fn default() -> Self {
                Self::new(Mode::default())
            }
        }

        impl ActiveMethod {
            /// Creates the method of this mode in its initial state.
            pub(super) fn new(mode: Mode) -> Self {
                match mode {
                    $(Mode::$mode => Self::$mode($first),)+
                }
            }

            /// Resets the state for a peer that restarted.
            pub(super) fn restart(&mut self) {
                match self {
                    $(Self::$mode(method) => method.restart(),)+
                }
            }

            /// Returns the method.
            pub(super) fn get(&self) -> &dyn Method {
                match self {
                    $(Self::$mode(method) => method,)+
                }
            }

            /// Returns the method for a tick.
            pub(super) fn get_mut(&mut self) -> &mut dyn Method {
                match self {
                    $(Self::$mode(method) => method,)+
                }
            }
        }
    };
}

// the position in this list is the number on the wire: a new method comes last
methods! {
    /// Position forward, coupling force back, without energy limits: the baseline that becomes unstable.
    /// Not passive.
    Direct(Direct) = "direct", Port, false, Direct;
    /// Wave variables with an energy tank at each end. Passive.
    Wave(Wave) = "wave", Wave, true, Wave::default();
    /// Velocity forward, coupling force back, with a passivity observer and controller at each end.
    /// Passive.
    Tdpa(Tdpa) = "tdpa", Relayed, true, Tdpa::default();
    /// Wave variables whose energy is observed and controlled as in `tdpa`. Passive.
    WaveTdpa(Tdpa) = "wave-tdpa", Wave, true, Tdpa::over_waves();
    /// Position forward, coupling force back, over two energy tanks. Passive.
    Tank(Tank) = "tank", Relayed, true, Tank;
    /// Positions both ways, each side's spring set only as far as its tank pays. Passive.
    Pspm(Pspm) = "pspm", Spring, true, Pspm::default();
    /// As `direct`, with a series spring and a bounded damper. Not passive: input-to-state stability
    /// guarantees less.
    Iss(Iss) = "iss", Relayed, false, Iss::default();
    /// The twin's force at the handle, the remote side's force as a delayed correction. Passive.
    Mmt(Mmt) = "mmt", Twin, true, Mmt::default();
    /// Model mediation, with the relayed force where the round trip is a few ms and the twin's confidence is low.
    /// Passive.
    #[default]
    Auto(Mmt) = "auto", Twin, true, Mmt::blended();
}

impl Mode {
    /// Returns the mode whose channel this mode uses.
    #[must_use]
    pub fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Mmt,
            other => other,
        }
    }

    /// True if the handle's force follows the newest force or position of the other side, so that it must fade when no
    /// frames arrive. Waves play out the remaining integral; a twin is local.
    #[must_use]
    pub fn relays_force(self) -> bool {
        matches!(
            self.feedback(),
            FeedbackKind::Port | FeedbackKind::Relayed | FeedbackKind::Spring
        )
    }

    /// True if the handle renders a twin, which is local.
    #[must_use]
    pub fn renders_twin(self) -> bool {
        self.feedback() == FeedbackKind::Twin
    }

    /// True if the port's signals are waves, so that impedance matching applies.
    #[must_use]
    pub fn sends_waves(self) -> bool {
        self.feedback() == FeedbackKind::Wave
    }

    /// Number on the wire, from 1; 0 is the agreed mode.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32 + 1
    }

    /// Returns the mode of this number, if it is one.
    pub(super) fn from_code(code: u32) -> Option<Self> {
        let place = (code as usize).checked_sub(1)?;
        Self::ALL.get(place).copied()
    }

    /// Returns the mode of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
