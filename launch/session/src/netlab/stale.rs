//! What a killed supervisor could leave: a process of its session that was not its direct child.
//!
//! Source: ours. Namespaces, interfaces and sockets live in descriptors and go with their holders;
//! direct children die by the parent-death signal, which does not pass to grandchildren. So every
//! process of a session carries a mark in its environment, and the next start ends those whose
//! supervisor is gone.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The environment variable that marks the processes of a session.
const MARK: &str = "PALPATE_LINK_LAB";
/// How long the sweep waits for one process to be gone \[ms\].
const GONE_WITHIN_MS: u16 = 2000;

/// Who a session belongs to: a process number alone would be somebody else's after a while, and
/// means another process in another container.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Supervisor {
    pid_namespace: u64,
    pid: u32,
    /// Start time in clock ticks since boot, field 22 of proc_pid_stat(5).
    start_tick: u64,
}

impl Supervisor {
    fn this_process() -> io::Result<Self> {
        let pid = std::process::id();
        Ok(Self {
            pid_namespace: pid_namespace()?,
            pid,
            start_tick: start_tick(pid)?,
        })
    }

    fn mark(&self) -> String {
        format!("{}:{}:{}", self.pid_namespace, self.pid, self.start_tick)
    }

    fn from_mark(mark: &str) -> Option<Self> {
        let mut parts = mark.split(':');
        let supervisor = Self {
            pid_namespace: parts.next()?.parse().ok()?,
            pid: parts.next()?.parse().ok()?,
            start_tick: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(supervisor)
    }

    /// Whether it is surely gone; false where this process cannot tell.
    fn is_gone(&self) -> bool {
        let here = pid_namespace().is_ok_and(|inode| inode == self.pid_namespace);
        here && match start_tick(self.pid) {
            Ok(tick) => tick != self.start_tick,
            Err(source) => source.kind() == io::ErrorKind::NotFound,
        }
    }
}

/// Marks the process that `command` starts, and all below it, as of this session.
pub(super) fn mark(command: &mut Command) -> io::Result<()> {
    command.env(MARK, Supervisor::this_process()?.mark());
    Ok(())
}

/// Ends the processes of sessions whose supervisor is gone, and gives their numbers.
///
/// A process that this one may not look at or signal is left alone.
pub(super) fn sweep() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let processes = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes
        .filter(|&pid| pid != std::process::id() && end_if_orphan(pid).is_ok_and(|x| x))
        .collect()
}

/// Ends `pid` if its supervisor is gone; true if it was ended.
fn end_if_orphan(pid: u32) -> io::Result<bool> {
    let marked = || -> io::Result<Option<Supervisor>> {
        let environment = fs::read(format!("/proc/{pid}/environ"))?;
        Ok(supervisor_in(&environment))
    };
    if !marked()?.is_some_and(|supervisor| supervisor.is_gone()) {
        return Ok(false);
    }
    // The handle pins the process; only a mark read after it was taken is surely this process's.
    let process = open_process(pid)?;
    if !marked()?.is_some_and(|supervisor| supervisor.is_gone()) {
        return Ok(false);
    }
    kill(&process)?;
    // A handle is readable once its process has ended.
    let mut ended = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    Ok(poll(&mut ended, PollTimeout::from(GONE_WITHIN_MS))? > 0)
}

/// The mark in an environment block of NUL-ended assignments.
fn supervisor_in(environment: &[u8]) -> Option<Supervisor> {
    environment
        .split(|byte| *byte == 0)
        .filter_map(|assignment| std::str::from_utf8(assignment).ok()?.split_once('='))
        .find(|(name, _)| *name == MARK)
        .and_then(|(_, mark)| Supervisor::from_mark(mark))
}

fn open_process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and touches no memory of ours.
    let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel has just given this descriptor to us alone, and it is open.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn kill(process: &OwnedFd) -> io::Result<()> {
    let (fd, no_info) = (process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: the descriptor is an open pidfd; a null siginfo pointer is allowed and means kill(2).
    Errno::result(unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, no_info, 0)
    })?;
    Ok(())
}

fn pid_namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

fn start_tick(pid: u32) -> io::Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Field 2 is the name in brackets and may hold anything; the rest is numbers from field 3 on.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let tick = after_name
        .split_whitespace()
        .nth(19)
        .and_then(|text| text.parse().ok());
    tick.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no start time in stat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_garbage_does_not() {
        let supervisor = Supervisor {
            pid_namespace: 4_026_531_836,
            pid: 12,
            start_tick: 345,
        };
        assert_eq!(
            Supervisor::from_mark(&supervisor.mark()),
            Some(supervisor.clone())
        );
        for garbage in ["", "1", "1:2", "1:2:3:4", "1:2:x", "-1:2:3"] {
            assert_eq!(Supervisor::from_mark(garbage), None, "{garbage}");
        }
        let block = format!("A=1\0{MARK}={}\0B", supervisor.mark());
        assert_eq!(supervisor_in(block.as_bytes()), Some(supervisor));
        assert_eq!(supervisor_in(b"A=1\0PALPATE_LINK_LABS=1:2:3\0"), None);
    }

    #[test]
    fn only_the_very_supervisor_counts_as_alive() {
        let alive = Supervisor::this_process().unwrap();
        assert!(!alive.is_gone());
        let reused = Supervisor {
            start_tick: alive.start_tick + 1,
            ..alive.clone()
        };
        assert!(reused.is_gone());
        let elsewhere = Supervisor {
            pid_namespace: alive.pid_namespace + 1,
            ..reused
        };
        assert!(!elsewhere.is_gone());
    }

    #[test]
    fn the_sweep_ends_the_orphan_and_spares_the_living() {
        let alive = Supervisor::this_process().unwrap();
        let dead = Supervisor {
            start_tick: alive.start_tick + 1,
            ..alive.clone()
        };
        let start = |mark: String| {
            Command::new("sleep")
                .arg("600")
                .env(MARK, mark)
                .spawn()
                .unwrap()
        };
        let (mut orphan, mut ours) = (start(dead.mark()), start(alive.mark()));
        // Another test that builds a lab may sweep first, so the list may lack the orphan; and a
        // process that has only just begun may not yet show its mark.
        let mut ended = None;
        for _ in 0..3000 {
            assert!(!sweep().contains(&ours.id()));
            ended = orphan.try_wait().unwrap();
            if ended.is_some() {
                break;
            }
            palpate_transport::clock::pause(palpate_transport::Span(20_000_000));
        }
        orphan.kill().unwrap();
        orphan.wait().unwrap();
        assert!(ended.is_some_and(|status| !status.success()));
        assert!(ours.try_wait().unwrap().is_none());
        ours.kill().unwrap();
        ours.wait().unwrap();
    }
}
