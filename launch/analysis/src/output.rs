//! Folders and files of the results of a command.
//!
//! Source: ours. The folder is created, and tested for writing, before anything runs.

use std::fs;
use std::path::{Path, PathBuf};

use palpate_session::files;
use palpate_session::record::RECORDING;
use palpate_transport::{Time, clock};

use super::Failure;

/// Most folders of one name within one second.
const SAME_NAME_MAX: u32 = 1000;

/// Files that mark the folder of an earlier run, whatever its command was.
const MARKS: &[&str] = &[
    "config.toml",
    "summary.json",
    "report.html",
    "rows.jsonl",
    RECORDING,
];

/// Results of a judged session without a recording.
pub const JUDGED: &[&str] = &["config.toml", "summary.json", "report.html"];

/// Results of a session, also of one that was killed.
pub const SESSION: &[&str] = &[
    "config.toml",
    "summary.json",
    "report.html",
    RECORDING,
    "recording.mcap.part",
    "recording.cut.mcap",
    "metadata.yaml",
    "side.json",
    "surface.ply",
    "console.json",
    "sides",
];

/// Folder that the user chose by flags.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChosenFolder<'a> {
    /// The folder; none for a new one.
    pub out: Option<&'a Path>,
    /// True if results of an earlier run there are removed.
    pub overwrite: bool,
}

/// Returns the folder of a run: the chosen one, else a new `runs/<time>-<name>`. `own` are the files and folders that
/// the command writes; only these are removed.
///
/// # Errors
/// [`Failure::Usage`] naming the folder if it cannot be made or written to, is a symbolic link, or holds the results
/// of an earlier run that must stay.
pub fn folder(chosen: ChosenFolder<'_>, name: &str, own: &[&str]) -> Result<PathBuf, Failure> {
    let path = writable(chosen, name)?;
    for mark in MARKS.iter().chain(own) {
        let earlier = path.join(mark);
        // a dangling link is there as well
        if !chosen.overwrite && earlier.symlink_metadata().is_ok() {
            return Err(Failure::Usage(format!(
                "--out {}: has {mark} of an earlier run; expected another folder, or --overwrite to replace its results",
                path.display()
            )));
        }
    }
    if chosen.overwrite {
        for name in own {
            remove(&path.join(name))?;
        }
    }
    Ok(path)
}

/// As [`folder`], for a command that continues an earlier run: the folder may have results if it has the file `by`,
/// which the command checks.
///
/// # Errors
/// As [`folder`].
pub fn resumable_folder(
    chosen: ChosenFolder<'_>,
    name: &str,
    own: &[&str],
    by: &str,
) -> Result<PathBuf, Failure> {
    let is_file = |path: PathBuf| path.symlink_metadata().is_ok_and(|it| it.is_file());
    let continues = chosen.out.is_some_and(|out| is_file(out.join(by)));
    match continues && !chosen.overwrite {
        true => writable(chosen, name),
        false => folder(chosen, name, own),
    }
}

/// Makes the folder, and checks that it can be written to.
fn writable(chosen: ChosenFolder<'_>, name: &str) -> Result<PathBuf, Failure> {
    let path = match chosen.out {
        // without a slash at the end, which would hide a link
        Some(path) => path.components().collect(),
        None => unused(Path::new("runs"), &stamp(unix_s(clock::wall_now())), name),
    };
    let refused = |error: std::io::Error| {
        let expected = "expected a folder that can be made and written to";
        Failure::Usage(format!("--out {}: {error}; {expected}", path.display()))
    };
    if let Ok(target) = fs::read_link(&path) {
        return Err(Failure::Usage(format!(
            "--out {}: is a symbolic link to {}; expected the folder itself",
            path.display(),
            target.display()
        )));
    }
    fs::create_dir_all(&path).map_err(refused)?;
    let probe = path.join(".palpate-probe");
    files::write(&probe, "").map_err(refused)?;
    fs::remove_file(&probe).map_err(refused)?;
    Ok(path)
}

/// Removes a result of an earlier run; of a link, the link.
fn remove(path: &Path) -> Result<(), Failure> {
    let removed = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.map_err(|error| {
        let expected = "expected a result that can be removed, as --overwrite asks";
        Failure::Usage(format!("{}: {error}; {expected}", path.display()))
    })
}

/// Writes a result file as a whole. A process that ends meanwhile leaves the old content or the new, never a part of
/// one under its name.
///
/// # Errors
/// [`Failure::Refused`] naming the file: the folder could be written to when the run began.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    files::write(path, content).map_err(|error| refused(path, &error))
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
    fn results_of_an_earlier_run_stay_unless_they_are_overwritten() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let out = root.path().join("run");
        let chosen = |overwrite| ChosenFolder {
            out: Some(&out),
            overwrite,
        };
        folder(chosen(false), "x", SESSION).expect("new");
        fs::write(out.join("notes.txt"), "mine").expect("writable");
        folder(chosen(false), "x", SESSION).expect("nothing of a run");
        for name in MARKS.iter().chain(SESSION) {
            let file = out.join(name);
            std::os::unix::fs::symlink("nowhere", &file).expect("linked");
            let error = folder(chosen(false), "x", SESSION).expect_err("an earlier run");
            let words = error.to_string();
            assert!(
                words.contains(name) && words.contains("--overwrite"),
                "{words}"
            );
            folder(chosen(true), "x", SESSION).expect("replaced");
            let stays = *name == "rows.jsonl";
            assert_eq!(file.symlink_metadata().is_ok(), stays, "{name}");
            if stays {
                fs::remove_file(&file).expect("removable");
            }
        }
        assert_eq!(fs::read_dir(&out).expect("a folder").count(), 1);
        fs::write(out.join("rows.jsonl"), "{}").expect("writable");
        resumable_folder(chosen(false), "x", &[], "rows.jsonl").expect("continued");
        resumable_folder(chosen(false), "x", &[], "other.jsonl").expect_err("nothing to continue");
    }

    #[test]
    fn a_link_is_no_folder_for_results() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path(), &link).expect("linked");
        for out in [link.clone(), link.join("")] {
            let chosen = ChosenFolder {
                out: Some(&out),
                overwrite: true,
            };
            let error = folder(chosen, "x", SESSION)
                .expect_err("a link")
                .to_string();
            assert!(error.contains("symbolic link"), "{error}");
        }
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
