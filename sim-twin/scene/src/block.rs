//! Scenes of a continuum: a block in layers over a rigid ground, with inclusions, for finite elements.
//!
//! Source: ours; materials from [`palpate_twin::law::tissue_library`] by name or from numbers. The block is centred
//! under the origin: its top is at z = 0 and its ground at minus its height.

mod text;

use serde::Deserialize;

use super::layered;
use super::{Inclusion, Layer, Lump, SceneError};
use palpate_fem::explicit::{ExplicitParams, ExplicitTissue};
use palpate_fem::implicit;
use palpate_fem::implicit::ImplicitTissue;
use palpate_geometry::Defect;
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::HexMesh;
use palpate_geometry::mesh::nested_grid::{NestedGrid, RefinementZone};
use palpate_geometry::mesh::region::{Region, RegionFractions};
use palpate_twin::Vec3;
use palpate_twin::law::{CellMaterial, MixingRule};
use palpate_twin::twin::Tissue;
pub(super) use text::BlockText;

/// Samples along each edge of a cell, for volume fractions of layers and inclusions.
pub(super) const SAMPLES: u32 = 8;

/// Largest ratio of neighbouring cells of the implicit solver beside the fine zone.
const IMPLICIT_GROWTH: f64 = 1.6;

/// A block of layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Its edges \[m\].
    pub size_m: [f64; 3],
    /// Layers from the top down; their total thickness is the height of the block.
    pub layers: Vec<Layer>,
    /// Inclusions; a later one replaces an earlier one.
    pub inclusions: Vec<Inclusion>,
    /// Zone in which the grid is fine.
    pub zone: RefinementZone,
    /// Mixing rule for the moduli of a cell that several materials share.
    pub mixing: MixingRule,
    /// Choices of the solver.
    pub params: ExplicitParams,
    /// Solver.
    pub solver: BlockSolver,
}

/// A solver of a block, by its name in `method` of `[block]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum BlockSolver {
    /// `fem`: nested grids, for the servo's tick.
    #[default]
    #[serde(rename = "fem")]
    Explicit,
    /// `implicit`: one mesh that is graded to every side of the fine zone, for virtual time. Of
    /// [`ExplicitParams`] it uses the law and the damping.
    #[serde(rename = "implicit")]
    Implicit,
}

impl Block {
    /// Shapes and materials, in the frame of the scene; a later region replaces an earlier one.
    #[must_use]
    pub(crate) fn regions(&self) -> Vec<Region> {
        let shapes = layered::shapes(&self.layers, &self.inclusions, 0.0);
        let layers = self.layers.iter().map(|layer| layer.material);
        let materials = layers.chain(self.inclusions.iter().map(|ball| ball.material));
        let regions = shapes.into_iter().zip(materials);
        regions
            .map(|(shape, material)| Region { shape, material })
            .collect()
    }

    /// Lowest and highest corner \[m\].
    #[must_use]
    pub fn corners_m(&self) -> [Vec3; 2] {
        let [x, y, z] = self.size_m;
        [
            Vec3::new(-0.5 * x, -0.5 * y, -z),
            Vec3::new(0.5 * x, 0.5 * y, 0.0),
        ]
    }

    /// Returns grids and the materials of their cells.
    ///
    /// # Errors
    /// If the grids cannot be created.
    pub fn grids_and_materials(&self) -> Result<(NestedGrid, Vec<Vec<CellMaterial>>), SceneError> {
        let regions = self.regions();
        let (nested, shares) = self.grids_and_fractions(&regions)?;
        let stuff = (shares.iter()).map(|shares| shares.cell_materials(&regions, self.mixing));
        Ok((nested, stuff.collect()))
    }

    /// Returns grids, and volume fractions of the regions in the cells of each.
    pub(super) fn grids_and_fractions(
        &self,
        regions: &[Region],
    ) -> Result<(NestedGrid, Vec<RegionFractions>), SceneError> {
        let [low_m, high_m] = self.corners_m();
        let nested = NestedGrid::new(low_m, high_m, &self.zone)?;
        let mut all = Vec::with_capacity(nested.levels.len());
        for level in &nested.levels {
            all.push(RegionFractions::sample(&level.mesh()?, regions, SAMPLES)?);
        }
        Ok((nested, all))
    }

