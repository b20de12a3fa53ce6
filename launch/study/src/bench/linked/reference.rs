//! A ball pressed into a linked block, beside the static solution by finite elements and Hertz's formula.
//!
//! Source: seed-001 row FU-08 and section 3.4.2: links of `E / (2 (1 - nu^2))` are calibrated by a flat punch on a
//! half-space. A ball at finite depth on a block of finite height is neither, and the lattice has no lateral
//! expansion; so this says how far off that leaves it.

use std::sync::atomic::AtomicBool;

use palpate_calib::source::{Source, Validation, ValidationError};
use palpate_fem::truth::{Press, PressError, Settings};
use palpate_fem::{Solid, SolidError, Support, Volumetric};
use palpate_geometry::mesh::grade::{GradeError, Grading};
use palpate_geometry::mesh::hex::{HexError, HexMesh, Side};
use palpate_scene as scene;
use palpate_scene::SceneError;
use palpate_twin::law::{Family, Material, MaterialError};
use serde::{Deserialize, Serialize};

use super::LinkedBenchError;
use crate::bench::goal::Goal;
use crate::bench::{BenchError, go_on};

/// Young's modulus \[Pa\] and Poisson's ratio.
const MATERIAL: (f64, f64) = (5e3, 0.45);
/// Edges of the block \[m\].
const SIZE_M: [f64; 3] = [0.08, 0.08, 0.04];
/// Distance of elements, and finest cells of the reference \[m\].
const SPACING_M: f64 = 1.6e-3;
/// Radius of the ball \[m\].
const RADIUS_M: f64 = 8e-3;
/// Depths \[m\].
const DEPTHS_M: [f64; 5] = [0.5e-3, 1e-3, 2e-3, 3e-3, 4e-3];
/// Root mean square of the difference over that of the reference that is tolerated; 0.044 was found.
const BAND: f64 = 0.1;

/// What the modulus of links was tuned by, and what judges it.
const PUNCH: &str = "a flat punch on an elastic half-space, in closed form";
const ELEMENTS: &str = "finite elements under a ball, large strains";

/// The comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceReport {
    /// Depth \[m\], force of the linked block, of finite elements and of Hertz \[N\].
    pub points: Vec<[f64; 4]>,
    /// Elements of the linked block, nodes of the reference.
    pub sizes: [usize; 2],
    /// Root mean square of the difference from finite elements \[N\].
    pub rms_n: f64,
    /// The same over the root mean square of the reference.
    pub rms_share: f64,
    /// What is wanted of that share.
    pub band: f64,
    /// Who tuned and who validated.
    pub words: String,
}

