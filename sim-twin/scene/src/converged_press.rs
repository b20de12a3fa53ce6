//! Converged force of a slow press on a block: the truth about a scene, for comparison with its twin.
//!
//! Source: ours. The problem is that of the scene itself: its layers, inclusions and law, a fixed bottom, free sides, and
//! a rigid, frictionless ball. A press in the middle of a block without inclusions is solved on a cylinder with the area
//! of the block ([`AxialPress`]). Other presses are solved on a three-dimensional mesh, graded from the contact, with nodes on
//! every interface ([`PressedBlock`]); where the ball lies on a plane of symmetry of the block, only the part on one side
//! is meshed. Its force is multiplied by the ratio of the axial to the three-dimensional force in the middle of the
//! block without inclusions: the same grading makes the errors of both three-dimensional forces similar. Richardson's
//! extrapolation (1911) was up to 2.3 % off an outside engine near an interface.

use super::block::{Block, SAMPLES};
use super::{Scene, SceneBody, SceneError};
use palpate_fem::{AxialPress, PressedBlock};
use palpate_geometry::Defect;
use palpate_geometry::mesh::grading::aligned_axis;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_geometry::mesh::region::RegionFractions;
use std::f64::consts::PI;

/// Edges of the finest cells over the half-width of the contact on a half-space, and least edge elsewhere over the
/// distance from the contact.
const FINEST_EDGE: f64 = 0.25;
const EDGE_A_DISTANCE: f64 = 0.3;

/// Force of a press on converged meshes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ConvergedForce {
    /// Force on the ball along z \[N\].
    pub(super) force_n: f64,
    /// Change by the correction of the three-dimensional mesh, or by the shape of a cylinder \[N\].
    pub(super) spread_n: f64,
}

/// Place and size of the ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BallPress {
    /// Position over the surface \[m\].
    pub at_m: [f64; 2],
    /// Radius of the ball \[m\].
    pub radius_m: f64,
    /// Depth below first contact \[m\].
    pub depth_m: f64,
}

impl BallPress {
    /// Half-width of the contact with a half-space \[m\].
    fn contact_m(&self) -> f64 {
        (self.radius_m * self.depth_m.min(self.radius_m)).sqrt()
    }
}

impl Scene {
    /// Computes the converged force of a slow press; up to some minutes. None for a scene that is no block.
    ///
    /// # Errors
    /// If no mesh can be created, or no equilibrium is found.
    pub(super) fn converged_force(
        &self,
        press: &BallPress,
    ) -> Result<Option<ConvergedForce>, SceneError> {
        match &self.body {
            SceneBody::Block(block) => block.converged_force(press).map(Some),
            _ => Ok(None),
        }
    }
}

impl Block {
    fn converged_force(&self, press: &BallPress) -> Result<ConvergedForce, SceneError> {
        if press.at_m == [0.0; 2] && self.inclusions.is_empty() {
            return self.axial_force(press);
        }
        let middle = BallPress {
            at_m: [0.0; 2],
            ..*press
        };
        let plain = Self {
            inclusions: Vec::new(),
            ..self.clone()
        };
        let bias = plain.axial_force(&middle)?.force_n / plain.static_force_n(&middle)?;
        let own_n = self.static_force_n(press)?;
        Ok(ConvergedForce {
            force_n: own_n * bias,
            spread_n: own_n * (bias - 1.0).abs(),
        })
    }

    /// Force on a cylinder whose cross-section has the area of the block. The difference to one that touches the sides from
    /// within shows the effect of the sides; it is not a bound.
    fn axial_force(&self, press: &BallPress) -> Result<ConvergedForce, SceneError> {
        let [wide_m, long_m, _] = self.size_m;
        let within_m = 0.5 * wide_m.min(long_m);
        let [force_n, within_n] = [(wide_m * long_m / PI).sqrt(), within_m].map(|outer_m| {
            let found = self.axial_forces_n(press.radius_m, outer_m, &[press.depth_m], 1.0);
            found.map(|forces_n| forces_n[0])
        });
        let (force_n, within_n) = (force_n?, within_n?);
        Ok(ConvergedForce {
            force_n,
            spread_n: (force_n - within_n).abs(),
        })
    }

    /// Forces \[N\] of a rigid ball on the axis of a cylinder with the layers of this block, at ascending depths \[m\];
    /// `coarser` as in [`AxialPress`].
    ///
    /// # Errors
    /// If no equilibrium is found.
    pub(super) fn axial_forces_n(
        &self,
        radius_m: f64,
        outer_m: f64,
        depths_m: &[f64],
        coarser: f64,
    ) -> Result<Vec<f64>, SceneError> {
        let layers = self.layers.iter();
        let layers: Vec<_> = layers
            .map(|layer| (layer.thickness_m, layer.material.cell_material()))
            .collect();
        let press = AxialPress {
            family: self.params.law,
            layers: &layers,
            outer_m,
            radius_m,
            coarser,
        };
        Ok(press.forces_n(depths_m)?)
    }

    /// Force on a three-dimensional mesh.
    fn static_force_n(&self, press: &BallPress) -> Result<f64, SceneError> {
        let mirrors = self.mirrors(press.at_m);
        let mesh = self.mesh_around(press, &mirrors)?;
        let regions = self.regions();
        let shares = RegionFractions::sample(&mesh, &regions, SAMPLES)?;
        let cell_materials = shares.cell_materials(&regions, self.mixing);
        let pressed = PressedBlock {
            mesh: &mesh,
            family: self.params.law,
            cell_materials: &cell_materials,
            mirrors: &mirrors,
            over_m: press.at_m,
            radius_m: press.radius_m,
        };
        let forces_n = pressed.forces_n(&[press.depth_m])?;
        Ok(forces_n.first().copied().unwrap_or_default())
    }

    /// Sides of the mesh that are planes of symmetry of block and press.
    pub(super) fn mirrors(&self, at_m: [f64; 2]) -> Vec<BlockSide> {
        let sides = [BlockSide::XMin, BlockSide::YMin];
        let central = |axis: usize| {
            at_m[axis] == 0.0
                && self
                    .inclusions
                    .iter()
                    .all(|inclusion| inclusion.is_symmetric(axis))
        };
        (0..2)
            .filter(|&axis| central(axis))
            .map(|axis| sides[axis])
            .collect()
    }

    pub(super) fn mesh_around(
        &self,
        press: &BallPress,
        mirrors: &[BlockSide],
    ) -> Result<HexMesh, Defect> {
        let least_m = FINEST_EDGE * press.contact_m();
        let size_m = |distance_m: f64| least_m.max(EDGE_A_DISTANCE * distance_m);
        let [low_m, high_m] = self.corners_m();
        let across = |axis: usize, side: BlockSide| {
            let at_m = press.at_m[axis];
            let mut breaks_m = vec![low_m[axis], at_m, high_m[axis]];
            if mirrors.contains(&side) {
                breaks_m.remove(0);
            }
            aligned_axis(&breaks_m, |x_m| size_m((x_m - at_m).abs()))
        };
        let mut floors_m = vec![0.0];
        for layer in &self.layers {
            let last_m = floors_m[floors_m.len() - 1];
            floors_m.push(last_m - layer.thickness_m);
        }
        // the thicknesses sum to the height within rounding
        floors_m.pop();
        floors_m.push(low_m.z);
        floors_m.reverse();
        let up_m = aligned_axis(&floors_m, |z_m| size_m(-z_m))?;
        let (x_m, y_m) = (across(0, BlockSide::XMin)?, across(1, BlockSide::YMin)?);
        HexMesh::block([&x_m, &y_m, &up_m])
    }
}
