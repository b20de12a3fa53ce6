//! Transparency: impedance displayed at the handle against frequency, compared with the true one.
//!
//! Source: teleop section 7 (`Z_to(jw)` by multisine, 0.2 to 30 Hz, dB and degrees, plus free and locked)
//! and E13. The handle is moved through tones of equal velocity; force and velocity at each tone yield
//! `Z = F / v`. *Free*: the robot has no contact. *Locked*: a stiff spring holds its probe. *Contact*:
//! it rests in the tissue; the true impedance is that of a copy of the tissue under the same motion.
//! A whole number of periods of every tone is analysed, so no window is needed.

use nalgebra::Complex;
use palpate_session::config::{Config, ConfigError};
use palpate_session::lab::{self, VirtualSession};
use palpate_session::traced_handle::{OperatorIntent, TraceTracking, TracedHandle};
use palpate_slave::robot::{self, Environment, FreeSpace, Probe};
use palpate_transport::clock::PERIOD;
use palpate_transport::{AXES, Axes};
use serde::{Deserialize, Serialize};

use crate::messages::{within, wrong};

/// Spring that holds a locked probe \[N/m\]: fifty times the robot's own coupling.
const LOCKED_NPM: f64 = 1e5;

/// Damper beside that spring \[N s/m\].
const LOCKED_NSPM: f64 = 100.0;

/// Tones and depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToneSweep {
    /// Tones \[Hz\], whole multiples of a tenth.
    pub hz: Vec<f64>,
    /// Amplitude of each tone's velocity \[m/s\].
    pub speed_mps: f64,
    /// Depth of the probe below first contact, in contact \[m\].
    pub depth_m: f64,
    /// Time before the analysis \[s\].
    pub settle_s: f64,
}

impl Default for ToneSweep {
    fn default() -> Self {
        Self {
            hz: vec![0.2, 0.5, 1.1, 2.3, 4.7, 9.7, 15.1, 29.9],
            speed_mps: 0.002,
            depth_m: 0.008,
            settle_s: 4.0,
        }
    }
}

/// Analysed time \[s\]: a whole number of periods of every multiple of a tenth of a hertz.
const ANALYSED_S: f64 = 10.0;

impl ToneSweep {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let expected = "1 to 32 different tones from 0.1 to 100 Hz, whole multiples of 0.1";
        let good = |hz: f64| {
            let tenths = hz * ANALYSED_S;
            (0.1..=100.0).contains(&hz) && (tenths - tenths.round()).abs() < 1e-9
        };
        let rising = self.hz.windows(2).all(|pair| pair[0] < pair[1]);
        if !(1..=32).contains(&self.hz.len()) || !rising || !self.hz.iter().all(|&hz| good(hz)) {
            let found = format!("{:?}", self.hz);
            return Err(wrong("transparency.hz", found, expected));
        }
        within("transparency.speed_mps", self.speed_mps, 1e-5..=0.05, "m/s")?;
        within("transparency.depth_m", self.depth_m, 0.0..=0.05, "m")?;
        within("transparency.settle_s", self.settle_s, 0.5..=60.0, "s")
    }
}

/// Impedance at one frequency \[N s/m\]: its real part is damping, its imaginary part inertia above 0, stiffness below.
pub(crate) type Impedance = Complex<f64>;

/// Size of an impedance \[N s/m\].
pub(crate) fn size(of: Impedance) -> f64 {
    libm::hypot(of.re, of.im)
}

/// Size relative to that of another \[dB\].
pub(crate) fn db_over(one: Impedance, other: Impedance) -> f64 {
    20.0 * libm::log10(size(one) / size(other))
}

/// Phase relative to that of another \[degrees\], -180 to 180.
pub(crate) fn degrees_over(one: Impedance, other: Impedance) -> f64 {
    let turned = one * other.conj();
    libm::atan2(turned.im, turned.re).to_degrees()
}

