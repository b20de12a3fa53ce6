//! What a session in virtual time shows the observer in one interval.
//!
//! Source: ours. A hand presses once (twice for a lump) on the base's own tissue, whose forces are
//! multiplied for the second alternative: a tissue (1 + d) times as stiff, without new scenes. What is
//! shown is measured at the handle alone; a delay also takes the remote side's records, and there the
//! handle is carried through the press, so that the coupling's own stability does not matter. A line that
//! is felt as soft and not as late, as one of waves, shows no delay, and rightly.
//!
//! | kind | less | more | quantity shown |
//! |---|---|---|---|
//! | stiffness | the tissue | (1 + d) times as stiff | stiffness of the press \[N/m\] |
//! | delay | the base's round trip | (1 + d) times as long | time offset of force to motion \[ms\] |
//! | lump | the tissue, twice | (1 + d) times as stiff in the second press | second stiffness over first |

use palpate_analysis::metrics::{Traces, etvo, press};
use palpate_master::device::Handle;
use palpate_master::predict::Predictor;
use palpate_session::config::{Config, ConfigError};
use palpate_session::hand::{Hold, Meant, TracedHandle};
use palpate_session::lab::{self, Session};
use palpate_slave::robot::{self, Environment, Probe, Robot};
use palpate_transport::Axes;
use palpate_transport::clock::PERIOD;
use palpate_transport::trace::TickRecord;
use xxhash_rust::xxh3::Xxh3;

use super::super::file::Kind;
use super::PsychoParams;

/// Height above first contact at which a press begins \[m\].
const CLEARANCE_M: f64 = 0.005;

/// Depth of a press, of the intended point below first contact \[m\].
const DEPTH_M: f64 = 0.012;

/// Stiffness of a wall without another reference, and of nothing else \[N/m\].
const REFERENCE_NPM: f64 = 300.0;

/// Round trip of a delay comparison without another reference \[ms\], if the base has none.
const REFERENCE_MS: f64 = 50.0;

/// A tissue whose forces are multiplied, from a moment on.
struct Multiplied {
    inner: Box<dyn Environment>,
    factor: f64,
    from_s: f64,
    at_s: f64,
}

impl Environment for Multiplied {
    fn step(&mut self, probe: &Probe, dt_s: f64) -> Axes {
        self.at_s += dt_s;
        let force_n = self.inner.step(probe, dt_s);
        let factor = if self.at_s >= self.from_s {
            self.factor
        } else {
            1.0
        };
        force_n.map(|force| factor * force)
    }

    fn energy_j(&self) -> f64 {
        let factor = if self.at_s >= self.from_s {
            self.factor
        } else {
            1.0
        };
        factor * self.inner.energy_j()
    }
}

/// The same comparison again and again.
pub struct Stage<'a> {
    config: Config,
    kind: Kind,
    params: &'a PsychoParams,
}

