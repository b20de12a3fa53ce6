//! Correction map: the factor by which the twin's force is wrong, by place and by force.
//!
//! Each place that the robot has pressed has a [`PlaceFit`]. Between the places the fits are blended by distance. Far
//! from all of them their mean holds, because a tissue that is stiffer here than modelled is likely to be so
//! elsewhere. All of it is ours.

use super::place_fit::{PlaceFit, PressSample};

/// Most places in the map; the one with the least weight is replaced by a new one.
const PLACES_MAX: usize = 32;

/// Weight of the mean of all fits beside one whose place is touched: it decides where no fit is
/// near.
const MEAN_SHARE: f64 = 0.005;

/// Share of the radius of a fit within which a touch belongs to its place.
const SAME_PLACE_SHARE: f64 = 0.25;

/// Present touch of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Touch {
    /// Index of its fit.
    index: usize,
    /// The fit before: the beginning of a press is no match for a whole one, so the old state loses weight only when the
    /// new press has ended.
    before: PlaceFit,
}

/// Time for which the robot must meet nothing before a place counts as empty \[ticks\].
const ABSENT_TICKS: u32 = 30;

/// Number of empty places, and none with tissue, from which there is no tissue anywhere.
const EMPTY_PLACES_MIN: usize = 3;

/// Radius of an empty place over that of a fit.
const EMPTY_RADIUS_SHARE: f64 = 0.5;

/// Lack of a force in the present contact of the shadow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Absence {
    /// Place where the present row of ticks without a force began \[m\].
    place_m: [f64; 2],
    /// Length of that row.
    ticks: u32,
    /// Place with tissue where such a row was long enough \[m\].
    gone_m: Option<[f64; 2]>,
    /// True if the contact has met a force. Soft tissue leaves the probe before its twin does: the place is not empty.
    met_force: bool,
    /// True if a part of the contact told nothing, as after a leap of the shadow.
    incomplete: bool,
}

/// All place fits. A copy keeps the state from before a press.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CorrectionMap {
    fits: [PlaceFit; PLACES_MAX],
    count: usize,
    touch: Option<Touch>,
    absence: Absence,
    /// True if the robot met nothing at several places far apart, and tissue at none.
    empty_everywhere: bool,
    radius_m: f64,
}

impl CorrectionMap {
    /// Empty map; a fit applies within `radius_m` \[m\].
    #[must_use]
    pub(super) fn new(radius_m: f64) -> Self {
        Self {
            fits: [PlaceFit::default(); PLACES_MAX],
            count: 0,
            touch: None,
            absence: Absence::default(),
            empty_everywhere: false,
            radius_m,
        }
    }

    /// Empty map of the same radius, in the same contact.
    #[must_use]
    pub(super) fn cleared(&self) -> Self {
        Self {
            absence: Absence {
                gone_m: None,
                ..self.absence
            },
            ..Self::new(self.radius_m)
        }
    }

    /// Adds a sample of a touch at a place \[m\]. Below `least_n` \[N\] it is not used.
    pub(super) fn add_sample(&mut self, place_m: [f64; 2], sample: &PressSample, least_n: f64) {
        if sample.is_usable() && place_m.iter().all(|x| x.is_finite()) {
            let index = self.fit_index(place_m);
            let is_new = !self.fits[index].has_tissue();
            if self.fits[index].is_empty() {
                self.fits[index] = PlaceFit::at_place(self.fits[index].place_m(), self.radius_m);
            }
            self.fits[index].add(sample, least_n);
            (self.absence.met_force, self.absence.gone_m) = (true, None);
            if is_new {
                self.limit_empty_places();
            }
        }
    }

    /// Adds a tick in which the robot met nothing at a place \[m\] where the twin has tissue. After enough of them in a row
    /// the place is empty; one with tissue becomes empty only if the whole contact meets no force.
    pub(super) fn add_absence(&mut self, place_m: [f64; 2]) {
        if self.absence.met_force || !place_m.iter().all(|x| x.is_finite()) {
            return;
        }
        let begun = PlaceFit::at_place(self.absence.place_m, self.radius_m);
        if self.absence.ticks == 0 || begun.distance2_m2(place_m) >= self.near_m2() {
            (self.absence.place_m, self.absence.ticks) = (place_m, 0);
        }
        self.absence.ticks = self.absence.ticks.saturating_add(1);
        if self.absence.ticks != ABSENT_TICKS {
            return;
        }
        let index = self.fit_index(self.absence.place_m);
        if self.fits[index].has_tissue() {
            self.absence.gone_m = Some(self.absence.place_m);
        } else {
            self.empty(index);
        }
    }

