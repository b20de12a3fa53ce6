//! Ownership of a side: the peer that it belongs to, and its hand-over to another one.
//!
//! The *terms* of a side are its name and the parameters that both sides compare; it sends them to the other side.
//! The first sender of terms that is on the bus owns the receiver, until it leaves the bus. A second sender is refused,
//! with the name of the owner. It may ask for a hand-over. The owner grants it, or the host of the robot forces
//! it. The robot then stops, and once it is at rest, the asking side becomes the owner. The former owner learns the end
//! of its ownership by its next query. Source: ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::{Axes, Span, Time};
use serde::{Deserialize, Serialize};

use super::bus::PeerWatch;
use super::command::{CommandClient, CommandReply, CommandSender};
use super::duration;

/// Time without terms of its sender after which a request ends \[ns\]; ours.
const REQUEST_LEASE: Span = Span(2_000_000_000);

/// The robot is at rest if it stays this time within [`REST_M`], before it changes its owner \[ns\]; ours. Measured
/// velocities of a robot that stands have noise of some mm/s, measured positions hardly any.
const REST: Span = Span(250_000_000);

/// Distance from the place where a rest began \[m\]; ours.
const REST_M: f64 = 5e-4;

/// First words of the refusal after the owner declined; it is final.
pub const DECLINED: &str = "the owner declined";

/// Change of the owner of a side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOver {
    /// Name of the new owner.
    pub to: String,
    /// True if the former owner granted it; false if the host of the robot forced it.
    pub granted: bool,
}

/// Claim of a side to its peer, as its terms state it.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Name of the side.
    pub name: String,
    /// Id of its node ([`super::BusSession::node_id`]).
    pub node: String,
    /// True if it asks the present owner for a hand-over.
    pub asks_handover: bool,
}

/// State of an ownership, in the answers to its owner.
#[derive(Debug, PartialEq, Eq)]
enum OwnerNews {
    /// The side has no owner, as after a restart.
    Unowned,
    /// The asker owns it; name of a side that asks for it, if any.
    Owned(Option<String>),
    /// The asker owned it.
    Lost(HandOver),
}

