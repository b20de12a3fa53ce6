//! Trials: many sessions in virtual time, or live ones, as one table.
//!
//! Source: ours; protocols after teleop section 7. [`mod@file`] reads the file of a trial, [`overrides`] adds the
//! command line, [`condition`] and [`matrix`] list the conditions, `plan` lists the rows, [`run`] fills them on all
//! cores with [`palpate_session::pool`], and [`row`] stores finished ones. `metric` defines the columns, [`results`] are
//! written by `table` and `parquet`, `bootstrap` adds intervals to medians, `check_table` summarises the checks of drawn
//! sessions. `psycho` simulates an observer, [`person`] runs trials with people, `transparency` measures the impedance at
//! the handle; [`field`] has the short names of fields, which `replay --what-if` shares.
//! `json_lines` is a file of JSON lines; [`row`] and `person::answer_file` store entries in it. All modules except
//! these three, [`run`], [`live`] and [`person::sitting`] are pure.

use palpate_session::built_in::BuiltInTexts;

pub(crate) mod bootstrap;
pub(crate) mod check_table;
pub mod condition;
pub mod estimate;
pub mod field;
pub mod file;
mod json_lines;
pub mod live;
pub mod matrix;
pub(crate) mod metric;
mod number_text;
pub mod overrides;
mod parquet;
pub mod person;
mod plan;
mod psycho;
pub mod results;
pub mod row;
pub mod run;
mod table;
mod transparency;

pub(crate) use condition::Condition;
pub(crate) use file::TrialKind;
pub use file::{Trial, TrialClock};
pub(crate) use plan::PlannedRow;
pub use plan::Shard;
pub use row::TrialRow;

/// The built-in trials.
pub const BUILT_IN: BuiltInTexts = BuiltInTexts {
    kind: "trial",
    texts: palpate_scene::texts!(
        "../../trials": "adversary", "adversary-fem", "codec", "delay-and-mode", "faults", "faults-live", "feel", "liars",
        "observers", "person-lump", "person-stiffness", "rough-network", "transparency",
    ),
};
