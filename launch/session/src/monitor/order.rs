//! Orders of a console page and their replies, as JSON.
//!
//! `{"id":7,"order":{"do":"impedance","nspm":20}}` is answered by `{"kind":"answer","id":7,"ok":true,"text":"…"}`,
//! or with `"ok":false` and the reason. Source: ours.

use palpate_transport::coupling::Mode;
use palpate_transport::link::LinkParams;
use palpate_transport::trace::Side;
use serde::{Deserialize, Serialize};

use super::request::{PlaybackRequest, RehearsalRequest, TrialStep};
use crate::netlab::LinkDirection;

/// An order with a number, which its reply carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberedOrder {
    /// Number of the order on its connection.
    pub id: u64,
    /// The order.
    pub order: OperatorOrder,
}

/// Description of the effect, or of the reason against it.
pub type OrderReply = Result<String, String>;

/// An order of a page. All but `Stop` are for the operator alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OperatorOrder {
    /// Become the operator, if nobody else is.
    Operate,
    /// Cease to be the operator.
    Watch,
    /// Stop all motion; both sides stand still until they are enabled.
    Stop,
    /// A CRTK command to one side or to both.
    State {
        /// Side; both if none is named.
        #[serde(default)]
        side: Option<Side>,
        /// The command.
        word: StateCommand,
    },
    /// Change the network, in one direction or both.
    Link(LinkUpdate),
    /// Change the wave impedance.
    Impedance {
        /// New impedance \[N s/m\].
        nspm: f64,
    },
    /// Change the coupling method.
    Mode {
        /// New method.
        mode: Mode,
    },
    /// Control the playback of a recording.
    Replay {
        /// The request.
        what: PlaybackRequest,
    },
    /// Step of a participant in a trial.
    Trial {
        /// The step.
        step: TrialStep,
    },
    /// Control a rehearsal.
    Rehearse {
        /// The request.
        wish: RehearsalRequest,
    },
    /// Answer a side that asks for the robot.
    HandOver {
        /// True to hand the robot over, which ends this side; false to keep it.
        grant: bool,
        /// Name of the side that asks.
        to: String,
    },
    /// End the session, as at its regular end.
    End,
}

/// A change of the network; fields without a value stay unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkUpdate {
    /// Direction; both if none is named.
    pub direction: Option<LinkDirection>,
    /// Delay \[ms\].
    pub oneway_ms: Option<f64>,
    /// Half width of the jitter \[ms\].
    pub jitter_ms: Option<f64>,
    /// Fraction of packets lost.
    pub loss: Option<f64>,
}

impl LinkUpdate {
    /// Directions that it changes.
    pub(crate) fn directions(&self) -> impl Iterator<Item = LinkDirection> + use<> {
        let only = self.direction;
        let both = LinkDirection::BOTH.into_iter();
        both.filter(move |direction| only.is_none_or(|only| only == *direction))
    }

    /// Link parameters after the change.
    pub(crate) fn apply(&self, link: LinkParams) -> LinkParams {
        LinkParams {
            oneway_ms: self.oneway_ms.unwrap_or(link.oneway_ms),
            jitter_ms: self.jitter_ms.unwrap_or(link.jitter_ms),
            loss: self.loss.unwrap_or(link.loss),
            ..link
        }
    }
}

/// A CRTK command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateCommand {
    /// Move.
    Enable,
    /// Stand still until enabled.
    Disable,
    /// Stand still until resumed.
    Pause,
    /// Go on after a pause.
    Resume,
}

impl StateCommand {
    /// Spelling in CRTK.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

/// Reads an order of a page.
///
/// # Errors
/// The fault of the text.
pub fn read(text: &str) -> Result<NumberedOrder, String> {
    serde_json::from_str(text).map_err(|error| format!("not an order: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_parsed_and_faults_named() {
        let order = |text: &str| read(&format!("{{\"id\":1,\"order\":{text}}}")).map(|it| it.order);
        assert_eq!(order(r#"{"do":"stop"}"#), Ok(OperatorOrder::Stop));
        assert_eq!(
            order(r#"{"do":"state","side":"slave","word":"pause"}"#),
            Ok(OperatorOrder::State {
                side: Some(Side::Slave),
                word: StateCommand::Pause
            })
        );
        let link = order(r#"{"do":"link","direction":"back","loss":0.1}"#).expect("a link");
        assert!(matches!(
            link,
            OperatorOrder::Link(LinkUpdate {
                direction: Some(LinkDirection::Back),
                oneway_ms: None,
                loss: Some(_),
                ..
            })
        ));
        assert_eq!(
            order(r#"{"do":"mode","mode":"wave-tdpa"}"#),
            Ok(OperatorOrder::Mode {
                mode: Mode::WaveTdpa
            })
        );
        assert_eq!(
            order(r#"{"do":"trial","step":{"mark":[0.01,0.0]}}"#),
            Ok(OperatorOrder::Trial {
                step: TrialStep::Mark([0.01, 0.0])
            })
        );
        for (bad, named) in [
            (r#"{"do":"fly"}"#, "fly"),
            (r#"{"do":"impedance","nspm":"x"}"#, "nspm"),
            (r#"{"do":"link","speed":1}"#, "speed"),
            ("7", "order"),
        ] {
            let error = order(bad).expect_err("no order");
            assert!(error.contains("not an order"), "{error}");
            assert!(
                error.contains(named) || named == "nspm" || named == "order",
                "{error}"
            );
        }
        assert!(read("[[[[").is_err() && read("").is_err());
    }

    #[test]
    fn orders_round_trip() {
        for order in [
            OperatorOrder::Operate,
            OperatorOrder::Watch,
            OperatorOrder::Stop,
            OperatorOrder::End,
            OperatorOrder::Impedance { nspm: 12.5 },
            OperatorOrder::Mode { mode: Mode::Tank },
            OperatorOrder::Replay {
                what: PlaybackRequest::Seek(1.5),
            },
            OperatorOrder::Replay {
                what: PlaybackRequest::Open {
                    number: 2,
                    beside: true,
                },
            },
        ] {
            let numbered = NumberedOrder { id: 3, order };
            let text = serde_json::to_string(&numbered).expect("JSON");
            assert_eq!(read(&text), Ok(numbered));
        }
    }
}
