//! One side of a session in virtual time: its device, its mailbox, and the network that takes what it sends.
//!
//! Source: ours.

use palpate_transport::HapticFrame;
use palpate_transport::Time;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::frame::{Order, Succession};
use palpate_transport::link::LinkQueue;

use super::{WIRE_BYTES, Watch};
use crate::config::Config;
use crate::pipeline::{At, End, Made, Side};

/// A side where it stands.
pub(super) struct Station<E: End> {
    pub(super) side: Side<E>,
    pub(super) device: Box<E::Device>,
    /// Frames for it.
    pub(super) mailbox: Mailbox,
    /// Frames from it, on their way.
    pub(super) link: LinkQueue<HapticFrame>,
    /// The stream of them.
    pub(super) watch: Watch,
    pub(super) absence: Absence,
    /// Whether it is to clear a latched fault in its next tick.
    pub(super) rearm: bool,
    /// What its last tick made.
    pub(super) made: Made,
}

/// A side that misses ticks, as a process that the machine does not let run.
#[derive(Default)]
pub(super) struct Absence {
    /// Ticks that it will still miss.
    pub(super) left: u64,
    /// Ticks that it has missed since its last.
    missed: u64,
    /// Ticks for which it must still let no motion pass.
    pub(super) held: u64,
}

impl<E: End> Station<E> {
    /// A side at rest, of whose frames those of the last `kept` ticks may still be shown.
    pub(super) fn new(
        config: &Config,
        state: E,
        device: Box<E::Device>,
        link: LinkQueue<HapticFrame>,
        kept: usize,
    ) -> Self {
        Self {
            side: Side::new(config, state),
            device,
            mailbox: Mailbox::default(),
            link,
            watch: Watch::new(&config.codec, E::SIDE, &config.coupling, kept),
            absence: Absence::default(),
            rearm: false,
            made: Made::default(),
        }
    }

    /// Let it begin anew with a state; its device and what is on the way stay.
    pub(super) fn restart(&mut self, config: &Config, state: E) {
        self.side = Side::new(config, state);
        self.mailbox = Mailbox::default();
    }

    /// The moment of its tick, with all that the tick is given; none if the side misses it.
    pub(super) fn wake(&mut self, at: &At) -> Option<At> {
        let absence = &mut self.absence;
        if absence.left > 0 {
            (absence.left, absence.missed) = (absence.left - 1, absence.missed + 1);
            return None;
        }
        let held = absence.held > 0;
        absence.held -= u64::from(held);
        let at = At {
            halt: held,
            rearm: self.rearm,
            frame: self.mailbox.newest,
            ..*at
        };
        Some(at.after(std::mem::take(&mut absence.missed)))
    }

    /// Tick, shown what the stream `from` the other side brought, and send what is to be sent.
    pub(super) fn tick(&mut self, at: &At, coupling: &CouplingParams, from: &mut Watch) {
        self.made = self.side.tick(at, coupling, &mut self.device);
        from.shown(self.made.shown, at.now);
        self.watch.made(&self.made);
        if let Some(frame) = self.made.sent {
            self.link.push(at.device, WIRE_BYTES, frame);
        }
    }
}

/// Keeps the newest frame of a sender's newest run, as the live mailbox and its gate do.
#[derive(Default)]
pub(super) struct Mailbox {
    order: Succession,
    newest: Option<(HapticFrame, Time)>,
}

impl Mailbox {
    /// Take a frame as it comes.
    pub(super) fn put(&mut self, frame: HapticFrame, received: Time) {
        let order = self.order.judge(&frame);
        if matches!(order, Order::First | Order::Next | Order::Restarted) {
            self.order.advance(&frame);
            self.newest = Some((frame, received));
        }
    }
}
