//! Volume fractions of regions (layers and inclusions) in every cell.
//!
//! Source: ours. With a modulus sampled at a cell's centre, the size of a nodule depends on the
//! mesh; volume fractions avoid that. Fractions come from a uniform grid of samples inside every cell.

use crate::Defect;
use crate::mesh::hex::{CORNERS, HexMesh};
use palpate_twin::Vec3;
use palpate_twin::law::{
    BRANCHES_MAX, CellMaterial, Material, MixingRule, Moduli, Viscosity, mix_moduli,
};
use palpate_twin::shape::RegionShape;

/// Part of the tissue: its shape and its material.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Shape; a later region of a list replaces an earlier one.
    pub shape: RegionShape,
    /// Material.
    pub material: Material,
}

/// Volume fractions of the regions in every cell.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionFractions {
    /// Index of the first entry of every cell, and the number of entries.
    starts: Vec<usize>,
    /// Region and fraction; the fractions of a cell sum to 1.
    entries: Vec<(usize, f64)>,
}

impl RegionFractions {
    /// Computes fractions from `samples`^3 samples a cell, at least 1; 1 sample is the centre, 10 are accurate to 1 %.
    ///
    /// # Errors
    /// Names a cell with a sample that lies in no region.
    pub fn sample(mesh: &HexMesh, regions: &[Region], samples: u32) -> Result<Self, Defect> {
        let mut shares = Self {
            starts: vec![0],
            entries: Vec::new(),
        };
        for cell in 0..mesh.cells.len() {
            let corners_m = mesh.corners_m(cell);
            if let Some(region) = covering(regions, &corners_m) {
                shares.entries.push((region, 1.0));
            } else {
                let fractions = sampled(regions, &corners_m, samples).map_err(|at_m| {
                    let at_m = at_m.as_slice();
                    Defect::from_text(format!(
                        "cell {cell} has a part in no region, at {at_m:?} m"
                    ))
                })?;
                let present = fractions.into_iter().enumerate();
                shares.entries.extend(present.filter(|(_, f)| *f > 0.0));
            }
            shares.starts.push(shares.entries.len());
        }
        Ok(shares)
    }

    /// Regions of a cell with their fractions.
    #[must_use]
    pub fn in_cell(&self, cell: usize) -> &[(usize, f64)] {
        &self.entries[self.starts[cell]..self.starts[cell + 1]]
    }

    /// Regions of every cell with their fractions.
    fn cells(&self) -> impl Iterator<Item = &[(usize, f64)]> {
        (0..self.starts.len() - 1).map(|cell| self.in_cell(cell))
    }

    /// Moduli of every cell by a mixing rule.
    #[must_use]
    pub fn moduli(&self, regions: &[Region], mixing: MixingRule) -> Vec<Moduli> {
        let moduli = |&(region, share): &(usize, f64)| (share, regions[region].material.moduli());
        let mixed = self.cells();
        mixed
            .filter_map(|phases| mix_moduli(mixing, phases.iter().map(moduli)))
            .collect()
    }

    /// Material of every cell: moduli by a mixing rule, mass and viscosity by volume, relaxation times for which a
    /// shared cell initially relaxes as fast as its parts, branch by branch, and the law of its largest part.
    #[must_use]
    pub fn cell_materials(&self, regions: &[Region], mixing: MixingRule) -> Vec<CellMaterial> {
        let mean = |(cell, moduli)| {
            let (mut density_kgpm3, mut viscosity) = (0.0, Viscosity::NONE);
            let mut rates = [0.0; BRANCHES_MAX];
            let (mut law, mut largest) = (None, 0.0);
            for &(region, part) in self.in_cell(cell) {
                let own = regions[region].material.cell_material();
                density_kgpm3 += part * own.density_kgpm3;
                viscosity.shear_pas += part * own.viscosity.shear_pas;
                viscosity.bulk_pas += part * own.viscosity.bulk_pas;
                if part > largest {
                    (law, largest) = (own.law, part);
                }
                let pairs = viscosity.branches.iter_mut().zip(own.viscosity.used());
                for ((mixed, branch), rate) in pairs.zip(&mut rates) {
                    mixed.share += part * branch.share;
                    *rate += part * branch.share / branch.time_s;
                }
            }
            for (mixed, rate) in viscosity.branches.iter_mut().zip(rates) {
                if rate > 0.0 {
                    mixed.time_s = mixed.share / rate;
                }
            }
            CellMaterial {
                moduli,
                density_kgpm3,
                viscosity,
                law,
            }
        };
        let moduli = self.moduli(regions, mixing);
        moduli.into_iter().enumerate().map(mean).collect()
    }
}

