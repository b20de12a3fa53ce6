//! Scripted palpation of a patch: approach, nine presses, a stroke, a pinch, retreat (ours).
//!
//! A list of minimum-jerk segments over time, scaled to the length of the session.
//! Press k = 1 + ix + 3 iy is at ((ix - 1) d, (iy - 1) d).
//! The tissue rests at z = 0, so the centre of a tool of radius R touches at z = R. Depths are of
//! the intended point: hand and tissue in series take it up, about 1.5 N at 10 mm for 300 N/m each.

use palpate_transport::{Axes, params};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::minimum_jerk::{MinimumJerkPath, Segment, Tremor};
use super::script::{Intent, OPEN_M};

/// Intended opening during a pinch \[m\].
const CLOSED_M: f64 = 0.003;
/// Height of the tool above the surface during travel \[m\].
const CLEARANCE_M: f64 = 0.004;
/// Height of the tool above the surface at the start \[m\].
const START_M: f64 = 0.020;
/// Distance by which a pinch pulls the tool above first contact \[m\].
const PULL_M: f64 = 0.002;
/// Band of the tremor \[Hz\]: physiological hand tremor, 8 to 12 Hz.
const TREMOR_HZ: (f64, f64) = (8.0, 12.0);

/// Shortest whole palpation \[s\]: no hand is faster.
const DURATION_S_MIN: f64 = 8.0;

/// Phase of the travel between sites.
const TRAVEL: u16 = 10;
/// Height of the strokes through the air \[m\].
const AIR_M: f64 = 0.025;
/// Phase of the stroke.
const STROKE: u16 = 11;
/// Phase of the pinch.
const PINCH: u16 = 12;
/// Phase of the retreat.
const RETREAT: u16 = 13;

params! {
    /// Parameters of a palpation.
    #[derive(Copy)]
    pub struct PalpationParams: "script." {
        /// Distance d of the sites \[m\].
        pub spacing_m: f64 = 0.020 => (0.0..=0.05),
        /// Radius R of the tool \[m\].
        pub tool_radius_m: f64 = 0.008 => (0.0..=0.1),
        /// Depth of a press, of the intended point below first contact \[m\].
        pub press_depth_m: f64 = 0.010 => (0.0..=0.05),
        /// Depth of the stroke \[m\].
        pub stroke_depth_m: f64 = 0.005 => (0.0..=0.05),
        /// Depth at which the tweezers close \[m\].
        pub pinch_depth_m: f64 = 0.004 => (0.0..=0.05),
        /// Amplitude of the tremor \[m\], 0 for none.
        pub tremor_m: f64 = 2e-5 => (0.0..=1e-3),
        /// Relative variation of the duration of each segment, 0 for none.
        pub timing_jitter: f64 = 0.05 => (0.0..=0.5),
    }
}

impl PalpationParams {
    /// Position at the start of the script \[m\].
    #[must_use]
    pub fn start_m(&self) -> Axes {
        [0.0, 0.0, self.tool_radius_m + START_M, OPEN_M]
    }

    /// Centre of site k = 1 to 9 in the plane of the surface \[m\].
    #[must_use]
    pub fn site_m(&self, k: u16) -> [f64; 2] {
        let index = k.clamp(1, 9) - 1;
        let along = |column: u16| (f64::from(column) - 1.0) * self.spacing_m;
        [along(index % 3), along(index / 3)]
    }

    /// Lays out the segments over a session of `duration_s` \[s\]; the seed draws tremor and timing.
    ///
    /// A session shorter than 8 s plays only the beginning of one of that length.
    #[must_use]
    pub fn to_path(&self, duration_s: f64, seed: u64) -> MinimumJerkPath {
        let duration_s = duration_s.max(DURATION_S_MIN);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let tremor = core::array::from_fn(|_| Tremor {
            hz: TREMOR_HZ.0 + (TREMOR_HZ.1 - TREMOR_HZ.0) * unit(&mut random),
            phase_turns: unit(&mut random),
        });
        let mut segments = Layout::draw(self);
        for segment in &mut segments {
            segment.duration_s *= 1.0 + self.timing_jitter * (2.0 * unit(&mut random) - 1.0);
        }
        let total_s: f64 = segments.iter().map(|segment| segment.duration_s).sum();
        let mut end_s = 0.0;
        for segment in &mut segments {
            segment.duration_s *= duration_s / total_s;
            end_s += segment.duration_s;
            segment.end_s = end_s;
        }
        let rest = Intent {
            position_m: self.start_m(),
            phase: RETREAT,
            ..Intent::default()
        };
        MinimumJerkPath {
            segments,
            final_intent: rest,
            tremor_m: self.tremor_m,
            tremor,
        }
    }
}