/// Result of one tone.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Tone {
    /// Displayed impedance without contact.
    pub free: Impedance,
    /// Displayed impedance with a locked probe.
    pub locked: Impedance,
    /// Displayed impedance in contact with the tissue.
    pub contact: Impedance,
    /// Impedance of the tissue itself.
    pub truth: Impedance,
}

/// Measures a condition in three sessions.
///
/// # Errors
/// [`ConfigError`] if a session cannot be built.
pub(crate) fn measure(config: &Config, sweep: &ToneSweep) -> Result<Vec<Tone>, ConfigError> {
    let contact_m = match config.tissue.as_str() {
        "free" => robot::environment::WALL_Z_M,
        _ => lab::contact_m(config),
    };
    let above_m = contact_m + 0.05;
    let free = displayed_impedance(config, sweep, above_m, Box::new(FreeSpace))?;
    let clamp = Clamp {
        at_m: [0.0, 0.0, above_m],
        stored_j: 0.0,
    };
    let locked = displayed_impedance(config, sweep, above_m, Box::new(clamp))?;
    let at_m = contact_m - sweep.depth_m;
    let contact = displayed_impedance(config, sweep, at_m, lab::build_environment(config)?)?;
    let truth = tissue_impedance(sweep, at_m, lab::build_environment(config)?);
    let tone = |k: usize| Tone {
        free: free[k],
        locked: locked[k],
        contact: contact[k],
        truth: truth[k],
    };
    Ok((0..sweep.hz.len()).map(tone).collect())
}

/// Environment that holds the probe from all sides.
struct Clamp {
    at_m: [f64; 3],
    stored_j: f64,
}

impl Environment for Clamp {
    fn step(&mut self, probe: &Probe, _dt_s: f64) -> Axes {
        let mut force_n = [0.0; AXES];
        self.stored_j = 0.0;
        for (axis, force_n) in force_n.iter_mut().enumerate().take(3) {
            let off_m = self.at_m[axis] - probe.position_m[axis];
            *force_n = LOCKED_NPM * off_m - LOCKED_NSPM * probe.velocity_mps[axis];
            self.stored_j += 0.5 * LOCKED_NPM * off_m * off_m;
        }
        force_n
    }

    fn energy_j(&self) -> f64 {
        self.stored_j
    }
}

/// Height of the handle at a time \[m\]: tones of equal velocity whose phases keep the crest factor low
/// (Schroeder 1970), faded in.
fn height_m(sweep: &ToneSweep, middle_m: f64, at_s: f64) -> f64 {
    let count = sweep.hz.len() as f64;
    let fade = (2.0 * at_s / sweep.settle_s).min(1.0);
    let tone = |(k, hz): (usize, &f64)| {
        let k = k as f64;
        let turns = hz * at_s - 0.5 * k * (k + 1.0) / count;
        let angle = core::f64::consts::TAU * (turns - libm::floor(turns));
        sweep.speed_mps / (core::f64::consts::TAU * hz) * libm::sin(angle)
    };
    middle_m + fade * sweep.hz.iter().enumerate().map(tone).sum::<f64>()
}

fn ticks(sweep: &ToneSweep) -> u32 {
    ((sweep.settle_s + ANALYSED_S) / PERIOD.s()).round() as u32
}

