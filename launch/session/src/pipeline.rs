//! One tick of a side with its device: decode, read, tick, write, record, encode.
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
use palpate_transport::trace::{self, TickRecord};
use palpate_transport::{Axes, HapticFrame, Time};

use crate::config::Config;
use given::Recorded;

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

    /// Parameters of a configuration.
    fn params(config: &Config) -> Self::Params;

    /// A recorded device in the place of its own.
    fn recorded(device: &mut Recorded) -> &mut Self::Device;

    /// What it knows from the other side's frames.
    fn inbox(&self) -> &Inbox;

    /// Read the device, tick, write the device; gives the record with what the tick was given, and the frame.
    fn step(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        at: &At,
        device: &mut Self::Device,
    ) -> (TickRecord, HapticFrame);
}

impl End for palpate_master::State {
    const SIDE: trace::Side = trace::Side::Master;
    type Params = MasterParams;
    type Device = dyn Handle;

    fn params(config: &Config) -> Self::Params {
        config.master
    }

    fn recorded(device: &mut Recorded) -> &mut Self::Device {
        device
    }

    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn step(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        at: &At,
        handle: &mut Self::Device,
    ) -> (TickRecord, HapticFrame) {
        let inputs = given::to_master(at, handle.read(at.device));
        let mut out = palpate_master::tick(params, coupling, self, &inputs);
        handle.write(&out.force_on_hand_n);
        given::note_master(&mut out.record, &inputs);
        (out.record, out.frame)
    }
}

impl End for palpate_slave::State {
    const SIDE: trace::Side = trace::Side::Slave;
    type Params = SlaveParams;
    type Device = dyn Robot;

    fn params(config: &Config) -> Self::Params {
        config.slave
    }

    fn recorded(device: &mut Recorded) -> &mut Self::Device {
        device
    }

    fn inbox(&self) -> &Inbox {
        Self::inbox(self)
    }

    fn step(
        &mut self,
        params: &Self::Params,
        coupling: &CouplingParams,
        at: &At,
        robot: &mut Self::Device,
    ) -> (TickRecord, HapticFrame) {
        let inputs = given::to_slave(at, robot.read(at.device));
        let mut out = palpate_slave::tick(params, coupling, self, &inputs);
        robot.write(&out.force_n, out.closed);
        given::note_slave(&mut out.record, &inputs, at.refused);
        (out.record, out.frame)
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
        let (record, frame) = self.state.step(&self.params, coupling, &at, device);
        let sent = self.codec.encode(&frame, self.state.inbox().newest());
        Made {
            record,
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
