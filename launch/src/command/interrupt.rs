//! Ctrl-C and SIGTERM as a flag that long work polls.
//!
//! Source: ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::Failure;

/// Returns a flag that the next Ctrl-C or SIGTERM sets; may be called once per process.
///
/// # Errors
/// [`Failure::Refused`] if the system does not permit a signal handler.
pub(crate) fn on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Refused(format!("Ctrl-C cannot be caught: {error}")))?;
    Ok(stop)
}
