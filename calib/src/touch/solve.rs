//! The fit: from the scene's values to those that meet the record.
//!
//! Source: Levenberg 1944; each step is a linear fit by [`crate::fit::least_squares`], with a row a
//! bin, a row a prior and a row a damping. Unknowns are without unit, each over the standard
//! deviation of its prior: the parameters of `model`, then what the instrument does. Of that only the
//! height asks for runs of the model; the force of a bin is
//! `F + gain F - lag dF/dt + mass a - drag v`, the drag in contact only.
//!
//! A tissue may do what its model cannot, as when a layer gives way under a deep press: for a while its
//! misfit is many times that of the rest of the touch. Least squares would bend every parameter to
//! it. [`Trust::Usual`] trusts such bins less (iterated weights, Huber and Ronchetti 2009, section 7.8,
//! with a loss that falls as Hampel's), from a start that [`Trust::Shallow`] found without the deep
//! ones: what is off stands out only beside what is met. A touch of which most is off keeps its weight:
//! that is a wrong model, such as a lump that the scene lacks.
//!
//! The model itself gives way where a deep press squeezes a soft layer to nothing: its force leaps, and
//! when it does hangs on every parameter. Slopes there say more than is true, and are known by it:
//! force is of the first degree in all moduli together, so that by Euler's theorem the slopes by the
//! layers' logarithms sum up to it, and none has more than all of it. Where that fails a bin counts for
//! nothing.

use super::doubt::dot;
use super::model::{Body, Only, Pushed};
use super::record::{Mean, Touch};
use super::{Part, Settings, TouchError};
use crate::fit::least_squares;

/// Change of a parameter by which slopes are taken: the tissue is stepped in single precision.
const CHANGE: f64 = 0.1;
/// Slopes are taken anew after a step in which a parameter changed by more.
const STALE: f64 = 0.15;
/// Largest change of a parameter in a step, over the standard deviation of its prior: slopes of a
/// lump's shape are not worth more.
const LONGEST: f64 = 1.0;
/// The fit has settled once no parameter changes by more.
const SETTLED: f64 = 5e-3;
/// Damping at the start, over the sum of squares of a column.
const DAMPING: f64 = 1e-3;

/// Misfit from which a bin is trusted less, over the usual one of its touch or of the noise.
const USUAL: f64 = 3.0;
/// By how much of the force the layers' slopes may miss it in sum, or one of a modulus may exceed it or
/// fall below nothing, before the tissue is taken to give way: waves take some percent, and so do
/// slopes by steps of a tenth.
const LEAP: f64 = 0.15;
/// Share of a touch's depth to which bins count as shallow.
const SHALLOW: f64 = 0.7;
/// A normal standard deviation over the median of its size.
const NORMAL: f64 = 1.4826;

/// Which bins a fit goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// All alike.
    All,
    /// Those of the shallow part of every touch.
    Shallow,
    /// Less by those that are far off the rest of their touch.
    Usual,
}

/// What the instrument does, after the parameters: gain, height, lag, mass, drag.
pub(super) const NUISANCES: usize = 5;

/// A place in the space of the unknowns, and what the model says there.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) unknowns: Vec<f64>,
    pub(super) plain: Vec<Pushed>,
    /// Force of every bin as the instrument reads it \[N\].
    pub(super) read_n: Vec<f64>,
}

/// The end of a fit.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub(super) end: Point,
    /// Standard deviations of the parameters' priors.
    pub(super) priors: Vec<f64>,
    /// Slopes of the forces by the unknowns, over their standard deviations and as far as trusted; a
    /// column an unknown.
    pub(super) columns: Vec<Vec<f64>>,
    /// Misfits over their standard deviations.
    pub(super) misfits: Vec<f64>,
    /// How far each bin is trusted, 0 to 1.
    pub(super) trust: Vec<f64>,
    pub(super) spread_n: Vec<f64>,
    /// Factor on the standard deviations of the noise that all this was done with.
    pub(super) scale: f64,
    pub(super) runs: u32,
    pub(super) settled: bool,
}

impl Fitted {
    /// The parameters, in their own measure.
    pub(super) fn changes(&self) -> Vec<f64> {
        let pairs = self.end.unknowns.iter().zip(&self.priors);
        pairs.map(|(x, prior)| x * prior).collect()
    }

