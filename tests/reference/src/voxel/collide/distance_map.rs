//! Distance maps: depth of a place in a body, and the inward direction.
//!
//! Source: seed-001 section 3.2.4 (row CD-08). Exact Euclidean distances of samples by Felzenszwalb and Huttenlocher
//! 2012 ("Distance transforms of sampled functions"): lower envelopes of parabolas, axis by axis, in linear time.
//! Depth is positive inside. Samples are binary, so normals near the surface vary with its steps;
//! [`DistanceMap::smooth_normals`] removes that.

use palpate_twin::Vec3;
use palpate_voxel::nodes::LatticeFrame;

/// Position of the surface between the last sample inside and the first one outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurfacePlacement {
    /// Half-way: the outermost nodes have a depth of half a spacing.
    Halfway,
    /// At the first sample outside: the outermost nodes have a depth of one spacing, as in the closed forms of
    /// seed-001 section 3.2.4. Two bodies then touch when their nodes are one spacing apart.
    Outermost,
}

/// Depths at the sites of a lattice, interpolated between them.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceMap {
    frame: LatticeFrame,
    low: [i32; 3],
    size: [usize; 3],
    depth_m: Vec<f64>,
    /// Smoothed values for normals, if not taken from depths.
    smooth_m: Vec<f64>,
}

/// A depth with its gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DepthSample {
    /// Positive inside \[m\].
    pub depth_m: f64,
    /// Gradient of the interpolated depth, without unit, into the body.
    pub slope: Vec3,
}

impl DistanceMap {
    /// Returns the map of a body given by `inside`, in a box of sites with `margin` more on every side, at least 1.
    /// Beyond the box is outside. None if the box is empty or has more than 2^30 sites.
    ///
    /// Spacing may differ by axis.
    #[must_use]
    pub fn new(
        frame: LatticeFrame,
        [low, high]: [[i32; 3]; 2],
        margin: i32,
        surface: SurfacePlacement,
        inside: impl Fn([i32; 3]) -> bool,
    ) -> Option<Self> {
        let margin = margin.max(1);
        let mut size = [0; 3];
        for axis in 0..3 {
            let side = i64::from(high[axis]) - i64::from(low[axis]) + 1;
            size[axis] = usize::try_from(side + 2 * i64::from(margin)).ok()?;
            if side < 1 || size[axis] > 1 << 20 {
                return None;
            }
        }
        let count: usize = size.iter().product();
        if count > 1 << 30 {
            return None;
        }
        let own_low = low.map(|along| along - margin);
        let mut blank = Self {
            frame,
            low: own_low,
            size,
            depth_m: vec![0.0; count],
            smooth_m: Vec::new(),
        };
        let within = |site: [i32; 3]| {
            let boxed = (0..3).all(|axis| (low[axis]..=high[axis]).contains(&site[axis]));
            boxed && inside(site)
        };
        let is_in: Vec<bool> = (0..count).map(|slot| within(blank.site(slot))).collect();
        let to_out_m = blank.nearest_m(|slot| !is_in[slot]);
        let to_in_m = blank.nearest_m(|slot| is_in[slot]);
        let least_m = frame.spacing_m.into_iter().fold(f64::MAX, f64::min);
        // from the surface to the first sample outside, and to the last one inside
        let (out_m, in_m) = match surface {
            SurfacePlacement::Halfway => (0.5 * least_m, 0.5 * least_m),
            SurfacePlacement::Outermost => (0.0, least_m),
        };
        for slot in 0..count {
            blank.depth_m[slot] = if is_in[slot] {
                to_out_m[slot] - out_m
            } else {
                in_m - to_in_m[slot]
            };
        }
        Some(blank)
    }

    /// Returns the site of a sample.
    fn site(&self, slot: usize) -> [i32; 3] {
        let [x, y, _] = self.size;
        let own = [slot % x, slot / x % y, slot / x / y];
        std::array::from_fn(|axis| self.low[axis] + i32::try_from(own[axis]).unwrap_or(i32::MAX))
    }

