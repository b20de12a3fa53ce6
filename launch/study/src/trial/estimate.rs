//! Estimate of the time that a trial takes, before it runs.
//!
//! Source: ours. The sessions of a live trial last as long as they say. Of a trial in virtual time some rows are begun:
//! the time to build each and the time of its first ticks give that of all. Trials whose rows ask an observer are not
//! estimated, as an observer decides how many sessions a row has.

use std::collections::BTreeMap;

use palpate_analysis::Failure;
use palpate_session::lab::VirtualSession;
use palpate_session::pool;
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD};

use super::run::TrialRun;
use super::{PlannedRow, TrialClock, TrialKind, TrialRow};

/// Time beyond which a trial needs consent \[s\].
const LONG_S: f64 = 3600.0;

/// Time of a live session besides its ticks: start, agreement, judging \[s\].
const LIVE_EXTRA_S: f64 = 3.0;

/// Rows that are begun for an estimate.
const PROBES: usize = 4;

/// Ticks of each.
const PROBE_TICKS: u64 = 300;

/// Simulated time for each core that takes less than [`LONG_S`] with any twin that passes as fast enough: no slower
/// than a tenth of real time \[s\].
const SHORT_S: f64 = 0.1 * LONG_S;

/// Refuses a trial whose missing rows would take longer than an hour, unless the user agreed.
///
/// # Errors
/// [`Failure::Usage`] with the estimate; those of a session that cannot be built.
pub fn refuse_long(
    run: &TrialRun<'_>,
    rows: &BTreeMap<usize, TrialRow>,
    agreed: bool,
) -> Result<(), Failure> {
    let (missing, _) = run.missing(rows);
    if agreed || missing.is_empty() {
        return Ok(());
    }
    let took_s = estimate_s(run, &missing)?;
    if took_s <= LONG_S {
        return Ok(());
    }
    let (count, hours) = (missing.len(), took_s / 3600.0);
    Err(Failure::Usage(format!(
        "trial `{}`: {count} rows would take about {hours:.1} h on this machine; expected --yes to run them all, or a \
         --shard of them",
        run.trial.name
    )))
}

/// Estimated time of rows \[s\]; 0 if it is unknown or certainly short.
fn estimate_s(run: &TrialRun<'_>, missing: &[PlannedRow]) -> Result<f64, Failure> {
    let trial = run.trial;
    let simulated_s: f64 = missing
        .iter()
        .map(|row| trial.conditions[row.condition].config.duration_s)
        .sum();
    if trial.clock == TrialClock::Live {
        return Ok(simulated_s + LIVE_EXTRA_S * missing.len() as f64);
    }
    let jobs = run.jobs.unwrap_or_else(pool::cores).min(pool::cores()) as f64;
    if trial.kind != TrialKind::Session || simulated_s < SHORT_S * jobs {
        return Ok(0.0);
    }
    let step = missing.len().div_ceil(PROBES);
    let (mut took_s, mut probes) = (0.0, 0.0);
    for row in missing.iter().step_by(step) {
        took_s += probe_s(run, row)?;
        probes += 1.0;
    }
    Ok(took_s / probes * missing.len() as f64 / jobs)
}

/// Estimated time of one row \[s\].
fn probe_s(run: &TrialRun<'_>, row: &PlannedRow) -> Result<f64, Failure> {
    let config = row.config(run.trial);
    let begun = MonotonicClock.now();
    let mut session = VirtualSession::new(&config)?;
    let built = MonotonicClock.now();
    let ticks = session.ticks().clamp(1, PROBE_TICKS);
    for _ in 0..ticks {
        session.step();
    }
    let per_tick_s = (MonotonicClock.now() - built).s() / ticks as f64;
    let all_s = per_tick_s * config.duration_s / PERIOD.s();
    Ok((built - begun).s() + all_s)
}
