//! Sessions on the reference plant RP-1 (teleop section 8): what the real ticks display, and when they
//! begin to swing.

use palpate_calib::fit;
use palpate_master::device::grip::Grip;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_transport::coupling::{Matching, Mode};

use crate::config::{Config, ConfigError};
use crate::lab::Session;

/// RP-1 as the sheet has it: one axis, no limits, no friction, no noise, a wall at 10 mm.
const PLANT: [&str; 12] = [
    "twin=sheet",
    "operator.handle=mass",
    "robot.kind=mass",
    "robot.start_m=[0.0, 0.0, 0.0, 0.02]",
    "master.guard.force_n_max=[200.0, 200.0, 200.0, 200.0]",
    "master.guard.slew_nps_max=[1e9, 1e9, 1e9, 1e9]",
    "slave.guard.velocity_mps_max=[100.0, 100.0, 100.0, 100.0]",
    "slave.guard.force_n_max=[1e4, 1e4, 1e4, 1e4]",
    "slave.guard.contact_n_max=[1e4, 1e4, 1e4, 1e4]",
    "slave.guard.workspace_m_min=[-9.0, -9.0, -9.0, -9.0]",
    "slave.guard.workspace_m_max=[9.0, 9.0, 9.0, 9.0]",
    "slave.guard.ramp_s=0.001",
];

/// Amplitude of the hand's intended motion \[m\].
const AMPLITUDE_M: f64 = 0.025;

/// Frequency of a slow press \[Hz\].
const SLOW_HZ: f64 = 0.1;

/// Share of a cycle that the line may hold: longer lines are pressed more slowly.
const HELD_CYCLE: f64 = 0.02;

/// Slave's controller in the sheet: stiffness \[N/m\].
pub const SLAVE_NPM: f64 = 2000.0;

/// Slave's controller in the sheet: damping \[N s/m\].
pub const SLAVE_NSPM: f64 = 50.0;

/// A session on the plant, in a mode and with a remote tissue such as `wall:300` or `free`, over a network that only
/// delays, by `oneway_ms` each way \[ms\].
///
/// # Errors
/// [`ConfigError`] if an assignment is refused.
pub fn plant(mode: Mode, tissue: String, oneway_ms: f64) -> Result<Config, ConfigError> {
    let mut config = Config {
        tissue,
        ..Config::default()
    };
    for assignment in &PLANT {
        config.set(assignment)?;
    }
    for link in [&mut config.link.forward, &mut config.link.back] {
        link.oneway_ms = oneway_ms;
        link.jitter_ms = 0.0;
        link.loss = 0.0;
    }
    config.coupling.mode = mode;
    config.coupling.matching = Matching::None;
    Ok(config)
}

/// Round trip of a session's waves at a one-way delay \[s\]: virtual time adds no tick of its own.
#[must_use]
pub fn round_trip_s(oneway_ms: f64) -> f64 {
    2e-3 * oneway_ms
}

/// Frequency at which a line is pressed slowly \[Hz\].
#[must_use]
pub fn slow_hz(oneway_ms: f64) -> f64 {
    SLOW_HZ.min(HELD_CYCLE / round_trip_s(oneway_ms))
}

/// Stiffness that a slow press of a wall feels through waves \[N/m\]: the coefficient of the handle's
/// position in its force, beside that of velocity, while the probe touches, in the second half.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub fn displayed_npm(
    wall_npm: f64,
    b_nspm: f64,
    oneway_ms: f64,
) -> Result<Option<f64>, ConfigError> {
    let hz = slow_hz(oneway_ms);
    let mut config = plant(Mode::Wave, format!("wall:{wall_npm}"), oneway_ms)?;
    config.coupling.impedance_nspm = b_nspm;
    config.duration_s = 3.0 / hz;
    config.operator.script = ScriptParams::Sine(SineParams {
        amplitude_m: AMPLITUDE_M,
        hz,
    });
    let mut session = Session::new(&config)?;
    let (mut depth, mut rate, mut force) = (Vec::new(), Vec::new(), Vec::new());
    for tick in 0..session.ticks() {
        let step = session.step();
        if step.slave.tissue_force_n[2] > 0.05 && tick > session.ticks() / 2 {
            depth.push(-step.master.position_m[2]);
            rate.push(-step.master.velocity_mps[2]);
            force.push(-step.master.port_force_n[2]);
        }
    }
    let ones = vec![1.0; depth.len()];
    let fit = fit::least_squares(&[&ones, &depth, &rate], &force);
    Ok(fit
        .ok()
        .filter(|fit| fit.unidentifiable.is_empty())
        .map(|fit| fit.coefficients[1]))
}

/// Longest one-way delay up to which direct coupling in the air does not begin to swing \[ms\], in whole
/// ticks; none if it does not swing up to `most_ms`, or swings without any delay. One after another, because a much longer delay
/// swings so slowly that a session may not see it.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub fn direct_oneway_ms_max(
    grip: Grip,
    slave: (f64, f64),
    most_ms: u32,
) -> Result<Option<u32>, ConfigError> {
    for oneway_ms in 0..=most_ms {
        if swings_at(grip, slave, oneway_ms)? {
            return Ok(oneway_ms.checked_sub(1));
        }
    }
    Ok(None)
}

/// Whether the end of a session is faster than a hand that moves calmly can be: 0.11 m/s at most.
fn swings_at(grip: Grip, (npm, nspm): (f64, f64), oneway_ms: u32) -> Result<bool, ConfigError> {
    let mut config = plant(Mode::Direct, "free".into(), f64::from(oneway_ms))?;
    config.operator.grip = grip;
    config.slave.stiffness_npm = [npm; 4];
    config.slave.damping_nspm = [nspm; 4];
    config.duration_s = 8.0;
    config.operator.script = ScriptParams::Sine(SineParams {
        amplitude_m: AMPLITUDE_M,
        hz: 0.7,
    });
    let mut session = Session::new(&config)?;
    let mut fastest_mps = 0.0_f64;
    for tick in 0..session.ticks() {
        let step = session.step();
        if tick > session.ticks() * 3 / 4 {
            fastest_mps = fastest_mps.max(step.master.velocity_mps[2].abs());
        }
    }
    Ok(fastest_mps > 0.3 || !fastest_mps.is_finite())
}
