//! One side of a session in virtual time: its device, its mailbox, and the link for its frames.
//!
//! Source: ours.

use palpate_transport::HapticFrame;
use palpate_transport::Time;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::frame::{FrameOrder, SequenceTracker};
use palpate_transport::link::LinkQueue;

use super::{ReconstructionMeter, WIRE_BYTES};
use crate::config::Config;
use crate::pipeline::{SidePipeline, SideState, TickInputs, TickOutputs};

/// State of a side.
pub(super) struct VirtualSide<E: SideState> {
    pub(super) side: SidePipeline<E>,
    pub(super) device: Box<E::Device>,
    /// Frames received.
    pub(super) mailbox: Mailbox,
    /// Frames sent that are on the wire.
    pub(super) link: LinkQueue<HapticFrame>,
    /// Meter of the frames that it sends.
    pub(super) reconstruction_meter: ReconstructionMeter,
    pub(super) stall: Stall,
    /// True to clear a latched fault in the next tick.
    pub(super) rearm: bool,
    /// Outputs of its last tick.
    pub(super) outputs: TickOutputs,
}

/// Missed ticks of a side, like those of a process that the machine does not schedule.
#[derive(Default)]
pub(super) struct Stall {
    /// Ticks still to miss.
    pub(super) ticks_remaining: u64,
    /// Ticks missed since the last one.
    ticks_missed: u64,
    /// Ticks still to halt.
    pub(super) halt_ticks_remaining: u64,
}

impl<E: SideState> VirtualSide<E> {
    /// Returns a side at rest; frames that it sent in the last `kept_ticks` ticks may still be used.
    pub(super) fn new(
        config: &Config,
        state: E,
        device: Box<E::Device>,
        link: LinkQueue<HapticFrame>,
        kept_ticks: usize,
    ) -> Self {
        Self {
            side: SidePipeline::new(config, state),
            device,
            mailbox: Mailbox::default(),
            link,
            reconstruction_meter: ReconstructionMeter::new(
                &config.codec,
                E::SIDE,
                &config.coupling,
                kept_ticks,
            ),
            stall: Stall::default(),
            rearm: false,
            outputs: TickOutputs::default(),
        }
    }

    /// Restarts the side with a new state; its device and what is on the wire remain.
    pub(super) fn restart(&mut self, config: &Config, state: E) {
        self.side = SidePipeline::new(config, state);
        // frames of the sender's former run may still be on the wire
        self.mailbox = Mailbox {
            sender_restarts: self.mailbox.sender_restarts,
            ..Mailbox::default()
        };
    }

    /// Inputs of the side's tick; none if it misses the tick.
    pub(super) fn begin_tick(&mut self, inputs: &TickInputs) -> Option<TickInputs> {
        let stall = &mut self.stall;
        if stall.ticks_remaining > 0 {
            (stall.ticks_remaining, stall.ticks_missed) =
                (stall.ticks_remaining - 1, stall.ticks_missed + 1);
            return None;
        }
        let halt = stall.halt_ticks_remaining > 0;
        stall.halt_ticks_remaining -= u64::from(halt);
        let inputs = TickInputs {
            halt,
            rearm: self.rearm,
            frame: self.mailbox.newest,
            ..*inputs
        };
        Some(inputs.after_missed(std::mem::take(&mut stall.ticks_missed)))
    }

    /// Ticks, records the received frame in the meter `from` of the other side, and sends its frame.
    pub(super) fn tick(
        &mut self,
        inputs: &TickInputs,
        coupling: &CouplingParams,
        from: &mut ReconstructionMeter,
    ) {
        self.outputs = self.side.tick(inputs, coupling, &mut self.device);
        from.on_receiver_tick(self.outputs.decoded_frame, inputs.now);
        self.reconstruction_meter.on_sender_tick(&self.outputs);
        if let Some(frame) = self.outputs.sent_frame {
            self.link.push(inputs.device_now, WIRE_BYTES, frame);
        }
    }
}

/// Newest frame of the sender's newest run, as the live mailbox keeps it.
#[derive(Default)]
pub(super) struct Mailbox {
    order: SequenceTracker,
    newest: Option<(HapticFrame, Time)>,
    /// Restarts of the sender of which no frame has arrived: as with keys, only its own new run replaces the old one.
    pub(super) sender_restarts: u32,
}

impl Mailbox {
    /// Takes a frame in the order of arrival.
    pub(super) fn put(&mut self, frame: HapticFrame, received: Time) {
        let order = self.order.classify(&frame, received);
        let is_new_run = order == FrameOrder::Restarted;
        let usurps = is_new_run && self.sender_restarts == 0;
        if order.is_accepted() && !usurps {
            self.sender_restarts -= u32::from(is_new_run);
            self.order.accept(&frame, received);
            self.newest = Some((frame, received));
        }
    }
}
