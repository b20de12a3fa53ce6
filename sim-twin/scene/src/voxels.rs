//! Scenes of a linked volume whose tissues are the labels of voxels: of a file or of a phantom.
//!
//! Source: seed-001 rows LV-04 and LV-05. An element for each voxel that is no air, at the voxels' own distance or at
//! another one; a material for each label. The body is centred under the origin, its highest element at z = 0;
//! its lowest elements are held, and all of a material that says so. One bonded volume, or with `separate` an object
//! for each label, which no link leaves.

mod text;
mod turn;

use std::collections::BTreeMap;

use super::Lump;
use super::linked::LinkedBlockError;
use palpate_geometry::volume::label::LabelError;
use palpate_geometry::volume::phantom::PhantomError;
use palpate_geometry::volume::{GridError, VolumeFileError};
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_voxel::elements::{Elements, ElementsError, Frame, Seed};
use palpate_voxel::matter::Matter;
use palpate_voxel::{Linked, LinkedParams};

pub(super) use text::{LabelText, VolumeText};

/// What the voxels of a label, or in a band of intensities, are.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelMatter {
    /// Its label; of bands the number of the band, from 1.
    pub label: u16,
    /// What it is made of.
    pub matter: Matter,
    /// Whether its elements are held where they are.
    pub held: bool,
    /// Whether it is what a palpation should find.
    pub is_lump: bool,
}

/// A body of elements and links, from voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedVoxels {
    /// Where its voxels come from, in words.
    pub source: String,
    /// Where its sites are.
    pub frame: Frame,
    /// Sites along each axis.
    pub counts: [usize; 3],
    /// A tissue for each site, the first index running fastest: its number from 1, 0 for air.
    pub sites: Vec<u8>,
    /// Its tissues.
    pub tissues: Vec<LabelMatter>,
    /// Whether labels are objects of their own.
    pub separate: bool,
    /// Choices of the model.
    pub params: LinkedParams,
}

/// Why there is no such body.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkedVoxelsError {
    /// A field of the scene is out of its range, or the model refuses it.
    #[error(transparent)]
    Linked(#[from] LinkedBlockError),
    /// The file cannot be had.
    #[error("scene field `volume.file` is {file}: {message}; expected a volume beside the scene")]
    File {
        /// As the scene names it.
        file: String,
        /// Why not.
        message: String,
    },
    /// The file is no volume.
    #[error("{file}: {source}")]
    Volume {
        /// As the scene names it.
        file: String,
        /// What is wrong.
        source: VolumeFileError,
    },
    /// The volume has no labels.
    #[error("{file}: {source} (`low` and `high` of each [[material]])")]
    Labels {
        /// As the scene names it.
        file: String,
        /// What is wrong.
        source: LabelError,
    },
    /// No such phantom.
    #[error("scene table `volume.phantom`: {0}")]
    Phantom(#[from] PhantomError),
    /// No such lattice.
    #[error("scene field `linked.spacing_m`: {0}")]
    Grid(#[from] GridError),
}

impl LinkedVoxels {
    /// Its edges, from the first element to the last \[m\].
    #[must_use]
    pub fn size_m(&self) -> [f64; 3] {
        let along = |axis: usize| (self.counts[axis] - 1) as f64 * self.frame.spacing_m[axis];
        std::array::from_fn(along)
    }

    /// Elements of each tissue.
    #[must_use]
    pub fn amounts(&self) -> Vec<usize> {
        let mut amounts = vec![0; self.tissues.len()];
        for &number in self.sites.iter().filter(|&&number| number > 0) {
            amounts[usize::from(number) - 1] += 1;
        }
        amounts
    }

    /// The volume at rest, with what is held pinned.
    ///
    /// # Errors
    /// If materials or sizes are unfit.
    pub fn volume(&self) -> Result<Elements<f32>, ElementsError> {
        let matters = self.tissues.iter().map(|tissue| tissue.matter.clone());
        let mut volume = Elements::new(self.frame, matters.collect(), &self.seeds())?;
        let lowest = (0..volume.slots()).map(|element| volume.site(element)[2]);
        let lowest = lowest.min().unwrap_or_default();
        for element in 0..volume.slots() {
            let tissue = &self.tissues[usize::from(volume.matter(element))];
            volume.pin(element, tissue.held || volume.site(element)[2] == lowest);
        }
        Ok(volume)
    }

    fn seeds(&self) -> Vec<Seed> {
        let [nx, ny, _] = self.counts;
        let whole = |along: usize| i32::try_from(along).unwrap_or(i32::MAX);
        let seed = |(slot, &number): (usize, &u8)| {
            let matter = number.checked_sub(1)?;
            let label = self.tissues[usize::from(matter)].label;
            Some(Seed {
                site: [slot % nx, slot / nx % ny, slot / (nx * ny)].map(whole),
                matter,
                object: if self.separate { u32::from(label) } else { 0 },
            })
        };
        self.sites.iter().enumerate().filter_map(seed).collect()
    }

    /// A new tissue, at rest.
    ///
    /// # Errors
    /// If the volume or a parameter is unfit.
    pub fn solver(&self) -> Result<Linked, LinkedBlockError> {
        Ok(Linked::new(self.volume()?, self.params)?)
    }

    /// What a palpation should find, as seen from above: the middle of each such tissue, the radius of a ball of
    /// its volume, and its stiffness over that of the tissue which most of its surface touches.
    ///
    /// # Errors
    /// If materials or sizes are unfit.
    pub fn lumps(&self) -> Result<Vec<Lump>, ElementsError> {
        if !self.tissues.iter().any(|tissue| tissue.is_lump) {
            return Ok(Vec::new());
        }
        let volume = self.volume()?;
        let numbers = 0_u8..=u8::MAX;
        let tissues = self.tissues.iter().zip(numbers);
        let lumps = tissues.filter(|(tissue, _)| tissue.is_lump);
        Ok(lumps
            .filter_map(|(tissue, own)| self.lump(&volume, tissue, own))
            .collect())
    }

    fn lump(&self, volume: &Elements<f32>, tissue: &LabelMatter, own: u8) -> Option<Lump> {
        let mut around: BTreeMap<u8, usize> = BTreeMap::new();
        let (mut sum_m, mut count) = (Vec3::zeros(), 0.0);
        for element in (0..volume.slots()).filter(|&element| volume.matter(element) == own) {
            sum_m += volume.rest_m(element);
            count += 1.0;
            for to in Direction::ALL {
                let beside = volume.at_site(to.from(volume.site(element)));
                if let Some(other) = beside.map(|other| volume.matter(other)) {
                    *around.entry(other).or_insert(0) += usize::from(other != own);
                }
            }
        }
        let (&host, _) = around.iter().max_by_key(|(_, links)| **links)?;
        let host_pa = self.tissues.get(usize::from(host))?.matter.modulus_pa;
        let volume_m3 = count * self.frame.spacing_m.iter().product::<f64>();
        let middle_m = sum_m / count;
        Some(Lump {
            center_m: [middle_m.x, middle_m.y],
            radius_m: libm::cbrt(0.75 / std::f64::consts::PI * volume_m3),
            factor: tissue.matter.modulus_pa / host_pa,
        })
    }
}

#[cfg(test)]
mod tests;