    /// Misfits as far as they are trusted.
    pub(super) fn trusted(&self) -> Vec<f64> {
        weighted(&self.misfits, &self.trust)
    }
}

/// Values times the roots of their weights.
pub(super) fn weighted(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let pairs = values.iter().zip(weights);
    pairs.map(|(value, weight)| value * weight.sqrt()).collect()
}

/// How far the bins of one touch are trusted, by their misfits over standard deviations of which the
/// noise has `noise`.
fn trust(misfits: &[f64], noise: f64) -> Vec<f64> {
    let mut sizes: Vec<f64> = misfits.iter().map(|misfit| misfit.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    let usual = USUAL * (NORMAL * median).max(noise);
    let one = |misfit: &f64| {
        let over = (misfit.abs() / usual).max(1.0);
        1.0 / (over * over * over * over)
    };
    misfits.iter().map(one).collect()
}

/// Slopes at a place, and what a bin is worth there.
#[derive(Debug, Clone, Default)]
struct Slopes {
    columns: Vec<Vec<f64>>,
    spread_n: Vec<f64>,
    trust: Vec<f64>,
}

/// A body, touched as a record was.
pub(super) struct Fit<'a> {
    body: &'a Body<'a>,
    touch: &'a Touch,
    settings: &'a Settings,
    parts: Vec<Part>,
    priors: Vec<f64>,
    scale: f64,
    trust: Trust,
    runs: u32,
}

impl<'a> Fit<'a> {
    /// With noise larger by `scale`.
    pub(super) fn new(
        body: &'a Body<'a>,
        touch: &'a Touch,
        settings: &'a Settings,
        scale: f64,
    ) -> Self {
        let parts = body.parts();
        let priors = parts.iter().map(|&part| body.prior(part, settings));
        Self {
            body,
            touch,
            settings,
            priors: priors.collect(),
            parts,
            scale,
            trust: Trust::All,
            runs: 0,
        }
    }

    /// The same, which goes by these bins.
    pub(super) fn trusting(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }

    /// From these unknowns; from the scene's, which are 0, if there are none.
    pub(super) fn solve(mut self, from: &[f64]) -> Result<Fitted, TouchError> {
        let mut unknowns = from.to_vec();
        unknowns.resize(self.parts.len() + NUISANCES, 0.0);
        let mut here = self.point(unknowns)?;
        let mut slopes = self.slopes(&here)?;
        let (mut damping, mut settled) = (DAMPING, false);
        // how far the slopes are from where they were taken, and whether they must be taken anew
        let (mut moved, mut stale) = (0.0, false);
        for _ in 0..self.settings.steps_max {
            if stale {
                slopes = self.slopes(&here)?;
                (moved, stale) = (0.0, false);
            }
            let step = self.step(&here, &slopes, damping)?;
            let unknowns = here.unknowns.iter().zip(&step).map(|(x, dx)| x + dx);
            let there = self.point(unknowns.collect())?;
            let change = self.farthest(&step);
            if self.cost(&there, &slopes) <= self.cost(&here, &slopes) {
                here = there;
                damping *= 0.1;
                moved += change;
                stale = moved > STALE;
                settled = change < SETTLED;
            } else if moved > 0.0 {
                // the slopes may be to blame
                stale = true;
            } else {
                damping *= 10.0;
                settled = change < SETTLED;
            }
            if settled {
                break;
            }
        }
        let misfits = self.misfits(&here, &slopes.spread_n);
        Ok(Fitted {
            end: here,
            priors: self.priors,
            columns: slopes.columns,
            misfits,
            trust: slopes.trust,
            spread_n: slopes.spread_n,
            scale: self.scale,
            runs: self.runs,
            settled,
        })
    }

    /// Largest change of a parameter in a step, in its own measure.
    fn farthest(&self, step: &[f64]) -> f64 {
        let changes = step.iter().zip(&self.priors).map(|(x, p)| (x * p).abs());
        changes.fold(0.0, f64::max)
    }

