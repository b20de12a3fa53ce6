//! Measurement of a link, and the part of an atlas that it needs.
//!
//! Source: ours. A master with a handle that is not held connects to a running slave for a few seconds; the bus of
//! this machine is measured by the probe of `palpate bench`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use palpate_analysis::live::SideLink;
use palpate_analysis::progress::Progress;
use palpate_analysis::{Failure, live, output};
use palpate_master::device::grip::Grip;
use palpate_session::config::Config;
use palpate_session::run::{SideOptions, run_side};
use palpate_session::stat::{deviation, percentile};
use palpate_session::{files, pool, record};
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::{Side, TickRecord};

use super::{Atlas, LinkEstimate, Proposal};
use crate::atlas::{self, AtlasChart, AtlasPoint};
use crate::bench;
use crate::messages;

/// Name of the table of an atlas in its folder.
const ATLAS: &str = "atlas.csv";

/// Longest round trip for which sessions are run \[ms\]; beyond, the displayed stiffness is from formulas.
const RUN_MS_MAX: f64 = 2000.0;

/// Records at the start that are not counted, while the clocks synchronise.
const SETTLE: usize = 500;

/// Reads an atlas of `palpate atlas`.
///
/// # Errors
/// [`Failure::Usage`] naming the file and the error.
pub fn read(path: &Path) -> Result<Atlas, Failure> {
    let file = if path.is_dir() {
        path.join(ATLAS)
    } else {
        path.to_owned()
    };
    let name = file.display().to_string();
    let invalid =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("--atlas {name}: {error}"));
    let text = files::read_text(&file).map_err(|error| {
        invalid(&format!(
            "{error}; expected the folder of `palpate atlas`, or its {ATLAS}"
        ))
    })?;
    let points = atlas::table::parse(&text).map_err(|error| invalid(&error))?;
    Ok(Atlas { name, points })
}

