//! How sure a fit is, and what its record cannot tell.
//!
//! Source: covariance of a linear fit with a normal prior (Tarantola 2005, section 3.2). Noise is
//! taken as larger by what the misfit exceeds it, and by how long misfits stay of one sign
//! (integrated autocorrelation, Sokal 1997): a model that is wrong in shape is not fitted better by
//! more samples. Where touches disagree by more than that, their disagreement counts, and so does what
//! a finer mesh would say. What the instrument does is integrated out.

use nalgebra::{DMatrix, DVector};

use super::model::{Body, Pushed};
use super::record::{Bin, Mean, Touch};
use super::solve::{Fit, Fitted, NUISANCES, weighted};
use super::{Estimate, Identified, Part, Search, Settings, TouchError};

/// Parts of a direction below this share of its largest go without a word.
const SAID: f64 = 0.25;
/// Bins with less modelled force, over the largest, tell nothing of the misfit.
const TOUCHED: f64 = 0.05;
/// Fewest touches from which their own spread is taken.
const VISITS_MIN: usize = 3;

/// A direction in the parameters, each over the standard deviation of its prior.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// Its unit vector, one entry an estimate.
    pub weights: Vec<f64>,
    /// Singular value: standard deviation of the prior over that of the record alone.
    pub singular: f64,
    /// Share of the prior's standard deviation that is left with the record, 0 to 1.
    pub left: f64,
    /// Whether the record says more about it than the prior.
    pub told: bool,
    /// In words, such as `skin up with fat down`.
    pub words: String,
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A fit, and what it is of.
pub(super) struct Case<'a> {
    pub(super) body: &'a Body<'a>,
    pub(super) touch: &'a Touch,
    pub(super) settings: &'a Settings,
    pub(super) fitted: &'a Fitted,
    /// What the scene as it was given says of every bin \[N\].
    pub(super) before_n: Vec<f64>,
    /// Inclusions of the scene as it was given.
    pub(super) known: usize,
}

