//! Discovery of the devices of /dev/input that can drive a handle.
//!
//! Source: ours. Discovery opens a device and reads its description; nothing is grabbed or changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use evdev::{Device, FFEffectCode};
use serde::{Deserialize, Serialize};

use super::event_map::{DeviceLayout, InputAxisRange};
use super::{AUTO, InputError};

/// Folder of the system's input devices.
const FOLDER: &str = "/dev/input";

/// Command that permits a user to read them.
pub const REMEDY: &str = "sudo usermod -aG input $USER, log in anew";

/// A discovered device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InputDevice {
    /// Its file.
    pub path: PathBuf,
    /// Name reported by the device; empty if it may not be read.
    pub name: String,
    /// Kind of device, if it can drive a handle.
    pub kind: Option<String>,
    /// Number of axes that can drive a handle.
    pub axes: usize,
    /// Force feedback: `rumble`, `constant`, both or neither.
    pub force: Vec<String>,
    /// Reason why it cannot be read, if so.
    pub refusal: Option<String>,
}

impl InputDevice {
    /// Description in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let path = self.path.display();
        if let Some(refusal) = &self.refusal {
            return format!("{path}: {refusal}; mend: {REMEDY}");
        }
        let kind = self.kind.as_deref().unwrap_or("cannot drive a handle");
        let force = match self.force.is_empty() {
            true => String::new(),
            false => format!(", force: {}", self.force.join(" and ")),
        };
        format!("{path}: {} ({kind}, {} axes{force})", self.name, self.axes)
    }
}

/// Device files in the order of their numbers.
fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let number = |path: &Path| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("event")?.parse().ok()
    };
    let paths = entries.map(|entry| entry.path());
    let mut all: Vec<_> = paths
        .filter_map(|path| Some((number(&path)?, path)))
        .collect();
    all.sort();
    all.into_iter().map(|(_, path)| path).collect()
}

/// All devices of this machine.
#[must_use]
pub(crate) fn list() -> Vec<InputDevice> {
    files().into_iter().map(describe).collect()
}

fn describe(path: PathBuf) -> InputDevice {
    match Device::open(&path) {
        Ok(device) => {
            let shape = shape(&device);
            InputDevice {
                name: name(&device),
                kind: shape.as_ref().map(|shape| shape.kind.name().into()),
                axes: axes(&device).len() + relative(&device).len(),
                force: forces(&device),
                refusal: None,
                path,
            }
        }
        Err(error) => InputDevice {
            path,
            refusal: Some(error.to_string()),
            ..InputDevice::default()
        },
    }
}

/// Name reported by a device.
pub(super) fn name(device: &Device) -> String {
    device
        .name()
        .unwrap_or("a device without a name")
        .to_owned()
}

/// Absolute axes with their ranges.
fn axes(device: &Device) -> BTreeMap<u16, InputAxisRange> {
    let infos = device.get_absinfo().into_iter().flatten();
    let range = |info: evdev::AbsInfo| InputAxisRange {
        low: info.minimum(),
        high: info.maximum(),
        flat: info.flat(),
    };
    infos.map(|(code, info)| (code.0, range(info))).collect()
}

fn relative(device: &Device) -> Vec<u16> {
    let axes = device.supported_relative_axes().into_iter();
    axes.flat_map(|axes| axes.iter().map(|code| code.0))
        .collect()
}

/// True if a device has an effect of this kind.
pub(super) fn can(device: &Device, code: FFEffectCode) -> bool {
    let known = device.supported_ff();
    known.is_some_and(|known| known.contains(code))
}

fn forces(device: &Device) -> Vec<String> {
    let all = [
        (FFEffectCode::FF_RUMBLE, "rumble"),
        (FFEffectCode::FF_CONSTANT, "constant"),
    ];
    all.into_iter()
        .filter(|(code, _)| can(device, *code))
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Layout of a device, if it can drive a handle.
fn shape(device: &Device) -> Option<DeviceLayout> {
    let buttons = device.supported_keys().into_iter();
    let buttons: Vec<u16> = buttons
        .flat_map(|keys| keys.iter().map(|key| key.0))
        .collect();
    DeviceLayout::detect(axes(device), &relative(device), &buttons)
}

/// Opens the device of a file, or for [`AUTO`] the first that can drive a handle.
///
/// # Errors
/// [`InputError`] if it cannot be read, or cannot drive a handle.
pub fn open(wanted: &str) -> Result<(Device, DeviceLayout, PathBuf), InputError> {
    if wanted != AUTO {
        return open_at(PathBuf::from(wanted));
    }
    let mut denied = None;
    for path in files() {
        match open_at(path) {
            Err(error @ InputError::Denied { .. }) => denied = denied.or(Some(error)),
            Err(_) => {}
            opened => return opened,
        }
    }
    Err(denied.unwrap_or(InputError::NoDevice))
}

fn open_at(path: PathBuf) -> Result<(Device, DeviceLayout, PathBuf), InputError> {
    // open as a plain file first: a file that is no device fails evdev's queries without a useful error
    std::fs::File::open(&path).map_err(|source| InputError::of(path.clone(), source))?;
    let device = Device::open(&path).map_err(|source| InputError::of(path.clone(), source))?;
    match shape(&device) {
        Some(shape) => Ok((device, shape, path)),
        None => Err(InputError::Unsuitable {
            name: name(&device),
            path,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_is_no_device_is_refused_by_name() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("text");
        let message = open(path).expect_err("no device").to_string();
        assert!(
            message.contains(path) && message.contains("expected a device"),
            "{message}"
        );
        let message = open("/dev/input/event-none")
            .expect_err("nothing")
            .to_string();
        assert!(message.contains("event-none"), "{message}");
    }

    #[test]
    fn device_description_is_one_line() {
        let mut found = InputDevice {
            path: "/dev/input/event3".into(),
            name: "Some Pad".into(),
            kind: Some("gamepad".into()),
            axes: 8,
            force: vec!["rumble".into()],
            refusal: None,
        };
        let message = found.words();
        assert!(
            message.contains("Some Pad (gamepad, 8 axes, force: rumble)"),
            "{message}"
        );
        found.refusal = Some("Permission denied".into());
        assert!(found.words().contains("usermod"), "{}", found.words());
    }
}
