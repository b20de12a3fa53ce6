//! The operator's hand on the remote tissue itself, without robot and network: what a perfect channel displays.
//!
//! Source: ours. Hand, handle and script are those of the session, so the stiffness is fitted to the same motion as the
//! displayed one. Tissue is not linear: over a press, the regression of a force that rises with the square of the depth
//! gives 8 to 11 % more than the chord of a slow press to the same depth, and that is no error of a channel.

use palpate_master::device::{self, HandleKind};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use palpate_slave::robot::Probe;
use palpate_transport::Time;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;

/// Longest script that is played \[s\]: slower presses have no other stiffness than those of it, within 2 %.
const SCRIPT_S_MAX: f64 = 60.0;

/// Presses the remote tissue by the script of the session up to the end of `last_phase`; returns a record a tick.
///
/// # Errors
/// [`ConfigError`] if the remote tissue cannot be used.
pub(crate) fn touch(config: &Config, last_phase: u16) -> Result<Vec<TickRecord>, ConfigError> {
    let mut tissue = lab::build_environment(config)?;
    let duration_s = config.duration_s.min(SCRIPT_S_MAX);
    let mut operator = config.operator.clone();
    // the steps of an encoder belong to the channel
    (operator.phantom.encoder_m, operator.phantom.encoder_noise_m) = (0.0, 0.0);
    if operator.handle == HandleKind::Pointer {
        return Ok(Vec::new());
    }
    let mut handle = device::build(&operator, duration_s, config.seed);
    let ticks = (duration_s / PERIOD.s()) as i64;
    let mut records = Vec::new();
    let mut reached = false;
    for tick in 0..ticks {
        let now = Time(tick * PERIOD.0);
        let reading = handle.read(now);
        if reached && reading.phase != last_phase {
            break;
        }
        reached = reading.phase == last_phase;
        let probe = Probe {
            position_m: reading.position_m,
            velocity_mps: reading.velocity_mps,
            closed: reading.closed,
        };
        let force_n = tissue.step(&probe, PERIOD.s());
        handle.write(&force_n);
        records.push(TickRecord {
            now_ns: now.0,
            phase: reading.phase,
            position_m: reading.position_m,
            velocity_mps: reading.velocity_mps,
            port_force_n: force_n.map(|force_n| -force_n),
            ..TickRecord::default()
        });
    }
    Ok(records)
}
