//! `palpate doctor`: reports the capabilities of this machine.

use palpate_analysis::Failure;
use palpate_session::doctor::DoctorReport;
use palpate_study::messages;
use palpate_transport::Span;

use super::CommandOutcome;
use crate::cli::DoctorArgs;

/// Length of the timer measurement.
const TIMER_SPAN: Span = Span(1_000_000_000);

/// Checks the machine. There are no requirements, so no check fails.
///
/// # Errors
/// [`Failure::Refused`] if the report cannot be encoded.
pub(super) fn doctor(arguments: &DoctorArgs) -> Result<CommandOutcome, Failure> {
    let report = DoctorReport::examine(TIMER_SPAN);
    Ok(CommandOutcome::unchecked(match arguments.json {
        true => messages::json(&report, "doctor")?,
        false => format!("{report}\n"),
    }))
}
