//! Transfer of edit batches in real time, between the servo threads and the bus.
//!
//! Source: ours. On each side the servo thread pushes edit batches into a wait-free ring. A separate thread
//! publishes them on the reliable link, and the ring of the other side receives them. A batch dropped by a full
//! ring or a bus queue is sent again until the other tissue has it, so the publisher need not block. If it blocked,
//! zenoh would close the link after some seconds, and the haptic stream with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use palpate_bus::BusSession;
use palpate_bus::topic::TopicPublisher;
use palpate_port::inbox::Inbox;
use palpate_slave::robot::Robot;
use palpate_transport::clock::{Clock as _, MonotonicClock, sleep_for};
use palpate_transport::edit_batch::BATCH_WINDOW;
use palpate_transport::mailbox::{RingReceiver, RingSender, ring};
use palpate_transport::trace::Side;
use palpate_transport::{EditBatch, Span, Time};

use super::{EditEndpoint, EditRecorderFeed, master_batch};
use crate::run::RunError;
use crate::run::side::spawn;

/// Most edit batches that wait for the bus or for a tick: some ticks of the highest rate.
const QUEUED_BATCHES_MAX: usize = 4 * BATCH_WINDOW;

/// Most edit batches that wait for the recorder.
const RECORDED_BATCHES_MAX: usize = 4096;

/// Time between two polls for batches to publish.
const POLL_PERIOD: Span = Span(2_000_000);

/// Topic on which a side sends, below the session's namespace.
const fn topic(side: Side) -> &'static str {
    match side {
        Side::Master => "edits",
        Side::Slave => "history",
    }
}

/// Edit transfer of the servo thread.
pub struct EditPort {
    endpoint: EditEndpoint,
    to_bus: RingSender<EditBatch>,
    from_bus: RingReceiver<EditBatch>,
    recorder_feed: EditRecorderFeed,
}

impl EditPort {
    fn receive(&mut self) {
        for batch in core::iter::from_fn(|| self.from_bus.pop()).take(BATCH_WINDOW) {
            self.endpoint.receiver.accept(&batch);
        }
    }

    /// Before a tick of the master: applies received batches to its twin.
    pub(crate) fn update_master(&mut self, master: &mut palpate_master::MasterState) {
        self.receive();
        self.endpoint.apply_received(master);
    }

    /// After a tick of the master.
    pub(crate) fn send_from_master(&mut self, master: &palpate_master::MasterState, now: Time) {
        self.recorder_feed
            .forward(now.0, |number| master_batch(master, number));
        let to_bus = &mut self.to_bus;
        // a batch that does not fit is sent again
        self.endpoint
            .send_due(master, now, |batch| _ = to_bus.push(batch));
    }

    /// Before a tick of the slave: applies received batches and sends those that the master lacks. Returns true if
    /// a batch was refused.
    pub(crate) fn update_slave(&mut self, inbox: &Inbox, robot: &mut dyn Robot, now: Time) -> bool {
        self.receive();
        let to_bus = &mut self.to_bus;
        self.endpoint
            .update_slave(inbox, robot, now, |batch| _ = to_bus.push(batch))
    }
}

/// Edit batches made by the master, with their time, for the recording.
pub type EditRecords = RingReceiver<(i64, EditBatch)>;

/// Opens the edit transfer of one side of a session, with its thread for the bus. The caller joins the thread after it has
/// set `ended`.
///
/// # Errors
/// [`RunError`] if the bus or the system refuses.
pub fn open(
    session: &BusSession,
    side: Side,
    ended: &Arc<AtomicBool>,
) -> Result<(EditPort, JoinHandle<()>, EditRecords), RunError> {
    let name = |side| format!("{}/{}", session.namespace(), topic(side));
    let (to_bus, outbound) = ring(QUEUED_BATCHES_MAX);
    let (inbound, from_bus) = ring(QUEUED_BATCHES_MAX);
    let (to_recorder, records) = ring(if side == Side::Master {
        RECORDED_BATCHES_MAX
    } else {
        1
    });
    // zenoh requires `Sync`; only its one receiving thread locks this
    let mut inbound = Mutex::new(inbound);
    let take = move |batch: EditBatch, _| {
        let inbound: &mut RingSender<EditBatch> =
            inbound.get_mut().unwrap_or_else(PoisonError::into_inner);
        // a batch that does not fit is sent again
        inbound.push(batch);
    };
    let subscription = session.subscribe(&name(side.other()), take)?;
    let publisher = session.publisher(&name(side))?;
    let until = Arc::clone(ended);
    let bus_thread = spawn("edits", move || {
        publish(publisher, outbound, &until);
        // held here so that it ends with the thread
        drop(subscription);
    })?;
    let port = EditPort {
        endpoint: EditEndpoint::default(),
        to_bus,
        from_bus,
        recorder_feed: EditRecorderFeed::new(to_recorder),
    };
    Ok((port, bus_thread, records))
}

fn publish(
    mut publisher: TopicPublisher<EditBatch>,
    mut outbound: RingReceiver<EditBatch>,
    ended: &AtomicBool,
) {
    while !ended.load(Ordering::Acquire) {
        while let Some(batch) = outbound.pop() {
            // the session detects a closed bus; unsent batches are sent again
            let _ = publisher.publish(&batch, MonotonicClock.now());
        }
        sleep_for(POLL_PERIOD);
    }
}
