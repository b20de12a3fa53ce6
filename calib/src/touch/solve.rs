//! Fit of the unknowns to the record, from the scene's values.
//!
//! Source: Levenberg 1944; each step is a linear fit by [`crate::fit::least_squares`], with a row a
//! bin, a row a prior and a row a damping. Unknowns are dimensionless, each over the standard deviation of
//! its prior: the parameters of `block_model`, then the errors of the instrument. Of those only the
//! height needs runs of the model; the force of a bin is
//! `F + gain F - lag dF/dt + mass a - drag v`, the drag in contact only.
//!
//! A tissue may differ from its model, as when a layer buckles under a deep press: for a while its misfit
//! is many times that of the rest of the touch. Least squares would bend every parameter to it.
//! [`BinTrust::Consistent`] gives such bins lower weights (iterated weights, Huber and Ronchetti 2009, section
//! 7.8, with a loss that falls as Hampel's). It starts from the fit of [`BinTrust::Shallow`] without the deep
//! bins, as outliers stand out only beside bins that match. A touch of mostly outliers keeps its weight: that
//! is a wrong model, such as a lump that the scene lacks.
//!
//! The model itself buckles where a deep press squeezes a soft layer to nothing: its force jumps, at a depth
//! that depends on every parameter. Slopes there are too large, which is detected as follows. Force is
//! homogeneous of the first degree in all moduli together. So by Euler's theorem the slopes by the layers'
//! logarithms sum up to the force, and none exceeds it. A bin that violates this gets no
//! weight.

use super::block_model::{BlockModel, ModelForce, SingleChange};
use super::record::{BinMean, TouchRecord};
use super::uncertainty::dot;
use super::{SceneParameter, TouchError};
use crate::fit::least_squares;

/// Change of a parameter for finite-difference slopes: the tissue is stepped in single precision.
const SLOPE_STEP: f64 = 0.1;
/// Slopes are recomputed after a step in which a parameter changed by more.
const JACOBIAN_CHANGE_MAX: f64 = 0.15;
/// Largest change of a parameter in a step, over the standard deviation of its prior: slopes of a
/// lump's shape are valid no further.
const STEP_MAX: f64 = 1.0;
/// The fit has converged once no parameter changes by more.
const CONVERGED_CHANGE: f64 = 5e-3;
/// Damping at the start, over the sum of squares of a column.
const DAMPING: f64 = 1e-3;

/// Misfit above which a bin gets a lower weight, over the usual one of its touch or of the noise.
const CONSISTENT_MISFIT_MAX: f64 = 3.0;
/// Fraction of the force by which the sum of the layers' slopes may differ from it, or the slope of one modulus
/// may exceed it or fall below zero, before the tissue counts as buckled. Waves take some percent, and so
/// do finite differences with steps of a tenth.
const FORCE_JUMP_SHARE: f64 = 0.15;
/// Fraction of a touch's depth to which bins count as shallow.
const SHALLOW_SHARE: f64 = 0.7;
/// A normal standard deviation over the median of its size.
const MAD_TO_SD: f64 = 1.4826;

/// Weighting of the bins in a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinTrust {
    /// All bins equally.
    All,
    /// Bins of the shallow part of every touch.
    Shallow,
    /// Lower weights for outliers among the bins of their touch.
    Consistent,
}

/// Number of the instrument's errors, after the parameters: gain, height, lag, mass, drag.
pub(super) const NUISANCES: usize = 5;

/// Point in the space of the unknowns, and the model's forces there.
#[derive(Debug, Clone)]
pub(super) struct ModelPoint {
    pub(super) unknowns: Vec<f64>,
    pub(super) tissue_forces: Vec<ModelForce>,
    /// Force of every bin as the instrument reads it \[N\].
    pub(super) instrument_force_n: Vec<f64>,
}

