//! Compliance table of a block, which [`palpate_fem::FallbackPredictor`] uses when a tick is late.
//!
//! Source: ours. The table has its own mesh, static and finer under the tool than a tick allows: graded, with
//! the patch in the fine zone of the scene. It depends on the scene alone, bit for bit.

use std::sync::Arc;

use super::block::{Block, BlockSolver, SAMPLES};
use super::{Scene, SceneBody, SceneError};
use palpate_fem::{ComplianceTable, FallbackPredictor, Patch, Solid};
use palpate_geometry::mesh::region::RegionFractions;
use palpate_twin::twin::Tissue;

/// Faces across the radius of the scene's tool: with this number the block test is within 4 % of the
/// nonlinear reference, and a prediction within its time.
const FACES_A_RADIUS: f64 = 5.0;
/// Most faces: 48 MB.
const FACES_MAX: f64 = 1156.0;
/// Largest ratio of neighbouring cells beside the patch.
const GROWTH: f64 = 1.4;
/// Depth of the finest cells over the tool's radius.
const FINE_DEPTH: f64 = 0.8;
/// Version of the table's construction; it is part of the cache key.
const TABLE_VERSION: u32 = 1;

impl Block {
    /// Computes its table for tools of about this radius \[m\]: seconds to half a minute.
    ///
    /// # Errors
    /// If its mesh cannot be created or condensed.
    pub fn condense(&self, radius_m: f64) -> Result<ComplianceTable, SceneError> {
        let [(west_m, east_m), (south_m, north_m)] = [self.fine_range_m(0), self.fine_range_m(1)];
        let area_m2 = (east_m - west_m) * (north_m - south_m);
        let cell_m = (radius_m / FACES_A_RADIUS).max((area_m2 / FACES_MAX).sqrt());
        let patch = Patch {
            centre_m: [0.5 * (west_m + east_m), 0.5 * (south_m + north_m)],
            half_m: [0.5 * (east_m - west_m), 0.5 * (north_m - south_m)],
        };
        let mesh = self.graded_mesh(cell_m, GROWTH, FINE_DEPTH * radius_m)?;
        let regions = self.regions();
        let moduli =
            RegionFractions::sample(&mesh, &regions, SAMPLES)?.moduli(&regions, self.mixing);
        let solid = Solid::new(&mesh, self.params.law, &moduli);
        Ok(ComplianceTable::new(&solid, &mesh, patch)?)
    }
}

impl Scene {
    /// Text of all that the table depends on: two scenes with the same text
    /// have the same table. None for a scene of another method than `fem`, which has no table.
    #[must_use]
    pub fn table_key_text(&self) -> Option<String> {
        let block = self.explicit_block()?;
        let materials = block.regions();
        let (size_m, zone, mixing) = (block.size_m, block.zone, block.mixing);
        let shape = (size_m, zone.centre_m, zone.half_m, self.tool_radius_m);
        let law = block.params.law;
        Some(format!(
            "{TABLE_VERSION} {shape:?} {law:?} {mixing:?} {materials:?}"
        ))
    }

    /// Computes the compliance table of this scene, for its tool.
    ///
    /// # Errors
    /// If it has no table, or cannot be condensed.
    pub fn condense(&self) -> Result<ComplianceTable, SceneError> {
        match self.explicit_block() {
            None => Err(SceneError::NoTable(self.name.clone())),
            Some(block) => block.condense(self.tool_radius_m),
        }
    }

    /// Its block, if its solver is explicit.
    fn explicit_block(&self) -> Option<&Block> {
        match &self.body {
            SceneBody::Block(block) if block.solver == BlockSolver::Explicit => Some(block),
            _ => None,
        }
    }

    /// As [`Scene::build`], with the scene's table for steps without time; steps that take time are the
    /// same bit for bit. A scene without a table is built without one.
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn build_with_table(
        &self,
        table: &Arc<ComplianceTable>,
    ) -> Result<Box<dyn Tissue>, SceneError> {
        let Some(block) = self.explicit_block() else {
            return self.build();
        };
        let fallback = FallbackPredictor::new(Arc::clone(table));
        let tissue = block.explicit_solver()?.with_table(fallback);
        Ok(match self.depth_map()? {
            Some(map) => Box::new(tissue.with_depth_map(map)),
            None => Box::new(tissue),
        })
    }
}

#[cfg(test)]
mod tests;
