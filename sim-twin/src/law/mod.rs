//! Constitutive laws of a continuum: energy density, first Piola stress, tangent.
//!
//! Source: Bonet and Wood 2008, chapters 5 and 6, for the notation; each family names its own.
//! Every law is a function of the deformation gradient `F` alone; what depends on rate or history
//! stands in [`viscous`]. Laws that are written in terms of volume give an infinite energy and a
//! non-finite stress once `det F <= 0`: a solver that can get there must look, or use
//! [`Family::StableNeoHookean`].
//!
//! Symbols: `F` deformation gradient, `J = det F`, `C = F^T F`, `mu`, `lambda` Lame constants \[Pa\],
//! `kappa = lambda + 2 mu / 3` bulk modulus \[Pa\], `W` energy a reference volume \[J/m^3\],
//! `P = dW/dF` first Piola stress \[Pa\]. A law is linear in its moduli, so a solver without units
//! hands it moduli without units.

use nalgebra::{Matrix3, SMatrix};

mod fung;
mod invariant;
mod linear;
mod material;
mod mix;
mod mooney;
mod neo_hookean;
mod real;
mod svk;
#[cfg(test)]
mod tests;
pub mod tissue;
pub mod viscous;

pub use fung::{EXPONENT_MAX, Fung};
pub use invariant::cofactor;
pub use linear::Linear;
pub use material::{Material, MaterialError, Moduli, Viscosity};
pub use mix::{Mixing, mix};
pub use mooney::MooneyRivlin;
pub use neo_hookean::{NeoHookean, StableNeoHookean};
pub use real::Real;
pub use svk::StVenantKirchhoff;

/// `dP/dF` as a matrix; entry `(i, J)` of a gradient stands at `i + 3 J`, column after column.
pub type Tangent<T> = SMatrix<T, 9, 9>;

/// An elastic law: what every family can say of a deformation gradient.
pub trait Elastic<T: Real> {
    /// Energy density `W` \[unit of the moduli\], 0 at rest.
    fn energy(&self, f: &Matrix3<T>) -> T;

    /// First Piola stress `P = dW/dF` \[unit of the moduli\].
    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T>;

    /// Change of `P` for a change `df` of the gradient: the tangent applied to it.
    fn tangent(&self, f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T>;

    /// The whole tangent, nine columns of [`Elastic::tangent`]; symmetric.
    fn tangent_matrix(&self, f: &Matrix3<T>) -> Tangent<T> {
        let mut whole = Tangent::zeros();
        for column in 0..9 {
            let mut df = Matrix3::zeros();
            df[column] = T::one();
            whole
                .column_mut(column)
                .copy_from_slice(self.tangent(f, &df).as_slice());
        }
        whole
    }
}

/// Which family of laws, with what a family needs beyond the two moduli.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Family {
    /// Small strains only; a rotation strains it.
    Linear,
    /// St Venant-Kirchhoff: exact under rotation, soft and then unstable in compression.
    StVenantKirchhoff,
    /// Compressible neo-Hookean with `ln J`: the law of the block test.
    #[default]
    NeoHookean,
    /// Neo-Hookean that survives inversion (Smith 2018).
    StableNeoHookean,
    /// Mooney-Rivlin, isochoric and volumetric part apart.
    MooneyRivlin {
        /// Share of the shear modulus that the second invariant carries, in `[0, 1]`.
        second: f64,
    },
    /// Exponential law of Fung type.
    Fung {
        /// Growth `b` of the exponential, greater than zero; about 1 to 20 for soft tissue.
        growth: f64,
    },
}

/// Why a family makes no law.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("`{field}` is {value}; expected {expected}")]
pub struct FamilyError {
    /// Name of the number.
    pub field: &'static str,
    /// Its value.
    pub value: f64,
    /// What would be right.
    pub expected: &'static str,
}

impl Family {
    /// Every family, with what it has beyond the moduli as one may begin with.
    pub const ALL: [Self; 6] = [
        Self::Linear,
        Self::StVenantKirchhoff,
        Self::NeoHookean,
        Self::StableNeoHookean,
        Self::MooneyRivlin { second: 0.5 },
        Self::Fung { growth: 5.0 },
    ];

