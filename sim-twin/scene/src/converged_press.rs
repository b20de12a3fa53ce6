//! Converged force of a slow press on a block: the truth about a scene, for comparison with its twin.
//!
//! Source: ours. The problem is that of the scene itself: its layers, inclusions and law, a fixed bottom, free sides, and
//! a rigid, frictionless ball. Only the mesh is another: graded from the contact, with nodes on every interface, solved
//! statically ([`PressedBlock`]). The force on two meshes is extrapolated to cells of size zero, as the error of
//! trilinear cells grows as their square (Richardson 1911). Where the ball lies on a plane of symmetry of the block,
//! only the part on one side is meshed.

use super::block::{Block, SAMPLES};
use super::{Scene, SceneBody, SceneError};
use palpate_fem::PressedBlock;
use palpate_geometry::Defect;
use palpate_geometry::mesh::grading::aligned_axis;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_geometry::mesh::region::RegionFractions;

/// Edges of the finest cells over the half-width of the contact on a half-space, and least edge elsewhere over the
/// distance from the contact.
const FINEST_EDGE: f64 = 0.25;
const EDGE_A_DISTANCE: f64 = 0.3;
/// Edges of the coarser mesh over those of the finer one.
const COARSER: f64 = 1.4;

/// Force of a press on converged meshes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ConvergedForce {
    /// Force on the ball along z \[N\].
    pub(super) force_n: f64,
    /// Difference to the force on the finer mesh alone \[N\]. It does not bound the error: a press
    /// near an interface was 2.3 % off an outside engine.
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
        let fine_n = self.static_force_n(press, 1.0)?;
        let coarse_n = self.static_force_n(press, COARSER)?;
        let spread_n = (fine_n - coarse_n) / (COARSER * COARSER - 1.0);
        Ok(ConvergedForce {
            force_n: fine_n + spread_n,
            spread_n: spread_n.abs(),
        })
    }

    /// Force on a mesh whose edges are `factor` times the finest.
    fn static_force_n(&self, press: &BallPress, factor: f64) -> Result<f64, SceneError> {
        let mirrors = self.mirrors(press.at_m);
        let mesh = self.mesh_around(press, &mirrors, factor)?;
        let regions = self.regions();
        let shares = RegionFractions::sample(&mesh, &regions, SAMPLES)?;
        let moduli = shares.moduli(&regions, self.mixing);
        let pressed = PressedBlock {
            mesh: &mesh,
            family: self.params.law,
            moduli: &moduli,
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
                    .all(|ball| ball.centre_m[axis] == 0.0)
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
        factor: f64,
    ) -> Result<HexMesh, Defect> {
        let least_m = factor * FINEST_EDGE * press.contact_m();
        let size_m = |distance_m: f64| least_m.max(factor * EDGE_A_DISTANCE * distance_m);
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
