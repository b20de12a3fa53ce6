//! The operator's side alone, in virtual time: handle, hand, twin and guard, without a slave and without a network.
//!
//! Source: ours. The tick, the handle and the guard are those of every session; nothing ever comes from the other
//! side, and nobody takes what is sent.

use palpate_analysis::still::operated::{Held, Operated};
use palpate_geometry::mesh::surface::Surface;
use palpate_master::device::Handle;
use palpate_master::predict::Predictor;
use palpate_master::predict::strokes::Strokes;
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab;
use palpate_session::pipeline::hash::TraceHash;
use palpate_session::pipeline::{At, MasterSide};
use palpate_session::run::paced::{Beat, Paced};
use palpate_session::run::servo::Ticked;
use palpate_session::strokes::Keeper as _;
use palpate_transport::Stroke;
use palpate_transport::clock::PERIOD;
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::link::LinkParams;
use palpate_transport::msg::crtk::OperatingState;
use palpate_transport::trace::{Events, Side, TickRecord};
use palpate_twin::Tissue;

/// The operator's side.
pub struct Solo {
    config: Config,
    handle: Box<dyn Handle>,
    side: MasterSide,
    tick: u64,
    hash: TraceHash,
    /// The last tick in which an instrument worked.
    worked: Option<TickRecord>,
}

/// What a session becomes without another side: the hand feels its twin, which is also the truth, at once.
pub fn alone(config: &mut Config) {
    config.coupling.mode = Mode::Mmt;
    config.coupling.switch = Default::default();
    // no slave has a tank to be filled by the hand
    config.coupling.tank_target_j = 0.0;
    config.codec = Default::default();
    config.link = palpate_session::config::LinkConfig {
        forward: LinkParams::default(),
        back: LinkParams::default(),
        change: Vec::new(),
    };
    config.tissue.clone_from(&config.twin);
    config.towards = None;
}

impl Solo {
    /// At rest, with the simulated devices of the configuration.
    ///
    /// # Errors
    /// [`ConfigError`] if a field is out of its range or a scene does not exist.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let handle =
            palpate_master::device::build(&config.operator, config.duration_s, config.seed);
        Self::with_handle(config, handle)
    }

    /// At rest, with another handle.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_handle(config: &Config, handle: Box<dyn Handle>) -> Result<Self, ConfigError> {
        config.validate()?;
        let parties = lab::parties(config.seed, Side::Master);
        let twin = lab::predictor_of(config)?.map(Predictor::alone);
        let state = palpate_master::State::new(twin, &handle.caps(), parties);
        Ok(Self {
            side: MasterSide::new(config, state),
            handle,
            config: config.clone(),
            tick: 0,
            hash: TraceHash::default(),
            worked: None,
        })
    }

    /// Number of ticks of the whole session.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        (self.config.duration_s / PERIOD.s()).round() as u64
    }

    /// The tissue at the handle.
    #[must_use]
    pub fn twin(&self) -> Option<&dyn Tissue> {
        self.side.state.predictor().map(Predictor::twin)
    }

    /// The tissue's surface as it lies; without faces if there is none.
    #[must_use]
    pub fn surface(&self) -> Surface {
        let lying = |twin: &dyn Tissue| {
            let view = twin.view();
            Surface::compact(view.positions_m, view.faces)
        };
        self.twin().map_or(Surface::default(), lying)
    }

    /// The tissue as it lies, with the instrument where it worked last; none if none did.
    fn operated(&self) -> Option<Operated> {
        let (twin, worked) = (self.twin()?, self.worked?);
        let held = Held::of(&worked, self.config.master.predict.tool_radius_m);
        let at_s = worked.tick as f64 * PERIOD.s();
        Some(Operated::of(&twin.view(), held, at_s))
    }

    /// What instruments did, by its number from 1.
    #[must_use]
    pub fn stroke(&self, number: u64) -> Option<Stroke> {
        self.side.state.stroke(number)
    }

    /// Links that instruments have cut, less those made.
    #[must_use]
    pub fn links_cut(&self) -> Option<i64> {
        let strokes = self.side.state.predictor().and_then(Predictor::strokes);
        strokes.map(Strokes::links_cut)
    }

    /// Hash of the handle's positions and forces so far, bit by bit, and of how the tissue is linked now.
    #[must_use]
    pub fn trace_hash(&self) -> String {
        self.hash.text()
    }

    /// Advances by one tick.
    pub fn step(&mut self) -> TickRecord {
        self.advance(&Beat::default()).shown.record
    }

    fn advance(&mut self, beat: &Beat) -> Ticked {
        let at = At {
            masked: beat.masked,
            halt: beat.halt[0],
            rearm: beat.rearm[0],
            ..At::of_tick(self.tick)
        };
        let coupling = &self.config.coupling;
        let made = self.side.tick(&at, coupling, self.handle.as_mut());
        self.tick += 1;
        self.hash.absorb(Side::Master, &made.record);
        if made.record.instrument != 0 {
            self.worked = Some(made.record);
        }
        Ticked::of(&made, coupling)
    }
}

/// The tissue at the handle as it lies when a session has ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lying {
    /// Its surface, if it is kept.
    pub surface: Option<Surface>,
    /// Hash of the handle's trace and of how the tissue is linked, if it is known.
    pub trace_hash: Option<String>,
    /// The same with the instrument where it worked last, if one did.
    pub operated: Option<Operated>,
}

impl Paced for Solo {
    type Lying = Lying;

    fn beat(&mut self, beat: &Beat) -> (Ticked, Option<Ticked>) {
        let mut ticked = self.advance(beat);
        let record = &mut ticked.shown.record;
        if record.events & Events::STALE != 0 {
            // there is nobody whose frames could be missed
            record.events &= !Events::STALE;
            if record.state == OperatingState::Paused as u8 {
                record.state = OperatingState::Enabled as u8;
            }
        }
        (ticked, None)
    }

    fn twin(&self) -> Option<&dyn Tissue> {
        Self::twin(self)
    }

    fn stroke(&self, number: u64) -> Option<Stroke> {
        Self::stroke(self, number)
    }

    fn coupling(&mut self) -> Option<&mut CouplingParams> {
        // nothing is coupled to it
        None
    }

    fn lying(&self) -> Lying {
        Lying {
            surface: Some(self.surface()),
            trace_hash: Some(self.trace_hash()),
            operated: self.operated(),
        }
    }
}
