//! The whole session in virtual time: master, link, slave, twin, hand and tissue in lock step.
//!
//! The same two tick functions as in the live processes, the same plants, the same link model; only
//! the clock and the wires are replaced. Bit-exact for the same configuration and seed.

mod paced;
mod scene;
mod station;
mod stream;
mod way;

use std::sync::Arc;

use palpate_fem::Compliance;
use palpate_master::device::Handle;
use palpate_master::predict::Predictor;
use palpate_port::inbox::Parties;
use palpate_scene::{Scene, SceneError, Steps};
use palpate_slave::robot::{Environment, Free, Robot, Wall};
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::link::{LinkError, LinkQueue, LinkStats};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{HapticFrame, Span, Stroke, Time};
use xxhash_rust::xxh3::Xxh3;

use crate::config::{Config, ConfigError};
use crate::environment::TissueEnvironment;
use crate::netlab;
use crate::pipeline::At;
use crate::pipeline::hash::TraceHash;
use crate::strokes::Keeper as _;
use crate::tables;

use scene::wrong_scene;
pub use scene::{contact_m, list_folder, load_scene, read_scene, scene_text};
use station::{Absence, Station};
pub use stream::Reconstruction;
pub(crate) use stream::Watch;
use way::Way;

/// Bytes of a frame on the wire: payload, CDR header, zenoh and UDP/IP headers \[bytes\].
pub const WIRE_BYTES: usize = HapticFrame::ENCODED_BYTES + 60;

/// Frames that may be on the wire in one direction at once, beside those that its delay holds.
const WIRE_FRAMES: usize = 4096;

/// Room for what a direction holds: a frame a tick for its longest delay, twice if it duplicates.
fn wire_frames(config: &Config) -> usize {
    let changes = config.link.change.iter();
    let changed = changes
        .flat_map(|change| [change.forward, change.back])
        .flatten();
    let links = [config.link.forward, config.link.back]
        .into_iter()
        .chain(changed);
    let longest_ms = links
        .map(|link| link.oneway_ms + link.jitter_ms)
        .fold(0.0, f64::max);
    WIRE_FRAMES + 2 * longest_ms.ceil() as usize
}

/// Both sides and the network between them, in one process and one time.
pub struct Session {
    config: Config,
    master: Station<palpate_master::State>,
    slave: Station<palpate_slave::State>,
    /// What instruments did, on its way.
    strokes: Way,
    coupling: CouplingParams,
    runs: u64,
    changes_done: usize,
    tick: u64,
    hash: TraceHash,
    /// Whether the next tick is too late for a step of the twin.
    masked: bool,
    fault: Option<fn(&mut HapticFrame)>,
}

/// The two records of one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lockstep {
    /// The operator's side.
    pub master: TickRecord,
    /// The remote side.
    pub slave: TickRecord,
}

