//! What the ticks of both sides cost.
//!
//! Source: ours. The ticks are those of a whole default session without delay, so that free
//! motion, contact and model updates are all among the samples.

use std::sync::atomic::{AtomicBool, Ordering};

use palpate_port::inbox::Parties;
use palpate_session::config::Config;
use palpate_session::lab::{self, PERIOD};
use palpate_session::stat::spans::{Measurement, Stats};
use palpate_transport::clock::thread_cpu_now;
use palpate_transport::{HapticFrame, Span, Time};

use super::BenchError;

/// Own CPU time of the two ticks, each of them within a session without a network.
///
/// # Errors
/// [`BenchError::Stopped`] if `stop` is set; as [`lab::build_robot`].
pub fn ticks(config: &Config, stop: &AtomicBool) -> Result<Vec<Measurement>, BenchError> {
    let mut handle =
        palpate_master::device::build(&config.operator, config.duration_s, config.seed);
    let mut robot = lab::build_robot(config)?;
    let parties = Parties::default();
    let mut master = palpate_master::State::new(lab::predictor(config)?, &handle.caps(), parties);
    let mut slave = palpate_slave::State::new(parties);
    let mut to_master = None::<(HapticFrame, Time)>;
    let (mut of_master, mut of_slave) = (Vec::new(), Vec::new());
    for tick in 0..(config.duration_s / PERIOD.s()) as u64 {
        if stop.load(Ordering::Relaxed) {
            return Err(BenchError::Stopped);
        }
        let now = Time(PERIOD.0 * tick as i64);
        let inputs = palpate_master::Inputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            paused: false,
            masked: false,
            reading: handle.read(now),
            frame: to_master,
            rearm: false,
        };
        let begun = thread_cpu_now();
        let out = palpate_master::tick(&config.master, &config.coupling, &mut master, &inputs);
        of_master.push(since(begun));
        handle.write(&out.force_on_hand_n);
        let to_slave = Some((out.frame, now));
        let inputs = palpate_slave::Inputs {
            tick,
            now,
            dt_s: PERIOD.s(),
            reading: robot.read(now),
            frame: to_slave,
            halt: false,
            rearm: false,
        };
        let begun = thread_cpu_now();
        let out = palpate_slave::tick(&config.slave, &config.coupling, &mut slave, &inputs);
        of_slave.push(since(begun));
        robot.write(&out.force_n, out.closed);
        to_master = Some((out.frame, now));
    }
    let named = |name: &str, spans: &[Span]| Measurement {
        name: name.to_owned(),
        stats: Stats::of(spans).unwrap_or_default(),
    };
    Ok(vec![
        named("master tick", &of_master),
        named("slave tick", &of_slave),
    ])
}

fn since(begun: Time) -> Span {
    thread_cpu_now() - begun
}
