//! Units of the numbers in a model file, stated by the importing caller.
//!
//! Source: seed-004 4C. The files contain numbers without units; inches and newtons are the
//! most plausible reading, not a proven one, so they are no silent default.

use crate::Defect;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Atom, Lattice, LatticeLink};

/// Length and force unit of a file in SI.
///
/// All other units follow, with time in seconds: stiffness in `force_n / length_m`, damping in
/// `force_n s / length_m`, mass in `force_n s^2 / length_m`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    /// One unit of length \[m\], greater than zero.
    pub length_m: f64,
    /// One unit of force \[N\], greater than zero.
    pub force_n: f64,
}

impl Units {
    /// Metres and newtons: numbers pass unchanged, bit for bit.
    pub const SI: Self = Self {
        length_m: 1.0,
        force_n: 1.0,
    };
    /// Millimetres and newtons, the units of most medical and CAD programs.
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

    /// Checks both units.
    ///
    /// # Errors
    /// [`Defect`] if one is not finite or not greater than zero.
    pub fn check(&self) -> Result<(), Defect> {
        for (field, value) in [("length_m", self.length_m), ("force_n", self.force_n)] {
            if !(value.is_finite() && value > 0.0) {
                let field = format_args!("unit `{field}`");
                return Err(Defect::field(
                    field,
                    value,
                    "a finite number greater than zero",
                ));
            }
        }
        Ok(())
    }

    /// Converts a lattice from file units to SI.
    #[must_use]
    pub fn import(&self, lattice: &Lattice) -> Lattice {
        let rate = self.force_n / self.length_m;
        scaled(
            lattice,
            |position| position * self.length_m,
            |value| value * rate,
        )
    }

    /// Converts a lattice from SI to file units: the inverse of [`Units::import`], to rounding.
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

/// Scales a lattice. Mass, stiffness and damping share one factor because time is in seconds on both sides.
fn scaled(lattice: &Lattice, place: impl Fn(Vec3) -> Vec3, rate: impl Fn(f64) -> f64) -> Lattice {
    let atom = |atom: &Atom| Atom {
        position_m: place(atom.position_m),
        mass_kg: rate(atom.mass_kg),
        ..*atom
    };
    let link = |link: &LatticeLink| LatticeLink {
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
    fn invalid_units_are_named() {
        let nan = Units {
            length_m: f64::NAN,
            force_n: 1.0,
        };
        let text = nan.check().unwrap_err().to_string();
        assert!(text.starts_with("unit `length_m` is NaN;"), "{text}");
        let zero = Units {
            length_m: 1.0,
            force_n: 0.0,
        };
        assert_eq!(
            zero.check().unwrap_err().to_string(),
            "unit `force_n` is 0; expected a finite number greater than zero"
        );
    }
}
