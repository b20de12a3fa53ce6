//! What this process may do to the machine, found by trying it in a throwaway process.
//!
//! Source: ours (transport.md 3, capabilities(7), user_namespaces(7)).

use std::ffi::CString;
use std::io;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, getegid, geteuid};
use serde::{Deserialize, Serialize};

/// Bit of a capability in `CapEff`, capabilities(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// Network interfaces and queues.
    NetAdmin = 12,
    /// Locked memory.
    IpcLock = 14,
    /// Namespaces.
    SysAdmin = 21,
    /// Real-time scheduling.
    SysNice = 23,
}

/// What came of [`enter_user_namespace`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "reason")]
pub enum UserNamespace {
    /// Namespaces can be made without it.
    NotNeeded,
    /// This process is now administrator of a user namespace of its own, under its own user id.
    Entered,
    /// Not possible; the reason. The process is as it was.
    Refused(String),
}

/// Whether the effective set of this process holds `capability`.
#[must_use]
pub fn has_capability(capability: Capability) -> bool {
    let set = status_field("CapEff:").and_then(|text| u64::from_str_radix(&text, 16).ok());
    set.is_some_and(|bits| bits >> (capability as u8) & 1 == 1)
}

/// Gives this process a user namespace in which it may build a link lab, if it needs one.
///
/// Call it at the start of the supervisor, before any thread: the kernel refuses a user namespace
/// to a process with several threads. The user and group ids are mapped to themselves, so files
/// and names stay as they were; programs started afterwards have no privilege (an exec by a
/// non-zero id drops it), and need none. Everything is tried in a throwaway process first, because
/// there is no way back.
#[must_use]
pub fn enter_user_namespace() -> UserNamespace {
    if has_capability(Capability::SysAdmin) && has_capability(Capability::NetAdmin) {
        return UserNamespace::NotNeeded;
    }
    if status_field("Threads:").as_deref() != Some("1") {
        return UserNamespace::Refused(
            "this process already has several threads; enter before the first one starts".into(),
        );
    }
    if let Err(source) = try_user_namespace() {
        return UserNamespace::Refused(source.to_string());
    }
    match IdentityMap::of_this_process().and_then(|map| map.enter().map_err(io::Error::from)) {
        Ok(()) => UserNamespace::Entered,
        Err(source) => UserNamespace::Refused(source.to_string()),
    }
}

/// Tries a user namespace with a network namespace inside it, in a throwaway process.
///
/// # Errors
/// The system call or the file that was refused.
pub fn try_user_namespace() -> io::Result<()> {
    let map = IdentityMap::of_this_process()?;
    in_throwaway_process(|| map.enter().and_then(|()| unshare(CloneFlags::CLONE_NEWNET)))
}

/// Tries a network namespace with the privileges that this process has, in a throwaway process.
///
/// # Errors
/// The refusal, EPERM without CAP_SYS_ADMIN.
pub fn try_network_namespace() -> io::Result<()> {
    in_throwaway_process(|| unshare(CloneFlags::CLONE_NEWNET))
}

/// Tries to lock all memory, in a throwaway process.
///
/// # Errors
/// The refusal: ENOMEM where RLIMIT_MEMLOCK is too small, EPERM where it is zero.
pub fn try_memory_lock() -> io::Result<()> {
    use nix::sys::mman::{MlockAllFlags, mlockall};
    in_throwaway_process(|| mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE))
}

/// Tries SCHED_FIFO at `priority` (1..=99), in a throwaway process.
///
/// # Errors
/// The refusal, EPERM without CAP_SYS_NICE or a sufficient RLIMIT_RTPRIO.
pub fn try_fifo(priority: i32) -> io::Result<()> {
    in_throwaway_process(|| set_fifo(priority))
}

/// Asks for SCHED_FIFO for the calling thread, and without it for the finest timers; true if FIFO
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
fn set_fifo(priority: i32) -> nix::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `parameters` is a whole, initialised sched_param that lives through the call; pid 0
    // is the calling thread, so no other is touched.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) })
        .map(drop)
}

/// Runs `work` in a fork of this process that ends at once; whatever it changed goes with it.
///
/// `work` must be async-signal-safe: system calls only, no allocation, no lock. It is private to
/// this file for that reason.
fn in_throwaway_process(work: impl FnOnce() -> nix::Result<()>) -> io::Result<()> {
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

/// The text of a `user_namespaces(7)` map from every id to itself, written without allocation.
struct IdentityMap {
    files: [(CString, String); 3],
}

impl IdentityMap {
    fn of_this_process() -> io::Result<Self> {
        let path =
            |name: &str| CString::new(format!("/proc/self/{name}")).map_err(io::Error::other);
        let (uid, gid) = (geteuid(), getegid());
        Ok(Self {
            files: [
                // Without this the kernel refuses an unprivileged gid_map.
                (path("setgroups")?, "deny".into()),
                (path("uid_map")?, format!("{uid} {uid} 1")),
                (path("gid_map")?, format!("{gid} {gid} 1")),
            ],
        })
    }

    /// Enters a new user namespace and maps the ids; system calls only.
    fn enter(&self) -> nix::Result<()> {
        use nix::fcntl::{OFlag, open};
        unshare(CloneFlags::CLONE_NEWUSER)?;
        for (path, text) in &self.files {
            let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
            let file = open(path.as_c_str(), flags, nix::sys::stat::Mode::empty())?;
            nix::unistd::write(&file, text.as_bytes())?;
        }
        Ok(())
    }
}

/// The value of a line of `/proc/self/status`.
fn status_field(name: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throwaway_process_hands_back_its_error_and_changes_nothing_here() {
        let before = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        assert_eq!(
            in_throwaway_process(|| Err(Errno::EXDEV))
                .unwrap_err()
                .raw_os_error(),
            Some(libc::EXDEV)
        );
        // Allowed or not, this thread stays where it was.
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

    #[test]
    fn a_process_with_threads_is_not_moved() {
        // The test harness itself has several threads, so at most the privilege spares the move.
        assert_ne!(enter_user_namespace(), UserNamespace::Entered);
    }
}
