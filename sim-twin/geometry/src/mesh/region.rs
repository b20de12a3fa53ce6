//! Layers and inclusions: which share of every cell belongs to which region.
//!
//! Source: ours. A modulus sampled at a cell's centre makes a nodule exist or not by the luck of the
//! mesh; shares of volume do not. Shares come from an even grid of samples inside every cell.

use crate::mesh::hex::{CORNERS, HexMesh};
use palpate_twin::Vec3;
use palpate_twin::law::{Material, Mixing, Moduli, Viscosity, mix};
use palpate_twin::shape::Shape;

/// A part of the tissue: where it is and what it is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Where; a later region of a list replaces an earlier one.
    pub shape: Shape,
    /// Of what.
    pub material: Material,
}

/// Shares of the regions in every cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// First entry of every cell, and one past the last cell's.
    starts: Vec<usize>,
    /// Region and share; the shares of a cell sum to 1.
    entries: Vec<(usize, f64)>,
}

/// Why shares cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum RegionError {
    /// A part of a cell belongs to no region.
    #[error("cell {cell} has a part in no region, at {:?} m", at_m.as_slice())]
    Uncovered {
        /// The cell.
        cell: usize,
        /// The place \[m\].
        at_m: Vec3,
    },
    /// No samples.
    #[error("0 samples an edge; expected at least 1")]
    Samples,
}

impl Shares {
    /// Shares from `samples`^3 samples a cell; 1 sample is its centre, 10 give shares to about 1 %.
    ///
    /// # Errors
    /// Names a cell with a sample that lies in no region.
    pub fn take(mesh: &HexMesh, regions: &[Region], samples: u32) -> Result<Self, RegionError> {
        if samples == 0 {
            return Err(RegionError::Samples);
        }
        let mut shares = Self {
            starts: vec![0],
            entries: Vec::new(),
        };
        let mut counts = vec![0.0; regions.len()];
        let total = f64::from(samples).powi(3);
        for cell in 0..mesh.cells.len() {
            counts.fill(0.0);
            let corners_m = mesh.corners_m(cell);
            for sample in 0..samples.pow(3) {
                let index = [
                    sample % samples,
                    sample / samples % samples,
                    sample / samples.pow(2),
                ];
                let local = index.map(|i| (2.0 * f64::from(i) + 1.0) / f64::from(samples) - 1.0);
                let at_m = inside(&corners_m, local);
                let found = regions.iter().rposition(|r| r.shape.contains(&at_m));
                match found {
                    Some(region) => counts[region] += 1.0,
                    None => return Err(RegionError::Uncovered { cell, at_m }),
                }
            }
            let present = counts.iter().enumerate().filter(|&(_, &count)| count > 0.0);
            shares
                .entries
                .extend(present.map(|(region, &count)| (region, count / total)));
            shares.starts.push(shares.entries.len());
        }
        Ok(shares)
    }

    /// Regions of a cell with their shares.
    #[must_use]
    pub fn of(&self, cell: usize) -> &[(usize, f64)] {
        &self.entries[self.starts[cell]..self.starts[cell + 1]]
    }

    /// Moduli of every cell by a mixing rule.
    #[must_use]
    pub fn moduli(&self, regions: &[Region], mixing: Mixing) -> Vec<Moduli> {
        let cells = 0..self.starts.len() - 1;
        let mixed = cells.filter_map(|cell| {
            let phases = self.of(cell).iter();
            mix(
                mixing,
                phases.map(|&(region, share)| (share, regions[region].material.moduli())),
            )
        });
        mixed.collect()
    }

    /// Density of every cell \[kg/m^3\]: mass is additive, so there is one rule.
    #[must_use]
    pub fn densities_kgpm3(&self, regions: &[Region]) -> Vec<f64> {
        let cells = 0..self.starts.len() - 1;
        let mean = |cell| {
            let phases = self.of(cell).iter();
            phases
                .map(|&(region, share)| share * regions[region].material.density_kgpm3())
                .sum()
        };
        cells.map(mean).collect()
    }
}

