//! How long a new process takes to its first tick of tissue, with the scene's table in a cache.
//!
//! Source: the specification of tissue engines, goal 8. This binary starts itself once more, which loads
//! the default session's twin with its table, steps it once and says so.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use palpate_scene as scene;
use palpate_session::config::Config;
use palpate_session::stat::spans::Stats;
use palpate_session::tables;
use palpate_transport::Span;
use palpate_twin::{Reaction, Vec3};
use serde::{Deserialize, Serialize};

use super::goal::{self, Goal};
use super::{BenchError, go_on, now};

/// First argument that makes this binary call [`first_tick`].
pub const COMMAND: &str = "bench-start";
/// What the process says after its first tick.
const TICKED: &str = "ticked";
/// Starts that are timed.
const STARTS: usize = 11;

/// How long starts took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartReport {
    /// The twin's scene.
    pub scene: String,
    /// Whether its table was in the user's cache; else it was made for this measurement.
    pub cached: bool,
    /// Size of the table \[bytes\].
    pub table_bytes: u64,
    /// From starting the process to its first tick.
    pub wall: Stats,
    /// What is wanted of that.
    pub goals: Vec<Goal>,
}

/// Starts a process some times.
///
/// # Errors
/// [`BenchError`] if the scene has no table, a process fails, or `stop` is set.
pub fn start(stop: &AtomicBool) -> Result<StartReport, BenchError> {
    let name = Config::default().twin;
    let twin = scene::load(&name)?;
    let made = std::env::temp_dir().join(format!("palpate-bench-{}", std::process::id()));
    let user = tables::folder().filter(|folder| tables::find(folder, &twin).table.is_some());
    let cached = user.is_some();
    let folder = match user {
        Some(folder) => folder,
        None => {
            let table = twin.condense()?;
            tables::keep(&made, &twin, &table).map_err(BenchError::system("keep a table"))?;
            made.clone()
        }
    };
    let timed = (0..STARTS)
        .map(|_| go_on(stop).and_then(|()| once(&folder)))
        .collect::<Result<Vec<Span>, _>>();
    let file = tables::file(&folder, &twin).and_then(|file| std::fs::metadata(file).ok());
    // nobody reads what was made for this measurement alone
    let _ = std::fs::remove_dir_all(&made);
    let wall = Stats::of(&timed?).unwrap_or_default();
    Ok(StartReport {
        scene: name,
        cached,
        table_bytes: file.map_or(0, |file| file.len()),
        goals: vec![Goal::at_most(
            "to the first tick, p50",
            wall.us_p50 * 1e-3,
            500.0,
            "ms",
        )],
        wall,
    })
}

fn once(folder: &Path) -> Result<Span, BenchError> {
    let binary = std::env::current_exe().map_err(BenchError::system("find the own binary"))?;
    timed(Command::new(binary).arg(COMMAND).arg(folder))
}

/// From the start of a process to when it says that it has ticked; it must then end well.
fn timed(command: &mut Command) -> Result<Span, BenchError> {
    let begun = now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(BenchError::system("start a process"))?;
    let mut said = String::new();
    if let Some(output) = child.stdout.take() {
        let read = BufReader::new(output).read_line(&mut said);
        read.map_err(BenchError::system("hear the process"))?;
    }
    let took = now() - begun;
    let status = child
        .wait()
        .map_err(BenchError::system("end the process"))?;
    if said.trim() == TICKED && status.success() {
        return Ok(took);
    }
    Err(BenchError::Start {
        said: said.trim().to_owned(),
        status: status.to_string(),
    })
}

/// Body of the process that is timed: gives what it says when it has stepped the default session's
/// twin, with its table from `folder`, once under contact.
///
/// # Errors
/// [`BenchError`] if the scene cannot be built or its table is missing.
pub fn first_tick(folder: &Path) -> Result<String, BenchError> {
    let twin = scene::load(&Config::default().twin)?;
    let missing = || {
        let why = std::io::Error::new(std::io::ErrorKind::NotFound, "no table of the twin's scene");
        BenchError::system("find a table")(why)
    };
    let table = tables::find(folder, &twin).table.ok_or_else(missing)?;
    let mut tissue = twin.build_with_table(&table)?;
    let tool = twin.tool_at(Vec3::z() * (twin.tool_radius_m - 1e-4));
    tissue.step(&[tool], 1e-3, &mut [Reaction::default()]);
    Ok(format!("{TICKED}\n"))
}

impl StartReport {
    /// As lines for people.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!(
            "start: `{}` with a table of {:.1} MB, {}; {:.0} ms p50, {:.0} max of {}\n",
            self.scene,
            self.table_bytes as f64 * 1e-6,
            if self.cached {
                "from the cache"
            } else {
                "made for this"
            },
            self.wall.us_p50 * 1e-3,
            self.wall.us_max * 1e-3,
            self.wall.samples
        );
        text += &goal::lines("start", &self.goals);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_table_there_is_no_first_tick() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = first_tick(folder.path()).expect_err("nothing there");
        assert!(error.to_string().contains("no table"), "{error}");
    }

    #[test]
    fn issue_a_process_that_failed_after_its_word_was_timed() {
        let shell = |script: &str| timed(Command::new("sh").args(["-c", script]));
        assert!(shell("echo ticked").expect("a start") > Span(0));
        for (script, parts) in [
            ("echo ticked; exit 3", ["ticked", "3"]),
            ("echo oh; exit 0", ["oh", "0"]),
        ] {
            let text = shell(script).expect_err("no start").to_string();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
    }
}
