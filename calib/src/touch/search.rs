//! A lump that the scene lacks: which touches are stiffer than the rest, and where they are.
//!
//! Source: ours. Layers are alike everywhere, so that in a right scene measured over modelled force is
//! one number for all touches, whatever the layers' moduli. A touch whose ratio is larger lies over
//! something. That some touches are left out of the layers' fit keeps the layers from being bent by a
//! lump; the lump itself is accepted by its evidence, see [`evidence`].

use super::doubt;
use super::model::Body;
use super::record::Touch;
use super::solve::{Fit, Fitted};
use super::{Settings, TouchError};

/// Logarithm of a touch's ratio over that of the rest from which it is stiffer: meshes alone differ
/// by some percent from place to place.
const STIFFER_LOG: f64 = 0.08;
/// The same, over the spread of the touches.
const STIFFER_SPREADS: f64 = 4.0;
/// A normal standard deviation over the median distance from the median.
const SPREAD: f64 = 1.4826;
/// What a lump adds to a scene: contrast, depth, radius and two of a place.
const UNKNOWNS: f64 = 5.0;

/// What came of looking for one lump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// Touches that were compared.
    pub touches: usize,
    /// Those of them that were stiffer than the rest, without those of lumps found before.
    pub stiffer: usize,
    /// Force of the stiffest over that of the rest, both over the scene's.
    pub ratio: f64,
    /// Where the excess lies \[m\].
    pub place_m: [f64; 2],
    /// By how much half of the Bayesian information criterion (Schwarz 1978) speaks for a lump,
    /// above 0, or against it.
    pub evidence: f64,
    /// Whether the lump was taken into the scene.
    pub accepted: bool,
}

/// How every visit compares with the scene as it was given.
pub(super) struct Survey {
    /// Logarithm of measured over modelled force; none where an inclusion of the scene is, or where
    /// there is too little force.
    logs: Vec<Option<f64>>,
    /// What the scene says of every bin of every visit \[N\].
    forces_n: Vec<Vec<f64>>,
    /// The ratio of most touches.
    rest: f64,
    /// From where on a touch is stiffer.
    bar: f64,
}

impl Survey {
    pub(super) fn of(
        body: &Body<'_>,
        touch: &Touch,
        settings: &Settings,
    ) -> Result<Self, TouchError> {
        let mut fit = Fit::new(body, touch, settings, 1.0);
        let mut rest_n = fit.at_rest()?.into_iter();
        let (mut logs, mut forces_n) = (Vec::new(), Vec::new());
        for visit in &touch.visits {
            let modelled_n: Vec<f64> = rest_n.by_ref().take(visit.bins.len()).collect();
            let measured_n: Vec<f64> = visit.bins.iter().map(|bin| bin.force_n).collect();
            let most_n = modelled_n.iter().fold(0.0_f64, |most, n| most.max(*n));
            let square = doubt::dot(&modelled_n, &modelled_n);
            let ratio = doubt::dot(&measured_n, &modelled_n) / square;
            let apart = !body.knows(visit) && most_n > 3.0 * settings.noise.force_n;
            logs.push((apart && ratio > 0.0).then(|| libm::log(ratio)));
            forces_n.push(modelled_n);
        }
        let mut known: Vec<f64> = logs.iter().flatten().copied().collect();
        let rest = lower_median(&mut known);
        let mut far: Vec<f64> = known.iter().map(|log| (log - rest).abs()).collect();
        let spread = SPREAD * lower_median(&mut far);
        Ok(Self {
            logs,
            forces_n,
            rest,
            bar: rest + STIFFER_LOG.max(STIFFER_SPREADS * spread),
        })
    }

    /// What the scene as it was given says of these visits \[N\].
    pub(super) fn before_n(&self, visits: &[usize]) -> Vec<f64> {
        let of = visits.iter().map(|&k| self.forces_n[k].as_slice());
        of.collect::<Vec<_>>().concat()
    }

    fn is_stiffer(&self, visit: usize) -> bool {
        self.logs[visit].is_some_and(|log| log > self.bar)
    }

