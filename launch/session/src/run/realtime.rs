//! Real-time privileges of the calling thread, asked for and reported, never assumed.

use serde::{Deserialize, Serialize};

/// What the machine granted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Granted {
    /// Whether the servo thread runs under SCHED_FIFO.
    pub fifo: bool,
    /// Whether memory is locked.
    pub locked: bool,
    /// Refusals in words, for the report.
    pub refusals: Vec<String>,
}

/// Put the calling thread under SCHED_FIFO at `priority` (1 to 99).
///
/// # Errors
/// A sentence that says why the machine refused and what would mend it.
pub fn fifo(priority: u8) -> Result<(), String> {
    // SAFETY: an all-zero sched_param is valid; only its priority is read
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = libc::c_int::from(priority);
    // SAFETY: 0 names the calling thread, and `param` outlives the call
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) };
    if refused == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    Err(format!(
        "SCHED_FIFO {priority} refused ({error}); `palpate doctor` says how to allow it"
    ))
}

/// Let the calling thread have what others leave of the processor; a refusal changes nothing.
pub fn yield_to_others() {
    // SAFETY: takes three numbers; 0 names the calling thread, as Linux counts threads
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 10) };
}

/// Lock all present and future memory of the process.
///
/// # Errors
/// A sentence that says why the machine refused and what would mend it.
pub fn lock_memory() -> Result<(), String> {
    use nix::sys::mman::{MlockAllFlags, mlockall};
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).map_err(|error| {
        format!("mlockall refused ({error}); `palpate doctor` says how to allow it")
    })
}

/// Page faults and involuntary switches of the calling thread so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disturbances {
    /// Minor and major page faults.
    pub page_faults: i64,
    /// Times that the scheduler took the CPU away.
    pub preemptions: i64,
}

/// Read the calling thread's disturbances: one system call, declared for late ticks only.
#[must_use]
pub fn disturbances() -> Disturbances {
    // SAFETY: an all-zero rusage is valid, and the call fills it
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    Disturbances {
        page_faults: usage.ru_minflt + usage.ru_majflt,
        preemptions: usage.ru_nivcsw,
    }
}
