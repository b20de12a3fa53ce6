//! What is known of a recording that was run again, and whether it did the same.
//!
//! Source: ours. [`palpate_session::replay`] runs the ticks.

use std::fmt::Write as _;

use palpate_session::config::Config;
use palpate_session::record::{self, Recording};
use palpate_session::replay::same::{self, Difference, Replayed};
use palpate_session::replay::trace_hash;
use palpate_transport::trace::Side;

use crate::metrics::{SessionFacts, StrokeFacts, TickLosses};
use crate::{Failure, truth};

/// What a replay knows beside the records.
///
/// # Errors
/// [`Failure::Usage`] if a scene of it cannot be used.
pub fn facts(
    config: &Config,
    recording: &Recording,
    replayed: &Replayed,
) -> Result<SessionFacts, Failure> {
    let [from_master, from_slave] = &replayed.sent_ticks;
    let mut facts = SessionFacts {
        command: "replay".into(),
        seed: Some(config.seed),
        trace_hash: Some(trace_hash(&replayed.master, &replayed.slave)),
        mode: config.modes(),
        losses: TickLosses::NONE,
        sites: truth::sites(config, &replayed.master)?,
        twin: truth::twin(config, &[])?,
        reconstruction: replayed.reconstruction,
        strokes: StrokeFacts::of(recording),
        ..SessionFacts::default()
    };
    if same::is_alone(recording) {
        facts.sides = vec![Side::Master];
        facts.networked = false;
    }
    if recording.facts.get(same::COMMAND).map(String::as_str) == Some("lab") {
        let delays = truth::delays(&replayed.master, &replayed.slave, [from_master, from_slave]);
        facts.oneway = [&delays.slave_ns, &delays.master_ns].map(|delays| truth::median(delays));
        facts.oneway_truth = Some(delays);
    }
    Ok(facts)
}

/// Whether what was run is the same, how much of the recording that is, and what is wrong with it.
#[must_use]
pub fn verdict(recording: &Recording, replayed: &Replayed) -> String {
    let mut words = sameness(recording, replayed);
    if replayed.unrun > 0 {
        let _ = write!(
            words,
            " {} further recorded ticks could not be run: the frames that they took are not in the recording.",
            replayed.unrun
        );
    }
    if let Some(damage) = &recording.damage {
        let _ = write!(words, " The recording is not whole: {damage}.");
    }
    words
}

fn sameness(recording: &Recording, replayed: &Replayed) -> String {
    let ticks = replayed.master.len() + replayed.slave.len();
    let Some(first) = replayed.first else {
        let hash = trace_hash(&replayed.master, &replayed.slave);
        let all = if replayed.unrun > 0 {
            "the first"
        } else {
            "all"
        };
        let (ports, sides) = match same::is_alone(recording) {
            true => ("port", "the master alone"),
            false => ("ports", "both sides"),
        };
        return format!(
            "Bit-identical: the {ports} of {all} {ticks} ticks of {sides}, trace {hash}."
        );
    };
    let Difference {
        side,
        tick,
        quantity,
        axis,
        recorded,
        replayed: now,
    } = first;
    format!(
        "Not the same: {} of {ticks} ticks differ, first tick {tick} of the {}, where {quantity}[{axis}] \
         was {recorded:e} and is {now:e}. {}",
        replayed.different,
        side.name(),
        why(recording)
    )
}

/// What may be behind a difference, as far as the recording says what wrote it.
fn why(recording: &Recording) -> String {
    match recording.facts.get(record::SOURCES) {
        Some(sources) if sources == record::OWN_SOURCES => {
            "The same sources made it, so a scene file that has changed may be why.".to_owned()
        }
        Some(sources) => format!(
            "It was made by other sources of Palpate ({sources}; these are {}), which may be why.",
            record::OWN_SOURCES
        ),
        None => "Another version of Palpate, or a scene that has changed, may be why.".to_owned(),
    }
}
