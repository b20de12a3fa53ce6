//! Estimates of a point by every way. Source: ours.

use core::ops::RangeInclusive;

use palpate_analysis::closed_form;
use palpate_master::device::grip::Grip;
use palpate_master::device::mass;
use palpate_session::config::ConfigError;
use palpate_slave::robot::environment::WALL_DAMPING_NSPM;
use palpate_slave::robot::mass as robot;
use palpate_transport::coupling::Mode;

use super::llewellyn::{self, Hybrid};
use super::plant_session::{self, PlantCoupling};
use super::sampled_loop::{self, Complex64, FrameAges, LinearMethod, SampledLoop, channel};
use super::two_port::{self, MassSpringDamper, PulledBody};
use super::wall::{SEARCH_NPM, SampledWall};
use super::{AtlasChart, AtlasPoint};

/// Longest round trip that is tested without a method \[ticks\].
const RTT_TICKS_MAX: u16 = 100;

/// Search range of the largest wave impedance \[N s/m\]: the range of a session's parameter.
const SEARCH_NSPM: RangeInclusive<f64> = 10.0..=1000.0;

/// Search range for any passive hand, whose limit is far lower \[N s/m\].
const ABSOLUTE_SEARCH_NSPM: RangeInclusive<f64> = 0.01..=1000.0;

impl AtlasPoint {
    /// Adds the estimates of all methods; sessions draw from `seed`.
    pub(super) fn with_estimates(self, seed: u64) -> Result<Self, ConfigError> {
        match self.chart {
            AtlasChart::Wall => self.wall(),
            AtlasChart::Displayed | AtlasChart::Jitter => self.displayed(seed),
            AtlasChart::Direct => self.direct(seed),
            AtlasChart::Impedance => self.impedance(seed),
        }
    }

    /// Adds the estimates of the displayed stiffness that need no simulation.
    pub(crate) fn displayed_by_formula(mut self) -> Self {
        let (wall_npm, slave_npm) = (self.wall_npm.unwrap_or(0.0), self.slave_npm());
        let rtt_s = self.rtt_s();
        let w = std::f64::consts::TAU * plant_session::slow_hz(rtt_s);
        let b_nspm = self.b_nspm.unwrap_or(0.0);
        let (law, formula) = match self.mode() {
            // a channel without compliance
            Mode::Direct => (
                LinearMethod::Direct,
                closed_form::displayed_npm(wall_npm, slave_npm, 1.0, 0.0),
            ),
            _ => {
                let formula = closed_form::displayed_npm(wall_npm, slave_npm, b_nspm, rtt_s);
                (LinearMethod::Wave { b_nspm }, formula)
            }
        };
        let free = pulled(slave_npm, 0.0);
        let chain = channel(
            law,
            &free,
            [self.ages(), self.ages()],
            1e-3 * self.period_ms,
        );
        let tissue = Complex64::new(WALL_DAMPING_NSPM, -wall_npm / w);
        // the impedance of the handle itself is no part of the port's force
        let displayed = Hybrid::at(&chain, &HANDLE, &free.body, w).displayed_impedance(tissue)
            - HANDLE.impedance(w);
        self.closed = Some(formula);
        self.frequency = Some(two_port::stiffness_npm(displayed, w));
        self
    }

    fn displayed(self, seed: u64) -> Result<Self, ConfigError> {
        let mut point = self.displayed_by_formula();
        let hz = plant_session::slow_hz(point.rtt_s());
        let oneway_ms = point.oneway_ms.unwrap_or(0.0);
        let coupling = point.coupling([oneway_ms; 2], point.b_nspm.unwrap_or(1.0), seed);
        point.time = plant_session::displayed_npm(&coupling, point.wall_npm.unwrap_or(0.0), hz)?;
        Ok(point)
    }

