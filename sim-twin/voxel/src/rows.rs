//! Sweeps over the runs that are not still, and which runs a tool may be near.
//!
//! Source: ours. A run that went less than [`LinkedParams::still`] in a sweep, and none beside it more, is left
//! alone by the next; runs are passed over by zones of so many where a tool is far. So a tick
//! costs by what moves, and hardly by the size of the volume.
//!
//! [`LinkedParams::still`]: crate::LinkedParams::still

use crate::Linked;
use crate::cells::Extent;
use crate::elements::{NONE, colour_of, single};
use crate::marks::Marks;
use crate::sweep;
use crate::sweep::BATCH;
use palpate_twin::Vec3;

/// Way of a run's elements, over the spacing, after which its bounds are looked at again.
const DRIFT: f32 = 0.25;
/// Runs of a zone: those of a batch.
const ZONE: usize = BATCH;

/// Where the elements of some runs may be: corners of a box, and how far they may have gone out of it.
#[derive(Debug, Clone, Copy)]
struct Zone {
    least_m: Vec3,
    most_m: Vec3,
    drift_m: f32,
}

impl Zone {
    fn empty() -> Self {
        Self {
            least_m: Vec3::repeat(f64::INFINITY),
            most_m: Vec3::repeat(f64::NEG_INFINITY),
            drift_m: 0.0,
        }
    }

    /// Whether it may reach into a box.
    fn meets(&self, extent: &Extent) -> bool {
        let drift_m = f64::from(self.drift_m);
        (0..3).all(|along| {
            self.most_m[along] + drift_m >= extent.low_m[along]
                && self.least_m[along] - drift_m <= extent.high_m[along]
        })
    }
}

/// Which runs move, how far, and where they are: by run, or as sets of runs. Room is made once.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    /// Farthest way in the last sweep \[m\].
    pub(super) stir_m: Vec<f32>,
    /// How far the elements of a run may go before a link of theirs can be at a limit, at least \[m\].
    pub(super) spare_m: Vec<f32>,
    /// Least and most displacement by axis when it was last looked at \[m\].
    bounds: Vec<[(f32, f32); 3]>,
    /// How far a run's elements may have gone since \[m\].
    pub(super) drift_m: Vec<f32>,
    /// Runs of the sweep at hand.
    pub(super) awake: Marks,
    /// Runs that went some way in the last sweep.
    stirring: Marks,
    /// Runs that moved since the surface was seen.
    pub(super) moved: Marks,
    /// Runs whose bounds are to be looked at again.
    drifted: Marks,
    /// Where runs are, so many at once.
    zones: Vec<Zone>,
}

impl Pace {
    /// Of as many runs as there are slots, at most.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            stir_m: vec![0.0; slots],
            spare_m: vec![-1.0; slots],
            bounds: vec![[(0.0, 0.0); 3]; slots],
            drift_m: vec![0.0; slots],
            awake: Marks::new(slots),
            stirring: Marks::new(slots),
            moved: Marks::new(slots),
            drifted: Marks::new(slots),
            zones: Vec::with_capacity(slots.div_ceil(ZONE)),
        }
    }

    /// Forgets how far the elements of a run may go: it was not asked of all that move or are linked now.
    #[inline]
    pub(super) fn ask_again(&mut self, run: u32) {
        if let Some(spare_m) = self.spare_m.get_mut(run as usize) {
            *spare_m = -1.0;
        }
    }
}

impl Linked {
    /// Lists the slots that may be in a box: those of runs in order, by zones, and then the loose ones.
    pub(super) fn find_near(&mut self, extent: &Extent) {
        let mut near = std::mem::take(&mut self.contact.near);
        near.clear();
        for (nth, zone) in self.pace.zones.iter().enumerate() {
            if !zone.meets(extent) {
                continue;
            }
            for run in ZONE * nth..(ZONE * (nth + 1)).min(self.weave.runs.len()) {
                // no more than slots
                let slots = self.near(run, extent);
                near.extend(slots.map(|slot| u32::try_from(slot).unwrap_or(NONE)));
            }
        }
        near.extend(&self.weave.loose);
        self.contact.near = near;
    }

