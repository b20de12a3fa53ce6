//! `palpate atlas`: stability and transparency in three ways, as a table and a page.
//!
//! Source: ours. Here are only files and words; [`crate::atlas`] finds the points.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::{Done, Failure, interrupt, output};
use crate::atlas::{self, BARS, Chart, Extent, Point};
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
    let folder = output::folder(arguments.out.as_deref(), "atlas")?;
    let stop = interrupt::on_ctrl_c()?;
    let hidden = arguments.quiet || arguments.json;
    let progress = Progress::bar("points", points.len() as u64, hidden);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = arguments.jobs.map_or(cores, usize::from);
    let points = atlas::find(points, jobs, &stop, &|done| progress.at(done))?;
    drop(progress);
    output::write(&folder.join("atlas.csv"), &csv(&points))?;
    output::write(&folder.join("report.html"), &report::atlas(&points))?;
    let stdout = match (arguments.json, arguments.quiet) {
        (true, _) => {
            let json = serde_json::to_string_pretty(&points);
            json.map_err(|error| Failure::Refused(format!("atlas: {error}")))? + "\n"
        }
        (false, true) => String::new(),
        (false, false) => format!("{}results in {}\n", table(&points), folder.display()),
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
    for (chart, bar) in BARS {
        let words = match chart {
            Chart::Wall => "stiffest sampled wall",
            Chart::Line => "stiffness shown by waves",
            Chart::Direct => "longest delay without a method",
        };
        let count = points
            .iter()
            .filter(|p| p.chart == chart && p.time.is_some())
            .count();
        let found = atlas::agreement(points, (chart, bar)).map_or(
            "nothing found".to_owned(),
            |(worst, held)| {
                let word = if held { "held" } else { "BROKEN" };
                format!(
                    "{count} points, ways differ by {:.1} % at most ({word}: {:.0} %)",
                    1e2 * worst,
                    1e2 * bar
                )
            },
        );
        // writing to a string cannot fail
        let _ = writeln!(text, "{words:<31} {found}");
    }
    text
}

/// A number for a file, nothing for what is unknown.
fn known(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "chart,oneway_ms,b_nspm,wall_npm,slave_npm,period_ms,grip,unit,closed,frequency,time,spread\n",
    );
    for point in points {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{}",
            point.chart.name(),
            known(point.oneway_ms),
            known(point.b_nspm),
            known(point.wall_npm),
            known(point.slave_npm),
            point.period_ms,
            point.grip,
            point.chart.unit(),
            known(point.closed),
            known(point.frequency),
            known(point.time),
            known(point.spread()),
        );
    }
    text
}
