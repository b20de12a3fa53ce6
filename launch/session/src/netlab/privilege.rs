//! Privileges of this process, found by trying them in a short-lived process.
//!
//! Source: ours (transport.md 3, capabilities(7), user_namespaces(7)).

use std::ffi::CString;
use std::io;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, getegid, geteuid};

/// Bit of a capability in `CapEff`, capabilities(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Capability {
    /// Network interfaces and queues.
    NetAdmin = 12,
    /// Locked memory.
    IpcLock = 14,
}

/// True if the effective set of this process holds `capability`.
pub(crate) fn has_capability(capability: Capability) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = set.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> (capability as u8) & 1 == 1)
}

/// Moves this process into a new user namespace if only there it may build a network lab. Its real-time priority
/// and locked memory then depend on the limits of its user alone.
///
/// Call it before any thread starts: the kernel refuses a user namespace to a process with several threads. User
/// and group ids stay unchanged. If the machine refuses, the process stays in its namespace, and `palpate doctor`
/// shows the reason.
pub fn enter_user_namespace() {
    let may_here = has_capability(Capability::NetAdmin) && try_network_namespace().is_ok();
    if may_here || try_user_namespace().is_err() {
        return;
    }
    if let Ok(map) = identity_map() {
        // tried above; a refusal now leaves the link on loopback, which the session reports
        let _ = enter(&map);
    }
}

/// Tries a user namespace with a network namespace inside it, in a short-lived process.
///
/// # Errors
/// The system call or the file that was refused.
pub(crate) fn try_user_namespace() -> io::Result<()> {
    let map = identity_map()?;
    in_short_lived_process(|| enter(&map).and_then(|()| unshare(CloneFlags::CLONE_NEWNET)))
}

/// Tries a network namespace with the privileges of this process, in a short-lived process.
///
/// # Errors
/// The refusal: EPERM without CAP_SYS_ADMIN.
pub(crate) fn try_network_namespace() -> io::Result<()> {
    in_short_lived_process(|| unshare(CloneFlags::CLONE_NEWNET))
}

/// Tries to lock all memory, in a short-lived process.
///
/// # Errors
/// The refusal: ENOMEM if RLIMIT_MEMLOCK is too small, EPERM if it is zero.
pub(crate) fn try_memory_lock() -> io::Result<()> {
    use nix::sys::mman::{MlockAllFlags, mlockall};
    in_short_lived_process(|| mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE))
}

/// Tries SCHED_FIFO at `priority` (1..=99), in a short-lived process.
///
/// # Errors
/// The refusal: EPERM without CAP_SYS_NICE or a sufficient RLIMIT_RTPRIO.
pub(crate) fn try_fifo(priority: i32) -> io::Result<()> {
    in_short_lived_process(|| set_fifo(priority))
}

/// Requests SCHED_FIFO for the calling thread, or if refused, the finest timers; returns true if FIFO
/// was granted.
pub(crate) fn make_punctual(priority: i32) -> bool {
    let granted = set_fifo(priority).is_ok();
    if !granted {
        // The default slack of 50 us delays every wake-up of an ordinary thread.
        let _ = nix::sys::prctl::set_timerslack(1);
    }
    granted
}

/// Puts the calling thread under SCHED_FIFO at `priority` (1..=99).
///
/// # Errors
/// EPERM without the privilege, EINVAL for a priority outside the range.
pub(crate) fn set_fifo(priority: i32) -> nix::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `parameters` is a whole, initialised sched_param that lives through the call; pid 0
    // is the calling thread, so no other is touched.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
        .map(drop)
}

/// Runs `work` in a fork of this process that ends at once, so that its changes have no effect here.
///
/// `work` must be async-signal-safe: system calls only, no allocation, no lock. It is private to
/// this file for that reason.
fn in_short_lived_process(work: impl FnOnce() -> nix::Result<()>) -> io::Result<()> {
    // SAFETY: the child makes system calls only (every caller in this file keeps to that) and
    // leaves by _exit, so no lock or buffer that another thread held at the fork is ever touched.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let errno = work().err().map_or(0, |errno| errno as i32);
            // SAFETY: _exit ends the child without running destructors or flushing buffers.
            unsafe { libc::_exit(errno & 0xff) }
        }
        ForkResult::Parent { child } => loop {
            match waitpid(child, None) {
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
                Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
                Ok(WaitStatus::Exited(_, errno)) => {
                    return Err(io::Error::from_raw_os_error(errno));
                }
                Ok(status) => return Err(io::Error::other(format!("probe ended by {status:?}"))),
            }
        },
    }
}

/// Files and texts of a `user_namespaces(7)` map from every id to itself, prepared for writing without allocation.
fn identity_map() -> io::Result<[(CString, String); 3]> {
    let path = |name: &str| CString::new(format!("/proc/self/{name}")).map_err(io::Error::other);
    let (uid, gid) = (geteuid(), getegid());
    Ok([
        // Without this the kernel refuses an unprivileged gid_map.
        (path("setgroups")?, "deny".into()),
        (path("uid_map")?, format!("{uid} {uid} 1")),
        (path("gid_map")?, format!("{gid} {gid} 1")),
    ])
}

/// Enters a new user namespace and maps the ids; system calls only.
fn enter(map: &[(CString, String)]) -> nix::Result<()> {
    use nix::fcntl::{OFlag, open};
    unshare(CloneFlags::CLONE_NEWUSER)?;
    for (path, text) in map {
        let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        let file = open(path.as_c_str(), flags, nix::sys::stat::Mode::empty())?;
        nix::unistd::write(&file, text.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lived_process_returns_its_error_without_side_effects() {
        let before = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        assert_eq!(
            in_short_lived_process(|| Err(Errno::EXDEV))
                .unwrap_err()
                .raw_os_error(),
            Some(libc::EXDEV)
        );
        // permitted or not, this thread stays in its namespace
        let _ = try_network_namespace();
        assert_eq!(
            before,
            std::fs::read_link("/proc/thread-self/ns/net").unwrap()
        );
    }

    #[test]
    fn fifo_outside_its_range_is_refused() {
        assert_eq!(
            try_fifo(1000).unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
    }
}
