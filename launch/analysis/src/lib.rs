//! Analysis of sessions: numbers, checks, reports and pictures from records.
//!
//! In reading order: [`virtual_run`] runs a session in virtual time and judges it, [`live`] one in real time.
//! [`replay_verdict`] judges a replay, [`recovery`] joins and judges what a killed session left. [`conclusion`] ends
//! every session: it measures, judges and reports. [`metrics`] computes the numbers, [`truth`] the true values of a
//! simulation, [`summary`] defines `summary.json`. [`report`] is the page of a session, [`render`] its pictures,
//! [`table`] its lines on a terminal. [`rehearsal`] judges the result of an instrument script. [`identify`] finds
//! stiffness from recordings; [`scene_tool`] gives a session the tool of its scene; [`closed_form`] has closed forms of a wave channel and of a sampled wall. [`realtime_check`] refuses a tissue that is too slow for real time; [`output`] creates
//! result folders and files; [`progress`] reports the progress of long work. [`Failure`] is the reason for which a
//! command ends without a result.

pub mod closed_form;
pub mod conclusion;
mod direct_touch;
mod failure;
pub mod identify;
pub mod live;
pub mod metrics;
pub mod output;
pub mod progress;
pub mod realtime_check;
pub mod recovery;
pub mod rehearsal;
pub mod render;
pub mod replay_verdict;
pub mod report;
pub mod scene_tool;
pub mod summary;
pub mod table;
pub mod truth;
pub mod virtual_run;

pub use failure::Failure;
