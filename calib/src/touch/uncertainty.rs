//! Uncertainty of a fit, and the directions that its record does not determine.
//!
//! Source: covariance of a linear fit with a normal prior (Tarantola 2005, section 3.2). Noise is increased by
//! the excess of the misfit and by the time over which misfits keep their sign (integrated autocorrelation,
//! Sokal 1997): a model of the wrong shape is not fitted better by more samples. The disagreement of touches
//! gives a second estimate, and the larger of both is used. The shift that a finer mesh causes is added, as the
//! root of the sum of squares. The errors of the instrument are marginalised.

use nalgebra::{DMatrix, DVector};

use super::block_model::{BlockModel, ModelForce};
use super::record::{BinMean, ForceBin, TouchRecord};
use super::solve::{NUISANCES, Solution, Solver, weighted};
use super::{
    Identification, LumpSearch, PRIOR_LOG_SD, ParameterEstimate, SceneParameter, TouchError,
};

/// Least weight of a parameter that the description of a direction names, over the largest weight.
const NAMED_SHARE_MIN: f64 = 0.25;
/// Bins with less modelled force, over the largest, do not count for the misfit.
const CONTACT_SHARE_MIN: f64 = 0.05;
/// Fewest touches from which their own spread is computed.
const TOUCHES_MIN: usize = 3;

/// A direction in the parameters, each over the standard deviation of its prior.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterDirection {
    /// Its unit vector, one entry an estimate.
    pub weights: Vec<f64>,
    /// Singular value: standard deviation of the prior over that of the record alone.
    pub singular: f64,
    /// Fraction of the prior's standard deviation that remains with the record, 0 to 1.
    pub prior_share: f64,
    /// True if the record contains more information on it than the prior.
    pub is_informed: bool,
    /// Description, such as `skin up with fat down`.
    pub description: String,
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Inputs for the uncertainty of a fit.
pub(super) struct Assessment<'a> {
    pub(super) body: &'a BlockModel<'a>,
    pub(super) touch: &'a TouchRecord,
    /// Computes the shift by a finer mesh as well.
    pub(super) finer_mesh: bool,
    pub(super) fitted: &'a Solution,
    /// Force of every bin in the initial scene \[N\].
    pub(super) initial_force_n: Vec<f64>,
    /// Number of inclusions of the initial scene.
    pub(super) scene_inclusions: usize,
}

