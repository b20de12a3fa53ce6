//! A whole session in virtual time: master, link, slave, twin, hand and tissue in lock step.
//!
//! It uses the tick functions and the plants of the live processes. Its time is a number of ticks, and seeded link
//! models take the place of the network. Bit-exact for the same configuration and seed.

mod clocked;
mod liar;
mod reconstruction;
mod scene;
mod virtual_side;

use std::sync::Arc;

use palpate_fem::ComplianceTable;
use palpate_master::device::Handle;
use palpate_master::predict::TwinPredictor;
use palpate_port::inbox::RunIds;
use palpate_scene::{MorphSteps, Scene, SceneError};
use palpate_slave::robot::{self, Environment, FreeSpace, Robot, ViscoelasticWall};
use palpate_transport::cdr::HAPTIC_FRAME_BYTES;
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::CouplingParams;
use palpate_transport::link::{LinkError, LinkQueue, LinkStats};
use palpate_transport::trace::{Side, TickRecord};
use palpate_transport::{EditBatch, HapticFrame, Span, Time};
use xxhash_rust::xxh3::Xxh3;

use crate::config::{Config, ConfigError, LinkConfig};
use crate::edits::master_batch;
use crate::edits::virtual_stream::VirtualEditStream;
use crate::environment::TissueEnvironment;
use crate::netlab;
use crate::pipeline::TickInputs;
use crate::pipeline::hash::TraceHash;
use crate::table_cache;

use liar::Liar;
pub use reconstruction::Reconstruction;
pub(crate) use reconstruction::ReconstructionMeter;
use scene::wrong_scene;
pub use scene::{
    contact_m, list_folder, load_scene, read_scene, scene_notes, scene_text, scene_with_tool,
};
use virtual_side::{Stall, VirtualSide};

/// Size of a frame on the wire, with the headers of CDR, zenoh and UDP/IP \[bytes\].
pub const WIRE_BYTES: usize = HAPTIC_FRAME_BYTES + 60;

/// Room in the queue of one direction, beside that for its delay.
const WIRE_FRAMES: usize = 4096;

/// Queue length of a direction: room for a frame per tick of the longest delay, doubled for duplicates.
fn wire_frames(config: &Config) -> usize {
    let LinkConfig {
        forward,
        back,
        change,
    } = &config.link;
    let changed = change.iter().flat_map(|of| [of.forward, of.back]).flatten();
    let links = [*forward, *back].into_iter().chain(changed);
    let longest_ms = links
        .map(|link| link.oneway_ms + link.jitter_ms)
        .fold(0.0, f64::max);
    WIRE_FRAMES + 2 * longest_ms.ceil() as usize
}

/// Both sides and the network between them, in one process and one time.
pub struct VirtualSession {
    config: Config,
    master: VirtualSide<palpate_master::MasterState>,
    slave: VirtualSide<palpate_slave::SlaveState>,
    /// Edit batches on the wire.
    edit_stream: VirtualEditStream,
    coupling: CouplingParams,
    /// Number of restarts of either side.
    restarts: u64,
    /// Number of link changes made.
    changes_done: usize,
    tick: u64,
    hash: TraceHash,
    /// True if the next tick is too late to step the twin.
    deadline_fallback: bool,
    injected_fault: Option<fn(&mut HapticFrame)>,
    /// Forgers of the master's and of the slave's frames.
    liars: [Liar; 2],
}

/// The two records of one tick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TickRecords {
    /// The operator's side.
    pub master: TickRecord,
    /// The remote side.
    pub slave: TickRecord,
}

