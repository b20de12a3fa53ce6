//! A session: what it is, how it runs, what is kept of it and how it is watched.
//!
//! [`config`] says what to do; [`run`] does it live, [`lab`] in virtual time, [`replay`] once more from a recording, all by
//! the ticks of [`pipeline`];
//! [`netlab`] builds the impaired network; [`record`] keeps it, [`audit`] judges it from the logged port signals alone;
//! [`monitor`] shows a live side and commands it; [`tables`] keeps what is condensed of scenes; [`environment`] and
//! [`strokes`] bring messages and tissues together; [`hand`] is that of a trace, and [`input`] lets gamepads and 3-D mice
//! lead a handle; [`doctor`] tells what of it this machine allows, [`pool`] runs many sessions at once, [`stat`] has the statistics.

pub mod audit;
#[cfg(test)]
#[path = "../build.rs"]
mod build;
pub mod config;
pub mod doctor;
pub mod environment;
pub mod hand;
pub mod input;
pub mod lab;
pub mod monitor;
pub mod netlab;
pub mod pipeline;
pub mod pool;
pub mod record;
pub mod replay;
pub mod run;
pub mod stat;
pub mod strokes;
pub mod tables;
