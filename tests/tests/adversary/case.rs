//! Cases of the adversary: a session and its events, as serialisable data.

use palpate_master::device::grip::{Grip, GripChange};
use palpate_master::device::palpation::PalpationParams;
use palpate_master::device::params::HandleKind;
use palpate_master::device::procedure::step::{GlueStep, InciseStep, PathStep, RevisionStep};
use palpate_master::device::procedure::{ProcedureParams, ProcedureStep, StepAction};
use palpate_master::device::script::{ScriptParams, SineParams};
use palpate_master::predict::local_law::LocalModel;
use palpate_session::config::{Config, LinkChange};
use palpate_tests::PASSIVE;
use palpate_transport::codec::{CodecParams, PredictorKind};
use palpate_transport::coupling::mode_switch::ModeSwitch;
use palpate_transport::coupling::retune::ImpedanceChange;
use palpate_transport::coupling::{
    ImpedanceMatching, ImpedanceSchedule, Mode, ModeSchedule, RelayedForce,
};
use palpate_transport::link::{LinkParams, Outage};
use palpate_transport::trace::Side;
use palpate_transport::{AXES, Axes};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// Largest number of changes of the impedance, and of switches, of one session.
const CHANGES_MAX: usize = 8;

/// Returns one wave impedance for all axes.
fn isotropic() -> Axes {
    [1.0; AXES]
}

/// Seeded random numbers.
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

/// Session and its events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) duration_s: f64,
    pub(crate) mode: Mode,
    pub(crate) matching: ImpedanceMatching,
    pub(crate) impedance_nspm: f64,
    #[serde(default = "isotropic")]
    pub(crate) impedance_ratio: Axes,
    pub(crate) drift_per_s: f64,
    pub(crate) reserve_ticks: f64,
    pub(crate) relayed: RelayedForce,
    pub(crate) wave_filter_hz: f64,
    pub(crate) delay_gain: bool,
    pub(crate) reflect_per_s: f64,
    #[serde(default)]
    pub(crate) control_filter_hz: f64,
    #[serde(default)]
    pub(crate) recovery_per_s: f64,
    #[serde(default)]
    pub(crate) local: LocalModel,
    pub(crate) tank_nspm_max: f64,
    pub(crate) pspm_npm: f64,
    /// Time after which the handle releases a force \[s\]; 0 for never.
    pub(crate) release_s: f64,
    /// Fraction of ticks that are too late for a step of the twin.
    pub(crate) fallback_share: f64,
    pub(crate) offset_ms: f64,
    pub(crate) skew_ppm: f64,
    pub(crate) grip: Grip,
    pub(crate) handle: HandleKind,
    /// Amplitude and frequency of a sine; without it, the palpation script.
    pub(crate) sine: Option<[f64; 2]>,
    /// Tissue of the robot: `wall:K`, or `patch-lump`, a small sheet.
    pub(crate) tissue: String,
    /// Incision by the operator, in place of `tissue` and of the operator's script: tissue at both ends that
    /// instruments can open.
    #[serde(default)]
    pub(crate) opening: Option<Opening>,
    /// Codec, if it is on.
    pub(crate) codec: Option<CodecParams>,
    pub(crate) forward: LinkParams,
    pub(crate) back: LinkParams,
    pub(crate) events: Vec<Event>,
}

/// Operator that makes an incision, then a second operation there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Opening {
    /// Start and end of the incision, x and y \[m\].
    pub(crate) from_m: [f64; 2],
    pub(crate) to_m: [f64; 2],
    /// Depth \[m\].
    pub(crate) depth_m: f64,
    /// Working speed \[m/s\].
    pub(crate) work_mps: f64,
    pub(crate) then: FollowUp,
    /// True if the remote tissue has a lump that the twin lacks.
    pub(crate) lump: bool,
}

/// Operation after an incision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FollowUp {
    Carve,
    Glue,
    Tack,
    Undo,
}

impl Opening {
    fn random(dice: &mut Dice) -> Self {
        let mut place = || [0; 2].map(|_| dice.between(-0.012, 0.012));
        let (from_m, to_m) = (place(), place());
        Self {
            from_m,
            to_m,
            depth_m: dice.between(0.001, 0.008),
            work_mps: dice.pick(&[0.02, 0.05, 0.15]),
            then: dice.pick(&[
                FollowUp::Carve,
                FollowUp::Glue,
                FollowUp::Tack,
                FollowUp::Undo,
            ]),
            lump: dice.chance(0.3),
        }
    }