impl VirtualSession {
    /// Returns a session at rest, with the simulated devices of the configuration.
    ///
    /// # Errors
    /// [`ConfigError`] if a field is out of its range or a scene does not exist.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let (operator, duration_s) = (&config.operator, config.duration_s);
        let handle = palpate_master::device::build(operator, duration_s, config.seed);
        Self::with_devices(config, handle, build_robot(config)?)
    }

    /// Returns a session at rest, with other devices.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_devices(
        config: &Config,
        handle: Box<dyn Handle>,
        robot: Box<dyn Robot>,
    ) -> Result<Self, ConfigError> {
        Self::with_twin(config, handle, robot, virtual_time_predictor(config)?)
    }

    /// Returns a session at rest, with other devices and another twin.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_twin(
        config: &Config,
        handle: Box<dyn Handle>,
        robot: Box<dyn Robot>,
        twin: Option<TwinPredictor>,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let seed = config.seed;
        let room = wire_frames(config);
        let [forward_seed, back_seed] = netlab::direction_seeds(seed);
        let link =
            |params, seed| LinkQueue::new(params, seed, room).map_err(|error| wrong_link(&error));
        let forward = link(config.link.forward, forward_seed)?;
        let back = link(config.link.back, back_seed)?;
        let editable = twin.as_ref().is_some_and(|twin| twin.edits().is_some());
        let edit_stream =
            VirtualEditStream::new(editable, [config.link.forward, config.link.back], seed);
        let master =
            palpate_master::MasterState::new(twin, &handle.caps(), run_ids(seed, Side::Master));
        let slave =
            palpate_slave::SlaveState::new(config.robot.mass_kg(), run_ids(seed, Side::Slave));
        Ok(Self {
            edit_stream: edit_stream.map_err(|error| wrong_link(&error))?,
            master: VirtualSide::new(config, master, handle, forward, 2 * room),
            slave: VirtualSide::new(config, slave, robot, back, 2 * room),
            coupling: config.coupling_in_use(),
            restarts: 0,
            changes_done: 0,
            tick: 0,
            hash: TraceHash::default(),
            deadline_fallback: false,
            injected_fault: None,
            liars: config
                .liar
                .shares()
                .map(|(side, share)| Liar::new(share, seed, side)),
            config: config.clone(),
        })
    }

    /// Number of ticks of the whole session.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        (self.config.duration_s / PERIOD.s()).round() as u64
    }

    /// State of the operator's side, for access to the twin.
    #[must_use]
    pub fn master(&self) -> &palpate_master::MasterState {
        &self.master.side.state
    }

    /// Link statistics so far: from master to slave, from slave to master.
    #[must_use]
    pub fn link_stats(&self) -> [LinkStats; 2] {
        [*self.master.link.stats(), *self.slave.link.stats()]
    }

    /// Tick in which each frame from the master and from the slave was sent, indexed by its number less one;
    /// empty if every tick sends one.
    #[must_use]
    pub fn sent_ticks(&self) -> [&[u64]; 2] {
        [
            self.master.reconstruction_meter.sent_ticks(),
            self.slave.reconstruction_meter.sent_ticks(),
        ]
    }

    /// Reconstruction error at the slave and at the master, if a codec is on.
    #[must_use]
    pub fn reconstruction(&self) -> [Option<Reconstruction>; 2] {
        [
            &self.master.reconstruction_meter,
            &self.slave.reconstruction_meter,
        ]
        .map(ReconstructionMeter::reconstruction)
    }

    /// Hash of all port traces so far: positions and forces of both ports, bit by bit, and the topologies of both
    /// tissues.
    #[must_use]
    pub fn trace_hash(&self) -> String {
        self.hash.text()
    }

    /// Edit batch of the master's twin, by its number from 1.
    #[must_use]
    pub fn edit_batch(&self, number: u64) -> Option<EditBatch> {
        master_batch(self.master(), number)
    }

    /// Restarts a side like a process that was killed and started again. It loses all state, also
    /// what it had received; its device and what is on the wire remain.
    ///
    /// # Errors
    /// [`ConfigError`] if the twin's scene no longer exists.
    pub fn restart(&mut self, side: Side) -> Result<(), ConfigError> {
        self.restarts += 1;
        let RunIds { own, .. } = run_ids(self.config.seed, side);
        let run_ids = RunIds {
            own: own.wrapping_add(self.restarts << 8).max(1),
            peer: 0,
        };
        self.edit_stream.restart(side);
        match side {
            Side::Master => {
                let twin = virtual_time_predictor(&self.config)?;
                let caps = self.master.device.caps();
                let state = palpate_master::MasterState::new(twin, &caps, run_ids);
                self.master.restart(&self.config, state);
                self.slave.mailbox.sender_restarts += 1;
            }
            Side::Slave => {
                let state = palpate_slave::SlaveState::new(self.config.robot.mass_kg(), run_ids);
                self.slave.restart(&self.config, state);
                self.master.mailbox.sender_restarts += 1;
            }
        }
        Ok(())
    }

    /// Makes a side miss its next `ticks` ticks. Its handle releases its force, or its drive brakes, after
    /// their timeout. Meanwhile [`Self::step`] returns its last record again.
    pub fn miss_ticks(&mut self, side: Side, ticks: u64) {
        self.stall_mut(side).ticks_remaining = ticks;
    }

    fn stall_mut(&mut self, side: Side) -> &mut Stall {
        match side {
            Side::Master => &mut self.master.stall,
            Side::Slave => &mut self.slave.stall,
        }
    }

    /// Halts a side for its next `ticks` ticks, like the operator's clutch or a CRTK `pause` and `resume`:
    /// the master counts as one without an operator, the slave stands still.
    pub fn halt_ticks(&mut self, side: Side, ticks: u64) {
        self.stall_mut(side).halt_ticks_remaining = ticks;
    }

    /// Applies `fault` to every frame received from now on, for tests that must detect a fault.
    pub fn inject_fault(&mut self, fault: fn(&mut HapticFrame)) {
        self.injected_fault = Some(fault);
    }

    /// Steps both sides by one tick.
    pub fn step(&mut self) -> TickRecords {
        let now = Time(PERIOD.0 * self.tick as i64);
        let remote_now = self.remote_clock(now);
        self.change_link(now);
        // the newest due frame wins, as in the live mailbox
        let fault = self.injected_fault.unwrap_or(|_| ());
        let [of_master, of_slave] = &mut self.liars;
        while let Some(mut frame) = self.slave.link.pop_due(now) {
            fault(&mut frame);
            of_slave.observe(&frame);
            self.master.mailbox.put(frame, now);
        }
        while let Some(mut frame) = self.master.link.pop_due(now) {
            fault(&mut frame);
            of_master.observe(&frame);
            self.slave.mailbox.put(frame, remote_now);
        }
        for (liar, mailbox, received) in [
            (of_master, &mut self.slave.mailbox, remote_now),
            (of_slave, &mut self.master.mailbox, now),
        ] {
            if let Some(frame) = liar.forge(&self.coupling) {
                mailbox.put(frame, received);
            }
        }
        self.edit_stream.deliver_due(now);
        let inputs = TickInputs {
            deadline_fallback: self.deadline_fallback || self.is_fallback_tick(),
            ..TickInputs::at_tick(self.tick)
        };
        self.step_master(&inputs);
        self.step_slave(&TickInputs {
            now: remote_now,
            ..inputs
        });
        self.tick += 1;
        let (master, slave) = (self.master.outputs.record, self.slave.outputs.record);
        self.hash.absorb(Side::Master, &master);
        self.hash.absorb(Side::Slave, &slave);
        TickRecords { master, slave }
    }

    fn step_master(&mut self, inputs: &TickInputs) {
        let Some(inputs) = self.master.begin_tick(inputs) else {
            return;
        };
        self.edit_stream.update_master(&mut self.master.side.state);
        let from = &mut self.slave.reconstruction_meter;
        self.master.tick(&inputs, &self.coupling, from);
        self.edit_stream
            .send_from_master(&self.master.side.state, inputs.now);
    }

    fn step_slave(&mut self, inputs: &TickInputs) {
        let Some(mut inputs) = self.slave.begin_tick(inputs) else {
            return;
        };
        let slave = &mut self.slave;
        let robot = slave.device.as_mut();
        inputs.edit_refused =
            self.edit_stream
                .update_slave(slave.side.state.inbox(), robot, &inputs);
        slave.tick(
            &inputs,
            &self.coupling,
            &mut self.master.reconstruction_meter,
        );
    }

    /// True if this tick is drawn as too late to step the twin.
    fn is_fallback_tick(&self) -> bool {
        let mut hash = Xxh3::with_seed(self.config.seed);
        hash.update(b"masked");
        hash.update(&self.tick.to_le_bytes());
        let share = (hash.digest() >> 11) as f64 / (1_u64 << 53) as f64;
        share < self.config.realtime.fallback_share
    }

    /// Reading of the slave's clock at `now`.
    fn remote_clock(&self, now: Time) -> Time {
        let clock = &self.config.clock;
        let skew = (now.0 as f64 * clock.skew_ppm * 1e-6) as i64;
        let stepped = (now - Time(0)).s() >= clock.step_at_s;
        let step_ms = if stepped { clock.step_ms } else { 0.0 };
        Time(now.0 + skew) + Span::from_ms(clock.offset_ms + step_ms)
    }

    fn change_link(&mut self, now: Time) {
        while let Some(change) = self.config.link.change.get(self.changes_done) {
            if (now - Time(0)).s() < change.at_s {
                return;
            }
            // the configuration was validated as a whole, so neither change can be refused here
            for (queue, params) in [
                (&mut self.master.link, change.forward),
                (&mut self.slave.link, change.back),
            ] {
                let _ = params.map(|params| queue.set_params(params));
            }
            self.edit_stream
                .set_link_params([change.forward, change.back]);
            self.changes_done += 1;
        }
    }
}