/// Layout of the segments; durations are relative to each other, and together some 25 s.
struct Layout<'a> {
    params: &'a PalpationParams,
    at_m: Axes,
    closed: bool,
    segments: Vec<Segment>,
}

impl<'a> Layout<'a> {
    /// Returns all segments, in order.
    fn draw(params: &'a PalpationParams) -> Vec<Segment> {
        let start_m = params.start_m();
        let mut layout = Self {
            params,
            at_m: start_m,
            closed: false,
            segments: Vec::with_capacity(64),
        };
        layout.approach();
        for k in 1..=9 {
            layout.press(k);
        }
        layout.stroke();
        layout.pinch();
        layout.to(0.5, RETREAT, start_m);
        layout.segments
    }

    /// Adds two wide strokes through the air, which fill the energy tanks of all axes, and the descent to
    /// the first site.
    fn approach(&mut self) {
        let low_m = self.params.start_m()[2];
        let first = self.params.site_m(1);
        for _ in 0..2 {
            self.to(0.4, 0, [0.012, -0.012, low_m + AIR_M, OPEN_M]);
            self.to(0.4, 0, [-0.012, 0.012, low_m, OPEN_M]);
        }
        let above_m = self.height_m(CLEARANCE_M);
        self.to(0.45, 0, [first[0], first[1], above_m, OPEN_M]);
    }

    /// Adds two presses at a site: the twin learns from the first, the second renders its correction. The
    /// second is slow, because a quick push also displays mass and damping.
    fn press(&mut self, k: u16) {
        if k > 1 {
            self.travel(0.2, self.params.site_m(k));
        }
        self.vertical(0.33, k, -self.params.press_depth_m);
        self.hold(0.17, k);
        self.vertical(0.25, k, 0.25 * CLEARANCE_M);
        self.vertical(0.48, k, -self.params.press_depth_m);
        self.hold(0.27, k);
        self.vertical(0.46, k, CLEARANCE_M);
    }

    fn stroke(&mut self) {
        let end_m = self.params.spacing_m;
        self.travel(0.3, [-end_m, 0.0]);
        self.vertical(0.25, STROKE, -self.params.stroke_depth_m);
        let depth_m = self.height_m(-self.params.stroke_depth_m);
        self.to(0.9, STROKE, [end_m, 0.0, depth_m, OPEN_M]);
        self.vertical(0.25, STROKE, CLEARANCE_M);
    }

    fn pinch(&mut self) {
        self.travel(0.25, [0.0, 0.0]);
        self.vertical(0.25, PINCH, -self.params.pinch_depth_m);
        self.closed = true;
        self.opening(0.15, CLOSED_M);
        self.vertical(0.25, PINCH, PULL_M);
        self.hold(0.15, PINCH);
        self.closed = false;
        self.opening(0.15, OPEN_M);
        self.vertical(0.15, PINCH, CLEARANCE_M);
    }

    /// Height of the tool centre if the tool is `above_m` above the surface \[m\].
    fn height_m(&self, above_m: f64) -> f64 {
        self.params.tool_radius_m + above_m
    }

    fn travel(&mut self, length_s: f64, site_m: [f64; 2]) {
        let [_, _, z_m, opening_m] = self.at_m;
        self.to(length_s, TRAVEL, [site_m[0], site_m[1], z_m, opening_m]);
    }

    fn vertical(&mut self, length_s: f64, phase: u16, above_m: f64) {
        let [x_m, y_m, _, opening_m] = self.at_m;
        let z_m = self.height_m(above_m);
        self.to(length_s, phase, [x_m, y_m, z_m, opening_m]);
    }

