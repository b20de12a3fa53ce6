//! What was measured, made ready: motion without jitter, forces in bins, what each is worth.
//!
//! Source: smoothing by local parabolas (Savitzky and Golay 1964), errors in variables by the
//! effective variance (Orear 1982). A jittering pose must not drive a tissue that has inertia, hence
//! the smoothing; a bin is about as long as the window, so that errors of bins are independent.

use palpate_twin::Vec3;
use palpate_twin::scene::Scene;

use super::{Sample, TouchError};

/// Least number of samples.
pub(super) const SAMPLES_MIN: usize = 50;
/// Longest record \[s\]: a bound on what one run of the model costs.
pub(super) const LONGEST_S: f64 = 60.0;
/// Largest step between samples \[s\]: the tissue takes no longer ones.
const STEP_S_MAX: f64 = 0.01;
/// Half of the window of the smoothing \[s\].
const HALF_S: f64 = 0.015;
/// Length of a bin \[s\].
const BIN_S: f64 = 0.02;
/// How long the tissue still moves after the tool has left it \[s\]; after that it is at rest.
const RINGS_S: f64 = 0.25;
/// Gap above the surface within which the tissue is stepped, over the tool's radius.
const NEAR: f64 = 0.25;

/// What the instruments are good for, all as standard deviations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Noise of one force reading over the force, 0 to 1.
    pub force_share: f64,
    /// Noise of one force reading at rest \[N\], above 0.
    pub force_n: f64,
    /// Noise of one position \[m\], at least 0.
    pub pose_m: f64,
    /// Error that all forces of a record share, over the force, above 0 and at most 1.
    pub gain: f64,
    /// Error of height that all positions of a record share \[m\], above 0.
    pub height_m: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            force_share: 0.02,
            force_n: 0.01,
            pose_m: 50e-6,
            gain: 0.02,
            height_m: 50e-6,
        }
    }
}

/// The mean of some successive samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Mean time \[s\].
    pub time_s: f64,
    /// Height of the tool's lowest point over the surface at rest \[m\].
    pub height_m: f64,
    /// Mean of the measured force along z \[N\].
    pub measured_n: f64,
    /// The same of the scene as it was given \[N\].
    pub before_n: f64,
    /// The same of the scene that was found, with gain and height \[N\].
    pub after_n: f64,
    /// Standard deviation of measured minus modelled that noise explains \[N\].
    pub sd_n: f64,
}

/// One step of the tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Move {
    pub(super) position_m: Vec3,
    pub(super) velocity_mps: Vec3,
    pub(super) dt_s: f64,
    /// Whether the tissue may move now; if not, it rests.
    pub(super) lively: bool,
}

/// A record that the model can follow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Touch {
    pub(super) moves: Vec<Move>,
    /// Samples a bin; the last bin may have fewer.
    pub(super) size: usize,
    /// Mean time, height and force of every bin, and the number of its samples.
    pub(super) bins: Vec<(f64, f64, f64, usize)>,
    noise: Noise,
}

impl Touch {
    pub(super) fn new(
        samples: &[Sample],
        scene: &Scene,
        noise: &Noise,
    ) -> Result<Self, TouchError> {
        let step_s = check(samples)?;
        let count = |length_s: f64| libm::round(length_s / step_s).max(1.0) as usize;
        let places = smoothed(samples, count(HALF_S));
        let radius_m = scene.tool_radius_m;
        let mut moves = Vec::with_capacity(samples.len());
        let mut left_s = f64::INFINITY;
        for (index, place_m) in places.iter().enumerate() {
            let before = index.saturating_sub(1);
            let dt_s = if index == 0 {
                step_s
            } else {
                samples[index].time_s - samples[before].time_s
            };
            let near = place_m.z - radius_m < NEAR * radius_m;
            left_s = if near { 0.0 } else { left_s + dt_s };
            moves.push(Move {
                position_m: *place_m,
                velocity_mps: (place_m - places[before]) / dt_s,
                dt_s,
                lively: left_s < RINGS_S,
            });
        }
        let size = count(BIN_S);
        let bin = |chunk: (&[Sample], &[Vec3])| {
            let n = chunk.0.len();
            let mean = |sum: f64| sum / n as f64;
            (
                mean(chunk.0.iter().map(|s| s.time_s).sum()),
                mean(chunk.1.iter().map(|p| p.z - radius_m).sum()),
                mean(chunk.0.iter().map(|s| s.force_n.z).sum()),
                n,
            )
        };
        let bins: Vec<_> = samples
            .chunks(size)
            .zip(places.chunks(size))
            .map(bin)
            .collect();
        let least_n = 3.0 * noise.force_n;
        let touched = bins
            .iter()
            .any(|&(_, height_m, force_n, _)| height_m < 0.0 && force_n > least_n);
        if !touched {
            return Err(TouchError::NoContact { least_n });
        }
        Ok(Self {
            moves,
            size,
            bins,
            noise: *noise,
        })
    }

