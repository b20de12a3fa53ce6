//! One tick of a side with its device: take the frame, read, tick, write, record, encode.
//!
//! Source: ours. Live sessions, virtual time, replay, rehearsal and bench differ only in the device, the frames and
//! the time that they pass in. Between two ticks the order is fixed too: received edits of the tissue, then changes
//! of the coupling, then the tick. Nothing here allocates.

pub mod hash;
pub(crate) mod tick_inputs;

use palpate_master::MasterParams;
use palpate_master::device::Handle;
pub use palpate_port::TickInputs;
use palpate_port::inbox::Inbox;
use palpate_slave::SlaveParams;
use palpate_slave::robot::Robot;
use palpate_transport::clock::PERIOD;
use palpate_transport::codec::CodecPair;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::{self, TickRecord};
use palpate_transport::{Axes, HapticFrame, Time};

use crate::config::Config;

/// State of a side between ticks: [`palpate_master::MasterState`] or [`palpate_slave::SlaveState`].
pub trait SideState: Sized {
    /// The side.
    const SIDE: trace::Side;
    /// Parameters of its tick.
    type Params: Copy;
    /// Device that it reads and writes.
    type Device: ?Sized;

    /// Parameters of its tick, from a configuration.
    fn params(config: &Config) -> Self::Params;

    /// Received state of the other side.
    fn inbox(&self) -> &Inbox;

    /// Reads the device, ticks, and writes the device; returns the record with the inputs of the tick, and the
    /// frame.
    fn step(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        inputs: &TickInputs,
        device: &mut Self::Device,
    ) -> (TickRecord, HapticFrame);
}

impl SideState for palpate_master::MasterState {
    const SIDE: trace::Side = trace::Side::Master;
    type Params = MasterParams;
    type Device = dyn Handle;

    fn params(config: &Config) -> Self::Params {
        config.master
    }

    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn step(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        inputs: &TickInputs,
        handle: &mut Self::Device,
    ) -> (TickRecord, HapticFrame) {
        let robot = self.inbox().newest();
        let robot_m = (robot.sequence > 0).then_some(&robot.position_m);
        handle.observe_halt(inputs.halt, robot_m);
        let mut reading = handle.read(inputs.device_now);
        reading.present &= !inputs.halt;
        let mut out = palpate_master::tick(params, coupling, self, inputs, &reading);
        handle.write(&out.force_on_hand_n);
        tick_inputs::note_master(&mut out.record, inputs, &reading);
        (out.record, out.frame)
    }
}

impl SideState for palpate_slave::SlaveState {
    const SIDE: trace::Side = trace::Side::Slave;
    type Params = SlaveParams;
    type Device = dyn Robot;

    fn params(config: &Config) -> Self::Params {
        config.slave
    }

    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn step(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        inputs: &TickInputs,
        robot: &mut Self::Device,
    ) -> (TickRecord, HapticFrame) {
        let reading = robot.read(inputs.device_now);
        let inputs = TickInputs {
            halt: inputs.halt || inputs.long_gap,
            ..*inputs
        };
        let mut out = palpate_slave::tick(params, coupling, self, &inputs, &reading);
        robot.write(&out.force_n, out.closed);
        tick_inputs::note_slave(&mut out.record, &inputs, &reading);
        (out.record, out.frame)
    }
}

/// A side between two ticks: its parameters, its state and its codec.
pub struct SidePipeline<S: SideState> {
    /// State between ticks.
    pub state: S,
    params: S::Params,
    codec: CodecPair,
}

/// The operator's side.
pub type MasterPipeline = SidePipeline<palpate_master::MasterState>;

/// Outputs of one tick.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TickOutputs {
    /// Record of the tick; the shell (the caller with clocks and threads) adds lateness and CPU time.
    pub record: TickRecord,
    /// Newest frame as the codec's decoder gives it, extrapolated or not, with the time of its reception. The side may
    /// still refuse it.
    pub decoded_frame: Option<(HapticFrame, Time)>,
    /// Frame of this tick, sent or not.
    pub frame: HapticFrame,
    /// Frame to be sent, if the codec sends one.
    pub sent_frame: Option<HapticFrame>,
    /// Signal that the codec compares with its deadband, after smoothing, if the codec is on.
    pub codec_signal: Option<Axes>,
}

impl<S: SideState> SidePipeline<S> {
    /// Returns a side that starts with a state.
    #[must_use]
    pub fn new(config: &Config, state: S) -> Self {
        Self {
            state,
            params: S::params(config),
            codec: CodecPair::new(&config.codec, S::SIDE, &config.coupling, PERIOD),
        }
    }

    /// Ticks once; reads the device before and writes it after.
    #[must_use]
    pub fn tick(
        &mut self,
        inputs: &TickInputs,
        coupling: &CouplingParams,
        device: &mut S::Device,
    ) -> TickOutputs {
        let decoded_frame = self.codec.decoder.decode(inputs.frame, inputs.now);
        let inputs = TickInputs {
            frame: decoded_frame,
            ..*inputs
        };
        let (record, frame) = self.state.step(&self.params, coupling, &inputs, device);
        let sent_frame = self
            .codec
            .encoder
            .encode(&frame, self.state.inbox().newest());
        TickOutputs {
            record,
            decoded_frame,
            frame,
            sent_frame,
            codec_signal: self.codec.encoder.compared_signal(),
        }
    }
}
