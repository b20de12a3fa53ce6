//! Isotropic materials from Young's modulus, Poisson's ratio and density.
//!
//! Source: textbook relations between elastic constants (Timoshenko and Goodier, section 7).

use std::fmt;

use super::viscous::{Viscosity, ViscousError};
use super::{LawFamily, LawFamilyError};

/// Error of a material's parameters.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum MaterialError {
    /// Young's modulus is out of range.
    #[error("Young's modulus is {0} Pa; expected a finite number above 0")]
    Young(f64),
    /// Poisson's ratio is out of range.
    #[error("Poisson's ratio is {0}; expected a number above -1 and below 0.5")]
    Poisson(f64),
    /// Density is out of range.
    #[error("density is {0} kg/m3; expected a finite number above 0")]
    Density(f64),
}

/// Material of one cell of a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellMaterial {
    /// Moduli for a sudden strain.
    pub moduli: Moduli,
    /// Density \[kg/m^3\].
    pub density_kgpm3: f64,
    /// Viscosity.
    pub viscosity: Viscosity,
    /// Law; None for that of its tissue.
    pub law: Option<LawFamily>,
}

/// An isotropic material at rest.
#[derive(Clone, Copy, PartialEq)]
pub struct Material {
    young_pa: f64,
    poisson: f64,
    density_kgpm3: f64,
    viscosity: Viscosity,
    law: Option<LawFamily>,
}

/// Text without an absent law: keys of depth maps are made of it, and a material without a law has the key that it had.
impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Material");
        text.field("young_pa", &self.young_pa)
            .field("poisson", &self.poisson)
            .field("density_kgpm3", &self.density_kgpm3)
            .field("viscosity", &self.viscosity);
        if let Some(law) = &self.law {
            text.field("law", law);
        }
        text.finish()
    }
}

/// The two Lame constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moduli {
    /// Shear modulus `mu` \[Pa\].
    pub mu_pa: f64,
    /// First Lame constant `lambda` \[Pa\].
    pub lambda_pa: f64,
}

impl Material {
    /// Creates a material after a check of its parameters.
    ///
    /// # Errors
    /// [`MaterialError`] names the parameter that is out of its range.
    pub fn new(young_pa: f64, poisson: f64, density_kgpm3: f64) -> Result<Self, MaterialError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !positive(young_pa) {
            return Err(MaterialError::Young(young_pa));
        }
        // a negated comparison also refuses NaN
        if !(poisson > -1.0 && poisson < 0.5) {
            return Err(MaterialError::Poisson(poisson));
        }
        if !positive(density_kgpm3) {
            return Err(MaterialError::Density(density_kgpm3));
        }
        let material = Self {
            young_pa,
            poisson,
            density_kgpm3,
            viscosity: Viscosity::NONE,
            law: None,
        };
        // the bulk modulus of a nearly incompressible, extremely stiff material overflows
        if !positive(material.moduli().bulk_pa()) {
            return Err(MaterialError::Young(young_pa));
        }
        Ok(material)
    }

    /// Returns the material with a viscosity.
    ///
    /// # Errors
    /// [`ViscousError`] names the parameter that is out of its range.
    pub fn with_viscosity(self, viscosity: Viscosity) -> Result<Self, ViscousError> {
        viscosity.check()?;
        Ok(Self { viscosity, ..self })
    }

    /// Returns the material with a law of its own, instead of that of its tissue.
    ///
    /// # Errors
    /// As [`LawFamily::check`].
    pub fn with_law(self, law: Option<LawFamily>) -> Result<Self, LawFamilyError> {
        law.map_or(Ok(()), |law| law.check())?;
        Ok(Self { law, ..self })
    }

    /// Returns the material with a modulus of `factor` times its own.
    ///
    /// # Errors
    /// [`MaterialError`] if the modulus is out of its range.
    pub fn scaled(&self, factor: f64) -> Result<Self, MaterialError> {
        let scaled = Self::new(factor * self.young_pa, self.poisson, self.density_kgpm3)?;
        Ok(Self {
            viscosity: self.viscosity,
            law: self.law,
            ..scaled
        })
    }

    /// Law of its own, if it has one.
    #[must_use]
    pub fn law(&self) -> Option<LawFamily> {
        self.law
    }

    /// Viscosity.
    #[must_use]
    pub fn viscosity(&self) -> Viscosity {
        self.viscosity
    }

    /// Elastic material that is left when its branches have relaxed; its bulk modulus is the same.
    #[must_use]
    pub fn relaxed(&self) -> Self {
        let moduli = self.moduli();
        let (bulk_pa, mu_pa) = (
            moduli.bulk_pa(),
            moduli.mu_pa * (1.0 - self.viscosity.share()),
        );
        Self {
            young_pa: 9.0 * bulk_pa * mu_pa / (3.0 * bulk_pa + mu_pa),
            poisson: (1.5 * bulk_pa - mu_pa) / (3.0 * bulk_pa + mu_pa),
            viscosity: Viscosity::NONE,
            ..*self
        }
    }

    /// Young's modulus \[Pa\].
    #[must_use]
    pub fn young_pa(&self) -> f64 {
        self.young_pa
    }

    /// Poisson's ratio.
    #[must_use]
    pub fn poisson(&self) -> f64 {
        self.poisson
    }

    /// Density \[kg/m^3\].
    #[must_use]
    pub fn density_kgpm3(&self) -> f64 {
        self.density_kgpm3
    }

    /// Material of a cell that consists of it alone.
    #[must_use]
    pub fn cell_material(&self) -> CellMaterial {
        CellMaterial {
            moduli: self.moduli(),
            density_kgpm3: self.density_kgpm3,
            viscosity: self.viscosity,
            law: self.law,
        }
    }

    /// Lame constants.
    #[must_use]
    pub fn moduli(&self) -> Moduli {
        let mu_pa = 0.5 * self.young_pa / (1.0 + self.poisson);
        Moduli {
            mu_pa,
            lambda_pa: 2.0 * mu_pa * self.poisson / (1.0 - 2.0 * self.poisson),
        }
    }
}

impl Moduli {
    /// Bulk modulus `lambda + 2 mu / 3` \[Pa\].
    #[must_use]
    pub fn bulk_pa(&self) -> f64 {
        self.lambda_pa + self.mu_pa * (2.0 / 3.0)
    }

    /// Creates moduli from shear and bulk modulus \[Pa\].
    #[must_use]
    pub fn from_bulk(mu_pa: f64, bulk_pa: f64) -> Self {
        Self {
            mu_pa,
            lambda_pa: bulk_pa - mu_pa * (2.0 / 3.0),
        }
    }

    /// Modulus of two bodies in contact of which one is rigid, `E / (1 - nu^2)` \[Pa\].
    #[must_use]
    pub fn contact_pa(&self) -> f64 {
        4.0 * self.mu_pa * (self.lambda_pa + self.mu_pa) / (self.lambda_pa + 2.0 * self.mu_pa)
    }

    /// Both constants times `factor`.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            mu_pa: self.mu_pa * factor,
            lambda_pa: self.lambda_pa * factor,
        }
    }
}