/// Impedance displayed through the channel at every tone, in front of `world`.
fn displayed_impedance(
    config: &Config,
    sweep: &ToneSweep,
    middle_m: f64,
    world: Box<dyn Environment>,
) -> Result<Vec<Impedance>, ConfigError> {
    let intent = |tick: u32| OperatorIntent {
        position_m: [
            0.0,
            0.0,
            height_m(sweep, middle_m, f64::from(tick) * PERIOD.s()),
            0.02,
        ],
        present: true,
        ..OperatorIntent::default()
    };
    let trace: Vec<OperatorIntent> = (0..=ticks(sweep)).map(intent).collect();
    let mut config = config.clone();
    config.duration_s = f64::from(ticks(sweep)) * PERIOD.s();
    config.robot.start_m = trace[0].position_m;
    // the robot starts in pressed tissue, which returns energy that the handle did not put in
    config.coupling.active_j_max = 100.0;
    // the tones are a vibration on purpose
    config.master.guard.limit_cycle_n = 100.0;
    let robot = robot::build(&config.robot, world, config.seed);
    let release_s = config.operator.force_timeout_s();
    let handle = TracedHandle::new(trace, TraceTracking::Prescribed, release_s);
    let twin = lab::predictor(&config, None)?;
    let mut session = VirtualSession::with_twin(&config, Box::new(handle), robot, twin)?;
    let (mut force, mut speed) = (Vec::new(), Vec::new());
    for _ in 0..ticks(sweep) {
        let master = session.step().master;
        speed.push(master.velocity_mps[2]);
        force.push(master.port_force_n[2]);
    }
    Ok(spectrum(sweep, &force, &speed))
}

/// Impedance of `world` itself under the handle's motion.
fn tissue_impedance(
    sweep: &ToneSweep,
    middle_m: f64,
    mut world: Box<dyn Environment>,
) -> Vec<Impedance> {
    const SUBSTEPS: u32 = 10;
    let step_s = PERIOD.s() / f64::from(SUBSTEPS);
    let (mut force, mut speed) = (Vec::new(), Vec::new());
    for tick in 0..ticks(sweep) {
        let mut pushed = 0.0;
        let mut rate = 0.0;
        for part in 0..SUBSTEPS {
            let at_s = (f64::from(tick) + f64::from(part) / f64::from(SUBSTEPS)) * PERIOD.s();
            let here = height_m(sweep, middle_m, at_s);
            rate = (height_m(sweep, middle_m, at_s + step_s) - here) / step_s;
            let probe = Probe {
                position_m: [0.0, 0.0, here, 0.02],
                velocity_mps: [0.0, 0.0, rate, 0.0],
                closed: false,
            };
            pushed = -world.step(&probe, step_s)[2];
        }
        force.push(pushed);
        speed.push(rate);
    }
    spectrum(sweep, &force, &speed)
}