impl OwnerNews {
    fn text(&self) -> String {
        match self {
            Self::Unowned => "unowned".to_owned(),
            Self::Owned(None) => "owned".to_owned(),
            Self::Owned(Some(name)) => format!("asked {name}"),
            Self::Lost(HandOver { to, granted: true }) => format!("granted {to}"),
            Self::Lost(HandOver { to, granted: false }) => format!("forced {to}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (word, name) = text.split_once(' ').unwrap_or((text, ""));
        let name = name.to_owned();
        let lost = |granted| {
            Self::Lost(HandOver {
                to: name.clone(),
                granted,
            })
        };
        match word {
            "unowned" => Some(Self::Unowned),
            "owned" => Some(Self::Owned(None)),
            "asked" => Some(Self::Owned(Some(name))),
            "granted" => Some(lost(true)),
            "forced" => Some(lost(false)),
            _ => None,
        }
    }
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
pub struct Ownership {
    owner: Option<Owner>,
    request: Option<Request>,
    /// Former owners, each with the hand-over by which it lost the side.
    former: Vec<(CommandSender, HandOver)>,
    /// Begin and place of the present rest of the robot \[m\].
    rest: Option<(Time, Axes)>,
    /// Request that was announced.
    announced: Option<CommandSender>,
}

/// Ownership that the threads of a side share; never the servo's.
pub type SharedOwnership = Arc<Mutex<Ownership>>;

impl Ownership {
    /// Admits the sender of terms as the owner, or refuses it while another one owns this side.
    ///
    /// # Errors
    /// The refusal in words.
    pub fn admit(
        &mut self,
        claim: &Claim,
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
            let granted = self.ask(claim, sender, &owner, now)?;
            let to = claim.name.clone();
            let former = self.owner.take().map(|former| former.sender);
            let lost = former.map(|former| (former, HandOver { to, granted }));
            self.former.extend(lost);
            self.request = None;
            peer.begin_succession();
        }
        if peer.has_node(&claim.node) && self.owner.as_ref().is_none_or(|it| it.sender != sender) {
            self.owner = Some(Owner {
                sender,
                name: claim.name.clone(),
                node: claim.node.clone(),
            });
        }
        Ok(sender)
    }

    /// Takes a request; returns true if it was granted, false if it was forced, once the robot is at rest.
    fn ask(
        &mut self,
        claim: &Claim,
        sender: CommandSender,
        owner: &str,
        now: Time,
    ) -> Result<bool, String> {
        if !claim.asks_handover {
            return Err(format!("it belongs to {owner}, which is still there"));
        }
        let request = match &mut self.request {
            Some(request) if request.sender == sender => request,
            Some(other) if other.is_open(now) => {
                return Err(format!("{} asks {owner} for it already", other.name));
            }
            request => request.insert(Request {
                sender,
                name: claim.name.clone(),
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
    /// grant calls `stop`, which stops the robot.
    ///
    /// # Errors
    /// The refusal in words, also for a sender that never owned this side.
    pub fn answer(
        &mut self,
        text: &str,
        sender: Option<CommandSender>,
        now: Time,
        stop: impl FnOnce(),
    ) -> CommandReply {
        let news = self.news(sender, now)?;
        if text.is_empty() {
            return Ok(news.text());
        }
        if !matches!(news, OwnerNews::Owned(_)) {
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
                stop();
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
                Ok(OwnerNews::Owned(asks.map(|request| request.name.clone())))
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
    pub fn advance(
        &mut self,
        position_m: &Axes,
        forced: bool,
        now: Time,
        stop: impl FnOnce(),
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
                stop();
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
    pub fn handovers(&self) -> Vec<HandOver> {
        self.former.iter().map(|(_, by)| by.clone()).collect()
    }
}

/// Newest news of an ownership, for its owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedOwnership {
    /// Name of a side that asks for the robot.
    pub asks: Option<String>,
    /// The end of the ownership.
    pub lost: Option<HandOver>,
}

/// News that a watch shares.
pub type SharedNews = Arc<Mutex<WatchedOwnership>>;

fn locked(news: &SharedNews) -> MutexGuard<'_, WatchedOwnership> {
    news.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Time between two queries of an owner \[ns\], and longest wait for an answer; ours.
const QUERY_PERIOD: Span = Span(500_000_000);

/// Time between two looks whether a watch must end \[ns\]; ours.
const LOOK_PERIOD: Span = Span(10_000_000);

/// Queries the robot's side twice a second until `ended`; blocks. `claim` sends the terms again to a robot's side that has
/// no owner, as after a restart. At the end of the ownership it sets `stop`.
pub fn watch(
    mut client: CommandClient,
    news: &SharedNews,
    ended: &AtomicBool,
    stop: &AtomicBool,
    mut claim: impl FnMut(),
) {
    let clock = MonotonicClock;
    let mut queried = clock.now();
    while !ended.load(Ordering::Acquire) {
        std::thread::sleep(duration(LOOK_PERIOD));
        if locked(news).lost.is_some() || clock.now() - queried < QUERY_PERIOD {
            continue;
        }
        let answer = client.command("", clock.now(), QUERY_PERIOD);
        queried = clock.now();
        // the robot's side may be gone, which the watchdogs note
        match answer.ok().and_then(|text| OwnerNews::parse(&text)) {
            Some(OwnerNews::Owned(asks)) => locked(news).asks = asks,
            Some(OwnerNews::Lost(by)) => {
                *locked(news) = WatchedOwnership {
                    asks: None,
                    lost: Some(by),
                };
                stop.store(true, Ordering::Relaxed);
            }
            Some(OwnerNews::Unowned) => claim(),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_read_back() {
        let name = || "host (process 1 on robot)".to_owned();
        for news in [
            OwnerNews::Unowned,
            OwnerNews::Owned(None),
            OwnerNews::Owned(Some(name())),
            OwnerNews::Lost(HandOver {
                to: name(),
                granted: true,
            }),
            OwnerNews::Lost(HandOver {
                to: name(),
                granted: false,
            }),
        ] {
            assert_eq!(OwnerNews::parse(&news.text()), Some(news));
        }
        assert_eq!(OwnerNews::parse("sold"), None);
    }
}
