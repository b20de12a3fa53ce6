//! Trials: many sessions in virtual time, or live ones, as one table.
//!
//! Source: ours; protocols after teleop section 7. [`mod@file`] reads what is to be varied, [`given`] adds
//! what a command line says, [`plan`] lists the rows, [`palpate_session::pool`] fills them on all cores, [`row`] keeps what is finished, [`metric`] says what a row
//! holds, [`table`] and [`parquet`] write it, [`boot`] gives medians their intervals. [`psycho`] lets a
//! simulated observer answer, [`transparency`] measures the impedance at the handle; [`field`] has the
//! short names of fields, which `replay --what-if` shares. Everything here but [`row`], [`run`], [`live`]
//! and [`person::sitting`], which run it, is pure.

use palpate_session::built_in::BuiltIn;

pub mod boot;
mod exact;
pub mod field;
pub mod file;
pub mod given;
pub mod live;
pub mod metric;
pub mod parquet;
pub mod person;
pub mod plan;
pub mod psycho;
pub mod row;
pub mod run;
pub mod table;
pub mod transparency;

pub use file::{Clock, Condition, Kind, Trial, TrialError};
pub use plan::{Cell, Shard};
pub use row::Row;

/// The built-in trials.
pub const BUILT_IN: BuiltIn = BuiltIn {
    kind: "trial",
    texts: palpate_scene::texts!(
        "../../trials": "codec", "delay-and-mode", "observers", "person-lump", "person-stiffness", "rough-network",
        "transparency",
    ),
};
