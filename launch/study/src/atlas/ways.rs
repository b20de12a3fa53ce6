//! Asks every way about a point. Source: ours.

use palpate_analysis::closed;
use palpate_master::device::grip::Grip;
use palpate_master::device::mass;
use palpate_session::config::ConfigError;
use palpate_slave::robot::environment::WALL_DAMPING_NSPM;
use palpate_slave::robot::mass as robot;
use palpate_transport::coupling::Mode;

use super::llewellyn::{self, Hybrid};
use super::sampled::{self, Ages, C, Law, Loop, channel};
use super::session::{self, Coupled};
use super::two_port::{self, Body, Pulled};
use super::wall::Wall;
use super::{Chart, Point};

/// Longest round trip that is tried without a method \[ticks\].
const RTT_TICKS_MAX: u16 = 100;

/// Wave impedances between which the largest is sought \[N s/m\]: what a session takes.
const SOUGHT_NSPM: (f64, f64) = (10.0, 1000.0);

/// The same for any hand, which bears far less \[N s/m\].
const BOUND_NSPM: (f64, f64) = (0.01, 1000.0);

/// Stiffnesses between which the stiffest wall is sought by its roots \[N/m\].
const SOUGHT_NPM: (f64, f64) = (1e-2, 1e7);

impl Point {
    /// Ask all ways; sessions draw from `seed`.
    pub(super) fn found(self, seed: u64) -> Result<Self, ConfigError> {
        match self.chart {
            Chart::Wall => self.wall(),
            Chart::Line | Chart::Jitter => self.line(seed),
            Chart::Direct => self.direct(seed),
            Chart::Ends => self.ends(seed),
        }
    }

    /// What the line's chart says without running anything.
    #[must_use]
    pub(crate) fn line_by_formula(mut self) -> Self {
        let (wall_npm, slave_npm) = (self.wall_npm.unwrap_or(0.0), self.slave_npm());
        let rtt_s = self.rtt_s();
        let w = std::f64::consts::TAU * session::slow_hz(rtt_s);
        let b_nspm = self.b_nspm.unwrap_or(0.0);
        let (law, formula) = match self.mode() {
            // a line without compliance
            Mode::Direct => (
                Law::Direct,
                closed::displayed_npm(wall_npm, slave_npm, 1.0, 0.0),
            ),
            _ => {
                let formula = closed::displayed_npm(wall_npm, slave_npm, b_nspm, rtt_s);
                (Law::Wave { b_nspm }, formula)
            }
        };
        let free = pulled(slave_npm, 0.0);
        let chain = channel(
            law,
            &free,
            [self.ages(), self.ages()],
            1e-3 * self.period_ms,
        );
        let tissue = C::new(WALL_DAMPING_NSPM, -wall_npm / w);
        // the hand feels its own handle too, which is no part of the port's force
        let felt = Hybrid::at(&chain, &HANDLE, &free.body, w).felt(tissue) - HANDLE.impedance(w);
        self.closed = Some(formula);
        self.frequency = Some(two_port::stiffness_npm(felt, w));
        self
    }

    fn line(self, seed: u64) -> Result<Self, ConfigError> {
        let mut point = self.line_by_formula();
        let hz = session::slow_hz(point.rtt_s());
        let oneway_ms = point.oneway_ms.unwrap_or(0.0);
        let coupled = point.coupled([oneway_ms; 2], point.b_nspm.unwrap_or(1.0), seed);
        point.time = session::displayed_npm(&coupled, point.wall_npm.unwrap_or(0.0), hz)?;
        Ok(point)
    }

