//! Cost of the ticks of both sides.
//!
//! Source: ours. The ticks are those of a whole default session without delay, so that free
//! motion, contact and model updates are all among the samples.

use std::sync::atomic::AtomicBool;

use palpate_master::device::{self, Handle, HandleCaps};
use palpate_port::inbox::RunIds;
use palpate_session::config::Config;
use palpate_session::lab;
use palpate_session::pipeline::{MasterPipeline, SidePipeline, TickInputs};
use palpate_session::stat::spans::DurationStats;
use palpate_slave::robot::{self, Robot};
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_transport::{Axes, Span, Time};

use super::Measurement;
use crate::abort::{Abort, check_stop, refusal};

/// Device that measures the time between a reading and the next command: a tick.
struct TimedDevice<D: ?Sized> {
    read: Time,
    spans: Vec<Span>,
    device: Box<D>,
}

impl<D: ?Sized> TimedDevice<D> {
    fn new(device: Box<D>) -> Self {
        Self {
            read: Time(0),
            spans: Vec::new(),
            device,
        }
    }

    fn measurement(&self, name: &str) -> Measurement {
        Measurement {
            name: name.to_owned(),
            stats: DurationStats::of(&self.spans).unwrap_or_default(),
        }
    }
}

impl Handle for TimedDevice<dyn Handle> {
    fn caps(&self) -> HandleCaps {
        self.device.caps()
    }

    fn observe_halt(&mut self, halted: bool, robot_m: Option<&Axes>) {
        self.device.observe_halt(halted, robot_m);
    }

    fn read(&mut self, now: Time) -> device::HandleReading {
        let reading = self.device.read(now);
        self.read = thread_cpu_now();
        reading
    }

    fn write(&mut self, force_on_hand_n: &Axes) {
        self.spans.push(thread_cpu_now() - self.read);
        self.device.write(force_on_hand_n);
    }
}

impl Robot for TimedDevice<dyn Robot> {
    fn read(&mut self, now: Time) -> robot::RobotReading {
        let reading = self.device.read(now);
        self.read = thread_cpu_now();
        reading
    }

    fn write(&mut self, force_n: &Axes, closed: bool) {
        self.spans.push(thread_cpu_now() - self.read);
        self.device.write(force_n, closed);
    }
}

/// CPU time of the ticks of both sides, in a session without a network.
///
/// # Errors
/// If `stop` is set; as [`lab::build_robot`].
pub(super) fn ticks(config: &Config, stop: &AtomicBool) -> Result<Vec<Measurement>, Abort> {
    let handle = device::build(&config.operator, config.duration_s, config.seed);
    let robot = lab::build_robot(config).map_err(refusal)?;
    let (mut handle, mut robot) = (TimedDevice::new(handle), TimedDevice::new(robot));
    let parties = RunIds::default();
    let twin = lab::predictor(config, None).map_err(refusal)?;
    let master = palpate_master::MasterState::new(twin, &handle.caps(), parties);
    let mut master = MasterPipeline::new(config, master);
    let mut slave = SidePipeline::new(
        config,
        palpate_slave::SlaveState::new(config.robot.mass_kg(), parties),
    );
    let mut frame = None;
    for tick in 0..(config.duration_s / PERIOD.s()) as u64 {
        check_stop(stop)?;
        let inputs = TickInputs::at_tick(tick);
        let received = |sent| Some((sent?, inputs.now));
        let outputs = master.tick(
            &TickInputs { frame, ..inputs },
            &config.coupling,
            &mut handle,
        );
        frame = received(outputs.sent_frame);
        let outputs = slave.tick(
            &TickInputs { frame, ..inputs },
            &config.coupling,
            &mut robot,
        );
        frame = received(outputs.sent_frame);
    }
    Ok(vec![
        handle.measurement("master tick"),
        robot.measurement("slave tick"),
    ])
}
