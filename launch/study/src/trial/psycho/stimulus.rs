//! Stimulus of one interval: the quantity that a session in virtual time displays.
//!
//! Source: ours. A hand presses once (twice for a lump) on the base's own tissue, whose forces are
//! multiplied for the second alternative: a tissue (1 + d) times as stiff, without new scenes. The
//! quantity is measured at the handle alone; a delay also uses the remote side's records, and there the
//! handle has a prescribed motion, so that the coupling's own stability does not matter. A line that
//! displays less stiffness and no lag, as a wave line, shows no delay, and rightly so.
//!
//! | kind | less | more | measured quantity |
//! |---|---|---|---|
//! | stiffness | the tissue | (1 + d) times as stiff | stiffness of the press \[N/m\] |
//! | delay | the base's round trip | (1 + d) times as long | time offset of force to motion \[ms\] |
//! | lump | the tissue, twice | (1 + d) times as stiff in the second press | second stiffness over first |

use palpate_analysis::metrics::{Traces, press, signal_offset};
use palpate_master::device::Handle;
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::{self, VirtualSession};
use palpate_session::traced_handle::{OperatorIntent, TraceTracking, TracedHandle};
use palpate_slave::robot::{self, Environment, Probe};
use palpate_transport::Axes;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;
use xxhash_rust::xxh3::Xxh3;

use super::super::file::TrialKind;
use super::PsychoParams;

/// Height above first contact at which a press begins \[m\].
const CLEARANCE_M: f64 = 0.005;

/// Depth of a press, of the intended point below first contact \[m\].
const DEPTH_M: f64 = 0.012;

/// Stiffness of the wall that replaces free space, without another reference \[N/m\].
const REFERENCE_NPM: f64 = 300.0;

/// Round trip of a delay comparison without another reference \[ms\], if the base has no delay.
const REFERENCE_MS: f64 = 50.0;

/// Tissue whose forces are multiplied from a time on.
struct ScaledTissue {
    inner: Box<dyn Environment>,
    factor: f64,
    from_s: f64,
    at_s: f64,
}

impl ScaledTissue {
    fn now(&self) -> f64 {
        match self.at_s >= self.from_s {
            true => self.factor,
            false => 1.0,
        }
    }
}

impl Environment for ScaledTissue {
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes {
        self.at_s += dt_s;
        let force_n = self.inner.step(probe, dt_s);
        let factor = self.now();
        force_n.map(|force| factor * force)
    }

    fn energy_j(&self) -> f64 {
        self.now() * self.inner.energy_j()
    }
}

/// Setup of a repeated comparison.
pub(crate) struct StimulusSetup<'a> {
    config: Config,
    kind: TrialKind,
    params: &'a PsychoParams,
}

impl<'a> StimulusSetup<'a> {
    /// Setup for the sessions of one condition.
    pub(crate) fn new(config: &Config, kind: TrialKind, params: &'a PsychoParams) -> Self {
        let mut config = config.clone();
        let rtt_ms = config.link.forward.oneway_ms + config.link.back.oneway_ms;
        match (kind, params.reference) {
            (TrialKind::Delay, reference) => {
                let reference =
                    reference.unwrap_or(if rtt_ms > 0.0 { rtt_ms } else { REFERENCE_MS });
                for link in [&mut config.link.forward, &mut config.link.back] {
                    link.oneway_ms = 0.5 * reference;
                }
            }
            (_, Some(npm)) => config.tissue = format!("wall:{npm}"),
            _ if config.tissue == "free" => config.tissue = format!("wall:{REFERENCE_NPM}"),
            _ => {}
        }
        Self {
            config,
            kind,
            params,
        }
    }

    /// Measured quantity for a relative difference `d`, 0 for the reference; none if no press could be
    /// measured, as when the line rings or has no contact.
    ///
    /// # Errors
    /// [`ConfigError`] if the session cannot be built.
    pub(crate) fn displayed_quantity(&self, d: f64, seed: u64) -> Result<Option<f64>, ConfigError> {
        let mut config = self.configured(d, seed);
        let presses = if self.kind == TrialKind::Lump { 2 } else { 1 };
        let rtt_s = 1e-3 * (config.link.forward.oneway_ms + config.link.back.oneway_ms);
        // the probe is clear of the tissue in between, so the change does no work
        let rest_s = 0.3 + rtt_s;
        let each_s = self.params.interval_s + rest_s;
        config.duration_s = f64::from(presses) * each_s;
        let trace = self.trace(&config, presses, each_s);
        config.robot.start_m = trace[0].position_m;
        let change_s = if presses == 2 {
            each_s - 0.5 * rest_s
        } else {
            0.0
        };
        let tracking = match self.kind {
            TrialKind::Delay => TraceTracking::Prescribed,
            _ => TraceTracking::Grip(config.operator.grip),
        };
        let handle = TracedHandle::new(trace, tracking, config.operator.force_timeout_s());
        let mut session = self.session(&config, d, change_s, Box::new(handle))?;
        let ticks = session.ticks();
        let (mut master, mut slave) = (Vec::new(), Vec::new());
        for tick in 0..ticks {
            let mut both = session.step();
            both.slave.now_ns = PERIOD.0 * tick as i64;
            master.push(both.master);
            slave.push(both.slave);
        }
        Ok(measured_quantity(self.kind, &master, &slave))
    }

    /// Configuration of an interval for a difference `d` in which a person moves the handle.
    pub(crate) fn person_config(&self, d: f64, seed: u64, interval_s: f64) -> Config {
        let mut config = self.configured(d, seed);
        config.duration_s = interval_s;
        config.robot.start_m = config.operator.script.start_m();
        config
    }

