//! What a study can change: a block of finite elements, or one of elements and links, with a lump.
//!
//! Source: ours; the weighted rule of links between unlike elements is that of seed-001 section 3.4.2.

use palpate_scene::{Block, Body, LinkedBlock};
use palpate_twin::Vec3;
use palpate_twin::law::{Material, Mixing};
use palpate_voxel::matter::Matter;

use super::DetectError;

/// Sub-steps a millisecond that cells may ask for, if the scene allows fewer: nobody waits for a study,
/// and mass given to stiff cells instead is not always stable (a lump of 7.5 mm, 10 times as stiff,
/// 10 mm deep lost the tissue under the tool at 16).
const SUBSTEPS_MAX: u32 = 100;
/// The rules that moduli of cells can be mixed by.
const MIXINGS: [(Mixing, &str); 4] = [
    (Mixing::Voigt, "voigt"),
    (Mixing::Hill, "hill"),
    (Mixing::Geometric, "geometric"),
    (Mixing::Reuss, "reuss"),
];
/// The one rule of links.
const SERIES: &str = "series";

/// A block with a lump, its first inclusion.
#[derive(Debug, Clone)]
pub(super) enum Phantom {
    Cells(Block),
    Links(LinkedBlock),
}

impl Phantom {
    /// The tissue of a scene, or what it is instead.
    pub(super) fn of(body: &Body) -> Result<Self, &'static str> {
        let (phantom, lumps) = match body {
            Body::Block(block) => (Self::Cells(block.clone()), block.inclusions.len()),
            Body::Linked(block) => (Self::Links(block.clone()), block.balls.len()),
            Body::Lattice { .. } => return Err("is a lattice"),
            Body::Flat(_) => return Err("is a flat sheet"),
            Body::Mesh(_) => return Err("is a mesh"),
            Body::Voxels(_) => return Err("is a volume of voxels"),
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
            Self::Links(block) => (block.balls[0].0, block.balls[0].1),
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
            Self::Links(block) => drop(block.balls.remove(0)),
        }
        self
    }

    /// The block with its lump shifted along x and y \[m\].
    pub(super) fn shifted(mut self, by_m: f64) -> Self {
        let centre_m = match &mut self {
            Self::Cells(block) => &mut block.inclusions[0].centre_m,
            Self::Links(block) => &mut block.balls[0].0,
        };
        (centre_m.x, centre_m.y) = (centre_m.x + by_m, centre_m.y + by_m);
        self
    }

    /// The block with a lump of this depth, radius \[m\] and modulus over that of the layer around the scene's own.
    pub(super) fn with(
        &self,
        [depth_m, radius_m, contrast]: [f64; 3],
    ) -> Result<Self, DetectError> {
        let unfit = || DetectError::Field {
            field: "--contrasts",
            value: contrast,
            expected: "a factor that gives a finite modulus".to_owned(),
        };
        let mut changed = self.clone();
        match &mut changed {
            Self::Cells(block) => {
                let host = block.host(&block.inclusions[0]);
                let host_pa = host.map(|layer| block.layers[layer].material.young_pa());
                let lump = &mut block.inclusions[0];
                (lump.radius_m, lump.centre_m.z) = (radius_m, -depth_m);
                let own = &lump.material;
                // a block that was loaded has layers
                let around_pa = host_pa.unwrap_or(own.young_pa());
                let material =
                    Material::new(contrast * around_pa, own.poisson(), own.density_kgpm3());
                lump.material = material.map_err(|_| unfit())?;
            }
            Self::Links(block) => {
                let around_pa = block.host(&block.balls[0].0).modulus_pa;
                let (centre_m, radius, matter) = &mut block.balls[0];
                (*radius, centre_m.z) = (radius_m, -depth_m);
                *matter = Matter {
                    modulus_pa: contrast * around_pa,
                    ..matter.clone()
                };
                matter.check().map_err(|_| unfit())?;
            }
        }
        Ok(changed)
    }

    /// The block by every rule that it has for cells, or links, that lump and tissue share; with the rules'
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

    /// The tissue to press.
    pub(super) fn body(self) -> Body {
        match self {
            Self::Cells(mut block) => {
                let most = &mut block.params.substeps_max;
                *most = (*most).max(SUBSTEPS_MAX);
                Body::Block(block)
            }
            Self::Links(block) => Body::Linked(block),
        }
    }
}
