//! `palpate identify`: estimates the stiffness of layers and lumps from recordings.
//!
//! Source: ours. [`palpate_analysis::identify`] fits it.

use palpate_analysis::identify::{TouchRecordings, check_lines, table};
use palpate_analysis::{Failure, output};

use super::{CommandOutcome, if_verbose, json_or_text};
use crate::cli::IdentifyArgs;
use crate::progress::{Progress as _, TerminalProgress};

/// Fits the scene's stiffnesses to recordings, and writes `tissue.toml`, `report.html` and
/// `identify.json`.
///
/// # Errors
/// [`Failure::Usage`] names the file if a recording or the scene cannot be used.
pub(super) fn identify(arguments: &IdentifyArgs) -> Result<CommandOutcome, Failure> {
    // invalid fields are refused before the recordings are read
    arguments.fields.resolve(None)?;
    let (twin, over) = (arguments.twin.as_deref(), |config| {
        arguments.fields.resolve(config)
    });
    let recordings = TouchRecordings::read(&arguments.recordings, twin, arguments.seconds, &over)?;
    let chosen = arguments.earlier.chosen(arguments.out.as_deref());
    let results = &["tissue.toml", "identify.json", "report.html"];
    let folder = output::folder(chosen, "identify", results)?;
    let progress = TerminalProgress::status_line("identify", arguments.quiet || arguments.json);
    progress.set_status(&format!(
        "{} samples; the contact is simulated some dozens of times",
        recordings.samples()
    ));
    let fit = recordings.fit()?;
    drop(progress);
    fit.write(&folder)?;
    let passed = fit.checks.iter().all(|check| check.held);
    let words = || {
        let more = if_verbose(arguments.verbose, || check_lines(&fit.checks));
        let folder = folder.display();
        format!("{}{more}results    {folder}\n", table(&fit.identified))
    };
    Ok(CommandOutcome {
        stdout: json_or_text(arguments.json, arguments.quiet, || Ok(fit.json), words)?,
        checks_passed: passed,
        warning: fit.warning,
    })
}
