//! Early end of a study, by a failure or by a stop.
//!
//! Source: ours.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::Failure;

/// Reason for a missing result: a failure, or `None` for a stop.
pub type Abort = Option<Failure>;

/// Returns an abort if `stop` is set.
///
/// # Errors
/// `None` if `stop` is set.
pub(crate) fn check_stop(stop: &AtomicBool) -> Result<(), Abort> {
    match stop.load(Ordering::Relaxed) {
        true => Err(None),
        false => Ok(()),
    }
}

/// Converts an abort: the result, or `None` after a stop.
///
/// # Errors
/// The failure of the abort.
pub fn unless_stopped<T>(done: Result<T, Abort>) -> Result<Option<T>, Failure> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(None) => Ok(None),
        Err(Some(failure)) => Err(failure),
    }
}

/// Failure for a refusal by the machine or by a built-in part.
pub(crate) fn refusal(error: impl Display) -> Failure {
    Failure::Refused(error.to_string())
}