    /// Creates its explicit solver, at rest.
    ///
    /// # Errors
    /// If grids cannot be created or the solver refuses them.
    pub fn explicit_solver(&self) -> Result<ExplicitTissue, SceneError> {
        let (nested, stuff) = self.grids_and_materials()?;
        Ok(ExplicitTissue::new(&nested, &stuff, &self.params)?)
    }

    /// Creates a tissue, at rest.
    ///
    /// # Errors
    /// As [`Block::explicit_solver`] or the implicit solver.
    pub fn build(&self) -> Result<Box<dyn Tissue>, SceneError> {
        Ok(match self.solver {
            BlockSolver::Explicit => Box::new(self.explicit_solver()?),
            BlockSolver::Implicit => Box::new(self.implicit_solver()?),
        })
    }

    /// Creates one mesh in the frame of the scene. It has cells of `cell_m` \[m\] in the fine zone to a depth of
    /// `deep_m` \[m\]; neighbouring cells outside differ by a factor of at most `growth`.
    ///
    /// # Errors
    /// If an axis cannot be graded.
    pub(super) fn graded_mesh(
        &self,
        cell_m: f64,
        growth: f64,
        deep_m: f64,
    ) -> Result<HexMesh, Defect> {
        let [low_m, high_m] = self.corners_m();
        let grade = |axis: usize, (from_m, to_m): (f64, f64)| {
            let grading = Grading {
                from_m: from_m - low_m[axis],
                to_m: to_m - low_m[axis],
                cell_m,
                growth,
            };
            let mut line_m = grading.axis(high_m[axis] - low_m[axis])?;
            line_m.iter_mut().for_each(|x_m| *x_m += low_m[axis]);
            Ok::<_, Defect>(line_m)
        };
        let across = |axis: usize| grade(axis, self.fine_range_m(axis));
        let up_m = grade(2, (high_m.z - deep_m.min(self.size_m[2]), high_m.z))?;
        HexMesh::block([&across(0)?, &across(1)?, &up_m])
    }

    /// Ends of the fine zone along x or y \[m\].
    pub(super) fn fine_range_m(&self, axis: usize) -> (f64, f64) {
        let half_m = 0.5 * self.size_m[axis];
        let end = |sign: f64| {
            let at_m = self.zone.centre_m[axis] + sign * self.zone.half_m[axis];
            at_m.clamp(-half_m, half_m)
        };
        (end(-1.0), end(1.0))
    }

    /// Creates its implicit solver, at rest.
    ///
    /// # Errors
    /// If the mesh cannot be created or the solver refuses it.
    pub(crate) fn implicit_solver(&self) -> Result<ImplicitTissue, SceneError> {
        let mesh = self.graded_mesh(self.zone.cell_m, IMPLICIT_GROWTH, self.zone.depth_m)?;
        let regions = self.regions();
        let shares = RegionFractions::sample(&mesh, &regions, SAMPLES)?;
        let stuff = shares.cell_materials(&regions, self.mixing);
        let params = implicit::ImplicitParams {
            damping_per_s: self.params.damping_per_s,
            ..implicit::ImplicitParams::default()
        };
        Ok(ImplicitTissue::new(
            &mesh,
            self.params.law,
            &stuff,
            &params,
        )?)
    }

    /// Index of the layer of an inclusion's centre; none in a block without layers.
    #[must_use]
    pub fn host_layer(&self, inclusion: &Inclusion) -> Option<usize> {
        layered::host_layer(&self.layers, &inclusion.centre_m)
    }

    /// Inclusions as seen from above, with their stiffness over that of the layer around them.
    #[must_use]
    pub fn lumps(&self) -> Vec<Lump> {
        layered::lumps(&self.layers, &self.inclusions)
    }
}
