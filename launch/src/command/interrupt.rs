//! Ctrl-C and SIGTERM as a flag that long work looks at.
//!
//! Source: ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::Failure;

/// A flag that the next Ctrl-C or SIGTERM sets; may be asked for once in a process.
///
/// # Errors
/// [`Failure::Refused`] if the system does not let signals be caught.
pub(crate) fn on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Refused(format!("Ctrl-C cannot be caught: {error}")))?;
    Ok(stop)
}
