//! Materials of nodes, and the properties of a link between two of them.
//!
//! Source: seed-001 sections 3.3 (limits) and 3.4.2 (stiffness), row CL-02 (toughness). A link is a spring that pulls
//! its ends to their places at rest. A homogeneous lattice of such springs stores a Dirichlet energy, whose modulus
//! is that of a block in uniaxial strain. [`VoxelMaterial::of_young`] holds the calibration against an elastic
//! half-space under a flat punch.

use nalgebra::RealField;

use crate::limits::BondLimits;
use palpate_twin::edits::NeighbourDirection;
use palpate_twin::law::Real;

/// A material.
#[derive(Debug, Clone, PartialEq)]
pub struct VoxelMaterial {
    /// Name, as used in scenes and messages.
    pub name: String,
    /// Deformation limits of its links.
    pub limits: BondLimits,
    /// Modulus of the lattice \[Pa\], greater than zero: force of a link over its strain and its cross-section.
    pub modulus_pa: f64,
    /// Energy to create new surface with a blade \[J/m^2\], at least 0.
    pub toughness_jpm2: f64,
    /// Colour: red, green, blue, alpha.
    pub colour: [u8; 4],
}

/// Error of an invalid material.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VoxelMaterialError {
    /// A number is out of range.
    #[error("field `{field}` of material `{name}` is {value}; expected {expected}")]
    Field {
        /// Name of the material.
        name: String,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// Expected range.
        expected: &'static str,
    },
    /// A limit that a link at rest breaks.
    #[error("material `{name}`: limit `{field}` of axis {axis} is {value}; expected {expected}")]
    Limit {
        /// Name of the material.
        name: String,
        /// Name of the limit.
        field: &'static str,
        /// Axis of the link.
        axis: usize,
        /// Value found.
        value: f64,
        /// Expected range.
        expected: &'static str,
    },
    /// No materials, or more than a byte can index.
    #[error("{0} materials; expected 1 to 255")]
    Count(usize),
}

impl VoxelMaterial {
    /// Returns a material on which a flat punch measures an elastic half-space of Young's modulus `young_pa` and
    /// Poisson's ratio `poisson`. Its modulus is `E / (2 (1 - nu^2))` (seed-001 section 3.4.2).
    #[must_use]
    pub fn of_young(name: &str, young_pa: f64, poisson: f64) -> Self {
        Self {
            name: name.to_owned(),
            limits: BondLimits::MEDIUM,
            modulus_pa: young_pa / (2.0 * (1.0 - poisson * poisson)),
            toughness_jpm2: 0.0,
            colour: [200, 120, 110, 255],
        }
    }

    /// Checks that all fields are in range.
    ///
    /// # Errors
    /// [`VoxelMaterialError`] of the first field that is out of range.
    pub fn check(&self) -> Result<(), VoxelMaterialError> {
        let refuse = |field, value, expected| VoxelMaterialError::Field {
            name: self.name.clone(),
            field,
            value,
            expected,
        };
        self.limits.check(&self.name)?;
        if !(self.modulus_pa > 0.0 && self.modulus_pa.is_finite()) {
            let expected = "a finite number greater than 0";
            return Err(refuse("modulus_pa", self.modulus_pa, expected));
        }
        if !(self.toughness_jpm2 >= 0.0 && self.toughness_jpm2.is_finite()) {
            let expected = "a finite number, at least 0";
            return Err(refuse("toughness_jpm2", self.toughness_jpm2, expected));
        }
        Ok(())
    }
}

/// Properties of a link between two materials along one axis, seen from its lower end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bond<R> {
    /// Least displacement of the upper end relative to the lower end \[m\], by axis of the world.
    pub least_m: [R; 3],
    /// Greatest displacement of the upper end relative to the lower end \[m\].
    pub most_m: [R; 3],
    /// Stiffness \[N/m\].
    pub stiffness_npm: R,
    /// Energy to cut it \[J\].
    pub cut_energy_j: f64,
}

/// Bonds of all pairs in a list of materials on one lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct BondTable<R> {
    materials: Vec<VoxelMaterial>,
    bonds: Vec<[Bond<R>; 3]>,
    /// Greatest lag of any neighbour behind a node that moves along an axis of the world \[m\].
    pub(super) slack_m: [R; 3],
}

impl<R: Real> BondTable<R> {
    /// Returns the bonds on a lattice of this spacing \[m\].
    ///
    /// # Errors
    /// [`VoxelMaterialError`] if there are no materials, more than 255, or one is invalid.
    pub fn new(
        materials: Vec<VoxelMaterial>,
        spacing_m: [f64; 3],
    ) -> Result<Self, VoxelMaterialError> {
        if !(1..=255).contains(&materials.len()) {
            return Err(VoxelMaterialError::Count(materials.len()));
        }
        materials.iter().try_for_each(VoxelMaterial::check)?;
        let pairs = materials
            .iter()
            .flat_map(|a| materials.iter().map(move |b| (a, b)));
        let bonds: Vec<[Bond<R>; 3]> = pairs
            .map(|(a, b)| std::array::from_fn(|axis| bond(a, b, axis, spacing_m)))
            .collect();
        let slack_m = std::array::from_fn(|along| {
            let all = bonds.iter().flatten();
            let slacks = all.flat_map(|bond| [-bond.least_m[along], bond.most_m[along]]);
            slacks.fold(R::zero(), RealField::max)
        });
        Ok(Self {
            materials,
            bonds,
            slack_m,
        })
    }

