//! Commands with a reply.
//!
//! CRTK's `state_command` is a topic: its sender gets no reply. Beside it there is a query on
//! `command` with the same message, which is repeated until a reply arrives or the time-out ends.
//! Each command has a number. A command that was carried out is not carried out again: its reply
//! is repeated. All queries of a session name one sender, which only their receivers know: without keys, whoever
//! answers the same query. Source: ours.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use zenoh::Wait;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{Query, Queryable, Reply};

use super::sealed_link::SealedLink;
use super::topic::TopicSubscription;
use super::{BusError, BusSession, duration};
use palpate_transport::cdr::{decode, encode_into};
use palpate_transport::msg::attachment::{Attachment, Gid, gid_of};
use palpate_transport::msg::crtk::{STATE_COMMAND, topic};
use palpate_transport::msg::key::TopicKey;
use palpate_transport::msg::{Header, StringStamped};
use palpate_transport::{Span, Time};

/// Name of the query below the device's namespace.
const COMMAND: &str = "command";

/// Name of the query for the terms that both sides must agree on.
const AGREEMENT: &str = "agreement";

/// Name of the query by which the owner of a side follows, grants or refuses a hand-over.
const HANDOVER: &str = "handover";

/// Time that one attempt waits before the command is sent again \[ms\]; ours.
const ATTEMPT_MS: f64 = 250.0;

/// Replies that a server keeps, so that a repeated command is not carried out again; ours.
const RECENT_REPLIES_MAX: usize = 32;

/// Reply to a command: its result, or the reason of the refusal.
pub type CommandReply = Result<String, String>;

/// Session that sends a command, by a random number that only the receivers of its queries know (without keys, whoever
/// answers the same query). Commands on CRTK's topic
/// have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSender(pub Gid);

/// Commands that a session sends: its name as their sender, and their numbers.
#[derive(Debug)]
pub(crate) struct SentCommands {
    gid: Gid,
    next: AtomicI64,
}

impl SentCommands {
    /// Creates the name of a session with the id `session`.
    pub(crate) fn new(session: &str) -> Self {
        // the standard library's random source, which the system seeds
        let secrets = [(); 2].map(|()| RandomState::new().build_hasher().finish());
        Self {
            gid: gid_of(&format!("{session}#{secrets:x?}")),
            next: AtomicI64::new(1),
        }
    }
}

/// Failure of a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The other side refused the command.
    #[error("command {command:?} refused: {reason}")]
    Refused {
        /// Command.
        command: String,
        /// Reason that the other side gives.
        reason: String,
    },
    /// No answer in time.
    #[error("command {command:?}: no answer within {waited_ms} ms after {attempts} attempts")]
    Unanswered {
        /// Command.
        command: String,
        /// Time waited \[ms\].
        waited_ms: f64,
        /// Number of attempts.
        attempts: u32,
    },
    /// The bus failed.
    #[error(transparent)]
    Bus(#[from] BusError),
}

/// Sends commands to one device.
pub struct CommandClient {
    session: zenoh::Session,
    key: String,
    sent: Arc<SentCommands>,
    /// Link whose keys are agreed with each command; none for other commands.
    sealed: Option<Arc<SealedLink>>,
}

impl CommandClient {
    /// Numbers the next command as the one `count` commands before, as if it were repeated.
    #[cfg(test)]
    pub(super) fn repeat_from(&self, count: i64) {
        self.sent.next.fetch_sub(count, Ordering::Relaxed);
    }

    /// Sends a command made at `now`, and repeats it until a reply arrives or `timeout` has passed. With terms, a
    /// secured session also agrees on fresh keys.
    ///
    /// # Errors
    /// [`CommandError`]: refused, no reply, or a failure of the bus.
    pub fn command(
        &mut self,
        command: &str,
        now: Time,
        timeout: Span,
    ) -> Result<String, CommandError> {
        let offer = self.sealed.as_ref().map(|link| link.offer());
        let Some(offer) = offer.transpose().map_err(BusError::from)? else {
            return self.send(command, now, timeout);
        };
        let text = format!("{}\n{command}", offer.line());
        let reply = self.send(&text, now, timeout)?;
        let (answer, reply) = reply.split_once('\n').unwrap_or_default();
        let concluded = self
            .sealed
            .as_ref()
            .map(|link| link.conclude(offer, answer));
        concluded.transpose().map_err(BusError::from)?;
        Ok(reply.to_owned())
    }

