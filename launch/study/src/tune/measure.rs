//! What a link is like, measured, and the part of an atlas that it asks for.
//!
//! Source: ours. A running slave is met by a master whose handle nobody holds, for a few seconds; the bus of this machine
//! by the probe of `palpate bench`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use palpate_analysis::progress::Progress;
use palpate_analysis::{Failure, live, output};
use palpate_master::device::grip::Grip;
use palpate_session::config::Config;
use palpate_session::run::{SideOptions, run_side, side};
use palpate_session::stat::{deviation, percentile};
use palpate_session::{pool, record};
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{Side, TickRecord};

use super::{Atlas, Link, Proposal};
use crate::atlas::{self, Chart, Point};
use crate::bench::{self, BenchOptions, Part};

/// Name of the table of an atlas in its folder.
const ATLAS: &str = "atlas.csv";

/// Longest round trip for which sessions are run \[ms\]; beyond, formulas say what waves show.
const RUN_MS_MAX: f64 = 2000.0;

/// Records at the start that are not counted: the clocks find each other.
const SETTLE: usize = 500;

/// An atlas of `palpate atlas`.
///
/// # Errors
/// [`Failure::Usage`] naming the file and what is wrong.
pub fn read(path: &Path) -> Result<Atlas, Failure> {
    let file = if path.is_dir() {
        path.join(ATLAS)
    } else {
        path.to_owned()
    };
    let name = file.display().to_string();
    let unfit = |error: &dyn std::fmt::Display| Failure::Usage(format!("--atlas {name}: {error}"));
    let text = std::fs::read_to_string(&file).map_err(|error| {
        unfit(&format!(
            "{error}; expected the folder of `palpate atlas`, or its {ATLAS}"
        ))
    })?;
    let points = atlas::table::parse(&text).map_err(|error| unfit(&error))?;
    Ok(Atlas { name, points })
}

