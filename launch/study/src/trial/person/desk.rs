//! The desk of a trial with a person: their steps go to whoever runs the trial, and nothing may be set.
//!
//! Source: ours.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use palpate_master::device::pointer::Aim;

use palpate_session::monitor::desk::SessionDesk;
use palpate_session::monitor::order::Word;
use palpate_session::monitor::request::Step;
use palpate_session::monitor::{Answer, Desk, Order};

/// The desk.
#[derive(Debug)]
pub(crate) struct PersonDesk {
    side: Arc<SessionDesk>,
    steps: Mutex<Sender<Step>>,
}

impl PersonDesk {
    /// A desk before the sides of the sessions of `side`, and where the steps are found.
    #[must_use]
    pub(crate) fn new(side: Arc<SessionDesk>) -> (Arc<Self>, Receiver<Step>) {
        let (steps, taken) = channel();
        let steps = Mutex::new(steps);
        (Arc::new(Self { side, steps }), taken)
    }

    /// Whether nothing may begin, because all was stopped, by a page or by a device.
    #[must_use]
    pub(crate) fn is_halted(&self) -> bool {
        self.side.is_halted()
    }
}

impl Desk for PersonDesk {
    fn take(&self, order: &Order) -> Answer {
        match order {
            Order::Trial { step } => {
                let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
                let sent = steps.send(*step);
                sent.map(|()| String::new())
                    .map_err(|_| "the trial is over".into())
            }
            Order::Stop => {
                // between two sessions there is nobody to tell
                let _ = self.side.take(order);
                Ok("stopped; Enable lets the trial go on".into())
            }
            Order::State {
                word: Word::Enable, ..
            } => {
                let halted = self.side.is_halted();
                let said = self.side.take(order);
                if halted {
                    // between two sessions there is nobody to tell
                    return Ok(said.unwrap_or_else(|_| "the trial goes on".into()));
                }
                said
            }
            Order::State { .. } | Order::End => self.side.take(order),
            _ => Err("a trial sets this itself".into()),
        }
    }

    fn stop(&self) {
        self.side.stop();
    }

    fn aim(&self, aim: Aim, said_ms: f64) {
        self.side.aim(aim, said_ms);
    }

    fn watched(&self, anybody: bool) {
        self.side.watched(anybody);
    }
}
