//! `palpate tune`: measures the link and proposes what to set, with reasons.
//!
//! Source: ours. Measuring is here; [`crate::tune`] proposes. A running slave is met by a master whose
//! handle nobody holds, for a few seconds; the bus of this machine by the probe of `palpate bench`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use palpate_master::device::grip::Grip;
use palpate_transport::trace::{Side, TickRecord};

use super::{Done, Failure, interrupt, live, output};
use crate::bench::{self, BenchOptions, Part};
use crate::cli::TuneArgs;
use crate::config::Config;
use crate::lab::PERIOD;
use crate::metrics::stat::{deviation, percentile};
use crate::progress::Progress;
use crate::record;
use crate::run::{SideOptions, run_side, side};
use crate::tune::{self, Link, Proposal, Task};

/// Records at the start that are not counted: the clocks find each other.
const SETTLE: usize = 500;

/// Measure, propose, and write `tune.json`.
///
/// # Errors
/// [`Failure::Usage`] for flags that cannot be used, [`Failure::Refused`] if the link cannot be
/// measured.
pub fn tune(arguments: &TuneArgs) -> Result<Done, Failure> {
    refuse_idle(arguments)?;
    let config = arguments.session.config()?;
    let folder = output::folder(arguments.out.as_deref(), "tune")?;
    let stop = interrupt::on_ctrl_c()?;
    let progress = Progress::line("tune", arguments.quiet || arguments.json);
    let said = &arguments.session.link;
    let (link, how) = if let Some(rtt_ms) = said.rtt_ms {
        (told(rtt_ms, said.jitter_ms, said.loss), "as was said")
    } else if arguments.connect.is_empty() {
        progress.say("the bus of this machine");
        (local(&stop)?, "bus of this machine")
    } else {
        progress.say("the slave at --connect");
        (
            remote(arguments, &config, &folder, &stop)?,
            "slave at --connect",
        )
    };
    drop(progress);
    let task = Task {
        tissue_npm: arguments.stiffness,
        coupling_npm: config.slave.stiffness_npm[2],
        twin: !arguments.no_twin,
    };
    let proposal = tune::propose(&link, &task);
    let mut json = serde_json::to_value(&proposal)
        .map_err(|error| Failure::Refused(format!("tune.json: {error}")))?;
    if let serde_json::Value::Object(fields) = &mut json {
        fields.insert("schema".into(), "palpate-tune/1.0".into());
        fields.insert("measured".into(), how.into());
    }
    let json = serde_json::to_string_pretty(&json)
        .map_err(|error| Failure::Refused(format!("tune.json: {error}")))?
        + "\n";
    output::write(&folder.join("tune.json"), &json)?;
    let stdout = match (arguments.json, arguments.quiet) {
        (true, _) => json,
        (false, true) => String::new(),
        (false, false) => words(&proposal, how, &folder),
    };
    Ok(Done {
        stdout,
        warning: None,
        held: true,
    })
}

/// Refuses flags of the network that say nothing here, so that nobody believes they were heeded.
fn refuse_idle(arguments: &TuneArgs) -> Result<(), Failure> {
    let link = &arguments.session.link;
    let told = link.rtt_ms.is_some();
    if told && !arguments.connect.is_empty() {
        return Err(Failure::Usage(
            "--rtt-ms says what the link is, and --connect measures it; expected one of them"
                .into(),
        ));
    }
    let idle = [
        ("--profile", link.profile.is_some()),
        ("--trace", link.trace.is_some()),
        ("--oneway-ms-fwd", link.oneway_ms_fwd.is_some()),
        ("--oneway-ms-back", link.oneway_ms_back.is_some()),
        ("--jitter-ms", link.jitter_ms.is_some() && !told),
        ("--loss", link.loss.is_some() && !told),
        ("--burst", link.burst.is_some()),
        ("--dup", link.dup.is_some()),
        ("--reorder", link.reorder.is_some()),
        ("--rate-kbps", link.rate_kbps.is_some()),
        ("--outage", link.outage.is_some()),
    ];
    match idle.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Usage(format!(
            "{flag} says nothing to tune; expected --rtt-ms, with --jitter-ms and --loss if they are known, \
             or none of them, and the link is measured"
        ))),
    }
}

