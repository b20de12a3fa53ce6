//! Transparency: impedance at the handle against frequency, beside what is really there.
//!
//! Source: teleop section 7 (`Z_to(jw)` by multisine, 0.2 to 30 Hz, dB and degrees, plus free and locked)
//! and E13. The handle is carried through tones of equal velocity; force and velocity at each tone give
//! `Z = F / v`. *Free*: the robot touches nothing. *Locked*: its probe is held by a stiff spring. *Contact*:
//! it rests in the tissue; beside it a copy of the tissue is moved as the handle was, which is the truth.
//! A whole number of periods of every tone is analysed, so no window is needed.

use palpate_session::config::{Config, ConfigError};
use palpate_session::hand::{Hold, Meant, TracedHandle};
use palpate_session::lab::{self, Session};
use palpate_slave::robot::{self, Environment, Free, Probe};
use palpate_transport::clock::PERIOD;
use palpate_transport::{AXES, Axes};
use serde::{Deserialize, Serialize};

use super::psycho::WrongField;

/// Spring that holds a locked probe \[N/m\]: fifty times the robot's own coupling.
const LOCKED_NPM: f64 = 1e5;

/// Damper beside it \[N s/m\].
const LOCKED_NSPM: f64 = 100.0;

/// Which tones, and how deep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sweep {
    /// Tones \[Hz\], whole multiples of a tenth.
    pub hz: Vec<f64>,
    /// Amplitude of each tone's velocity \[m/s\].
    pub speed_mps: f64,
    /// Depth of the probe below first contact, in contact \[m\].
    pub depth_m: f64,
    /// Time before the analysis \[s\].
    pub settle_s: f64,
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            hz: vec![0.2, 0.5, 1.1, 2.3, 4.7, 9.7, 15.1, 29.9],
            speed_mps: 0.002,
            depth_m: 0.008,
            settle_s: 4.0,
        }
    }
}

/// Time that is analysed \[s\]: a whole number of periods of every multiple of a tenth of a hertz.
const ANALYSED_S: f64 = 10.0;

impl Sweep {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that is out of its range.
    pub fn validate(&self) -> Result<(), WrongField> {
        let expected = "1 to 32 different tones from 0.1 to 100 Hz, whole multiples of 0.1";
        let good = |hz: f64| {
            let tenths = hz * ANALYSED_S;
            (0.1..=100.0).contains(&hz) && (tenths - tenths.round()).abs() < 1e-9
        };
        let rising = self.hz.windows(2).all(|pair| pair[0] < pair[1]);
        if !(1..=32).contains(&self.hz.len()) || !rising || !self.hz.iter().all(|&hz| good(hz)) {
            return Err(("transparency.hz", format!("{:?}", self.hz), expected));
        }
        let rows = [
            (
                "transparency.speed_mps",
                self.speed_mps,
                (1e-5, 0.05),
                "0.00001 to 0.05 m/s",
            ),
            (
                "transparency.depth_m",
                self.depth_m,
                (0.0, 0.05),
                "0 to 0.05 m",
            ),
            (
                "transparency.settle_s",
                self.settle_s,
                (0.5, 60.0),
                "0.5 to 60 s",
            ),
        ];
        for (field, value, (low, high), expected) in rows {
            if !(low..=high).contains(&value) {
                return Err((field, value.to_string(), expected));
            }
        }
        Ok(())
    }
}

/// An impedance at one frequency, as a complex number \[N s/m\].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Impedance {
    /// Real part: what is lost.
    pub re: f64,
    /// Imaginary part: inertia above 0, stiffness below.
    pub im: f64,
}

impl Impedance {
    /// Size \[N s/m\].
    #[must_use]
    pub fn size(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    /// Size over that of another \[dB\].
    #[must_use]
    pub(crate) fn db_over(self, other: Self) -> f64 {
        20.0 * libm::log10(self.size() / other.size())
    }

    /// Phase beyond that of another \[degrees\], -180 to 180.
    #[must_use]
    pub(crate) fn degrees_over(self, other: Self) -> f64 {
        // self times the conjugate of other
        let re = self.re * other.re + self.im * other.im;
        let im = self.im * other.re - self.re * other.im;
        libm::atan2(im, re).to_degrees()
    }
}

/// What one tone found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tone {
    /// Frequency \[Hz\].
    pub hz: f64,
    /// Felt while the robot touches nothing.
    pub free: Impedance,
    /// Felt while the probe is held.
    pub locked: Impedance,
    /// Felt in contact with the tissue.
    pub contact: Impedance,
    /// What the tissue itself is there.
    pub truth: Impedance,
}