fn wrong_link(error: &LinkError) -> ConfigError {
    ConfigError::Field(error.to_string())
}

/// Run ids of both sides of a session in virtual time, which are known to each other from the start.
#[must_use]
pub fn run_ids(seed: u64, side: Side) -> RunIds {
    let run = |side: Side| {
        let mut hash = Xxh3::with_seed(seed);
        hash.update(side.name().as_bytes());
        hash.digest().max(1)
    };
    RunIds {
        own: run(side),
        peer: run(side.other()),
    }
}

/// Predictor of a session in virtual time; with a compliance table if some ticks use the deadline fallback.
///
/// # Errors
/// As [`predictor`].
pub fn virtual_time_predictor(config: &Config) -> Result<Option<TwinPredictor>, ConfigError> {
    if config.realtime.fallback_share == 0.0 || !config.coupling.needs_twin() {
        return predictor(config, None);
    }
    let scene = scene_with_tool(config, &config.twin, "twin")?;
    let table = table_cache::cached_or_condensed(&scene)
        .map_err(|error| wrong_scene("twin", &config.twin, &error))?;
    predictor(config, table.as_ref())
}

/// Predictor of the twin and its shadow, if a mode or an instrument needs one; `table` gives the force of late
/// ticks, which is extrapolated without it.
///
/// # Errors
/// [`ConfigError`] if the scene does not exist or is invalid.
pub fn predictor(
    config: &Config,
    table: Option<&Arc<ComplianceTable>>,
) -> Result<Option<TwinPredictor>, ConfigError> {
    if !config.coupling.needs_twin() && !config.operator.uses_instruments() {
        return Ok(None);
    }
    let scene = scene_with_tool(config, &config.twin, "twin")?;
    let wrong = |error: SceneError| wrong_scene("twin", &config.twin, &error);
    let with_table = table.map(|table| scene.build_with_table(table));
    let twin = with_table.unwrap_or_else(|| scene.build()).map_err(wrong)?;
    scene::check_tool_shape(config, "twin", &config.twin, twin.as_ref())?;
    // the shadow never uses the deadline fallback, so it needs no table
    let shadow = scene.build().map_err(wrong)?;
    let predictor = TwinPredictor::new(twin, shadow);
    Ok(Some(match &config.morph_to {
        Some(name) => predictor.with_morph(scene_morph(&scene, name)?),
        None => predictor,
    }))
}

