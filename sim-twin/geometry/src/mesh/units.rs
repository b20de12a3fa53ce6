//! The units in which a model file counts, stated by whoever imports it.
//!
//! Source: seed-004 4C. The files carry bare numbers; reading them as inches and newtons is the
//! most plausible choice, not a proven one, so it is never made silently.

use palpate_twin::Vec3;
use palpate_twin::lattice::{Atom, Lattice, Link};

/// What one unit of length and one unit of force of a file are in SI.
///
/// The rest follows, with time in seconds: stiffness counts in `force_n / length_m`, damping in
/// `force_n s / length_m`, mass in `force_n s^2 / length_m`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    /// One unit of length \[m\], greater than zero.
    pub length_m: f64,
    /// One unit of force \[N\], greater than zero.
    pub force_n: f64,
}

/// Why a unit is refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("unit `{field}` is {value}; expected a finite number greater than zero")]
pub struct UnitError {
    /// Name of the field.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
}

impl Units {
    /// Metres and newtons: numbers pass unchanged, bit for bit.
    pub const SI: Self = Self {
        length_m: 1.0,
        force_n: 1.0,
    };
    /// Millimetres and newtons, as most medical and CAD programs count.
    pub const MILLIMETRE_NEWTON: Self = Self {
        length_m: 1e-3,
        force_n: 1.0,
    };
    /// Centimetres and newtons.
    pub const CENTIMETRE_NEWTON: Self = Self {
        length_m: 1e-2,
        force_n: 1.0,
    };
    /// Inches and newtons, the reading of seed-004 4C.
    pub const INCH_NEWTON: Self = Self {
        length_m: 0.0254,
        force_n: 1.0,
    };

    /// Check both units.
    ///
    /// # Errors
    /// [`UnitError`] if one is not finite or not greater than zero.
    pub fn check(&self) -> Result<(), UnitError> {
        for (field, value) in [("length_m", self.length_m), ("force_n", self.force_n)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(UnitError { field, value });
            }
        }
        Ok(())
    }

    /// A lattice of file numbers, converted to SI.
    #[must_use]
    pub fn import(&self, lattice: &Lattice) -> Lattice {
        let rate = self.force_n / self.length_m;
        scaled(
            lattice,
            |position| position * self.length_m,
            |value| value * rate,
        )
    }

    /// A lattice in SI, converted to file numbers: the inverse of [`Units::import`], to rounding.
    #[must_use]
    pub(crate) fn export(&self, lattice: &Lattice) -> Lattice {
        let rate = self.force_n / self.length_m;
        scaled(
            lattice,
            |position| position / self.length_m,
            |value| value / rate,
        )
    }
}

/// Mass, stiffness and damping share one factor because time is in seconds on both sides.
fn scaled(lattice: &Lattice, place: impl Fn(Vec3) -> Vec3, rate: impl Fn(f64) -> f64) -> Lattice {
    let atom = |atom: &Atom| Atom {
        position_m: place(atom.position_m),
        mass_kg: rate(atom.mass_kg),
        ..*atom
    };
    let link = |link: &Link| Link {
        stiffness_npm: rate(link.stiffness_npm),
        damping_nspm: rate(link.damping_nspm),
        ..*link
    };
    Lattice {
        name: lattice.name.clone(),
        atoms: lattice.atoms.iter().map(atom).collect(),
        links: lattice.links.iter().map(link).collect(),
        faces: lattice.faces.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::lattice::fixture;

    #[test]
    fn inches_and_newtons_give_the_numbers_of_4c() {
        let si = Units::INCH_NEWTON.import(&fixture::regular());
        assert!((si.links[0].stiffness_npm - 590.6).abs() < 0.05);
        assert!((si.links[0].damping_nspm - 7.87).abs() < 0.005);
        assert!((si.atoms[0].mass_kg - 0.0787).abs() < 5e-5);
        let edge_m = (si.atoms[1].position_m - si.atoms[0].position_m).norm();
        assert!((edge_m - 0.0254).abs() < 1e-12);
    }

    #[test]
    fn export_undoes_import() {
        let lattice = fixture::printed();
        let back = Units::INCH_NEWTON.export(&Units::INCH_NEWTON.import(&lattice));
        for (a, b) in lattice.atoms.iter().zip(&back.atoms) {
            assert!((a.position_m - b.position_m).norm() < 1e-14);
            assert!((a.mass_kg - b.mass_kg).abs() < 1e-17);
        }
        assert_eq!(Units::SI.import(&lattice), lattice);
    }

    #[test]
    fn a_unit_that_is_no_length_is_named() {
        let nan = Units {
            length_m: f64::NAN,
            force_n: 1.0,
        };
        assert_eq!(nan.check().unwrap_err().field, "length_m");
        let zero = Units {
            length_m: 1.0,
            force_n: 0.0,
        };
        assert_eq!(
            zero.check(),
            Err(UnitError {
                field: "force_n",
                value: 0.0
            })
        );
    }
}
