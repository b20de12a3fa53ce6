//! One attack on the channel: a session and what happens to it, as data that can be written down.

use palpate::config::{Config, LinkChange};
use palpate_master::device::grip::Grip;
use palpate_master::device::palpation::PalpationParams;
use palpate_master::device::params::HandleKind;
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_transport::codec::{CodecParams, Prediction};
use palpate_transport::coupling::{Matching, Mode};
use palpate_transport::link::{LinkParams, Outage};
use palpate_transport::trace::Side;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// Seeded chance.
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn of(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.unit() * count as f64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// A session and what happens to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) duration_s: f64,
    pub(crate) mode: Mode,
    pub(crate) matching: Matching,
    pub(crate) impedance_nspm: f64,
    pub(crate) drift_rate_hz: f64,
    pub(crate) reserve_ticks: f64,
    pub(crate) offset_ms: f64,
    pub(crate) skew_ppm: f64,
    pub(crate) grip: Grip,
    pub(crate) handle: HandleKind,
    /// Amplitude and frequency of a sine; the palpation script without.
    pub(crate) sine: Option<[f64; 2]>,
    pub(crate) tissue: String,
    /// The codec, if it is on.
    pub(crate) codec: Option<CodecParams>,
    pub(crate) forward: LinkParams,
    pub(crate) back: LinkParams,
    pub(crate) events: Vec<Event>,
}

/// Something that happens at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// When, in parts of the session.
    pub(crate) at: f64,
    pub(crate) what: What,
}

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// Another network, both ways.
    Link(LinkParams),
    /// A side begins anew.
    Restart(Side),
    /// A side misses so many ticks.
    Pause(Side, u64),
}

/// One direction: one way up to 500 ms, jitter to 100 ms, loss to 30 %, and everything else.
pub(crate) fn link(dice: &mut Dice) -> LinkParams {
    LinkParams {
        oneway_ms: dice.pick(&[0.0, 3.0, 50.0, 500.0]) * dice.unit(),
        jitter_ms: dice.pick(&[0.0, 10.0, 100.0]) * dice.unit(),
        jitter_reorders: dice.chance(0.5),
        loss: dice.pick(&[0.0, 0.3]) * dice.unit(),
        burst: dice.pick(&[1.0, 3.0, 10.0]),
        duplicate: dice.pick(&[0.0, 0.2]) * dice.unit(),
        reorder: dice.pick(&[0.0, 0.2]) * dice.unit(),
        rate_kbps: dice.chance(0.1).then_some(2000.0),
        queue_packets: 200,
        outage: dice.chance(0.2).then(|| Outage {
            on_s: dice.between(0.2, 2.0),
            off_s: dice.between(0.02, 1.0),
        }),
    }
}

fn codec(dice: &mut Dice) -> CodecParams {
    CodecParams {
        weber: dice.pick(&[0.0, 0.1, 0.5]),
        weber_per_mps: dice.pick(&[0.0, 2.0]),
        smooth_s: dice.pick(&[0.0, 0.01, 0.1]),
        keep_alive_s: dice.pick(&[0.003, 0.024, 0.049]),
        predictor: dice.pick(&[Prediction::Zoh, Prediction::Linear]),
        loss_expected: dice.pick(&[0.0, 0.1]),
        ..config_codec_on()
    }
}

fn config_codec_on() -> CodecParams {
    let mut config = Config::default();
    config.set("codec.kind=deadband").expect("a kind");
    config.codec
}

fn side(dice: &mut Dice) -> Side {
    dice.pick(&[Side::Master, Side::Slave])
}

/// Most ticks that the master may miss at once and stay passive. Its motors go on to hold a force that was paid
/// for one period; what more than this costs is measured by `what_a_paused_master_costs`.
pub(crate) const MASTER_PAUSE_MAX: u64 = 1;

fn event(dice: &mut Dice) -> Event {
    let what = match dice.below(4) {
        0 => What::Restart(side(dice)),
        // to 250 ms, and often near the most that a tick accounts for
        1 => match side(dice) {
            Side::Master => What::Pause(Side::Master, MASTER_PAUSE_MAX),
            Side::Slave => What::Pause(Side::Slave, dice.pick(&[1, 5, 19, 20, 60, 250])),
        },
        _ => What::Link(link(dice)),
    };
    Event {
        at: dice.unit(),
        what,
    }
}

