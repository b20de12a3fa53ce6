//! `palpate identify`: what recordings tell of the stiffness of layers and lumps.
//!
//! Source: ours. [`palpate_analysis::identify`] fits it.

use palpate_analysis::identify::{Touched, stated, table};
use palpate_analysis::{Failure, output};

use super::Done;
use crate::cli::IdentifyArgs;
use crate::progress::{Progress as _, Terminal};

/// Fit the scene's stiffnesses to recordings, and write `tissue.toml`, `report.html` and
/// `identify.json`.
///
/// # Errors
/// [`Failure::Usage`] naming the file if a recording or the scene cannot be used.
pub fn identify(arguments: &IdentifyArgs) -> Result<Done, Failure> {
    // fields that are wrong are so whatever was recorded
    arguments.fields.over(None)?;
    let (twin, over) = (arguments.twin.as_deref(), |config| {
        arguments.fields.over(config)
    });
    let touched = Touched::read(&arguments.recordings, twin, arguments.seconds, &over)?;
    let folder = output::folder(arguments.out.as_deref(), "identify")?;
    let progress = Terminal::line("identify", arguments.quiet || arguments.json);
    progress.say(&format!(
        "{} samples; the tissue is touched again some dozens of times",
        touched.samples()
    ));
    let fit = touched.fit()?;
    drop(progress);
    fit.write(&folder)?;
    let held = fit.checks.iter().all(|check| check.held);
    let stdout = match (arguments.json, arguments.quiet) {
        (true, _) => fit.json,
        (false, true) => String::new(),
        (false, false) => {
            let more = if arguments.verbose {
                stated(&fit.checks)
            } else {
                String::new()
            };
            format!(
                "{}{more}results    {}\n",
                table(&fit.found),
                folder.display()
            )
        }
    };
    Ok(Done {
        stdout,
        held,
        warning: fit.warning,
    })
}
