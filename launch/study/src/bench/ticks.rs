//! What the ticks of both sides cost.
//!
//! Source: ours. The ticks are those of a whole default session without delay, so that free
//! motion, contact and model updates are all among the samples.

use std::sync::atomic::{AtomicBool, Ordering};

use palpate_master::device::{self, Handle, HandleCaps};
use palpate_port::inbox::Parties;
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_session::pipeline::{At, MasterSide, SlaveSide};
use palpate_session::stat::spans::{Measurement, Stats};
use palpate_slave::robot::{self, Robot, RobotCaps};
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_transport::{Axes, Span, Time};

use super::BenchError;

/// A device that times what lies between a reading of it and the next command: a tick.
struct Timed<D: ?Sized> {
    read: Time,
    spans: Vec<Span>,
    device: Box<D>,
}

impl<D: ?Sized> Timed<D> {
    fn new(device: Box<D>) -> Self {
        Self {
            read: Time(0),
            spans: Vec::new(),
            device,
        }
    }

    fn named(&self, name: &str) -> Measurement {
        Measurement {
            name: name.to_owned(),
            stats: Stats::of(&self.spans).unwrap_or_default(),
        }
    }
}

impl Handle for Timed<dyn Handle> {
    fn caps(&self) -> HandleCaps {
        self.device.caps()
    }

    fn read(&mut self, now: Time) -> device::Reading {
        let reading = self.device.read(now);
        self.read = thread_cpu_now();
        reading
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.spans.push(thread_cpu_now() - self.read);
        self.device.write(force_on_hand_n);
    }
}

impl Robot for Timed<dyn Robot> {
    fn caps(&self) -> RobotCaps {
        self.device.caps()
    }

    fn read(&mut self, now: Time) -> robot::Reading {
        let reading = self.device.read(now);
        self.read = thread_cpu_now();
        reading
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.spans.push(thread_cpu_now() - self.read);
        self.device.write(force_n, closed);
    }
}

/// Own CPU time of the two ticks, each of them within a session without a network.
///
/// # Errors
/// [`BenchError::Stopped`] if `stop` is set; as [`lab::build_robot`].
pub fn ticks(config: &Config, stop: &AtomicBool) -> Result<Vec<Measurement>, BenchError> {
    let handle = device::build(&config.operator, config.duration_s, config.seed);
    let (mut handle, mut robot) = (Timed::new(handle), Timed::new(lab::build_robot(config)?));
    let (parties, twin) = (Parties::default(), lab::predictor(config)?);
    let master = palpate_master::State::new(twin, &handle.caps(), parties);
    let mut master = MasterSide::new(config, master);
    let mut slave = SlaveSide::new(config, palpate_slave::State::new(parties));
    let mut frame = None;
    for tick in 0..(config.duration_s / PERIOD.s()) as u64 {
        if stop.load(Ordering::Relaxed) {
            return Err(BenchError::Stopped);
        }
        let at = At::of_tick(tick);
        let received = |sent| Some((sent?, at.now));
        let made = master.tick(&At { frame, ..at }, &config.coupling, &mut handle);
        frame = received(made.sent);
        let made = slave.tick(&At { frame, ..at }, &config.coupling, &mut robot);
        frame = received(made.sent);
    }
    Ok(vec![handle.named("master tick"), robot.named("slave tick")])
}