/// The part of an atlas that a link asks for, found now.
///
/// # Errors
/// [`Failure`] if a session cannot be run.
pub fn drawn(
    link: &Link,
    seed: u64,
    points: Vec<Point>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Atlas, Failure> {
    let jobs = pool::cores();
    // what a stop cuts off is still told by formula
    let points: Vec<Point> = points
        .into_iter()
        .map(|point| match point.chart {
            Chart::Line => point.line_by_formula(),
            _ => point,
        })
        .collect();
    // a press through a longer line takes longer than anybody waits
    let points = match link.rtt_ms_p50 <= RUN_MS_MAX {
        true => atlas::find(points, jobs, seed, stop, &|done| progress.at(done))?,
        false => points,
    };
    Ok(Atlas {
        name: ATLAS.into(),
        points,
    })
}

/// Keep the table of an atlas in a folder.
///
/// # Errors
/// As [`output::write`].
pub fn keep(atlas: &Atlas, folder: &Path) -> Result<(), Failure> {
    output::write(&folder.join(ATLAS), &atlas::table::csv(&atlas.points))
}

/// A proposal as JSON, with how the link was measured.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be put into words.
pub fn json(proposal: &Proposal, how: &str) -> Result<String, Failure> {
    let refused = |error: serde_json::Error| Failure::Refused(format!("tune.json: {error}"));
    let mut json = serde_json::to_value(proposal).map_err(refused)?;
    if let serde_json::Value::Object(fields) = &mut json {
        fields.insert("schema".into(), "palpate-tune/1.2".into());
        fields.insert("measured".into(), how.into());
    }
    Ok(serde_json::to_string_pretty(&json).map_err(refused)? + "\n")
}

/// The bus between two processes of this machine.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be measured.
pub fn local(stop: &Arc<AtomicBool>) -> Result<Link, Failure> {
    let refused = |error: bench::BenchError| Failure::Refused(error.to_string());
    let options = BenchOptions::default();
    let report = bench::run(&options, &[Part::Bus], stop).map_err(refused)?;
    let bus = report
        .bus
        .ok_or_else(|| Failure::Refused("the bus was not measured".into()))?;
    let quiet = bus.quiet;
    Ok(Link {
        rtt_ms_p50: quiet.zenoh.us_p50 * 1e-3,
        rtt_ms_p99: quiet.zenoh.us_p99 * 1e-3,
        oneway_ms_fwd: None,
        oneway_ms_back: None,
        jitter_ms: None,
        loss: Some(f64::from(quiet.zenoh_lost) / f64::from(options.rounds)),
        offset_bound_ms: None,
    })
}

/// A running slave, met by a master that nobody holds.
///
/// # Errors
/// [`Failure::Refused`] if no frame came back.
pub fn remote(
    connect: &[String],
    listens_s: f64,
    config: &Config,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Link, Failure> {
    let mut config = config.clone();
    config.operator.grip = Grip::None;
    config.duration_s = listens_s;
    let options = SideOptions {
        side: Side::Master,
        out: folder.to_owned(),
        session: live::session_at(connect, &[], &config, Side::Master)?,
        ticks_max: Some((config.duration_s / PERIOD.s()).round() as u64),
        status_lines: false,
        console: None,
        stop: Arc::clone(stop),
    };
    let came = run_side(&config, &options)?.bus.received;
    // overtaken frames came as well, though nobody could use them
    let came = came.admitted + came.late + came.stale;
    let path = folder.join(side::RECORDING);
    let recording = record::read(&path).map_err(|error| Failure::Refused(error.to_string()))?;
    seen(&recording.master, came).ok_or_else(|| {
        let expected = "expected a running `palpate slave` there";
        Failure::Refused(format!("--connect: no frame came back; {expected}"))
    })
}

/// The link as the master's records show it, with the number of frames that came; nothing if none did.
fn seen(master: &[TickRecord], came: u64) -> Option<Link> {
    let known = || master.iter().skip(SETTLE).filter(|r| r.rtt_ns > 0);
    let mut trips: Vec<f64> = known().map(|r| r.rtt_ns as f64 * 1e-6).collect();
    let last = known().next_back()?;
    let first = master.iter().find(|r| r.received_sequence > 0)?;
    let sent = (last.received_sequence + 1).checked_sub(first.received_sequence)?;
    let mut newest = 0;
    let fresh = known()
        .filter(|r| std::mem::replace(&mut newest, r.received_sequence) != r.received_sequence);
    let oneway: Vec<f64> = fresh
        .filter(|r| r.oneway_ns >= 0)
        .map(|r| r.oneway_ns as f64 * 1e-6)
        .collect();
    let rtt_ms_p50 = percentile(&mut trips, 0.5)?;
    let back_ms = percentile(&mut oneway.clone(), 0.5);
    Some(Link {
        rtt_ms_p50,
        rtt_ms_p99: percentile(&mut trips, 0.99)?,
        // what comes is timed by both clocks, as far as their offset is known; what goes is what is left of the
        // round trip
        oneway_ms_fwd: back_ms.map(|back_ms| (rtt_ms_p50 - back_ms).max(0.0)),
        oneway_ms_back: back_ms,
        jitter_ms: deviation(&oneway),
        loss: (sent > 0).then(|| (1.0 - came as f64 / sent as f64).clamp(0.0, 1.0)),
        offset_bound_ms: Some(last.oneway_bound_ns as f64 * 1e-6).filter(|&ms| ms >= 0.0),
    })
}

/// A proposal in a few lines for a terminal.
#[must_use]
pub fn words(proposal: &Proposal, how: &str, folder: &Path) -> String {
    let link = &proposal.link;
    let share =
        |value: Option<f64>| value.map_or("unknown".to_owned(), |v| format!("{:.2} %", 100.0 * v));
    let ms = |value: Option<f64>| value.map_or("unknown".to_owned(), |v| format!("{v:.2} ms"));
    let way = |value: Option<f64>| match value.and(link.offset_bound_ms) {
        Some(bound_ms) => format!("{} within {bound_ms:.2} ms", ms(value)),
        None => ms(value),
    };
    let mut text = format!(
        "link       round trip {:.2} ms, 99 % below {:.2} ms, there {}, back {}; jitter {}, loss {} ({how})\n",
        link.rtt_ms_p50,
        link.rtt_ms_p99,
        way(link.oneway_ms_fwd),
        way(link.oneway_ms_back),
        ms(link.jitter_ms),
        share(link.loss),
    );
    let _ = writeln!(
        text,
        "proposal   --mode {} --impedance {} with codec {}\n",
        proposal.mode.name(),
        proposal.impedance_nspm,
        proposal.codec
    );
    for reason in &proposal.reasons {
        let _ = writeln!(text, "- {reason}");
    }
    let _ = writeln!(
        text,
        "\n{:>8}{:>12}{:>10}{:>10}{:>10}{:>8}  lines of {}",
        "b", "felt N/m", "error %", "lump x", "kg", "line", proposal.atlas
    );
    for row in &proposal.impedances {
        let _ = writeln!(
            text,
            "{:>8}{:>12.1}{:>+10.0}{:>10.2}{:>10.3}{:>8}  {}",
            row.impedance_nspm,
            row.displayed_npm,
            100.0 * row.stiffness_error,
            1.0 + row.contrast,
            row.inertia_kg,
            row.atlas_line,
            row.way
        );
    }
    let _ = writeln!(text, "\nresults    {}", folder.display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atlas_is_a_folder_or_a_file_and_a_wrong_one_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = read(folder.path()).expect_err("empty").to_string();
        assert!(
            error.contains("--atlas") && error.contains(ATLAS),
            "{error}"
        );
        let path = folder.path().join(ATLAS);
        let table = atlas::table::csv(&atlas::plan(atlas::Extent::Sketch));
        std::fs::write(&path, &table).expect("writable");
        let [one, other] = [folder.path(), &path].map(|path| read(path).expect("an atlas"));
        assert_eq!(one, other);
        std::fs::write(&path, "a,b\n1,2\n").expect("writable");
        let error = read(&path).expect_err("another table").to_string();
        assert!(error.contains("no column"), "{error}");
    }

    #[test]
    fn records_tell_the_link() {
        let record = |k: u64| TickRecord {
            tick: k,
            rtt_ns: 40_000_000,
            // what frames alone tell of two clocks: half of the round trip, give or take that
            oneway_ns: 20_000_000,
            oneway_bound_ns: 20_000_000,
            received_sequence: k,
            ..TickRecord::default()
        };
        let records: Vec<TickRecord> = (0..3000).map(record).collect();
        let link = seen(&records, 2700).expect("frames");
        assert_eq!((link.rtt_ms_p50, link.jitter_ms), (40.0, Some(0.0)));
        assert_eq!(
            (link.oneway_ms_fwd, link.oneway_ms_back),
            (Some(20.0), Some(20.0))
        );
        assert!(link.loss.is_some_and(|loss| (loss - 0.1).abs() < 0.01));
        assert_eq!(link.offset_bound_ms, Some(20.0));
        assert_eq!(seen(&vec![TickRecord::default(); 3000], 0), None);
    }
}
