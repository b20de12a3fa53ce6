//! Sessions on the reference plant RP-1 (teleop section 8): what the real ticks display, and when they
//! begin to swing.

use palpate_calib::fit;
use palpate_master::device;
use palpate_master::device::grip::Grip;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::Session;
use palpate_slave::robot::{self, Environment, Probe};
use palpate_transport::coupling::{Matching, Mode};
use palpate_transport::{AXES, Axes};

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
pub(crate) const SLAVE_NPM: f64 = 2000.0;

/// Slave's controller in the sheet: damping \[N s/m\].
pub(crate) const SLAVE_NSPM: f64 = 50.0;

/// What couples the sides of a session on the plant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coupled {
    /// Mode.
    pub mode: Mode,
    /// Wave impedance \[N s/m\].
    pub b_nspm: f64,
    /// Stiffness of the slave's controller \[N/m\]; its damping is in the sheet's proportion.
    pub slave_npm: f64,
    /// Least one-way delays there and back \[ms\].
    pub oneway_ms: [f64; 2],
    /// Jitter, each way: a packet is later by 0 to this \[ms\].
    pub jitter_ms: f64,
    /// Seed of what the session draws: the delays of its packets.
    pub seed: u64,
}

impl Coupled {
    fn config(&self, tissue: String) -> Result<Config, ConfigError> {
        let mut config = plant(self.mode, tissue, 0.0)?;
        config.seed = self.seed;
        let links = [&mut config.link.forward, &mut config.link.back];
        for (link, least_ms) in links.into_iter().zip(self.oneway_ms) {
            link.oneway_ms = least_ms + 0.5 * self.jitter_ms;
            link.jitter_ms = 0.5 * self.jitter_ms;
        }
        config.coupling.impedance_nspm = self.b_nspm;
        config.slave.stiffness_npm = [self.slave_npm; 4];
        config.slave.damping_nspm = [slave_nspm(self.slave_npm); 4];
        Ok(config)
    }
}

/// Damping of a slave's controller in the sheet's proportion to its stiffness \[N s/m\].
#[must_use]
pub fn slave_nspm(slave_npm: f64) -> f64 {
    SLAVE_NSPM * slave_npm / SLAVE_NPM
}

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

/// Frequency at which a chain of this round trip is pressed slowly \[Hz\].
#[must_use]
pub(crate) fn slow_hz(rtt_s: f64) -> f64 {
    SLOW_HZ.min(HELD_CYCLE / rtt_s)
}

/// Force on the probe from which a press counts \[N\]: below 0.1 N the slave takes the probe for free, and what
/// it does there against drift is no part of the stiffness.
const TOUCHED_N: f64 = 0.12;