    /// Standard deviation of each bin's misfit, for modelled forces and their slopes along z \[N\].
    pub(super) fn spread_n(&self, modelled_n: &[f64], slopes_npm: &[f64]) -> Vec<f64> {
        let noise = &self.noise;
        let each = |((force_n, slope_npm), bin): ((&f64, &f64), &(f64, f64, f64, usize))| {
            let parts = [
                noise.force_share * force_n,
                noise.force_n,
                noise.pose_m * slope_npm,
            ];
            let variance: f64 = parts.iter().map(|part| part * part).sum();
            (variance / bin.3 as f64).sqrt()
        };
        modelled_n
            .iter()
            .zip(slopes_npm)
            .zip(&self.bins)
            .map(each)
            .collect()
    }
}

/// Mean step \[s\].
fn check(samples: &[Sample]) -> Result<f64, TouchError> {
    if samples.len() < SAMPLES_MIN {
        return Err(TouchError::Few {
            found: samples.len(),
            expected: SAMPLES_MIN,
        });
    }
    for (index, sample) in samples.iter().enumerate() {
        let fields = [
            ("time_s", sample.time_s),
            ("position_m", sample.position_m.sum()),
            ("force_n", sample.force_n.sum()),
        ];
        if let Some((field, value)) = fields.into_iter().find(|(_, value)| !value.is_finite()) {
            return Err(TouchError::Sample {
                sample: index,
                field,
                value,
                expected: "finite numbers",
            });
        }
    }
    for (index, pair) in samples.windows(2).enumerate() {
        let step_s = pair[1].time_s - pair[0].time_s;
        if !(step_s > 0.0 && step_s <= STEP_S_MAX) {
            return Err(TouchError::Sample {
                sample: index + 1,
                field: "time_s since the one before",
                value: step_s,
                expected: "a number above 0 and at most 0.01",
            });
        }
    }
    let found_s = samples[samples.len() - 1].time_s - samples[0].time_s;
    if found_s > LONGEST_S {
        return Err(TouchError::Long {
            found_s,
            most_s: LONGEST_S,
        });
    }
    Ok(found_s / (samples.len() - 1) as f64)
}

/// Positions by local parabolas over `half` samples to each side; shorter windows at the ends.
fn smoothed(samples: &[Sample], half: usize) -> Vec<Vec3> {
    let one = |index: usize| {
        let half = half.min(index).min(samples.len() - 1 - index);
        let m = half as f64;
        // Savitzky and Golay 1964, weights of a quadratic at its middle
        let scale = (2.0 * m - 1.0) * (2.0 * m + 1.0) * (2.0 * m + 3.0) / 3.0;
        let weight = |offset: f64| (3.0 * m * m + 3.0 * m - 1.0 - 5.0 * offset * offset) / scale;
        if half == 0 {
            return samples[index].position_m;
        }
        let window = samples[index - half..=index + half].iter().enumerate();
        window.fold(Vec3::zeros(), |sum, (k, sample)| {
            sum + sample.position_m * weight(k as f64 - m)
        })
    };
    (0..samples.len()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_keeps_parabolas_and_takes_jitter() {
        let sample = |time: usize, jitter_m: f64| {
            let t = time as f64 * 1e-3;
            Sample {
                time_s: t,
                position_m: Vec3::new(t, t * t, 1.0 - 3.0 * t + jitter_m),
                force_n: Vec3::zeros(),
            }
        };
        let exact: Vec<Sample> = (0..200).map(|k| sample(k, 0.0)).collect();
        for (smooth, raw) in smoothed(&exact, 15).iter().zip(&exact) {
            assert!((smooth - raw.position_m).norm() < 1e-12);
        }
        let rough: Vec<Sample> = (0..200).map(|k| sample(k, [1e-4, -1e-4][k % 2])).collect();
        let off = smoothed(&rough, 15)[50].z - exact[50].position_m.z;
        assert!(off.abs() < 2e-5, "{off}");
    }
}