/// Region that covers the whole of a cell, if its shape says so without samples.
fn covering(regions: &[Region], corners_m: &[Vec3; 8]) -> Option<usize> {
    let sides = regions.iter().map(|r| r.shape.contains_cell(corners_m));
    let (last, side) = sides.enumerate().rfind(|(_, side)| *side != Some(false))?;
    side?.then_some(last)
}

/// Fractions of all regions in a cell from `samples`^3 samples, or a sample \[m\] that lies in no region.
fn sampled(regions: &[Region], corners_m: &[Vec3; 8], samples: u32) -> Result<Vec<f64>, Vec3> {
    let mut counts = vec![0.0; regions.len()];
    for sample in 0..samples.pow(3) {
        let index = [
            sample % samples,
            sample / samples % samples,
            sample / samples.pow(2),
        ];
        let local = index.map(|i| (2.0 * f64::from(i) + 1.0) / f64::from(samples) - 1.0);
        let at_m = interpolated(corners_m, local);
        let found = regions.iter().rposition(|r| r.shape.contains(&at_m));
        counts[found.ok_or(at_m)?] += 1.0;
    }
    let total = f64::from(samples).powi(3);
    Ok(counts.into_iter().map(|count| count / total).collect())
}

/// Position at local coordinates in `[-1, 1]` of a cell.
fn interpolated(corners_m: &[Vec3; 8], local: [f64; 3]) -> Vec3 {
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
    use crate::mesh::tests::even;
    use palpate_twin::shape::{SolidForm, TurnedSolid};
    use proptest::prelude::*;

    fn material(young_pa: f64) -> Material {
        Material::new(young_pa, 0.45, 1000.0).unwrap()
    }

    fn cube(cells: u32) -> HexMesh {
        let axis_m = even(0.1, cells);
        HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap()
    }

    fn solid(form: SolidForm, centre_m: [f64; 3], half_m: [f64; 3], turn: f64) -> RegionShape {
        RegionShape::Solid {
            centre_m: centre_m.into(),
            solid: TurnedSolid {
                form,
                half_m: half_m.into(),
                axis: [libm::cos(turn), libm::sin(turn)],
            },
        }
    }

    /// Largest relative error of the volume of a ball of `radius_m` by samples `apart_m` apart.
    ///
    /// A sample stands for a cube of edge h. The surface cuts 6 pi (R/h)^2 cubes, as many as its projections
    /// along the axes cover twice; each is counted whole or not at all, an error of variance 1/12 of a cube. Their sum over
    /// 4/3 pi (R/h)^3 has the standard deviation sqrt(pi/2) 3/(4 pi) (h/R)^2 = 0.3 (h/R)^2. Cubes around a ball
    /// whose middle is near a point of symmetry of the grid err alike: a search over the cell finds 7 deviations there.
    fn bound(radius_m: f64, apart_m: f64) -> f64 {
        8.0 * 0.3 * (apart_m / radius_m).powi(2)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn ball_volume_is_independent_of_position(
            x in 0.02..0.08_f64, y in 0.02..0.08_f64, z in 0.02..0.08_f64,
        ) {
            let mesh = cube(8);
            let ball = RegionShape::Ball { centre_m: Vec3::new(x, y, z), radius_m: 0.015 };
            let regions = [
                Region { shape: RegionShape::All, material: material(5e3) },
                Region { shape: ball, material: material(50e3) },
            ];
            let shares = RegionFractions::sample(&mesh, &regions, 10).unwrap();
            let cell_m3 = 0.0125_f64.powi(3);
            let mut volume_m3 = 0.0;
            for cell in 0..mesh.cells.len() {
                let sum: f64 = shares.in_cell(cell).iter().map(|(_, share)| share).sum();
                prop_assert!((sum - 1.0).abs() < 1e-12);
                let hard = shares.in_cell(cell).iter().filter(|(region, _)| *region == 1);
                volume_m3 += cell_m3 * hard.map(|(_, share)| share).sum::<f64>();
            }
            let exact_m3 = 4.0 / 3.0 * std::f64::consts::PI * 0.015_f64.powi(3);
            prop_assert!((volume_m3 / exact_m3 - 1.0).abs() < bound(0.015, 0.00125), "{volume_m3}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn turned_solid_has_its_volume_and_reach(
            x in 0.04..0.06_f64, y in 0.04..0.06_f64, turn in -3.0..3.0_f64, box_shaped in any::<bool>(),
        ) {
            let mesh = cube(8);
            let half_m = [0.03, 0.012, 0.018];
            // two sides of a box that are parallel to the samples miss up to a sample together
            let missed: f64 = half_m.iter().map(|half_m| 0.00125 / (2.0 * half_m)).sum();
            let (form, part, bound) = match box_shaped {
                true => (SolidForm::Box, 8.0, missed),
                false => (SolidForm::Ellipsoid, 4.0 / 3.0 * std::f64::consts::PI, bound(0.012, 0.00125)),
            };
            let shape = solid(form, [x, y, 0.05], half_m, turn);
            let regions = [
                Region { shape: RegionShape::All, material: material(5e3) },
                Region { shape, material: material(50e3) },
            ];
            let shares = RegionFractions::sample(&mesh, &regions, 10).unwrap();
            let cells = (0..mesh.cells.len()).flat_map(|cell| shares.in_cell(cell).iter());
            let share: f64 = cells.filter(|(region, _)| *region == 1).map(|(_, share)| share).sum();
            let (volume_m3, exact_m3) = (share * 0.0125_f64.powi(3), part * half_m.iter().product::<f64>());
            prop_assert!((volume_m3 / exact_m3 - 1.0).abs() < bound, "{volume_m3}");
            // it touches the sides of the box around it and stays within
            let [middle_m, reach_m] = shape.around_m().unwrap();
            let around = (0..20_000_u32).map(|k| f64::from(k) * 3.141_592_653_589_793e-4);
            let most_m = around.fold(0.0_f64, |most_m, angle| {
                let out_m = Vec3::new(libm::cos(angle), libm::sin(angle), 0.0);
                let far = (0..600).rev().map(|k| f64::from(k) * 1e-4);
                let edge = far.map(|r| out_m * r).find(|at_m| shape.contains(&(middle_m + at_m)));
                most_m.max(edge.map_or(0.0, |at_m| at_m.x))
            });
            prop_assert!((most_m - reach_m.x).abs() < 2.5e-4, "{most_m} {reach_m}");
        }
    }

    proptest! {
        #[test]
        fn covered_cell_has_the_fractions_of_its_samples(
            x in -0.01..0.11_f64, y in -0.01..0.11_f64, z in -0.01..0.11_f64,
            radius_m in 0.001..0.08_f64, height_m in 0.01..0.09_f64, turn in -3.0..3.0_f64,
        ) {
            let mesh = cube(6);
            let shapes = [
                RegionShape::All,
                RegionShape::Layer { from_m: height_m, to_m: 0.1 },
                RegionShape::Ball { centre_m: Vec3::new(x, y, z), radius_m },
                solid(SolidForm::Box, [z, x, y], [radius_m, 0.03, 0.02], turn),
                solid(SolidForm::Ellipsoid, [y, z, x], [0.02, radius_m, 0.03], turn),
            ];
            let regions = shapes.map(|shape| Region { shape, material: material(5e3) });
            let mut covered = 0;
            for cell in 0..mesh.cells.len() {
                let corners_m = mesh.corners_m(cell);
                if let Some(region) = covering(&regions, &corners_m) {
                    covered += 1;
                    let mut whole = vec![0.0; 5];
                    whole[region] = 1.0;
                    prop_assert_eq!(sampled(&regions, &corners_m, 5).unwrap(), whole);
                }
            }
            prop_assert!(covered > 0);
        }
    }

    #[test]
    fn layers_that_meet_cover_every_cell_once() {
        let mesh = cube(4);
        let layer = |from_m, to_m| RegionShape::Layer { from_m, to_m };
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
        let shares = RegionFractions::sample(&mesh, &regions, 10).unwrap();
        let stuff = shares.cell_materials(&regions, MixingRule::Voigt);
        assert_eq!(stuff.len(), mesh.cells.len());
        // the third layer of cells, 0.05 to 0.075, has 0.4 of the lower material
        let (low, high) = (regions[0].material.moduli(), regions[1].material.moduli());
        let expected = 0.4 * low.mu_pa + 0.6 * high.mu_pa;
        assert!((stuff[2 * 16].moduli.mu_pa - expected).abs() < 1e-9);
        assert!((stuff[3].density_kgpm3 - 1000.0).abs() < 1e-9);
        let gap = [Region {
            shape: layer(0.0, 0.06),
            material: material(5e3),
        }];
        let text = RegionFractions::sample(&mesh, &gap, 4)
            .unwrap_err()
            .to_string();
        assert!(
            text.starts_with("cell 32 has a part in no region"),
            "{text}"
        );
    }
}
