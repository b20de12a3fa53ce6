//! Time from the start of a process to its first tick of tissue, with the scene's table in a cache.
//!
//! Source: the specification of tissue engines, goal 8. This binary starts itself once more; that process loads
//! the default session's twin with its table, steps it once and prints a line.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use palpate_analysis::Failure;
use palpate_scene as scene;
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_session::stat::spans::DurationStats;
use palpate_session::table_cache;
use palpate_transport::Span;
use palpate_twin::{Reaction, Vec3};
use serde::Serialize;

use super::goal::{self, BenchGoal};
use super::{now, own_command, start_self, system};
use crate::abort::{Abort, check_stop, refusal};

/// First argument that makes this binary call [`first_tick`].
const COMMAND: &str = "bench-start";
/// Output of the process after its first tick.
const TICKED: &str = "ticked";
/// Number of timed starts.
const STARTS: usize = 11;

/// Times of starts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StartReport {
    /// The twin's scene.
    pub scene: String,
    /// True if the table was in the user's cache; else it was computed for this measurement.
    pub cached: bool,
    /// Size of the table \[bytes\].
    pub table_bytes: u64,
    /// Time from the start of the process to its first tick.
    pub wall: DurationStats,
    /// Goals of that time.
    pub goals: Vec<BenchGoal>,
}

/// Starts a process several times.
///
/// # Errors
/// If the scene has no table, a process fails, or `stop` is set.
pub(super) fn start(stop: &AtomicBool) -> Result<StartReport, Abort> {
    let name = Config::default().twin;
    let twin = scene::load(&name).map_err(refusal)?;
    let temporary = std::env::temp_dir().join(format!("palpate-bench-{}", std::process::id()));
    let user = table_cache::folder();
    let user = user.filter(|folder| matches!(table_cache::find(folder, &twin), Ok(Some(_))));
    let cached = user.is_some();
    let folder = match user {
        Some(folder) => folder,
        None => {
            let table = twin.condense().map_err(refusal)?;
            table_cache::store(&temporary, &twin, &table).map_err(system("keep a table"))?;
            temporary.clone()
        }
    };
    let timed = (0..STARTS)
        .map(|_| check_stop(stop).and_then(|()| Ok(once(&folder)?)))
        .collect::<Result<Vec<Span>, _>>();
    let file = table_cache::file(&folder, &twin).and_then(|file| std::fs::metadata(file).ok());
    // the table that was computed for this measurement is no longer needed
    let _ = std::fs::remove_dir_all(&temporary);
    let wall = DurationStats::of(&timed?).unwrap_or_default();
    Ok(StartReport {
        scene: name,
        cached,
        table_bytes: file.map_or(0, |file| file.len()),
        goals: vec![BenchGoal::at_most(
            "to the first tick, p50",
            wall.us_p50 * 1e-3,
            500.0,
            "ms",
        )],
        wall,
    })
}

/// Time from the start of a process to its output after the first tick; it must then end without error.
fn once(folder: &Path) -> Result<Span, Failure> {
    let mut command = own_command()?;
    command.arg(COMMAND).arg(folder).stdin(Stdio::null());
    timed(&mut command)
}

fn timed(command: &mut Command) -> Result<Span, Failure> {
    let started = now();
    let (mut child, first_line) = start_self(command)?;
    let duration = now() - started;
    let status = child.wait().map_err(system("end the process"))?;
    if first_line == TICKED && status.success() {
        return Ok(duration);
    }
    Err(refusal(format!(
        "bench: the started process printed {first_line:?} and ended with {status}; expected \"ticked\" and 0"
    )))
}

/// Body of the timed process: steps the default session's
/// twin, with its table from `folder`, once in contact; returns the output.
///
/// # Errors
/// If the scene cannot be built or its table is missing.
pub fn first_tick(folder: &Path) -> Result<String, Failure> {
    let config = Config::default();
    let twin = lab::scene_with_tool(&config, &config.twin, "twin").map_err(refusal)?;
    let missing = || refusal("bench, find a table: no table of the twin's scene");
    let table = table_cache::find(folder, &twin)
        .unwrap_or_default()
        .ok_or_else(missing)?;
    let mut tissue = twin.build_with_table(&table).map_err(refusal)?;
    let tool = twin.tool_at(Vec3::z() * (twin.tool_radius_m - 1e-4));
    tissue.step(&[tool], 1e-3, &mut [Reaction::default()]);
    Ok(format!("{TICKED}\n"))
}

impl StartReport {
    /// Formats the result as lines.
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
    fn missing_table_fails_the_first_tick() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = first_tick(folder.path()).expect_err("nothing there");
        assert!(error.to_string().contains("no table"), "{error}");
    }

    #[test]
    fn issue_process_that_failed_after_its_output_was_timed() {
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