/// Stiffness that a slow press of a wall feels \[N/m\]: the coefficient of the handle's
/// position in its force, beside that of velocity, while the probe touches, in the second half.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub fn displayed_npm(
    coupled: &Coupled,
    wall_npm: f64,
    hz: f64,
) -> Result<Option<f64>, ConfigError> {
    let mut config = coupled.config(format!("wall:{wall_npm}"))?;
    config.duration_s = 3.0 / hz;
    config.operator.script = ScriptParams::Sine(SineParams {
        amplitude_m: AMPLITUDE_M,
        hz,
    });
    let mut session = Session::new(&config)?;
    let (mut depth, mut rate, mut force) = (Vec::new(), Vec::new(), Vec::new());
    for tick in 0..session.ticks() {
        let step = session.step();
        if step.slave.tissue_force_n[2] > TOUCHED_N && tick > session.ticks() / 2 {
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

/// Tissue that the probe is glued to, so that it pulls as well as it pushes and a small swing stays linear.
struct Glued {
    stiffness_npm: f64,
    damping_nspm: f64,
    stored_j: f64,
}

impl Glued {
    /// At rest, with a wall's spring and damper \[N/m\], \[N s/m\].
    fn to(wall: (f64, f64)) -> Self {
        Self {
            stiffness_npm: wall.0,
            damping_nspm: wall.1,
            stored_j: 0.0,
        }
    }
}

impl Environment for Glued {
    fn step(&mut self, probe: &Probe, _dt_s: f64) -> Axes {
        let (x, v) = (probe.position_m[2], probe.velocity_mps[2]);
        self.stored_j = 0.5 * self.stiffness_npm * x * x;
        let mut force_n = [0.0; AXES];
        force_n[2] = -self.stiffness_npm * x - self.damping_nspm * v;
        force_n
    }

    fn energy_j(&self) -> f64 {
        self.stored_j
    }
}

/// A session whose probe is glued to a tissue, with a robot that begins `off_m` from the handle.
fn glued(
    coupled: &Coupled,
    world: Glued,
    grip: Grip,
    sine: SineParams,
    off_m: f64,
) -> Result<Session, ConfigError> {
    let mut config = coupled.config("free".into())?;
    config.operator.grip = grip;
    config.operator.script = ScriptParams::Sine(sine);
    config.duration_s = WATCHED_S;
    config.robot.start_m[2] = off_m;
    let handle = device::build(&config.operator, config.duration_s, config.seed);
    let robot = robot::build(&config.robot, Box::new(world), config.seed);
    Session::with_devices(&config, handle, robot)
}

/// How far the robot is from where the handle is when a swing begins \[m\].
const KICK_M: f64 = 1e-3;

/// How long a swing is watched \[s\].
const WATCHED_S: f64 = 4.0;

/// Speed below which nothing swings \[m/s\]: a thousandth of what the kick gives.
const STILL_MPS: f64 = 1e-5;

/// Speed of hand and handle that only a swing which has grown reaches \[m/s\], as it may meet a limit and grow no more.
const GROWN_MPS: f64 = 0.3;

/// Whether a kick grows in hand and handle: whether they are as fast in the last quarter as in the
/// second, and not at rest, or faster than the kick ever makes them. The tissue is that of a wall that the probe is glued to, 0 N/m for none.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub(crate) fn swings(coupled: &Coupled, wall: (f64, f64), grip: Grip) -> Result<bool, ConfigError> {
    let still = SineParams {
        amplitude_m: 0.0,
        hz: 0.0,
    };
    let mut session = glued(coupled, Glued::to(wall), grip, still, KICK_M)?;
    let ticks = session.ticks();
    let mut fastest_mps = [0.0_f64; 4];
    for tick in 0..ticks {
        let speed_mps = session.step().master.velocity_mps[2].abs();
        let quarter = &mut fastest_mps[(4 * tick / ticks) as usize];
        *quarter = quarter.max(speed_mps);
        if !speed_mps.is_finite() || speed_mps > 1e3 {
            return Ok(true);
        }
    }
    let [_, early, _, late] = fastest_mps;
    Ok(late > STILL_MPS && late >= early || late > GROWN_MPS)
}

/// Mean size of the second differences of a force from which it is rough \[N\]: that of a smooth hand is below a
/// hundredth of it, and a swing between samples reaches it within a few percent of its limit.
pub(crate) const ROUGH_N: f64 = 0.1;

/// How rough the force on a hand is that moves smoothly \[N\]: mean size of its second differences over the second half. A
/// swing between samples cannot grow where an account keeps it, but goes on for as long as the hand pays.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub(crate) fn roughness_n(
    coupled: &Coupled,
    wall: (f64, f64),
    grip: Grip,
) -> Result<f64, ConfigError> {
    let sine = SineParams {
        amplitude_m: AMPLITUDE_M,
        hz: 0.7,
    };
    let mut session = glued(coupled, Glued::to(wall), grip, sine, 0.0)?;
    let ticks = session.ticks();
    let force_n: Vec<f64> = (0..ticks)
        .map(|_| session.step().master.port_force_n[2])
        .skip((ticks / 2) as usize)
        .collect();
    let bends = force_n.windows(3).map(|w| (w[2] - 2.0 * w[1] + w[0]).abs());
    Ok(bends.sum::<f64>() / force_n.len().max(1) as f64)
}