fn told(rtt_ms: f64, jitter_ms: Option<f64>, loss: Option<f64>) -> Link {
    Link {
        rtt_ms_p50: rtt_ms,
        rtt_ms_p99: rtt_ms + 2.0 * jitter_ms.unwrap_or(0.0),
        jitter_ms,
        loss,
        offset_bound_ms: None,
    }
}

/// The bus between two processes of this machine.
fn local(stop: &Arc<AtomicBool>) -> Result<Link, Failure> {
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
        jitter_ms: None,
        loss: Some(f64::from(quiet.zenoh_lost) / f64::from(options.rounds)),
        offset_bound_ms: None,
    })
}

/// A running slave, met by a master that nobody holds.
fn remote(
    arguments: &TuneArgs,
    config: &Config,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Link, Failure> {
    let mut config = config.clone();
    config.operator.grip = Grip::None;
    config.duration_s = arguments.seconds;
    let options = SideOptions {
        side: Side::Master,
        out: folder.to_owned(),
        session: live::session_at((&arguments.connect, &[]), &config, Side::Master)?,
        ticks_max: Some((arguments.seconds / PERIOD.s()).round() as u64),
        status_lines: false,
        stop: Arc::clone(stop),
    };
    let came = run_side(&config, &options)
        .map_err(live::failure)?
        .bus
        .received;
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
    Some(Link {
        rtt_ms_p50: percentile(&mut trips, 0.5)?,
        rtt_ms_p99: percentile(&mut trips, 0.99)?,
        jitter_ms: deviation(&oneway),
        loss: (sent > 0).then(|| (1.0 - came as f64 / sent as f64).clamp(0.0, 1.0)),
        offset_bound_ms: Some(last.oneway_bound_ns as f64 * 1e-6).filter(|&ms| ms >= 0.0),
    })
}

fn words(proposal: &Proposal, how: &str, folder: &Path) -> String {
    let link = &proposal.link;
    let share =
        |value: Option<f64>| value.map_or("unknown".to_owned(), |v| format!("{:.2} %", 100.0 * v));
    let ms = |value: Option<f64>| value.map_or("unknown".to_owned(), |v| format!("{v:.2} ms"));
    let mut text = format!(
        "link       round trip {:.2} ms, 99 % below {:.2} ms; jitter {}, loss {}, offset known to {} ({how})\n",
        link.rtt_ms_p50,
        link.rtt_ms_p99,
        ms(link.jitter_ms),
        share(link.loss),
        ms(link.offset_bound_ms)
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
        "\n{:>8}{:>12}{:>10}{:>10}{:>10}",
        "b", "felt N/m", "error %", "lump x", "kg"
    );
    for row in &proposal.impedances {
        let _ = writeln!(
            text,
            "{:>8}{:>12.1}{:>+10.0}{:>10.2}{:>10.3}",
            row.impedance_nspm,
            row.displayed_npm,
            100.0 * row.stiffness_error,
            1.0 + row.contrast,
            row.inertia_kg
        );
    }
    let _ = writeln!(text, "\nresults    {}", folder.display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_tell_the_link() {
        let record = |k: u64| TickRecord {
            tick: k,
            rtt_ns: 40_000_000,
            oneway_ns: 20_000_000,
            oneway_bound_ns: 1_000_000,
            received_sequence: k,
            ..TickRecord::default()
        };
        let records: Vec<TickRecord> = (0..3000).map(record).collect();
        let link = seen(&records, 2700).expect("frames");
        assert_eq!((link.rtt_ms_p50, link.jitter_ms), (40.0, Some(0.0)));
        assert!(link.loss.is_some_and(|loss| (loss - 0.1).abs() < 0.01));
        assert_eq!(link.offset_bound_ms, Some(1.0));
        assert_eq!(seen(&vec![TickRecord::default(); 3000], 0), None);
    }
}
