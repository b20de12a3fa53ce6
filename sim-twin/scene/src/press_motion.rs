//! Presses of a rigid ball on any tissue of a scene: slow, at a rate, held, dragged, or shaken.
//!
//! Source: ours. The tissue is stepped as a session steps it. A slow press descends smoothly and waits; others descend
//! at constant speed. The truth of a slow press on a block is static (`Scene::converged_force`). The truth of the
//! others is the same motion on the implicit solver, with a mesh graded from the contact. If block and press are
//! symmetric, only a half or a quarter of the block is meshed.
//!
//! The mean force of a tick belongs to the depth in its middle.

use super::block::{Block, SAMPLES};
use super::converged_press::BallPress;
use super::press::{PRESS_S, minimum_jerk};
use super::{Scene, SceneBody, SceneError};
use palpate_fem::implicit::{ImplicitParams, ImplicitTissue};
use palpate_geometry::mesh::hex::BlockSide;
use palpate_geometry::mesh::region::RegionFractions;
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};
use std::f64::consts::TAU;

/// Stiffness of the ball's boundary \[N/m\]: it is rigid beside any tissue.
const RIGID_NPM: f64 = 1e9;
/// Tick of a session \[s\].
const TICK_S: f64 = 1e-3;
/// Amplitude of a sine over the depth.
const SINE_SHARE: f64 = 0.1;
/// Periods of a sine, of which the last two are evaluated.
const SINE_PERIODS: f64 = 4.0;
/// Least duration of a sine \[s\]; its amplitude grows smoothly over the first half.
const SINE_S: f64 = 1.0;
/// Least number of steps in a period of a sine.
const SINE_STEPS: f64 = 64.0;
/// Part of the depth over which the stiffness is measured.
const SLOPE_SHARE: f64 = 0.05;

/// Motion of the ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PressMotion {
    /// Smooth descent and a wait; the force is that at rest.
    Slow,
    /// Descent at a speed \[m/s\]; the force is that on arrival.
    Rate {
        /// Speed \[m/s\].
        speed_mps: f64,
    },
    /// Descent at a speed, and a wait; the force is that at its end.
    Hold {
        /// Speed \[m/s\].
        speed_mps: f64,
        /// Duration of the wait \[s\].
        hold_s: f64,
    },
    /// Slow press, then a way along x; the force is the mean of the way.
    Drag {
        /// Speed \[m/s\].
        speed_mps: f64,
        /// Length of the way \[m\].
        length_m: f64,
    },
    /// Slow press, then a sine about the depth with a tenth of it as amplitude; the force is its mean.
    Sine {
        /// Frequency \[Hz\].
        frequency_hz: f64,
    },
}

impl PressMotion {
    /// Presses a tissue at rest with a rigid ball, in steps of a session.
    pub fn press(self, tissue: &mut dyn Tissue, press: &BallPress) -> PressRun {
        let dt_s = TICK_S.min(tissue.caps().dt_s_max);
        Driver::new(tissue, press, dt_s, 1.0).run(self)
    }

    /// Name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Rate { .. } => "rate",
            Self::Hold { .. } => "hold",
            Self::Drag { .. } => "drag",
            Self::Sine { .. } => "sine",
        }
    }
}

/// Instant of a press.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PressSample {
    /// Time \[s\].
    pub time_s: f64,
    /// Depth \[m\].
    pub depth_m: f64,
    /// Force on the ball \[N\].
    pub force_n: Vec3,
}

/// Result of a press.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PressRun {
    /// Force along z, as [`PressMotion`] says \[N\].
    pub force_n: f64,
    /// Slope of the force against depth \[N/m\]; of a sine the ratio of the amplitudes.
    pub stiffness_npm: Option<f64>,
    /// Error of the force, as the tissue estimates it \[N\].
    pub error_n: Option<f64>,
    /// Lead of the force before the depth in a sine \[degrees\].
    pub phase_deg: Option<f64>,
    /// Standard deviation of the force along a drag \[N\].
    pub ripple_n: Option<f64>,
    /// Mean force against the motion along a drag \[N\].
    pub friction_n: Option<f64>,
    /// All ticks.
    pub samples: Vec<PressSample>,
}

impl Scene {
    /// Presses a separate tissue of this scene with a rigid ball.
    ///
    /// # Errors
    /// If no tissue can be built.
    pub fn press(&self, press: &BallPress, motion: PressMotion) -> Result<PressRun, SceneError> {
        let scene = self.clone().with_tool(press.radius_m, RIGID_NPM);
        if motion == PressMotion::Slow {
            let (mut tissue, dt_s) = scene.build_for_presses()?;
            return Ok(Driver::new(tissue.as_mut(), press, dt_s, 1.0).run(motion));
        }
        Ok(motion.press(scene.build()?.as_mut(), press))
    }

