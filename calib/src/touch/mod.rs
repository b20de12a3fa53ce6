//! Stiffness of layers and lumps from a record of touch.
//!
//! Source: ours; Gauss-Newton with the damping of Levenberg (1944) on the logarithms of the moduli,
//! normal prior in the logarithm (Tarantola 2005, section 3.2). `record` prepares the measurement.
//! `block_model` predicts it with a block of [`palpate_scene::Block`] that is touched in the same way.
//! `solve` fits, `lump_search` looks for lumps that the scene lacks, `uncertainty` computes the errors and
//! the undetermined directions. [`palpate_scene::MorphSteps`] brings the result into a twin that is rendered.
//! A variable `touch` is the whole record; a variable `visit` is one touch of it, or its index.
//!
//! Only the force along z counts: sideways forces contain friction, which is unknown. Errors of the
//! instrument are fitted beside the moduli, each with its own prior: a common factor on the
//! force, a common error of height, a lag of the force, mass and drag between sensor and tissue.
//!
//! Of a lump that was searched for, position, depth, radius and contrast are fitted. Presses from above
//! determine its position if they surround it or slide over it. Depth, radius and contrast trade against
//! each other, and [`Identification::directions`] shows how much of each comes from the prior.

mod block_model;
mod lump_search;
mod record;
mod solve;
#[cfg(test)]
mod tests;
mod uncertainty;

use palpate_scene::{NearbyMaps, Scene, SceneError};
use palpate_twin::Vec3;

use crate::fit::FitError;
use block_model::BlockModel;
pub use lump_search::LumpSearch;
use lump_search::Survey;
pub use record::{ForceBin, InstrumentNoise};
use solve::{BinTrust, Solution, Solver};
pub use uncertainty::ParameterDirection;

/// One reading of a record of touch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TouchSample {
    /// Time \[s\].
    pub time_s: f64,
    /// Centre of the tool's sphere \[m\], in the frame of the scene.
    pub position_m: Vec3,
    /// Force on the tool \[N\].
    pub force_n: Vec3,
}

/// Instruments and effort of an identification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TouchSettings {
    /// Errors of the instruments.
    pub noise: InstrumentNoise,
    /// Most steps of the fit, at least 1.
    pub steps_max: u32,
    /// Estimates the dependence of the result on the mesh with a finer mesh; costs as much as three
    /// runs.
    pub finer_mesh: bool,
    /// Total length of the touches that a fit of the layers uses, and of those that it uses for a lump \[s\]:
    /// more touches add little, and every run of the model simulates them all. The deepest are taken
    /// first.
    pub touch_s: f64,
}

impl Default for TouchSettings {
    fn default() -> Self {
        Self {
            noise: InstrumentNoise::default(),
            steps_max: 12,
            finer_mesh: true,
            touch_s: 2.5,
        }
    }
}

/// Parameter of the scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SceneParameter {
    /// Young's modulus of the layer of this index.
    Layer(usize),
    /// Contrast of the inclusion of this index: its modulus over that of the layer around it.
    Contrast(usize),
    /// Depth of its centre \[m\].
    Depth(usize),
    /// Its radius \[m\].
    Radius(usize),
    /// Its position \[m\], along x (0) or y (1).
    Place(usize, usize),
}

impl SceneParameter {
    /// Index of its inclusion, if it has one.
    #[must_use]
    pub(crate) fn inclusion(self) -> Option<usize> {
        match self {
            Self::Layer(_) => None,
            Self::Contrast(ball)
            | Self::Depth(ball)
            | Self::Radius(ball)
            | Self::Place(ball, _) => Some(ball),
        }
    }

    /// True if its deviation is a length and not one of a logarithm.
    #[must_use]
    pub fn is_place(self) -> bool {
        matches!(self, Self::Place(..))
    }
}

/// Value of one parameter before and after the fit.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterEstimate {
    /// Name of the layer, or of the inclusion and its quantity.
    pub name: String,
    /// Parameter of the scene.
    pub parameter: SceneParameter,
    /// Value in the scene: \[Pa\] for a layer, without unit for a contrast, otherwise \[m\]; none for a lump
    /// that the scene lacks.
    pub before: Option<f64>,
    /// Fitted value, in the same unit.
    pub after: f64,
    /// Standard deviation of its natural logarithm, or of a position \[m\]; includes that of the mesh, if
    /// requested.
    pub sd: f64,
    /// The same of the prior.
    pub prior_sd: f64,
    /// Fraction of the prior's variance that was removed, 0 to 1.
    pub information: f64,
    /// Change on a mesh of cells three quarters as long, to first order, as a natural logarithm or \[m\]:
    /// the fitted stiffness is that of this mesh. None if it was not
    /// requested.
    pub mesh_shift: Option<f64>,
}