impl<'a> Stage<'a> {
    /// For the sessions of one condition.
    #[must_use]
    pub fn new(config: &Config, kind: Kind, params: &'a PsychoParams) -> Self {
        let mut config = config.clone();
        let rtt_ms = config.link.forward.oneway_ms + config.link.back.oneway_ms;
        match (kind, params.reference) {
            (Kind::Delay, reference) => {
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

    /// What is shown for a relative difference `d`, 0 for the reference; nothing if no press could be
    /// measured, as when the line rings or nothing pushes back.
    ///
    /// # Errors
    /// [`ConfigError`] if the session cannot be built.
    pub fn shown(&self, d: f64, seed: u64) -> Result<Option<f64>, ConfigError> {
        let mut config = self.configured(d, seed);
        let presses = if self.kind == Kind::Lump { 2 } else { 1 };
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
        let robot = self.robot(&config, d, change_s)?;
        let hold = match self.kind {
            Kind::Delay => Hold::Carried,
            _ => Hold::Grip(config.operator.grip),
        };
        let handle = TracedHandle::new(trace, hold).letting_go(config.operator.lets_go_s());
        let twin: Option<Predictor> = lab::predictor(&config)?;
        let mut session = Session::with_twin(&config, Box::new(handle), robot, twin)?;
        let ticks = session.ticks();
        let (mut master, mut slave) = (Vec::new(), Vec::new());
        for tick in 0..ticks {
            let mut both = session.step();
            both.slave.now_ns = PERIOD.0 * tick as i64;
            master.push(both.master);
            slave.push(both.slave);
        }
        Ok(quantity(self.kind, &master, &slave))
    }

    /// The session of an interval for a difference `d` that somebody leads by `handle`, with what it is set to.
    ///
    /// # Errors
    /// [`ConfigError`] if the session cannot be built.
    pub fn led(
        &self,
        d: f64,
        seed: u64,
        interval_s: f64,
        handle: impl FnOnce(&Config) -> Box<dyn Handle>,
    ) -> Result<(Session, Config), ConfigError> {
        let mut config = self.configured(d, seed);
        config.duration_s = interval_s;
        config.robot.start_m = config.operator.script.start_m();
        let robot = self.robot(&config, d, 0.0)?;
        let twin = lab::predictor(&config)?;
        let session = Session::with_twin(&config, handle(&config), robot, twin)?;
        Ok((session, config))
    }

    fn configured(&self, d: f64, seed: u64) -> Config {
        let mut config = self.config.clone();
        config.seed = seed;
        if self.kind == Kind::Delay {
            for link in [&mut config.link.forward, &mut config.link.back] {
                link.oneway_ms *= 1.0 + d;
            }
        }
        config
    }

    /// The robot at a tissue that is harder by the difference from a moment on \[s\].
    fn robot(&self, config: &Config, d: f64, from_s: f64) -> Result<Box<dyn Robot>, ConfigError> {
        let world = Multiplied {
            inner: lab::build_environment(config)?,
            factor: if self.kind == Kind::Delay {
                1.0
            } else {
                1.0 + d
            },
            from_s,
            at_s: 0.0,
        };
        Ok(robot::build(&config.robot, Box::new(world), config.seed))
    }

    /// Down and up again in a smooth push, once for each press.
    fn trace(&self, config: &Config, presses: u32, each_s: f64) -> Vec<Meant> {
        let contact_m = lab::contact_m(config);
        let interval_s = self.params.interval_s;
        let ticks = (f64::from(presses) * each_s / PERIOD.s()).ceil() as u32 + 1;
        let meant = |tick: u32| {
            let at_s = f64::from(tick) * PERIOD.s();
            let number = (at_s / each_s).floor().min(f64::from(presses - 1));
            let within = ((at_s - number * each_s) / interval_s).clamp(0.0, 1.0);
            // smooth at both ends, and uneven, so that depth, speed and acceleration are told apart
            let skewed = within * within * (3.0 - 2.0 * within) * 0.3 + 0.7 * within;
            let sine = libm::sin(core::f64::consts::PI * skewed);
            let depth_m = (CLEARANCE_M + DEPTH_M) * sine * sine;
            Meant {
                position_m: [0.0, 0.0, contact_m + CLEARANCE_M - depth_m, 0.02],
                closed: false,
                phase: number as u16 + 1,
                present: true,
                ..Meant::default()
            }
        };
        (0..ticks).map(meant).collect()
    }
}

/// What the sides' records of an interval show, in the unit of the kind; nothing if no press could be measured.
#[must_use]
pub fn quantity(kind: Kind, master: &[TickRecord], slave: &[TickRecord]) -> Option<f64> {
    if kind == Kind::Delay {
        let traces = Traces { master, slave };
        return Some(etvo::of_session(&traces)?.time_s * 1e3);
    }
    let presses = press::presses(master);
    let of_phase = |phase: u16| {
        let there = presses.iter().filter(|press| press.phase == phase);
        // the longest stretch of contact; a bounce before it is no press
        let longest = there.max_by_key(|press| press.end - press.start)?;
        longest.displayed_npm.ok()
    };
    match kind {
        Kind::Lump => Some(of_phase(2)? / of_phase(1)?),
        _ => of_phase(1),
    }
}

/// Seed of an interval of a run: another for every answer and alternative.
#[must_use]
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

    fn shown(kind: Kind, rtt_ms: f64, d: f64) -> f64 {
        let params = PsychoParams::default();
        let mut config = base(rtt_ms);
        if kind == Kind::Delay {
            config.coupling.mode = Mode::Direct;
        }
        let stage = Stage::new(&config, kind, &params);
        let shown = stage.shown(d, 3).expect("a session");
        shown.expect("a press")
    }

    #[test]
    fn a_stiffer_tissue_feels_stiffer_and_less_so_over_a_delay() {
        let ratio = |rtt_ms| {
            let of = |d| shown(Kind::Stiffness, rtt_ms, d);
            of(0.5) / of(0.0)
        };
        let (near, far) = (ratio(2.0), ratio(200.0));
        assert!((1.2..1.6).contains(&near), "{near}");
        assert!(far < near - 0.1, "{far} at 200 ms, {near} at 2 ms");
    }

    #[test]
    fn a_slower_link_is_felt_as_later() {
        let of = |d| shown(Kind::Delay, 100.0, d);
        let (less, more) = (of(0.0), of(1.0));
        assert!((less - 100.0).abs() <= 30.0, "{less} ms");
        assert!((more - 200.0).abs() <= 30.0, "{more} ms");
    }

    #[test]
    fn a_lump_is_a_second_press_that_is_harder() {
        let (without, with) = (shown(Kind::Lump, 2.0, 0.0), shown(Kind::Lump, 2.0, 0.5));
        assert!((without - 1.0).abs() < 0.05, "{without}");
        assert!(with > 1.2, "{with}");
    }
}