    /// A tick that says nothing about a lack of force; `incomplete` if one could have been hidden in it.
    pub(super) fn interrupt_absence(&mut self, incomplete: bool) {
        self.absence.ticks = 0;
        self.absence.incomplete |= incomplete;
    }

    /// Ends the contact of the shadow; true if anything was learnt.
    pub(super) fn end_contact(&mut self) -> bool {
        let absence = core::mem::take(&mut self.absence);
        let mut learnt = self.end_touch();
        if let Some(place_m) = absence.gone_m.filter(|_| !absence.incomplete) {
            let index = self.fit_index(place_m);
            self.empty(index);
            learnt |= self.end_touch();
        }
        learnt
    }

    /// Empties a place.
    fn empty(&mut self, index: usize) {
        self.fits[index] = self.fits[index].emptied(EMPTY_RADIUS_SHARE * self.radius_m);
        self.limit_empty_places();
    }

    /// Limits empty places to the distance of the nearest place with tissue, which keeps its whole force, and finds out
    /// whether everything is empty.
    fn limit_empty_places(&mut self) {
        let (mut apart, mut has_tissue) = (0, false);
        for index in 0..self.count {
            has_tissue |= self.fits[index].has_tissue();
            let mut fit = self.fits[index];
            if !fit.is_empty() {
                continue;
            }
            let mut nearest_m2 = f64::INFINITY;
            for (other_index, other) in self.fits[..self.count].iter().enumerate() {
                let distance2_m2 = other.distance2_m2(fit.place_m());
                if other.has_tissue() {
                    fit.limit_radius(libm::sqrt(distance2_m2));
                } else if other.is_empty() && other_index < index {
                    nearest_m2 = nearest_m2.min(distance2_m2);
                }
            }
            self.fits[index] = fit;
            apart += usize::from(nearest_m2 >= self.radius_m * self.radius_m);
        }
        self.empty_everywhere = !has_tissue && apart >= EMPTY_PLACES_MIN;
    }

    /// Ends the touch of a place; true if there was one.
    fn end_touch(&mut self) -> bool {
        let ended = self.touch.take();
        if let Some(touch) = &ended {
            self.fits[touch.index].forget(&touch.before);
        }
        ended.is_some()
    }

    /// Square of the distance within which a touch belongs to a place \[m^2\].
    fn near_m2(&self) -> f64 {
        let near_m = SAME_PLACE_SHARE * self.radius_m;
        near_m * near_m
    }

    /// True if the robot met nothing near a place \[m\], or nothing anywhere.
    pub(super) fn is_empty_at(&self, place_m: [f64; 2]) -> bool {
        let is_near = |fit: &PlaceFit| fit.is_empty() && fit.kernel(place_m) > 0.0;
        self.empty_everywhere || self.fits[..self.count].iter().any(is_near)
    }

    /// Index of the fit of a touch: the present one until the touch has left its place, else that of this place, else a
    /// new one.
    fn fit_index(&mut self, place_m: [f64; 2]) -> usize {
        let near_m2 = self.near_m2();
        let is_near = |fit: &PlaceFit| fit.distance2_m2(place_m) < near_m2;
        if let Some(touch) = &self.touch
            && is_near(&self.fits[touch.index])
        {
            return touch.index;
        }
        self.end_touch();
        let found = self.fits[..self.count].iter().position(is_near);
        let index = found.unwrap_or_else(|| {
            let index = self.free_index();
            self.fits[index] = PlaceFit::at_place(place_m, self.radius_m);
            index
        });
        self.touch = Some(Touch {
            index,
            before: self.fits[index],
        });
        index
    }

    fn free_index(&mut self) -> usize {
        if self.count < PLACES_MAX {
            self.count += 1;
            return self.count - 1;
        }
        let weights = self.fits.iter().map(PlaceFit::weight_n2);
        let least = weights.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        least.map_or(0, |(index, _)| index)
    }

    /// Logarithm of the factor for the twin's force of `force_n` \[N\] at a
    /// place \[m\]; 0 for an empty map.
    #[must_use]
    pub(super) fn log_factor(&self, place_m: [f64; 2], force_n: f64) -> f64 {
        let q = libm::log(force_n.max(f64::MIN_POSITIVE));
        let (mut near, mut near_log, mut all, mut all_log) = (0.0, 0.0, 0.0, 0.0);
        let fits = self.fits[..self.count].iter().filter(|fit| fit.is_known());
        // some empty places say nothing about tissue elsewhere
        for fit in fits {
            let (trust, log) = (fit.trust(), fit.log_factor(q));
            let share = fit.kernel(place_m) * trust;
            near += share;
            near_log += share * log;
            if self.empty_everywhere || !fit.is_empty() {
                all += trust;
                all_log += trust * log;
            }
        }
        // few samples do not determine the mean of a whole tissue
        let mean = all_log / (all + MEAN_SHARE);
        let log = (near_log + MEAN_SHARE * mean) / (near + MEAN_SHARE);
        if log.is_finite() { log } else { 0.0 }
    }