/// Result of an identification.
#[derive(Debug, Clone, PartialEq)]
pub struct Identification {
    /// Scene with the fitted values.
    pub scene: Scene,
    /// Layers from the top down, then contrasts, then shapes and positions of lumps that were found.
    pub estimates: Vec<ParameterEstimate>,
    /// Correlation of the estimates' errors, row by row.
    pub correlation: Vec<Vec<f64>>,
    /// Directions in the parameters, best determined first.
    pub directions: Vec<ParameterDirection>,
    /// Fitted factor on the measured force, and its standard deviation.
    pub gain: [f64; 2],
    /// Height by which the record lies above the scene, and its standard deviation \[m\].
    pub height_m: [f64; 2],
    /// Time by which the force lags, and its standard deviation \[s\].
    pub lag_s: [f64; 2],
    /// Mass between sensor and tissue, and its standard deviation \[kg\].
    pub mass_kg: [f64; 2],
    /// Drag that the model lacks, and its standard deviation \[N s/m\].
    pub drag_nspm: [f64; 2],
    /// Searches for lumps.
    pub searches: Vec<LumpSearch>,
    /// Bins of the comparison: measured, modelled before and after.
    pub bins: Vec<ForceBin>,
    /// Root mean square of the force's misfit before and after \[N\].
    pub misfit_n: [f64; 2],
    /// Ratio of the misfit after the fit to the misfit that noise explains, at least 1; uncertainties grow by it.
    pub excess: f64,
    /// Fraction of the record that the fit could not follow, although it followed the rest of the same touches, 0 to 1.
    /// The excess does not include it.
    pub excluded_share: f64,
    /// Number of runs of the model.
    pub runs: u32,
    /// True if the fit converged.
    pub converged: bool,
    /// Standard deviation of the prior, in the natural logarithm.
    pub prior_log: f64,
}

