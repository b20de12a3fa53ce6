//! Constitutive laws of a continuum: energy density, first Piola stress, tangent.
//!
//! Source: Bonet and Wood 2008, chapters 5 and 6, for the notation; each family names its own.
//! Every law is a function of the deformation gradient `F` alone; rate and history dependence are
//! in [`viscous`]. Laws in terms of volume have an infinite energy and a
//! non-finite stress for `det F <= 0`. A solver that can reach such a state must check for it, or use
//! [`LawFamily::StableNeoHookean`].
//!
//! Symbols: `F` deformation gradient, `J = det F`, `C = F^T F`, `mu`, `lambda` Lame constants \[Pa\],
//! `kappa = lambda + 2 mu / 3` bulk modulus \[Pa\], `W` energy a reference volume \[J/m^3\],
//! `P = dW/dF` first Piola stress \[Pa\]. A law is linear in its moduli, so a solver without units
//! hands it moduli without units.

use nalgebra::{Matrix3, SMatrix};

mod first_invariant;
mod hooke;
mod invariant;
mod material;
mod mixing;
mod mooney;
mod neo_hookean;
mod ogden;
mod real;
pub mod spectral;
#[cfg(test)]
mod tests;
pub mod tissue_library;
pub mod viscous;

pub use first_invariant::{EXPONENT_MAX, FirstInvariantLaw, INVARIANT_MAX, Stiffening};
pub use hooke::{LinearElastic, StVenantKirchhoff};
pub use invariant::cofactor;
pub use material::{CellMaterial, Material, MaterialError, Moduli};
pub use mixing::{MixingRule, mix_moduli};
pub use mooney::MooneyRivlin;
pub use neo_hookean::{NeoHookean, StableNeoHookean};
pub use ogden::{OGDEN_TERMS_MAX, OgdenLaw, OgdenTerm, STRETCH_MIN};
pub use real::Real;
pub use viscous::{BRANCHES_MAX, RelaxingShare, Viscosity};

/// `dP/dF` as a matrix; entry `(i, J)` of a gradient stands at `i + 3 J`, column after column.
pub type TangentMatrix = SMatrix<f64, 9, 9>;

/// Elastic law as a function of the deformation gradient.
pub trait ElasticLaw {
    /// Energy density `W` \[unit of the moduli\], 0 at rest.
    fn energy(&self, f: &Matrix3<f64>) -> f64;

    /// First Piola stress `P = dW/dF` \[unit of the moduli\].
    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64>;

    /// Change of `P` for a change `df` of the gradient: the tangent applied to it.
    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64>;

    /// Tangent as a matrix, nine columns of [`ElasticLaw::tangent`]; symmetric.
    fn tangent_matrix(&self, f: &Matrix3<f64>) -> TangentMatrix {
        let mut whole = TangentMatrix::zeros();
        for column in 0..9 {
            let mut df = Matrix3::zeros();
            df[column] = 1.0;
            whole
                .column_mut(column)
                .copy_from_slice(self.tangent(f, &df).as_slice());
        }
        whole
    }
}

/// Largest coefficient of Yeoh's law over the first. Beyond it a cell that is squeezed to a fifth has a wave so fast that
/// the explicit solver takes it for collapsed.
const COEFFICIENT_MAX: f64 = 100.0;

/// Family of laws, with its parameters beyond the two moduli.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LawFamily {
    /// For small strains only; it responds to rotation as to strain.
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
    /// Polynomial of the first invariant (Yeoh 1993).
    Yeoh {
        /// Second coefficient over the first, 0 or more.
        second: f64,
        /// Third coefficient over the first, 0 or more.
        third: f64,
    },
    /// Powers of the principal stretches (Ogden 1972).
    Ogden {
        /// Its terms; those without a share come last.
        terms: [OgdenTerm; OGDEN_TERMS_MAX],
    },
}

/// Error of a family's parameters.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("`{field}` is {value}; expected {expected}")]
pub struct LawFamilyError {
    /// Name of the parameter.
    pub field: &'static str,
    /// Value found.
    pub value: f64,
    /// Valid range.
    pub expected: &'static str,
}

impl LawFamily {
    /// All families, with initial values of their parameters.
    pub const ALL: [Self; 8] = [
        Self::Linear,
        Self::StVenantKirchhoff,
        Self::NeoHookean,
        Self::StableNeoHookean,
        Self::MooneyRivlin { second: 0.5 },
        Self::Fung { growth: 5.0 },
        Self::Yeoh {
            second: 1.0,
            third: 1.0,
        },
        Self::Ogden {
            terms: [
                OgdenTerm {
                    share: 0.6,
                    exponent: 6.0,
                },
                OgdenTerm {
                    share: 0.4,
                    exponent: -3.0,
                },
                OgdenTerm::NONE,
            ],
        },
    ];

