//! What elements are made of, and what a link between two of them is like.
//!
//! Source: seed-001 section 3.3 (limits), 3.4.2 (stiffness) and row CL-02 (toughness). A link is a spring
//! that pulls its ends to their places at rest; at rest with itself such a lattice is a Dirichlet
//! energy, whose modulus is that of a block in uniaxial strain. [`Matter::of_young`] has the calibration
//! against an elastic half-space under a flat punch.

use nalgebra::RealField;

use crate::limits::{LimitError, Limits};
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;

/// A material.
#[derive(Debug, Clone, PartialEq)]
pub struct Matter {
    /// What people call it.
    pub name: String,
    /// How far its links give.
    pub limits: Limits,
    /// Modulus of the lattice \[Pa\], greater than zero: force a link over its strain and the area that it
    /// stands for.
    pub modulus_pa: f64,
    /// Energy that a blade pays for new surface \[J/m^2\], at least 0.
    pub toughness_jpm2: f64,
    /// Colour, red to alpha.
    pub colour: [u8; 4],
}

/// Why a material cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MatterError {
    /// A number is out of range.
    #[error("field `{field}` of material `{name}` is {value}; expected {expected}")]
    Field {
        /// Name of the material.
        name: String,
        /// Which field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// Its limits are not those of a volume at rest.
    #[error("material `{name}`: {source}")]
    Limits {
        /// Name of the material.
        name: String,
        /// What is wrong.
        source: LimitError,
    },
    /// None at all, or more than a byte can number.
    #[error("{0} materials; expected 1 to 255")]
    Count(usize),
}

impl Matter {
    /// A material that a flat punch feels as an elastic half-space of Young's modulus `young_pa` and
    /// Poisson's ratio `poisson`: modulus `E / (2 (1 - nu^2))` (seed-001 section 3.4.2).
    #[must_use]
    pub fn of_young(name: &str, young_pa: f64, poisson: f64) -> Self {
        Self {
            name: name.to_owned(),
            limits: Limits::MEDIUM,
            modulus_pa: young_pa / (2.0 * (1.0 - poisson * poisson)),
            toughness_jpm2: 0.0,
            colour: [200, 120, 110, 255],
        }
    }

    /// Whether a volume can be made of it.
    ///
    /// # Errors
    /// [`MatterError`] of the first field that it cannot.
    pub fn check(&self) -> Result<(), MatterError> {
        let refuse = |field, value, expected| MatterError::Field {
            name: self.name.clone(),
            field,
            value,
            expected,
        };
        self.limits.check().map_err(|source| MatterError::Limits {
            name: self.name.clone(),
            source,
        })?;
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

/// A link between two materials along one axis, seen from its lower end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bond<R> {
    /// Least of the upper end's displacement beyond the lower end's \[m\], by axis of the world.
    pub least_m: [R; 3],
    /// Most of it \[m\].
    pub most_m: [R; 3],
    /// Stiffness \[N/m\].
    pub stiffness_npm: R,
    /// Energy to cut it \[J\].
    pub tough_j: f64,
}

/// All bonds that a list of materials can make on one lattice.
#[derive(Debug, Clone, PartialEq)]
pub struct Bonds<R> {
    matters: Vec<Matter>,
    bonds: Vec<[Bond<R>; 3]>,
    gives: [Gives<R>; 6],
}

/// How far neighbours may stay behind when an element goes one way along one axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gives<R> {
    /// By the pair of materials, then by direction of the neighbour \[m\]; at least 0.
    of: Vec<[R; 6]>,
    kinds: usize,
    /// The largest \[m\].
    pub(super) most_m: R,
}

impl<R: Real> Gives<R> {
    fn new(bonds: &Bonds<R>, along: usize, up: bool) -> Self {
        let kinds = bonds.matters.len();
        let most_m = R::zero();
        let mut gives = Self {
            of: Vec::with_capacity(kinds * kinds),
            kinds,
            most_m,
        };
        // as many as a byte numbers
        let kinds = 0..u8::try_from(kinds).unwrap_or(u8::MAX);
        for own in kinds.clone() {
            for other in kinds.clone() {
                let give = Direction::ALL.map(|to| {
                    let (least, most) = bonds.range_m([own, other], to, along);
                    if up { -least } else { most }
                });
                gives.most_m = give.into_iter().fold(gives.most_m, RealField::max);
                gives.of.push(give);
            }
        }
        gives
    }

    /// Of an element of material `own` and all that it may be linked to, by their material.
    #[inline(always)]
    pub(super) fn row(&self, own: u8) -> &[[R; 6]] {
        let from = usize::from(own) * self.kinds;
        &self.of[from..from + self.kinds]
    }
}