    /// The deepest visits that lie over nothing that the scene lacks, up to a length \[s\].
    pub(super) fn plain(&self, touch: &Touch, longest_s: f64) -> Vec<usize> {
        let all = 0..touch.visits.len();
        deepest(
            touch,
            all.filter(|&k| !self.is_stiffer(k)).collect(),
            longest_s,
        )
    }

    /// Where another lump may be, and the visits that tell of it; none if no visit is stiffer but
    /// those that are near lumps that were `found`.
    pub(super) fn seed(
        &self,
        touch: &Touch,
        found_m: &[[f64; 2]],
        radius_m: f64,
        longest_s: f64,
    ) -> Option<(Search, Vec<usize>)> {
        let free = |k: &usize| {
            let visit = &touch.visits[*k];
            self.is_stiffer(*k)
                && found_m
                    .iter()
                    .all(|place_m| visit.distance_m(*place_m) > 2.0 * radius_m)
        };
        let stiffer: Vec<usize> = (0..touch.visits.len()).filter(free).collect();
        let log = |k: usize| self.logs[k].unwrap_or(self.rest);
        let first = *stiffer
            .iter()
            .max_by(|&&a, &&b| log(a).total_cmp(&log(b)))?;
        let place_m = self.middle_m(touch, first)?;
        let near = stiffer
            .iter()
            .copied()
            .filter(|&k| touch.visits[k].distance_m(place_m) < 2.0 * radius_m);
        let search = Search {
            touches: self.logs.iter().flatten().count(),
            stiffer: stiffer.len(),
            ratio: libm::exp(log(first) - self.rest),
            place_m,
            evidence: 0.0,
            accepted: false,
        };
        let (slides, presses): (Vec<usize>, Vec<usize>) =
            near.partition(|&k| touch.visits[k].slides_m() > 0.5 * radius_m);
        // one that slides over the lump says where it is
        let slide = deepest(touch, slides, 0.0);
        let left_s = longest_s
            - slide
                .iter()
                .map(|&k| touch.visits[k].length_s())
                .sum::<f64>();
        Some((search, [slide, deepest(touch, presses, left_s)].concat()))
    }

    /// Middle of the force of a visit that the rest's ratio leaves over \[m\].
    fn middle_m(&self, touch: &Touch, visit: usize) -> Option<[f64; 2]> {
        let rest = libm::exp(self.rest);
        let pairs = touch.visits[visit].bins.iter().zip(&self.forces_n[visit]);
        let over = pairs.map(|(bin, n)| (bin.place_m, (bin.force_n - rest * n).max(0.0)));
        let [x, y, sum] = over.fold([0.0; 3], |[x, y, sum], (place_m, n)| {
            [x + n * place_m[0], y + n * place_m[1], sum + n]
        });
        (sum > 0.0).then(|| [x / sum, y / sum])
    }
}

/// The deepest of these visits, the first in any case, as long together as asked \[s\]; in order of
/// time.
fn deepest(touch: &Touch, mut visits: Vec<usize>, longest_s: f64) -> Vec<usize> {
    let depth_m = |k: usize| touch.visits[k].depth_m();
    visits.sort_by(|&a, &b| depth_m(b).total_cmp(&depth_m(a)));
    let mut long_s = 0.0;
    visits.retain(|&k| {
        let more_s = touch.visits[k].length_s();
        let taken = long_s == 0.0 || long_s + more_s <= longest_s;
        long_s += if taken { more_s } else { 0.0 };
        taken
    });
    visits.sort_unstable();
    visits
}

/// The median; of two in the middle the lower one. 0 of nothing.
fn lower_median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(0.0)
}

/// By how much a fit with a lump is better than one without, both of the same touches: half of the
/// difference of the Bayesian information criterion for a noise of unknown size that is at least that
/// of the instrument (Schwarz 1978), with misfits that hang together counted once.
pub(super) fn evidence(without: &Fitted, with: &Fitted) -> f64 {
    let count = with.misfits.len() as f64;
    let square = |fitted: &Fitted| {
        (fitted.scale * fitted.scale * doubt::dot(&fitted.misfits, &fitted.misfits)).max(count)
    };
    let told = count / doubt::persistence(&with.misfits);
    0.5 * (told * libm::log(square(without) / square(with)) - UNKNOWNS * libm::log(told))
}