/// Result of a fit.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    pub(super) point: ModelPoint,
    /// Standard deviations of the parameters' priors.
    pub(super) priors: Vec<f64>,
    pub(super) jacobian: Jacobian,
    /// Misfits over their standard deviations.
    pub(super) misfits: Vec<f64>,
    /// Factor on the standard deviations of the noise used in this fit.
    pub(super) scale: f64,
    pub(super) runs: u32,
    pub(super) converged: bool,
}

impl Solution {
    /// Changes of the parameters, in their own units.
    pub(super) fn parameter_changes(&self) -> Vec<f64> {
        let pairs = self.point.unknowns.iter().zip(&self.priors);
        pairs.map(|(x, prior)| x * prior).collect()
    }

    /// Misfits times the roots of their weights.
    pub(super) fn weighted_misfits(&self) -> Vec<f64> {
        weighted(&self.misfits, &self.jacobian.weights)
    }
}

/// Values times the roots of their weights.
pub(super) fn weighted(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let pairs = values.iter().zip(weights);
    pairs.map(|(value, weight)| value * weight.sqrt()).collect()
}

/// Weights of the bins of one touch, by their misfits over standard deviations, in which the noise is
/// `noise`.
fn consistency_weights(misfits: &[f64], noise: f64) -> Vec<f64> {
    let mut sizes: Vec<f64> = misfits.iter().map(|misfit| misfit.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    let usual = CONSISTENT_MISFIT_MAX * (MAD_TO_SD * median).max(noise);
    let one = |misfit: &f64| {
        let over = (misfit.abs() / usual).max(1.0);
        1.0 / (over * over * over * over)
    };
    misfits.iter().map(one).collect()
}

/// Slopes at a point, and the weight of every bin there.
#[derive(Debug, Clone)]
pub(super) struct Jacobian {
    /// Slopes of the forces by the unknowns, over their standard deviations and times the roots of the weights; a
    /// column an unknown.
    pub(super) columns: Vec<Vec<f64>>,
    /// Standard deviations of the misfits \[N\].
    pub(super) misfit_sd_n: Vec<f64>,
    /// Weight of each bin, 0 to 1.
    pub(super) weights: Vec<f64>,
}

/// Solver for a model touched with the motion of a record.
pub(super) struct Solver<'a> {
    body: &'a BlockModel<'a>,
    touch: &'a TouchRecord,
    parameters: Vec<SceneParameter>,
    priors: Vec<f64>,
    scale: f64,
    trust: BinTrust,
    runs: u32,
}

impl<'a> Solver<'a> {
    /// Creates a solver with noise larger by `scale`.
    pub(super) fn new(body: &'a BlockModel<'a>, touch: &'a TouchRecord, scale: f64) -> Self {
        let parts = body.parameters();
        let priors = parts.iter().map(|&part| body.prior(part));
        Self {
            body,
            touch,
            priors: priors.collect(),
            parameters: parts,
            scale,
            trust: BinTrust::All,
            runs: 0,
        }
    }

    /// Returns the solver with this weighting of the bins.
    pub(super) fn with_trust(self, trust: BinTrust) -> Self {
        Self { trust, ..self }
    }

    /// Solves from these unknowns, in at most `steps_max` steps; missing unknowns start at 0, the scene's value.
    pub(super) fn solve(mut self, from: &[f64], steps_max: u32) -> Result<Solution, TouchError> {
        let mut unknowns = from.to_vec();
        unknowns.resize(self.parameters.len() + NUISANCES, 0.0);
        let mut here = self.evaluate(unknowns)?;
        let mut slopes = self.jacobian(&here)?;
        let (mut damping, mut converged) = (DAMPING, false);
        // change since the slopes were computed, and whether they must be computed again
        let (mut moved, mut stale) = (0.0, false);
        for _ in 0..steps_max {
            if stale {
                slopes = self.jacobian(&here)?;
                (moved, stale) = (0.0, false);
            }
            let step = self.step(&here, &slopes, damping)?;
            let unknowns = here.unknowns.iter().zip(&step).map(|(x, dx)| x + dx);
            let there = self.evaluate(unknowns.collect())?;
            let change = self.largest_change(&step);
            if self.cost(&there, &slopes) <= self.cost(&here, &slopes) {
                here = there;
                damping *= 0.1;
                moved += change;
                stale = moved > JACOBIAN_CHANGE_MAX;
                converged = change < CONVERGED_CHANGE;
            } else if moved > 0.0 {
                // outdated slopes may be the cause
                stale = true;
            } else {
                damping *= 10.0;
                converged = change < CONVERGED_CHANGE;
            }
            if converged {
                break;
            }
        }
        let misfits = self.misfits(&here, &slopes.misfit_sd_n);
        Ok(Solution {
            point: here,
            priors: self.priors,
            jacobian: slopes,
            misfits,
            scale: self.scale,
            runs: self.runs,
            converged,
        })
    }

