//! Methods that couple the two sides through a delay, and the energy account they all share.
//!
//! Every method has one shape, axis by axis: from what was received it forms a *demand* (a force at
//! the master, a velocity at the slave), and [`reservoir`] decides how much of it the account can
//! pay. So no method can create energy, whatever the network does, and a method's own passivity
//! controller decides only how much of its demand is left before that last word. `direct` and `iss`
//! alone are let through unpaid ([`Mode::is_passive`]): the one is kept to show what happens then, the
//! other claims less than passivity.
//!
//! | file | method | source |
//! |---|---|---|
//! | [`wave`] | wave variables, impedance matching, filtering | teleop E2, E4, E5 |
//! | [`wave_matrix`] | waves of coupled axes, a library alone: sessions have one b an axis | teleop E2 |
//! | [`delay_gain`] | the classic gain for a variable delay, a baseline | teleop E6a |
//! | [`reservoir`] | cumulative energy account for variable delay and loss | teleop E6b, E9 |
//! | [`drift`] | position correction, paid from the account | teleop E7 |
//! | [`tdpa`] | passivity observers and controllers | teleop E8 |
//! | [`tank`] | two layers with tanks | teleop E9 |
//! | [`pspm`] | set-position modulation | teleop E10 |
//! | [`iss`] | input-to-state stability | teleop E11 |
//! | [`model_mediated`] | a tank at the slave, passive model update | teleop E9, E16 |
//! | [`auto`] | the twin's force or the relayed one | teleop goal 5 |
//!
//! [`master_end`] and [`slave_end`] hold what the methods remember, and choose among them: the ticks
//! call these two and know no method. [`params`] has what both ends agree on, [`retune`] how the wave
//! impedance changes while a session runs, [`switch`] how the method does.
//!
//! Ports (teleop section 6): `F_m v_m` is the power into the channel at the master, `F_s v_sd` the
//! power out of it at the slave.

pub mod auto;
pub mod delay_gain;
pub mod drift;
pub mod iss;
pub mod master_end;
pub mod model_mediated;
pub mod params;
pub mod pspm;
pub mod reservoir;
pub mod retune;
pub mod slave_end;
pub mod switch;
pub mod tank;
pub mod tdpa;
pub mod wave;
pub mod wave_matrix;

use serde::{Deserialize, Serialize};

use crate::HapticFrame;

pub use master_end::MasterEnd;
pub use params::{CouplingError, CouplingParams, Matching, Relayed};
pub use reservoir::Reservoir;
pub use retune::Schedule;
pub use slave_end::SlaveEnd;
pub use switch::Switches;

/// Which method couples the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Position forward, coupling force back, nothing accounted: the baseline that goes unstable.
    /// Not passive.
    Direct,
    /// Wave variables with an energy reservoir at each end. Passive.
    Wave,
    /// Velocity forward, coupling force back, with a passivity observer and controller at each end.
    /// Passive.
    Tdpa,
    /// Wave variables whose energy is observed and controlled as that of `tdpa`. Passive.
    WaveTdpa,
    /// Position forward, coupling force back, over two energy tanks. Passive.
    Tank,
    /// Positions both ways, each side's spring set only as far as its energy pays. Passive.
    Pspm,
    /// As `direct`, with a series spring and a bounded damper. Not passive: input-to-state stability
    /// claims less.
    Iss,
    /// The twin's force at the handle, the remote side's force as a delayed correction. Passive.
    Mmt,
    /// Model mediation, and the relayed force where the round trip is a few ms and the twin was not taught.
    /// Passive.
    #[default]
    Auto,
}

impl Mode {
    /// All of them, as help lists them.
    pub const ALL: [Self; 9] = [
        Self::Direct,
        Self::Wave,
        Self::Tdpa,
        Self::WaveTdpa,
        Self::Tank,
        Self::Pspm,
        Self::Iss,
        Self::Mmt,
        Self::Auto,
    ];

    /// The method whose channel really runs.
    #[must_use]
    pub fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Mmt,
            other => other,
        }
    }

    /// Whether the channel never gives more energy than it got. The others are let through unpaid,
    /// and nobody may demand passivity of them.
    #[must_use]
    pub fn is_passive(self) -> bool {
        !matches!(self.resolved(), Self::Direct | Self::Iss)
    }

    /// Whether the handle's force is the last that came from the other side, so that it must fade
    /// when nothing comes. Waves play out what is owed; a spring and a twin are local.
    #[must_use]
    pub fn relays_force(self) -> bool {
        match self.resolved() {
            Self::Direct | Self::Tdpa | Self::Tank | Self::Iss => true,
            Self::Wave | Self::WaveTdpa | Self::Pspm | Self::Mmt | Self::Auto => false,
        }
    }

    /// Whether the port's signals are waves, so that impedance matching means something.
    #[must_use]
    pub fn sends_waves(self) -> bool {
        matches!(self.resolved(), Self::Wave | Self::WaveTdpa)
    }

    /// Its number on the wire, from 1; 0 is the mode that was agreed on.
    #[must_use]
    pub fn code(self) -> u32 {
        let place = Self::ALL.iter().position(|&mode| mode == self);
        place.map_or(0, |place| place as u32 + 1)
    }

    /// The mode of this number, if it is one.
    #[must_use]
    pub fn of_code(code: u32) -> Option<Self> {
        let place = (code as usize).checked_sub(1)?;
        Self::ALL.get(place).copied()
    }

    /// The mode of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Name as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Wave => "wave",
            Self::Tdpa => "tdpa",
            Self::WaveTdpa => "wave-tdpa",
            Self::Tank => "tank",
            Self::Pspm => "pspm",
            Self::Iss => "iss",
            Self::Mmt => "mmt",
            Self::Auto => "auto",
        }
    }
}

/// What both ends of a method are given in a tick, whatever the axis.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Parameters that both sides agreed on.
    pub params: &'a CouplingParams,
    /// Wave impedance b of this tick, before the ratio of an axis \[N s/m\].
    pub impedance_nspm: f64,
    /// The newest frame of the other side; number 0 if there is none.
    pub newest: &'a HapticFrame,
    /// Whether it is new enough for its samples to be held.
    pub held: bool,
    /// Time since the tick before \[s\].
    pub dt_s: f64,
}

impl Moment<'_> {
    /// Wave impedance of this tick on one axis, for what is sent \[N s/m\].
    #[must_use]
    pub fn own_nspm(&self, axis: usize) -> f64 {
        self.impedance_nspm * self.params.impedance_ratio[axis]
    }

    /// Wave impedance that the newest frame's wave was made with on one axis, for what is decoded
    /// \[N s/m\].
    #[must_use]
    pub fn came_with_nspm(&self, axis: usize) -> f64 {
        self.came_nspm() * self.params.impedance_ratio[axis]
    }

    fn came_nspm(&self) -> f64 {
        self.newest.made_with_nspm().unwrap_or(self.impedance_nspm)
    }
}

#[cfg(test)]
mod tests;
