//! Stiffness of layers and lumps from a record of touch.
//!
//! Source: ours; Gauss-Newton with the damping of Levenberg (1944) on the logarithms of the moduli,
//! normal prior in the logarithm (Tarantola 2005, section 3.2). `record` prepares what was measured,
//! `model` predicts it with a block of [`palpate_scene::Block`] that is touched in the same way,
//! `solve` fits, `search` looks for lumps that the scene lacks, `doubt` says how sure the result is and
//! what the record cannot tell. [`palpate_scene::Steps`] brings what was found
//! into a twin that a hand feels.
//!
//! Only the force along z counts: sideways forces carry friction, which is not known. What the
//! instrument does is fitted beside the moduli, each part held by its own prior: a common factor on the
//! force, a common error of height, a lag of the force, mass and drag between sensor and tissue.
//!
//! Of a lump that was searched for, place, depth, radius and contrast are fitted. Presses from above
//! tell its place where they surround it or slide over it; depth, radius and contrast trade against
//! each other, and [`Identified::directions`] says how much of each is the prior's.

mod doubt;
mod model;
mod record;
mod search;
mod solve;
#[cfg(test)]
mod tests;

use palpate_scene::{BlockError, Scene};
use palpate_twin::Vec3;

use crate::fit::FitError;
pub use doubt::Direction;
use model::Body;
pub use record::{Bin, Noise};
pub use search::Search;
use search::Survey;
use solve::{Fit, Fitted, Trust};

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
    /// Most lumps to look for that the scene lacks, 0 to 3.
    pub lumps_max: u32,
    /// Length of the touches that a fit of the layers uses, and of those that it uses for a lump \[s\],
    /// 0.1 to 60: more of the same tells little, and every run of the model takes them all. The
    /// deepest are taken first.
    pub touch_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            noise: Noise::default(),
            // published stiffness of one tissue varies by 2 and more between people and methods
            prior_log: core::f64::consts::LN_2,
            steps_max: 12,
            finer_mesh: true,
            lumps_max: 2,
            touch_s: 2.5,
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
    /// Depth of its centre \[m\].
    Depth(usize),
    /// Its radius \[m\].
    Radius(usize),
    /// Its place \[m\], along x (0) or y (1).
    Place(usize, usize),
}

impl Part {
    /// The inclusion that it is of.
    #[must_use]
    pub fn inclusion(self) -> Option<usize> {
        match self {
            Self::Layer(_) => None,
            Self::Contrast(ball)
            | Self::Depth(ball)
            | Self::Radius(ball)
            | Self::Place(ball, _) => Some(ball),
        }
    }

    /// Whether doubt about it is a length and not a logarithm.
    #[must_use]
    pub fn is_place(self) -> bool {
        matches!(self, Self::Place(..))
    }
}

/// One parameter before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Name of the layer, or of the inclusion with what of it.
    pub name: String,
    /// What it is.
    pub part: Part,
    /// Value in the scene: \[Pa\] for a layer, without unit for a contrast, else \[m\]; none of a lump
    /// that the scene lacks.
    pub before: Option<f64>,
    /// Value that was found, in the same unit.
    pub after: f64,
    /// Standard deviation of its natural logarithm, or of a place \[m\]; with that of the mesh, if
    /// that was asked for.
    pub sd: f64,
    /// The same of the prior.
    pub prior_sd: f64,
    /// Share of the prior's variance that is gone, 0 to 1.
    pub told: f64,
    /// By how much it would change on a mesh of cells three quarters as long, to first order, as a
    /// natural logarithm or \[m\]: what is found is the stiffness of this mesh. None if that was not
    /// asked for.
    pub mesh: Option<f64>,
}

