//! Agreement of both sides on their terms, before the first frame is sent.
//!
//! Each side sends its terms over the reliable link and refuses different ones: a master that renders waves does
//! not fit a slave that follows positions. Terms are text, not a hash, so that the refusal can name the field that
//! differs. Codecs need not be equal: each side offers its abilities and its request, and
//! [`palpate_transport::codec::handshake`] finds the common codec.
//!
//! Terms also make their sender the owner of its peer, see [`palpate_bus::ownership`]. Source: ours.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use palpate_bus::Bus;
use palpate_bus::command::{CommandClient, CommandError, CommandServer};
use palpate_bus::ownership::{Claim, DECLINED, SharedOwnership};
use palpate_transport::clock::{Clock as _, MonotonicClock, PERIOD, sleep_for};
use palpate_transport::codec::{AgreedCodec, CodecOffer, agree};
use palpate_transport::coupling::CouplingParams;
use palpate_transport::msg::{Message as _, schema};
use palpate_transport::trace::Side;
use palpate_transport::{HapticFrame, Span, Time};
use serde::Serialize;

use super::RunError;
use super::command_state::CommandState;
use super::side::SideOptions;
use crate::config::Config;
use crate::keys::system_host_name;
use crate::monitor::controller::lock;

/// Disagreement of the sides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sides do not agree: {field} is {ours} here and {theirs} at the {side}")]
pub struct Disagreement {
    /// Path of the field that differs; the first by name if several do.
    pub field: String,
    /// Value here, `nothing` if absent.
    pub ours: String,
    /// Value there, `nothing` if absent.
    pub theirs: String,
    /// The other side.
    pub side: &'static str,
}

/// Longest wait for one reply \[ns\].
const REPLY_WAIT: Span = Span(500_000_000);

/// Time for which a side that is refused tries again: longer than the lease of a killed owner \[ns\].
const OWNER_WAIT: Span = Span(4_000_000_000);

/// Time that a refusing side remains, so that its reply is not lost \[ns\].
const FAREWELL: Span = Span(300_000_000);

/// Terms of a side, sent as TOML.
#[derive(Clone, Serialize)]
struct Terms {
    /// Host and process that send the terms.
    from: String,
    /// Id of the sender's node on the bus.
    node: String,
    /// True if the sender asks the present owner for a hand-over.
    asks_handover: bool,
    frame: String,
    period_ns: i64,
    coupling: CouplingParams,
    codec: CodecOffer,
}

/// Part of the terms that is negotiated and not compared.
const CODEC: &str = "codec";

/// Parts of the terms that concern the ownership and are not compared: name of the sender, its node, and its request
/// for a hand-over.
const FROM: &str = "from";
const NODE: &str = "node";
const ASKS: &str = "asks_handover";

/// Reads the claim in the terms of a sender, whose host `verified` is known by its key.
fn claim_of(terms: &str, verified: Option<&str>) -> Claim {
    let table = terms.parse::<toml::Table>().unwrap_or_default();
    let text = |field: &str| table.get(field).and_then(toml::Value::as_str);
    // a peer's text is shown on a terminal, so it is escaped
    let from = text(FROM).unwrap_or("a nameless side").escape_debug();
    let from: String = from.take(EXCERPT_CHARS_MAX).collect();
    Claim {
        name: verified.map_or(from.clone(), |host| format!("{host} ({from})")),
        node: text(NODE).unwrap_or_default().to_owned(),
        asks_handover: table.get(ASKS).and_then(toml::Value::as_bool) == Some(true),
    }
}

/// Stops the robot until its next owner resumes motion.
pub(super) fn stop_for_handover(command_state: &CommandState) {
    // a pause is refused where the robot stands already
    if command_state.execute("pause").is_err() {
        command_state.halt();
    }
}

/// Codec offer of a side.
fn offer(config: &Config) -> CodecOffer {
    // one period before silence would count as an outage
    let silence_s = config
        .silence_limits_s()
        .into_iter()
        .map(|(_, limit_s)| limit_s - PERIOD.s())
        .fold(f64::INFINITY, f64::min);
    // the side's own request was found short enough when the configuration was validated
    let own_s = if config.codec.is_on() {
        config.codec.keep_alive_s
    } else {
        0.0
    };
    CodecOffer::new(&config.codec, silence_s.max(own_s))
}

