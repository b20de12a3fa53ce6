//! What presses have taught: by which factor the twin's force is wrong, by place and by force.
//!
//! A lesson is one place that the robot has pressed. There the measured force is fitted as a power law
//! of the force that the twin expects of the same motion, `F = A F_twin^n`, so that neither a surface
//! nor a unit has to be known and a stiffening tissue (Hunt and Crossley 1975, teleop E15) is covered.
//! Between the places lessons are blended by distance; far from all of them their mean holds, because a
//! tissue that is stiffer here than believed is likely to be so elsewhere. All of it is ours.
//!
//! | symbol | is | unit |
//! |---|---|---|
//! | q | `ln(F_twin / 1 N)` | - |
//! | e | `ln(F / F_twin)`, what a lesson averages | - |

/// Places that are remembered; the least taught one makes room for a new one.
const LESSONS: usize = 32;

/// Share of what a place has taught that is left when it has been pressed anew: a new press counts
/// ten times an old one, so that a tissue that has changed is learnt anew.
const KEPT: f64 = 0.1;

/// How much better the twin's force is known than the measured one, as a share of its error: a sensor is
/// off by some 10 mN, a twin of 150 N/m by what the robot's position is, some 10 um.
const TWIN_ERROR: f64 = 0.2;

/// Force from which a power law is off by more than a sensor \[N\]: some percent of it, and so 20 mN.
const RELATIVE_N: f64 = 1.5;

/// How far beyond the twin's largest force, in its logarithm, a law is believed: a robot of 2 000 N/m presses
/// tissue as stiff only half as deep as the hand means to.
const BEYOND: f64 = 0.7;

/// Weight of samples from which a lesson counts half \[N^2\]: 50 ms at 0.3 N.
const TAUGHT_N2: f64 = 5.0;

/// Weight of samples of half a whole press, from which an exponent counts half \[N^2\]: 0.6 s at 1 N. A quick
/// press tells how hard a tissue is long before it tells how it stiffens, because its dynamics look like a law.
const BENT_N2: f64 = 600.0;

/// Weight of the mean of all lessons beside one whose place is touched: it decides where no lesson is
/// near.
const MEAN_SHARE: f64 = 0.005;

/// Spread of q that a lesson must exceed to tell an exponent: below, the force has hardly varied.
const SPREAD: f64 = 0.15;

/// Bounds of the exponent n - 1: force must rise with the twin's.
const EXPONENT: (f64, f64) = (-0.5, 1.0);

/// Share of a lesson's radius within which a touch is at its place.
const NEAR: f64 = 0.25;

/// How many times the least force surprises a lesson that expects less than that: beyond any lag of a sensor.
const SURPRISING: f64 = 3.0;

/// Largest logarithm of the factor: 20 times, either way.
pub(super) const LOG_MAX: f64 = 3.0;

/// What one place has taught: weighted sums over samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Lesson {
    place_m: [f64; 2],
    w: f64,
    wq: f64,
    wqq: f64,
    we: f64,
    wqe: f64,
    low: f64,
    high: f64,
}

impl Lesson {
    fn at(place_m: [f64; 2]) -> Self {
        Self {
            place_m,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            ..Self::default()
        }
    }

    fn add(&mut self, q: f64, e: f64, w: f64) {
        self.w += w;
        self.wq += w * q;
        self.wqq += w * q * q;
        self.we += w * e;
        self.wqe += w * q * e;
        self.low = self.low.min(q);
        self.high = self.high.max(q);
    }

    /// Forget what it was before the press that has ended: all but a share, if the press was a quarter
    /// as heavy at least; a brush does not outweigh it.
    fn forget(&mut self, before: &Self) {
        if before.w <= 0.0 {
            return;
        }
        let taught = self.w - before.w;
        let gone = (1.0 - KEPT) * (4.0 * taught / before.w).min(1.0);
        self.w -= gone * before.w;
        self.wq -= gone * before.wq;
        self.wqq -= gone * before.wqq;
        self.we -= gone * before.we;
        self.wqe -= gone * before.wqe;
    }

    /// Logarithm of the factor at a force, held far beyond the forces that were seen.
    fn log_at(&self, q: f64) -> f64 {
        let (mean_q, mean_e) = (self.wq / self.w, self.we / self.w);
        let spread = (self.wqq / self.w - mean_q * mean_q).max(0.0);
        let shared = self.wqe / self.w - mean_q * mean_e;
        let slope = shared / (spread + SPREAD * SPREAD) * self.heard();
        let q = q.clamp(self.low, self.high + BEYOND);
        let log = mean_e + slope.clamp(EXPONENT.0, EXPONENT.1) * (q - mean_q);
        log.clamp(-LOG_MAX, LOG_MAX)
    }

