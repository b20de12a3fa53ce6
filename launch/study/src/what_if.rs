//! The recorded hand under other circumstances: what may be changed of its session, and both beside each other.
//!
//! Source: ours (teleop goal 10). [`palpate_session::replay::what_if`] runs it.

use palpate_analysis::conclude::{self, Evidence};
use palpate_analysis::metrics::{SessionFacts, Traces};
use palpate_analysis::play::{self, VirtualRun};
use palpate_analysis::summary::Summary;
use palpate_analysis::{Failure, table, truth};
use palpate_session::config::{Config, ConfigError};
use palpate_transport::trace::TickRecord;
use serde_json::{Value, json};

use crate::report;
use crate::report::what_if::{Side as Shown, WhatIf};
use crate::trial::{field, metric};

/// Fields of the operator that a what-if may change; all else is the recorded hand's.
const OF_THE_GRIP: [&str; 2] = ["operator.grip", "operator.regrip"];

/// The configuration of a recording with some fields changed, each as `field=value`.
///
/// # Errors
/// [`ConfigError`] naming the field, its value, and what would be right.
pub fn changed(config: &Config, changes: &[String]) -> Result<Config, ConfigError> {
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
            if path == "duration_s" || (of_operator && !OF_THE_GRIP.contains(&path.as_str())) {
                let message = format!(
                    "--what-if {change}: {path} is the recorded hand's, which does the same for as long \
                     again; expected another field, as rtt-ms, mode, grip or operator.regrip"
                );
                return Err(ConfigError::Field { message });
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
pub struct Played {
    config: Config,
    run: VirtualRun,
    facts: SessionFacts,
    /// What was measured of it.
    pub summary: Summary,
}

/// Both sessions beside each other, then the changed one by itself, for a terminal.
#[must_use]
pub fn compared(base: &Played, now: &Played) -> String {
    let evidence = Evidence {
        config: &now.config,
        master: &now.run.master,
        slave: &now.run.slave,
        judged: Some((&now.run.audit, &now.run.tally)),
        facts: &now.facts,
        comparison: None,
        remarks: &[],
    };
    let rows = report::what_if::lines(&base.summary, &now.summary);
    format!("{rows}\n{}", table::table(&now.summary, &evidence))
}

/// One of the two sessions, judged.
///
/// # Errors
/// [`Failure::Usage`] if a scene of it cannot be used.
pub fn judged(config: &Config, run: VirtualRun) -> Result<Played, Failure> {
    let sites = truth::sites(config, &run.master)?;
    let facts = SessionFacts {
        command: "replay".into(),
        ..play::facts(config, &run, sites, false)?
    };
    let (summary, _) = conclude::measure(&run.evidence(config, &facts));
    Ok(Played {
        config: config.clone(),
        run,
        facts,
        summary,
    })
}

/// Both sessions as a page.
#[must_use]
pub fn page(title: &str, changes: &[String], base: &Played, now: &Played) -> String {
    report::what_if::render(&WhatIf {
        title,
        changes,
        base: shown(base),
        now: shown(now),
    })
}

fn shown(played: &Played) -> Shown<'_> {
    let (master, slave): (&[TickRecord], &[TickRecord]) = (&played.run.master, &played.run.slave);
    Shown {
        summary: &played.summary,
        traces: Traces { master, slave },
    }
}

/// The summary of the changed session, with what was changed, the other session, and the differences.
///
/// # Errors
/// [`Failure::Refused`] if it cannot be put into words.
pub fn summary_json(changes: &[String], base: &Summary, now: &Summary) -> Result<String, Failure> {
    let refused = |error: serde_json::Error| Failure::Refused(format!("summary.json: {error}"));
    let mut whole = serde_json::to_value(now).map_err(refused)?;
    let names = metric::session_names();
    let values = metric::of_session(base)
        .into_iter()
        .zip(metric::of_session(now));
    let differences: serde_json::Map<String, Value> = names
        .zip(values)
        .map(|(name, (base, now))| {
            let difference = base.zip(now).map(|(base, now)| now - base);
            (
                name.to_owned(),
                json!({"base": base, "now": now, "difference": difference}),
            )
        })
        .collect();
    if let Value::Object(fields) = &mut whole {
        let what_if = json!({
            "changes": changes,
            "base": serde_json::to_value(base).map_err(refused)?,
            "differences": differences,
        });
        fields.insert("what_if".into(), what_if);
    }
    let text = serde_json::to_string_pretty(&whole).map_err(refused)?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use palpate_master::device::grip::Grip;

    use super::*;

    #[test]
    fn changes_are_fields_with_values() {
        let config = Config::default();
        let list = |text: &str| vec![text.to_owned()];
        let other = changed(&config, &list("rtt-ms=400")).expect("a flag");
        assert_eq!(other.link.forward.oneway_ms, 200.0);
        let text = changed(&config, &list("grip=light")).expect("a flag");
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
            let other = changed(&config, &list(flag)).expect(flag);
            assert_ne!(other, config, "{flag}");
        }
        for hand in [
            "duration=3",
            "duration_s=3",
            "operator.script.hz=2",
            "operator={}",
        ] {
            let error = changed(&config, &list(hand)).expect_err(hand).to_string();
            assert!(error.contains(hand) && error.contains("grip"), "{error}");
        }
        for wrong in ["rtt-ms", "loss=2", "coupling.mod=wave", "mode=sideways"] {
            assert!(changed(&config, &list(wrong)).is_err(), "{wrong}");
        }
    }
}
