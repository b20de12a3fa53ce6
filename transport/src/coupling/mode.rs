//! The list of the coupling methods, and the two enums that follow from it: [`Mode`], which names a method, and
//! [`Running`], which is one with what it remembers at an end.

use serde::{Deserialize, Serialize};

use super::direct::Direct;
use super::iss::Iss;
use super::method::{Felt, Method};
use super::mmt::Mmt;
use super::pspm::Pspm;
use super::tank::Tank;
use super::tdpa::Tdpa;
use super::wave::Wave;

/// Defines [`Mode`] and [`Running`] by a list of methods. Of each: the mode and the type; the name on the command
/// line, which is the mode in kebab case; what the hand feels; whether it is passive; the method at its beginning.
macro_rules! methods {
    ($($(#[$about:meta])* $mode:ident($method:ty) = $name:literal, $felt:ident, $passive:literal, $first:expr;)+) => {
        /// Which method couples the two sides.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Mode {
            $($(#[$about])* $mode,)+
        }

        impl Mode {
            /// All of them, as help lists them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$mode),+];

            /// Name as on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$mode => $name,)+
                }
            }

            /// Whether the channel never gives more energy than it got. The others are let through unpaid,
            /// and nobody may demand passivity of them.
            #[must_use]
            pub fn is_passive(self) -> bool {
                match self {
                    $(Self::$mode => $passive,)+
                }
            }

            /// What the hand feels.
            pub(crate) fn felt(self) -> Felt {
                match self {
                    $(Self::$mode => Felt::$felt,)+
                }
            }
        }

        /// A method with what it remembers at one end.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub(super) enum Running {
            $($mode($method),)+
        }

        impl Default for Running {
            fn default() -> Self {
                Self::new(Mode::default())
            }
        }

        impl Running {
            /// The method of this mode at its beginning.
            pub(super) fn new(mode: Mode) -> Self {
                match mode {
                    $(Mode::$mode => Self::$mode($first),)+
                }
            }

            /// With a peer that began anew.
            pub(super) fn restart(&mut self) {
                match self {
                    $(Self::$mode(method) => method.restart(),)+
                }
            }

            /// The method.
            pub(super) fn get(&self) -> &dyn Method {
                match self {
                    $(Self::$mode(method) => method,)+
                }
            }

            /// The method, to be advanced.
            pub(super) fn get_mut(&mut self) -> &mut dyn Method {
                match self {
                    $(Self::$mode(method) => method,)+
                }
            }
        }
    };
}

// the place in this list is the number on the wire: a new method comes last
methods! {
    /// Position forward, coupling force back, nothing accounted: the baseline that goes unstable.
    /// Not passive.
    Direct(Direct) = "direct", Port, false, Direct;
    /// Wave variables with an energy reservoir at each end. Passive.
    Wave(Wave) = "wave", Wave, true, Wave::default();
    /// Velocity forward, coupling force back, with a passivity observer and controller at each end.
    /// Passive.
    Tdpa(Tdpa) = "tdpa", Relayed, true, Tdpa::default();
    /// Wave variables whose energy is observed and controlled as that of `tdpa`. Passive.
    WaveTdpa(Tdpa) = "wave-tdpa", Wave, true, Tdpa::on_waves();
    /// Position forward, coupling force back, over two energy tanks. Passive.
    Tank(Tank) = "tank", Relayed, true, Tank;
    /// Positions both ways, each side's spring set only as far as its energy pays. Passive.
    Pspm(Pspm) = "pspm", Spring, true, Pspm::default();
    /// As `direct`, with a series spring and a bounded damper. Not passive: input-to-state stability
    /// claims less.
    Iss(Iss) = "iss", Relayed, false, Iss::default();
    /// The twin's force at the handle, the remote side's force as a delayed correction. Passive.
    Mmt(Mmt) = "mmt", Twin, true, Mmt::default();
    /// Model mediation, and the relayed force where the round trip is a few ms and the twin was not taught.
    /// Passive.
    #[default]
    Auto(Mmt) = "auto", Twin, true, Mmt::blended();
}

impl Mode {
    /// The method whose channel really runs.
    #[must_use]
    pub fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Mmt,
            other => other,
        }
    }

    /// Whether the handle's force is the last that came from the other side, so that it must fade
    /// when nothing comes. Waves play out what is owed; a spring and a twin are local.
    #[must_use]
    pub fn relays_force(self) -> bool {
        matches!(self.felt(), Felt::Port | Felt::Relayed)
    }

    /// Whether the port's signals are waves, so that impedance matching means something.
    #[must_use]
    pub fn sends_waves(self) -> bool {
        self.felt() == Felt::Wave
    }

    /// Its number on the wire, from 1; 0 is the mode that was agreed on.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32 + 1
    }

    /// The mode of this number, if it is one.
    pub(super) fn of_code(code: u32) -> Option<Self> {
        let place = (code as usize).checked_sub(1)?;
        Self::ALL.get(place).copied()
    }

    /// The mode of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