    /// How much it counts, 0 to 1.
    fn trust(&self) -> f64 {
        self.w / (self.w + TAUGHT_N2)
    }

    /// How much of a whole press it has heard, 0 to 1.
    fn heard(&self) -> f64 {
        self.w / (self.w + BENT_N2)
    }

    fn distance2_m2(&self, place_m: [f64; 2]) -> f64 {
        let (dx, dy) = (place_m[0] - self.place_m[0], place_m[1] - self.place_m[1]);
        dx * dx + dy * dy
    }
}

/// All that was taught. Copying it is how a press is felt with what was known before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lessons {
    lessons: [Lesson; LESSONS],
    count: usize,
    /// Lesson of the touch that goes on, and what it was before: the beginning of a press alone is no
    /// match for a whole one, so the old one is forgotten when the new one has ended.
    open: Option<(usize, Lesson)>,
    radius_m: f64,
}

impl Lessons {
    /// Nothing taught yet; a lesson reaches `radius_m` \[m\] far.
    #[must_use]
    pub(super) fn new(radius_m: f64) -> Self {
        Self {
            lessons: [Lesson::default(); LESSONS],
            count: 0,
            open: None,
            radius_m,
        }
    }

    /// None, of the same reach.
    #[must_use]
    pub(super) fn emptied(&self) -> Self {
        Self::new(self.radius_m)
    }

    /// A sample of a touch at a place \[m\]: the force that the twin expects and the one that was
    /// measured \[N\], both above zero. Below `least_n` \[N\] nothing is learnt.
    pub(super) fn hear(
        &mut self,
        place_m: [f64; 2],
        expected_n: f64,
        measured_n: f64,
        least_n: f64,
    ) {
        let usable = expected_n > 0.0
            && measured_n > 0.0
            && (expected_n + measured_n).is_finite()
            && place_m.iter().all(|x| x.is_finite());
        if !usable {
            return;
        }
        let q = libm::log(expected_n);
        let e = (libm::log(measured_n) - q).clamp(-LOG_MAX, LOG_MAX);
        let index = self.open_at(place_m);
        let lesson = &mut self.lessons[index];
        // A sensor lags: of two samples of one depth that of the way out says more. What a sample counts must
        // not hang on its own error, so it is judged by the force that the lesson makes of the twin's.
        let guess = if lesson.w > 0.0 {
            lesson.we / lesson.w
        } else {
            e
        };
        let guess_n = expected_n * libm::exp(guess);
        // what is measured far above the least is heard whatever is guessed: a lesson of soft tissue would refuse
        // each press of what has become hard
        let guess_n = if measured_n > SURPRISING * least_n {
            guess_n.max(least_n)
        } else {
            guess_n
        };
        let w = weight_n2(expected_n, guess_n);
        if w.is_finite() && guess_n >= least_n && w > 0.0 {
            lesson.add(q, e, w);
        }
    }

    /// The touch has ended; whether it had taught anything.
    pub(super) fn close(&mut self) -> bool {
        let ended = self.open.take();
        if let Some((index, before)) = &ended {
            self.lessons[*index].forget(before);
        }
        ended.is_some()
    }

    /// Which lesson a sample belongs to: the open one until the touch has wandered off, else the one of
    /// this place, else a new one.
    fn open_at(&mut self, place_m: [f64; 2]) -> usize {
        let near_m2 = (NEAR * self.radius_m) * (NEAR * self.radius_m);
        let is_near = |lesson: &Lesson| lesson.distance2_m2(place_m) < near_m2;
        if let Some((open, _)) = self.open
            && is_near(&self.lessons[open])
        {
            return open;
        }
        self.close();
        let known = self.lessons[..self.count].iter().position(is_near);
        let index = known.unwrap_or_else(|| {
            let index = self.room();
            self.lessons[index] = Lesson::at(place_m);
            index
        });
        self.open = Some((index, self.lessons[index]));
        index
    }

    fn room(&mut self) -> usize {
        if self.count < LESSONS {
            self.count += 1;
            return self.count - 1;
        }
        let weights = self.lessons.iter().map(|lesson| lesson.w);
        let least = weights.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        least.map_or(0, |(index, _)| index)
    }

