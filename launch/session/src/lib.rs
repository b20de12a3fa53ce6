//! Sessions of Palpate: configuration, execution, recording and monitoring.
//!
//! In reading order: [`config`] is the whole configuration, and [`built_in`] finds scenes, scripts and trials by
//! name. [`pipeline`] is the one tick of a side: take the frame, read, tick, write, record, encode. [`lab`] runs a
//! session in virtual time and also builds robots, tissues and twins for live ones; [`run`] runs it live as
//! processes, and [`replay`] repeats it from a recording. `environment` adapts tissues to the robot, [`edits`]
//! transfers edits of tissue, and [`table_cache`] caches condensed scenes. [`record`] writes a session as MCAP;
//! [`audit`] checks its passivity from logged port signals alone. [`netlab`] builds the impaired network of a live
//! session, and [`keys`] reads the folder of its keys. [`monitor`] shows a live side and passes requests to it;
//! [`input`] reads gamepads and 3-D mice. [`traced_handle`] is a simulated hand that follows a trace; [`pool`] spreads
//! sessions over threads, [`stat`] has statistics. [`files`] writes whole files and reads bounded ones. [`doctor`] reports the capabilities of the machine.

pub mod audit;
#[cfg(test)]
#[path = "../build.rs"]
mod build;
pub mod built_in;
pub mod config;
pub mod doctor;
pub mod edits;
mod environment;
pub mod files;
pub mod input;
pub mod keys;
pub mod lab;
pub mod monitor;
pub mod netlab;
pub mod pipeline;
pub mod pool;
pub mod record;
pub mod replay;
pub mod run;
pub mod stat;
pub mod table_cache;
pub mod traced_handle;
