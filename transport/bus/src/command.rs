//! Commands with an answer.
//!
//! CRTK's `state_command` is a topic: whoever sends on it learns nothing. Beside it there is a query
//! on `command` with the same message; it is asked again until an answer comes or time is up. Each
//! command has a number, and one that was carried out is not carried out again: its answer is
//! repeated. Source: ours.

use std::collections::VecDeque;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use zenoh::Wait;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{Query, Queryable, Reply};

use super::topic::TopicSubscription;
use super::{Session, SessionError, duration};
use palpate_transport::cdr::{decode, encode_into};
use palpate_transport::msg::attachment::{Attachment, Gid, gid_of};
use palpate_transport::msg::crtk::{STATE_COMMAND, topic};
use palpate_transport::msg::key::TopicKey;
use palpate_transport::msg::{Header, StringStamped};
use palpate_transport::{Span, Time};

/// Name of the query below the device's namespace.
const COMMAND: &str = "command";

/// Name of the query for what both sides must agree on.
const AGREEMENT: &str = "agreement";

/// How long one attempt waits before the command is sent again \[ms\]; ours.
const ATTEMPT_MS: f64 = 250.0;

/// Answers that a server remembers, so that a command sent again is not carried out again; ours.
const REMEMBERED: usize = 32;

/// An answer: what was done, or why not.
pub type Answer = Result<String, String>;

/// A command without success.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The other side will not.
    #[error("command {command:?} refused: {reason}")]
    Refused {
        /// Command.
        command: String,
        /// As the other side says it.
        reason: String,
    },
    /// No answer in time.
    #[error("command {command:?}: no answer within {waited_ms} ms after {attempts} attempts")]
    Unanswered {
        /// Command.
        command: String,
        /// How long was waited \[ms\].
        waited_ms: f64,
        /// How often it was sent.
        attempts: u32,
    },
    /// The bus failed.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Sends commands to one device.
pub struct CommandClient {
    session: zenoh::Session,
    key: String,
    pub(super) attachment: Attachment,
}

impl CommandClient {
    /// Send a command made at `now`, and again until it is answered or `timeout` has passed.
    ///
    /// # Errors
    /// [`CommandError`]: refused, unanswered, or the bus failed.
    pub fn command(
        &mut self,
        command: &str,
        now: Time,
        timeout: Span,
    ) -> Result<String, CommandError> {
        self.attachment.sequence += 1;
        self.attachment.source_ns = now.0;
        let payload = word(command, now)?;
        let attempts = (timeout.ms() / ATTEMPT_MS).ceil().max(1.0) as u32;
        let attempt = Span((timeout.0 / i64::from(attempts)).max(1));
        for _ in 0..attempts {
            match self.attempt(&payload, attempt)? {
                Some(Ok(text)) => return Ok(text),
                Some(Err(reason)) => {
                    return Err(CommandError::Refused {
                        command: command.to_owned(),
                        reason,
                    });
                }
                None => {}
            }
        }
        let (command, waited_ms) = (command.to_owned(), timeout.ms());
        Err(CommandError::Unanswered {
            command,
            waited_ms,
            attempts,
        })
    }

    fn attempt(&self, payload: &[u8], wait: Span) -> Result<Option<Answer>, SessionError> {
        let (sender, answers) = channel();
        // Held here too, so that a query that finds nobody waits as long as one that does.
        let held = sender.clone();
        self.session
            .get(self.key.as_str())
            .payload(payload)
            .attachment(self.attachment.encode())
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::InteractiveHigh)
            .timeout(duration(wait))
            .callback(move |reply| {
                // Nobody waits any more: the answer is late and the command is sent again.
                if let Some(answer) = answer_of(&reply) {
                    let _ = sender.send(answer);
                }
            })
            .wait()
            .map_err(SessionError::bus("send a command"))?;
        let answer = answers.recv_timeout(duration(wait)).ok();
        drop(held);
        Ok(answer)
    }
}

/// `None` for errors that zenoh makes itself (a time-out).
fn answer_of(reply: &Reply) -> Option<Answer> {
    let text = |bytes: &[u8]| decode::<StringStamped>(bytes).ok().map(|word| word.string);
    match reply.result() {
        Ok(sample) => text(&sample.payload().to_bytes()).map(Ok),
        Err(error) => text(&error.payload().to_bytes()).map(Err),
    }
}

fn word(text: &str, now: Time) -> Result<Vec<u8>, SessionError> {
    let header = Header {
        stamp: now.into(),
        frame_id: String::new(),
    };
    let mut payload = Vec::new();
    encode_into(
        &StringStamped {
            header,
            string: text.to_owned(),
        },
        &mut payload,
    )?;
    Ok(payload)
}

/// Serves commands until dropped.
pub struct CommandServer {
    _queryable: Queryable<()>,
    _topic: TopicSubscription,
}

/// Serves the question for what must be agreed on, until dropped.
pub struct AgreementServer {
    _queryable: Queryable<()>,
}

type Handler = Box<dyn FnMut(&str) -> Answer + Send>;

struct Desk {
    handler: Handler,
    answered: VecDeque<(Gid, i64, Answer)>,
}

