//! The fit: from the scene's values to those that meet the record.
//!
//! Source: Levenberg 1944; each step is a linear fit by [`crate::fit::least_squares`], with a row a
//! bin, a row a prior and a row a damping. Unknowns are without unit, each over the standard
//! deviation of its prior: logarithms of layers and contrasts, then gain, then height.

use super::doubt::dot;
use super::model::Body;
use super::record::Touch;
use super::{Settings, TouchError};
use crate::fit::least_squares;

/// Change of a logarithm by which slopes are taken: the tissue is stepped in single precision.
const LOG_CHANGE: f64 = 0.1;
/// Slopes are taken anew after a step in which a logarithm changed by more.
const STALE: f64 = 0.15;
/// Largest change of a logarithm in a step.
const LONGEST: f64 = 1.0;
/// The fit has settled once no logarithm changes by more.
const SETTLED: f64 = 2e-3;
/// Damping at the start, over the sum of squares of a column.
const DAMPING: f64 = 1e-3;

/// A place in the space of the unknowns, and what the model says there.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) unknowns: Vec<f64>,
    /// Mean force of every bin, without gain \[N\].
    pub(super) plain_n: Vec<f64>,
}

/// The end of a fit.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub(super) start: Point,
    pub(super) end: Point,
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

/// Slopes at a place, and what a bin is worth there.
#[derive(Debug, Clone, Default)]
struct Slopes {
    columns: Vec<Vec<f64>>,
    spread_n: Vec<f64>,
}

struct Fit<'a> {
    body: &'a Body<'a>,
    touch: &'a Touch,
    settings: &'a Settings,
    /// Number of logarithms.
    logs: usize,
    scale: f64,
    runs: u32,
}

/// From the scene's values, with noise larger by `scale`.
pub(super) fn fit(
    body: &Body<'_>,
    touch: &Touch,
    settings: &Settings,
    scale: f64,
) -> Result<Fitted, TouchError> {
    let logs = body.parts().len();
    let mut fit = Fit {
        body,
        touch,
        settings,
        logs,
        scale,
        runs: 0,
    };
    let start = fit.point(vec![0.0; logs + 2])?;
    let mut here = start.clone();
    let mut slopes = fit.slopes(&here)?;
    let (mut damping, mut settled, mut stale) = (DAMPING, false, false);
    for _ in 0..settings.steps_max {
        if stale {
            slopes = fit.slopes(&here)?;
            stale = false;
        }
        let step = fit.step(&here, &slopes, damping)?;
        let unknowns = here.unknowns.iter().zip(&step).map(|(x, dx)| x + dx);
        let there = fit.point(unknowns.collect())?;
        let change = settings.prior_log * largest(&step[..logs]);
        if fit.cost(&there, &slopes) <= fit.cost(&here, &slopes) {
            here = there;
            damping *= 0.1;
            stale = change > STALE;
        } else {
            damping *= 10.0;
        }
        if change < SETTLED {
            settled = true;
            break;
        }
    }
    let misfits = fit.misfits(&here, &slopes);
    let (columns, spread_n, runs) = (slopes.columns, slopes.spread_n, fit.runs);
    Ok(Fitted {
        start,
        end: here,
        columns,
        misfits,
        spread_n,
        scale,
        runs,
        settled,
    })
}

fn largest(values: &[f64]) -> f64 {
    values
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()))
}

impl Point {
    /// Modelled forces, with gain \[N\].
    pub(super) fn modelled_n(&self, settings: &Settings) -> Vec<f64> {
        let gain = 1.0 + settings.noise.gain * self.unknowns[self.unknowns.len() - 2];
        self.plain_n.iter().map(|force_n| gain * force_n).collect()
    }
}

/// Mean force of every bin by a body with these unknowns, without gain \[N\].
pub(super) fn forces_n(
    body: &Body<'_>,
    touch: &Touch,
    settings: &Settings,
    unknowns: &[f64],
) -> Result<Vec<f64>, TouchError> {
    let logs = &unknowns[..unknowns.len() - 2];
    let logs: Vec<f64> = logs.iter().map(|x| settings.prior_log * x).collect();
    // the record lies too high by the error, so the tool is lower
    let height_m = -settings.noise.height_m * unknowns[unknowns.len() - 1];
    body.forces_n(&logs, height_m, touch)
}

impl Fit<'_> {
    fn forces_n(&self, unknowns: &[f64]) -> Result<Vec<f64>, TouchError> {
        forces_n(self.body, self.touch, self.settings, unknowns)
    }

    fn point(&mut self, unknowns: Vec<f64>) -> Result<Point, TouchError> {
        self.runs += 1;
        let plain_n = self.forces_n(&unknowns)?;
        Ok(Point { unknowns, plain_n })
    }

    /// Slopes by one more run an unknown, all at once; the gain needs none.
    fn slopes(&mut self, here: &Point) -> Result<Slopes, TouchError> {
        let (logs, noise) = (self.logs, &self.settings.noise);
        let changed: Vec<usize> = (0..logs).chain([logs + 1]).collect();
        let change = |unknown: usize| match unknown {
            height if height == logs + 1 => 1.0,
            _ => LOG_CHANGE / self.settings.prior_log,
        };
        let this = &*self;
        let run = |unknown: usize| {
            let mut unknowns = here.unknowns.clone();
            unknowns[unknown] += change(unknown);
            this.forces_n(&unknowns)
        };
        let runs: Vec<Result<Vec<f64>, TouchError>> = std::thread::scope(|scope| {
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
        let modelled_n = here.modelled_n(self.settings);
        let gain = 1.0 + noise.gain * here.unknowns[logs];
        let mut columns = Vec::with_capacity(logs + 2);
        for (&unknown, forces_n) in changed.iter().zip(runs) {
            let pairs = forces_n?.into_iter().zip(here.plain_n.clone());
            let slope = pairs.map(|(there_n, here_n)| gain * (there_n - here_n) / change(unknown));
            columns.push(slope.collect::<Vec<f64>>());
        }
        columns.insert(
            logs,
            here.plain_n
                .iter()
                .map(|force_n| noise.gain * force_n)
                .collect(),
        );
        let slopes_npm: Vec<f64> = columns[logs + 1]
            .iter()
            .map(|n| n / noise.height_m)
            .collect();
        let mut spread_n = self.touch.spread_n(&modelled_n, &slopes_npm);
        spread_n.iter_mut().for_each(|sd_n| *sd_n *= self.scale);
        for column in &mut columns {
            column
                .iter_mut()
                .zip(&spread_n)
                .for_each(|(slope, sd_n)| *slope /= sd_n);
        }
        self.runs += changed.len() as u32;
        Ok(Slopes { columns, spread_n })
    }

    fn misfits(&self, point: &Point, slopes: &Slopes) -> Vec<f64> {
        let modelled_n = point.modelled_n(self.settings);
        let all = self.touch.bins.iter().zip(modelled_n).zip(&slopes.spread_n);
        all.map(|((bin, modelled_n), sd_n)| (bin.2 - modelled_n) / sd_n)
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
        let longest = self.settings.prior_log * largest(&step[..self.logs]);
        if longest > LONGEST {
            step.iter_mut()
                .for_each(|change| *change *= LONGEST / longest);
        }
        Ok(step)
    }
}
