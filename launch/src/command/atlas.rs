//! `palpate atlas`: stability and transparency in three ways, as a table and a page.
//!
//! Source: ours. Here are only files and words; [`palpate_study::atlas`] finds the points.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use palpate_analysis::{Failure, output};
use palpate_session::config::Config;
use palpate_session::pool;
use palpate_study::atlas::table::{self, csv};
use palpate_study::atlas::{self, Axes, AxesError, Chart, Extent, Point};
use palpate_study::report;

use super::{Done, interrupt};
use crate::cli::AtlasArgs;
use crate::progress::{Progress as _, Terminal};

/// Find the atlas, and write `atlas.csv` and `report.html`.
///
/// # Errors
/// [`Failure::Refused`] if results cannot be written.
pub fn atlas(arguments: &AtlasArgs) -> Result<Done, Failure> {
    let extent = if arguments.sketch {
        Extent::Sketch
    } else {
        Extent::Whole
    };
    let axes = axes(arguments)?;
    let unfit = |error: AxesError| Failure::Usage(error.to_string());
    let points = axes.plan(extent).map_err(unfit)?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), "atlas")?;
    let stop = interrupt::on_ctrl_c()?;
    let hidden = wanted.quiet || wanted.json;
    let progress = Terminal::bar("points", points.len() as u64, hidden);
    let jobs = arguments.jobs.map_or_else(pool::cores, usize::from);
    let seed = axes.seed.unwrap_or(Config::default().seed);
    let points = atlas::find(points, jobs, seed, &stop, &|done| progress.at(done))?;
    drop(progress);
    output::write(&folder.join("atlas.csv"), &csv(&points))?;
    output::write(&folder.join("report.html"), &report::atlas(&points))?;
    let stdout = match (wanted.json, wanted.quiet) {
        (true, _) => {
            let json = table::json(&points).and_then(|json| serde_json::to_string_pretty(&json));
            json.map_err(|error| Failure::Refused(format!("atlas: {error}")))? + "\n"
        }
        (false, true) => String::new(),
        (false, false) => {
            let all = if wanted.verbose {
                csv(&points) + "\n"
            } else {
                String::new()
            };
            format!("{all}{}results in {}\n", words(&points), folder.display())
        }
    };
    let (stopped, held) = (stop.load(Ordering::Relaxed), atlas::held(&points));
    let warning = match (stopped, held) {
        (true, _) => Some("interrupted: what was not found is unknown"),
        (false, None) => {
            Some("nothing is stated of the chart jitter alone, so nothing was checked")
        }
        (false, Some(_)) => None,
    };
    Ok(Done {
        stdout,
        warning: warning.map(str::to_owned),
        held: stopped || held != Some(false),
    })
}

/// What is drawn, from the file and the flags.
fn axes(arguments: &AtlasArgs) -> Result<Axes, Failure> {
    let file = arguments.config.as_deref().map(|path| {
        let name = format!("--config {}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::Usage(format!("{name}: {error}; expected a readable TOML file"))
        });
        text.map(|text| (name, text))
    });
    let file = file.transpose()?;
    let file = file.as_ref().map(|(name, text)| (&**name, &**text));
    Axes::read(file, &arguments.set, arguments.seed)
        .map_err(|error| Failure::Usage(error.to_string()))
}

fn words(points: &[Point]) -> String {
    let mut text = String::new();
    for chart in Chart::ALL {
        let drawn = points.iter().filter(|point| point.chart == chart).count();
        let found = match (atlas::agreement(points, chart), drawn) {
            (_, 0) => "not drawn".to_owned(),
            (None, _) if chart == Chart::Jitter => {
                format!("{drawn} points, which formula and two-port do not know how to tell")
            }
            (None, _) => format!("{drawn} points, nothing found"),
            (Some(all), _) => {
                let word = if all.broken == 0 {
                    "agree"
                } else {
                    "DO NOT AGREE"
                };
                format!(
                    "{} of {drawn} points in three ways or more, that differ by {:.1} % at most: {word} ({} beyond their bar)",
                    all.three_ways,
                    1e2 * all.worst,
                    all.broken
                )
            }
        };
        // writing to a string cannot fail
        let _ = writeln!(text, "{:<31} {found}", chart.words());
    }
    text
}
