//! The whole session in virtual time: master, link, slave, twin, hand and tissue in lock step.
//!
//! The same two tick functions as in the live processes, the same plants, the same link model; only
//! the clock and the wires are replaced. Bit-exact for the same configuration and seed.

mod paced;
mod scene;
mod stream;
mod way;

use std::sync::Arc;

use palpate_fem::Compliance;
use palpate_master::device::Handle;
use palpate_master::predict::Predictor;
use palpate_port::inbox::Parties;
use palpate_scene::{Scene, SceneError, Steps};
use palpate_slave::robot::{Environment, Free, Robot, Wall};
use palpate_transport::codec::Ends;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::frame::{Order, Succession, is_plausible};
use palpate_transport::link::{LinkError, LinkQueue, LinkStats};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{Axes, HapticFrame, Span, Stroke, Time};
use xxhash_rust::xxh3::Xxh3;

use crate::config::{Config, ConfigError};
use crate::environment::TissueEnvironment;
use crate::netlab;
use crate::replay::{absorb_topology, given};
use crate::strokes::Keeper as _;
use crate::tables;

use scene::wrong_scene;
pub use scene::{contact_m, list_folder, load_scene, read_scene, scene_text};
pub use stream::Reconstruction;
pub(crate) use stream::Watch;
use way::Way;

/// Tick period of both sides \[ns\].
pub const PERIOD: Span = Span(1_000_000);

/// Most periods that one tick accounts for; after more missed ones motion begins anew.
pub const PERIODS_MAX: u64 = 20;

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
    handle: Box<dyn Handle>,
    robot: Box<dyn Robot>,
    master: palpate_master::State,
    slave: palpate_slave::State,
    forward: LinkQueue<HapticFrame>,
    back: LinkQueue<HapticFrame>,
    to_slave: Mailbox,
    to_master: Mailbox,
    /// What instruments did, on its way.
    strokes: Way,
    coupling: CouplingParams,
    /// What the master and the slave send and are shown.
    codecs: [Ends; 2],
    /// The streams from the master and from the slave.
    watches: [Watch; 2],
    runs: u64,
    changes_done: usize,
    tick: u64,
    hash: Xxh3,
    absences: [Absence; 2],
    /// Whether each side is to clear a latched fault in its next tick, and whether that tick is late.
    rearm: [bool; 2],
    masked: bool,
    /// The newest frame of each side, sent or not, and whether its device's reading was plausible.
    made: [HapticFrame; 2],
    healthy: [bool; 2],
    fault: Option<fn(&mut HapticFrame)>,
}

/// A side that misses ticks, as a process that the machine does not let run.
#[derive(Default)]
struct Absence {
    /// Ticks that it will still miss.
    left: u64,
    /// Ticks that it has missed since its last.
    missed: u64,
    /// Its last record.
    last: TickRecord,
    /// Ticks for which it is still told to let no motion pass.
    held: u64,
}

/// What one tick of a side accounts for, as in the live loop.
struct Passed {
    dt_s: f64,
    paused: bool,
}

impl Absence {
    /// Whether the next tick must let no motion pass.
    fn holds(&mut self) -> bool {
        let holds = self.held > 0;
        self.held -= u64::from(holds);
        holds
    }