impl Desk {
    fn new(handler: impl FnMut(&str) -> Answer + Send + 'static) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            handler: Box::new(handler),
            answered: VecDeque::new(),
        }))
    }

    fn answer(&mut self, command: &str, attachment: Option<Attachment>) -> Answer {
        let Some(Attachment { gid, sequence, .. }) = attachment else {
            return (self.handler)(command);
        };
        let known = self
            .answered
            .iter()
            .find(|entry| entry.0 == gid && entry.1 == sequence);
        if let Some((_, _, answer)) = known {
            return answer.clone();
        }
        let answer = (self.handler)(command);
        if self.answered.len() == REMEMBERED {
            self.answered.pop_front();
        }
        self.answered.push_back((gid, sequence, answer.clone()));
        answer
    }
}

impl Session {
    /// A client for the commands of `<namespace>/<device>`.
    ///
    /// # Errors
    /// [`SessionError::Key`] for a name that is none.
    pub fn command_client(&self, device: &str) -> Result<CommandClient, SessionError> {
        self.client(device, COMMAND)
    }

    /// A client that tells `<namespace>/<device>` our terms and is answered with its own.
    ///
    /// # Errors
    /// [`SessionError::Key`] for a name that is none.
    pub fn agreement_client(&self, device: &str) -> Result<CommandClient, SessionError> {
        self.client(device, AGREEMENT)
    }

    /// Answer whoever tells `<namespace>/<device>` its terms. `handler` is given them and gives ours;
    /// it runs on zenoh's receive thread: keep it short.
    ///
    /// # Errors
    /// As [`Self::serve_commands`].
    pub fn serve_agreement(
        &self,
        device: &str,
        handler: impl FnMut(&str) -> Answer + Send + 'static,
    ) -> Result<AgreementServer, SessionError> {
        let desk = Desk::new(handler);
        Ok(AgreementServer {
            _queryable: self.answer_queries(device, AGREEMENT, desk)?,
        })
    }

    fn client(&self, device: &str, name: &str) -> Result<CommandClient, SessionError> {
        let key = self.query_key(device, name)?;
        let id = self
            .next_id
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let gid = gid_of(&format!("{key}#{}#{id}", self.identity.session));
        let attachment = Attachment {
            gid,
            ..Attachment::default()
        };
        Ok(CommandClient {
            session: self.zenoh.clone(),
            key,
            attachment,
        })
    }

    /// Serve the commands of `<namespace>/<device>`, those on CRTK's topic as well. `handler` runs
    /// on zenoh's receive thread: it must only pass the command on and say whether it was taken.
    ///
    /// # Errors
    /// [`SessionError::Key`] for a name that is none, [`SessionError::Bus`] when zenoh refuses.
    pub fn serve_commands(
        &self,
        device: &str,
        handler: impl FnMut(&str) -> Answer + Send + 'static,
    ) -> Result<CommandServer, SessionError> {
        let desk = Desk::new(handler);
        let by_topic = Arc::clone(&desk);
        let queryable = self.answer_queries(device, COMMAND, desk)?;
        let namespace = topic(self.namespace(), device);
        let subscription = self.subscribe(
            &topic(&namespace, STATE_COMMAND),
            move |command: StringStamped, attachment| {
                // CRTK's topic has no way back for the answer.
                let _ = answer(&by_topic, &command.string, attachment);
            },
        )?;
        Ok(CommandServer {
            _queryable: queryable,
            _topic: subscription,
        })
    }

    fn answer_queries(
        &self,
        device: &str,
        name: &str,
        desk: Arc<Mutex<Desk>>,
    ) -> Result<Queryable<()>, SessionError> {
        self.zenoh
            .declare_queryable(self.query_key(device, name)?)
            .callback(move |query| {
                let (command, attachment) = command_of(&query);
                let answer = match command {
                    Ok(command) => answer(&desk, &command, attachment),
                    Err(reason) => Err(reason),
                };
                reply(&query, answer);
            })
            .wait()
            .map_err(SessionError::bus("serve queries"))
    }

    fn query_key(&self, device: &str, name: &str) -> Result<String, SessionError> {
        let topic = topic(&topic(self.namespace(), device), name);
        Ok(TopicKey::of::<StringStamped>(self.identity.domain, &topic)?.to_string())
    }
}

fn answer(desk: &Mutex<Desk>, command: &str, attachment: Option<Attachment>) -> Answer {
    // A handler that panicked has left the desk as it was before: go on.
    let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
    desk.answer(command, attachment)
}

fn command_of(query: &Query) -> (Result<String, String>, Option<Attachment>) {
    let attachment = query
        .attachment()
        .and_then(|bytes| Attachment::decode(&bytes.to_bytes()).ok());
    let bytes = query
        .payload()
        .map(|payload| payload.to_bytes())
        .unwrap_or_default();
    let command = decode::<StringStamped>(&bytes).map(|word| word.string);
    (command.map_err(|error| error.to_string()), attachment)
}

/// A reply that cannot be sent is a reply that is lost: the client asks again.
fn reply(query: &Query, answer: Answer) {
    let now = Time(0);
    let _ = match answer {
        Ok(text) => {
            word(&text, now).map(|payload| query.reply(query.key_expr().clone(), payload).wait())
        }
        Err(reason) => word(&reason, now).map(|payload| query.reply_err(payload).wait()),
    };
}
