//! Network namespaces without names: held by a file descriptor, and removed with the last holder.
//!
//! Source: ours (transport.md 3). Nothing is written under /run/netns, so that a killed supervisor
//! leaves nothing once its children are dead; [`die_with_supervisor`] ends the children.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::getppid;

use super::NetLabError;

/// The namespace of the calling thread; `/proc/self` would be that of the main thread.
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// A network namespace of the lab.
#[derive(Debug, Clone)]
pub(super) struct NetNamespace {
    namespace: Arc<OwnedFd>,
}

impl NetNamespace {
    /// Creates a namespace with only a loopback that is down, and runs `prepare` in it.
    ///
    /// A separate thread does this, because a namespace belongs to a thread.
    ///
    /// # Errors
    /// The kernel refuses the namespace (no CAP_SYS_ADMIN), or `prepare` fails.
    pub(super) fn create<T: Send>(
        prepare: impl FnOnce() -> Result<T, NetLabError> + Send,
    ) -> Result<(Self, T), NetLabError> {
        in_own_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| NetLabError::system("a network namespace", errno.into()))?;
            let file = std::fs::File::open(OWN_NAMESPACE)
                .map_err(|source| NetLabError::system("opening the new namespace", source))?;
            let namespace = Arc::new(OwnedFd::from(file));
            Ok((Self { namespace }, prepare()?))
        })?
    }

    /// Runs `work` in a thread inside this namespace; sockets that it creates stay in the namespace.
    ///
    /// # Errors
    /// The kernel does not permit the thread to enter.
    pub(super) fn inside<T: Send>(
        &self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, NetLabError> {
        in_own_thread(|| {
            setns(self.fd(), CloneFlags::CLONE_NEWNET)
                .map_err(|errno| NetLabError::system("entering a namespace", errno.into()))?;
            Ok(work())
        })?
    }

    /// Makes `command` start inside this namespace; if it cannot enter, the spawn fails, so that
    /// nothing ever runs in the host's network by mistake.
    pub(super) fn enter_on_spawn(&self, command: &mut Command) {
        let namespace = Arc::clone(&self.namespace);
        let enter = move || setns(&*namespace, CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
        // SAFETY: between fork and exec only async-signal-safe work is allowed; `enter` makes one
        // system call on a descriptor that its own Arc keeps open, and allocates nothing.
        unsafe { command.pre_exec(enter) };
    }

    /// Descriptor of the namespace.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

/// Makes the child of `command` die by SIGKILL with the thread that spawns it.
///
/// The kernel ties the death signal to the parent's *thread*: spawn from one that lives as long as
/// the session. If the supervisor died between fork and the request, the changed parent reveals it.
pub(super) fn die_with_supervisor(command: &mut Command) {
    let supervisor = nix::unistd::getpid();
    let tie = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        if getppid() == supervisor {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ESRCH))
        }
    };
    // SAFETY: between fork and exec only async-signal-safe work is allowed; `tie` makes two system
    // calls and builds an error from a number, without allocation or lock.
    unsafe { command.pre_exec(tie) };
}

/// Runs `work` in a fresh thread and waits for it.
fn in_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NetLabError> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("netlab-place".into())
            .spawn_scoped(scope, work)
            .map_err(|source| NetLabError::system("a thread", source))?
            .join()
            .map_err(|_| NetLabError::Died {
                who: "the thread inside a namespace",
            })
    })
}
