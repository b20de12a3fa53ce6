//! Changed settings for a recorded hand (what-if), compared with the original session.
//!
//! Source: ours (teleop goal 10). [`palpate_session::replay::what_if`] runs it.

use palpate_analysis::conclusion;
use palpate_analysis::metrics::{SessionFacts, Traces};
use palpate_analysis::summary::Summary;
use palpate_analysis::virtual_run::{self, VirtualRun};
use palpate_analysis::{Failure, table, truth};
use palpate_session::config::{Config, ConfigError};
use serde_json::{Map, json};

use crate::messages;
use crate::report::what_if::{self, WhatIfSide};
use crate::trial::{field, metric};

/// Fields of the operator that a what-if may change; all others are those of the recorded hand.
const GRIP_FIELDS: [&str; 2] = ["operator.grip", "operator.regrip"];

/// Configuration of a recording with some fields changed, each as `field=value`.
///
/// # Errors
/// [`ConfigError`] naming the field, its value, and the expected value.
pub fn changed_config(config: &Config, changes: &[String]) -> Result<Config, ConfigError> {
    let mut config = config.clone();
    let mut values = Vec::new();
    for change in changes {
        let Some((name, value)) = change.split_once('=') else {
            return Err(ConfigError::Assignment {
                text: change.clone(),
            });
        };
        for path in field::paths(name) {
            let of_operator = path.split('.').next() == Some("operator");
            if path == "duration_s" || (of_operator && !GRIP_FIELDS.contains(&path.as_str())) {
                let message = format!(
                    "--what-if {change}: {path} is the recorded hand's, which does the same for as long \
                     again; expected another field, as rtt-ms, mode, grip or operator.regrip"
                );
                return Err(ConfigError::Field(message));
            }
        }
        values.push((name, field::value(value.trim())));
    }
    let each = values.iter().map(|(name, value)| (*name, value));
    field::set_all(&mut config, each).map_err(|(_, error)| error)?;
    config.validate()?;
    Ok(config)
}

/// One of the two sessions of a what-if.
pub struct WhatIfSession {
    config: Config,
    run: VirtualRun,
    facts: SessionFacts,
    /// Measured summary.
    pub summary: Summary,
}

/// Formats both sessions side by side, then the changed one by itself, for a terminal.
#[must_use]
pub fn comparison_text(base: &WhatIfSession, now: &WhatIfSession) -> String {
    let evidence = now.run.evidence(&now.config, &now.facts);
    let rows = what_if::lines(&base.summary, &now.summary);
    format!("{rows}\n{}", table::table(&now.summary, &evidence))
}

/// Measures one of the two sessions.
///
/// # Errors
/// [`Failure::Usage`] if a scene of it cannot be used.
pub fn judge(config: &Config, run: VirtualRun) -> Result<WhatIfSession, Failure> {
    let sites = truth::sites(config, &run.master)?;
    let mut facts = virtual_run::facts(config, &run, sites, false)?;
    facts.prefilled.command = "replay".into();
    let (summary, _) = conclusion::measure(&run.evidence(config, &facts));
    Ok(WhatIfSession {
        config: config.clone(),
        run,
        facts,
        summary,
    })
}

/// Renders both sessions as a page, for a recording of this title.
#[must_use]
pub fn page(title: &str, changes: &[String], base: &WhatIfSession, now: &WhatIfSession) -> String {
    let sides = [base, now].map(|played| WhatIfSide {
        summary: &played.summary,
        traces: Traces {
            master: &played.run.master,
            slave: &played.run.slave,
        },
    });
    what_if::render(title, changes, sides)
}

/// Summary of the changed session as JSON, with the changes, the other session, and the differences.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be serialised.
pub fn summary_json(changes: &[String], base: &Summary, now: &Summary) -> Result<String, Failure> {
    let refused = |error: serde_json::Error| Failure::Refused(format!("summary.json: {error}"));
    let mut whole = serde_json::to_value(now).map_err(refused)?;
    let differences = metric::metrics_of_both(base, now).map(|(metric, base, now)| {
        let difference = base.zip(now).map(|(base, now)| now - base);
        let both = json!({"base": base, "now": now, "difference": difference});
        (metric.name, both)
    });
    whole["what_if"] = json!({
        "changes": changes,
        "base": serde_json::to_value(base).map_err(refused)?,
        "differences": differences.collect::<Map<_, _>>(),
    });
    messages::json(&whole, "summary.json")
}

#[cfg(test)]
mod tests {
    use palpate_master::device::grip::Grip;

    use super::*;

    #[test]
    fn changes_set_fields_except_those_of_the_hand() {
        let config = Config::default();
        let list = |text: &str| vec![text.to_owned()];
        let other = changed_config(&config, &list("rtt-ms=400")).expect("a flag");
        assert_eq!(other.link.forward.oneway_ms, 200.0);
        let text = changed_config(&config, &list("grip=light")).expect("a flag");
        assert_eq!(text.operator.grip, Grip::Light);
        // every flag of network, coupling and tissue
        for flag in [
            "rtt-ms=1",
            "oneway-ms-fwd=1",
            "oneway-ms-back=1",
            "jitter-ms=1",
            "loss=0.1",
            "burst=3",
            "dup=0.1",
            "reorder=0.1",
            "rate-kbps=900",
            "outage=5,0.5",
            "profile=5g",
            "mode=wave",
            "impedance=20",
            "codec=deadband",
            "tissue=free",
            "twin=sheet",
            "method=idms",
            "operator.regrip=[{at_s=1.0, grip=\"light\"}]",
        ] {
            let other = changed_config(&config, &list(flag)).expect(flag);
            assert_ne!(other, config, "{flag}");
        }
        for hand in [
            "duration=3",
            "duration_s=3",
            "operator.script.hz=2",
            "operator={}",
        ] {
            let error = changed_config(&config, &list(hand))
                .expect_err(hand)
                .to_string();
            assert!(error.contains(hand) && error.contains("grip"), "{error}");
        }
        for wrong in ["rtt-ms", "loss=2", "coupling.mod=wave", "mode=sideways"] {
            assert!(changed_config(&config, &list(wrong)).is_err(), "{wrong}");
        }
    }
}
