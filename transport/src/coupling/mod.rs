//! Methods that couple the two sides through a delay, and the energy account they all share.
//!
//! Every method has one shape, axis by axis: from what was received it forms a *demand* (a force at
//! the master, a velocity at the slave), and the account ([`Reservoir`]) decides how much of it can be
//! paid. So no method can create energy, whatever the network does, and a method's own passivity
//! controller decides only how much of its demand is left before that last word. `direct` and `iss`
//! alone are let through unpaid ([`Mode::is_passive`]): the one is kept to show what happens then, the
//! other claims less than passivity.
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
//! What serves all of them knows none: `end` runs the method of the mode and sends its waves, `line` is the filter
//! on them (E5), `delay_gain` the classic gain for a variable delay (E6a), `drift` the correction of position (E7),
//! `reservoir` the account (E6b, E9), `robot_tank` how the slave's tank is filled, `auto` the choice between twin and
//! relayed force (goal 5), `blade` what holds an operator's blade, [`retune`] how the wave impedance changes while a
//! session runs, [`switch`] how the method does, `params` what both ends agree on. The ticks call [`MasterEnd`] and
//! [`SlaveEnd`], and know no method.
//!
//! Ports (teleop section 6): `F_m v_m` is the power into the channel at the master, `F_s v_sd` the
//! power out of it at the slave.
//!
//! # How to add a coupling method
//!
//! 1. Write `name.rs` here. Its header says the source, the equations and their symbols.
//! 2. Define one type with what the method remembers at either end, and implement `Method` (`method.rs`) for it.
//! 3. At the master, `force` forms the demand and `ship` sends energy on, but not the `kept_j` of a blade.
//! 4. At the slave, `velocity` forms the demand and `ship_back` returns energy, if otherwise than `ship`.
//! 5. `begin` follows what came (a new method joins at the sums of its newest frame), `book` notes work.
//! 6. `restart` forgets the peer: by default, all that is remembered.
//! 7. Add one line at the end of the list in `mode.rs`: the place there is the method's number in frames.
//! 8. Say there what the hand feels and whether the method is passive; matching, fading and the codec follow from it.
//! 9. A parameter is one entry of the list in `params.rs`, with its default and its range.
//! 10. The tests in `tests/mod.rs` take the method by themselves; test its equations in its own file.

mod auto;
mod blade;
mod delay_gain;
mod direct;
mod drift;
mod end;
mod iss;
mod line;
mod master_end;
mod method;
mod mmt;
mod mode;
mod params;
mod pspm;
pub mod reservoir;
pub mod retune;
mod robot_tank;
mod slave_end;
pub mod switch;
mod tank;
mod tdpa;
mod wave;

pub(crate) use method::Felt;

pub use master_end::{MasterEnd, Written};
pub use method::{AtHandle, AtRobot, AtTwin, Moment, Moved, Pd, WantedForce, WantedVelocity};
pub use mode::Mode;
pub use params::{CouplingError, CouplingParams, Matching, Relayed};
pub use reservoir::Reservoir;
pub use retune::Schedule;
pub use slave_end::SlaveEnd;
pub use switch::Switches;

#[cfg(test)]
mod tests;
