//! What both sides must agree on, compared before the first frame is sent.
//!
//! Each side tells the other its terms over the reliable link and refuses others: a master that
//! renders waves and a slave that follows positions would each do its part of nonsense. Terms are
//! text, not a hash, so that the refusal can say which field differs. Codecs alone need not be the same:
//! each side tells what it can and wants, and [`palpate_transport::codec::handshake`] finds what both then
//! use. Source: ours.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palpate_bus::Session;
use palpate_bus::command::{AgreementServer, CommandClient, CommandError};
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, pause};
use palpate_transport::codec::{Agreed, Offer, agree};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::msg::{Message as _, schema};
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span};
use serde::Serialize;

use super::RunError;
use crate::config::Config;

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
    codec: Offer,
}

/// Part of the terms that is negotiated and not compared.
const CODEC: &str = "codec";

/// What a side offers of its codec.
#[must_use]
pub fn offer(config: &Config) -> Offer {
    // one period before silence would be taken for an outage
    let silence_s = config
        .silence_limits_s()
        .into_iter()
        .map(|(_, limit_s)| limit_s - PERIOD.s())
        .fold(f64::INFINITY, f64::min);
    // a wish of one's own was found to be short enough when the configuration was read
    let own_s = if config.codec.is_on() {
        config.codec.keep_alive_s
    } else {
        0.0
    };
    Offer::new(&config.codec, silence_s.max(own_s))
}

/// Terms of a configuration with the offer of its codec, as TOML.
///
/// # Errors
/// What TOML cannot hold: terms that are not whole would agree with any others.
pub fn terms(config: &Config, codec: &Offer) -> Result<String, toml::ser::Error> {
    let mut coupling = config.coupling;
    coupling.mode = coupling.mode.resolved();
    let terms = Terms {
        frame: schema::rihs01(HapticFrame::DESCRIPTION),
        period_ns: PERIOD.0,
        coupling,
        codec: codec.clone(),
    };
    toml::to_string(&terms)
}

/// The offer in a side's terms; none if there is none that this version can read.
fn offered(terms: &str) -> Option<Offer> {
    let table = terms.parse::<toml::Table>().ok()?;
    table.get(CODEC)?.clone().try_into().ok()
}

/// Compare our terms with those of the other `side`, all but codecs.
///
/// # Errors
/// [`Disagreement`] names the first field that differs.
pub fn compare(ours: &str, theirs: &str, side: Side) -> Result<(), Disagreement> {
    let [ours, theirs] = [ours, theirs].map(|terms| {
        let mut fields = fields(terms);
        fields.retain(|name, _| !name.starts_with("codec."));
        fields
    });
    let nothing = "nothing".to_owned();
    let mut names: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
    names.sort();
    for field in names {
        let value = |of: &BTreeMap<String, String>| of.get(field).unwrap_or(&nothing).clone();
        let (ours, theirs) = (value(&ours), value(&theirs));
        if ours != theirs {
            return Err(Disagreement {
                field: field.chars().take(80).collect(),
                ours: shown(&ours, &theirs),
                theirs: shown(&theirs, &ours),
                side: side.name(),
            });
        }
    }
    Ok(())
}

/// Longest value that a refusal shows: a hash's.
const SHOWN: usize = 80;

/// A value as a refusal shows it: of a long one, that part where it begins to differ from the other.
fn shown(value: &str, other: &str) -> String {
    let same = value.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let same = same.count();
    if same < SHOWN / 2 {
        return value.chars().take(SHOWN).collect();
    }
    let from_there = value.chars().skip(same - SHOWN / 4).take(SHOWN);
    core::iter::once('…').chain(from_there).collect()
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
                found.insert(path.to_owned(), leaf.to_string());
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
    config: Config,
    offer: Offer,
    /// What is answered to whoever asks.
    answer: Arc<Mutex<String>>,
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
    /// [`RunError::Session`] when the bus refuses; [`RunError::Terms`] if the terms cannot be written.
    pub fn serve(session: &Session, config: &Config, side: Side) -> Result<Self, RunError> {
        let offer = offer(config);
        let ours = terms(config, &offer)?;
        let told = Arc::new(Mutex::new(None));
        let answer = Arc::new(Mutex::new(ours.clone()));
        let (answers, heard) = (Arc::clone(&answer), Arc::clone(&told));
        let server = session.serve_agreement(side.name(), move |theirs| {
            *lock(&heard) = Some(theirs.to_owned());
            Ok(lock(&answers).clone())
        })?;
        Ok(Self {
            client: session.agreement_client(side.other().name())?,
            ours,
            config: config.clone(),
            offer,
            answer,
            peer: side.other(),
            told,
            _server: server,
        })
    }

    /// Judge the terms that the other side told when it asked, if it did since the last time.
    ///
    /// # Errors
    /// As [`Self::reach`].
    pub fn hear(&self) -> Result<(), RunError> {
        let told = lock(&self.told).take();
        told.map_or(Ok(()), |terms| self.agree_on(&terms).map(drop))
    }

    /// Ask once; none if nobody answered. The codec that was found is told from now on as the one that
    /// runs, so that a side that comes anew takes it.
    ///
    /// # Errors
    /// [`RunError::Disagreement`] when terms differ, whoever told them first; [`RunError::Codec`] when
    /// a codec was demanded that cannot be had.
    pub fn reach(&mut self) -> Result<Option<Agreed>, RunError> {
        let asked = self
            .client
            .command(&self.ours, MonotonicClock.now(), PATIENCE);
        self.hear()?;
        let theirs = match asked {
            Ok(theirs) => theirs,
            Err(CommandError::Session(error)) => return Err(error.into()),
            Err(_) => return Ok(None),
        };
        let agreed = self.agree_on(&theirs)?;
        let running = Offer {
            settled: Some(agreed.params),
            ..self.offer.clone()
        };
        *lock(&self.answer) = terms(&self.config, &running)?;
        Ok(Some(agreed))
    }

    /// Judge the other side's terms; who refuses them stays for a moment, so that its answer is not lost with it.
    fn agree_on(&self, theirs: &str) -> Result<Agreed, RunError> {
        let judged = self.judge(theirs);
        if judged.is_err() {
            pause(FAREWELL);
        }
        judged
    }

    fn judge(&self, theirs: &str) -> Result<Agreed, RunError> {
        compare(&self.ours, theirs, self.peer)?;
        Ok(agree(&self.offer, offered(theirs).as_ref())?)
    }
}