    /// Logarithm of the factor by which the twin's force of `force_n` \[N\] is to be multiplied at a
    /// place \[m\]; 0 before anything was taught.
    #[must_use]
    pub(super) fn log_at(&self, place_m: [f64; 2], force_n: f64) -> f64 {
        let q = libm::log(force_n.max(f64::MIN_POSITIVE));
        let (mut near, mut near_log, mut all, mut all_log) = (0.0, 0.0, 0.0, 0.0);
        // one that has heard nothing yet has no mean
        let told = |lesson: &&Lesson| lesson.w > 0.0;
        for lesson in self.lessons[..self.count].iter().filter(told) {
            let (trust, log) = (lesson.trust(), lesson.log_at(q));
            let share = self.kernel(lesson.distance2_m2(place_m)) * trust;
            near += share;
            near_log += share * log;
            all += trust;
            all_log += trust * log;
        }
        if all <= 0.0 {
            return 0.0;
        }
        // few samples are no mean of a whole tissue
        let mean = all_log / (all + MEAN_SHARE);
        let log = (near_log + MEAN_SHARE * mean) / (near + MEAN_SHARE);
        if log.is_finite() { log } else { 0.0 }
    }

    /// How well a place \[m\] is known, 0 to 1: by lessons nearby, each by how much of a whole press it has
    /// heard. How well its law fits is not asked.
    #[must_use]
    pub(super) fn known(&self, place_m: [f64; 2]) -> f64 {
        let near = self.lessons[..self.count]
            .iter()
            .map(|lesson| self.kernel(lesson.distance2_m2(place_m)) * lesson.heard());
        near.sum::<f64>().min(1.0)
    }

    /// Weight of a lesson at a distance, 1 at its place, 0 beyond the radius, smooth between.
    fn kernel(&self, distance2_m2: f64) -> f64 {
        let left = (1.0 - distance2_m2 / (self.radius_m * self.radius_m)).max(0.0);
        left * left
    }
}