/// `F / v` at every tone, over the last [`ANALYSED_S`].
fn spectrum(sweep: &ToneSweep, force: &[f64], speed: &[f64]) -> Vec<Impedance> {
    let count = (ANALYSED_S / PERIOD.s()).round() as usize;
    let from = force.len().saturating_sub(count);
    let bin = |signal: &[f64], hz: f64| {
        let mut sum = Impedance::default();
        for (k, value) in signal[from..].iter().enumerate() {
            let turns = hz * k as f64 * PERIOD.s();
            let angle = core::f64::consts::TAU * (turns - libm::floor(turns));
            let (sin, cos) = libm::sincos(angle);
            sum.re += value * cos;
            sum.im -= value * sin;
        }
        sum
    };
    let ratio = |&hz: &f64| bin(force, hz) / bin(speed, hz);
    sweep.hz.iter().map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use palpate_slave::robot::RobotKind;
    use palpate_transport::coupling::{ImpedanceMatching, Mode};

    use super::*;

    fn wave(rtt_ms: f64, tissue: &str) -> Config {
        let mut config = Config {
            tissue: tissue.into(),
            ..Config::default()
        };
        config.coupling.mode = Mode::Wave;
        config.coupling.matching = ImpedanceMatching::None;
        config.robot.kind = RobotKind::Mass;
        for link in [&mut config.link.forward, &mut config.link.back] {
            (link.oneway_ms, link.jitter_ms, link.loss) = (0.5 * rtt_ms, 0.0, 0.0);
        }
        config
    }

    fn sweep() -> ToneSweep {
        ToneSweep {
            hz: vec![0.3, 0.7, 1.9],
            ..ToneSweep::default()
        }
    }

    /// teleop E3: a locked line is a spring 2 b / T in series with the robot's coupling; a free one an inertia b T /
    /// 2 plus the robot's mass. Without drift correction, which is no part of E3; virtual time adds no tick to the
    /// round trip.
    #[test]
    fn wave_line_is_a_spring_if_locked_and_a_mass_if_free() {
        let mut config = wave(80.0, "wall:300");
        config.coupling.drift_per_s = 0.0;
        let tones = measure(&config, &sweep()).expect("sessions");
        let omega = core::f64::consts::TAU * sweep().hz[0];
        let (expected, found) = (locked_npm(&config, 0.080), -tones[0].locked.im * omega);
        let error = found / expected - 1.0;
        assert!(error.abs() < 0.03, "{found} N/m, {expected}");
        let (inertia, mass) = (tones[0].free.im / omega, 0.5);
        // a line displays the robot's damper as less inertia: j w (b - d^2 / b) T / 2
        let (b, damping) = (b_nspm(&config), 3.0);
        let expected = 0.5 * (b - damping * damping / b) * 0.080 + mass;
        let error = inertia / expected - 1.0;
        assert!(error.abs() < 0.03, "{inertia} kg, {expected}");
    }

    /// Wave impedance along z \[N s/m\].
    fn b_nspm(config: &Config) -> f64 {
        config.coupling.impedance_nspm * config.coupling.impedance_ratio[2]
    }

    /// Springs in series: the line, the robot's coupling, and the clamp.
    fn locked_npm(config: &Config, trip_s: f64) -> f64 {
        let (slave_npm, b) = (config.slave.stiffness_npm[2], b_nspm(config));
        palpate_analysis::closed_form::displayed_npm(LOCKED_NPM, slave_npm, b, trip_s)
    }

    /// Cause of a locked line 6 % softer than E3: below 0.1 N the probe counts as free, and near
    /// zero force the drift correction treats the line's own deflection as drift.
    #[test]
    fn drift_correction_softens_a_line_at_small_forces() {
        let config = wave(80.0, "wall:300");
        let softening = |speed_mps: f64| {
            let sweep = ToneSweep {
                speed_mps,
                ..sweep()
            };
            let tones = measure(&config, &sweep).expect("sessions");
            let omega = core::f64::consts::TAU * sweep.hz[0];
            1.0 + tones[0].locked.im * omega / locked_npm(&config, 0.080)
        };
        let (slow, fast) = (softening(0.002), softening(0.01));
        assert!((0.03..0.1).contains(&slow), "{slow}");
        assert!(fast.abs() < 0.03, "{fast}");
    }

    /// True impedance of a wall with its own K and B: Z = B + K / (j w).
    #[test]
    fn true_impedance_is_that_of_the_tissue_and_a_short_line_displays_it() {
        let tones = measure(&wave(0.0, "wall:300"), &sweep()).expect("sessions");
        for (tone, hz) in tones.iter().zip(sweep().hz) {
            let omega = core::f64::consts::TAU * hz;
            let expected = Impedance {
                re: 2.0,
                im: -300.0 / omega,
            };
            assert!(db_over(tone.truth, expected).abs() < 0.1, "{tone:?}");
            assert!(degrees_over(tone.truth, expected).abs() < 3.0, "{tone:?}");
        }
        // the robot's coupling is a spring of 2000 N/m in series: 300 becomes 261
        let error_db = db_over(tones[0].contact, tones[0].truth);
        assert!((error_db + 1.2).abs() < 0.4, "{error_db} dB");
    }

    #[test]
    fn invalid_tones_are_refused() {
        assert_eq!(ToneSweep::default().validate(), Ok(()));
        for (hz, good) in [
            (vec![], false),
            (vec![0.25], false),
            (vec![2.0, 1.0], false),
        ] {
            let sweep = ToneSweep {
                hz,
                ..ToneSweep::default()
            };
            assert_eq!(sweep.validate().is_ok(), good);
        }
    }
}