/// Reason why an identification is impossible.
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
    /// A sample is invalid.
    #[error("sample {sample}: {field} is {value}; expected {expected}")]
    Sample {
        /// Its index.
        sample: usize,
        /// The field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// Values that would be valid.
        expected: &'static str,
    },
    /// The record is longer than the longest that is simulated.
    #[error("the record lasts {found_s} s; expected at most {most_s} s")]
    Long {
        /// Its length \[s\].
        found_s: f64,
        /// The longest \[s\].
        most_s: f64,
    },
    /// The tool never touches the tissue.
    #[error("no contact: the force stays below {least_n} N or the tool above the tissue")]
    NoContact {
        /// Least force that counts \[N\].
        least_n: f64,
    },
    /// The scene has no layers.
    #[error("scene `{scene}` has no layers; expected one with the table [block]")]
    NotABlock {
        /// Its name.
        scene: String,
    },
    /// A trial block cannot be built.
    #[error(transparent)]
    Block(#[from] SceneError),
    /// A step of the fit is impossible.
    #[error(transparent)]
    Fit(#[from] FitError),
}

/// Standard deviation of the prior of every modulus and contrast, in its natural logarithm, around the scene's value:
/// published stiffness of one tissue varies by 2 and more between people and methods.
const PRIOR_LOG_SD: f64 = core::f64::consts::LN_2;
/// Most lumps to search for that the scene lacks.
const LUMPS_MAX: usize = 2;
/// Excess of the misfit above which the noise is taken as larger and the fit repeated, and below the
/// inverse of which it is taken as smaller: a prior must hold against a wrong model.
const EXCESS: f64 = 1.5;
/// Most fits of one set of touches.
const FITS_MAX: u32 = 3;
/// Most steps of a fit that initialises or continues another.
const REFINING_STEPS_MAX: u32 = 4;
/// Steps of the fit without a lump with which one with a lump is compared.
const STEPS_WITHOUT_LUMP: u32 = 3;

/// Identifies the moduli of the scene's layers, the contrasts of its inclusions, and lumps that the scene lacks,
/// from a record of touch.
///
/// The record is of one tool, that of the scene, at about 1 kHz, and starts with the tool off the
/// tissue; the tissue is at rest then. Runs the tissue once along the whole record and some twenty
/// times along the touches that are used.
///
/// # Errors
/// [`TouchError`]; none for a record without information on a parameter: it keeps the scene's
/// value, and [`Identification::directions`] shows it.
pub fn identify(
    scene: &Scene,
    samples: &[TouchSample],
    settings: &TouchSettings,
) -> Result<Identification, TouchError> {
    let body = BlockModel::of_scene(scene, scene.nearby_maps()?)?;
    let touch = record::TouchRecord::new(samples, scene, &settings.noise)?;
    let survey = Survey::new(&body, &touch)?;
    let scene_inclusions = body.inclusions();
    let mut used = survey.touches_without_lump(&touch, settings.touch_s);
    let mut part = touch.select(&used);
    let (mut maps, mut fitted) = fit_with_noise_scale(body, &part, settings.steps_max, &[])?;
    fitted.runs += 1;
    let mut found = scene.clone();
    let (mut searches, mut places_m) = (Vec::new(), Vec::new());
    let radius_m = scene.tool_radius_m;
    while searches.len() < LUMPS_MAX {
        let Some((mut search, near)) = survey.seed(&touch, &places_m, radius_m, settings.touch_s)
        else {
            break;
        };
        let both = union(&used, &near);
        let whole = touch.select(&both);
        let mut body = BlockModel::of_scene(&found, maps)?.with_searched(scene_inclusions);
        let seeded = body.with_lump(search.place_m);
        let with =
            BlockModel::of_scene(&seeded, body.maps.clone())?.with_searched(scene_inclusions);
        let from = mapped_unknowns(
            &fitted.point.unknowns,
            &body.parameters(),
            &with.parameters(),
        );
        let better;
        (maps, better) = fit_with_noise_scale(with.clone(), &whole, settings.steps_max, &from)?;
        // with the same maps: better maps are no evidence of a lump
        body.maps = maps.clone();
        let few = settings.steps_max.min(STEPS_WITHOUT_LUMP);
        let without =
            Solver::new(&body, &whole, fitted.scale).solve(&fitted.point.unknowns, few)?;
        search.evidence = lump_search::evidence(&without, &better);
        search.accepted = search.evidence > 0.0 && with.stiffens(&better);
        let runs = fitted.runs + without.runs + better.runs;
        fitted = if search.accepted { better } else { without };
        fitted.runs = runs;
        (used, part) = (both, whole);
        searches.push(search);
        if !search.accepted {
            break;
        }
        places_m.push(search.place_m);
        found = seeded;
    }
    uncertainty::Assessment {
        body: &BlockModel::of_scene(&found, maps)?.with_searched(scene_inclusions),
        touch: &part,
        finer_mesh: settings.finer_mesh,
        fitted: &fitted,
        initial_force_n: survey.initial_force_n(&used),
        scene_inclusions,
    }
    .identification(searches)
}

/// Fits with a noise as large as its misfit. The fit begins with the shallow part of the touches, or at `from` if
/// that is given: in the deep part, where soft layers buckle, are local minima. A fit that does not match the
/// record continues with lower weights for outliers. If the moduli have moved away from the maps, the maps are moved
/// to them and the fit continues. Returns the maps of the result as well.
fn fit_with_noise_scale(
    mut body: BlockModel<'_>,
    touch: &record::TouchRecord,
    steps_max: u32,
    from: &[f64],
) -> Result<(NearbyMaps, Solution), TouchError> {
    let few = steps_max.min(REFINING_STEPS_MAX);
    let mut begin = from.to_vec();
    let mut runs = 0;
    if from.is_empty() {
        let shallow = Solver::new(&body, touch, 1.0).with_trust(BinTrust::Shallow);
        let shallow = shallow.solve(from, few)?;
        (begin, runs) = (shallow.point.unknowns, shallow.runs);
    }
    let mut fitted = Solver::new(&body, touch, 1.0).solve(&begin, steps_max)?;
    fitted.runs += runs;
    for _ in 1..FITS_MAX {
        let excess = uncertainty::excess(&fitted);
        let fits = excess <= EXCESS && (excess >= 1.0 / EXCESS || fitted.scale <= 1.0);
        let moved = body.move_maps(&fitted.parameter_changes())?;
        if fits && !moved {
            break;
        }
        let scale = if fits {
            fitted.scale
        } else {
            (excess * fitted.scale).max(1.0)
        };
        let again = Solver::new(&body, touch, scale).with_trust(BinTrust::Consistent);
        // other maps are another model
        let steps_max = if moved { steps_max } else { few };
        let again = again.solve(&fitted.point.unknowns, steps_max)?;
        let runs = fitted.runs + again.runs;
        fitted = Solution { runs, ..again };
    }
    Ok((body.maps, fitted))
}

/// Unknowns of one set of parameters in the order of another, 0 for those that it lacks.
fn mapped_unknowns(unknowns: &[f64], of: &[SceneParameter], into: &[SceneParameter]) -> Vec<f64> {
    let value = |part: &SceneParameter| {
        let mut pairs = of.iter().zip(unknowns);
        let found = pairs.find(|(own, _)| *own == part);
        found.map_or(0.0, |(_, x)| *x)
    };
    let parts = into.iter().map(value);
    parts.chain(unknowns[of.len()..].iter().copied()).collect()
}

/// Union of two lists of touches, in order of time.
fn union(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}