    fn wall(mut self) -> Result<Self, ConfigError> {
        let (b_nspm, period_s) = (self.b_nspm.unwrap_or(0.0), 1e-3 * self.period_ms);
        let late_periods = (2.0 * self.oneway_ms.unwrap_or(0.0) / self.period_ms).round() as usize;
        let wall = SampledWall {
            damping_nspm: b_nspm,
            period_s,
            late_periods,
        };
        let loop_s = wall.loop_s();
        self.closed = Some(closed_form::wall_npm_max(b_nspm, period_s, loop_s));
        let swept = two_port::wall_npm_max(b_nspm, period_s, loop_s);
        self.frequency = Some(swept);
        // for one port, the limit for any hand is the result of the sweep
        self.absolute = Some(swept);
        self.root = sampled_loop::largest(SEARCH_NPM, |npm| Ok(wall.grows(npm)))?;
        self.time = Some(wall.npm_max());
        Ok(self)
    }

    fn direct(self, seed: u64) -> Result<Self, ConfigError> {
        let (hand, grip) = self.hand();
        let (period_ms, period_s) = (self.period_ms, 1e-3 * self.period_ms);
        let slave = pulled(self.slave_npm(), self.wall_npm.unwrap_or(0.0));
        let free = pulled(self.slave_npm(), 0.0).body;
        let late_s = period_s + 2.0 * self.late_by_jitter_s();
        let limit_ms = two_port::direct_oneway_s_max(&hand, &slave, late_s).map(|s| 1e3 * s);
        let chain = |rtt: u16| {
            let ages = split(rtt).map(|ticks| {
                FrameAges::of(f64::from(ticks) * period_ms, self.jitter_ms, period_ms)
            });
            channel(LinearMethod::Direct, &slave, ages, period_s)
        };
        let limit = |grows: &dyn Fn(u16) -> Result<bool, ConfigError>| {
            sampled_loop::oneway_ms_max(grows, RTT_TICKS_MAX, period_ms)
        };
        let root = limit(&|rtt| Ok(SampledLoop::new(chain(rtt), &hand, &slave.body).grows()))?;
        let unstable = |rtt| Ok(llewellyn::unstable_hz(&chain(rtt), &HANDLE, &free).is_some());
        let absolute = limit(&unstable)?;
        let time = limit(&|rtt| {
            let oneway_ms = split(rtt).map(|ticks| f64::from(ticks) * period_ms);
            plant_session::is_unstable(&self.coupling(oneway_ms, 1.0, seed), self.tissue(), grip)
        })?;
        let endless = |ms: f64| {
            if ms > ONEWAY_MS_MAX {
                f64::INFINITY
            } else {
                ms
            }
        };
        Ok(Self {
            frequency: limit_ms.map(endless),
            root,
            time,
            // a chain that is not absolutely stable at the least delay is stable at none
            absolute: absolute.or(Some(0.0)),
            ..self
        })
    }

    fn impedance(self, seed: u64) -> Result<Self, ConfigError> {
        let (hand, grip) = self.hand();
        let (period_s, ages) = (1e-3 * self.period_ms, self.ages());
        let slave = pulled(self.slave_npm(), self.wall_npm.unwrap_or(0.0));
        let free = pulled(self.slave_npm(), 0.0).body;
        let chain = |b_nspm| {
            let ages = [ages.clone(), ages.clone()];
            channel(LinearMethod::Wave { b_nspm }, &slave, ages, period_s)
        };
        let root = sampled_loop::largest(SEARCH_NSPM, |b| {
            Ok(SampledLoop::new(chain(b), &hand, &slave.body).grows())
        })?;
        let absolute = sampled_loop::largest(ABSOLUTE_SEARCH_NSPM, |b| {
            Ok(llewellyn::unstable_hz(&chain(b), &HANDLE, &free).is_some())
        })?;
        let oneway_ms = [self.oneway_ms.unwrap_or(0.0); 2];
        let time = sampled_loop::largest(SEARCH_NSPM, |b| -> Result<bool, ConfigError> {
            let coupling = self.coupling(oneway_ms, b, seed);
            let rough_n = plant_session::roughness_n(&coupling, self.tissue(), grip)?;
            Ok(rough_n > plant_session::ROUGH_N)
        })?;
        let closed = closed_form::impedance_nspm_max(hand.mass_kg, slave.damping_nspm, period_s);
        Ok(Self {
            closed: Some(closed),
            root,
            time,
            absolute: absolute.or(Some(0.0)),
            ..self
        })
    }