impl Session {
    /// A session at rest, with the simulated devices of the configuration.
    ///
    /// # Errors
    /// [`ConfigError`] if a field is out of its range or a scene does not exist.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let (operator, duration_s) = (&config.operator, config.duration_s);
        let handle = palpate_master::device::build(operator, duration_s, config.seed);
        Self::with_devices(config, handle, build_robot(config)?)
    }

    /// A session at rest, with other devices.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_devices(
        config: &Config,
        handle: Box<dyn Handle>,
        robot: Box<dyn Robot>,
    ) -> Result<Self, ConfigError> {
        Self::with_twin(config, handle, robot, predictor_of(config)?)
    }

    /// A session at rest, with other devices and another twin.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_twin(
        config: &Config,
        handle: Box<dyn Handle>,
        robot: Box<dyn Robot>,
        twin: Option<Predictor>,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let seed = config.seed;
        let room = wire_frames(config);
        let [forward_seed, back_seed] = netlab::direction_seeds(seed);
        let link =
            |params, seed| LinkQueue::new(params, seed, room).map_err(|error| wrong_link(&error));
        let forward = link(config.link.forward, forward_seed)?;
        let back = link(config.link.back, back_seed)?;
        let opened = twin.as_ref().is_some_and(|twin| twin.strokes().is_some());
        let strokes = Way::new(opened, [config.link.forward, config.link.back], seed);
        let master = palpate_master::State::new(twin, &handle.caps(), parties(seed, Side::Master));
        let slave = palpate_slave::State::new(parties(seed, Side::Slave));
        Ok(Self {
            strokes: strokes.map_err(|error| wrong_link(&error))?,
            master: Station::new(config, master, handle, forward, 2 * room),
            slave: Station::new(config, slave, robot, back, 2 * room),
            coupling: config.coupling_in_use(),
            runs: 0,
            changes_done: 0,
            tick: 0,
            hash: TraceHash::default(),
            masked: false,
            fault: None,
            config: config.clone(),
        })
    }

    /// Number of ticks of the whole session.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        (self.config.duration_s / PERIOD.s()).round() as u64
    }

    /// The operator's side, for looking at the twin.
    #[must_use]
    pub fn master(&self) -> &palpate_master::State {
        &self.master.side.state
    }

    /// What the network did so far: from master to slave, from slave to master.
    #[must_use]
    pub fn link_stats(&self) -> [LinkStats; 2] {
        [*self.master.link.stats(), *self.slave.link.stats()]
    }

    /// Tick in which each frame from the master and from the slave was sent, by its number less one;
    /// empty if every tick sends one.
    #[must_use]
    pub fn sent_ticks(&self) -> [&[u64]; 2] {
        [
            self.master.watch.sent_ticks(),
            self.slave.watch.sent_ticks(),
        ]
    }

    /// How well the slave and the master were shown what the other side knew, if a codec is on.
    #[must_use]
    pub fn reconstruction(&self) -> [Option<Reconstruction>; 2] {
        [&self.master.watch, &self.slave.watch].map(Watch::reconstruction)
    }

    /// Hash of all port traces so far: positions and forces of both ports, bit by bit, and what instruments have
    /// made of both tissues.
    #[must_use]
    pub fn trace_hash(&self) -> String {
        self.hash.text()
    }

    /// Strokes of the master's twin, since it was whole.
    #[must_use]
    pub fn strokes_made(&self) -> u64 {
        self.master().known()
    }

    /// A stroke of it, by its number from 1.
    #[must_use]
    pub fn stroke(&self, number: u64) -> Option<Stroke> {
        self.master().stroke(number)
    }

    /// Let a side begin anew, as a process that was killed and started again: it knows nothing, not
    /// even the other side; its device and what is on the way stay.
    ///
    /// # Errors
    /// [`ConfigError`] if the twin's scene is gone meanwhile.
    pub fn restart(&mut self, side: Side) -> Result<(), ConfigError> {
        self.runs += 1;
        let Parties { own, .. } = parties(self.config.seed, side);
        let parties = Parties {
            own: own.wrapping_add(self.runs << 8).max(1),
            peer: 0,
        };
        self.strokes.restart(side);
        match side {
            Side::Master => {
                let (caps, twin) = (self.master.device.caps(), predictor_of(&self.config)?);
                let state = palpate_master::State::new(twin, &caps, parties);
                self.master.restart(&self.config, state);
            }
            Side::Slave => {
                let state = palpate_slave::State::new(parties);
                self.slave.restart(&self.config, state);
            }
        }
        Ok(())
    }

    /// Let a side miss its next `ticks` ticks; its handle lets go of its force, or its drive brakes, after
    /// their time. Meanwhile [`Self::step`] gives its last record again.
    pub fn pause(&mut self, side: Side, ticks: u64) {
        self.absence(side).left = ticks;
    }

    fn absence(&mut self, side: Side) -> &mut Absence {
        match side {
            Side::Master => &mut self.master.absence,
            Side::Slave => &mut self.slave.absence,
        }
    }

    /// Hold a side for its next `ticks` ticks, as its operator's clutch or a CRTK `pause` and `resume` do:
    /// the master counts as one whose operator is not there, the slave stands.
    pub fn hold(&mut self, side: Side, ticks: u64) {
        self.absence(side).held = ticks;
    }

    /// Let `fault` spoil every frame that arrives from now on: for tests that must see a fault found.
    pub fn plant(&mut self, fault: fn(&mut HapticFrame)) {
        self.fault = Some(fault);
    }

    /// Advance both sides by one tick.
    pub fn step(&mut self) -> Lockstep {
        let now = Time(PERIOD.0 * self.tick as i64);
        let remote_now = self.remote_clock(now);
        self.change_link(now);
        // the newest due frame wins, as in the live mailbox
        let spoil = self.fault.unwrap_or(|_| ());
        while let Some(mut frame) = self.slave.link.pop_due(now) {
            spoil(&mut frame);
            self.master.mailbox.put(frame, now);
        }
        while let Some(mut frame) = self.master.link.pop_due(now) {
            spoil(&mut frame);
            self.slave.mailbox.put(frame, remote_now);
        }
        self.strokes.arrive(now);
        let at = At {
            masked: self.masked || self.is_masked(),
            ..At::of_tick(self.tick)
        };
        self.step_master(&at);
        self.step_slave(&At {
            now: remote_now,
            ..at
        });
        self.tick += 1;
        let (master, slave) = (self.master.made.record, self.slave.made.record);
        self.hash.absorb(Side::Master, &master);
        self.hash.absorb(Side::Slave, &slave);
        Lockstep { master, slave }
    }

    fn step_master(&mut self, at: &At) {
        let Some(at) = self.master.wake(at) else {
            return;
        };
        self.strokes.tell(&mut self.master.side.state);
        let from = &mut self.slave.watch;
        self.master.tick(&at, &self.coupling, from);
        self.strokes.send(&self.master.side.state, at.now);
    }

    fn step_slave(&mut self, at: &At) {
        let Some(mut at) = self.slave.wake(at) else {
            return;
        };
        let slave = &mut self.slave;
        let robot = slave.device.as_mut();
        at.refused = self.strokes.pass(slave.side.state.inbox(), robot, &at);
        slave.tick(&at, &self.coupling, &mut self.master.watch);
    }

    /// Whether this tick is one of those that count as too late for a step of the twin.
    fn is_masked(&self) -> bool {
        let mut hash = Xxh3::with_seed(self.config.seed);
        hash.update(b"masked");
        hash.update(&self.tick.to_le_bytes());
        let share = (hash.digest() >> 11) as f64 / (1_u64 << 53) as f64;
        share < self.config.realtime.masked_share
    }

    /// What the slave's clock shows at `now`.
    fn remote_clock(&self, now: Time) -> Time {
        let clock = &self.config.clock;
        let skew = (now.0 as f64 * clock.skew_ppm * 1e-6) as i64;
        Time(now.0 + skew) + Span::from_ms(clock.offset_ms)
    }

    fn change_link(&mut self, now: Time) {
        while let Some(change) = self.config.link.change.get(self.changes_done) {
            if (now - Time(0)).s() < change.at_s {
                return;
            }
            // the configuration was checked as a whole, so neither can be refused here
            for (queue, params) in [
                (&mut self.master.link, change.forward),
                (&mut self.slave.link, change.back),
            ] {
                let _ = params.map(|params| queue.set_params(params));
            }
            self.strokes.change([change.forward, change.back]);
            self.changes_done += 1;
        }
    }
}