impl Terms {
    /// Terms of a configuration with the offer of its codec; `node` is the id of this side's node.
    fn of(config: &Config, node: &str) -> Self {
        let mut coupling = config.coupling;
        coupling.mode = coupling.mode.resolved();
        Self {
            from: format!("process {} on {}", std::process::id(), system_host_name()),
            node: node.to_owned(),
            asks_handover: false,
            frame: schema::rihs01(HapticFrame::DESCRIPTION),
            period_ns: PERIOD.0,
            coupling,
            codec: offer(config),
        }
    }

    /// Text of the terms. An error is a value that TOML cannot hold: incomplete terms would agree with any others.
    fn text(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

/// Codec offer in a side's terms; none if this version cannot read it.
fn offered(terms: &str) -> Option<CodecOffer> {
    let table = terms.parse::<toml::Table>().ok()?;
    table.get(CODEC)?.clone().try_into().ok()
}

/// Compares our terms with those of the other `side`, except codecs.
///
/// # Errors
/// [`Disagreement`] names the first field that differs.
fn compare(ours: &str, theirs: &str, side: Side) -> Result<(), Disagreement> {
    let [ours, theirs] = [ours, theirs].map(|terms| {
        let mut fields = fields(terms);
        fields.retain(|name, _| {
            !name.starts_with("codec.") && ![FROM, NODE, ASKS].contains(&name.as_str())
        });
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
                ours: excerpt(&ours, &theirs),
                theirs: excerpt(&theirs, &ours),
                side: side.name(),
            });
        }
    }
    Ok(())
}

/// Longest value in a refusal: the length of a hash.
const EXCERPT_CHARS_MAX: usize = 80;

/// A value as a refusal shows it; of a long one, the part where it starts to differ from the other.
fn excerpt(value: &str, other: &str) -> String {
    let same = value.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let same = same.count();
    if same < EXCERPT_CHARS_MAX / 2 {
        return value.chars().take(EXCERPT_CHARS_MAX).collect();
    }
    let from_there = value
        .chars()
        .skip(same - EXCERPT_CHARS_MAX / 4)
        .take(EXCERPT_CHARS_MAX);
    core::iter::once('…').chain(from_there).collect()
}