    /// Returns the operator as steps.
    fn script(&self) -> ScriptParams {
        let [from, to] = [self.from_m, self.to_m].map(|[x, y]| [x, y, 0.0]);
        let along = || PathStep {
            path_m: vec![to, from],
            speed_mps: None,
        };
        let incise = StepAction::Incise(InciseStep {
            path_m: vec![from, to],
            depth_m: self.depth_m,
            edge_m: None,
            speed_mps: None,
        });
        let then = match self.then {
            FollowUp::Carve => StepAction::Carve(along()),
            FollowUp::Tack => StepAction::Tack(along()),
            FollowUp::Undo => StepAction::Undo(RevisionStep { times: 1 }),
            FollowUp::Glue => StepAction::Glue(GlueStep {
                path_m: vec![to, from],
                reach_m: 0.003,
                speed_mps: None,
            }),
        };
        ScriptParams::Procedure(ProcedureParams {
            speed_mps: 0.3,
            work_mps: self.work_mps,
            step: [incise, then]
                .map(|action| ProcedureStep { name: None, action })
                .into(),
            ..ProcedureParams::default()
        })
    }
}

/// Event of a case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// Time as a fraction of the session.
    pub(crate) at: f64,
    pub(crate) what: EventKind,
}

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EventKind {
    /// Change of the network in both directions.
    Link(LinkParams),
    /// Restart of a side.
    Restart(Side),
    /// Number of missed ticks of a side.
    Pause(Side, u64),
    /// Number of ticks without motion of a side: the operator's clutch, or a command.
    Hold(Side, u64),
    /// Change of the wave impedance to a value \[N s/m\], over a time \[s\].
    Retune(f64, f64),
    /// Switch to another passive method.
    Switch(Mode),
    /// Change of the operator's grip, or release of the handle.
    Grip(Grip),
}

/// Draws one direction of a network: delay up to 500 ms, jitter to 100 ms, loss to 30 %, outages to 5 s, and
/// the other faults; each of them often none.
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
        outage: dice.chance(0.25).then(|| Outage {
            on_s: dice.between(0.2, 3.0),
            off_s: dice.pick(&[0.2, 0.5, 1.0, 5.0]) * dice.between(0.1, 1.0),
        }),
    }
}

