//! The condensed table of a block: what [`palpate_fem::Masked`] asks when a tick is late.
//!
//! Source: ours. A mesh of its own, static and finer under the tool than a tick can bear: graded, with
//! the patch where the scene is fine. It follows from the scene alone, bit for bit.

use std::sync::Arc;

use super::block::{Block, BlockSolver, SAMPLES};
use super::{Body, Scene, SceneError};
use palpate_fem::{
    Compliance, ComplianceError, Masked, Patch, Solid, SolidError, Support, Volumetric,
};
use palpate_geometry::mesh::hex::{HexError, HexMesh, Side};
use palpate_geometry::mesh::region::{RegionError, Shares};
use palpate_twin::twin::Tissue;

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
    /// No late tick of it would ask one.
    #[error("the scene `{0}` has no table: only one with a [block] of method fem can be condensed")]
    None(String),
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
        let [(west_m, east_m), (south_m, north_m)] = [self.fine_m(0), self.fine_m(1)];
        let area_m2 = (east_m - west_m) * (north_m - south_m);
        let cell_m = (radius_m / FACES_A_RADIUS).max((area_m2 / FACES_MAX).sqrt());
        let patch = Patch {
            centre_m: [0.5 * (west_m + east_m), 0.5 * (south_m + north_m)],
            half_m: [0.5 * (east_m - west_m), 0.5 * (north_m - south_m)],
        };
        let mesh = self.graded(cell_m, GROWTH, FINE_DEPTH * radius_m)?;
        Ok((mesh, patch))
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
    /// have the same table. None for a scene of another method than `fem`, which has no table.
    #[must_use]
    pub fn table_source(&self) -> Option<String> {
        let block = self.explicit()?;
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
    /// If it has no table, or cannot be condensed.
    pub fn condense(&self) -> Result<Compliance, TableError> {
        match self.explicit() {
            None => Err(TableError::None(self.name.clone())),
            Some(block) => block.condense(self.tool_radius_m),
        }
    }

    /// Its block, if that is stepped explicitly.
    fn explicit(&self) -> Option<&Block> {
        match &self.body {
            Body::Block(block) if block.solver == BlockSolver::Explicit => Some(block),
            _ => None,
        }
    }

    /// As [`Scene::build`], with the scene's table for steps without time; steps that take time are the
    /// same bit for bit. A scene that has no table is built without.
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn build_with_table(&self, table: &Arc<Compliance>) -> Result<Box<dyn Tissue>, SceneError> {
        let Some(block) = self.explicit() else {
            return self.build();
        };
        let masked = Masked::new(Arc::clone(table));
        Ok(Box::new(block.solver()?.with_table(masked)))
    }
}

#[cfg(test)]
mod tests;
