//! Methods that couple the two sides through a delay, and the energy tank that limits them all.
//!
//! Every method works axis by axis. From the received frame it computes a *demand*: a force at the master, a velocity
//! at the slave. The energy tank ([`EnergyTank`]) limits it to the energy available. So no limited method can
//! create energy, whatever the network does. A method's own passivity controller only lowers its demand before that
//! limit. Only `direct` and `iss` are not limited ([`Mode::is_passive`]): the first is a baseline, the second
//! guarantees less than passivity.
//!
//! | file | modes | method | source |
//! |---|---|---|---|
//! | `direct` | `direct` | position forward, force back, the baseline | teleop section 8 |
//! | `wave` | `wave` | wave variables, impedance matching | teleop E2, E4 |
//! | `tdpa` | `tdpa`, `wave-tdpa` | passivity observers and controllers, alone or over waves | teleop E8 |
//! | `tank` | `tank` | two layers with tanks | teleop E9 |
//! | `pspm` | `pspm` | set-position modulation | teleop E10 |
//! | `iss` | `iss` | input-to-state stability | teleop E11 |
//! | `mmt` | `mmt`, `auto` | model mediation; in `auto` with the relayed force where it is better | teleop E9, E16 |
//!
//! Common parts: `channel_end` runs the method of the mode and sends its waves. `wave_filter` has their units (E2)
//! and the low-pass of sent waves (E5), received waves and other signals. `age_jitter` measures how irregularly
//! frames arrive and smooths received waves. `delay_gain` is the classic gain for a variable delay (E6a), `drift` the
//! correction of position (E7). [`energy_tank`] is the tank (E6b, E9), and `robot_tank` fills the slave's. `auto`
//! selects between twin and relayed force (goal 5), and `blade` handles the force on an operator's blade. [`retune`]
//! changes the wave impedance while a session runs, [`mode_switch`] the method, and `params` has what both ends agree
//! on. The ticks call [`MasterEnd`] and [`SlaveEnd`], and depend on no method.
//!
//! Ports (teleop section 6): `F_m v_m` is the power into the channel at the master, `F_s v_sd` the
//! power out of it at the slave.
//!
//! # How to add a coupling method
//!
//! 1. Write `name.rs` here. Its header states the source, the equations and their symbols.
//! 2. Define one type with the method's state at either end, and implement `Method` (`method.rs`) for it.
//! 3. At the master, `force` computes the demand and `transfer` sends energy, but not the `blade_energy_j` of a blade.
//! 4. At the slave, `velocity` computes the demand and `transfer_back` returns energy, if it differs from `transfer`.
//! 5. `begin_tick` reads the received frame; a method that becomes active takes its sums as the start. `record_work`
//!    takes the work of the port.
//! 6. `restart` resets the state for a restarted peer: by default, all of it.
//! 7. Add one line at the end of the list in `mode.rs`: its position is the method's number in frames.
//! 8. State there the rendered quantity and passivity; impedance matching, fading and the codec follow from them.
//! 9. A parameter is one entry of the list in `params.rs`, with its default and its range.
//! 10. The tests in `tests/mod.rs` run the method automatically; test its equations in its own file.

mod age_jitter;
mod auto;
mod blade;
mod channel_end;
mod delay_gain;
mod direct;
mod drift;
pub mod energy_tank;
mod iss;
mod master_end;
mod method;
mod mmt;
mod mode;
pub mod mode_switch;
mod params;
mod pspm;
pub mod retune;
mod robot_tank;
mod slave_end;
mod tank;
mod tdpa;
mod wave;
mod wave_filter;

pub(crate) use method::FeedbackKind;

pub use energy_tank::EnergyTank;
pub use master_end::{CommandedForce, MasterEnd};
pub use method::{
    CouplingInputs, ForceDemand, HandleAxis, PRESLIDING_M, PdController, RobotAxis,
    SlavePortMotion, TwinInputs, VelocityDemand,
};
pub use mode::Mode;
pub use mode_switch::ModeSchedule;
pub use params::{CouplingParams, ImpedanceMatching, RelayedForce};
pub use retune::ImpedanceSchedule;
pub use slave_end::SlaveEnd;

#[cfg(test)]
mod tests;