    fn hold(&mut self, length_s: f64, phase: u16) {
        self.to(length_s, phase, self.at_m);
    }

    fn opening(&mut self, length_s: f64, opening_m: f64) {
        let [x_m, y_m, z_m, _] = self.at_m;
        self.to(length_s, PINCH, [x_m, y_m, z_m, opening_m]);
    }

    fn to(&mut self, length_s: f64, phase: u16, to_m: Axes) {
        self.segments.push(Segment {
            end_s: 0.0,
            duration_s: length_s,
            from_m: self.at_m,
            to_m,
            phase,
            closed: self.closed,
            ..Segment::default()
        });
        self.at_m = to_m;
    }
}

/// Uniform in \[0, 1), from the upper 53 bits.
fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(duration_s: f64) -> MinimumJerkPath {
        let params = PalpationParams {
            tremor_m: 0.0,
            timing_jitter: 0.0,
            ..PalpationParams::default()
        };
        params.to_path(duration_s, 0)
    }

    #[test]
    fn phases_keep_their_order_at_any_duration() {
        for duration_s in [10.0, 20.0, 60.0] {
            let palpation = plain(duration_s);
            let mut phases = vec![];
            for step in 0..2000 {
                let intent = palpation.intent(f64::from(step) * duration_s / 2000.0);
                if phases.last() != Some(&intent.phase) {
                    phases.push(intent.phase);
                }
            }
            let order = [
                0, 1, 10, 2, 10, 3, 10, 4, 10, 5, 10, 6, 10, 7, 10, 8, 10, 9, 10, 11, 10, 12, 13,
            ];
            assert_eq!(phases, order);
        }
    }

    #[test]
    fn presses_are_deepest_at_their_sites() {
        let palpation = plain(20.0);
        let params = PalpationParams::default();
        for k in 1..=9_u16 {
            let at = (0..20_000)
                .map(|step| palpation.intent(f64::from(step) * 1e-3))
                .filter(|intent| intent.phase == k)
                .min_by(|a, b| a.position_m[2].total_cmp(&b.position_m[2]))
                .expect("every press has its time");
            let (ix, iy) = ((k - 1) % 3, (k - 1) / 3);
            assert!((at.position_m[0] - (f64::from(ix) - 1.0) * 0.020).abs() < 1e-12);
            assert!((at.position_m[1] - (f64::from(iy) - 1.0) * 0.020).abs() < 1e-12);
            let deepest_m = params.tool_radius_m - params.press_depth_m;
            assert!((at.position_m[2] - deepest_m).abs() < 1e-12);
        }
    }

    #[test]
    fn probe_in_tissue_moves_sideways_only_in_stroke_phase() {
        let palpation = plain(20.0);
        for step in 0..20_000 {
            let intent = palpation.intent(f64::from(step) * 1e-3);
            let sideways = intent.velocity_mps[0].abs() + intent.velocity_mps[1].abs() > 1e-9;
            let deep = intent.position_m[2] < PalpationParams::default().tool_radius_m;
            assert!(!(sideways && deep) || intent.phase == STROKE);
        }
    }

    #[test]
    fn tweezers_close_and_open_in_contact() {
        let palpation = plain(20.0);
        let mut edges = vec![];
        let mut closed = false;
        for step in 0..20_000 {
            let intent = palpation.intent(f64::from(step) * 1e-3);
            if intent.closed != closed {
                edges.push((intent.phase, intent.position_m[2] < 0.008));
                closed = intent.closed;
            }
        }
        assert_eq!(edges, [(PINCH, true), (PINCH, false)]);
    }

    #[test]
    fn equal_seeds_repeat_and_others_vary() {
        let params = PalpationParams::default();
        let (one, same, other) = (
            params.to_path(20.0, 1),
            params.to_path(20.0, 1),
            params.to_path(20.0, 2),
        );
        assert_eq!(one, same);
        assert_ne!(one, other);
        let end_s = other.segments.last().map_or(0.0, |segment| segment.end_s);
        assert!((end_s - 20.0).abs() < 1e-9);
        let shift_m = (one.intent(25.0).position_m[2] - params.start_m()[2]).abs();
        assert!(shift_m <= params.tremor_m);
    }
}