impl Shares {
    /// What is viscous of every cell: viscosities and shares by volume, and times so that a shared
    /// cell relaxes at first as fast as its parts do.
    #[must_use]
    pub fn viscosities(&self, regions: &[Region]) -> Vec<Viscosity> {
        let mean = |cell| {
            let (mut sum, mut rate) = (Viscosity::NONE, 0.0);
            for &(region, part) in self.of(cell) {
                let own = regions[region].material.viscosity();
                sum.shear_pas += part * own.shear_pas;
                sum.bulk_pas += part * own.bulk_pas;
                sum.share += part * own.share;
                rate += part * own.share / own.time_s;
            }
            if rate > 0.0 {
                sum.time_s = sum.share / rate;
            }
            sum
        };
        (0..self.starts.len() - 1).map(mean).collect()
    }
}

/// The place at local coordinates in `[-1, 1]` of a cell.
fn inside(corners_m: &[Vec3; 8], local: [f64; 3]) -> Vec3 {
    let weight = |signs: &[f64; 3]| {
        let factors = signs
            .iter()
            .zip(local)
            .map(|(sign, x)| 0.5 * (1.0 + sign * x));
        factors.product::<f64>()
    };
    CORNERS
        .iter()
        .zip(corners_m)
        .map(|(signs, corner)| corner * weight(signs))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::grade::even;
    use proptest::prelude::*;

    fn material(young_pa: f64) -> Material {
        Material::new(young_pa, 0.45, 1000.0).unwrap()
    }

    fn cube(cells: u32) -> HexMesh {
        let axis_m = even(0.1, cells);
        HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_volume_of_a_ball_is_kept_wherever_it_is(
            x in 0.02..0.08_f64, y in 0.02..0.08_f64, z in 0.02..0.08_f64,
        ) {
            let mesh = cube(8);
            let ball = Shape::Ball { centre_m: Vec3::new(x, y, z), radius_m: 0.015 };
            let regions = [
                Region { shape: Shape::All, material: material(5e3) },
                Region { shape: ball, material: material(50e3) },
            ];
            let shares = Shares::take(&mesh, &regions, 10).unwrap();
            let cell_m3 = 0.0125_f64.powi(3);
            let mut volume_m3 = 0.0;
            for cell in 0..mesh.cells.len() {
                let sum: f64 = shares.of(cell).iter().map(|(_, share)| share).sum();
                prop_assert!((sum - 1.0).abs() < 1e-12);
                let hard = shares.of(cell).iter().filter(|(region, _)| *region == 1);
                volume_m3 += cell_m3 * hard.map(|(_, share)| share).sum::<f64>();
            }
            let exact_m3 = 4.0 / 3.0 * std::f64::consts::PI * 0.015_f64.powi(3);
            prop_assert!((volume_m3 / exact_m3 - 1.0).abs() < 0.01, "{volume_m3}");
        }
    }

    #[test]
    fn layers_that_meet_cover_every_cell_once() {
        let mesh = cube(4);
        let layer = |from_m, to_m| Shape::Layer { from_m, to_m };
        let regions = [
            Region {
                shape: layer(0.0, 0.06),
                material: material(5e3),
            },
            Region {
                shape: layer(0.06, 0.1),
                material: material(20e3),
            },
        ];
        let shares = Shares::take(&mesh, &regions, 10).unwrap();
        let moduli = shares.moduli(&regions, Mixing::Voigt);
        assert_eq!(moduli.len(), mesh.cells.len());
        // the third layer of cells, 0.05 to 0.075, has 0.4 of the lower material
        let (low, high) = (regions[0].material.moduli(), regions[1].material.moduli());
        let expected = 0.4 * low.mu_pa + 0.6 * high.mu_pa;
        assert!((moduli[2 * 16].mu_pa - expected).abs() < 1e-9);
        assert!((shares.densities_kgpm3(&regions)[3] - 1000.0).abs() < 1e-9);
        let gap = [Region {
            shape: layer(0.0, 0.06),
            material: material(5e3),
        }];
        assert!(matches!(
            Shares::take(&mesh, &gap, 4),
            Err(RegionError::Uncovered { cell: 32, .. })
        ));
    }
}
