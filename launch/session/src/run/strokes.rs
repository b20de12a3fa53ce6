//! What instruments did, between the servo threads and the bus.
//!
//! Source: ours. At either side the servo thread hands strokes to a wait-free ring, a thread of their own publishes
//! them on the reliable link, and the other side's ring takes them as they come. What a full ring or a queue of the
//! bus drops is sent again until the other tissue has it, so the publisher need not block: one that does
//! would, after waiting for some seconds, have zenoh close the link, and the haptic stream with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use palpate_bus::Session;
use palpate_bus::topic::{TopicPublisher, TopicSubscription};
use palpate_port::inbox::Inbox;
use palpate_slave::robot::Robot;
use palpate_transport::clock::{Clock as _, MonotonicClock, pause};
use palpate_transport::mailbox::{RingReceiver, RingSender, ring};
use palpate_transport::stroke::WINDOW;
use palpate_transport::trace::Side;
use palpate_transport::{Span, Stroke, Time};

use super::RunError;
use super::side::{join, spawn};
use crate::strokes::{AtRobot, Inlet, Keeper, Outlet};

/// Strokes that may wait for the bus or for a tick: some ticks of the most.
const WAITING: usize = 4 * WINDOW;

/// Strokes that may wait for the recorder.
const MADE: usize = 4096;

/// Strokes that are handed to the recorder in one tick at most.
const TOLD_A_TICK: usize = 64;

/// Time between two looks for strokes to publish.
const LOOK: Span = Span(2_000_000);

/// Topic of what a side sends, below the session's namespace.
const fn topic(side: Side) -> &'static str {
    match side {
        Side::Master => "strokes",
        Side::Slave => "history",
    }
}

/// The servo thread's end.
pub struct Ends {
    outlet: Outlet,
    to_bus: RingSender<Stroke>,
    from_bus: RingReceiver<Stroke>,
    inlet: Inlet,
    to_recorder: Recorded,
}

/// What the recorder was handed; what finds no place waits here, as the twin's history has it.
struct Recorded {
    ring: RingSender<(i64, Stroke)>,
    told: u64,
}

impl Recorded {
    fn tell(&mut self, side: &impl Keeper, now: Time) {
        for _ in 0..TOLD_A_TICK {
            let stroke = side.stroke(self.told + 1);
            if !stroke.is_some_and(|stroke| self.ring.push((now.0, stroke))) {
                return;
            }
            self.told += 1;
        }
    }
}

impl Ends {
    fn arrive(&mut self) {
        for _ in 0..WINDOW {
            let Some(stroke) = self.from_bus.pop() else {
                break;
            };
            self.inlet.take(&stroke);
        }
    }

    fn send(&mut self, side: &impl Keeper, now: Time) {
        let to_bus = &mut self.to_bus;
        self.outlet.pass(side, now, |stroke| {
            // one that finds no place is sent again
            to_bus.push(stroke);
        });
    }

    /// Before a tick of the master: what it is told of the tissue.
    pub fn tell(&mut self, master: &mut palpate_master::State) {
        self.arrive();
        self.inlet.pass(master);
    }

    /// After a tick of the master.
    pub fn pass(&mut self, master: &palpate_master::State, now: Time) {
        self.to_recorder.tell(master, now);
        self.send(master, now);
    }

    /// Before a tick of the slave: its tissue does what came, and the master is sent what it lacks; whether a stroke
    /// was refused.
    pub fn take(&mut self, inbox: &Inbox, robot: &mut dyn Robot, now: Time) -> bool {
        self.arrive();
        let mut side = AtRobot { inbox, robot };
        let refused = self.inlet.pass(&mut side);
        self.send(&side, now);
        refused
    }
}

/// The bus's end: a thread that publishes, and a subscription that hears nothing once it is dropped.
pub struct Way {
    sending: JoinHandle<()>,
    _subscription: TopicSubscription,
}

impl Way {
    /// Wait for the thread to end, which it does when the side has ended.
    ///
    /// # Errors
    /// [`RunError::Thread`] if it panicked.
    pub fn close(self) -> Result<(), RunError> {
        join("strokes", self.sending)
    }
}

/// What the master made, and when, for the recording.
pub type Made = RingReceiver<(i64, Stroke)>;

/// Opens the way of strokes at one side of a session, until `ended` is set.
///
/// # Errors
/// [`RunError`] if the bus or the system refuses.
pub fn open(
    session: &Session,
    side: Side,
    ended: &Arc<AtomicBool>,
) -> Result<(Ends, Way, Made), RunError> {
    let name = |side| format!("{}/{}", session.namespace(), topic(side));
    let (to_bus, outbound) = ring(WAITING);
    let (inbound, from_bus) = ring(WAITING);
    let (to_recorder, made) = ring(if side == Side::Master { MADE } else { 1 });
    // zenoh wants what may be shared; only its one receiving thread comes here
    let mut inbound = Mutex::new(inbound);
    let take = move |stroke: Stroke, _| {
        let inbound: &mut RingSender<Stroke> =
            inbound.get_mut().unwrap_or_else(PoisonError::into_inner);
        // one that finds no place comes again
        inbound.push(stroke);
    };
    let subscription = session.subscribe(&name(side.other()), take)?;
    let publisher = session.publisher(&name(side))?;
    let until = Arc::clone(ended);
    let way = Way {
        sending: spawn("strokes", move || publish(publisher, outbound, &until))?,
        _subscription: subscription,
    };
    let ends = Ends {
        outlet: Outlet::default(),
        to_bus,
        from_bus,
        inlet: Inlet::default(),
        to_recorder: Recorded {
            ring: to_recorder,
            told: 0,
        },
    };
    Ok((ends, way, made))
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
