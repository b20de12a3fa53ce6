//! Watch of the master over its ownership of the robot: requests of others, and the end of the ownership.
//!
//! It queries the robot's side twice a second, on a thread of its own. Source: ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use palpate_bus::command::CommandClient;
use palpate_transport::Span;
use palpate_transport::clock::{Clock as _, MonotonicClock, sleep_for};

use super::RunError;
use super::agreement::TermsExchange;
use super::ownership::{HandOver, OwnerNews};
use super::side::{POLL_PERIOD, spawn};
use crate::monitor::controller::lock;

/// Time between two queries \[ns\]; ours.
const QUERY_PERIOD: Span = Span(500_000_000);

/// Longest wait for an answer \[ns\]; ours.
const PATIENCE: Span = Span(500_000_000);

/// Newest news of the ownership.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WatchedOwnership {
    /// Name of a side that asks for the robot.
    pub(crate) asks: Option<String>,
    /// The end of the ownership.
    pub(crate) lost: Option<HandOver>,
}

/// News that the watch shares.
pub(crate) type SharedNews = Arc<Mutex<WatchedOwnership>>;

/// Queries until `ended`, or until the ownership has ended: then it sets `stop`. The terms are served as long, and sent
/// again to a robot's side that has restarted.
///
/// # Errors
/// [`RunError::Thread`] if the system cannot start a thread.
pub(crate) fn watch(
    mut client: CommandClient,
    mut terms: TermsExchange,
    ended: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
) -> Result<(SharedNews, JoinHandle<()>), RunError> {
    let news = SharedNews::default();
    let shared = Arc::clone(&news);
    let body = move || {
        let clock = MonotonicClock;
        let mut queried = clock.now();
        while !ended.load(Ordering::Acquire) {
            sleep_for(POLL_PERIOD);
            let is_over = lock(&shared).lost.is_some();
            if is_over || clock.now() - queried < QUERY_PERIOD {
                continue;
            }
            // the robot's side may be gone, or be of a version without hand-over
            let answer = client.command("", clock.now(), PATIENCE);
            queried = clock.now();
            match answer.map(|text| serde_json::from_str(&text)) {
                Ok(Ok(OwnerNews::Owned { asks })) => lock(&shared).asks = asks,
                Ok(Ok(OwnerNews::Lost(by))) => {
                    *lock(&shared) = WatchedOwnership {
                        asks: None,
                        lost: Some(by),
                    };
                    stop.store(true, Ordering::Relaxed);
                }
                // it judges the terms again, and refuses by itself if they differ now
                Ok(Ok(OwnerNews::Unowned)) => drop(terms.negotiate()),
                _ => {}
            }
        }
    };
    Ok((news, spawn("ownership", body)?))
}
