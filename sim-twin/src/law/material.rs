//! Isotropic materials from the numbers that tables give: Young's modulus, Poisson's ratio, density.
//!
//! Source: textbook relations between elastic constants (Timoshenko and Goodier, section 7).

use super::viscous::{KelvinVoigt, Prony, ViscousError};

/// Why numbers make no material.
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

/// What is viscous of a material: a dashpot beside its law, and one branch that forgets, of shape
/// alone; moduli are then those of a sudden strain. See [`super::viscous`] for what they do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viscosity {
    /// Viscosity for change of shape \[Pa s\], at least 0.
    pub shear_pas: f64,
    /// Viscosity for change of volume \[Pa s\], at least 0.
    pub bulk_pas: f64,
    /// Share of the shear modulus that relaxes, at least 0 and below 1.
    pub share: f64,
    /// Time in which it does \[s\], above 0.
    pub time_s: f64,
}

impl Viscosity {
    /// Nothing viscous.
    pub const NONE: Self = Self {
        shear_pas: 0.0,
        bulk_pas: 0.0,
        share: 0.0,
        time_s: 1.0,
    };

    /// Whether every number is in its range.
    ///
    /// # Errors
    /// Names what is not.
    pub fn check(&self) -> Result<(), ViscousError> {
        KelvinVoigt::<f64>::new(self.shear_pas, self.bulk_pas)?;
        if self.share != 0.0 {
            Prony::new(&[(self.share, self.time_s)])?;
        }
        Ok(())
    }
}

/// An isotropic material at rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    young_pa: f64,
    poisson: f64,
    density_kgpm3: f64,
    viscosity: Viscosity,
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
    /// Checked material.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn new(young_pa: f64, poisson: f64, density_kgpm3: f64) -> Result<Self, MaterialError> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if !positive(young_pa) {
            return Err(MaterialError::Young(young_pa));
        }
        // a negated comparison also refuses what is not a number
        if !(poisson > -1.0 && poisson < 0.5) {
            return Err(MaterialError::Poisson(poisson));
        }
        if !positive(density_kgpm3) {
            return Err(MaterialError::Density(density_kgpm3));
        }
        Ok(Self {
            young_pa,
            poisson,
            density_kgpm3,
            viscosity: Viscosity::NONE,
        })
    }

    /// The material with what is viscous of it.
    ///
    /// # Errors
    /// Names the number of the viscosity that is out of its range.
    pub fn with_viscosity(self, viscosity: Viscosity) -> Result<Self, ViscousError> {
        viscosity.check()?;
        Ok(Self { viscosity, ..self })
    }

    /// What is viscous of it.
    #[must_use]
    pub fn viscosity(&self) -> Viscosity {
        self.viscosity
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

    /// Lame constants.
    #[must_use]
    pub fn moduli(&self) -> Moduli {
        let mu_pa = 0.5 * self.young_pa / (1.0 + self.poisson);
        Moduli {
            mu_pa,
            lambda_pa: 2.0 * mu_pa * self.poisson / (1.0 - 2.0 * self.poisson),
        }
    }

    /// Modulus of two bodies in contact of which one is rigid, `E / (1 - nu^2)` \[Pa\].
    #[must_use]
    pub fn contact_pa(&self) -> f64 {
        self.moduli().contact_pa()
    }

    /// Speed of pressure waves at rest \[m/s\]: what limits an explicit step.
    #[cfg(test)]
    pub(super) fn pressure_wave_mps(&self) -> f64 {
        let moduli = self.moduli();
        ((moduli.lambda_pa + 2.0 * moduli.mu_pa) / self.density_kgpm3).sqrt()
    }
}

impl Moduli {
    /// Bulk modulus `lambda + 2 mu / 3` \[Pa\].
    #[must_use]
    pub fn bulk_pa(&self) -> f64 {
        self.lambda_pa + self.mu_pa * (2.0 / 3.0)
    }

    /// From shear and bulk modulus \[Pa\].
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

    /// Young's modulus \[Pa\].
    #[must_use]
    pub fn young_pa(&self) -> f64 {
        self.mu_pa * (3.0 * self.lambda_pa + 2.0 * self.mu_pa) / (self.lambda_pa + self.mu_pa)
    }
}
