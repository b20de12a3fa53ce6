//! Blocks that a study can change: finite elements, or a voxel model, with a lump.
//!
//! Source: ours; the weighted rule of links between unlike nodes is that of seed-001 section 3.4.2.

use palpate_analysis::Failure;
use palpate_scene::{Block, SceneBody, VoxelBlock};
use palpate_twin::Vec3;
use palpate_twin::law::MixingRule;

use crate::messages::wrong;

/// Largest number of sub-steps per millisecond, if the scene allows fewer: a study need not run in real time,
/// and additional mass for stiff cells is not always stable (a lump of 7.5 mm, 10 times as stiff,
/// 10 mm deep, lost the tissue under the tool at 16).
const SUBSTEPS_MAX: u32 = 100;
/// Mixing rules of cell moduli.
const MIXINGS: [(MixingRule, &str); 4] = [
    (MixingRule::Voigt, "voigt"),
    (MixingRule::Hill, "hill"),
    (MixingRule::Geometric, "geometric"),
    (MixingRule::Reuss, "reuss"),
];
/// Only rule of links.
const SERIES: &str = "series";

/// Lump of the sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ball {
    /// Depth of its centre \[m\].
    pub(super) depth_m: f64,
    /// Radius \[m\].
    pub(super) radius_m: f64,
    /// Modulus over that of the layer around the scene's own lump.
    pub(super) contrast: f64,
}

/// Block with a lump, its first inclusion.
#[derive(Debug, Clone)]
pub(super) enum LumpBlock {
    Cells(Block),
    Links(VoxelBlock),
}

impl LumpBlock {
    /// Block of a scene, or a description of what the scene has instead.
    pub(super) fn of(body: &SceneBody) -> Result<Self, &'static str> {
        let (phantom, lumps) = match body {
            SceneBody::Block(block) => (Self::Cells(block.clone()), block.inclusions.len()),
            SceneBody::VoxelBlock(block) => (Self::Links(block.clone()), block.inclusions.len()),
            SceneBody::Lattice { .. } => return Err("is a lattice"),
            SceneBody::Flat(_) => return Err("is a flat sheet"),
            SceneBody::Mesh(_) => return Err("is a mesh"),
            SceneBody::VoxelBody(_) => return Err("is a volume of voxels"),
        };
        if lumps == 0 {
            return Err("has no inclusion");
        }
        Ok(phantom)
    }

    /// Centre and radius of the lump \[m\].
    pub(super) fn lump_m(&self) -> (Vec3, f64) {
        match self {
            Self::Cells(block) => {
                let lump = &block.inclusions[0];
                (lump.centre_m, lump.radius_m)
            }
            Self::Links(block) => (block.inclusions[0].centre_m, block.inclusions[0].radius_m),
        }
    }

    /// Edges of the block \[m\].
    pub(super) const fn size_m(&self) -> [f64; 3] {
        match self {
            Self::Cells(block) => block.size_m,
            Self::Links(block) => block.size_m,
        }
    }

    /// Edge of a finest cell \[m\].
    pub(super) const fn cell_m(&self) -> f64 {
        match self {
            Self::Cells(block) => block.zone.cell_m,
            Self::Links(block) => block.spacing_m,
        }
    }

    /// The block without the lump.
    pub(super) fn plain(mut self) -> Self {
        match &mut self {
            Self::Cells(block) => drop(block.inclusions.remove(0)),
            Self::Links(block) => drop(block.inclusions.remove(0)),
        }
        self
    }

    /// The block with its lump shifted along x and y \[m\].
    pub(super) fn shifted(mut self, by_m: f64) -> Self {
        let centre_m = match &mut self {
            Self::Cells(block) => &mut block.inclusions[0].centre_m,
            Self::Links(block) => &mut block.inclusions[0].centre_m,
        };
        (centre_m.x, centre_m.y) = (centre_m.x + by_m, centre_m.y + by_m);
        self
    }

    /// The block with this lump in place of its own.
    pub(super) fn with(&self, ball: &Ball) -> Result<Self, Failure> {
        let Ball {
            depth_m,
            radius_m,
            contrast,
        } = *ball;
        let invalid = || {
            let expected = "a factor that gives a finite modulus";
            Failure::Usage(wrong("--contrasts", contrast, expected))
        };
        let mut changed = self.clone();
        match &mut changed {
            Self::Cells(block) => {
                let host = block.host_layer(&block.inclusions[0]);
                let host_pa = host.map(|layer| block.layers[layer].material.young_pa());
                let lump = &mut block.inclusions[0];
                (lump.radius_m, lump.centre_m.z, lump.solid) = (radius_m, -depth_m, None);
                let own = &lump.material;
                // a loaded block has layers
                let around_pa = host_pa.unwrap_or(own.young_pa());
                let factor = contrast * around_pa / own.young_pa();
                lump.material = own.scaled(factor).map_err(|_| invalid())?;
            }
            Self::Links(block) => {
                let around_pa = block
                    .host_material(&block.inclusions[0].centre_m)
                    .modulus_pa;
                let lump = &mut block.inclusions[0];
                (lump.radius_m, lump.centre_m.z, lump.solid) = (radius_m, -depth_m, None);
                lump.material.modulus_pa = contrast * around_pa;
                lump.material.check().map_err(|_| invalid())?;
            }
        }
        Ok(changed)
    }

    /// The block by every mixing rule for cells, or links, that contain lump and tissue; with the rules'
    /// names.
    pub(super) fn mixed(&self) -> Vec<(&'static str, Self)> {
        match self {
            Self::Cells(block) => MIXINGS
                .map(|(mixing, name)| {
                    let block = Block {
                        mixing,
                        ..block.clone()
                    };
                    (name, Self::Cells(block))
                })
                .to_vec(),
            Self::Links(_) => vec![(SERIES, self.clone())],
        }
    }

    /// Body of the scene to press.
    pub(super) fn body(self) -> SceneBody {
        match self {
            Self::Cells(mut block) => {
                let most = &mut block.params.substeps_max;
                *most = (*most).max(SUBSTEPS_MAX);
                SceneBody::Block(block)
            }
            Self::Links(block) => SceneBody::VoxelBlock(block),
        }
    }
}