fn wrong_link(error: &LinkError) -> ConfigError {
    ConfigError::Field {
        message: error.to_string(),
    }
}

/// Runs of both sides of a session in virtual time, which know each other from the start.
#[must_use]
pub fn parties(seed: u64, side: Side) -> Parties {
    let run = |side: Side| {
        let mut hash = Xxh3::with_seed(seed);
        hash.update(side.name().as_bytes());
        hash.digest().max(1)
    };
    Parties {
        own: run(side),
        peer: run(side.other()),
    }
}

/// The twin of a session in virtual time: with a table if some of its ticks are masked.
///
/// # Errors
/// As [`predictor`].
pub fn predictor_of(config: &Config) -> Result<Option<Predictor>, ConfigError> {
    if config.realtime.masked_share == 0.0 || !config.coupling.needs_twin() {
        return predictor(config);
    }
    let scene = load_scene(&config.twin, "twin")?;
    let table = tables::of_virtual_time(&scene)
        .map_err(|error| wrong_scene("twin", &config.twin, &error))?;
    predictor_with(config, table.as_ref())
}

/// The twin and its shadow, if the mode renders one.
///
/// # Errors
/// [`ConfigError`] if the scene does not exist or is wrong.
pub fn predictor(config: &Config) -> Result<Option<Predictor>, ConfigError> {
    predictor_with(config, None)
}