    /// What the model says without the instrument, or, if one part alone is another, where that matters.
    pub(super) fn pushed(
        &self,
        unknowns: &[f64],
        only: Option<Only<'_>>,
    ) -> Result<Vec<Pushed>, TouchError> {
        let changes: Vec<f64> = unknowns
            .iter()
            .zip(&self.priors)
            .map(|(x, p)| x * p)
            .collect();
        // the record lies too high by the error, so the tool is lower
        let height_m = -self.settings.noise.height_m * unknowns[self.parts.len() + 1];
        self.body.pushed(&changes, height_m, self.touch, only)
    }

    /// What the scene says as it was given \[N\].
    pub(super) fn at_rest(&mut self) -> Result<Vec<f64>, TouchError> {
        let all = self.parts.len() + NUISANCES;
        Ok(self.point(vec![0.0; all])?.read_n)
    }

    /// The model at a place.
    pub(super) fn point(&mut self, unknowns: Vec<f64>) -> Result<Point, TouchError> {
        self.runs += 1;
        let plain = self.pushed(&unknowns, None)?;
        let read_n = self.read(&unknowns, &plain);
        Ok(Point {
            unknowns,
            plain,
            read_n,
        })
    }

    /// Force of every bin as the instrument reads it \[N\].
    pub(super) fn read(&self, unknowns: &[f64], plain: &[Pushed]) -> Vec<f64> {
        let columns = self.instrument(plain);
        let [gain, _, lag, mass, drag] = nuisances(unknowns);
        let one = |(bin, pushed): (usize, &Pushed)| {
            let [own_n, late_n, heavy_n, dragged_n] = columns[bin];
            pushed.force_n + gain * own_n + lag * late_n + mass * heavy_n + drag * dragged_n
        };
        plain.iter().enumerate().map(one).collect()
    }

    /// Force by one standard deviation of gain, lag, mass and drag \[N\].
    fn instrument(&self, plain: &[Pushed]) -> Vec<[f64; 4]> {
        let noise = &self.settings.noise;
        let pairs = plain.iter().zip(self.touch.bins());
        let one = |(pushed, bin): (&Pushed, &Mean)| {
            let touching = f64::from(u8::from(pushed.force_n > 0.0));
            [
                noise.gain * pushed.force_n,
                -noise.lag_s * pushed.rate_nps,
                noise.mass_kg * bin.gain_mps2,
                -noise.drag_nspm * bin.speed_mps * touching,
            ]
        };
        pairs.map(one).collect()
    }

