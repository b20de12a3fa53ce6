//! `palpate atlas`: stability and transparency found by up to four methods, as a table and a page.
//!
//! Source: ours. Files and text are here; [`palpate_study::atlas`] finds the points.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use palpate_analysis::{Failure, output};
use palpate_session::config::Config;
use palpate_session::files;
use palpate_session::pool;
use palpate_study::atlas::table::{self, csv};
use palpate_study::atlas::{self, AtlasAxes, AtlasChart, AtlasPoint, SKETCH_STEP};
use palpate_study::report;

use super::{CommandOutcome, if_verbose, interrupt, json_or_text};
use crate::cli::AtlasArgs;
use crate::progress::{Progress as _, TerminalProgress};

/// Finds the points, and writes `atlas.csv` and `report.html`.
///
/// # Errors
/// [`Failure::Refused`] if results cannot be written.
pub(super) fn atlas(arguments: &AtlasArgs) -> Result<CommandOutcome, Failure> {
    let axes = axes(arguments)?;
    let points = axes.plan(if arguments.sketch { SKETCH_STEP } else { 1 })?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.chosen(), "atlas", &["atlas.csv", "report.html"])?;
    let stop = interrupt::on_ctrl_c()?;
    let progress = TerminalProgress::bar("points", points.len() as u64, wanted.is_silent());
    let jobs = arguments.jobs.map_or_else(pool::cores, usize::from);
    let seed = axes.seed.unwrap_or(Config::default().seed);
    let points = atlas::find_points(points, jobs, seed, &stop, &|done| progress.set_done(done))?;
    drop(progress);
    output::write(&folder.join("atlas.csv"), csv(&points))?;
    output::write(&folder.join("report.html"), report::atlas(&points))?;
    let json = || table::json(&points);
    let stdout = json_or_text(wanted.json, wanted.quiet, json, || {
        let all = if_verbose(wanted.verbose, || csv(&points) + "\n");
        let folder = folder.display();
        format!("{all}{}results  {folder}\n", agreements(&points))
    })?;
    let (stopped, agreed) = (stop.load(Ordering::Relaxed), atlas::all_agree(&points));
    let warning = match (stopped, agreed) {
        (true, _) => Some("interrupted: the remaining points are unknown"),
        (false, None) => {
            Some("the chart jitter alone has no second method, so nothing was checked")
        }
        (false, Some(_)) => None,
    };
    Ok(CommandOutcome {
        stdout,
        warning: warning.map(str::to_owned),
        checks_passed: stopped || agreed != Some(false),
    })
}

/// Axes of the atlas, from the file and the flags.
pub(super) fn axes(arguments: &AtlasArgs) -> Result<AtlasAxes, Failure> {
    let file = arguments.config.as_deref().map(|path| {
        let name = format!("--config {}", path.display());
        let text = files::read_text(path).map_err(|error| {
            Failure::Usage(format!("{name}: {error}; expected a readable TOML file"))
        });
        text.map(|text| (name, text))
    });
    let file = file.transpose()?;
    let file = file.as_ref().map(|(name, text)| (&**name, &**text));
    AtlasAxes::read(file, &arguments.set, arguments.seed)
}

/// Agreement of the methods, one line per chart.
fn agreements(points: &[AtlasPoint]) -> String {
    let mut text = String::new();
    for chart in AtlasChart::ALL {
        let drawn = points.iter().filter(|point| point.chart == chart).count();
        let found = match (atlas::agreement(points, chart), drawn) {
            (_, 0) => "not drawn".to_owned(),
            (None, _) if chart == AtlasChart::Jitter => {
                format!("{drawn} points, for which formula and two-port have no prediction")
            }
            (None, _) => format!("{drawn} points, nothing found"),
            (Some(all), _) => {
                let word = if all.broken == 0 { "PASS" } else { "FAIL" };
                format!(
                    "{} of {drawn} points by three methods or more, which differ by at most {:.1} %: {word} ({} above their limit)",
                    all.three_ways,
                    1e2 * all.worst,
                    all.broken
                )
            }
        };
        // writing to a string cannot fail
        let _ = writeln!(text, "{:<31} {found}", chart.title());
    }
    text
}
