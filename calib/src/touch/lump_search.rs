//! Search for a lump that the scene lacks: touches that are stiffer than the others, and their position.
//!
//! Source: ours. Layers are alike everywhere. If the scene lacks no lump, the ratio of measured to modelled
//! force is therefore the same for all touches, whatever the moduli of the layers. A touch whose ratio is
//! larger lies over a lump.
//! Such touches are left out of the layers' fit, which keeps the layers unbiased; the lump itself is
//! accepted by its evidence, see [`evidence`].

use super::TouchError;
use super::block_model::BlockModel;
use super::record::TouchRecord;
use super::solve::{Solution, Solver};
use super::uncertainty;

/// Least distance of the logarithm of a touch's ratio above the typical one at which the touch counts as
/// stiffer: meshes alone differ by some percent from place to place.
const STIFFER_LOG: f64 = 0.08;
/// The same distance, over the spread of the logarithms of all touches.
const STIFFER_SPREADS: f64 = 4.0;
/// A normal standard deviation over the median distance from the median.
const MAD_TO_SD: f64 = 1.4826;
/// Number of parameters that a lump adds to a scene: contrast, depth, radius and two of its position.
const LUMP_PARAMETERS: f64 = 5.0;

/// Result of the search for one lump.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LumpSearch {
    /// Touches that were compared.
    pub touches: usize,
    /// Number of those that are stiffer than the others, without those near lumps found before.
    pub stiffer: usize,
    /// Measured over modelled force of the stiffest touch, over the same ratio of the others.
    pub ratio: f64,
    /// Position of the excess \[m\].
    pub place_m: [f64; 2],
    /// Half of the difference of the Bayesian information criterion (Schwarz 1978), positive in favour of a
    /// lump.
    pub evidence: f64,
    /// True if the lump was added to the scene.
    pub accepted: bool,
}

/// Comparison of every touch with the initial scene.
pub(super) struct Survey {
    /// Logarithm of measured over modelled force; none over an inclusion of the scene, or with
    /// too little force.
    logs: Vec<Option<f64>>,
    /// Modelled force in the initial scene, by touch and bin \[N\].
    forces_n: Vec<Vec<f64>>,
    /// Logarithm of the typical ratio, the median.
    typical_log: f64,
    /// Logarithm of the ratio above which a touch counts as stiffer.
    stiffer_log_min: f64,
}

impl Survey {
    pub(super) fn new(body: &BlockModel<'_>, touch: &TouchRecord) -> Result<Self, TouchError> {
        let mut fit = Solver::new(body, touch, 1.0);
        let mut rest_n = fit.initial_force_n()?.into_iter();
        let (mut logs, mut forces_n) = (Vec::new(), Vec::new());
        for visit in &touch.touches {
            let modelled_n: Vec<f64> = rest_n.by_ref().take(visit.bins.len()).collect();
            let measured_n: Vec<f64> = visit.bins.iter().map(|bin| bin.force_n).collect();
            let most_n = modelled_n.iter().fold(0.0_f64, |most, n| most.max(*n));
            let square = uncertainty::dot(&modelled_n, &modelled_n);
            let ratio = uncertainty::dot(&measured_n, &modelled_n) / square;
            let apart = !body.reaches_inclusion(visit) && most_n > 3.0 * touch.noise.force_n;
            logs.push((apart && ratio > 0.0).then(|| libm::log(ratio)));
            forces_n.push(modelled_n);
        }
        let mut logs_known: Vec<f64> = logs.iter().flatten().copied().collect();
        let rest = lower_median(&mut logs_known);
        let mut far: Vec<f64> = logs_known.iter().map(|log| (log - rest).abs()).collect();
        let spread = MAD_TO_SD * lower_median(&mut far);
        Ok(Self {
            logs,
            forces_n,
            typical_log: rest,
            stiffer_log_min: rest + STIFFER_LOG.max(STIFFER_SPREADS * spread),
        })
    }

    /// Modelled force of these touches in the initial scene \[N\].
    pub(super) fn initial_force_n(&self, visits: &[usize]) -> Vec<f64> {
        let of = visits.iter().map(|&k| self.forces_n[k].as_slice());
        of.collect::<Vec<_>>().concat()
    }

    fn is_stiffer(&self, visit: usize) -> bool {
        self.logs[visit].is_some_and(|log| log > self.stiffer_log_min)
    }

