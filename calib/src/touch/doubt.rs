//! How sure a fit is, and what its record cannot tell.
//!
//! Source: covariance of a linear fit with a normal prior (Tarantola 2005, section 3.2). Noise is
//! taken as larger by what the misfit exceeds it, and by how long misfits stay of one sign
//! (integrated autocorrelation, Sokal 1997): a model that is wrong in shape is not fitted better by
//! more samples. Gain and height are integrated out.

use nalgebra::{DMatrix, DVector};

use super::model::Body;
use super::record::{Bin, Touch};
use super::solve::{self, Fitted};
use super::{Estimate, Identified, Part, Settings, TouchError};

/// Parts of a direction below this share of its largest go without a word.
const SAID: f64 = 0.25;
/// Bins with less modelled force, over the largest, tell nothing of the misfit.
const TOUCHED: f64 = 0.05;

/// A direction in the logarithms of the parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Direction {
    /// Its unit vector, one entry an estimate.
    pub weights: Vec<f64>,
    /// Singular value: one over the standard deviation that the record alone gives.
    pub singular: f64,
    /// Standard deviation along it, with the prior.
    pub log_sd: f64,
    /// Whether the record says more about it than the prior.
    pub told: bool,
    /// In words, such as `skin up with fat down`.
    pub words: String,
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn judge(
    body: &Body<'_>,
    touch: &Touch,
    settings: &Settings,
    fitted: &Fitted,
) -> Result<Identified, TouchError> {
    let prior = settings.prior_log;
    let parts = body.parts();
    let count = parts.len();
    let unknowns = &fitted.end.unknowns;
    let logs: Vec<f64> = unknowns[..count].iter().map(|x| prior * x).collect();
    let excess = excess(fitted);
    let all = unknowns.len();
    let column = |at: usize| fitted.columns[at].as_slice();
    let told = DMatrix::from_fn(all, all, |i, j| {
        dot(column(i), column(j)) / (excess * excess)
    });
    let spread = inverse(&(&told + DMatrix::identity(all, all)));
    let shift = if settings.finer_mesh {
        Some(shift(body, touch, settings, fitted)?)
    } else {
        None
    };
    let names: Vec<&str> = parts.iter().map(|(_, name)| name.as_str()).collect();
    let directions = directions(&told, &names, prior);
    let sd = |at: usize| spread[(at, at)].max(0.0).sqrt();
    let correlation = |i: usize, j: usize| {
        if i == j {
            1.0
        } else {
            spread[(i, j)] / (sd(i) * sd(j))
        }
    };
    let bins = bins(touch, settings, fitted);
    let noise = &settings.noise;
    Ok(Identified {
        scene: body.scaled(&logs)?,
        correlation: (0..count)
            .map(|i| (0..count).map(|j| correlation(i, j)).collect())
            .collect(),
        estimates: estimates(body, (&logs, prior), &spread, shift.as_ref()),
        directions,
        gain: [1.0 + noise.gain * unknowns[count], noise.gain * sd(count)],
        height_m: [
            noise.height_m * unknowns[count + 1],
            noise.height_m * sd(count + 1),
        ],
        misfit_n: [|bin: &Bin| bin.before_n, |bin: &Bin| bin.after_n].map(|modelled_n| {
            let squares = bins
                .iter()
                .map(|bin| (bin.measured_n - modelled_n(bin)).powi(2));
            (squares.sum::<f64>() / bins.len() as f64).sqrt()
        }),
        bins,
        excess: excess * fitted.scale,
        runs: fitted.runs + u32::from(settings.finer_mesh),
        settled: fitted.settled,
        prior_log: prior,
    })
}

fn estimates(
    body: &Body<'_>,
    (logs, prior): (&[f64], f64),
    spread: &DMatrix<f64>,
    shift: Option<&DVector<f64>>,
) -> Vec<Estimate> {
    let one = |(at, (part, name)): (usize, (Part, String))| Estimate {
        name,
        part,
        before: body.value(part),
        after: body.value(part) * libm::exp(logs[at]),
        log_sd: prior * spread[(at, at)].max(0.0).sqrt(),
        told: (1.0 - spread[(at, at)]).clamp(0.0, 1.0),
        mesh_log: shift.map(|shift| prior * shift[at]),
    };
    body.parts().into_iter().enumerate().map(one).collect()
}

