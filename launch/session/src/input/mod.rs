//! Devices of Linux as an operator's hand: gamepads, joysticks and 3-D mice, by evdev.
//!
//! [`map`] is what their events mean, [`found`] which there are, [`pilot`] the thread that reads one and shakes it. That
//! thread says an aim as a console's page does, into the same kind of cell, and the virtual handle of
//! `master/src/device/pointer.rs` follows it; so no servo thread ever waits for a file. Source: ours; the kernel's
//! gamepad specification for the names of buttons.

pub mod found;
pub mod map;
pub mod pilot;

use std::io;
use std::path::PathBuf;

pub use found::{Found, list};
pub use pilot::{InputReport, Pilot};

/// The device that is meant where any will do.
pub const AUTO: &str = "auto";

/// Why a device cannot lead a handle.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is none that could.
    #[error(
        "--operator evdev: no gamepad, joystick or 3-D mouse is in /dev/input; plug one in (`palpate doctor` lists what \
         is found), or choose --operator pointer"
    )]
    Nothing,
    /// It may not be read.
    #[error("{}: permission denied; {}", path.display(), found::MEND)]
    Denied {
        /// Which file.
        path: PathBuf,
    },
    /// It cannot be opened otherwise.
    #[error("{}: {source}; expected a device such as /dev/input/event5, see `palpate doctor`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is of another kind.
    #[error(
        "{}: {name} has neither the sticks of a gamepad nor the axes of a 3-D mouse; see `palpate doctor` for those \
         that have", path.display()
    )]
    Unsuitable {
        /// Which file.
        path: PathBuf,
        /// What it calls itself.
        name: String,
    },
}

impl InputError {
    /// Of an error of the system.
    fn of(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            _ => Self::File { path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_read_names_the_command_that_mends_it() {
        let path = PathBuf::from("/dev/input/event7");
        let error = InputError::of(path.clone(), io::ErrorKind::PermissionDenied.into());
        let said = error.to_string();
        assert!(
            said.contains("event7") && said.contains("usermod -aG input"),
            "{said}"
        );
        let said = InputError::of(path, io::ErrorKind::NotFound.into()).to_string();
        assert!(said.contains("expected a device"), "{said}");
    }
}
