//! Ctrl-C and SIGTERM as a flag that long work polls, and SIGUSR1 as the one that forces a hand-over.
//!
//! Source: ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};
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

/// Returns a flag that each SIGUSR1 sets; call it before any other thread is started, and once per process.
///
/// # Errors
/// [`Failure::Refused`] if the system permits neither the signal's mask nor a thread.
pub(crate) fn on_user_signal() -> Result<Arc<AtomicBool>, Failure> {
    let refused = |why: String| Failure::Refused(format!("SIGUSR1 cannot be caught: {why}"));
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGUSR1);
    // threads that are started later inherit the mask, so the signal waits for the one below
    signals
        .thread_block()
        .map_err(|error| refused(error.to_string()))?;
    let forced = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&forced);
    let body = move || {
        while signals.wait().is_ok() {
            flag.store(true, Ordering::Relaxed);
        }
    };
    let thread = std::thread::Builder::new().name("user-signal".into());
    thread
        .spawn(body)
        .map_err(|error| refused(error.to_string()))?;
    Ok(forced)
}