/// Why there is no reference.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReferenceError {
    /// The mesh cannot be graded.
    #[error("the reference: {0}")]
    Grade(#[from] GradeError),
    /// The mesh is unfit.
    #[error("the reference: {0}")]
    Mesh(#[from] HexError),
    /// The material is none.
    #[error("the reference: {0}")]
    Material(#[from] MaterialError),
    /// Mesh and material make no solid.
    #[error("the reference: {0}")]
    Solid(#[from] SolidError),
    /// It finds no equilibrium.
    #[error("the reference: {0}")]
    Press(#[from] PressError),
    /// There is nothing to compare.
    #[error("the reference: {0}")]
    Unfit(ValidationError),
    /// The linked block cannot be made.
    #[error("the reference: {0}")]
    Scene(#[from] SceneError),
}

/// Presses both.
///
/// # Errors
/// [`BenchError`] if one cannot be made or solved, or `stop` is set.
pub(super) fn reference(stop: &AtomicBool) -> Result<ReferenceReport, BenchError> {
    go_on(stop)?;
    let (truth, nodes) = truth().map_err(LinkedBenchError::Reference)?;
    go_on(stop)?;
    let (felt, elements) = felt().map_err(LinkedBenchError::Reference)?;
    let (young_pa, poisson) = MATERIAL;
    let hertz = |depth_m: f64| {
        let plane_pa = young_pa / (1.0 - poisson * poisson);
        4.0 / 3.0 * plane_pa * RADIUS_M.sqrt() * depth_m.powf(1.5)
    };
    let pairs = felt.iter().zip(&truth);
    let points: Vec<[f64; 4]> = DEPTHS_M
        .iter()
        .zip(pairs)
        .map(|(&depth_m, (&felt_n, &truth_n))| [depth_m, felt_n, truth_n, hertz(depth_m)])
        .collect();
    let sources = [PUNCH, ELEMENTS].map(|name| Source::Model(name.to_owned()));
    let forces: Vec<(f64, f64)> = points.iter().map(|p| (p[1], p[2])).collect();
    let validation = Validation::new(sources, &forces, BAND).map_err(ReferenceError::Unfit);
    let found = validation.map_err(LinkedBenchError::Reference)?;
    Ok(ReferenceReport {
        points,
        sizes: [elements, nodes],
        rms_n: found.rms,
        rms_share: found.rms_share,
        band: found.band,
        words: found.to_string(),
    })
}

/// Forces on the ball by finite elements \[N\], and their nodes.
fn truth() -> Result<(Vec<f64>, usize), ReferenceError> {
    let [width_m, _, height_m] = SIZE_M;
    let half_m = 9.6e-3;
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m: SPACING_M,
        growth: 1.4,
    };
    let across_m = grade(0.5 * width_m - half_m, 0.5 * width_m + half_m).axis(width_m)?;
    let up_m = grade(height_m - 8e-3, height_m).axis(height_m)?;
    let mesh = HexMesh::block([&across_m, &across_m, &up_m])?;
    let (young_pa, poisson) = MATERIAL;
    let moduli = vec![Material::new(young_pa, poisson, 1e3)?.moduli(); mesh.cells.len()];
    let held = [Support::Fixed(Side::ZMin)];
    let law = (Family::NeoHookean, &moduli[..]);
    let solid = Solid::new(&mesh, law, &held, Volumetric::Mean)?;
    let over_m = [0.5 * width_m; 2];
    let mut press = Press::new((solid, &mesh), over_m, RADIUS_M, Settings::default());
    let mut forces = Vec::with_capacity(DEPTHS_M.len());
    for depth_m in DEPTHS_M {
        forces.push(press.to(depth_m)?.force_n.z);
    }
    Ok((forces, mesh.nodes_m.len()))
}

/// Forces on the ball by links \[N\], and their elements.
fn felt() -> Result<(Vec<f64>, usize), ReferenceError> {
    let (young_pa, poisson) = MATERIAL;
    let text = format!(
        "name = \"reference\"\n[linked]\nsize_m = {SIZE_M:?}\nspacing_m = {SPACING_M}\n\
         [[layer]]\nyoung_pa = {young_pa:?}\npoisson = {poisson}\n\
         shortest = 0.05\nlongest = 6.0\nshear = 6.0\n\
         [tool]\nradius_m = {RADIUS_M}\nstiffness_npm = 3000.0\n"
    );
    let scene = scene::load(&text)?;
    let places = DEPTHS_M.map(|depth_m| ([0.0; 2], depth_m));
    let presses = scene.presses_to(&places)?;
    let elements = scene.build()?.caps().elements;
    Ok((
        presses.iter().map(|press| press.force_n).collect(),
        elements,
    ))
}

impl ReferenceReport {
    /// That the difference is within its band.
    pub(super) fn goal(&self) -> Goal {
        let (found, band) = (100.0 * self.rms_share, 100.0 * self.band);
        Goal::at_most("force from finite elements, RMS", found, band, "%")
    }

    /// As a line for people.
    pub(super) fn line(&self) -> String {
        let points = self
            .points
            .iter()
            .map(|[depth_m, felt_n, truth_n, hertz_n]| {
                format!(
                    "{felt_n:.3} ({truth_n:.3}, {hertz_n:.3}) at {:.1} mm",
                    1e3 * depth_m
                )
            });
        format!(
            "  pressed by a ball, N (finite elements, Hertz): {}; RMS {:.4} N, {:.0} %\n",
            points.collect::<Vec<_>>().join(", "),
            self.rms_n,
            100.0 * self.rms_share
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row FU-08: an independent model says how far off the calibration is.
    #[test]
    fn fu_08_an_indentation_is_within_its_band_of_finite_elements() {
        let found = reference(&AtomicBool::new(false)).expect("solved");
        assert_eq!(found.points.len(), DEPTHS_M.len());
        for pair in found.points.windows(2) {
            assert!(
                pair[1][1] > pair[0][1] && pair[1][2] > pair[0][2],
                "{pair:?}"
            );
        }
        assert!(found.rms_share < BAND, "{}", found.line());
        assert!(found.goal().held && found.rms_share > 0.0);
    }
}