/// Morph of a twin from its scene to another.
fn scene_morph(twin: &Scene, target: &str) -> Result<MorphSteps, ConfigError> {
    if twin.method() != "fem" {
        let (name, method) = (&twin.name, twin.method());
        let why = format!("the twin `{name}` uses method `{method}`; only a `fem` twin can change");
        return Err(wrong_scene("morph_to", target, &why));
    }
    let target_scene = load_scene(target, "morph_to")?;
    MorphSteps::between(twin, &target_scene)
        .map_err(|error| wrong_scene("morph_to", target, &error))
}

/// The simulated robot with the remote tissue at its probe.
///
/// # Errors
/// [`ConfigError`] if the scene does not exist or is invalid.
pub fn build_robot(config: &Config) -> Result<Box<dyn Robot>, ConfigError> {
    let environment = build_environment(config)?;
    Ok(robot::build(&config.robot, environment, config.seed))
}

/// Environment of the remote side: a tissue, a wall or free space.
///
/// # Errors
/// [`ConfigError`] if the scene does not exist or is invalid.
pub fn build_environment(config: &Config) -> Result<Box<dyn Environment>, ConfigError> {
    let name = config.tissue.as_str();
    if name == "free" {
        return Ok(Box::new(FreeSpace));
    }
    if let Some(stiffness) = name.strip_prefix("wall:") {
        let stiffness_npm = stiffness.parse().ok().filter(|k| (0.0..=1e6).contains(k));
        let wrong = || format!("tissue is {name}; expected wall:K with K from 0 to 1000000 N/m");
        let stiffness_npm = stiffness_npm.ok_or_else(|| ConfigError::Field(wrong()))?;
        let mut wall = ViscoelasticWall::rp1(stiffness_npm);
        wall.z_m += config.tissue_height_m;
        return Ok(Box::new(wall));
    }
    let tissue = scene_with_tool(config, name, "tissue")?.build();
    let tissue = tissue.map_err(|error| wrong_scene("tissue", name, &error))?;
    scene::check_tool_shape(config, "tissue", name, tissue.as_ref())?;
    let (predict, height_m) = (&config.master.predict, config.tissue_height_m);
    Ok(Box::new(TissueEnvironment::new(tissue, predict, height_m)))
}
