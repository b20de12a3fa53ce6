//! Sessions on the reference plant RP-1 (teleop section 8): displayed stiffness, and onset of
//! oscillation.

use palpate_calib::fit;
use palpate_master::device;
use palpate_master::device::grip::Grip;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::VirtualSession;
use palpate_slave::robot::{self, Environment, Probe};
use palpate_transport::coupling::{ImpedanceMatching, Mode};
use palpate_transport::{AXES, Axes};

/// Settings of RP-1: one axis, no limits, no friction, no noise, a wall at 10 mm.
const PLANT: [&str; 16] = [
    "twin=sheet",
    // a robot that starts in stretched tissue, a stiff sampled drive and an injected pulse are active
    "coupling.active_j_max=100.0",
    "operator.handle=mass",
    "robot.kind=mass",
    "robot.start_m=[0.0, 0.0, 0.0, 0.02]",
    "master.guard.force_n_max=[200.0, 200.0, 200.0, 200.0]",
    "master.guard.slew_nps_max=[1e9, 1e9, 1e9, 1e9]",
    "master.guard.limit_cycle_n=100.0",
    "coupling.device_mps_max=1000.0",
    "coupling.device_n_max=1e6",
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

/// Largest share of a cycle that the line may hold: longer lines are pressed more slowly.
const HELD_CYCLE_SHARE: f64 = 0.02;

/// Stiffness of the slave's controller in RP-1 \[N/m\].
pub(crate) const SLAVE_NPM: f64 = 2000.0;

/// Damping of the slave's controller in RP-1 \[N s/m\].
pub(crate) const SLAVE_NSPM: f64 = 50.0;

/// Coupling of the sides in a session on the plant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlantCoupling {
    /// Mode.
    pub mode: Mode,
    /// Wave impedance \[N s/m\].
    pub b_nspm: f64,
    /// Stiffness of the slave's controller \[N/m\]; its damping is in RP-1's proportion.
    pub slave_npm: f64,
    /// Least one-way delays forward and back \[ms\].
    pub oneway_ms: [f64; 2],
    /// Jitter, each way: additional delay of a packet, from 0 to this \[ms\].
    pub jitter_ms: f64,
    /// Seed of the session's packet delays.
    pub seed: u64,
}

impl PlantCoupling {
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

/// Damping of a slave's controller in RP-1's proportion to its stiffness \[N s/m\].
pub(crate) fn slave_nspm(slave_npm: f64) -> f64 {
    SLAVE_NSPM * slave_npm / SLAVE_NPM
}

/// Configuration of a session on the plant, in a mode and with a remote tissue such as `wall:300` or `free`, over a
/// network that only delays, by `oneway_ms` each way \[ms\].
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
    config.coupling.matching = ImpedanceMatching::None;
    Ok(config)
}

/// Frequency of a slow press through a chain of this round trip \[Hz\].
pub(crate) fn slow_hz(rtt_s: f64) -> f64 {
    SLOW_HZ.min(HELD_CYCLE_SHARE / rtt_s)
}

/// Force on the probe above which a press counts \[N\]: below 0.1 N the slave treats the probe as free, and its
/// drift compensation there is no part of the stiffness.
const TOUCHED_N: f64 = 0.12;

/// Stiffness displayed in a slow press of a wall \[N/m\]: the coefficient of the handle's
/// position in its force, beside that of velocity, during contact, in the second half.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub(crate) fn displayed_npm(
    coupling: &PlantCoupling,
    wall_npm: f64,
    hz: f64,
) -> Result<Option<f64>, ConfigError> {
    let mut config = coupling.config(format!("wall:{wall_npm}"))?;
    config.duration_s = 3.0 / hz;
    config.operator.script = ScriptParams::Sine(SineParams {
        amplitude_m: AMPLITUDE_M,
        hz,
    });
    let mut session = VirtualSession::new(&config)?;
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

/// Tissue glued to the probe: it pulls as well as pushes, so that a small oscillation stays linear.
pub(crate) struct GluedTissue {
    stiffness_npm: f64,
    damping_nspm: f64,
    stored_j: f64,
}

impl GluedTissue {
    /// Tissue at rest, with a wall's spring and damper.
    pub(crate) fn new(stiffness_npm: f64, damping_nspm: f64) -> Self {
        Self {
            stiffness_npm,
            damping_nspm,
            stored_j: 0.0,
        }
    }
}

impl Environment for GluedTissue {
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

/// Session whose probe is glued to a tissue, with a robot that starts `off_m` away from the handle.
fn glued(
    coupling: &PlantCoupling,
    tissue: GluedTissue,
    grip: Grip,
    sine: SineParams,
    off_m: f64,
) -> Result<VirtualSession, ConfigError> {
    let mut config = coupling.config("free".into())?;
    config.operator.grip = grip;
    config.operator.script = ScriptParams::Sine(sine);
    config.duration_s = OBSERVED_S;
    config.robot.start_m[2] = off_m;
    let handle = device::build(&config.operator, config.duration_s, config.seed);
    let robot = robot::build(&config.robot, Box::new(tissue), config.seed);
    VirtualSession::with_devices(&config, handle, robot)
}

/// Initial distance of the robot from the handle, which excites the oscillation \[m\].
const KICK_M: f64 = 1e-3;

/// Duration of the observation \[s\].
const OBSERVED_S: f64 = 4.0;

/// Speed below which the motion is at rest \[m/s\]: a thousandth of that of the kick.
const REST_MPS: f64 = 1e-5;

/// Speed of hand and handle that only a growing oscillation reaches \[m/s\], before a limit may stop its growth.
const GROWN_MPS: f64 = 0.3;

/// True if a kick grows in hand and handle: they are as fast in the last quarter as in the
/// second, and not at rest, or faster than the kick ever makes them. A tissue of 0 N/m is free space.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub(crate) fn is_unstable(
    coupling: &PlantCoupling,
    tissue: GluedTissue,
    grip: Grip,
) -> Result<bool, ConfigError> {
    let no_motion = SineParams {
        amplitude_m: 0.0,
        hz: 0.0,
    };
    let mut session = glued(coupling, tissue, grip, no_motion, KICK_M)?;
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
    Ok(late > REST_MPS && late >= early || late > GROWN_MPS)
}

/// Roughness above which a force counts as rough \[N\]: that of a smooth motion is below a
/// hundredth of it, and an oscillation between samples reaches it within a few percent of its limit.
pub(crate) const ROUGH_N: f64 = 0.1;

/// Roughness of the force on a smoothly moving hand \[N\]: mean size of its second differences over the second half.
/// The energy tank limits an oscillation between samples, which then lasts as long as the hand supplies energy.
///
/// # Errors
/// [`ConfigError`] if a number is out of its range.
pub(crate) fn roughness_n(
    coupling: &PlantCoupling,
    tissue: GluedTissue,
    grip: Grip,
) -> Result<f64, ConfigError> {
    let sine = SineParams {
        amplitude_m: AMPLITUDE_M,
        hz: 0.7,
    };
    let mut session = glued(coupling, tissue, grip, sine, 0.0)?;
    let ticks = session.ticks();
    let force_n: Vec<f64> = (0..ticks)
        .map(|_| session.step().master.port_force_n[2])
        .skip((ticks / 2) as usize)
        .collect();
    let second_differences = force_n.windows(3).map(|w| (w[2] - 2.0 * w[1] + w[0]).abs());
    Ok(second_differences.sum::<f64>() / force_n.len().max(1) as f64)
}