impl Case<'_> {
    pub(super) fn judge(&self, searches: Vec<Search>) -> Result<Identified, TouchError> {
        let Self {
            body,
            settings,
            fitted,
            ..
        } = *self;
        let parts = body.parts();
        let count = parts.len();
        let excess = excess(fitted).max(1.0);
        let told = normal(&fitted.columns) / (excess * excess);
        let all = fitted.columns.len();
        let spread = inverse(&(&told + DMatrix::identity(all, all)));
        let own = self.between_visits();
        let sd = |at: usize| {
            let other = own.as_ref().map_or(0.0, |own| own[(at, at)]);
            spread[(at, at)].max(other).max(0.0).sqrt()
        };
        let shift = if settings.finer_mesh {
            Some(self.shift()?)
        } else {
            None
        };
        let scene = body.scaled(&fitted.changes()[..count])?;
        let estimate = |(at, part): (usize, &Part)| {
            let unit = fitted.priors[at] * body.measure(*part);
            let mesh = shift.as_ref().map(|shift| shift[at]);
            let doubt = libm::hypot(sd(at), mesh.unwrap_or(0.0));
            Estimate {
                name: body.name(*part),
                part: *part,
                before: self
                    .is_given(*part)
                    .then_some(Body::value(body.scene, *part)),
                after: Body::value(&scene, *part),
                sd: unit * doubt,
                prior_sd: unit,
                told: (1.0 - doubt * doubt).clamp(0.0, 1.0),
                mesh: mesh.map(|mesh| unit * mesh),
            }
        };
        let noise = &settings.noise;
        let instrument = |at: usize, unit: f64| {
            let at = count + at;
            [fitted.end.unknowns[at], sd(at)].map(|x| unit * x)
        };
        let names: Vec<String> = parts.iter().map(|part| body.name(*part)).collect();
        let bins = self.bins();
        let [gain, gain_sd] = instrument(0, noise.gain);
        Ok(Identified {
            estimates: parts.iter().enumerate().map(estimate).collect(),
            correlation: correlation(&spread, count),
            directions: directions(&told, &names),
            gain: [1.0 + gain, gain_sd],
            height_m: instrument(1, noise.height_m),
            lag_s: instrument(2, noise.lag_s),
            mass_kg: instrument(3, noise.mass_kg),
            drag_nspm: instrument(4, noise.drag_nspm),
            misfit_n: misfit_n(&bins),
            bins,
            excess: excess * fitted.scale,
            left_out: left_out(fitted),
            runs: fitted.runs + u32::from(settings.finer_mesh),
            settled: fitted.settled,
            prior_log: settings.prior_log,
            scene,
            searches,
        })
    }

    /// Whether a parameter is of the scene as it was given.
    fn is_given(&self, part: Part) -> bool {
        part.inclusion().is_none_or(|ball| ball < self.known)
    }

    fn bins(&self) -> Vec<Bin> {
        let fitted = self.fitted;
        let bin = |(index, mean): (usize, &Mean)| Bin {
            time_s: mean.time_s,
            height_m: mean.height_m,
            measured_n: mean.force_n,
            before_n: self.before_n[index],
            after_n: fitted.end.read_n[index],
            sd_n: fitted.spread_n[index] / fitted.scale,
        };
        self.touch.bins().enumerate().map(bin).collect()
    }

    /// Covariance of the unknowns by how much the touches disagree (Liang and Zeger 1986): a model
    /// that is wrong differently in every touch is no better known for many samples a touch.
    fn between_visits(&self) -> Option<DMatrix<f64>> {
        let (fitted, visits) = (self.fitted, &self.touch.visits);
        let all = fitted.columns.len();
        if visits.len() < VISITS_MIN {
            return None;
        }
        let mut sum = DMatrix::zeros(all, all);
        let misfits = fitted.trusted();
        let mut from = 0;
        for visit in visits {
            let bins = from..from + visit.bins.len();
            from = bins.end;
            let score = DVector::from_fn(all, |unknown, _| {
                dot(
                    &fitted.columns[unknown][bins.clone()],
                    &misfits[bins.clone()],
                )
            });
            sum += &score * score.transpose();
        }
        let few = visits.len() as f64 / (visits.len() - 1) as f64;
        let bread = inverse(&(normal(&fitted.columns) + DMatrix::identity(all, all)));
        Some(&bread * sum * &bread * few)
    }

    /// Change of the unknowns that would make up for a finer mesh, to first order.
    fn shift(&self) -> Result<DVector<f64>, TouchError> {
        let fitted = self.fitted;
        let scene = self.body.finer();
        let body = self.body.like(&scene)?;
        let fit = Fit::new(&body, self.touch, self.settings, 1.0);
        let finer = fit.pushed(&fitted.end.unknowns, None)?;
        let pairs = fitted.end.plain.iter().zip(finer).zip(&fitted.spread_n);
        let change: Vec<f64> = pairs
            .map(|((here, finer), sd_n): ((&Pushed, Pushed), &f64)| {
                (here.force_n - finer.force_n) / sd_n
            })
            .collect();
        let change = weighted(&change, &fitted.trust);
        let columns = &fitted.columns;
        let all = columns.len();
        let pull = DVector::from_fn(all, |i, _| dot(&columns[i], &change));
        Ok(inverse(&(normal(columns) + DMatrix::identity(all, all))) * pull)
    }
}

/// Root mean square of what the scene as it was given and as it was found leave of the force \[N\].
fn misfit_n(bins: &[Bin]) -> [f64; 2] {
    [|bin: &Bin| bin.before_n, |bin: &Bin| bin.after_n].map(|modelled_n| {
        let squares = bins
            .iter()
            .map(|bin| (bin.measured_n - modelled_n(bin)).powi(2));
        (squares.sum::<f64>() / bins.len() as f64).sqrt()
    })
}

/// What columns say of their unknowns.
fn normal(columns: &[Vec<f64>]) -> DMatrix<f64> {
    let all = columns.len();
    DMatrix::from_fn(all, all, |i, j| dot(&columns[i], &columns[j]))
}

fn correlation(spread: &DMatrix<f64>, count: usize) -> Vec<Vec<f64>> {
    let sd = |at: usize| spread[(at, at)].max(0.0).sqrt();
    let one = |i: usize, j: usize| {
        if i == j {
            1.0
        } else {
            spread[(i, j)] / (sd(i) * sd(j))
        }
    };
    let row = |i: usize| (0..count).map(|j| one(i, j)).collect();
    (0..count).map(row).collect()
}

/// Factor by which noise must grow further to explain the misfit of what is trusted.
pub(super) fn excess(fitted: &Fitted) -> f64 {
    let misfits = touched(fitted, &fitted.trusted());
    let weight: f64 = touched(fitted, &fitted.trust).iter().sum();
    let freedom = (weight - fitted.columns.len() as f64).max(1.0);
    let square = dot(&misfits, &misfits) / freedom;
    (square * persistence(&misfits)).sqrt()
}

/// Values of the bins that have force.
fn touched(fitted: &Fitted, values: &[f64]) -> Vec<f64> {
    let force_n = &fitted.end.read_n;
    let strongest = force_n.iter().fold(0.0_f64, |most, value| most.max(*value));
    let pairs = force_n.iter().zip(values);
    let touched = pairs.filter(|(force_n, _)| **force_n > strongest * TOUCHED);
    touched.map(|(_, value)| *value).collect()
}