/// Measures a condition: three sessions.
///
/// # Errors
/// [`ConfigError`] if a session cannot be built.
pub fn measure(config: &Config, sweep: &Sweep) -> Result<Vec<Tone>, ConfigError> {
    let wall = config.tissue.starts_with("wall:") || config.tissue == "free";
    let contact_m = match wall {
        true => robot::environment::WALL_Z_M,
        false => config.master.predict.tool_radius_m,
    };
    let above_m = contact_m + 0.05;
    let free = felt(config, sweep, above_m, Box::new(Free))?;
    let clamp = Clamp {
        at_m: [0.0, 0.0, above_m],
        stored_j: 0.0,
    };
    let locked = felt(config, sweep, above_m, Box::new(clamp))?;
    let at_m = contact_m - sweep.depth_m;
    let contact = felt(config, sweep, at_m, lab::build_environment(config)?)?;
    let truth = alone(sweep, at_m, lab::build_environment(config)?);
    let tones = sweep.hz.iter().enumerate();
    Ok(tones
        .map(|(k, &hz)| Tone {
            hz,
            free: free[k],
            locked: locked[k],
            contact: contact[k],
            truth: truth[k],
        })
        .collect())
}

/// A probe held from all sides.
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

/// Height of the handle at a moment \[m\]: tones of equal velocity whose phases keep the crest low
/// (Schroeder 1970), faded in.
fn height_m(sweep: &Sweep, middle_m: f64, at_s: f64) -> f64 {
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

fn ticks(sweep: &Sweep) -> u32 {
    ((sweep.settle_s + ANALYSED_S) / PERIOD.s()).round() as u32
}

/// Impedance felt through the channel at every tone, in front of `world`.
fn felt(
    config: &Config,
    sweep: &Sweep,
    middle_m: f64,
    world: Box<dyn Environment>,
) -> Result<Vec<Impedance>, ConfigError> {
    let meant = |tick: u32| Meant {
        position_m: [
            0.0,
            0.0,
            height_m(sweep, middle_m, f64::from(tick) * PERIOD.s()),
            0.02,
        ],
        present: true,
        ..Meant::default()
    };
    let trace: Vec<Meant> = (0..=ticks(sweep)).map(meant).collect();
    let mut config = config.clone();
    config.duration_s = f64::from(ticks(sweep)) * PERIOD.s();
    config.robot.start_m = trace[0].position_m;
    let robot = robot::build(&config.robot, world, config.seed);
    let handle = TracedHandle::new(trace, Hold::Carried).letting_go(config.operator.lets_go_s());
    let twin = lab::predictor(&config)?;
    let mut session = Session::with_twin(&config, Box::new(handle), robot, twin)?;
    let (mut force, mut speed) = (Vec::new(), Vec::new());
    for _ in 0..ticks(sweep) {
        let master = session.step().master;
        speed.push(master.velocity_mps[2]);
        force.push(master.port_force_n[2]);
    }
    Ok(spectrum(sweep, &force, &speed))
}

/// Impedance of `world` itself, moved as the handle is.
fn alone(sweep: &Sweep, middle_m: f64, mut world: Box<dyn Environment>) -> Vec<Impedance> {
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
fn spectrum(sweep: &Sweep, force: &[f64], speed: &[f64]) -> Vec<Impedance> {
    let count = (ANALYSED_S / PERIOD.s()).round() as usize;
    let from = force.len().saturating_sub(count);
    let bin = |signal: &[f64], hz: f64| {
        let (mut re, mut im) = (0.0, 0.0);
        for (k, value) in signal[from..].iter().enumerate() {
            let turns = hz * k as f64 * PERIOD.s();
            let angle = core::f64::consts::TAU * (turns - libm::floor(turns));
            let (sin, cos) = libm::sincos(angle);
            re += value * cos;
            im -= value * sin;
        }
        (re, im)
    };
    let ratio = |&hz: &f64| {
        let ((fr, fi), (vr, vi)) = (bin(force, hz), bin(speed, hz));
        let power = vr * vr + vi * vi;
        Impedance {
            re: (fr * vr + fi * vi) / power,
            im: (fi * vr - fr * vi) / power,
        }
    };
    sweep.hz.iter().map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use palpate_slave::robot::RobotKind;
    use palpate_transport::coupling::{Matching, Mode};

    use super::*;

    fn wave(rtt_ms: f64, tissue: &str) -> Config {
        let mut config = Config {
            tissue: tissue.into(),
            ..Config::default()
        };
        config.coupling.mode = Mode::Wave;
        config.coupling.matching = Matching::None;
        config.robot.kind = RobotKind::Mass;
        for link in [&mut config.link.forward, &mut config.link.back] {
            (link.oneway_ms, link.jitter_ms, link.loss) = (0.5 * rtt_ms, 0.0, 0.0);
        }
        config
    }

    fn sweep() -> Sweep {
        Sweep {
            hz: vec![0.3, 0.7, 1.9],
            ..Sweep::default()
        }
    }

    /// teleop E3: locked a spring 2 b / T in series with the robot's coupling; free an inertia b T / 2
    /// with the robot's mass on top of it. Without drift correction, which is no part of E3; virtual time adds
    /// no tick to the round trip.
    #[test]
    fn a_wave_line_is_a_spring_when_locked_and_a_mass_when_free() {
        let mut config = wave(80.0, "wall:300");
        config.coupling.drift_rate_hz = 0.0;
        let tones = measure(&config, &sweep()).expect("sessions");
        let omega = core::f64::consts::TAU * tones[0].hz;
        let (expected, found) = (locked_npm(&config, 0.080), -tones[0].locked.im * omega);
        let error = found / expected - 1.0;
        assert!(error.abs() < 0.03, "{found} N/m, {expected}");
        let (inertia, mass) = (tones[0].free.im / omega, 0.5);
        // a line shows the robot's damper as less inertia: j w (b - d^2 / b) T / 2
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
        palpate_analysis::closed::displayed_npm(LOCKED_NPM, slave_npm, b, trip_s)
    }

    /// Why a locked line was once found 6 % softer than E3: below 0.1 N the probe counts as free, and where
    /// the force goes through zero the drift correction takes the line's own deflection for drift.
    #[test]
    fn drift_correction_softens_a_line_that_is_hardly_pushed() {
        let config = wave(80.0, "wall:300");
        let softer = |speed_mps: f64| {
            let sweep = Sweep {
                speed_mps,
                ..sweep()
            };
            let tones = measure(&config, &sweep).expect("sessions");
            let omega = core::f64::consts::TAU * tones[0].hz;
            1.0 + tones[0].locked.im * omega / locked_npm(&config, 0.080)
        };
        let (hardly, well) = (softer(0.002), softer(0.01));
        assert!((0.03..0.1).contains(&hardly), "{hardly}");
        assert!(well.abs() < 0.03, "{well}");
    }

    /// The truth of a wall is its own K and B: Z = B + K / (j w).
    #[test]
    fn the_truth_is_the_tissue_and_a_short_line_shows_it() {
        let tones = measure(&wave(0.0, "wall:300"), &sweep()).expect("sessions");
        for tone in &tones {
            let omega = core::f64::consts::TAU * tone.hz;
            let expected = Impedance {
                re: 2.0,
                im: -300.0 / omega,
            };
            assert!(tone.truth.db_over(expected).abs() < 0.1, "{tone:?}");
            assert!(tone.truth.degrees_over(expected).abs() < 3.0, "{tone:?}");
        }
        // the robot's coupling is a spring of 2000 N/m in series: 300 becomes 261
        let error_db = tones[0].contact.db_over(tones[0].truth);
        assert!((error_db + 1.2).abs() < 0.4, "{error_db} dB");
    }

    #[test]
    fn fields_are_checked() {
        assert_eq!(Sweep::default().validate(), Ok(()));
        for (hz, good) in [
            (vec![], false),
            (vec![0.25], false),
            (vec![2.0, 1.0], false),
        ] {
            let sweep = Sweep {
                hz,
                ..Sweep::default()
            };
            assert_eq!(sweep.validate().is_ok(), good);
        }
    }
}
