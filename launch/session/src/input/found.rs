//! Which devices of /dev/input there are, and which of them can lead a handle.
//!
//! Source: ours. Asking opens a device and reads what it says of itself; nothing is grabbed or changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use evdev::{Device, FFEffectCode};
use serde::{Deserialize, Serialize};

use super::map::{Range, Shape};
use super::{AUTO, InputError};

/// Where the system keeps its input devices.
const FOLDER: &str = "/dev/input";

/// What lets a user read them.
pub const MEND: &str = "sudo usermod -aG input $USER, log in anew";

/// A device as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// What it calls itself; empty if it may not be read.
    pub name: String,
    /// What it is, if it can lead a handle.
    pub kind: Option<String>,
    /// Axes that a handle could be led by.
    pub axes: usize,
    /// How it can be shaken or pushed: `rumble`, `constant`, both or neither.
    pub force: Vec<String>,
    /// Why it cannot be used, if it cannot be read.
    pub refusal: Option<String>,
}

impl Found {
    /// In one line.
    #[must_use]
    pub fn words(&self) -> String {
        let path = self.path.display();
        if let Some(refusal) = &self.refusal {
            return format!("{path}: {refusal}; mend: {MEND}");
        }
        let kind = self.kind.as_deref().unwrap_or("leads no handle");
        let force = match self.force.is_empty() {
            true => String::new(),
            false => format!(", force: {}", self.force.join(" and ")),
        };
        format!("{path}: {} ({kind}, {} axes{force})", self.name, self.axes)
    }
}

/// Files of devices, in the order of their numbers.
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
pub fn list() -> Vec<Found> {
    files().into_iter().map(found).collect()
}

fn found(path: PathBuf) -> Found {
    match Device::open(&path) {
        Ok(device) => {
            let shape = shape(&device);
            Found {
                name: name(&device),
                kind: shape.as_ref().map(|shape| shape.kind.name().into()),
                axes: axes(&device).len() + relative(&device).len(),
                force: forces(&device),
                refusal: None,
                path,
            }
        }
        Err(error) => Found {
            path,
            name: String::new(),
            kind: None,
            axes: 0,
            force: Vec::new(),
            refusal: Some(error.to_string()),
        },
    }
}

/// What a device calls itself.
#[must_use]
pub fn name(device: &Device) -> String {
    device
        .name()
        .unwrap_or("a device without a name")
        .to_owned()
}

/// Absolute axes with what they say of themselves.
fn axes(device: &Device) -> BTreeMap<u16, Range> {
    let infos = device.get_absinfo().into_iter().flatten();
    let range = |info: evdev::AbsInfo| Range {
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

fn forces(device: &Device) -> Vec<String> {
    let can = |code| {
        device
            .supported_ff()
            .is_some_and(|known| known.contains(code))
    };
    let all = [
        (FFEffectCode::FF_RUMBLE, "rumble"),
        (FFEffectCode::FF_CONSTANT, "constant"),
    ];
    all.into_iter()
        .filter(|(code, _)| can(*code))
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// What a device has, if a handle can be led with it.
#[must_use]
pub fn shape(device: &Device) -> Option<Shape> {
    let buttons = device.supported_keys().into_iter();
    let buttons: Vec<u16> = buttons
        .flat_map(|keys| keys.iter().map(|key| key.0))
        .collect();
    Shape::of(axes(device), &relative(device), &buttons)
}

/// Open the device of a file, or [`AUTO`]: the first that can lead a handle.
///
/// # Errors
/// [`InputError`] if it cannot be read, or is none that leads.
pub fn open(wanted: &str) -> Result<(Device, Shape, PathBuf), InputError> {
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
    Err(denied.unwrap_or(InputError::Nothing))
}

fn open_at(path: PathBuf) -> Result<(Device, Shape, PathBuf), InputError> {
    // said before it is asked what it is, as a file that is no device is not open to such questions
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
    fn a_file_that_is_no_device_is_refused_by_its_name() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("text");
        let said = open(path).expect_err("no device").to_string();
        assert!(
            said.contains(path) && said.contains("expected a device"),
            "{said}"
        );
        let said = open("/dev/input/event-none")
            .expect_err("nothing")
            .to_string();
        assert!(said.contains("event-none"), "{said}");
    }

    #[test]
    fn a_device_is_told_in_one_line() {
        let mut found = Found {
            path: "/dev/input/event3".into(),
            name: "Some Pad".into(),
            kind: Some("gamepad".into()),
            axes: 8,
            force: vec!["rumble".into()],
            refusal: None,
        };
        let said = found.words();
        assert!(
            said.contains("Some Pad (gamepad, 8 axes, force: rumble)"),
            "{said}"
        );
        found.refusal = Some("Permission denied".into());
        assert!(found.words().contains("usermod"), "{}", found.words());
    }
}