    /// Largest change of a parameter in a step, in its own unit.
    fn largest_change(&self, step: &[f64]) -> f64 {
        let changes = step.iter().zip(&self.priors).map(|(x, p)| (x * p).abs());
        changes.fold(0.0, f64::max)
    }

    /// Modelled forces without the instrument; with `only`, recomputed where that parameter has an effect.
    pub(super) fn forces(
        &self,
        unknowns: &[f64],
        only: Option<SingleChange<'_>>,
    ) -> Result<Vec<ModelForce>, TouchError> {
        let changes: Vec<f64> = unknowns
            .iter()
            .zip(&self.priors)
            .map(|(x, p)| x * p)
            .collect();
        // the record lies too high by the error, so the tool is lower
        let height_m = -self.touch.noise.height_m * unknowns[self.parameters.len() + 1];
        self.body.forces(&changes, height_m, self.touch, only)
    }

    /// Force of every bin in the initial scene \[N\].
    pub(super) fn initial_force_n(&mut self) -> Result<Vec<f64>, TouchError> {
        let all = self.parameters.len() + NUISANCES;
        Ok(self.evaluate(vec![0.0; all])?.instrument_force_n)
    }

    /// Evaluates the model at a point.
    pub(super) fn evaluate(&mut self, unknowns: Vec<f64>) -> Result<ModelPoint, TouchError> {
        self.runs += 1;
        let tissue = self.forces(&unknowns, None)?;
        let read_n = self.instrument_force_n(&unknowns, &tissue);
        Ok(ModelPoint {
            unknowns,
            tissue_forces: tissue,
            instrument_force_n: read_n,
        })
    }

    /// Force of every bin as the instrument reads it \[N\].
    pub(super) fn instrument_force_n(&self, unknowns: &[f64], tissue: &[ModelForce]) -> Vec<f64> {
        let columns = self.instrument_effects_n(tissue);
        let [gain, _, lag, mass, drag] = nuisances(unknowns);
        let one = |(bin, pushed): (usize, &ModelForce)| {
            let [own_n, late_n, heavy_n, dragged_n] = columns[bin];
            pushed.force_n + gain * own_n + lag * late_n + mass * heavy_n + drag * dragged_n
        };
        tissue.iter().enumerate().map(one).collect()
    }

    /// Change of force by one standard deviation of gain, lag, mass and drag \[N\].
    fn instrument_effects_n(&self, tissue: &[ModelForce]) -> Vec<[f64; 4]> {
        let noise = &self.touch.noise;
        let pairs = tissue.iter().zip(self.touch.bins());
        let one = |(pushed, bin): (&ModelForce, &BinMean)| {
            let touching = f64::from(u8::from(pushed.force_n > 0.0));
            [
                noise.gain * pushed.force_n,
                -noise.lag_s * pushed.rate_nps,
                noise.mass_kg * bin.acceleration_mps2,
                -noise.drag_nspm * bin.speed_mps * touching,
            ]
        };
        pairs.map(one).collect()
    }