/// What others may hold; a thread that panicked left it whole.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use palpate_transport::coupling::Mode;

    use palpate_transport::codec::CodecKind;

    use super::*;

    fn terms(config: &Config) -> String {
        super::terms(config, &offer(config)).expect("every field is a TOML type")
    }

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
        let error = compare(&ours, "garbage", Side::Master).expect_err("differs");
        assert_eq!(error.theirs, "nothing");
    }

    /// Lists were cut to 80 characters before they were compared.
    #[test]
    fn issue_sides_agreed_that_differ_in_the_last_of_a_list() {
        let with = |last_s: f64, last_nspm: f64| {
            let mut config = Config::default();
            config
                .set(&format!(
                    "coupling.switch=[{{at_s=1,mode=\"wave\"}},{{at_s=2,mode=\"pspm\"}},\
                     {{at_s={last_s},mode=\"tank\"}}]"
                ))
                .expect("switches");
            config
                .set(&format!(
                    "coupling.retune=[{{at_s=1,impedance_nspm=20,over_s=0.2}},\
                     {{at_s=2,impedance_nspm={last_nspm},over_s=0.2}}]"
                ))
                .expect("retunes");
            terms(&config)
        };
        let ours = with(3.0, 30.0);
        assert!(fields(&ours)["coupling.switch"].contains("tank"));
        assert_eq!(compare(&ours, &ours, Side::Slave), Ok(()));
        for (theirs, field) in [
            (with(3.5, 30.0), "coupling.switch"),
            (with(3.0, 31.0), "coupling.retune"),
        ] {
            let error = compare(&ours, &theirs, Side::Slave).expect_err("differs");
            assert_eq!(error.field, field);
            // what differs is shown, and no more than fits
            assert_ne!(error.ours, error.theirs);
            assert!(error.ours.chars().count() <= SHOWN + 1, "{error}");
        }
    }

    #[test]
    fn codecs_are_negotiated_and_not_compared() {
        let plain = Config::default();
        let mut other = Config::default();
        other.codec.kind = CodecKind::Deadband;
        other.codec.weber = 0.2;
        assert_eq!(compare(&terms(&plain), &terms(&other), Side::Slave), Ok(()));
        // what is written is what is read
        assert_eq!(offered(&terms(&other)), Some(offer(&other)));
        let agreed = agree(&offer(&plain), offered(&terms(&other)).as_ref()).expect("can do");
        assert!(agreed.params.is_on() && agreed.params.weber == 0.2);
        let mut settled = offer(&other);
        settled.settled = Some(other.codec);
        assert_eq!(
            offered(&super::terms(&other, &settled).expect("TOML")),
            Some(settled)
        );
        // of a version without a handshake, or of nonsense, nothing is known
        for text in [
            "codec = 3",
            "[codec]\nkind = \"deadband\"\nweber = 0.1\n",
            "garbage",
        ] {
            assert_eq!(offered(text), None, "{text}");
        }
    }

    #[test]
    fn a_silence_that_one_side_would_take_for_an_outage_is_not_agreed_on() {
        let (mut wishing, mut wary) = (Config::default(), Config::default());
        wishing.codec.kind = CodecKind::Deadband;
        wary.slave.guard.watchdog_s = 0.015;
        let agreed = agree(&offer(&wishing), Some(&offer(&wary))).expect("can do");
        assert!(agreed.params.is_on());
        wary.codec = agreed.params;
        assert!(wary.validate().is_ok(), "{:?}", wary.validate());
        assert!((agreed.params.keep_alive_s - 0.014).abs() < 1e-9);
        // one's own wish was found to be good when the configuration was read
        let alone = agree(&offer(&wishing), Some(&offer(&wishing))).expect("can do");
        assert_eq!((alone.params, alone.note), (wishing.codec, None));
    }
}
