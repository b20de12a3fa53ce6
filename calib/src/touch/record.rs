//! Preparation of a record: smoothed motion, touches, binned forces and their deviations.
//!
//! Source: smoothing by local parabolas (Savitzky and Golay 1964), errors in variables by the effective
//! variance (Orear 1982). A jittering pose must not drive a tissue that has inertia, hence the smoothing. A
//! bin is about as long as the window, so that errors of bins are independent. A touch begins with the tool
//! off a tissue at rest, so touches can be modelled one by one, and those without new information can be
//! left out.

use std::ops::Range;

use palpate_scene::Scene;
use palpate_twin::Vec3;

use super::{TouchError, TouchSample};

/// Least number of samples.
pub(super) const SAMPLES_MIN: usize = 50;
/// Longest record \[s\]: bounds the cost of one run of the model.
pub(super) const RECORD_S_MAX: f64 = 60.0;
/// Largest step between samples \[s\]: the longest that the tissue accepts.
const STEP_S_MAX: f64 = 0.01;
/// Half of the window of the smoothing \[s\].
const SMOOTHING_HALF_S: f64 = 0.015;
/// Length of a bin \[s\].
const BIN_S: f64 = 0.02;
/// Time before and after contact that belongs to a touch \[s\].
const CONTACT_MARGIN_S: f64 = 0.04;
/// Time off the tissue that separates two touches \[s\]: soft tissue rests by then.
const TOUCH_GAP_S: f64 = 0.1;

/// Errors of the instruments, all as standard deviations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstrumentNoise {
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
    /// Time by which forces may lag behind positions \[s\], above 0.
    pub lag_s: f64,
    /// Mass between sensor and tissue that is not compensated \[kg\], above 0.
    pub mass_kg: f64,
    /// Drag in contact that the model lacks \[N s/m\], above 0.
    pub drag_nspm: f64,
}

impl Default for InstrumentNoise {
    fn default() -> Self {
        Self {
            force_share: 0.02,
            force_n: 0.01,
            pose_m: 50e-6,
            gain: 0.02,
            height_m: 50e-6,
            // a sensor of 100 Hz lags by 1.6 ms
            lag_s: 2e-3,
            mass_kg: 5e-3,
            // a tenth of what a hand feels of its own handle
            drag_nspm: 0.2,
        }
    }
}

/// Mean of some successive samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForceBin {
    /// Mean time \[s\].
    pub time_s: f64,
    /// Height of the tool's lowest point over the surface at rest \[m\].
    pub height_m: f64,
    /// Mean of the measured force along z \[N\].
    pub measured_n: f64,
    /// The same in the initial scene \[N\].
    pub before_n: f64,
    /// The same in the fitted scene, with gain and height \[N\].
    pub after_n: f64,
    /// Standard deviation of measured minus modelled force explained by noise \[N\].
    pub sd_n: f64,
}

/// One step of the tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolMotion {
    pub(super) position_m: Vec3,
    pub(super) velocity_mps: Vec3,
    pub(super) dt_s: f64,
}

/// Means over some successive samples of a touch, and their number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BinMean {
    pub(super) time_s: f64,
    /// Height of the tool's lowest point over the surface at rest \[m\].
    pub(super) height_m: f64,
    /// Position in the plane of the surface \[m\].
    pub(super) place_m: [f64; 2],
    pub(super) force_n: f64,
    /// Along z.
    pub(super) speed_mps: f64,
    /// Along z.
    pub(super) acceleration_mps2: f64,
    pub(super) count: usize,
}

/// Part of the record that begins and ends with the tool off the tissue.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SingleTouch {
    pub(super) motions: Vec<ToolMotion>,
    /// One bin for each chunk of [`TouchRecord::bin_samples`] motions.
    pub(super) bins: Vec<BinMean>,
}

impl SingleTouch {
    /// Its length \[s\].
    pub(super) fn duration_s(&self) -> f64 {
        self.motions.iter().map(|step| step.dt_s).sum()
    }