/// As [`predictor`], with a table for what a late tick feels.
///
/// # Errors
/// As [`predictor`].
pub fn predictor_with(
    config: &Config,
    table: Option<&Arc<Compliance>>,
) -> Result<Option<Predictor>, ConfigError> {
    if !config.coupling.needs_twin() && !config.operator.wields() {
        return Ok(None);
    }
    let scene = load_scene(&config.twin, "twin")?;
    let wrong = |error: SceneError| wrong_scene("twin", &config.twin, &error);
    let twin = match table {
        Some(table) => scene.build_with_table(table),
        None => scene.build(),
    };
    let twin = twin.map_err(wrong)?;
    scene::felt(config, ("twin", &config.twin), twin.as_ref())?;
    // nothing masked ever asks the shadow
    let shadow = scene.build().map_err(wrong)?;
    let predictor = Predictor::new(twin, shadow);
    Ok(Some(match &config.towards {
        Some(name) => predictor.towards(steps(&scene, name)?),
        None => predictor,
    }))
}

/// The way of a twin from its scene to another.
fn steps(twin: &Scene, towards: &str) -> Result<Steps, ConfigError> {
    if twin.method() != "fem" {
        let (name, method) = (&twin.name, twin.method());
        let why =
            format!("the twin `{name}` of method {method} cannot change; expected one of fem");
        return Err(wrong_scene("towards", towards, &why));
    }
    let goal = load_scene(towards, "towards")?;
    Steps::between(twin, &goal).map_err(|error| wrong_scene("towards", towards, &error))
}

/// The simulated robot with the remote world at its probe.
///
/// # Errors
/// [`ConfigError`] if the scene does not exist or is wrong.
pub fn build_robot(config: &Config) -> Result<Box<dyn Robot>, ConfigError> {
    let environment = build_environment(config)?;
    Ok(palpate_slave::robot::build(
        &config.robot,
        environment,
        config.seed,
    ))
}

/// What the remote side really touches.
///
/// # Errors
/// [`ConfigError`] if the scene does not exist or is wrong.
pub fn build_environment(config: &Config) -> Result<Box<dyn Environment>, ConfigError> {
    let name = config.tissue.as_str();
    if name == "free" {
        return Ok(Box::new(Free));
    }
    if let Some(stiffness) = name.strip_prefix("wall:") {
        let stiffness_npm = stiffness.parse().ok().filter(|k| (0.0..=1e6).contains(k));
        let Some(stiffness_npm) = stiffness_npm else {
            let message = format!("tissue is {name}; expected wall:K with K from 0 to 1000000 N/m");
            return Err(ConfigError::Field { message });
        };
        return Ok(Box::new(Wall::rp1(stiffness_npm)));
    }
    let scene = load_scene(name, "tissue")?;
    let tissue = scene
        .build()
        .map_err(|error| wrong_scene("tissue", name, &error))?;
    let predict = &config.master.predict;
    scene::felt(config, ("tissue", name), tissue.as_ref())?;
    let (radius_m, stiffness_npm) = (predict.tool_radius_m, predict.tool_stiffness_npm);
    let environment = TissueEnvironment::new(tissue, radius_m, stiffness_npm);
    Ok(Box::new(environment.touched_by(predict.tool_shape)))
}