    fn wall(mut self) -> Result<Self, ConfigError> {
        let (b_nspm, period_s) = (self.b_nspm.unwrap_or(0.0), 1e-3 * self.period_ms);
        let late_periods = (2.0 * self.oneway_ms.unwrap_or(0.0) / self.period_ms).round() as usize;
        let wall = Wall {
            damping_nspm: b_nspm,
            period_s,
            late_periods,
        };
        let loop_s = wall.loop_s();
        self.closed = Some(closed::wall_npm_max(b_nspm, period_s, loop_s));
        let swept = two_port::wall_npm_max(b_nspm, period_s, loop_s);
        self.frequency = Some(swept);
        // of one port, what any hand bears is what the sweep finds
        self.absolute = Some(swept);
        self.root = sampled::largest(SOUGHT_NPM.0, SOUGHT_NPM.1, |npm| Ok(wall.grows(npm)))?;
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
            let ages = split(rtt)
                .map(|ticks| Ages::of(f64::from(ticks) * period_ms, self.jitter_ms, period_ms));
            channel(Law::Direct, &slave, ages, period_s)
        };
        let limit = |grows: &dyn Fn(u16) -> Result<bool, ConfigError>| {
            sampled::oneway_ms_max(grows, RTT_TICKS_MAX, period_ms)
        };
        let root = limit(&|rtt| Ok(Loop::new(chain(rtt), &hand, &slave.body).grows()))?;
        let unbound = |rtt| Ok(llewellyn::unstable_hz(&chain(rtt), &HANDLE, &free).is_some());
        let absolute = limit(&unbound)?;
        let time = limit(&|rtt| {
            let oneway_ms = split(rtt).map(|ticks| f64::from(ticks) * period_ms);
            session::swings(&self.coupled(oneway_ms, 1.0, seed), self.tissue(), grip)
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
            // what is not absolutely stable with the least delay is with none
            absolute: absolute.or(Some(0.0)),
            ..self
        })
    }

    fn ends(self, seed: u64) -> Result<Self, ConfigError> {
        let (hand, grip) = self.hand();
        let (period_s, ages) = (1e-3 * self.period_ms, self.ages());
        let slave = pulled(self.slave_npm(), self.wall_npm.unwrap_or(0.0));
        let free = pulled(self.slave_npm(), 0.0).body;
        let chain = |b_nspm| {
            let ages = [ages.clone(), ages.clone()];
            channel(Law::Wave { b_nspm }, &slave, ages, period_s)
        };
        let limit = |range: (f64, f64), grows: &dyn Fn(f64) -> Result<bool, ConfigError>| {
            sampled::largest(range.0, range.1, grows)
        };
        let root = limit(SOUGHT_NSPM, &|b| {
            Ok(Loop::new(chain(b), &hand, &slave.body).grows())
        })?;
        let unbound = |b| Ok(llewellyn::unstable_hz(&chain(b), &HANDLE, &free).is_some());
        let absolute = limit(BOUND_NSPM, &unbound)?;
        let oneway_ms = [self.oneway_ms.unwrap_or(0.0); 2];
        let time = limit(SOUGHT_NSPM, &|b| {
            let coupled = self.coupled(oneway_ms, b, seed);
            Ok(session::roughness_n(&coupled, self.tissue(), grip)? > session::ROUGH_N)
        })?;
        let closed = closed::impedance_nspm_max(hand.mass_kg, slave.damping_nspm, period_s);
        Ok(Self {
            closed: Some(closed),
            root,
            time,
            absolute: absolute.or(Some(0.0)),
            ..self
        })
    }

    fn mode(&self) -> Mode {
        Mode::named(self.mode).unwrap_or_default()
    }

    fn slave_npm(&self) -> f64 {
        self.slave_npm.unwrap_or(session::SLAVE_NPM)
    }

    fn ages(&self) -> Ages {
        Ages::of(
            self.oneway_ms.unwrap_or(0.0),
            self.jitter_ms,
            self.period_ms,
        )
    }

    /// Mean round trip of what is used \[s\].
    fn rtt_s(&self) -> f64 {
        2e-3 * self.period_ms * self.ages().mean()
    }

    /// How much later than the least delay a frame is used in the mean \[s\].
    fn late_by_jitter_s(&self) -> f64 {
        let settled_ms = 1e3;
        let mean = Ages::of(settled_ms, self.jitter_ms, self.period_ms).mean();
        1e-3 * (mean * self.period_ms - settled_ms)
    }

    fn tissue(&self) -> (f64, f64) {
        let npm = self.wall_npm.unwrap_or(0.0);
        (npm, if npm > 0.0 { WALL_DAMPING_NSPM } else { 0.0 })
    }

    fn hand(&self) -> (Body, Grip) {
        let grip = if self.grip == "light" {
            Grip::Light
        } else {
            Grip::Firm
        };
        let hand = grip.hand();
        let body = Body {
            mass_kg: HANDLE.mass_kg + hand.mass_kg,
            damping_nspm: HANDLE.damping_nspm + hand.damping_nspm,
            stiffness_npm: hand.stiffness_npm,
        };
        (body, grip)
    }

    fn coupled(&self, oneway_ms: [f64; 2], b_nspm: f64, seed: u64) -> Coupled {
        Coupled {
            mode: self.mode(),
            b_nspm,
            slave_npm: self.slave_npm(),
            oneway_ms,
            jitter_ms: self.jitter_ms,
            seed,
        }
    }
}

/// One-way delay beyond which no limit is sought \[ms\].
const ONEWAY_MS_MAX: f64 = 0.5 * RTT_TICKS_MAX as f64;

/// A round trip in two ways, the way there the shorter if they differ \[ticks\].
fn split(rtt_ticks: u16) -> [u16; 2] {
    [rtt_ticks / 2, rtt_ticks - rtt_ticks / 2]
}

/// RP-1's handle, nobody on it.
const HANDLE: Body = Body {
    mass_kg: mass::MASS_KG,
    damping_nspm: mass::DAMPING_NSPM,
    stiffness_npm: 0.0,
};

/// RP-1's robot behind its controller, at a wall or in the air (0 N/m).
fn pulled(slave_npm: f64, wall_npm: f64) -> Pulled {
    let touching = if wall_npm > 0.0 {
        WALL_DAMPING_NSPM
    } else {
        0.0
    };
    Pulled {
        stiffness_npm: slave_npm,
        damping_nspm: session::slave_nspm(slave_npm),
        body: Body {
            mass_kg: robot::MASS_KG,
            damping_nspm: robot::DAMPING_NSPM + touching,
            stiffness_npm: wall_npm,
        },
    }
}
