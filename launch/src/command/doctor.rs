//! `palpate doctor`: what this machine allows.

use palpate_analysis::Failure;
use palpate_session::doctor::DoctorReport;
use palpate_transport::Span;

use super::Done;
use crate::cli::DoctorArgs;

/// How long the timer is measured.
const TIMER_SPAN: Span = Span(1_000_000_000);

/// Look at the machine. Nothing is demanded of it, so nothing fails.
///
/// # Errors
/// [`Failure::Refused`] if the findings cannot be put into words.
pub fn doctor(arguments: &DoctorArgs) -> Result<Done, Failure> {
    let report = DoctorReport::examine(TIMER_SPAN);
    let stdout = if arguments.json {
        serde_json::to_string_pretty(&report)
            .map_err(|error| Failure::Refused(format!("doctor: {error}")))?
    } else {
        report.to_string()
    };
    Ok(Done {
        stdout: stdout + "\n",
        held: true,
        ..Done::default()
    })
}