    /// Slopes by one more run a parameter and one for the height, all at once.
    fn slopes(&mut self, here: &Point) -> Result<Slopes, TouchError> {
        let (parts, noise) = (self.parts.len(), &self.settings.noise);
        let changed: Vec<usize> = (0..parts).chain([parts + 1]).collect();
        let change = |unknown: usize| self.priors.get(unknown).map_or(1.0, |prior| CHANGE / prior);
        let this = &*self;
        let run = |unknown: usize| {
            let mut unknowns = here.unknowns.clone();
            unknowns[unknown] += change(unknown);
            let part = this.parts.get(unknown).copied();
            let known = &here.plain;
            this.pushed(&unknowns, part.map(|part| Only { part, known }))
        };
        let runs: Vec<Result<Vec<Pushed>, TouchError>> = std::thread::scope(|scope| {
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
        for (&unknown, plain) in changed.iter().zip(runs) {
            let there_n = this.read(&here.unknowns, &plain?);
            let pairs = there_n.iter().zip(&here.read_n);
            let slope = pairs.map(|(there_n, here_n)| (there_n - here_n) / change(unknown));
            columns.push(slope.collect::<Vec<f64>>());
        }
        let instrument = this.instrument(&here.plain);
        let column = |at: usize| instrument.iter().map(|row| row[at]).collect::<Vec<f64>>();
        columns.insert(parts, column(0));
        columns.extend([1, 2, 3].map(column));
        let slopes_npm: Vec<f64> = columns[parts + 1]
            .iter()
            .map(|n| n / noise.height_m)
            .collect();
        let mut spread_n = self.touch.spread_n(&here.read_n, &slopes_npm);
        spread_n.iter_mut().for_each(|sd_n| *sd_n *= self.scale);
        let mut trust = self.trust(&self.misfits(here, &spread_n), &here.plain);
        for (bin, trust) in trust.iter_mut().enumerate() {
            let margin_n = LEAP * here.read_n[bin].abs() + USUAL * spread_n[bin];
            if self.leaps(bin, &columns, here.read_n[bin], margin_n) {
                *trust = 0.0;
            }
        }
        for column in &mut columns {
            let pairs = column.iter_mut().zip(spread_n.iter().zip(&trust));
            pairs.for_each(|(slope, (sd_n, trust))| *slope *= trust.sqrt() / sd_n);
        }
        self.runs += changed.len() as u32;
        Ok(Slopes {
            columns,
            spread_n,
            trust,
        })
    }

    /// Whether the moduli do not share the force of a bin among them.
    fn leaps(&self, bin: usize, columns: &[Vec<f64>], force_n: f64, margin_n: f64) -> bool {
        let mut layers_n = 0.0;
        for ((part, prior), column) in self.parts.iter().zip(&self.priors).zip(columns) {
            let slope_n = column[bin] / prior;
            match part {
                Part::Layer(_) => layers_n += slope_n,
                Part::Contrast(_) => {}
                _ => continue,
            }
            if slope_n < -margin_n || slope_n > force_n.max(0.0) + margin_n {
                return true;
            }
        }
        (layers_n - force_n).abs() > margin_n
    }

    /// How far every bin is trusted; those without contact tell nothing of what is usual.
    fn trust(&self, misfits: &[f64], plain: &[Pushed]) -> Vec<f64> {
        let mut all = vec![1.0; misfits.len()];
        if self.trust == Trust::All {
            return all;
        }
        let mut from = 0;
        for visit in &self.touch.visits {
            let (bins_before, bins) = (from, from..from + visit.bins.len());
            from = bins.end;
            let touching: Vec<usize> = bins.filter(|&bin| plain[bin].force_n > 0.0).collect();
            let own: Vec<f64> = touching.iter().map(|&bin| misfits[bin]).collect();
            let found = if self.trust == Trust::Usual {
                trust(&own, 1.0 / self.scale)
            } else {
                let low_m = SHALLOW * visit.depth_m();
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

    fn misfits(&self, point: &Point, spread_n: &[f64]) -> Vec<f64> {
        let all = self.touch.bins().zip(&point.read_n).zip(spread_n);
        all.map(|((bin, read_n), sd_n)| (bin.force_n - read_n) / sd_n)
            .collect()
    }

    fn cost(&self, point: &Point, slopes: &Slopes) -> f64 {
        let misfits = weighted(&self.misfits(point, &slopes.spread_n), &slopes.trust);
        dot(&misfits, &misfits) + dot(&point.unknowns, &point.unknowns)
    }

    /// Change of the unknowns that meets the record best by the slopes.
    fn step(&self, here: &Point, slopes: &Slopes, damping: f64) -> Result<Vec<f64>, TouchError> {
        let unknowns = here.unknowns.len();
        let mut observed = weighted(&self.misfits(here, &slopes.spread_n), &slopes.trust);
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
        let parts = step.iter().take(self.parts.len());
        let longest = parts.fold(0.0_f64, |most, x| most.max(x.abs()));
        if longest > LONGEST {
            step.iter_mut()
                .for_each(|change| *change *= LONGEST / longest);
        }
        Ok(step)
    }
}

/// What the instrument does, over the standard deviations.
fn nuisances(unknowns: &[f64]) -> [f64; NUISANCES] {
    let first = unknowns.len() - NUISANCES;
    core::array::from_fn(|k| unknowns[first + k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_off_the_rest_is_trusted_less_and_a_rest_that_is_off_is_not() {
        let mut misfits = vec![0.5, -1.0, 1.5, -0.8, 1.2, 2.5];
        assert_eq!(trust(&misfits, 1.0), vec![1.0; 6]);
        misfits.extend([-60.0, 9.0]);
        let found = trust(&misfits, 1.0);
        assert!(found[..6].iter().all(|&t| t == 1.0) && found[6] < 1e-3 && found[7] < 1.0);
        // a wrong model is off everywhere
        let wrong: Vec<f64> = misfits[..6].iter().map(|m| 50.0 * m).collect();
        assert_eq!(trust(&wrong, 1.0), vec![1.0; 6]);
        assert_eq!(trust(&[], 1.0), Vec::<f64>::new());
    }
}
