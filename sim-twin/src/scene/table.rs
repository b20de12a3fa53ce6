//! The condensed table of a block: what [`crate::model::fem::Masked`] asks when a tick is late.
//!
//! Source: ours. A mesh of its own, static and finer under the tool than a tick can bear: graded, with
//! the patch where the scene is fine. It follows from the scene alone, bit for bit.

use std::sync::Arc;

use super::block::{Block, SAMPLES};
use super::{Body, Scene, SceneError};
use crate::mesh::grade::{GradeError, Grading};
use crate::mesh::hex::{HexError, HexMesh, Side};
use crate::mesh::region::{RegionError, Shares};
use crate::model::fem::{
    Compliance, ComplianceError, Masked, Patch, Solid, SolidError, Support, Volumetric,
};
use crate::twin::Tissue;

/// Faces across the radius of the scene's tool: with them the block test is within 4 % of the
/// nonlinear truth, and an answer within its time.
const FACES_A_RADIUS: f64 = 5.0;
/// Most faces: 48 MB.
const FACES_MAX: f64 = 1156.0;
/// Largest ratio of neighbouring cells beside the patch.
const GROWTH: f64 = 1.4;
/// Depth of the finest cells over the tool's radius.
const FINE_DEPTH: f64 = 0.8;
/// Which way of making a table this is; another one makes others of the same scene.
const RECIPE: u32 = 1;

/// Why a scene has no table.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TableError {
    /// It is no continuum.
    #[error("the scene `{0}` is of springs; only one with a [block] can be condensed")]
    Lattice(String),
    /// Its mesh cannot be graded.
    #[error(transparent)]
    Grade(#[from] GradeError),
    /// Its mesh is unfit.
    #[error(transparent)]
    Mesh(#[from] HexError),
    /// A place has no material.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// Mesh and materials make no solid.
    #[error(transparent)]
    Solid(#[from] SolidError),
    /// It cannot be condensed.
    #[error(transparent)]
    Compliance(#[from] ComplianceError),
}

impl Block {
    /// A mesh in the frame of the scene, and the patch of its top that is fine.
    fn table_mesh(&self, radius_m: f64) -> Result<(HexMesh, Patch), TableError> {
        let zone = &self.zone;
        let ends = |axis: usize| {
            let half_m = 0.5 * self.size_m[axis];
            let end = |sign: f64| {
                let at_m = zone.centre_m[axis] + sign * zone.half_m[axis];
                at_m.clamp(-half_m, half_m)
            };
            [end(-1.0), end(1.0)]
        };
        let [[west_m, east_m], [south_m, north_m]] = [ends(0), ends(1)];
        let area_m2 = (east_m - west_m) * (north_m - south_m);
        let cell_m = (radius_m / FACES_A_RADIUS).max((area_m2 / FACES_MAX).sqrt());
        let grade = |(from_m, to_m): (f64, f64), length_m: f64, low_m: f64| {
            let grading = Grading {
                from_m: from_m - low_m,
                to_m: to_m - low_m,
                cell_m,
                growth: GROWTH,
            };
            let mut line_m = grading.axis(length_m)?;
            line_m.iter_mut().for_each(|x_m| *x_m += low_m);
            Ok::<_, GradeError>(line_m)
        };
        let [x_m, y_m, z_m] = self.size_m;
        let across_m = grade((west_m, east_m), x_m, -0.5 * x_m)?;
        let along_m = grade((south_m, north_m), y_m, -0.5 * y_m)?;
        let deep_m = (FINE_DEPTH * radius_m).min(z_m);
        let up_m = grade((-deep_m, 0.0), z_m, -z_m)?;
        let patch = Patch {
            centre_m: [0.5 * (west_m + east_m), 0.5 * (south_m + north_m)],
            half_m: [0.5 * (east_m - west_m), 0.5 * (north_m - south_m)],
        };
        Ok((HexMesh::block([&across_m, &along_m, &up_m])?, patch))
    }

    /// Its table for tools of about this radius \[m\]: seconds to half a minute.
    ///
    /// # Errors
    /// If its mesh cannot be made or condensed.
    pub fn condense(&self, radius_m: f64) -> Result<Compliance, TableError> {
        let (mesh, patch) = self.table_mesh(radius_m)?;
        let regions = self.regions();
        let moduli = Shares::take(&mesh, &regions, SAMPLES)?.moduli(&regions, self.mixing);
        let law = (self.params.law, &moduli[..]);
        let held = [Support::Fixed(Side::ZMin)];
        let solid = Solid::new(&mesh, law, &held, Volumetric::Mean)?;
        Ok(Compliance::new(&solid, &mesh, patch)?)
    }
}

impl Scene {
    /// Everything that the table of this scene follows from, as text: two scenes with the same text
    /// have the same table. None for a lattice, which has no table.
    #[must_use]
    pub fn table_source(&self) -> Option<String> {
        let Body::Block(block) = &self.body else {
            return None;
        };
        let materials = block.regions();
        let (size_m, zone, mixing) = (block.size_m, block.zone, block.mixing);
        let shape = (size_m, zone.centre_m, zone.half_m, self.tool_radius_m);
        let law = block.params.law;
        Some(format!(
            "{RECIPE} {shape:?} {law:?} {mixing:?} {materials:?}"
        ))
    }

    /// The condensed table of this scene, for its tool.
    ///
    /// # Errors
    /// If it is a lattice, or cannot be condensed.
    pub fn condense(&self) -> Result<Compliance, TableError> {
        match &self.body {
            Body::Lattice { .. } => Err(TableError::Lattice(self.name.clone())),
            Body::Block(block) => block.condense(self.tool_radius_m),
        }
    }

    /// As [`Scene::build`], with the scene's table for steps without time; steps that take time are the
    /// same bit for bit. A lattice is built without.
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn build_with_table(&self, table: &Arc<Compliance>) -> Result<Box<dyn Tissue>, SceneError> {
        let Body::Block(block) = &self.body else {
            return self.build();
        };
        let masked = Masked::new(Arc::clone(table));
        Ok(Box::new(block.solver()?.with_table(masked)))
    }
}

#[cfg(test)]
mod tests;