impl Assessment<'_> {
    pub(super) fn identification(
        &self,
        searches: Vec<LumpSearch>,
    ) -> Result<Identification, TouchError> {
        let Self { body, fitted, .. } = *self;
        let parts = body.parameters();
        let count = parts.len();
        let excess = excess(fitted).max(1.0);
        let information = normal_matrix(&fitted.jacobian.columns) / (excess * excess);
        let all = fitted.jacobian.columns.len();
        let spread = inverse(&(&information + DMatrix::identity(all, all)));
        let own = self.between_touches();
        let sd = |at: usize| {
            let other = own.as_ref().map_or(0.0, |own| own[(at, at)]);
            spread[(at, at)].max(other).max(0.0).sqrt()
        };
        let shift = self.finer_mesh.then(|| self.shift()).transpose()?;
        let scene = body.scene_with(&fitted.parameter_changes()[..count])?;
        let estimate = |(at, part): (usize, &SceneParameter)| {
            let unit = fitted.priors[at] * body.unit(*part);
            let mesh = shift.as_ref().map(|shift| shift[at]);
            let deviation = libm::hypot(sd(at), mesh.unwrap_or(0.0));
            ParameterEstimate {
                name: body.name(*part),
                parameter: *part,
                before: self
                    .is_given(*part)
                    .then_some(BlockModel::value(body.scene, *part)),
                after: BlockModel::value(&scene, *part),
                sd: unit * deviation,
                prior_sd: unit,
                information: (1.0 - deviation * deviation).clamp(0.0, 1.0),
                mesh_shift: mesh.map(|mesh| unit * mesh),
            }
        };
        let noise = &self.touch.noise;
        let instrument = |at: usize, unit: f64| {
            let at = count + at;
            [fitted.point.unknowns[at], sd(at)].map(|x| unit * x)
        };
        let names: Vec<String> = parts.iter().map(|part| body.name(*part)).collect();
        let bins = self.bins();
        let [gain, gain_sd] = instrument(0, noise.gain);
        Ok(Identification {
            estimates: parts.iter().enumerate().map(estimate).collect(),
            correlation: correlation(&spread, count),
            directions: directions(&information, &names),
            gain: [1.0 + gain, gain_sd],
            height_m: instrument(1, noise.height_m),
            lag_s: instrument(2, noise.lag_s),
            mass_kg: instrument(3, noise.mass_kg),
            drag_nspm: instrument(4, noise.drag_nspm),
            misfit_n: misfit_n(&bins),
            bins,
            excess: excess * fitted.scale,
            excluded_share: excluded_share(fitted),
            runs: fitted.runs + u32::from(self.finer_mesh),
            converged: fitted.converged,
            prior_log: PRIOR_LOG_SD,
            scene,
            searches,
        })
    }

    /// True if a parameter belongs to the initial scene.
    fn is_given(&self, part: SceneParameter) -> bool {
        part.inclusion()
            .is_none_or(|ball| ball < self.scene_inclusions)
    }

    fn bins(&self) -> Vec<ForceBin> {
        let fitted = self.fitted;
        let bin = |(index, mean): (usize, &BinMean)| ForceBin {
            time_s: mean.time_s,
            height_m: mean.height_m,
            measured_n: mean.force_n,
            before_n: self.initial_force_n[index],
            after_n: fitted.point.instrument_force_n[index],
            sd_n: fitted.jacobian.misfit_sd_n[index] / fitted.scale,
        };
        self.touch.bins().enumerate().map(bin).collect()
    }

    /// Covariance of the unknowns from the disagreement of touches (Liang and Zeger 1986): more samples per
    /// touch do not improve a model that is wrong differently in every touch.
    fn between_touches(&self) -> Option<DMatrix<f64>> {
        let (fitted, visits) = (self.fitted, &self.touch.touches);
        let all = fitted.jacobian.columns.len();
        if visits.len() < TOUCHES_MIN {
            return None;
        }
        let mut sum = DMatrix::zeros(all, all);
        let misfits = fitted.weighted_misfits();
        let mut from = 0;
        for visit in visits {
            let bins = from..from + visit.bins.len();
            from = bins.end;
            let score = DVector::from_fn(all, |unknown, _| {
                dot(
                    &fitted.jacobian.columns[unknown][bins.clone()],
                    &misfits[bins.clone()],
                )
            });
            sum += &score * score.transpose();
        }
        let few = visits.len() as f64 / (visits.len() - 1) as f64;
        let inverse_normal =
            inverse(&(normal_matrix(&fitted.jacobian.columns) + DMatrix::identity(all, all)));
        Some(&inverse_normal * sum * &inverse_normal * few)
    }

    /// Change of the unknowns that compensates a finer mesh, to first order.
    fn shift(&self) -> Result<DVector<f64>, TouchError> {
        let fitted = self.fitted;
        let scene = self.body.finer();
        let body = self.body.for_scene(&scene, &fitted.parameter_changes())?;
        let fit = Solver::new(&body, self.touch, 1.0);
        let finer = fit.forces(&fitted.point.unknowns, None)?;
        let pairs = fitted
            .point
            .tissue_forces
            .iter()
            .zip(finer)
            .zip(&fitted.jacobian.misfit_sd_n);
        let change: Vec<f64> = pairs
            .map(|((here, finer), sd_n): ((&ModelForce, ModelForce), &f64)| {
                (here.force_n - finer.force_n) / sd_n
            })
            .collect();
        let change = weighted(&change, &fitted.jacobian.weights);
        let columns = &fitted.jacobian.columns;
        let all = columns.len();
        let pull = DVector::from_fn(all, |i, _| dot(&columns[i], &change));
        Ok(inverse(&(normal_matrix(columns) + DMatrix::identity(all, all))) * pull)
    }
}

/// Root mean square of the misfit in the initial and in the fitted scene \[N\].
fn misfit_n(bins: &[ForceBin]) -> [f64; 2] {
    [|bin: &ForceBin| bin.before_n, |bin: &ForceBin| bin.after_n].map(|modelled_n| {
        let squares = bins
            .iter()
            .map(|bin| (bin.measured_n - modelled_n(bin)).powi(2));
        (squares.sum::<f64>() / bins.len() as f64).sqrt()
    })
}

