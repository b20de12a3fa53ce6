//! The scripted palpation of a patch: approach, nine presses, a stroke, a pinch, retreat (ours).
//!
//! A list of minimum-jerk legs over time, scaled to the length of the session. Press k = 1 + ix + 3 iy is at ((ix - 1) d, (iy - 1) d).
//! The tissue rests at z = 0, so the centre of a tool of radius R touches at z = R. Depths are of
//! the intended point: hand and tissue in series take it up, about 1.5 N at 10 mm for 300 N/m each.

use core::f64::consts::PI;

use palpate_port::FieldError;
use palpate_transport::Axes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::leg::Leg;
use super::script::{Intent, OPEN_M};

/// Opening that is meant while pinching \[m\].
const CLOSED_M: f64 = 0.003;
/// Height of the tool above the surface while travelling \[m\].
const CLEARANCE_M: f64 = 0.004;
/// Height of the tool above the surface at the start \[m\].
const START_M: f64 = 0.020;
/// How far a pinch pulls the tool above first contact \[m\].
const PULL_M: f64 = 0.002;
/// Band of the tremor \[Hz\]: physiological hand tremor, 8 to 12 Hz.
const TREMOR_HZ: (f64, f64) = (8.0, 12.0);

/// Shortest whole palpation \[s\]: a hand does not do it faster.
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

/// Parameters of a palpation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PalpationParams {
    /// Distance d of the sites \[m\].
    pub spacing_m: f64,
    /// Radius R of the tool \[m\].
    pub tool_radius_m: f64,
    /// Depth of a press, of the intended point below first contact \[m\].
    pub press_depth_m: f64,
    /// Depth of the stroke \[m\].
    pub stroke_depth_m: f64,
    /// Depth at which the tweezers close \[m\].
    pub pinch_depth_m: f64,
    /// Amplitude of the tremor \[m\], 0 for none.
    pub tremor_m: f64,
    /// Relative variation of the length of each leg, 0 for none.
    pub timing_jitter: f64,
}

impl Default for PalpationParams {
    fn default() -> Self {
        Self {
            spacing_m: 0.020,
            tool_radius_m: 0.008,
            press_depth_m: 0.010,
            stroke_depth_m: 0.005,
            pinch_depth_m: 0.004,
            tremor_m: 2e-5,
            timing_jitter: 0.05,
        }
    }
}

impl PalpationParams {
    /// Check every field.
    ///
    /// # Errors
    /// [`FieldError`] names the first field that cannot be used.
    pub fn validate(&self) -> Result<(), FieldError> {
        let ranges = [
            ("script.spacing_m", self.spacing_m, 0.05),
            ("script.tool_radius_m", self.tool_radius_m, 0.05),
            ("script.press_depth_m", self.press_depth_m, 0.05),
            ("script.stroke_depth_m", self.stroke_depth_m, 0.05),
            ("script.pinch_depth_m", self.pinch_depth_m, 0.05),
            ("script.tremor_m", self.tremor_m, 1e-3),
            ("script.timing_jitter", self.timing_jitter, 0.5),
        ];
        for (field, value, high) in ranges {
            FieldError::between(field, value, 0.0, high)?;
        }
        Ok(())
    }

    /// Where the script begins \[m\].
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
}

/// One sine of the tremor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Tremor {
    hz: f64,
    phase_turns: f64,
}

/// A palpation, laid out in time.
#[derive(Debug, Clone, PartialEq)]
pub struct Palpation {
    legs: Vec<Leg>,
    rest: Intent,
    tremor_m: f64,
    tremor: [Tremor; 3],
}

impl Palpation {
    /// Lay out the legs over a session of `duration_s` \[s\]; the seed draws tremor and timing.
    ///
    /// A session shorter than 8 s sees only the beginning of one of that length.
    #[must_use]
    pub fn new(params: &PalpationParams, duration_s: f64, seed: u64) -> Self {
        let duration_s = duration_s.max(DURATION_S_MIN);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let tremor = core::array::from_fn(|_| Tremor {
            hz: TREMOR_HZ.0 + (TREMOR_HZ.1 - TREMOR_HZ.0) * unit(&mut random),
            phase_turns: unit(&mut random),
        });
        let mut legs = Layout::new(params).draw().legs;
        for leg in &mut legs {
            leg.length_s *= 1.0 + params.timing_jitter * (2.0 * unit(&mut random) - 1.0);
        }
        let total_s: f64 = legs.iter().map(|leg| leg.length_s).sum();
        let mut end_s = 0.0;
        for leg in &mut legs {
            leg.length_s *= duration_s / total_s;
            end_s += leg.length_s;
            leg.end_s = end_s;
        }
        let rest = Intent {
            position_m: params.start_m(),
            phase: RETREAT,
            ..Intent::default()
        };
        Self {
            legs,
            rest,
            tremor_m: params.tremor_m,
            tremor,
        }
    }

