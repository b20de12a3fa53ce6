//! What a page may ask for, as JSON, and how it is answered.
//!
//! `{"id":7,"order":{"do":"impedance","nspm":20}}` is answered by `{"kind":"answer","id":7,"ok":true,"text":"…"}`,
//! or with `"ok":false` and the reason. Source: ours.

use palpate_transport::coupling::Mode;
use palpate_transport::trace::Side;
use serde::{Deserialize, Serialize};

use crate::monitor::request::Step;
use crate::monitor::request::Transport;
use crate::monitor::request::Wish;

/// Something that is asked for, with a number by which it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Number of the order on its connection.
    pub id: u64,
    /// What is to be done.
    pub order: Order,
}

/// What was done, or why not, in words.
pub type Answer = Result<String, String>;

/// An answer on its way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// Number of the order.
    pub id: u64,
    /// Whether it was done.
    pub ok: bool,
    /// What was done, or why not.
    pub text: String,
}

impl Answered {
    /// The answer to the order of this number.
    #[must_use]
    pub fn to(id: u64, answer: Answer) -> Self {
        let ok = answer.is_ok();
        let text = answer.unwrap_or_else(|reason| reason);
        Self { id, ok, text }
    }

    /// What it says.
    ///
    /// # Errors
    /// The reason of a refusal.
    pub fn answer(self) -> Answer {
        if self.ok {
            Ok(self.text)
        } else {
            Err(self.text)
        }
    }
}

/// What may be asked for. All but `Stop` is for the operator alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Be the operator, if nobody else is.
    Operate,
    /// Be the operator no more.
    Watch,
    /// Stop all motion; both sides stand still until they are enabled.
    Stop,
    /// A CRTK command to one side or to both.
    State {
        /// Which side; both if none is named.
        #[serde(default)]
        side: Option<Place>,
        /// What it is told.
        word: Word,
    },
    /// Change the network, one way or both.
    Link {
        /// Which way; both if none is named.
        #[serde(default)]
        way: Option<Way>,
        /// Delay \[ms\].
        #[serde(default)]
        oneway_ms: Option<f64>,
        /// Half width of the jitter \[ms\].
        #[serde(default)]
        jitter_ms: Option<f64>,
        /// Fraction of packets lost.
        #[serde(default)]
        loss: Option<f64>,
    },
    /// Change the wave impedance.
    Impedance {
        /// What it is to be \[N s/m\].
        nspm: f64,
    },
    /// Change the coupling method.
    Mode {
        /// What it is to be.
        mode: Mode,
    },
    /// Do something with a recording.
    Replay {
        /// What is to be done.
        what: Transport,
    },
    /// A step of a person in a trial.
    Trial {
        /// What it is.
        step: Step,
    },
    /// Something that only a rehearsal does.
    Rehearse {
        /// What it is.
        wish: Wish,
    },
    /// End the session as at its time.
    End,
}

/// A side by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The operator's side.
    Master,
    /// The remote side.
    Slave,
}

impl From<Place> for Side {
    fn from(place: Place) -> Self {
        match place {
            Place::Master => Self::Master,
            Place::Slave => Self::Slave,
        }
    }
}

/// A way along the link by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the operator to the robot.
    Forward,
    /// From the robot to the operator.
    Back,
}

/// A CRTK command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Move.
    Enable,
    /// Stand still until enabled.
    Disable,
    /// Stand still until resumed.
    Pause,
    /// Go on after a pause.
    Resume,
}

impl Word {
    /// As CRTK spells it.
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

/// Read what a page asks for.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read(text: &str) -> Result<Asked, String> {
    serde_json::from_str(text).map_err(|error| format!("not an order: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_and_what_is_none_is_named() {
        let order = |text: &str| read(&format!("{{\"id\":1,\"order\":{text}}}")).map(|it| it.order);
        assert_eq!(order(r#"{"do":"stop"}"#), Ok(Order::Stop));
        assert_eq!(
            order(r#"{"do":"state","side":"slave","word":"pause"}"#),
            Ok(Order::State {
                side: Some(Place::Slave),
                word: Word::Pause
            })
        );
        let link = order(r#"{"do":"link","way":"back","loss":0.1}"#).expect("a link");
        assert!(matches!(
            link,
            Order::Link {
                way: Some(Way::Back),
                oneway_ms: None,
                loss: Some(_),
                ..
            }
        ));
        assert_eq!(
            order(r#"{"do":"mode","mode":"wave-tdpa"}"#),
            Ok(Order::Mode {
                mode: Mode::WaveTdpa
            })
        );
        assert_eq!(
            order(r#"{"do":"trial","step":{"mark":[0.01,0.0]}}"#),
            Ok(Order::Trial {
                step: Step::Mark([0.01, 0.0])
            })
        );
        for (bad, named) in [
            (r#"{"do":"fly"}"#, "fly"),
            (r#"{"do":"impedance","nspm":"x"}"#, "nspm"),
            (r#"{"do":"link","speed":1}"#, "speed"),
            ("7", "order"),
        ] {
            let said = order(bad).expect_err("no order");
            assert!(said.contains("not an order"), "{said}");
            assert!(
                said.contains(named) || named == "nspm" || named == "order",
                "{said}"
            );
        }
        assert!(read("[[[[").is_err() && read("").is_err());
    }

    #[test]
    fn every_order_is_written_as_it_is_read() {
        for order in [
            Order::Operate,
            Order::Watch,
            Order::Stop,
            Order::End,
            Order::Impedance { nspm: 12.5 },
            Order::Mode { mode: Mode::Tank },
            Order::Replay {
                what: Transport::Seek(1.5),
            },
            Order::Replay {
                what: Transport::Open {
                    number: 2,
                    beside: true,
                },
            },
        ] {
            let asked = Asked { id: 3, order };
            let text = serde_json::to_string(&asked).expect("JSON");
            assert_eq!(read(&text), Ok(asked));
        }
        let answered = Answered::to(4, Err("no".into()));
        assert_eq!(answered.answer(), Err("no".into()));
    }
}