/// Normal matrix of the columns.
fn normal_matrix(columns: &[Vec<f64>]) -> DMatrix<f64> {
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

/// Factor by which noise must grow further to explain the weighted misfit.
pub(super) fn excess(fitted: &Solution) -> f64 {
    let misfits = in_contact(fitted, &fitted.weighted_misfits());
    let weight: f64 = in_contact(fitted, &fitted.jacobian.weights).iter().sum();
    let freedom = (weight - fitted.jacobian.columns.len() as f64).max(1.0);
    let square = dot(&misfits, &misfits) / freedom;
    (square * autocorrelation_time(&misfits)).sqrt()
}

/// Values of the bins in contact.
fn in_contact(fitted: &Solution, values: &[f64]) -> Vec<f64> {
    let force_n = &fitted.point.instrument_force_n;
    let strongest = force_n.iter().fold(0.0_f64, |most, value| most.max(*value));
    let pairs = force_n.iter().zip(values);
    let touched = pairs.filter(|(force_n, _)| **force_n > strongest * CONTACT_SHARE_MIN);
    touched.map(|(_, value)| *value).collect()
}

/// Fraction of the bins in contact that has no weight.
fn excluded_share(fitted: &Solution) -> f64 {
    let trust = in_contact(fitted, &fitted.jacobian.weights);
    1.0 - trust.iter().sum::<f64>() / trust.len().max(1) as f64
}

/// Number of successive values per independent one (integrated autocorrelation); at least 1.
pub(super) fn autocorrelation_time(values: &[f64]) -> f64 {
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

/// Inverse of a positive definite matrix; of its diagonal if rounding made it indefinite.
fn inverse(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    match matrix.clone().cholesky() {
        Some(factors) => factors.inverse(),
        None => DMatrix::from_diagonal(&matrix.diagonal().map(|value| 1.0 / value)),
    }
}

/// Directions in the parameters and their information, with the errors of the instrument marginalised.
fn directions(information: &DMatrix<f64>, names: &[String]) -> Vec<ParameterDirection> {
    let count = names.len();
    let size = (NUISANCES, NUISANCES);
    let nuisance = information.view((count, count), size) + DMatrix::identity(NUISANCES, NUISANCES);
    let across = information.view((0, count), (count, NUISANCES));
    let own =
        information.view((0, 0), (count, count)) - across * inverse(&nuisance) * across.transpose();
    let eigen = own.symmetric_eigen();
    let pairs = eigen.eigenvectors.column_iter().zip(&eigen.eigenvalues);
    let mut found: Vec<ParameterDirection> = pairs
        .map(|(direction, &value)| {
            let value = value.max(0.0);
            let direction = upward(&direction.into_owned());
            ParameterDirection {
                singular: value.sqrt(),
                prior_share: 1.0 / (1.0 + value).sqrt(),
                is_informed: value > 1.0,
                description: description(&direction, names),
                weights: direction,
            }
        })
        .collect();
    found.sort_by(|a, b| b.singular.total_cmp(&a.singular));
    found
}

/// The direction with its largest part positive, as its sign has no meaning.
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

fn description(direction: &[f64], names: &[String]) -> String {
    let largest = direction
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut parts: Vec<(f64, &str)> = direction
        .iter()
        .copied()
        .zip(names.iter().map(String::as_str))
        .collect();
    parts.retain(|(value, _)| value.abs() >= NAMED_SHARE_MIN * largest);
    parts.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    if let [(_, name)] = parts[..] {
        return format!("{name} alone");
    }
    let part = |(value, name): &(f64, &str)| {
        format!("{name} {}", if *value > 0.0 { "up" } else { "down" })
    };
    parts.iter().map(part).collect::<Vec<_>>().join(" with ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_parameters_are_named() {
        // only the sum of skin and fat is measured, and the instrument's errors not at all
        let all = 3 + NUISANCES;
        let mut information = DMatrix::zeros(all, all);
        information.view_mut((0, 0), (2, 2)).fill(50.0);
        information[(2, 2)] = 4.0;
        let found = directions(
            &information,
            &["skin", "fat", "lump contrast"].map(str::to_owned),
        );
        assert_eq!(found[0].description, "skin up with fat up");
        assert_eq!(found[1].description, "lump contrast alone");
        assert!((found[1].singular - 2.0).abs() < 1e-12 && found[1].is_informed);
        let blind = &found[2];
        assert!(blind.description.contains("up with") && blind.description.ends_with("down"));
        assert!(!blind.is_informed && (blind.prior_share - 1.0).abs() < 1e-9);
    }

    #[test]
    fn correlated_misfits_count_once() {
        let blocks: Vec<f64> = (0..400).map(|k| f64::from(1 - 2 * (k / 20 % 2))).collect();
        // correlation falls on a line, to 0 at half of a block
        let time = autocorrelation_time(&blocks);
        assert!((9.0..11.0).contains(&time), "{time}");
        let turns: Vec<f64> = (0..400).map(|k| f64::from(1 - 2 * (k % 2))).collect();
        assert_eq!(autocorrelation_time(&turns), 1.0);
        assert_eq!(autocorrelation_time(&[]), 1.0);
    }
}
