//! Ownership of a side: the peer that it belongs to, and its hand-over to another one.
//!
//! The first side that sends its terms while its node is on the bus owns its peer until that node leaves. A second one is
//! refused, with the name of the owner. It may ask for a hand-over. The owner grants it, or the host of the robot forces
//! it. The robot then stops, and once it is at rest, the asking side becomes the owner. The former owner learns the end
//! of its ownership by its next query. Source: ours.

use std::sync::{Arc, Mutex};

use palpate_bus::PeerWatch;
use palpate_bus::command::{CommandReply, CommandSender};
use palpate_transport::{Axes, Span, Time};
use serde::{Deserialize, Serialize};

use super::agreement::TermsHead;
use super::command_state::CommandState;

/// Time after which a side that no longer sends its terms no longer asks \[ns\]; ours.
const REQUEST_LEASE: Span = Span(2_000_000_000);

/// The robot is at rest if it stays this time within [`REST_M`], before it changes its owner \[ns\]; ours. Measured
/// velocities of a robot that stands have noise of some mm/s, measured positions hardly any.
const REST: Span = Span(250_000_000);

/// Distance from the place where a rest began \[m\]; ours.
const REST_M: f64 = 5e-4;

/// First words of a refusal that is an answer of the owner, and final.
pub(crate) const DECLINED: &str = "the owner declined";

/// Change of the owner of a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOver {
    /// Name of the new owner.
    pub to: String,
    /// True if the former owner granted it; false if the host of the robot forced it.
    pub granted: bool,
}

/// State of an ownership, in the answers to its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OwnerNews {
    /// The side has no owner, as after a restart.
    Unowned,
    /// The asker owns it; name of a side that asks for it, if any.
    Owned {
        /// The name.
        asks: Option<String>,
    },
    /// The asker owned it.
    Lost(HandOver),
}

/// Peer that owns a side.
struct Owner {
    sender: CommandSender,
    name: String,
    /// Id of its node.
    node: String,
}

/// Progress of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The owner has not answered.
    Asked,
    Declined,
    /// The robot stops.
    Stopping {
        granted: bool,
    },
    /// The robot is at rest.
    Ready {
        granted: bool,
    },
}

/// Request of a side that asks for a hand-over.
struct Request {
    sender: CommandSender,
    name: String,
    /// Time of its newest terms.
    newest: Time,
    stage: Stage,
}

impl Request {
    fn is_open(&self, now: Time) -> bool {
        self.stage != Stage::Declined && now - self.newest < REQUEST_LEASE
    }
}

/// Ownership of one side.
#[derive(Default)]
pub(crate) struct Ownership {
    owner: Option<Owner>,
    request: Option<Request>,
    /// Former owners, with what they lost the side by.
    former: Vec<(CommandSender, HandOver)>,
    /// Begin and place of the present rest of the robot \[m\].
    rest: Option<(Time, Axes)>,
    /// Request that was announced.
    announced: Option<CommandSender>,
}

/// Ownership that the threads of a side share; never the servo's.
pub(crate) type SharedOwnership = Arc<Mutex<Ownership>>;

impl Ownership {
    /// Admits the sender of terms as the owner, or refuses it while another one owns this side.
    ///
    /// # Errors
    /// The refusal in words.
    pub(crate) fn admit(
        &mut self,
        head: &TermsHead,
        sender: Option<CommandSender>,
        peer: &PeerWatch,
        now: Time,
    ) -> Result<CommandSender, String> {
        let sender = sender.ok_or("terms without a sender")?;
        if let Some(present) = &self.owner
            && present.sender != sender
            && peer.has_node(&present.node)
        {
            let owner = present.name.clone();
            let granted = self.ask(head, sender, &owner, now)?;
            let to = head.name.clone();
            let former = self.owner.take().map(|former| former.sender);
            let lost = former.map(|former| (former, HandOver { to, granted }));
            self.former.extend(lost);
            self.request = None;
            peer.begin_succession();
        }
        if peer.has_node(&head.node) && self.owner.as_ref().is_none_or(|it| it.sender != sender) {
            self.owner = Some(Owner {
                sender,
                name: head.name.clone(),
                node: head.node.clone(),
            });
        }
        Ok(sender)
    }

