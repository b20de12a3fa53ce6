//! Session of the operator's side alone, in virtual time: handle, hand, twin and guard, without a slave or a network.
//!
//! Source: ours. The tick, the handle and the guard are those of every session; no frames arrive, and sent ones are
//! discarded.

use palpate_analysis::render::instrument::{InstrumentPose, OperatedTissue};
use palpate_geometry::mesh::MixedMesh;
use palpate_master::device::Handle;
use palpate_master::predict::TwinPredictor;
use palpate_session::config::{Config, ConfigError};
use palpate_session::edits::master_batch;
use palpate_session::lab;
use palpate_session::pipeline::hash::TraceHash;
use palpate_session::pipeline::{MasterPipeline, TickInputs};
use palpate_session::run::clocked::{ClockedSession, TickCommands};
use palpate_session::run::servo::ServoOutputs;
use palpate_transport::EditBatch;
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::link::LinkParams;
use palpate_transport::msg::crtk::OperatingState;
use palpate_transport::trace::{EventFlags, Side, TickRecord};
use palpate_twin::Tissue;
use palpate_twin::edits::{EditBatchLog, LinkCounts};

/// The operator's side.
pub struct SoloSession {
    config: Config,
    handle: Box<dyn Handle>,
    side: MasterPipeline,
    tick: u64,
    hash: TraceHash,
    /// The last tick in which an instrument worked.
    last_instrument_tick: Option<TickRecord>,
}

/// Configures a session without another side: the hand feels its twin, which is also the truth, without delay.
pub fn make_solo(config: &mut Config) {
    config.coupling.mode = Mode::Mmt;
    config.coupling.switch = Default::default();
    // no slave has an energy tank to be filled by the hand
    config.coupling.tank_target_j = 0.0;
    config.codec = Default::default();
    config.link = palpate_session::config::LinkConfig {
        forward: LinkParams::default(),
        back: LinkParams::default(),
        change: Vec::new(),
    };
    config.tissue.clone_from(&config.twin);
    config.morph_to = None;
}

impl SoloSession {
    /// Returns a session at rest, with the simulated devices of the configuration.
    ///
    /// # Errors
    /// [`ConfigError`] if a field is out of its range or a scene does not exist.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let handle =
            palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        Self::with_handle(config, handle)
    }

    /// Returns a session at rest, with another handle.
    ///
    /// # Errors
    /// Errors of [`Self::new`].
    pub fn with_handle(config: &Config, handle: Box<dyn Handle>) -> Result<Self, ConfigError> {
        config.validate()?;
        let ids = lab::run_ids(config.seed, Side::Master);
        let twin = lab::virtual_time_predictor(config)?.map(TwinPredictor::without_remote_tissue);
        let state = palpate_master::MasterState::new(twin, &handle.caps(), ids);
        Ok(Self {
            side: MasterPipeline::new(config, state),
            handle,
            config: config.clone(),
            tick: 0,
            hash: TraceHash::default(),
            last_instrument_tick: None,
        })
    }

    /// Number of ticks of the whole session.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        (self.config.duration_s / PERIOD.s()).round() as u64
    }

    /// Returns the tissue at the handle.
    #[must_use]
    pub fn twin(&self) -> Option<&dyn Tissue> {
        self.side.state.predictor().map(TwinPredictor::twin)
    }

    /// Returns the tissue's present surface; without faces if there is none.
    #[must_use]
    pub fn surface(&self) -> MixedMesh {
        let surface = |twin: &dyn Tissue| {
            let view = twin.view();
            MixedMesh::compact(view.positions_m, view.faces)
        };
        self.twin().map_or(MixedMesh::default(), surface)
    }

    /// Returns the present tissue with the instrument at its last place of work; None if none worked.
    fn operated(&self) -> Option<OperatedTissue> {
        let (twin, record) = (self.twin()?, self.last_instrument_tick?);
        let pose = InstrumentPose::of(&record, self.config.master.predict.tool_radius_m);
        let at_s = record.tick as f64 * PERIOD.s();
        Some(OperatedTissue::of(&twin.view(), pose, at_s))
    }

    /// Returns the links that instruments have cut, and joined.
    #[must_use]
    pub(crate) fn links(&self) -> Option<LinkCounts> {
        self.side.state.edits().map(EditBatchLog::links)
    }

    /// Hash of the handle's positions and forces so far, bit by bit, and of the present topology of the tissue.
    #[must_use]
    pub fn trace_hash(&self) -> String {
        self.hash.text()
    }

    /// Advances by one tick.
    pub fn step(&mut self) -> TickRecord {
        self.advance(&TickCommands::default()).snapshot.record
    }

    fn advance(&mut self, commands: &TickCommands) -> ServoOutputs {
        let inputs = TickInputs {
            deadline_fallback: commands.deadline_fallback,
            halt: commands.halt[0],
            rearm: commands.rearm[0],
            ..TickInputs::at_tick(self.tick)
        };
        let coupling = &self.config.coupling;
        let outputs = self.side.tick(&inputs, coupling, self.handle.as_mut());
        self.tick += 1;
        self.hash.absorb(Side::Master, &outputs.record);
        if outputs.record.instrument != 0 {
            self.last_instrument_tick = Some(outputs.record);
        }
        ServoOutputs::from_tick(&outputs, coupling)
    }
}

/// Tissue at the handle at the end of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FinalTissue {
    /// Its surface, if stored.
    pub surface: Option<MixedMesh>,
    /// Hash of the handle's trace and of the topology of the tissue, if known.
    pub trace_hash: Option<String>,
    /// The tissue with the instrument at its last place of work, if one worked.
    pub operated: Option<OperatedTissue>,
}

impl ClockedSession for SoloSession {
    type FinalState = FinalTissue;

    fn tick(&mut self, commands: &TickCommands) -> (ServoOutputs, Option<ServoOutputs>) {
        let mut outputs = self.advance(commands);
        let record = &mut outputs.snapshot.record;
        if record.events & EventFlags::STALE != 0 {
            // no other side exists whose frames could be missed
            record.events &= !EventFlags::STALE;
            if record.state == OperatingState::Paused as u8 {
                record.state = OperatingState::Enabled as u8;
            }
        }
        (outputs, None)
    }

    fn twin(&self) -> Option<&dyn Tissue> {
        Self::twin(self)
    }

    fn edit_batch(&self, number: u64) -> Option<EditBatch> {
        master_batch(&self.side.state, number)
    }

    fn coupling(&mut self) -> Option<&mut CouplingParams> {
        // nothing is coupled to it
        None
    }

    fn final_state(&self) -> FinalTissue {
        FinalTissue {
            surface: Some(self.surface()),
            trace_hash: Some(self.trace_hash()),
            operated: self.operated(),
        }
    }
}
