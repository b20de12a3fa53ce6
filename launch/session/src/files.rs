//! Files that have their name only when they are whole, and that are read only up to a size.
//!
//! Source: ours. A file is written beside its place, with `.part` at the end of its name, and renamed when it is
//! whole. Symbolic links are not followed: a rename replaces a link, and a new file is never opened through one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// End of the name of a file that is not whole.
pub(crate) const PART: &str = ".part";

/// Largest file of text that is read: configurations, scenes, scripts, trials \[bytes\].
pub(crate) const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Largest mesh or volume that is read \[bytes\].
pub const MODEL_BYTES_MAX: u64 = 1 << 30;

/// Name of a file while it is not whole.
#[must_use]
pub fn part_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(PART);
    path.with_file_name(name)
}

/// Creates the part of a file, which must not exist yet.
///
/// # Errors
/// The error of the system.
pub(crate) fn create_part(path: &Path) -> io::Result<File> {
    let part = part_of(path);
    // this demands a new file, so it follows no link
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(part)
}

/// Gives a part that is whole the name of its file, once it is on the disk. Then the name is on the disk as well, so
/// that the file survives a power cut.
///
/// # Errors
/// The error of the system.
pub(crate) fn complete(path: &Path) -> io::Result<()> {
    let part = part_of(path);
    File::open(&part)?.sync_all()?;
    fs::rename(part, path)?;
    // a name is an entry of its folder
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Writes a whole file. On an error, as on a full disk, nothing of it remains, and an older file stays.
///
/// # Errors
/// The error of the system.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let part = part_of(path);
    // a process that was killed may have left one
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_part(path)?;
    let written = file
        .write_all(content.as_ref())
        .and_then(|()| complete(path));
    if written.is_err() {
        // the first error is the one to report
        let _ = fs::remove_file(&part);
    }
    written
}

/// Reads a file of at most `most` bytes. A larger file is refused before it is read, and a pipe or a device after
/// `most` bytes, or 16 MiB if that is less.
///
/// # Errors
/// The error of the system, or one that states the limit.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    // a pipe or a device has no size
    let most = match metadata.is_file() {
        true => most,
        false => most.min(TEXT_BYTES_MAX),
    };
    let known = metadata.len();
    let mut bytes = Vec::new();
    if known <= most {
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    if known > most || bytes.len() as u64 > most {
        let size = if known > most { known } else { most + 1 };
        return Err(io::Error::other(format!(
            "has {size} bytes or more; expected at most {most}"
        )));
    }
    Ok(bytes)
}

/// Reads a file of text of at most 16 MiB.
///
/// # Errors
/// As [`read`], and for bytes that are no UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read(path, TEXT_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("is no text: byte {at} is not UTF-8"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_no_part_remains() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("trials.csv");
        fs::write(part_of(&path), "of a killed process").expect("writable");
        for content in ["a long old table", "new"] {
            write(&path, content).expect("writable");
            assert_eq!(fs::read_to_string(&path).expect("written"), content);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[test]
    fn links_are_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, other) = (folder.path().join("a.csv"), folder.path().join("other"));
        fs::write(&other, "kept").expect("writable");
        for link in [path.clone(), part_of(&path)] {
            symlink(&other, link).expect("linked");
        }
        create_part(&path).expect_err("a link is there");
        write(&path, "new").expect("writable");
        assert_eq!(fs::read_to_string(&other).expect("there"), "kept");
        assert!(!path.is_symlink());
        assert_eq!(fs::read_to_string(&path).expect("there"), "new");
    }

    #[test]
    fn large_and_endless_files_are_refused_by_their_size() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("scene.toml");
        let file = File::create(&path).expect("writable");
        file.set_len(1 << 30).expect("sparse");
        for path in [path.as_path(), Path::new("/dev/zero")] {
            let error = read_text(path).expect_err("too large").to_string();
            assert!(error.contains("expected at most 16777216"), "{error}");
        }
        file.set_len(3).expect("short");
        assert_eq!(read_text(&path).expect("short"), "\0\0\0");
        fs::write(&path, b"ab\xff").expect("writable");
        let error = read_text(&path).expect_err("no text").to_string();
        assert!(error.contains("byte 2"), "{error}");
    }
}
