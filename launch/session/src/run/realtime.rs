//! Real-time privileges of the calling thread: requested and reported, never assumed.

use serde::{Deserialize, Serialize};

use crate::netlab::privilege;

/// Privileges granted by the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RealtimeGrants {
    /// True if the servo thread runs under SCHED_FIFO.
    pub fifo: bool,
    /// True if memory is locked.
    pub locked: bool,
    /// Refusals in words, for the report.
    pub refusals: Vec<String>,
}

/// Puts the calling thread under SCHED_FIFO at `priority` (1 to 99).
///
/// # Errors
/// A sentence with the reason for the refusal and a remedy.
pub(crate) fn fifo(priority: u8) -> Result<(), String> {
    privilege::set_fifo(priority.into()).map_err(|errno| {
        let error = std::io::Error::from(errno);
        format!("SCHED_FIFO {priority} refused ({error}); `palpate doctor` says how to allow it")
    })
}

/// Lowers the priority of the calling thread below others; a refusal changes nothing.
pub fn lower_priority() {
    // SAFETY: takes three numbers; 0 names the calling thread, as Linux counts threads
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 10) };
}

/// Locks all present and future memory of the process.
///
/// # Errors
/// A sentence with the reason for the refusal and a remedy.
pub(crate) fn lock_memory() -> Result<(), String> {
    use nix::sys::mman::{MlockAllFlags, mlockall};
    mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE).map_err(|error| {
        format!("mlockall refused ({error}); `palpate doctor` says how to allow it")
    })
}

/// Page faults and involuntary switches of the calling thread so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Disturbances {
    /// Minor and major page faults.
    pub(crate) page_faults: i64,
    /// Times that the scheduler preempted the thread.
    pub(crate) preemptions: i64,
}

/// Reads the calling thread's disturbances: one system call, made for late ticks only.
pub(crate) fn disturbances() -> Disturbances {
    // SAFETY: an all-zero rusage is valid, and the call fills it
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    Disturbances {
        page_faults: usage.ru_minflt + usage.ru_majflt,
        preemptions: usage.ru_nivcsw,
    }
}
