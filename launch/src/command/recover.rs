//! `palpate recover`: joins and judges what a killed session left.
//!
//! Source: ours. [`palpate_analysis::recovery`] does it.

use palpate_analysis::{Failure, recovery};

use super::{CommandOutcome, json_or_text};
use crate::cli::RecoverArgs;

/// Recovers a session in its folder.
///
/// # Errors
/// [`Failure::Usage`] if nothing is to recover, [`Failure::Refused`] if a file cannot be read or written.
pub(super) fn recover(arguments: &RecoverArgs) -> Result<CommandOutcome, Failure> {
    let folder = &arguments.folder;
    let recovered = recovery::recover(folder)?;
    let summary = &recovered.conclusion.summary;
    let words = || {
        let cuts: String = recovered
            .cuts
            .iter()
            .map(|cut| recovery::words(cut) + "\n")
            .collect();
        let (ticks, folder) = (recovered.ticks, folder.display());
        let table = &recovered.conclusion.table;
        format!("{table}\n{ticks} records are whole. {cuts}results    {folder}\n")
    };
    let json = || Ok(summary.to_json() + "\n");
    Ok(CommandOutcome {
        checks_passed: summary.is_good(),
        ..CommandOutcome::unchecked(json_or_text(arguments.json, arguments.quiet, json, words)?)
    })
}
