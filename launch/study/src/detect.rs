//! Which lumps can be felt: a sweep of depth, radius and contrast over presses of a block scene.
//!
//! Source: ours; force change as in section 3.4 of the specification of tissue engines. A lump is
//! pressed over its middle, and the same place of the same mesh without it, so that the mesh under the
//! tool is no part of the difference; the force change, the contrast of stiffness and d' all compare
//! these two. How far the answer hangs on the mesh is asked separately: every mixing rule, on three
//! alignments of lump and tool to the cells.
//!
//! Here is what is asked and what is found; `phantom` is what can be changed, `plan` lists the presses, `work` makes them on all
//! cores, `range` refuses what cannot be swept, `spread` says how far the mixing rules agree.

mod phantom;
mod plan;
mod range;
mod spread;
mod work;

use palpate_scene::{Press, SceneError};
use serde::{Deserialize, Serialize};

use palpate_analysis::metrics::lump;

pub use plan::Plan;
pub use spread::Spread;

/// d' from which an unbiased observer is right in 95 of 100 single readings:
/// 2 z(0.95) (Macmillan and Creelman 2005).
pub const TOLD: f64 = 3.289_707_253_902_945;

/// What is swept, and how it is pressed.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Depths of the lump's centre \[m\]; empty for 0.8, 1, 1.5 and 2 times that of the scene.
    pub depths_m: Vec<f64>,
    /// Radii \[m\]; empty for 0.6, 1 and 1.5 times that of the scene.
    pub radii_m: Vec<f64>,
    /// Young's modulus over that of the layer around the lump.
    pub contrasts: Vec<f64>,
    /// Depth of a press \[m\].
    pub press_m: f64,
    /// Standard deviation of a force reading as a share of the force.
    pub noise: f64,
}

/// What was found; `--json` prints this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// Name of the scene.
    pub scene: String,
    /// Depth of a press \[m\].
    pub press_m: f64,
    /// Radius of the tool \[m\].
    pub tool_radius_m: f64,
    /// Standard deviation of a force reading as a share of the force.
    pub noise: f64,
    /// Force of a press without the lump \[N\].
    pub plain_n: Option<f64>,
    /// Slope of that force \[N/m\].
    pub plain_npm: Option<f64>,
    /// The sweep: depths outermost, then radii, then contrasts.
    pub cases: Vec<Case>,
    /// The scene's own lump on other alignments and by other mixing rules.
    pub meshes: Vec<MeshCase>,
    /// How far the mixing rules agree, if each was pressed.
    pub spread: Option<Spread>,
}

/// One lump.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Depth of its centre \[m\].
    pub depth_m: f64,
    /// Its radius \[m\].
    pub radius_m: f64,
    /// Its Young's modulus over that of the layer around it.
    pub contrast: f64,
    /// What pressing it told, if it did.
    pub found: Option<Found>,
    /// Why it is not known, if it is not.
    pub unknown: Option<Unknown>,
}

/// Why nothing is known of a lump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// It does not fit between the surface and the ground, or between the sides of the block.
    NoRoom,
    /// The study was stopped before.
    NotPressed,
    /// The solver lost the tissue under the tool: cells between a hard lump and the tool fell in, and
    /// a press met no force. That says nothing of the lump.
    FellIn,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoRoom => "does not fit into the block",
            Self::NotPressed => "was not pressed",
            Self::FellIn => "the tissue fell in under the tool",
        })
    }
}

/// What pressing over a lump told, against the same press without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Force over it \[N\].
    pub over_n: f64,
    /// Force over it against that without it, minus one.
    pub force_change: f64,
    /// Slope of the force over it \[N/m\].
    pub over_npm: f64,
    /// Slope over it against that without it, minus one.
    pub stiffness_contrast: f64,
    /// d' of one reading of the force at the depth of the press.
    pub d_prime: f64,
    /// Probability that an unbiased observer of one reading is right.
    pub right: f64,
}

/// The scene's own lump on one mesh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeshCase {
    /// Mixing rule.
    pub mixing: String,
    /// Shift of lump and tool against the cells, as a share of a finest cell along x and y.
    pub shift_cells: f64,
    /// Force over the lump against that without it, minus one.
    pub force_change: Option<f64>,
}

/// Why there is no study.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DetectError {
    /// The scene has nothing to sweep.
    #[error(
        "scene `{scene}` {found}; expected a block or linked volume with an [[inclusion]], such as `block-nodule` or `linked-nodule`"
    )]
    Scene {
        /// Its name.
        scene: String,
        /// What it is.
        found: &'static str,
    },
    /// A number is out of its range.
    #[error("{field} is {value}; expected {expected}")]
    Field {
        /// Its flag.
        field: &'static str,
        /// Its value, in the unit of the flag.
        value: f64,
        /// What would be right.
        expected: String,
    },
    /// A tissue cannot be made.
    #[error(transparent)]
    Tissue(#[from] SceneError),
}

impl Found {
    /// From a press over a lump and one without it, and the noise.
    fn of(over: Press, plain: Press, noise: f64) -> Result<Self, Unknown> {
        // a ball in elastic tissue is always pushed back
        let met = |force_n: f64| force_n.is_finite() && force_n > 0.0;
        if !(met(over.force_n) && met(plain.force_n)) {
            return Err(Unknown::FellIn);
        }
        let force_change = over.force_n / plain.force_n - 1.0;
        let d_prime = d_prime(force_change, noise);
        Ok(Self {
            over_n: over.force_n,
            force_change,
            over_npm: over.chord_npm,
            stiffness_contrast: over.chord_npm / plain.chord_npm - 1.0,
            d_prime,
            // a study knows which way its lump differs, so a soft one does not mislead
            right: lump::right(d_prime.abs()),
        })
    }
}

/// d' of one reading of a force that changes by such a share, when a reading has an error of `noise`, a
/// share of what is read: the spread is the root mean square of the two readings' errors.
#[must_use]
pub fn d_prime(force_change: f64, noise: f64) -> f64 {
    let with = 1.0 + force_change;
    force_change / (noise * (0.5 * (1.0 + with * with)).sqrt())
}

/// The share by which a force must change for a d' of [`TOLD`]; none if no change reaches it.
#[must_use]
pub(crate) fn change_told(noise: f64) -> Option<f64> {
    // c^2 = t^2 (1 + (1 + c)^2) / 2 with t = noise times d'
    let square = (noise * TOLD).powi(2);
    let bend = 1.0 - 0.5 * square;
    (bend > 0.0).then(|| 0.5 * (square + (square * square + 4.0 * bend * square).sqrt()) / bend)
}

#[cfg(test)]
mod tests;