/// Weight of a sample of which `guess_n` is to be measured \[N^2\]: over the variance of the logarithm of
/// measured over expected force, whose errors are absolute up to [`RELATIVE_N`] and relative beyond, so that
/// tissue much harder than the twin is learnt from the little that the twin feels there, and the deepest moment
/// of a press is not all of it.
fn weight_n2(expected_n: f64, guess_n: f64) -> f64 {
    let inverse = |force_n: f64| 1.0 / (force_n * force_n);
    let twins = TWIN_ERROR * TWIN_ERROR;
    (1.0 + twins) / (inverse(guess_n) + twins * inverse(expected_n) + inverse(RELATIVE_N))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HERE: [f64; 2] = [0.0, 0.0];
    const THERE: [f64; 2] = [0.02, 0.0];

    /// A press to 1 N of the twin, measured by `law`.
    fn press(lessons: &mut Lessons, place_m: [f64; 2], law: impl Fn(f64) -> f64) {
        for step in 1..=200 {
            let expected_n = 0.15 + 0.85 * f64::from(step) / 200.0;
            lessons.hear(place_m, expected_n, law(expected_n), 0.0);
        }
        lessons.close();
    }

    #[test]
    fn a_factor_is_learnt_in_one_press_and_holds_elsewhere_as_a_mean() {
        let mut lessons = Lessons::new(0.022);
        assert_eq!(lessons.log_at(HERE, 1.0), 0.0);
        press(&mut lessons, HERE, |force| 2.0 * force);
        let log = |lessons: &Lessons, place, force| libm::exp(lessons.log_at(place, force));
        assert!((log(&lessons, HERE, 0.5) - 2.0).abs() < 0.03);
        assert!((log(&lessons, [0.1, 0.1], 0.5) - 2.0).abs() < 0.1);
        press(&mut lessons, THERE, |force| 3.0 * force);
        assert!((log(&lessons, THERE, 0.5) - 3.0).abs() < 0.1);
        assert!((log(&lessons, HERE, 0.5) - 2.0).abs() < 0.06);
        let between = log(&lessons, [0.01, 0.0], 0.5);
        assert!(between > 2.2 && between < 2.8, "{between}");
        let known = lessons.known(HERE);
        assert!(known > 0.1 && known < 0.3 && lessons.known([0.1, 0.1]) == 0.0);
        for _ in 0..20 {
            press(&mut lessons, HERE, |force| 2.0 * force);
        }
        assert!(lessons.known(HERE) < 1.0);
    }

    #[test]
    fn a_power_law_is_learnt_over_the_forces_that_were_seen() {
        let mut lessons = Lessons::new(0.022);
        // a press of forty times the samples, as a slow and firm hand gives
        for _ in 0..40 {
            for step in 1..=200 {
                let expected_n = 0.15 + 0.85 * f64::from(step) / 200.0;
                lessons.hear(HERE, expected_n, 1.5 * libm::pow(expected_n, 1.4), 0.0);
            }
        }
        for force in [0.3, 0.6, 1.0] {
            let told = force * libm::exp(lessons.log_at(HERE, force));
            let truth = 1.5 * libm::pow(force, 1.4);
            assert!((told / truth - 1.0).abs() < 0.15, "{force}: {told} {truth}");
        }
        assert_eq!(lessons.log_at(HERE, 5.0), lessons.log_at(HERE, 2.1));
    }

    /// A sensor that lags reads less on the way in and more on the way out. Chosen and weighed by what was
    /// measured, the way out counted for more where the force was small, and tissue was felt 6 % too soft.
    #[test]
    fn issue_a_lag_of_the_sensor_bent_the_law() {
        let mut lessons = Lessons::new(0.022);
        for _ in 0..20 {
            for step in 1..=200 {
                let expected_n = 0.005 * f64::from(step);
                for lag_n in [-0.1, 0.1] {
                    lessons.hear(HERE, expected_n, 1.5 * expected_n + lag_n, 0.15);
                }
            }
        }
        let told = |force_n: f64| libm::exp(lessons.log_at(HERE, force_n));
        let slope = (0.9 * told(0.9) - 0.3 * told(0.3)) / 0.6;
        assert!((slope / 1.5 - 1.0).abs() < 0.02, "{slope}");
    }

    #[test]
    fn a_tissue_that_has_changed_is_learnt_anew() {
        let mut lessons = Lessons::new(0.022);
        for _ in 0..5 {
            press(&mut lessons, HERE, |force| 2.0 * force);
        }
        press(&mut lessons, HERE, |force| force);
        assert_eq!(lessons.count, 1);
        let left = lessons.log_at(HERE, 0.5);
        assert!(left < 0.25 * std::f64::consts::LN_2, "{left}");
    }

    /// A lesson judged by its own guess alone: once that was below the least force, nothing was heard any more.
    #[test]
    fn issue_a_lesson_of_soft_tissue_heard_nothing_of_hard() {
        let mut lessons = Lessons::new(0.022);
        let mut press = |most_n: f64, factor: f64| {
            for step in 1..=1000 {
                let expected_n = most_n * f64::from(step) / 1000.0;
                lessons.hear(HERE, expected_n, factor * expected_n, 0.15);
            }
            lessons.close();
            libm::exp(lessons.log_at(HERE, 0.8))
        };
        let soft = press(6.0, 0.05);
        assert!(soft < 0.08, "{soft}");
        let told: Vec<f64> = (0..3).map(|_| press(1.0, 1.0)).collect();
        assert!(
            told[0] > 2.0 * soft && (told[2] - 1.0).abs() < 0.2,
            "{told:?}"
        );
    }

    #[test]
    fn what_is_no_force_teaches_nothing() {
        let mut lessons = Lessons::new(0.022);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            lessons.hear(HERE, bad, 1.0, 0.0);
            lessons.hear(HERE, 1.0, bad, 0.0);
            lessons.hear([bad / 0.0 * 0.0, 0.0], 1.0, 1.0, 0.0);
        }
        assert_eq!(lessons, Lessons::new(0.022));
    }

    proptest! {
        /// Whatever was heard, the felt force is finite and rises with the twin's.
        #[test]
        fn felt_force_rises_with_the_twins(samples in proptest::collection::vec(
            (-0.05_f64..0.05, -0.05_f64..0.05, 0.01_f64..10.0, 0.01_f64..10.0), 1..400),
            x in -0.05_f64..0.05, y in -0.05_f64..0.05)
        {
            let mut lessons = Lessons::new(0.022);
            for (index, &(px, py, expected, measured)) in samples.iter().enumerate() {
                lessons.hear([px, py], expected, measured, 0.0);
                if index % 7 == 0 {
                    lessons.close();
                }
            }
            prop_assert!(lessons.count <= LESSONS);
            let mut last = 0.0;
            for step in 1..=50 {
                let force = 0.2 * f64::from(step);
                let felt = force * libm::exp(lessons.log_at([x, y], force));
                prop_assert!(felt.is_finite() && felt > last, "{force}: {felt} after {last}");
                last = felt;
            }
        }
    }
}