/// Share of the bins that have force which is not trusted.
fn left_out(fitted: &Fitted) -> f64 {
    let trust = touched(fitted, &fitted.trust);
    1.0 - trust.iter().sum::<f64>() / trust.len().max(1) as f64
}

/// Of how many successive values one tells something new (integrated autocorrelation); at least 1.
pub(super) fn persistence(values: &[f64]) -> f64 {
    let square = dot(values, values).max(f64::MIN_POSITIVE);
    let mut time = 1.0;
    for lag in 1..values.len() / 4 {
        let share = dot(&values[lag..], values) / square;
        if share <= 0.0 {
            break;
        }
        time += 2.0 * share;
    }
    time
}

/// Inverse of a positive definite matrix; that of its diagonal if rounding made it something else.
fn inverse(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    match matrix.clone().cholesky() {
        Some(factors) => factors.inverse(),
        None => DMatrix::from_diagonal(&matrix.diagonal().map(|value| 1.0 / value)),
    }
}

/// What the record tells of the parameters once what the instrument does is integrated out.
fn directions(told: &DMatrix<f64>, names: &[String]) -> Vec<Direction> {
    let count = names.len();
    let size = (NUISANCES, NUISANCES);
    let nuisance = told.view((count, count), size) + DMatrix::identity(NUISANCES, NUISANCES);
    let across = told.view((0, count), (count, NUISANCES));
    let own = told.view((0, 0), (count, count)) - across * inverse(&nuisance) * across.transpose();
    let eigen = own.symmetric_eigen();
    let pairs = eigen.eigenvectors.column_iter().zip(&eigen.eigenvalues);
    let mut found: Vec<Direction> = pairs
        .map(|(direction, &value)| {
            let value = value.max(0.0);
            let direction = upward(&direction.into_owned());
            Direction {
                singular: value.sqrt(),
                left: 1.0 / (1.0 + value).sqrt(),
                told: value > 1.0,
                words: words(&direction, names),
                weights: direction,
            }
        })
        .collect();
    found.sort_by(|a, b| b.singular.total_cmp(&a.singular));
    found
}

/// The direction with its largest part positive: its sign means nothing.
fn upward(direction: &DVector<f64>) -> Vec<f64> {
    let largest = direction.iter().copied().fold(0.0_f64, |most, value| {
        if value.abs() > most.abs() {
            value
        } else {
            most
        }
    });
    direction
        .iter()
        .map(|value| value * largest.signum())
        .collect()
}

fn words(direction: &[f64], names: &[String]) -> String {
    let largest = direction
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut said: Vec<(f64, &str)> = direction
        .iter()
        .copied()
        .zip(names.iter().map(String::as_str))
        .collect();
    said.retain(|(value, _)| value.abs() >= SAID * largest);
    said.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    if let [(_, name)] = said[..] {
        return format!("{name} alone");
    }
    let part = |(value, name): &(f64, &str)| {
        format!("{name} {}", if *value > 0.0 { "up" } else { "down" })
    };
    said.iter().map(part).collect::<Vec<_>>().join(" with ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_is_named() {
        // only the sum of skin and fat is seen, and what the instrument does not at all
        let all = 3 + NUISANCES;
        let mut told = DMatrix::zeros(all, all);
        told.view_mut((0, 0), (2, 2)).fill(50.0);
        told[(2, 2)] = 4.0;
        let found = directions(&told, &["skin", "fat", "lump contrast"].map(str::to_owned));
        assert_eq!(found[0].words, "skin up with fat up");
        assert_eq!(found[1].words, "lump contrast alone");
        assert!((found[1].singular - 2.0).abs() < 1e-12 && found[1].told);
        let blind = &found[2];
        assert!(blind.words.contains("up with") && blind.words.ends_with("down"));
        assert!(!blind.told && (blind.left - 1.0).abs() < 1e-9);
    }

    #[test]
    fn misfits_that_hang_together_count_once() {
        let blocks: Vec<f64> = (0..400).map(|k| f64::from(1 - 2 * (k / 20 % 2))).collect();
        // correlation falls on a line, to 0 at half of a block
        let time = persistence(&blocks);
        assert!((9.0..11.0).contains(&time), "{time}");
        let turns: Vec<f64> = (0..400).map(|k| f64::from(1 - 2 * (k % 2))).collect();
        assert_eq!(persistence(&turns), 1.0);
        assert_eq!(persistence(&[]), 1.0);
    }
}