    /// The part of a run that may be in a box.
    fn near(&self, index: usize, extent: &Extent) -> std::ops::Range<usize> {
        let run = &self.weave.runs[index];
        let rest_m = self
            .elements
            .rest_m(u32::try_from(run.start).unwrap_or(NONE));
        let drift_m = self.pace.drift_m[index];
        let bounds = self.pace.bounds[index].map(|(least, most)| (least - drift_m, most + drift_m));
        let nowhere = run.start..run.start;
        for along in [1, 2] {
            let (least, most) = bounds[along];
            if rest_m[along] + f64::from(most) < extent.low_m[along]
                || rest_m[along] + f64::from(least) > extent.high_m[along]
            {
                return nowhere;
            }
        }
        let pitch_m = 2.0 * self.elements.frame().spacing_m[0];
        let (least, most) = bounds[0];
        let from = (extent.low_m.x - f64::from(most) - rest_m.x) / pitch_m;
        let to = (extent.high_m.x - f64::from(least) - rest_m.x) / pitch_m;
        if !(from.is_finite() && to.is_finite()) {
            return nowhere;
        }
        #[expect(clippy::cast_precision_loss, reason = "a run is shorter than 2^52")]
        let len = run.len as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "cut to the run before"
        )]
        let (from, to) = (
            from.ceil().clamp(0.0, len) as usize,
            (to.floor() + 1.0).clamp(0.0, len) as usize,
        );
        run.start + from..run.start + to.max(from)
    }

    /// One sweep of both colours over all that is not still; gives the energy that it took out \[J\].
    pub(super) fn sweep(&mut self) -> f64 {
        let mut lost_j = 0.0;
        self.wake();
        for colour in 0..2 {
            lost_j += self.sweep_runs(colour);
            for index in 0..self.weave.loose.len() {
                let element = self.weave.loose[index];
                if colour_of(self.elements.site(element)) == colour {
                    let slot = element as usize;
                    let omega = self.params.omega;
                    let went = sweep::pass_one(&mut self.elements, &self.weave, slot, omega);
                    self.stirred(element, went.farthest_m);
                    lost_j += went.lost_j;
                }
            }
            let gave = self.give(colour);
            lost_j += gave.held_j + gave.left_j;
        }
        lost_j
    }

    /// Sweeps the runs of a colour, so many at once; gives the energy that this took out \[J\].
    fn sweep_runs(&mut self, colour: usize) -> f64 {
        let mut lost_j = 0.0;
        let mut runs = [0; BATCH];
        for nth in 0..self.pace.awake.words() {
            let mut word = self.pace.awake.word(nth) & self.weave.of_colour(nth, colour);
            let mut count = 0;
            while word != 0 {
                let index = BATCH * nth + word.trailing_zeros() as usize;
                word &= word - 1;
                self.weave.learn(&self.elements, index);
                // no more runs than slots
                runs[count] = u32::try_from(index).unwrap_or(NONE);
                count += 1;
            }
            if count == 0 {
                continue;
            }
            let runs = &runs[..count];
            let (elements, weave) = (&mut self.elements, &self.weave);
            let spare_m = &mut self.pace.spare_m;
            let swept = sweep::pass_runs(elements, weave, runs, self.params.omega, spare_m);
            lost_j += swept.lost_j;
            self.swept(nth, runs, &swept.farthest_m);
        }
        lost_j
    }

    /// Notes how far runs of a word went in a sweep \[m\].
    #[inline]
    fn swept(&mut self, word: usize, runs: &[u32], farthest_m: &[f32]) {
        let far_m = self.far_m();
        let mut went = 0;
        for (&run, &way_m) in runs.iter().zip(farthest_m) {
            if way_m == 0.0 {
                continue;
            }
            let run = run as usize;
            went |= 1 << (run % BATCH);
            self.pace.stir_m[run] = self.pace.stir_m[run].max(way_m);
            let drift_m = self.pace.drift_m[run] + way_m;
            self.pace.drift_m[run] = drift_m;
            // a word's runs are a zone
            let zone = &mut self.pace.zones[word];
            zone.drift_m = zone.drift_m.max(drift_m);
            if drift_m > far_m {
                self.pace.drifted.add(run);
            }
            self.pace.spare_m[run] -= way_m;
            for &beside in self.weave.beside(run) {
                self.pace.spare_m[beside as usize] -= way_m;
            }
        }
        self.pace.stirring.add_word(word, went);
        self.pace.moved.add_word(word, went);
    }

    /// How far a run may go before its bounds are looked at again \[m\].
    #[inline]
    fn far_m(&self) -> f32 {
        DRIFT * single(self.spacing_m)
    }

    /// Notes that elements of a run have gone this far \[m\].
    #[inline]
    pub(super) fn went(&mut self, run: usize, way_m: f32) {
        self.stir(run, way_m);
        self.pace.drift_m[run] += way_m;
        let zone = &mut self.pace.zones[run / ZONE];
        zone.drift_m = zone.drift_m.max(self.pace.drift_m[run]);
        self.pace.moved.add(run);
        if self.pace.drift_m[run] > self.far_m() {
            self.pace.drifted.add(run);
        }
    }

    /// Lets the next sweep look at a run and those beside it, if this is far enough \[m\].
    #[inline]
    pub(super) fn stir(&mut self, run: usize, way_m: f32) {
        self.pace.stir_m[run] = self.pace.stir_m[run].max(way_m);
        self.pace.stirring.add(run);
    }

    /// Lists who is to be looked at anew, by how far runs went.
    pub(super) fn restir(&mut self) {
        self.pace.stirring.clear();
        for run in 0..self.weave.runs.len() {
            if self.pace.stir_m[run] > 0.0 {
                self.pace.stirring.add(run);
            }
        }
    }

    /// Finds the runs that moved in the last sweep, or beside one that did.
    fn wake(&mut self) {
        if 2 * self.pace.stirring.count() > self.weave.runs.len() {
            self.wake_most();
        } else {
            self.wake_few();
        }
        self.pace.stirring.clear();
    }

    /// Asks those that moved for those beside them.
    fn wake_few(&mut self) {
        self.pace.awake.clear();
        let mut from = 0;
        while let Some(run) = self.pace.stirring.next(from) {
            from = run + 1;
            if self.pace.stir_m[run] > self.still_m {
                self.pace.awake.add(run);
                for &beside in self.weave.beside(run) {
                    self.pace.awake.add(beside as usize);
                }
            }
            self.pace.stir_m[run] = 0.0;
        }
    }

    /// Finds the same, quicker where most moved: asks those that did not whether one beside them has.
    fn wake_most(&mut self) {
        let runs = self.weave.runs.len();
        self.pace.awake.clear();
        for nth in 0..runs.div_ceil(BATCH) {
            let mut word = 0;
            for run in BATCH * nth..runs.min(BATCH * (nth + 1)) {
                let stirs = |run: usize| self.pace.stir_m[run] > self.still_m;
                let beside = || self.weave.beside(run).iter();
                let wakes = stirs(run) || beside().any(|&other| stirs(other as usize));
                word |= u64::from(wakes) << (run % BATCH);
            }
            self.pace.awake.set_word(nth, word);
        }
        self.pace.stir_m[..runs].fill(0.0);
    }

    /// Finds the bounds of a run; gives the energy of the links up from its elements \[J\].
    pub(super) fn survey(&mut self, index: usize) -> f64 {
        let run = self.weave.runs[index];
        let seen = sweep::survey(&self.elements, &self.weave, &run);
        self.pace.bounds[index] = seen.bounds_m;
        let ends = [run.start, run.start + run.len - 1]
            .map(|slot| self.elements.rest_m(u32::try_from(slot).unwrap_or(NONE)));
        let zone = &mut self.pace.zones[index / ZONE];
        zone.drift_m = zone.drift_m.max(self.pace.drift_m[index]);
        for (along, (least, most)) in seen.bounds_m.into_iter().enumerate() {
            let [first, last] = ends.map(|end| end[along]);
            zone.least_m[along] = zone.least_m[along].min(first + f64::from(least));
            zone.most_m[along] = zone.most_m[along].max(last + f64::from(most));
        }
        seen.up_j
    }

    /// Finds the bounds of all runs, and how far they have gone is kept; gives the energy of the links up from
    /// their elements \[J\].
    pub(super) fn survey_all(&mut self) -> f64 {
        let runs = self.weave.runs.len();
        self.pace.zones.clear();
        self.pace.zones.resize(runs.div_ceil(ZONE), Zone::empty());
        self.pace.drifted.clear();
        (0..runs).map(|run| self.survey(run)).sum()
    }

    /// Finds the bounds of runs that have gone far since.
    pub(super) fn survey_far(&mut self) {
        let mut from = 0;
        while let Some(run) = self.pace.drifted.next(from) {
            from = run + 1;
            self.pace.drift_m[run] = 0.0;
            self.survey(run);
        }
        self.pace.drifted.clear();
    }
}
