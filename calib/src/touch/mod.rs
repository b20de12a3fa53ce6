//! Stiffness of layers and lumps from a record of touch.
//!
//! Source: ours; Gauss-Newton with the damping of Levenberg (1944) on the logarithms of the moduli,
//! normal prior in the logarithm (Tarantola 2005, section 3.2). `record` prepares what was measured,
//! `model` predicts it with a block of [`palpate_twin::scene::Block`] that is touched in the same way,
//! `solve` fits, `doubt` says how sure the result is and what the record cannot tell.
//!
//! Only the force along z counts: sideways forces carry friction, which is not known. A common
//! factor on the force and a common error of height are fitted beside the moduli, each held by its
//! own prior, so that what a wrong scale or zero of the instrument does is in the uncertainty.

mod doubt;
mod model;
mod record;
mod solve;
#[cfg(test)]
mod tests;

use palpate_twin::Vec3;
use palpate_twin::scene::{BlockError, Scene};

use crate::fit::FitError;
pub use doubt::Direction;
pub use record::{Bin, Noise};

/// One reading of a record of touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When \[s\].
    pub time_s: f64,
    /// Centre of the tool's sphere \[m\], in the frame of the scene.
    pub position_m: Vec3,
    /// Force on the tool \[N\].
    pub force_n: Vec3,
}

/// What one may choose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// What the instruments are good for.
    pub noise: Noise,
    /// Standard deviation of the prior of every modulus and contrast, in its natural logarithm,
    /// around the scene's value.
    pub prior_log: f64,
    /// Most steps of the fit, 1 to 50.
    pub steps_max: u32,
    /// Whether to ask a finer mesh how far the result depends on the mesh; costs as much as three
    /// runs.
    pub finer_mesh: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            noise: Noise::default(),
            // published stiffness of one tissue varies by 2 and more between people and methods
            prior_log: core::f64::consts::LN_2,
            steps_max: 12,
            finer_mesh: true,
        }
    }
}

/// What a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Young's modulus of the layer of this index.
    Layer(usize),
    /// Contrast of the inclusion of this index: its modulus over that of the layer around it.
    Contrast(usize),
}

/// One parameter before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Name of the layer, or of the inclusion with `contrast`.
    pub name: String,
    /// What it is.
    pub part: Part,
    /// Value in the scene: \[Pa\], or without unit for a contrast.
    pub before: f64,
    /// Value that was found, in the same unit.
    pub after: f64,
    /// Standard deviation of its natural logarithm.
    pub log_sd: f64,
    /// Share of the prior's variance that the record took away, 0 to 1.
    pub told: f64,
    /// By how much its natural logarithm would change on a mesh of cells three quarters as long, to
    /// first order: what is found is the stiffness of this mesh. None if that was not asked for.
    pub mesh_log: Option<f64>,
}

/// What a record told.
#[derive(Debug, Clone, PartialEq)]
pub struct Identified {
    /// The scene with the values that were found.
    pub scene: Scene,
    /// Layers from the top down, then inclusions.
    pub estimates: Vec<Estimate>,
    /// Correlation of the estimates' errors, row by row.
    pub correlation: Vec<Vec<f64>>,
    /// Directions in the logarithms of the parameters, best told first.
    pub directions: Vec<Direction>,
    /// Factor on the measured force that was found, and its standard deviation.
    pub gain: [f64; 2],
    /// Height by which the record lies above the scene, and its standard deviation \[m\].
    pub height_m: [f64; 2],
    /// What was compared: measured, modelled before and after.
    pub bins: Vec<Bin>,
    /// Root mean square of the force's misfit before and after \[N\].
    pub misfit_n: [f64; 2],
    /// Misfit after the fit over what noise explains, at least 1; uncertainties grow by it.
    pub excess: f64,
    /// Number of times that the model was run.
    pub runs: u32,
    /// Whether the fit came to rest.
    pub settled: bool,
    /// Standard deviation of the prior, in the natural logarithm.
    pub prior_log: f64,
}

/// Why nothing was found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TouchError {
    /// The record is too short.
    #[error("{found} samples; expected at least {expected}")]
    Few {
        /// Samples found.
        found: usize,
        /// Samples needed.
        expected: usize,
    },
    /// A sample is unusable.
    #[error("sample {sample}: {field} is {value}; expected {expected}")]
    Sample {
        /// Its index.
        sample: usize,
        /// The field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// The record is longer than is simulated.
    #[error("the record lasts {found_s} s; expected at most {most_s} s")]
    Long {
        /// Its length \[s\].
        found_s: f64,
        /// The longest \[s\].
        most_s: f64,
    },
    /// The tool never touches.
    #[error("no contact: the force stays below {least_n} N or the tool above the tissue")]
    NoContact {
        /// Least force that counts \[N\].
        least_n: f64,
    },
    /// The scene has no layers.
    #[error("scene `{scene}` is made of springs; expected one with the table [block]")]
    NotABlock {
        /// Its name.
        scene: String,
    },
    /// A choice is out of its range.
    #[error("`{field}` is {value}; expected {expected}")]
    Setting {
        /// The field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A trial block cannot be built.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// A step of the fit is impossible.
    #[error(transparent)]
    Fit(#[from] FitError),
}

impl Settings {
    fn check(&self) -> Result<(), TouchError> {
        let noise = &self.noise;
        let rules = [
            ("noise.force_share", noise.force_share, 0.0..=1.0),
            ("noise.force_n", noise.force_n, 1e-9..=1e6),
            ("noise.pose_m", noise.pose_m, 0.0..=1.0),
            ("noise.gain", noise.gain, 1e-6..=1.0),
            ("noise.height_m", noise.height_m, 1e-9..=1.0),
            ("prior_log", self.prior_log, 1e-3..=5.0),
            ("steps_max", f64::from(self.steps_max), 1.0..=50.0),
        ];
        let wrong = rules
            .into_iter()
            .find(|(_, value, range)| !range.contains(value));
        match wrong {
            Some((field, value, _)) => Err(TouchError::Setting {
                field,
                value,
                expected: "a finite number within the range that its documentation gives",
            }),
            None => Ok(()),
        }
    }
}

/// Excess of the misfit above which the noise is taken as larger and the fit done again: a prior
/// must hold against a model that is wrong.
const EXCESS: f64 = 1.5;
/// Most fits.
const ROUNDS: u32 = 3;

/// Moduli of the scene's layers and contrasts of its inclusions, from a record of touch.
///
/// The record is of one tool, that of the scene, at about 1 kHz, and starts with the tool off the
/// tissue; the tissue is at rest then. Runs the tissue some ten times as long as the record.
///
/// # Errors
/// [`TouchError`]; none for a record that tells nothing about a parameter: it keeps the scene's
/// value, and [`Identified::directions`] says so.
pub fn identify(
    scene: &Scene,
    samples: &[Sample],
    settings: &Settings,
) -> Result<Identified, TouchError> {
    settings.check()?;
    let body = model::Body::of(scene)?;
    let touch = record::Touch::new(samples, scene, &settings.noise)?;
    let mut fitted = solve::fit(&body, &touch, settings, 1.0)?;
    for _ in 1..ROUNDS {
        let excess = doubt::excess(&fitted);
        if excess <= EXCESS {
            break;
        }
        let again = solve::fit(&body, &touch, settings, excess * fitted.scale)?;
        let runs = fitted.runs + again.runs;
        fitted = solve::Fitted { runs, ..again };
    }
    doubt::judge(&body, &touch, settings, &fitted)
}