    /// What the next tick accounts for; none if it is missed.
    fn pass(&mut self) -> Option<Passed> {
        if self.left > 0 {
            (self.left, self.missed) = (self.left - 1, self.missed + 1);
            return None;
        }
        let periods = std::mem::take(&mut self.missed) + 1;
        Some(Passed {
            dt_s: PERIOD.s() * periods.min(PERIODS_MAX) as f64,
            paused: periods > PERIODS_MAX,
        })
    }
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
        let caps = handle.caps();
        let opened = twin.as_ref().is_some_and(|twin| twin.strokes().is_some());
        let strokes = Way::new(opened, [config.link.forward, config.link.back], seed);
        Ok(Self {
            strokes: strokes.map_err(|error| wrong_link(&error))?,
            handle,
            robot,
            master: palpate_master::State::new(twin, &caps, parties(seed, Side::Master)),
            slave: palpate_slave::State::new(parties(seed, Side::Slave)),
            forward: link(config.link.forward, forward_seed)?,
            back: link(config.link.back, back_seed)?,
            to_slave: Mailbox::default(),
            to_master: Mailbox::default(),
            coupling: config.coupling_in_use(),
            codecs: SIDES.map(|side| ends(config, side)),
            watches: SIDES.map(|side| Watch::new(&config.codec, side, &config.coupling, 2 * room)),
            runs: 0,
            changes_done: 0,
            tick: 0,
            hash: Xxh3::new(),
            absences: SIDES.map(|_| Absence::default()),
            rearm: [false; 2],
            masked: false,
            made: [HapticFrame::default(); 2],
            healthy: [true; 2],
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
        &self.master
    }

    /// What the network did so far: from master to slave, from slave to master.
    #[must_use]
    pub fn link_stats(&self) -> [LinkStats; 2] {
        [*self.forward.stats(), *self.back.stats()]
    }

    /// Tick in which each frame from the master and from the slave was sent, by its number less one;
    /// empty if every tick sends one.
    #[must_use]
    pub fn sent_ticks(&self) -> [&[u64]; 2] {
        [0, 1].map(|index| self.watches[index].sent_ticks())
    }

    /// How well the slave and the master were shown what the other side knew, if a codec is on.
    #[must_use]
    pub fn reconstruction(&self) -> [Option<Reconstruction>; 2] {
        [0, 1].map(|index| self.watches[index].reconstruction())
    }

    /// Hash of all port traces so far: positions and forces of both ports, bit by bit, and what instruments have
    /// made of both tissues.
    #[must_use]
    pub fn trace_hash(&self) -> String {
        let mut hash = self.hash.clone();
        for absence in &self.absences {
            absorb_topology(&mut hash, &absence.last);
        }
        format!("{:016x}", hash.digest())
    }

    /// Strokes of the master's twin, since it was whole.
    #[must_use]
    pub fn strokes_made(&self) -> u64 {
        self.master.known()
    }

    /// A stroke of it, by its number from 1.
    #[must_use]
    pub fn stroke(&self, number: u64) -> Option<Stroke> {
        self.master.stroke(number)
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
                let caps = self.handle.caps();
                self.master =
                    palpate_master::State::new(predictor_of(&self.config)?, &caps, parties);
                self.to_master = Mailbox::default();
                self.codecs[0] = ends(&self.config, side);
            }
            Side::Slave => {
                self.slave = palpate_slave::State::new(parties);
                self.to_slave = Mailbox::default();
                self.codecs[1] = ends(&self.config, side);
            }
        }
        Ok(())
    }

    /// Let a side miss its next `ticks` ticks; its handle lets go of its force, or its drive brakes, after
    /// their time. Meanwhile [`Self::step`] gives its last record again.
    pub fn pause(&mut self, side: Side, ticks: u64) {
        self.absences[usize::from(side == Side::Slave)].left = ticks;
    }

    /// Hold a side for its next `ticks` ticks, as its operator's clutch or a CRTK `pause` and `resume` do:
    /// the master counts as one whose operator is not there, the slave stands.
    pub fn hold(&mut self, side: Side, ticks: u64) {
        self.absences[usize::from(side == Side::Slave)].held = ticks;
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
        while let Some(mut frame) = self.back.pop_due(now) {
            spoil(&mut frame);
            self.to_master.put(frame, now);
        }
        while let Some(mut frame) = self.forward.pop_due(now) {
            spoil(&mut frame);
            self.to_slave.put(frame, remote_now);
        }
        self.strokes.arrive(now);
        let master = match self.absences[0].pass() {
            Some(passed) => self.step_master(now, &passed),
            None => self.absences[0].last,
        };
        let slave = match self.absences[1].pass() {
            Some(passed) => self.step_slave(now, remote_now, &passed),
            None => self.absences[1].last,
        };
        (self.absences[0].last, self.absences[1].last) = (master, slave);
        self.tick += 1;
        for record in [&master, &slave] {
            self.absorb(&record.port_position_m);
            self.absorb(&record.port_force_n);
        }
        Lockstep { master, slave }
    }

    fn step_master(&mut self, now: Time, passed: &Passed) -> TickRecord {
        self.strokes.tell(&mut self.master);
        let frame = self.codecs[0].decode(self.to_master.newest, now);
        self.watches[1].shown(frame, now, PERIOD);
        let mut reading = self.handle.read(now);
        reading.present &= !self.absences[0].holds();
        let inputs = palpate_master::Inputs {
            tick: self.tick,
            now,
            dt_s: passed.dt_s,
            paused: passed.paused,
            masked: self.masked || self.is_masked(),
            reading,
            frame,
            rearm: self.rearm[0],
        };
        let config = &self.config;
        let mut out =
            palpate_master::tick(&config.master, &self.coupling, &mut self.master, &inputs);
        given::note_master(&mut out.record, &inputs);
        (self.made[0], self.healthy[0]) = (out.frame, reading.is_plausible());
        self.handle.write(&out.force_on_hand_n);
        let sent = self.codecs[0].encode(&out.frame, self.master.inbox().newest());
        self.watches[0].made(&out.frame, &self.codecs[0], sent.as_ref());
        if let Some(frame) = sent {
            self.forward.push(now, WIRE_BYTES, frame);
        }
        self.strokes.send(&self.master, now);
        out.record
    }

    fn step_slave(&mut self, now: Time, remote_now: Time, passed: &Passed) -> TickRecord {
        let frame = self.codecs[1].decode(self.to_slave.newest, remote_now);
        self.watches[0].shown(frame, remote_now, PERIOD);
        let times = (now, remote_now);
        let refused = self
            .strokes
            .pass(self.slave.inbox(), self.robot.as_mut(), times);
        let inputs = palpate_slave::Inputs {
            tick: self.tick,
            now: remote_now,
            dt_s: passed.dt_s,
            reading: self.robot.read(now),
            frame,
            halt: passed.paused || self.absences[1].holds(),
            rearm: self.rearm[1],
        };
        let config = &self.config;
        let mut out = palpate_slave::tick(&config.slave, &self.coupling, &mut self.slave, &inputs);
        given::note_slave(&mut out.record, &inputs, refused);
        let (place_m, speed_mps) = (&inputs.reading.position_m, &inputs.reading.velocity_mps);
        (self.made[1], self.healthy[1]) = (out.frame, is_plausible(place_m, speed_mps));
        self.robot.write(&out.force_n, out.closed);
        let sent = self.codecs[1].encode(&out.frame, self.slave.inbox().newest());
        self.watches[1].made(&out.frame, &self.codecs[1], sent.as_ref());
        if let Some(frame) = sent {
            self.back.push(now, WIRE_BYTES, frame);
        }
        out.record
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
                (&mut self.forward, change.forward),
                (&mut self.back, change.back),
            ] {
                let _ = params.map(|params| queue.set_params(params));
            }
            self.strokes.change([change.forward, change.back]);
            self.changes_done += 1;
        }
    }

    fn absorb(&mut self, axes: &Axes) {
        for number in axes {
            self.hash.update(&number.to_bits().to_le_bytes());
        }
    }
}

fn wrong_link(error: &LinkError) -> ConfigError {
    ConfigError::Field {
        message: error.to_string(),
    }
}

/// Keeps the newest frame of a sender's newest run, as the live mailbox and its gate do.
#[derive(Default)]
struct Mailbox {
    order: Succession,
    newest: Option<(HapticFrame, Time)>,
}

impl Mailbox {
    fn put(&mut self, frame: HapticFrame, received: Time) {
        let order = self.order.judge(&frame);
        if matches!(order, Order::First | Order::Next | Order::Restarted) {
            self.order.advance(&frame);
            self.newest = Some((frame, received));
        }
    }
}

/// Both sides, in the order in which a session keeps what it has of each.
const SIDES: [Side; 2] = [Side::Master, Side::Slave];

/// A codec's ends at one side that begins.
fn ends(config: &Config, side: Side) -> Ends {
    Ends::new(&config.codec, side, &config.coupling, PERIOD)
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