    /// What the operator means at `elapsed_s` \[s\]; after the last leg, to stay.
    #[must_use]
    pub fn intent(&self, elapsed_s: f64) -> Intent {
        let leg = Leg::at(&self.legs, elapsed_s);
        let mut intent = leg.map_or(self.rest, |leg| leg.intent(elapsed_s));
        if self.tremor_m > 0.0 {
            for (axis, tremor) in self.tremor.iter().enumerate() {
                let turns = tremor.hz * elapsed_s + tremor.phase_turns;
                let (sin, cos) = libm::sincos(2.0 * PI * (turns - turns.floor()));
                intent.position_m[axis] += self.tremor_m * sin;
                intent.velocity_mps[axis] += self.tremor_m * 2.0 * PI * tremor.hz * cos;
            }
        }
        intent
    }
}

/// The legs as they are drawn; lengths are relative to each other, and together some 25 s.
struct Layout<'a> {
    params: &'a PalpationParams,
    at_m: Axes,
    closed: bool,
    legs: Vec<Leg>,
}

impl<'a> Layout<'a> {
    fn new(params: &'a PalpationParams) -> Self {
        Self {
            params,
            at_m: params.start_m(),
            closed: false,
            legs: Vec::with_capacity(64),
        }
    }

    fn draw(mut self) -> Self {
        let start_m = self.params.start_m();
        self.approach();
        for k in 1..=9 {
            self.press(k);
        }
        self.stroke();
        self.pinch();
        self.to(0.5, RETREAT, start_m);
        self
    }

    /// Two wide strokes through the air, which fill the energy accounts of all axes, then down to
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

    /// Two presses at a site: the first teaches the twin, the second feels what it has learnt. The
    /// second is the slow one, because what a quick push feels is also mass and damping.
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

    /// Height of the tool centre when the tool is `above_m` over the surface \[m\].
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
        self.legs.push(Leg {
            end_s: 0.0,
            length_s,
            from_m: self.at_m,
            to_m,
            phase,
            closed: self.closed,
            ..Leg::default()
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

    fn plain(duration_s: f64) -> Palpation {
        let params = PalpationParams {
            tremor_m: 0.0,
            timing_jitter: 0.0,
            ..PalpationParams::default()
        };
        Palpation::new(&params, duration_s, 0)
    }

    #[test]
    fn the_phases_come_in_order_at_every_length() {
        for duration_s in [10.0, 20.0, 60.0] {
            let palpation = plain(duration_s);
            let mut seen = vec![];
            for step in 0..2000 {
                let intent = palpation.intent(f64::from(step) * duration_s / 2000.0);
                if seen.last() != Some(&intent.phase) {
                    seen.push(intent.phase);
                }
            }
            let order = [
                0, 1, 10, 2, 10, 3, 10, 4, 10, 5, 10, 6, 10, 7, 10, 8, 10, 9, 10, 11, 10, 12, 13,
            ];
            assert_eq!(seen, order);
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
    fn never_moves_sideways_in_the_tissue_but_in_the_stroke() {
        let palpation = plain(20.0);
        for step in 0..20_000 {
            let intent = palpation.intent(f64::from(step) * 1e-3);
            let sideways = intent.velocity_mps[0].abs() + intent.velocity_mps[1].abs() > 1e-9;
            let deep = intent.position_m[2] < PalpationParams::default().tool_radius_m;
            assert!(!(sideways && deep) || intent.phase == STROKE);
        }
    }

    #[test]
    fn the_tweezers_close_in_contact_and_open_again() {
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
    fn seeds_vary_and_repeat() {
        let params = PalpationParams::default();
        let (one, same, other) = (
            Palpation::new(&params, 20.0, 1),
            Palpation::new(&params, 20.0, 1),
            Palpation::new(&params, 20.0, 2),
        );
        assert_eq!(one, same);
        assert_ne!(one, other);
        let end_s = other.legs.last().map_or(0.0, |leg| leg.end_s);
        assert!((end_s - 20.0).abs() < 1e-9);
        let shift_m = (one.intent(25.0).position_m[2] - params.start_m()[2]).abs();
        assert!(shift_m <= params.tremor_m);
    }
}
