//! How every session ends, live or virtual: judged, measured, reported, and put in a few lines.
//!
//! Source: ours. The auditor sees the records alone; what is known besides goes to the metrics.

use std::path::Path;

use palpate_transport::coupling::Mode;
use palpate_transport::trace::TickRecord;

use super::{Done, Failure, output, table};
use crate::audit::{self, Ports};
use crate::cli::OutputArgs;
use crate::config::Config;
use crate::metrics::{self, SessionFacts, Traces};
use crate::report::{self, Comparison, ReportInput};
use crate::summary::{Limits, Summary};

/// Points over time in the plots.
const PLOT_SAMPLES: usize = 600;

/// A session as it ended.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What was to run.
    pub config: &'a Config,
    /// Records of the operator's side.
    pub master: &'a [TickRecord],
    /// Records of the remote side.
    pub slave: &'a [TickRecord],
    /// What the records cannot show.
    pub facts: &'a SessionFacts,
    /// The same session coupled by waves, if this one was not.
    pub comparison: Option<&'a Comparison>,
    /// Sentences for the reader: which network, how fast, what the machine refused.
    pub remarks: &'a [String],
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Concluded {
    /// The numbers and the checks.
    pub summary: Summary,
    /// The most important of them, for a terminal.
    pub table: String,
}

/// Judge and measure a session; nothing is written.
#[must_use]
pub fn measure(evidence: &Evidence<'_>) -> (Summary, audit::Audit) {
    let Evidence {
        config,
        master,
        slave,
        facts,
        ..
    } = *evidence;
    let slave_clock_ahead = facts.slave_clock_ahead;
    let audit = audit::audit(
        &Ports {
            master,
            slave,
            slave_clock_ahead,
        },
        PLOT_SAMPLES,
    );
    let mut summary = metrics::measure(&Traces { master, slave }, &audit, facts);
    let force_n_max = config.master.guard.force_n_max;
    // the guard limits axis by axis; the peak is that of the three together
    let force_n = force_n_max[..3]
        .iter()
        .map(|limit| limit * limit)
        .sum::<f64>()
        .sqrt();
    summary.state_checks(&Limits {
        force_n,
        ..Limits::default()
    });
    (summary, audit)
}

/// Judge and measure a session, and write `summary.json` and `report.html`.
///
/// # Errors
/// [`Failure::Refused`] if a file cannot be written.
pub fn conclude(evidence: &Evidence<'_>, folder: &Path) -> Result<Concluded, Failure> {
    let (summary, audit) = measure(evidence);
    output::write(&folder.join("summary.json"), &(summary.to_json() + "\n"))?;
    let page = report::render(&ReportInput {
        title: &evidence.config.name,
        operator: "simulated operator",
        summary: &summary,
        traces: Traces {
            master: evidence.master,
            slave: evidence.slave,
        },
        audit: &audit,
        facts: evidence.facts,
        comparison: evidence.comparison,
        config: &evidence.config.to_toml(),
        notes: evidence.remarks,
    });
    output::write(&folder.join("report.html"), &page)?;
    let table = table::table(&summary, evidence);
    Ok(Concluded { summary, table })
}

impl Concluded {
    /// What belongs on stdout, and whether all checks held.
    #[must_use]
    pub fn done(self, wanted: &OutputArgs, folder: &Path) -> Done {
        let held = self.summary.all_held();
        let stdout = match (wanted.json, wanted.quiet) {
            (true, _) => self.summary.to_json() + "\n",
            (false, true) => String::new(),
            (false, false) => {
                let more = if wanted.verbose {
                    table::guards(&self.summary)
                } else {
                    String::new()
                };
                format!("{}{more}\nresults    {}\n", self.table, folder.display())
            }
        };
        Done { stdout, held }
    }
}

/// Whether a session deserves a run in wave mode beside it: one that renders a twin over a delay.
#[must_use]
pub fn wants_comparison(config: &Config) -> bool {
    let delayed = config.link.forward.oneway_ms + config.link.back.oneway_ms > 0.0;
    let short = config.duration_s <= COMPARED_S_MAX;
    config.coupling.mode.resolved() == Mode::Mmt && delayed && short
}

/// Longest session that is run a second time for the comparison \[s\].
const COMPARED_S_MAX: f64 = 300.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_records_states_nothing_and_invents_nothing() {
        let (config, facts) = (Config::default(), SessionFacts::default());
        let evidence = Evidence {
            config: &config,
            master: &[],
            slave: &[],
            facts: &facts,
            comparison: None,
            remarks: &[],
        };
        let (summary, _) = measure(&evidence);
        assert!(summary.checks.is_empty());
        assert!(table::table(&summary, &evidence).contains("unknown violations"));
    }

    #[test]
    fn only_a_twin_over_a_delay_is_compared() {
        let mut config = Config::default();
        assert!(wants_comparison(&config));
        config.coupling.mode = Mode::Wave;
        assert!(!wants_comparison(&config));
        config.coupling.mode = Mode::Mmt;
        config.link.forward.oneway_ms = 0.0;
        config.link.back.oneway_ms = 0.0;
        assert!(!wants_comparison(&config));
    }
}