fn bins(touch: &Touch, settings: &Settings, fitted: &Fitted) -> Vec<Bin> {
    let modelled = [&fitted.start, &fitted.end].map(|point| point.modelled_n(settings));
    let bin = |(index, &(time_s, height_m, measured_n, _)): (usize, &(f64, f64, f64, usize))| Bin {
        time_s,
        height_m,
        measured_n,
        before_n: modelled[0][index],
        after_n: modelled[1][index],
        sd_n: fitted.spread_n[index] / fitted.scale,
    };
    touch.bins.iter().enumerate().map(bin).collect()
}

/// Change of the unknowns that would make up for a finer mesh, to first order.
fn shift(
    body: &Body<'_>,
    touch: &Touch,
    settings: &Settings,
    fitted: &Fitted,
) -> Result<DVector<f64>, TouchError> {
    let scene = body.finer();
    let finer_n = solve::forces_n(&Body::of(&scene)?, touch, settings, &fitted.end.unknowns)?;
    let pairs = fitted.end.plain_n.iter().zip(finer_n).zip(&fitted.spread_n);
    let change: Vec<f64> = pairs
        .map(|((here_n, finer_n), sd_n)| (here_n - finer_n) / sd_n)
        .collect();
    let columns = &fitted.columns;
    let all = columns.len();
    let told = DMatrix::from_fn(all, all, |i, j| dot(&columns[i], &columns[j]));
    let pull = DVector::from_fn(all, |i, _| dot(&columns[i], &change));
    Ok(inverse(&(told + DMatrix::identity(all, all))) * pull)
}

/// Factor by which noise must grow further to explain the misfit; at least 1.
pub(super) fn excess(fitted: &Fitted) -> f64 {
    let force = &fitted.end.plain_n;
    let strongest = force.iter().fold(0.0_f64, |most, value| most.max(*value));
    let touched = |(force, _): &(&f64, &f64)| **force > strongest * TOUCHED;
    let misfits = force.iter().zip(&fitted.misfits).filter(touched);
    let misfits: Vec<f64> = misfits.map(|(_, misfit)| *misfit).collect();
    let freedom = misfits.len().saturating_sub(fitted.columns.len()).max(1);
    let square = dot(&misfits, &misfits);
    let mut time = 1.0;
    for lag in 1..misfits.len() / 4 {
        let share = dot(&misfits[lag..], &misfits) / square.max(f64::MIN_POSITIVE);
        if share <= 0.0 {
            break;
        }
        time += 2.0 * share;
    }
    (square / freedom as f64 * time).sqrt().max(1.0)
}

/// Inverse of a positive definite matrix; that of its diagonal if rounding made it something else.
fn inverse(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    match matrix.clone().cholesky() {
        Some(factors) => factors.inverse(),
        None => DMatrix::from_diagonal(&matrix.diagonal().map(|value| 1.0 / value)),
    }
}

/// What the record tells of the logarithms once gain and height are integrated out, by direction.
fn directions(told: &DMatrix<f64>, names: &[&str], prior: f64) -> Vec<Direction> {
    let count = names.len();
    let nuisance = told.view((count, count), (2, 2)) + DMatrix::identity(2, 2);
    let across = told.view((0, count), (count, 2));
    let own = told.view((0, 0), (count, count)) - across * inverse(&nuisance) * across.transpose();
    let eigen = own.symmetric_eigen();
    let mut found: Vec<Direction> = eigen
        .eigenvectors
        .column_iter()
        .zip(eigen.eigenvalues.iter())
        .map(|(direction, &value)| {
            let value = value.max(0.0);
            let direction = upward(&direction.into_owned());
            Direction {
                singular: value.sqrt() / prior,
                log_sd: prior / (1.0 + value).sqrt(),
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

fn words(direction: &[f64], names: &[&str]) -> String {
    let largest = direction
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut said: Vec<(f64, &str)> = direction
        .iter()
        .copied()
        .zip(names.iter().copied())
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
        // only the sum of skin and fat is seen, and the gain not at all
        let mut told = DMatrix::zeros(5, 5);
        told.view_mut((0, 0), (2, 2)).fill(50.0);
        told[(2, 2)] = 4.0;
        let found = directions(&told, &["skin", "fat", "lump contrast"], 0.5);
        assert_eq!(found[0].words, "skin up with fat up");
        assert_eq!(found[1].words, "lump contrast alone");
        assert!((found[1].singular - 4.0).abs() < 1e-12 && found[1].told);
        let blind = &found[2];
        assert!(blind.words.contains("up with") && blind.words.ends_with("down"));
        assert!(!blind.told && (blind.log_sd - 0.5).abs() < 1e-9);
    }
}
