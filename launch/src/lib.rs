//! The shells round the pure core: everything that touches a file, a process or a network.
//!
//! [`cli`] and [`config`] say what to do; [`run`] does it live, [`lab`] in virtual time; [`netlab`]
//! builds the impaired network; [`rehearsal`] does it on the twin alone, by a script; [`record`] keeps it, [`audit`]
//! judges it from the logged port signals alone, [`metrics`] and [`summary`] measure it, [`report`] shows it with a
//! [`still`], [`console`] while it runs; [`tables`] keeps what is
//! condensed of scenes; [`strokes`] brings what instruments did to the remote tissue; [`replay`] runs a recording
//! again; [`trial`] many sessions as one table, with the [`hand`] of a trace where a
//! protocol needs it; [`atlas`] maps stability and transparency, [`tune`] proposes what to set on a link; [`input`] lets
//! gamepads and 3-D mice lead a handle; [`mod@bench`] and [`doctor`]
//! look at the machine.

pub mod atlas;
pub mod audit;
pub mod bench;
#[cfg(test)]
#[path = "../build.rs"]
mod build;
pub mod cli;
pub mod command;
pub mod config;
pub mod console;
pub mod detect;
pub mod doctor;
pub mod environment;
pub mod hand;
pub mod input;
pub mod lab;
pub mod metrics;
pub mod netlab;
pub mod pool;
pub mod progress;
pub mod record;
pub mod rehearsal;
pub mod replay;
pub mod report;
pub mod run;
pub mod still;
pub mod strokes;
pub mod summary;
pub mod tables;
pub mod trial;
pub mod tune;
