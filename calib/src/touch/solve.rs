//! The fit: from the scene's values to those that meet the record.
//!
//! Source: Levenberg 1944; each step is a linear fit by [`crate::fit::least_squares`], with a row a
//! bin, a row a prior and a row a damping. Unknowns are without unit, each over the standard
//! deviation of its prior: the parameters of `model`, then what the instrument does. Of that only the
//! height asks for runs of the model; the force of a bin is
//! `F + gain F - lag dF/dt + mass a - drag v`, the drag in contact only.

use super::doubt::dot;
use super::model::{Body, Pushed};
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
    /// Slopes of the forces by the unknowns, over their standard deviations; a column an unknown.
    pub(super) columns: Vec<Vec<f64>>,
    /// Misfits over their standard deviations.
    pub(super) misfits: Vec<f64>,
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
}

/// Slopes at a place, and what a bin is worth there.
#[derive(Debug, Clone, Default)]
struct Slopes {
    columns: Vec<Vec<f64>>,
    spread_n: Vec<f64>,
}

/// A body, touched as a record was.
pub(super) struct Fit<'a> {
    body: &'a Body<'a>,
    touch: &'a Touch,
    settings: &'a Settings,
    parts: Vec<Part>,
    priors: Vec<f64>,
    scale: f64,
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
            runs: 0,
        }
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
        let misfits = self.misfits(&here, &slopes);
        Ok(Fitted {
            end: here,
            priors: self.priors,
            columns: slopes.columns,
            misfits,
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

    /// What the model says without the instrument, where `part` matters if it is given.
    pub(super) fn pushed(
        &self,
        unknowns: &[f64],
        (part, known): (Option<Part>, &[Pushed]),
    ) -> Result<Vec<Pushed>, TouchError> {
        let changes: Vec<f64> = unknowns
            .iter()
            .zip(&self.priors)
            .map(|(x, p)| x * p)
            .collect();
        // the record lies too high by the error, so the tool is lower
        let height_m = -self.settings.noise.height_m * unknowns[self.parts.len() + 1];
        let felt = |visit: &_| part.is_none_or(|part| self.body.is_felt(part, visit));
        self.body
            .pushed(&changes, height_m, self.touch, (felt, known))
    }

    /// What the scene says as it was given \[N\].
    pub(super) fn at_rest(&mut self) -> Result<Vec<f64>, TouchError> {
        let all = self.parts.len() + NUISANCES;
        Ok(self.point(vec![0.0; all])?.read_n)
    }

    /// The model at a place.
    pub(super) fn point(&mut self, unknowns: Vec<f64>) -> Result<Point, TouchError> {
        self.runs += 1;
        let plain = self.pushed(&unknowns, (None, &[]))?;
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
            this.pushed(&unknowns, (this.parts.get(unknown).copied(), &here.plain))
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
        for column in &mut columns {
            let pairs = column.iter_mut().zip(&spread_n);
            pairs.for_each(|(slope, sd_n)| *slope /= sd_n);
        }
        self.runs += changed.len() as u32;
        Ok(Slopes { columns, spread_n })
    }

    fn misfits(&self, point: &Point, slopes: &Slopes) -> Vec<f64> {
        let all = self.touch.bins().zip(&point.read_n).zip(&slopes.spread_n);
        all.map(|((bin, read_n), sd_n)| (bin.force_n - read_n) / sd_n)
            .collect()
    }

    fn cost(&self, point: &Point, slopes: &Slopes) -> f64 {
        let misfits = self.misfits(point, slopes);
        dot(&misfits, &misfits) + dot(&point.unknowns, &point.unknowns)
    }

    /// Change of the unknowns that meets the record best by the slopes.
    fn step(&self, here: &Point, slopes: &Slopes, damping: f64) -> Result<Vec<f64>, TouchError> {
        let unknowns = here.unknowns.len();
        let mut observed = self.misfits(here, slopes);
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
