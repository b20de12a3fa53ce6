//! Folders and files of the results of a command.
//!
//! Source: ours. The folder is created, and tested for writing, before anything runs.

use std::fs;
use std::path::{Path, PathBuf};

use palpate_session::run::side::RECORDING;
use palpate_transport::{Time, clock};

use super::Failure;

/// Most folders of one name within one second.
const SAME_NAME_MAX: u32 = 1000;

/// Returns the folder of a run: `out` if given, else a new `runs/<time>-<name>`.
///
/// # Errors
/// [`Failure::Usage`] naming the folder if it cannot be made or written to.
pub fn folder(out: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    let path = match out {
        Some(path) => path.to_owned(),
        None => unused(Path::new("runs"), &stamp(unix_s(clock::wall_now())), name),
    };
    let refused = |error: std::io::Error| {
        let expected = "expected a folder that can be made and written to";
        Failure::Usage(format!("--out {}: {error}; {expected}", path.display()))
    };
    fs::create_dir_all(&path).map_err(refused)?;
    let probe = path.join(".palpate-probe");
    fs::write(&probe, "").map_err(refused)?;
    fs::remove_file(&probe).map_err(refused)?;
    Ok(path)
}

/// Writes a result file through a new file beside it and a rename. A process that ends meanwhile leaves the old
/// content or the new, never a part of one.
///
/// # Errors
/// [`Failure::Refused`] naming the file: the folder could be written to when the run began.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    let temporary = path.with_file_name(name);
    let written = fs::write(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| refused(path, &error))
}

/// Failure to write a file in a folder that could be written to before.
#[must_use]
pub fn refused(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Refused(format!("{}: {error}; is the disk full?", path.display()))
}

/// Returns the recording in the folder of a run, or the file itself.
#[must_use]
pub fn recording(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(RECORDING)
    } else {
        path.to_owned()
    }
}

fn unused(parent: &Path, stamp: &str, name: &str) -> PathBuf {
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
    let first = parent.join(format!("{stamp}-{name}"));
    if !first.exists() {
        return first;
    }
    let mut next = (2..SAME_NAME_MAX).map(|number| parent.join(format!("{stamp}-{name}-{number}")));
    next.find(|path| !path.exists()).unwrap_or(first)
}

/// Whole seconds since 1970; 0 for a clock before that.
fn unix_s(now: Time) -> u64 {
    now.0.max(0).unsigned_abs() / 1_000_000_000
}

/// Seconds since 1970 as `YYYYMMDD-HHMMSS`, UTC.
///
/// Days to date after Howard Hinnant, "chrono-compatible low-level date algorithms" (2013): years
/// begin in March, so that the leap day is the last one.
fn stamp(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}{month:02}{day:02}-{hour:02}{minute:02}{:02}",
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected by `date -u -d @N +%Y%m%d-%H%M%S`.
    #[test]
    fn stamps_are_calendar_dates() {
        for (unix_s, expected) in [
            (0, "19700101-000000"),
            (951_782_400, "20000229-000000"),
            (1_709_251_199, "20240229-235959"),
            (1_709_251_200, "20240301-000000"),
            (4_107_542_399, "21000228-235959"),
            (4_107_542_400, "21000301-000000"),
        ] {
            assert_eq!(stamp(unix_s), expected);
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_no_temporary_file_remains() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("trials.csv");
        for content in ["a long old table", "new"] {
            write(&path, content).expect("writable");
            assert_eq!(fs::read_to_string(&path).expect("written"), content);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
        let nowhere = folder.path().join("none").join("trials.csv");
        let error = write(&nowhere, "x").expect_err("no folder").to_string();
        assert!(error.contains("none"), "{error}");
    }

    #[test]
    fn default_folders_do_not_collide_and_stay_below_runs() {
        let runs = tempfile::tempdir().expect("a temporary folder");
        let first = unused(runs.path(), "s", "../a b");
        assert_eq!(first, runs.path().join("s----a-b"));
        fs::create_dir(&first).expect("writable");
        assert_eq!(
            unused(runs.path(), "s", "../a b"),
            runs.path().join("s----a-b-2")
        );
    }
}
