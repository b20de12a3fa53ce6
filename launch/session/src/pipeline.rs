//! One tick of a side with its device: decode, read, tick, write, encode, record.
//!
//! Source: ours. Live, virtual, replay, rehearsal and bench give it a device, frames and a time; nothing else differs.
//! What is done to a side between two ticks has one order too: first edits that came for its tissue, then changes of
//! the coupling, then the tick. Nothing here allocates.

pub mod given;
pub mod hash;

use palpate_master::MasterParams;
use palpate_master::device::Handle;
use palpate_port::inbox::Inbox;
use palpate_slave::SlaveParams;
use palpate_slave::robot::Robot;
use palpate_transport::clock::{PERIOD, PERIODS_MAX};
use palpate_transport::codec::Ends;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::trace::{self, Given, TickRecord};
use palpate_transport::{Axes, HapticFrame, Time};

use crate::config::Config;

/// A moment at which a side ticks, and what it has then been given.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct At {
    /// Number of the tick.
    pub tick: u64,
    /// Now, on this side's clock.
    pub now: Time,
    /// Now, on the device's clock, which begins with the side.
    pub device: Time,
    /// Time since the tick before in whole periods, bounded \[s\].
    pub dt_s: f64,
    /// Whether more periods were missed than one tick may account for.
    pub paused: bool,
    /// Whether the tick woke too late for a step of the twin.
    pub masked: bool,
    /// Whether motion must not pass: the session is ending, or was told to hold.
    pub halt: bool,
    /// Whether a latched fault is to be cleared.
    pub rearm: bool,
    /// Whether the tissue refused an edit before this tick.
    pub refused: bool,
    /// Newest frame from the other side and when it was received.
    pub frame: Option<(HapticFrame, Time)>,
}

impl At {
    /// The moment of a tick in virtual time, with nothing received and nothing asked.
    #[must_use]
    pub fn of_tick(tick: u64) -> Self {
        let now = Time(PERIOD.0 * tick as i64);
        let at = Self {
            tick,
            now,
            device: now,
            ..Self::default()
        };
        at.after(0)
    }

    /// The same moment of a side that has missed so many ticks before it.
    #[must_use]
    pub fn after(self, missed: u64) -> Self {
        let periods = missed.saturating_add(1);
        Self {
            dt_s: PERIOD.s() * periods.min(PERIODS_MAX) as f64,
            paused: periods > PERIODS_MAX,
            ..self
        }
    }
}

/// The state of a side, with what its ticks need besides: [`palpate_master::State`] or [`palpate_slave::State`].
pub trait End: Sized {
    /// Which side it is.
    const SIDE: trace::Side;
    /// Parameters of its tick.
    type Params;
    /// Device that it reads and drives.
    type Device: ?Sized;
    /// What its tick is given.
    type Inputs;
    /// What its tick gives.
    type Outputs;

    /// Parameters of a configuration.
    fn params(config: &Config) -> Self::Params;
    /// What it knows from the other side's frames.
    fn inbox(&self) -> &Inbox;
    /// Read the device.
    fn read(device: &mut Self::Device, at: &At) -> Self::Inputs;
    /// Tick.
    fn advance(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        inputs: &Self::Inputs,
    ) -> Self::Outputs;
    /// Write to the device.
    fn write(device: &mut Self::Device, out: &Self::Outputs);
    /// Frame that the tick made.
    fn frame(out: &Self::Outputs) -> &HapticFrame;
    /// Record of the tick, with what it was given.
    fn record(out: Self::Outputs, inputs: &Self::Inputs, at: &At) -> TickRecord;
}

impl End for palpate_master::State {
    const SIDE: trace::Side = trace::Side::Master;
    type Params = MasterParams;
    type Device = dyn Handle;
    type Inputs = palpate_master::Inputs;
    type Outputs = palpate_master::Outputs;

    fn params(config: &Config) -> Self::Params {
        config.master
    }

    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn read(handle: &mut Self::Device, at: &At) -> Self::Inputs {
        let mut reading = handle.read(at.device);
        reading.present &= !at.halt;
        palpate_master::Inputs {
            tick: at.tick,
            now: at.now,
            dt_s: at.dt_s,
            paused: at.paused,
            masked: at.masked,
            reading,
            frame: at.frame,
            rearm: at.rearm,
        }
    }