    /// Name in scenes and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::StVenantKirchhoff => "st-venant-kirchhoff",
            Self::NeoHookean => "neo-hookean",
            Self::StableNeoHookean => "stable-neo-hookean",
            Self::MooneyRivlin { .. } => "mooney-rivlin",
            Self::Fung { .. } => "fung",
            Self::Yeoh { .. } => "yeoh",
            Self::Ogden { .. } => "ogden",
        }
    }

    /// Checks the parameters of the family.
    ///
    /// # Errors
    /// Names the number that is out of its range.
    pub fn check(&self) -> Result<(), LawFamilyError> {
        let (field, value, right, expected) = match *self {
            Self::MooneyRivlin { second } => {
                let right = (0.0..=1.0).contains(&second);
                ("second", second, right, "a number from 0 to 1")
            }
            Self::Fung { growth } => {
                let right = growth.is_finite() && growth > 0.0;
                ("growth", growth, right, "a finite number above 0")
            }
            Self::Yeoh { second, third } => {
                let right = |number: f64| (0.0..=COEFFICIENT_MAX).contains(&number);
                let (field, value) = match right(second) {
                    true => ("third", third),
                    false => ("second", second),
                };
                (field, value, right(value), "a number from 0 to 100")
            }
            Self::Ogden { terms } => return ogden::check(&terms),
            Self::Linear | Self::StVenantKirchhoff | Self::NeoHookean | Self::StableNeoHookean => {
                return Ok(());
            }
        };
        if right {
            return Ok(());
        }
        Err(LawFamilyError {
            field,
            value,
            expected,
        })
    }
}

/// One law with its moduli, as a cell of a mesh carries it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaterialLaw {
    /// See [`LinearElastic`].
    Linear(LinearElastic),
    /// See [`StVenantKirchhoff`].
    StVenantKirchhoff(StVenantKirchhoff),
    /// See [`NeoHookean`].
    NeoHookean(NeoHookean),
    /// See [`StableNeoHookean`].
    StableNeoHookean(StableNeoHookean),
    /// See [`MooneyRivlin`].
    MooneyRivlin(MooneyRivlin),
    /// See [`FirstInvariantLaw`].
    FirstInvariant(FirstInvariantLaw),
    /// See [`OgdenLaw`].
    Ogden(OgdenLaw),
}

impl MaterialLaw {
    /// Creates the law of `family` with the small-strain moduli `moduli`. Parameters that
    /// [`LawFamily::check`] refuses yield a law that is not finite.
    #[must_use]
    pub fn new(family: LawFamily, moduli: Moduli) -> Self {
        let (mu, lambda, kappa) = (moduli.mu_pa, moduli.lambda_pa, moduli.bulk_pa());
        let hooke = hooke::Hooke { mu, lambda };
        match family {
            LawFamily::Linear => Self::Linear(LinearElastic(hooke)),
            LawFamily::StVenantKirchhoff => Self::StVenantKirchhoff(StVenantKirchhoff(hooke)),
            LawFamily::NeoHookean => Self::NeoHookean(NeoHookean { mu, lambda }),
            LawFamily::StableNeoHookean => {
                Self::StableNeoHookean(StableNeoHookean::new(mu, lambda))
            }
            LawFamily::MooneyRivlin { second } => {
                Self::MooneyRivlin(MooneyRivlin::new(mu, second, kappa))
            }
            LawFamily::Fung { growth } => Self::FirstInvariant(FirstInvariantLaw {
                mu,
                kappa,
                stiffening: Stiffening::Exponential { growth },
            }),
            LawFamily::Yeoh { second, third } => Self::FirstInvariant(FirstInvariantLaw {
                mu,
                kappa,
                stiffening: Stiffening::Polynomial { second, third },
            }),
            LawFamily::Ogden { terms } => Self::Ogden(OgdenLaw { mu, kappa, terms }),
        }
    }

    fn as_elastic(&self) -> &dyn ElasticLaw {
        match self {
            Self::Linear(law) => law,
            Self::StVenantKirchhoff(law) => law,
            Self::NeoHookean(law) => law,
            Self::StableNeoHookean(law) => law,
            Self::MooneyRivlin(law) => law,
            Self::FirstInvariant(law) => law,
            Self::Ogden(law) => law,
        }
    }
}

impl ElasticLaw for MaterialLaw {
    fn energy(&self, f: &Matrix3<f64>) -> f64 {
        self.as_elastic().energy(f)
    }

    fn stress(&self, f: &Matrix3<f64>) -> Matrix3<f64> {
        self.as_elastic().stress(f)
    }

    fn tangent(&self, f: &Matrix3<f64>, df: &Matrix3<f64>) -> Matrix3<f64> {
        self.as_elastic().tangent(f, df)
    }
}