/// Finds the part of an atlas that a link needs.
///
/// # Errors
/// [`Failure`] if a session cannot be run.
pub fn find_atlas(
    link: &LinkEstimate,
    seed: u64,
    points: Vec<AtlasPoint>,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Atlas, Failure> {
    let jobs = pool::cores();
    // points after a stop still have their formulas
    let points: Vec<AtlasPoint> = points
        .into_iter()
        .map(|point| match point.chart {
            AtlasChart::Displayed => point.displayed_by_formula(),
            _ => point,
        })
        .collect();
    // a press through a longer line would take too long
    let points = match link.rtt_ms_p50 <= RUN_MS_MAX {
        true => atlas::find_points(points, jobs, seed, stop, &|done| progress.set_done(done))?,
        false => points,
    };
    Ok(Atlas {
        name: ATLAS.into(),
        points,
    })
}

/// Writes the table of an atlas to a folder.
///
/// # Errors
/// As [`output::write`].
pub fn write_atlas(atlas: &Atlas, folder: &Path) -> Result<(), Failure> {
    output::write(&folder.join(ATLAS), atlas::table::csv(&atlas.points))
}

/// Formats a proposal as JSON, with the method of measurement.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be serialised.
pub fn json(proposal: &Proposal, method: &str) -> Result<String, Failure> {
    let refused = |error| Failure::Refused(format!("tune.json: {error}"));
    let mut json = serde_json::to_value(proposal).map_err(refused)?;
    json["schema"] = "palpate-tune/1.2".into();
    json["measured"] = method.into();
    messages::json(&json, "tune.json")
}

/// Measures the bus between two processes of this machine.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be measured.
pub fn local(stop: &AtomicBool) -> Result<LinkEstimate, Failure> {
    let bus = bench::bus(stop)
        .map_err(|abort| abort.unwrap_or_else(|| Failure::Refused("bench: interrupted".into())))?;
    let quiet = bus.quiet;
    Ok(LinkEstimate {
        rtt_ms_p50: quiet.zenoh.us_p50 * 1e-3,
        rtt_ms_p99: quiet.zenoh.us_p99 * 1e-3,
        loss: Some(f64::from(quiet.zenoh_lost) / f64::from(bench::ROUNDS)),
        ..LinkEstimate::default()
    })
}

/// Measures the link to a running slave, by a master that nobody holds.
///
/// # Errors
/// [`Failure::Refused`] if no frame came back.
pub fn remote(
    link: &SideLink<'_>,
    duration_s: f64,
    config: &Config,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<LinkEstimate, Failure> {
    let mut config = config.clone();
    config.operator.grip = Grip::None;
    config.duration_s = duration_s;
    let options = SideOptions {
        side: Side::Master,
        out: folder.to_owned(),
        session: live::bus_config(link, &config, Side::Master)?,
        keys: link.keys.cloned(),
        ticks_max: Some((config.duration_s / PERIOD.s()).round() as u64),
        status_lines: false,
        console: None,
        handover_wait: None,
        force_handover: Arc::default(),
        notices: None,
        stop: Arc::clone(stop),
    };
    let Some(report) = run_side(&config, &options)? else {
        let stopped = "--connect: ended on request before the other side was found";
        return Err(Failure::Refused(stopped.into()));
    };
    let received = report.bus.received;
    // overtaken frames arrived as well, though they were not used
    let received = received.admitted + received.late + received.stale;
    let path = folder.join(record::RECORDING);
    let recording = record::read(&path).map_err(|error| Failure::Refused(error.to_string()))?;
    link_from_records(&recording.master, received).ok_or_else(|| {
        let expected = "expected a running `palpate slave` there";
        Failure::Refused(format!("--connect: no frame came back; {expected}"))
    })
}

/// Link from the master's records, with the number of received frames; none without a frame.
fn link_from_records(master: &[TickRecord], received: u64) -> Option<LinkEstimate> {
    let synchronised = || master.iter().skip(SETTLE).filter(|r| r.rtt_ns > 0);
    let mut trips: Vec<f64> = synchronised().map(|r| r.rtt_ns as f64 * 1e-6).collect();
    let last = synchronised().next_back()?;
    let first = master.iter().find(|r| r.received_sequence > 0)?;
    let sent = (last.received_sequence + 1).checked_sub(first.received_sequence)?;
    let mut newest = 0;
    let fresh = synchronised()
        .filter(|r| std::mem::replace(&mut newest, r.received_sequence) != r.received_sequence);
    let oneway: Vec<f64> = fresh
        .filter(|r| r.oneway_ns >= 0)
        .map(|r| r.oneway_ns as f64 * 1e-6)
        .collect();
    let rtt_ms_p50 = percentile(&mut trips, 0.5)?;
    let back_ms = percentile(&mut oneway.clone(), 0.5);
    Some(LinkEstimate {
        rtt_ms_p50,
        rtt_ms_p99: percentile(&mut trips, 0.99)?,
        // the way back is timed by both clocks, within their offset's bound; the way forward is the rest of the
        // round trip
        oneway_ms_fwd: back_ms.map(|back_ms| (rtt_ms_p50 - back_ms).max(0.0)),
        oneway_ms_back: back_ms,
        jitter_ms: deviation(&oneway),
        loss: (sent > 0).then(|| (1.0 - received as f64 / sent as f64).clamp(0.0, 1.0)),
        offset_bound_ms: Some(last.oneway_bound_ns as f64 * 1e-6).filter(|&ms| ms >= 0.0),
    })
}

/// Formats a proposal for a terminal.
#[must_use]
pub fn proposal_text(proposal: &Proposal, method: &str, folder: &Path) -> String {
    let link = &proposal.link;
    let share =
        |value: Option<f64>| value.map_or("unknown".to_owned(), |v| format!("{:.2} %", 100.0 * v));
    let ms = |value: Option<f64>| value.map_or("unknown".to_owned(), |v| format!("{v:.2} ms"));
    let way = |value: Option<f64>| match value.and(link.offset_bound_ms) {
        Some(bound_ms) => format!("{} within {bound_ms:.2} ms", ms(value)),
        None => ms(value),
    };
    let mut text = format!(
        "link       round trip {:.2} ms, 99 % below {:.2} ms, there {}, back {}; jitter {}, loss {} ({method})\n",
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
            row.method
        );
    }
    let _ = writeln!(text, "\nresults    {}", folder.display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atlas_is_read_from_folder_or_file_and_errors_name_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = read(folder.path()).expect_err("empty").to_string();
        assert!(
            error.contains("--atlas") && error.contains(ATLAS),
            "{error}"
        );
        let path = folder.path().join(ATLAS);
        let table = atlas::table::csv(&atlas::plan());
        std::fs::write(&path, &table).expect("writable");
        let [one, other] = [folder.path(), &path].map(|path| read(path).expect("an atlas"));
        assert_eq!(one, other);
        std::fs::write(&path, "a,b\n1,2\n").expect("writable");
        let error = read(&path).expect_err("another table").to_string();
        assert!(error.contains("no column"), "{error}");
    }

    #[test]
    fn link_estimate_follows_from_records() {
        let record = |k: u64| TickRecord {
            tick: k,
            rtt_ns: 40_000_000,
            // estimate of the clocks from frames alone: half of the round trip, within that bound
            oneway_ns: 20_000_000,
            oneway_bound_ns: 20_000_000,
            received_sequence: k,
            ..TickRecord::default()
        };
        let records: Vec<TickRecord> = (0..3000).map(record).collect();
        let link = link_from_records(&records, 2700).expect("frames");
        assert_eq!((link.rtt_ms_p50, link.jitter_ms), (40.0, Some(0.0)));
        assert_eq!(
            (link.oneway_ms_fwd, link.oneway_ms_back),
            (Some(20.0), Some(20.0))
        );
        assert!(link.loss.is_some_and(|loss| (loss - 0.1).abs() < 0.01));
        assert_eq!(link.offset_bound_ms, Some(20.0));
        assert_eq!(
            link_from_records(&vec![TickRecord::default(); 3000], 0),
            None
        );
    }
}
