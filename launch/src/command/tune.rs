//! `palpate tune`: measures the link and proposes settings, with reasons.
//!
//! Source: ours. [`palpate_study::tune`] measures, and proposes from an atlas.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_analysis::live::SideLink;
use palpate_analysis::{Failure, output};
use palpate_session::config::Config;
use palpate_study::tune::measure::{
    find_atlas, json, local, proposal_text, read, remote, write_atlas,
};
use palpate_study::tune::{self, LinkEstimate, TuneTask};

use super::{CommandOutcome, interrupt, json_or_text};
use crate::cli::TuneArgs;
use crate::cli::session_flags::LinkArgs;
use crate::progress::{Progress as _, TerminalProgress};

/// Files that it writes; the last ones are those of a measurement at `--connect`.
const RESULTS: &[&str] = &[
    "tune.json",
    "atlas.csv",
    "recording.mcap",
    "recording.mcap.part",
    "metadata.yaml",
    "side.json",
];

/// Measures, proposes, and writes `tune.json`, with the atlas found for it.
///
/// # Errors
/// [`Failure::Usage`] for flags that cannot be used, [`Failure::Refused`] if the link cannot be
/// measured.
pub(super) fn tune(arguments: &TuneArgs) -> Result<CommandOutcome, Failure> {
    refuse_unused_flags(arguments)?;
    let config = arguments.session.config()?;
    let known = arguments.atlas.as_deref().map(read).transpose()?;
    let wanted = &arguments.output;
    let folder = output::folder(wanted.chosen(), "tune", RESULTS)?;
    let stop = interrupt::on_ctrl_c()?;
    let Some((link, how)) = link_estimate(arguments, &config, &folder, &stop)? else {
        let warning = "interrupted before the link was known: nothing is proposed";
        return Ok(CommandOutcome {
            warning: Some(warning.to_owned()),
            ..CommandOutcome::unchecked(String::new())
        });
    };
    let task = TuneTask {
        tissue_npm: arguments.stiffness,
        coupling_npm: config.slave.stiffness_npm[2],
        twin: !arguments.no_twin,
    };
    let atlas = match known {
        Some(known) => known,
        None => {
            let points = tune::points_to_find(&link, &task);
            let progress = TerminalProgress::bar("atlas", points.len() as u64, wanted.is_silent());
            let found = find_atlas(&link, config.seed, points, &progress, &stop)?;
            write_atlas(&found, &folder)?;
            found
        }
    };
    let proposal = tune::propose(&link, &task, &atlas)?;
    let json = json(&proposal, how)?;
    output::write(&folder.join("tune.json"), &json)?;
    let words = || proposal_text(&proposal, how, &folder);
    let early = stop.load(Ordering::Relaxed);
    Ok(CommandOutcome {
        stdout: json_or_text(wanted.json, wanted.quiet, || Ok(json), words)?,
        warning: early.then(|| "interrupted before its end: the known part is used".to_owned()),
        checks_passed: true,
    })
}

/// The link as given or measured, with its source; none if stopped before it was known.
fn link_estimate(
    arguments: &TuneArgs,
    config: &Config,
    folder: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Option<(LinkEstimate, &'static str)>, Failure> {
    let wanted = &arguments.output;
    let progress = TerminalProgress::status_line("tune", wanted.is_silent());
    let flags = &arguments.session.link;
    if let Some(link) = stated_link(flags) {
        return Ok(Some((link, "as given")));
    }
    let (link, how) = if arguments.connect.is_empty() {
        progress.set_status("the bus of this machine");
        (local(stop), "bus of this machine")
    } else {
        progress.set_status("the slave at --connect");
        let listening_s = arguments.listening_s().map_err(Failure::Usage);
        let keys = arguments.security.keys()?;
        let link = SideLink {
            connect: &arguments.connect,
            listen: &[],
            keys: keys.as_ref(),
            insecure: arguments.security.insecure,
        };
        let link = listening_s.and_then(|s| remote(&link, s, config, folder, stop));
        (link, "slave at --connect")
    };
    match link {
        // an unfinished measurement after a stop is no failure
        Err(_) if stop.load(Ordering::Relaxed) => Ok(None),
        link => Ok(Some((link?, how))),
    }
}

/// Refuses flags of the network that have no effect here.
fn refuse_unused_flags(arguments: &TuneArgs) -> Result<(), Failure> {
    let link = &arguments.session.link;
    let directions = [
        ("--oneway-ms-fwd", "--oneway-ms-back", link.oneway_ms_fwd),
        ("--oneway-ms-back", "--oneway-ms-fwd", link.oneway_ms_back),
    ];
    let alone = directions.iter().filter(|(.., given)| given.is_some());
    if let [(flag, other, _)] = *alone.collect::<Vec<_>>() {
        return Err(Failure::Usage(format!(
            "{flag} gives one direction of the link; expected also {other}, or --rtt-ms for both"
        )));
    }
    let is_stated = stated_link(link).is_some();
    if is_stated && !arguments.connect.is_empty() {
        return Err(Failure::Usage(
            "--rtt-ms, or the delays of both directions, give the link, and --connect measures it; expected one \
             of them"
                .into(),
        ));
    }
    let unused = [
        ("--profile", link.profile.is_some()),
        ("--trace", link.trace.is_some()),
        ("--jitter-ms", link.jitter_ms.is_some() && !is_stated),
        ("--loss", link.loss.is_some() && !is_stated),
        ("--burst", link.burst.is_some()),
        ("--dup", link.dup.is_some()),
        ("--reorder", link.reorder.is_some()),
        ("--rate-kbps", link.rate_kbps.is_some()),
        ("--outage", link.outage.is_some()),
    ];
    match unused.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::Usage(format!(
            "{flag} has no effect on tune; expected --rtt-ms, or --oneway-ms-fwd with --oneway-ms-back, with --jitter-ms \
             and --loss if known, or none of them to measure the link"
        ))),
    }
}

/// Link given by flags, by its round trip or by both directions; none if they do not give it.
fn stated_link(flags: &LinkArgs) -> Option<LinkEstimate> {
    let both = flags.oneway_ms_fwd.zip(flags.oneway_ms_back);
    let rtt_ms = flags.rtt_ms.or(both.map(|(fwd, back)| fwd + back))?;
    Some(LinkEstimate {
        rtt_ms_p50: rtt_ms,
        // the jitter of both directions adds up at most
        rtt_ms_p99: rtt_ms + 2.0 * flags.jitter_ms.unwrap_or(0.0),
        oneway_ms_fwd: flags.oneway_ms_fwd,
        oneway_ms_back: flags.oneway_ms_back,
        jitter_ms: flags.jitter_ms,
        loss: flags.loss,
        offset_bound_ms: None,
    })
}
