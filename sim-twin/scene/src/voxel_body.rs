//! Scenes of a voxel model whose tissues are the labels of voxels, from a file or a phantom.
//!
//! Source: seed-001 rows LV-04 and LV-05. Each voxel that is not air has a node, at the voxels' own distance or at
//! another one; each label has a material. The body is centred under the origin, its highest node at z = 0.
//! Its lowest nodes are pinned, and all nodes of a `held` material. The body is one bonded volume, or with
//! `separate` one object per label, without links between them.

mod orientation;
mod text;

use std::collections::BTreeMap;

use super::{Lump, SceneError};
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes, VoxelNodesError};
use palpate_voxel::{VoxelModel, VoxelParams};

pub(super) use text::{LabelText, VolumeText};

/// Tissue of the voxels of a label, or in a band of intensities.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelMaterial {
    /// Label; for bands the number of the band, from 1.
    pub label: u16,
    /// Material.
    pub material: VoxelMaterial,
    /// True if its nodes are pinned.
    pub fixed: bool,
    /// True for a lump that a palpation should find.
    pub is_lump: bool,
}

/// Voxel model of a body, from voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelBody {
    /// Source of its voxels, as text.
    pub source: String,
    /// Positions of its sites.
    pub frame: LatticeFrame,
    /// Sites along each axis.
    pub counts: [usize; 3],
    /// Tissue of each site, the first index running fastest: its number from 1, 0 for air.
    pub sites: Vec<u8>,
    /// Its tissues.
    pub tissues: Vec<LabelMaterial>,
    /// True if labels are separate objects.
    pub separate: bool,
    /// Parameters of the model.
    pub params: VoxelParams,
}

impl VoxelBody {
    /// Its edges, from the first node to the last \[m\].
    #[must_use]
    pub fn size_m(&self) -> [f64; 3] {
        let along = |axis: usize| (self.counts[axis] - 1) as f64 * self.frame.spacing_m[axis];
        std::array::from_fn(along)
    }

    /// Number of nodes of each tissue.
    #[must_use]
    pub fn node_counts(&self) -> Vec<usize> {
        let mut amounts = vec![0; self.tissues.len()];
        for &number in self.sites.iter().filter(|&&number| number > 0) {
            amounts[usize::from(number) - 1] += 1;
        }
        amounts
    }

    /// Creates the nodes at rest, with fixed ones pinned.
    ///
    /// # Errors
    /// If materials or sizes are unfit.
    pub fn volume(&self) -> Result<VoxelNodes<f32>, VoxelNodesError> {
        let materials = self.tissues.iter().map(|tissue| tissue.material.clone());
        let mut volume = VoxelNodes::new(self.frame, materials.collect(), &self.seeds())?;
        let lowest = (0..volume.slots()).map(|node| volume.site(node)[2]);
        let lowest = lowest.min().unwrap_or_default();
        for node in 0..volume.slots() {
            let tissue = &self.tissues[usize::from(volume.material(node))];
            volume.set_pinned(node, tissue.fixed || volume.site(node)[2] == lowest);
        }
        Ok(volume)
    }

    fn seeds(&self) -> Vec<NodeSeed> {
        let [nx, ny, _] = self.counts;
        let whole = |along: usize| i32::try_from(along).unwrap_or(i32::MAX);
        let seed = |(slot, &number): (usize, &u8)| {
            let material = number.checked_sub(1)?;
            let label = self.tissues[usize::from(material)].label;
            Some(NodeSeed {
                site: [slot % nx, slot / nx % ny, slot / (nx * ny)].map(whole),
                material,
                object: if self.separate { u32::from(label) } else { 0 },
            })
        };
        self.sites.iter().enumerate().filter_map(seed).collect()
    }

    /// Creates a tissue, at rest.
    ///
    /// # Errors
    /// If the nodes or a parameter are unfit.
    pub fn solver(&self) -> Result<VoxelModel, SceneError> {
        Ok(VoxelModel::new(self.volume()?, self.params)?)
    }

    /// Lumps as seen from above. Each has the centre of each such tissue, the radius of a ball of
    /// its volume, and its stiffness over that of the tissue with the largest common surface.
    ///
    /// # Errors
    /// If materials or sizes are unfit.
    pub fn lumps(&self) -> Result<Vec<Lump>, VoxelNodesError> {
        if !self.tissues.iter().any(|tissue| tissue.is_lump) {
            return Ok(Vec::new());
        }
        let volume = self.volume()?;
        let numbers = 0_u8..=u8::MAX;
        let tissues = self.tissues.iter().zip(numbers);
        let lumps = tissues.filter(|(tissue, _)| tissue.is_lump);
        Ok(lumps
            .filter_map(|(tissue, own)| self.tissue_lump(&volume, tissue, own))
            .collect())
    }

    fn tissue_lump(
        &self,
        volume: &VoxelNodes<f32>,
        tissue: &LabelMaterial,
        own: u8,
    ) -> Option<Lump> {
        let mut around: BTreeMap<u8, usize> = BTreeMap::new();
        let (mut sum_m, mut count) = (Vec3::zeros(), 0.0);
        for node in (0..volume.slots()).filter(|&node| volume.material(node) == own) {
            sum_m += volume.rest_m(node);
            count += 1.0;
            for to in NeighbourDirection::ALL {
                let beside = volume.at_site(to.neighbour_site(volume.site(node)));
                if let Some(other) = beside.map(|other| volume.material(other)) {
                    *around.entry(other).or_insert(0) += usize::from(other != own);
                }
            }
        }
        let (&host, _) = around.iter().max_by_key(|(_, links)| **links)?;
        let host_pa = self.tissues.get(usize::from(host))?.material.modulus_pa;
        let volume_m3 = count * self.frame.spacing_m.iter().product::<f64>();
        let middle_m = sum_m / count;
        Some(Lump {
            center_m: [middle_m.x, middle_m.y],
            radius_m: libm::cbrt(0.75 / std::f64::consts::PI * volume_m3),
            factor: tissue.material.modulus_pa / host_pa,
        })
    }
}

#[cfg(test)]
mod tests;