    /// Session of an interval, at a tissue that is stiffer by the difference from a time on \[s\].
    ///
    /// # Errors
    /// [`ConfigError`] if the session cannot be built.
    pub(crate) fn session(
        &self,
        config: &Config,
        d: f64,
        from_s: f64,
        handle: Box<dyn Handle>,
    ) -> Result<VirtualSession, ConfigError> {
        let factor = match self.kind {
            TrialKind::Delay => 1.0,
            _ => 1.0 + d,
        };
        let tissue = ScaledTissue {
            inner: lab::build_environment(config)?,
            factor,
            from_s,
            at_s: 0.0,
        };
        let robot = robot::build(&config.robot, Box::new(tissue), config.seed);
        VirtualSession::with_twin(config, handle, robot, lab::predictor(config, None)?)
    }

    fn configured(&self, d: f64, seed: u64) -> Config {
        let mut config = self.config.clone();
        config.seed = seed;
        if self.kind == TrialKind::Delay {
            for link in [&mut config.link.forward, &mut config.link.back] {
                link.oneway_ms *= 1.0 + d;
            }
        }
        config
    }

    /// Trace of smooth pushes down and up again, one for each press.
    fn trace(&self, config: &Config, presses: u32, each_s: f64) -> Vec<OperatorIntent> {
        let contact_m = lab::contact_m(config);
        let interval_s = self.params.interval_s;
        let ticks = (f64::from(presses) * each_s / PERIOD.s()).ceil() as u32 + 1;
        let intent = |tick: u32| {
            let at_s = f64::from(tick) * PERIOD.s();
            let number = (at_s / each_s).floor().min(f64::from(presses - 1));
            let within = ((at_s - number * each_s) / interval_s).clamp(0.0, 1.0);
            // smooth at both ends, and skewed, so that depth, speed and acceleration are distinguishable
            let skewed = within * within * (3.0 - 2.0 * within) * 0.3 + 0.7 * within;
            let sine = libm::sin(core::f64::consts::PI * skewed);
            let depth_m = (CLEARANCE_M + DEPTH_M) * sine * sine;
            OperatorIntent {
                position_m: [0.0, 0.0, contact_m + CLEARANCE_M - depth_m, 0.02],
                closed: false,
                phase: number as u16 + 1,
                present: true,
                ..OperatorIntent::default()
            }
        };
        (0..ticks).map(intent).collect()
    }
}

/// Quantity from the records of an interval, in the unit of the kind; none if no press could be measured.
pub(crate) fn measured_quantity(
    kind: TrialKind,
    master: &[TickRecord],
    slave: &[TickRecord],
) -> Option<f64> {
    if kind == TrialKind::Delay {
        let traces = Traces { master, slave };
        return Some(signal_offset::of_session(&traces)?.time_s * 1e3);
    }
    let presses = press::presses(master);
    let of_phase = |phase: u16| {
        let of_this_phase = presses.iter().filter(|press| press.phase == phase);
        // the longest contact; a bounce before it is no press
        let longest = of_this_phase.max_by_key(|press| press.end - press.start)?;
        longest.fit.ok().map(|fit| fit.stiffness_npm)
    };
    match kind {
        TrialKind::Lump => Some(of_phase(2)? / of_phase(1)?),
        _ => of_phase(1),
    }
}

/// Seed of an interval of a run: different for every answer and alternative.
pub(crate) fn interval_seed(run_seed: u64, number: u64, more: bool) -> u64 {
    let mut hash = Xxh3::with_seed(run_seed);
    hash.update(b"interval");
    hash.update(&number.to_le_bytes());
    hash.update(&[u8::from(more)]);
    hash.digest() >> 1
}

#[cfg(test)]
mod tests {
    use palpate_transport::coupling::Mode;

    use super::*;

    fn base(rtt_ms: f64) -> Config {
        let mut config = Config {
            tissue: "wall:300".into(),
            ..Config::default()
        };
        config.coupling.mode = Mode::Wave;
        for link in [&mut config.link.forward, &mut config.link.back] {
            (link.oneway_ms, link.jitter_ms, link.loss) = (0.5 * rtt_ms, 0.0, 0.0);
        }
        config
    }

    fn shown(kind: TrialKind, rtt_ms: f64, d: f64) -> f64 {
        let params = PsychoParams::default();
        let mut config = base(rtt_ms);
        if kind == TrialKind::Delay {
            config.coupling.mode = Mode::Direct;
        }
        let setup = StimulusSetup::new(&config, kind, &params);
        let shown = setup.displayed_quantity(d, 3).expect("a session");
        shown.expect("a press")
    }

    #[test]
    fn stiffer_tissue_is_displayed_stiffer_and_less_over_a_delay() {
        let ratio = |rtt_ms| {
            let of = |d| shown(TrialKind::Stiffness, rtt_ms, d);
            of(0.5) / of(0.0)
        };
        let (near, far) = (ratio(2.0), ratio(200.0));
        assert!((1.2..1.6).contains(&near), "{near}");
        assert!(far < near - 0.1, "{far} at 200 ms, {near} at 2 ms");
    }

    #[test]
    fn slower_link_shows_a_larger_time_offset() {
        let of = |d| shown(TrialKind::Delay, 100.0, d);
        let (less, more) = (of(0.0), of(1.0));
        assert!((less - 100.0).abs() <= 30.0, "{less} ms");
        assert!((more - 200.0).abs() <= 30.0, "{more} ms");
    }

    #[test]
    fn lump_stiffens_the_second_press() {
        let (without, with) = (
            shown(TrialKind::Lump, 2.0, 0.0),
            shown(TrialKind::Lump, 2.0, 0.5),
        );
        assert!((without - 1.0).abs() < 0.05, "{without}");
        assert!(with > 1.2, "{with}");
    }
}