    fn send(&mut self, command: &str, now: Time, timeout: Span) -> Result<String, CommandError> {
        let attachment = Attachment {
            sequence: self.sent.next.fetch_add(1, Ordering::Relaxed),
            source_ns: now.0,
            gid: self.sent.gid,
        };
        let payload = string_message(command, now)?;
        let attempts = (timeout.ms() / ATTEMPT_MS).ceil().max(1.0) as u32;
        let attempt = Span((timeout.0 / i64::from(attempts)).max(1));
        for _ in 0..attempts {
            match self.attempt(&payload, &attachment, attempt)? {
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

    fn attempt(
        &self,
        payload: &[u8],
        attachment: &Attachment,
        wait: Span,
    ) -> Result<Option<CommandReply>, BusError> {
        let (sender, answers) = channel();
        // Kept here too, so that a query without a receiver waits as long as one with a receiver.
        let held = sender.clone();
        self.session
            .get(self.key.as_str())
            .payload(payload)
            .attachment(attachment.encode())
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::InteractiveHigh)
            .timeout(duration(wait))
            .callback(move |reply| {
                // The waiting side has given up: the reply is late and the command is sent again.
                if let Some(reply) = parse_reply(&reply) {
                    let _ = sender.send(reply);
                }
            })
            .wait()
            .map_err(BusError::zenoh("send a command"))?;
        let reply = answers.recv_timeout(duration(wait)).ok();
        drop(held);
        Ok(reply)
    }
}

/// `None` for errors that zenoh itself creates (a time-out).
fn parse_reply(reply: &Reply) -> Option<CommandReply> {
    let text = |bytes: &[u8]| decode::<StringStamped>(bytes).ok().map(|word| word.string);
    match reply.result() {
        Ok(sample) => text(&sample.payload().to_bytes()).map(Ok),
        Err(error) => text(&error.payload().to_bytes()).map(Err),
    }
}

fn string_message(text: &str, now: Time) -> Result<Vec<u8>, BusError> {
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

/// Server of commands, or of the agreement query, until dropped.
pub struct CommandServer {
    _queryable: Queryable<()>,
    _topic: Option<TopicSubscription>,
}

type Handler = Box<dyn FnMut(&str, Option<CommandSender>) -> CommandReply + Send>;

struct CommandDispatcher {
    handler: Handler,
    recent_replies: VecDeque<(Gid, i64, CommandReply)>,
}

impl CommandDispatcher {
    fn new(
        handler: impl FnMut(&str, Option<CommandSender>) -> CommandReply + Send + 'static,
    ) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            handler: Box::new(handler),
            recent_replies: VecDeque::new(),
        }))
    }

    /// Carries out a command of a query.
    fn dispatch(&mut self, command: &str, attachment: Option<Attachment>) -> CommandReply {
        let Some(Attachment { gid, sequence, .. }) = attachment else {
            return (self.handler)(command, None);
        };
        let known = self
            .recent_replies
            .iter()
            .find(|entry| entry.0 == gid && entry.1 == sequence);
        if let Some((_, _, reply)) = known {
            return reply.clone();
        }
        let reply = (self.handler)(command, Some(CommandSender(gid)));
        if self.recent_replies.len() == RECENT_REPLIES_MAX {
            self.recent_replies.pop_front();
        }
        self.recent_replies
            .push_back((gid, sequence, reply.clone()));
        reply
    }
}

impl BusSession {
    /// Returns a client for the commands of `<namespace>/<device>`.
    ///
    /// # Errors
    /// [`BusError::Key`] for an invalid name.
    pub fn command_client(&self, device: &str) -> Result<CommandClient, BusError> {
        self.client(device, COMMAND, None)
    }

    /// Returns a client that sends our terms to `<namespace>/<device>` and receives its terms.
    ///
    /// # Errors
    /// [`BusError::Key`] for an invalid name.
    pub fn agreement_client(&self, device: &str) -> Result<CommandClient, BusError> {
        self.client(device, AGREEMENT, self.sealed.clone())
    }

    /// Returns a client by which the owner of `<namespace>/<device>` follows requests for it.
    ///
    /// # Errors
    /// [`BusError::Key`] for an invalid name.
    pub fn handover_client(&self, device: &str) -> Result<CommandClient, BusError> {
        self.client(device, HANDOVER, None)
    }

    /// Answers the owner of `<namespace>/<device>`; `handler` as that of [`Self::serve_commands`].
    ///
    /// # Errors
    /// As [`Self::serve_commands`].
    pub fn serve_handover(
        &self,
        device: &str,
        handler: impl FnMut(&str, Option<CommandSender>) -> CommandReply + Send + 'static,
    ) -> Result<CommandServer, BusError> {
        Ok(CommandServer {
            _queryable: self.serve_queries(device, HANDOVER, CommandDispatcher::new(handler))?,
            _topic: None,
        })
    }