    /// Truth of a press: the converged force of a slow one, else the same motion on a finer mesh. None for a scene that
    /// is no block.
    ///
    /// # Errors
    /// If no mesh can be created, or no equilibrium is found.
    pub fn press_truth(
        &self,
        press: &BallPress,
        motion: PressMotion,
    ) -> Result<Option<PressRun>, SceneError> {
        let SceneBody::Block(block) = &self.body else {
            return Ok(None);
        };
        if motion == PressMotion::Slow {
            let found = self.converged_force(press)?;
            return Ok(found.map(|found| PressRun {
                force_n: found.force_n,
                error_n: Some(found.spread_n),
                ..PressRun::default()
            }));
        }
        block.moving_truth(press, motion).map(Some)
    }
}

impl Block {
    fn moving_truth(&self, press: &BallPress, motion: PressMotion) -> Result<PressRun, SceneError> {
        // a way along x leaves the plane of symmetry
        let mut mirrors = self.mirrors(press.at_m);
        if let PressMotion::Drag { .. } = motion {
            mirrors.retain(|side| *side == BlockSide::YMin);
        }
        let mesh = self.mesh_around(press, &mirrors)?;
        let regions = self.regions();
        let shares = RegionFractions::sample(&mesh, &regions, SAMPLES)?;
        let materials = shares.cell_materials(&regions, self.mixing);
        let params = ImplicitParams {
            damping_per_s: self.params.damping_per_s,
            ..ImplicitParams::default()
        };
        let tissue = ImplicitTissue::new(&mesh, self.params.law, &materials, &params)?;
        let mut tissue = tissue.with_mirrors(&mesh, &mirrors);
        let parts = f64::from(1_u32 << mirrors.len().min(2));
        let dt_s = match motion {
            PressMotion::Sine { frequency_hz } => TICK_S.min(1.0 / (SINE_STEPS * frequency_hz)),
            _ => TICK_S,
        };
        Ok(Driver::new(&mut tissue, press, dt_s, parts).run(motion))
    }
}

/// Ball that moves step by step.
struct Driver<'a> {
    tissue: &'a mut dyn Tissue,
    press: BallPress,
    dt_s: f64,
    /// Number of symmetric parts of the block of which one is meshed: the factor on its forces.
    parts: f64,
    depth_m: f64,
    x_m: f64,
    error_n: Option<f64>,
    samples: Vec<PressSample>,
}

impl<'a> Driver<'a> {
    fn new(tissue: &'a mut dyn Tissue, press: &BallPress, dt_s: f64, parts: f64) -> Self {
        Self {
            tissue,
            press: *press,
            dt_s,
            parts,
            depth_m: 0.0,
            x_m: 0.0,
            error_n: None,
            samples: Vec::new(),
        }
    }

    fn steps(&self, time_s: f64) -> usize {
        // times of a press are seconds, so the number is small
        (time_s / self.dt_s).ceil().clamp(1.0, 1e7) as usize
    }

    /// Moves to a depth and a place in one step.
    fn step(&mut self, depth_m: f64, x_m: f64) {
        let [at_x_m, at_y_m] = self.press.at_m;
        let velocity = Vec3::new(x_m - self.x_m, 0.0, self.depth_m - depth_m) / self.dt_s;
        let tool = Tool {
            position_m: Vec3::new(at_x_m + x_m, at_y_m, self.press.radius_m - depth_m),
            velocity_mps: velocity,
            radius_m: self.press.radius_m,
            stiffness_npm: RIGID_NPM,
            shaft_m: Vec3::zeros(),
            side_m: Vec3::zeros(),
            jaws: None,
            instrument: Instrument::Blunt,
        };
        let mut reaction = [Reaction::default()];
        self.tissue.step(&[tool], self.dt_s, &mut reaction);
        let [reaction] = reaction;
        self.error_n = reaction.mesh_error_n.map(|error_n| self.parts * error_n);
        self.samples.push(PressSample {
            time_s: self.dt_s * (self.samples.len() as f64 + 0.5),
            depth_m: 0.5 * (self.depth_m + depth_m),
            force_n: reaction.force_n * self.parts,
        });
        (self.depth_m, self.x_m) = (depth_m, x_m);
    }

    /// Moves smoothly to a depth, waits, and returns the mean force of the second half of the wait.
    fn settle(&mut self, depth_m: f64) -> f64 {
        let (from_m, steps) = (self.depth_m, self.steps(PRESS_S));
        for step in 1..=2 * steps {
            let (share, _) = minimum_jerk((step as f64 / steps as f64).min(1.0));
            self.step(from_m + share * (depth_m - from_m), self.x_m);
        }
        self.mean_n(steps / 2)
    }

    /// Moves to a depth at a constant speed.
    fn descend(&mut self, depth_m: f64, speed_mps: f64) {
        let (from_m, steps) = (
            self.depth_m,
            self.steps((depth_m - self.depth_m) / speed_mps),
        );
        for step in 1..=steps {
            let share = step as f64 / steps as f64;
            self.step(from_m + share * (depth_m - from_m), self.x_m);
        }
    }