    fn mode(&self) -> Mode {
        Mode::from_name(self.mode).unwrap_or_default()
    }

    fn slave_npm(&self) -> f64 {
        self.slave_npm.unwrap_or(plant_session::SLAVE_NPM)
    }

    fn ages(&self) -> FrameAges {
        FrameAges::of(
            self.oneway_ms.unwrap_or(0.0),
            self.jitter_ms,
            self.period_ms,
        )
    }

    /// Mean round trip of the frames in use \[s\].
    fn rtt_s(&self) -> f64 {
        2e-3 * self.period_ms * self.ages().mean()
    }

    /// Mean additional age by jitter of the frames in use \[s\].
    fn late_by_jitter_s(&self) -> f64 {
        let base_ms = 1e3;
        let mean = FrameAges::of(base_ms, self.jitter_ms, self.period_ms).mean();
        1e-3 * (mean * self.period_ms - base_ms)
    }

    fn tissue(&self) -> plant_session::GluedTissue {
        let stiffness_npm = self.wall_npm.unwrap_or(0.0);
        let in_contact = stiffness_npm > 0.0;
        let damping_nspm = if in_contact { WALL_DAMPING_NSPM } else { 0.0 };
        plant_session::GluedTissue::new(stiffness_npm, damping_nspm)
    }

    fn hand(&self) -> (MassSpringDamper, Grip) {
        let grip = if self.grip == "light" {
            Grip::Light
        } else {
            Grip::Firm
        };
        let hand = grip.hand();
        let body = MassSpringDamper {
            mass_kg: HANDLE.mass_kg + hand.mass_kg,
            damping_nspm: HANDLE.damping_nspm + hand.damping_nspm,
            stiffness_npm: hand.stiffness_npm,
        };
        (body, grip)
    }

    fn coupling(&self, oneway_ms: [f64; 2], b_nspm: f64, seed: u64) -> PlantCoupling {
        PlantCoupling {
            mode: self.mode(),
            b_nspm,
            slave_npm: self.slave_npm(),
            oneway_ms,
            jitter_ms: self.jitter_ms,
            seed,
        }
    }
}

/// One-way delay beyond which no limit is searched \[ms\].
const ONEWAY_MS_MAX: f64 = 0.5 * RTT_TICKS_MAX as f64;

/// Splits a round trip into two ways, the forward one the shorter if they differ \[ticks\].
fn split(rtt_ticks: u16) -> [u16; 2] {
    [rtt_ticks / 2, rtt_ticks - rtt_ticks / 2]
}

/// RP-1's handle without a hand.
const HANDLE: MassSpringDamper = MassSpringDamper {
    mass_kg: mass::MASS_KG,
    damping_nspm: mass::DAMPING_NSPM,
    stiffness_npm: 0.0,
};

/// RP-1's robot behind its controller, in contact with a wall or free (0 N/m).
fn pulled(slave_npm: f64, wall_npm: f64) -> PulledBody {
    let touching = if wall_npm > 0.0 {
        WALL_DAMPING_NSPM
    } else {
        0.0
    };
    PulledBody {
        stiffness_npm: slave_npm,
        damping_nspm: plant_session::slave_nspm(slave_npm),
        body: MassSpringDamper {
            mass_kg: robot::MASS_KG,
            damping_nspm: robot::DAMPING_NSPM + touching,
            stiffness_npm: wall_npm,
        },
    }
}