    /// Answers sides that send their terms to `<namespace>/<device>`. `handler` receives these with their sender and, in a
    /// secured session, the name of its host, whose key signed them. It returns ours; it runs on zenoh's receive thread:
    /// keep it short.
    ///
    /// # Errors
    /// As [`Self::serve_commands`].
    pub fn serve_agreement(
        &self,
        device: &str,
        mut handler: impl FnMut(&str, Option<CommandSender>, Option<&str>) -> CommandReply
        + Send
        + 'static,
    ) -> Result<CommandServer, BusError> {
        let sealed = self.sealed.clone();
        let dispatcher = CommandDispatcher::new(move |text, sender| {
            let Some(link) = &sealed else {
                return handler(text, sender, None);
            };
            let (offer, terms) = text.split_once('\n').unwrap_or_default();
            // terms count only with the signature of a trusted host, and a sender that is refused gets no keys
            let (answer, keys) = link.answer(offer).map_err(|error| error.to_string())?;
            let reply = handler(terms, sender, Some(keys.peer()))?;
            link.add(keys);
            Ok(format!("{answer}\n{reply}"))
        });
        Ok(CommandServer {
            _queryable: self.serve_queries(device, AGREEMENT, dispatcher)?,
            _topic: None,
        })
    }

    fn client(
        &self,
        device: &str,
        name: &str,
        sealed: Option<Arc<SealedLink>>,
    ) -> Result<CommandClient, BusError> {
        Ok(CommandClient {
            session: self.zenoh.clone(),
            key: self.query_key(device, name)?,
            sent: Arc::clone(&self.sent_commands),
            sealed,
        })
    }

    /// Serves the commands of `<namespace>/<device>`, including those on CRTK's topic. `handler` receives each with its
    /// sender. It runs on zenoh's receive thread: it must only pass the command on and return whether it was accepted.
    ///
    /// # Errors
    /// [`BusError::Key`] for an invalid name, [`BusError::Zenoh`] when zenoh refuses.
    pub fn serve_commands(
        &self,
        device: &str,
        handler: impl FnMut(&str, Option<CommandSender>) -> CommandReply + Send + 'static,
    ) -> Result<CommandServer, BusError> {
        let dispatcher = CommandDispatcher::new(handler);
        let by_topic = Arc::clone(&dispatcher);
        let queryable = self.serve_queries(device, COMMAND, dispatcher)?;
        let namespace = topic(self.namespace(), device);
        let subscription = self.subscribe(
            &topic(&namespace, STATE_COMMAND),
            move |command: StringStamped, _| {
                // CRTK's topic cannot carry a reply, and the ids of its publishers are public
                let _ = dispatch(&by_topic, &command.string, None);
            },
        )?;
        Ok(CommandServer {
            _queryable: queryable,
            _topic: Some(subscription),
        })
    }

    fn serve_queries(
        &self,
        device: &str,
        name: &str,
        dispatcher: Arc<Mutex<CommandDispatcher>>,
    ) -> Result<Queryable<()>, BusError> {
        self.zenoh
            .declare_queryable(self.query_key(device, name)?)
            .callback(move |query| {
                let (command, attachment) = command_of(&query);
                let reply = match command {
                    Ok(command) => dispatch(&dispatcher, &command, attachment),
                    Err(reason) => Err(reason),
                };
                send_reply(&query, reply);
            })
            .wait()
            .map_err(BusError::zenoh("serve queries"))
    }

    fn query_key(&self, device: &str, name: &str) -> Result<String, BusError> {
        let topic = topic(&topic(self.namespace(), device), name);
        Ok(TopicKey::for_topic::<StringStamped>(&topic)?.to_string())
    }
}

fn dispatch(
    dispatcher: &Mutex<CommandDispatcher>,
    command: &str,
    attachment: Option<Attachment>,
) -> CommandReply {
    // A handler that panicked left the dispatcher unchanged: go on.
    let mut dispatcher = dispatcher.lock().unwrap_or_else(PoisonError::into_inner);
    dispatcher.dispatch(command, attachment)
}

fn command_of(query: &Query) -> (Result<String, String>, Option<Attachment>) {
    let attachment = query
        .attachment()
        .and_then(|bytes| Attachment::decode(&bytes.to_bytes()));
    let bytes = query
        .payload()
        .map(|payload| payload.to_bytes())
        .unwrap_or_default();
    let command = decode::<StringStamped>(&bytes).map(|word| word.string);
    (command.map_err(|error| error.to_string()), attachment)
}

/// Sends a reply; one that cannot be sent counts as lost, and the client repeats its query.
fn send_reply(query: &Query, reply: CommandReply) {
    let now = Time(0);
    let _ = match reply {
        Ok(text) => string_message(&text, now)
            .map(|payload| query.reply(query.key_expr().clone(), payload).wait()),
        Err(reason) => string_message(&reason, now).map(|payload| query.reply_err(payload).wait()),
    };
}
