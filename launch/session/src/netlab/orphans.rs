//! Cleanup of orphans: processes of a session whose supervisor was killed, and that were not its direct children.
//!
//! Source: ours. Namespaces, interfaces and sockets live in descriptors and end with their holders.
//! Direct children die by the parent-death signal, which does not pass to grandchildren. So every
//! process of a session carries a mark in its environment, and the next start ends those whose
//! supervisor is gone.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Environment variable that marks the processes of a session.
const MARK: &str = "PALPATE_LINK_LAB";
/// Longest wait for the end of one process \[ms\].
const GONE_WITHIN_MS: u16 = 2000;

/// Mark of the sessions of a process: its PID namespace and number, and its start time \[clock ticks since boot\].
/// The number alone is reused after a while, and means another process in another container.
fn mark_of(pid: u32) -> io::Result<String> {
    let namespace = fs::metadata("/proc/self/ns/pid")?.ino();
    Ok(format!("{namespace}:{pid}:{}", start_tick(pid)?))
}

/// True if the supervisor of a mark is surely gone; false if this cannot be determined, or the text is no mark.
fn is_gone(mark: &str) -> bool {
    let numbers: Result<Vec<u64>, _> = mark.split(':').map(str::parse).collect();
    let Ok(&[namespace, pid, start]) = numbers.as_deref() else {
        return false;
    };
    let Ok(pid) = u32::try_from(pid) else {
        return false;
    };
    let here = fs::metadata("/proc/self/ns/pid").is_ok_and(|data| data.ino() == namespace);
    here && match start_tick(pid) {
        Ok(tick) => tick != start,
        Err(source) => source.kind() == io::ErrorKind::NotFound,
    }
}

/// Marks the process that `command` starts, and its descendants, as part of this session.
pub(super) fn mark(command: &mut Command) -> io::Result<()> {
    command.env(MARK, mark_of(std::process::id())?);
    Ok(())
}

/// Ends the processes of sessions whose supervisor is gone.
///
/// Processes that this one may not inspect or signal are skipped.
pub(super) fn kill_orphans() {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for pid in processes.filter(|&pid: &u32| pid != std::process::id()) {
        // the process is no orphan any more, or may not be inspected
        let _ = end_if_orphan(pid);
    }
}

/// Ends `pid` if its supervisor is gone, and waits for its end.
fn end_if_orphan(pid: u32) -> io::Result<()> {
    let is_orphan = || -> io::Result<bool> {
        let environment = fs::read(format!("/proc/{pid}/environ"))?;
        Ok(mark_in(&environment).is_some_and(is_gone))
    };
    if !is_orphan()? {
        return Ok(());
    }
    // the handle pins the process; only a mark read after it was opened surely belongs to it
    let process = open_process(pid)?;
    if is_orphan()? {
        kill(&process)?;
        // A handle is readable once its process has ended.
        let mut ended = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
        poll(&mut ended, PollTimeout::from(GONE_WITHIN_MS))?;
    }
    Ok(())
}

/// Mark in an environment block of NUL-ended assignments.
fn mark_in(environment: &[u8]) -> Option<&str> {
    let mut assignments = environment
        .split(|byte| *byte == 0)
        .filter_map(|assignment| std::str::from_utf8(assignment).ok()?.split_once('='));
    assignments
        .find(|(name, _)| *name == MARK)
        .map(|(_, mark)| mark)
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

/// Start time of a process in clock ticks since boot, field 22 of proc_pid_stat(5).
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

    /// Mark of this process with 1 added to one of its numbers.
    fn altered(part: usize) -> String {
        let mark = mark_of(std::process::id()).unwrap();
        let numbers = mark.split(':').map(|number| number.parse::<u64>().unwrap());
        let altered = numbers
            .enumerate()
            .map(|(n, number)| number + u64::from(n == part));
        altered
            .map(|number| number.to_string())
            .collect::<Vec<_>>()
            .join(":")
    }

    #[test]
    fn mark_identifies_exactly_one_supervisor() {
        let (alive, reused, elsewhere) = (altered(3), altered(2), altered(0));
        assert!(!is_gone(&alive) && is_gone(&reused) && !is_gone(&elsewhere));
        for garbage in ["", "1", "1:2", "1:2:3:4", "1:2:x", "1:2:3:x", "-1:2:3"] {
            assert!(!is_gone(garbage), "{garbage}");
        }
        let block = format!("A=1\0{MARK}={alive}\0B");
        assert_eq!(mark_in(block.as_bytes()), Some(&*alive));
        assert_eq!(mark_in(b"A=1\0PALPATE_LINK_LABS=1:2:3\0"), None);
    }

    #[test]
    fn cleanup_kills_only_orphans() {
        let start = |mark: String| {
            Command::new("sleep")
                .arg("600")
                .env(MARK, mark)
                .spawn()
                .unwrap()
        };
        let (mut orphan, mut ours) = (start(altered(2)), start(altered(3)));
        // a process that has just started may not show its mark yet
        let mut ended = None;
        for _ in 0..3000 {
            kill_orphans();
            ended = orphan.try_wait().unwrap();
            if ended.is_some() {
                break;
            }
            palpate_transport::clock::sleep_for(palpate_transport::Span(20_000_000));
        }
        orphan.kill().unwrap();
        orphan.wait().unwrap();
        assert!(ended.is_some_and(|status| !status.success()));
        assert!(ours.try_wait().unwrap().is_none());
        ours.kill().unwrap();
        ours.wait().unwrap();
    }
}
