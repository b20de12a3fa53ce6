//! `palpate tune`: measures the link and proposes what to set, with reasons.
//!
//! Source: ours. [`palpate_study::tune`] measures, and proposes from an atlas.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::{Failure, output};
use palpate_session::config::Config;
use palpate_study::tune::measure::{drawn, json, keep, local, read, remote, words};
use palpate_study::tune::{self, Link, Task};

use super::{Done, interrupt};
use crate::cli::TuneArgs;
use crate::cli::flags::LinkArgs;
use crate::progress::{Progress as _, Terminal};

/// Measure, propose, and write `tune.json`, with the atlas that was drawn for it.
///
/// # Errors
/// [`Failure::Usage`] for flags that cannot be used, [`Failure::Refused`] if the link cannot be
/// measured.
pub fn tune(arguments: &TuneArgs) -> Result<Done, Failure> {
    refuse_idle(arguments)?;
    let config = arguments.session.config()?;
    let known = arguments.atlas.as_deref().map(read).transpose()?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.out.as_deref(), "tune")?;
    let stop = interrupt::on_ctrl_c()?;
    let Some((link, how)) = measured(arguments, &config, &folder, &stop)? else {
        return Ok(Done {
            stdout: String::new(),
            warning: Some(
                "ended before the link was known, as was asked: nothing is proposed".into(),
            ),
            held: true,
        });
    };
    let task = Task {
        tissue_npm: arguments.stiffness,
        coupling_npm: config.slave.stiffness_npm[2],
        twin: !arguments.no_twin,
    };
    let atlas = match known {
        Some(known) => known,
        None => {
            let points = tune::plan(&link, &task);
            let hidden = wanted.quiet || wanted.json;
            let progress = Terminal::bar("atlas", points.len() as u64, hidden);
            let found = drawn(&link, config.seed, points, &progress, &stop)?;
            keep(&found, &folder)?;
            found
        }
    };
    let proposal =
        tune::propose(&link, &task, &atlas).map_err(|error| Failure::Usage(error.to_string()))?;
    let json = json(&proposal, how)?;
    output::write(&folder.join("tune.json"), &json)?;
    let stdout = match (wanted.json, wanted.quiet) {
        (true, _) => json,
        (false, true) => String::new(),
        (false, false) => words(&proposal, how, &folder),
    };
    let early = stop.load(Ordering::Relaxed);
    Ok(Done {
        stdout,
        warning: early
            .then(|| "ended before its time, as was asked: what was known is used".to_owned()),
        held: true,
    })
}

/// The link as it was said or is measured, and how; nothing if that was stopped before anything was known.
fn measured(
    arguments: &TuneArgs,
    config: &Config,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Option<(Link, &'static str)>, Failure> {
    let wanted = &arguments.output;
    let progress = Terminal::line("tune", wanted.quiet || wanted.json);
    let said = &arguments.session.link;
    if let Some(link) = told(said) {
        return Ok(Some((link, "as was said")));
    }
    let (link, how) = if arguments.connect.is_empty() {
        progress.say("the bus of this machine");
        (local(stop), "bus of this machine")
    } else {
        progress.say("the slave at --connect");
        let listens_s = arguments.listens_s().map_err(Failure::Usage);
        let link = listens_s.and_then(|s| remote(&arguments.connect, s, config, folder, stop));
        (link, "slave at --connect")
    };
    match link {
        // what a stop leaves undone is no failure
        Err(_) if stop.load(Ordering::Relaxed) => Ok(None),
        link => Ok(Some((link?, how))),
    }
}

/// Refuses flags of the network that say nothing here, so that nobody believes they were heeded.
fn refuse_idle(arguments: &TuneArgs) -> Result<(), Failure> {
    let link = &arguments.session.link;
    let ways = [
        ("--oneway-ms-fwd", "--oneway-ms-back", link.oneway_ms_fwd),
        ("--oneway-ms-back", "--oneway-ms-fwd", link.oneway_ms_back),
    ];
    let alone = ways.iter().filter(|(.., given)| given.is_some());
    if let [(flag, other, _)] = *alone.collect::<Vec<_>>() {
        return Err(Failure::Usage(format!(
            "{flag} says one way of the link; expected {other} beside it, or --rtt-ms for both together"
        )));
    }
    let told = told(link).is_some();
    if told && !arguments.connect.is_empty() {
        return Err(Failure::Usage(
            "--rtt-ms, or the delays of both ways, say what the link is, and --connect measures it; expected one \
             of them"
                .into(),
        ));
    }
    let idle = [
        ("--profile", link.profile.is_some()),
        ("--trace", link.trace.is_some()),
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
            "{flag} says nothing to tune; expected --rtt-ms, or --oneway-ms-fwd with --oneway-ms-back, with --jitter-ms \
             and --loss if they are known, or none of them, and the link is measured"
        ))),
    }
}

/// The link that flags say, by its round trip or by both ways; nothing if they do not.
fn told(said: &LinkArgs) -> Option<Link> {
    let both = said.oneway_ms_fwd.zip(said.oneway_ms_back);
    let rtt_ms = said.rtt_ms.or(both.map(|(fwd, back)| fwd + back))?;
    Some(Link {
        rtt_ms_p50: rtt_ms,
        // the jitter of either way is added at most
        rtt_ms_p99: rtt_ms + 2.0 * said.jitter_ms.unwrap_or(0.0),
        oneway_ms_fwd: said.oneway_ms_fwd,
        oneway_ms_back: said.oneway_ms_back,
        jitter_ms: said.jitter_ms,
        loss: said.loss,
        offset_bound_ms: None,
    })
}