    /// Slopes by one more run per parameter and one for the height, all in parallel.
    fn jacobian(&mut self, here: &ModelPoint) -> Result<Jacobian, TouchError> {
        let (parts, noise) = (self.parameters.len(), &self.touch.noise);
        let changed: Vec<usize> = (0..parts).chain([parts + 1]).collect();
        let this = &*self;
        let prior = |unknown: usize| this.priors.get(unknown);
        let change = |unknown: usize| prior(unknown).map_or(1.0, |prior| SLOPE_STEP / prior);
        let run = |unknown: usize| {
            let mut unknowns = here.unknowns.clone();
            unknowns[unknown] += change(unknown);
            let part = this.parameters.get(unknown).copied();
            let base_forces = &here.tissue_forces;
            this.forces(
                &unknowns,
                part.map(|part| SingleChange {
                    parameter: part,
                    base_forces,
                }),
            )
        };
        let runs: Vec<Result<Vec<ModelForce>, TouchError>> = std::thread::scope(|scope| {
            let run = &run;
            let started: Vec<_> = changed
                .iter()
                .map(|&unknown| scope.spawn(move || run(unknown)))
                .collect();
            let ended = started.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended
                .map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let mut columns = Vec::with_capacity(parts + NUISANCES);
        for (&unknown, tissue) in changed.iter().zip(runs) {
            let there_n = this.instrument_force_n(&here.unknowns, &tissue?);
            let pairs = there_n.iter().zip(&here.instrument_force_n);
            let slope = pairs.map(|(there_n, here_n)| (there_n - here_n) / change(unknown));
            columns.push(slope.collect::<Vec<f64>>());
        }
        let instrument = this.instrument_effects_n(&here.tissue_forces);
        let column = |at: usize| instrument.iter().map(|row| row[at]).collect::<Vec<f64>>();
        columns.insert(parts, column(0));
        columns.extend([1, 2, 3].map(column));
        let slopes_npm: Vec<f64> = columns[parts + 1]
            .iter()
            .map(|n| n / noise.height_m)
            .collect();
        let mut spread_n = self
            .touch
            .misfit_sd_n(&here.instrument_force_n, &slopes_npm);
        spread_n.iter_mut().for_each(|sd_n| *sd_n *= self.scale);
        let mut trust = self.bin_weights(&self.misfits(here, &spread_n), &here.tissue_forces);
        for (bin, trust) in trust.iter_mut().enumerate() {
            let margin_n = FORCE_JUMP_SHARE * here.instrument_force_n[bin].abs()
                + CONSISTENT_MISFIT_MAX * spread_n[bin];
            if self.force_jumps(bin, &columns, here.instrument_force_n[bin], margin_n) {
                *trust = 0.0;
            }
        }
        for column in &mut columns {
            let pairs = column.iter_mut().zip(spread_n.iter().zip(&trust));
            pairs.for_each(|(slope, (sd_n, trust))| *slope *= trust.sqrt() / sd_n);
        }
        self.runs += changed.len() as u32;
        Ok(Jacobian {
            columns,
            misfit_sd_n: spread_n,
            weights: trust,
        })
    }

    /// True if the slopes by the moduli are inconsistent with the force of a bin, as where the force jumps.
    fn force_jumps(&self, bin: usize, columns: &[Vec<f64>], force_n: f64, margin_n: f64) -> bool {
        let mut layers_n = 0.0;
        for ((part, prior), column) in self.parameters.iter().zip(&self.priors).zip(columns) {
            let slope_n = column[bin] / prior;
            match part {
                SceneParameter::Layer(_) => layers_n += slope_n,
                SceneParameter::Contrast(_) => {}
                _ => continue,
            }
            if slope_n < -margin_n || slope_n > force_n.max(0.0) + margin_n {
                return true;
            }
        }
        (layers_n - force_n).abs() > margin_n
    }

    /// Weights of all bins; bins without contact keep 1 and do not count for the usual misfit.
    fn bin_weights(&self, misfits: &[f64], tissue: &[ModelForce]) -> Vec<f64> {
        let mut all = vec![1.0; misfits.len()];
        if self.trust == BinTrust::All {
            return all;
        }
        let mut from = 0;
        for visit in &self.touch.touches {
            let (bins_before, bins) = (from, from..from + visit.bins.len());
            from = bins.end;
            let touching: Vec<usize> = bins.filter(|&bin| tissue[bin].force_n > 0.0).collect();
            let own: Vec<f64> = touching.iter().map(|&bin| misfits[bin]).collect();
            let found = if self.trust == BinTrust::Consistent {
                consistency_weights(&own, 1.0 / self.scale)
            } else {
                let low_m = SHALLOW_SHARE * visit.depth_m();
                let first = bins_before;
                let shallow = |&bin: &usize| -visit.bins[bin - first].height_m <= low_m;
                touching
                    .iter()
                    .map(|bin| f64::from(u8::from(shallow(bin))))
                    .collect()
            };
            for (bin, trust) in touching.into_iter().zip(found) {
                all[bin] = trust;
            }
        }
        all
    }

    fn misfits(&self, point: &ModelPoint, spread_n: &[f64]) -> Vec<f64> {
        let all = self
            .touch
            .bins()
            .zip(&point.instrument_force_n)
            .zip(spread_n);
        all.map(|((bin, read_n), sd_n)| (bin.force_n - read_n) / sd_n)
            .collect()
    }

    fn cost(&self, point: &ModelPoint, slopes: &Jacobian) -> f64 {
        let misfits = weighted(&self.misfits(point, &slopes.misfit_sd_n), &slopes.weights);
        dot(&misfits, &misfits) + dot(&point.unknowns, &point.unknowns)
    }

    /// Change of the unknowns that fits the record best by the slopes.
    fn step(
        &self,
        here: &ModelPoint,
        slopes: &Jacobian,
        damping: f64,
    ) -> Result<Vec<f64>, TouchError> {
        let unknowns = here.unknowns.len();
        let mut observed = weighted(&self.misfits(here, &slopes.misfit_sd_n), &slopes.weights);
        observed.extend(here.unknowns.iter().map(|x| -x));
        observed.extend(vec![0.0; unknowns]);
        let row = |unknown: usize, value: f64| {
            let mut row = vec![0.0; unknowns];
            row[unknown] = value;
            row
        };
        let columns: Vec<Vec<f64>> = (0..unknowns)
            .map(|unknown| {
                let column = &slopes.columns[unknown];
                let damped = (damping * dot(column, column)).sqrt();
                [column.clone(), row(unknown, 1.0), row(unknown, damped)].concat()
            })
            .collect();
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let mut step = least_squares(&columns, &observed)?.coefficients;
        let parts = step.iter().take(self.parameters.len());
        let longest = parts.fold(0.0_f64, |most, x| most.max(x.abs()));
        if longest > STEP_MAX {
            step.iter_mut()
                .for_each(|change| *change *= STEP_MAX / longest);
        }
        Ok(step)
    }
}

/// Errors of the instrument, over their standard deviations.
fn nuisances(unknowns: &[f64]) -> [f64; NUISANCES] {
    let first = unknowns.len() - NUISANCES;
    core::array::from_fn(|k| unknowns[first + k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_get_lower_weights_unless_all_bins_misfit() {
        let mut misfits = vec![0.5, -1.0, 1.5, -0.8, 1.2, 2.5];
        assert_eq!(consistency_weights(&misfits, 1.0), vec![1.0; 6]);
        misfits.extend([-60.0, 9.0]);
        let found = consistency_weights(&misfits, 1.0);
        assert!(found[..6].iter().all(|&t| t == 1.0) && found[6] < 1e-3 && found[7] < 1.0);
        // a wrong model misfits everywhere
        let wrong: Vec<f64> = misfits[..6].iter().map(|m| 50.0 * m).collect();
        assert_eq!(consistency_weights(&wrong, 1.0), vec![1.0; 6]);
        assert_eq!(consistency_weights(&[], 1.0), Vec::<f64>::new());
    }
}
