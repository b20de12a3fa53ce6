//! Verdict on a replay: facts of the session that ran again, and its bitwise comparison with the recording.
//!
//! Source: ours. [`palpate_session::replay`] runs the ticks.

use std::fmt::Write as _;

use palpate_session::config::Config;
use palpate_session::record::{self, Recording};
use palpate_session::replay::bitwise::{self, PortDifference, ReplayOutcome};
use palpate_session::replay::trace_hash;
use palpate_transport::trace::Side;

use crate::metrics::SessionFacts;
use crate::summary::{ServoSummary, TopologySummary};
use crate::{Failure, recovery, truth};

/// Returns the facts of a replayed session that its records do not show.
///
/// # Errors
/// [`Failure::Usage`] if one of its scenes cannot be used.
pub fn facts(
    config: &Config,
    recording: &Recording,
    replayed: &ReplayOutcome,
) -> Result<SessionFacts, Failure> {
    let mut facts = SessionFacts {
        sites: truth::sites(config, &replayed.master)?,
        reconstruction: replayed.reconstruction,
        ..SessionFacts::of(config, "replay")
    };
    let prefilled = &mut facts.prefilled;
    prefilled.trace_hash = Some(trace_hash(&replayed.master, &replayed.slave));
    prefilled.servo = ServoSummary::punctual();
    prefilled.twin = truth::twin_summary(config, &[])?;
    prefilled.topology = TopologySummary::of(recording);
    if bitwise::is_alone(recording) {
        (facts.only_side, facts.without_peer) = (Some(Side::Master), true);
    }
    if recording.facts.get(bitwise::COMMAND).map(String::as_str) == Some("lab") {
        let delays = truth::delays(&replayed.master, &replayed.slave, &replayed.sent_ticks);
        facts.oneway = [&delays.slave_ns, &delays.master_ns].map(|delays| truth::median(delays));
        facts.oneway_truth = Some(delays);
    }
    Ok(facts)
}

/// Returns the verdict in words: equal or not, ticks that could not be replayed, and damage of the recording.
#[must_use]
pub fn verdict(recording: &Recording, replayed: &ReplayOutcome) -> String {
    let mut text = sameness(recording, replayed);
    if replayed.skipped_ticks > 0 {
        let _ = write!(
            text,
            " {} further recorded ticks could not be replayed: the frames that they used are not in the recording.",
            replayed.skipped_ticks
        );
    }
    if let Some(damage) = &recording.damage {
        let _ = write!(text, " The recording is incomplete: {damage}.");
    }
    for cut in &recording.cuts {
        let _ = write!(text, " {}", recovery::words(cut));
    }
    text
}

fn sameness(recording: &Recording, replayed: &ReplayOutcome) -> String {
    let ticks = replayed.master.len() + replayed.slave.len();
    let Some(first) = replayed.first_difference else {
        let hash = trace_hash(&replayed.master, &replayed.slave);
        let all = if replayed.skipped_ticks > 0 {
            "the first"
        } else {
            "all"
        };
        let (ports, sides) = match bitwise::is_alone(recording) {
            true => ("port", "the master alone"),
            false => ("ports", "both sides"),
        };
        return format!(
            "Bit-identical: the {ports} of {all} {ticks} ticks of {sides}, trace {hash}."
        );
    };
    let PortDifference {
        side,
        tick,
        quantity,
        axis,
        recorded,
        replayed: now,
    } = first;
    format!(
        "Not identical: {} of {ticks} ticks differ, first tick {tick} of the {}, where {quantity}[{axis}] \
         was {recorded:e} and is {now:e}. {}",
        replayed.different_ticks,
        side.name(),
        difference_cause(recording)
    )
}

/// Possible cause of a difference, from the sources that the recording names.
fn difference_cause(recording: &Recording) -> String {
    match recording.facts.get(record::SOURCES) {
        Some(sources) if sources == record::OWN_SOURCES => {
            "The same sources made it; a changed scene file is a possible cause.".to_owned()
        }
        Some(sources) => format!(
            "It was made by other sources of Palpate ({sources}; these are {}), a possible cause.",
            record::OWN_SOURCES
        ),
        None => "Possible causes are another version of Palpate and a changed scene.".to_owned(),
    }
}