    fn last(&self, count: usize) -> &[PressSample] {
        &self.samples[self.samples.len() - count.clamp(1, self.samples.len())..]
    }

    /// Mean force along z of the last steps \[N\].
    fn mean_n(&self, count: usize) -> f64 {
        let last = self.last(count);
        last.iter().map(|sample| sample.force_n.z).sum::<f64>() / last.len() as f64
    }

    fn run(mut self, motion: PressMotion) -> PressRun {
        let depth_m = self.press.depth_m;
        let mut run = PressRun::default();
        match motion {
            PressMotion::Slow => {
                run.force_n = self.settle(depth_m);
                run.error_n = self.error_n;
                let kept = self.samples.clone();
                let above_n = self.settle((1.0 - SLOPE_SHARE) * depth_m);
                run.stiffness_npm = Some((run.force_n - above_n) / (SLOPE_SHARE * depth_m));
                self.samples = kept;
            }
            PressMotion::Rate { speed_mps } => {
                self.descend(depth_m, speed_mps);
                run.force_n = self.mean_n(1);
                run.error_n = self.error_n;
                run.stiffness_npm = self.slope_npm();
            }
            PressMotion::Hold { speed_mps, hold_s } => {
                self.descend(depth_m, speed_mps);
                run.stiffness_npm = self.slope_npm();
                for _ in 0..self.steps(hold_s) {
                    self.step(depth_m, self.x_m);
                }
                run.force_n = self.mean_n(self.steps(0.02 * hold_s));
                run.error_n = self.error_n;
            }
            PressMotion::Drag {
                speed_mps,
                length_m,
            } => self.drag(depth_m, speed_mps, length_m, &mut run),
            PressMotion::Sine { frequency_hz } => self.sine(depth_m, frequency_hz, &mut run),
        }
        run.samples = self.samples;
        run
    }

    /// Slope of the last part of a descent \[N/m\].
    fn slope_npm(&self) -> Option<f64> {
        let last = self.samples.last()?;
        let from_m = (1.0 - 4.0 * SLOPE_SHARE) * last.depth_m;
        let first = self
            .samples
            .iter()
            .find(|sample| sample.depth_m >= from_m)?;
        let slope_npm = (last.force_n.z - first.force_n.z) / (last.depth_m - first.depth_m);
        slope_npm.is_finite().then_some(slope_npm)
    }

    fn drag(&mut self, depth_m: f64, speed_mps: f64, length_m: f64, run: &mut PressRun) {
        self.settle(depth_m);
        let steps = self.steps(length_m / speed_mps);
        for step in 1..=steps {
            self.step(depth_m, length_m * step as f64 / steps as f64);
        }
        // without the start, whose jerk rings
        let count = 3 * steps / 4;
        run.force_n = self.mean_n(count);
        run.error_n = self.error_n;
        let last = self.last(count);
        let squares = last.iter().map(|s| (s.force_n.z - run.force_n).powi(2));
        run.ripple_n = Some((squares.sum::<f64>() / last.len() as f64).sqrt());
        run.friction_n = Some(-last.iter().map(|s| s.force_n.x).sum::<f64>() / last.len() as f64);
    }

    fn sine(&mut self, depth_m: f64, frequency_hz: f64, run: &mut PressRun) {
        self.settle(depth_m);
        let amplitude_m = SINE_SHARE * depth_m;
        let turn = TAU * frequency_hz * self.dt_s;
        let steps = self.steps((SINE_PERIODS / frequency_hz).max(SINE_S));
        let begin = self.samples.len();
        for step in 1..=steps {
            let (sine, _) = libm::sincos(turn * step as f64);
            // a sudden start would excite waves that tissue without viscosity keeps
            let (grown, _) = minimum_jerk((2.0 * step as f64 / steps as f64).min(1.0));
            self.step(depth_m + grown * amplitude_m * sine, self.x_m);
        }
        let count = self.steps(2.0 / frequency_hz);
        run.force_n = self.mean_n(count);
        run.error_n = self.error_n;
        // components of the force in phase with the depth, and a quarter of a period before it
        // the depth of a sample is the mean of both ends of a step: its amplitude is smaller by cos(turn / 2)
        let (mut with, mut before) = (0.0, 0.0);
        let from = self.samples.len() - count;
        for (index, sample) in self.samples.iter().enumerate().skip(from) {
            let (sine, cosine) = libm::sincos(turn * ((index - begin) as f64 + 0.5));
            with += (sample.force_n.z - run.force_n) * sine;
            before += (sample.force_n.z - run.force_n) * cosine;
        }
        let scale = 2.0 / count as f64 / (amplitude_m * libm::cos(0.5 * turn));
        run.phase_deg = Some(libm::atan2(before, with).to_degrees());
        run.stiffness_npm = Some(libm::hypot(with, before) * scale);
    }
}
