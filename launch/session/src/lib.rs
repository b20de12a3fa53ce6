//! A session: what it is, how it runs, what is kept of it and how it is watched. The lowest crate of the shell.
//!
//! In reading order:
//! [`config`] is the whole configuration, and [`built_in`] finds scenes, scripts and trials by name.
//! [`pipeline`] is the one tick of a side: decode, read, tick, write, encode, record.
//! [`lab`] runs a session in virtual time, [`run`] live as processes, [`replay`] again from a recording.
//! [`environment`] and [`strokes`] convert between messages and tissues; [`tables`] keeps condensed scenes in a cache.
//! [`record`] writes a session as MCAP; [`audit`] judges its passivity from logged port signals alone.
//! [`netlab`] builds the impaired network of a live session.
//! [`monitor`] shows a live side and passes orders to it; [`input`] reads gamepads and 3-D mice.
//! [`hand`] is a simulated hand that follows a trace; [`pool`] spreads sessions over threads, [`stat`] has statistics.
//! [`doctor`] reports what the machine allows.

pub mod audit;
#[cfg(test)]
#[path = "../build.rs"]
mod build;
pub mod built_in;
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
