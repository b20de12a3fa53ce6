//! Watch of a side over its ownership: of the robot's side over requests, of the master over the end of its ownership.
//!
//! Source: ours; [`palpate_bus::ownership`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use palpate_bus::Bus;
use palpate_bus::ownership::{HandOver, SharedNews, SharedOwnership, watch};
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::trace::{Side, TickRecord};

use super::RunError;
use super::agreement::{TermsExchange, stop_for_handover};
use super::command_state::CommandState;
use super::side::{SideOptions, join, spawn};
use crate::monitor::controller::lock;

/// Watch of one side; it serves the terms of the side as long.
pub(super) enum OwnerWatch {
    /// Of the robot's side, whose owner may change.
    Robot {
        owned: SharedOwnership,
        command_state: Arc<CommandState>,
        _terms: Box<TermsExchange>,
    },
    /// Of the master, which may lose the robot.
    Master {
        news: SharedNews,
        /// Request that was announced.
        noticed: Option<String>,
        thread: JoinHandle<()>,
    },
}

impl OwnerWatch {
    /// Begins the watch of a side with its terms, until `ended`.
    ///
    /// # Errors
    /// [`RunError`] if the bus refuses, or the system cannot start a thread.
    pub(super) fn open(
        bus: &Bus,
        options: &SideOptions,
        command_state: &Arc<CommandState>,
        ended: &Arc<AtomicBool>,
        mut terms: TermsExchange,
    ) -> Result<Self, RunError> {
        if options.side == Side::Slave {
            return Ok(Self::Robot {
                owned: Arc::clone(terms.ownership()),
                command_state: Arc::clone(command_state),
                _terms: Box::new(terms),
            });
        }
        let client = bus.session().handover_client(Side::Slave.name())?;
        let (ended, stop) = (Arc::clone(ended), Arc::clone(&options.stop));
        let news = SharedNews::default();
        let shared = Arc::clone(&news);
        let body = move || {
            // a robot's side with other terms refuses them, as at the start
            let claim = || drop(terms.negotiate());
            watch(client, &shared, &ended, &stop, claim);
        };
        Ok(Self::Master {
            news,
            noticed: None,
            thread: spawn("ownership", body)?,
        })
    }

    /// Advances a hand-over at the robot's side; returns the name of a side that asks the master for the robot.
    pub(super) fn follow(&mut self, record: &TickRecord, options: &SideOptions) -> Option<String> {
        let (notice, asks) = match self {
            Self::Robot {
                owned,
                command_state,
                ..
            } => {
                let forced = options.force_handover.swap(false, Ordering::Relaxed);
                let (now, stop) = (MonotonicClock.now(), || stop_for_handover(command_state));
                let notice = lock(owned).advance(&record.position_m, forced, now, stop);
                (notice, None)
            }
            Self::Master { news, noticed, .. } => {
                let asks = lock(news).asks.clone();
                let is_new = std::mem::replace(noticed, asks.clone()) != asks;
                let notice = asks.as_ref().filter(|_| is_new).map(|name| {
                    format!("{name} asks for the robot; grant or decline on this side's page")
                });
                (notice, asks)
            }
        };
        if let Some((notice, notices)) = notice.zip(options.notices.as_ref()) {
            // without a reader nobody waits for it
            let _ = notices.send(notice);
        }
        asks
    }

    /// Ends the watch, after `ended` was set; returns the changes of the owner.
    ///
    /// # Errors
    /// [`RunError::Thread`] if its thread panicked.
    pub(super) fn close(self) -> Result<Vec<HandOver>, RunError> {
        Ok(match self {
            Self::Robot { owned, .. } => lock(&owned).handovers(),
            Self::Master { news, thread, .. } => {
                join("ownership", thread)?;
                lock(&news).lost.clone().into_iter().collect()
            }
        })
    }
}