    fn advance(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        inputs: &Self::Inputs,
    ) -> Self::Outputs {
        palpate_master::tick(params, coupling, self, inputs)
    }

    fn write(handle: &mut Self::Device, out: &Self::Outputs) {
        handle.write(&out.force_on_hand_n);
    }

    fn frame(out: &Self::Outputs) -> &HapticFrame {
        &out.frame
    }

    fn record(mut out: Self::Outputs, inputs: &Self::Inputs, _: &At) -> TickRecord {
        given::note_master(&mut out.record, inputs);
        out.record
    }
}

impl End for palpate_slave::State {
    const SIDE: trace::Side = trace::Side::Slave;
    type Params = SlaveParams;
    type Device = dyn Robot;
    type Inputs = palpate_slave::Inputs;
    type Outputs = palpate_slave::Outputs;

    fn params(config: &Config) -> Self::Params {
        config.slave
    }

    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn read(robot: &mut Self::Device, at: &At) -> Self::Inputs {
        palpate_slave::Inputs {
            tick: at.tick,
            now: at.now,
            dt_s: at.dt_s,
            reading: robot.read(at.device),
            frame: at.frame,
            halt: at.halt || at.paused,
            rearm: at.rearm,
        }
    }

    fn advance(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        inputs: &Self::Inputs,
    ) -> Self::Outputs {
        palpate_slave::tick(params, coupling, self, inputs)
    }

    fn write(robot: &mut Self::Device, out: &Self::Outputs) {
        robot.write(&out.force_n, out.closed);
    }

    fn frame(out: &Self::Outputs) -> &HapticFrame {
        &out.frame
    }

    fn record(mut out: Self::Outputs, inputs: &Self::Inputs, at: &At) -> TickRecord {
        given::note_slave(&mut out.record, inputs, at.refused);
        out.record
    }
}

/// A side between two ticks: its parameters, its state and its codec.
pub struct Side<E: End> {
    /// What it remembers between ticks.
    pub state: E,
    params: E::Params,
    codec: Ends,
}

/// The operator's side.
pub type MasterSide = Side<palpate_master::State>;

/// The remote side.
pub type SlaveSide = Side<palpate_slave::State>;

/// What a tick made.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Made {
    /// Record of the tick; the shell adds lateness and CPU time.
    pub record: TickRecord,
    /// Frame that the side was shown, and when it was received.
    pub shown: Option<(HapticFrame, Time)>,
    /// Frame of this tick, sent or not.
    pub frame: HapticFrame,
    /// The frame to be sent, if the codec sends one.
    pub sent: Option<HapticFrame>,
    /// What the codec judged of the frame, if it judges.
    pub judged: Option<Axes>,
}

impl Made {
    /// Whether the device's reading was plausible.
    #[must_use]
    pub fn healthy(&self) -> bool {
        self.record.given & Given::USABLE != 0
    }
}

impl<E: End> Side<E> {
    /// A side that begins with a state.
    #[must_use]
    pub fn new(config: &Config, state: E) -> Self {
        Self {
            state,
            params: E::params(config),
            codec: Ends::new(&config.codec, E::SIDE, &config.coupling, PERIOD),
        }
    }

    /// Tick once, with the device read before and written after.
    #[must_use]
    pub fn tick(&mut self, at: &At, coupling: &CouplingParams, device: &mut E::Device) -> Made {
        let shown = self.codec.decode(at.frame, at.now);
        let at = At {
            frame: shown,
            ..*at
        };
        let inputs = E::read(device, &at);
        let out = self.state.advance(&self.params, coupling, &inputs);
        E::write(device, &out);
        let frame = *E::frame(&out);
        let sent = self.codec.encode(&frame, self.state.inbox().newest());
        Made {
            record: E::record(out, &inputs, &at),
            shown,
            frame,
            sent,
            judged: self.codec.judged_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_missed_ticks_were_accounted_as_one_period() {
        let after = |missed| At::of_tick(7).after(missed);
        assert_eq!(after(0).dt_s, PERIOD.s());
        assert!((after(4).dt_s - 5e-3).abs() < 1e-12 && !after(4).paused);
        assert!(!after(19).paused && after(20).paused);
        assert!((after(u64::MAX).dt_s - 0.02).abs() < 1e-12);
    }
}