    /// Returns the map of no body.
    #[must_use]
    pub(super) const fn nowhere(frame: LatticeFrame) -> Self {
        Self {
            frame,
            low: [0; 3],
            size: [0; 3],
            depth_m: Vec::new(),
            smooth_m: Vec::new(),
        }
    }

    /// Returns the same body translated \[m\].
    #[must_use]
    pub fn shifted(mut self, by_m: Vec3) -> Self {
        self.frame.origin_m += by_m;
        self
    }

    /// Returns the distance of every sample to the nearest one of a set \[m\]; infinite if the set is empty.
    fn nearest_m(&self, is_of: impl Fn(usize) -> bool) -> Vec<f64> {
        let start = |slot| if is_of(slot) { 0.0 } else { f64::INFINITY };
        let mut square: Vec<f64> = (0..self.depth_m.len()).map(start).collect();
        let mut envelope = Envelope::default();
        let mut stride = 1;
        for axis in 0..3 {
            let side = self.size[axis];
            for first in 0..square.len() {
                if first / stride % side == 0 {
                    let pitch_m = self.frame.spacing_m[axis];
                    envelope.pass(&mut square, (first, stride, side), pitch_m);
                }
            }
            stride *= side;
        }
        square.into_iter().map(f64::sqrt).collect()
    }

    /// Returns the depth at a site \[m\]; none outside of the box.
    #[must_use]
    pub fn at_site(&self, site: [i32; 3]) -> Option<f64> {
        let mut flat = 0;
        for axis in [2, 1, 0] {
            let along = usize::try_from(site[axis].checked_sub(self.low[axis])?).ok()?;
            if along >= self.size[axis] {
                return None;
            }
            flat = flat * self.size[axis] + along;
        }
        Some(self.depth_m[flat])
    }

    /// Returns the depth at a place \[m\], trilinear between samples, with its gradient; none outside of the box.
    #[must_use]
    pub fn at(&self, at_m: &Vec3) -> Option<DepthSample> {
        self.between(&self.depth_m, at_m)
    }

