//! Detectability of lumps: a sweep of depth, radius and contrast over presses of a block scene.
//!
//! Source: ours; force change as in section 3.4 of the specification of tissue engines. A press over the middle of a
//! lump is compared with the same press on the same mesh without it, so that the mesh under the
//! tool does not affect the difference. The force change, the contrast of stiffness and d' all compare
//! these two. The effect of the mesh is studied separately: every mixing rule, on three
//! alignments of lump and tool to the cells.
//!
//! This file has options and results; `phantom` has the blocks that can be changed, `plan` lists the presses and
//! makes them on all cores, `range` checks the options, `spread` computes the agreement of the mixing rules.

mod phantom;
mod plan;
mod range;
mod spread;

use palpate_scene::PressStiffness;
use serde::{Deserialize, Serialize};

use palpate_analysis::metrics::detectability;

pub use plan::DetectPlan;
pub use spread::MixingSpread;

/// d' above which an unbiased observer is right in 95 of 100 single readings:
/// 2 z(0.95) (Macmillan and Creelman 2005).
pub(crate) const D_PRIME_DETECTED: f64 = 3.289_707_253_902_945;

/// Options of the sweep and of the press.
#[derive(Debug, Clone, PartialEq)]
pub struct DetectOptions {
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

/// Results, as `--json` prints them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DetectStudy {
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
    pub cases: Vec<LumpCase>,
    /// The scene's own lump on other alignments and by other mixing rules.
    pub meshes: Vec<MeshCase>,
    /// Agreement of the mixing rules, if each was pressed.
    pub spread: Option<MixingSpread>,
}

/// Case of the sweep: one lump.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LumpCase {
    /// Depth of its centre \[m\].
    pub depth_m: f64,
    /// Its radius \[m\].
    pub radius_m: f64,
    /// Its Young's modulus over that of the layer around it.
    pub contrast: f64,
    /// Result of the press, if there is one.
    pub found: Option<LumpDetection>,
    /// Reason for a missing result.
    pub unknown: Option<UnknownReason>,
}

/// Reasons for a missing result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownReason {
    /// It does not fit between the surface and the ground, or between the sides of the block.
    NoRoom,
    /// The study was stopped before.
    NotPressed,
    /// The solver lost the tissue under the tool: cells between a hard lump and the tool collapsed, and
    /// a press met no force. That is no evidence about the lump.
    FellIn,
}

impl std::fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoRoom => "does not fit into the block",
            Self::NotPressed => "was not pressed",
            Self::FellIn => "the tissue fell in under the tool",
        })
    }
}

/// Result of a press over a lump, compared with the same press without it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LumpDetection {
    /// Force over the lump \[N\].
    pub over_n: f64,
    /// Force over the lump relative to that without it, minus one.
    pub force_change: f64,
    /// Slope of the force over the lump \[N/m\].
    pub over_npm: f64,
    /// Slope over the lump relative to that without it, minus one.
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
    /// Force over the lump relative to that without it, minus one.
    pub force_change: Option<f64>,
}

impl LumpDetection {
    /// Result from a press over a lump and one without it, and the noise.
    fn of(over: PressStiffness, plain: PressStiffness, noise: f64) -> Result<Self, UnknownReason> {
        // elastic tissue always pushes a ball back
        let valid = |force_n: f64| force_n.is_finite() && force_n > 0.0;
        if !(valid(over.force_n) && valid(plain.force_n)) {
            return Err(UnknownReason::FellIn);
        }
        let force_change = over.force_n / plain.force_n - 1.0;
        let d_prime = d_prime(force_change, noise);
        Ok(Self {
            over_n: over.force_n,
            force_change,
            over_npm: over.chord_npm,
            stiffness_contrast: over.chord_npm / plain.chord_npm - 1.0,
            d_prime,
            // the sign of the difference is known in a study, so a soft lump does not mislead
            right: detectability::correct_probability(d_prime.abs()),
        })
    }
}

/// d' of one reading of a force with a relative change, for readings with the relative error
/// `noise`: the spread is the root mean square of the two readings' errors.
#[must_use]
pub(crate) fn d_prime(force_change: f64, noise: f64) -> f64 {
    let with = 1.0 + force_change;
    force_change / (noise * (0.5 * (1.0 + with * with)).sqrt())
}

/// Relative change of force for a d' of [`D_PRIME_DETECTED`]; none if no change reaches it.
pub(crate) fn detectable_change(noise: f64) -> Option<f64> {
    // c^2 = t^2 (1 + (1 + c)^2) / 2 with t = noise times d'
    let square = (noise * D_PRIME_DETECTED).powi(2);
    let denominator = 1.0 - 0.5 * square;
    (denominator > 0.0).then(|| {
        0.5 * (square + (square * square + 4.0 * denominator * square).sqrt()) / denominator
    })
}

#[cfg(test)]
mod tests;