    /// Confidence at a place \[m\], 0 to 1: sum over near fits of their share of a whole press, 1 for an empty place. The residual of
    /// a fit does not enter.
    #[must_use]
    pub(super) fn confidence(&self, place_m: [f64; 2]) -> f64 {
        let near = self.fits[..self.count]
            .iter()
            .map(|fit| fit.kernel(place_m) * fit.press_share());
        near.sum::<f64>().min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::place_fit::sample;
    use proptest::prelude::*;

    const HERE: [f64; 2] = [0.0, 0.0];
    const THERE: [f64; 2] = [0.02, 0.0];

    /// A press up to 1 N of the twin, measured by `law`.
    fn press(map: &mut CorrectionMap, place_m: [f64; 2], law: impl Fn(f64) -> f64) {
        for step in 1..=200 {
            let expected_n = 0.15 + 0.85 * f64::from(step) / 200.0;
            map.add_sample(place_m, &sample(expected_n, law(expected_n)), 0.0);
        }
        map.end_contact();
    }

    #[test]
    fn one_press_sets_factor_and_mean_elsewhere() {
        let mut map = CorrectionMap::new(0.022);
        assert_eq!(map.log_factor(HERE, 1.0), 0.0);
        press(&mut map, HERE, |force| 2.0 * force);
        let log = |map: &CorrectionMap, place, force| libm::exp(map.log_factor(place, force));
        assert!((log(&map, HERE, 0.5) - 2.0).abs() < 0.03);
        assert!((log(&map, [0.1, 0.1], 0.5) - 2.0).abs() < 0.1);
        press(&mut map, THERE, |force| 3.0 * force);
        assert!((log(&map, THERE, 0.5) - 3.0).abs() < 0.1);
        assert!((log(&map, HERE, 0.5) - 2.0).abs() < 0.06);
        let between = log(&map, [0.01, 0.0], 0.5);
        assert!(between > 2.2 && between < 2.8, "{between}");
        let confidence = map.confidence(HERE);
        assert!(confidence > 0.1 && confidence < 0.3 && map.confidence([0.1, 0.1]) == 0.0);
        for _ in 0..20 {
            press(&mut map, HERE, |force| 2.0 * force);
        }
        assert!(map.confidence(HERE) < 1.0);
    }

    #[test]
    fn power_law_is_fitted_over_sampled_forces() {
        let mut map = CorrectionMap::new(0.022);
        // a press with forty times the samples, as of a slow and firm hand
        for _ in 0..40 {
            for step in 1..=200 {
                let expected_n = 0.15 + 0.85 * f64::from(step) / 200.0;
                map.add_sample(
                    HERE,
                    &sample(expected_n, 1.5 * libm::pow(expected_n, 1.4)),
                    0.0,
                );
            }
        }
        for force in [0.3, 0.6, 1.0] {
            let corrected = force * libm::exp(map.log_factor(HERE, force));
            let truth = 1.5 * libm::pow(force, 1.4);
            assert!(
                (corrected / truth - 1.0).abs() < 0.15,
                "{force}: {corrected} {truth}"
            );
        }
        assert_eq!(map.log_factor(HERE, 5.0), map.log_factor(HERE, 2.1));
    }

    /// A lagging sensor reads less on the way in and more on the way out. Weighted by the measured
    /// force, the way out counted more where the force was small, and tissue was rendered 6 % too soft.
    #[test]
    fn issue_sensor_lag_biased_the_fit() {
        let mut map = CorrectionMap::new(0.022);
        for _ in 0..20 {
            for step in 1..=200 {
                let expected_n = 0.005 * f64::from(step);
                for lag_n in [-0.1, 0.1] {
                    map.add_sample(HERE, &sample(expected_n, 1.5 * expected_n + lag_n), 0.15);
                }
            }
        }
        let factor = |force_n: f64| libm::exp(map.log_factor(HERE, force_n));
        let slope = (0.9 * factor(0.9) - 0.3 * factor(0.3)) / 0.6;
        assert!((slope / 1.5 - 1.0).abs() < 0.02, "{slope}");
    }

    #[test]
    fn changed_tissue_is_learnt_anew() {
        let mut map = CorrectionMap::new(0.022);
        for _ in 0..5 {
            press(&mut map, HERE, |force| 2.0 * force);
        }
        press(&mut map, HERE, |force| force);
        assert_eq!(map.count, 1);
        let left = map.log_factor(HERE, 0.5);
        assert!(left < 0.25 * std::f64::consts::LN_2, "{left}");
    }

    /// A fit weighted by its own prediction alone: once that was below the least force, no sample was used any more.
    #[test]
    fn issue_soft_fit_rejected_hard_samples() {
        let mut map = CorrectionMap::new(0.022);
        let mut press = |force_n_max: f64, factor: f64| {
            for step in 1..=1000 {
                let expected_n = force_n_max * f64::from(step) / 1000.0;
                map.add_sample(HERE, &sample(expected_n, factor * expected_n), 0.15);
            }
            map.end_contact();
            libm::exp(map.log_factor(HERE, 0.8))
        };
        let soft = press(6.0, 0.05);
        assert!(soft < 0.08, "{soft}");
        let factors: Vec<f64> = (0..3).map(|_| press(1.0, 1.0)).collect();
        assert!(
            factors[0] > 2.0 * soft && (factors[2] - 1.0).abs() < 0.2,
            "{factors:?}"
        );
    }

    fn meet_nothing(map: &mut CorrectionMap, place_m: [f64; 2], ticks: u32) {
        for _ in 0..ticks {
            map.add_absence(place_m);
        }
    }

    #[test]
    fn unknown_place_is_empty_after_thirty_ticks_in_a_row() {
        let mut map = CorrectionMap::new(0.022);
        meet_nothing(&mut map, HERE, 29);
        map.interrupt_absence(false);
        meet_nothing(&mut map, HERE, 29);
        assert_eq!((map.count, map.is_empty_at(HERE)), (0, false));
        meet_nothing(&mut map, HERE, 1);
        assert!(map.is_empty_at(HERE) && map.log_factor(HERE, 0.5) < -5.5);
        assert_eq!(map.confidence(HERE), 1.0);
        // it says nothing about tissue beside it, or elsewhere
        assert_eq!(map.log_factor([0.012, 0.0], 0.5), 0.0);
        assert_eq!(map.log_factor([0.1, 0.1], 0.5), 0.0);
        map.end_contact();
        press(&mut map, HERE, |force| 2.0 * force);
        assert!((map.log_factor(HERE, 0.5) - core::f64::consts::LN_2).abs() < 0.03);
        // with the whole radius of tissue
        assert!(map.confidence([0.012, 0.0]) > 0.05);
    }

    #[test]
    fn tissue_is_gone_after_a_contact_without_any_force() {
        let mut map = CorrectionMap::new(0.022);
        press(&mut map, HERE, |force| 2.0 * force);
        let known = map.log_factor(HERE, 0.5);
        // a surface that lies deeper than that of the twin
        meet_nothing(&mut map, HERE, 100);
        assert_eq!(map.log_factor(HERE, 0.5), known);
        press(&mut map, HERE, |force| 2.0 * force);
        assert!((map.log_factor(HERE, 0.5) - core::f64::consts::LN_2).abs() < 0.03);
        // a lift-off, also with a slide to a place of its own
        map.add_sample(HERE, &sample(0.5, 1.0), 0.0);
        meet_nothing(&mut map, HERE, 100);
        meet_nothing(&mut map, [0.01, 0.0], 100);
        map.end_contact();
        assert!(map.log_factor(HERE, 0.5) > 0.6 && !map.is_empty_at([0.01, 0.0]));
        meet_nothing(&mut map, HERE, 100);
        assert!(map.end_contact());
        assert!(map.is_empty_at(HERE) && map.log_factor(HERE, 0.5) < -5.5);
    }

    #[test]
    fn contact_that_was_not_seen_whole_takes_no_tissue_away() {
        let mut map = CorrectionMap::new(0.015);
        press(&mut map, HERE, |force| force);
        meet_nothing(&mut map, HERE, 100);
        map.interrupt_absence(true);
        meet_nothing(&mut map, HERE, 100);
        map.end_contact();
        assert!(map.log_factor(HERE, 0.5).abs() < 0.01);
    }

    /// A probe that slides at 50 mm/s.
    fn slide(map: &mut CorrectionMap, from_m: f64, to_m: f64) {
        let ticks = (libm::fabs(to_m - from_m) / 5e-5) as u32;
        for tick in 0..ticks {
            let share = f64::from(tick) / f64::from(ticks);
            map.add_absence([from_m + share * (to_m - from_m), 0.0]);
        }
        map.end_contact();
    }

    #[test]
    fn slide_over_nothing_empties_its_whole_way() {
        let mut map = CorrectionMap::new(0.015);
        slide(&mut map, 0.0, 0.03);
        for x_mm in 0..=26 {
            assert!(map.is_empty_at([1e-3 * f64::from(x_mm), 0.0]), "{x_mm} mm");
        }
        // known tissue at the end of a slide was met for some ticks only
        let mut map = CorrectionMap::new(0.015);
        press(&mut map, HERE, |force| force);
        slide(&mut map, -0.03, -0.003);
        assert!(map.log_factor(HERE, 0.5).abs() < 0.01);
    }

    #[test]
    fn tissue_beside_an_empty_place_keeps_its_force() {
        for distance_m in [0.004, 0.005, 0.006] {
            let there = [distance_m, 0.0];
            for tissue_first in [true, false] {
                let mut map = CorrectionMap::new(0.015);
                if tissue_first {
                    press(&mut map, HERE, |force| force);
                }
                meet_nothing(&mut map, there, 30);
                map.end_contact();
                if !tissue_first {
                    press(&mut map, HERE, |force| force);
                }
                assert!(map.log_factor(HERE, 0.5).abs() < 0.01);
                assert!(map.log_factor(there, 0.5) < -3.0);
            }
        }
    }

    #[test]
    fn three_empty_places_far_apart_and_no_tissue_are_an_empty_scene() {
        let mut map = CorrectionMap::new(0.015);
        slide(&mut map, 0.0, 0.014);
        assert!(map.log_factor([0.1, 0.1], 0.5) == 0.0);
        for place in 1..3 {
            assert!(!map.is_empty_at([0.1, 0.1]));
            meet_nothing(&mut map, [0.03 * f64::from(place), 0.0], 30);
            map.end_contact();
        }
        assert!(map.is_empty_at([0.1, 0.1]) && map.log_factor([0.1, 0.1], 0.5) < -5.5);
        press(&mut map, [0.1, 0.1], |force| force);
        assert!(map.log_factor([0.2, 0.1], 0.5).abs() < 0.1);
        assert!(map.log_factor([0.03, 0.0], 0.5) < -5.5);
    }

    #[test]
    fn empty_places_are_replaced_before_those_with_tissue() {
        let mut map = CorrectionMap::new(0.015);
        press(&mut map, HERE, |force| 2.0 * force);
        for place in 1..=2 * PLACES_MAX {
            meet_nothing(&mut map, [0.02 * place as f64, 0.0], 30);
            map.end_contact();
        }
        assert!((map.log_factor(HERE, 0.5) - core::f64::consts::LN_2).abs() < 0.03);
    }

    #[test]
    fn invalid_samples_leave_the_map_empty() {
        let mut map = CorrectionMap::new(0.022);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            map.add_sample(HERE, &sample(bad, 1.0), 0.0);
            map.add_sample(HERE, &sample(1.0, bad), 0.0);
            map.add_sample([bad / 0.0 * 0.0, 0.0], &sample(1.0, 1.0), 0.0);
        }
        assert_eq!(map, CorrectionMap::new(0.022));
    }

    proptest! {
        /// For any samples the corrected force is finite and rises with the twin's.
        #[test]
        fn corrected_force_rises_with_the_twins(samples in proptest::collection::vec(
            (-0.05_f64..0.05, -0.05_f64..0.05, 0.01_f64..10.0, 0.01_f64..10.0), 1..400),
            x in -0.05_f64..0.05, y in -0.05_f64..0.05)
        {
            let mut map = CorrectionMap::new(0.022);
            for (index, &(px, py, expected, measured)) in samples.iter().enumerate() {
                map.add_sample([px, py], &sample(expected, measured), 0.0);
                if index % 5 == 0 {
                    meet_nothing(&mut map, [py, px], 30);
                }
                if index % 7 == 0 {
                    map.end_contact();
                }
            }
            prop_assert!(map.count <= PLACES_MAX);
            let mut last = 0.0;
            for step in 1..=50 {
                let force = 0.2 * f64::from(step);
                let corrected = force * libm::exp(map.log_factor([x, y], force));
                prop_assert!(corrected.is_finite() && corrected > last, "{force}: {corrected} after {last}");
                last = corrected;
            }
        }
    }
}