    /// Returns an interpolated value and its gradient.
    fn between(&self, samples: &[f64], at_m: &Vec3) -> Option<DepthSample> {
        let mut low = [0; 3];
        let mut part = [0.0; 3];
        for axis in 0..3 {
            let along = (at_m[axis] - self.frame.origin_m[axis]) / self.frame.spacing_m[axis];
            let own = along - f64::from(self.low[axis]);
            #[expect(clippy::cast_precision_loss, reason = "2^20 at most")]
            let last = self.size[axis] as f64 - 1.0;
            if self.size[axis] < 2 || !(own >= 0.0 && own <= last) {
                return None;
            }
            let first = own.floor().min(last - 1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a whole number in range"
            )]
            let whole = first as usize;
            (low[axis], part[axis]) = (whole, own - first);
        }
        let [x, y, _] = self.size;
        let mut depth_m = 0.0;
        let mut slope = Vec3::zeros();
        for corner in 0..8 {
            let up = [corner & 1, corner >> 1 & 1, corner >> 2];
            let slot = ((low[2] + up[2]) * y + low[1] + up[1]) * x + low[0] + up[0];
            let value_m = samples[slot];
            let weight = |axis: usize| {
                if up[axis] == 1 {
                    part[axis]
                } else {
                    1.0 - part[axis]
                }
            };
            depth_m += value_m * weight(0) * weight(1) * weight(2);
            for axis in 0..3 {
                let sign = if up[axis] == 1 { 1.0 } else { -1.0 };
                let others = weight((axis + 1) % 3) * weight((axis + 2) % 3);
                slope[axis] += value_m * sign * others / self.frame.spacing_m[axis];
            }
        }
        Some(DepthSample { depth_m, slope })
    }

    /// Returns the inward unit vector from central differences over two spacings; none where the gradient is zero or
    /// a sample is outside of the box.
    #[must_use]
    pub fn inward(&self, at_m: &Vec3) -> Option<Vec3> {
        let smooth = !self.smooth_m.is_empty();
        let samples = if smooth {
            &self.smooth_m
        } else {
            &self.depth_m
        };
        let mut slope = Vec3::zeros();
        for axis in 0..3 {
            let pitch_m = self.frame.spacing_m[axis];
            let mut by = Vec3::zeros();
            by[axis] = pitch_m;
            let side = |at_m: Vec3| self.between(samples, &at_m);
            let (above, below) = (side(at_m + by)?, side(at_m - by)?);
            slope[axis] = (above.depth_m - below.depth_m) / (2.0 * pitch_m);
        }
        let steep = slope.norm();
        (steep > 1e-9).then(|| slope / steep)
    }

    /// Smooths the samples for normals by `passes` averages with weights 1 2 1 along each axis. Surface steps smaller
    /// than the root of half the passes vanish, and edges are rounded by as much. Depths stay.
    #[must_use]
    pub fn smooth_normals(mut self, passes: usize) -> Self {
        let mut smooth = self.depth_m.clone();
        let mut old = smooth.clone();
        for _ in 0..passes {
            let mut stride = 1;
            for side in self.size {
                old.clone_from(&smooth);
                for (slot, value) in smooth.iter_mut().enumerate() {
                    let place = slot / stride % side;
                    let below = if place == 0 { slot } else { slot - stride };
                    let above = if place + 1 == side {
                        slot
                    } else {
                        slot + stride
                    };
                    *value = 0.25 * old[below] + 0.5 * old[slot] + 0.25 * old[above];
                }
                stride *= side;
            }
        }
        self.smooth_m = smooth;
        self
    }
}

/// Lower envelope of parabolas along one row of samples.
#[derive(Debug, Default)]
struct Envelope {
    /// Sample and value of each parabola.
    vertex: Vec<(usize, f64)>,
    /// Start of the interval in which each is lowest \[m\].
    from_m: Vec<f64>,
    row: Vec<f64>,
}

impl Envelope {
    /// Adds one axis to the squared distances, in place.
    fn pass(
        &mut self,
        square: &mut [f64],
        (first, stride, side): (usize, usize, usize),
        pitch_m: f64,
    ) {
        #[expect(clippy::cast_precision_loss, reason = "2^20 at most")]
        let place_m = |sample: usize| sample as f64 * pitch_m;
        self.vertex.clear();
        self.from_m.clear();
        self.row.clear();
        for sample in 0..side {
            let own = square[first + sample * stride];
            if own.is_infinite() {
                continue;
            }
            let at_m = place_m(sample);
            let mut start_m = f64::NEG_INFINITY;
            while let (Some(&(last, low)), Some(&from_m)) = (self.vertex.last(), self.from_m.last())
            {
                let last_m = place_m(last);
                let meet_m =
                    ((own + at_m * at_m) - (low + last_m * last_m)) / (2.0 * (at_m - last_m));
                if meet_m > from_m {
                    start_m = meet_m;
                    break;
                }
                self.vertex.pop();
                self.from_m.pop();
            }
            self.vertex.push((sample, own));
            self.from_m.push(start_m);
        }
        if self.vertex.is_empty() {
            return;
        }
        let mut nth = 0;
        for sample in 0..side {
            let at_m = place_m(sample);
            while self
                .from_m
                .get(nth + 1)
                .is_some_and(|&from_m| from_m < at_m)
            {
                nth += 1;
            }
            let (vertex, low) = self.vertex[nth];
            let way_m = at_m - place_m(vertex);
            self.row.push(way_m * way_m + low);
        }
        for (sample, &value) in self.row.iter().enumerate() {
            square[first + sample * stride] = value;
        }
    }
}
