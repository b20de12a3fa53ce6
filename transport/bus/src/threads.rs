//! Scheduling of zenoh's threads.
//!
//! A real-time servo beside ordinary zenoh threads has an eleven times worse p99 under load
//! (transport section 8), so all of them are raised, below the servo. As zenoh may start more threads
//! when the first transport is up, call this after opening and again then.

use serde::{Deserialize, Serialize};

use libc::{SCHED_FIFO, pid_t, sched_param, sched_setscheduler};

/// Prefixes of the names of zenoh's threads.
const NAMES: [&str; 5] = ["rx-", "tx-", "net-", "acc-", "app-"];

/// Scheduling of zenoh's threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThreadReport {
    /// Threads that now run under SCHED_FIFO.
    pub raised: usize,
    /// Threads for which the system refused it (no privilege, or no real-time share).
    pub refused: usize,
}

/// Raises every zenoh thread of this process to SCHED_FIFO `priority`, 1 to 99; 0 changes nothing.
#[must_use]
pub fn raise_threads(priority: u8) -> ThreadReport {
    let mut report = ThreadReport::default();
    if priority == 0 {
        return report;
    }
    let priority = i32::from(priority);
    for thread in bus_threads() {
        if raise(thread, priority) {
            report.raised += 1;
        } else {
            report.refused += 1;
        }
    }
    report
}

/// Raises the calling thread to SCHED_FIFO `priority`, 1 to 99; `false` if the system refuses.
#[must_use]
pub fn raise_current(priority: i32) -> bool {
    raise(0, priority)
}

/// Ids of zenoh's threads; a thread that ends meanwhile is left out.
fn bus_threads() -> Vec<pid_t> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    tasks
        .filter_map(Result::ok)
        .filter(|task| {
            let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            NAMES.iter().any(|prefix| name.starts_with(prefix))
        })
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

fn raise(thread: pid_t, priority: i32) -> bool {
    let param = sched_param {
        sched_priority: priority,
    };
    // SAFETY: `param` lives through the call, which only reads it; the kernel refuses an id that is
    // gone or a priority out of range.
    unsafe { sched_setscheduler(thread, SCHED_FIFO, &raw const param) == 0 }
}