    /// Deepest touches that are not stiffer than the others, up to a total length \[s\].
    pub(super) fn touches_without_lump(&self, touch: &TouchRecord, longest_s: f64) -> Vec<usize> {
        let all = 0..touch.touches.len();
        deepest(
            touch,
            all.filter(|&k| !self.is_stiffer(k)).collect(),
            longest_s,
        )
    }

    /// Start of the search for another lump, and the touches near it; none if no touch is stiffer apart from
    /// those near lumps that were found.
    pub(super) fn seed(
        &self,
        touch: &TouchRecord,
        found_m: &[[f64; 2]],
        radius_m: f64,
        longest_s: f64,
    ) -> Option<(LumpSearch, Vec<usize>)> {
        let free = |k: &usize| {
            let visit = &touch.touches[*k];
            self.is_stiffer(*k)
                && found_m
                    .iter()
                    .all(|place_m| visit.distance_m(*place_m) > 2.0 * radius_m)
        };
        let stiffer: Vec<usize> = (0..touch.touches.len()).filter(free).collect();
        let log = |k: usize| self.logs[k].unwrap_or(self.typical_log);
        let first = *stiffer
            .iter()
            .max_by(|&&a, &&b| log(a).total_cmp(&log(b)))?;
        let place_m = self.middle_m(touch, first)?;
        let near = stiffer
            .iter()
            .copied()
            .filter(|&k| touch.touches[k].distance_m(place_m) < 2.0 * radius_m);
        let search = LumpSearch {
            touches: self.logs.iter().flatten().count(),
            stiffer: stiffer.len(),
            ratio: libm::exp(log(first) - self.typical_log),
            place_m,
            evidence: 0.0,
            accepted: false,
        };
        let (slides, presses): (Vec<usize>, Vec<usize>) =
            near.partition(|&k| touch.touches[k].slides_m() > 0.5 * radius_m);
        // a touch that slides over the lump determines its position
        let slide = deepest(touch, slides, 0.0);
        let remaining_s = longest_s
            - slide
                .iter()
                .map(|&k| touch.touches[k].duration_s())
                .sum::<f64>();
        Some((
            search,
            [slide, deepest(touch, presses, remaining_s)].concat(),
        ))
    }

    /// Centroid of a touch's force in excess of the typical ratio \[m\].
    fn middle_m(&self, touch: &TouchRecord, visit: usize) -> Option<[f64; 2]> {
        let rest = libm::exp(self.typical_log);
        let pairs = touch.touches[visit].bins.iter().zip(&self.forces_n[visit]);
        let over = pairs.map(|(bin, n)| (bin.place_m, (bin.force_n - rest * n).max(0.0)));
        let [x, y, sum] = over.fold([0.0; 3], |[x, y, sum], (place_m, n)| {
            [x + n * place_m[0], y + n * place_m[1], sum + n]
        });
        (sum > 0.0).then(|| [x / sum, y / sum])
    }
}

/// Deepest of these touches, the first in any case, up to a total length \[s\]; in order of time.
fn deepest(touch: &TouchRecord, mut visits: Vec<usize>, longest_s: f64) -> Vec<usize> {
    let depth_m = |k: usize| touch.touches[k].depth_m();
    visits.sort_by(|&a, &b| depth_m(b).total_cmp(&depth_m(a)));
    let mut long_s = 0.0;
    visits.retain(|&k| {
        let more_s = touch.touches[k].duration_s();
        let taken = long_s == 0.0 || long_s + more_s <= longest_s;
        long_s += if taken { more_s } else { 0.0 };
        taken
    });
    visits.sort_unstable();
    visits
}

/// Median; the lower one of two in the middle. 0 without values.
fn lower_median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(0.0)
}

/// Evidence of a fit with a lump against one without, both of the same touches: half of the difference of
/// the Bayesian information criterion for a noise of unknown size that is at least that of the instrument
/// (Schwarz 1978). Correlated misfits are counted once.
pub(super) fn evidence(without: &Solution, with: &Solution) -> f64 {
    let count = with.misfits.len() as f64;
    let square = |fitted: &Solution| {
        (fitted.scale * fitted.scale * uncertainty::dot(&fitted.misfits, &fitted.misfits))
            .max(count)
    };
    let independent = count / uncertainty::autocorrelation_time(&with.misfits);
    0.5 * (independent * libm::log(square(without) / square(with))
        - LUMP_PARAMETERS * libm::log(independent))
}