    /// Takes a request; returns true if it was granted, false if it was forced, once the robot is at rest.
    fn ask(
        &mut self,
        head: &TermsHead,
        sender: CommandSender,
        owner: &str,
        now: Time,
    ) -> Result<bool, String> {
        if !head.asks_handover {
            return Err(format!("it belongs to {owner}, which is still there"));
        }
        let request = match &mut self.request {
            Some(request) if request.sender == sender => request,
            Some(other) if other.is_open(now) => {
                return Err(format!("{} asks {owner} for it already", other.name));
            }
            request => request.insert(Request {
                sender,
                name: head.name.clone(),
                newest: now,
                stage: Stage::Asked,
            }),
        };
        request.newest = now;
        match request.stage {
            Stage::Asked => Err(format!("it belongs to {owner}, which has not answered yet")),
            Stage::Declined => Err(format!("{DECLINED}: it still belongs to {owner}")),
            Stage::Stopping { .. } => Err("the robot is not at rest yet".to_owned()),
            Stage::Ready { granted } => Ok(granted),
        }
    }

    /// Answers a query: an empty text asks for the state; `grant NAME` and `decline NAME` answer the request of NAME. A
    /// grant stops the robot.
    ///
    /// # Errors
    /// The refusal in words, also for a sender that never owned this side.
    pub(crate) fn answer(
        &mut self,
        text: &str,
        sender: Option<CommandSender>,
        command_state: &CommandState,
        now: Time,
    ) -> CommandReply {
        let news = self.news(sender, now)?;
        if text.is_empty() {
            return serde_json::to_string(&news).map_err(|error| error.to_string());
        }
        if !matches!(news, OwnerNews::Owned { .. }) {
            return Err("only the owner of the robot answers a request".into());
        }
        let (word, name) = text.split_once(' ').unwrap_or((text, ""));
        let request = self.request.as_mut().filter(|request| {
            request.name == name && request.stage == Stage::Asked && request.is_open(now)
        });
        let request = request.ok_or_else(|| format!("{name} does not ask for the robot"))?;
        match word {
            "grant" => {
                request.stage = Stage::Stopping { granted: true };
                self.rest = None;
                stop(command_state);
                Ok(format!(
                    "the robot stops; then {name} is its owner, and this side ends"
                ))
            }
            "decline" => {
                request.stage = Stage::Declined;
                Ok(format!("declined: the robot is not handed to {name}"))
            }
            _ => Err(format!("{word:?} is unknown; expected grant or decline")),
        }
    }

    fn news(&self, sender: Option<CommandSender>, now: Time) -> Result<OwnerNews, String> {
        let sender = sender.ok_or("a query without a sender")?;
        let lost = self.former.iter().find(|(former, _)| *former == sender);
        match &self.owner {
            Some(owner) if owner.sender == sender => {
                let asks = self.request.as_ref();
                let asks = asks.filter(|it| it.stage == Stage::Asked && it.is_open(now));
                Ok(OwnerNews::Owned {
                    asks: asks.map(|request| request.name.clone()),
                })
            }
            _ if lost.is_some() => {
                Ok(lost.map_or(OwnerNews::Unowned, |(_, by)| OwnerNews::Lost(by.clone())))
            }
            Some(owner) => Ok(OwnerNews::Lost(HandOver {
                to: owner.name.clone(),
                granted: false,
            })),
            None => Ok(OwnerNews::Unowned),
        }
    }

    /// Advances a hand-over; `position_m` is the robot's, and `forced` is true if its host forces it. Returns a notice of
    /// a new request, for the robot's host.
    pub(crate) fn advance(
        &mut self,
        position_m: &Axes,
        forced: bool,
        command_state: &CommandState,
        now: Time,
    ) -> Option<String> {
        let is_near = |place: &Axes| {
            let mut pairs = position_m.iter().zip(place);
            pairs.all(|(here, there)| (here - there).abs() <= REST_M)
        };
        let rest = self.rest.filter(|(_, place)| is_near(place));
        let (since, _) = *self.rest.insert(rest.unwrap_or((now, *position_m)));
        let at_rest = now - since >= REST;
        let request = self
            .request
            .as_mut()
            .filter(|request| request.is_open(now))?;
        match request.stage {
            Stage::Asked if forced => {
                request.stage = Stage::Stopping { granted: false };
                self.rest = None;
                stop(command_state);
            }
            Stage::Stopping { granted } if at_rest => request.stage = Stage::Ready { granted },
            _ => {}
        }
        let is_new = self.announced.replace(request.sender) != Some(request.sender);
        is_new.then(|| {
            let owner = self.owner.as_ref().map_or("nobody", |owner| &owner.name);
            let pid = std::process::id();
            format!(
                "{} asks for the robot, which belongs to {owner}; `kill -USR1 {pid}` forces a hand-over",
                request.name
            )
        })
    }

    /// Changes of the owner so far.
    pub(crate) fn handovers(&self) -> Vec<HandOver> {
        self.former.iter().map(|(_, by)| by.clone()).collect()
    }
}

/// Stops the robot until the next owner resumes motion.
fn stop(command_state: &CommandState) {
    // a pause is refused where the robot stands already
    if command_state.execute("pause").is_err() {
        command_state.halt();
    }
}