/// Leaves of a TOML text by path; none for an invalid text.
fn fields(text: &str) -> BTreeMap<String, String> {
    fn collect(path: &str, value: &toml::Value, found: &mut BTreeMap<String, String>) {
        match value {
            toml::Value::Table(table) => {
                for (name, value) in table {
                    let dot = if path.is_empty() { "" } else { "." };
                    // a peer's text is shown on a terminal, so it is escaped
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

/// Exchange of terms with the other side.
pub(crate) struct TermsExchange {
    terms: Terms,
    /// Reply to the other side's request.
    answer: Arc<Mutex<String>>,
    peer: Side,
    client: CommandClient,
    /// Terms that the other side sent with its request.
    peer_terms: Arc<Mutex<Option<String>>>,
    /// Time of the first refusal by the other side.
    refused: Option<Time>,
    /// Longest wait for a hand-over, if this side asks for one.
    handover_wait: Option<Span>,
    /// Receiver of what this side waits for, in words.
    notices: Option<Sender<String>>,
    /// Newest notice.
    noticed: String,
    ownership: SharedOwnership,
    _servers: [Option<CommandServer>; 2],
}

impl TermsExchange {
    /// Serves the terms of this side from now on, and at the robot's side the queries of its owner.
    ///
    /// # Errors
    /// [`RunError::Session`] when the bus refuses; [`RunError::Terms`] if the terms cannot be written.
    pub(crate) fn serve(
        bus: &Bus,
        config: &Config,
        options: &SideOptions,
        command_state: &Arc<CommandState>,
    ) -> Result<Self, RunError> {
        let (session, side) = (bus.session(), options.side);
        let mut terms = Terms::of(config, session.node_id());
        let peer_terms = Arc::new(Mutex::new(None));
        let answer = Arc::new(Mutex::new(terms.text()?));
        let (shared_answer, shared_terms) = (Arc::clone(&answer), Arc::clone(&peer_terms));
        let ownership = SharedOwnership::default();
        let (owned, peer) = (Arc::clone(&ownership), bus.peer_watch());
        let state = Arc::clone(command_state);
        let server = session.serve_agreement(side.name(), move |theirs, sender, host| {
            let (head, now) = (claim_of(theirs, host), MonotonicClock.now());
            state.set_peer(lock(&owned).admit(&head, sender, &peer, now)?);
            *lock(&shared_terms) = Some(theirs.to_owned());
            Ok(lock(&shared_answer).clone())
        })?;
        let (owned, state) = (Arc::clone(&ownership), Arc::clone(command_state));
        let handover = (side == Side::Slave).then(|| {
            session.serve_handover(side.name(), move |text, sender| {
                let stop = || stop_for_handover(&state);
                lock(&owned).answer(text, sender, MonotonicClock.now(), stop)
            })
        });
        terms.asks_handover = options.handover_wait.is_some();
        Ok(Self {
            client: session.agreement_client(side.other().name())?,
            terms,
            answer,
            peer: side.other(),
            peer_terms,
            refused: None,
            handover_wait: options.handover_wait,
            notices: options.notices.clone(),
            noticed: String::new(),
            ownership,
            _servers: [Some(server), handover.transpose()?],
        })
    }

    /// Ownership of this side.
    pub(super) fn ownership(&self) -> &SharedOwnership {
        &self.ownership
    }

    /// True if this side asked for a hand-over, and was refused at first because the other side had an owner.
    pub(crate) fn has_asked(&self) -> bool {
        self.terms.asks_handover && self.refused.is_some()
    }

    /// Handles a refusal: an error once the time for it has passed or the owner declined, else a notice.
    fn refusal(&mut self, reason: String) -> Result<(), RunError> {
        let now = MonotonicClock.now();
        let waited = now - *self.refused.get_or_insert(now);
        let Some(wait) = self.handover_wait else {
            return match waited > OWNER_WAIT {
                true => Err(RunError::Owned { reason }),
                false => Ok(()),
            };
        };
        if waited > wait || reason.starts_with(DECLINED) {
            return Err(RunError::Owned { reason });
        }
        if self.noticed != reason
            && let Some(notices) = &self.notices
        {
            let wait_s = (wait - waited).s().round();
            // no reader of notices is left
            let _ = notices.send(format!(
                "waiting at most {wait_s} s for a hand-over of the robot: {reason}"
            ));
            self.noticed = reason;
        }
        Ok(())
    }

    /// Checks the terms of the other side's request, if there was one since the last call.
    ///
    /// # Errors
    /// [`RunError::Disagreement`] or [`RunError::Codec`].
    pub(crate) fn check_peer_terms(&self) -> Result<(), RunError> {
        let terms = lock(&self.peer_terms).take();
        terms.map_or(Ok(()), |terms| self.judge_terms(&terms).map(drop))
    }

    /// Sends the own terms once and compares the other side's in its reply. None if there is no reply, or if the other
    /// side refuses for now, because it belongs to another owner. After an agreement the agreed codec is offered as the
    /// running one, so that a restarted side adopts it.
    ///
    /// # Errors
    /// [`RunError::Disagreement`] if terms differ, whichever side sent them first. [`RunError::Codec`] if a required
    /// codec is not possible. [`RunError::Owned`] if the refusal is final, or lasted too long. An error of the bus.
    pub(crate) fn negotiate(&mut self) -> Result<Option<AgreedCodec>, RunError> {
        let reply = self
            .client
            .command(&self.terms.text()?, MonotonicClock.now(), REPLY_WAIT);
        self.check_peer_terms()?;
        let theirs = match reply {
            Ok(theirs) => theirs,
            Err(CommandError::Bus(error)) => return Err(error.into()),
            Err(CommandError::Refused { reason, .. }) => {
                return self.refusal(reason).map(|()| None);
            }
            Err(CommandError::Unanswered { .. }) => return Ok(None),
        };
        let agreed = self.judge_terms(&theirs)?;
        let mut running = self.terms.clone();
        running.codec.settled = Some(agreed.params);
        *lock(&self.answer) = running.text()?;
        Ok(Some(agreed))
    }

    /// Checks the other side's terms; a refusing side remains for a moment, so that its reply is not lost.
    fn judge_terms(&self, theirs: &str) -> Result<AgreedCodec, RunError> {
        let judge = || {
            compare(&self.terms.text()?, theirs, self.peer)?;
            Ok(agree(&self.terms.codec, offered(theirs).as_ref())?)
        };
        judge().inspect_err(|_: &RunError| sleep_for(FAREWELL))
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::coupling::Mode;

    use palpate_transport::codec::CodecKind;

    use super::*;

    fn terms(config: &Config) -> String {
        Terms::of(config, "")
            .text()
            .expect("every field is a TOML type")
    }

    #[test]
    fn terms_hold_shared_fields_and_agree_with_themselves() {
        let ours = terms(&Config::default());
        let fields = fields(&ours);
        assert!(fields["frame"].contains("RIHS01_") && fields["period_ns"] == "1000000");
        assert_eq!(fields["coupling.mode"], "\"mmt\"");
        assert_eq!(compare(&ours, &ours, Side::Slave), Ok(()));
        // a difference in fields that concern one side only does not matter
        let mut other = Config {
            seed: 9,
            tissue: "free".into(),
            ..Config::default()
        };
        other.coupling.mode = Mode::Mmt;
        assert_eq!(compare(&ours, &terms(&other), Side::Slave), Ok(()));
    }

    #[test]
    fn difference_is_named_with_both_values() {
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
    fn issue_difference_in_last_list_entry_was_missed() {
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
            // the difference is shown, within the limit of length
            assert_ne!(error.ours, error.theirs);
            assert!(
                error.ours.chars().count() <= EXCERPT_CHARS_MAX + 1,
                "{error}"
            );
        }
    }

    #[test]
    fn codecs_are_negotiated_not_compared() {
        let plain = Config::default();
        let mut other = Config::default();
        other.codec.kind = CodecKind::Deadband;
        other.codec.weber = 0.2;
        assert_eq!(compare(&terms(&plain), &terms(&other), Side::Slave), Ok(()));
        // what is written can be read back
        assert_eq!(offered(&terms(&other)), Some(offer(&other)));
        let agreed = agree(&offer(&plain), offered(&terms(&other)).as_ref()).expect("can do");
        assert!(agreed.params.is_on() && agreed.params.weber == 0.2);
        let mut settled = Terms::of(&other, "");
        settled.codec.settled = Some(other.codec);
        assert_eq!(offered(&settled.text().expect("TOML")), Some(settled.codec));
        // a version without a handshake, or an invalid text, gives no offer
        for text in [
            "codec = 3",
            "[codec]\nkind = \"deadband\"\nweber = 0.1\n",
            "garbage",
        ] {
            assert_eq!(offered(text), None, "{text}");
        }
    }

    #[test]
    fn agreed_codec_silence_stays_below_outage_limits() {
        let (mut requesting, mut strict) = (Config::default(), Config::default());
        requesting.codec.kind = CodecKind::Deadband;
        strict.slave.guard.watchdog_s = 0.015;
        let agreed = agree(&offer(&requesting), Some(&offer(&strict))).expect("can do");
        assert!(agreed.params.is_on());
        strict.codec = agreed.params;
        assert!(strict.validate().is_ok(), "{:?}", strict.validate());
        assert!((agreed.params.keep_alive_s - 0.014).abs() < 1e-9);
        // the side's own request was found valid with the configuration
        let alone = agree(&offer(&requesting), Some(&offer(&requesting))).expect("can do");
        assert_eq!((alone.params, alone.note), (requesting.codec, None));
    }
}
