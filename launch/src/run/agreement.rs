//! What both sides must agree on, compared before the first frame is sent.
//!
//! Each side tells the other its terms over the reliable link and refuses others: a master that
//! renders waves and a slave that follows positions would each do its part of nonsense. Terms are
//! text, not a hash, so that the refusal can say which field differs. Source: ours.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use palpate_transport::clock::{Clock as _, MonotonicClock, pause};
use palpate_transport::codec::CodecParams;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::msg::{Message as _, schema};
use palpate_transport::session::Session;
use palpate_transport::session::command::{AgreementServer, CommandClient, CommandError};
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span};
use serde::Serialize;

use super::RunError;
use crate::config::Config;
use crate::lab::PERIOD;

/// Terms that cannot be agreed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sides do not agree: {field} is {ours} here and {theirs} at the {side}")]
pub struct Disagreement {
    /// Path of the field that differs; the first by name if there are more.
    pub field: String,
    /// Its value here, `nothing` if there is none.
    pub ours: String,
    /// Its value there, likewise.
    pub theirs: String,
    /// The other side.
    pub side: &'static str,
}

/// How long one question waits before the next \[ns\].
const PATIENCE: Span = Span(500_000_000);

/// How long a side that refuses stays, so that its answer is not lost with it \[ns\].
const FAREWELL: Span = Span(300_000_000);

#[derive(Serialize)]
struct Terms {
    frame: String,
    period_ns: i64,
    coupling: CouplingParams,
    codec: CodecParams,
}

/// Terms of a configuration, as TOML.
#[must_use]
pub fn terms(config: &Config) -> String {
    let mut coupling = config.coupling;
    coupling.mode = coupling.mode.resolved();
    let terms = Terms {
        frame: schema::rihs01(HapticFrame::DESCRIPTION),
        period_ns: PERIOD.0,
        coupling,
        codec: config.codec,
    };
    // every field is a TOML type; a test reads them back
    toml::to_string(&terms).unwrap_or_default()
}

/// Compare our terms with those of the other `side`.
///
/// # Errors
/// [`Disagreement`] names the first field that differs.
pub fn compare(ours: &str, theirs: &str, side: Side) -> Result<(), Disagreement> {
    let (ours, theirs) = (fields(ours), fields(theirs));
    let nothing = "nothing".to_owned();
    let mut names: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
    names.sort();
    for field in names {
        let value = |of: &BTreeMap<String, String>| of.get(field).unwrap_or(&nothing).clone();
        let (ours, theirs) = (value(&ours), value(&theirs));
        if ours != theirs {
            return Err(Disagreement {
                field: field.chars().take(80).collect(),
                ours,
                theirs,
                side: side.name(),
            });
        }
    }
    Ok(())
}

/// Leaves of a TOML text by path; a text that is none has none.
fn fields(text: &str) -> BTreeMap<String, String> {
    fn collect(path: &str, value: &toml::Value, found: &mut BTreeMap<String, String>) {
        match value {
            toml::Value::Table(table) => {
                for (name, value) in table {
                    let dot = if path.is_empty() { "" } else { "." };
                    // a peer's text is shown on a terminal
                    let name = name.escape_debug();
                    collect(&format!("{path}{dot}{name}"), value, found);
                }
            }
            leaf => {
                // no longer than a hash
                let shown = leaf.to_string().chars().take(80).collect();
                found.insert(path.to_owned(), shown);
            }
        }
    }
    let mut found = BTreeMap::new();
    if let Ok(table) = text.parse::<toml::Table>() {
        collect("", &toml::Value::Table(table), &mut found);
    }
    found
}

/// The two ends of one side's agreement.
pub struct Agreement {
    ours: String,
    peer: Side,
    client: CommandClient,
    /// Terms that the other side told when it asked.
    told: Arc<Mutex<Option<String>>>,
    _server: AgreementServer,
}

impl Agreement {
    /// Answer from now on whoever asks this side for its terms.
    ///
    /// # Errors
    /// [`RunError::Session`] when the bus refuses.
    pub fn serve(session: &Session, config: &Config, side: Side) -> Result<Self, RunError> {
        let ours = terms(config);
        let told = Arc::new(Mutex::new(None));
        let (answer, heard) = (ours.clone(), Arc::clone(&told));
        let server = session.serve_agreement(side.name(), move |theirs| {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            *heard = Some(theirs.to_owned());
            Ok(answer.clone())
        })?;
        Ok(Self {
            client: session.agreement_client(side.other().name())?,
            ours,
            peer: side.other(),
            told,
            _server: server,
        })
    }

    /// Ask once; `false` if nobody answered.
    ///
    /// # Errors
    /// [`RunError::Disagreement`] when terms differ, whoever told them first.
    pub fn reach(&mut self) -> Result<bool, RunError> {
        let asked = self
            .client
            .command(&self.ours, MonotonicClock.now(), PATIENCE);
        let theirs = match asked {
            Ok(theirs) => Some(theirs),
            Err(CommandError::Session(error)) => return Err(error.into()),
            Err(_) => None,
        };
        let told = self
            .told
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        for terms in theirs.iter().chain(&told) {
            if let Err(disagreement) = compare(&self.ours, terms, self.peer) {
                pause(FAREWELL);
                return Err(disagreement.into());
            }
        }
        Ok(theirs.is_some())
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::coupling::Mode;

    use super::*;

    #[test]
    fn terms_name_what_matters_and_agree_with_themselves() {
        let ours = terms(&Config::default());
        let fields = fields(&ours);
        assert!(fields["frame"].contains("RIHS01_") && fields["period_ns"] == "1000000");
        assert_eq!(fields["coupling.mode"], "\"mmt\"");
        assert_eq!(compare(&ours, &ours, Side::Slave), Ok(()));
        // what a side alone decides is its own business
        let mut other = Config {
            seed: 9,
            tissue: "free".into(),
            ..Config::default()
        };
        other.coupling.mode = Mode::Mmt;
        assert_eq!(compare(&ours, &terms(&other), Side::Slave), Ok(()));
    }

    #[test]
    fn a_difference_is_named_with_both_values() {
        let ours = terms(&Config::default());
        let mut other = Config::default();
        other.coupling.impedance_nspm = 20.0;
        let error = compare(&ours, &terms(&other), Side::Slave).expect_err("differs");
        assert_eq!(
            error.to_string(),
            "the sides do not agree: coupling.impedance_nspm is 10.0 here and 20.0 at the slave"
        );
        let mut other = Config::default();
        other.codec.predictor = palpate_transport::codec::Prediction::Zoh;
        let error = compare(&ours, &terms(&other), Side::Slave).expect_err("differs");
        assert_eq!(error.field, "codec.predictor");
        let error = compare(&ours, "garbage", Side::Master).expect_err("differs");
        assert_eq!(error.theirs, "nothing");
    }
}