/// What a record told.
#[derive(Debug, Clone, PartialEq)]
pub struct Identified {
    /// The scene with the values that were found.
    pub scene: Scene,
    /// Layers from the top down, then contrasts, then shapes and places of lumps that were found.
    pub estimates: Vec<Estimate>,
    /// Correlation of the estimates' errors, row by row.
    pub correlation: Vec<Vec<f64>>,
    /// Directions in the parameters, best told first.
    pub directions: Vec<Direction>,
    /// Factor on the measured force that was found, and its standard deviation.
    pub gain: [f64; 2],
    /// Height by which the record lies above the scene, and its standard deviation \[m\].
    pub height_m: [f64; 2],
    /// Time by which the force lags, and its standard deviation \[s\].
    pub lag_s: [f64; 2],
    /// Mass between sensor and tissue, and its standard deviation \[kg\].
    pub mass_kg: [f64; 2],
    /// Drag that the model lacks, and its standard deviation \[N s/m\].
    pub drag_nspm: [f64; 2],
    /// Lumps that were looked for.
    pub searches: Vec<Search>,
    /// What was compared: measured, modelled before and after.
    pub bins: Vec<Bin>,
    /// Root mean square of the force's misfit before and after \[N\].
    pub misfit_n: [f64; 2],
    /// Misfit after the fit over what noise explains, at least 1; uncertainties grow by it.
    pub excess: f64,
    /// Share of the record that no fit could follow though it followed the rest of the same touches,
    /// 0 to 1; it does not count in the excess.
    pub left_out: f64,
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
    #[error("scene `{scene}` has no layers; expected one with the table [block]")]
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
            ("noise.lag_s", noise.lag_s, 1e-9..=1.0),
            ("noise.mass_kg", noise.mass_kg, 1e-9..=10.0),
            ("noise.drag_nspm", noise.drag_nspm, 1e-9..=1e3),
            ("lumps_max", f64::from(self.lumps_max), 0.0..=3.0),
            ("touch_s", self.touch_s, 0.1..=60.0),
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

/// Excess of the misfit above which the noise is taken as larger and the fit done again, and below the
/// inverse of which it is taken as smaller: a prior must hold against a model that is wrong.
const EXCESS: f64 = 1.5;
/// Most fits of one set of touches.
const ROUNDS: u32 = 3;
/// Most steps of a fit that only begins another or goes on from it.
const STEPS_FEW: u32 = 4;
/// Steps of the fit without a lump that one with a lump is compared with.
const STEPS_WITHOUT: u32 = 3;

/// Moduli of the scene's layers and contrasts of its inclusions, from a record of touch, and lumps
/// that the scene lacks.
///
/// The record is of one tool, that of the scene, at about 1 kHz, and starts with the tool off the
/// tissue; the tissue is at rest then. Runs the tissue once along the whole record and some twenty
/// times along the touches that are used.
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
    let body = Body::of(scene)?;
    let touch = record::Touch::new(samples, scene, &settings.noise)?;
    let survey = Survey::of(&body, &touch, settings)?;
    let known = body.inclusions();
    let mut used = survey.plain(&touch, settings.touch_s);
    let mut part = touch.select(&used);
    let mut fitted = settle(&body, &part, settings, &[])?;
    fitted.runs += 1;
    let mut found = scene.clone();
    let (mut searches, mut places_m) = (Vec::new(), Vec::new());
    let radius_m = scene.tool_radius_m;
    while (searches.len() as u32) < settings.lumps_max {
        let Some((mut search, near)) = survey.seed(&touch, &places_m, radius_m, settings.touch_s)
        else {
            break;
        };
        let both = together(&used, &near);
        let whole = touch.select(&both);
        let body = Body::of(&found)?.searching(known);
        let without = refit(&body, &whole, settings, &fitted)?;
        let seeded = body.seeded(search.place_m);
        let with = Body::of(&seeded)?.searching(known);
        let from = widened(&fitted.end.unknowns, &body.parts(), &with.parts());
        let better = settle(&with, &whole, settings, &from)?;
        search.evidence = search::evidence(&without, &better);
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
    doubt::Case {
        body: &Body::of(&found)?.searching(known),
        touch: &part,
        settings,
        fitted: &fitted,
        before_n: survey.before_n(&used),
        known,
    }
    .judge(searches)
}

/// A fit whose noise is as large as its misfit says. It begins with the shallow part of the touches:
/// in the deep one, where soft layers give way, are valleys that lead astray; `from`, if it is given, is
/// such a beginning. One that does not meet the
/// record goes on with less trust in what is far off the rest.
fn settle(
    body: &Body<'_>,
    touch: &record::Touch,
    settings: &Settings,
    from: &[f64],
) -> Result<Fitted, TouchError> {
    let few = Settings {
        steps_max: settings.steps_max.min(STEPS_FEW),
        ..*settings
    };
    let mut begin = from.to_vec();
    let mut runs = 0;
    if from.is_empty() {
        let shallow = Fit::new(body, touch, &few, 1.0).trusting(Trust::Shallow);
        let shallow = shallow.solve(from)?;
        (begin, runs) = (shallow.end.unknowns, shallow.runs);
    }
    let mut fitted = Fit::new(body, touch, settings, 1.0).solve(&begin)?;
    fitted.runs += runs;
    for _ in 1..ROUNDS {
        let excess = doubt::excess(&fitted);
        if excess <= EXCESS && (excess >= 1.0 / EXCESS || fitted.scale <= 1.0) {
            break;
        }
        let scale = (excess * fitted.scale).max(1.0);
        let again = Fit::new(body, touch, &few, scale).trusting(Trust::Usual);
        let again = again.solve(&fitted.end.unknowns)?;
        let runs = fitted.runs + again.runs;
        fitted = Fitted { runs, ..again };
    }
    Ok(fitted)
}

/// A fit of more touches with the parameters of another, which it begins with.
fn refit(
    body: &Body<'_>,
    touch: &record::Touch,
    settings: &Settings,
    fitted: &Fitted,
) -> Result<Fitted, TouchError> {
    let few = Settings {
        steps_max: settings.steps_max.min(STEPS_WITHOUT),
        ..*settings
    };
    Fit::new(body, touch, &few, fitted.scale).solve(&fitted.end.unknowns)
}

/// Unknowns of one choice of parameters in the order of another, 0 for those that it lacks.
fn widened(unknowns: &[f64], of: &[Part], into: &[Part]) -> Vec<f64> {
    let value = |part: &Part| {
        let mut pairs = of.iter().zip(unknowns);
        let found = pairs.find(|(own, _)| *own == part);
        found.map_or(0.0, |(_, x)| *x)
    };
    let parts = into.iter().map(value);
    parts.chain(unknowns[of.len()..].iter().copied()).collect()
}

/// Both lists of visits, in order of time.
fn together(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}
