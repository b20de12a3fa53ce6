//! Input devices of Linux as an operator's hand: gamepads, joysticks and 3-D mice, by evdev.
//!
//! [`event_map`] maps their events, [`discovery`] finds them, [`input_thread`] reads one and returns the force. The
//! thread publishes a target into the same kind of cell as a console page. The virtual handle of
//! `master/src/device/pointer.rs` follows it, so no servo thread ever waits for a file. Source: ours; the kernel's
//! gamepad specification for the names of buttons.

pub mod discovery;
pub mod event_map;
pub mod input_thread;

use std::io;
use std::path::PathBuf;

pub use discovery::InputDevice;
pub(crate) use discovery::list;
pub use input_thread::{InputReport, InputThread};

/// Name that selects any suitable device.
pub const AUTO: &str = "auto";

/// Reason why a device cannot drive a handle.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No suitable device exists.
    #[error(
        "--operator evdev: no gamepad, joystick or 3-D mouse is in /dev/input; plug one in (`palpate doctor` lists what \
         is found), or choose --operator pointer"
    )]
    NoDevice,
    /// The file may not be read.
    #[error("{}: permission denied; {}", path.display(), discovery::REMEDY)]
    Denied {
        /// Device file.
        path: PathBuf,
    },
    /// The file cannot be opened for another reason.
    #[error("{}: {source}; expected a device such as /dev/input/event5, see `palpate doctor`", path.display())]
    File {
        /// Device file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The device is of an unsuitable kind.
    #[error(
        "{}: {name} has neither the sticks of a gamepad nor the axes of a 3-D mouse; see `palpate doctor` for those \
         that have", path.display()
    )]
    Unsuitable {
        /// Device file.
        path: PathBuf,
        /// Name reported by the device.
        name: String,
    },
}

impl InputError {
    /// Converts an error of the system.
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
    fn unreadable_device_error_names_the_remedy() {
        let path = PathBuf::from("/dev/input/event7");
        let error = InputError::of(path.clone(), io::ErrorKind::PermissionDenied.into());
        let message = error.to_string();
        assert!(
            message.contains("event7") && message.contains("usermod -aG input"),
            "{message}"
        );
        let message = InputError::of(path, io::ErrorKind::NotFound.into()).to_string();
        assert!(message.contains("expected a device"), "{message}");
    }
}