fn codec(dice: &mut Dice) -> CodecParams {
    CodecParams {
        weber: dice.pick(&[0.0, 0.1, 0.5]),
        weber_per_mps: dice.pick(&[0.0, 2.0]),
        smooth_s: dice.pick(&[0.0, 0.01, 0.1]),
        keep_alive_s: dice.pick(&[0.003, 0.024, 0.049]),
        predictor: dice.pick(&[PredictorKind::Zoh, PredictorKind::Linear]),
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

/// Numbers of ticks that a side may miss at once, to 250 ms: often as long as a device holds a force, and
/// near the largest accounted time.
pub(crate) const PAUSES: [u64; 9] = [1, 2, 3, 5, 19, 20, 60, 120, 250];

const GRIPS: [Grip; 3] = [Grip::Firm, Grip::Light, Grip::None];

fn event(dice: &mut Dice) -> Event {
    let what = match dice.below(10) {
        0 => EventKind::Restart(side(dice)),
        1 | 2 => EventKind::Pause(side(dice), dice.pick(&PAUSES)),
        3 => EventKind::Hold(side(dice), dice.pick(&[1, 10, 100, 1000])),
        4 => EventKind::Retune(
            dice.pick(&[0.5, 5.0, 40.0, 100.0]) * dice.between(0.5, 2.0),
            dice.pick(&[0.0, 0.2, 1.0]),
        ),
        5 => EventKind::Grip(dice.pick(&GRIPS)),
        6 => EventKind::Switch(dice.pick(&PASSIVE)),
        _ => EventKind::Link(link(dice)),
    };
    Event {
        at: dice.unit(),
        what,
    }
}

impl Case {
    /// Draws a complete case.
    pub(crate) fn random(seed: u64, duration_s: f64, modes: &[Mode]) -> Self {
        let dice = &mut Dice::of(seed);
        let events = dice.below(8);
        let mode = dice.pick(modes);
        let mut case = Self {
            seed,
            duration_s,
            mode,
            matching: dice.pick(&[
                ImpedanceMatching::None,
                ImpedanceMatching::Slave,
                ImpedanceMatching::Both,
            ]),
            impedance_nspm: dice.pick(&[1.0, 10.0, 60.0]),
            impedance_ratio: isotropic(),
            drift_per_s: dice.between(0.0, 10.0),
            reserve_ticks: dice.pick(&[1.0, 3.0, 10.0]),
            relayed: dice.pick(&[RelayedForce::Port, RelayedForce::Contact]),
            wave_filter_hz: dice.pick(&[0.0, 0.0, 5.0, 50.0]),
            delay_gain: dice.chance(0.2),
            reflect_per_s: dice.pick(&[0.0, 5.0, 50.0]),
            control_filter_hz: dice.pick(&[0.0, 5.0, 50.0]),
            recovery_per_s: dice.pick(&[0.0, 10.0, 30.0]),
            local: dice.pick(&[
                LocalModel::Twin,
                LocalModel::HuntCrossley,
                LocalModel::Unsure,
            ]),
            tank_nspm_max: dice.between(0.0, 20.0),
            pspm_npm: dice.pick(&[100.0, 500.0, 3000.0]),
            release_s: dice.pick(&[2e-3, 2e-3, 3e-3, 8e-3]),
            fallback_share: dice.pick(&[0.0, 0.0, 0.3]),
            offset_ms: dice.between(-1000.0, 1000.0),
            skew_ppm: dice.between(-200.0, 200.0),
            grip: dice.pick(&GRIPS),
            handle: dice.pick(&[HandleKind::Mass, HandleKind::Phantom]),
            sine: dice
                .chance(0.7)
                .then(|| [dice.between(0.005, 0.03), dice.between(0.3, 3.0)]),
            tissue: match dice.below(4) {
                0 => "patch-lump".into(),
                _ => format!("wall:{:.0}", dice.between(50.0, 5000.0)),
            },
            opening: None,
            codec: dice.chance(0.5).then(|| codec(dice)),
            forward: link(dice),
            back: link(dice),
            events: (0..events).map(|_| event(dice)).collect(),
        };
        if dice.chance(0.3) {
            case.impedance_ratio = [0; AXES].map(|_| dice.pick(&[0.5, 1.0, 5.0]));
        }
        if mode == Mode::Auto && dice.chance(0.7) {
            // delays short enough that it has to choose
            for link in [&mut case.forward, &mut case.back] {
                (link.oneway_ms, link.jitter_ms) = (dice.between(0.0, 5.0), dice.between(0.0, 2.0));
            }
        }
        if dice.chance(0.15) {
            case.opening = Some(Opening::random(dice));
        }
        case
    }

    /// Mutates a case: some fields are drawn anew, or events are taken from `other`.
    pub(crate) fn mutated(&self, other: &Self, dice: &mut Dice, modes: &[Mode]) -> Self {
        let mut case = self.clone();
        for _ in 0..=dice.below(3) {
            let fresh = Self::random(dice.0.next_u64(), case.duration_s, modes);
            match dice.below(14) {
                0 => case.mode = fresh.mode,
                1 => {
                    (case.matching, case.impedance_nspm) = (fresh.matching, fresh.impedance_nspm);
                    case.impedance_ratio = fresh.impedance_ratio;
                }
                2 => (case.grip, case.handle) = (fresh.grip, fresh.handle),
                3 => case.sine = fresh.sine,
                4 => (case.tissue, case.opening) = (fresh.tissue, fresh.opening),
                5 => case.codec = fresh.codec,
                6 => case.forward = fresh.forward,
                7 => case.back = fresh.back,
                8 => (case.offset_ms, case.skew_ppm) = (fresh.offset_ms, fresh.skew_ppm),
                9 => case.events.clone_from(&other.events),
                10 => case.couple_as(&fresh),
                11 => {
                    (case.release_s, case.fallback_share) = (fresh.release_s, fresh.fallback_share);
                }
                12 if !case.events.is_empty() => {
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

    /// Copies the coupling's parameters of another case.
    fn couple_as(&mut self, other: &Self) {
        *self = Self {
            drift_per_s: other.drift_per_s,
            relayed: other.relayed,
            wave_filter_hz: other.wave_filter_hz,
            delay_gain: other.delay_gain,
            reflect_per_s: other.reflect_per_s,
            control_filter_hz: other.control_filter_hz,
            recovery_per_s: other.recovery_per_s,
            local: other.local,
            tank_nspm_max: other.tank_nspm_max,
            pspm_npm: other.pspm_npm,
            ..self.clone()
        };
    }

    /// Returns the changes of the wave impedance, none before the last has ended.
    fn retunes(&self, in_order: &[Event]) -> ImpedanceSchedule {
        let mut changes: Vec<ImpedanceChange> = Vec::new();
        for event in in_order {
            let (EventKind::Retune(impedance_nspm, over_s), at_s) =
                (event.what, event.at * self.duration_s)
            else {
                continue;
            };
            let free = changes
                .last()
                .is_none_or(|last| at_s >= last.at_s + last.over_s);
            if free && changes.len() < CHANGES_MAX {
                changes.push(ImpedanceChange {
                    at_s,
                    impedance_nspm,
                    over_s,
                });
            }
        }
        ImpedanceSchedule::try_from(changes).expect("counted")
    }

    /// Returns the switches of the method; none for a mode that may not have any, nor with a codec, where
    /// they are refused.
    fn switches(&self, in_order: &[Event]) -> ModeSchedule {
        let of = |event: &Event| match event.what {
            EventKind::Switch(mode) => Some(ModeSwitch {
                at_s: event.at * self.duration_s,
                mode,
            }),
            _ => None,
        };
        let all = in_order.iter().filter_map(of).take(CHANGES_MAX);
        let all: Vec<ModeSwitch> = all
            .filter(|_| self.mode.is_passive() && self.codec.is_none())
            .collect();
        ModeSchedule::try_from(all).expect("few, and passive")
    }

    /// Returns the changes of the operator's grip.
    fn regrips(&self, in_order: &[Event]) -> Vec<GripChange> {
        let of = |event: &Event| match event.what {
            EventKind::Grip(grip) => Some(GripChange {
                at_s: event.at * self.duration_s,
                grip,
            }),
            _ => None,
        };
        in_order.iter().filter_map(of).collect()
    }

    /// Returns the configuration of the session.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config {
            seed: self.seed,
            duration_s: self.duration_s,
            twin: concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/patch.toml").into(),
            tissue: match self.tissue.as_str() {
                "patch-lump" => {
                    concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/patch-lump.toml").into()
                }
                other => other.into(),
            },
            ..Config::default()
        };
        config.coupling.mode = self.mode;
        config.coupling.matching = self.matching;
        config.coupling.impedance_nspm = self.impedance_nspm;
        config.coupling.impedance_ratio = self.impedance_ratio;
        config.coupling.drift_per_s = self.drift_per_s;
        config.coupling.reserve_ticks = self.reserve_ticks;
        config.coupling.relayed = self.relayed;
        config.coupling.wave_filter_hz = self.wave_filter_hz;
        config.coupling.delay_gain = self.delay_gain;
        config.coupling.reflect_per_s = self.reflect_per_s;
        config.coupling.control_filter_hz = self.control_filter_hz;
        config.coupling.recovery_per_s = self.recovery_per_s;
        config.master.predict.local = self.local;
        config.coupling.tank_nspm_max = self.tank_nspm_max;
        config.coupling.pspm_npm = self.pspm_npm;
        config.operator.release_s = self.release_s;
        config.realtime.fallback_share = self.fallback_share;
        config.codec = self.codec.unwrap_or_default();
        config.clock.offset_ms = self.offset_ms;
        config.clock.skew_ppm = self.skew_ppm;
        config.operator.grip = self.grip;
        config.operator.handle = self.handle;
        config.operator.script = match self.sine {
            Some([amplitude_m, hz]) => ScriptParams::Sine(SineParams { amplitude_m, hz }),
            None => ScriptParams::Palpation(PalpationParams::default()),
        };
        if let Some(opening) = &self.opening {
            let whole = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/opened.toml");
            let lump = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/opened-lump.toml");
            config.twin = whole.into();
            config.tissue = if opening.lump { lump } else { whole }.into();
            config.operator.script = opening.script();
            config.master.predict.tool_radius_m = 0.004;
        }
        (config.link.forward, config.link.back) = (self.forward, self.back);
        let mut events = self.events.clone();
        events.sort_by(|a, b| a.at.total_cmp(&b.at));
        config.coupling.retune = self.retunes(&events);
        config.coupling.switch = self.switches(&events);
        config.operator.regrip = self.regrips(&events);
        config.link.change = events
            .iter()
            .filter_map(|event| match event.what {
                EventKind::Link(link) => Some(LinkChange {
                    at_s: event.at * self.duration_s,
                    forward: Some(link),
                    back: Some(link),
                }),
                _ => None,
            })
            .collect();
        config
    }

    /// Encodes the case as TOML.
    pub(crate) fn to_toml(&self) -> String {
        toml::to_string(self).expect("every field is a TOML type")
    }

    /// Decodes a case from TOML.
    pub(crate) fn of_toml(text: &str) -> Self {
        toml::from_str(text).expect("a case")
    }
}
