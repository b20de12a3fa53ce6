//! TUN interface: its packets come out of a file descriptor that any thread may hold.
//!
//! Source: ours (transport.md 3), Linux `if_tun.h`.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::NetLabError;

/// Device node that creates TUN interfaces.
pub(crate) const TUN_NODE: &str = "/dev/net/tun";

nix::ioctl_readwrite_bad!(
    /// `TUNSETIFF` of linux/if_tun.h. Its argument is an `ifreq` in spite of its encoded size;
    /// it writes the name of the interface back.
    tun_set_interface,
    nix::request_code_write!(b'T', 202, std::mem::size_of::<libc::c_int>()),
    libc::ifreq
);

/// Opens the node; success shows that this process may use it.
///
/// # Errors
/// The node is absent or not permitted.
pub(crate) fn open_node() -> std::io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(TUN_NODE)
}

/// Creates the TUN interface `name` in the calling thread's namespace; raw IP packets, no header.
///
/// The interface lives as long as the descriptor, which never blocks.
///
/// # Errors
/// The node is absent or not permitted, or the kernel refuses the interface.
pub(super) fn create(name: &str) -> Result<OwnedFd, NetLabError> {
    let node = open_node().map_err(|source| NetLabError::system("opening /dev/net/tun", source))?;
    let mut request = interface_request(name);
    // SAFETY: `request` is a whole ifreq of ours whose name ends in a zero and which lives through
    // the call; the kernel reads and writes no more than that, and the descriptor is open.
    unsafe { tun_set_interface(node.as_raw_fd(), &raw mut request) }
        .map_err(|errno| NetLabError::system("a TUN interface", errno.into()))?;
    Ok(OwnedFd::from(node))
}

/// Request for a TUN interface; a name of more than 15 bytes is truncated.
fn interface_request(name: &str) -> libc::ifreq {
    // SAFETY: ifreq is plain C data without references; all zeros is a value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // IFF_TUN | IFF_NO_PI is 0x1001, which fits the 16 bit of the field.
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    for (place, byte) in request
        .ifr_name
        .iter_mut()
        .zip(name.bytes().take(libc::IFNAMSIZ - 1))
    {
        *place = byte as libc::c_char;
    }
    request
}