impl Case {
    /// Drawn whole.
    pub(crate) fn random(seed: u64, duration_s: f64, modes: &[Mode]) -> Self {
        let dice = &mut Dice::of(seed);
        let events = dice.below(6);
        Self {
            seed,
            duration_s,
            mode: dice.pick(modes),
            matching: dice.pick(&[Matching::None, Matching::Slave, Matching::Both]),
            impedance_nspm: dice.pick(&[1.0, 10.0, 60.0]),
            drift_rate_hz: dice.between(0.0, 10.0),
            reserve_ticks: 3.0,
            offset_ms: dice.between(-1000.0, 1000.0),
            skew_ppm: dice.between(-200.0, 200.0),
            grip: dice.pick(&[Grip::Firm, Grip::Light, Grip::None]),
            handle: dice.pick(&[HandleKind::Mass, HandleKind::Phantom]),
            sine: dice
                .chance(0.7)
                .then(|| [dice.between(0.005, 0.03), dice.between(0.3, 3.0)]),
            tissue: match dice.below(3) {
                0 => "sheet-lump".into(),
                _ => format!("wall:{:.0}", dice.between(50.0, 5000.0)),
            },
            codec: dice.chance(0.5).then(|| codec(dice)),
            forward: link(dice),
            back: link(dice),
            events: (0..events).map(|_| event(dice)).collect(),
        }
    }

    /// A relative: some fields drawn anew, or events taken from `other`.
    pub(crate) fn mutated(&self, other: &Self, dice: &mut Dice, modes: &[Mode]) -> Self {
        let mut case = self.clone();
        for _ in 0..=dice.below(3) {
            let fresh = Self::random(dice.0.next_u64(), case.duration_s, modes);
            match dice.below(12) {
                0 => case.mode = fresh.mode,
                1 => (case.matching, case.impedance_nspm) = (fresh.matching, fresh.impedance_nspm),
                2 => (case.grip, case.handle) = (fresh.grip, fresh.handle),
                3 => case.sine = fresh.sine,
                4 => case.tissue = fresh.tissue,
                5 => case.codec = fresh.codec,
                6 => case.forward = fresh.forward,
                7 => case.back = fresh.back,
                8 => (case.offset_ms, case.skew_ppm) = (fresh.offset_ms, fresh.skew_ppm),
                9 => case.events.clone_from(&other.events),
                10 if !case.events.is_empty() => {
                    let index = dice.below(case.events.len());
                    case.events[index].at = dice.unit();
                }
                _ if case.events.len() < 12 => case.events.push(event(dice)),
                _ => case.events.truncate(6),
            }
        }
        case.seed = dice.0.next_u64() >> 1;
        case
    }

    /// The session that it attacks.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config {
            seed: self.seed,
            duration_s: self.duration_s,
            twin: "sheet".into(),
            tissue: self.tissue.clone(),
            ..Config::default()
        };
        config.coupling.mode = self.mode;
        config.coupling.matching = self.matching;
        config.coupling.impedance_nspm = self.impedance_nspm;
        config.coupling.drift_rate_hz = self.drift_rate_hz;
        config.coupling.reserve_ticks = self.reserve_ticks;
        config.codec = self.codec.unwrap_or_default();
        config.clock.offset_ms = self.offset_ms;
        config.clock.skew_ppm = self.skew_ppm;
        config.operator.grip = self.grip;
        config.operator.handle = self.handle;
        config.operator.script = match self.sine {
            Some([amplitude_m, hz]) => ScriptParams::Sine(SineParams { amplitude_m, hz }),
            None => ScriptParams::Palpation(PalpationParams::default()),
        };
        (config.link.forward, config.link.back) = (self.forward, self.back);
        let mut events = self.events.clone();
        events.sort_by(|a, b| a.at.total_cmp(&b.at));
        config.link.change = events
            .iter()
            .filter_map(|event| match event.what {
                What::Link(link) => Some(LinkChange {
                    at_s: event.at * self.duration_s,
                    forward: Some(link),
                    back: Some(link),
                }),
                _ => None,
            })
            .collect();
        config
    }

    /// As a file, to be run again.
    pub(crate) fn to_toml(&self) -> String {
        toml::to_string(self).expect("every field is a TOML type")
    }

    /// From such a file.
    pub(crate) fn of_toml(text: &str) -> Self {
        toml::from_str(text).expect("a case")
    }
}