    /// Its name, as scenes and messages have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::StVenantKirchhoff => "st-venant-kirchhoff",
            Self::NeoHookean => "neo-hookean",
            Self::StableNeoHookean => "stable-neo-hookean",
            Self::MooneyRivlin { .. } => "mooney-rivlin",
            Self::Fung { .. } => "fung",
        }
    }

    /// Looks at what the family has beyond the moduli.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn check(&self) -> Result<(), FamilyError> {
        let (field, value, right, expected) = match *self {
            Self::MooneyRivlin { second } => {
                let right = (0.0..=1.0).contains(&second);
                ("second", second, right, "a number from 0 to 1")
            }
            Self::Fung { growth } => {
                let right = growth.is_finite() && growth > 0.0;
                ("growth", growth, right, "a finite number above 0")
            }
            Self::Linear | Self::StVenantKirchhoff | Self::NeoHookean | Self::StableNeoHookean => {
                return Ok(());
            }
        };
        if right {
            return Ok(());
        }
        Err(FamilyError {
            field,
            value,
            expected,
        })
    }
}

/// One law with its moduli, as a cell of a mesh carries it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law<T: Real> {
    /// See [`Linear`].
    Linear(Linear<T>),
    /// See [`StVenantKirchhoff`].
    StVenantKirchhoff(StVenantKirchhoff<T>),
    /// See [`NeoHookean`].
    NeoHookean(NeoHookean<T>),
    /// See [`StableNeoHookean`].
    StableNeoHookean(StableNeoHookean<T>),
    /// See [`MooneyRivlin`].
    MooneyRivlin(MooneyRivlin<T>),
    /// See [`Fung`].
    Fung(Fung<T>),
}

impl<T: Real> Law<T> {
    /// The law of `family` whose small-strain moduli are `moduli`. Its numbers are those of a family
    /// that [`Family::check`] passes; others give a law that is not finite.
    #[must_use]
    pub fn new(family: Family, moduli: Moduli) -> Self {
        let (mu, lambda) = (T::of(moduli.mu_pa), T::of(moduli.lambda_pa));
        let kappa = T::of(moduli.bulk_pa());
        match family {
            Family::Linear => Self::Linear(Linear { mu, lambda }),
            Family::StVenantKirchhoff => Self::StVenantKirchhoff(StVenantKirchhoff { mu, lambda }),
            Family::NeoHookean => Self::NeoHookean(NeoHookean { mu, lambda }),
            Family::StableNeoHookean => Self::StableNeoHookean(StableNeoHookean::new(mu, lambda)),
            Family::MooneyRivlin { second } => {
                Self::MooneyRivlin(MooneyRivlin::new(mu, T::of(second), kappa))
            }
            Family::Fung { growth } => Self::Fung(Fung::new(mu, T::of(growth), kappa)),
        }
    }
}

impl<T: Real> Elastic<T> for Law<T> {
    fn energy(&self, f: &Matrix3<T>) -> T {
        match self {
            Self::Linear(law) => law.energy(f),
            Self::StVenantKirchhoff(law) => law.energy(f),
            Self::NeoHookean(law) => law.energy(f),
            Self::StableNeoHookean(law) => law.energy(f),
            Self::MooneyRivlin(law) => law.energy(f),
            Self::Fung(law) => law.energy(f),
        }
    }

    fn stress(&self, f: &Matrix3<T>) -> Matrix3<T> {
        match self {
            Self::Linear(law) => law.stress(f),
            Self::StVenantKirchhoff(law) => law.stress(f),
            Self::NeoHookean(law) => law.stress(f),
            Self::StableNeoHookean(law) => law.stress(f),
            Self::MooneyRivlin(law) => law.stress(f),
            Self::Fung(law) => law.stress(f),
        }
    }

    fn tangent(&self, f: &Matrix3<T>, df: &Matrix3<T>) -> Matrix3<T> {
        match self {
            Self::Linear(law) => law.tangent(f, df),
            Self::StVenantKirchhoff(law) => law.tangent(f, df),
            Self::NeoHookean(law) => law.tangent(f, df),
            Self::StableNeoHookean(law) => law.tangent(f, df),
            Self::MooneyRivlin(law) => law.tangent(f, df),
            Self::Fung(law) => law.tangent(f, df),
        }
    }
}