    /// Depth of its lowest point under the surface at rest \[m\].
    pub(super) fn depth_m(&self) -> f64 {
        let heights = self.bins.iter().map(|bin| bin.height_m);
        -heights.fold(f64::INFINITY, f64::min)
    }

    /// Sideways distance of the tool while it was below the surface at rest \[m\].
    pub(super) fn slides_m(&self) -> f64 {
        let low = self.bins.iter().filter(|bin| bin.height_m < 0.0);
        let span = |axis: usize| {
            let places = low.clone().map(|bin| bin.place_m[axis]);
            let start = [f64::INFINITY, f64::NEG_INFINITY];
            let [least, most] = places.fold(start, |[a, b], x| [a.min(x), b.max(x)]);
            (most - least).max(0.0)
        };
        libm::hypot(span(0), span(1))
    }

    /// Distance of a position from the points where the tool was below the surface at rest \[m\].
    pub(super) fn distance_m(&self, place_m: [f64; 2]) -> f64 {
        let low = self.bins.iter().filter(|bin| bin.height_m < 0.0);
        low.map(|bin| place_distance_m(bin.place_m, place_m))
            .fold(f64::INFINITY, f64::min)
    }
}

/// Distance of two positions \[m\].
pub(super) fn place_distance_m(a: [f64; 2], b: [f64; 2]) -> f64 {
    libm::hypot(a[0] - b[0], a[1] - b[1])
}

/// Record in the form that the model simulates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TouchRecord {
    pub(super) touches: Vec<SingleTouch>,
    /// Samples per bin; the last bin of a touch may have fewer.
    pub(super) bin_samples: usize,
    pub(super) noise: InstrumentNoise,
}

impl TouchRecord {
    pub(super) fn new(
        samples: &[TouchSample],
        scene: &Scene,
        noise: &InstrumentNoise,
    ) -> Result<Self, TouchError> {
        let step_s = check(samples)?;
        let count = |length_s: f64| libm::round(length_s / step_s).max(1.0) as usize;
        let places = smoothed(samples, count(SMOOTHING_HALF_S));
        let radius_m = scene.tool_radius_m;
        let lead = count(CONTACT_MARGIN_S);
        let mut touch = Self {
            touches: Vec::new(),
            bin_samples: count(BIN_S),
            noise: *noise,
        };
        for part in contact_ranges(&places, radius_m, count(TOUCH_GAP_S)) {
            let from = part.start.saturating_sub(lead);
            let to = (part.end + lead).min(samples.len());
            let visit = touch.single_touch(&samples[from..to], &places[from..to], radius_m);
            touch.touches.push(visit);
        }
        let least_n = 3.0 * noise.force_n;
        let touched = touch
            .bins()
            .any(|bin| bin.height_m < 0.0 && bin.force_n > least_n);
        if !touched {
            return Err(TouchError::NoContact { least_n });
        }
        Ok(touch)
    }

    fn single_touch(&self, samples: &[TouchSample], places: &[Vec3], radius_m: f64) -> SingleTouch {
        let moves: Vec<ToolMotion> = (0..samples.len())
            .map(|index| {
                let before = index.saturating_sub(1);
                let next = before + 1;
                let dt_s = match samples.get(next) {
                    Some(sample) => sample.time_s - samples[before].time_s,
                    None => STEP_S_MAX,
                };
                ToolMotion {
                    position_m: places[index],
                    velocity_mps: (places[index] - places[before]) / dt_s,
                    dt_s,
                }
            })
            .collect();
        let mean = |chunk: ((&[TouchSample], &[Vec3]), &[ToolMotion])| {
            let ((samples, places), moves) = chunk;
            let count = samples.len();
            let mean = |sum: f64| sum / count as f64;
            let long_s: f64 = moves.iter().map(|step| step.dt_s).sum();
            let [first, last] = [0, count - 1].map(|at| moves[at].velocity_mps.z);
            BinMean {
                time_s: mean(samples.iter().map(|s| s.time_s).sum()),
                height_m: mean(places.iter().map(|p| p.z - radius_m).sum()),
                place_m: [0, 1].map(|axis| mean(places.iter().map(|p| p[axis]).sum())),
                force_n: mean(samples.iter().map(|s| s.force_n.z).sum()),
                speed_mps: mean(moves.iter().map(|step| step.velocity_mps.z).sum()),
                acceleration_mps2: (last - first) / long_s,
                count,
            }
        };
        let bins = samples
            .chunks(self.bin_samples)
            .zip(places.chunks(self.bin_samples));
        let bins = bins.zip(moves.chunks(self.bin_samples)).map(mean).collect();
        SingleTouch {
            motions: moves,
            bins,
        }
    }

