//! What instruments did, between the servo threads and the bus.
//!
//! Source: ours. The servo thread hands strokes to a wait-free ring, a thread of their own publishes them on the
//! reliable link, and the other side's ring takes them as they come. What a full ring or a queue of the bus
//! drops is sent again until the remote tissue has done it, so the publisher need not block: one that does
//! would, after waiting for some seconds, have zenoh close the link, and the haptic stream with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use palpate_transport::clock::{Clock as _, MonotonicClock, pause};
use palpate_transport::mailbox::{RingReceiver, RingSender, ring};
use palpate_transport::session::Session;
use palpate_transport::session::topic::{TopicPublisher, TopicSubscription};
use palpate_transport::stroke::WINDOW;
use palpate_transport::trace::Side;
use palpate_transport::{Span, Stroke, Time};

use super::RunError;
use super::side::{join, spawn};
use crate::strokes::{Inlet, Outlet, made, stroke};

/// Strokes that may wait for the bus or for the slave's tick: some ticks of the most.
const WAITING: usize = 4 * WINDOW;

/// Strokes that may wait for the recorder.
const MADE: usize = 4096;

/// Time between two looks for strokes to publish.
const LOOK: Span = Span(2_000_000);

/// Topic of strokes, below the session's namespace.
const TOPIC: &str = "strokes";

/// The servo thread's end at either side; the master's sends, the slave's takes.
pub struct Ends {
    outlet: Outlet,
    to_bus: RingSender<Stroke>,
    to_recorder: RingSender<(i64, Stroke)>,
    told: u64,
    from_bus: RingReceiver<Stroke>,
    inlet: Inlet,
}

impl Ends {
    /// After a tick of the master.
    pub fn send(&mut self, master: &palpate_master::State, now: Time) {
        while self.told < made(master) {
            self.told += 1;
            if let Some(stroke) = stroke(master, self.told) {
                // one that finds no place is not in the recording, and counted
                self.to_recorder.push((now.0, stroke));
            }
        }
        let to_bus = &mut self.to_bus;
        self.outlet.pass(master, now, |stroke| {
            // one that finds no place is sent again
            to_bus.push(stroke);
        });
    }

    /// Before a tick of the slave; whether a stroke was refused.
    pub fn take(&mut self, peer: u64, robot: &mut dyn palpate_slave::robot::Robot) -> bool {
        for _ in 0..WINDOW {
            let Some(stroke) = self.from_bus.pop() else {
                break;
            };
            self.inlet.take(&stroke);
        }
        self.inlet.pass(peer, robot)
    }
}

/// The bus's end, and the recorder's.
pub struct Way {
    sending: Option<JoinHandle<()>>,
    /// What the master made, and when, for the recording.
    pub made: RingReceiver<(i64, Stroke)>,
    _subscription: Option<TopicSubscription>,
}

impl Way {
    /// Wait for the thread to end, which it does when `ended` is set.
    ///
    /// # Errors
    /// [`RunError::Thread`] if it panicked.
    pub fn close(sending: Option<JoinHandle<()>>) -> Result<(), RunError> {
        sending.map_or(Ok(()), |sending| join("strokes", sending))
    }

    /// The thread that publishes.
    pub fn sending(&mut self) -> Option<JoinHandle<()>> {
        self.sending.take()
    }
}

/// Opens the way of strokes at one side of a session.
///
/// # Errors
/// [`RunError`] if the bus or the system refuses.
pub fn open(
    session: &Session,
    side: Side,
    ended: &Arc<AtomicBool>,
) -> Result<(Ends, Way), RunError> {
    let topic = format!("{}/{TOPIC}", session.namespace());
    let (to_bus, outbound) = ring(WAITING);
    let (inbound, from_bus) = ring(WAITING);
    let (to_recorder, made) = ring(MADE);
    let (mut sending, mut subscription) = (None, None);
    match side {
        Side::Master => {
            let publisher = session.publisher(&topic)?;
            let ended = Arc::clone(ended);
            sending = Some(spawn("strokes", move || {
                publish(publisher, outbound, &ended)
            })?);
        }
        Side::Slave => {
            // zenoh wants what may be shared; only its one receiving thread comes here
            let mut inbound = Mutex::new(inbound);
            let take = move |stroke: Stroke, _| {
                let inbound = inbound.get_mut().unwrap_or_else(PoisonError::into_inner);
                if stroke.wrong().is_none() {
                    // one that finds no place comes again
                    inbound.push(stroke);
                }
            };
            subscription = Some(session.subscribe(&topic, take)?);
        }
    }
    let ends = Ends {
        outlet: Outlet::default(),
        to_bus,
        to_recorder,
        told: 0,
        from_bus,
        inlet: Inlet::default(),
    };
    let way = Way {
        sending,
        made,
        _subscription: subscription,
    };
    Ok((ends, way))
}

fn publish(
    mut publisher: TopicPublisher<Stroke>,
    mut outbound: RingReceiver<Stroke>,
    ended: &AtomicBool,
) {
    while !ended.load(Ordering::Acquire) {
        while let Some(stroke) = outbound.pop() {
            // a bus that is closed is noticed by the session; what is not sent is sent again
            let _ = publisher.publish(&stroke, MonotonicClock.now());
        }
        pause(LOOK);
    }
}
