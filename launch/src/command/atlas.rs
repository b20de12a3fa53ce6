//! `palpate atlas`: stability and transparency in three ways, as a table and a page.
//!
//! Source: ours. Here are only files and words; [`crate::atlas`] finds the points.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::{Done, Failure, interrupt, output};
use crate::atlas::table::csv;
use crate::atlas::{self, Chart, Extent, Point};
use crate::cli::AtlasArgs;
use crate::progress::Progress;
use crate::report;

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
    let points = atlas::plan(extent);
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), "atlas")?;
    let stop = interrupt::on_ctrl_c()?;
    let hidden = wanted.quiet || wanted.json;
    let progress = Progress::bar("points", points.len() as u64, hidden);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.map_or(cores, usize::from);
    let points = atlas::find(points, jobs, &stop, &|done| progress.at(done))?;
    drop(progress);
    output::write(&folder.join("atlas.csv"), &csv(&points))?;
    output::write(&folder.join("report.html"), &report::atlas(&points))?;
    let stdout = match (wanted.json, wanted.quiet) {
        (true, _) => {
            let json = serde_json::to_string_pretty(&points);
            json.map_err(|error| Failure::Refused(format!("atlas: {error}")))? + "\n"
        }
        (false, true) => String::new(),
        (false, false) => {
            let all = if wanted.verbose {
                csv(&points) + "\n"
            } else {
                String::new()
            };
            format!("{all}{}results in {}\n", table(&points), folder.display())
        }
    };
    let stopped = stop.load(Ordering::Relaxed);
    Ok(Done {
        stdout,
        warning: stopped.then(|| "interrupted: what was not found is unknown".to_owned()),
        held: stopped || atlas::held(&points),
    })
}

fn table(points: &[Point]) -> String {
    let mut text = String::new();
    for chart in Chart::ALL {
        let count = points.iter().filter(|point| point.chart == chart).count();
        let found = atlas::agreement(points, chart).map_or(
            "nothing found".to_owned(),
            |all| {
                let word = if all.broken == 0 { "agree" } else { "DO NOT AGREE" };
                format!(
                    "{count} points, {} in three ways or more, that differ by {:.1} % at most: {word} ({} beyond their bar)",
                    all.three_ways,
                    1e2 * all.worst,
                    all.broken
                )
            },
        );
        // writing to a string cannot fail
        let _ = writeln!(text, "{:<31} {found}", chart.words());
    }
    text
}