    /// All bins, in order.
    pub(super) fn bins(&self) -> impl Iterator<Item = &BinMean> {
        self.touches.iter().flat_map(|visit| &visit.bins)
    }

    /// Returns the record with these touches only.
    pub(super) fn select(&self, visits: &[usize]) -> Self {
        Self {
            touches: visits.iter().map(|&k| self.touches[k].clone()).collect(),
            ..*self
        }
    }

    /// Standard deviation of each bin's misfit, for modelled forces and their slopes along z \[N\].
    pub(super) fn misfit_sd_n(&self, modelled_n: &[f64], slopes_npm: &[f64]) -> Vec<f64> {
        let noise = &self.noise;
        let each = |((force_n, slope_npm), bin): ((&f64, &f64), &BinMean)| {
            let parts = [
                noise.force_share * force_n,
                noise.force_n,
                noise.pose_m * slope_npm,
            ];
            let variance: f64 = parts.iter().map(|part| part * part).sum();
            (variance / bin.count as f64).sqrt()
        };
        modelled_n
            .iter()
            .zip(slopes_npm)
            .zip(self.bins())
            .map(each)
            .collect()
    }
}

/// Ranges in which the tool is below the surface at rest; ranges less than `apart` samples from each
/// other are joined.
fn contact_ranges(places: &[Vec3], radius_m: f64, apart: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (index, place_m) in places.iter().enumerate() {
        if place_m.z >= radius_m {
            continue;
        }
        match parts.last_mut() {
            Some(last) if index < last.end + apart => last.end = index + 1,
            _ => parts.push(index..index + 1),
        }
    }
    parts
}

/// Mean step \[s\].
fn check(samples: &[TouchSample]) -> Result<f64, TouchError> {
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
    if found_s > RECORD_S_MAX {
        return Err(TouchError::Long {
            found_s,
            most_s: RECORD_S_MAX,
        });
    }
    Ok(found_s / (samples.len() - 1) as f64)
}

/// Positions smoothed by local parabolas over `half` samples to each side; shorter windows at the ends.
fn smoothed(samples: &[TouchSample], half: usize) -> Vec<Vec3> {
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
    fn smoothing_keeps_parabolas_and_removes_jitter() {
        let sample = |time: usize, jitter_m: f64| {
            let t = time as f64 * 1e-3;
            TouchSample {
                time_s: t,
                position_m: Vec3::new(t, t * t, 1.0 - 3.0 * t + jitter_m),
                force_n: Vec3::zeros(),
            }
        };
        let exact: Vec<TouchSample> = (0..200).map(|k| sample(k, 0.0)).collect();
        for (smooth, raw) in smoothed(&exact, 15).iter().zip(&exact) {
            assert!((smooth - raw.position_m).norm() < 1e-12);
        }
        let rough: Vec<TouchSample> = (0..200).map(|k| sample(k, [1e-4, -1e-4][k % 2])).collect();
        let off = smoothed(&rough, 15)[50].z - exact[50].position_m.z;
        assert!(off.abs() < 2e-5, "{off}");
    }
}