impl<R: Real> Bonds<R> {
    /// Bonds on a lattice of this spacing \[m\].
    ///
    /// # Errors
    /// [`MatterError`] if there are no materials, more than 255, or one is unfit.
    pub fn new(matters: Vec<Matter>, spacing_m: [f64; 3]) -> Result<Self, MatterError> {
        if !(1..=255).contains(&matters.len()) {
            return Err(MatterError::Count(matters.len()));
        }
        matters.iter().try_for_each(Matter::check)?;
        let pairs = matters
            .iter()
            .flat_map(|a| matters.iter().map(move |b| (a, b)));
        let bonds = pairs
            .map(|(a, b)| std::array::from_fn(|axis| bond(a, b, axis, spacing_m)))
            .collect();
        let mut bonds = Self {
            matters,
            bonds,
            gives: std::array::from_fn(|_| Gives {
                of: Vec::new(),
                kinds: 0,
                most_m: R::zero(),
            }),
        };
        bonds.gives = std::array::from_fn(|pass| Gives::new(&bonds, pass / 2, pass % 2 == 0));
        Ok(bonds)
    }

    /// How far neighbours may stay behind when an element goes up or down along an axis.
    pub(super) const fn gives(&self, along: usize, up: bool) -> &Gives<R> {
        &self.gives[2 * along + if up { 0 } else { 1 }]
    }

    /// The materials.
    #[must_use]
    pub fn matters(&self) -> &[Matter] {
        &self.matters
    }

    /// The bond of a link from an element of material `a`, its lower end or not, to one of material `b`.
    #[must_use]
    pub fn of(&self, a: u8, b: u8, axis: usize) -> &Bond<R> {
        &self.bonds[usize::from(a) * self.matters.len() + usize::from(b)][axis]
    }

    /// Every bond that there is, with its axis.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &Bond<R>)> {
        self.bonds.iter().flat_map(|bonds| (0..3).zip(bonds))
    }

    /// Least and most of a neighbour's displacement beyond an element's own \[m\] along one axis of the
    /// world.
    #[must_use]
    pub fn range_m(&self, [own, other]: [u8; 2], to: Direction, along: usize) -> (R, R) {
        let bond = self.of(own, other, to.axis());
        if to.is_up() {
            (bond.least_m[along], bond.most_m[along])
        } else {
            (-bond.most_m[along], -bond.least_m[along])
        }
    }
}

/// The bond of two materials along an axis.
fn bond<R: Real>(a: &Matter, b: &Matter, axis: usize, spacing_m: [f64; 3]) -> Bond<R> {
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
        tough_j: 0.5 * (a.toughness_jpm2 + b.toughness_jpm2) * area_m2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfit_materials_are_named() {
        let good = Matter::of_young("fat", 2e3, 0.49);
        let bonds = |matters| Bonds::<f64>::new(matters, [1e-3; 3]);
        assert!(bonds(vec![good.clone()]).is_ok());
        assert_eq!(bonds(vec![]), Err(MatterError::Count(0)));
        let mut soft = good.clone();
        soft.modulus_pa = 0.0;
        let told = bonds(vec![good.clone(), soft]).expect_err("soft");
        assert!(
            told.to_string()
                .contains("modulus_pa` of material `fat` is 0")
        );
        let mut brittle = good.clone();
        brittle.toughness_jpm2 = f64::NAN;
        assert!(bonds(vec![brittle]).is_err());
        let mut tight = good;
        tight.limits.longest[1] = 0.5;
        let told = bonds(vec![tight]).expect_err("tight").to_string();
        assert!(told.contains("`longest` of axis 1"), "{told}");
    }

    #[test]
    fn a_bond_of_unlike_halves_is_that_of_springs_in_series() {
        let (mut soft, mut hard) = (
            Matter::of_young("soft", 1e3, 0.0),
            Matter::of_young("hard", 3e3, 0.0),
        );
        (soft.toughness_jpm2, hard.toughness_jpm2) = (1.0, 3.0);
        let bonds = Bonds::<f64>::new(vec![soft, hard], [1e-3, 2e-3, 4e-3]).expect("fit");
        let bond = bonds.of(0, 1, 0);
        let (k_soft, k_hard) = (500.0 * 8e-6 / 0.5e-3, 1500.0 * 8e-6 / 0.5e-3);
        let series = 1.0 / (1.0 / k_soft + 1.0 / k_hard);
        assert!((bond.stiffness_npm / series - 1.0).abs() < 1e-12);
        assert!((bond.tough_j / (2.0 * 8e-6) - 1.0).abs() < 1e-12);
        let (least, most) = bonds.range_m([0, 1], Direction::Left, 0);
        assert!((least + 0.2e-3).abs() < 1e-15 && (most - 0.2e-3).abs() < 1e-15);
    }
}