    /// Returns the materials.
    #[must_use]
    pub fn materials(&self) -> &[VoxelMaterial] {
        &self.materials
    }

    /// Returns the bond of a link along `axis` between a node of material `a` and one of material `b`, in either
    /// order.
    #[must_use]
    pub fn of(&self, a: u8, b: u8, axis: usize) -> &Bond<R> {
        &self.bonds[usize::from(a) * self.materials.len() + usize::from(b)][axis]
    }

    /// Iterates over all bonds with their axes.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &Bond<R>)> {
        self.bonds.iter().flat_map(|bonds| (0..3).zip(bonds))
    }

    /// Returns the range of a neighbour's displacement relative to the node's own \[m\], along one axis of the world.
    #[must_use]
    pub fn range_m(&self, pair: [u8; 2], to: NeighbourDirection, along: usize) -> (R, R) {
        let bond = self.of(pair[0], pair[1], to.axis());
        if to.is_positive() {
            (bond.least_m[along], bond.most_m[along])
        } else {
            (-bond.most_m[along], -bond.least_m[along])
        }
    }
}

/// Returns the bond of two materials along an axis.
fn bond<R: Real>(
    a: &VoxelMaterial,
    b: &VoxelMaterial,
    axis: usize,
    spacing_m: [f64; 3],
) -> Bond<R> {
    let limits = a.limits.between(&b.limits);
    let length_m = spacing_m[axis];
    let area_m2 = spacing_m[(axis + 1) % 3] * spacing_m[(axis + 2) % 3];
    // halves in series: the softer one decides (seed-001 section 3.4.2, weighted rule)
    let modulus_pa = 2.0 * a.modulus_pa * b.modulus_pa / (a.modulus_pa + b.modulus_pa);
    let range = |along| limits.range_m(axis, along, length_m);
    Bond {
        least_m: std::array::from_fn(|along| R::of(range(along).0)),
        most_m: std::array::from_fn(|along| R::of(range(along).1)),
        stiffness_npm: R::of(modulus_pa * area_m2 / length_m),
        cut_energy_j: 0.5 * (a.toughness_jpm2 + b.toughness_jpm2) * area_m2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_materials_are_refused_by_name() {
        let good = VoxelMaterial::of_young("fat", 2e3, 0.49);
        let bonds = |materials| BondTable::<f64>::new(materials, [1e-3; 3]);
        assert!(bonds(vec![good.clone()]).is_ok());
        assert_eq!(bonds(vec![]), Err(VoxelMaterialError::Count(0)));
        let mut soft = good.clone();
        soft.modulus_pa = 0.0;
        let message = bonds(vec![good.clone(), soft]).expect_err("soft");
        assert!(
            message
                .to_string()
                .contains("modulus_pa` of material `fat` is 0")
        );
        let mut brittle = good.clone();
        brittle.toughness_jpm2 = f64::NAN;
        assert!(bonds(vec![brittle]).is_err());
        let mut tight = good;
        tight.limits.longest[1] = 0.5;
        let message = bonds(vec![tight]).expect_err("tight").to_string();
        assert!(message.contains("`longest` of axis 1"), "{message}");
    }

    #[test]
    fn bond_of_two_materials_is_springs_in_series() {
        let (mut soft, mut hard) = (
            VoxelMaterial::of_young("soft", 1e3, 0.0),
            VoxelMaterial::of_young("hard", 3e3, 0.0),
        );
        (soft.toughness_jpm2, hard.toughness_jpm2) = (1.0, 3.0);
        let bonds = BondTable::<f64>::new(vec![soft, hard], [1e-3, 2e-3, 4e-3]).expect("fit");
        let bond = bonds.of(0, 1, 0);
        let (k_soft, k_hard) = (500.0 * 8e-6 / 0.5e-3, 1500.0 * 8e-6 / 0.5e-3);
        let series = 1.0 / (1.0 / k_soft + 1.0 / k_hard);
        assert!((bond.stiffness_npm / series - 1.0).abs() < 1e-12);
        assert!((bond.cut_energy_j / (2.0 * 8e-6) - 1.0).abs() < 1e-12);
        let (least, most) = bonds.range_m([0, 1], NeighbourDirection::Left, 0);
        assert!((least + 0.2e-3).abs() < 1e-15 && (most - 0.2e-3).abs() < 1e-15);
    }
}
